"""The modified triplet loss: mean negative and closest negative over the in-batch similarity matrix.

For a similarity matrix S of B duplicate pairs (rows question1, columns question2), pos_i = S[i, i] and
margin a::

    mean_neg_i    = sum over j != i of S[i, j] / (B - 1)
    closest_neg_i = max over allowed j of S[i, j]
    loss_i        = max(mean_neg_i - pos_i + a, 0) + max(closest_neg_i - pos_i + a, 0)

The editions of the course differ in two words (`EDITIONS`): which negatives may be the closest one, and
whether the rows' losses are averaged or summed. The mean negative makes training steady, the closest
negative makes it learn: both are known from the course. In-batch negatives for sentence pairs go back to
Henderson et al., 2017 (arXiv:1705.00652), the triplet hinge and semi-hard negatives to Schroff et al., 2015
(arXiv:1503.03832).
"""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from siamese.compat.process import keeping_generators
from siamese.course.similarity import array_namespace, as_float, similarity_matrix
from siamese.data.arguments import as_number, one_of
from siamese.errors import ArgumentError, ShapeError

CLOSEST = ("semi_hard", "hardest")
REDUCTIONS = ("sum", "mean", "none")
DIRECTIONS = ("rows", "columns", "both")

# Edition of the Trax course -> the words of its loss. The last one is the default everywhere.
EDITIONS: dict[int, dict[str, Any]] = {
    year: {"closest": "hardest", "reduction": "mean"} for year in (2020, 2021, 2022)
}
EDITIONS[2023] = {"closest": "semi_hard", "reduction": "sum"}


def TripletLossFn(
    v1: Any,
    v2: Any,
    margin: float = 0.25,
    *,
    closest: str = "semi_hard",
    reduction: str = "sum",
    direction: str = "rows",
    false_negative_mask: Any = None,
) -> Any:
    """Triplet loss of two batches of question vectors; row i of v1 is a duplicate of row i of v2.

    The defaults are those of the edition of 2023; `siamese.edition` has the others. v1 and v2 are float
    [batch, d_model], rows of length 1 (the model's Normalize layer sees to it), `margin` >= 0 is how much
    more similar a duplicate must be than a negative, in cosine. The result is a JAX number (float [batch]
    with ``reduction='none'``). For the other arguments and the errors see
    `siamese.course.loss.loss_from_scores`.

    Example:
      >>> a, b = np.array([0.6, 0.8]), np.array([0.8, 0.6])
      >>> round(float(TripletLossFn([a, -b], [a, b])), 4)
      0.71
      >>> round(float(TripletLossFn([a, -b], [a, b], closest="hardest", reduction="mean")), 4)
      0.5
    """
    scores = similarity_matrix(v1, v2, normalize=False)  # [batch, batch]
    if len(v1) != len(v2):
        raise ShapeError(f"v1 and v2 differ in their rows: {np.shape(v1)} and {np.shape(v2)}.")
    import jax.numpy as jnp  # Here, so that importing this module stays cheap.

    options = {"closest": closest, "reduction": reduction, "direction": direction}
    return jnp.asarray(
        loss_from_scores(scores, margin, false_negative_mask=false_negative_mask, **options)
    )


@keeping_generators()
def TripletLoss(
    margin: float = 0.25,
    *,
    closest: str = "semi_hard",
    reduction: str = "sum",
    false_negative_mask: bool = False,
) -> Any:
    """The loss as a Trax layer, a `tl.Fn` of (v1, v2), printed ``TripletLoss_in2``.

    The arguments are those of `TripletLossFn`, but for `false_negative_mask`: the layer then takes a third
    input, bool [batch, batch].

    Example:
      >>> str(TripletLoss()), str(TripletLoss(false_negative_mask=True))
      ('TripletLoss_in2', 'TripletLoss_in3')
    """
    from trax import layers as tl

    loss = partial(TripletLossFn, margin=margin, closest=closest, reduction=reduction)
    loss(np.eye(2), np.eye(2))  # Wrong options are an error here, not in the middle of training.
    if false_negative_mask:
        return tl.Fn("TripletLoss", lambda v1, v2, mask: loss(v1, v2, false_negative_mask=mask))
    return tl.Fn("TripletLoss", loss)


def _train_model(*arguments: Any, **named: Any) -> Any:
    """`siamese.train_model`, which takes the call of every edition; loads Trax."""
    from siamese.course.train_model import train_model

    return train_model(*arguments, **named)


