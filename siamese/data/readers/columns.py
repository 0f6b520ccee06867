"""Columns by name: which columns of a header are the questions, the label and the id."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from siamese.errors import DataError

# Our column -> its names in files (Quora's, Kaggle's, and the Hugging Face hub's).
COLUMN_NAMES = {
    "question1": ("question1", "sentence1"),
    "question2": ("question2", "sentence2"),
    "is_duplicate": ("is_duplicate", "label"),
}
PAIR_IDS = ("id", "idx", "pair_id")


class Parts(NamedTuple):
    """What makes a question: columns, one repeated as often as it weighs; the first words that count."""

    columns: list[str]
    words: int | None = None


def normal_name(name: Any) -> str:
    """A column's name as it is compared: without blanks and byte order marks around it, in lower case."""
    return str(name).strip("\ufeff \t\r\n").lower()


def shown_names(header: Sequence[Any]) -> str:
    """The names of a header for a message, the first twelve, cut."""
    names = ", ".join(str(name).strip()[:40] for name in header[:12])
    return f"{names}, …" if len(header) > 12 else names


def columns_called(name: str, header: Sequence[str]) -> list[str]:
    """The columns of exactly this name; those that differ in case and blanks where there are none."""
    exact = [other for other in header if other == name]
    return exact or [other for other in header if normal_name(other) == normal_name(name)]


def read_spec(spec: str, header: Sequence[str] = ()) -> Parts:
    """What a user calls columns, taken apart; a column's own name may hold these marks, too.

    Example:
      >>> read_spec("2*title+body:50")
      Parts(columns=['title', 'title', 'body'], words=50)
      >>> read_spec("a+b", ["a+b", "c"])
      Parts(columns=['a+b'], words=None)
    """
    names, words = spec, None
    if not columns_called(spec, header):
        names, words = re.fullmatch(r"(.*?)(?::([1-9]\d*))?", spec, re.DOTALL).groups()
    if columns_called(names, header):
        return Parts([names], words and int(words))
    columns = []
    for part in names.split("+"):
        times, name = re.fullmatch(r"(?:([1-9])\*)?(.*)", part, re.DOTALL).groups()
        columns += [name] * int(times or 1)
    return Parts(columns, words and int(words))


def known_names(specs: Iterable[str | None]) -> set[str]:
    """The names, as they are compared, in what a user calls columns."""
    return {normal_name(name) for spec in specs if spec for name in (spec, *read_spec(spec)[0])}


def spec_parts(spec: str, header: Sequence[str], where: str) -> Parts:
    """The columns of `header` that a user's "2*title+body:50" names; DataError where one is missing."""
    names, words = read_spec(spec, header)
    return Parts([only_column(name, header, where) for name in names], words)


def only_column(name: str, header: Sequence[str], where: str) -> str:
    """The one column of this name; DataError where there is none or where there are several."""
    columns = columns_called(name, header)
    if len(columns) != 1:
        what = f"{len(columns)} columns are called" if columns else "there is no column"
        raise DataError(f"{where}: {what} {name.strip()!r}; the columns: {shown_names(header)}.")
    return columns[0]


def first_column(names: Sequence[str], header: Sequence[str], where: str) -> str | None:
    """The column of the first of some names that there is; None where there is none."""
    name = next((name for name in names if columns_called(name, header)), None)
    return name and only_column(name, header, where)


def pair_columns(
    header: Sequence[str], where: str, required: Sequence[str], specs: Sequence[str] = ()
) -> dict[str, Parts]:
    """What makes each of the required columns; `specs` name the first of them.

    Raises:
      DataError: a required column is missing or doubled.
    """
    parts = {name: spec_parts(spec, header, where) for name, spec in zip(required, specs)}
    for name in required[len(parts) :]:
        candidates = [other for other in header if normal_name(other) in COLUMN_NAMES[name]]
        if len(candidates) > 1:
            raise DataError(
                f"{where}: {name} may be any of several columns ({' and '.join(candidates)}). Rename all "
                "but one, or name the columns with --columns (in Python: columns=)."
            )
        if candidates:
            parts[name] = Parts(candidates)
    if missing := [name for name in required if name not in parts]:
        hint = " Is it a test file without labels?" if missing == ["is_duplicate"] else ""
        raise DataError(
            f"{where}: no column {' or '.join(missing)}; the columns: {shown_names(header)}. Question "
            f"pairs need the columns {', '.join(required)}, separated by comma, semicolon or tab.{hint} "
            "Name yours with --columns (in Python: columns=)."
        )
    return parts
