"""What lies below a threshold that no labels stand behind: the next pairs, and how many there are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from siamese.search.groups import Member
from siamese.search.linkage import strongest_pairs

SAMPLE = 2048  # questions that are compared with all others, to count pairs
LOWEST, STEP = 0.5, 0.01  # down to this cosine pairs are counted, in steps of this width
SPARE = 20  # times as many pairs as asked are looked at, since one question is in many


class NextPair(NamedTuple):
    """Two questions that share no group, by their places in the list."""

    one: int
    two: int
    similarity: float  # their cosine


def pair_counts(vectors: np.ndarray, seed: int = 0) -> np.ndarray:
    """About how many pairs have a cosine above 0.5, 0.51 and so on up to 0.99, float64 [50].

    A sample of 2,048 questions is compared with all; of a list of no more the counts are exact.

    Args:
      vectors: float32 [n, d], of length 1.
      seed: of the sample.
    """
    n = len(vectors)
    some = np.random.default_rng(seed).permutation(n)[:SAMPLE]
    counts = np.zeros(round((1 - LOWEST) / STEP))
    for start in range(0, len(some), 64):
        rows = some[start : start + 64]
        scores = vectors[rows] @ vectors.T  # [64, n]
        scores[np.arange(len(rows)), rows] = 0  # a question with itself
        steps = ((scores[scores > LOWEST] - LOWEST) / STEP).astype(np.int64)
        counts += np.bincount(np.minimum(steps, len(counts) - 1), minlength=len(counts))
    return np.cumsum(counts[::-1])[::-1] * (n / max(1, len(some)) / 2)


def next_pairs(
    vectors: np.ndarray, groups: list[list[Member]], counts: np.ndarray, count: int = 50
) -> list[NextPair]:
    """The most similar pairs that share no group, each question in one of them, best first.

    Pairs are looked for down to 0.5, or to the cosine above which there are enough of them.

    Args:
      vectors: float32 [n, d], of length 1.
      groups: as `siamese.search.groups.duplicate_groups` returns them.
      counts: of `pair_counts`.
      count: how many pairs, at most.
    """
    labels = np.arange(len(vectors))
    for number, group in enumerate(groups, start=len(vectors)):
        labels[[member.row for member in group]] = number
    sizes = np.array([len(group) for group in groups], np.float64)
    enough = SPARE * count + (sizes * (sizes - 1)).sum() / 2  # The groups' own pairs do not count.
    steps = np.flatnonzero(counts >= enough)
    lowest = LOWEST + STEP * (steps[-1] if len(steps) else 0)
    one, two, cosines, _ = strongest_pairs(vectors, lowest, lambda i, j: labels[i] != labels[j])
    pairs, named = [], set()
    for at in np.argsort(-cosines, kind="stable").tolist():
        pair = int(one[at]), int(two[at])
        if not named.intersection(pair):
            named.update(pair)
            pairs.append(NextPair(*pair, float(cosines[at])))
        if len(pairs) == count:
            break
    return pairs
