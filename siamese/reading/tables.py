"""Tables that are not text: Parquet, Excel workbooks, tables in memory."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import itertools
import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from siamese.errors import DataError
from siamese.reading import sheets
from siamese.text.values import (
    arrow_values,
    as_list,
    as_whole,
    is_missing,
    is_table,
    memory_columns,
)

if TYPE_CHECKING:
    import pyarrow
    from pyarrow.parquet import ParquetFile

LARGEST_UNPACKED = 1 << 30  # bytes of all parts of a workbook
MOST_MEMORY = sheets.MOST_MEMORY
Table = tuple[list[str], Iterator[tuple[int, list]]]  # header, rows with their numbers


def parquet_table(file: BinaryIO, name: str) -> Table:
    """A Parquet file; its rows are counted from 1."""
    import pyarrow.parquet

    parquet = pyarrow.parquet.ParquetFile(file)
    return parquet.schema_arrow.names, enumerate(parquet_rows(parquet, name), 1)


def parquet_rows(parquet: ParquetFile, name: str) -> Iterator[list]:
    """The rows of a Parquet file; DataError where all values would take more than `MOST_MEMORY`."""
    import pyarrow

    size = 0
    for batch in parquet.iter_batches(batch_size=256):  # rows in memory at once
        is_dictionary = pyarrow.types.is_dictionary
        columns = [
            c.dictionary_decode() if is_dictionary(c.type) else c for c in batch.columns
        ]
        size += sum(map(_python_size, columns))
        if size > MOST_MEMORY:
            what = f"needs more than {MOST_MEMORY >> 30} GB of memory to be read"
            raise DataError(
                f"{name} {what}. Save the columns that you need, in several files."
            )
        yield from map(list, zip(*map(arrow_values, columns)))


def _python_size(column: pyarrow.ChunkedArray) -> int:
    """About how many bytes the values of a column of pyarrow take in Python."""
    import pyarrow

    # A number of a list takes some 32.
    each = 8 if pyarrow.types.is_nested(column.type) else 1
    return 64 * len(column) + each * column.nbytes


def workbook_table(file: BinaryIO, name: str) -> Table:
    """An Excel workbook with one filled sheet; its rows are counted as there.

    A row without text below the header is a row: calamine has "" for an error such as
    #N/A, too.
    """
    check_unpacked_size(file, name)
    names, rows = sheets_of(file, name)
    if len(names) != 1:
        what = (
            f"holds several sheets ({', '.join(names)}); save one as a file of its own"
        )
        raise DataError(f"{name} {what if names else 'is empty'}.")
    (row, header), *body = rows
    first = list(itertools.dropwhile(sheets.is_blank, body))[:5]
    filled = [sum(cell != "" for cell in cells) for _, cells in ((row, header), *first)]
    if 2 * filled[0] <= max(filled):
        raise DataError(
            f"{name}, row {row} names few columns. Name all, or delete this row."
        )
    cells = (
        (at, [None if cell == "" else as_whole(cell) for cell in row])
        for at, row in body
    )
    return list(map(str, map(as_whole, header))), cells


def check_unpacked_size(file: BinaryIO, name: str) -> None:
    """DataError for a workbook that says it is more than `LARGEST_UNPACKED` bytes when unpacked."""
    with contextlib.suppress(zipfile.BadZipFile):  # .xls is no archive.
        parts = zipfile.ZipFile(file).infolist()
        if sum(part.file_size for part in parts) > LARGEST_UNPACKED:
            size = f"{LARGEST_UNPACKED >> 20:,} million bytes"
            raise DataError(
                f"{name} has more than {size} when unpacked. Save it as CSV."
            )
    file.seek(0)


def sheets_of(file: BinaryIO, name: str) -> tuple[list[str], list[sheets.Row]]:
    """The names of a workbook's filled sheets, and the rows of the one: see `sheets`."""
    if importlib.util.find_spec("python_calamine") is None:
        raise ModuleNotFoundError(name="python_calamine")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    is_on_disk = not isinstance(file, io.BytesIO)
    reading = subprocess.Popen(
        [sys.executable, "-P", sheets.__file__],
        stdin=file if is_on_disk else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    parts: list[Any] = []
    output: Any = reading.stdout
    try:
        if reading.stdin is not None:
            with contextlib.suppress(BrokenPipeError), reading.stdin:
                reading.stdin.write(file.read())
        # It may have been stopped.
        with contextlib.suppress(EOFError, pickle.UnpicklingError):
            while True:
                parts.append(pickle.load(output))
        reading.wait()
    finally:
        reading.kill()
        output.close()
        reading.wait()
    if reading.returncode:
        raise DataError(
            f"{name} needs more than {MOST_MEMORY >> 30} GB of memory to be read: a cell far from "
            "the others makes a sheet large, and so do very long texts. Delete what is not in the table, "
            "or save it as CSV."
        )
    names, *rest = parts
    if isinstance(names, str):
        raise DataError(
            f"{name} cannot be read ({names}). It is damaged. Unpack an archive first."
        )
    return names, [row for rows in rest for row in rows]


def memory_table(table: Any, name: str) -> Table:
    """A table in memory, or a list of rows: dicts, or texts; its rows are counted from 1.

    A named index of pandas is a column too. Texts alone are the column "question".
    """
    if is_list(table):
        return _list_table(table, name)
    names, columns = memory_columns(table, name)
    index: Any = getattr(table, "index", None)
    for at, level in enumerate(getattr(index, "names", ())):
        if level is not None and str(level) not in names:
            names = [*names, str(level)]
            columns = [*columns, index.get_level_values(at).to_list()]
    rows = (list(map(_present, row)) for row in zip(*columns))
    return names, enumerate(rows, 1)


def is_list(table: object) -> bool:
    """Whether a value is a list, a column or an array, in place of a table."""
    has_length = hasattr(table, "__len__") and np.iterable(table)
    return has_length and not is_table(table) and not isinstance(table, (set, bytes))


def _list_table(values: Any, name: str) -> Table:
    """A list of dicts, or of texts, as a table; None and NaN are empty cells."""
    expected = f"{name}: a list of texts or of dicts"
    rows = list(map(_present, as_list(values, expected, DataError)))
    are_dicts = any(isinstance(row, Mapping) for row in rows)
    allowed = Mapping if are_dicts else (str, type(None))
    for place, row in enumerate(rows):
        if not isinstance(row, allowed):
            raise DataError(
                f"{name}: item {place} (from 0) is {row!r:.40}. A list holds texts, or "
                "dicts, one of each row."
            )
    if not are_dicts:
        return ["question"], enumerate(([text] for text in rows), 1)
    named = [{str(key): value for key, value in row.items()} for row in rows]
    names = list(dict.fromkeys(key for row in named for key in row))
    cells = ([_present(row.get(key)) for key in names] for row in named)
    return names, enumerate(cells, 1)


def _present(value: Any) -> Any:
    """A value; None where it is missing."""
    return None if is_missing(value) else value
