"""From an epoch's plan to padded arrays: what PairBatches runs in its background thread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from siamese.batching.plan import LABELLED, SWAP, EpochPlan, PlannedBatch
from siamese.batching.source import ClusterIds, PairSource


class MadeBatch(NamedTuple):
    """A batch and what PairBatches needs to know once it hands it out."""

    arrays: tuple[np.ndarray, ...]
    epoch: int
    index: int  # place in its epoch
    ends_epoch: bool
    tokens: int  # of both sides
    left_out: int  # pairs the epoch leaves out; told with its last batch, else 0
    repeated: int  # pairs the epoch gives twice; the same


class LabelledPairs:
    """Labelled pairs drawn by length, so that they ride along at the length of the main batch.

    Every epoch draws each length's pairs in a new random order, again and again as needed. A
    length with fewer pairs than are drawn at a time also takes those of the shorter lengths, and
    of the longer where even these are too few.

    Args:
      source: the pairs.
      labels: int32 [pairs]; 1 for duplicates.
      size: pairs drawn with each batch.
      lengths: int64 [buckets]; the lengths of batches.
    """

    def __init__(self, source: PairSource, labels: np.ndarray, size: int, lengths: np.ndarray):
        self.source, self.labels, self.size = source, labels, size
        everything = np.arange(source.pairs)
        buckets = np.searchsorted(lengths, source.pair_lengths(everything))
        self._lengths: list[int] = []
        self._pools: list[np.ndarray] = []
        enough = min(size, source.pairs)
        for bucket in range(len(lengths)):
            low, high = bucket, bucket
            while (pool := (buckets >= low) & (buckets <= high)).sum() < enough:
                low, high = (low - 1, high) if low else (0, high + 1)
            self._pools.append(np.flatnonzero(pool).astype(np.uint32))
            self._lengths.append(int(lengths[high]))
        self._orders: dict[int, tuple[tuple, np.ndarray]] = {}  # the newest order of each bucket

    def draw(self, seed: int, epoch: int, bucket: int, turn: int) -> tuple[np.ndarray, int]:
        """The pairs that go with the epoch's batch number `turn` of a bucket, and their length."""
        pool = self._pools[bucket]
        places = np.arange(turn * self.size, (turn + 1) * self.size)
        passes = places // len(pool)
        pairs = np.empty(self.size, dtype=np.int64)
        for number in range(passes[0], passes[-1] + 1):
            key = (seed, epoch, LABELLED, bucket, int(number))
            if self._orders.get(bucket, ((), None))[0] != key:
                order = np.random.default_rng(list(key)).permutation(pool)
                self._orders[bucket] = (key, order)
            here = passes == number
            pairs[here] = self._orders[bucket][1][places[here] % len(pool)]
        return pairs, self._lengths[bucket]


@dataclass
class BatchMaker:
    """Makes the batches of a plan; the same numbers give the same batches on every machine.

    Args:
      source: the pairs.
      plan: which pairs form which batch.
      pad: the token after each question's end.
      swap: whether each pair's sides change places at random.
      clusters: the clusters of the pairs, where the mask is wanted; else None.
      labelled: pairs that ride along, or None.
      shard: (index, count): this process's part of every batch's rows.
    """

    source: PairSource
    plan: EpochPlan
    pad: int = 1
    swap: bool = False
    clusters: ClusterIds | None = None
    labelled: LabelledPairs | None = None
    shard: tuple[int, int] = (0, 1)

    def batches(self, seed: int, epoch: int, start: int) -> Iterator[MadeBatch]:
        """All batches from number `start` of an epoch on, epoch after epoch without end.

        The batches before `start` are planned, which is quick, and not made.
        """
        while True:
            index = 0
            turns: Counter = Counter()  # batches of each bucket so far in the epoch
            held: MadeBatch | None = None  # one batch back, for only then is its end known
            for group in self.plan.epoch(seed, epoch):
                skip = min(max(start - index, 0), len(group))
                for made in self._group(group, skip, turns, seed, epoch, index):
                    if held is not None:
                        yield held
                    held = made
                index += len(group)
                self.source.forget_pages()
            if held is not None:
                yield held._replace(
                    ends_epoch=True, left_out=self.plan.left_out, repeated=self.plan.repeated
                )
                held = None
            epoch, start = epoch + 1, 0

    def _group(
        self,
        group: list[PlannedBatch],
        skip: int,
        turns: Counter,
        seed: int,
        epoch: int,
        index: int,
    ) -> Iterator[MadeBatch]:
        """The group's batches from `skip` on; those of one length are gathered in one go."""
        ends = np.cumsum([len(batch.pairs) for batch in group])
        flips = None
        if self.swap:  # drawn for the whole group, so that a resume draws the same
            flips = np.random.default_rng([seed, epoch, SWAP, index]).random(ends[-1]) < 0.5
        of_length: dict[int, list[int]] = {}
        for place in range(skip, len(group)):
            of_length.setdefault(group[place].bucket, []).append(place)
        parts = {}
        for bucket, places in of_length.items():
            mine = [self._share(len(group[place].pairs)) for place in places]
            pairs = np.concatenate([group[p].pairs[part] for p, part in zip(places, mine)])
            swapped = None
            if flips is not None:
                swapped = np.concatenate(
                    [
                        flips[ends[p] - len(group[p].pairs) : ends[p]][part]
                        for p, part in zip(places, mine)
                    ]
                )
            length = int(self.plan.lengths[bucket])
            q1, q2, tokens = self.source.padded(pairs, length, self.pad, swapped)
            at = 0
            for place, part in zip(places, mine):
                rows = slice(at, at + part.stop - part.start)
                parts[place] = (q1[rows], q2[rows]), int(tokens[rows].sum())
                at = rows.stop
        for place, batch in enumerate(group):
            turn = turns[batch.bucket]
            turns[batch.bucket] += 1
            if place < skip:
                continue
            arrays, tokens = parts.pop(place)
            flip = None if flips is None else flips[ends[place] - len(batch.pairs) : ends[place]]
            if self.clusters is not None:
                arrays += (self._same(batch.pairs, flip),)
            if self.labelled is not None:
                arrays += self._ride_along(seed, epoch, batch.bucket, turn)
            yield MadeBatch(arrays, epoch, index + place, False, tokens, 0, 0)

    def _share(self, size: int) -> slice:
        index, count = self.shard
        return slice(size * index // count, size * (index + 1) // count)

    def _same(self, pairs: np.ndarray, flip: np.ndarray | None) -> np.ndarray:
        """The mask, bool [this process's rows, batch]; True off the diagonal within one cluster."""
        one, two = self.clusters.of(pairs)
        if flip is not None:
            one, two = np.where(flip, two, one), np.where(flip, one, two)
        mine = self._share(len(pairs))
        # Questions of no known cluster: unequal numbers on the two sides.
        one, two = np.where(one < 0, -1, one), np.where(two < 0, -2, two)
        same = one[mine, None] == two  # [rows, batch]
        same.ravel()[mine.start :: len(pairs) + 1] = False  # the diagonal: row i, column start + i
        return same

    def _ride_along(self, seed: int, epoch: int, bucket: int, turn: int) -> tuple[np.ndarray, ...]:
        drawn, length = self.labelled.draw(seed, epoch, bucket, turn)
        drawn = drawn[self._share(len(drawn))]
        q1, q2, _ = self.labelled.source.padded(drawn, length, self.pad, None)
        return q1, q2, self.labelled.labels[drawn]
