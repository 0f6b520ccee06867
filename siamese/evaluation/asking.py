"""Which pairs of a list to ask about, so that few answers fit a threshold, and how they are shown."""

from __future__ import annotations

import bisect
import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from siamese.data.clusters import first_places
from siamese.data.text import folded
from siamese.errors import SiameseError
from siamese.evaluation.thresholds import fit_threshold

QUESTIONS = 2_000  # of an index whose neighbours are looked at
NEIGHBOURS = 5  # of each
SPREAD = 3  # every third pair asked about comes from anywhere, the others from near the border
BELOW = 0.1  # of a cosine: near misses on top do not hold the border there
GOLDEN = 0.618  # multiples of it, modulo 1, cover 0 to 1 evenly however many there are
WIDTH = 300  # characters of a question that are shown

Answer = tuple[str, str, int]  # two questions; 1 where they are duplicates, 0 where not
Candidate = tuple[float, str, str]  # the cosine of two questions


def similar_candidates(index: Any) -> list[Candidate]:
    """Pairs of an index's questions that may be asked about, by rising cosine.

    They are some questions, each with its nearest others; every pair once, without texts that
    are equal but for case, blanks and quotes.
    """
    entries, vectors, *_ = index.snapshot()
    first = np.unique(first_places([entry["question"] for entry in entries]))
    entries, vectors = [entries[row] for row in first], vectors[first]
    rows = np.random.default_rng(0).permutation(len(entries))[:QUESTIONS]
    candidates: dict[frozenset[str], Candidate] = {}
    depth = min(NEIGHBOURS + 1, len(entries))
    for start in range(0, len(rows), 64):
        cosines = vectors[rows[start : start + 64]] @ vectors.T  # [64, n]
        nearest = np.argpartition(cosines, -depth, axis=1)[:, -depth:]
        for row, others, values in zip(rows[start : start + 64], nearest, cosines):
            for other in others:
                first, second = sorted(entries[at]["question"] for at in (row, other))
                key = pair_key((first, second))
                if len(key) == 2 and "\0" not in first + second:
                    cosine = min(float(values[other]), 1.0)
                    candidates.setdefault(key, (cosine, first, second))
    return sorted(candidates.values())


def pair_key(pair: Sequence[Any]) -> frozenset[str]:
    """What two questions are compared by, in either order; what follows them does not count."""
    return frozenset(map(folded, pair[:2]))


def next_candidate(
    candidates: list[Candidate],
    answers: list[Answer],
    skipped: Sequence[Sequence[str]],
    detector: Any,
) -> Candidate | None:
    """The candidate to ask about next, neither answered nor skipped; None at the end."""
    known = set(map(pair_key, [*answers, *skipped]))
    left = [candidate for candidate in candidates if pair_key(candidate[1:]) not in known]
    sides = [[answer[side] for answer in answers] for side in (0, 1)]
    scores = detector.similarity(*sides).tolist() if answers else []
    cosines = [cosine for cosine, *_ in left]
    return left[next_place(cosines, scores, answers, detector.rule()[0])] if left else None


def next_place(
    cosines: list[float], scores: list[float], answers: list[Answer], threshold: float
) -> int:
    """Which of the candidates, by their rising cosines, to ask about next.

    The first is nearest to `threshold`, the model's. While all answers are alike the range is halved
    towards the other ones, by the answered pairs' `scores`. Then it is the one nearest to the border that
    the answers give, or to one `BELOW` it; every third one is any, so that the slope is known too.
    """
    labels = [answer[2] for answer in answers]
    if len(set(labels)) == 1:
        below = bisect.bisect_left(cosines, min(scores))
        above = bisect.bisect_right(cosines, max(scores))
        return below // 2 if labels[0] else min((above + len(cosines)) // 2, len(cosines) - 1)
    if labels and len(labels) % SPREAD == 0:
        return int(len(labels) * GOLDEN % 1 * len(cosines))
    with contextlib.suppress(SiameseError):  # Not both labels yet, or not in this order.
        threshold = fit_threshold(scores, labels, resamples=0).threshold
    threshold -= BELOW * (len(labels) % 2)
    return int(np.argmin(np.abs(np.array(cosines) - threshold)))


def shown(question1: str, question2: str) -> list[str]:
    """Two questions, the first 300 characters of each, with the words that the other lacks in brackets."""
    sides = [" ".join(text.split())[:WIDTH] for text in (question1, question2)]
    known = [set(folded(side).split()) for side in sides]
    return [
        " ".join(word if folded(word) in other else f"[{word}]" for word in side.split())
        for side, other in zip(sides, reversed(known))
    ]
