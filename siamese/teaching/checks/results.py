"""Results of a function: how they are compared and shown."""

from __future__ import annotations

import numpy as np

TOLERANCE = 1e-4  # absolute and relative: float32, and sums in another order


class Fault(Exception):
    """A call without a usable result, as it is printed: an error, or a value of the wrong kind."""

    def __init__(self, text: str, hint: str = "", key: str = ""):
        self.text = text
        self.hint = hint
        self.key = key or text  # equal in two calls that failed alike


def require(condition: object, actual: str, hint: str = "") -> None:
    """Raises `Fault` where the condition does not hold."""
    if not condition:
        raise Fault(actual, hint)


def numbers(value: object) -> np.ndarray:
    """`value` as float64; Fault where it is not a number or an array of numbers."""
    if value is None:
        raise Fault("None", "the function returned nothing: is `return` missing?")
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "cSU":
            return array.astype(np.float64)
    except (TypeError, ValueError):
        pass
    hint = "this is no number and no array of numbers: return that alone"
    raise Fault(f"{type(value).__name__}: {_short(repr(value))}", hint)


def same(a: object, b: object, tolerance: float = TOLERANCE) -> bool:
    """Whether two results are equal: numbers within the tolerance, nan and nan, faults by key."""
    if isinstance(a, Fault) or isinstance(b, Fault):
        return isinstance(a, Fault) and isinstance(b, Fault) and a.key == b.key
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(same(x, y, tolerance) for x, y in zip(a, b))
    if isinstance(a, (list, tuple)) or isinstance(b, (list, tuple)):
        return False
    if isinstance(a, dict):
        return a == b
    first = np.asarray(a)
    second = np.asarray(b)
    if first.dtype.kind not in "biuf" or second.dtype.kind not in "biuf":
        return type(a) is type(b) and bool(np.all(first == second))
    return first.shape == second.shape and np.allclose(
        first, second, rtol=tolerance, atol=tolerance, equal_nan=True
    )


def show(value: object, beside: object = None) -> str:
    """A result in a few words, with its shape where that of the result `beside` it differs."""
    if isinstance(value, Fault):
        return value.text
    if isinstance(value, str):
        return value
    if not isinstance(value, np.ndarray):
        return _short(repr(value), 400)
    if value.ndim == 0:
        text = f"{value.item():.6g}"
    else:
        text = np.array2string(value, precision=4, suppress_small=True, threshold=60)
    text = _short(text.replace("\n", ""), 400)
    if isinstance(beside, np.ndarray) and beside.shape != value.shape:
        return f"shape {value.shape}: {text}"
    return text


def shown_apart(expected: object, result: object) -> tuple[str, str]:
    """Both in a few words; of two lists of batches the first batch that differs alone."""
    if isinstance(expected, list) and isinstance(result, list):
        for number, pair in enumerate(zip(expected, result), 1):
            if not same(*pair):
                first, second = (f"batch {number}: {_sides(batch)}" for batch in pair)
                return first, second
    if isinstance(expected, list) and expected and isinstance(expected[0], tuple):
        first = f"{len(expected)} batches, the first of them\n{_sides(expected[0])}"
        return first, show(result)
    return show(expected, result), show(result, expected)


def _sides(batch: object) -> str:
    """Each array of a batch on a line of its own."""
    if not isinstance(batch, tuple):
        return show(batch)
    return "\n".join(" ".join(np.array2string(side).split()) for side in batch)


def _short(text: str, most: int = 200) -> str:
    return text if len(text) <= most else text[:most] + " ..."
