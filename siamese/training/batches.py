"""PairBatches: batches of duplicates with little padding, and the plan of an epoch.

A pair's length is that of its longer question. An epoch visits the pairs in a random
order, a window at a time. Each pair joins the pending pairs of its length's bucket; a
bucket with a whole batch of them gives one. The batches of a window are shuffled. The
pairs that are pending after the last window form batches across buckets, longest pairs
first; only these few batches are padded by more than the distance to a bucket's length.
Pairs that do not fill a batch are left out, other ones each epoch.
"""

from __future__ import annotations

import functools
from collections import Counter, namedtuple
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from siamese.errors import ArgumentError, DataError
from siamese.nn.ragged import Ragged, TokenRows, check_pairs, token_rows
from siamese.system.arguments import check_labels, counted, whole_number

WINDOW = 128  # batches whose pairs are bucketed together
# What a random stream is for: streams of one seed must not be the same numbers.
ORDER = 0
EMISSION = 2
SWAP = 3
LABELLED = 4

NO_PAIRS = np.zeros(0, dtype=np.int64)


class PairBatches(Iterator):
    """Endless batches of duplicate pairs, each epoch in a new order, every pair at most once an epoch.

    Pairs are bucketed by the length of their longer question, so a batch holds few
    padding tokens, and padded to a few lengths chosen from the data, so few shapes are
    compiled: a length for eight batches of an epoch, at least 2 and at most 14.
    Questions of like length are duplicates of each other more often than questions at
    random: give `clusters`, so that none is taken for a negative.

    Args:
      q1: the first questions' token ids: Ragged, or lists of integers.
      q2: the second questions; ``q2[i]`` is paired with ``q1[i]``.
      batch_size: pairs in a batch; the pairs that do not fill one are left out, other ones each epoch.
      seed: decides all that is random; nothing is drawn from global generators.
      swap: whether the two sides of each pair change places at random.
      clusters: the cluster id of each question, integers [2, pairs]; questions of one cluster are
        duplicates of each other, negative ids are of no cluster. Each batch then has a
        `false_negative_mask`, for the loss.
      labelled: (q1, q2, is_duplicate): duplicates and others for an auxiliary pairwise loss;
        `pair_batch_size` of them, of like length, are added to each batch.
      pair_batch_size: how many.

    Yields:
      A named tuple: q1 and q2, int32 [batch, length], padded with 1; then false_negative_mask, bool
      [batch, batch], True where q1[i] and q2[j], i != j, are of one cluster; then labelled_q1,
      labelled_q2, int32 [pair_batch_size, length], and is_duplicate, int32 [pair_batch_size].

    Raises:
      DataError: for pairs, clusters or labels that do not go together, or empty questions.
      ArgumentError: for an argument outside what is named above, or fewer pairs than one batch.

    Example:
      >>> batches = PairBatches([[5, 6], [7]], [[5], [8, 9]], batch_size=2, seed=1)
      >>> next(batches).q1.shape, batches.state()
      ((2, 2), {'seed': 1, 'epoch': 1, 'batch': 0})
    """

    def __init__(
        self,
        q1: TokenRows,
        q2: TokenRows,
        batch_size: int = 256,
        *,
        seed: int = 0,
        swap: bool = False,
        clusters: ArrayLike | None = None,
        labelled: tuple[TokenRows, TokenRows, ArrayLike] | None = None,
        pair_batch_size: int = 96,
    ):
        self.batch_size = whole_number(batch_size, "batch_size", 1)
        self._seed = whole_number(seed, "seed", 0)
        self._swap = bool(swap)

        self._pairs = Pairs(q1, q2)
        self.pairs = len(self._pairs)
        if self.pairs < self.batch_size:
            raise ArgumentError(
                f"{counted(self.pairs, 'duplicate')}, too few for a batch of {self.batch_size}: take a "
                "smaller batch_size, or give more.",
                arguments=("batch_size",),
            )
        self.lengths = self._chosen_lengths()

        self._clusters = self._checked_clusters(clusters)
        self._labelled = None
        if labelled is not None:
            one, two, labels = labelled
            self._labelled = LabelledPairs(
                one, two, labels, pair_batch_size, self.lengths
            )
            self.lengths = self._labelled.batch_lengths
        self._type: Any = namedtuple("PairBatch", self._fields())  # type: ignore[misc]

        # The position of the next batch, and the batches of its epoch.
        self._epoch = 0
        self._batch = 0
        self._planned: list[PlannedBatch] | None = None

    def _chosen_lengths(self) -> np.ndarray:
        number = min(max(self.pairs // self.batch_size // 8, 2), 14)
        return choose_lengths(np.bincount(self._pairs.lengths), number)

    def _checked_clusters(self, clusters: ArrayLike | None) -> np.ndarray | None:
        if clusters is None:
            return None
        array = np.asarray(clusters)
        if array.shape != (2, self.pairs) or array.dtype.kind not in "iu":
            raise DataError(
                f"clusters must be integers, [2, {self.pairs}], one of each question."
            )
        return array

    def _fields(self) -> list[str]:
        fields = ["q1", "q2"]
        if self._clusters is not None:
            fields.append("false_negative_mask")
        if self._labelled is not None:
            fields += ["labelled_q1", "labelled_q2", "is_duplicate"]
        return fields

    def __next__(self) -> tuple[np.ndarray, ...]:
        if self._planned is None:
            self._planned = self._plan()
            done = self._planned[: self._batch]
            # of each length so far
            self._turns = Counter(batch.bucket for batch in done)
        batch = self._planned[self._batch]
        arrays = list(self._pairs.padded(batch, self.lengths))
        if self._clusters is not None:
            one, two = sides(self._clusters, batch)
            # No cluster on one side equals none on the other.
            mask = (one[:, None] == two) & (two >= 0)  # [batch, batch]
            np.fill_diagonal(mask, False)
            arrays.append(mask)
        if self._labelled is not None:
            turn = self._turns[batch.bucket]
            arrays += self._labelled.draw(self._seed, self._epoch, batch.bucket, turn)
        self._turns[batch.bucket] += 1
        self._batch += 1
        if self._batch >= len(self._planned):
            self._epoch += 1
            self._batch = 0
            self._planned = None
        return self._type._make(arrays)

    def _plan(self) -> list[PlannedBatch]:
        return plan_epoch(
            self._pairs.lengths,
            self.lengths,
            self.batch_size,
            seed=self._seed,
            epoch=self._epoch,
            window=WINDOW * self.batch_size,
            swap=self._swap,
        )

    def state(self) -> dict[str, int]:
        """The position after the batches given out so far, for `restore`."""
        return {"seed": self._seed, "epoch": self._epoch, "batch": self._batch}

    def restore(self, state: dict[str, int]) -> None:
        """Goes to the position of `state`, with its seed; the pairs and arguments must be the same."""
        self._seed = state["seed"]
        self._epoch = state["epoch"]
        self._batch = state["batch"]
        self._planned = None


class Pairs:
    """Pairs of questions as rows of one table."""

    def __init__(self, q1: TokenRows, q2: TokenRows, name: str = ""):
        name1 = f"{name}q1"
        name2 = f"{name}q2"
        one = token_rows(q1, name1)
        two = token_rows(q2, name2)
        check_pairs(one, two, name1, name2)
        # The first questions, then the second ones.
        values = np.concatenate([one.values, two.values])
        offsets = np.append(one.offsets, two.offsets[1:] + len(one.values))
        self.table = Ragged(values, offsets)
        self.rows = np.arange(2 * len(one)).reshape(2, -1)  # each pair's two questions
        # of the longer question
        self.lengths = self.table.lengths[self.rows].max(axis=0)

    def __len__(self) -> int:
        return len(self.lengths)

    def padded(self, batch: PlannedBatch, lengths: np.ndarray) -> np.ndarray:
        """Both sides of a batch's pairs, int32 [2, batch, length], padded behind each question's end."""
        length = int(lengths[batch.bucket])
        return self.table.padded(sides(self.rows, batch).ravel(), length).reshape(
            2, -1, length
        )


class LabelledPairs(Pairs):
    """Labelled pairs, drawn by length to go with the batches of each length.

    Every epoch draws each length's pairs in a new random order, again and again as
    needed. A length with fewer pairs than are drawn at a time also takes those of the
    shorter lengths, and of the longer where even these are too few. `size` pairs are
    drawn with each batch, whose length is one of `lengths`, int64 [buckets], or that of
    the longest labelled pair.
    """

    def __init__(
        self,
        q1: TokenRows,
        q2: TokenRows,
        is_duplicate: ArrayLike,
        size: int,
        lengths: np.ndarray,
    ):
        self.size = whole_number(size, "pair_batch_size", 1)
        super().__init__(q1, q2, name="labelled ")
        labels = check_labels(is_duplicate, "labelled is_duplicate")
        if len(labels) != len(self):
            raise DataError(
                f"There are {len(self)} labelled pairs, and {len(labels)} labels."
            )
        self.labels = labels.astype(np.int32)
        longest = self.lengths.max()
        if longest > lengths[-1]:
            lengths = np.append(lengths, longest)
        self.batch_lengths = lengths
        buckets = np.searchsorted(lengths, self.lengths)
        # For each bucket the pairs to draw from, and the bucket of the longest of them.
        self._pools = [
            _pool(buckets, bucket, min(self.size, len(self)))
            for bucket in range(len(lengths))
        ]
        self._order = functools.lru_cache(maxsize=len(lengths))(self._new_order)

    def _new_order(self, seed: int, epoch: int, bucket: int, number: int) -> np.ndarray:
        draw = np.random.default_rng([seed, epoch, LABELLED, bucket, number])
        return draw.permutation(self._pools[bucket][0])

    def draw(
        self, seed: int, epoch: int, bucket: int, turn: int
    ) -> tuple[np.ndarray, ...]:
        """Those of batch number `turn` of a bucket: q1, q2, int32 [size, length], is_duplicate [size]."""
        pool, longest = self._pools[bucket]
        start = turn * self.size
        end = start + self.size
        # The pool is gone through in one order after another.
        first = start // len(pool)
        last = (end - 1) // len(pool)
        orders = [
            self._order(seed, epoch, bucket, number)
            for number in range(first, last + 1)
        ]
        pairs = np.concatenate(orders)[start - first * len(pool) :][: self.size]
        q1, q2 = self.padded(PlannedBatch(pairs, longest), self.batch_lengths)
        return q1, q2, self.labels[pairs]


def _pool(buckets: np.ndarray, bucket: int, least: int) -> tuple[np.ndarray, int]:
    """At least `least` pairs of a bucket or the next ones; the highest bucket of these.

    `buckets`, int64 [pairs], are those of all pairs. Shorter pairs come first.
    """
    low = bucket
    high = bucket
    pool = np.flatnonzero(buckets == bucket)
    while len(pool) < least:
        if low > 0:
            low -= 1
        else:
            high += 1
        pool = np.flatnonzero((buckets >= low) & (buckets <= high))
    return pool, high


def sides(columns: np.ndarray, batch: PlannedBatch) -> np.ndarray:
    """The batch's part of ``columns`` [2, pairs], the sides of its swapped pairs exchanged."""
    chosen = columns.take(batch.pairs, axis=1)
    return (
        chosen
        if batch.swapped is None
        else np.where(batch.swapped, chosen[::-1], chosen)
    )


# ---- The plan of an epoch ----


class PlannedBatch(NamedTuple):
    """The pairs of one batch, its length, and which pairs change sides."""

    pairs: np.ndarray  # int64 [batch]
    bucket: int  # the batch's length is lengths[bucket]
    swapped: np.ndarray | None = None  # bool [batch]


def plan_epoch(
    pair_lengths: np.ndarray,  # integers [pairs]: tokens of the longer question, at most lengths[-1]
    lengths: np.ndarray,  # int64 [buckets], rising: the lengths of batches
    batch_size: int,  # pairs in a batch
    *,
    seed: int,  # decides, with the epoch's number, all that is random
    epoch: int,
    window: int,  # pairs brought together at a time
    swap: bool = False,  # whether each pair's sides are exchanged with probability 1/2
) -> list[PlannedBatch]:
    """The batches of an epoch, in order; the same arguments give the same batches."""
    # A small integer type is sorted by radix, several times faster.
    buckets = np.searchsorted(lengths, np.arange(lengths[-1] + 1)).astype(np.uint16)[
        pair_lengths
    ]
    # The last pairs of the epoch's order are left out before lengths matter: no length
    # is always missing.
    order = np.arange(len(pair_lengths))
    np.random.default_rng([seed, epoch, ORDER]).shuffle(order)
    order = order[: len(order) // batch_size * batch_size]
    windows = np.split(order, range(window, len(order), window))
    groups = []
    for number, batches in enumerate(
        _bucketed(windows, buckets, len(lengths), batch_size)
    ):
        draw = np.random.default_rng([seed, epoch, EMISSION, number])
        if batches:
            groups.append([batches[place] for place in draw.permutation(len(batches))])
    if swap:
        return _swapped(groups, seed, epoch)
    return [batch for group in groups for batch in group]


def _bucketed(
    windows: Iterable[np.ndarray], buckets: np.ndarray, count: int, batch_size: int
) -> Iterator[list[PlannedBatch]]:
    """The batches of each window's pairs, by bucket; last those of the pairs left over.

    `buckets`, uint16 [pairs], are those of all pairs, `count` is how many buckets there
    are.
    """
    pending = [NO_PAIRS] * count  # pairs of each bucket that wait for a whole batch
    for pairs in windows:
        pairs = pairs[np.argsort(buckets[pairs], kind="stable")]
        arrived = np.split(pairs, np.searchsorted(buckets[pairs], np.arange(1, count)))
        batches = []
        for bucket, new in enumerate(arrived):
            queue = np.concatenate([pending[bucket], new])
            whole = len(queue) // batch_size * batch_size
            for part in queue[:whole].reshape(-1, batch_size):
                batches.append(PlannedBatch(part, bucket))
            pending[bucket] = queue[whole:]
        yield batches
    # The longest pairs first.
    rest = np.concatenate(pending[::-1]).reshape(-1, batch_size)
    yield [PlannedBatch(part, int(buckets[part].max())) for part in rest]


def _swapped(
    groups: list[list[PlannedBatch]], seed: int, epoch: int
) -> list[PlannedBatch]:
    """The groups' batches, one after the other, with the pairs that change sides, drawn by group."""
    batches: list[PlannedBatch] = []
    for group in groups:
        ends = np.cumsum([len(batch.pairs) for batch in group])
        draw = np.random.default_rng([seed, epoch, SWAP, len(batches)])
        swapped = np.split(draw.random(ends[-1]) < 0.5, ends[:-1])
        batches += [batch._replace(swapped=part) for batch, part in zip(group, swapped)]
    return batches


def choose_lengths(histogram: np.ndarray, count: int) -> np.ndarray:
    """The batch lengths that pad a set of pairs least, by dynamic programming over the lengths that occur.

    Every pair is padded to the first length at or above its own. The histogram,
    integers [longest + 1], says how many pairs have each length. The result is int64
    [<= count], rising, up to the longest length that occurs; XLA compiles so many
    shapes.

    Example:
      >>> choose_lengths(np.bincount([3, 3, 3, 4, 9, 9]), count=2).tolist()
      [4, 9]
    """
    occurring = np.flatnonzero(histogram)
    up_to = np.cumsum(histogram[occurring])
    size = len(occurring)
    # bucket[j, i]: the cells of a bucket of the lengths after number j up to number i.
    bucket = occurring * np.subtract(up_to, up_to[:, None], dtype=np.float64)
    bucket[np.tril_indices(size)] = np.inf
    # of all lengths up to number i, in one bucket
    cells = occurring * up_to.astype(np.float64)
    choices = []  # for each further bucket: the number before its first length
    for _ in range(min(count, size) - 1):
        options = cells[:, None] + bucket
        choices.append(options.argmin(axis=0))
        cells = options.min(axis=0)
    chosen = [size - 1]
    for choice in reversed(choices):
        chosen.append(choice[chosen[-1]])
    return occurring[chosen[::-1]]
