"""The LSTM's mean: equal to a float64 loop in value and gradient; masks, direction."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from siamese.nn.lstm import mean_state, word_products

BATCH, LENGTH, WORDS, D_IN, D_MODEL = 5, 7, 6, 3, 4
# Word 5 stands nowhere, the others several times.
PLACES = np.random.RandomState(1).randint(0, WORDS - 1, (BATCH, LENGTH))
RAGGED = np.arange(LENGTH) < np.array([0, 1, 3, 5, LENGTH])[:, None]  # a row without any position
HOLES = np.random.RandomState(3).rand(BATCH, LENGTH) < 0.5
CASES = [(None, False), (RAGGED, True), (HOLES, False)]


def lstm_mean(kernel, bias, x, places, mask=None, reverse=False):
    return mean_state(kernel, word_products(kernel, bias, x), places, mask, reverse)


def example(seed=0, dtype=np.float32):
    draw = np.random.RandomState(seed)
    kernel = draw.randn(D_IN + D_MODEL, 4 * D_MODEL) * 0.5
    return tuple(
        a.astype(dtype) for a in (kernel, draw.randn(4 * D_MODEL), draw.randn(WORDS, D_IN))
    )


def reference(kernel, bias, x, places=PLACES, mask=None, reverse=False):
    """The definition, one row and position at a time, in float64; then the mean."""
    kernel, bias, x = (np.asarray(a, np.float64) for a in (kernel, bias, x))
    x = x[places]

    def sigmoid(value):
        return 1 / (1 + np.exp(-value))

    means = np.zeros((len(x), kernel.shape[1] // 4))
    for row in range(len(x)):
        h = c = np.zeros(means.shape[1])
        states = []
        for t in sorted(range(x.shape[1]), reverse=reverse):
            if mask is None or mask[row, t]:
                i, j, f, o = np.split(np.concatenate([x[row, t], h]) @ kernel + bias, 4)
                c = c * sigmoid(f) + sigmoid(i) * np.tanh(j)
                h = sigmoid(o) * np.tanh(c)
                states.append(h)
        means[row] = np.mean(states, axis=0) if states else 0
    return means


@pytest.mark.parametrize("mask, reverse", CASES)
def test_equals_the_loop_in_value_and_gradient(mask, reverse):
    kernel, bias, x = example()
    means = jax.jit(partial(lstm_mean, reverse=reverse))(kernel, bias, x, PLACES, mask)
    assert means.dtype == jnp.float32
    expected = reference(kernel, bias, x, PLACES, mask, reverse)
    np.testing.assert_allclose(means, expected, rtol=1e-5, atol=1e-6)

    arguments, draw = example(2, np.float64), np.random.RandomState(4)
    direction = draw.randn(BATCH, D_MODEL)

    def ours(kernel, bias, x):
        return jnp.sum(lstm_mean(kernel, bias, x, PLACES, mask, reverse=reverse) * direction)

    def loop(*values):
        return np.sum(reference(*values, PLACES, mask, reverse) * direction)

    with jax.enable_x64(True):
        gradients = jax.jit(jax.grad(ours, argnums=(0, 1, 2)))(*map(jnp.asarray, arguments))
    for index, gradient in enumerate(gradients):
        assert gradient.shape == arguments[index].shape
        for _ in range(3):  # Along random directions, by central differences.
            along = draw.randn(*arguments[index].shape)
            ends = [
                loop(*(a + step * along if k == index else a for k, a in enumerate(arguments)))
                for step in (1e-6, -1e-6)
            ]
            slope = np.sum(np.asarray(gradient) * along)
            np.testing.assert_allclose(slope, (ends[0] - ends[1]) / 2e-6, rtol=1e-5, atol=1e-6)


def test_an_accelerator_multiplies_in_full_float32():
    kernel, bias, x = example()
    text = str(jax.make_jaxpr(jax.grad(lambda k: lstm_mean(k, bias, x, PLACES).sum()))(kernel))
    assert text.count("dot_general") == text.count("precision=(Precision.HIGHEST") == 5
