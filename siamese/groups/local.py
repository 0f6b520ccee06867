"""Local scaling: a cosine less what both texts have in common with their neighbours.

``cosine(a, b) - w * (r(a) + r(b)) / 2``, where r is the mean cosine of a text with its
ten nearest in the list (CSLS: Conneau et al., 2018). Requests by form, such as "Licence
for Visio" and "Licence for Figma", lie close to each other without being duplicates;
their r is high, and with a weight w they come later. Copies (a cosine above `COPY`) do
not count in r: an incident that is reported twenty times in the same words stays one
group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from siamese.nn.nearest import SCORES, TILE

if TYPE_CHECKING:
    from siamese.model.detector import DuplicateDetector

WEIGHTS = (0.0, 0.5, 1.0)  # from which answers choose w
NEAREST = 10  # texts whose mean cosine is r
COPY = 0.97  # Above this cosine a text is a copy, and no neighbour.
SAMPLE = 2048  # texts that show which weight a list needs
LEAST = 100  # texts; ten are a large part of a shorter list, which has the weight 0
# A list's nearest texts are this far on the way from the tenth nearest to a copy, on
# average: help desks' exports 0.20 to 0.34, lists of Quora's pairs 0.44 to 0.56,
# hand-written lists 0.34 to 0.60. Below it a weight of 1 lifts average precision
# (exports +0.03 to +0.17); above it hardly, and on Quora it costs 0.1.
ALONE = 0.35


def nearest_cosines(vectors: np.ndarray, texts: np.ndarray) -> np.ndarray:
    """The `NEAREST` largest cosines of texts with a list, float32 [texts, at most 10], falling.

    `vectors` are the list's, float32 [n, d], and `texts` those of the texts, float32
    [m, d], all of length 1. Copies do not count, and so a text of the list itself does
    not. Where there are fewer, NaN follows.
    """
    n = len(vectors)
    depth = min(NEAREST, max(1, n - 1))
    best = np.full((len(texts), depth), np.nan, np.float32)
    step = max(1, SCORES // max(1, n))
    for start in range(0, len(texts) if n else 0, step):
        scores = texts[start : start + step] @ vectors.T  # [step, n]
        scores[scores > COPY] = -2
        best[start : start + step] = _largest(scores, depth)
    best[best < -1.5] = np.nan
    return best


def _largest(scores: np.ndarray, depth: int) -> np.ndarray:
    """The largest scores of each row, float32 [rows, depth], falling."""
    rows, n = scores.shape
    tiles = n // TILE
    if tiles >= depth:
        # No more than a few in a row are as large as the maxima of `depth` tiles.
        maxima = scores[:, : tiles * TILE].reshape(rows, tiles, TILE).max(axis=2)
        least = np.partition(maxima, -depth, axis=1)[:, -depth]
        places = np.flatnonzero(scores >= least[:, None])
        row = places // n
        values = scores.ravel()[places]
        order = np.lexsort((-values, row))
        row = row[order]
        values = values[order]
        rank = np.arange(len(row)) - np.searchsorted(row, row)  # within its row
        return values[rank < depth].reshape(rows, depth)
    return -np.sort(-np.partition(scores, -depth, axis=1)[:, -depth:], axis=1)


def local_means(vectors: np.ndarray, texts: np.ndarray | None = None) -> np.ndarray:
    """The r of texts in a list, float32 [texts]; of the list's own where None.

    Arguments are those of `nearest_cosines`. A text that has copies alone has 0.
    """
    best = nearest_cosines(vectors, vectors if texts is None else texts)
    count = np.isfinite(best).sum(axis=1)
    return (np.nansum(best, axis=1) / np.maximum(count, 1)).astype(np.float32)


def list_weight(vectors: np.ndarray) -> float:
    """The weight of a list without answers: 1 where most texts have many others nearly as near.

    `vectors` are float32 [n, d]; a sample of 2,048 is compared with all. Of fewer than
    100 texts it is 0.
    """
    if len(vectors) < LEAST:
        return 0.0
    some = np.sort(np.random.default_rng(0).permutation(len(vectors))[:SAMPLE])
    best = nearest_cosines(vectors, vectors[some])
    best = best[np.isfinite(best).all(axis=1)]
    if len(best) < LEAST / 2:
        return 0.0
    way = (best[:, 0] - best[:, -1]) / (1 - best[:, -1])
    return float(way.mean() < ALONE)


def ranking_weight(detector: DuplicateDetector, vectors: np.ndarray) -> float:
    """The weight by which a list's pairs are ordered: that of answers to its pairs, else `list_weight`.

    It is 0 for a model that decides by a probability.
    """
    if detector.decision.measure != "cosine":
        return 0.0
    fitted = detector.card.get("threshold_fit", {}).get("weight")
    return list_weight(vectors) if fitted is None else float(fitted)


def scaled(
    vectors: np.ndarray,
    rows: np.ndarray,
    cosines: np.ndarray,
    weight: float | np.ndarray,
) -> np.ndarray:
    """The cosines of pairs of a list less local scaling, float32 [..., pairs].

    `vectors` are the list's, `rows` int64 [pairs, 2], and `weight` a number or numbers
    [..., 1].
    """
    ends, places = np.unique(rows, return_inverse=True)
    means = local_means(vectors, vectors[ends])[places.reshape(rows.shape)].mean(axis=1)
    return cosines - np.asarray(weight, np.float32) * means
