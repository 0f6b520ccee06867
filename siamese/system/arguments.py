"""Checks of arguments: numbers, choices, labels and token rows.

Each ArgumentError names the argument.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from siamese.errors import ArgumentError


def counted(number: int, noun: str) -> str:
    """A number and a noun, such as '2,000 questions' and '1 question'."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def whole_number(value: Any, name: str, least: int) -> int:
    """`value` as an int of at least `least`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ArgumentError(f"{name} must be a whole number, not {value!r}.") from None
    if number < least:
        raise ArgumentError(f"{name} must be at least {least}, not {number}.")
    return number


def as_number(
    value: Any, name: str, least: float = -math.inf, most: float = math.inf
) -> float:
    """`value` as a float from `least` to `most`; NaN is none."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not least <= number <= most:
        bounds = "" if math.isinf(least) else f" from {least} to {most}"
        raise ArgumentError(f"{name} must be a number{bounds}; it is {value!r:.40}.")
    return number


def one_of(value: object, name: str, allowed: tuple) -> None:
    """Refuses a value that is not among those allowed."""
    if value not in allowed:
        names = ", ".join(map(repr, allowed))
        raise ArgumentError(f"{name} must be one of {names}; it is {value!r}.")


def check_labels(labels: ArrayLike, name: str = "labels") -> np.ndarray:
    """Labels as bool [n], from one flat row of 0 and 1 (or False and True)."""
    array = np.asarray(labels)
    if array.ndim != 1:
        raise ArgumentError(f"{name} must be one flat row; its shape is {array.shape}.")
    wrong = [place for place, label in enumerate(array.tolist()) if label not in (0, 1)]
    if wrong:
        what = f"{name}[{wrong[0]}] is {array[wrong[0]]!r}"
        raise ArgumentError(f"{name} must be 0 or 1 (1 for duplicates); {what}.")
    return array.astype(bool)
