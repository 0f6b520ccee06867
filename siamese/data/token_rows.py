"""Checks on what the batch makers are given: every mistake is named at the call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from siamese.errors import DataError
from siamese.nn.ragged import Ragged

# Rows checked at a time: enough for NumPy's speed, little memory however many rows there are.
CHUNK = 1 << 18


def token_rows(rows: Any, name: str) -> Ragged:
    """Questions as Ragged: lists of lists, an array of objects, a 2-D array, or Ragged itself.

    Args:
      rows: one sequence of integer token ids a question.
      name: what to call the argument in a message.

    Raises:
      DataError: `rows` is not a sequence of questions, or a token id is not an integer.

    Example:
      >>> token_rows([[5, 6], [7]], "Q1").values.tolist()
      [5, 6, 7]
    """
    if isinstance(rows, Ragged):
        return rows
    expected = f"{name} must hold one sequence of integer token ids per question"
    try:
        rows = list(rows)
    except TypeError:
        raise DataError(f"{expected}, not {type(rows).__name__}.") from None
    at = next((i for i, row in enumerate(rows) if not hasattr(row, "__len__")), None)
    if at is not None:
        raise DataError(f"{expected}; {name}[{at}] is {rows[at]!r}.")
    try:
        return Ragged.from_lists(rows)
    except DataError as error:
        raise DataError(f"{name}: {error}") from None


def check_pairs(q1: Sequence, q2: Sequence, name1: str, name2: str) -> None:
    """Refuses sides of unequal length, and no pairs at all.

    Raises:
      DataError: naming both lengths.
    """
    if len(q1) != len(q2):
        raise DataError(
            f"{name1} holds {len(q1)} questions and {name2} holds {len(q2)}: "
            "question i of one is paired with question i of the other, so both need the same number."
        )
    if not len(q1):
        raise DataError(f"{name1} and {name2} are empty: there is no pair to make a batch of.")


def check_no_empty(rows: Ragged, name: str) -> None:
    """Refuses questions without a token: padding alone has no meaning to compare.

    Raises:
      DataError: naming the first such question and how many there are.
    """
    empty = np.flatnonzero(rows.lengths == 0)
    if len(empty):
        raise DataError(
            f"{name}[{empty[0]}] is an empty question ({len(empty)} such in {name}): it has no "
            "token. Leave out pairs with an empty question."
        )
