"""One reader for every command: the rows of a file, a pipe or a table in memory, each with its line.

The content decides the format, never the name: CSV (comma, semicolon, tab or |), JSON
Lines, plain text with a question a line, Parquet, Excel workbooks; each also gzipped or
through a pipe. Nothing is repaired by guessing: a row that cannot be read is refused
with its line, or left out and counted.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import os
import re
import sys
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, BinaryIO

from siamese.errors import (
    ArgumentError,
    DataError,
    MissingDependencyError,
    SiameseError,
)
from siamese.reading import encodings
from siamese.reading.columns import TextColumns, columns_called, read_spec, shown_names
from siamese.reading.delimiter import (
    MOST_COLUMNS,
    HeaderCheck,
    delimiter,
    refuse_late_header,
)
from siamese.reading.report import ReadReport
from siamese.reading.tables import (
    MOST_DEPTH,
    TOO_DEEP,
    Table,
    is_deep,
    memory_table,
    parquet_table,
    workbook_table,
)
from siamese.text.cleaning import cleaned
from siamese.text.names import columns_named, normal_name

# characters; a longer line, or cell of a workbook, would fill the memory
LONGEST_LINE = 16 << 20
# bytes of a Parquet or Excel file that comes gzipped or through a pipe
LARGEST_WORKBOOK = 1 << 30
MOST_ROWS = 10 << 20  # of a file; a million vectors of the encoder `use` take 2 GB
MOST_TIMES_READ = 20  # of a line of CSV inside of bad rows
HEAD_LINES = 50  # lines by which a table without known names is told from plain text
HEAD_LENGTH = 4 << 20  # characters of them
_MARKS = {  # That of UTF-32 begins as that of UTF-16.
    b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32", b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16",
}  # fmt: skip
_WORKBOOK = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")  # .xlsx and .ods; .xls
_BINARY = (
    b"%PDF",
    b"BZh91AY&SY",
    b"\xfd7zXZ",
    b"7z\xbc\xaf",
    b"Rar!\x1a",
    b"\x28\xb5\x2f\xfd",
)
_CONTROL = re.compile(rb"[\0-\x08\x0e-\x1a]")  # of text a few bytes, or one in twenty
_JSON_START = re.compile(r"\s*+\{\s*+([\"'}]|$)")
_NO_HEADER = {  # what a first line may be -> what it is, and what to do
    r"<!--|<(!doctype|html|head|body|\?xml|meta|title|table|ul|ol|dl|li|div)\b"
    # A break, and after it another one or the end.
    r"|[^<]*+(?:<(?!br\s*+/?>)[^<]*+)*+<br\s*+/?>(.*<br|\s*+$)"
    # Tags alone; or one of these tags without a blank and a word after it.
    r"|(</?[a-z][\w:.-]*+(\s[^<>]*+)?+/?>\s*+)++$"
    r"|<(h[1-6]|t[dhr]|tbody|thead|br)(\s[^<>]*+)?+/?>(?!\s++\w)":
    "HTML or XML, perhaps a web page. Save the questions as text, one on each line, or as CSV.",
    r'"?sep\s*+=."?\s*+$': "a note for Excel alone. Delete this line; the header must be the first.",
    r'\[\s*+([\[{"]|$)': "a JSON array. Write one JSON object on each line, as jq -c '.[]' does.",
}  # fmt: skip
# NUL, and what surrogateescape makes of a wrong byte
_ODD = re.compile("[\0\udc80-\udcff]")

# the lines of a text, counted from 1, with their ends
Lines = Iterator[tuple[int, str]]
# The row's line, its cells (a dict, or a list as long as the header; None of a blank
# line), and why it cannot be read.
Row = tuple[int, Any, str | None]


@dataclass
class Rows:
    """The good rows of one file as (line, number, cells); bad ones go into the report.

    The number counts data rows from 0, bad ones too. The cells are a dict, column ->
    value; columns of one name have a list of their values, and a nameless cell without
    text is left out.
    """

    report: ReadReport
    header: list[str]  # the columns' names; of JSON Lines the keys of the first objects
    source: Iterator[Row]
    where: str  # the file and the line of its header, for messages
    known: set[str]  # the names that the columns may have, as they are compared
    # no table: the one column, called as the first line, holds the lines
    is_plain: bool = False

    def __iter__(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        report = self.report
        report.columns = self.header
        check = HeaderCheck([] if self.is_plain else self.header, self.known)
        several = _places_of_several(self.header)
        with _reading(report):
            for line, cells, problem in self.source:
                if cells is None:
                    report.rows += 1
                    report.add("empty", [line])
                    continue
                if self._is_header(line, cells, check):
                    report.add("header", [line])
                    continue
                report.rows += 1
                if (
                    report.rows > MOST_ROWS
                    and report.rows - report.count("empty") > MOST_ROWS
                ):
                    raise DataError(
                        f"{report.path} has more than {MOST_ROWS >> 20} million rows. Take a part of it."
                    )
                if problem:
                    report.bad_row(line, problem)
                    continue
                if type(cells) is list:
                    cells = self._by_name(cells, several)
                yield line, report.rows - 1, cells

    def _is_header(self, line: int, cells: Any, check: HeaderCheck) -> bool:
        """Whether a row is the header again; DataError for the header of another table."""
        row = list(cells.values()) if self.is_plain else cells
        kind = check.kind(row) if type(row) is list else ""
        if kind == "another":
            report = self.report
            like = f"with the columns of the first ({shown_names(self.header)}), or "
            raise DataError(
                f"{report.path}, {report.unit} {line:,}: another table begins here ("
                f"{shown_names(row)}). Save it {'' if self.is_plain else like}as a file of its own."
            )
        return kind == "the same"

    def _by_name(self, cells: list, several: dict[str, list[int]]) -> dict[str, Any]:
        row = {
            name: cell
            for name, cell in zip(self.header, cells)
            if name or cell not in ("", None)
        }
        for name in several.keys() & row.keys():
            row[name] = [cells[place] for place in several[name]]
        return row

    def column(self, name: str) -> str:
        """The one column of this name; DataError where there is none or where there are several."""
        columns = columns_called(name, self.header)
        if len(columns) != 1:
            what = (
                f"{len(columns)} columns are called"
                if columns
                else "there is no column"
            )
            names = shown_names(self.header) + ". Rename one" * bool(columns)
            raise DataError(
                f"{self.where}: {what} {name.strip()!r}; the columns: {names}."
            )
        return columns[0]

    def first_column(self, names: Sequence[str]) -> str | None:
        """The column of the first of some names that there is; None where there is none."""
        columns = columns_named(names, self.header)
        return self.column(columns[0]) if columns else None

    def text_columns(self, spec: str) -> TextColumns:
        """The columns that a user's "title+body:50" names; DataError where one is missing."""
        names, words = read_spec(spec, self.header)
        return TextColumns(list(map(self.column, names)), words)

    def question(self, line: int, row: dict[str, Any], made_of: TextColumns) -> str:
        """The text that columns of a row make, joined by blanks; "" for an empty or bad row, noted so."""
        columns, words = made_of
        text = row.get(columns[0])
        if type(text) is not str or len(columns) > 1 or len(text) > LONGEST_LINE:
            cells = [(name, row[name]) for name in columns if row.get(name) is not None]
            others = [
                f"{n} is {c!r:.40}, not text."
                for n, c in cells
                if not isinstance(c, str)
            ]
            long = [name for name, cell in cells if len(str(cell)) > LONGEST_LINE]
            others += [
                f"{name} has more than {LONGEST_LINE >> 20} million characters."
                for name in long
            ]
            if not cells and row.keys().isdisjoint(columns):
                others = [f"{columns[0]} is missing."]
            if others:
                self.report.bad_row(line, others[0])
                return ""
            text = " ".join(cell for _, cell in cells if cell.strip())
        # words without markup
        text = " ".join(cleaned(text).split()[:words]) if words else text
        if not text.strip():
            self.report.add("empty", [line])
            return ""
        return text

    def pair(
        self, line: int, row: dict[str, Any], sides: Iterable[TextColumns]
    ) -> list[str]:
        """Both questions of a row; [] where there is none of one of them."""
        first, second = sides
        one = self.question(line, row, first)
        two = one and self.question(line, row, second)
        return [one, two] if two else []


