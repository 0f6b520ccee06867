"""Questions of equal values only: the parts of a list by some of its columns, and their groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from siamese.errors import ArgumentError
from siamese.groups.answers import bound_places
from siamese.groups.grouping import (
    Grouping,
    Member,
    Snapshot,
    bound_labels,
    first_of_groups,
    groups_of,
    linked_labels,
)
from siamese.reading.clusters import answer_key
from siamese.reading.pairs import QuestionPairs
from siamese.text.columns import columns_called, shown_names
from siamese.text.language import list_languages, text_languages

LANGUAGE = "language"  # a column that is computed where a list has none of that name

Key = tuple[str, ...]


class Part(NamedTuple):
    """The questions of one value, and what is made of them alone."""

    rows: np.ndarray  # int64, their places in the list, rising
    shot: Snapshot  # of them alone: a group's rows are places among `rows`


def keys_of(
    entries: Sequence[Mapping[str, Any]],
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
    shot: Snapshot,
    answers: QuestionPairs,
    keys: Sequence[Key],
    threshold: float | None = None,
) -> list[Part]:
    """The groups of each part of a list, made as `QuestionIndex.grouped` makes those of a list."""
    keyed = list(map(answer_key, answers.question1, answers.question2))
    labelled = list(zip(keyed, answers.is_duplicate.tolist()))
    parts = []
    for rows in rows_by_key(keys).values():
        entries = [shot.entries[row] for row in rows.tolist()]
        questions = shot.questions.rows(rows)
        texts = [entry["question"] for entry in entries]
        vectors = questions.vectors
        grouping = Grouping.of(shot.detector, threshold, vectors)
        labels, refused = linked_labels(questions, texts, shot.detector, grouping)

        # The answers to two of these questions bind them.
        own = list(questions.folded) if labelled else []
        known = set(own)
        bound = [(*key, same) for key, same in labelled if known.issuperset(key)]
        answered = {text for *key, _ in bound for text in key}
        places = ((text, at) for at, text in enumerate(own) if text in answered)
        same, different = bound_places(places, bound)
        labels = bound_labels(
            vectors,
            first_of_groups(labels),
            same,
            different,
            grouping.rule(shot.detector, questions),
            grouping.shifts,
        )
        groups = groups_of(vectors, labels)
        made = groups, grouping.threshold, grouping.weight, refused
        parts.append(Part(rows, Snapshot(entries, questions, shot.detector, *made)))
    return parts


def together(shot: Snapshot, parts: Sequence[Part]) -> Snapshot:
    """The whole list with the groups of its parts, the largest first."""
    groups = [
        [Member(int(part.rows[member.row]), member.similarity) for member in group]
        for part in parts
        for group in part.shot.groups
    ]
    groups.sort(key=lambda group: (-len(group), min(member.row for member in group)))
    if not parts:
        return shot
    first = parts[0].shot
    refused = [part.rows[part.shot.refused] for part in parts]
    return shot._replace(
        groups=groups,
        threshold=first.threshold,
        weight=first.weight,
        refused=np.concatenate(refused),
    )
