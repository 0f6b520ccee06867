"""Results of a function: how they are compared and shown, and slips that any number may have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

TOLERANCE = 1e-4  # absolute and relative: float32, and sums in another order


class Fault(NamedTuple):
    """A call without a usable result: an error, or a value of the wrong kind."""

    text: str  # as it is printed
    hint: str = ""
    key: str = ""  # equal in two calls that failed alike


class Odd(Exception):
    """Raised by an exercise's `observe` for a value of the wrong kind.

    Args:
      actual: the value in words.
      hint: the mistake in one sentence.
    """

    def __init__(self, actual: str, hint: str = ""):
        super().__init__(actual, hint)


def numbers(value: Any) -> np.ndarray:
    """`value` as float64.

    Raises:
      Odd: it is not a number or an array of numbers.
    """
    if value is None:
        raise Odd("None", "the function returned nothing: is `return` missing?")
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "cSU":
            return array.astype(np.float64)
    except (TypeError, ValueError):
        pass
    hint = "this is text: return the number itself" if isinstance(value, str) else ""
    raise Odd(f"{type(value).__name__}: {_short(repr(value))}", hint)


def same(a: Any, b: Any, tolerance: float = TOLERANCE) -> bool:
    """Whether two results are equal: numbers within the tolerance, nan and nan, faults by key."""
    if isinstance(a, Fault) or isinstance(b, Fault):
        return isinstance(a, Fault) and isinstance(b, Fault) and a.key == b.key
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(same(x, y, tolerance) for x, y in zip(a, b))
    if isinstance(a, dict):
        return a == b
    first, second = np.asarray(a), np.asarray(b)
    if first.dtype.kind not in "biuf" or second.dtype.kind not in "biuf":
        return type(a) is type(b) and bool(np.all(first == second))
    return first.shape == second.shape and np.allclose(
        first, second, rtol=tolerance, atol=tolerance, equal_nan=True
    )


def show(value: Any, beside: Any = None) -> str:
    """A result in a few words, with its shape where that of the result `beside` it differs."""
    if isinstance(value, (Fault, str)):
        return value.text if isinstance(value, Fault) else value
    if not isinstance(value, np.ndarray):
        return _short(repr(value), 400)
    if value.ndim == 0:
        text = f"{value.item():.6g}"
    else:
        text = np.array2string(value, precision=4, suppress_small=True, threshold=60)
    apart = isinstance(beside, np.ndarray) and beside.shape != value.shape
    return (f"shape {value.shape}: " if apart else "") + _short(text.replace("\n", ""), 400)


def _short(text: str, most: int = 200) -> str:
    return text if len(text) <= most else text[:most] + " ..."


def _matrix(x):
    """As a [batch, 1] and a [batch] array give it."""
    return np.broadcast_to(x[:, None], (len(x), len(x)))


# (Sentence, right result -> the result of the slip.)
SLIPS: list[tuple[str, Callable]] = [
    ("cut to a whole number: is there int(), //, or an array of integers to fill?", np.trunc),
    ("rounded to a whole number: give the number as it is", np.round),
    *(
        ("it is rounded: give the number as it is", lambda x, n=n: x.round(n))
        for n in (1, 2, 3, 4, 5)
    ),
    ("the sign is turned round", np.negative),
    ("the sign is lost", np.abs),
    ("this is twice the right number: what is counted or added twice?", lambda x: 2 * x),
    ("this is half the right number: what is halved?", lambda x: x / 2),
    ("this is 1 minus the right number", lambda x: 1 - x),
    ("the right number is squared", np.square),
    ("there is a square root too many", lambda x: np.sqrt(np.abs(x))),
    ("this is a percentage: leave out the 100", lambda x: 100 * x),
    ("the rows are in the reverse order", lambda x: x[::-1]),
    ("the results are sorted: they belong in the rows' order", lambda x: np.sort(x, axis=0)),
    ("the sum goes on from row to row: set it back to 0 for each", lambda x: np.cumsum(x[:])),
    ("the mean goes on from row to row", lambda x: x[:].cumsum() / np.arange(1, len(x) + 1)),
    ("one mean for all rows: each row has its own", lambda x: np.full(len(x), x.mean())),
    ("the result is one number, the first row's: does return stand in the loop?", lambda x: x[0]),
    ("the result is one number: it is averaged over all axes", lambda x: x.mean()),
    ("the result is one number: it is summed over all axes", lambda x: x.sum()),
    ("there is an axis of length 1 too many (keepdims, reshape)", lambda x: x[:, None]),
    ("there is an axis of length 1 too many (keepdims, reshape)", lambda x: x[None, :]),
    ("one number is asked for, not a list or array that holds it", lambda x: x.reshape(1)),
    ("one number is asked for, not a list or array that holds it", lambda x: x.reshape(1, 1)),
    ("a [batch] array met a [batch, 1] array: give both the same shape", _matrix),
]


# Pattern in an error's text -> sentence, true of that error in any exercise.
ERRORS: Mapping[str, str] = {
    "'NoneType' object": "a step gives None: fill_diagonal, sort and shuffle change their input and "
    "return nothing",
    "truth value": "if, and, or, not ask for one truth value: use &, | and ~, or where, on arrays",
    "could not be broadcast|incompatible shapes for broadcasting": "two arrays do not fit: print their "
    "shapes; is a size fixed that belongs to the input?",
    "Tracer|Concretization": "Trax compiles the function: compute with trax.fastmath.numpy or jax.numpy, "
    "not with NumPy, float() or if on the values",
    "JAX arrays are immutable": "arrays of JAX cannot be changed: compute a new one with fastnp.where",
}
