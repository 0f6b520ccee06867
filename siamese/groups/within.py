"""Questions of equal values only: the parts of a list by some of its columns, and their groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from siamese.errors import ArgumentError
from siamese.groups.grouping import GroupedSnapshot, Member, Snapshot, grouped
from siamese.reading.pairs import QuestionPairs
from siamese.system.open_types import JsonMapping
from siamese.text.columns import columns_called, shown_names
from siamese.text.language import list_languages, text_languages

LANGUAGE = "language"  # a column that is computed where a list has none of that name

Key = tuple[str, ...]


class Part(NamedTuple):
    """The questions of one value, and what is made of them alone."""

    rows: np.ndarray  # int64, their places in the list, rising
    snapshot: GroupedSnapshot  # of them alone: a group's rows are places among `rows`


def keys_of(
    entries: Sequence[JsonMapping],
    names: Sequence[str],
    main: str | None = None,
) -> list[Key]:
    """The values of some columns for each question, as text; an empty cell is a value.

    Args:
      entries: dicts of question and columns.
      names: the columns; "language" is computed where none has that name. ArgumentError
        for one that is not there.
      main: the main language where the owner says it.
    """
    header = list(dict.fromkeys(name for entry in entries for name in entry["columns"]))
    values = []
    for name in names:
        same = columns_called(name, header)
        if same:
            cells = [entry["columns"].get(same[0]) for entry in entries]
            values.append(["" if cell is None else str(cell).strip() for cell in cells])
        elif name == LANGUAGE:
            texts = [entry["question"] for entry in entries]
            values.append(text_languages(texts, list_languages(texts, main)))
        else:
            raise ArgumentError(
                f"There is no column {name!r}; the columns: {shown_names(header)}, and "
                f"{LANGUAGE}, which is recognised from the texts.",
                arguments=("within",),
            )
    return list(zip(*values)) if values else [()] * len(entries)


def language_among(
    texts: Sequence[str], known: Sequence[str], main: str | None = None
) -> list[str]:
    """The language of each text as one of a list, whose texts, and perhaps main language, are known."""
    return text_languages(texts, list_languages(known, main))


def rows_by_key(keys: Sequence[Key]) -> dict[Key, np.ndarray]:
    """The places of each value, int64, rising; values in the order of their first places."""
    rows: dict[Key, list[int]] = {}
    for row, key in enumerate(keys):
        rows.setdefault(key, []).append(row)
    return {key: np.array(own, np.int64) for key, own in rows.items()}


def grouped_within(
    snapshot: Snapshot,
    answers: QuestionPairs | None,
    keys: Sequence[Key],
    threshold: float | None = None,
) -> list[Part]:
    """The groups of each part of a list, made as `QuestionIndex.grouped` makes those of a list."""
    parts = []
    for rows in rows_by_key(keys).values():
        entries = [snapshot.entries[row] for row in rows.tolist()]
        alone = Snapshot(entries, snapshot.questions.rows(rows), snapshot.detector)
        parts.append(Part(rows, grouped(alone, threshold, answers)))
    return parts


def together(snapshot: Snapshot, parts: Sequence[Part]) -> GroupedSnapshot:
    """The whole list with the groups of its parts, the largest first."""
    groups = [
        [Member(int(part.rows[member.row]), member.similarity) for member in group]
        for part in parts
        for group in part.snapshot.groups
    ]
    groups.sort(key=lambda group: (-len(group), min(member.row for member in group)))
    if not parts:
        return grouped(snapshot)
    first = parts[0].snapshot
    refused = [part.rows[part.snapshot.refused] for part in parts]
    return replace(
        first,
        entries=snapshot.entries,
        questions=snapshot.questions,
        groups=groups,
        refused=np.concatenate(refused),
    )
