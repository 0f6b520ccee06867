"""Batches of question pairs: the course's data_generator."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from siamese.data.arguments import as_number, check_pairs, token_rows, whole_number
from siamese.errors import ArgumentError


class data_generator(Iterator):
    """The course's generator, an iterator: endless batches of question pairs, padded to a power of two.

    The order comes from Python's global `random` module, so ``random.seed(34)`` gives the course's
    batches: nothing is drawn before the first batch, then the pairs are shuffled once, and once
    more each time a pair is wanted after the last one. Every batch holds `batch_size` pairs and may
    run over into the next pass.

    Args:
      Q1: the first questions: a list of lists, an array of objects or Ragged, of integer token ids.
      Q2: the second questions; ``Q2[i]`` is paired with ``Q1[i]``.
      batch_size: pairs in a batch, at least 1.
      pad: the whole number put after each question's end; -1 or any other int32.
      shuffle: False keeps the order of the pairs, pass after pass, and draws nothing.

    Yields:
      (q1, q2): two int32 arrays [batch_size, length], `length` the power of two at
      or above the longest question of either side. `state` and `restore` carry the position.

    DataError for wrong pairs or ids, ArgumentError for other arguments: at the call, before any batch.

    Example:
      >>> batches = data_generator([[5, 6, 7], [8]], [[5], [8, 9]], batch_size=2, shuffle=False)
      >>> q1, q2 = next(batches)
      >>> q1.tolist(), q2.tolist()
      ([[5, 6, 7, 1], [8, 1, 1, 1]], [[5, 1, 1, 1], [8, 9, 1, 1]])
    """

    def __init__(self, Q1: Any, Q2: Any, batch_size: int, pad: int = 1, shuffle: bool = True):
        self._batch_size = whole_number(batch_size, "batch_size", 1)
        self._pad = int(as_number(whole_number(pad, "pad", -(2**31)), "pad", -(2**31), 2**31 - 1))
        self._q1, self._q2 = token_rows(Q1, "Q1"), token_rows(Q2, "Q2")
        check_pairs(self._q1, self._q2, "Q1", "Q2")
        self._shuffle = bool(shuffle)
        self.draws: Any = random  # What shuffles: the module, or a `random.Random` that a run sets.
        self._order = list(range(len(self._q1)))
        self._index = len(self._order)  # place in _order of the next pair; a pass begins at the end

    def __next__(self) -> tuple[np.ndarray, np.ndarray]:
        rows: list[int] = []
        while len(rows) < self._batch_size:
            if self._index == len(self._order):
                self._index = 0
                if self._shuffle:
                    self.draws.shuffle(self._order)
            taken = self._order[self._index : self._index + self._batch_size - len(rows)]
            rows += taken
            self._index += len(taken)
        longest = max(self._q1.lengths[rows].max(), self._q2.lengths[rows].max())
        length = 1 << (int(longest) - 1).bit_length()  # the power of two at or above it
        q1, q2 = (side.padded(np.array(rows), length, self._pad) for side in (self._q1, self._q2))
        return q1, q2  # int32 [batch_size, length] each

    def state(self) -> dict[str, Any]:
        """The position as values that JSON can hold: the order of the pairs, and where `draws` stands."""
        version, numbers, gauss = self.draws.getstate()
        random_state = [version, list(numbers), gauss]
        return {"order": list(self._order), "index": self._index, "random": random_state}

    def restore(self, state: dict[str, Any]) -> None:
        """Goes to where `state` was taken, and sets `draws`, the global module too, to what it was.

        A state of another number of pairs is an ArgumentError; nothing has changed then.
        """
        pairs = len(state["order"])
        if pairs != len(self._order):
            raise ArgumentError(
                f"The state is of a generator over {pairs} pairs; this one has {len(self._q1)}: "
                "restore it with the same data."
            )
        version, numbers, gauss = state["random"]
        self.draws.setstate((version, tuple(numbers), gauss))
        self._order, self._index = list(state["order"]), state["index"]
