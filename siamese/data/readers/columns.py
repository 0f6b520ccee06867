"""Columns by name: which columns of a header are the questions, the label and the id."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from typing import Any

from siamese.errors import DataError

# Our column -> its names in files (Quora's, Kaggle's, GLUE's, and the Hugging Face hub's).
COLUMN_NAMES = {
    "question1": ("question1", "sentence1"),
    "question2": ("question2", "sentence2"),
    "is_duplicate": ("is_duplicate", "label"),
    "id": ("id", "idx", "pair_id"),
}
DELIMITERS = {",": "CSV", "\t": "tab-separated", ";": "semicolon-separated"}
_PART = re.compile(r"(?:([1-9])\*)?(.+)", re.DOTALL)  # one part of "2*title+body"


def normal_name(name: Any) -> str:
    """A column's name as it is compared: without blanks and byte order marks around it, in lower case."""
    return str(name).strip("\ufeff \t\r\n").lower()


def known_names(specs: Sequence[str]) -> set[str]:
    """The names, as they are compared, in what a user calls columns: "title", "2*title+body"."""
    parts = [part for spec in specs for part in (spec, *spec.split("+"))]
    return {normal_name(_PART.fullmatch(part)[2]) for part in parts if part}


def shown_names(header: Sequence[Any]) -> str:
    """The names of a header for a message, the first twelve, cut."""
    names = ", ".join(str(name).strip()[:40] for name in header[:12])
    return f"{names}, …" if len(header) > 12 else names


def places_of(name: str, header: Sequence[str]) -> list[int]:
    """The columns of exactly this name; those that differ in case and blanks where there are none."""
    exact = [at for at, other in enumerate(header) if other == name]
    return exact or [
        at for at, other in enumerate(header) if normal_name(other) == normal_name(name)
    ]


def spec_places(spec: str, header: Sequence[str], where: str) -> list[int]:
    """The columns of `header` that the text called `spec` is made of, one repeated as often as it weighs.

    Raises:
      DataError: a column that is not there, or twice.
    """
    is_name = places_of(spec, header)  # a name may hold a + or a *
    places = []
    for part in [spec] if is_name else spec.split("+"):
        times, name = (None, spec) if is_name else _PART.fullmatch(part or " ").groups()
        columns = places_of(name, header)
        if len(columns) != 1:
            what = f"{len(columns)} columns are called" if columns else "there is no column"
            raise DataError(
                f"{where}: {what} {name.strip()!r}; the columns: {shown_names(header)}."
            )
        places += columns * int(times or 1)
    return places


def text_at(row: Sequence[Any], places: Sequence[int]) -> Any:
    """The cell at one place; the cells at several, those with text joined by blanks."""
    cells = [row[at] for at in places]
    others = [cell for cell in cells if not isinstance(cell, str | None)]
    if len(cells) == 1 or others:
        return (others or cells)[0]
    return " ".join(cell for cell in cells if cell and cell.strip())


def pair_places(
    header: Sequence[str], where: str, required: Sequence[str], columns: Sequence[str] = ()
) -> dict[str, list[int]]:
    """The columns of `header` that each of ours is made of: one, unless `columns` join several.

    `columns` are what the user calls the first of the required ones, see `spec_places`.

    Raises:
      DataError: a required column is missing or doubled.
    """
    names = list(map(normal_name, header))
    places = {column: spec_places(s, header, where) for column, s in zip(required, columns)}
    for column in (*required, "id"):
        if column in places:
            continue
        at = [at for at, name in enumerate(names) if name in COLUMN_NAMES[column]]
        if len(at) > 1 and column == "id":  # "id" before "pair_id"; the exact name where both fit
            at = places_of("id", header)[:1] or at[:1]
        if len(at) > 1:
            doubled = " and ".join(str(header[place]) for place in at)
            raise DataError(
                f"{where}: {column} may be any of several columns ({doubled}). Rename all but one, or "
                "name the columns with --columns (in Python: columns=)."
            )
        if at:
            places[column] = at
    missing = [column for column in required if column not in places]
    if missing:
        hint = " Is it a test file without labels?" if missing == ["is_duplicate"] else ""
        raise DataError(
            f"{where}: no column {' or '.join(missing)}; the columns: {shown_names(header)}. Question "
            f"pairs need the columns {', '.join(required)}, separated by comma, semicolon or tab.{hint} "
            "Name yours with --columns (in Python: columns=)."
        )
    return places


def line_cells(line: str, delimiter: str) -> list[str]:
    """The cells of one line, by itself."""
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return line.rstrip("\r\n").split(delimiter)


def split_header(line: str, known: set[str]) -> tuple[list[str], str]:
    """The names of a header line, and its delimiter: the one that gives the most known names."""
    headers = [(line_cells(line, mark), mark) for mark in DELIMITERS]
    return max(headers, key=lambda h: (sum(normal_name(n) in known for n in h[0]), len(h[0])))
