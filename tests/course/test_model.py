"""The course's model: printed form, size, shared weights."""

import golden
import jax
import numpy as np
import pytest
from trax import shapes
from trax.layers import base

from siamese import Siamese, fast_forward

QUESTIONS = np.random.RandomState(0).randint(2, 30, (2, 6, 8)).astype(np.int32)


def made(fast=False, mode="train", **options):
    model = Siamese(30, 8, mode, **options)
    model.init(shapes.signature(tuple(QUESTIONS)))
    return fast_forward(model) if fast else model


def test_by_default_it_has_the_documents_number_of_weights():
    model = Siamese()
    model.init(shapes.signature((QUESTIONS[0],) * 2))
    assert sum(leaf.size for leaf in jax.tree.leaves(model.weights)) == golden.MODEL_WEIGHTS


def test_the_towers_are_one_object_with_one_set_of_weights():
    model = made()
    first, second = model.sublayers
    assert first is second
    assert model.weights[1] == base.GET_WEIGHTS_FROM_CACHE
    v1, v2 = model((QUESTIONS[0], QUESTIONS[0]))
    np.testing.assert_array_equal(v1, v2)
    np.testing.assert_allclose(np.linalg.norm(v1, axis=1), 1, atol=1e-6)


def test_mode_has_no_effect_and_keeps_no_state():
    first = made()
    expected = jax.eval_shape(first, tuple(QUESTIONS)) and first(tuple(QUESTIONS))
    for mode in ("eval", "predict"):
        model = made(mode=mode)
        model.weights = first.weights
        for _ in range(2):  # the second call starts as the first did
            for a, b in zip(model(tuple(QUESTIONS)), expected):
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("fast", [True, False])
def test_zero_vectors_stay_and_ids_beyond_the_embedding_take_its_last_row(fast):
    """The course makes len(vocab) rows for ids up to len(vocab); Trax clamps, NaN would be no answer."""
    model = made(fast=fast)
    beyond, last = (np.full((6, 8), token, np.int32) for token in (30, 29))
    for a, b in zip(model((beyond, beyond)), model((last, last))):
        assert np.isfinite(a).all()
        np.testing.assert_allclose(a, b, atol=1e-6)
    model.weights = (jax.tree_util.tree_map(np.zeros_like, model.weights[0]), model.weights[1])
    for v in model(tuple(QUESTIONS)):
        np.testing.assert_array_equal(v, np.zeros((6, 8)))


def test_the_lstm_bias_starts_where_it_is_told_to():
    for name, expected in (("all_gates", [1, 1, 1, 1]), ("forget_gate", [0, 0, 1, 0])):
        bias = made(lstm_bias=name).weights[0][1][1][0][1]
        np.testing.assert_allclose(bias, np.repeat(expected, 8), atol=1e-4)
