"""Groups by average linkage: a whole list's questions joined where they are alike on average.

Two groups are joined only where the mean cosine over all their pairs is above the threshold, so that a
chain of similar questions does not join its ends. For vectors of length 1 that mean is the product of
the groups' mean vectors, and it is above a threshold only where some pair is. So a vector for each group
and the pairs above the threshold are enough, and the n x n matrix is never in memory.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from siamese.data.arguments import whole_number
from siamese.data.clusters import connected_groups
from siamese.errors import ArgumentError
from siamese.search.nearest import EQUAL, blocks, row_products

ROWS, COLUMNS = 4096, 512  # of a block of similarities: 8 MiB; BLAS is quickest on tall ones
MOST_PAIRS = 4_000_000  # kept at a time, and as many again while more come: 100 MB
# Bounds of cosines: questions that tell whether they save work, the pairs they may leave, and float32's
# error in a product of vectors of length 1.
SAMPLE = 4096
MOST_LEFT = 1e-3
ROUNDING = 1e-5


class Merges(NamedTuple):
    """Joins of groups, from the most similar on; those above any cut give its groups."""

    size: int  # questions in the list
    edges: np.ndarray  # int64 [merges, 2], a question of each of the two groups joined
    similarity: np.ndarray  # float64 [merges], falling: their mean cosine

    def labels(self, threshold: float) -> np.ndarray:
        """The group of each question, int64 [size], where mean cosines above a threshold join."""
        above = self.similarity > min(threshold, EQUAL)
        return connected_groups(self.size, self.edges[above])


def similar_pairs(
    vectors: np.ndarray, threshold: float
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yields all pairs whose cosine is above a threshold, each once, block by block.

    Where that saves work, cosines are first bounded from above by fewer numbers, see `upper_bounds`, and
    worked out only where the bound is above the threshold. That takes up to half as much memory again.

    Yields:
      rows int64 [m], rows int64 [m] (the larger of each pair) and cosines float32 [m].

    Raises:
      ArgumentError: a threshold outside -1 to 1.
    """
    if not -1 <= threshold <= 1:
        raise ArgumentError(f"threshold is a cosine, from -1 to 1; it is {threshold!r}.")
    threshold = min(threshold, EQUAL)
    vectors = np.asarray(vectors, np.float32)
    n = len(vectors)
    bounds = upper_bounds(vectors, threshold)
    shorter, least = (vectors, threshold) if bounds is None else (bounds, threshold - ROUNDING)
    buffer = np.empty((ROWS, COLUMNS), np.float32)
    for start in range(0, n, ROWS):
        rows = shorter[start : start + ROWS]  # [r, d]
        for other in range(start, n, COLUMNS):
            columns = shorter[other : other + COLUMNS]
            # A view of the buffer that is contiguous, or else NumPy copies the product into it.
            scores = buffer.ravel()[: len(rows) * len(columns)].reshape(len(rows), len(columns))
            np.matmul(rows, columns.T, out=scores)
            i, j = np.divmod(np.flatnonzero(scores > least), len(columns))
            if other < start + len(rows):
                upper = i + start < j + other
                i, j = i[upper], j[upper]
            if bounds is None:
                similarities, i, j = scores[i, j], i + start, j + other
            else:
                i, j = i + start, j + other
                similarities = row_products(vectors, i, vectors, j)
                above = similarities > threshold
                i, j, similarities = i[above], j[above], similarities[above]
            if len(i):
                yield i, j, np.minimum(similarities, 1)


