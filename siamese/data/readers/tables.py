"""Tables that are not text: Parquet, Excel workbooks, tables in memory; values that JSON has."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from siamese.data.readers.report import ReadReport
from siamese.errors import DataError, MissingDependencyError

ROWS = 4096  # rows of a Parquet file in memory at once
Row = tuple[int, list[Any], None]  # its number, its cells, nothing wrong with it


def parquet_rows(data: BinaryIO, report: ReadReport) -> tuple[list[str], Iterator[Row]]:
    """The header and the rows of a Parquet file, counted from 1."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingDependencyError(
            f"{report.path} is a Parquet file; reading it needs pyarrow: pip install pyarrow."
        ) from None

    def rows() -> Iterator[tuple]:
        number = 0
        try:
            for batch in file.iter_batches(batch_size=ROWS):
                columns = [column.to_pylist() for column in batch.columns]
                for row in zip(*columns):
                    number += 1
                    yield number, list(row), None
        except (pyarrow.ArrowException, OSError) as error:
            raise DataError(f"{report.path}: a damaged Parquet file ({error}).") from None

    try:
        file = pyarrow.parquet.ParquetFile(data)
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{report.path}: a damaged Parquet file ({error}).") from None
    report.format = "Parquet"
    return file.schema_arrow.names, rows()


def workbook_rows(data: BinaryIO, report: ReadReport) -> tuple[list[str], Iterator[Row]]:
    """The header and the rows of an Excel workbook with one filled sheet, counted as the sheet does."""
    try:
        import python_calamine
    except ImportError:
        raise MissingDependencyError(
            f"{report.path} is an Excel workbook or a ZIP archive; reading a workbook needs "
            "python-calamine: pip install python-calamine."
        ) from None
    try:
        book = python_calamine.CalamineWorkbook.from_filelike(data)
        sheets = [(name, book.get_sheet_by_name(name).to_python(skip_empty_area=False))
                  for name in book.sheet_names]  # fmt: skip
    except Exception as error:  # calamine's own errors have no common base
        raise DataError(
            f"{report.path} is no Excel workbook that can be read ({error}). An archive must be "
            "unpacked first."
        ) from None
    filled = [(name, rows) for name, rows in sheets if any(any(map(str, row)) for row in rows)]
    if len(filled) != 1:
        names = ", ".join(name for name, _ in filled)
        what = f"holds several sheets ({names}); save one of them" if filled else "is empty"
        raise DataError(f"{report.path} {what}.")
    name, rows = filled[0]
    top = next(at for at, row in enumerate(rows) if any(map(str, row)))
    report.format = f"Excel workbook, sheet {name}"
    below = enumerate(rows[top + 1 :], top + 2)
    return list(map(str, rows[top])), (
        (at, list(map(_sheet_value, row)), None) for at, row in below
    )


def rows_in_memory(table: Any, report: ReadReport) -> tuple[list[str], Iterator[Row]]:
    """The header and the rows of a DataFrame, a `datasets.Dataset`, a pyarrow Table or a dict."""
    names = getattr(table, "column_names", getattr(table, "columns", None))
    names = list(table) if isinstance(table, Mapping) else names
    where = report.path
    if names is None or isinstance(table, type):
        raise DataError(f"{where} is neither a path nor a table with columns.")
    if isinstance(names, Mapping):
        raise DataError(f"{where} holds several tables: give one, such as data['train'].")
    names = list(names)
    if hasattr(table, "iloc"):  # by position: a name may stand there twice
        columns = [table.iloc[:, at] for at in range(len(names))]
    elif hasattr(table, "column_names") and hasattr(table, "itercolumns"):
        columns = list(table.itercolumns())
    else:
        columns = [table[name] for name in names]
    values = [_values(column, name, where) for column, name in zip(columns, names)]
    lengths = {str(name): len(column) for name, column in zip(names, values)}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name} {length:,}" for name, length in lengths.items())
        raise DataError(f"{where}: its columns have different lengths ({shown}).")
    rows = ((at, list(map(_cell, row)), None) for at, row in enumerate(zip(*values), 1))
    report.format = "a table in memory"
    return list(map(str, names)), rows


def json_value(value: Any) -> Any:
    """A value that JSON has: dates and times become ISO 8601 text, NaN and infinity None, others text.

    Example:
      >>> import datetime, decimal
      >>> json_value([datetime.date(2026, 1, 2), decimal.Decimal("1.50"), float("nan"), 3])
      ['2026-01-02', '1.50', None, 3]
    """
    if isinstance(value, (str, int)) or value is None:
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if _cell(value) is None:
        return None
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if type(value).__name__ in ("datetime64", "timedelta64"):
        return str(value)
    if isinstance(value, Mapping):
        return {str(name): json_value(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple, set)):
        return list(map(json_value, value))
    return json_value(value.tolist()) if hasattr(value, "tolist") else str(value)


def id_text(value: Any) -> str:
    """An id as text; empty where it is missing. Whole floats, as pandas has them, lose their .0."""
    value = json_value(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else str(value).strip()


def _cell(value: Any) -> Any:
    is_missing = type(value).__name__ in ("NAType", "NaTType")
    return None if is_missing or (isinstance(value, float) and value != value) else value


def _sheet_value(value: Any) -> Any:
    if value == "":
        return None
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _values(column: Any, name: Any, where: str) -> list:
    if isinstance(column, (str, bytes)) or not hasattr(column, "__iter__"):
        raise DataError(f"{where}: column {name!r} is {column!r:.40}, not a list of values.")
    read = getattr(column, "to_pylist", None) or getattr(column, "to_list", None)
    return read() if read else list(column)


def json_object(line: str) -> tuple[dict, str | None]:
    """The object of a line, or why there is none."""
    doubled: list[str] = []

    def noted(pairs: list[tuple[str, Any]]) -> dict:
        names = [name for name, _ in pairs]
        doubled.extend(name for name in dict.fromkeys(names) if names.count(name) > 1)
        return dict(pairs)

    try:
        row = json.loads(line)
        # Each key has a colon; with one more than keys, a key may stand there twice.
        if type(row) is dict and line.count(":") > len(row):
            row = json.loads(line, object_pairs_hook=noted)
    except (ValueError, RecursionError) as error:
        place = f", column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        reason = (
            f"not JSON{place} ({getattr(error, 'msg', error)}). Each line must hold one object."
        )
        return {}, reason
    if type(row) is not dict:
        return {}, f"not a JSON object: {str(row)[:40]!r}."
    return row, f"the key {doubled[0]!r:.40} stands there twice." if doubled else None
