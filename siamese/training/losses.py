"""The temperature softmax over the same similarity matrix, and a logistic loss on labelled pairs.

For a similarity matrix S of B duplicate pairs and temperature t, each question is to find its duplicate
among all questions of the other side::

    loss_i = log(sum over allowed j of exp(S[i, j] / t)) - S[i, i] / t

Where the triplet loss looks at the mean and the closest negative, this one weighs all negatives, the
closer ones more (Henderson et al., 2017, arXiv:1705.00652; with a temperature on cosines, van den Oord
et al., 2018, arXiv:1807.03748; in both directions, Radford et al., 2021, arXiv:2103.00020).

In-batch negatives are mostly about something else, and labelled non-duplicates are not: labelled pairs
of both kinds take part through a logistic regression on their cosine c, with fixed slope and centre::

    loss_k = log(1 + exp(-s_k (c_k - centre) / t2)),  s_k = 1 for a duplicate, -1 for another pair
"""

from __future__ import annotations

from typing import Any

import numpy as np

from siamese.arguments import one_of
from siamese.compat.randomness import keeping_generators
from siamese.course.loss import DIRECTIONS, check_vectors, negative_mask, positives
from siamese.course.similarity import array_namespace, as_float, similarity_matrix
from siamese.errors import ArgumentError, ShapeError

# Slope and centre of the logistic loss. Learnt ones stayed at 9 to 11 and 0.53 to 0.56, so they are fixed.
LABEL_TEMPERATURE, LABEL_CENTRE = 0.1, 0.55


def SoftmaxLossFn(
    v1, v2, temperature: float = 0.05, *, direction: str = "both", false_negative_mask=None
):
    """Softmax loss of two batches of question vectors; row i of v1 is a duplicate of row i of v2.

    Args:
      v1: float [batch, d], rows of length 1.
      v2: float [batch, d], likewise.
      temperature: what cosines are divided by; > 0. The smaller, the more the closest negatives count.
      direction: 'rows' (question1 looks for its question2), 'columns', or 'both', their mean.
      false_negative_mask: None, or bool [batch, batch]: True where question1 of row i and question2 of
        row j are known to be duplicates; off the diagonal they are not negatives.

    Returns:
      A number >= 0; 0 where no row has a negative.

    Raises:
      ShapeError: v1 and v2 are not two matrices of one shape, or `false_negative_mask` does not fit them.
      ArgumentError: another argument is outside what is listed above, or there is only one row.

    Example:
      >>> round(float(SoftmaxLossFn(np.eye(2), np.eye(2), temperature=1.0)), 4)  # log(1 + exp(-1))
      0.3133
    """
    check_vectors("SoftmaxLossFn", v1, v2)
    one_of(direction, "direction", DIRECTIONS)
    _check_positive("temperature", temperature)
    scores = similarity_matrix(v1, v2, normalize=False)
    xp = array_namespace(scores, false_negative_mask)
    scores = as_float(xp, scores) / temperature  # [batch, batch]
    allowed = negative_mask(scores, false_negative_mask)
    positive = positives(scores)  # [batch]
    # The positive itself is part of the sum; everything else that is no negative is not.
    counted = xp.logical_or(allowed, xp.asarray(np.eye(len(scores), dtype=bool)))
    scores = xp.where(counted, scores, xp.full_like(scores, -np.inf))
    sides = {"rows": [1], "columns": [0], "both": [1, 0]}[direction]
    losses = [_log_sum_exp(xp, scores, axis) - positive for axis in sides]
    return sum(xp.mean(loss) for loss in losses) / len(losses)


def LabelLossFn(cosines, is_duplicate):
    """Mean logistic loss of labelled pairs, from their cosines.

    Args:
      cosines: float [pairs].
      is_duplicate: bool or integer [pairs].

    Returns:
      A number >= 0.

    Raises:
      ShapeError: where the two do not have one shape [pairs].

    Example:
      >>> round(float(LabelLossFn(np.array([0.55, 0.55]), np.array([1, 0]))), 4)  # log 2
      0.6931
    """
    if np.shape(cosines) != np.shape(is_duplicate) or len(np.shape(cosines)) != 1:
        raise ShapeError(
            f"LabelLossFn takes a cosine and a label for each pair; the cosines have shape "
            f"{np.shape(cosines)} and the labels {np.shape(is_duplicate)}."
        )
    xp = array_namespace(cosines, is_duplicate)
    cosines = as_float(xp, cosines)
    sign = xp.where(xp.asarray(is_duplicate) > 0, xp.ones_like(cosines), -xp.ones_like(cosines))
    logits = sign * (cosines - LABEL_CENTRE) / LABEL_TEMPERATURE  # [pairs]
    # log(1 + exp(-z)) without overflow, for either sign of z.
    zero = xp.zeros_like(logits)
    return xp.mean(xp.maximum(-logits, zero) + xp.log(1 + xp.exp(-xp.abs(logits))))


@keeping_generators()
def SoftmaxLoss(
    temperature: float = 0.05,
    *,
    direction: str = "both",
    false_negative_mask: bool = False,
    labelled: bool = False,
    labelled_weight: float = 1.0,
):
    """The loss as a Trax layer: (v1, v2), then mask and labels where asked for, to one number.

    Args:
      temperature: see `SoftmaxLossFn`.
      direction: likewise.
      false_negative_mask: the layer takes one more input, bool [batch, batch].
      labelled: the layer takes one more input, is_duplicate [pairs]; so many rows at the end of v1 and
        v2 are labelled pairs: they are no part of the similarity matrix, `LabelLossFn` is for them.
      labelled_weight: how much the mean loss of the labelled pairs counts.

    Returns:
      A `tl.Fn` layer named SoftmaxLoss.

    Raises:
      ArgumentError: an argument outside what is listed above.
    """
    one_of(direction, "direction", DIRECTIONS)
    _check_positive("temperature", temperature)
    from siamese import compat

    compat.prepare()
    from trax import layers as tl

    def parts(v1, v2, mask, is_duplicate):
        rows = v1.shape[0] - is_duplicate.shape[0]
        loss = SoftmaxLossFn(
            v1[:rows], v2[:rows], temperature, direction=direction, false_negative_mask=mask
        )
        cosines = (v1[rows:] * v2[rows:]).sum(axis=-1)
        return loss + labelled_weight * LabelLossFn(cosines, is_duplicate)

    def plain(v1, v2):
        return SoftmaxLossFn(v1, v2, temperature, direction=direction)

    def with_mask(v1, v2, mask):
        return SoftmaxLossFn(v1, v2, temperature, direction=direction, false_negative_mask=mask)

    def with_labels(v1, v2, is_duplicate):
        return parts(v1, v2, None, is_duplicate)

    forms = {(0, 0): plain, (1, 0): with_mask, (0, 1): with_labels, (1, 1): parts}
    return tl.Fn("SoftmaxLoss", forms[bool(false_negative_mask), bool(labelled)])


def _log_sum_exp(xp, scores, axis: int):
    """log(sum(exp(scores))) along an axis, of numbers of any size."""
    largest = xp.max(scores, axis=axis, keepdims=True)  # Finite: the diagonal is counted.
    total = xp.sum(xp.exp(scores - largest), axis=axis)
    return xp.log(total) + xp.sum(largest, axis=axis)  # The sum drops the axis of length 1.


def _check_positive(name: str, value: Any) -> None:
    if isinstance(value, bool) or not (
        isinstance(value, (int, float, np.number)) and 0 < value < float("inf")
    ):
        raise ArgumentError(f"{name} must be a number > 0; it is {value!r}.")
