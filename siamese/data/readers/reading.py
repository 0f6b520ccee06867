"""One reader for every command: rows of a file, a pipe or a table in memory, each with its line.

The content decides the format, never the name: CSV (comma, semicolon or tab), JSON Lines, plain text with
a question a line, Parquet, Excel workbooks; each also gzipped or through a pipe. Nothing is repaired by
guessing: a row that cannot be read is refused with its line, or left out and counted.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from typing import Any, BinaryIO, NamedTuple, Self

from siamese.data.readers.columns import (
    DELIMITERS,
    known_names,
    line_cells,
    normal_name,
    shown_names,
    split_header,
)
from siamese.data.readers.report import ReadReport
from siamese.data.readers.tables import json_object, parquet_rows, rows_in_memory, workbook_rows
from siamese.errors import ArgumentError, DataError

LONGEST_LINE = 16 << 20  # characters; a longer line would fill the memory
LARGEST_WORKBOOK = 1 << 30  # bytes of a Parquet or Excel file that comes gzipped or through a pipe
CHUNK_ROWS, CHUNK_CHARACTERS = 4096, 4 << 20  # a chunk ends at the first of both
HEAD_LINES = 50  # lines by which a table without known names is told from plain text
READ_ERRORS = (OSError, EOFError, UnicodeError, zlib.error)  # of reading a text
_BINARY = (
    (b"BZh", "compressed with bzip2; decompress it first (bunzip2)"),
    (b"\xfd7zXZ", "compressed with xz; decompress it first (unxz)"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd; decompress it first (unzstd)"),
    (b"%PDF", "a PDF document"),
)
_MARKS = (
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"\xef\xbb\xbf", "utf-8-sig"),
)
_WORKBOOK = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")  # .xlsx and .ods; .xls
_PAGE = re.compile(
    r"\s*<(!doctype|html|head|body|\?xml|!--|meta|title|table|ul|ol|dl|li|div)\b", re.IGNORECASE
)
_JSON_START = re.compile(r'\s*(\{\s*(["}]|$)|\[\s*([\[{"]|$))')
_SEPARATOR_LINE = re.compile(r"\s*\"?sep\s*=.\"?\s*", re.IGNORECASE)
_ODD = re.compile("[\0\udc80-\udcff]")  # NUL, and what surrogateescape makes of a wrong byte


class Chunk(NamedTuple):
    """Some rows, the line of each, and its number among the data rows (from 0, bad ones counted)."""

    rows: list[Any]
    lines: list[int]
    numbers: list[int]


def open_rows(
    source: Any, report: ReadReport, *, specs: Sequence[str], names: Collection[str], encoding=None
) -> Rows:
    """The rows of a file, a pipe ('-' for standard input) or a table in memory; a context manager.

    Args:
      source: a path, '-', or a table: a DataFrame, a pyarrow Table, a dict of columns, ...
      report: gets the format and what was left out.
      specs: what the user calls the columns ("title+body"); numbers where there is no header.
      names: names of columns, in lower case, that make a text a table.
      encoding: of the file; UTF-8, or what its mark says, where None.

    Raises:
      DataError: missing, unreadable, empty, damaged, a web page, or a format that is not read.
      ArgumentError: an encoding that does not exist.
    """
    return Rows(source, report, specs, set(names) | known_names(specs), encoding)


def source_name(source: Any) -> str:
    """What messages call a file or a table."""
    if not isinstance(source, (str, os.PathLike)):
        return f"the {type(source).__name__}"
    return "standard input" if source == "-" else str(source)


class Rows:
    """Rows of one file, read in chunks; see `open_rows`.

    Attributes:
      header: the names of the columns as they stand; of JSON Lines the keys of the first object.
      is_json: rows are dicts; otherwise lists as long as the header.
      is_plain: no table: each row is a list of one line.
    """

    is_json = is_plain = False

    def __init__(self, source, report: ReadReport, specs, known: set[str], encoding: str | None):
        self.report, self.header, self._line = report, [], 0
        self._again: list[str] = []  # lines to read once more, the last one first
        self._row: list[str] = []  # the lines of the current row
        self._odd = ""  # why the current row holds characters that are none
        self._file = None
        if not isinstance(source, (str, os.PathLike)):
            report.unit = "row"
            self.header, self._rows = rows_in_memory(source, report)
            return
        self._file = open_bytes(source)
        try:
            self._rows = self._recognised(specs, known, encoding)
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception) -> None:
        if self._file is not None and self._file is not sys.stdin.buffer:
            self._file.close()

    def __iter__(self) -> Iterator[Chunk]:
        """Chunks of good rows; the others go into the report."""
        names = list(map(normal_name, self.header))
        report, chunk, size = self.report, Chunk([], [], []), 0
        for line, row, problem in self._rows:
            is_row = problem is None and not self.is_json and not self.is_plain
            is_first = is_row and row and normal_name(row[0]) == names[0]
            if is_first and list(map(normal_name, row)) == names:
                report.add("header", [line])
                continue
            report.rows += 1
            if problem is not None:
                report.bad_row(line, problem)
                continue
            chunk.rows.append(row)
            chunk.lines.append(line)
            chunk.numbers.append(report.rows - 1)
            size += sum(map(len, self._row))
            if len(chunk.rows) == CHUNK_ROWS or size > CHUNK_CHARACTERS:
                yield chunk
                chunk, size = Chunk([], [], []), 0
        if chunk.rows:
            yield chunk

    # -- The format -----------------------------------------------------------------------------

    def _recognised(self, specs, known: set[str], encoding: str | None) -> Iterator[tuple]:
        """Finds the format and the header; returns the iterator of (line, row, problem or None)."""
        name, stream = self.report.path, self._file
        head = self._get(lambda: stream.peek(4096))
        zipped = head.startswith(b"\x1f\x8b")
        if zipped:
            stream = io.BufferedReader(gzip.GzipFile(fileobj=stream))
            head = self._get(lambda: stream.peek(4096))
        if not head:
            raise DataError(f"{name} is empty.")
        if head.startswith(b"\x1f\x8b"):
            raise DataError(f"{name} was gzipped twice; decompress it once (gunzip).")
        for magic, what in _BINARY:
            if head.startswith(magic):
                raise DataError(f"{name} is {what}.")
        if head.startswith((b"PAR1", *_WORKBOOK)):
            self.report.unit = "row"
            is_path = self._file is stream and self._file.seekable()
            data = stream if is_path else io.BytesIO(self._get(lambda: _whole(stream, name)))
            read = parquet_rows if head.startswith(b"PAR1") else workbook_rows
            self.header, rows = read(data, self.report)
            return rows
        mark = next((codec for magic, codec in _MARKS if head.startswith(magic)), None)
        if mark is None and encoding is None and head.count(b"\0") * 10 > len(head):
            raise DataError(
                f"{name} is a binary file, or UTF-16 text without its mark: then give its encoding, "
                "--encoding utf-16-le (in Python: encoding=)."
            )
        self._encoding = mark or encoding or "utf-8-sig"
        try:
            self._text = io.TextIOWrapper(stream, self._encoding, "surrogateescape", newline="")
        except LookupError:
            raise ArgumentError(f"encoding: Python has no text encoding {encoding!r}.") from None
        rows = self._json_or_text(specs, known)
        self.report.format += ", gzipped" if zipped else ""
        return rows

    def _json_or_text(self, specs, known: set[str]) -> Iterator[tuple]:
        name, lines = self.report.path, []
        for line in self._lines():
            lines.append(line)
            if line.strip():
                break
        else:
            raise DataError(f"{name} is empty.")
        where, first = f"{name}, line {self._line:,}", lines[-1]
        if _PAGE.match(first):
            raise DataError(
                f"{where}: a web page (it starts with {first.strip()[:30]!r}), perhaps a login or error "
                "page. Save the questions as text or CSV."
            )
        if _SEPARATOR_LINE.fullmatch(first):
            raise DataError(
                f"{where}: {first.strip()!r} is a note for Excel alone. Delete this line; the header must "
                "be the first."
            )
        self._rewind(lines)
        if _JSON_START.match(first):
            if first.lstrip().startswith("["):
                raise DataError(
                    f"{where}: a JSON array. Write one JSON object on each line instead."
                )
            self.report.format, self.is_json = "JSON Lines", True
            return self._json()
        cells, self._delimiter = split_header(first, known)
        names, asked = set(map(normal_name, cells)), known_names(specs)
        is_numbered = asked and all(map(str.isdecimal, asked)) and not asked <= names
        if not is_numbered and not known & names and not self._is_table(cells):
            self.is_plain, self.header = True, ["question"]
            self.report.format = "a question a line"
            return self._plain()
        for _ in lines[1:]:  # blank lines above the header
            self._next_line()
        self.header = [str(at + 1) for at in range(len(cells))]
        if not is_numbered:
            self._row.clear()
            try:
                self.header = next(
                    csv.reader(self._lines(), delimiter=self._delimiter, strict=True)
                )
            except csv.Error as error:
                raise DataError(f"{where}: {self._reason(error)}") from None
        if self._odd:
            raise DataError(f"{where}: {self._odd}")
        self.report.format = DELIMITERS[self._delimiter]
        self._literal = self._delimiter == "\t" and not first.startswith('"')
        return self._delimited()

    def _is_table(self, cells: list[str]) -> bool:
        """Whether lines without a known name are a table all the same: names, then as many cells."""
        lines = list(islice(self._lines(), HEAD_LINES))
        self._rewind(lines)
        rows = [line for line in lines if line.strip()][1:]
        if sum(line.lower().count("<br") for line in lines) >= max(len(rows), 1):
            raise DataError(
                f"{self.report.path}, line 1: HTML with <br> for line breaks. Save the questions as text, "
                "one on each line."
            )
        names = [cell for cell in cells if cell.strip() and not re.search(r"^\s|[.?!]\s*$", cell)]
        if len(cells) < 2 or len(names) < len(cells) or len(max(cells, key=len)) > 60:
            return False
        alike = sum(len(line_cells(line, self._delimiter)) == len(cells) for line in rows)
        return not rows or 2 * alike >= len(rows)

    def _rewind(self, lines: list[str]) -> None:
        """Makes these lines, the last ones read, the next ones."""
        self._again += lines[::-1]
        self._line -= len(lines)
        self._row.clear()
        self._odd = ""

    # -- Text -----------------------------------------------------------------------------------

    def _get(self, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except READ_ERRORS as error:
            raise self._unreadable(error) from None

    def _unreadable(self, error: Exception) -> DataError:
        what = f"reading failed ({error})"
        if isinstance(error, EOFError):
            what = "the gzip stream ends too early: the file was cut short"
        elif isinstance(error, (gzip.BadGzipFile, zlib.error)):
            what = f"the gzip stream is damaged ({error})"
        elif isinstance(error, UnicodeError):
            what = f"the text is not {self._encoding} ({error})"
        where = f", after line {self._line:,}" if self._line else ""
        return DataError(f"{self.report.path}{where}: {what}.")

    def _next_line(self) -> str:
        """The next line with its end; empty at the end of the file."""
        if self._again:
            line = self._again.pop()
        else:
            try:
                line = self._text.readline(LONGEST_LINE)
            except READ_ERRORS as error:
                raise self._unreadable(error) from None
            if len(line) >= LONGEST_LINE:
                raise DataError(
                    f"{self.report.path}, line {self._line + 1:,} is longer than {LONGEST_LINE >> 20} "
                    "million characters. Put each row on a line of its own."
                )
        if line:
            self._line += 1
            self._row.append(line)
            if (not line.isascii() or "\0" in line) and (match := _ODD.search(line)):
                self._odd = self._odd or self._odd_reason(line, match)
        return line

    def _lines(self) -> Iterator[str]:
        return iter(self._next_line, "")

    def _odd_reason(self, line: str, match: re.Match) -> str:
        if match[0] == "\0":
            return f"a NUL character, at place {match.start() + 1}."
        wrong = line.encode(errors="surrogateescape")
        if self._encoding != "utf-8-sig":
            return f"bytes that are not {self._encoding}. Check --encoding (in Python: encoding=)."
        likely = "Windows-1252: --encoding cp1252 (in Python: encoding='cp1252')"
        if re.search(rb"[\x80-\xff]{4}", wrong):
            likely = "that of another script, such as --encoding gb18030, shift_jis or cp1251"
        byte = f"0x{ord(match[0]) - 0xDC00:02x}"
        return f"bytes that are not UTF-8 ({byte}). The likely encoding is {likely}."

    # -- Rows: (line, row, problem or None) -----------------------------------------------------

    def _plain(self) -> Iterator[tuple]:
        while line := self._fresh_line():
            yield self._line, [line.rstrip("\r\n")], self._odd or None

    def _json(self) -> Iterator[tuple]:
        while line := self._fresh_line():
            if not line.strip():
                self.report.add("blank", [self._line])
                continue
            row, problem = json_object(line)
            yield self._line, row, self._odd or problem

    def _delimited(self) -> Iterator[tuple]:
        """A bad row is its first line alone: the lines after it are read again, so none is lost."""
        csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
        width, mark, reader, problem = len(self.header), self._delimiter, None, None
        while True:
            if self._literal and (line := self._fresh_line()):
                row = line.rstrip("\r\n").split(mark)
                if len(row) == width:
                    yield self._line, list(map(_unquoted, row)), self._odd or None
                    continue
                self._rewind([line])
            reader = reader or csv.reader(self._lines(), delimiter=mark, strict=True)
            self._row.clear()
            self._odd, start = "", self._line + 1
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                row, problem = [], self._reason(error)
            else:
                problem = self._width_problem(row) if len(row) != width else None
            if problem and len(self._row) == 1 and not self._row[0].strip():
                if width > 1:
                    self.report.add("blank", [start])
                    continue
                row, problem = [""], None
            if self._literal and any(line.count(mark) == width - 1 for line in self._row[1:]):
                problem = "a quote is opened here and not closed."
            if problem and len(self._row) > 1:
                self._rewind(self._row[1:])
                reader = None
            elif problem:
                reader = None
            yield start, row, self._odd or problem

    def _fresh_line(self) -> str:
        self._row.clear()
        self._odd = ""
        return self._next_line()

    def _width_problem(self, row: list[str]) -> str:
        if '\\"' in self._row[0]:
            return self._reason(None)
        fields = f"{len(row)} {'field' if len(row) == 1 else 'fields'}"
        why = f"{fields} where the header has {len(self.header)} ({shown_names(self.header)})."
        if len(row) > len(self.header) and self._delimiter != "\t":
            mark = {",": "comma", ";": "semicolon"}[self._delimiter]
            why += f" A question that holds a {mark} must stand in quotes."
        if len(self._row) > 1:
            why += f" A quote that is opened here is closed {len(self._row) - 1} lines later."
        return why

    def _reason(self, error: csv.Error | None) -> str:
        """Why the csv module refuses a row."""
        if any('\\"' in line for line in self._row):
            return 'a quote is written as \\"; CSV writes it twice: "".'
        if "unexpected end" in str(error):
            return "a quote is opened here and not closed."
        if "expected after" in str(error):
            return (
                "text follows a closing quote. A field that holds a quote must stand in quotes, each of "
                'its own quotes written twice: "".'
            )
        return f"not CSV ({error})."


def open_bytes(path: str | os.PathLike) -> BinaryIO:
    """A file, or standard input for '-', opened for bytes; DataError where that fails."""
    if str(path) in ("-", "/dev/stdin"):
        stream = sys.stdin.buffer
        return stream if hasattr(stream, "peek") else io.BufferedReader(stream)
    try:
        return open(path, "rb")
    except (OSError, ValueError) as error:
        why = str(getattr(error, "strerror", error)).lower()
        raise DataError(f"{str(path)[:200]} cannot be read: {why}.") from None


# -- Fields and values ------------------------------------------------------------------------


def _whole(stream: BinaryIO, name: str) -> bytes:
    data = stream.read(LARGEST_WORKBOOK + 1)
    if len(data) > LARGEST_WORKBOOK:
        raise DataError(
            f"{name} is too large to be read gzipped or from a pipe. Give the file itself."
        )
    return data


def _unquoted(field: str) -> str:
    """A tab field without CSV's quotes, where only a writer of CSV makes such a field.

    GLUE's QQP files have literal quotes, Quora's tab-separated file quotes as CSV does: a field in quotes
    that holds a doubled quote, or nothing, is CSV's; any other quote is a letter.
    """
    inner = field[1:-1]
    if len(field) < 2 or field[0] != '"' or field[-1] != '"' or '"' in inner.replace('""', ""):
        return field
    return inner.replace('""', '"') if not inner or '""' in inner else field
