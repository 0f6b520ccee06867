"""Comparisons that say what is wrong: the expected and the actual result, and a hint at the mistake."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

TOLERANCE = 1e-4  # absolute and relative: float32, and sums in another order
# (hint of a mistake, which variant) -> how surely it explains a result: 0 where it does not fit.
Tried = dict[tuple[str, int], float]
NO_RETURN = "the function returned nothing: is `return` missing?"


class Wrong(Exception):
    """A case's finding: the expected and the actual result, a hint, and which known mistakes fit.

    `tried` holds the known mistakes that would show in this case.
    """

    def __init__(self, expected: str, actual: str, hint: str = "", tried: Tried | None = None):
        super().__init__(expected, actual, hint)
        self.expected, self.actual, self.hint, self.tried = expected, actual, hint, tried or {}


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
) -> Tried:
    """Raises `Wrong` unless `actual` has the shape and values of `expected`, a number, array or text.

    Its `tried` are the `mistakes`, (result, hint), and slips that any number may have; `hint` is the
    hint where none fits. Where `actual` is right the `tried` are returned: the mistakes that it has not.
    """
    if expected is None or isinstance(expected, str):
        return _expect_text(actual, expected, hint, mistakes)
    wanted = np.asarray(expected, np.float64)
    found = as_numbers(actual, wanted)

    def fits(value):
        return _close(found, value, tolerance)

    def hidden(value):
        return value is None or _close(wanted, value, tolerance)

    tried = try_mistakes(mistakes, fits, hidden)
    tried |= try_mistakes(_slips(found, wanted), lambda value: 0.8 * fits(value), hidden)
    if _close(found, wanted, tolerance):
        return tried
    if found.shape != wanted.shape:
        shapes = [f"shape {array.shape}: {show(array)}" for array in (wanted, found)]
        raise Wrong(*shapes, _shape_hint(found.shape, wanted.shape), tried)
    if not np.isfinite(found).all():
        hint = f"there is nan or inf in the result: look for a division by zero, or 0 * inf. {hint}"
    raise Wrong(show(wanted), show(found), hint.strip(), tried)


def try_mistakes(mistakes: Iterable[tuple[Any, str]], fits: Callable, hidden: Callable) -> Tried:
    """Which of the mistakes, (result, hint), fit: those that are not hidden in this case.

    A hint may have several variants, such as a margin of 0.1 or of 0.2: each is a mistake of its own.
    """
    tried: Tried = {}
    variants: Counter[str] = Counter()
    for value, message in mistakes:
        variants[message] += 1
        if not hidden(value):
            tried[message, variants[message]] = float(fits(value))
    return tried


def _slips(found: np.ndarray, wanted: np.ndarray) -> list[tuple[Any, str]]:
    """(result, hint) of slips around the right number, whatever it is."""
    nearly = found.shape == wanted.shape and np.allclose(found, wanted, rtol=2e-3, atol=2e-3)
    slips = [
        *((wanted.round(digits), "it is rounded: give the number as it is") for digits in (1, 2, 3, 4, 5)),
        (np.trunc(wanted), "cut to a whole number: is there int(), //, or an array of integers to fill?"),
        (wanted.round(), "rounded to a whole number: give the number as it is"),
        (-wanted, "the sign is turned round"),
        (np.abs(wanted), "the sign is lost"),
        (2 * wanted, "this is twice the right number: what is counted or added twice?"),
        (wanted / 2, "this is half the right number: what is halved?"),
        (1 - wanted, "this is 1 minus the right number"),
        (wanted**2, "the right number is squared"),
        (np.sqrt(np.abs(wanted)), "there is a square root too many"),
        (100 * wanted, "this is a percentage: leave out the 100"),
        (found if nearly else None, "nearly right: is it rounded on the way, is a small "
         "number added, or is it float16?"),
    ]  # fmt: skip
    if wanted.ndim == 1 and len(wanted) > 1:
        with np.errstate(all="ignore"):
            ratio = found / wanted if found.shape == wanted.shape else np.arange(2.0)
        slips += [
            (np.cumsum(wanted), "the sum goes on from row to row: set it back to 0 for each"),
            (wanted.cumsum() / np.arange(1, len(wanted) + 1), "the mean goes on from row to row"),
            (wanted[::-1], "the rows are in the reverse order"),
            (np.sort(wanted), "the results are sorted: they belong in the rows' order"),
            (np.full_like(wanted, wanted.mean()), "one mean for all rows: each row has its own"),
            (found if np.ptp(ratio) < 1e-3 else None, "each number is the same multiple of the right one: "
             "look at what is divided by, and whether that is a fixed number"),
        ]  # fmt: skip
    return slips


def _expect_text(actual, expected, hint, mistakes) -> Tried:
    """As `expect`, where a text or None is expected."""

    def same(value):
        return actual is value or (isinstance(actual, str | int | np.integer) and actual == value)

    tried = try_mistakes(mistakes, same, lambda value: value == expected)
    if same(expected):
        return tried
    if not isinstance(actual, str | None):
        hint = "return the text alone, or None"
    elif actual == "None":
        hint = "return None itself, not the text"
    raise Wrong(repr(expected), show(actual), hint, tried)


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
    if not wanted and np.prod(actual) == 1:
        return "one number was asked for, not a list or array that holds it"
    if not wanted:
        return "one number was asked for: something is not summed or averaged"
    if actual == wanted[:1] * 2:
        return (
            "a [batch] array met a [batch, 1] array, and broadcasting made a matrix of them: "
            "give both the same shape"
        )
    if [n for n in actual if n != 1] == [n for n in wanted if n != 1]:
        return "there is an axis of length 1 too many (keepdims, reshape)"
    if actual == ():
        return (
            "the result is one number: something is summed or averaged over all axes, "
            "or return stands inside the loop"
        )
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
