"""An index as a Parquet file."""

from __future__ import annotations

import json
import os

from siamese.encoders.protocol import valid_unicode
from siamese.errors import ArgumentError
from siamese.groups.table import table_names
from siamese.index import QuestionIndex
from siamese.system.files import open_atomically


def export_parquet(
    index: QuestionIndex, path: str | os.PathLike, *, overwrite: bool = False
) -> int:
    """Writes the questions of an index as a Parquet file, for engines beyond one machine; returns how many.

    Its columns: ``id`` and ``question`` (text), the columns that the questions have
    (text; of a taken name with ``column_`` before it) and ``vector`` (a list of d
    float32). It needs pyarrow. ArgumentError for a file that is there without
    `overwrite`, that is the index itself, or that cannot be written.
    """
    import pyarrow
    from pyarrow import parquet

    own = index.path
    are_there = all(map(os.path.exists, (path, own or "")))
    if own and are_there and os.path.samefile(own, path):
        raise ArgumentError(f"{path} is the index itself. Name another output.")
    snapshot = index.snapshot()
    entries = snapshot.entries
    vectors = snapshot.vectors
    texts = {name: [entry[name] for entry in entries] for name in ("id", "question")}
    others = (name for entry in entries for name in entry["columns"])
    for name, shown in table_names([*texts, "vector"], others).items():
        # UTF-8 has no lone surrogates.
        texts[valid_unicode(shown)] = [
            _as_text(entry["columns"].get(name)) for entry in entries
        ]
    table = {
        name: pyarrow.array(values, pyarrow.string()) for name, values in texts.items()
    }
    table["vector"] = pyarrow.FixedSizeListArray.from_arrays(
        pyarrow.array(vectors.ravel()), vectors.shape[1]
    )
    with open_atomically(path, ArgumentError, overwrite=overwrite) as file:
        parquet.write_table(pyarrow.table(table), file, row_group_size=1 << 16)
    return len(entries)


def _as_text(value: object) -> str | None:
    """A column's value as text: None stays, and what is not text is written as JSON."""
    if value is None:
        return None
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False)
    return valid_unicode(value)
