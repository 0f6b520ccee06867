"""classify against the course's loop, pair by pair, for every kind of model callable."""

from collections import defaultdict

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stock_trax import RIGHT
from trax import layers as tl
from trax.shapes import ShapeDtype, signature

import siamese
from siamese import data_generator
from siamese.course.answers import classify, pair_scores
from siamese.errors import ArgumentError
from siamese.nn.ragged import Ragged

VOCAB = {"<PAD>": 1}


def questions(rows, longest, seed):
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, longest + 1, (2, rows))
    return [[generator.integers(2, 50, length).tolist() for length in side] for side in lengths]


TABLE = np.random.default_rng(0).normal(size=(50, 16)).astype(np.float32)


def mean_of_embeddings(pair):
    """Unmasked mean over a fixed random embedding, normalised: the padding changes the vector."""
    means = [TABLE[q].mean(axis=1) for q in pair]
    return tuple(mean / np.linalg.norm(mean, axis=1, keepdims=True) for mean in means)


def own_generator(Q1, Q2, batch_size, pad=1, shuffle=True):
    """A learner's generator: rows of 40, another padding than ours."""
    rows = ([[*q, *[pad] * (40 - len(q))] for q in side] for side in (Q1, Q2))
    assert not shuffle and len(Q1) == len(Q2)
    yield tuple(np.array(side, np.int32) for side in rows)


FORMS = [list, Ragged.from_lists, lambda q: np.array([*map(np.array, q), 0], object)[:-1]]
LABELS = [list, np.array, lambda y: np.array(y, int)]
GENERATORS = st.sampled_from([data_generator, own_generator])
SIZES = st.tuples(st.integers(1, 90), st.integers(1, 20), st.integers(0, 1000))


@settings(max_examples=40)
@given(SIZES, st.sampled_from(FORMS), st.sampled_from(LABELS), GENERATORS)
def test_the_accuracy_is_that_of_the_course_loop(sizes, form, labels, generator):
    """At a threshold that is one of the scores: a score must be above it. Called as the grader does."""
    rows, batch_size, seed = sizes
    pairs, model = questions(rows, 33, seed), mean_of_embeddings
    threshold = pair_scores(*pairs, model, VOCAB, batch_size=batch_size)[seed % rows]
    y, vocab = [i % 3 == 0 for i in range(rows)], defaultdict(int, VOCAB)
    expected = RIGHT["classify"](*pairs, y, threshold, model, vocab, generator, batch_size)
    asked = {"test_Q1": form(pairs[0]), "test_Q2": form(pairs[1]), "y": labels(y), "vocab": vocab}
    more = {"threshold": threshold, "data_generator": generator, "batch_size": batch_size}
    assert classify(model=model, **asked, **more) == expected and vocab == VOCAB


def trax_model(normalize=None):
    model = siamese.Siamese(vocab_size=50, d_model=16)
    if normalize:
        tower = tl.Serial(tl.Embedding(50, 16), tl.LSTM(16), tl.Max(axis=1), tl.Fn("N", normalize))
        model = tl.Parallel(tower, tower)
    model.init((ShapeDtype((8, 16), np.int32),) * 2)
    # As drawn, all scores lie near 1; larger weights spread them as training does.
    model.weights = jax.tree.map(lambda weight: 4 * weight, model.weights)
    return model


def relative(x):
    return x - x.mean(axis=0)


@pytest.mark.parametrize("kind", ["course", "fast", "mixing"])
def test_trax_layers_answer_as_in_the_course(kind):
    model = trax_model(relative if kind == "mixing" else None)
    if kind == "fast":
        siamese.fast_forward(model)
    Q1, Q2 = questions(18, 4, 8)
    y = np.random.default_rng(0).integers(0, 2, 18)
    for turned in (False, True) if kind == "course" else (False,):  # New weights are used.
        if turned:
            model.weights = jax.tree.map(lambda w: w[::-1], model.weights)
        scores = np.sort(pair_scores(Q1, Q2, model, VOCAB, batch_size=8))
        gap = np.argmax(np.diff(scores))
        # Far from any score: the last bits decide nothing.
        threshold = scores[gap : gap + 2].mean()
        asked = (Q1, Q2, y, threshold, model, VOCAB, data_generator, 8)
        assert classify(*asked) == RIGHT["classify"](*asked)


def test_a_model_without_weights_is_one_sentence():
    """L1, in the forms in which a learner meets it."""
    model, q = siamese.Siamese(12, 6), np.array([[2, 3]], np.int32)
    vocab = {"<PAD>": 1, "How": 2}
    for ask in (
        lambda: siamese.predict("How old?", "How?", 0.7, model, vocab),
        lambda: classify([[2]], [[3]], [1], 0.7, model, vocab),
        lambda: model((q, q)),
        lambda: model.sublayers[0](q),
        lambda: siamese.predict("How old?", "How?", 0.7, tl.Serial(model), vocab),
        lambda: siamese.fast_forward(siamese.Siamese(12, 6))((q, q)),
    ):
        message = "^The model has no weights yet: use loop.eval_model, init_from_file or init"
        with pytest.raises(ArgumentError, match=message) as refused:
            ask()
        assert "\n" not in str(refused.value)


def test_one_signature_or_question_for_two_is_one_sentence():
    """L3, in the forms in which a learner meets it."""
    model, q = siamese.Siamese(12, 6), np.array([[2, 3]], np.int32)
    for wrong in (
        ShapeDtype((1, 1), dtype=np.int32),
        signature(q),
        signature((q,)),
        [signature(q)],
        (1, 1),
        ((1, 1), (1, 1)),
        (ShapeDtype((1,), dtype=np.int32),) * 2,
    ):
        message = "^Siamese takes two questions: give a pair of signatures"
        with pytest.raises(ArgumentError, match=message):
            model.init(wrong)
    model.init(signature((q, q)))
    for wrong in (q, (q,), [q], [[1, 2], [1, 2]], (q[0], q[0]), ("How?", "How?")):
        with pytest.raises(ArgumentError, match=r"give a pair of arrays, \(q1, q2\), \[batch"):
            model(wrong)
    assert model((q, q))[0].shape == model([q, q])[0].shape == (1, 6)


def test_errors_of_other_layers_stay_trax_s():
    boom = tl.Fn("boom", lambda x: x.nothing)
    for layer, x in (
        (boom, np.ones(3)),
        (tl.Parallel(boom, boom), np.ones((2, 2, 3))),
        (tl.Parallel(boom, boom, boom), np.ones((3, 3))),
    ):
        with pytest.raises(tl.LayerError, match="boom"):
            layer(x)
    with pytest.raises(siamese.ShapeError, match="differ in their rows"):  # but our own
        siamese.TripletLoss()((np.ones((2, 3)), np.ones((3, 3))))
