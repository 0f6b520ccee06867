"""The records of a file, for every command: comma- or tab-separated, JSON Lines, Parquet, plain text.

CSV follows RFC 4180 through Python's csv module, except where a quote is opened and not closed: that line
is read by itself, the quote a letter like any other. Tab-separated files exist in two kinds that no name
tells apart: written with quotes as in CSV (Quora's own), or with every quote literal (as GLUE's is
commonly read). So a tab field is unquoted only where it can be nothing but a quoted field.
"""

from __future__ import annotations

import contextlib
import csv
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from siamese.data.files import LONGEST_LINE, OpenFile, ReadReport, TableRecords
from siamese.errors import ArgumentError, DataError, MissingDependencyError

MOST_LINES_IN_A_ROW = 50  # a question with more lines than this is an unclosed quote
MOST_UNCLOSED = 1000  # after so many, an opened quote is a letter at once: searching takes time
DELIMITERS = {",": "CSV", "\t": "tab-separated", ";": "semicolon-separated", "|": "bar-separated"}
# Our column -> its names in files (Quora's, Kaggle's, GLUE's, and the Hugging Face hub's).
COLUMN_NAMES = {
    "question1": ("question1", "sentence1"),
    "question2": ("question2", "sentence2"),
    "is_duplicate": ("is_duplicate", "label"),
    "id": ("id", "idx", "pair_id"),
}
_PART = re.compile(r"(?:([1-9])\*)?(.+)", re.DOTALL)  # one part of "2*title+body"

Row = Any  # list of values (delimited, Parquet), what the line holds (JSON), or BadRow
Chunk = tuple[list[Row], Sequence[int]]  # rows, and the line each starts on


class BadRow(NamedTuple):
    """A row that cannot be read: its text, and why (what goes on after "line 3")."""

    text: str
    why: str
    cut: bool = False  # a cut line of a tab-separated file


