"""Groups by average linkage: a whole list's questions joined where they are alike on average.

Two groups are joined only where the mean cosine over all their pairs is above the
threshold, so that a chain of similar questions does not join its ends. For vectors of
length 1 that mean is the product of the groups' mean vectors, and it is above a
threshold only where some pair is. So a vector for each group and the pairs above the
threshold are enough, and the n x n matrix is never in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from siamese.encoders.protocol import runs
from siamese.nn.nearest import EQUAL, PAIRS, TEXT_PAIRS, in_blocks

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
    n = len(vectors)
    best = _BestPairs(min(threshold, EQUAL))
    # Of a typical pair: the bounds are chosen by it.
    usual = 0.0 if shifts is None or not n else 2 * float(np.mean(shifts))
    bounds = upper_bounds(vectors, best.least + usual)
    shorter = vectors if bounds is None else bounds
    buffer = np.empty(ROWS * COLUMNS, np.float32)
    for start, other in product(range(0, n, ROWS), range(0, n, COLUMNS)):
        rows = shorter[start : start + ROWS]  # [r, d]
        columns = shorter[other : other + COLUMNS]  # [k, d]
        # These pairs were looked at in the other order.
        if other + len(columns) <= start:
            continue

        # The pairs of this block that may be above the cosine; a contiguous part of
        # the buffer, or else NumPy copies the product into it.
        scores = buffer[: len(rows) * len(columns)].reshape(len(rows), len(columns))
        np.matmul(rows, columns.T, out=scores)
        if shifts is not None:
            scores -= shifts[start : start + len(rows), None]
            scores -= shifts[other : other + len(columns)]
        i, j = np.divmod(np.flatnonzero(scores > best.least - ROUNDING), len(columns))
        cosines = scores[i, j]
        i += start
        j += other

        # and those of them that are.
        if bounds is not None:
            cosines = in_blocks(lambda a, b: np.vecdot(vectors[a], vectors[b]), i, j)
            if shifts is not None:
                cosines = cosines - shifts[i] - shifts[j]
        best.add(i, j, cosines, allowed)
    return *best.all(), best.least


class _BestPairs:
    """Pairs above a cosine, which rises where they are more than twice `MOST_PAIRS`."""

    def __init__(self, least: float):
        self.least = least
        self._count = 0
        no_rows = np.zeros(0, np.int32)
        self._found = [(no_rows, no_rows, np.zeros(0, np.float32))]

    def add(
        self,
        i: np.ndarray,
        j: np.ndarray,
        cosines: np.ndarray,
        allowed: Callable | None,
    ) -> None:
        """Adds those of the pairs of rows that are above `least`, and allowed, each once (i < j).

        The least of all are dropped where they are too many.
        """
        is_above = (cosines > self.least) & (i < j)
        if allowed is not None:
            is_above &= in_blocks(allowed, i, j)
        i = i[is_above]
        j = j[is_above]
        self._found.append((i.astype(np.int32), j.astype(np.int32), cosines[is_above]))
        self._count += len(i)
        if self._count > 2 * MOST_PAIRS:
            one, two, all_cosines = map(np.concatenate, zip(*self._found))
            best = np.argpartition(all_cosines, -MOST_PAIRS)[-MOST_PAIRS:]
            self._found = [(one[best], two[best], all_cosines[best])]
            self._count = MOST_PAIRS
            self.least = float(all_cosines[best].min())

    def all(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows int64 [m], rows int64 [m] and cosines float32 [m]; it keeps none of them."""
        i, j, cosines = zip(*self._found)
        self._found.clear()
        all_cosines = np.concatenate(cosines)
        np.minimum(all_cosines, 1, out=all_cosines)
        return (
            np.concatenate(i, dtype=np.int64),
            np.concatenate(j, dtype=np.int64),
            all_cosines,
        )


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
            bounds = np.empty((n, width), np.float32)
            for start in range(0, n, ROWS):
                part = slice(start, start + ROWS)
                bounds[part] = shortened(vectors[part], width)
            return bounds
    return None


