"""Finds duplicates among any number of questions on a Ray cluster: Parquet or CSV in, Parquet out.

Usage: python examples/ray_duplicates.py MODEL INPUT OUTPUT [--threshold 0.8] [--id id]
[--column question] [--workers 2]

OUTPUT is a folder, which gets

  encoded         the questions with their vectors, by ray_encode.py
  pairs           the pairs with a cosine above the threshold, a file for two blocks of questions:
                  id1, question1, id2, question2, similarity, as `siamese duplicates --pairs` has them
  groups.parquet  group, id, question; the groups are those of `siamese.duplicate_groups`

A worker that dies is replaced, and the blocks that it had not written are compared
again. To resume a run that was stopped, give the same command again. Every node must
reach MODEL, INPUT and OUTPUT under the same paths.
"""

from __future__ import annotations

import argparse
import functools
import os
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import pyarrow
import ray
from pyarrow import parquet
from ray_encode import ONE_THREAD, WORKER, encode

ROWS = 1024  # questions of a block that are compared with another block at once
BLOCKS = 4  # that a worker keeps in memory; one has some 16,000 questions


def read_block(file: str, id_column: str, column: str) -> tuple[list, list, np.ndarray]:
    """The ids, the questions, and their vectors, float32 [questions, size], of an encoded file."""
    table = parquet.read_table(file, columns=[id_column, column, "vector"])
    vectors = table["vector"].combine_chunks().flatten().to_numpy()
    ids, questions = (table[name].to_pylist() for name in (id_column, column))
    return ids, questions, vectors.reshape(len(ids), -1)


class Compare:
    """Writes the pairs between two blocks of questions; each worker has one, on one core."""

    def __init__(self, threshold: float, id_column: str, column: str):
        os.environ |= ONE_THREAD
        self.threshold = threshold
        read = functools.partial(read_block, id_column=id_column, column=column)
        self.block = functools.lru_cache(BLOCKS)(read)

    def __call__(self, row: dict) -> dict:
        """Compares the blocks `first` and `second` of a row; the pairs go into its file `pairs`."""
        # A file has its name once it is whole.
        unfinished = f"{row['pairs']}.{os.getpid()}"
        parquet.write_table(self.pairs(row["first"], row["second"]), unfinished)
        os.replace(unfinished, row["pairs"])
        return row

    def pairs(self, first: str, second: str) -> pyarrow.Table:
        """The pairs between two files, or within one."""
        one, other = self.block(first), self.block(second)
        found = []
        for start in range(0, len(one[2]), ROWS):
            cosines = one[2][start : start + ROWS] @ other[2].T
            rows, columns = np.nonzero(cosines > self.threshold)
            values = cosines[rows, columns]
            rows += start
            if first == second:  # Each pair once, and no question with itself.
                is_pair = rows < columns
                rows, columns, values = rows[is_pair], columns[is_pair], values[is_pair]
            found.append((rows, columns, values))
        rows, columns, values = map(np.concatenate, zip(*found))
        return pyarrow.table(
            {
                "id1": [one[0][row] for row in rows],
                "question1": [one[1][row] for row in rows],
                "id2": [other[0][row] for row in columns],
                "question2": [other[1][row] for row in columns],
                "similarity": np.minimum(values, 1).round(6),
            }
        )


def compare(
    encoded: list[str], output: Path, threshold: float, columns: list[str], workers: int
) -> int:
    """Compares every two of the encoded files, and each with itself; returns how many pairs there are."""
    output.mkdir(exist_ok=True)
    blocks = [
        {
            "first": encoded[i],
            "second": encoded[j],
            "pairs": str(output / f"{i:05}-{j:05}.parquet"),
        }
        for i, j in combinations_with_replacement(range(len(encoded)), 2)
    ]
    missing = [block for block in blocks if not os.path.exists(block["pairs"])]
    if missing:
        ray.data.DataContext.get_current().checkpoint_config = None  # that of `encode`
        ray.data.from_items(missing, override_num_blocks=len(missing)).map(
            Compare,
            fn_constructor_args=(threshold, *columns),
            compute=ray.data.ActorPoolStrategy(size=min(workers, len(missing))),
            **WORKER,
        ).materialize()
    return sum(parquet.read_metadata(block["pairs"]).num_rows for block in blocks)


