"""The model on the fast tower: printed, weighted and trained as the model of Trax's layers."""

import copy

import jax
import numpy as np
import pytest
from trax import layers as tl
from trax import shapes
from trax.layers import base

from siamese import Siamese
from siamese.course.model import tower_weights
from siamese.nn.tower import PAD


def tokens(rows=6, length=8, vocab=30, seed=0):
    draw = np.random.RandomState(seed)
    kept = np.arange(length) < draw.randint(1, length + 1, rows)[:, None]
    return np.where(kept, draw.randint(2, vocab, (rows, length)), PAD).astype(np.int32)


def models(**options):
    """A model on the fast tower and one of Trax's layers with the same weights."""
    q1, q2 = tokens(seed=1), tokens(seed=2)
    fast, stock = Siamese(30, 8, **options), Siamese(30, 8, fast=False)
    for model in (stock, fast):
        model.init(shapes.signature((q1, q2)))
    fast.weights = stock.weights
    return fast, stock, q1, q2


@pytest.mark.parametrize("options", [{}, {"mask_padding": True}, {"fast": False}])
def test_layers_are_of_traxs_own_classes(options):
    model = Siamese(30, 8, **options)
    tower = model.sublayers[0]
    assert type(model) is tl.Parallel and type(tower) is tl.Serial
    parts = [tl.Embedding, tl.Serial, base.PureLayer, base.PureLayer]
    assert [type(part) for part in tower.sublayers] == parts


def test_a_copied_model_has_weights_of_its_own():
    fast, _, q1, q2 = models(mask_padding=True)
    fast.rng = jax.random.PRNGKey(0)  # Trax leaves a traced key behind, which cannot be copied.
    other = copy.deepcopy(fast)
    before = fast((q1, q2))
    for found, expected in zip(other((q1, q2)), before):
        np.testing.assert_array_equal(found, expected)
    embedding, *rest = other.weights[0]
    other.weights = ((embedding[::-1], *rest), other.weights[1])
    assert np.abs(other((q1, q2))[0] - before[0]).max() > 1e-3
    np.testing.assert_array_equal(fast((q1, q2))[0], before[0])


@pytest.mark.parametrize("length2", [8, 4])
def test_vectors_equal_those_of_the_layers(length2):
    fast, stock, q1, _ = models()
    q2 = tokens(length=length2, seed=5)
    for found, expected in zip(fast((q1, q2)), stock((q1, q2))):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(fast.sublayers[0](q1), stock.sublayers[0](q1), rtol=0, atol=1e-6)


def test_dropout_is_done_in_training_alone():
    options = {"mask_padding": True, "embedding_dropout": 0.4, "word_dropout": 0.1}
    plain, _, *questions = models(mask_padding=True)
    train, evaluated = (Siamese(30, 8, mode=mode, **options) for mode in ("train", "eval"))
    for model in (train, evaluated):
        model.init(shapes.signature(tuple(questions)))
        model.weights = plain.weights
    expected = plain(questions)[0]
    np.testing.assert_array_equal(evaluated(questions)[0], expected)
    first, second, again = (train(questions, rng=jax.random.PRNGKey(key))[0] for key in (1, 2, 1))
    assert not np.allclose(first, expected) and not np.allclose(first, second)
    np.testing.assert_array_equal(first, again)


def test_both_directions_and_the_first_embedding():
    model = Siamese(500, 16, mask_padding=True, bidirectional=True, embedding_init=0.1)
    model.init(shapes.signature((tokens(), tokens())))
    weights = tower_weights(model)
    assert set(weights) == {"embedding", "lstm/kernel", "lstm/bias", "lstm_reverse/kernel",
                            "lstm_reverse/bias"}  # fmt: skip
    assert weights["embedding"].std() == pytest.approx(0.1, rel=0.05)
    assert not np.array_equal(weights["lstm/kernel"], weights["lstm_reverse/kernel"])
    v1, _ = model((tokens(), tokens()))
    assert v1.shape == (6, 32)
