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

MASK = np.zeros((6, 6), bool)
MASK[0, 3] = MASK[4, 1] = True


def vectors(rows=6, d=5, seed=0):
    drawn = np.random.RandomState(seed).normal(size=(2, rows, d))
    return drawn / np.linalg.norm(drawn, axis=-1, keepdims=True)


def matrix(**options):
    v1, v2 = vectors(**options)
    return v1 @ v2.T


def loop_loss(scores, direction="both", mask=None):
    """-log of the positive's share of exp(cosine / temperature), for each row."""

    def one_side(scores, known):
        losses = []
        for i in range(len(scores)):
            terms = [
                math.exp(float(scores[i, j]) / TEMPERATURE)
                for j in range(len(scores))
                if j == i or known is None or not known[i][j]
            ]
            losses.append(math.log(sum(terms)) - float(scores[i, i]) / TEMPERATURE)
        return np.array(losses)

    rows = one_side(scores, mask)
    columns = one_side(scores.T, None if mask is None else np.transpose(mask))
    return {"rows": rows, "columns": columns, "both": (rows + columns) / 2}[direction]


@pytest.mark.parametrize("mask", [None, MASK])
@pytest.mark.parametrize("direction", ["rows", "columns", "both"])
def test_equals_the_loop(direction, mask):
    scores = matrix()
    expected = loop_loss(scores, direction, mask)
    with jax.enable_x64(True):
        losses = ranking_loss(scores, direction, mask)
    np.testing.assert_allclose(losses, expected, rtol=1e-12)
    np.testing.assert_allclose(
        ranking_loss(scores, direction, mask), expected, rtol=1e-3, atol=1e-5
    )


def test_a_row_without_negatives_has_neither_loss_nor_gradient():
    scores = jnp.asarray(matrix(rows=2), jnp.float32)
    mask = jnp.asarray(~np.eye(2, dtype=bool))
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
    scores, cosines, labels = matrix(), np.array([0.3, 0.8]), np.array([0, 1])
    weighted = TrainConfig.best(pair_loss_weight=0.5)
    pairs = np.mean(np.asarray(pair_loss(cosines, labels)))
    expected = float(loop_loss(scores, "both", MASK).mean() + 0.5 * pairs)
    for number in make_loss(weighted)(scores, MASK, cosines, labels):
        assert float(number) == pytest.approx(expected, rel=1e-5)
    for edition, closest, total in ((2022, "hardest", np.mean), (2023, "semi_hard", np.sum)):
        config = TrainConfig.course(edition=edition, margin=0.3)
        rows = loss_from_scores(scores, 0.3, closest=closest, reduction="none")
        minimised, mean = make_loss(config)(scores)
        assert float(minimised) == pytest.approx(float(total(rows)), rel=1e-5)
        assert float(mean) == pytest.approx(float(np.mean(rows)), rel=1e-5)


@pytest.mark.parametrize("edition", [2022, 2023])
def test_equal_vectors_have_the_loss_of_the_plateau(edition):
    config = TrainConfig.course(edition=edition)
    rounding = 1e-7 * np.random.RandomState(0).randn(64, 64)
    for scores in (np.ones((64, 64)), 1 + rounding):
        assert float(make_loss(config)(scores)[1]) == pytest.approx(0.5, abs=1e-2)
    assert plateau(config) == 0.5 and plateau(TrainConfig.best()) is None


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: ranking_loss(np.ones((6, 4))), ShapeError, "square"),
        (lambda: ranking_loss(matrix(), "both", MASK[:2, :2]), ShapeError, "mask"),
        (lambda: ranking_loss(np.ones((1, 1))), ArgumentError, "at least 2"),
        (lambda: ranking_loss(matrix(), "across"), ArgumentError, "direction"),
        (lambda: pair_loss(np.zeros(3), np.zeros((3, 1))), ShapeError, "label"),
    ],
)
def test_arguments_that_do_not_fit(call, error, message):
    with pytest.raises(error, match=message):
        call()
