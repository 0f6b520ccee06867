"""One reader for every command: the rows of a file, a pipe or a table in memory, each with its line.

The content decides the format, never the name: text (`formats`), Parquet and Excel
workbooks (`tables`); each also gzipped or through a pipe. A row that cannot be read is
refused with its line, or left out and counted in the report.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from siamese.errors import (
    ArgumentError,
    DataError,
    MissingDependencyError,
    SiameseError,
)
from siamese.reading import encodings
from siamese.reading.formats import (
    LONGEST_LINE,
    MOST_COLUMNS,
    HeaderCheck,
    Row,
    text_table,
    too_many_columns,
)
from siamese.reading.tables import Table, memory_table, parquet_table, workbook_table
from siamese.system.arguments import one_of
from siamese.system.open_types import Record
from siamese.text.cleaning import cleaned
from siamese.text.columns import (
    TextColumns,
    columns_called,
    columns_named,
    normal_name,
    read_spec,
    shown_names,
)
from siamese.text.values import TOO_DEEP, is_deep

# bytes of a Parquet or Excel file that comes gzipped or through a pipe
LARGEST_WORKBOOK = 1 << 30
MOST_ROWS = 10 << 20  # of a file; a million vectors of the encoder `use` take 2 GB
MOST_LINES = 1_000  # numbers that a report has of each kind
FIRST_LINES = 5  # line numbers that a report prints of each kind
# The end of the advice about a bad row.
SKIP = ", or leave such rows out with bad_rows='skip'"
# kind -> the rows that are left out for it, in the order of the printed report.
KINDS = {
    "bad": "that cannot be read",
    "header": "with the header again",
    "empty": "with an empty question",
    "wordless": "without a letter or a digit",
    "linkless": "without a link to another question",
}
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


# -- What a reader gives: rows, and a report
# -------------------------------------------------------------------------------


@dataclass
class ReadReport:
    """The rows of a file that were left out; printing it gives a few lines of text."""

    path: str  # the file
    # the file for a row that cannot be read, or 'skip' the row
    bad_rows: str = "refuse"
    unit: str = "line"  # what the numbers count from 1, or 'row' of a table
    delimiter: str = ","  # between the cells of a text; of other formats a comma
    # their names, as the file has them
    columns: list[str] = field(default_factory=list)
    rows: int = 0  # data rows read so far
    # A key of `KINDS` -> the lines of its rows, at most the first `MOST_LINES`; and how
    # many they are.
    findings: dict[str, list[int]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)  # other remarks, in words

    def add(self, kind: str, lines: Sequence[int]) -> None:
        """Notes that `kind` occurred on `lines`."""
        if lines:
            known = self.findings.setdefault(kind, [])
            known.extend(lines[: MOST_LINES - len(known)])
            self.counts[kind] += len(lines)

    def forget(self, kind: str) -> None:
        """Drops the notes of `kind`."""
        self.findings.pop(kind, None)
        del self.counts[kind]

    def bad_row(self, line: int, reason: str) -> None:
        """Notes a row that cannot be read; DataError where such rows are refused."""
        if self.bad_rows == "refuse":
            raise DataError(
                f"{self.path}, {self.unit} {line:,}: {reason} Correct it{SKIP}.",
                arguments=("bad_rows", "encoding"),
            )
        self.add("bad", [line])

    @property
    def left_out(self) -> int:
        """The data rows that became no pair (or question)."""
        kinds = ("bad", "empty", "wordless", "linkless")
        return sum(self.counts[kind] for kind in kinds)

    def __str__(self) -> str:
        head = (
            f"{self.path}: {self.rows:,} rows read, {self.rows - self.left_out:,} kept"
        )
        return "\n  ".join([head, *self.finding_lines()])

    def finding_lines(self) -> list[str]:
        """A line of text for each kind: how many, and where; then other remarks."""
        texts = []
        for kind in filter(self.findings.get, KINDS):
            count = self.counts[kind]
            lines = self.findings[kind]
            s = "s" * (count > 1)
            where = ", ".join(f"{line:,}" for line in lines[:FIRST_LINES])
            where += ", …" * (count > FIRST_LINES)
            texts.append(
                f"{count:,} row{s} {KINDS[kind]} ({self.unit}{s} {where}): left out"
            )
        return texts + self.notes


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

    def __iter__(self) -> Iterator[tuple[int, int, Record]]:
        report = self.report
        report.columns = self.header
        check = HeaderCheck([] if self.is_plain else self.header, self.known)
        has_twins = len(set(self.header)) < len(self.header)
        twins = _places_of_twins(self.header) if has_twins else {}
        with _reading(report):
            for line, cells, problem in self.source:
                if cells is None:
                    report.rows += 1
                    report.add("empty", [line])
                    continue
                is_list = type(cells) is list  # not an object of JSON Lines
                if is_list and (kind := check.kind(cells)):
                    if kind == "another":
                        raise self._another_table(line, cells)
                    report.add("header", [line])
                    continue
                report.rows += 1
                if report.rows - report.counts["empty"] > MOST_ROWS:
                    raise DataError(
                        f"{report.path} has more than {MOST_ROWS >> 20} million rows. Take a part of it."
                    )
                if problem:
                    report.bad_row(line, problem)
                    continue
                row = cells
                if is_list:
                    row = {
                        name: cell
                        for name, cell in zip(self.header, cells)
                        if name or cell not in ("", None)
                    }
                    for name in twins.keys() & row.keys():
                        row[name] = [cells[place] for place in twins[name]]
                yield line, report.rows - 1, row

    def _another_table(self, line: int, cells: list) -> DataError:
        """What to do about the header of another table."""
        report = self.report
        like = f"with the columns of the first ({shown_names(self.header)}), or "
        return DataError(
            f"{report.path}, {report.unit} {line:,}: another table begins here ("
            f"{shown_names(cells)}). Save it {'' if self.is_plain else like}as a file of its own."
        )

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

    def question(self, line: int, row: Record, made_of: TextColumns) -> str:
        """The text that columns of a row make, joined by blanks; "" for an empty or bad row, noted so."""
        columns, words = made_of
        text = row.get(columns[0])
        if type(text) is not str or len(columns) > 1 or len(text) > LONGEST_LINE:
            cells = [(name, row[name]) for name in columns if row.get(name) is not None]
            if problem := _no_text(row, columns, cells):
                self.report.bad_row(line, problem)
                return ""
            text = " ".join(cell for _, cell in cells if cell.strip())
        # words without markup
        text = " ".join(cleaned(text).split()[:words]) if words else text
        if not text.strip():
            self.report.add("empty", [line])
            return ""
        return text

    def pair(self, line: int, row: Record, sides: Iterable[TextColumns]) -> list[str]:
        """Both questions of a row; [] where there is none of one of them."""
        first, second = sides
        one = self.question(line, row, first)
        two = one and self.question(line, row, second)
        return [one, two] if two else []


def _no_text(
    row: Record, columns: list[str], cells: list[tuple[str, Any]]
) -> str | None:
    """Why columns of a row, of which `cells` are there, make no text; None where they do."""
    for name, cell in cells:
        if not isinstance(cell, str):
            return f"{name} is {cell!r:.40}, not text."
    for name, cell in cells:
        if len(cell) > LONGEST_LINE:
            return f"{name} has more than {LONGEST_LINE >> 20} million characters."
    if not cells and row.keys().isdisjoint(columns):
        return f"{columns[0]} is missing."
    return None


def _places_of_twins(header: list[str]) -> dict[str, list[int]]:
    """The places of the columns of one name, where several have it."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, name in enumerate(header):
        places[name].append(place)
    return {name: own for name, own in places.items() if len(own) > 1}


