"""Rows of a file of questions: comma- or tab-separated, JSON Lines, Parquet or two text files.

CSV follows RFC 4180 through Python's csv module. Tab-separated files of question pairs exist in two
kinds that no name tells apart: written with quotes as in CSV (Quora's own), or with every quote
literal (as GLUE's is commonly read), where a line break inside a question cuts the line. So a tab
field is unquoted only where it can be nothing but a quoted field, and cut lines are joined only
where they fit exactly.
"""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Collection, Iterator, Sequence
from itertools import islice, zip_longest
from typing import Any

from siamese.data.files import BLOCK_BYTES, OpenFile, ReadReport
from siamese.errors import ArgumentError, DataError, MissingDependencyError

CHUNK_ROWS = 50_000
MOST_LINES_IN_A_ROW = 50  # a question with more lines than this is an unclosed quote
BROKEN_SHARE = 0.01  # more broken lines than this, and the file is not what it seems
DELIMITERS = {",": "CSV", "\t": "tab-separated", ";": "semicolon-separated", "|": "bar-separated"}
# Our column -> its names in files (Quora's, Kaggle's, GLUE's, and the Hugging Face hub's).
COLUMN_NAMES = {
    "question1": ("question1", "sentence1"),
    "question2": ("question2", "sentence2"),
    "is_duplicate": ("is_duplicate", "label"),
    "id": ("id", "idx", "pair_id"),
    "qid1": ("qid1",),
    "qid2": ("qid2",),
}
REQUIRED = ("question1", "question2", "is_duplicate")
OPTIONAL = ("id", "qid1", "qid2")

Columns = dict[str, Sequence[Any]]  # column name -> its values
Row = list[str]
Chunk = tuple[list[Row], Sequence[int]]  # rows of equal length, and the line each starts on


def read_columns(
    path: Any, report: ReadReport, chunk_rows: int = CHUNK_ROWS
) -> Iterator[tuple[Columns, Sequence[int]]]:
    """The columns of question pairs in a file, found by name, with the line each row starts on.

    At most `chunk_rows` rows at a time; `report` gets the format and what was handled. What `path`
    may be and what is raised: see `siamese.read_pairs`.
    """
    if chunk_rows < 1:
        raise ArgumentError(f"chunk_rows must be at least 1; it is {chunk_rows}.")
    if isinstance(path, (tuple, list)):
        if len(path) != 2:
            raise ArgumentError(f"{len(path)} paths: give one file, or two text files.")
        yield from _text_columns(path, report, chunk_rows)
        return
    with OpenFile(path) as file:
        if file.start.startswith(b"PAR1"):
            kind, read = "Parquet", _parquet_columns
        elif file.start.startswith(b"{"):
            kind, read = "JSON Lines", _json_columns
        elif file.start.startswith(b"["):
            raise DataError(
                f"{file.name}, line 1: a JSON array. Write one JSON object on each line instead."
            )
        else:
            kind, read = "", _delimited_columns
        report.format = kind
        for part in read(file, report, chunk_rows):
            if file.is_gzip and not report.format.endswith("gzipped"):
                report.format += ", gzipped"
            yield part


# -- Columns by name --------------------------------------------------------------------------


def normal_name(name: Any) -> str:
    """A column's name as it is compared: without blanks around it, in lower case."""
    return str(name).strip().lower()


def split_header(line: str, known: Collection[str]) -> tuple[Row, str]:
    """The column names of a header line, and its delimiter: the one that gives the most `known`."""
    headers = {
        mark: next(csv.reader([line.rstrip("\n")], delimiter=mark), []) for mark in DELIMITERS
    }
    delimiter = max(
        headers, key=lambda mark: sum(normal_name(name) in known for name in headers[mark])
    )
    return headers[delimiter], delimiter


