"""The formats of text: CSV, tab-separated text, JSON Lines, and plain text with a question on each line.

`text_table` finds the format by the first lines, never by the file's name, and gives
the header and the rows. Nothing is repaired by guessing: a row that cannot be read goes
on with the reason.
"""

from __future__ import annotations

import csv
import json
import re
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from siamese.errors import DataError
from siamese.reading.encodings import Text
from siamese.system.open_types import Record
from siamese.text.columns import normal_name, shown_names
from siamese.text.values import MOST_DEPTH, TOO_DEEP, is_deep

DELIMITERS = ",\t;|"
MOST_COLUMNS = 16_384  # as of a sheet
MOST_NAMES = 1000  # of a header, by which it is recognised again
# characters; a longer line, or cell of a workbook, would fill the memory
LONGEST_LINE = 16 << 20
MOST_TIMES_READ = 20  # of a line of CSV inside of bad rows
HEAD_LINES = 50  # lines by which a table without known names is told from plain text
HEAD_LENGTH = 4 << 20  # characters of them
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

Line = tuple[int, str]  # its number from 1, and its text with its end
# The row's line, its cells (a dict, or a list as long as the header; None of a blank
# line), and why it cannot be read.
Row = tuple[int, Any, str | None]


class TextTable(NamedTuple):
    """A text as a table."""

    header: list[str]
    rows: Iterator[Row]
    where: str  # the file and the line of its header, for messages
    delimiter: str = ","  # between the cells; of other formats a comma
    # no table: the one column, called as the first line, holds the lines
    is_plain: bool = False


def text_table(source: Text, known: set[str]) -> TextTable:
    """The table of a text, whose columns may have the `known` names; DataError for what is none."""
    lines = _lines(source)
    # The first lines decide the format.
    start = []
    length = 0
    for line in islice(lines, HEAD_LINES):
        start.append(line)
        length += len(line[1])
        if length > HEAD_LENGTH:
            break
    lines = chain(start, lines)
    head = [line for line in start if line[1].strip()]
    if not head:
        raise DataError(f"{source.path} is empty.")
    number, first = head[0]
    where = f"{source.path}, line {number}"
    # JSON Lines, or what is no table.
    if _JSON_START.match(first):
        header = _json_header(head, source, where)
        return TextTable(header, _json_rows(lines, source), where)
    for pattern, what in _NO_HEADER.items():
        if re.match(rf"\s*+({pattern})", first, re.IGNORECASE):
            raise DataError(f"{where}: {first.strip()[:30]!r} is {what}")
    # Cells, or a question on each line.
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    mark = _delimiter([line for _, line in head], known)
    if mark is None:
        _refuse_late_header(head, known, source.path)
        rows = _plain_rows(lines, source)
        return TextTable([first.strip()], rows, where, is_plain=True)
    rows = _delimited_rows(lines, mark, source)
    _, header, problem = next(rows)
    if problem:
        raise DataError(f"{where}: {problem}")
    if len(header) > MOST_COLUMNS:
        raise too_many_columns(header, where)
    return TextTable(header, rows, where, mark)


def too_many_columns(header: list[str], where: str) -> DataError:
    """What is said of more columns than a sheet has: each row would take much memory."""
    return DataError(
        f"{where}: {len(header):,} columns. Save at most {MOST_COLUMNS:,} of them."
    )


def _lines(source: Text) -> Iterator[Line]:
    number = 0
    while line := source.readline(LONGEST_LINE):
        number += 1
        if len(line) == LONGEST_LINE:
            longest = f"{LONGEST_LINE >> 20} million characters"
            raise DataError(
                f"{source.path}, line {number:,} is longer than {longest}. Shorten it."
            )
        yield number, line.lstrip("\ufeff")  # of a file that was put after another


def _odd(line: str, source: Text) -> str | None:
    """Why a line of a text holds characters that are none; None where it does not."""
    if (line.isascii() and "\0" not in line) or not (match := _ODD.search(line)):
        return None
    if match[0] == "\0":
        return "a NUL character."
    return source.problem(ord(match[0]) - 0xDC00, line)


