"""What separates the cells of a text, where its header is, and whether another table begins later."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from typing import Any

from siamese.errors import DataError
from siamese.reading.columns import shown_names
from siamese.text.names import normal_name

DELIMITERS = ",\t;|"
MOST_COLUMNS = 16_384  # as of a sheet
MOST_NAMES = 1000  # of a header, by which it is recognised again


def _is_header(names: list[str], rows: list[list[str]]) -> bool:
    """Whether short names stand above rows of as many cells."""
    alike = len(names) > 1 and all(len(row) == len(names) for row in rows)
    short = all(
        len(name.split()) <= 3 and not name.rstrip().endswith("?") for name in names
    )
    return bool(rows) and alike and short


def _known_names(names: list[str], known: set[str]) -> int:
    """How many known names a first row has; a line that another mark divides is not one name."""
    if len(names) == 1 and any(mark in names[0] for mark in DELIMITERS):
        return 0
    return len(known & set(map(normal_name, names)))


def delimiter(head: list[str], known: set[str]) -> str | None:
    """What stands between the known names of a first row; else between the cells of most lines.

    None of plain text, in which a blank follows a comma, unless all its lines have the
    shape of a table.
    """
    tables = {mark: list(csv.reader(head, delimiter=mark)) for mark in DELIMITERS}
    # A quoted cell, of the header too, may hold lines.
    firsts = {mark: rows[0][:MOST_COLUMNS] for mark, rows in tables.items()}
    hits = {mark: _known_names(names, known) for mark, names in firsts.items()}
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
                raise DataError(
                    f"{name}, line {head[at][0]} {what}. Delete the lines above it."
                )


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
        if not (self._is_name(cells[0]) or self._has_a_name(cells)):
            return ""
        here = list(map(normal_name, cells))
        if here == self.names and not (is_split and len(cells) > 1):
            return "the same"
        return "another" if self._is_another(here) else ""

    def _is_name(self, cell: Any) -> bool:
        if not isinstance(cell, str) or len(cell) > self.longest:
            return False
        initial = cell[:1]
        if (
            initial.isascii()
            and initial.isalnum()
            and initial.lower() not in self.initials
        ):
            return False  # Most rows end here: to normalise each would take long.
        return normal_name(cell) in self.all

    def _has_a_name(self, cells: Sequence[Any]) -> bool:
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
