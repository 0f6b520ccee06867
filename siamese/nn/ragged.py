"""Ragged: many integer sequences of different lengths in two flat NumPy arrays."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Sequence, Sized
from typing import Any, TypeAlias

import numpy as np

from siamese.errors import DataError

_LARGEST = 2**31 - 1


def _read_only(array: np.ndarray) -> np.ndarray:
    """A view that nobody can write to."""
    view = array.view()
    view.flags.writeable = False
    return view


class Ragged(Sequence):
    """Rows of int32 of any length, kept as one flat array and the rows' offsets.

    A token costs four bytes, and a batch of rows is padded in a few NumPy calls. Row i
    is ``values[offsets[i]:offsets[i + 1]]``, of int32 [total] and int64 [rows + 1];
    they are read-only.

    Example:
      >>> rows = Ragged.from_lists([[5, 6], [], [7]])
      >>> rows.lengths.tolist(), rows.padded([0, 2], length=3, pad=1).tolist()
      ([2, 0, 1], [[5, 6, 1], [7, 1, 1]])
    """

    def __init__(self, values: np.ndarray, offsets: np.ndarray):
        self.values = _read_only(np.asarray(values, dtype=np.int32))
        self.offsets = _read_only(np.asarray(offsets, dtype=np.int64))
        self.lengths = _read_only(np.diff(self.offsets))  # int64 [rows]

    @classmethod
    def from_lists(cls, rows: Iterable[Sequence[int]]) -> Ragged:
        """Builds from any sequences of integers; text or fractions in a row raise DataError."""
        if isinstance(rows, cls):
            return rows
        rows = list(rows)
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        flat: list[int] = [value for row in rows for value in row]
        try:
            values = np.asarray(flat) if flat else np.zeros(0, dtype=np.int32)
        except ValueError:  # rows within rows
            values = np.zeros((1, 1))
        are_whole = values.ndim == 1 and values.dtype.kind in "iu"
        in_range = (
            are_whole
            and values.min(initial=0) >= 0
            and values.max(initial=0) <= _LARGEST
        )
        if not in_range:
            at = next(
                i for i, row in enumerate(rows) if not all(map(_is_token_id, row))
            )
            raise DataError(
                f"Row {at} holds something other than integer token ids from 0 to {_LARGEST}: "
                f"{reprlib.repr(rows[at])}. Encode the questions with a Vocabulary first."
            )
        return cls(values, offsets)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: Any) -> Any:
        at = range(len(self))[index]
        if isinstance(at, range):
            return self.take(np.array(at))
        return self.values[self.offsets[at] : self.offsets[at + 1]]

    def take(self, rows: np.ndarray) -> Ragged:
        """The named rows, in that order, as a new Ragged; a row may be named more than once."""
        rows = np.asarray(rows, dtype=np.int64)
        lengths = self.lengths[rows]
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        source = np.repeat(self.offsets[rows] - offsets[:-1], lengths) + np.arange(
            offsets[-1]
        )
        return Ragged(self.values[source], offsets)

    def padded(self, rows: np.ndarray, length: int, pad: int = 1) -> np.ndarray:
        """The named rows as int32 [len(rows), length], `pad` after each row's end.

        DataError where a row is longer than `length`; nothing is cut silently.
        """
        rows = np.asarray(rows, dtype=np.int64)
        lengths = self.lengths[rows]
        if len(rows) and lengths.max() > length:
            raise DataError(
                f"A row of {lengths.max()} tokens does not fit in length {length}."
            )
        positions = np.arange(length)
        if not len(self.values):
            return np.full((len(rows), length), pad, dtype=np.int32)
        # What lies past a row's end is read too, which is quicker than leaving it out,
        # and overwritten.
        out = self.values.take(self.offsets[rows, None] + positions, mode="clip")
        np.copyto(out, pad, where=positions >= lengths[:, None])
        return out


def _is_token_id(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        return False
    return bool(0 <= value <= _LARGEST)


# Questions of token ids: also a list of lists, or an array of objects.
TokenRows: TypeAlias = "Ragged | np.ndarray | Sequence[Sequence[int]]"


def token_rows(rows: TokenRows, name: str) -> Ragged:
    """Questions as Ragged, of lists of lists, an array of objects, a 2-D array, or Ragged; DataError."""
    try:
        return Ragged.from_lists(rows)
    except (TypeError, DataError) as error:
        expected = f"{name} must hold one sequence of integer token ids per question"
        raise DataError(f"{expected}: {error}") from None


def check_pairs(q1: Sized, q2: Sized, name1: str, name2: str) -> None:
    """DataError for sides of unequal length, no pairs at all, and in Ragged a question without a token."""
    if len(q1) != len(q2):
        counts = f"{name1} holds {len(q1)} questions and {name2} holds {len(q2)}"
        raise DataError(f"{counts}: a pair needs one of each.")
    if not len(q1):
        raise DataError(
            f"{name1} and {name2} are empty: there is no pair to make a batch of."
        )
    for rows, name in ((q1, name1), (q2, name2)):
        empty: np.ndarray | tuple = (
            np.flatnonzero(rows.lengths == 0) if isinstance(rows, Ragged) else ()
        )
        if len(empty):  # Padding alone has no meaning to compare.
            what = (
                f"{name}[{empty[0]}] is an empty question ({len(empty)} such in {name})"
            )
            raise DataError(f"{what}: leave out its pair.")
