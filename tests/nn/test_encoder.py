"""The encoder: equal to the Trax model and to NumPy, the same alone as in company, safe for threads."""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from trax import shapes

from siamese.errors import CheckpointError, DataError
from siamese.nn.encoder import Encoder, encode_few
from siamese.nn.tower import PAD, Dropout, TowerConfig, drop_numbers, drop_words, encode

sys.path.append(str(Path(__file__).parents[1] / "course"))
from stock_trax import COURSE as COURSE_CELLS
from stock_trax import named

VOCAB, D_MODEL = 50, 8
CONFIGS = [
    TowerConfig(VOCAB, D_MODEL, mask_padding=masked, bidirectional=both)
    for masked in (False, True)
    for both in (False, True)
]
COURSE, MASKED = CONFIGS[0], TowerConfig(VOCAB, D_MODEL, mask_padding=True)


def weights_of(config, seed=0):
    draw = np.random.RandomState(seed)
    return {n: draw.randn(*s).astype(np.float32) * 0.4 for n, s in config.shapes().items()}


def questions(count, seed=1, longest=12):
    draw = np.random.RandomState(seed)
    return [draw.randint(2, VOCAB, draw.randint(1, longest + 1)).tolist() for _ in range(count)]


def padded(rows, length):
    return np.array([[*row, *[PAD] * (length - len(row))] for row in rows], np.int32)


@pytest.fixture(scope="module")
def trax_model():
    model = COURSE_CELLS["Siamese"](VOCAB, D_MODEL)
    batch = padded(questions(4), 16)
    model.init(shapes.signature((batch, batch)))
    return model


@pytest.mark.parametrize("length", [1, 2, 16, 64])
def test_equals_the_trax_model_on_the_same_weights(trax_model, length):
    batch = padded([row[:length] for row in questions(5)], length)
    weights = named(trax_model.weights[0])
    expected = trax_model.sublayers[0](batch)
    np.testing.assert_allclose(encode(weights, batch, COURSE), expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(encode_few(weights, batch, COURSE), expected, rtol=0, atol=1e-6)
    vectors = Encoder(COURSE, weights).encode([row[:length] for row in questions(5)], length=length)
    np.testing.assert_allclose(vectors, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_numpy_equals_jax(config):
    weights = weights_of(config)
    batch = padded([*questions(9), []], 12)
    vectors = encode_few(weights, batch, config)
    expected = jax.jit(lambda w, t: encode(w, t, config))(weights, batch)
    assert vectors.shape == (10, config.output_size) and vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(vectors[:-1], axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("config", [c for c in CONFIGS if c.mask_padding], ids=str)
def test_masked_a_question_is_the_same_alone_and_in_company(config):
    encoder, rows = Encoder(config, weights_of(config)), questions(300)
    together = encoder.encode(rows)
    for i in (0, 7, 299):
        for length in (None, 64):
            alone = encoder.encode([rows[i]], length=length)[0]
            np.testing.assert_allclose(alone, together[i], rtol=0, atol=1e-6)


def test_unmasked_each_question_has_its_own_power_of_two():
    weights, rows = weights_of(COURSE), [[5], [5, 6], [5, 6, 7], list(range(2, 11))]
    vectors = Encoder(COURSE, weights).encode(rows)
    for row, size, vector in zip(rows, (1, 2, 4, 16), vectors):
        expected = encode_few(weights, padded([row], size), COURSE)[0]
        np.testing.assert_allclose(vector, expected, rtol=0, atol=1e-6)


def test_order_is_kept_whatever_the_number_and_the_lengths():
    weights = weights_of(MASKED)
    encoder = Encoder(MASKED, weights)
    for count, longest in ((3, 700), (32, 30), (33, 12), (600, 12)):
        rows = questions(count, longest=longest)
        expected = encode_few(weights, padded(rows, longest), MASKED)
        np.testing.assert_allclose(encoder.encode(rows), expected, rtol=0, atol=2e-6)


def test_no_questions_and_no_tokens():
    encoder = Encoder(COURSE, weights_of(COURSE))
    assert encoder.encode([]).shape == (0, D_MODEL)
    vectors = encoder.encode([[], [5], []])
    assert not vectors[0].any() and vectors[1].any() and not vectors[2].any()


@pytest.mark.parametrize(
    ("name", "array", "says"),
    [
        ("embedding", None, r"embedding must be finite floats \[50, 8\]; it is float64 \[0\]"),
        (
            "lstm/kernel",
            np.zeros((16, 31), "f"),
            r"lstm/kernel must be .* it is float32 \[16, 31\]",
        ),
        ("lstm/bias", np.full(32, np.inf, "f"), "lstm/bias must be finite"),
        ("lstm/bias", np.zeros(32, np.int32), "int32"),
    ],
)
def test_damaged_weights_are_refused_by_name(name, array, says):
    weights = weights_of(COURSE)
    weights.pop(name) if array is None else weights.update({name: array})
    with pytest.raises(CheckpointError, match=says):
        Encoder(COURSE, weights)


def test_questions_that_do_not_fit_are_refused():
    encoder = Encoder(COURSE, weights_of(COURSE))
    for bad in (-1, VOCAB):
        with pytest.raises(DataError, match=f"{bad}"):
            encoder.encode([[3, bad]])
    with pytest.raises(DataError, match="3 tokens does not fit in length 2"):
        encoder.encode([[3, 4, 5]], length=2)


def test_dropout_zeroes_its_share_and_keeps_the_mean():
    x = jnp.ones((40, 25, 20))
    dropped = np.asarray(drop_numbers(x, Dropout(embedding=0.3), jax.random.PRNGKey(1)))
    assert (dropped == 0).mean() == pytest.approx(0.3, abs=0.01)
    np.testing.assert_allclose(dropped[dropped > 0], 1 / 0.7, rtol=1e-6)
    tokens = jnp.where(jnp.arange(5000) % 5 == 0, PAD, 7).reshape(50, 100)
    vectors = np.asarray(drop_words(tokens, tokens, Dropout(word=0.2), jax.random.PRNGKey(1)))
    assert ((vectors == PAD) == (np.asarray(tokens) == PAD)).all()
    assert set(np.unique(vectors)) == {0, PAD, 7}
    assert (vectors == 0).sum() / 4000 == pytest.approx(0.2, abs=0.02)
