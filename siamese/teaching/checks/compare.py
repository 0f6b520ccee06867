"""Comparisons that say what is wrong: the expected and the actual result, and a hint at the mistake."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

TOLERANCE = 1e-4  # absolute and relative: float32, and sums in another order
NO_RETURN = "the function returned nothing: is `return` missing?"


class Wrong(Exception):
    """A case's finding: the expected and the actual result, and a hint at the mistake."""

    def __init__(self, expected: str, actual: str, hint: str = ""):
        super().__init__(expected, actual, hint)
        self.expected, self.actual, self.hint = expected, actual, hint


def require(right: Any, expected: str, actual: Any, hint: str = "") -> None:
    """Raises `Wrong` with those words unless `right` is true."""
    if not right:
        raise Wrong(expected, str(actual), hint)


def expect(
    actual: Any,
    expected: Any,
    hint: str = "",
    mistakes: Iterable[tuple[Any, str]] = (),
    tolerance: float = TOLERANCE,
) -> None:
    """Raises `Wrong` unless `actual` has the shape and values of `expected`, a number, array or text.

    Its hint is that of the first of the `mistakes`, (result, hint), that fits; `hint` where none does.
    """
    if expected is None or isinstance(expected, str):
        return _expect_text(actual, expected, hint, mistakes)
    wanted = np.asarray(expected, np.float64)
    found = as_numbers(actual, wanted)
    if _close(found, wanted, tolerance):
        return
    for value, message in mistakes:
        fits = value is not None and _close(found, value, tolerance)
        if fits and not _close(value, wanted, tolerance):
            raise Wrong(show(wanted), show(found), message)
    if any(_close(found, wanted.round(digits), 1e-9) for digits in (2, 3, 4, 5)):
        raise Wrong(show(wanted), show(found), "it is rounded: give the number as it is")
    if found.shape != wanted.shape:
        shapes = [f"shape {array.shape}: {show(array)}" for array in (wanted, found)]
        raise Wrong(*shapes, _shape_hint(found.shape, wanted.shape))
    if not np.isfinite(found).all():
        hint = f"there is nan or inf in the result: look for a division by zero. {hint}"
    raise Wrong(show(wanted), show(found), hint.strip())


def _expect_text(actual, expected, hint, mistakes) -> None:
    """As `expect`, where a text or None is expected."""

    def same(value):
        return actual is value or (isinstance(actual, str | int | np.integer) and actual == value)

    if not same(expected):
        if not isinstance(actual, str | None):
            hint = "return the text alone, or None"
        elif actual == "None":
            hint = "return None itself, not the text"
        hint = next((message for value, message in mistakes if same(value)), hint)
        raise Wrong(repr(expected), show(actual), hint)


def as_numbers(actual: Any, wanted: np.ndarray) -> np.ndarray:
    """`actual` as float64; raises `Wrong` where it is not a number or an array."""
    require(actual is not None, show(wanted), "None", NO_RETURN)
    try:
        array = np.asarray(actual)
        if array.dtype.kind in "cSU":
            raise TypeError("complex numbers or text")
        return array.astype(np.float64)
    except (TypeError, ValueError):
        kind = "numbers" if wanted.ndim else "a number"
        found = f"{type(actual).__name__}: {_short(repr(actual))}"
        raise Wrong(f"{kind}: {show(wanted)}", found) from None


def expect_unchanged(name: str, before: Any, now: Any) -> None:
    """Raises `Wrong` where the function changed its input."""
    same = np.array_equal(before, now) if isinstance(before, np.ndarray) else before == now
    hint = f"the function changed its input {name}: work on a copy"
    require(same, f"{name} as it was: {show(before)}", f"{name} is now {show(now)}", hint)


def _close(a: Any, b: Any, tolerance: float) -> bool:
    return np.shape(a) == np.shape(b) and np.allclose(
        a, b, rtol=tolerance, atol=tolerance, equal_nan=True
    )


def _shape_hint(actual: tuple, wanted: tuple) -> str:
    """What usually gives that shape."""
    if not wanted:
        return "one number was asked for: something is not summed or averaged"
    if actual == wanted[:1] * 2:
        return (
            "a [batch] array met a [batch, 1] array, and broadcasting made a matrix of them: "
            "give both the same shape"
        )
    if actual == (*wanted, 1) or actual == (1, *wanted):
        return "there is an axis of length 1 too many (keepdims, reshape)"
    if actual == ():
        return "the result is one number: something is summed or averaged over all axes"
    return "look at the axis along which you sum, average or take the maximum"


def show(value: Any) -> str:
    """A number or array in a few words."""
    if isinstance(value, str):
        return repr(value)
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        return _short(repr(value))
    if array.dtype.kind not in "biuf":
        return _short(repr(value))
    if array.ndim == 0:
        item = array.item()
        return f"{item:.6g}" if isinstance(item, float) else str(item)
    text = np.array2string(array, precision=4, suppress_small=True, threshold=60)
    return _short(text.replace("\n", ""), 400)


def _short(text: str, most: int = 200) -> str:
    return text if len(text) <= most else text[:most] + " ..."
