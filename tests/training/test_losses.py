"""The ranking loss and the loss of labelled pairs against loops in float64; a configuration's loss."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from siamese import TrainConfig
from siamese.course.loss import loss_from_scores
from siamese.training.losses import (
    PAIR_CENTRE,
    PAIR_TEMPERATURE,
    TEMPERATURE,
    make_loss,
    pair_loss,
    plateau,
    ranking_loss,
)

SCORES = np.random.RandomState(0).uniform(-1, 1, (6, 6))
MASK = np.zeros((6, 6), bool)
MASK[0, 3] = MASK[4, 1] = True


def loop_loss(scores, mask):
    """-log of the positive's share of exp(cosine / temperature), for each row; the mean of both sides."""
    losses = np.zeros(len(scores))
    for side, known in ((scores, mask), (scores.T, mask.T)):
        for i, row in enumerate(side):
            terms = [math.exp(s / TEMPERATURE) for s, other in zip(row, known[i]) if not other]
            losses[i] += (math.log(sum(terms)) - row[i] / TEMPERATURE) / 2
    return losses


@pytest.mark.parametrize("mask", [None, MASK])
def test_equals_the_loop(mask):
    expected = loop_loss(SCORES, np.zeros_like(MASK) if mask is None else mask)
    with jax.enable_x64(True):
        np.testing.assert_allclose(ranking_loss(SCORES, mask), expected, rtol=1e-12)
    np.testing.assert_allclose(ranking_loss(SCORES, mask), expected, rtol=1e-3, atol=1e-5)


def test_a_row_without_negatives_has_neither_loss_nor_gradient():
    scores, mask = jnp.asarray(SCORES[:2, :2], jnp.float32), jnp.asarray(~np.eye(2, dtype=bool))
    loss, gradient = jax.value_and_grad(lambda s: ranking_loss(s, mask).sum())(scores)
    assert float(loss) == 0.0
    np.testing.assert_array_equal(gradient, np.zeros_like(gradient))


def test_the_loss_of_a_configuration():
    cosines, labels = np.array([0.3, 0.8]), np.array([0, 1])
    p = 1 / (1 + np.exp(-(cosines - PAIR_CENTRE) / PAIR_TEMPERATURE))
    pairs = -np.log([1 - p[0], p[1]])
    np.testing.assert_allclose(pair_loss(cosines, labels), pairs, rtol=1e-5)
    expected = loop_loss(SCORES, MASK).mean() + 0.5 * pairs.mean()
    loss = make_loss(TrainConfig.preset("best", pair_loss_weight=0.5))
    for number in loss(SCORES, MASK, cosines, labels):
        assert float(number) == pytest.approx(expected, rel=1e-5)
    for edition, closest, total in ((2022, "hardest", np.mean), (2023, "semi_hard", np.sum)):
        loss = make_loss(TrainConfig(edition=edition, margin=0.3))
        rows = loss_from_scores(SCORES, 0.3, closest=closest, reduction="none")
        minimised, mean = loss(SCORES)
        assert float(minimised) == pytest.approx(float(total(rows)), rel=1e-5)
        assert float(mean) == pytest.approx(float(np.mean(rows)), rel=1e-5)
        equal = 1 + 1e-7 * np.random.RandomState(0).randn(64, 64)  # all vectors, but for rounding
        assert float(loss(equal)[1]) == pytest.approx(plateau(TrainConfig(margin=0.3)), abs=1e-2)
    assert plateau(TrainConfig()) == 0.5 and plateau(TrainConfig.preset("best")) is None
