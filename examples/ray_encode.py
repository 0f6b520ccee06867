"""Encodes any number of questions on all nodes of a Ray cluster: Parquet or CSV in, Parquet out.

Usage: python examples/ray_encode.py MODEL INPUT OUTPUT [--id id] [--column question]
[--workers 2]

INPUT is a file or a folder of files of one format. The output has the input's columns
and `vector`. A worker that dies is replaced, and the questions that it had not written
are encoded again. To resume a run that was stopped, give the same command again: Ray
keeps the written ids in a folder beside OUTPUT until the run ends without an error.
Every node must reach MODEL, INPUT and OUTPUT under the same paths.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import pyarrow
import ray
from ray.data.checkpoint import CheckpointConfig

BATCH = 4096  # questions encoded at a time
# Questions given to a worker at a time. Ray reads small files as one block, so one
# worker would get all.
BLOCK = 4 * BATCH
# As Ray counts cores. It lists the files in a task that asks for a whole one: with more
# for each worker, two workers on two cores would wait for that task, and it for them.
WORKER = {"num_cpus": 0.5}
HELPER = {"num_cpus": 0.25}  # reads or writes
# One core for each worker: NPROC is the number of XLA's threads. Ray sets that of
# NumPy's.
ONE_THREAD = {
    "NPROC": "1",
    "LOKY_MAX_CPU_COUNT": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


class Encode:
    """Adds the vectors of a table's questions; each worker has one, on one core."""

    def __init__(self, model: str, column: str):
        os.environ |= ONE_THREAD  # read when JAX and the tokenizer start
        from siamese import DuplicateDetector

        self.detector, self.column = DuplicateDetector.load(model), column

    def __call__(self, table: pyarrow.Table) -> pyarrow.Table:
        """The table with one more column, `vector`."""
        texts = [text or "" for text in table[self.column].to_pylist()]
        vectors = self.detector.encode(texts)
        flat = pyarrow.array(vectors.ravel())
        column = pyarrow.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
        return table.append_column("vector", column)


def encode(
    model: str, source: str, output: str, id_column: str, column: str, workers: int
) -> None:
    """Encodes the questions that are not yet in the output."""
    context = ray.data.DataContext.get_current()
    done = f"{output.rstrip('/')}.checkpoint"  # Ray writes ids there with each file
    context.checkpoint_config = CheckpointConfig(
        id_column=id_column, checkpoint_path=done
    )
    first = next(
        path
        for path in [Path(source), *sorted(Path(source).glob("*"))]
        if path.is_file()
    )
    read = ray.data.read_parquet if first.suffix == ".parquet" else ray.data.read_csv
    rows = read(source, ray_remote_args=HELPER).repartition(
        target_num_rows_per_block=BLOCK
    )
    rows.map_batches(
        Encode,
        fn_constructor_args=(model, column),
        batch_format="pyarrow",
        batch_size=BATCH,
        compute=ray.data.ActorPoolStrategy(size=workers),
        **WORKER,
    ).write_parquet(output, ray_remote_args=HELPER)


def main() -> None:
    """Reads the flags; joins the cluster that RAY_ADDRESS names, or starts one on this machine."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("input")
    parser.add_argument("output")
    parser.add_argument(
        "--id", default="id", help="the column of ids, all different [%(default)s]"
    )
    parser.add_argument(
        "--column", default="question", help="the column of questions [%(default)s]"
    )
    parser.add_argument(
        "--workers", type=int, default=2, help="processes that encode [%(default)s]"
    )
    flags = parser.parse_args()
    paths = (os.path.abspath(path) for path in (flags.model, flags.input, flags.output))
    encode(*paths, flags.id, flags.column, flags.workers)


if __name__ == "__main__":
    main()
