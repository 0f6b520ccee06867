"""An index as a Parquet file, for engines that hold more than one machine's memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from siamese.errors import ArgumentError, MissingDependencyError
from siamese.search.stored.file import as_text
from siamese.storage.atomic import open_atomically

ROWS_PER_GROUP = 1 << 16


def export_parquet(
    path: os.PathLike | str, entries: Sequence[dict[str, Any]], vectors: np.ndarray
) -> int:
    """Writes questions as a Parquet file; returns how many.

    Its columns: ``id`` and ``question`` (text), the columns that the questions have (text; of a taken name
    with ``column_`` before it) and ``vector`` (a list of d float32).

    Args:
      path: the file.
      entries: dicts with id, question, columns.
      vectors: float32 [questions, d].

    Raises:
      MissingDependencyError: pyarrow is not installed.
      ArgumentError: the file cannot be written.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingDependencyError("Parquet needs pyarrow: pip install pyarrow.") from None
    columns = list(dict.fromkeys(name for entry in entries for name in entry["columns"]))
    own, d = ("id", "question", "vector"), vectors.shape[1]
    names = ["id", "question", *(f"column_{c}" if c in own else c for c in columns)]
    schema = pyarrow.schema(
        [(_written(name), pyarrow.string()) for name in names]
        + [("vector", pyarrow.list_(pyarrow.float32(), d))]
    )
    with (
        open_atomically(path, ArgumentError) as file,
        parquet.ParquetWriter(file, schema) as writer,
    ):
        for start in range(0, len(entries), ROWS_PER_GROUP):
            rows = entries[start : start + ROWS_PER_GROUP]
            values = [[entry[name] for entry in rows] for name in ("id", "question")]
            values += [[entry["columns"].get(name) for entry in rows] for name in columns]
            table = [list(map(_written, column)) for column in values]
            flat = pyarrow.array(vectors[start : start + len(rows)].ravel())
            table.append(pyarrow.FixedSizeListArray.from_arrays(flat, d))
            writer.write_table(pyarrow.table(table, schema=schema))
    return len(entries)


def _written(value: Any) -> str | None:
    """A value as Parquet's text; lone surrogates, which UTF-8 does not have, become question marks."""
    return None if value is None else as_text(value).encode("utf-8", "replace").decode()
