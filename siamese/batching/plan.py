"""Which pairs form which batch of an epoch: bucketed by length, shuffled, each pair once.

A pair's length is that of its longer question. An epoch visits the pairs in a random order, a window
at a time. Each pair joins the pending pairs of its length's bucket; a bucket with a whole batch of them
gives one. The batches of a window are shuffled. What is pending after the last window is the remainder:
its batches are formed across buckets, longest pairs first. So only the few batches of the remainder are
padded by more than the distance to a bucket's length.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np

# What a random stream is for: streams of one seed must not be the same numbers.
ORDER, WINDOW, EMISSION, SWAP, LABELLED = range(5)

# A remainder below this part of a batch joins another batch: a handful of pairs has few negatives,
# and one pair has none.
SMALL = 1 / 8

NO_PAIRS = np.zeros(0, dtype=np.int64)


class PlannedBatch(NamedTuple):
    """The pairs of one batch, its length, and which pairs change sides."""

    pairs: np.ndarray  # int64 [batch]
    bucket: int  # the batch's length is lengths[bucket]
    swapped: np.ndarray | None = None  # bool [batch]


def plan_epoch(
    pair_lengths: np.ndarray,
    lengths: np.ndarray,
    batch_size: int,
    *,
    seed: int,
    epoch: int,
    window: int,
    block: int = 1,
    last: str = "short",
    swap: bool = False,
    clusters: np.ndarray | None = None,
) -> list[PlannedBatch]:
    """The batches of an epoch, in order; the same arguments give the same batches.

    Args:
      pair_lengths: integers [pairs]; tokens of each pair's longer question, at most ``lengths[-1]``.
      lengths: int64 [buckets], rising; the lengths of batches.
      batch_size: pairs in a batch.
      seed: decides, with `epoch`, all that is random.
      epoch: the epoch's number.
      window: pairs brought together at a time.
      block: neighbouring pairs that are visited together; 1 for a full shuffle.
      last: as in `PairBatches`.
      swap: whether each pair's sides are exchanged with probability 1/2.
      clusters: integers [2, pairs], the cluster of each question, negative for none; where given, no
        batch holds two pairs that share one, and pairs that fit in no batch are left out.

    Example:
      >>> plan = plan_epoch(
      ...     np.array([3, 9, 3, 9]), np.array([3, 9]), 2, seed=0, epoch=0, window=4
      ... )
      >>> sorted((sorted(batch.pairs.tolist()), batch.bucket) for batch in plan)
      [([0, 2], 0), ([1, 3], 1)]
    """
    # A small integer type is sorted by radix, several times faster.
    buckets = np.searchsorted(lengths, np.arange(lengths[-1] + 1)).astype(np.uint16)[pair_lengths]
    count = len(pair_lengths)
    if last == "drop" and clusters is None:
        # The last in the epoch's order, before lengths come in: so no length is always missing.
        count -= count % batch_size

    def shuffled(batches: list[PlannedBatch], number: int) -> list[PlannedBatch]:
        order = np.random.default_rng([seed, epoch, EMISSION, number]).permutation(len(batches))
        return [batches[i] for i in order]

    pending = [NO_PAIRS] * len(lengths)  # pairs of each bucket that wait for a whole batch
    deferred = NO_PAIRS  # pairs that another pair of their cluster kept out of a batch
    groups: list[list[PlannedBatch]] = []  # the batches of each window
    windows = _windows(len(pair_lengths), count, window, block, seed, epoch)
    for number, pairs in enumerate(windows):
        pairs = pairs[np.argsort(buckets[pairs], kind="stable")]
        arrived = np.split(pairs, np.searchsorted(buckets[pairs], np.arange(1, len(lengths))))
        batches = []
        for bucket in range(len(lengths)):
            if not len(arrived[bucket]):
                continue
            queue = np.concatenate([pending[bucket], arrived[bucket]])
            if clusters is None:
                full, pending[bucket] = _cut(queue, batch_size)
            else:
                # A deferred pair may go into a longer batch, where its cluster is rarer.
                fits = buckets[deferred] <= bucket
                full, conflicting, pending[bucket] = _cut_separate(
                    deferred[fits], queue, batch_size, clusters
                )
                deferred = np.concatenate([deferred[~fits], conflicting])
            batches += [PlannedBatch(chosen, bucket) for chosen in full]
        if batches:
            groups.append(shuffled(batches, number))

    remainder = np.concatenate([deferred, *pending[::-1]])  # the longest pairs first
    if clusters is not None:
        remainder = remainder[np.argsort(buckets[remainder], kind="stable")]
        full = _separate_remainder(remainder, batch_size, last, clusters)
    else:
        if groups and len(remainder) and _is_small(len(remainder), batch_size):
            longest = max(range(len(groups[-1])), key=lambda i: groups[-1][i].bucket)
            remainder = np.concatenate([remainder, groups[-1].pop(longest).pairs])
        full = _remainder(remainder, batch_size)
    batches = [PlannedBatch(chosen, int(buckets[chosen].max())) for chosen in full]
    groups.append(shuffled(batches, number + 1))
    return _swapped(groups, seed, epoch) if swap else list(chain.from_iterable(groups))


def _windows(
    pairs: int, count: int, window: int, block: int, seed: int, epoch: int
) -> Iterator[np.ndarray]:
    """The first `count` pairs in the epoch's order, a window at a time, int64 [<= window]."""
    blocks = np.arange(-(-pairs // block))
    np.random.default_rng([seed, epoch, ORDER]).shuffle(blocks)
    per_window = max(1, window // block)
    for number, start in enumerate(range(0, len(blocks), per_window)):
        starts = blocks[start : start + per_window] * block
        visited = (starts[:, None] + np.arange(block)).ravel()
        visited = visited[visited < pairs]  # the last block may be shorter
        if block > 1:
            np.random.default_rng([seed, epoch, WINDOW, number]).shuffle(visited)
        yield visited[:count]
        count -= len(visited[:count])


def _cut(queue: np.ndarray, batch_size: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Whole batches from the front of a queue, and what stays pending."""
    whole = len(queue) - len(queue) % batch_size
    return list(queue[:whole].reshape(-1, batch_size)), queue[whole:]


def _cut_separate(
    deferred: np.ndarray, queue: np.ndarray, batch_size: int, clusters: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """The same where no two pairs of a batch may share a cluster: batches, deferred, pending."""
    batches = []
    skipped = np.arange(len(deferred) + len(queue)) < len(deferred)
    queue = np.concatenate([deferred, queue])
    while len(chosen := _separate(queue, batch_size, clusters)) == batch_size:
        batches.append(queue[chosen])
        skipped[: chosen[-1]] = True  # all before the last one chosen that were not chosen
        queue, skipped = np.delete(queue, chosen), np.delete(skipped, chosen)
    return batches, queue[skipped], queue[~skipped]


def _separate(queue: np.ndarray, batch_size: int, clusters: np.ndarray) -> list[int]:
    """Places in a queue of the first pairs, at most a batch, that share no cluster."""
    taken: set[int] = set()
    chosen: list[int] = []
    for place, (one, two) in enumerate(zip(*clusters.take(queue, axis=1).tolist())):
        if one not in taken and two not in taken:
            taken.update(cluster for cluster in (one, two) if cluster >= 0)
            chosen.append(place)
            if len(chosen) == batch_size:
                break
    return chosen


def _is_small(pairs: int, batch_size: int) -> bool:
    return pairs < min(batch_size, max(2, batch_size * SMALL))


def _remainder(remainder: np.ndarray, batch_size: int) -> list[np.ndarray]:
    """Batches of what is pending in the end; the first may be a shorter or a longer one."""
    rest = len(remainder) % batch_size
    if len(remainder) > rest and rest and _is_small(rest, batch_size):
        rest += batch_size
    # The odd one has the longest pairs: fewer pairs are padded to the greatest length.
    odd, others = remainder[:rest], remainder[rest:].reshape(-1, batch_size)
    return [*([odd] if rest else []), *others]


def _separate_remainder(
    remainder: np.ndarray, batch_size: int, last: str, clusters: np.ndarray
) -> list[np.ndarray]:
    """The same with clusters apart; the pairs that cannot be placed are left out.

    `remainder` has the shortest pairs first: a deferred pair then waits for a longer batch, which it
    fits, and does not make the next shorter one longer.
    """
    batches, conflicting, pending = _cut_separate(NO_PAIRS, remainder, batch_size, clusters)
    rest = np.concatenate([conflicting, pending])
    chosen = _separate(rest, batch_size, clusters)
    whole_epoch = len(rest) == clusters.shape[1]  # fewer pairs than one batch
    if last == "short" and chosen and (whole_epoch or not _is_small(len(chosen), batch_size)):
        batches.append(rest[chosen])
    return batches


def _swapped(groups: list[list[PlannedBatch]], seed: int, epoch: int) -> list[PlannedBatch]:
    """The groups' batches, one after the other, with the pairs that change sides, drawn by group."""
    batches: list[PlannedBatch] = []
    for group in filter(None, groups):
        ends = np.cumsum([len(batch.pairs) for batch in group])
        draw = np.random.default_rng([seed, epoch, SWAP, len(batches)]).random(ends[-1]) < 0.5
        batches += [
            batch._replace(swapped=part) for batch, part in zip(group, np.split(draw, ends[:-1]))
        ]
    return batches


def choose_lengths(histogram: np.ndarray, count: int) -> np.ndarray:
    """The batch lengths that pad a set of pairs least, by dynamic programming over the lengths that occur.

    Every pair is padded to the first length at or above its own.

    Args:
      histogram: integers [longest + 1]; how many pairs have each length.
      count: how many at most, so how many shapes XLA compiles.

    Returns:
      int64 [<= count], rising; the last is the longest length that occurs.

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
    cells = occurring * up_to.astype(np.float64)  # of all lengths up to number i, in one bucket
    choices = []  # for each further bucket: the number before its first length
    for _ in range(min(count, size) - 1):
        options = cells[:, None] + bucket
        choices.append(options.argmin(axis=0))
        cells = options.min(axis=0)
    chosen = [size - 1]
    for choice in reversed(choices):
        chosen.append(choice[chosen[-1]])
    return occurring[chosen[::-1]]
