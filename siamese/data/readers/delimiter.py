"""What stands between the cells of a text, and where its header is."""

from __future__ import annotations

import csv

from siamese.data.readers.columns import normal_name, shown_names
from siamese.errors import DataError

DELIMITERS = ",\t;|"


def _is_header(names: list[str], rows: list[list[str]]) -> bool:
    """Whether short names stand above rows of as many cells."""
    alike = len(names) > 1 and all(len(row) == len(names) for row in rows)
    short = all(len(name.split()) <= 3 and not name.rstrip().endswith("?") for name in names)
    return bool(rows) and alike and short


def delimiter(head: list[str], known: set[str]) -> str | None:
    """What stands between the known names of a first row; else between the cells of most lines.

    None of plain text, in which a blank follows a comma, unless all its lines have the shape of a table.
    """
    tables = {mark: list(csv.reader(head, delimiter=mark)) for mark in DELIMITERS}
    # A quoted cell, of the header too, may hold lines.
    hits = {mark: len(known & set(map(normal_name, rows[0]))) for mark, rows in tables.items()}
    mark = max(DELIMITERS, key=lambda mark: (hits[mark], len(tables[mark][0])))
    if hits[mark]:
        return mark
    names, *rows = tables[mark]
    if len(names) == 1 or any(name.startswith(" ") for name in names):
        return mark if _is_header(names, rows) else None
    alike = sum(len(row) == len(names) for row in rows)
    is_table = 2 * alike >= len(rows) and (alike or not head[0].rstrip().endswith("?"))
    return mark if is_table else None


def refuse_late_header(head: list[tuple[int, str]], known: set[str], name: str) -> None:
    """Refuses a text whose first line is none of the table that begins below it: a comment, a title."""
    for at in range(1, min(len(head) - 1, 10)):
        for mark in DELIMITERS:
            rows = csv.reader((line for _, line in head[at:]), delimiter=mark)
            names = next(rows)
            is_known = not known.isdisjoint(map(normal_name, names))
            if is_known and _is_header(names, list(rows)):
                what = f"looks like the header of a table ({shown_names(names)})"
                raise DataError(f"{name}, line {head[at][0]} {what}. Delete the lines above it.")