def average_linkage(
    vectors: np.ndarray,
    threshold: float,
    *,
    penalties: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
    joins: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray] | None = None,
    together: np.ndarray | None = None,
    apart: np.ndarray | None = None,
    shifts: np.ndarray | None = None,
) -> np.ndarray:
    """The group of each question, int64 [n] from 0, where groups are joined down to a mean cosine.

    The groups are those of ``scipy.cluster.hierarchy.linkage(vectors, "average",
    "cosine")`` (UPGMA: Sokal and Michener, 1958), which keeps all pairs in memory and
    joins the most similar groups, again and again. Here all groups that are each
    other's most similar are joined at once. The result is the same, since the mean with
    a union, less the largest penalty, is never above the better of those with the two
    (Murtagh, 1983); with `apart` or `joins` another order of joins may give other groups.

    Args:
      vectors: float32 [n, d], of length 1.
      threshold: groups are joined where their mean cosine, less the largest penalty of a pair of questions
        between them, is above it.
      penalties: of rows i and j, int64 [m] each, what is taken off the cosines of these pairs, float32 [m],
        not below 0; nothing where None. Pairs below the threshold are not looked at.
      joins: of the mean vectors of groups, float32 [m, d] twice, and the largest penalties of their pairs,
        float32 [m], whether these may be joined: bool [m]. It is first asked with penalties of 0, and must
        refuse with any what it refuses then.
      together: int64 [n]; questions of equal numbers share a group from the start.
      apart: int64 [pairs, 2], rows that never share a group.
      shifts: float32 [n], taken off the cosines of each question, as `siamese.groups.local` has them: the
        mean over the pairs of two groups is their mean cosine less the mean shifts of both.

    Example:
      >>> vectors = np.array([[1, 0], [0.8, 0.6], [0.6, 0.8], [0, 1]], np.float32)
      >>> average_linkage(vectors, 0.75).tolist()  # 0 to 3 are chained by 0.8, 0.96, 0.8
      [0, 1, 1, 2]
    """
    groups = _Groups(vectors, together, apart, penalties, joins, shifts)
    random = np.random.default_rng(0)
    least = np.inf  # No pair with a higher cosine is missing.
    while least > threshold:
        # The best of too many pairs decide the joins down to the last of them; then
        # again, with the groups of that moment.
        i, j, cosines, least = strongest_pairs(
            groups.all_means(), threshold, groups.may_join, groups.all_mean_shifts()
        )
        groups.look_at(i, j)
        scores = cosines - groups.largest_penalties(i, j)
        is_above = (scores > least) & groups.may_join(i, j)
        i = i[is_above]
        j = j[is_above]
        scores = scores[is_above]
        while len(i):
            a, b = _each_others_best(i, j, scores, len(groups), random)
            group = groups.join(a, b)
            i, j, scores = groups.pairs_between(group, a, i, j, scores, least)
        groups.drop_empty()
    return groups.labels


