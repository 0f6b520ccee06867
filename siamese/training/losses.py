"""The multiple-negatives ranking loss, and an auxiliary loss of labelled pairs.

For a similarity matrix S of B duplicate pairs and temperature t, each question is to find its duplicate
among all questions of the other side, a softmax with cross-entropy::

    loss_i = log(sum over allowed j of exp(S[i, j] / t)) - S[i, i] / t

This is the multiple-negatives ranking loss (Henderson et al., 2017, arXiv:1705.00652), whose `scale` is
1 / t, and InfoNCE (van den Oord et al., 2018, arXiv:1807.03748); in both directions it is CLIP's loss
(Radford et al., 2021, arXiv:2103.00020).

Labelled pairs of both kinds take part through a logistic regression on their cosine c, with fixed slope and
centre::

    loss_k = log(1 + exp(-s_k (c_k - centre) / t2)),  s_k = 1 for a duplicate, -1 for another pair
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from trax import layers as tl

from siamese.compat.randomness import keeping_generators
from siamese.course.loss import check_vectors, negative_mask, positives
from siamese.course.similarity import similarity_matrix
from siamese.data.arguments import one_of
from siamese.errors import ArgumentError, ShapeError

# Slope and centre of the pairwise loss. Learnt ones stayed at 9 to 11 and 0.53 to 0.56, so they are fixed.
PAIR_TEMPERATURE, PAIR_CENTRE = 0.1, 0.55

_AXES = {"rows": (1,), "columns": (0,), "both": (1, 0)}


def RankingLossFn(
    v1, v2, temperature: float = 0.05, *, direction: str = "both", false_negative_mask=None
):
    """Ranking loss of two batches of question vectors; row i of v1 is a duplicate of row i of v2.

    Args:
      v1: float [batch, d], rows of length 1.
      v2: float [batch, d], likewise.
      temperature: what cosines are divided by; > 0. The smaller, the more the closest negatives count.
      direction: 'rows' (question1 looks for its question2), 'columns', or 'both', their mean.
      false_negative_mask: None, or bool [batch, batch]: True where question1 of row i and question2 of
        row j are known duplicates off the diagonal; they do not count as negatives.

    Returns:
      A JAX number >= 0; 0 where no row has a negative. ShapeError or ArgumentError for what does not fit.

    Example:
      >>> round(float(RankingLossFn(np.eye(2), np.eye(2), temperature=1.0)), 4)  # log(1 + exp(-1))
      0.3133
    """
    _check(temperature, direction)
    check_vectors("RankingLossFn", v1, v2)
    scores = similarity_matrix(jnp.asarray(v1), jnp.asarray(v2), normalize=False) / temperature
    # The positive itself is part of the sum, beside the negatives.
    counted = negative_mask(scores, false_negative_mask) | jnp.eye(len(scores), dtype=bool)
    positive = positives(scores)  # [batch]
    losses = [
        jnp.mean(jax.nn.logsumexp(scores, axis=axis, where=counted) - positive)
        for axis in _AXES[direction]
    ]
    return sum(losses) / len(losses)


def PairLossFn(cosines, is_duplicate):
    """Mean logistic loss, >= 0, of labelled pairs: float cosines, bool or integer labels, [pairs] each.

    Example:
      >>> round(float(PairLossFn(np.array([0.55, 0.55]), np.array([1, 0]))), 4)  # log 2
      0.6931
    """
    if np.shape(cosines) != np.shape(is_duplicate) or np.ndim(cosines) != 1:
        raise ShapeError(
            f"PairLossFn takes a cosine and a label for each pair; their shapes are "
            f"{np.shape(cosines)} and {np.shape(is_duplicate)}."
        )
    sign = jnp.where(jnp.asarray(is_duplicate) > 0, 1.0, -1.0)
    logits = sign * (jnp.asarray(cosines) - PAIR_CENTRE) / PAIR_TEMPERATURE  # [pairs]
    return -jnp.mean(jax.nn.log_sigmoid(logits))


@keeping_generators()
def RankingLoss(
    temperature: float = 0.05,
    *,
    direction: str = "both",
    false_negative_mask: bool = False,
    pairs: bool = False,
    pair_loss_weight: float = 1.0,
):
    """`RankingLossFn` as a Trax layer: (v1, v2), then mask and labels where asked for, to one number.

    With `pairs` the layer takes one more input, is_duplicate [pairs]: so many rows at the end of v1 and v2
    are labelled pairs, for `PairLossFn` alone, and `pair_loss_weight` is the weight of their mean loss.
    """
    _check(temperature, direction)

    def ranking(v1, v2, mask=None):
        return RankingLossFn(v1, v2, temperature, direction=direction, false_negative_mask=mask)

    def with_pairs(v1, v2, mask, is_duplicate):
        batch = v1.shape[0] - is_duplicate.shape[0]
        cosines = (v1[batch:] * v2[batch:]).sum(axis=-1)
        pair_loss = PairLossFn(cosines, is_duplicate)
        return ranking(v1[:batch], v2[:batch], mask) + pair_loss_weight * pair_loss

    # Trax reads a layer's number of inputs off its function.
    forms = {
        (False, False): lambda v1, v2: ranking(v1, v2),
        (True, False): lambda v1, v2, mask: ranking(v1, v2, mask),
        (False, True): lambda v1, v2, is_duplicate: with_pairs(v1, v2, None, is_duplicate),
        (True, True): with_pairs,
    }
    return tl.Fn("RankingLoss", forms[bool(false_negative_mask), bool(pairs)])


def _check(temperature: float, direction: str) -> None:
    number = isinstance(temperature, (int, float, np.number)) and not isinstance(temperature, bool)
    if not number or not 0 < temperature < float("inf"):
        raise ArgumentError(f"temperature must be a number above 0; it is {temperature!r}.")
    one_of(direction, "direction", tuple(_AXES))
