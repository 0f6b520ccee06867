"""PairBatches: quick batches with little padding, no known false negatives, and a position."""

from __future__ import annotations

import contextlib
import functools
import zlib
from collections import Counter, deque, namedtuple
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from siamese.batching.pairs import LabelledPairs, Pairs, cluster_numbers, sides
from siamese.batching.plan import PlannedBatch, choose_lengths, plan_epoch
from siamese.data.arguments import one_of, whole_number
from siamese.errors import ArgumentError
from siamese.nn.ragged import Ragged


class PairBatches(Iterator, contextlib.AbstractContextManager):
    """Endless batches of duplicate pairs, each epoch in a new order, every pair once an epoch.

    Pairs are bucketed by the length of their longer question, so a batch holds few padding tokens, and
    padded to a few lengths chosen from the data, so few shapes are compiled. Questions of like length are
    duplicates of each other more often than questions at random: give `clusters`, so that none is taken
    for a negative. NumPy makes the batches in a background thread.

    Args:
      q1: the first questions' token ids: Ragged, or lists of integers.
      q2: the second questions; ``q2[i]`` is paired with ``q1[i]``.
      batch_size: pairs in a batch.
      rows: two integer arrays [pairs]; pair i is then ``q1[rows[0][i]]`` and ``q2[rows[1][i]]``.
        With one table of distinct questions: ``PairBatches(table, table, rows=(rows1, rows2))``.
      seed: decides all that is random; nothing is drawn from global generators.
      last: the remainder that does not fill a batch: 'short' gives it as one shorter batch (below an
        eighth of a batch it joins another one), 'drop' leaves it out, other pairs each epoch.
      lengths: how many batch lengths to choose from the data. XLA compiles each one, so the default is
        one for eight batches of an epoch, at least 2 and at most 14.
      window: batches whose pairs are bucketed together.
      topic_block: neighbouring pairs that stay together up to the bucketing, for topic-homogeneous
        batches where the pairs are ordered by topic; 1 is a full shuffle.
      swap: whether the two sides of each pair change places at random.
      clusters: the cluster id of each pair, integers [pairs], or a tuple of one such array for each
        side; questions of one cluster are duplicates of each other, negative ids are of no cluster.
      false_negatives: questions of one cluster in different pairs of a batch. 'keep' leaves them as
        negatives. 'mask' adds the `false_negative_mask` to each batch, for the loss. 'separate' makes
        batches in which no two pairs share a cluster; pairs of a cluster too big for that are left
        out of the epoch. The default is 'mask' where clusters are given.
      labelled: (q1, q2, is_duplicate) or (q1, q2, is_duplicate, rows): duplicates and others for an
        auxiliary pairwise loss; `pair_batch_size` of them, of like length, are added to each batch.
      pair_batch_size: how many.
      prefetch: batches kept ready; 0 makes them when asked for, without a thread.

    Yields:
      A named tuple: q1 and q2, int32 [batch, length], padded with 1; then false_negative_mask, bool
      [batch, batch], True where q1[i] and q2[j], i != j, are of one cluster; then labelled_q1,
      labelled_q2, int32 [pair_batch_size, length], and is_duplicate, int32 [pair_batch_size].

    Raises:
      DataError: for pairs, clusters or labels that do not go together, or empty questions.
      ArgumentError: for an argument outside what is named above.

    Example:
      >>> with PairBatches([[5, 6], [7]], [[5], [8, 9]], batch_size=2, seed=1) as batches:
      ...     batch = next(batches)
      >>> batch.q1.shape, batch.q2.shape, batches.state()["epoch"]
      ((2, 2), (2, 2), 1)
    """

    def __init__(
        self,
        q1: Ragged | Sequence[Sequence[int]],
        q2: Ragged | Sequence[Sequence[int]],
        batch_size: int = 256,
        *,
        rows: tuple[np.ndarray, np.ndarray] | None = None,
        seed: int = 0,
        last: str = "short",
        lengths: int | None = None,
        window: int = 128,
        topic_block: int = 1,
        swap: bool = False,
        clusters: Any = None,
        false_negatives: str | None = None,
        labelled: tuple | None = None,
        pair_batch_size: int = 96,
        prefetch: int = 8,
    ):
        self.batch_size = whole_number(batch_size, "batch_size", 1)
        self._seed = whole_number(seed, "seed", 0)
        self._prefetch = whole_number(prefetch, "prefetch", 0)
        window = whole_number(window, "window", 1) * self.batch_size
        block = whole_number(topic_block, "topic_block", 1)
        one_of(last, "last", ("short", "drop"))
        if false_negatives is None:
            false_negatives = "keep" if clusters is None else "mask"
        one_of(false_negatives, "false_negatives", ("keep", "mask", "separate"))
        pairs = Pairs(q1, q2, rows)
        self.pairs = len(pairs)
        ids = None if clusters is None else cluster_numbers(clusters, self.pairs)
        if false_negatives != "keep" and ids is None:
            raise ArgumentError(
                f"false_negatives={false_negatives!r} needs the clusters of the pairs: clusters=..."
            )
        extra = None
        if labelled is not None:
            extra = LabelledPairs(labelled, whole_number(pair_batch_size, "pair_batch_size", 1))
        histogram = np.bincount(pairs.lengths)
        if lengths is None:
            lengths = min(max(self.pairs // self.batch_size // 8, 2), 14)
        self.lengths = choose_lengths(histogram, whole_number(lengths, "lengths", 1))
        if extra and extra.lengths.max() > self.lengths[-1]:
            self.lengths = np.append(self.lengths, extra.lengths.max())
        plan = functools.partial(
            plan_epoch, pairs.lengths, self.lengths, self.batch_size, window=window, block=block,
            last=last, swap=bool(swap), clusters=ids if false_negatives == "separate" else None,
        )  # fmt: skip
        self._plan = functools.lru_cache(maxsize=2)(plan)
        if not self._plan(seed=self._seed, epoch=0):
            raise ArgumentError(
                f"{self.pairs} pairs make no batch of {self.batch_size} with last={last!r}: "
                "take a smaller batch_size, or last='short'."
            )
        mask = false_negatives == "mask"
        fields = ["q1", "q2"] + ["false_negative_mask"] * mask
        if extra:
            extra.choose_pools(self.lengths)
            fields += ["labelled_q1", "labelled_q2", "is_duplicate"]
        self._batch_type = namedtuple("PairBatch", fields)
        # Not a method: the thread that runs it must not keep this object alive.
        self._make = functools.partial(
            _batches, pairs, self.lengths, self._plan, ids if mask else None, extra
        )
        apart = None if false_negatives == "keep" else false_negatives
        settings = (window, block, last, apart, bool(swap), extra.size if extra else 0)
        settings = (settings, self.lengths.tolist())
        self._fingerprint = zlib.crc32(
            histogram.astype("<i8").tobytes(), zlib.crc32(repr(settings).encode())
        )
        self._epoch = self._batch = 0  # of the next batch to be given out
        self._ready: Generator[_MadeBatch] | None = None
        self._start_report()

    def __repr__(self) -> str:
        return f"PairBatches({self.pairs:,} pairs, batch_size={self.batch_size})"

    def __next__(self) -> tuple[np.ndarray, ...]:
        if self._ready is None:
            made = self._make(self._seed, self._epoch, self._batch)
            self._ready = prefetched(made, self._prefetch) if self._prefetch else made
        try:
            batch = next(self._ready)
        except BaseException:
            self.close()  # a later `next` tries again from the same position
            raise
        self._epoch, self._batch = batch.next_position
        if self._batch == 0:
            self._left_out = batch.left_out
        self._tokens += batch.tokens
        self._shapes[batch.arrays[0].shape] += 1
        return self._batch_type(*batch.arrays)

    def one_epoch(self) -> Iterator[tuple[np.ndarray, ...]]:
        """The batches from the present position to the end of its epoch."""
        epoch = self._epoch
        while self._epoch == epoch:
            yield next(self)

    @property
    def batches_per_epoch(self) -> int:
        """How many batches the present epoch has; with 'separate' they may differ by epoch."""
        return len(self._plan(seed=self._seed, epoch=self._epoch))

    def state(self) -> dict[str, int]:
        """The position after the batches given out so far, as a few integers, for `restore`."""
        return {
            "seed": self._seed,
            "epoch": self._epoch,
            "batch": self._batch,
            "pairs": self.pairs,
            "batch_size": self.batch_size,
            "settings": self._fingerprint,
        }

    def restore(self, state: dict[str, int]) -> None:
        """Goes to the position that `state` told, with its seed; `prefetch` may be another one.

        Raises:
          ArgumentError: where the state is damaged or belongs to other pairs or settings.
        """
        mine = self.state()
        numbers = {name: whole_number(state.get(name), f"state[{name!r}]", 0) for name in mine}
        for name in ("pairs", "batch_size", "settings"):
            if numbers[name] != mine[name]:
                raise ArgumentError(
                    f"The state belongs to other questions or settings: {name} {numbers[name]} there, "
                    f"{mine[name]} here ('settings' is a checksum of the lengths of questions and of the "
                    "arguments). Restore it with the same pairs and arguments."
                )
        self.close()
        self._seed, self._epoch, self._batch = (numbers[k] for k in ("seed", "epoch", "batch"))
        self._start_report()

    def report(self) -> dict[str, Any]:
        """What has been given out since the start or the last `restore`.

        Returns:
          padding: share of cells, of both sides, that held no token; shapes: {(batch, length):
          batches}; tokens; left_out: pairs that the epoch finished last gave to no batch.
        """
        cells = 2 * sum(rows * length * n for (rows, length), n in self._shapes.items())
        return {
            "padding": 1 - self._tokens / cells if cells else 0.0,
            "shapes": dict(self._shapes),
            "tokens": self._tokens,
            "left_out": self._left_out,
        }

    def close(self) -> None:
        """Stops the background thread; the position stays, and a later `next` goes on from it."""
        if self._ready is not None:
            self._ready.close()
        self._ready = None

    def __exit__(self, *exception) -> None:
        self.close()

    def _start_report(self) -> None:
        self._tokens = self._left_out = 0
        self._shapes: Counter = Counter()


class _MadeBatch(NamedTuple):
    arrays: tuple[np.ndarray, ...]
    next_position: tuple[int, int]  # epoch and place in it of the batch after this one
    tokens: int  # of both sides
    left_out: int  # pairs that the epoch gives to no batch


def _batches(
    pairs: Pairs,
    lengths: np.ndarray,
    plan_of: Callable[..., list[PlannedBatch]],
    clusters: np.ndarray | None,
    labelled: LabelledPairs | None,
    seed: int,
    epoch: int,
    start: int,
) -> Generator[_MadeBatch]:
    """All batches from number `start` of an epoch on, with a mask where `clusters` [2, pairs] is given."""
    while True:
        plan = plan_of(seed=seed, epoch=epoch)
        left_out = len(pairs) - sum(len(batch.pairs) for batch in plan)
        turns = Counter(batch.bucket for batch in plan[:start])  # batches of each length so far
        for index, batch in enumerate(plan[start:], start + 1):
            arrays = tuple(pairs.padded(batch, lengths))
            if clusters is not None:
                one, two = sides(clusters, batch)
                # No cluster on one side equals none on the other.
                mask = (one[:, None] == two) & (two >= 0)  # [batch, batch]
                np.fill_diagonal(mask, False)
                arrays += (mask,)
            if labelled is not None:
                arrays += labelled.draw(seed, epoch, batch.bucket, turns[batch.bucket])
            turns[batch.bucket] += 1
            position = (epoch, index) if index < len(plan) else (epoch + 1, 0)
            yield _MadeBatch(arrays, position, int(pairs.tokens[batch.pairs].sum()), left_out)
        epoch, start = epoch + 1, 0


def prefetched(items: Iterator, depth: int) -> Generator:
    """The items of an iterator that a thread runs, at most `depth` ahead of the reader.

    An exception in the iterator is raised after the items made before it. The thread ends with the
    iterator, and when the reader closes or forgets what this returns.
    """
    end = object()
    pool = ThreadPoolExecutor(1, "siamese-prefetch")
    try:
        ready = deque(pool.submit(next, items, end) for _ in range(depth))
        while (item := ready.popleft().result()) is not end:
            ready.append(pool.submit(next, items, end))
            yield item
    finally:
        # The collector may run this in the thread itself, which cannot wait for its own end.
        with contextlib.suppress(RuntimeError):
            pool.shutdown(cancel_futures=True)
