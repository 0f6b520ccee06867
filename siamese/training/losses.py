"""The losses of training, on a matrix of scores: the course's triplet loss and the ranking loss.

For a similarity matrix S of B duplicate pairs and temperature t, the multiple-negatives ranking loss asks
each question to find its duplicate among all questions of the other side, a softmax with cross-entropy::

    loss_i = log(sum over allowed j of exp(S[i, j] / t)) - S[i, i] / t

(Henderson et al., 2017, arXiv:1705.00652, whose `scale` is 1 / t; also InfoNCE, van den
Oord et al., 2018, arXiv:1807.03748; in both directions CLIP's loss, Radford et al.,
2021, arXiv:2103.00020.)

Labelled pairs of both kinds take part through a logistic regression on their cosine c, with fixed slope and
centre::

    loss_k = log(1 + exp(-s_k (c_k - centre) / t2)),  s_k = 1 for a duplicate, -1 for another pair

The triplet loss is `siamese.nn.triplet.loss_from_scores`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import jax
import jax.numpy as jnp

from siamese.nn.arrays import Array
from siamese.nn.triplet import EDITIONS, loss_from_scores, negative_mask, positives
from siamese.system.arguments import one_of
from siamese.training.config import TrainConfig

# Of scores, a mask, cosines and labels: what is minimised, and the mean loss a pair.
Loss: TypeAlias = Callable[..., tuple[jax.Array, jax.Array]]

TEMPERATURE = 0.05
# Slope and centre of the pairwise loss. Learnt ones stayed at 9 to 11 and 0.53 to 0.56,
# so they are fixed.
PAIR_TEMPERATURE = 0.1
PAIR_CENTRE = 0.55


def ranking_loss(scores: Array, false_negative_mask: Array | None = None) -> jax.Array:
    """The multiple-negatives ranking loss of a similarity matrix, the mean of both directions.

    It is float [batch], >= 0, and 0 for a row without negatives. Arguments and errors
    are those of `siamese.nn.triplet.loss_from_scores`.

    Example:
      >>> losses = ranking_loss(jnp.array([[1.0, 0.95], [0.95, 1.0]]))
      >>> [round(float(loss), 4) for loss in losses]  # log(1 + exp(-1))
      [0.3133, 0.3133]
    """
    logits = jnp.asarray(scores) / TEMPERATURE
    # The positive itself is part of the sum, beside the negatives.
    counted = negative_mask(logits, false_negative_mask) | jnp.eye(
        len(logits), dtype=bool
    )
    rows = jax.nn.logsumexp(logits, axis=1, where=counted)
    columns = jax.nn.logsumexp(logits, axis=0, where=counted)
    return (rows + columns) / 2 - positives(logits)


def pair_loss(cosines: Array, is_duplicate: Array) -> jax.Array:
    """The logistic loss, float [pairs], of labelled pairs: cosines, and labels 0 or 1, [pairs] each.

    Example:
      >>> pair_loss(jnp.array([0.55, 0.55]), jnp.array([1, 0])).round(4)  # log 2
      Array([0.6931, 0.6931], dtype=float32)
    """
    sign = jnp.where(jnp.asarray(is_duplicate) > 0, 1.0, -1.0)
    return -jax.nn.log_sigmoid(
        sign * (jnp.asarray(cosines) - PAIR_CENTRE) / PAIR_TEMPERATURE
    )


def make_loss(config: TrainConfig) -> Loss:
    """The loss of a configuration, that of its name in `LOSSES`.

    It is a function (scores [batch, batch], false_negative_mask, cosines [pairs],
    is_duplicate [pairs]), the last three None where a batch has none, -> (the number
    that is minimised, the mean loss a pair). They differ for the course's edition of
    2023, which minimises the sum.

    Raises:
      ArgumentError: no loss has the configuration's name.
    """
    one_of(config.loss, "loss", tuple(LOSSES))
    return LOSSES[config.loss](config)


def _triplet(config: TrainConfig) -> Loss:
    """The course's triplet loss, of the configuration's edition, margin and direction."""
    edition = EDITIONS[config.edition]

    def loss(
        scores: Array, false_negative_mask: Array | None = None
    ) -> tuple[jax.Array, jax.Array]:
        losses = loss_from_scores(
            scores,
            config.margin,
            closest=edition["closest"],
            reduction="none",
            direction=config.direction,
            false_negative_mask=false_negative_mask,
        )
        mean = jnp.mean(losses)
        minimised = jnp.sum(losses) if edition["reduction"] == "sum" else mean
        return minimised, mean

    return loss


def _ranking(config: TrainConfig) -> Loss:
    """The ranking loss, and that of labelled pairs where a batch has them."""

    def loss(
        scores: Array,
        false_negative_mask: Array | None = None,
        cosines: Array | None = None,
        is_duplicate: Array | None = None,
    ) -> tuple[jax.Array, jax.Array]:
        mean = jnp.mean(ranking_loss(scores, false_negative_mask))
        if cosines is not None and is_duplicate is not None:
            mean = mean + config.pair_loss_weight * jnp.mean(
                pair_loss(cosines, is_duplicate)
            )
        return mean, mean

    return loss


# The names that `TrainConfig.loss` accepts, and what makes the loss of each.
LOSSES: dict[str, Callable[[TrainConfig], Loss]] = {
    "triplet": _triplet,
    "ranking": _ranking,
}
