"""Checks of arguments that many functions share: each error names the argument and its value."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from siamese.errors import ArgumentError


def whole_number(value: Any, name: str, least: int) -> int:
    """`value` as an int of at least `least`; bool is refused.

    Raises:
      ArgumentError: where it is not a whole number, or smaller.

    Example:
      >>> whole_number(np.int64(3), "batch_size", 1)
      3
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise ArgumentError(f"{name} must be a whole number, not {value!r}.") from None
    if number < least:
        raise ArgumentError(f"{name} must be at least {least}, not {number}.")
    return number


def as_number(value: Any, name: str) -> float:
    """`value` as a float; infinity is one, NaN is not.

    Raises:
      ArgumentError: where it is not a number.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if math.isnan(number):
        raise ArgumentError(f"{name} must be a number; it is {value!r}.")
    return number


def one_of(value: Any, name: str, allowed: tuple) -> None:
    """Refuses a value that is not among those allowed.

    Raises:
      ArgumentError: naming the argument and what is allowed.
    """
    if value not in allowed:
        raise ArgumentError(
            f"{name} must be one of {', '.join(map(repr, allowed))}; it is {value!r}."
        )


def check_labels(labels: Any, name: str = "labels") -> np.ndarray:
    """Labels as bool [n].

    Raises:
      ArgumentError: where they are not one flat row of 0 and 1 (or False and True).
    """
    array = np.asarray(labels)
    if array.ndim != 1:
        raise ArgumentError(f"{name} must be one flat row; its shape is {array.shape}.")
    if array.dtype.kind == "b":
        return array
    wrong = np.zeros(min(1, len(array)), int)
    if array.dtype.kind in "iuf":
        wrong = np.flatnonzero((array != 0) & (array != 1))
    if len(wrong):
        raise ArgumentError(
            f"{name} must be 0 or 1 (not a duplicate, a duplicate); "
            f"{name}[{wrong[0]}] is {array[wrong[0]]!r}."
        )
    return array.astype(bool)