def write_groups(
    encoded: list[str], pairs: Path, output: Path, threshold: float, columns: list[str]
) -> int:
    """Writes the groups, the largest first; returns how many there are.

    Groups that are joined have a pair above the threshold. So questions that no chain of
    pairs connects share no group, and the groups of each connected part are made alone.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    from siamese import duplicate_groups

    # The questions, and the part of each.
    table = pyarrow.concat_tables(
        parquet.read_table(file, columns=columns) for file in encoded
    )
    ids, questions = (column.to_pylist() for column in table.columns)
    row_of = {own: row for row, own in enumerate(ids)}
    links = parquet.read_table(pairs, columns=["id1", "id2"])
    ends = [
        [row_of[own] for own in links[name].to_pylist()] for name in links.schema.names
    ]
    ones = np.ones(len(links), bool)
    graph = coo_array((ones, tuple(ends)), shape=(len(ids), len(ids)))
    _, parts = connected_components(graph, directed=False)

    # The vectors of those that have a pair, by file.
    chosen = np.bincount(parts)[parts] > 1
    vectors, first = [], 0
    for file in encoded:
        own = read_block(file, *columns)[2]
        vectors.append(own[chosen[first : first + len(own)]])
        first += len(own)
    rows = np.flatnonzero(chosen)
    order = np.argsort(parts[rows], kind="stable")
    ends = np.flatnonzero(np.diff(parts[rows][order])) + 1
    together = np.concatenate(vectors)
    groups = []
    for places in np.split(order, ends):
        for group in duplicate_groups(together[places], threshold):
            groups.append([rows[places[member.row]] for member in group])
    groups.sort(key=len, reverse=True)
    numbers = np.repeat(np.arange(1, len(groups) + 1), list(map(len, groups)))
    members = [row for group in groups for row in group]
    result = {
        "group": numbers,
        "id": [ids[row] for row in members],
        "question": [questions[row] for row in members],
    }
    parquet.write_table(pyarrow.table(result), output)
    return len(groups)


def find_duplicates(
    model: str,
    source: str,
    output: str,
    threshold: float,
    id_column: str,
    column: str,
    workers: int,
) -> tuple[int, int]:
    """Encodes, compares and groups the questions; returns how many pairs and groups there are."""
    folder, columns = Path(output), [id_column, column]
    encoded, is_encoded = folder / "encoded", folder / "encoded.done"
    folder.mkdir(exist_ok=True)
    if not is_encoded.exists():
        encode(model, source, str(encoded), id_column, column, workers)
        is_encoded.touch()
    # Ray's names of files differ from run to run; these are of one run.
    files = sorted(map(str, encoded.glob("*.parquet")))
    pairs = folder / "pairs"
    count = compare(files, pairs, threshold, columns, workers)
    groups = folder / "groups.parquet"
    return count, write_groups(files, pairs, groups, threshold, columns)


def main() -> None:
    """Reads the flags; joins the cluster that RAY_ADDRESS names, or starts one on this machine."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="the file of a model, or an encoder such as use")
    parser.add_argument("input")
    parser.add_argument("output")
    parser.add_argument(
        "--threshold",
        type=float,
        default=0.8,
        help="pairs have a cosine above it [%(default)s]",
    )
    parser.add_argument(
        "--id", default="id", help="the column of ids, all different [%(default)s]"
    )
    parser.add_argument(
        "--column", default="question", help="the column of questions [%(default)s]"
    )
    parser.add_argument(
        "--workers", type=int, default=2, help="processes that work [%(default)s]"
    )
    flags = parser.parse_args()
    source, output = map(os.path.abspath, (flags.input, flags.output))
    model = os.path.abspath(flags.model) if os.path.exists(flags.model) else flags.model
    options = (flags.threshold, flags.id, flags.column, flags.workers)
    pairs, groups = find_duplicates(model, source, output, *options)
    print(f"{pairs:,} pairs and {groups:,} groups in {output}")


if __name__ == "__main__":
    main()
