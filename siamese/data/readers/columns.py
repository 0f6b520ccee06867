"""Columns by name: which columns of a header are the questions, the label and the id."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from siamese.errors import DataError

# Our column -> its names in files (Quora's, Kaggle's, GLUE's, and the Hugging Face hub's).
COLUMN_NAMES = {
    "question1": ("question1", "sentence1"),
    "question2": ("question2", "sentence2"),
    "is_duplicate": ("is_duplicate", "label"),
}
PAIR_IDS = ("id", "idx", "pair_id")
_PART = re.compile(r"(?:([1-9])\*)?(.+)", re.DOTALL)  # one part of "2*title+body"
_CUT = re.compile(r"(.+):([1-9]\d*)", re.DOTALL)  # "title+body:50", the first 50 words


def normal_name(name: Any) -> str:
    """A column's name as it is compared: without blanks and byte order marks around it, in lower case."""
    return str(name).strip("\ufeff \t\r\n").lower()


def known_names(specs: Iterable[str | None]) -> set[str]:
    """The names, as they are compared, in what a user calls columns: "title", "2*title+body"."""
    whole = [part for spec in specs if spec for part in (spec, spec_cut(spec)[0])]
    parts = [part for spec in whole for part in (spec, *spec.split("+"))]
    return {normal_name(_PART.fullmatch(part)[2]) for part in parts if part}


def shown_names(header: Sequence[Any]) -> str:
    """The names of a header for a message, the first twelve, cut."""
    names = ", ".join(str(name).strip()[:40] for name in header[:12])
    return f"{names}, …" if len(header) > 12 else names


def columns_called(name: str, header: Sequence[str]) -> list[str]:
    """The columns of exactly this name; those that differ in case and blanks where there are none."""
    exact = [other for other in header if other == name]
    return exact or [other for other in header if normal_name(other) == normal_name(name)]


def spec_cut(spec: str, header: Sequence[str] = ()) -> tuple[str, int | None]:
    """What "title+body:50" says of columns, and of how many words; a column's name may end so, too."""
    cut = None if columns_called(spec, header) else _CUT.fullmatch(spec)
    return (cut[1], int(cut[2])) if cut else (spec, None)


def spec_columns(spec: str, header: Sequence[str], where: str) -> list[str]:
    """The columns of `header` that "2*title+body" is made of, one repeated as often as it weighs.

    Raises:
      DataError: a column that is not there, or twice.
    """
    is_name = columns_called(spec, header)  # a name may hold a + or a *
    columns = []
    for part in [spec] if is_name else spec.split("+"):
        times, name = (None, spec) if is_name else _PART.fullmatch(part or " ").groups()
        columns += [only_column(name, header, where)] * int(times or 1)
    return columns


def only_column(name: str, header: Sequence[str], where: str) -> str:
    """The one column of this name; DataError where there is none or where there are several."""
    columns = columns_called(name, header)
    if len(columns) != 1:
        what = f"{len(columns)} columns are called" if columns else "there is no column"
        raise DataError(f"{where}: {what} {name.strip()!r}; the columns: {shown_names(header)}.")
    return columns[0]


def first_column(names: Sequence[str], header: Sequence[str], where: str) -> str | None:
    """The column of the first of some names that there is; None where there is none."""
    for name in names:
        if columns_called(name, header):
            return only_column(name, header, where)
    return None


def pair_columns(
    header: Sequence[str], where: str, required: Sequence[str], specs: Sequence[str] = ()
) -> dict[str, list[str]]:
    """The columns of `header` that each of the required ones is made of; `specs` name the first of them.

    Raises:
      DataError: a required column is missing or doubled.
    """
    columns = {name: spec_columns(spec, header, where) for name, spec in zip(required, specs)}
    for name in required[len(columns) :]:
        candidates = [other for other in header if normal_name(other) in COLUMN_NAMES[name]]
        if len(candidates) > 1:
            raise DataError(
                f"{where}: {name} may be any of several columns ({' and '.join(candidates)}). Rename all "
                "but one, or name the columns with --columns (in Python: columns=)."
            )
        if candidates:
            columns[name] = candidates
    if missing := [name for name in required if name not in columns]:
        hint = " Is it a test file without labels?" if missing == ["is_duplicate"] else ""
        raise DataError(
            f"{where}: no column {' or '.join(missing)}; the columns: {shown_names(header)}. Question "
            f"pairs need the columns {', '.join(required)}, separated by comma, semicolon or tab.{hint} "
            "Name yours with --columns (in Python: columns=)."
        )
    return columns
