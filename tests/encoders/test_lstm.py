"""The encoder: equal to the Trax model and to NumPy; the LSTM: equal to a float64 loop."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from stock_trax import COURSE as COURSE_CELLS
from trax import shapes

from siamese.course.model import tower_weights
from siamese.encoders.lstm import Lstm, encode_few
from siamese.nn.lstm import DROPOUT_PARTS, PAD, Dropout, LstmConfig, dropped, encode
from siamese.nn.recurrence import mean_state, word_products
from siamese.text.vocabulary import Vocabulary

VOCAB, D_MODEL = 50, 8
VOCABULARY = Vocabulary([str(number) for number in range(VOCAB - 2)])
COURSE = LstmConfig(VOCAB, D_MODEL)
BOTH = LstmConfig(VOCAB, D_MODEL, mask_padding=True, bidirectional=True)


def questions(count, seed=1, longest=12):
    draw = np.random.RandomState(seed)
    return [
        draw.randint(2, VOCAB, draw.randint(1, longest + 1)).tolist()
        for _ in range(count)
    ]


def padded(rows, length):
    return np.array([[*row, *[PAD] * (length - len(row))] for row in rows], np.int32)


def test_equals_the_trax_model_on_the_same_weights():
    model = COURSE_CELLS["Siamese"](VOCAB, D_MODEL)
    batch = padded(questions(5), 16)
    model.init(shapes.signature((batch, batch)))
    weights = tower_weights(model)
    expected = model.sublayers[0](batch)
    assert_allclose(encode(weights, batch, COURSE), expected, rtol=0, atol=1e-6)
    vectors = Lstm(COURSE, weights, VOCABULARY).encode_ids(questions(5), length=16)
    assert_allclose(vectors, expected, rtol=0, atol=1e-6)


def test_masked_a_question_is_the_same_alone_and_in_company_and_numpy_equals_jax():
    draw = np.random.RandomState(0)
    weights = {
        n: draw.randn(*s).astype(np.float32) * 0.4 for n, s in BOTH.shapes().items()
    }
    encoder = Lstm(BOTH, weights, VOCABULARY)
    for count, longest in ((3, 700), (300, 12)):  # by NumPy, by JAX
        rows = questions(count, longest=longest)
        together = encoder.encode_ids(rows)
        expected = encode_few(weights, padded(rows, longest), BOTH)
        assert (
            together.shape == (count, BOTH.output_size) and together.dtype == np.float32
        )
        assert_allclose(together, expected, rtol=0, atol=2e-6)
        assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)
        alone = encoder.encode_ids([rows[-1]], length=1024)[0]
        assert_allclose(alone, together[-1], rtol=0, atol=1e-6)


def test_dropout_zeroes_its_share_and_keeps_the_mean():
    tokens = jnp.where(jnp.arange(5000) % 5 == 0, PAD, 7).reshape(50, 100)
    x, places = dropped(
        jnp.ones((500, 20)), tokens, tokens, Dropout(0.3, 0.2), jax.random.key(1)
    )
    x, places = np.asarray(x), np.asarray(places)
    assert x.shape == (500 * DROPOUT_PARTS, 20)
    assert (x == 0).mean() == pytest.approx(0.3, abs=0.01)
    assert_allclose(x[x > 0], 1 / 0.7, rtol=1e-6)
    parts = np.repeat(np.arange(DROPOUT_PARTS), len(places) // DROPOUT_PARTS)
    words = places - 500 * parts[:, None]
    assert ((words == PAD) == (np.asarray(tokens) == PAD)).all()
    assert set(np.unique(words)) == {0, PAD, 7}
    assert (words == 0).sum() / 4000 == pytest.approx(0.2, abs=0.02)


BATCH, LENGTH, WORDS, D_IN, HIDDEN = 5, 7, 6, 3, 4
# Word 5 stands nowhere, the others several times.
PLACES = np.random.RandomState(1).randint(0, WORDS - 1, (BATCH, LENGTH))
# A row without any position.
RAGGED = np.arange(LENGTH) < np.array([0, 1, 3, 5, LENGTH])[:, None]
HOLES = np.random.RandomState(3).rand(BATCH, LENGTH) < 0.5


def lstm_mean(kernel, bias, x, places, mask=None, reverse=False):
    return mean_state(kernel, word_products(kernel, bias, x), places, mask, reverse)


def example(seed=0, dtype=np.float32):
    draw = np.random.RandomState(seed)
    kernel = draw.randn(D_IN + HIDDEN, 4 * HIDDEN) * 0.5
    return tuple(
        a.astype(dtype)
        for a in (kernel, draw.randn(4 * HIDDEN), draw.randn(WORDS, D_IN))
    )


def reference(kernel, bias, x, places=PLACES, mask=None, reverse=False):
    """The definition, one row and position at a time, in float64; then the mean."""
    kernel, bias, x = (np.asarray(a, np.float64) for a in (kernel, bias, x))
    x = x[places]
    means = np.zeros((len(x), kernel.shape[1] // 4))
    for row in range(len(x)):
        h = c = np.zeros(means.shape[1])
        states = []
        for t in sorted(range(x.shape[1]), reverse=reverse):
            if mask is None or mask[row, t]:
                i, j, f, o = np.split(np.concatenate([x[row, t], h]) @ kernel + bias, 4)
                c = c * expit(f) + expit(i) * np.tanh(j)
                h = expit(o) * np.tanh(c)
                states.append(h)
        means[row] = np.mean(states, axis=0) if states else 0
    return means


@pytest.mark.parametrize(
    "mask, reverse", [(None, False), (RAGGED, True), (HOLES, False)]
)
def test_equals_the_loop_in_value_and_gradient(mask, reverse):
    kernel, bias, x = example()
    means = jax.jit(partial(lstm_mean, reverse=reverse))(kernel, bias, x, PLACES, mask)
    assert means.dtype == jnp.float32
    expected = reference(kernel, bias, x, PLACES, mask, reverse)
    assert_allclose(means, expected, rtol=1e-5, atol=1e-6)

    arguments = example(2, np.float64)
    draw = np.random.RandomState(4)
    direction = draw.randn(BATCH, HIDDEN)

    def ours(kernel, bias, x):
        return jnp.sum(
            lstm_mean(kernel, bias, x, PLACES, mask, reverse=reverse) * direction
        )

    def loop(*values):
        return np.sum(reference(*values, PLACES, mask, reverse) * direction)

    with jax.enable_x64(True):
        gradients = jax.jit(jax.grad(ours, argnums=(0, 1, 2)))(
            *map(jnp.asarray, arguments)
        )
    for index, gradient in enumerate(gradients):
        assert gradient.shape == arguments[index].shape
        for _ in range(3):  # Along random directions, by central differences.
            along = draw.randn(*arguments[index].shape)
            moves = [along if k == index else 0 for k in range(3)]
            up, down = (
                loop(*(a + h * m for a, m in zip(arguments, moves)))
                for h in (1e-6, -1e-6)
            )
            slope = np.sum(np.asarray(gradient) * along)
            assert_allclose(slope, (up - down) / 2e-6, rtol=1e-5, atol=1e-6)


def test_an_accelerator_multiplies_in_full_float32():
    kernel, bias, x = example()
    text = str(
        jax.make_jaxpr(jax.grad(lambda k: lstm_mean(k, bias, x, PLACES).sum()))(kernel)
    )
    assert text.count("dot_general") == text.count("precision=(Precision.HIGHEST") == 5
