"""Rows of comma- and tab-separated files, with the line each row starts on.

CSV follows RFC 4180 through Python's csv module. Tab-separated files of question pairs come in two
kinds that no name tells apart: written with quotes as in CSV (Quora's own), or with every quote
literal (as GLUE's is commonly read); and GLUE's readers pass over lines cut by a line break inside a
question. So a tab field is unquoted only where it can be nothing but a quoted field, and cut lines
are joined only where they fit exactly.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice

from siamese.data.read_report import ReadReport
from siamese.errors import DataError

Row = list[str]
Rows = tuple[list[Row], list[int]]  # rows of equal length, and the line each one starts on
MOST_LINES_IN_A_ROW = 50  # a question with more lines than this is an unclosed quote
BROKEN_SHARE = 0.01  # more broken lines than this, and the file is not what it seems


def split_header(line: str, delimiter: str) -> Row:
    """The column names in the first line of a delimited file."""
    return next(csv.reader([line.rstrip("\n")], delimiter=delimiter), [])


def csv_rows(
    lines: Iterator[str], delimiter: str, header: Row, report: ReadReport, chunk_rows: int
) -> Iterator[Rows]:
    """Rows of a CSV file whose header line was already taken from `lines`.

    Raises:
      DataError: a row with fewer or more fields than the header, or a quote that is never closed.
        Both mean that what follows cannot be trusted, so nothing is passed over.
    """
    reader = csv.reader(lines, delimiter=delimiter)
    line = 2  # where the next row starts; the header was line 1
    width = len(header)
    while True:
        before = reader.line_num
        try:
            rows = list(islice(reader, chunk_rows))
        except csv.Error as error:
            # Rows before the fault are lost with it: the file is refused as a whole anyway.
            raise DataError(
                f"{report.path}, at or before line {reader.line_num + 1:,}: {error}. "
                "A quote opened in a question is probably never closed."
            ) from None
        if not rows:
            return
        if reader.line_num - before == len(rows):
            starts = list(range(line, line + len(rows)))
            runs_on = False
        else:
            starts, runs_on = [], True
            start = line
            for row in rows:
                starts.append(start)
                start += 1 + sum(field.count("\n") for field in row)
        line += reader.line_num - before
        if set(map(len, rows)) != {width} or runs_on:
            rows, starts = _checked_csv(rows, starts, delimiter, header, report)
        if rows:
            yield rows, starts


def _checked_csv(
    rows: list[Row], starts: list[int], delimiter: str, header: Row, report: ReadReport
) -> Rows:
    """The rows without blank lines; rows of another length or that swallowed others raise."""
    good, lines = [], []
    for row, start in zip(rows, starts):
        breaks = sum(field.count("\n") for field in row)
        if not row:
            report.add("blank", [start])
            continue
        if breaks and (breaks >= MOST_LINES_IN_A_ROW or _swallowed(row, delimiter)):
            raise DataError(
                f"{report.path}, line {start:,}: a quote opened in this row is not closed before "
                f"line {start + breaks:,}, so the rows between would be lost. Close it, or double "
                'a quote that belongs to the question ("").'
            )
        if len(row) != len(header):
            hint = " A quote is perhaps opened and never closed." if breaks else ""
            raise DataError(
                f"{wrong_width(report.path, start, len(row), header)} A question that holds a "
                f"comma or a quote must stand in quotes.{hint}"
            )
        if breaks:
            report.add("newline", [start])
        good.append(row)
        lines.append(start)
    return good, lines


def _swallowed(row: Row, delimiter: str) -> bool:
    """True where a field over several lines holds the end of another row: a comma and a label."""
    ends = (f"{delimiter}0", f"{delimiter}1")
    return any(
        line.replace('"', "").rstrip().endswith(ends)
        for field in row
        if "\n" in field
        for line in field.split("\n")[:-1]
    )


def wrong_width(path: str, line: int, fields: int, header: Row) -> str:
    """The message for a row whose number of fields is not the header's."""
    return (
        f"{path}, line {line:,}: {fields} {'field' if fields == 1 else 'fields'} where the header "
        f"has {len(header)} ({', '.join(header)})."
    )


def tab_rows(
    lines: Iterator[str],
    header: Row,
    label_at: int,
    all_quoted: bool,
    report: ReadReport,
    chunk_rows: int,
) -> Iterator[Rows]:
    """Rows of a tab-separated file whose header line was already taken from `lines`.

    Args:
      lines: the lines after the header.
      header: the column names.
      label_at: which column holds the label; lines are joined only where it then is 0 or 1.
      all_quoted: the header's own names stood in quotes, so every quoted field is unquoted.
      report: notes rows joined from several lines, and lines kept out because they fit nowhere.
      chunk_rows: the most rows handed out at once.

    Raises:
      DataError: where more than 1 in 100 lines has the wrong number of fields.
    """
    width = len(header)
    rows: list[Row] = []
    starts: list[int] = []
    first_broken: list[int] = []  # [line, fields] of the first broken line
    parts: list[tuple[int, str]] = []  # lines of a row that is not yet whole
    seen = 0

    def give_up(broken: list[tuple[int, str]]) -> None:
        if broken and not first_broken:
            first_broken.extend([broken[0][0], broken[0][1].count("\t") + 1])
        report.add("broken", [number for number, _ in broken])

    def check_share() -> None:
        if report.count("broken") > BROKEN_SHARE * seen:
            raise DataError(
                f"{wrong_width(report.path, *first_broken, header)} "
                f"{report.count('broken'):,} of {seen:,} lines so far are like this."
            )

    for number, line in enumerate(lines, start=2):
        line = line.removesuffix("\n")
        seen += 1
        start = number
        row = _tab_fields(line, width)
        if len(row) == width:
            give_up(parts)
            parts = []
        elif not parts and not line:
            report.add("blank", [number])
            continue
        else:
            parts.append((number, line))
            line = "\n".join(part for _, part in parts)
            row = _tab_fields(line, width)
            if len(row) < width and len(parts) < MOST_LINES_IN_A_ROW:
                continue
            if len(row) != width or row[label_at].strip(' "') not in ("0", "1"):
                # Together they make no row; the last may still be the start of another.
                give_up(parts[:-1])
                parts = parts[-1:]
                continue
            start = parts[0][0]
            report.add("newline", [start])
            parts = []
        rows.append([_unquoted(field, all_quoted) for field in row] if '"' in line else row)
        starts.append(start)
        if len(rows) >= chunk_rows:
            check_share()
            yield rows, starts
            rows, starts = [], []
    # Blank lines at the end of the file belong to no row.
    while parts and not parts[-1][1]:
        report.add("blank", [parts.pop()[0]])
    give_up(parts)
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
    if len(field) < 2 or field[0] != '"' or field[-1] != '"':
        return field
    inner = field[1:-1]
    if '"' in inner.replace('""', ""):
        return field  # a lone quote inside: no CSV writer makes this
    if not inner or all_quoted or '""' in inner or "\n" in inner or "\t" in inner:
        return inner.replace('""', '"')
    return field