# -- CSV
# -------------------------------------------------------------------------------


def _delimiter(head: list[str], known: set[str]) -> str | None:
    """What stands between the known names of a first row; else between the cells of most lines.

    None of plain text, in which a blank follows a comma, unless all its lines have the
    shape of a table.
    """
    mark = ""
    table: list[list[str]] = []
    most = (-1, 0)  # known names in a first row, and its cells
    for other in DELIMITERS:
        rows = list(csv.reader(head, delimiter=other))
        names = rows[0][
            :MOST_COLUMNS
        ]  # A quoted cell, of the header too, may hold lines.
        hits = len(known.intersection(map(normal_name, names)))
        # A line that another mark divides is not one name.
        if len(names) == 1 and not set(DELIMITERS).isdisjoint(names[0]):
            hits = 0
        if (hits, len(rows[0])) > most:
            most = (hits, len(rows[0]))
            mark = other
            table = rows
    if most[0]:
        return mark
    names, *rows = table
    if len(names) == 1 or any(name.startswith(" ") for name in names):
        return mark if _is_header(names, rows) else None
    alike = sum(len(row) == len(names) for row in rows)
    is_table = 2 * alike >= len(rows) and (alike or not head[0].rstrip().endswith("?"))
    return mark if is_table else None


def _is_header(names: list[str], rows: list[list[str]]) -> bool:
    """Whether short names stand above rows of as many cells."""
    alike = len(names) > 1 and all(len(row) == len(names) for row in rows)
    short = all(
        len(name.split()) <= 3 and not name.rstrip().endswith("?") for name in names
    )
    return bool(rows) and alike and short


def _refuse_late_header(head: list[Line], known: set[str], name: str) -> None:
    """Refuses a text whose first line is none of the table that begins below it: a comment, a title."""
    for at in range(1, min(len(head) - 1, 10)):
        for mark in DELIMITERS:
            rows = csv.reader((line for _, line in head[at:]), delimiter=mark)
            names = next(rows)
            is_known = not known.isdisjoint(map(normal_name, names))
            if is_known and _is_header(names, list(rows)):
                what = f"looks like the header of a table ({shown_names(names)})"
                raise DataError(
                    f"{name}, line {head[at][0]} {what}. Delete the lines above it."
                )