def edition(year: int) -> SimpleNamespace:
    """The functions of the Trax edition of a year, 2020 to 2023: TripletLossFn, TripletLoss, train_model.

    `siamese.TripletLossFn` is 2023's. Until 2022 the closest negative was the hardest one and the loss the
    mean over the batch; in 2023 the closest negative became the lecture's (not more similar than the
    duplicate), and the loss the sum. In 2020 train_model had the schedule as its third argument.

    Another year is an ArgumentError.

    Example:
      >>> v1, v2 = [[0.6, 0.8], [-0.8, -0.6]], [[0.6, 0.8], [0.8, 0.6]]
      >>> [round(float(edition(year).TripletLossFn(v1, v2)), 4) for year in (2022, 2023)]
      [0.5, 0.71]
    """
    if year not in EDITIONS:
        raise ArgumentError(
            f"There are Trax editions of {min(EDITIONS)} to {max(EDITIONS)}; year is {year!r}."
        )
    functions = SimpleNamespace(year=year, train_model=_train_model)
    for function in (TripletLossFn, TripletLoss):
        changed = partial(function, **EDITIONS[year])
        for name in ("__module__", "__name__", "__doc__"):
            setattr(changed, name, getattr(function, name))
        setattr(functions, function.__name__, changed)
    return functions


def loss_from_scores(
    scores: Any,
    margin: float = 0.25,
    *,
    closest: str = "semi_hard",
    reduction: str = "sum",
    direction: str = "rows",
    false_negative_mask: Any = None,
) -> Any:
    """`TripletLossFn` from the similarity matrix.

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
    rows, columns = (scores, negative), (xp.transpose(scores), xp.transpose(negative))
    sides = {"rows": [rows], "columns": [columns], "both": [rows, columns]}[direction]
    means = [mean_negative(*side) for side in sides]
    nearest = [closest_negative(side, closest, negative) for side, negative in sides]
    losses = hinge(positive, _average(xp, *means), margin)
    losses = losses + hinge(positive, _average(xp, *nearest), margin)
    return losses if reduction == "none" else getattr(xp, reduction)(losses)


def hinge(positive: Any, negative: Any, margin: Any = 0.25) -> Any:
    """``max(negative - positive + margin, 0)``, float [batch], of each row's duplicate and a negative.

    Raises:
      ShapeError: where the shapes differ: a (4, 1) array minus a (4,) array would be a 4 x 4 matrix.
      ArgumentError: where the margin is negative or not one number.
    """
    shape_p, shape_n = np.shape(positive), np.shape(negative)
    if shape_p != shape_n or len(shape_p) != 1:
        raise ShapeError(
            "The hinge takes one positive and one negative for each row, both of shape [batch]; "
            f"positive has shape {shape_p} and negative {shape_n}: drop the extra axis (keepdims)."
        )
    if np.shape(margin) or array_namespace(margin) is np:  # JAX may still be tracing a number.
        margin = as_number(margin, "margin", 0, 1e30)
    xp = array_namespace(positive, negative)
    gap = as_float(xp, negative) - as_float(xp, positive) + margin
    return xp.maximum(gap, xp.zeros_like(gap))


# Without a negative both are -inf, whose hinge is 0. (The lecture's -2 is below any cosine, but not below
# the dot products of longer vectors.) `negative`, bool [batch, batch], is that of `negative_mask`.


def mean_negative(scores: Any, negative: Any = None) -> Any:
    """Mean of each row's negatives, of scores as in `loss_from_scores`: float [batch]."""
    xp = array_namespace(scores)
    scores = as_float(xp, scores)
    negative = negative_mask(scores) if negative is None else negative
    total = xp.sum(scores, axis=1, where=negative)
    count = xp.sum(negative, axis=1, dtype=scores.dtype)
    return xp.where(count > 0, total / xp.maximum(count, 1), -np.inf)


def closest_negative(scores: Any, closest: str = "semi_hard", negative: Any = None) -> Any:
    """Each row's largest allowed negative, of scores as in `loss_from_scores`: float [batch]."""
    one_of(closest, "closest", CLOSEST)
    xp = array_namespace(scores)
    scores = as_float(xp, scores)
    negative = negative_mask(scores) if negative is None else negative
    if closest != "hardest":
        negative = xp.logical_and(negative, scores <= positives(scores)[:, None])
    return xp.max(xp.where(negative, scores, -np.inf), axis=1)


# ---- Parts that other losses use too ----


def negative_mask(scores: Any, false_negative_mask: Any = None) -> Any:
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


def positives(scores: Any) -> Any:
    """The diagonal of the similarity matrix: float [batch]."""
    xp = array_namespace(scores)
    diagonal = xp.asarray(np.eye(np.shape(scores)[0], dtype=bool))
    return xp.sum(xp.where(diagonal, scores, xp.zeros_like(scores)), axis=1)


def _average(xp: Any, a: Any, b: Any = None) -> Any:
    """Mean over the sides in which a row has a negative: float [batch]."""
    return a if b is None else xp.where(a == -np.inf, b, xp.where(b == -np.inf, a, (a + b) / 2))