# -- The file, and its format
# -------------------------------------------------------------------------------


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
    one_of(bad_rows, "bad_rows", ("refuse", "skip"))
    if not isinstance(source, (str, os.PathLike)):
        report = ReadReport(f"the {type(source).__name__}", bad_rows=bad_rows)
        yield _table_rows(report, memory_table(source, report.path), {*names})
        return
    report = ReadReport(
        "standard input" if source == "-" else str(source), bad_rows=bad_rows
    )
    known = set(map(normal_name, names))
    for spec in filter(None, specs):
        known.update(map(normal_name, (spec, *read_spec(spec).columns)))
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


def _table_rows(report: ReadReport, table: Table, known: set[str]) -> Rows:
    report.unit = "row"
    header, rows = table
    if len(header) > MOST_COLUMNS:
        raise too_many_columns(header, report.path)
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
    try:
        encoding = _encoding_of(head, report.path, encoding)
        text = encodings.Text(file, encoding, "surrogateescape", newline="")
    except LookupError:
        raise ArgumentError(
            f"encoding: Python has no text encoding {encoding!r}."
        ) from None
    text.path = report.path
    table = text_table(text, known)
    text.refuses_bad_rows = report.bad_rows == "refuse"  # but never a header
    report.delimiter = table.delimiter
    return Rows(report, table.header, table.rows, table.where, known, table.is_plain)


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