def _delimited_rows(lines: Iterator[Line], mark: str, source: Text) -> Iterator[Row]:
    """The header, then the rows. A bad row is its first line alone, the others are read again."""
    row: list[_CsvLine] = []  # the lines of the row that is read
    again: deque[_CsvLine] = deque()  # those of a bad one
    header: list[str] = []
    reader = None
    while True:
        row.clear()
        if reader is None:
            texts = _texts(lines, row, again)
            reader = csv.reader(
                texts, delimiter=mark, strict=True, skipinitialspace=True
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
        number, text, _ = row[0]
        if len(row) > 1:
            text = "".join(line for _, line, _ in row)
        # A blank line is no row.
        if len(cells) != len(header) != 1 and not text.strip():
            continue
        header = header or cells
        problem = _odd(text, source)
        if error or len(cells) != len(header):
            problem = problem or _problem(text, cells, header, error)
            for at, line, times in reversed(row[1:]):
                again.appendleft((at, line, times + 1))
        yield number, cells, problem


_CsvLine = tuple[int, str, int]  # the third: how many bad rows had it


def _texts(
    lines: Iterator[Line], row: list[_CsvLine], again: deque[_CsvLine]
) -> Iterator[str]:
    """The texts of lines, first those that are read `again`; `row` gets each line.

    A row ends before a line that was in `MOST_TIMES_READ` bad rows. Else the time would
    grow with the square of the file's length.
    """
    while True:
        if again:
            line = again.popleft()
        elif new := next(lines, None):
            line = (*new, 0)
        else:
            return
        if row and line[2] == MOST_TIMES_READ:
            again.appendleft(line)
            return
        row.append(line)
        yield line[1]


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


# -- Plain text and JSON Lines
# -------------------------------------------------------------------------------


def _plain_rows(lines: Iterator[Line], source: Text) -> Iterator[Row]:
    """Each line as a question, in the one cell of its row."""
    for number, line in lines:
        if line.strip():
            yield number, [line.rstrip("\r\n")], _odd(line, source)
        else:
            yield number, None, None


def _json_rows(lines: Iterator[Line], source: Text) -> Iterator[Row]:
    """Each line as an object."""
    for number, line in lines:
        if line.strip():
            yield number, *_json_object(line, source)


def _json_header(head: list[Line], source: Text, where: str) -> list[str]:
    """The keys of the first objects."""
    objects = [_json_object(line, source) for _, line in head]
    header = dict.fromkeys(name for row, _ in objects for name in row)
    if not header:
        raise DataError(f"{where}: {objects[0][1] or 'an empty object.'}")
    return list(header)


def _json_object(line: str, source: Text) -> tuple[dict, str | None]:
    """The object of a line, and why there is none."""
    if problem := _odd(line, source):
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


def _object(pairs: list[tuple[str, Any]]) -> Record:
    row = dict(pairs)
    if len(row) < len(pairs):
        raise ValueError("a key stands there twice")
    return row


# -- Headers below the first
# -------------------------------------------------------------------------------


class HeaderCheck:
    """Recognises a header among the rows of a table: files that were put one after another have several.

    Args:
      header: the names of the table's columns; [] for plain text, a question on each line.
      known: the names that the columns may have, as `normal_name` gives them.
    """

    def __init__(self, header: Sequence[str], known: set[str]):
        self.names = list(map(normal_name, header))
        self.known = known
        self.all = known.union(self.names)
        forms = (str, str.lower, str.upper, str.title, str.capitalize)
        names = (*header[:MOST_NAMES], *known)
        self.spellings = {form(name) for name in names for form in forms} - {""}
        self.initials = {name[:1] for name in self.all}
        # Characters of a name with a mark and blanks, and of all names.
        self.longest = max(map(len, self.all), default=0) + 20
        self.width = len(self.all) * self.longest

    def kind(self, cells: Sequence[Any]) -> str:
        """What header a row is: 'the same', 'another' table's (other columns, order or marks), or none: ''.

        A row of one cell is also looked at as several cells with another mark between
        them.
        """
        is_split = (
            len(cells) == 1
            and isinstance(cells[0], str)
            and len(cells[0]) <= self.width
        )
        if is_split:
            cells = re.split(f"[{DELIMITERS}]", cells[0].strip("\r\n"))
        if not self._may_be_one(cells):
            return ""
        here = list(map(normal_name, map(str, cells)))
        if here == self.names and not (is_split and len(cells) > 1):
            return "the same"
        return "another" if self._is_another(here) else ""

    def _may_be_one(self, cells: Sequence[Any]) -> bool:
        """Whether the first cell is a name, or any cell is written as a name usually is.

        Most rows end here: to normalise all cells would take long.
        """
        first = cells[0]
        if isinstance(first, str) and len(first) <= self.longest:
            initial = first[:1]
            is_plain = initial.isascii() and initial.isalnum()
            may_be_name = not is_plain or initial.lower() in self.initials
            if may_be_name and normal_name(first) in self.all:
                return True
        try:
            return not self.spellings.isdisjoint(cells)
        except TypeError:  # A cell that has no hash: a list, of Parquet.
            return False

    def _is_another(self, here: list[str]) -> bool:
        """Whether normal names, of which one may be a column's, are those of another table."""
        cells = set(here)
        names = cells.intersection(self.names)
        others = cells - names
        # Two words of a glossary ("question", "Frage") are no header.
        if others <= self.known:
            return len(cells) > 1 and (
                bool(names) or any(name.endswith("id") for name in cells)
            )
        are_short = all(
            len(name.split()) <= 3 and not name.endswith("?") for name in others
        )
        has_most = len(names) > 1 and 2 * len(names) >= len(here)
        return has_most and are_short and bool(names & self.known)
