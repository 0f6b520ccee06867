"""Comparisons that say what is wrong: shape, dtype, value, and which known mistake gives that value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .score import Wrong

TOLERANCE = 1e-4


def expect_close(
    came: Any,
    expected: Any,
    hint: str = "",
    *,
    mistakes: Iterable[tuple[Any, str]] = (),
    tolerance: float = TOLERANCE,
) -> None:
    """Raises `Wrong` unless `came` has the shape and values of `expected`.

    Args:
      came: a number or array; NumPy, JAX, or lists.
      expected: likewise.
      hint: what to say where no known mistake fits.
      mistakes: (value, message): results that known mistakes give; the first that fits is named.
      tolerance: absolute and relative.
    """
    wanted = np.asarray(expected, np.float64)
    found = as_numbers(came, wanted)
    if found.shape == wanted.shape and _close(found, wanted, tolerance):
        return
    for value, message in mistakes:
        try:
            guess = np.asarray(value, np.float64)
        except (TypeError, ValueError):
            continue
        if (
            found.shape == guess.shape
            and _close(found, guess, tolerance)
            and (wanted.shape != guess.shape or not _close(guess, wanted, tolerance))
        ):
            raise Wrong(show(wanted), show(found), message)
    if found.shape != wanted.shape:
        raise Wrong(
            f"shape {wanted.shape}: {show(wanted)}",
            f"shape {found.shape}: {show(found)}",
            shape_hint(found.shape, wanted.shape) or hint,
        )
    if not np.isfinite(found).all():
        hint = "there is nan or inf in the result: look for a division by zero. " + hint
    raise Wrong(show(wanted), show(found), hint.strip())


def as_numbers(came: Any, wanted: np.ndarray) -> np.ndarray:
    """`came` as float64; `Wrong` where it is no number or array."""
    if came is None:
        raise Wrong(show(wanted), "None", "the function returned nothing: is `return` missing?")
    try:
        array = np.asarray(came)
        if array.dtype.kind == "c":
            raise TypeError("complex numbers")
        return array.astype(np.float64)
    except (TypeError, ValueError):
        kind = "numbers" if wanted.ndim else "a number"
        raise Wrong(
            f"{kind}: {show(wanted)}", f"{type(came).__name__}: {_short(repr(came))}"
        ) from None


def expect_unchanged(name: str, before: Any, now: Any) -> None:
    """Raises `Wrong` where the function changed its input."""
    same = (
        np.array_equal(before, now, equal_nan=True)
        if isinstance(before, np.ndarray)
        else before == now
    )
    if not same:
        raise Wrong(
            f"{name} as it was: {show(before)}",
            f"{name} is now {show(now)}",
            f"the function changed its input {name}: work on a copy",
        )


def expect_type(came: Any, accepted: tuple[type, ...], words: str, hint: str = "") -> None:
    """Raises `Wrong` unless `came` is one of those types."""
    if not isinstance(came, accepted):
        raise Wrong(words, f"{type(came).__name__}: {_short(repr(came))}", hint)


def shape_hint(came: tuple, wanted: tuple) -> str:
    """What usually gives that shape."""
    if not wanted:
        return "one number was asked for: something is not summed or averaged"
    if came == wanted[:1] * 2:
        return (
            "a [batch] array met a [batch, 1] array, and broadcasting made a matrix of them: "
            "give both the same shape"
        )
    if came == (*wanted, 1) or came == (1, *wanted):
        return "there is an axis of length 1 too many (keepdims, reshape)"
    if came == ():
        return "one number came: something is summed or averaged over all axes"
    return "look at the axis along which you sum, average or take the maximum"


def show(value: Any) -> str:
    """A number or array in a few words."""
    if isinstance(value, str):
        return repr(value)
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        return _short(repr(value))
    if array.dtype.kind in "biuf":
        if array.ndim == 0:
            item = array.item()
            return f"{item:.6g}" if isinstance(item, float) else str(item)
        text = np.array2string(array, precision=4, suppress_small=True, threshold=60)
        return _short(text.replace("\n", ""), 400)
    return _short(repr(value))


def _short(text: str, most: int = 200) -> str:
    return text if len(text) <= most else text[:most] + " ..."


def _close(a: np.ndarray, b: np.ndarray, tolerance: float) -> bool:
    return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True))