class Records(OpenFile):
    """The records of one file, in order; a context manager.

    Args:
      path: what `OpenFile` takes.
      report: gets the format and what was handled.
      known: the names of columns that are looked for; they decide the delimiter.

    Attributes:
      header: the names of the columns; empty for JSON Lines, whose rows name their own. Set it (to [] for
        none), `width` and `delimiter` before iterating where the first line (`first`) is a row.
    """

    def __init__(self, path: Any, report: ReadReport, known: Collection[str]):
        super().__init__(path)
        self.report, self.first, self.delimiter = report, "", ""
        self.header: list[str] = []
        self._blocks = self.line_blocks(report)
        if self.start.startswith(b"PAR1"):
            self.format, report.unit = "Parquet", "row"
            self._table = _parquet_table(self)
            self.header = self._table.schema_arrow.names
        elif self.start.startswith((b"{", b"[")):
            self.format = "JSON Lines"
        else:
            self._block = next(self._blocks)
            self.first = self._block[0]
            self.header, self.delimiter = split_header(self.first, known)
            self.format = DELIMITERS[self.delimiter]
        self.is_json = self.format == "JSON Lines"
        self.is_delimited = bool(self.delimiter)
        self.width = len(self.header)
        report.format = self.format + (", gzipped" if self.is_gzip else "")

    def __iter__(self) -> Iterator[Chunk]:
        if self.is_json:
            return self._json()
        return self._delimited() if self.is_delimited else self._parquet()

    def good(self) -> Iterator[Chunk]:
        """The chunks without bad rows, which go into the report; of JSON Lines the objects alone."""
        if self.start.startswith(b"["):
            raise DataError(
                f"{self.name}, line 1: a JSON array. Write one JSON object on each line instead."
            )
        for rows, starts in self:
            kinds = set(map(type, rows))
            if BadRow in kinds or (self.is_json and kinds != {dict}):
                kept = []
                for row, line in zip(rows, starts):
                    if self.is_json and type(row) not in (dict, BadRow):
                        row = BadRow(row, f": not a JSON object: {str(row)[:40]!r}.")
                    if type(row) is BadRow:
                        self.report.add_bad_row(line, row.why, row.cut)
                    else:
                        kept.append((row, line))
                rows, starts = [row for row, _ in kept], [line for _, line in kept]
            if rows:
                yield rows, starts

    def lines(self) -> Iterator[Chunk]:
        """Plain text: each line is a row by itself."""
        first, block = 1, self._block
        while block is not None:
            yield [[line] for line in block], range(first, first + len(block))
            first += len(block)
            block = next(self._blocks, None)

    # -- Comma- and tab-separated files -------------------------------------------------------

    def _delimited(self) -> Iterator[Chunk]:
        """The rows of each block. A row's lines may stand in two blocks: the first waits then."""
        first = 2 if self.header else 1
        waiting: list[str] = []
        block: list[str] | None = self._block[first - 1 :]
        self._all_quoted = self.first.startswith('"')
        self._last: list[str] = []  # the last good row
        self._unclosed = 0  # quotes that were opened and not closed so far
        while block is not None or waiting:
            lines = [*waiting, *(block or ())]
            rows = None if waiting else self._row_each(lines)
            if rows is not None and set(map(len, rows)) <= {self.width}:
                starts: Sequence[int] = range(first, first + len(lines))
                first, waiting = first + len(lines), []
                self._last = rows[-1] if rows else []
            else:
                rows, starts, used = self._assembled(lines, first, at_end=block is None)
                first, waiting = first + used, lines[used:]
            yield rows, starts
            block = next(self._blocks, None) if block is not None else None

    def _row_each(self, lines: list[str]) -> list[list[str]] | None:
        """One row for each line; None where that is not so."""
        if self.delimiter == "\t":
            rows = [line.split("\t") for line in lines]
            return [self._unquoted(row) if '"' in line else row for row, line in zip(rows, lines)]
        try:
            rows = list(csv.reader(lines, delimiter=self.delimiter, strict=True))
        except csv.Error:
            return None
        return rows if len(rows) == len(lines) else None

    def _assembled(
        self, lines: list[str], first: int, at_end: bool
    ) -> tuple[list[Row], list[int], int]:
        """Rows, where they start, and how many of the lines they take; the rest wait for more."""
        rows, starts, blank, at = [], [], [], 0
        while at < len(lines):
            if not lines[at]:
                blank.append(first + at)
                at += 1
                continue
            fields, is_open = self._split(lines[at])
            whole = len(fields) == self.width and (not is_open or self.delimiter == "\t")
            used, row = (1, fields) if whole else self._joined(lines, at, fields, is_open, at_end)
            if not used:
                break
            if used > 1:
                self.report.add("newline", [first + at])
            elif row is fields and is_open:
                self.report.add("quote", [first + at])
            if type(row) is list:
                row = self._last = self._unquoted(row)
            rows.append(row)
            starts.append(first + at)
            at += used
        self.report.add("blank", blank)
        return rows, starts, at

    def _joined(
        self, lines: list[str], at: int, fields: list[str], is_open: bool, at_end: bool
    ) -> tuple[int, Row]:
        """How many lines the row that starts at `lines[at]` takes (0: more must be read), and the row."""
        tabs, text = self.delimiter == "\t", lines[at]
        alone = len(fields) == self.width
        numbers = [
            i for i, value in enumerate(fields if alone else self._last) if _is_number(value)
        ]
        if is_open and self._unclosed < MOST_UNCLOSED:
            for end in range(at + 1, at + MOST_LINES_IN_A_ROW):
                if end >= len(lines):
                    if not at_end:
                        return 0, None
                    break
                quotes = lines[end].count('"')
                if (alone or quotes % 2 == 0) and self._stands_alone(lines[end], numbers):
                    break
                if len(text) > LONGEST_LINE:
                    break
                text += "\n" + lines[end]
                if quotes:
                    row, still_open = self._split(text)
                    if len(row) == self.width and not still_open:
                        return end + 1 - at, row
            self._unclosed += 1
        if alone:
            return 1, fields
        found = f"{len(fields)} {'field' if len(fields) == 1 else 'fields'}"
        names = f" ({', '.join(self.header)})" if self.header else ""
        why = f": {found} where the {'header' if names else 'first line'} has {self.width}{names}."
        if not tabs:
            mark = "comma" if self.delimiter == "," else repr(self.delimiter)
            why += f" A question that holds a {mark} or a quote must stand in quotes."
        if is_open:
            why += " A quote that is opened here is not closed."
        return 1, BadRow(lines[at], why, cut=tabs and len(fields) < self.width)

    def _stands_alone(self, line: str, numbers: list[int]) -> bool:
        """Whether a line is a row by itself: in CSV only where it has numbers in the same columns."""
        fields, _ = self._split(line)
        if len(fields) != self.width:
            return False
        return self.delimiter == "\t" or bool(
            numbers and all(_is_number(fields[i]) for i in numbers)
        )

    def _split(self, text: str) -> tuple[list[str], bool]:
        return csv_fields(text, self.delimiter, unquote=self.delimiter != "\t")

    def _unquoted(self, row: list[str]) -> list[str]:
        if self.delimiter != "\t":
            return row
        return [_unquote(field, self._all_quoted) for field in row]

    # -- JSON Lines and Parquet ---------------------------------------------------------------

    def _json(self) -> Iterator[Chunk]:
        first = 1
        for block in self._blocks:
            rows, starts, blank = [], [], []
            for number, line in enumerate(block, start=first):
                if line.strip():
                    rows.append(_json_value(line))
                    starts.append(number)
                else:
                    blank.append(number)
            self.report.add("blank", blank)
            first += len(block)
            yield rows, starts

    def _parquet(self) -> Iterator[Chunk]:
        first = 1
        with _parquet_errors(self.name):
            for batch in self._table.iter_batches(batch_size=10_000):
                rows = list(map(list, zip(*(column.to_pylist() for column in batch.columns))))
                yield rows, range(first, first + len(rows))
                first += len(rows)


