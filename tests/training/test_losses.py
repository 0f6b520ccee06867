"""The ranking loss and the loss of labelled pairs against loops in float64; a configuration's loss."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from siamese import ArgumentError, ShapeError, TrainConfig
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


def loop_loss(scores, direction="both", mask=None):
    """-log of the positive's share of exp(cosine / temperature), for each row."""

    def one_side(scores, known):
        losses = []
        for i, row in enumerate(scores):
            terms = [
                math.exp(s / TEMPERATURE) for j, s in enumerate(row) if j == i or not known[i][j]
            ]
            losses.append(math.log(sum(terms)) - row[i] / TEMPERATURE)
        return np.array(losses)

    mask = np.zeros_like(scores, bool) if mask is None else mask
    rows, columns = one_side(scores, mask), one_side(scores.T, mask.T)
    return {"rows": rows, "columns": columns, "both": (rows + columns) / 2}[direction]


@pytest.mark.parametrize("mask", [None, MASK])
@pytest.mark.parametrize("direction", ["rows", "columns", "both"])
def test_equals_the_loop(direction, mask):
    expected = loop_loss(SCORES, direction, mask)
    with jax.enable_x64(True):
        np.testing.assert_allclose(ranking_loss(SCORES, direction, mask), expected, rtol=1e-12)
    np.testing.assert_allclose(
        ranking_loss(SCORES, direction, mask), expected, rtol=1e-3, atol=1e-5
    )


def test_a_row_without_negatives_has_neither_loss_nor_gradient():
    scores, mask = jnp.asarray(SCORES[:2, :2], jnp.float32), jnp.asarray(~np.eye(2, dtype=bool))
    loss, gradient = jax.value_and_grad(lambda s: ranking_loss(s, "both", mask).sum())(scores)
    assert float(loss) == 0.0
    np.testing.assert_array_equal(gradient, np.zeros_like(gradient))


def test_pair_loss_equals_the_loop():
    cosines, labels = np.array([-1.0, 0.2, 0.55, 0.9, 1.0]), np.array([1, 0, 1, 1, 0])
    losses = []
    for cosine, label in zip(cosines, labels):
        probability = 1 / (1 + math.exp(-(cosine - PAIR_CENTRE) / PAIR_TEMPERATURE))
        losses.append(-math.log(probability if label else 1 - probability))
    np.testing.assert_allclose(pair_loss(cosines, labels), losses, rtol=1e-5)


def test_the_loss_of_a_configuration():
    cosines, labels = np.array([0.3, 0.8]), np.array([0, 1])
    pairs = np.mean(np.asarray(pair_loss(cosines, labels)))
    expected = float(loop_loss(SCORES, "both", MASK).mean() + 0.5 * pairs)
    for number in make_loss(TrainConfig.best(pair_loss_weight=0.5))(SCORES, MASK, cosines, labels):
        assert float(number) == pytest.approx(expected, rel=1e-5)
    for edition, closest, total in ((2022, "hardest", np.mean), (2023, "semi_hard", np.sum)):
        config = TrainConfig.course(edition=edition, margin=0.3)
        rows = loss_from_scores(SCORES, 0.3, closest=closest, reduction="none")
        minimised, mean = make_loss(config)(SCORES)
        assert float(minimised) == pytest.approx(float(total(rows)), rel=1e-5)
        assert float(mean) == pytest.approx(float(np.mean(rows)), rel=1e-5)
        equal = 1 + 1e-7 * np.random.RandomState(0).randn(64, 64)  # all vectors, but for rounding
        mean = make_loss(TrainConfig.course(edition=edition))(equal)[1]
        assert float(mean) == pytest.approx(plateau(TrainConfig.course()), abs=1e-2)
    assert plateau(TrainConfig.course()) == 0.5 and plateau(TrainConfig.best()) is None


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: ranking_loss(np.ones((6, 4))), ShapeError, "square"),
        (lambda: ranking_loss(SCORES, "both", MASK[:2, :2]), ShapeError, "mask"),
        (lambda: ranking_loss(np.ones((1, 1))), ArgumentError, "at least 2"),
        (lambda: ranking_loss(SCORES, "across"), ArgumentError, "direction"),
        (lambda: pair_loss(np.zeros(3), np.zeros((3, 1))), ShapeError, "label"),
    ],
)
def test_arguments_that_do_not_fit(call, error, message):
    with pytest.raises(error, match=message):
        call()
