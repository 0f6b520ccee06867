"""Reads a workbook in a process of its own, with limited memory: `python sheets.py < FILE`.

The library has a place for every cell between a sheet's first and last one, and ends
its process where an allocation fails: two cells far from each other, or a few bytes
that stand for long texts, would end ours. The output is pickled: the names of the
filled sheets, and, where there is one, its rows in parts.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import pickle
import sys
from typing import Any, BinaryIO

MOST_MEMORY = 2 << 30  # bytes
ROWS = 1000  # that are written at once

Row = tuple[int, list]  # its number in the sheet, from 1, and its cells


def filled_rows(sheet: Any) -> list[Row]:
    """The rows of a sheet from the first one with text."""
    return list(itertools.dropwhile(is_blank, enumerate(sheet.to_python(False), 1)))


def is_blank(row: Row) -> bool:
    """Whether a row of a sheet has no text."""
    return not any(map(str, row[1]))


def write_sheets(source: BinaryIO, out: BinaryIO) -> None:
    """Writes the names of the filled sheets of a workbook, and the rows where there is one such sheet."""
    import python_calamine

    book = python_calamine.CalamineWorkbook.from_filelike(source)
    names: list[str] = []
    table: list[Row] = []
    for name in book.sheet_names:
        rows = filled_rows(book.get_sheet_by_name(name))
        if rows:
            names.append(name)
            table = rows if len(names) == 1 else []
    pickle.dump(names, out)
    for start in range(0, len(table), ROWS):
        pickle.dump(table[start : start + ROWS], out)


def main() -> None:
    """Reads standard input; what cannot be read is written as text."""
    with contextlib.suppress(ImportError, ValueError, OSError):  # not on Windows
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    out = sys.stdout.buffer
    source = sys.stdin.buffer
    if source.seekable():
        source.seek(0)
    else:
        source = io.BytesIO(source.read())
    try:
        write_sheets(source, out)
    except MemoryError:
        sys.exit(1)
    except BaseException as error:  # One of the library's is no Exception.
        pickle.dump(str(error), out)
    out.flush()


if __name__ == "__main__":
    main()
