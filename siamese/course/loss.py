"""The modified triplet loss: mean negative and closest negative over the in-batch similarity matrix.

For a similarity matrix S of B duplicate pairs (rows question1, columns question2), pos_i = S[i, i] and
margin a::

    mean_neg_i    = sum over j != i of S[i, j] / (B - 1)
    closest_neg_i = max over allowed j of S[i, j]
    loss_i        = max(mean_neg_i - pos_i + a, 0) + max(closest_neg_i - pos_i + a, 0)

The mean negative makes training steady, the closest negative makes it learn: both are known from the
course; in-batch negatives for sentence pairs go back to Henderson et al., 2017 (arXiv:1705.00652), the
triplet hinge to Schroff et al., 2015 (arXiv:1503.03832).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from siamese.compat.randomness import keeping_generators
from siamese.course.similarity import array_namespace, as_float, similarity_matrix
from siamese.errors import ArgumentError, ShapeError

CLOSEST = ("hardest", "below_positive")
REDUCTIONS = ("mean", "sum", "none")
DIRECTIONS = ("rows", "columns", "both")
_NEVER = -2.0  # Closest negative where there is none: below any cosine, the lecture's mask.


def TripletLossFn(
    v1,
    v2,
    margin: float = 0.25,
    *,
    closest: str = "hardest",
    reduction: str = "mean",
    direction: str = "rows",
    same=None,
):
    """Triplet loss of two batches of question vectors; row i of v1 is a duplicate of row i of v2.

    Args:
      v1: float [batch, d_model], rows of length 1 (the model's Normalize layer sees to it).
      v2: float [batch, d_model], likewise.
      margin: how much more similar a duplicate must be than a negative, in cosine; >= 0.
      closest: 'hardest' (the assignment) takes the largest off-diagonal similarity as the closest
        negative; 'below_positive' (the lecture) the largest that does not exceed the row's positive,
        and a row with none adds nothing.
      reduction: 'mean', 'sum', or 'none' for one loss per row.
      direction: 'rows' (the course), 'columns', or 'both': row's and column's negatives averaged
        before the hinge.
      same: None, or bool [batch, batch]: True where question1 of row i and question2 of row j are
        known to be duplicates off the diagonal. They are no negatives and leave the mean's count.

    Returns:
      A JAX array, also for NumPy arrays and lists: a number, or float [batch] with
      ``reduction='none'``. Tensors of TensorFlow give a tensor.

    Raises:
      ShapeError: v1 and v2 are not two matrices of one shape, or `same` does not fit them.
      ArgumentError: another argument is outside what is listed above, or there is only one row.

    Example:
      >>> v = np.eye(2)
      >>> float(TripletLossFn(v, v[::-1]))  # every question nearest to the wrong one
      2.5
    """
    _check_vectors("TripletLossFn", v1, v2)
    loss = loss_from_scores(
        similarity_matrix(v1, v2, normalize=False),
        margin,
        closest=closest,
        reduction=reduction,
        direction=direction,
        same=same,
    )
    if not isinstance(loss, (np.ndarray, np.generic)):
        return loss
    import jax.numpy as jnp  # Here, so that importing this module stays cheap.

    return jnp.asarray(loss)


def loss_from_scores(
    scores,
    margin: float = 0.25,
    *,
    closest: str = "hardest",
    reduction: str = "mean",
    direction: str = "rows",
    same=None,
):
    """`TripletLossFn` from the similarity matrix: float [batch, batch], positives on its diagonal."""
    _check_one_of("closest", closest, CLOSEST)
    _check_one_of("reduction", reduction, REDUCTIONS)
    _check_one_of("direction", direction, DIRECTIONS)
    xp = array_namespace(scores, same)
    scores = as_float(xp, scores)
    positive = _diagonal(xp, scores)  # [batch]

    sides = {"rows": [False], "columns": [True], "both": [False, True]}[direction]
    found = []
    for transposed in sides:
        side = xp.transpose(scores) if transposed else scores
        side_same = xp.transpose(xp.asarray(same)) if transposed and same is not None else same
        mean, has_mean = _mean_negative(xp, side, side_same)
        nearest, has_nearest = _closest_negative(xp, side, closest, side_same)
        found.append((mean, has_mean, nearest, has_nearest))
    mean, has_mean = _average(xp, [(f[0], f[1]) for f in found])
    nearest, has_nearest = _average(xp, [(f[2], f[3]) for f in found])

    losses = xp.where(has_mean, hinge(positive, mean, margin), xp.zeros_like(positive))
    losses = losses + xp.where(
        has_nearest, hinge(positive, nearest, margin), xp.zeros_like(positive)
    )
    return {"mean": xp.mean, "sum": xp.sum, "none": lambda x: x}[reduction](losses)


def hinge(positive, negative, margin: float = 0.25):
    """``max(negative - positive + margin, 0)`` for each row.

    Args:
      positive: float [batch]; similarity of each row's duplicate.
      negative: float [batch]; a row's mean or closest negative.
      margin: number >= 0.

    Returns:
      float [batch].

    Raises:
      ShapeError: where the shapes differ. A (4, 1) array minus a (4,) array is a 4 x 4 matrix, and its
        sum is not the loss.
      ArgumentError: where the margin is negative or not one number.
    """
    shape_p, shape_n = np.shape(positive), np.shape(negative)
    if shape_p != shape_n or len(shape_p) != 1:
        raise ShapeError(
            "The hinge takes one positive and one negative for each row, both of shape [batch]; "
            f"positive has shape {shape_p} and negative {shape_n}. Subtracting those would broadcast "
            "to a matrix; drop the extra axis (keepdims, reshape)."
        )
    _check_margin(margin)
    xp = array_namespace(positive, negative)
    gap = as_float(xp, negative) - as_float(xp, positive) + margin
    return xp.maximum(gap, xp.zeros_like(gap))


def mean_negative(scores, same=None):
    """Mean of each row's negatives: everything off the diagonal that is not in `same`.

    Args:
      scores: float [batch, batch].
      same: None, or bool [batch, batch] of pairs that are no negatives.

    Returns:
      float [batch]; 0 for a row without negatives.
    """
    xp = array_namespace(scores, same)
    return _mean_negative(xp, as_float(xp, scores), same)[0]


def closest_negative(scores, closest: str = "hardest", same=None):
    """Each row's closest negative: the largest similarity among the allowed ones.

    Args:
      scores: float [batch, batch].
      closest: 'hardest', or 'below_positive' for those that do not exceed the row's positive.
      same: None, or bool [batch, batch] of pairs that are no negatives.

    Returns:
      float [batch]; -2, which is below any cosine, for a row without an allowed negative.
    """
    _check_one_of("closest", closest, CLOSEST)
    xp = array_namespace(scores, same)
    return _closest_negative(xp, as_float(xp, scores), closest, same)[0]


@keeping_generators()
def TripletLoss(margin: float = 0.25, **options: Any):
    """The loss as a Trax layer, printed ``TripletLoss_in2``.

    Args:
      margin: see `TripletLossFn`.
      **options: `closest`, `reduction`, `direction` of `TripletLossFn`. With ``same=True`` the layer takes
        a third input, bool [batch, batch], and hands it on.

    Returns:
      A `tl.Fn` layer that takes (v1, v2) and returns the loss.
    """
    from siamese import compat

    compat.prepare()
    from trax import layers as tl

    with_same = options.pop("same", False)
    loss = partial(TripletLossFn, margin=margin, **options)
    loss_from_scores(
        np.eye(2), margin, **options
    )  # Wrong options are an error here, not in the middle of training.

    def TripletLoss(v1, v2):
        return loss(v1, v2)

    def TripletLossSame(v1, v2, same):
        return loss(v1, v2, same=same)

    layer = tl.Fn("TripletLoss", TripletLossSame if with_same else TripletLoss)
    layer._margin = (
        margin  # The training loop knows collapse by it. (Trax allows private names only.)
    )
    return layer


def _negatives(xp, scores, same):
    """Bool [batch, batch]: off the diagonal, and not known duplicates."""
    shape = np.shape(scores)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ShapeError(
            f"A similarity matrix of duplicates is square [batch, batch]; this one has shape {shape}."
        )
    if shape[0] < 2:
        raise ArgumentError(
            "The loss needs at least 2 pairs in a batch: the other pairs are the negatives, "
            "and a batch of 1 has none."
        )
    allowed = ~np.eye(shape[0], dtype=bool)
    if same is None:
        return xp.asarray(allowed)
    if np.shape(same) != shape:
        raise ShapeError(f"same must have the scores' shape {shape}; it has {np.shape(same)}.")
    same = xp.asarray(same)
    if "bool" not in str(same.dtype):
        raise ArgumentError(f"same must be an array of bool; its dtype is {same.dtype}.")
    return xp.logical_and(xp.asarray(allowed), xp.logical_not(same))


def _diagonal(xp, scores):
    _negatives(xp, scores, None)  # checks the shape
    return xp.sum(xp.where(xp.asarray(np.eye(scores.shape[0], dtype=bool)), scores, 0), axis=1)


def _mean_negative(xp, scores, same):
    allowed = _negatives(xp, scores, same)
    kept = xp.where(allowed, scores, xp.zeros_like(scores))
    count = xp.sum(xp.where(allowed, xp.ones_like(scores), xp.zeros_like(scores)), axis=1)
    return xp.sum(kept, axis=1) / xp.maximum(count, xp.ones_like(count)), count > 0


def _closest_negative(xp, scores, closest, same):
    allowed = _negatives(xp, scores, same)
    if closest == "below_positive":
        allowed = xp.logical_and(allowed, scores <= _diagonal(xp, scores)[:, None])
    some = xp.any(allowed, axis=1)
    # Below everything, not only below the cosines: dot products of longer vectors may pass -2.
    nearest = xp.max(xp.where(allowed, scores, xp.full_like(scores, -np.inf)), axis=1)
    return xp.where(some, nearest, xp.full_like(nearest, _NEVER)), some


def _average(xp, values_and_presence):
    """Mean over the directions in which a row has a negative, and whether it has one at all."""
    if len(values_and_presence) == 1:
        return values_and_presence[0]
    (a, has_a), (b, has_b) = values_and_presence
    both = xp.logical_and(has_a, has_b)
    return xp.where(both, (a + b) / 2, xp.where(has_a, a, b)), xp.logical_or(has_a, has_b)


def _check_margin(margin: Any) -> None:
    number = np.shape(margin) == () and not isinstance(margin, (str, bytes, type(None)))
    # A value that JAX is still tracing cannot be compared.
    known = isinstance(margin, (int, float, np.number))
    if not number or (known and not 0 <= margin < float("inf")):
        raise ArgumentError(f"margin must be a number >= 0; it is {margin!r}.")


def _check_vectors(function: str, v1, v2) -> None:
    shape1, shape2 = np.shape(v1), np.shape(v2)
    if len(shape1) != 2 or shape1 != shape2:
        raise ShapeError(
            f"{function} takes two matrices of one shape [batch, d_model]; "
            f"v1 has shape {shape1} and v2 {shape2}."
        )


def _check_one_of(name: str, value: Any, accepted: tuple[str, ...]) -> None:
    if value not in accepted:
        raise ArgumentError(
            f"{name} must be one of {', '.join(map(repr, accepted))}; it is {value!r}."
        )
