"""The modified triplet loss of a similarity matrix: mean negative and closest negative.

The formula and its terms are in the docstring of `siamese.course.loss`. Nothing here
needs Trax: NumPy arrays give NumPy's, JAX arrays JAX's.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np

from siamese.errors import ArgumentError, ShapeError
from siamese.nn.arrays import Array, Numbers, array_namespace, as_float
from siamese.system.arguments import as_number, one_of
from siamese.system.open_types import Keywords

CLOSEST = ("semi_hard", "hardest")
REDUCTIONS = ("sum", "mean", "none")
DIRECTIONS = ("rows", "columns", "both")

# Edition of the Trax course -> the words of its loss. The last one is the default
# everywhere.
EDITIONS: dict[int, Keywords] = {
    year: {"closest": "hardest", "reduction": "mean"} for year in (2020, 2021, 2022)
}
EDITIONS[2023] = {"closest": "semi_hard", "reduction": "sum"}


def loss_from_scores(
    scores: Numbers,
    margin: float = 0.25,
    *,
    closest: str = "semi_hard",
    reduction: str = "sum",
    direction: str = "rows",
    false_negative_mask: Numbers | None = None,
) -> Array:
    """The triplet loss of the similarity matrix of a batch.

    Args:
      scores: float [batch, batch], positives on the diagonal.
      margin: >= 0.
      closest: 'semi_hard' (the lecture, the edition of 2023) takes as the closest negative the largest
        similarity off the diagonal that does not exceed the row's positive, and a row with none adds
        nothing; 'hardest' (the editions until 2022) the largest of all.
      reduction: 'sum' (2023), 'mean' (until 2022), or 'none' for one loss per row.
      direction: 'rows' (the course), 'columns', or 'both', the symmetric form: the row's and the
        column's negatives are averaged before the hinge.
      false_negative_mask: None, or bool [batch, batch]: True where question1 of row i and question2 of
        row j are known to be duplicates. Off the diagonal they are not negatives.

    Returns:
      A number, or float [batch] with ``reduction='none'``, of the kind of `scores`.

    Raises:
      ShapeError: `scores` is not square, or the mask has another shape.
      ArgumentError: another argument is outside what is listed above, or there is only one row.
    """
    one_of(reduction, "reduction", REDUCTIONS)
    one_of(direction, "direction", DIRECTIONS)
    xp = array_namespace(scores, false_negative_mask)
    scores = as_float(xp, scores)
    negative = negative_mask(scores, false_negative_mask)  # [batch, batch]
    positive = positives(scores)  # [batch]
    rows = (scores, negative)
    columns = (xp.transpose(scores), xp.transpose(negative))
    sides = {"rows": [rows], "columns": [columns], "both": [rows, columns]}[direction]
    means = [mean_negative(*side) for side in sides]
    nearest = [closest_negative(side, closest, negative) for side, negative in sides]
    losses = hinge(positive, _average(xp, *means), margin)
    losses = losses + hinge(positive, _average(xp, *nearest), margin)
    return losses if reduction == "none" else getattr(xp, reduction)(losses)


def hinge(positive: Numbers, negative: Numbers, margin: float | Array = 0.25) -> Array:
    """``max(negative - positive + margin, 0)``, float [batch], of each row's duplicate and a negative.

    Raises:
      ShapeError: where the shapes differ: a (4, 1) array minus a (4,) array would be a 4 x 4 matrix.
      ArgumentError: where the margin is negative or not one number.
    """
    shape_p = np.shape(positive)
    shape_n = np.shape(negative)
    if shape_p != shape_n or len(shape_p) != 1:
        raise ShapeError(
            "The hinge takes one positive and one negative for each row, both of shape [batch]; "
            f"positive has shape {shape_p} and negative {shape_n}: drop the extra axis (keepdims)."
        )
    # JAX may still be tracing a number.
    if np.shape(margin) or array_namespace(margin) is np:
        margin = as_number(margin, "margin", 0, 1e30)
    xp = array_namespace(positive, negative)
    gap = as_float(xp, negative) - as_float(xp, positive) + margin
    return xp.maximum(gap, xp.zeros_like(gap))


# Without a negative both are -inf, whose hinge is 0. (The lecture's -2 is below any
# cosine, but not below the dot products of longer vectors.) `negative`, bool [batch,
# batch], is that of `negative_mask`.


def mean_negative(scores: Numbers, negative: Array | None = None) -> Array:
    """Mean of each row's negatives, of scores as in `loss_from_scores`: float [batch]."""
    xp = array_namespace(scores)
    scores = as_float(xp, scores)
    negative = negative_mask(scores) if negative is None else negative
    total = xp.sum(scores, axis=1, where=negative)
    count = xp.sum(negative, axis=1, dtype=scores.dtype)
    return xp.where(count > 0, total / xp.maximum(count, 1), -np.inf)


def closest_negative(
    scores: Numbers, closest: str = "semi_hard", negative: Array | None = None
) -> Array:
    """Each row's largest allowed negative, of scores as in `loss_from_scores`: float [batch]."""
    one_of(closest, "closest", CLOSEST)
    xp = array_namespace(scores)
    scores = as_float(xp, scores)
    negative = negative_mask(scores) if negative is None else negative
    if closest != "hardest":
        negative = xp.logical_and(negative, scores <= positives(scores)[:, None])
    return xp.max(xp.where(negative, scores, -np.inf), axis=1)


# ---- Parts that other losses use too ----


def negative_mask(scores: Numbers, false_negative_mask: Numbers | None = None) -> Array:
    """Bool [batch, batch]: True off the diagonal, where no duplicate is known."""
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
    xp = array_namespace(scores, false_negative_mask)
    negative = xp.asarray(~np.eye(shape[0], dtype=bool))
    if false_negative_mask is None:
        return negative
    mask = xp.asarray(false_negative_mask)
    if tuple(mask.shape) != shape:
        raise ShapeError(
            f"false_negative_mask must have the scores' shape {shape}; it has {tuple(mask.shape)}."
        )
    if "bool" not in str(mask.dtype):
        raise ArgumentError(
            f"false_negative_mask must be an array of bool; its dtype is {mask.dtype}."
        )
    return xp.logical_and(negative, xp.logical_not(mask))


def positives(scores: Numbers) -> Array:
    """The diagonal of the similarity matrix: float [batch]."""
    xp = array_namespace(scores)
    diagonal = xp.asarray(np.eye(np.shape(scores)[0], dtype=bool))
    return xp.sum(xp.where(diagonal, scores, xp.zeros_like(scores)), axis=1)


def _average(xp: ModuleType, a: Array, b: Array | None = None) -> Array:
    """Mean over the sides in which a row has a negative: float [batch]."""
    return (
        a
        if b is None
        else xp.where(a == -np.inf, b, xp.where(b == -np.inf, a, (a + b) / 2))
    )
