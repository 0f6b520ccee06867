"""Groups by average linkage: a whole list's questions joined where they are alike on average.

Two groups are joined only where the mean cosine over all their pairs is above the
threshold, so that a chain of similar questions does not join its ends. For vectors of
length 1 that mean is the product of the groups' mean vectors, and it is above a
threshold only where some pair is. So a vector for each group and the pairs above the
threshold are enough, and the n x n matrix is never in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from siamese.nn.nearest import EQUAL, in_blocks

# of a block of similarities: 8 MiB; BLAS is quickest on tall ones
ROWS = 4096
COLUMNS = 512
MOST_PAIRS = 4_000_000  # kept at a time, and as many again while more come: 100 MB
SAMPLE = 4096  # questions that show whether shorter vectors save work
MOST_LEFT = 1e-3  # the share of pairs that these may leave
ROUNDING = 1e-5  # float32's error in a product of vectors of length 1


def strongest_pairs(
    vectors: np.ndarray,
    threshold: float,
    allowed: Callable | None = None,
    shifts: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """All pairs whose cosine is above a threshold, each once; of more than twice `MOST_PAIRS` the best.

    With `shifts`, float32 [n], those of both rows are taken off a cosine first; here
    and below it is the difference that is compared, returned, and called a cosine.

    Where that saves work, cosines are first bounded from above by fewer numbers, see
    `upper_bounds`. Only pairs count that are `allowed`, a function of rows i and rows
    j, int64 [m] each, to bool [m]. It returns rows int64 [m], rows int64 [m] (the
    larger of each pair), cosines float32 [m], and the cosine above which no pair is
    missing.
    """
    vectors = np.asarray(vectors, np.float32)
    least = min(threshold, EQUAL)
    # Of a typical pair; another cut would cost time alone.
    usual = 0.0 if shifts is None or not len(shifts) else 2 * float(np.mean(shifts))
    bounds = upper_bounds(vectors, least + usual)
    shorter = vectors if bounds is None else bounds
    buffer = np.empty(ROWS * COLUMNS, np.float32)
    pairs = [(np.zeros(0, np.int32),) * 2 + (np.zeros(0, np.float32),)]
    count = 0
    for start, other in product(
        range(0, len(vectors), ROWS), range(0, len(vectors), COLUMNS)
    ):
        rows = shorter[start : start + ROWS]  # [r, d]
        columns = shorter[other : other + COLUMNS]  # [k, d]
        # These pairs were looked at in the other order.
        if other + len(columns) <= start:
            continue
        # A contiguous part of the buffer, or else NumPy copies the product into it.
        scores = buffer[: len(rows) * len(columns)].reshape(len(rows), len(columns))
        np.matmul(rows, columns.T, out=scores)
        if shifts is not None:
            scores -= shifts[start : start + len(rows), None]
            scores -= shifts[other : other + len(columns)]
        i, j = np.divmod(np.flatnonzero(scores > least - ROUNDING), len(columns))
        cosines = scores[i, j]
        i = i + start
        j = j + other
        if bounds is not None:
            cosines = in_blocks(lambda a, b: np.vecdot(vectors[a], vectors[b]), i, j)
            if shifts is not None:
                cosines = cosines - shifts[i] - shifts[j]
        best = (cosines > least) & (i < j)
        best = best if allowed is None else best & in_blocks(allowed, i, j)
        pairs.append(
            (i[best].astype(np.int32), j[best].astype(np.int32), cosines[best])
        )
        count += len(pairs[-1][0])
        if count > 2 * MOST_PAIRS:
            sides = [np.concatenate(side) for side in zip(*pairs)]
            best = np.argpartition(sides[2], -MOST_PAIRS)[-MOST_PAIRS:]
            pairs = [tuple(side[best] for side in sides)]
            count = MOST_PAIRS
            least = float(pairs[0][2].min())
    i, j, cosines = (np.concatenate(side) for side in zip(*pairs))
    return i.astype(np.int64), j.astype(np.int64), np.minimum(cosines, 1), least


def upper_bounds(vectors: np.ndarray, threshold: float) -> np.ndarray | None:
    """Shorter vectors, float32 [n, k + 1], whose products are at least those of `vectors`, rounding aside.

    Turned to the principal axes of a sample, the first k numbers hold most of a vector;
    of the others only the length r is kept. By Cauchy and Schwarz a product is at most
    that of the first k numbers plus r * r', which is the product of the vectors with r
    as their last number. None where that would leave more than one in a thousand of the
    sample's pairs, or the list or its vectors are short.
    """
    n, d = vectors.shape
    if n < SAMPLE or d < 16:
        return None
    some = vectors[np.arange(0, n, n // SAMPLE)[:SAMPLE]]
    _, axes = np.linalg.eigh((some.T @ some).astype(np.float64))
    # [d, d], the strongest first
    axes = np.ascontiguousarray(axes[:, ::-1], np.float32)

    def shortened(rows: np.ndarray, width: int) -> np.ndarray:
        turned = rows @ axes
        turned[:, width - 1] = np.linalg.norm(turned[:, width - 1 :], axis=1)  # r
        return turned[:, :width]

    for width in (d // 8, 3 * d // 16, d // 4, d // 2):
        short = shortened(some, width)
        if np.mean(short @ short.T > threshold - ROUNDING) < MOST_LEFT + 1 / SAMPLE:
            parts = (vectors[start : start + ROWS] for start in range(0, n, ROWS))
            return np.concatenate([shortened(rows, width) for rows in parts])
    return None


def average_linkage(
    vectors: np.ndarray,
    threshold: float,
    *,
    parts: np.ndarray | None = None,
    apart: np.ndarray | None = None,
    decide: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
    shifts: np.ndarray | None = None,
) -> np.ndarray:
    """The group of each question, int64 [n] from 0, where groups are joined down to a mean cosine.

    The groups are those of ``scipy.cluster.hierarchy.linkage(vectors, "average",
    "cosine")`` (UPGMA: Sokal and Michener, 1958), which keeps all pairs in memory and
    joins the most similar groups, again and again. Here all groups that are each
    other's most similar are joined at once. The result is the same, since the mean with
    a union is never above the better of the means with its parts (Murtagh, 1983); with
    `apart` or `decide` another order of joins may give other groups.

    Args:
      vectors: float32 [n, d], of length 1.
      threshold: groups are joined where their mean cosine is above it; from -1 to 1.
      parts: int64 [n]; questions of equal numbers are together from the start.
      apart: int64 [pairs, 2], rows that never share a group.
      decide: of the mean vectors of groups, float32 [m, d] twice, whether these may be joined: bool [m].
      shifts: float32 [n], taken off the cosines of each question, as `siamese.groups.local` has them: the
        mean over the pairs of two groups is their mean cosine less the mean shifts of both.

    Example:
      >>> vectors = np.array([[1, 0], [0.8, 0.6], [0.6, 0.8], [0, 1]], np.float32)
      >>> average_linkage(vectors, 0.75).tolist()  # 0 to 3 are chained by 0.8, 0.96, 0.8
      [0, 1, 1, 2]
    """
    apart = np.zeros((0, 2), np.int64) if apart is None else apart
    parts = np.arange(len(vectors)) if parts is None else parts
    _, first, labels = np.unique(parts, return_index=True, return_inverse=True)
    sums = vectors[first]
    sizes = np.bincount(labels)
    rest = np.delete(np.arange(len(labels)), first)
    np.add.at(sums, labels[rest], vectors[rest])
    shift_sums = (
        None if shifts is None else np.bincount(labels, shifts).astype(np.float32)
    )

    def key(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return np.minimum(i, j) * len(sizes) + np.maximum(i, j)

    def allowed(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        never = key(*labels[apart].T)
        may = ~np.isin(key(i, j), never)
        if decide is not None:
            may[may] = in_blocks(
                lambda a, b: decide(means(a), means(b)), i[may], j[may]
            )
        return may

    def means(rows: np.ndarray) -> np.ndarray:
        return sums[rows] / sizes[rows, None].astype(np.float32)

    def mean_cosines(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        cosines = np.vecdot(sums[i], sums[j]) / (sizes[i] * sizes[j])
        return (
            cosines if shift_sums is None else cosines - mean_shifts(i) - mean_shifts(j)
        )

    def mean_shifts(rows: np.ndarray) -> np.ndarray:
        return shift_sums[rows] / sizes[rows].astype(np.float32)

    random = np.random.default_rng(0)
    least = np.inf
    while least > threshold:
        # The best of too many pairs decide the joins down to the last of them; then
        # again, with the groups of that moment.
        groups = sums if len(sums) == len(vectors) else means(np.arange(len(sums)))
        own = None if shifts is None else mean_shifts(np.arange(len(sums)))
        i, j, cosines, least = strongest_pairs(groups, threshold, allowed, own)
        del groups  # as large as the list
        while len(i):
            a, b = _each_others_best(i, j, cosines, len(sizes), random)
            sums[a] += sums[b]
            sizes[a] += sizes[b]
            sizes[b] = 0
            if shift_sums is not None:
                shift_sums[a] += shift_sums[b]
            group = np.arange(len(sizes))
            group[b] = a
            labels = group[labels]
            i = group[i]
            j = group[j]
            grown = np.isin(np.arange(len(sizes)), a)
            changed = grown[i] | grown[j]
            one, two = np.divmod(np.unique(key(i, j)[changed & (i != j)]), len(sizes))
            new = allowed(one, two)
            one = one[new]
            two = two[new]
            mean = in_blocks(mean_cosines, one, two)
            new = mean > least
            i = np.append(i[~changed], one[new])
            j = np.append(j[~changed], two[new])
            cosines = np.append(cosines[~changed], mean[new])
        left = sizes > 0
        labels = (np.cumsum(left) - 1)[labels]
        sums = sums[left]
        sizes = sizes[left]
        shift_sums = None if shift_sums is None else shift_sums[left]
    return labels


def _each_others_best(
    i: np.ndarray,
    j: np.ndarray,
    cosines: np.ndarray,
    count: int,
    random: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of which each is the other's most similar, a group in one of them; equal ones by lot."""
    best = np.full(count, -np.inf, cosines.dtype)
    for side in (i, j):
        np.maximum.at(best, side, cosines)
    mutual = (cosines == best[i]) & (cosines == best[j])
    i = i[mutual]
    j = j[mutual]
    lots = random.permutation(len(i))
    drawn = np.full(count, len(i))
    for side in (i, j):
        np.minimum.at(drawn, side, lots)
    chosen = (lots == drawn[i]) & (lots == drawn[j])
    return i[chosen], j[chosen]
