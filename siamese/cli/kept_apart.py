"""The pairs above a threshold that the near-miss check keeps apart: counted, or as a table."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import Any

import numpy as np

from siamese.cli.output import Facts
from siamese.groups.grouping import Grouping, Snapshot, group_labels
from siamese.groups.refused import refused_pairs
from siamese.groups.within import Key, rows_by_key
from siamese.model.detector import (
    DuplicateDetector,
    border_of,
    differences_between,
    shown_difference,
)
from siamese.nn.nearest import cosines_with
from siamese.reading.clusters import answer_key
from siamese.reading.pairs import QuestionPairs
from siamese.system.arguments import counted

PAIR_COLUMNS = ("id1", "question1", "id2", "question2", "similarity", "difference")
LEAST_SAME = 3  # answers of yes to refused pairs of a kind, before the command says so
Row = dict[str, Any]


def pair_rows(shot: Snapshot, pairs: np.ndarray) -> list[Row]:
    """Pairs of a list, int64 [n, 2], as rows of a table."""
    sides = [shot.questions.rows(own) for own in pairs.T]
    cosines = cosines_with(*(side.vectors for side in sides)).tolist()
    rows = []
    for ends, cosine, difference in zip(
        pairs.tolist(), cosines, differences_between(shot.detector, *sides)
    ):
        one, two = (shot.entries[at] for at in ends)
        cells = one["id"], one["question"], two["id"], two["question"]
        rows.append(dict(zip(PAIR_COLUMNS, (*cells, round(cosine, 6), difference))))
    return rows


def kept_apart(shot: Snapshot, answers: QuestionPairs) -> np.ndarray:
    """The pairs that the check keeps apart in groups, int64 [n, 2]: they share none, and nobody answered.

    `shot` is `QuestionIndex.grouped`.
    """
    pairs = shot.refused
    if pairs is None:
        grouping = Grouping.of(shot.detector, shot.threshold, shot.vectors)
        pairs = refused_pairs(shot.detector, shot.questions, grouping)
    group_of = group_labels(shot.groups, len(shot.entries))
    pairs = pairs[group_of[pairs[:, 0]] != group_of[pairs[:, 1]]]
    return _not_answered(shot, pairs, answers)


def _not_answered(
    shot: Snapshot, pairs: np.ndarray, answers: QuestionPairs
) -> np.ndarray:
    """Those of the pairs to which there is no answer."""
    if not len(answers):
        return pairs
    answered = set(map(answer_key, answers.question1, answers.question2))
    keys = [
        answer_key(*(shot.entries[at]["question"] for at in pair))
        for pair in pairs.tolist()
    ]
    return pairs[np.array([key not in answered for key in keys], bool)]


def about_kept_apart(shot: Snapshot, answers: QuestionPairs) -> tuple[list[str], Facts]:
    """A line on how many pairs are kept apart; none for a model without a near-miss check."""
    if shot.detector.check is None:
        return [], {}
    count = len(kept_apart(shot, answers))
    were = "was" if count == 1 else "were"
    line = (
        f"{counted(count, 'pair')} above the threshold {were} kept apart as near misses"
    )
    line += "; --differences lists them." if count else "."
    return [line], {"kept_apart": count}


def kept_apart_rows(
    shot: Snapshot,
    answers: QuestionPairs,
    threshold: float | None,
    keys: Sequence[Key],
) -> list[Row]:
    """The pairs above a threshold that the check keeps apart, the most similar first, with the reasons.

    Only questions of equal keys (`siamese.groups.within.keys_of`) are compared.
    """
    rows: list[Row] = []
    for part in rows_by_key(keys).values():
        questions = shot.questions.rows(part)
        grouping = Grouping.of(shot.detector, threshold, questions.vectors)
        pairs = refused_pairs(shot.detector, questions, grouping)
        own = _not_answered(shot, part[pairs], answers)
        rows += _with_reasons(shot, own)
    return sorted(rows, key=lambda row: -row["similarity"])


def _with_reasons(shot: Snapshot, pairs: np.ndarray) -> list[Row]:
    """Pairs as rows; each has a reason, also where a model's own check refuses it."""
    rows = pair_rows(shot, pairs)
    texts = shot.questions.texts
    for row, (one, two) in zip(rows, pairs.tolist()):
        if not row["difference"]:
            check = shot.detector.check
            assert check is not None  # It has refused them.
            sides = texts[one], texts[two]
            row["difference"] = shown_difference(check, *sides)
    return rows


def about_ignored(detector: DuplicateDetector, answers: QuestionPairs) -> list[str]:
    """A line for each kind of difference for which most refused pairs were answered "the same"."""
    check = detector.check
    if check is None or not len(answers):
        return []
    sides = detector.pairs(answers.question1, answers.question2)
    cut = border_of(detector)
    without = detector.with_check(None).decision
    refused = without.scores(*sides) > cut
    refused &= detector.decision.scores(*sides) <= cut
    said: dict[str, list[bool]] = {}
    for at in np.flatnonzero(refused).tolist():
        texts = [side.texts[at] for side in sides]
        for kind in {reason.kind for reason in check.reasons(*texts)}:
            said.setdefault(kind, []).append(bool(answers.is_duplicate[at]))
    return [
        f"You answered yes to {sum(own)} of the {len(own)} pairs that were refused for a {kind}: "
        f"with --ignore {quote(kind)} it does not count."
        for kind, own in sorted(said.items())
        if sum(own) >= LEAST_SAME and 2 * sum(own) > len(own)
    ]
