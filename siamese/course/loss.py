"""The modified triplet loss: mean negative and closest negative over the in-batch similarity matrix.

For a similarity matrix S of B duplicate pairs (rows question1, columns question2), pos_i = S[i, i] and
margin a::

    mean_neg_i    = sum over j != i of S[i, j] / (B - 1)
    closest_neg_i = max over allowed j of S[i, j]
    loss_i        = max(mean_neg_i - pos_i + a, 0) + max(closest_neg_i - pos_i + a, 0)

The editions of the course differ in two words (`EDITIONS`): which negatives may be the
closest one, and whether the rows' losses are averaged or summed. The mean negative
makes training steady, the closest negative makes it learn: both are known from the
course. In-batch negatives for sentence pairs go back to Henderson et al., 2017
(arXiv:1705.00652), the triplet hinge and semi-hard negatives to Schroff et al., 2015
(arXiv:1503.03832).
"""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from siamese.errors import ArgumentError, ShapeError
from siamese.nn.arrays import Numbers
from siamese.nn.similarity import similarity_matrix
from siamese.nn.triplet import (
    EDITIONS,
    closest_negative,
    hinge,
    loss_from_scores,
    mean_negative,
)
from siamese.system.process import keeping_generators

if TYPE_CHECKING:
    import jax
    from trax.layers import Layer
    from trax.supervised.training import Loop

# The terms of the formula, which notebooks look at one by one.
__all__ = [
    "EDITIONS",
    "TripletLoss",
    "TripletLossFn",
    "closest_negative",
    "edition",
    "hinge",
    "loss_from_scores",
    "mean_negative",
]


def TripletLossFn(
    v1: Numbers,
    v2: Numbers,
    margin: float = 0.25,
    *,
    closest: str = "semi_hard",
    reduction: str = "sum",
    direction: str = "rows",
    false_negative_mask: Numbers | None = None,
) -> jax.Array:
    """Triplet loss of two batches of question vectors; row i of v1 is a duplicate of row i of v2.

    The defaults are those of the edition of 2023; `siamese.edition` has the others. v1
    and v2 are float [batch, d_model], rows of length 1 (the model's Normalize layer
    sees to it), `margin` >= 0 is how much more similar a duplicate must be than a
    negative, in cosine. The result is a JAX number (float [batch] with
    ``reduction='none'``). For the other arguments and the errors see
    `siamese.nn.triplet.loss_from_scores`.

    Example:
      >>> a, b = np.array([0.6, 0.8]), np.array([0.8, 0.6])
      >>> round(float(TripletLossFn([a, -b], [a, b])), 4)
      0.71
      >>> round(float(TripletLossFn([a, -b], [a, b], closest="hardest", reduction="mean")), 4)
      0.5
    """
    scores = similarity_matrix(v1, v2, normalize=False)  # [batch, batch]
    if np.shape(v1)[0] != np.shape(v2)[0]:
        raise ShapeError(
            f"v1 and v2 differ in their rows: {np.shape(v1)} and {np.shape(v2)}."
        )
    import jax.numpy as jnp  # Here, so that importing this module stays cheap.

    options = {"closest": closest, "reduction": reduction, "direction": direction}
    return jnp.asarray(
        loss_from_scores(
            scores, margin, false_negative_mask=false_negative_mask, **options
        )
    )


@keeping_generators()
def TripletLoss(
    margin: float = 0.25,
    *,
    closest: str = "semi_hard",
    reduction: str = "sum",
    false_negative_mask: bool = False,
) -> Layer:
    """The loss as a Trax layer, a `tl.Fn` of (v1, v2), printed ``TripletLoss_in2``.

    The arguments are those of `TripletLossFn`, but for `false_negative_mask`: the layer
    then takes a third input, bool [batch, batch].

    Example:
      >>> str(TripletLoss()), str(TripletLoss(false_negative_mask=True))
      ('TripletLoss_in2', 'TripletLoss_in3')
    """
    from trax import layers as tl

    loss = partial(TripletLossFn, margin=margin, closest=closest, reduction=reduction)
    # Wrong options are an error here, not in the middle of training.
    loss(np.eye(2), np.eye(2))
    if false_negative_mask:
        return tl.Fn(
            "TripletLoss", lambda v1, v2, mask: loss(v1, v2, false_negative_mask=mask)
        )
    return tl.Fn("TripletLoss", loss)


def _train_model(*arguments: Any, **named: Any) -> Loop:
    """`siamese.train_model`, which takes the call of every edition; loads Trax."""
    from siamese.course.train_model import train_model

    return train_model(*arguments, **named)


def edition(year: int) -> SimpleNamespace:
    """The functions of the Trax edition of a year, 2020 to 2023: TripletLossFn, TripletLoss, train_model.

    `siamese.TripletLossFn` is 2023's. Until 2022 the closest negative was the hardest
    one and the loss the mean over the batch; in 2023 the closest negative became the
    lecture's (not more similar than the duplicate), and the loss the sum. In 2020
    train_model had the schedule as its third argument.

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
