"""Cosine similarity of vectors, of rows, and of two whole batches.

NumPy in gives NumPy out, in its own precision; JAX arrays (also inside `jax.jit` and
`jax.grad`) give JAX arrays.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np

from siamese.errors import ShapeError
from siamese.nn.arrays import Array, Numbers, array_namespace, as_float, unit_vectors


def l2_normalize(x: Numbers, axis: int = -1) -> Array:
    """Scales vectors to length 1: ``x / sqrt(sum(x * x))``, the course's Normalize layer.

    A zero vector has no direction: it stays zero, with a zero gradient, where the
    course's formula divides by zero. A vector is first divided by a power of two, which
    is exact, so that no squared length is too large or too small for its precision.

    `x` is float [..., d], or has its vectors along another `axis`, and so has the
    result.

    Example:
      >>> l2_normalize([3.0, 4.0]).tolist()
      [0.6, 0.8]
    """
    xp = array_namespace(x)
    x = as_float(xp, x)
    wide = _at_least_float32(xp, x)
    _, exponent = xp.frexp(xp.max(xp.abs(wide), axis=axis, keepdims=True, initial=0))
    most = np.finfo(wide.dtype).maxexp - 2
    scale = xp.ldexp(xp.ones_like(exponent, wide.dtype), xp.clip(exponent, -most, most))
    return xp.asarray(unit_vectors(xp, wide / scale, axis), x.dtype)


def _at_least_float32(xp: ModuleType, x: Array) -> Array:
    """Floats of 16 bits as float32: their squares and sums need more digits than they have."""
    return xp.asarray(x, np.float32) if x.dtype.itemsize < 4 else x


def cosine_similarity(v1: Numbers, v2: Numbers) -> Array:
    """Cosine of the angle between vectors: ``v1 · v2 / (|v1| |v2|)``, 0 where one of them is zero.

    v1 and v2 are float [d] or [..., d], row i beside row i; the result is float [...],
    from -1 to 1. Other shapes are a ShapeError: broadcasting would compare rows that do
    not belong together.

    Example:
      >>> round(float(cosine_similarity([1, 2, 3], [1, 2, 3.5])), 4)
      0.9974
    """
    xp = array_namespace(v1, v2)
    v1 = as_float(xp, v1)
    v2 = as_float(xp, v2)
    if tuple(v1.shape) != tuple(v2.shape) or not len(v1.shape):
        raise ShapeError(
            f"cosine_similarity compares vectors of one shape, row by row; v1 has shape "
            f"{tuple(v1.shape)} and v2 {tuple(v2.shape)}. For all pairs of rows use similarity_matrix."
        )
    units = [l2_normalize(_at_least_float32(xp, v)) for v in (v1, v2)]
    # Rounding goes beyond.
    cosine = xp.clip(xp.sum(units[0] * units[1], axis=-1), -1, 1)
    return xp.asarray(cosine, xp.result_type(v1, v2))


def similarity_matrix(v1: Numbers, v2: Numbers, *, normalize: bool = True) -> Array:
    """Cosine similarity of every row of v1 with every row of v2.

    Of v1, float [n, d], and v2, float [m, d], entry (i, j) of the float [n, m] compares
    ``v1[i]`` with ``v2[j]``, from -1 to 1. `normalize` is False where the rows have
    length 1 already, as those of the model have. Other shapes are a ShapeError.

    Example:
      >>> similarity_matrix([[1.0, 0.0]], [[0.0, 2.0], [3.0, 0.0]]).tolist()
      [[0.0, 1.0]]
    """
    xp = array_namespace(v1, v2)
    v1 = as_float(xp, v1)
    v2 = as_float(xp, v2)
    shape1 = tuple(v1.shape)
    shape2 = tuple(v2.shape)
    if len(shape1) != 2 or len(shape2) != 2 or shape1[1] != shape2[1]:
        raise ShapeError(
            f"similarity_matrix takes two matrices [n, d] and [m, d] with vectors in their rows; "
            f"v1 has shape {shape1} and v2 {shape2}."
        )
    if normalize:
        v1 = l2_normalize(v1)
        v2 = l2_normalize(v2)
    # Accelerators multiply float32 in fewer bits unless told otherwise; the loss must
    # not drift.
    exactly = {} if xp is np else {"precision": "highest"}
    products = xp.matmul(v1, xp.transpose(v2), **exactly)
    return xp.clip(products, -1, 1) if normalize else products
