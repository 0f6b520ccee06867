"""RankingLoss and the auxiliary pairwise loss against loops in float64."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from siamese import ArgumentError, ShapeError
from siamese.training.losses import (
    PAIR_CENTRE,
    PAIR_TEMPERATURE,
    PairLossFn,
    RankingLoss,
    RankingLossFn,
)

MASK = np.zeros((6, 6), bool)
MASK[0, 3] = MASK[4, 1] = True


def vectors(rows=6, d=5, seed=0):
    drawn = np.random.RandomState(seed).normal(size=(2, rows, d))
    return drawn / np.linalg.norm(drawn, axis=-1, keepdims=True)


def loop_loss(v1, v2, temperature, direction="both", mask=None):
    """-log of the positive's share of exp(cosine / temperature), row by row."""

    def one_side(a, b, known):
        losses = []
        for i in range(len(a)):
            terms = [
                math.exp(float(a[i] @ b[j]) / temperature)
                for j in range(len(a))
                if j == i or known is None or not known[i][j]
            ]
            losses.append(math.log(sum(terms)) - float(a[i] @ b[i]) / temperature)
        return sum(losses) / len(a)

    rows = one_side(v1, v2, mask)
    columns = one_side(v2, v1, None if mask is None else np.transpose(mask))
    return {"rows": rows, "columns": columns, "both": (rows + columns) / 2}[direction]


@pytest.mark.parametrize("mask", [None, MASK])
@pytest.mark.parametrize("direction", ["rows", "columns", "both"])
@pytest.mark.parametrize("temperature", [0.002, 0.05, 1.0])  # 0.002: exp() alone would overflow.
def test_equals_the_loop(direction, temperature, mask):
    v1, v2 = vectors()
    with jax.enable_x64(True):
        found = RankingLossFn(v1, v2, temperature, direction=direction, false_negative_mask=mask)
    np.testing.assert_allclose(found, loop_loss(v1, v2, temperature, direction, mask), rtol=1e-12)
    single = RankingLossFn(v1, v2, temperature, direction=direction, false_negative_mask=mask)
    np.testing.assert_allclose(single, found, rtol=1e-3)


def test_a_row_without_negatives_has_neither_loss_nor_gradient():
    v1, v2 = (jnp.asarray(v, jnp.float32) for v in vectors(rows=2))
    mask = jnp.asarray(~np.eye(2, dtype=bool))
    loss, gradient = jax.value_and_grad(
        lambda v: RankingLossFn(v, v2, 0.05, false_negative_mask=mask)
    )(v1)
    assert float(loss) == 0.0
    np.testing.assert_array_equal(gradient, np.zeros_like(gradient))


def test_pair_loss_equals_the_loop():
    cosines, labels = np.array([-1.0, 0.2, 0.55, 0.9, 1.0]), np.array([1, 0, 1, 1, 0])
    losses = []
    for cosine, label in zip(cosines, labels):
        probability = 1 / (1 + math.exp(-(cosine - PAIR_CENTRE) / PAIR_TEMPERATURE))
        losses.append(-math.log(probability if label else 1 - probability))
    np.testing.assert_allclose(PairLossFn(cosines, labels), np.mean(losses), rtol=1e-6)


def test_the_layer_divides_duplicates_from_labelled_pairs():
    v1, v2 = (v.astype(np.float32) for v in vectors(rows=9))
    labels = np.array([0, 1, 0], np.int32)
    layer = RankingLoss(0.1, false_negative_mask=True, pairs=True, pair_loss_weight=2.0)
    wanted = RankingLossFn(v1[:6], v2[:6], 0.1, false_negative_mask=MASK)
    wanted += 2 * PairLossFn(np.sum(v1[6:] * v2[6:], axis=1), labels)
    assert float(layer((v1, v2, MASK, labels))) == pytest.approx(float(wanted), rel=1e-5)
    assert str(layer) == "RankingLoss_in4"
    assert RankingLoss().n_in == 2
    assert RankingLoss(false_negative_mask=True).n_in == RankingLoss(pairs=True).n_in == 3


ONE, TWO = vectors()


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: RankingLossFn(ONE, TWO[:4]), ShapeError, "one shape"),
        (lambda: RankingLossFn(ONE, TWO, false_negative_mask=MASK[:2, :2]), ShapeError, "mask"),
        (lambda: RankingLossFn(ONE[:1], TWO[:1]), ArgumentError, "at least 2"),
        (lambda: PairLossFn(np.zeros(3), np.zeros((3, 1))), ShapeError, "label"),
        (lambda: RankingLoss(direction="across"), ArgumentError, "direction"),
        (lambda: RankingLoss(0), ArgumentError, "temperature"),
        (lambda: RankingLoss(math.nan), ArgumentError, "temperature"),
        (lambda: RankingLoss("0.05"), ArgumentError, "temperature"),
    ],
)
def test_arguments_that_do_not_fit(call, error, message):
    with pytest.raises(error, match=message):
        call()