def open_records(source: Any, report: ReadReport, known: Collection[str]) -> Records | TableRecords:
    """The records of a file (a path, see `OpenFile`) or of a table in memory."""
    is_table = isinstance(source, Mapping) or hasattr(source, "columns")
    if is_table or hasattr(source, "column_names"):
        return TableRecords(source, report)
    return Records(source, report, known)


def check_bad_rows(value: str) -> bool:
    """Whether bad rows are skipped; ArgumentError for another word than refuse and skip."""
    if value not in ("refuse", "skip"):
        raise ArgumentError(f"bad_rows must be 'refuse' or 'skip'; it is {value!r}.")
    return value == "skip"


# -- Columns by name --------------------------------------------------------------------------


def normal_name(name: Any) -> str:
    """A column's name as it is compared: without blanks around it, in lower case."""
    return str(name).strip().lower()


def split_header(line: str, known: Collection[str]) -> tuple[list[str], str]:
    """The column names of a header line, and its delimiter: the one that gives the most `known`."""
    headers = [(csv_fields(line, mark)[0], mark) for mark in DELIMITERS]
    return max(headers, key=lambda h: (sum(normal_name(n) in known for n in h[0]), len(h[0])))


def wanted_names(specs: Sequence[str]) -> set[str]:
    """The names, as they are compared, in what a user calls columns: "title", "2*title+body"."""
    parts = [part for spec in specs for part in (spec, *spec.split("+"))]
    return {normal_name(_PART.fullmatch(part)[2]) for part in parts if part}


def header_or_numbers(records: Records | TableRecords, specs: Sequence[str]) -> list[str]:
    """The columns' names; "1", "2", ... where `specs` are such numbers: the file has no header then."""
    wanted = wanted_names(specs)
    numbers = [str(at + 1) for at in range(len(records.header))]
    is_numbers = wanted and all(map(str.isdecimal, wanted))
    if records.is_delimited and is_numbers and not wanted <= set(map(normal_name, records.header)):
        records.header = []
        return numbers
    return list(records.header)


def spec_places(spec: str, header: Sequence[str], where: str) -> list[int]:
    """Which columns of `header` the text called `spec` is made of, one repeated as often as it weighs.

    Raises:
      DataError: a column that is not there, or twice.
    """
    names = list(map(normal_name, header))
    whole = normal_name(spec) in names  # A name may hold a + or a *.
    found = []
    for part in [spec] if whole else spec.split("+"):
        times, name = (None, spec) if whole else _PART.fullmatch(part or " ").groups()
        if names.count(normal_name(name)) != 1:
            what = "two columns" if normal_name(name) in names else "no column"
            shown = ", ".join(str(one).strip()[:40] for one in header[:12])
            raise DataError(f"{where}: {what} {name.strip()!r}; found: {shown}.")
        found += [names.index(normal_name(name))] * int(times or 1)
    return found


def text_at(row: Sequence[Any], places: Sequence[int]) -> Any:
    """The cell at one place; the cells at several, those with text joined by blanks."""
    cells = [row[at] for at in places]
    odd = [cell for cell in cells if not isinstance(cell, str | None)]
    if len(cells) == 1 or odd:
        return (odd or cells)[0]
    return " ".join(cell for cell in cells if cell and cell.strip())


