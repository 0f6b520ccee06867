"""Batches of question pairs: the course's data_generator."""

from __future__ import annotations

from siamese.nn.batches import PaddedBatches
from siamese.nn.ragged import TokenRows, check_pairs, token_rows
from siamese.system.arguments import as_number, whole_number


class data_generator(PaddedBatches):
    """The course's generator, an iterator: endless batches of question pairs, padded to a power of two.

    The order comes from Python's global `random` module, so ``random.seed(34)`` gives
    the course's batches: nothing is drawn before the first batch, then the pairs are
    shuffled once, and once more each time a pair is wanted after the last one. Every
    batch holds `batch_size` pairs and may run over into the next pass.

    Args:
      Q1: the first questions: a list of lists, an array of objects or Ragged, of integer token ids.
      Q2: the second questions; ``Q2[i]`` is paired with ``Q1[i]``.
      batch_size: pairs in a batch, at least 1.
      pad: the whole number put after each question's end; -1 or any other int32.
      shuffle: False keeps the order of the pairs, pass after pass, and draws nothing.

    Yields:
      (q1, q2): two int32 arrays [batch_size, length], `length` the power of two at
      or above the longest question of either side. `state` and `restore` carry the position.

    DataError for wrong pairs or ids, ArgumentError for other arguments: at the call,
    before any batch.

    Example:
      >>> batches = data_generator([[5, 6, 7], [8]], [[5], [8, 9]], batch_size=2, shuffle=False)
      >>> q1, q2 = next(batches)
      >>> q1.tolist(), q2.tolist()
      ([[5, 6, 7, 1], [8, 1, 1, 1]], [[5, 1, 1, 1], [8, 9, 1, 1]])
    """

    def __init__(
        self,
        Q1: TokenRows,
        Q2: TokenRows,
        batch_size: int,
        pad: int = 1,
        shuffle: bool = True,
    ):
        size = whole_number(batch_size, "batch_size", 1)
        number = whole_number(pad, "pad", -(2**31))
        as_number(number, "pad", -(2**31), 2**31 - 1)
        first = token_rows(Q1, "Q1")
        second = token_rows(Q2, "Q2")
        check_pairs(first, second, "Q1", "Q2")
        super().__init__(first, second, size, number, bool(shuffle))
