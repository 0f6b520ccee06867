"""Which pairs form which batch of an epoch: bucketed by length, shuffled, each pair once.

A pair's length is that of its longer question. An epoch visits the pairs in a random order, a
window at a time; each pair joins the queue of its length's bucket, and a bucket whose queue holds a
whole batch gives one. A window's batches are shuffled before they are given out. What remains in
the queues goes on to the next window; what remains after the last one is put together across
buckets, longest first. So padding is only the distance to the bucket's length, except in the few
batches of that remainder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from siamese.data.token_rows import whole_number
from siamese.errors import ArgumentError

# What a random stream is for: streams of one seed must not be the same numbers.
ORDER, WINDOW, EMISSION, SWAP, LABELLED = range(5)

# A remainder below this part of a batch joins the batch before it: a handful of pairs has few
# negatives, and one pair has none.
SMALL = 1 / 8


class PlannedBatch(NamedTuple):
    """The pairs of one batch and the bucket that gives its length."""

    pairs: np.ndarray  # integer [batch]
    bucket: int


@dataclass
class EpochPlan:
    """All that decides an epoch's batches, so that the same numbers give the same batches.

    Args:
      pairs: how many pairs there are.
      batch_size: pairs in a batch.
      lengths: int64 [buckets], rising; the lengths of batches.
      pair_lengths: gives the lengths of the pairs named, each at most ``lengths[-1]``.
      window: pairs brought together at a time.
      block: pairs that lie side by side and are visited together; 1 for a full shuffle.
      last: what becomes of the remainder that fills no batch: 'short', 'drop' or 'wrap'.
      shuffle: False visits the pairs in their own order.
      pair_clusters: gives the two cluster ids of each pair named, negative for none; where set,
        no batch holds two pairs that share a cluster.
    """

    pairs: int
    batch_size: int
    lengths: np.ndarray
    pair_lengths: Callable[[np.ndarray], np.ndarray]
    window: int
    block: int = 1
    last: str = "short"
    shuffle: bool = True
    pair_clusters: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]] | None = None
    left_out: int = field(default=0, init=False)  # pairs the epoch planned last gave to no batch
    repeated: int = field(default=0, init=False)  # pairs it gave a second time ('wrap')

    def __post_init__(self):
        self._bucket_of = np.searchsorted(self.lengths, np.arange(self.lengths[-1] + 1)).astype(
            np.uint16
        )  # [longest + 1]: the bucket of each length

    def batches_per_epoch(self) -> int:
        """How many batches an epoch has, where clusters do not decide it."""
        full, rest = divmod(self.pairs, self.batch_size)
        if not rest or self.last == "drop" or (self.last == "short" and full and self._small(rest)):
            return full
        return full + 1

    def epoch(self, seed: int, epoch: int) -> Iterator[list[PlannedBatch]]:
        """The epoch's batches, window by window, then those of what remained in the queues."""
        self.left_out = self.repeated = 0
        queues = [np.zeros(0, dtype=np.int64) for _ in self.lengths]
        first = None  # the first window, from which 'wrap' fills up
        crowded = np.zeros(0, dtype=np.int64)  # pairs kept out by others of their cluster
        held: list[PlannedBatch] = []  # the newest batches: one may have to take a small remainder
        for number, pairs in enumerate(self._windows(seed, epoch)):
            first = pairs if first is None else first
            buckets = self._buckets(pairs)
            by_bucket = np.argsort(buckets, kind="stable")
            ends = np.searchsorted(buckets[by_bucket], np.arange(len(queues) + 1))
            batches = []
            for bucket in range(len(queues)):
                arrived = pairs[by_bucket[ends[bucket] : ends[bucket + 1]]]
                if not len(arrived):
                    continue
                queue = np.concatenate([queues[bucket], arrived])
                if self.pair_clusters is None:
                    full, queues[bucket] = self._full_batches(queue)
                else:
                    # A crowded pair may go into a longer batch, where its cluster is rarer.
                    fits = self._buckets(crowded) <= bucket
                    full, away, queues[bucket] = self._full_batches_apart(crowded[fits], queue)
                    crowded = np.concatenate([crowded[~fits], away])
                batches += [PlannedBatch(pairs_, bucket) for pairs_ in full]
            if batches:
                if held:
                    yield held
                held = self._shuffled(batches, [seed, epoch, EMISSION, number])
        waiting = np.concatenate([crowded, *queues[::-1]])  # the longest pairs first
        if held and self._joins(len(waiting)):
            longest = max(range(len(held)), key=lambda i: held[i].bucket)
            waiting = np.concatenate([waiting, held.pop(longest).pairs])
        if held:
            yield held
        batches = [
            PlannedBatch(pairs, int(self._buckets(pairs).max()))
            for pairs in self._remainder(waiting, first)
        ]
        if batches:
            yield self._shuffled(batches, [seed, epoch, EMISSION, number + 1])

    def _windows(self, seed: int, epoch: int) -> Iterator[np.ndarray]:
        """The pairs in the epoch's order, a window at a time, int64 [<= window]."""
        blocks = -(-self.pairs // self.block)
        order = np.arange(blocks, dtype=np.uint32 if blocks < 2**32 else np.uint64)
        if self.shuffle:  # the one thing that grows with the number of pairs: 4 bytes a block
            np.random.default_rng([seed, epoch, ORDER]).shuffle(order)
        per_window = max(1, self.window // self.block)
        remaining = self.pairs
        if self.last == "drop" and self.pair_clusters is None:
            # The last in the epoch's order, before lengths come in: so no length is always missing.
            self.left_out = self.pairs % self.batch_size
            remaining -= self.left_out
        for number, start in enumerate(range(0, blocks, per_window)):
            starts = order[start : start + per_window].astype(np.int64) * self.block
            pairs = (starts[:, None] + np.arange(self.block)).ravel()
            pairs = pairs[pairs < self.pairs]  # the last block may be a short one
            if self.shuffle and self.block > 1:
                np.random.default_rng([seed, epoch, WINDOW, number]).shuffle(pairs)
            pairs = pairs[:remaining]
            remaining -= len(pairs)
            yield pairs

    def _buckets(self, pairs: np.ndarray) -> np.ndarray:
        # Small integers are sorted by radix, several times faster.
        return self._bucket_of[self.pair_lengths(pairs)]

    def _full_batches(self, queue: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """Whole batches from the front of a queue, and what stays in it."""
        whole = len(queue) - len(queue) % self.batch_size
        return list(queue[:whole].reshape(-1, self.batch_size)), queue[whole:]

    def _full_batches_apart(
        self, crowded: np.ndarray, queue: np.ndarray
    ) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
        """The same with clusters apart: batches, pairs turned away for their cluster, the rest."""
        batches = []
        turned_away = len(crowded)
        queue = np.concatenate([crowded, queue])
        while len(queue) >= self.batch_size:
            chosen = self._apart(queue)
            if len(chosen) < self.batch_size:
                break
            batches.append(queue[chosen])
            queue = np.delete(queue, chosen)
            # Whatever stays in front of the last one chosen was passed over.
            from_crowded = int(np.searchsorted(chosen, turned_away))
            turned_away = max(turned_away - from_crowded, chosen[-1] + 1 - len(chosen))
        return batches, queue[:turned_away], queue[turned_away:]

    def _apart(self, queue: np.ndarray) -> list[int]:
        """Places in a queue of the first pairs, at most a batch, that share no cluster."""
        clusters1, clusters2 = self.pair_clusters(queue)
        taken: set[int] = set()
        chosen: list[int] = []
        for place, (one, two) in enumerate(zip(clusters1.tolist(), clusters2.tolist())):
            if one not in taken and two not in taken:
                taken.update(cluster for cluster in (one, two) if cluster >= 0)
                chosen.append(place)
                if len(chosen) == self.batch_size:
                    break
        return chosen

    def _small(self, pairs: int) -> bool:
        return pairs < max(2, self.batch_size * SMALL)

    def _joins(self, waiting: int) -> bool:
        """Whether the pairs left over are too few for a batch and go into one already formed."""
        together = self.last == "short" and self.pair_clusters is None
        return together and 0 < waiting < self.batch_size and self._small(waiting)

    def _remainder(self, waiting: np.ndarray, first: np.ndarray) -> list[np.ndarray]:
        """Batches of what no bucket could fill alone, by `last`; at most one is not full."""
        if self.pair_clusters is not None:
            return self._remainder_apart(waiting)
        rest = len(waiting) % self.batch_size
        if rest and self.last == "short" and len(waiting) > rest and self._small(rest):
            rest += self.batch_size
        # The odd one is the longest: fewer pairs are padded to the greatest length.
        odd, others = waiting[:rest], waiting[rest:].reshape(-1, self.batch_size)
        if rest and self.last == "wrap":
            again = first[~np.isin(first, odd)][: self.batch_size - rest]
            self.repeated = len(again)
            odd = np.concatenate([odd, again])
        return [*([odd] if rest else []), *others]

    def _remainder_apart(self, waiting: np.ndarray) -> list[np.ndarray]:
        """The same where clusters must be apart; what cannot be placed is left out, and counted.

        The shortest go first: a pair turned away then waits for a longer batch, which it fits, and
        does not make the next shorter one longer.
        """
        waiting = waiting[np.argsort(self._buckets(waiting), kind="stable")]
        batches, crowded, waiting = self._full_batches_apart(waiting[:0], waiting)
        waiting = np.concatenate([crowded, waiting])
        chosen = self._apart(waiting)
        whole_epoch = not batches and len(waiting) == self.pairs  # fewer pairs than one batch
        if self.last == "short" and chosen and (whole_epoch or not self._small(len(chosen))):
            batches.append(waiting[chosen])
            waiting = np.delete(waiting, chosen)
        self.left_out = len(waiting)
        return batches

    def _shuffled(self, batches: list[PlannedBatch], seed: list[int]) -> list[PlannedBatch]:
        if not self.shuffle:
            return batches
        return [batches[i] for i in np.random.default_rng(seed).permutation(len(batches))]


def choose_lengths(histogram: np.ndarray, count: int) -> np.ndarray:
    """The `count` batch lengths that pad a set of pairs least.

    Every pair is padded to the first length at or above its own; with ``h[n]`` pairs of length n,
    the cells in use are the sum over pairs of that length. Solved exactly by dynamic programming
    over the lengths that occur.

    Args:
      histogram: integers [longest + 1]; how many pairs have each length.
      count: how many lengths at most, so how many shapes XLA compiles.

    Returns:
      int64 [<= count], rising; the last is the longest length that occurs.

    Example:
      >>> choose_lengths(np.bincount([3, 3, 3, 4, 9, 9]), count=2).tolist()
      [4, 9]
    """
    occurring = np.flatnonzero(histogram)
    pairs_up_to = np.concatenate([[0], np.cumsum(histogram[occurring])])
    size = len(occurring)
    # cells[k][i]: least cells for the i shortest lengths with k + 1 batch lengths, and the choice.
    cells = occurring * pairs_up_to[1:].astype(np.float64)
    choices = []
    for _ in range(min(count, size) - 1):
        new, choice = cells.copy(), np.full(size, -1)
        for i in range(1, size):
            # The last bucket takes the lengths after j up to i.
            options = cells[:i] + occurring[i] * (pairs_up_to[i + 1] - pairs_up_to[1 : i + 1])
            best = int(options.argmin())
            if options[best] < new[i]:
                new[i], choice[i] = options[best], best
        cells = new
        choices.append(choice)
    lengths, at = [], size - 1
    for choice in reversed(choices):
        if choice[at] >= 0:
            lengths.append(occurring[at])
            at = choice[at]
    lengths.append(occurring[at])
    return np.array(lengths[::-1], dtype=np.int64)


def batch_lengths(
    lengths: int | Sequence[int], histogram: np.ndarray, at_least: int = 0
) -> np.ndarray:
    """The lengths of batches: given, or so many chosen for the pairs.

    Args:
      lengths: the lengths themselves, or how many.
      histogram: integers [longest + 1]; how many pairs have each length.
      at_least: the last length is no shorter than this.

    Returns:
      int64, rising; the last holds every pair.

    Raises:
      ArgumentError: where a pair is longer than the longest length given.
    """
    longest = max(len(histogram) - 1, at_least)
    if np.ndim(lengths) == 0:
        chosen = choose_lengths(histogram, whole_number(lengths, "lengths", 1))
        return chosen if longest <= chosen[-1] else np.append(chosen, longest)
    chosen = np.unique([whole_number(length, "lengths", 1) for length in lengths])
    if not len(chosen) or chosen[-1] < longest:
        raise ArgumentError(
            f"The longest question has {longest} tokens, more than any of lengths {list(lengths)}: "
            "add a longer one, or cut with max_length."
        )
    return chosen.astype(np.int64)