def _places_of_several(header: list[str]) -> dict[str, list[int]]:
    """The places of the columns of one name, where several have it."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, name in enumerate(header):
        places[name].append(place)
    return {name: own for name, own in places.items() if len(own) > 1}


@contextlib.contextmanager
def open_rows(
    source: Any,
    bad_rows: str = "refuse",
    *,
    names: Collection[str],
    specs: Sequence[str | None] = (),
    encoding: str | None = None,
) -> Iterator[Rows]:
    """The rows of a file, a pipe ('-' for standard input) or a table in memory (a DataFrame, a dict, ...).

    A text is a table if its first line has one of `names` (in lower case) or one of the
    columns in `specs` (as a user writes them, "title+body"); else if its lines have
    that shape. DataError where it is missing, unreadable, empty, damaged, a web page,
    or of a format that is not read; ArgumentError for an encoding that does not exist,
    or another word for `bad_rows`.
    """
    if not isinstance(source, (str, os.PathLike)):
        report = ReadReport(f"the {type(source).__name__}", bad_rows=bad_rows)
        yield _table_rows(report, memory_table(source, report.path), {*names})
        return
    report = ReadReport(
        "standard input" if source == "-" else str(source), bad_rows=bad_rows
    )
    asked = {
        name for spec in specs if spec for name in (spec, *read_spec(spec).columns)
    }
    known = set(map(normal_name, (*names, *asked)))
    with _open_bytes(source) as file:
        with _reading(report):
            rows = _recognised(file, report, known, encoding)
        yield rows


def _open_bytes(path: str | os.PathLike) -> contextlib.AbstractContextManager[BinaryIO]:
    """A file, or standard input for '-', which stays open."""
    if str(path) in ("-", "/dev/stdin"):
        if not sys.stdin or sys.stdin.closed:
            raise DataError(
                "Standard input is closed, or was read already. Name a file."
            )
        return contextlib.nullcontext(sys.stdin.buffer)
    try:
        return open(path, "rb")
    except (OSError, ValueError) as error:
        why = str(getattr(error, "strerror", error)).lower()
        raise DataError(f"{str(path)[:200]} cannot be read: {why}.") from None


@contextlib.contextmanager
def _reading(report: ReadReport) -> Iterator[None]:
    """Raises any error of gzip, a codec or a library of a format as one DataError."""
    try:
        yield
    except SiameseError:
        raise
    except MemoryError:
        what = "needs more memory than there is. Split it, or leave out columns that you do not need"
        raise DataError(f"{report.path} {what}.") from None
    except ImportError as error:
        package = str(error.name).partition(".")[0].replace("_", "-")
        what = f"{report.path} is a workbook, an archive or a Parquet file"
        raise MissingDependencyError(f"{what}: pip install {package}") from None
    except Exception as error:  # They have no common base.
        after = f" after row {report.rows:,}" if report.rows else ""
        why = "It is damaged, or holds values that Python does not have. Unpack an archive first."
        if isinstance(error, UnicodeError):
            why = encodings.wide_advice(report.path)
        raise DataError(
            f"{report.path} cannot be read{after} ({error}). {why}",
            arguments=("encoding",),
        ) from error


# -- The format
# -------------------------------------------------------------------------------


def _check_columns(header: list[str], where: str) -> None:
    """DataError for more columns than a sheet has: each row would take much memory."""
    if len(header) > MOST_COLUMNS:
        raise DataError(
            f"{where}: {len(header):,} columns. Save at most {MOST_COLUMNS:,} of them."
        )


def _table_rows(report: ReadReport, table: Table, known: set[str]) -> Rows:
    report.unit = "row"
    header, rows = table
    _check_columns(header, report.path)
    numbered = ((number, cells, _deep(cells)) for number, cells in rows)
    return Rows(report, header, numbered, report.path, known)


def _deep(cells: list) -> str | None:
    """Why a row of a table cannot be read: a cell that is nested too deep; else None."""
    others = (cell for cell in cells if type(cell) not in (str, int, float, type(None)))
    return f"a cell {TOO_DEEP}" if any(map(is_deep, others)) else None


def _recognised(
    file: Any, report: ReadReport, known: set[str], encoding: str | None
) -> Rows:
    """Finds the format of a binary file that has `peek`, and its header."""
    head = file.peek(4096)
    if is_zipped := head.startswith(b"\x1f\x8b"):
        file = io.BufferedReader(gzip.GzipFile(fileobj=file))
        head = file.peek(4096)
    if head.startswith(b"SQLite format 3"):
        raise DataError(
            f"{report.path} is a database, perhaps an index, not questions or pairs."
        )
    if head.startswith((b"PAR1", *_WORKBOOK)):
        if is_zipped or not file.seekable():
            file = _in_memory(file, report.path)
        read_table = parquet_table if head.startswith(b"PAR1") else workbook_table
        return _table_rows(report, read_table(file, report.path), known)
    text = _text(file, _encoding_of(head, report.path, encoding))
    text.path = report.path
    rows = _text_rows(text, report, known)
    text.refuses_bad_rows = report.bad_rows == "refuse"  # but never a header
    return rows


def _in_memory(file: Any, name: str) -> io.BytesIO:
    """A Parquet or Excel file that cannot be read from any place, whole."""
    content = io.BytesIO(file.read(LARGEST_WORKBOOK))
    if content.getbuffer().nbytes == LARGEST_WORKBOOK:
        raise DataError(f"{name} is too large to be read gzipped or from a pipe.")
    return content


def _encoding_of(head: bytes, name: str, encoding: str | None) -> str:
    """The encoding of a text by its mark, else the one that was given, else UTF-8."""
    for mark, own in _MARKS.items():
        if head.startswith(mark):
            return own
    is_binary = not encoding and len(_CONTROL.findall(head)) > 3 + len(head) / 20
    if is_binary or head.startswith(_BINARY):
        utf16 = None if head.startswith(_BINARY) else encodings.utf16_of(head)
        if utf16:
            what = f"{name} is UTF-16 text without its mark"
            raise DataError(
                f"{what}. Give encoding={utf16!r}.", arguments=("encoding",)
            )
        what = f"{name} is a binary file (compressed, a document, ...)"
        raise DataError(f"{what}. Save it as CSV.")
    return encoding or "utf-8-sig"


def _text(file: Any, encoding: str) -> encodings.Text:
    try:
        return encodings.Text(file, encoding, "surrogateescape", newline="")
    except LookupError:
        raise ArgumentError(
            f"encoding: Python has no text encoding {encoding!r}."
        ) from None


def _text_rows(text: encodings.Text, report: ReadReport, known: set[str]) -> Rows:
    """Finds the format of a text, and its header."""
    lines = _lines(text, report.path)
    start = _first_lines(lines)
    lines = chain(start, lines)
    head = [line for line in start if line[1].strip()]
    if not head:
        raise DataError(f"{report.path} is empty.")
    number, first = head[0]
    where = f"{report.path}, line {number}"
    if _JSON_START.match(first):
        header = _json_header(head, text, where)
        return Rows(report, header, _json_rows(lines, text), where, known)
    for pattern, what in _NO_HEADER.items():
        if re.match(rf"\s*+({pattern})", first, re.IGNORECASE):
            raise DataError(f"{where}: {first.strip()[:30]!r} is {what}")
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    mark = delimiter([line for _, line in head], known)
    if not mark:
        refuse_late_header(head, known, report.path)
        name = first.strip()
        plain = _plain_rows(lines, text, name)
        return Rows(report, [name], plain, where, known, is_plain=True)
    report.delimiter = mark
    rows = _delimited_rows(lines, mark, text)
    _, header, problem = next(rows)
    if problem:
        raise DataError(f"{where}: {problem}")
    _check_columns(header, where)
    return Rows(report, header, rows, where, known)


# -- Lines, and the rows in them
# --------------------------------------------------------------


def _first_lines(lines: Lines) -> list[tuple[int, str]]:
    """The lines by which a format is recognised."""
    start = []
    length = 0
    for line in islice(lines, HEAD_LINES):
        start.append(line)
        length += len(line[1])
        if length > HEAD_LENGTH:
            break
    return start


def _lines(text: encodings.Text, name: str) -> Lines:
    for number, line in enumerate(iter(lambda: text.readline(LONGEST_LINE), ""), 1):
        if len(line) == LONGEST_LINE:
            longest = f"{LONGEST_LINE >> 20} million characters"
            raise DataError(
                f"{name}, line {number:,} is longer than {longest}. Shorten it."
            )
        yield number, line.lstrip("\ufeff")  # of a file that was put after another


def _odd(line: str, text: encodings.Text) -> str | None:
    """Why a line of a text holds characters that are none; None where it does not."""
    if (line.isascii() and "\0" not in line) or not (match := _ODD.search(line)):
        return None
    if match[0] == "\0":
        return "a NUL character."
    return text.problem(ord(match[0]) - 0xDC00, line)


def _plain_rows(lines: Lines, text: encodings.Text, name: str) -> Iterator[Row]:
    """Each line as a question in the column `name`."""
    for number, line in lines:
        if line.strip():
            yield number, {name: line.rstrip("\r\n")}, _odd(line, text)
        else:
            yield number, None, None


def _json_rows(lines: Lines, text: encodings.Text) -> Iterator[Row]:
    """Each line as an object."""
    for number, line in lines:
        if line.strip():
            yield number, *_json_object(line, text)


def _json_header(
    head: list[tuple[int, str]], text: encodings.Text, where: str
) -> list[str]:
    """The keys of the first objects."""
    objects = [_json_object(line, text) for _, line in head]
    header = dict.fromkeys(name for row, _ in objects for name in row)
    if not header:
        raise DataError(f"{where}: {objects[0][1] or 'an empty object.'}")
    return list(header)


def _json_object(line: str, text: encodings.Text) -> tuple[dict, str | None]:
    """The object of a line, and why there is none."""
    if problem := _odd(line, text):
        return {}, problem
    try:
        row = json.loads(
            line, object_pairs_hook=_object, parse_constant=lambda name: None
        )
    except (ValueError, RecursionError) as error:
        place = (
            f", column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        )
        why = getattr(error, "msg", error)
        return {}, f"not JSON{place} ({why}). Each line must hold one object."
    if line.count("[") + line.count("{") > MOST_DEPTH and is_deep(row):
        return {}, f"its value {TOO_DEEP}"
    if type(row) is not dict:
        return {}, f"not a JSON object: {str(row)[:40]!r}."
    return row, None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        raise ValueError("a key stands there twice")
    return row


class _RowLines:
    """The lines of one row of CSV after another; those of a bad row can be read again."""

    def __init__(self, lines: Lines):
        self.row: list[tuple[int, str]] = []  # its lines so far
        self._lines = lines
        self._again: deque[tuple[int, str]] = deque()
        self._times_read: dict[int, int] = {}  # of the lines that are read again

    def texts(self) -> Iterator[str]:
        """The lines' texts. A row ends before a line that was in `MOST_TIMES_READ` bad rows.

        Else the time would grow with the square of the file's length.
        """
        row = self.row
        again = self._again
        while line := again.popleft() if again else next(self._lines, None):
            if row and self._times_read.get(line[0], 0) == MOST_TIMES_READ:
                again.appendleft(line)
                return
            row.append(line)
            yield line[1]

    def read_again(self) -> None:
        """Lets all lines of the row but its first be read again."""
        for line in reversed(self.row[1:]):
            self._times_read[line[0]] = self._times_read.get(line[0], 0) + 1
            self._again.appendleft(line)

    def end_row(self) -> None:
        """Goes on to the next row."""
        if self.row:
            self._times_read.pop(self.row[0][0], None)
            self.row.clear()


def _delimited_rows(lines: Lines, mark: str, source: encodings.Text) -> Iterator[Row]:
    """The header, then the rows. A bad row is its first line alone, the others are read again."""
    row_lines = _RowLines(lines)
    row = row_lines.row
    header: list[str] = []
    reader = None
    while True:
        row_lines.end_row()
        reader = reader or csv.reader(
            row_lines.texts(), delimiter=mark, strict=True, skipinitialspace=True
        )
        error = None
        try:
            cells = next(reader, None) or [""]
        except csv.Error as csv_error:
            error = csv_error
            cells = [""]
            reader = None
        if not row:
            return
        text = row[0][1] if len(row) == 1 else "".join(line for _, line in row)
        # A blank line is no row.
        if len(cells) != len(header) != 1 and not text.strip():
            continue
        header = header or cells
        problem = _odd(text, source)
        if error or len(cells) != len(header):
            problem = problem or _problem(text, cells, header, error)
            row_lines.read_again()
        yield row[0][0], cells, problem


def _problem(
    text: str, cells: list[str], header: list[str], error: csv.Error | None
) -> str:
    """Why some lines are no row: what the csv module says, or a wrong number of cells."""
    if '\\"' in text:
        return 'a quote is written as \\"; CSV writes it twice: "".'
    if "unexpected end" in str(error):
        return "a quote is opened here and not closed."
    if error:
        return f"text follows a closing quote ({error}). CSV writes a quote inside quotes twice."
    fields = f"{len(cells)} field{'s' * (len(cells) != 1)}"
    why = f"{fields} where the header has {len(header)} ({shown_names(header)})."
    if len(cells) > len(header):
        why += " A question that holds a comma or semicolon must stand in quotes."
    return why