def column_places(
    header: Sequence[str],
    where: str,
    required: Sequence[str],
    optional: Sequence[str] = (),
    columns: Sequence[str] = (),
) -> dict[str, list[int]]:
    """Which columns of `header` each of ours is made of: one, unless the user's `columns` join several.

    `columns` are what the user calls the first of the required ones, see `spec_places`. DataError where a
    required column is missing or doubled.
    """
    names = list(map(normal_name, header))
    places = {column: spec_places(s, header, where) for column, s in zip(required, columns)}
    for column in (*required, *optional):
        if column in places:
            continue
        found = [at for at, name in enumerate(names) if name in COLUMN_NAMES[column]]
        if len(found) > 1:
            doubled = " and ".join(str(header[at]) for at in found)
            raise DataError(f"{where}: {column} stands in two columns ({doubled}).")
        if found:
            places[column] = found
    missing = [column for column in required if column not in places]
    if missing:
        shown = ", ".join(str(name).strip()[:40] for name in header[:12])
        hint = " Is it a test file without labels?" if missing == ["is_duplicate"] else ""
        raise DataError(
            f"{where}: no column {' or '.join(missing)}; found: {shown}. Question pairs need the "
            f"columns {', '.join(required)}.{hint} Name yours with --columns (in Python: columns=)."
        )
    return places


# -- Fields and values ------------------------------------------------------------------------


def csv_fields(text: str, delimiter: str, unquote: bool = True) -> tuple[list[str], bool]:
    """The fields of a CSV record of any length, and whether one starts with a quote that does not end it.

    Such a field is read up to the next delimiter, its quotes kept; all quotes without `unquote`.
    """
    mark = re.escape(delimiter)
    pattern = re.compile(rf'"([^"]*+(?:""[^"]*+)*+)"(?={mark}|\Z)|[^{mark}]*+')
    fields, at, is_open = [], 0, False
    while True:
        match = pattern.match(text, at)
        if match[1] is not None:
            fields.append(match[1].replace('""', '"') if unquote else match[0])
        else:
            fields.append(match[0])
            is_open |= match[0].startswith('"')
        if match.end() >= len(text):
            return fields, is_open
        at = match.end() + 1


def _unquote(field: str, all_quoted: bool) -> str:
    """A tab field without CSV quotes, where it can only be a quoted field; otherwise as it stands.

    A writer of CSV quotes a field that holds a quote, a tab or a line break, and doubles its quotes.
    A field that is quoted as a whole but had no reason to be is a question in literal quotes, unless
    the header's own names stand in quotes (`all_quoted`).
    """
    inner = field[1:-1]
    if len(field) < 2 or field[0] != '"' or field[-1] != '"' or '"' in inner.replace('""', ""):
        return field  # also where a lone quote is inside: no CSV writer makes this
    needed = not inner or '""' in inner or "\n" in inner or "\t" in inner
    return inner.replace('""', '"') if needed or all_quoted else field


def _is_number(value: Any) -> bool:
    return isinstance(value, str) and value.strip().replace(".", "", 1).isdigit()


def _json_value(line: str) -> Any:
    try:
        value = json.loads(line)
        # Each key has a colon of its own: with one more a key may stand there twice, which the hook finds.
        if type(value) is dict and line.count(":") > len(value):
            value = json.loads(line, object_pairs_hook=_object)
        return value
    except DataError as error:
        return BadRow(line, f": {error}")
    except (ValueError, RecursionError) as error:
        column = f", column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        return BadRow(line, f"{column}: not JSON ({getattr(error, 'msg', error)}).")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        doubled = next(name for name in names if names.count(name) > 1)
        raise DataError(f"the key {doubled!r:.40} stands there twice.")
    return found


@contextlib.contextmanager
def _parquet_errors(name: str) -> Iterator[None]:
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(
            f"{name}: the Parquet file cannot be read ({error}). Write it again."
        ) from None


def _parquet_table(file: OpenFile) -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingDependencyError(
            f"{file.name} is a Parquet file; reading it needs pyarrow: pip install pyarrow."
        ) from None
    if file.is_gzip or not file.is_regular:
        raise DataError(
            f"{file.name}: Parquet is read from its end. Give the file itself, unzipped."
        )
    with _parquet_errors(file.name):
        return pyarrow.parquet.ParquetFile(file.path)