def upper_bounds(vectors: np.ndarray, threshold: float) -> np.ndarray | None:
    """Shorter vectors, float32 [n, k + 1], whose products are at least those of `vectors`, rounding aside.

    Turned to the principal axes of a sample, the first k numbers hold most of a vector; of the others only
    the length r is kept. By Cauchy and Schwarz a product is at most that of the first k numbers plus
    r * r', which is the product of the vectors with r as their last number. None where that would leave
    more than one in a thousand of the sample's pairs, or the list or its vectors are short.
    """
    n, d = vectors.shape
    if n < SAMPLE or d < 16:
        return None
    some = vectors[np.arange(0, n, n // SAMPLE)[:SAMPLE]]
    _, axes = np.linalg.eigh((some.T @ some).astype(np.float64))
    axes = np.ascontiguousarray(axes[:, ::-1], np.float32)  # [d, d], the strongest first

    def shortened(rows: np.ndarray, k: int) -> np.ndarray:
        turned = rows @ axes
        rest = np.linalg.norm(turned[:, k:], axis=1, keepdims=True)
        return np.concatenate([turned[:, :k], rest], axis=1)

    for width in (d // 8, 3 * d // 16, d // 4, d // 2):
        k = width - 1  # r is the last number
        short = shortened(some, k)
        if np.mean(short @ short.T > threshold - ROUNDING) < MOST_LEFT + 1 / SAMPLE:
            bounds = np.empty((n, width), np.float32)
            for start, rows in blocks(vectors, ROWS):
                bounds[start : start + len(rows)] = shortened(rows, k)
            return bounds
    return None


def strongest_pairs(
    vectors: np.ndarray, threshold: float, allowed: Callable | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """The pairs above a threshold, as one; of more than twice `MOST_PAIRS` the best.

    With them comes the cosine above which none is missing. `allowed` tells of rows i and rows j which
    pairs count.
    """
    kept = [(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32))]
    count, least = 0, min(threshold, EQUAL)
    for i, j, cosines in similar_pairs(vectors, threshold):
        best = cosines > least
        if allowed is not None:
            best &= allowed(i, j)
        kept.append((i[best].astype(np.int32), j[best].astype(np.int32), cosines[best]))
        count += len(kept[-1][0])
        if count > 2 * MOST_PAIRS:
            columns = [np.concatenate(column) for column in zip(*kept)]
            best = np.argpartition(columns[2], -MOST_PAIRS)[-MOST_PAIRS:]
            kept, count = [tuple(column[best] for column in columns)], MOST_PAIRS
            least = float(kept[0][2].min())
    first, second, cosines = (np.concatenate(column) for column in zip(*kept))
    return first, second, cosines, least


def average_linkage(vectors: np.ndarray, threshold: float, largest: int | None = None) -> Merges:
    """Joins the two groups with the highest mean cosine, again and again, down to a threshold.

    The groups are those of ``scipy.cluster.hierarchy.linkage(vectors, "average", "cosine")`` (UPGMA:
    Sokal and Michener, 1958), which keeps all pairs in memory.

    Args:
      vectors: float32 [n, d], of length 1.
      threshold: groups are joined where their mean cosine is above it.
      largest: a bound on the questions of a group: what would be larger is not joined.

    Raises:
      ArgumentError: a threshold outside -1 to 1, or `largest` below 1.

    Example:
      >>> vectors = np.array([[1, 0], [0.8, 0.6], [0.6, 0.8], [0, 1]], np.float32)
      >>> average_linkage(vectors, 0.5).labels(0.7).tolist()  # 0 to 3 are chained by 0.8, 0.96, 0.8
      [0, 1, 1, 2]
    """
    if largest is not None:
        whole_number(largest, "largest", 1)
    threshold = min(threshold, EQUAL)
    rows = np.arange(len(vectors))  # a question of each group
    sums, sizes = np.array(vectors), np.ones(len(vectors), np.int64)
    edges, similarities = [], []
    limit = np.inf if largest is None else largest
    least = np.inf
    while least > threshold:
        # Of too many pairs the best tell the joins down to the last of them; then again, with the
        # groups found. Pairs over the bound are left out, so that each time some are joined.
        def allowed(i: np.ndarray, j: np.ndarray, sizes: np.ndarray = sizes) -> np.ndarray:
            return sizes[i] + sizes[j] <= limit

        means = sums if sizes.max(initial=1) == 1 else sums / sizes[:, None].astype(np.float32)
        *pairs, least = strongest_pairs(means, threshold, allowed)
        del means  # as large as the list
        for a, b, similarity in _joins(sums, sizes, pairs, least, limit):
            edges.append((rows[a], rows[b]))
            similarities.append(similarity)
        left = sizes > 0
        rows, sums, sizes = rows[left], sums[left], sizes[left]
    found = np.array(similarities, np.float64)
    return Merges(
        len(vectors), np.array(edges, np.int64).reshape(-1, 2), np.minimum.accumulate(found)
    )


def _joins(
    sums: np.ndarray, sizes: np.ndarray, pairs: list, least: float, limit: float
) -> Iterator[tuple[int, int, float]]:
    """Joins groups down to a mean cosine, in `sums` and `sizes`; yields (kept, joined to it, mean).

    Each group waits in a heap with its best partner, and looks again where that one has changed: the
    mean with a union is never above the better of the means with its parts, so what waits is never
    too low.
    """
    first, second, cosines = pairs
    ends, others = np.concatenate([first, second]), np.concatenate([second, first])
    order = np.lexsort((-np.tile(cosines, 2), ends))  # of each row the most similar first
    others, cosines = others[order], np.tile(cosines, 2)[order]
    starts = np.searchsorted(ends[order], np.arange(len(sums) + 1))
    del ends, order
    near: dict[int, np.ndarray] = {}  # of a group that was joined or looked again
    members: dict[int, list[int]] = {}
    group_of = np.arange(len(sums))
    some = np.flatnonzero(np.diff(starts))
    best = others[starts[some]]
    columns = -cosines[starts[some]], some, sizes[some], best, sizes[best]
    waiting = list(zip(*(column.tolist() for column in columns)))
    heapq.heapify(waiting)

    def neighbours(a: int) -> np.ndarray:
        return near[a] if a in near else others[starts[a] : starts[a + 1]]

    def look_again(a: int) -> None:
        found = np.unique(group_of[neighbours(a)])
        near[a] = found = found[(found != a) & (sizes[found] + sizes[a] <= limit)]
        if len(found):
            means = sums[found] @ sums[a] / (sizes[found] * sizes[a])
            at = int(means.argmax())
            if means[at] > least:
                b = int(found[at])
                heapq.heappush(waiting, (-float(means[at]), a, int(sizes[a]), b, int(sizes[b])))

    while waiting:
        negative, a, size_a, b, size_b = heapq.heappop(waiting)
        if sizes[a] != size_a:  # It was joined since, and has looked again.
            continue
        if sizes[b] != size_b or size_a + size_b > limit:
            look_again(a)
            continue
        if size_a < size_b:
            a, b = b, a
        moved = [b, *members.pop(b, ())]
        members.setdefault(a, []).extend(moved)
        group_of[moved] = a
        near[a] = np.concatenate([neighbours(a), neighbours(b)])
        near.pop(b, None)
        sums[a] += sums[b]
        sizes[a], sizes[b] = size_a + size_b, 0
        yield a, b, -negative
        look_again(a)
