"""Tables that are not text: Parquet, Excel workbooks, tables in memory; values that JSON has."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import dropwhile
from typing import Any, BinaryIO

import numpy as np

from siamese.data.readers.names import USUAL_NAMES, question_columns
from siamese.errors import ArgumentError, DataError, SiameseError

Table = tuple[list[str], Iterator[tuple[int, list]]]  # header, rows with their numbers


def parquet_table(file: BinaryIO) -> Table:
    """A Parquet file; its rows are counted from 1."""
    import pyarrow.parquet

    parquet = pyarrow.parquet.ParquetFile(file)
    batches = parquet.iter_batches(batch_size=4096)  # rows in memory at once
    rows = (row for batch in batches for row in zip(*(c.to_pylist() for c in batch.columns)))
    return parquet.schema_arrow.names, enumerate(map(list, rows), 1)


def workbook_table(file: BinaryIO, name: str) -> Table:
    """An Excel workbook with one filled sheet; its rows are counted as there.

    A row without text below the header is a row: calamine has "" for an error such as #N/A, too.
    """
    import python_calamine

    book = python_calamine.CalamineWorkbook.from_filelike(file)
    tables = {of: book.get_sheet_by_name(of).to_python(False) for of in book.sheet_names}
    rows = {of: list(dropwhile(_is_blank, enumerate(rows, 1))) for of, rows in tables.items()}
    sheets = {of: filled for of, filled in rows.items() if filled}
    if len(sheets) != 1:
        what = f"holds several sheets ({', '.join(sheets)}); save one as a file of its own"
        raise DataError(f"{name} {what if sheets else 'is empty'}.")
    (((row, header), *body),) = sheets.values()
    first = list(dropwhile(_is_blank, body))[:5]
    filled = [sum(cell != "" for cell in cells) for _, cells in ((row, header), *first)]
    if 2 * filled[0] <= max(filled):
        raise DataError(f"{name}, row {row} names few columns. Name all, or delete this row.")
    cells = ((at, [None if cell == "" else as_whole(cell) for cell in row]) for at, row in body)
    return list(map(str, map(as_whole, header))), cells


def _is_blank(row: tuple[int, list]) -> bool:
    """Whether a numbered row of a sheet has no text."""
    return not any(map(str, row[1]))


def memory_columns(table: Any, name: str) -> tuple[list[str], list[list]]:
    """The names and the columns of a DataFrame, `datasets.Dataset`, pyarrow Table or dict; or DataError."""
    names = getattr(table, "column_names", getattr(table, "columns", None))
    names = list(table) if isinstance(table, Mapping) else names
    if names is None or isinstance(table, type) or hasattr(type(table), "collect"):
        raise DataError(
            f"{name} is neither a path nor a table with columns in memory (a lazy one must be collected). "
            'A table of texts alone: {"question": texts}.'
        )
    if twice := [str(of) for of, times in Counter(names).items() if times > 1]:
        raise DataError(f"{name} has several columns of one name: {', '.join(twice)}.")
    values = []
    for of in names:
        expected = f"{name}: column {of!r} must be a list of values (of many tables give one)"
        values.append(as_list(table[of], expected, DataError))
    if len(set(map(len, values))) > 1:
        lengths = ", ".join(f"{of} {len(column):,}" for of, column in zip(names, values))
        raise DataError(f"{name}: its columns have different lengths ({lengths}).")
    return list(map(str, names)), values


def memory_table(table: Any, name: str) -> Table:
    """A table in memory; its rows are counted from 1. A named index of pandas is a column too."""
    names, columns = memory_columns(table, name)
    index: Any = getattr(table, "index", None)
    for at, level in enumerate(getattr(index, "names", ())):
        if level is not None and str(level) not in names:
            names, columns = [*names, str(level)], [*columns, index.get_level_values(at).to_list()]
    rows = ([None if _is_missing(value) else value for value in row] for row in zip(*columns))
    return names, enumerate(rows, 1)


def text_list(texts: Any, function: str) -> list[str]:
    """Texts as a list; of a table of one column (a DataFrame, ...) its questions.

    DataError for a value that is not text, or another table; ArgumentError for one text, or a set.
    """
    if is_table(texts):
        what = f"{function}: the {type(texts).__name__}"
        names, columns = memory_columns(texts, what)
        if len(names) != 1 or not question_columns(names):
            raise DataError(
                f"{what} needs one column of questions ({', '.join(USUAL_NAMES)}, ...) and no other; the "
                f"columns: {', '.join(names)[:200]}. Give a column as a list, or read the table: q = "
                "read_questions(table), then q.questions (to an index also ids=q.ids, columns=q.columns)."
            )
        texts = columns[0]
    texts = as_list(texts, f"{function} takes a list of questions")
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(
                f"Question {place} (from 0) is {text!r:.40}, not text. An empty cell of a table is often "
                "NaN or None: drop that row or write ''."
            )
    return texts


def as_list(values: Any, expected: str, error: type[SiameseError] = ArgumentError) -> list:
    """Values in order, Python's own where they have a way to them; an error of what is `expected`."""
    is_one = isinstance(values, (str, bytes, set, frozenset)) or is_table(values)
    if is_one or not np.iterable(values):
        raise error(f"{expected}, not {values!r:.40}.")
    to_list = getattr(values, "to_pylist", getattr(values, "to_list", lambda: values))
    return list(to_list())


def is_table(value: Any) -> bool:
    """Whether a value is a table with columns: a dict of them, a DataFrame, a Dataset, ..."""
    return isinstance(value, Mapping) or hasattr(value, "columns") or hasattr(value, "column_names")


def _is_missing(value: Any) -> bool:
    """Whether a value is NaN, or what pandas has in its place."""
    is_nan = isinstance(value, (float, np.datetime64, np.timedelta64)) and value != value
    return is_nan or type(value).__name__ in ("NAType", "NaTType")


def as_whole(value: Any) -> Any:
    """A whole float, as sheets, pandas and JSON have them, as a whole number; others as they are."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def json_value(value: Any) -> Any:
    """A value that JSON has: dates and times become ISO 8601 text, NaN and infinity None, others text."""
    if value is None or isinstance(value, (str, int)):
        return value
    if _is_missing(value) or isinstance(value, float):
        return float(value) if isinstance(value, float) and math.isfinite(value) else None
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, Mapping):
        return {str(name): json_value(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple, set)):
        return list(map(json_value, value))
    if isinstance(value, (np.number, np.bool_, np.ndarray)) and value.dtype.kind not in "mM":
        return json_value(value.tolist())
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def id_text(value: Any) -> str:
    """An id as text; empty where it is missing. Whole floats, as pandas has them, lose their .0."""
    value = as_whole(json_value(value))
    return "" if value is None else str(value).strip()
