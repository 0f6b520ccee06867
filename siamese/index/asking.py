"""Which pairs of a list to ask about, and which of them are duplicates by the answers.

All pairs of a list are put in their order, the most similar first; the place of a pair
is its rank, from 0. How many of the pairs at a rank are duplicates falls fast among the
first and slowly later, so ranks are compared by the logarithm: see `depth_of`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from siamese.text.cleaning import folded

FIRST = 5  # ranks that are about as good as each other at the top
BANDS = 10  # of the ranks, each wider than the one before; first one pair of each is asked about
STRIDE = 3  # In this order they cover all after a few: 0, 3, 6, 9, 2, ...
GOLDEN = 0.618  # multiples of it, modulo 1, cover 0 to 1 evenly however many there are
NEAR = 0.9  # Later pairs are asked this near to the cut: between 0.4 and 2.5 times as many pairs.
WIDTH = 0.5  # the width of the kernel, by `depth_of`: answers at 1.6 times the rank weigh 0.6
ENOUGH = 5  # duplicates among the answers; fewer fit nothing
GRID = 200  # ranks at which the share of duplicates is estimated
CHARACTERS = 300  # of a question that are shown

Answer = tuple[str, str, int]  # two questions; 1 where they are duplicates, 0 where not


def pair_key(pair: Sequence[str]) -> frozenset[str]:
    """What two questions are compared by, in either order; what follows them does not count."""
    return frozenset(map(folded, pair[:2]))


def depth_of(ranks: ArrayLike) -> np.ndarray:
    """Ranks on the scale on which they are compared, float64: log(rank + 5)."""
    return np.log(np.asarray(ranks, np.float64) + FIRST)


def duplicate_share(ranks: ArrayLike, labels: ArrayLike, count: int) -> np.ndarray:
    """The share of duplicates at each of the ranks 0 to count - 1, float64 [count].

    It is the mean of the answers near the rank, weighed by a normal kernel of
    `depth_of` (Nadaraya, 1964; Watson, 1964). `ranks` are those of the answered pairs,
    [n], and `labels` say whether they are duplicates, bool or 0/1 [n].
    """
    labels = np.asarray(labels, np.float64)
    grid = np.unique(np.geomspace(1, count, GRID).round()) - 1
    weights = _kernel(depth_of(grid)[:, None] - depth_of(ranks)[None])  # [grid, n]
    share = weights @ labels / weights.sum(axis=1)
    return np.interp(np.arange(count), grid, share)


def _kernel(distances: np.ndarray) -> np.ndarray:
    """The weights of answers at some distances; far from all of them the nearest decides."""
    exponents = -0.5 * (distances / WIDTH) ** 2
    return np.exp(exponents - exponents.max(axis=-1, keepdims=True))


def best_cut(share: np.ndarray) -> int:
    """How many of the first pairs to call duplicates, at least 1: with the highest expected F1.

    `share` is that of `duplicate_share`; all pairs below its end count as different.
    """
    duplicates = np.cumsum(share)
    count = np.arange(1, len(share) + 1)
    return int(np.argmax(2 * duplicates / (count + duplicates[-1]))) + 1


def log_likelihood(ranks: ArrayLike, labels: ArrayLike) -> float:
    """How well an order of the pairs explains the answers: each by the others, see `duplicate_share`."""
    labels = np.asarray(labels, np.float64)
    depths = depth_of(ranks)
    weights = np.exp(-0.5 * ((depths[:, None] - depths[None]) / WIDTH) ** 2)
    np.fill_diagonal(weights, 0)
    # Half an answer of the usual kind keeps a lonely one from 0 and 1.
    share = (weights @ labels + 0.5 * labels.mean()) / (weights.sum(axis=1) + 0.5)
    share = np.clip(share, 0.02, 0.98)
    return float(np.sum(np.where(labels > 0, np.log(share), np.log(1 - share))))


def next_rank(
    ranks: ArrayLike,
    labels: ArrayLike,
    count: int,
    left: np.ndarray,
    start: float = 0.0,
) -> int:
    """Which pair to ask about next: one of the ranks that are `left`, int64 [m], rising.

    First each band of the ranks 0 to count - 1 is asked about once, then pairs near the
    cut that the answers give. Until five answers are yes, every second pair comes from
    above it. `start`, 0 to 1, is another beginning of the sequence that chooses among
    equally good ones.
    """
    ranks = np.asarray(ranks)
    among = (GOLDEN * len(ranks) + start) % 1
    low, high = depth_of([0, count])
    width = (high - low) / BANDS
    bands = np.clip((depth_of(ranks) - low) // width, 0, BANDS - 1)
    empty = [band for band in STRIDE * np.arange(BANDS) % BANDS if band not in bands]
    if empty:
        depth = low + (empty[0] + among) * width
    else:
        cut = depth_of(best_cut(duplicate_share(ranks, labels, count)))
        depth = cut + NEAR * (2 * among - 1)
        if np.sum(labels) < ENOUGH and len(ranks) % 2 == 0:
            depth = low + among * (cut - low)
    return int(left[np.argmin(np.abs(depth_of(left) - depth))])


def shown(question1: str, question2: str) -> list[str]:
    """Two questions, the first 300 characters of each, with the words that the other lacks in brackets."""
    sides = [" ".join(text.split())[:CHARACTERS] for text in (question1, question2)]
    known = [set(folded(side).split()) for side in sides]
    return [
        " ".join(
            word if folded(word) in other else f"[{word}]" for word in side.split()
        )
        for side, other in zip(sides, reversed(known))
    ]
