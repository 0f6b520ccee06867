"""PairBatches: quick batches with little padding, no known false negatives, and a position."""

from __future__ import annotations

import zlib
from collections import Counter, namedtuple
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from siamese.batching.maker import BatchMaker, LabelledPairs
from siamese.batching.plan import EpochPlan, batch_lengths
from siamese.batching.prefetch import Prefetcher
from siamese.batching.source import PairSource, labelled_source
from siamese.data.token_rows import checked_shard, one_of, whole_number
from siamese.errors import ArgumentError
from siamese.nn.ragged import Ragged

# Pairs visited together where they are read from a file: some pages of it, side by side.
DISK_BLOCK = 256


class PairBatches(Iterator):
    """Endless batches of duplicate pairs, each epoch in a new order, every pair once an epoch.

    Pairs are brought together by the length of their longer question, a window of pairs at a
    time, so that a batch holds few padding tokens. A batch's length is one of a few, chosen from
    the data so that they pad least; so few shapes are compiled. All questions of a batch, of both
    sides, have its length. Questions of like length are duplicates of each other more often than
    questions at random: give `clusters`, so that none is taken for a negative. Batches are made by
    NumPy in a background thread, `prefetch` ahead.

    An epoch's pairs seldom fill whole batches. `last` says what becomes of the remainder:
    'short' gives it as one shorter batch, and each pair is seen once; a remainder of less than an
    eighth of a batch joins another batch instead, which is that much longer, for the loss takes
    its negatives from the batch and a handful of pairs has too few (one has none). 'drop' leaves
    it out, other pairs each epoch. 'wrap' fills it up with pairs of the epoch seen before. With
    'short' there is one more shape (the odd batch's), the same every epoch. Where clusters are kept
    apart the odd batch differs from epoch to epoch, and 'wrap' does what 'drop' does.

    Args:
      q1: the first questions' token ids: Ragged, `RaggedFile` for more than memory holds, or lists
        of integers.
      q2: the second questions; ``q2[i]`` is paired with ``q1[i]``.
      batch_size: pairs in a batch.
      rows: two integer arrays [pairs]; pair i is then ``q1[rows[0][i]]`` and ``q2[rows[1][i]]``.
        With one table of distinct questions: ``PairBatches(table, table, rows=(rows1, rows2))``.
      pad: the token id after each question's end.
      seed: decides all that is random; nothing is drawn from global generators.
      shuffle: False keeps the order of pairs but for the bucketing; for evaluation.
      last: 'short', 'drop' or 'wrap': what becomes of a remainder, see above.
      lengths: how many batch lengths to choose from the data; or the lengths themselves.
      max_length: questions longer than this are cut; `report` tells how many are.
      window: batches whose pairs are brought together at a time.
      read_block: neighbouring pairs visited together, so that a file is read in pieces; None is 1,
        a full shuffle, in memory and 256 for files, mapped arrays too.
      swap: whether the two sides of each pair change places at random.
      clusters: the cluster id of each pair, integers [pairs], or one such array for each side;
        questions of one cluster are duplicates of each other, negative ids are of no cluster.
      same: 'mask' adds a bool array [batch, batch] to each batch, True where q1[i] and q2[j],
        i != j, are of one cluster and so no negatives: the loss's `same`. 'separate' makes
        batches in which no two pairs share a cluster; pairs of a cluster too big for that are
        left out of the epoch, and counted in `report`. None is 'mask' where clusters are given.
      labelled: (q1, q2, is_duplicate) or (q1, q2, is_duplicate, rows): labelled pairs, duplicates
        and others, for training that uses both. `labelled_size` of them, of like length, ride
        along with each batch as three more arrays.
      labelled_size: how many.
      prefetch: batches kept ready; 0 makes them when asked for, without a thread.
      shard: (index, count): of every batch, this process's rows. All processes plan the same
        batches; put together in order of index, their rows are the batch.

    Yields:
      A named tuple: q1 and q2, int32 [batch, length]; then `same`, bool [batch, batch], with the
      mask; then labelled_q1, labelled_q2, int32 [labelled, length], and is_duplicate, int32
      [labelled], with labelled pairs. `fields` holds the names.

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
        pad: int = 1,
        seed: int = 0,
        shuffle: bool = True,
        last: str = "short",
        lengths: int | Sequence[int] = 14,
        max_length: int | None = None,
        window: int = 128,
        read_block: int | None = None,
        swap: bool = False,
        clusters: Any = None,
        same: str | None = None,
        labelled: tuple | None = None,
        labelled_size: int = 96,
        prefetch: int = 8,
        shard: tuple[int, int] = (0, 1),
    ):
        self.batch_size = whole_number(batch_size, "batch_size", 1)
        self._seed = whole_number(seed, "seed", 0)
        self._prefetch = whole_number(prefetch, "prefetch", 0)
        pad = whole_number(pad, "pad", 0)
        window = whole_number(window, "window", 1)
        if max_length is not None:
            max_length = whole_number(max_length, "max_length", 1)
        one_of(last, "last", ("short", "drop", "wrap"))
        one_of(same, "same", (None, "mask", "separate"))
        source = PairSource(q1, q2, rows, max_length)
        ids = source.cluster_ids(clusters)
        if same is not None and ids is None:
            raise ArgumentError(f"same={same!r} needs the clusters of the pairs: clusters=...")
        same = same or ("mask" if ids is not None else None)
        extra = None
        if labelled is not None:
            labelled_size = whole_number(labelled_size, "labelled_size", 1)
            extra = labelled_source(labelled, max_length)
        self.lengths = batch_lengths(
            lengths, source.histogram, len(extra[0].histogram) - 1 if extra else 0
        )
        if read_block is None:
            read_block = DISK_BLOCK if source.on_disk else 1
        self.pairs = source.pairs
        plan = EpochPlan(
            pairs=self.pairs,
            batch_size=self.batch_size,
            lengths=self.lengths,
            pair_lengths=source.pair_lengths,
            window=window * self.batch_size,
            block=whole_number(read_block, "read_block", 1),
            last=last,
            shuffle=bool(shuffle),
            pair_clusters=ids.of if same == "separate" else None,
        )
        self._maker = BatchMaker(
            source=source,
            plan=plan,
            pad=pad,
            swap=bool(swap),
            clusters=ids if same == "mask" else None,
            labelled=extra and LabelledPairs(*extra, labelled_size, self.lengths),
            shard=checked_shard(shard, plan, labelled_size if extra else 0),
        )
        self.fields = (
            ("q1", "q2")
            + (("same",) if same == "mask" else ())
            + (("labelled_q1", "labelled_q2", "is_duplicate") if extra else ())
        )
        self._batch_type = namedtuple("PairBatch", self.fields)
        self._identity = self._fingerprint(same, bool(swap), labelled_size if extra else 0)
        if not self._plan_holds_a_batch():
            raise ArgumentError(
                f"{self.pairs} pairs make no batch of {self.batch_size} with last={last!r}: "
                "take a smaller batch_size, or last='short'."
            )
        self._epoch = self._batch = 0  # of the next batch to be given out
        self._ready: Iterator | None = None
        self._start_report()

    def __next__(self) -> tuple[np.ndarray, ...]:
        if self._ready is None:
            made = self._maker.batches(self._seed, self._epoch, self._batch)
            self._ready = Prefetcher(made, self._prefetch) if self._prefetch else made
        batch = next(self._ready)
        self._epoch, self._batch = batch.epoch, batch.index + 1
        if batch.ends_epoch:
            self._epoch, self._batch = batch.epoch + 1, 0
            self._left_out, self._repeated = batch.left_out, batch.repeated
        self._tokens += batch.tokens
        self._shapes[batch.arrays[0].shape] += 1
        return self._batch_type(*batch.arrays)

    def one_epoch(self) -> Iterator[tuple[np.ndarray, ...]]:
        """The batches from the present position to the end of its epoch."""
        epoch = self._epoch
        while self._epoch == epoch:
            yield next(self)

    @property
    def epoch(self) -> int:
        """The epoch of the next batch, from 0."""
        return self._epoch

    @property
    def batches_per_epoch(self) -> int:
        """How many batches the present epoch has; with 'separate' they may differ by epoch."""
        plan = replace(self._maker.plan)
        if plan.pair_clusters is None:
            return plan.batches_per_epoch()
        return sum(len(group) for group in plan.epoch(self._seed, self._epoch))

    def state(self) -> dict[str, int]:
        """The position after the batches given out so far, as a few integers.

        `restore` on a PairBatches over the same pairs with the same settings goes on exactly from
        there, however many batches had been made ahead, and with another `shard` or `prefetch` too.
        """
        return {
            "seed": self._seed,
            "epoch": self._epoch,
            "batch": self._batch,
            "pairs": self.pairs,
            "batch_size": self.batch_size,
            "settings": self._identity,
        }

    def restore(self, state: dict[str, int]) -> None:
        """Goes to the position that `state` told, with its seed.

        Raises:
          ArgumentError: where the state is damaged or belongs to other pairs or settings.
        """
        mine = self.state()
        missing = [name for name in mine if name not in state]
        if missing:
            raise ArgumentError(f"This is no state of PairBatches: it lacks {', '.join(missing)}.")
        numbers = {name: whole_number(state[name], f"state[{name!r}]", 0) for name in mine}
        for name in ("pairs", "batch_size"):
            if numbers[name] != mine[name]:
                raise ArgumentError(
                    f"The state belongs to batches with {name} {numbers[name]}; these have "
                    f"{mine[name]}. Restore it with the same pairs and arguments."
                )
        if numbers["settings"] != self._identity:
            raise ArgumentError(
                "The state belongs to other questions, or to other settings (lengths, window, "
                "last, same, swap, ...). Restore it with the same pairs and arguments."
            )
        self.close()
        self._seed, self._epoch, self._batch = (numbers[k] for k in ("seed", "epoch", "batch"))
        self._start_report()

    def report(self) -> dict[str, Any]:
        """What has been given out since the start or the last `restore`.

        Returns:
          padding: share of cells, of both sides, that held no token; shapes: {(batch, length):
          batches}; tokens; truncated: questions of the data that are cut; left_out and repeated:
          pairs of the epoch finished last.
        """
        cells = 2 * sum(rows * length * n for (rows, length), n in self._shapes.items())
        return {
            "padding": 1 - self._tokens / cells if cells else 0.0,
            "shapes": dict(self._shapes),
            "tokens": self._tokens,
            "truncated": self._maker.source.truncated,
            "left_out": self._left_out,
            "repeated": self._repeated,
        }

    def close(self) -> None:
        """Stops the background thread; the position stays, and a later `next` goes on from it."""
        if isinstance(self._ready, Prefetcher):
            self._ready.close()
        self._ready = None

    def __enter__(self) -> PairBatches:
        return self

    def __exit__(self, *exception) -> None:
        self.close()

    def _plan_holds_a_batch(self) -> bool:
        plan = self._maker.plan
        if plan.pair_clusters is None:
            return plan.batches_per_epoch() > 0
        return next(plan.epoch(self._seed, 0), None) is not None

    def _start_report(self) -> None:
        self._tokens = self._left_out = self._repeated = 0
        self._shapes: Counter = Counter()

    def _fingerprint(self, same: str | None, swap: bool, labelled: int) -> int:
        plan, source = self._maker.plan, self._maker.source
        settings = (plan.window, plan.block, plan.last, plan.shuffle, same, swap, labelled)
        number = zlib.crc32(repr((settings, self.lengths.tolist(), self._maker.pad)).encode())
        return zlib.crc32(source.histogram.astype("<i8").tobytes(), number)
