"""Tables that are not text: Parquet, Excel workbooks, tables in memory; values that JSON has."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from siamese.errors import DataError, MissingDependencyError

ROWS = 4096  # rows of a Parquet file in memory at once
Rows = Iterator[
    tuple[int, list[Any], None]
]  # of each row: its number, its cells, nothing wrong with it


def parquet_rows(data: BinaryIO, name: str) -> tuple[str, list[str], Rows]:
    """The format, the header and the rows of a Parquet file, counted from 1."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingDependencyError(
            f"{name} is a Parquet file; reading it needs pyarrow: pip install pyarrow."
        ) from None
    errors = (pyarrow.ArrowException, OSError)

    def rows() -> Rows:
        number = 0
        try:
            for batch in file.iter_batches(batch_size=ROWS):
                for cells in zip(*(column.to_pylist() for column in batch.columns)):
                    number += 1
                    yield number, list(cells), None
        except errors as error:
            raise DataError(f"{name}: a damaged Parquet file ({error}).") from None

    try:
        file = pyarrow.parquet.ParquetFile(data)
    except errors as error:
        raise DataError(f"{name}: a damaged Parquet file ({error}).") from None
    return "Parquet", file.schema_arrow.names, rows()


def workbook_rows(data: BinaryIO, name: str) -> tuple[str, list[str], Rows]:
    """The format, the header and the rows of an Excel workbook with one filled sheet, counted as there."""
    try:
        import python_calamine
    except ImportError:
        raise MissingDependencyError(
            f"{name} is an Excel workbook or a ZIP archive; reading a workbook needs python-calamine: "
            "pip install python-calamine."
        ) from None
    try:
        book = python_calamine.CalamineWorkbook.from_filelike(data)
        sheets = {
            sheet: book.get_sheet_by_name(sheet).to_python(skip_empty_area=False)
            for sheet in book.sheet_names
        }
    except Exception as error:  # calamine's own errors have no common base
        raise DataError(
            f"{name} is no Excel workbook that can be read ({error}). Unpack an archive first."
        ) from None
    filled = [sheet for sheet, rows in sheets.items() if any(any(map(str, row)) for row in rows)]
    if len(filled) != 1:
        what = f"holds several sheets ({', '.join(filled)}); save one of them"
        raise DataError(f"{name} {what if filled else 'is empty'}.")
    rows = sheets[filled[0]]
    top = next(at for at, row in enumerate(rows) if any(map(str, row)))
    cells = ((at, list(map(_sheet_value, row)), None) for at, row in enumerate(rows, 1))
    below = (row for row in cells if row[0] > top + 1)
    return f"Excel workbook, sheet {filled[0]}", list(map(str, rows[top])), below


def rows_in_memory(table: Any, name: str) -> tuple[list[str], Rows]:
    """The header and the rows of a DataFrame, a `datasets.Dataset`, a pyarrow Table or a dict."""
    names = getattr(table, "column_names", getattr(table, "columns", None))
    names = list(table) if isinstance(table, Mapping) else names
    if names is None or isinstance(table, type):
        raise DataError(f"{name} is neither a path nor a table with columns.")
    if isinstance(names, Mapping):
        raise DataError(f"{name} holds several tables: give one, such as data['train'].")
    names = list(names)
    if hasattr(table, "iloc"):  # by position: a name may stand there twice
        columns = [table.iloc[:, at] for at in range(len(names))]
    elif hasattr(table, "itercolumns"):
        columns = list(table.itercolumns())
    else:
        columns = [table[column] for column in names]
    values = [_values(column, f"{name}: column {of!r}") for column, of in zip(columns, names)]
    if len(set(map(len, values))) > 1:
        lengths = ", ".join(f"{of} {len(column):,}" for of, column in zip(names, values))
        raise DataError(f"{name}: its columns have different lengths ({lengths}).")
    rows = ((at, list(map(_cell, row)), None) for at, row in enumerate(zip(*values), 1))
    return list(map(str, names)), rows


def _values(column: Any, what: str) -> list:
    if isinstance(column, (str, bytes)) or not hasattr(column, "__iter__"):
        raise DataError(f"{what} is {column!r:.40}, not a list of values.")
    read = getattr(column, "to_pylist", None) or getattr(column, "to_list", None)
    return read() if read else list(column)


def _cell(value: Any) -> Any:
    """None for a missing value of pandas, and for NaN."""
    is_missing = type(value).__name__ in ("NAType", "NaTType")
    return None if is_missing or (isinstance(value, float) and value != value) else value


def _sheet_value(value: Any) -> Any:
    """None for an empty cell; whole floats, which all numbers of a sheet are, as whole numbers."""
    if value == "":
        return None
    return int(value) if isinstance(value, float) and value.is_integer() else value


def json_value(value: Any) -> Any:
    """A value that JSON has: dates and times become ISO 8601 text, NaN and infinity None, others text.

    Example:
      >>> import datetime, decimal
      >>> json_value([datetime.date(2026, 1, 2), decimal.Decimal("1.50"), float("nan"), 3])
      ['2026-01-02', '1.50', None, 3]
    """
    if isinstance(value, (str, int)) or (value := _cell(value)) is None:
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(name): json_value(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple, set)):
        return list(map(json_value, value))
    is_time = type(value).__name__ in ("datetime64", "timedelta64")
    return json_value(value.tolist()) if hasattr(value, "tolist") and not is_time else str(value)


def id_text(value: Any) -> str:
    """An id as text; empty where it is missing. Whole floats, as pandas has them, lose their .0."""
    if type(value) is str:
        return value.strip()
    value = json_value(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else str(value).strip()


def json_object(line: str) -> tuple[dict, str | None]:
    """The object of a line, or why there is none."""
    try:
        row = json.loads(line)
        # Each key has a colon; with one more than keys, a key may stand there twice.
        if type(row) is dict and line.count(":") > len(row):
            json.loads(line, object_pairs_hook=_check_keys)
    except DataError as error:
        return {}, str(error)
    except (ValueError, RecursionError) as error:
        place = f", column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        why = getattr(error, "msg", error)
        return {}, f"not JSON{place} ({why}). Each line must hold one object."
    if type(row) is not dict:
        return {}, f"not a JSON object: {str(row)[:40]!r}."
    return row, None


def _check_keys(pairs: list[tuple[str, Any]]) -> None:
    names = set()
    for name, _ in pairs:
        if name in names:
            raise DataError(f"the key {name!r:.40} stands there twice.")
        names.add(name)
