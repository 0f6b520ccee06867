"""One reader for every command: the rows of a file, a pipe or a table in memory, each with its line.

The content decides the format, never the name: CSV (comma, semicolon or tab), JSON Lines, plain text with
a question a line, Parquet, Excel workbooks; each also gzipped or through a pipe. Nothing is repaired by
guessing: a row that cannot be read is refused with its line, or left out and counted.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, BinaryIO

from siamese.data.readers.columns import known_names, normal_name, shown_names
from siamese.data.readers.report import ReadReport
from siamese.data.readers.tables import json_object, parquet_rows, rows_in_memory, workbook_rows
from siamese.errors import ArgumentError, DataError

LONGEST_LINE = 16 << 20  # characters; a longer line would fill the memory
LARGEST_WORKBOOK = 1 << 30  # bytes of a Parquet or Excel file that comes gzipped or through a pipe
HEAD_LINES = 50  # lines by which a table without known names is told from plain text
DELIMITERS = {",": "CSV", "\t": "tab-separated", ";": "semicolon-separated"}
_READ_ERRORS = (OSError, EOFError, UnicodeError, zlib.error)
_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_WORKBOOK = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")  # .xlsx and .ods; .xls
_CONTROL = re.compile(rb"[\0-\x08\x0e-\x1a]")  # of text a few bytes, or one in twenty
_JSON_START = re.compile(r'\s*\{\s*(["}]|$)')
_NO_HEADER = {  # what a first line may be -> what it is, and what to do
    r"<(!doctype|html|head|body|\?xml|!--|meta|title|table|ul|ol|dl|li|div)\b": "a web page, perhaps a "
    "login or error page. Save the questions as text or CSV.",
    r'"?sep\s*=."?\s*$': "a note for Excel alone. Delete this line; the header must be the first.",
    r'\[\s*([\[{"]|$)': "a JSON array. Write one JSON object on each line instead.",
    r".*<br\s*/?>(.*<br\s*/?>|\s*$)": "HTML with <br> for line breaks. Save the questions as text, one "
    "on each line.",
}
_ODD = re.compile("[\0\udc80-\udcff]")  # NUL, and what surrogateescape makes of a wrong byte

# The row's line, its cells (a dict, or a list as long as the header), and why it cannot be read, or None.
Row = tuple[int, Any, str | None]


@dataclass
class Rows:
    """The good rows of one file as (line, number, cells); bad ones go into the report.

    The number counts data rows from 0, bad ones too. The cells are a dict, column -> value; columns of one
    name have a list of their values.

    Attributes:
      header: the names of the columns as they stand; of JSON Lines the keys of the first object.
      is_plain: no table: the one column, called as the first line, holds the lines.
      where: the file and the line of its header, for messages.
    """

    report: ReadReport
    header: list[str]
    source: Iterator[Row]
    where: str
    is_plain: bool = False

    def __iter__(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        report, header, places = self.report, self.header, {}
        names = list(map(normal_name, header))
        for place, name in enumerate(header):
            places.setdefault(name, []).append(place)
        repeated = {name: where for name, where in places.items() if len(where) > 1}
        for line, cells, problem in self.source:
            if problem:
                report.rows += 1
                report.bad_row(line, problem)
                continue
            if type(cells) is list:
                may_be_header = cells and names[0] in str(cells[0]).lower()
                if may_be_header and [*map(normal_name, cells)] == names:
                    report.add("header", [line])
                    continue
                values, cells = cells, dict(zip(header, cells))
                for name, where in repeated.items():
                    cells[name] = [values[place] for place in where]
            report.rows += 1
            yield line, report.rows - 1, cells

    def texts(
        self, line: int, row: dict[str, Any], questions: Sequence[Sequence[str]]
    ) -> list[str]:
        """The text of each question, made of some columns of a row and joined by blanks.

        [] where one of them is empty or not text; the row is noted as such.
        """
        texts = []
        for columns in questions:
            text = row.get(columns[0])
            if type(text) is not str or len(columns) > 1:
                cells = [cell for column in columns if (cell := row.get(column)) is not None]
                others = [
                    f"is {cell!r:.40}, not text" for cell in cells if not isinstance(cell, str)
                ]
                others += [] if any(map(row.__contains__, columns)) else ["is missing"]
                if others:
                    self.report.bad_row(line, f"{columns[0]} {others[0]}.")
                    return []
                text = " ".join(cell for cell in cells if cell.strip())
            if not text.strip():
                self.report.add("empty", [line])
                return []
            texts.append(text)
        return texts


@contextlib.contextmanager
def open_rows(
    source: Any,
    report: ReadReport,
    *,
    names: Collection[str],
    specs: Sequence[str | None] = (),
    encoding: str | None = None,
    by_name_alone: bool = False,
) -> Iterator[Rows]:
    """The rows of a file, a pipe ('-' for standard input) or a table in memory.

    Args:
      source: a path, '-', or a table: a DataFrame, a pyarrow Table, a dict of columns, ...
      report: gets the format and what was left out.
      names: names of columns, in lower case, that make a text a table.
      specs: what the user calls the columns ("title+body").
      encoding: of the file; UTF-8, or what its mark says, where None.
      by_name_alone: a text without any of the names is plain, whatever the shape of its lines.

    Raises:
      DataError: missing, unreadable, empty, damaged, a web page, or a format that is not read.
      ArgumentError: an encoding that does not exist.
    """
    if not isinstance(source, (str, os.PathLike)):
        report.unit, report.format = "row", "a table in memory"
        yield Rows(report, *rows_in_memory(source, report.path), report.path)
        return
    with _open_bytes(source) as file:
        try:
            known = {*names, *known_names(specs)}
            rows = _recognised(file, report, known, encoding, by_name_alone)
        except _READ_ERRORS as error:
            raise _unreadable(report.path, error) from None
        yield rows


def source_name(source: Any) -> str:
    """What messages call a file or a table."""
    if not isinstance(source, (str, os.PathLike)):
        return f"the {type(source).__name__}"
    return "standard input" if source == "-" else str(source)


def _open_bytes(path: str | os.PathLike) -> contextlib.AbstractContextManager[BinaryIO]:
    """A file, or standard input for '-', which stays open."""
    if str(path) in ("-", "/dev/stdin"):
        stream = sys.stdin.buffer
        has_peek = hasattr(stream, "peek")
        return contextlib.nullcontext(stream if has_peek else io.BufferedReader(stream))
    try:
        return open(path, "rb")
    except (OSError, ValueError) as error:
        why = str(getattr(error, "strerror", error)).lower()
        raise DataError(f"{str(path)[:200]} cannot be read: {why}.") from None


def _unreadable(where: str, error: Exception) -> DataError:
    what = f"reading failed ({error})"
    if isinstance(error, EOFError):
        what = "the gzip stream ends too early: the file was cut short"
    elif isinstance(error, (gzip.BadGzipFile, zlib.error)):
        what = f"the gzip stream is damaged ({error})"
    elif isinstance(error, UnicodeError):
        what = f"the text cannot be decoded ({error})"
    return DataError(f"{where}: {what}.")


# -- The format -------------------------------------------------------------------------------


def _recognised(
    file: BinaryIO, report: ReadReport, known: set[str], encoding: str | None, by_name_alone: bool
) -> Rows:
    """Finds the format of a file, and its header."""
    name, stream, head = report.path, file, file.peek(4096)
    if zipped := head.startswith(b"\x1f\x8b"):
        stream = io.BufferedReader(gzip.GzipFile(fileobj=file))
        head = stream.peek(4096)
    if head.startswith((b"PAR1", *_WORKBOOK)):
        if zipped or not file.seekable():
            stream = io.BytesIO(stream.read(LARGEST_WORKBOOK))
            if stream.getbuffer().nbytes == LARGEST_WORKBOOK:
                raise DataError(f"{name} is too large to be read gzipped or from a pipe.")
        read = parquet_rows if head.startswith(b"PAR1") else workbook_rows
        report.unit, (report.format, *table) = "row", read(stream, name)
        return Rows(report, *table, name)
    mark = next((codec for magic, codec in _MARKS.items() if head.startswith(magic)), None)
    if not mark and not encoding and len(_CONTROL.findall(head)) > 3 + len(head) / 20:
        raise DataError(
            f"{name} is a binary file (compressed, a document, ...), or UTF-16 text without its mark. Save "
            "the questions as CSV, or give the encoding, --encoding utf-16-le (in Python: encoding=)."
        )
    lines = _Lines(stream, mark or encoding or "utf-8-sig", name)
    rows = _text_rows(lines, report, known, by_name_alone)
    report.format += ", gzipped" if zipped else ""
    return rows


def _text_rows(lines: _Lines, report: ReadReport, known: set[str], by_name_alone: bool) -> Rows:
    """Finds the format of a text, and its header."""
    head = list(islice(lines, HEAD_LINES))
    lines.again(head)
    above = next((at for at, line in enumerate(head) if line.strip()), None)  # blank lines
    if above is None:
        raise DataError(f"{report.path} is empty.")
    first, where = head[above], f"{report.path}, line {above + 1}"
    if _JSON_START.match(first):
        report.format = "JSON Lines"
        objects = [json_object(line)[0] or {} for line in head[above:]]
        header = list(dict.fromkeys(name for one in objects for name in one))
        return Rows(report, header, _json_rows(lines), where)
    for pattern, what in _NO_HEADER.items():
        if re.match(rf"\s*{pattern}", first, re.IGNORECASE):
            raise DataError(f"{where}: {first.strip()[:30]!r} is {what}")

    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))

    def fit(mark: str) -> tuple[int, int]:
        names = set(map(normal_name, _line_cells(first, mark)))
        return len(names & known), first.count(mark)

    mark = max(DELIMITERS, key=fit)
    if not fit(mark)[0] and (by_name_alone or not _is_table(head[above:], mark)):
        report.format = "a question a line"
        return Rows(
            report, [first.strip()], _plain_rows(lines, first.strip()), where, is_plain=True
        )
    report.format = DELIMITERS[mark]
    rows = _delimited_rows(lines, mark, is_literal=mark == "\t" and not first.startswith('"'))
    _, header, problem = next(rows)
    if problem:
        raise DataError(f"{where}: {problem}")
    return Rows(report, header, rows, where)


def _is_table(head: list[str], mark: str) -> bool:
    """Whether lines without a known name are a table all the same: most have as many cells as the first.

    In plain text a blank follows a comma.
    """
    first, *others = [_line_cells(line, mark) for line in head if line.strip()]
    if len(first) == 1 or any(cell.startswith(" ") for cell in first):
        return False
    alike = sum(len(cells) == len(first) for cells in others)
    return 2 * alike >= len(others) and (alike > 0 or not first[-1].rstrip().endswith("?"))


def _line_cells(line: str, mark: str) -> list[str]:
    return next(csv.reader([line], delimiter=mark), [])


# -- Lines, and the rows in them --------------------------------------------------------------


class _Lines:
    """The lines of a text with their ends, some of which can be read again.

    Attributes:
      number: of the last line, from 1.
      row: the lines of the current row.
    """

    def __init__(self, stream: BinaryIO, encoding: str, name: str):
        try:
            self._read = io.TextIOWrapper(stream, encoding, "surrogateescape", newline="").readline
        except LookupError:
            raise ArgumentError(f"encoding: Python has no text encoding {encoding!r}.") from None
        self._encoding, self._name = encoding, name
        self.number, self.row = 0, []
        self._next: list[str] = []  # lines to read once more, the last one first

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self._next:
            line = self._next.pop()
        else:
            try:
                line = self._read(LONGEST_LINE)
            except _READ_ERRORS as error:
                raise _unreadable(f"{self._name}, after line {self.number:,}", error) from None
            if len(line) == LONGEST_LINE:
                raise DataError(
                    f"{self._name}, line {self.number + 1:,} is longer than {LONGEST_LINE >> 20} "
                    "million characters. Put each row on a line of its own."
                )
            if not line:
                raise StopIteration
        self.number += 1
        self.row.append(line)
        return line

    def again(self, lines: list[str]) -> None:
        """Makes these lines, the last ones read, the next ones."""
        self._next += lines[::-1]
        self.number -= len(lines)

    def single(self) -> Iterator[str]:
        """The lines, each of them a row."""
        for line in self:
            self.row = [line]
            yield line

    def odd(self) -> str | None:
        """Why the row holds characters that are none; None where it does not."""
        text = self.row[0] if len(self.row) == 1 else "".join(self.row)
        if (text.isascii() and "\0" not in text) or not (match := _ODD.search(text)):
            return None
        if match[0] == "\0":
            return "a NUL character."
        if self._encoding != "utf-8-sig":
            return f"bytes that are not {self._encoding}. Check --encoding (in Python: encoding=)."
        likely = "Windows-1252: --encoding cp1252 (in Python: encoding='cp1252')"
        if re.search("[\udc80-\udcff]{4}", text):
            likely = "that of another script, such as --encoding gb18030, shift_jis or cp1251"
        byte = f"0x{ord(match[0]) - 0xDC00:02x}"
        return f"bytes that are not UTF-8 ({byte}). The likely encoding is {likely}."


def _plain_rows(lines: _Lines, name: str) -> Iterator[Row]:
    for line in lines.single():
        yield lines.number, {name: line.rstrip("\r\n")}, lines.odd()


def _json_rows(lines: _Lines) -> Iterator[Row]:
    for line in lines.single():
        if line.strip():
            row, problem = json_object(line)
            yield lines.number, row, lines.odd() or problem


def _delimited_rows(lines: _Lines, mark: str, is_literal: bool) -> Iterator[Row]:
    """The header, then the rows. A bad row is its first line alone: the others are read again.

    Where `is_literal`, a line with the right number of tabs is a row, and its quotes are letters.
    """
    reader, header = csv.reader(lines, delimiter=mark, strict=True), []
    while True:
        start, lines.row, cells, error = lines.number + 1, [], [], None
        if is_literal and header:
            cells = next(lines, "").rstrip("\r\n").split(mark)
            if len(cells) == len(header):
                yield start, list(map(_unquoted, cells)), lines.odd()
                continue
            lines.again(lines.row)
            lines.row = []
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as csv_error:
            error = csv_error
        if header and len(cells) == len(header) and not error and len(lines.row) == 1:
            yield start, cells, lines.odd()
            continue
        first, *others = lines.row
        if not first.strip() and len(header) != 1:  # a blank line is a row of one column, else none
            continue
        cells, header = cells or [""], header or cells
        is_cut = is_literal and any(line.count(mark) == len(header) - 1 for line in others)
        problem = None
        if error or is_cut or len(cells) != len(header):
            problem = _problem(lines.row, cells, header, "unexpected end" if is_cut else error)
            lines.again(others)
        yield start, cells, lines.odd() or problem


def _problem(row: list[str], cells: list[str], header: list[str], error: Any) -> str:
    """Why some lines are no row: what the csv module says, or a wrong number of cells."""
    if any('\\"' in line for line in row):
        return 'a quote is written as \\"; CSV writes it twice: "".'
    if "unexpected end" in str(error):
        return "a quote is opened here and not closed."
    if error:
        return (
            f"text follows a closing quote ({error}). A field that holds a quote must stand in quotes, "
            'each of its own quotes written twice: "".'
        )
    fields = f"{len(cells)} {'field' if len(cells) == 1 else 'fields'}"
    why = f"{fields} where the header has {len(header)} ({shown_names(header)})."
    if len(cells) > len(header):
        why += " A question that holds a comma or semicolon must stand in quotes."
    if len(row) > 1:
        why += f" A quote that is opened here is closed {len(row) - 1} lines later."
    return why


def _unquoted(field: str) -> str:
    """A tab field without CSV's quotes, where only a writer of CSV makes such a field.

    GLUE's QQP files have literal quotes, Quora's tab-separated file quotes as CSV does: a field in quotes
    that holds a doubled quote, or nothing, is CSV's; any other quote is a letter.
    """
    inner = field[1:-1]
    if len(field) < 2 or field[0] != '"' or field[-1] != '"' or '"' in inner.replace('""', ""):
        return field
    return inner.replace('""', '"') if not inner or '""' in inner else field
