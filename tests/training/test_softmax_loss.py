"""SoftmaxLoss and the loss of labelled pairs against loops in NumPy float64."""

import math

import numpy as np
import pytest

from siamese import ArgumentError, ShapeError
from siamese.training.losses import (
    LABEL_CENTRE,
    LABEL_TEMPERATURE,
    LabelLossFn,
    SoftmaxLoss,
    SoftmaxLossFn,
)


def vectors(rows=6, d=5, seed=0):
    drawn = np.random.RandomState(seed).normal(size=(2, rows, d))
    return drawn / np.linalg.norm(drawn, axis=-1, keepdims=True)


def loop_loss(v1, v2, temperature, direction="both", same=None):
    """-log of the positive's share of exp(cosine / temperature), row by row."""
    n = len(v1)

    def one_side(a, b, known):
        losses = []
        for i in range(n):
            terms = [
                math.exp(float(a[i] @ b[j]) / temperature)
                for j in range(n)
                if j == i or known is None or not known[i][j]
            ]
            losses.append(math.log(sum(terms)) - float(a[i] @ b[i]) / temperature)
        return sum(losses) / n

    rows = one_side(v1, v2, same)
    columns = one_side(v2, v1, None if same is None else np.transpose(same))
    return {"rows": rows, "columns": columns, "both": (rows + columns) / 2}[direction]


MASK = np.zeros((6, 6), bool)
MASK[0, 3] = MASK[4, 1] = True


@pytest.mark.parametrize("same", [None, MASK])
@pytest.mark.parametrize("direction", ["rows", "columns", "both"])
@pytest.mark.parametrize("temperature", [0.05, 1.0])
def test_equals_the_loop(direction, temperature, same):
    v1, v2 = vectors()
    found = SoftmaxLossFn(v1, v2, temperature, direction=direction, false_negative_mask=same)
    np.testing.assert_allclose(found, loop_loss(v1, v2, temperature, direction, same), rtol=1e-12)


def test_a_masked_pair_has_no_gradient():
    import jax
    import jax.numpy as jnp

    v1, v2 = (jnp.asarray(v, jnp.float32) for v in vectors(rows=2))
    everything = jnp.asarray(~np.eye(2, dtype=bool))
    gradient = jax.grad(lambda v: SoftmaxLossFn(v, v2, 0.05, false_negative_mask=everything))(v1)
    np.testing.assert_array_equal(gradient, np.zeros_like(gradient))
    assert float(SoftmaxLossFn(v1, v2, 0.05, false_negative_mask=everything)) == 0.0


def test_gradient_is_that_of_finite_differences():
    import jax
    import jax.numpy as jnp

    v1, v2 = vectors()
    gradient = np.asarray(
        jax.grad(
            lambda v: SoftmaxLossFn(
                v, jnp.asarray(v2, jnp.float32), 0.5, false_negative_mask=jnp.asarray(MASK)
            )
        )(jnp.asarray(v1, jnp.float32))
    )
    for i, j in ((0, 0), (4, 2), (5, 4)):
        moved = [v1.copy() for _ in range(2)]
        moved[0][i, j] += 1e-6
        moved[1][i, j] -= 1e-6
        up, down = (loop_loss(v, v2, 0.5, same=MASK) for v in moved)
        assert gradient[i, j] == pytest.approx((up - down) / 2e-6, rel=1e-3, abs=1e-6)


def test_small_temperatures_do_not_overflow():
    v1, v2 = (v.astype(np.float32) for v in vectors())
    found = SoftmaxLossFn(v1, v2, 0.002)
    assert np.isfinite(found)
    np.testing.assert_allclose(
        found, loop_loss(v1.astype(float), v2.astype(float), 0.002), rtol=1e-3
    )


def test_label_loss_equals_the_loop():
    cosines, labels = np.array([-1.0, 0.2, 0.55, 0.9, 1.0]), np.array([1, 0, 1, 1, 0])
    losses = []
    for cosine, label in zip(cosines, labels):
        probability = 1 / (1 + math.exp(-(cosine - LABEL_CENTRE) / LABEL_TEMPERATURE))
        losses.append(-math.log(probability if label else 1 - probability))
    np.testing.assert_allclose(LabelLossFn(cosines, labels), np.mean(losses), rtol=1e-10)


def test_the_layer_divides_duplicates_from_labelled_pairs():
    v1, v2 = (v.astype(np.float32) for v in vectors(rows=9))
    labels, mask = np.array([0, 1, 0], np.int32), MASK
    layer = SoftmaxLoss(0.1, false_negative_mask=True, labelled=True, labelled_weight=2.0)
    wanted = SoftmaxLossFn(v1[:6], v2[:6], 0.1, false_negative_mask=mask) + 2 * LabelLossFn(
        np.sum(v1[6:] * v2[6:], axis=1), labels
    )
    assert float(layer((v1, v2, mask, labels))) == pytest.approx(float(wanted), rel=1e-5)
    assert str(layer) == "SoftmaxLoss_in4"
    assert SoftmaxLoss().n_in == 2 and SoftmaxLoss(false_negative_mask=True).n_in == 3
    assert SoftmaxLoss(labelled=True).n_in == 3


@pytest.mark.parametrize("bad", [0, -1.0, float("inf"), float("nan"), True, "0.05"])
def test_temperatures_that_are_none(bad):
    with pytest.raises(ArgumentError, match="temperature"):
        SoftmaxLossFn(*vectors(), bad)
    with pytest.raises(ArgumentError, match="temperature"):
        SoftmaxLoss(bad)


def test_shapes_that_do_not_fit():
    v1, v2 = vectors()
    with pytest.raises(ShapeError, match="one shape"):
        SoftmaxLossFn(v1, v2[:4])
    with pytest.raises(ShapeError, match="same"):
        SoftmaxLossFn(v1, v2, false_negative_mask=np.zeros((2, 2), bool))
    with pytest.raises(ShapeError, match="label"):
        LabelLossFn(np.zeros(3), np.zeros((3, 1)))
    with pytest.raises(ArgumentError, match="at least 2"):
        SoftmaxLossFn(v1[:1], v2[:1])
    with pytest.raises(ArgumentError, match="direction"):
        SoftmaxLoss(direction="across")
