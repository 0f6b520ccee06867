"""The pairs of each batch of an epoch: bucketed by length, shuffled, each pair at most once.

A pair's length is that of its longer question. An epoch visits the pairs in a random order, a window
at a time. Each pair joins the pending pairs of its length's bucket; a bucket with a whole batch of them
gives one. The batches of a window are shuffled. The pairs that are pending after the last window form
batches across buckets, longest pairs first; only these few batches are padded by more than the distance to
a bucket's length. Pairs that do not fill a batch are left out, other ones each epoch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

# What a random stream is for: streams of one seed must not be the same numbers.
ORDER, WINDOW, EMISSION, SWAP, LABELLED = range(5)

NO_PAIRS = np.zeros(0, dtype=np.int64)


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
    block: int = 1,  # neighbouring pairs that are visited together; 1 for a full shuffle
    swap: bool = False,  # whether each pair's sides are exchanged with probability 1/2
) -> list[PlannedBatch]:
    """The batches of an epoch, in order; the same arguments give the same batches."""
    # A small integer type is sorted by radix, several times faster.
    buckets = np.searchsorted(lengths, np.arange(lengths[-1] + 1)).astype(np.uint16)[pair_lengths]
    # The last pairs of the epoch's order are left out before lengths matter: no length is always missing.
    count = len(pair_lengths) // batch_size * batch_size

    def shuffled(batches: list[PlannedBatch], number: int) -> list[PlannedBatch]:
        order = np.random.default_rng([seed, epoch, EMISSION, number]).permutation(len(batches))
        return [batches[i] for i in order]

    pending = [NO_PAIRS] * len(lengths)  # pairs of each bucket that wait for a whole batch
    groups: list[list[PlannedBatch]] = []  # the batches of each window
    number = -1
    for number, pairs in enumerate(_windows(len(pair_lengths), count, window, block, seed, epoch)):
        pairs = pairs[np.argsort(buckets[pairs], kind="stable")]
        arrived = np.split(pairs, np.searchsorted(buckets[pairs], np.arange(1, len(lengths))))
        batches = []
        for bucket, new in enumerate(arrived):
            queue = np.concatenate([pending[bucket], new])
            whole = len(queue) // batch_size * batch_size
            batches += [
                PlannedBatch(part, bucket) for part in queue[:whole].reshape(-1, batch_size)
            ]
            pending[bucket] = queue[whole:]
        groups.append(shuffled(batches, number))
    remainder = np.concatenate(pending[::-1]).reshape(-1, batch_size)  # the longest pairs first
    batches = [PlannedBatch(part, int(buckets[part].max())) for part in remainder]
    groups.append(shuffled(batches, number + 1))
    groups = [group for group in groups if group]
    return _swapped(groups, seed, epoch) if swap else [b for group in groups for b in group]


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


def _swapped(groups: list[list[PlannedBatch]], seed: int, epoch: int) -> list[PlannedBatch]:
    """The groups' batches, one after the other, with the pairs that change sides, drawn by group."""
    batches: list[PlannedBatch] = []
    for group in groups:
        ends = np.cumsum([len(batch.pairs) for batch in group])
        draw = np.random.default_rng([seed, epoch, SWAP, len(batches)]).random(ends[-1]) < 0.5
        batches += [
            batch._replace(swapped=part) for batch, part in zip(group, np.split(draw, ends[:-1]))
        ]
    return batches


def choose_lengths(histogram: np.ndarray, count: int) -> np.ndarray:
    """The batch lengths that pad a set of pairs least, by dynamic programming over the lengths that occur.

    Every pair is padded to the first length at or above its own. The histogram, integers [longest + 1],
    says how many pairs have each length. The result is int64 [<= count], rising, up to the longest length
    that occurs; XLA compiles so many shapes.

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
