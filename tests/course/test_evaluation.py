"""classify against the course's loop, pair by pair, for every kind of model callable."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stock_trax import RIGHT

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


class MeanOfEmbeddings:
    """Unmasked mean over a fixed random embedding, normalised: the padding changes the vector."""

    def __init__(self, d=16, seed=0):
        self.table = np.random.default_rng(seed).normal(size=(50, d)).astype(np.float32)

    def vectors(self, q):
        mean = self.table[q].mean(axis=1)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)

    def __call__(self, pair):
        assert pair[0].shape == pair[1].shape and pair[0].dtype == np.int32
        return self.vectors(pair[0]), self.vectors(pair[1])


@settings(max_examples=40, deadline=None)
@given(
    rows=st.integers(1, 90),
    batch_size=st.integers(1, 20),
    seed=st.integers(0, 1000),
    at=st.integers(0, 89),
)
def test_the_accuracy_is_that_of_the_course_loop(rows, batch_size, seed, at):
    """At a threshold that is one of the scores: a score must be above it."""
    pairs, model = questions(rows, 33, seed), MeanOfEmbeddings(seed=seed)
    threshold = pair_scores(*pairs, model, VOCAB, batch_size=batch_size)[at % rows]
    asked = (*pairs, np.arange(rows) % 3 == 0, threshold, model, VOCAB, data_generator, batch_size)
    assert classify(*asked) == RIGHT["classify"](*asked)


def test_nan_vectors_count_as_not_duplicate_as_in_the_course():
    def model(pair):
        v = (pair[0][:, :1] % 5).astype(np.float32)
        return v / np.where(v == 2, 0, v), v

    Q = [[2 + i % 5] for i in range(40)]
    y = np.arange(40) % 2
    with np.errstate(all="ignore"):
        expected = RIGHT["classify"](Q, Q, y, 0.7, model, VOCAB, data_generator, 4)
        assert classify(Q, Q, y, 0.7, model, VOCAB, batch_size=4) == expected


def test_ragged_rows_bools_and_object_arrays():
    Q1, Q2 = questions(30, 9, 2)
    y = np.random.default_rng(0).integers(0, 2, 30)
    model = MeanOfEmbeddings()
    expected = classify(Q1, Q2, y, 0.3, model, VOCAB, batch_size=8)
    ragged = Ragged.from_lists(Q1), Ragged.from_lists(Q2)
    assert classify(*ragged, y.astype(bool), 0.3, model, VOCAB, batch_size=8) == expected
    objects = np.array([np.array(q) for q in Q1], object), np.array(Q2, object)
    assert classify(*objects, y.tolist(), 0.3, model, VOCAB, batch_size=8) == expected


# ---- Trax layers ----


def trax_model(normalize=None):
    """The course's model, or one with another last layer, in plain Trax."""
    from trax import layers as tl
    from trax import shapes

    model = siamese.Siamese(vocab_size=50, d_model=16)
    if normalize:
        tower = tl.Serial(tl.Embedding(50, 16), tl.LSTM(16), tl.Max(axis=1), tl.Fn("N", normalize))
        model = tl.Parallel(tower, tower)
    model.init(tuple(shapes.ShapeDtype((8, 16), np.int32) for _ in range(2)))
    import jax

    # As drawn, all scores lie near 1; larger weights spread them as training does.
    model.weights = jax.tree_util.tree_map(lambda weight: 4 * weight, model.weights)
    return model


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fast": True},
        # Vectors relative to their batch's mean: the rows are mixed.
        {"normalize": lambda x: x - x.mean(axis=0)},
    ],
    ids=["course", "fast", "mixing"],
)
def test_trax_layers_answer_as_in_the_course(options):
    import jax

    model = trax_model(options.get("normalize"))
    if "fast" in options:
        siamese.fast_forward(model)
    Q1, Q2 = questions(18, 4, 8)
    y = np.random.default_rng(0).integers(0, 2, 18)
    for turned in (False,) if options else (False, True):  # New weights are used.
        if turned:
            model.weights = jax.tree_util.tree_map(lambda w: w[::-1], model.weights)
        scores = np.sort(pair_scores(Q1, Q2, model, VOCAB, batch_size=8))
        gap = np.argmax(np.diff(scores))
        # Far from any score: the last bits decide nothing.
        threshold = scores[gap : gap + 2].mean()
        asked = (Q1, Q2, y, threshold, model, VOCAB, data_generator, 8)
        assert classify(*asked) == RIGHT["classify"](*asked)


def test_the_model_is_called_once_a_batch_and_traced_once_for_a_length():
    calls = []

    def counted(x):
        calls.append(x.shape)
        return x

    model = trax_model(normalize=counted)
    Q = [[2, 3, 4]] * 80
    calls.clear()
    for _ in range(2):
        pair_scores(Q, Q, model, VOCAB, batch_size=8)
    assert len(calls) == 2  # the two towers
    calls.clear()
    pair_scores(Q, Q, lambda pair: calls.append(0) or MeanOfEmbeddings()(pair), VOCAB, batch_size=8)
    assert len(calls) == 10


NO_WEIGHTS = "The model has no weights yet: use loop.eval_model, init_from_file or init"


def test_a_model_without_weights_is_one_sentence():
    """L1, in the forms in which a learner meets it."""
    from trax import layers as tl

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
        with pytest.raises(ArgumentError, match=NO_WEIGHTS) as refused:
            ask()
        assert "\n" not in str(refused.value)


def test_one_signature_or_question_for_two_is_one_sentence():
    """L3, in the forms in which a learner meets it."""
    from trax.shapes import ShapeDtype, signature

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
        with pytest.raises(ArgumentError) as refused:
            model.init(wrong)
        assert str(refused.value).startswith(
            "Siamese takes two questions: give a pair of signatures"
        )
    for wrong in (q, (q,), [q]):
        with pytest.raises(ArgumentError, match=r"give a pair of arrays, \(q1, q2\)"):
            model(wrong)
    model.init(signature((q, q)))
    for wrong in ([[1, 2], [1, 2]], (q[0], q[0]), ("How?", "How?")):
        with pytest.raises(ArgumentError, match=r"give a pair of arrays, \(q1, q2\), \[batch"):
            model(wrong)
    assert model((q, q))[0].shape == model([q, q])[0].shape == (1, 6)


def test_errors_of_other_layers_stay_trax_s():
    from trax import layers as tl

    with pytest.raises(tl.LayerError, match="boom"):
        tl.Fn("boom", lambda x: x.nothing)(np.ones(3))
    with pytest.raises(tl.LayerError):
        siamese.TripletLoss()((np.ones((2, 3)), np.ones((3, 3))))
    boom = tl.Fn("boom", lambda x: x.nothing)
    for layer, x in (
        (tl.Parallel(boom, boom), np.ones((2, 2, 3))),
        (tl.Parallel(boom, boom, boom), np.ones((3, 3))),
    ):
        with pytest.raises(tl.LayerError, match="boom"):
            layer(x)
