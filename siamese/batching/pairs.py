"""What batches are made from: pairs of questions, their clusters, and labelled pairs beside them."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from siamese.batching.plan import LABELLED, PlannedBatch
from siamese.data.arguments import check_pairs, token_rows
from siamese.errors import ArgumentError, DataError
from siamese.nn.ragged import Ragged


class Pairs:
    """Pairs of questions as rows of one table; for the arguments see `PairBatches`.

    Attributes:
      table: Ragged; the questions of both sides.
      rows: int64 [2, pairs]; each pair's two questions in it.
      lengths: int64 [pairs]; tokens of the longer question.
      tokens: int64 [pairs]; tokens of both.

    Raises:
      DataError: for no pairs, sides of unequal length, rows outside the tables, empty questions.
    """

    def __init__(self, q1: Any, q2: Any, rows=None, name: str = ""):
        table1 = token_rows(q1, f"{name}q1")
        table2 = table1 if q2 is q1 else token_rows(q2, f"{name}q2")
        if rows is None:
            check_pairs(table1, table2, f"{name}q1", f"{name}q2")
            rows = [np.arange(len(table1))] * 2
        rows = [integer_column(side, f"{name}rows[{i}]") for i, side in enumerate(rows)]
        check_pairs(*rows, f"{name}rows[0]", f"{name}rows[1]")
        for side, table in enumerate((table1, table2)):
            outside = (rows[side] < 0) | (rows[side] >= len(table))
            if outside.any():
                at = outside.argmax()
                raise DataError(
                    f"{name}rows[{side}][{at}] is {rows[side][at]}, but q{side + 1} has "
                    f"{len(table)} questions."
                )
        self.table, self.rows = table1, np.stack(rows).astype(np.int64)
        if table2 is not table1:
            self.table = Ragged(
                np.concatenate([table1.values, table2.values]),
                np.concatenate([table1.offsets, table2.offsets[1:] + table1.offsets[-1]]),
            )
            self.rows[1] += len(table1)
        lengths = self.table.lengths[self.rows]  # [2, pairs]
        if (lengths == 0).any():
            side, place = np.argwhere(lengths == 0)[0]
            raise DataError(f"{name}rows[{side}][{place}] is an empty question: it has no token.")
        self.lengths, self.tokens = lengths.max(axis=0), lengths.sum(axis=0)

    def __len__(self) -> int:
        return len(self.lengths)

    def padded(self, batch: PlannedBatch, lengths: np.ndarray) -> np.ndarray:
        """Both sides of a batch's pairs, int32 [2, batch, length], padded behind each question's end."""
        length = int(lengths[batch.bucket])
        return self.table.padded(sides(self.rows, batch).ravel(), length).reshape(2, -1, length)


class LabelledPairs(Pairs):
    """Labelled pairs, drawn by length to go with the batches of each length.

    Every epoch draws each length's pairs in a new random order, again and again as needed. A length
    with fewer pairs than are drawn at a time also takes those of the shorter lengths, and of the
    longer where even these are too few.

    `labelled` is (q1, q2, is_duplicate) or (q1, q2, is_duplicate, rows), `size` the pairs drawn with each
    batch. Raises ArgumentError and DataError where they do not go together.
    """

    def __init__(self, labelled: tuple, size: int):
        if not isinstance(labelled, tuple) or len(labelled) not in (3, 4):
            raise ArgumentError("labelled must be (q1, q2, is_duplicate) or (..., rows).")
        super().__init__(labelled[0], labelled[1], *labelled[3:], name="labelled ")
        labels = np.asarray(labelled[2])
        if labels.shape != (len(self),) or not np.isin(labels, (0, 1)).all():
            raise DataError(
                f"labelled is_duplicate must be one 0 or 1 for each of the {len(self)} pairs."
            )
        self.labels, self.size = labels.astype(np.int32), size

    def choose_pools(self, lengths: np.ndarray) -> None:
        """Decides which pairs go with the batches of each length, int64 [buckets]."""
        self.batch_lengths = lengths
        buckets = np.searchsorted(lengths, self.lengths)
        enough = min(self.size, len(self))
        self._pools: list[tuple[np.ndarray, int]] = []  # for each bucket: pairs, their own bucket
        for bucket in range(len(lengths)):
            low = high = bucket
            while (pool := (buckets >= low) & (buckets <= high)).sum() < enough:
                low, high = (low - 1, high) if low else (0, high + 1)
            self._pools.append((np.flatnonzero(pool), high))
        self._order = functools.lru_cache(maxsize=len(lengths))(self._new_order)

    def _new_order(self, seed: int, epoch: int, bucket: int, number: int) -> np.ndarray:
        draw = np.random.default_rng([seed, epoch, LABELLED, bucket, number])
        return draw.permutation(self._pools[bucket][0])

    def draw(self, seed: int, epoch: int, bucket: int, turn: int) -> tuple[np.ndarray, ...]:
        """Those of batch number `turn` of a bucket: q1, q2, int32 [size, length], is_duplicate [size]."""
        pool, longest = self._pools[bucket]
        start, end = turn * self.size, (turn + 1) * self.size
        first, last = start // len(pool), (end - 1) // len(pool)
        orders = [self._order(seed, epoch, bucket, number) for number in range(first, last + 1)]
        pairs = np.concatenate(orders)[start - first * len(pool) :][: self.size]
        q1, q2 = self.padded(PlannedBatch(pairs, longest), self.batch_lengths)
        return q1, q2, self.labels[pairs]


def sides(columns: np.ndarray, batch: PlannedBatch) -> np.ndarray:
    """The batch's part of ``columns`` [2, pairs], the sides of its swapped pairs exchanged."""
    chosen = columns.take(batch.pairs, axis=1)
    return chosen if batch.swapped is None else np.where(batch.swapped, chosen[::-1], chosen)


def cluster_numbers(clusters: Any, pairs: int) -> np.ndarray:
    """The clusters as small integers [2, pairs]; -1 for those of one pair only, and for no cluster.

    They come as integers [pairs], or as a tuple of two such arrays; DataError where they do not.
    """
    both = clusters if isinstance(clusters, tuple) else (clusters, clusters)
    columns = [integer_column(side, f"clusters[{i}]") for i, side in enumerate(both)]
    if [len(column) for column in columns] != [pairs, pairs]:
        raise DataError(
            f"clusters must be {pairs} ids, one a pair, or a tuple of two such arrays; it holds "
            f"{' and '.join(str(len(column)) for column in columns)} ids."
        )
    ids = np.stack(columns)
    known, numbers = np.unique(ids, return_inverse=True)
    one, two = numbers = numbers.reshape(ids.shape)
    pairs_of = np.bincount(one, minlength=len(known))
    pairs_of += np.bincount(two[one != two], minlength=len(known))
    shared = (pairs_of > 1) & (known >= 0)
    # Small numbers compare several times faster.
    size = np.int16 if shared.sum() < 2**15 else np.int32
    return np.where(shared, np.cumsum(shared) - 1, -1).astype(size)[numbers]


def integer_column(values: Any, name: str) -> np.ndarray:
    """`values` as a one-dimensional integer array; DataError where it is not."""
    array = np.asarray(values)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and len(array)):
        raise DataError(
            f"{name} must be one integer per pair; it is {array.dtype} of shape {array.shape}."
        )
    return array
