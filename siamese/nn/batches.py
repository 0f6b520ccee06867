"""Endless batches of padded pairs, in the order that the course's generator draws."""

from __future__ import annotations

import random
from collections.abc import Iterator
from types import ModuleType

import numpy as np

from siamese.errors import ArgumentError
from siamese.nn.ragged import Ragged
from siamese.system.open_types import JsonObject


class PaddedBatches(Iterator):
    """Endless batches of pairs of token rows, padded to a power of two.

    The pairs are shuffled once before the first batch, and once more each time a pair
    is wanted after the last one. Every batch holds `batch_size` pairs and may run over
    into the next pass. `siamese.course.generator.data_generator` checks the arguments.

    Args:
      q1: the first questions' token ids.
      q2: the second questions' token ids, as many rows.
      batch_size: pairs in a batch, at least 1.
      pad: the int32 put after each question's end.
      shuffle: False keeps the order of the pairs, pass after pass, and draws nothing.

    Yields:
      (q1, q2): two int32 arrays [batch_size, length], `length` the power of two at or
      above the longest question of either side.

    Attributes:
      draws: what shuffles: Python's `random` module, or a `random.Random` that a run sets.
    """

    def __init__(
        self,
        q1: Ragged,
        q2: Ragged,
        batch_size: int,
        pad: int = 1,
        shuffle: bool = True,
    ):
        self._q1 = q1
        self._q2 = q2
        self._batch_size = batch_size
        self._pad = pad
        self._shuffle = shuffle
        self.draws: ModuleType | random.Random = random
        self._order = list(range(len(q1)))
        # place in _order of the next pair; a pass begins at the end
        self._index = len(self._order)

    def __next__(self) -> tuple[np.ndarray, np.ndarray]:
        rows: list[int] = []
        while len(rows) < self._batch_size:
            if self._index == len(self._order):
                self._index = 0
                if self._shuffle:
                    self.draws.shuffle(self._order)
            taken = self._order[
                self._index : self._index + self._batch_size - len(rows)
            ]
            rows += taken
            self._index += len(taken)
        longest = max(self._q1.lengths[rows].max(), self._q2.lengths[rows].max())
        length = 1 << (int(longest) - 1).bit_length()  # the power of two at or above it
        places = np.array(rows)
        q1 = self._q1.padded(places, length, self._pad)
        q2 = self._q2.padded(places, length, self._pad)
        return q1, q2  # int32 [batch_size, length] each

    def state(self) -> JsonObject:
        """The position as values that JSON can hold: the order of the pairs, and where `draws` is."""
        version, numbers, gauss = self.draws.getstate()
        random_state = [version, list(numbers), gauss]
        return {
            "order": list(self._order),
            "index": self._index,
            "random": random_state,
        }

    def restore(self, state: JsonObject) -> None:
        """Goes to where `state` was taken, and sets `draws`, the global module too, to what it was.

        A state of another number of pairs is an ArgumentError; nothing has changed
        then.
        """
        pairs = len(state["order"])
        if pairs != len(self._order):
            raise ArgumentError(
                f"The state is of a generator over {pairs} pairs; this one has {len(self._q1)}: "
                "restore it with the same data."
            )
        version, numbers, gauss = state["random"]
        self.draws.setstate((version, tuple(numbers), gauss))
        self._order = list(state["order"])
        self._index = state["index"]
