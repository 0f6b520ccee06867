"""Tables of a list: its groups of duplicates, or pairs of its questions, a row each."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from siamese.errors import ArgumentError, DataError
from siamese.groups.grouping import GroupedSnapshot, Snapshot
from siamese.model.detector import differences_between
from siamese.nn.nearest import cosines_with, in_blocks
from siamese.system.open_types import JsonMapping, JsonObject
from siamese.text.columns import columns_called, shown_names
from siamese.text.values import id_text

# The columns of `group_rows` with their types; those of the list follow them.
GROUP_COLUMNS = {
    "group": str,
    "keep": int,
    "similarity": float,
    "difference": str,
    "same_text": int,
    "id": str,
    "question": str,
}
PAIR_COLUMNS = ("id1", "question1", "id2", "question2", "similarity", "difference")
AT_ONCE = 1 << 13  # pairs whose vectors are copied at a time
Row = JsonObject


def group_rows(
    snapshot: GroupedSnapshot,
    keep: str = "central",
    start: int = 0,
    stop: int | None = None,
) -> list[Row]:
    """The table of a list's groups, a row for each question that is in one.

    Args:
      snapshot: the list with its groups, see `siamese.groups.grouping.grouped`.
      keep: which question of each group is kept: the 'central', the 'first' or the 'longest', or by
        'COLUMN=min' or 'COLUMN=max' that with the least or largest number or ISO date, of equal ones the
        first; an empty cell counts as last. A DataError names a value that is neither, or a date among
        numbers.
      start: the first row of the table that is wanted, from 0.
      stop: the row after the last one; all that follow where None.

    Returns:
      Rows of `GROUP_COLUMNS`, and of the list's other columns by the names of `group_columns`. `group` is
      the id of the group's first question, which stays when others are added. The kept question of a group
      (`keep` is 1) comes first, then the others by falling cosine with it (`similarity`). `difference` is
      what the near-miss check took a penalty for, and `same_text` is 1 where the texts are the same but
      for case, blanks and quotes.
    """
    rank = _ranks(snapshot, keep)
    members: list[tuple[int, int, int, float]] = []
    for group in snapshot.groups:
        places = sorted(member.row for member in group)
        kept = min(places, key=rank.__getitem__)
        cosines = cosines_with(
            snapshot.vectors[places], snapshot.vectors[kept]
        ).tolist()
        order = sorted(zip(places, cosines), key=lambda own: (own[0] != kept, -own[1]))
        members += [(place, kept, places[0], cosine) for place, cosine in order]
    members = members[start:stop]

    ends = np.array([own[:2] for own in members], np.int64).reshape(-1, 2)
    differences = _differences(snapshot, ends)
    names = group_columns(snapshot.entries)
    folded = snapshot.questions.folded
    rows = []
    for (place, kept, first, cosine), difference in zip(members, differences):
        entry = snapshot.entries[place]
        row = {
            "group": snapshot.entries[first]["id"],
            "keep": int(place == kept),
            "similarity": round(cosine, 6),
            "difference": difference,
            "same_text": int(folded[place] == folded[kept]),
            "id": entry["id"],
            "question": entry["question"],
        }
        rows.append(row | renamed(entry["columns"], names))
    return rows


def pair_rows(snapshot: Snapshot, pairs: np.ndarray) -> list[Row]:
    """Pairs of a list, int64 [n, 2], as rows of `PAIR_COLUMNS`."""
    vectors = snapshot.vectors
    cosines = in_blocks(lambda i, j: cosines_with(vectors[i], vectors[j]), *pairs.T)
    told = zip(pairs.tolist(), cosines.tolist(), _differences(snapshot, pairs))
    rows = []
    for (i, j), cosine, difference in told:
        one = snapshot.entries[i]
        two = snapshot.entries[j]
        cells = one["id"], one["question"], two["id"], two["question"]
        rows.append(dict(zip(PAIR_COLUMNS, (*cells, round(cosine, 6), difference))))
    return rows


def _differences(snapshot: Snapshot, pairs: np.ndarray) -> list[str]:
    """What the near-miss check took a penalty for in pairs of a list, int64 [n, 2]."""
    shown: list[str] = []
    for start in range(0, len(pairs), AT_ONCE):
        some = pairs[start : start + AT_ONCE]
        sides = [snapshot.questions.rows(side) for side in some.T]
        shown += differences_between(snapshot.detector, *sides)
    return shown


# ---- Names of columns ----


def group_columns(entries: Iterable[JsonMapping]) -> dict[str, str]:
    """The other columns of a list's entries, and what `group_rows` calls them."""
    names = dict.fromkeys(name for entry in entries for name in entry["columns"])
    return table_names(GROUP_COLUMNS, names)


