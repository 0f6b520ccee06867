"""Arrays of NumPy and of JAX alike: the module to compute with, floats, vectors of length 1."""

from __future__ import annotations

import reprlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from siamese.errors import ArgumentError

if TYPE_CHECKING:
    import jax

# What a function takes that computes with either: also lists of numbers.
Numbers: TypeAlias = "ArrayLike | jax.Array"
# What it returns: NumPy's arrays for NumPy's and for lists, JAX's for JAX's.
Array: TypeAlias = "np.ndarray | jax.Array"


def array_namespace(*arrays: object) -> ModuleType:
    """The NumPy-like module to compute with: JAX's where one of the arrays is JAX's."""
    # Another thread may be importing it: a module without the class has made no array
    # yet.
    jax_array = getattr(sys.modules.get("jax"), "Array", ())
    is_jax = any(isinstance(array, jax_array) for array in arrays)
    return sys.modules["jax.numpy"] if is_jax else np


def as_float(xp: ModuleType, x: Numbers) -> Array:
    """`x` as a floating array of that namespace: integers, and lists of them, become floats."""
    try:
        array = xp.asarray(x)
        array = array.astype(np.float64) if array.dtype.kind in "OUS" else array
    except (TypeError, ValueError):
        raise ArgumentError(
            f"Vectors are rows of numbers, not {reprlib.repr(x)}."
        ) from None
    if array.dtype.kind in "iub":
        return array.astype(np.float64 if xp is np else np.float32)
    return array


def unit_vectors(xp: ModuleType, x: Array, axis: int = -1) -> Array:
    """`x` scaled to length 1 along an axis, by NumPy or JAX; a zero vector stays, with a zero gradient."""
    squared = xp.sum(x * x, axis=axis, keepdims=True)
    is_zero = squared == 0
    # Both `where` are needed: the inner one keeps NaN out of the gradient, the outer
    # one makes it 0.
    safe = xp.where(is_zero, xp.ones_like(squared), squared)
    return xp.where(is_zero, xp.zeros_like(x), x / xp.sqrt(safe))
