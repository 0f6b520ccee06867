"""Pairs of a list that the near-miss check alone keeps apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from siamese.groups.linkage import strongest_pairs
from siamese.model.decision import Questions
from siamese.nn.nearest import EQUAL, in_blocks
from siamese.reading.clusters import first_places

if TYPE_CHECKING:
    from siamese.groups.grouping import Grouping
    from siamese.model.detector import DuplicateDetector

Penalties = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Recorded:
    """The penalties of pairs of a list; it remembers the pairs that have one."""

    def __init__(self, penalties: Penalties):
        self._penalties = penalties
        self._found: list[tuple[np.ndarray, np.ndarray]] = []

    def __call__(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """The penalties of pairs of rows, int64 [m] each, float32 [m]."""
        values = self._penalties(i, j)
        has_one = values > 0
        self._found.append((i[has_one], j[has_one]))
        return values

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows i and j, int64 [m] each."""
        no_rows = np.zeros(0, np.int64)
        i, j = map(np.concatenate, zip((no_rows, no_rows), *self._found))
        return i, j


def are_refused(
    detector: DuplicateDetector,
    questions: Questions,
    grouping: Grouping,
    i: np.ndarray,
    j: np.ndarray,
) -> np.ndarray:
    """Of pairs of rows, int64 [m] each, which ones the check alone keeps below the threshold: bool [m]."""
    cut = min(grouping.threshold, EQUAL)
    shifts = grouping.shifts
    without = detector.with_check(None).decision

    def refused(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        sides = questions.rows(a), questions.rows(b)
        cuts = cut if shifts is None else cut + shifts[a] + shifts[b]
        is_refused = without.scores(*sides) > cuts
        rows = np.flatnonzero(is_refused)
        scores = detector.decision.scores(*(side.rows(rows) for side in sides))
        each = np.broadcast_to(np.asarray(cuts, scores.dtype), len(a))
        is_refused[rows] = scores <= each[rows]
        return is_refused

    return in_blocks(refused, i, j)


def refused_pairs(
    detector: DuplicateDetector,
    questions: Questions,
    grouping: Grouping,
    candidates: tuple[np.ndarray, np.ndarray] | None = None,
) -> np.ndarray:
    """The pairs that the check alone keeps below a threshold, rows int64 [m, 2], rising.

    Of texts that are equal but for case, blanks and quotes the first stands for all.
    `candidates` are pairs of rows that hold all of them; all pairs of the list are
    compared where None.
    """
    if detector.check is None:
        return np.zeros((0, 2), np.int64)
    if candidates is None:
        rule = grouping.rule(detector, questions)
        candidates = strongest_pairs(
            questions.vectors, rule.threshold, None, grouping.shifts
        )[:2]
    first = first_places(questions.folded, str)
    i, j = (first[side] for side in candidates)
    pairs = np.stack([np.minimum(i, j), np.maximum(i, j)], axis=1)
    pairs = np.unique(pairs[i != j], axis=0)
    return pairs[are_refused(detector, questions, grouping, *pairs.T)]