def table_names(own: Iterable[str], names: Iterable[str]) -> dict[str, str]:
    """What a table that has the columns `own` calls others: a taken name gets ``column_`` before it."""
    names = dict.fromkeys(names)
    taken = set(own)
    result: dict[str, str] = {}
    for name in names:
        new = name
        while new in taken or (new != name and new in names):
            new = f"column_{new}"
        taken.add(new)
        result[name] = new
    return result


def renamed(columns: JsonMapping, names: Mapping[str, str]) -> JsonObject:
    """The values of columns by the names of `table_names`."""
    return {names[name]: value for name, value in columns.items()}


# ---- Which question of a group is kept ----


def _ranks(snapshot: GroupedSnapshot, keep: str) -> dict[int, float]:
    """A number for each place in a group; of a group the question with the least is kept."""
    entries = snapshot.entries
    places = [member.row for group in snapshot.groups for member in group]
    if keep == "central":  # It is the first member of a group.
        return {place: number for number, place in enumerate(places)}
    if keep == "first":
        return {place: place for place in places}
    if keep == "longest":
        return {place: -len(entries[place]["question"]) for place in places}
    column, _, end = keep.rpartition("=")
    if not column or end not in ("min", "max"):
        raise ArgumentError(
            f"keep is central, first, longest, COLUMN=min or =max, not {keep!r}."
        )
    names = list(
        dict.fromkeys(["id", *(name for entry in entries for name in entry["columns"])])
    )
    same = columns_called(column, names)
    if not same:
        raise ArgumentError(
            f"There is no column {column!r}; the columns: {shown_names(names)}."
        )
    numbers = _numbers_of(entries, places, same[0])
    sign = 1 if end == "min" else -1
    # An empty cell is kept where all are empty.
    return {
        place: math.inf if number is None else sign * number
        for place, number in zip(places, numbers)
    }


def _numbers_of(
    entries: Sequence[JsonMapping], places: Sequence[int], column: str
) -> list[float | None]:
    """The numbers or dates of a column at some places, as numbers; None for an empty cell."""
    numbers: list[float | None] = []
    kinds = set()
    for place in places:
        entry = entries[place]
        value = {"id": entry["id"], **entry["columns"]}.get(column)
        if not id_text(value):
            numbers.append(None)
            continue
        kind, number = _number_or_date(value)
        kinds.add(kind)
        if kinds not in ({"number"}, {"date"}):
            raise DataError(
                f"Question {entry['id']}: {column} is {value!r:.40}. To choose by it, all values "
                "must be numbers, or all dates such as 2026-01-31."
            )
        numbers.append(number)
    return numbers


def _number_or_date(value: Any) -> tuple[str, float]:
    """'number' or 'date', and the number, or the seconds of an ISO date (UTC where it names no zone)."""
    with contextlib.suppress(TypeError, ValueError, OverflowError):
        number = float(value)
        return "number" if math.isfinite(number) else "neither", number
    with contextlib.suppress(ValueError):
        date = datetime.fromisoformat(str(value))
        return "date", (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    return "neither", 0