def column_places(
    header: Sequence[str],
    place: str,
    required: Sequence[str] = REQUIRED,
    optional: Sequence[str] = OPTIONAL,
) -> dict[str, int]:
    """Which column of `header` each of ours is; DataError where a required one is missing."""
    names = list(map(normal_name, header))
    places = {}
    for column in (*required, *optional):
        found = [at for at, name in enumerate(names) if name in COLUMN_NAMES[column]]
        if len(found) > 1:
            doubled = " and ".join(str(header[at]) for at in found)
            raise DataError(f"{place}: {column} stands in two columns ({doubled}).")
        if found:
            places[column] = found[0]
    missing = [column for column in required if column not in places]
    if missing:
        shown = ", ".join(str(name).strip()[:40] for name in header[:12])
        hint = " Is it a test file without labels?" if missing == ["is_duplicate"] else ""
        raise DataError(
            f"{place}: no column {' or '.join(missing)}; found: {shown}. Question pairs need the "
            f"columns {', '.join(required)}.{hint}"
        )
    return places


# -- Comma- and tab-separated files -----------------------------------------------------------


def _delimited_columns(file: OpenFile, report: ReadReport, chunk_rows: int):
    lines = file.lines(report)
    first = next(lines)
    header, delimiter = split_header(first, {name for all in COLUMN_NAMES.values() for name in all})
    places = column_places(header, f"{file.name}, line 1")
    report.format = DELIMITERS[delimiter]
    if set(map(normal_name, header)) >= {*REQUIRED, *OPTIONAL}:
        report.format += " with Quora's columns"
    if delimiter == "\t":
        all_quoted = first.startswith('"')
        chunks = _tab_rows(lines, header, places["is_duplicate"], all_quoted, report, chunk_rows)
    else:
        chunks = csv_rows(lines, header, delimiter, report, chunk_rows)
    for rows, starts in chunks:
        values = list(zip(*rows))
        yield {name: values[at] for name, at in places.items()}, starts


def csv_rows(
    lines: Iterator[str],
    header: Row,
    delimiter: str,
    report: ReadReport,
    chunk_rows: int = CHUNK_ROWS,
) -> Iterator[Chunk]:
    """Rows of a CSV file whose header line was already taken from `lines`.

    DataError at a row of another width than the header and at a quote that is never closed: what
    follows either cannot be trusted.
    """
    reader = csv.reader(lines, delimiter=delimiter)
    while True:
        first = reader.line_num + 2  # where the next row starts; the header was line 1
        try:
            rows = list(islice(reader, chunk_rows))
        except csv.Error as error:
            raise DataError(
                f"{report.path}, at or before line {reader.line_num + 1:,}: {error}. "
                "A quote is probably opened and never closed."
            ) from None
        if not rows:
            return
        one_line_each = reader.line_num + 2 - first == len(rows)
        if one_line_each and set(map(len, rows)) == {len(header)}:
            yield rows, range(first, first + len(rows))
            continue
        good, starts = [], []
        for row in rows:
            breaks = sum(field.count("\n") for field in row)
            if row:
                _check_csv_row(row, first, breaks, header, delimiter, report)
                good.append(row)
                starts.append(first)
            else:
                report.add("blank", [first])
            first += 1 + breaks
        if good:
            yield good, starts


def _check_csv_row(
    row: Row, line: int, breaks: int, header: Row, delimiter: str, report: ReadReport
) -> None:
    if breaks:
        # A field over several lines that holds the end of another row: a delimiter and a label.
        ends = (f"{delimiter}0", f"{delimiter}1")
        pieces = [piece for field in row for piece in field.split("\n")[:-1]]
        swallowed = any(piece.replace('"', "").rstrip().endswith(ends) for piece in pieces)
        if swallowed or breaks >= MOST_LINES_IN_A_ROW:
            raise DataError(
                f"{report.path}, line {line:,}: a quote opened here is not closed before line "
                f"{line + breaks:,}, and would swallow the rows between. Close it, or double a "
                'quote that belongs to the question ("").'
            )
        report.add("newline", [line])
    if len(row) != len(header):
        hint = " Perhaps a quote is never closed." if breaks else ""
        raise DataError(
            f"{_wrong_width(report.path, line, len(row), header)} A question that holds a "
            f"{'comma' if delimiter == ',' else repr(delimiter)} or a quote must stand in "
            f"quotes.{hint}"
        )


