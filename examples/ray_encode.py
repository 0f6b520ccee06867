"""Encodes questions of any number on all nodes of a Ray cluster: Parquet or CSV in, Parquet out.

Usage: python examples/ray_encode.py MODEL INPUT OUTPUT [--id id] [--column question] [--workers 2]

INPUT is a file or a folder of files of one format. The output has the input's columns and `vector`. A
worker that dies is replaced, and what it had not written is encoded again. A run that was stopped goes on
where it was when the same command is given again: until it ends well, Ray keeps beside OUTPUT which ids
are written. Every node must reach MODEL, INPUT and OUTPUT under the same paths.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import pyarrow
import ray
from ray.data.checkpoint import CheckpointConfig

BATCH = 4096  # questions encoded at a time
WORKER = {"num_cpus": 0.75}  # of a core: the rest is for one that reads or writes
HELPER = {"num_cpus": 0.25}
ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


class Encode:
    """Adds the vectors of a table's questions; one a worker, on one core."""

    def __init__(self, model: str, column: str):
        # Read when JAX starts. NumPy's threads are Ray's business.
        os.environ["XLA_FLAGS"] = ONE_THREAD
        from siamese import DuplicateDetector

        self.detector, self.column = DuplicateDetector.load(model), column

    def __call__(self, table: pyarrow.Table) -> pyarrow.Table:
        """The table with a column more."""
        texts = [text or "" for text in table[self.column].to_pylist()]
        vectors = self.detector.encode(texts, processes=1)
        flat = pyarrow.array(vectors.ravel())
        found = pyarrow.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
        return table.append_column("vector", found)


def encode(model: str, source: str, output: str, id_column: str, column: str, workers: int) -> None:
    """Encodes what is not yet in the output."""
    context = ray.data.DataContext.get_current()
    done = f"{output.rstrip('/')}.checkpoint"  # Ray writes ids there with each file
    context.checkpoint_config = CheckpointConfig(id_column=id_column, checkpoint_path=done)
    first = next(path for path in [Path(source), *sorted(Path(source).glob("*"))] if path.is_file())
    read = ray.data.read_parquet if first.suffix == ".parquet" else ray.data.read_csv
    read(source, ray_remote_args=HELPER).map_batches(
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
    parser.add_argument("--id", default="id", help="the column of ids, all different [%(default)s]")
    parser.add_argument("--column", default="question", help="of the questions [%(default)s]")
    parser.add_argument(
        "--workers", type=int, default=2, help="processes that encode [%(default)s]"
    )
    flags = parser.parse_args()
    paths = (os.path.abspath(path) for path in (flags.model, flags.input, flags.output))
    encode(*paths, flags.id, flags.column, flags.workers)


if __name__ == "__main__":
    main()
