"""Question pairs from Parquet files and TensorFlow Datasets; both packages are optional."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from siamese.data.file_lines import BLOCK_BYTES, OpenFile
from siamese.data.pair_columns import PairColumns, checked, column_places
from siamese.data.read_report import ReadReport
from siamese.errors import DataError, MissingDependencyError


def parquet_batches(file: OpenFile, chunk_rows: int) -> Iterator[dict[str, list[Any]]]:
    """The needed columns of a Parquet file, at most `chunk_rows` rows at a time.

    Raises:
      MissingDependencyError: without pyarrow.
      DataError: a damaged file, or missing columns.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingDependencyError(
            f"{file.name} is a Parquet file; reading it needs pyarrow: pip install pyarrow."
        ) from None
    with tempfile.TemporaryFile() as unpacked:
        source: Any = file.path
        if file.is_gzip:  # Parquet is read from its end, so it cannot be decompressed on the way
            block = file.head
            while block:
                unpacked.write(block)
                block = file.read(BLOCK_BYTES)
            source = unpacked
        try:
            table = pyarrow.parquet.ParquetFile(source)
            names = table.schema_arrow.names
            places = column_places(names, file.name)
            wanted = [names[place] for place in places.values()]
            for batch in table.iter_batches(batch_size=chunk_rows, columns=wanted):
                yield {column: batch[names[at]].to_pylist() for column, at in places.items()}
        except (pyarrow.ArrowException, OSError) as error:
            raise DataError(
                f"{file.name}: the Parquet file cannot be read ({error}). "
                "Download or write it again."
            ) from None


def tfds_columns(
    split: str, data_dir: str | None, report: ReadReport, chunk_rows: int
) -> Iterator[PairColumns]:
    """The pairs of a split of TensorFlow Datasets' ``glue/qqp``, `chunk_rows` at a time.

    Raises:
      MissingDependencyError: without TensorFlow and TensorFlow Datasets.
      DataError: the data set cannot be had (no network and not in `data_dir`), or no such split.
    """
    try:
        import tensorflow  # noqa: F401  tensorflow_datasets needs it, and says so less clearly
        import tensorflow_datasets as tfds
    except ImportError as error:
        raise MissingDependencyError(
            f"glue/qqp is read through TensorFlow Datasets, and {error.name} is missing: "
            "pip install tensorflow tensorflow-datasets."
        ) from None
    try:
        dataset = tfds.load("glue/qqp", split=split, data_dir=data_dir, shuffle_files=False)
    except Exception as error:  # tfds raises a dozen kinds, from ValueError to its own
        raise DataError(
            f"TensorFlow Datasets cannot give glue/qqp, split {split!r}: {error}. Its splits are "
            "train, validation and test (test has no labels); the first use downloads it."
        ) from error
    rows = iter(tfds.as_numpy(dataset))
    while chunk := list(islice(rows, chunk_rows)):
        columns = {
            "question1": [row["question1"].decode("utf-8", "replace") for row in chunk],
            "question2": [row["question2"].decode("utf-8", "replace") for row in chunk],
            "is_duplicate": [int(row["label"]) for row in chunk],
            "id": [int(row["idx"]) for row in chunk],
        }
        yield checked(columns, report.rows + 1 + np.arange(len(chunk)), report)