def _wrong_width(path: str, line: int, fields: int, header: Row) -> str:
    return (
        f"{path}, line {line:,}: {fields} {'field' if fields == 1 else 'fields'} where the header "
        f"has {len(header)} ({', '.join(header)})."
    )


def _tab_rows(
    lines: Iterator[str],
    header: Row,
    label_at: int,
    all_quoted: bool,
    report: ReadReport,
    chunk_rows: int,
) -> Iterator[Chunk]:
    """Rows of a tab-separated file whose header line was already taken from `lines`.

    Cut lines are joined only where the label, column `label_at`, then is 0 or 1; lines that fit
    nowhere are kept out, and DataError is raised where they are more than 1 in 100. `all_quoted`: the
    header's own names stood in quotes, so every quoted field is unquoted.
    """
    rows, starts = [], []
    pending: list[tuple[int, str]] = []  # lines of a row that is not yet complete
    broken: list[tuple[int, str]] = []  # lines that fit nowhere
    number = 1

    def check_share() -> None:
        if len(broken) > BROKEN_SHARE * (number - 1):
            line, text = broken[0]
            raise DataError(
                f"{_wrong_width(report.path, line, text.count(chr(9)) + 1, header)} "
                f"{len(broken):,} of {number - 1:,} lines so far are like this."
            )
        report.add("broken", [line for line, _ in broken[report.count("broken") :]])

    for number, line in enumerate(lines, start=2):
        line = line.removesuffix("\n")
        start = number
        row = _tab_fields(line, len(header))
        if len(row) == len(header):  # a line that is complete by itself always is a row
            broken += pending
            pending = []
        elif not pending and not line:
            report.add("blank", [number])
            continue
        else:
            pending.append((number, line))
            line = "\n".join(part for _, part in pending)
            row = _tab_fields(line, len(header))
            if len(row) < len(header) and len(pending) < MOST_LINES_IN_A_ROW:
                continue
            if len(row) != len(header) or row[label_at].strip(' "') not in ("0", "1"):
                # Together they make no row; the last may still be the start of another.
                broken += pending[:-1]
                pending = pending[-1:]
                continue
            start = pending[0][0]
            report.add("newline", [start])
            pending = []
        rows.append([_unquoted(field, all_quoted) for field in row] if '"' in line else row)
        starts.append(start)
        if len(rows) >= chunk_rows:
            check_share()
            yield rows, starts
            rows, starts = [], []
    while pending and not pending[-1][1]:  # blank lines at the end belong to no row
        report.add("blank", [pending.pop()[0]])
    broken += pending
    check_share()
    if rows:
        yield rows, starts


def _tab_fields(line: str, width: int) -> Row:
    """The fields of a line, quotes kept; too many are tried again with tabs inside quoted fields."""
    pieces = line.split("\t")
    if len(pieces) <= width or '"' not in line:
        return pieces
    fields: Row = []
    for piece in pieces:
        if fields and fields[-1].startswith('"') and fields[-1].count('"') % 2:
            fields[-1] += "\t" + piece  # the quoted field before is still open
        else:
            fields.append(piece)
    return fields if len(fields) == width else pieces


def _unquoted(field: str, all_quoted: bool) -> str:
    """The field without CSV quotes, where it can only be a quoted field; otherwise as it stands.

    A writer of CSV quotes a field that holds a quote, a tab or a line break, and doubles its quotes.
    A field that is quoted as a whole but had no reason to be is a question in literal quotes.
    """
    inner = field[1:-1]
    if len(field) < 2 or field[0] != '"' or field[-1] != '"' or '"' in inner.replace('""', ""):
        return field  # also where a lone quote is inside: no CSV writer makes this
    needed = not inner or '""' in inner or "\n" in inner or "\t" in inner
    return inner.replace('""', '"') if needed or all_quoted else field