class _Sums:
    """The sums of groups' vectors; only that of a group of several has memory of its own."""

    def __init__(self, vectors: np.ndarray, first: np.ndarray):
        self.vectors = vectors  # float32 [n, d], those of the questions
        self._first = first  # int64 [groups], a question of each
        # Where the sum of each group of several stands, int64 [groups]; -1 of others.
        self._places = np.full(len(first), -1)
        # For each at least two questions come together. What is not written to is not
        # in memory yet.
        self._sums = np.empty((len(vectors) // 2, vectors.shape[1]), np.float32)
        self._count = 0  # of the sums

    def __len__(self) -> int:
        return len(self._first)

    def of(self, groups: np.ndarray) -> np.ndarray:
        """The sums of some groups, float32 [m, d]."""
        places = self._places[groups]
        are_several = places >= 0
        sums = self.vectors[self._first[groups]]
        sums[are_several] = self._sums[places[are_several]]
        return sums

    @property
    def are_vectors(self) -> bool:
        """Whether they are the questions' vectors in their order."""
        return not self._count and np.array_equal(
            self._first, np.arange(len(self.vectors))
        )

    def add(self, groups: np.ndarray, rows: np.ndarray) -> None:
        """Adds the vectors of questions, each to a group of one or more."""
        several = np.unique(groups)
        self._places[several] = self._new_places(len(several))
        for part in _parts(several):
            some = several[part]
            self._sums[self._places[some]] = self.vectors[self._first[some]]
        for part in _parts(rows):
            places = self._places[groups[part]]
            np.add.at(self._sums, places, self.vectors[rows[part]])

    def join(self, a: np.ndarray, b: np.ndarray) -> None:
        """Adds the sums of groups `b` to those of groups `a`, each group standing there once."""
        places = np.where(self._places[a] >= 0, self._places[a], self._places[b])
        has_none = places < 0
        places[has_none] = self._new_places(int(has_none.sum()))
        for part in _parts(a):
            self._sums[places[part]] = self.of(a[part]) + self.of(b[part])
        self._places[a] = places

    def _new_places(self, count: int) -> np.ndarray:
        places = np.arange(self._count, self._count + count)
        self._count += count
        return places

    def keep(self, groups: np.ndarray) -> None:
        """Keeps those of some groups, bool [groups], which are numbered from 0."""
        self._first = self._first[groups]
        self._places = self._places[groups]


def _parts(rows: np.ndarray) -> Iterator[slice]:
    """Parts of many rows, so that a few of their vectors are copied at a time."""
    return (slice(start, start + PAIRS) for start in range(0, len(rows), PAIRS))


class _Groups:
    """The groups of `average_linkage`, which has the arguments: the sum and the size of each."""

    def __init__(
        self,
        vectors: np.ndarray,
        together: np.ndarray | None,
        apart: np.ndarray | None,
        penalties: Callable | None,
        joins: Callable | None,
        shifts: np.ndarray | None,
    ):
        together = np.arange(len(vectors)) if together is None else together
        _, first, labels = np.unique(together, return_index=True, return_inverse=True)
        self.labels = labels  # int64 [n], the group of each question
        self.sizes = np.bincount(labels)  # [groups]; 0 after a group joined another
        self.sums = _Sums(vectors, first)
        others = np.delete(np.arange(len(labels)), first)
        self.sums.add(labels[others], others)
        self.shift_sums = None  # [groups]
        if shifts is not None:
            self.shift_sums = np.bincount(labels, shifts).astype(np.float32)
        self.apart = np.zeros((0, 2), np.int64) if apart is None else apart
        self.joins = joins
        self.penalties = penalties
        # The pairs of groups that have a penalty, by `key`, rising, and the largest of
        # each.
        self.keys = np.zeros(0, np.int64)
        self.largest = np.zeros(0, np.float32)

    def __len__(self) -> int:
        return len(self.sizes)

    def means(self, rows: np.ndarray) -> np.ndarray:
        """The mean vectors of some groups, float32 [m, d]."""
        means = self.sums.of(rows)
        means /= self.sizes[rows, None].astype(np.float32)
        return means

    def all_means(self) -> np.ndarray:
        """The mean vectors of all groups; without a copy where each is one question."""
        if self.sums.are_vectors:
            return self.sums.vectors
        means = np.empty((len(self), self.sums.vectors.shape[1]), np.float32)
        rows = np.arange(len(self))
        for part in _parts(rows):
            means[part] = self.means(rows[part])
        return means

    def mean_shifts(self, rows: np.ndarray) -> np.ndarray:
        assert self.shift_sums is not None  # It is asked for where there are shifts.
        return self.shift_sums[rows] / self.sizes[rows].astype(np.float32)

    def all_mean_shifts(self) -> np.ndarray | None:
        if self.shift_sums is None:
            return None
        return self.mean_shifts(np.arange(len(self)))

    def mean_cosines(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """The mean cosines of pairs of groups, less their mean shifts, float32 [m]."""
        sizes = self.sizes[i] * self.sizes[j]
        cosines = np.vecdot(self.sums.of(i), self.sums.of(j)) / sizes
        if self.shift_sums is None:
            return cosines
        return cosines - self.mean_shifts(i) - self.mean_shifts(j)

    def key(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """One number for each pair of groups, in either order."""
        return np.minimum(i, j) * len(self) + np.maximum(i, j)

    def may_join(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Whether groups may be joined, bool [m]: by the answers, their means, and the penalties so far."""
        never = self.key(*self.labels[self.apart].T)
        may = ~np.isin(self.key(i, j), never)
        joins = self.joins
        if joins is not None:

            def by_means(a: np.ndarray, b: np.ndarray) -> np.ndarray:
                return joins(self.means(a), self.means(b), self.largest_penalties(a, b))

            may[may] = in_blocks(by_means, i[may], j[may])
        return may

    def look_at(self, i: np.ndarray, j: np.ndarray) -> None:
        """Takes the penalties of all pairs of questions between pairs of groups."""
        if self.penalties is None or not len(i):
            return
        # The questions of each group, one after the other.
        order = np.argsort(self.labels, kind="stable")
        sizes = np.bincount(self.labels, minlength=len(self))
        starts = np.cumsum(sizes) - sizes
        keys = [self.keys]
        penalties = [self.largest]
        for part in runs(sizes[i] * sizes[j], TEXT_PAIRS):
            a = i[part]
            b = j[part]
            count = sizes[a] * sizes[b]
            pair = np.repeat(np.arange(len(a)), count)
            number = np.arange(len(pair)) - np.repeat(np.cumsum(count) - count, count)
            one, two = np.divmod(number, sizes[b][pair])
            one = order[starts[a][pair] + one]
            two = order[starts[b][pair] + two]
            values = in_blocks(self.penalties, one, two, TEXT_PAIRS)
            has_one = values != 0
            keys.append(self.key(a, b)[pair[has_one]])
            penalties.append(values[has_one])
        self._keep(np.concatenate(keys), np.concatenate(penalties))

    def _keep(self, keys: np.ndarray, penalties: np.ndarray) -> None:
        """Keeps the largest penalty of each pair of groups."""
        self.keys, place = np.unique(keys, return_inverse=True)
        self.largest = np.full(len(self.keys), -np.inf, np.float32)
        np.maximum.at(self.largest, place, penalties)

    def largest_penalties(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """The largest penalty of each pair of groups, float32 [m]; 0 where there is none."""
        if not len(self.keys):
            return np.zeros(len(i), np.float32)
        keys = self.key(i, j)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        is_known = self.keys[place] == keys
        return np.where(is_known, self.largest[place], np.float32(0))

    def join(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Joins groups `b` to groups `a`, and returns to which group each has come, int64 [groups]."""
        self.sums.join(a, b)
        self.sizes[a] += self.sizes[b]
        self.sizes[b] = 0
        if self.shift_sums is not None:
            self.shift_sums[a] += self.shift_sums[b]
        group = np.arange(len(self))
        group[b] = a
        self.labels = group[self.labels]
        self._renumber_penalties(group, len(self))
        return group

    def _renumber_penalties(self, group: np.ndarray, count: int) -> None:
        """Gives penalties to the groups of so many that theirs have come to."""
        if not len(self.keys):
            return
        i, j = (group[side] for side in np.divmod(self.keys, len(group)))
        is_between = i != j
        keys = np.minimum(i, j) * count + np.maximum(i, j)
        self._keep(keys[is_between], self.largest[is_between])

    def pairs_between(
        self,
        group: np.ndarray,
        grown: np.ndarray,
        i: np.ndarray,
        j: np.ndarray,
        scores: np.ndarray,
        least: float,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pairs (i, j) of groups that have come to `group`, with their scores, those above `least`.

        A score is a mean cosine less the largest penalty. Only pairs with a `grown`
        group have another one than before.
        """
        i = group[i]
        j = group[j]
        has_grown = np.isin(np.arange(len(self)), grown)
        is_changed = has_grown[i] | has_grown[j]
        keys = np.unique(self.key(i, j)[is_changed & (i != j)])
        one, two = np.divmod(keys, len(self))
        may = self.may_join(one, two)
        one = one[may]
        two = two[may]
        new = in_blocks(self.mean_cosines, one, two)
        new = new - self.largest_penalties(one, two)
        is_above = new > least
        return (
            np.append(i[~is_changed], one[is_above]),
            np.append(j[~is_changed], two[is_above]),
            np.append(scores[~is_changed], new[is_above]),
        )

    def drop_empty(self) -> None:
        """Numbers the groups that are left from 0."""
        left = self.sizes > 0
        number = np.cumsum(left) - 1
        self._renumber_penalties(number, int(left.sum()))
        self.labels = number[self.labels]
        self.sums.keep(left)
        self.sizes = self.sizes[left]
        if self.shift_sums is not None:
            self.shift_sums = self.shift_sums[left]


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