# -- JSON Lines -------------------------------------------------------------------------------


def parse_json(text: str, path: str, line: int) -> Any:
    """The value that a line of JSON holds; DataError naming the place where it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        place = f"{path}, line {line:,}" if path else f"line {line:,}"
        column = f", column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        raise DataError(f"{place}{column}: not JSON ({getattr(error, 'msg', error)}).") from None


def json_rows(lines: Iterator[str], report: ReadReport) -> Iterator[tuple[dict[str, Any], int]]:
    """The objects of a JSON Lines file, with the line of each; blank lines are noted."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            report.add("blank", [number])
            continue
        row = parse_json(line, report.path, number)
        if not isinstance(row, dict):
            raise DataError(f"{report.path}, line {number:,}: not a JSON object: {line[:40]!r}.")
        yield row, number


def _json_columns(file: OpenFile, report: ReadReport, chunk_rows: int):
    keys: dict[str, str] = {}  # our column -> the key in this file
    names: set[str] = set()

    def checked() -> Iterator[tuple[dict[str, Any], int]]:
        for row, line in json_rows(file.lines(report), report):
            if not keys:
                places = column_places(list(row), f"{file.name}, line {line:,}")
                keys.update((column, list(row)[at]) for column, at in places.items())
                names.update(keys.values())
            if not row.keys() >= names:
                missing = [key for key in keys.values() if key not in row]
                raise DataError(
                    f"{file.name}, line {line:,}: no {' or '.join(missing)}; found: {', '.join(row)}."
                )
            yield row, line

    rows = checked()
    while chunk := list(islice(rows, chunk_rows)):
        columns = {column: [row[key] for row, _ in chunk] for column, key in keys.items()}
        yield columns, [line for _, line in chunk]


# -- Parquet and text files -------------------------------------------------------------------


def _parquet_columns(file: OpenFile, report: ReadReport, chunk_rows: int):
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingDependencyError(
            f"{file.name} is a Parquet file; reading it needs pyarrow: pip install pyarrow."
        ) from None
    report.unit = "row"
    with tempfile.TemporaryFile() as unpacked:
        source: Any = file.path
        if file.is_gzip:  # Parquet is read from its end, so it cannot be decompressed on the way
            block = file.head
            while block:
                unpacked.write(block)
                block = file.read(BLOCK_BYTES)
            source = unpacked
        try:
            table = pyarrow.parquet.ParquetFile(source)
            names = table.schema_arrow.names
            places = column_places(names, file.name)
            wanted = [names[at] for at in places.values()]
            first = 1
            for batch in table.iter_batches(batch_size=chunk_rows, columns=wanted):
                columns = {column: batch[names[at]].to_pylist() for column, at in places.items()}
                yield columns, range(first, first + len(batch))
                first += len(batch)
        except (pyarrow.ArrowException, OSError) as error:
            raise DataError(
                f"{file.name}: the Parquet file cannot be read ({error}). Write it again."
            ) from None


def _text_columns(paths: Sequence[Any], report: ReadReport, chunk_rows: int):
    """Two text files: line i of the one and line i of the other are duplicates."""
    report.format = "two text files, line by line"
    with OpenFile(paths[0]) as file1, OpenFile(paths[1]) as file2:
        lines = zip_longest(file1.lines(report), file2.lines(report))
        first = 1
        while chunk := list(islice(lines, chunk_rows)):
            if None in chunk[-1]:
                for _ in lines:
                    pass
                short, long = sorted((file1, file2), key=lambda file: file.lines_read)
                raise DataError(
                    f"{short.name} has {short.lines_read:,} lines and {long.name} has "
                    f"{long.lines_read:,}; line i of the one must be a duplicate of line i of the "
                    "other."
                )
            sides = [[line.removesuffix("\n") for line in side] for side in zip(*chunk)]
            labels = ["1"] * len(chunk)
            columns = dict(zip(REQUIRED, (*sides, labels)))
            yield columns, range(first, first + len(chunk))
            first += len(chunk)
