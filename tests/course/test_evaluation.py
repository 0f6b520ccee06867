"""data_generator and classify against the course's own cells; wrong arguments of all functions."""

import json
import random
from collections import defaultdict
from functools import partial

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stock_trax import COURSE, RIGHT
from trax import layers as tl
from trax.shapes import ShapeDtype, signature

import siamese
from siamese import Siamese, TripletLossFn, classify, data_generator, edition
from siamese.course.answers import pair_scores
from siamese.errors import ArgumentError, DataError, ShapeError
from siamese.nn.ragged import Ragged
from siamese.nn.similarity import cosine_similarity, similarity_matrix
from siamese.nn.triplet import loss_from_scores, mean_negative

reference_batches = COURSE["data_generator"]
question = st.lists(st.integers(0, 50), min_size=1, max_size=9)
pairs = st.lists(st.tuples(question, question), min_size=1, max_size=12)
FORMS = [
    list,
    lambda rows: tuple(map(tuple, rows)),
    lambda rows: np.array([*rows, None], object)[:-1],
    lambda rows: [*map(np.array, rows)],
    lambda rows: np.array(rows) if len({*map(len, rows)}) == 1 else rows,
    Ragged.from_lists,
]


@given(
    pairs, st.integers(1, 30), st.integers(-3, 3), st.booleans(), st.sampled_from(FORMS)
)
def test_equals_the_course_for_every_form_of_input(
    pairs, batch_size, pad, shuffle, form
):
    (first, second), seed = [list(side) for side in zip(*pairs)], len(pairs)
    random.seed(seed)
    reference = reference_batches(first, second, batch_size, pad, shuffle)
    expected = [next(reference) for _ in range(6)]
    after = random.random()
    random.seed(seed)
    options = {"batch_size": batch_size, "pad": pad, "shuffle": shuffle}
    batches = data_generator(Q1=form(first), Q2=form(second), **options)
    for batch in expected:
        ours = next(batches)
        assert type(ours) is tuple and len(ours) == 2
        np.testing.assert_array_equal(ours, batch)
        assert ours[0].dtype == ours[1].dtype == np.int32
    assert random.random() == after  # the same number of draws, too


def test_nothing_is_drawn_before_the_first_batch():
    # With a training and a validation generator, the one asked first shuffles first.
    ids = [[i] for i in range(2, 12)]
    random.seed(5)
    before = random.getstate()
    first, second = data_generator(ids, ids, 10), data_generator(ids, ids, 10)
    assert random.getstate() == before
    late = next(second)[0][:, 0].tolist(), next(first)[0][:, 0].tolist()
    random.seed(5)
    one, two = reference_batches(ids, ids, 10), reference_batches(ids, ids, 10)
    assert late == (next(one)[0][:, 0].tolist(), next(two)[0][:, 0].tolist())


@given(pairs, st.integers(1, 20), st.integers(0, 8), st.booleans(), st.booleans())
def test_resume_equals_no_interruption(pairs, batch_size, taken, shuffle, others_draw):
    first, second = [list(side) for side in zip(*pairs)]
    random.seed(3)
    whole = data_generator(first, second, batch_size, shuffle=shuffle)
    for _ in range(taken):
        next(whole)
    kept = json.loads(json.dumps(whole.state()))
    expected = [next(whole) for _ in range(5)]
    if others_draw:
        random.seed(77)
    resumed = data_generator(first, second, batch_size, shuffle=shuffle)
    resumed.restore(kept)
    for batch in expected:
        np.testing.assert_array_equal(next(resumed), batch)


def test_state_of_another_data_set_is_refused_and_changes_nothing():
    state = data_generator([[2], [3]], [[2], [3]], 1).state()
    other = data_generator([[2]], [[2]], 1)
    before = random.getstate()
    with pytest.raises(ArgumentError, match="2 pairs; this one has 1"):
        other.restore(state)
    assert random.getstate() == before


VOCAB = {"<PAD>": 1}


def questions(rows, longest, seed):
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, longest + 1, (2, rows))
    return [
        [generator.integers(2, 50, length).tolist() for length in side]
        for side in lengths
    ]


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


LABELS = [list, np.array, lambda y: np.array(y, int)]
GENERATORS = st.sampled_from([data_generator, own_generator])
SIZES = st.tuples(st.integers(1, 90), st.integers(1, 20), st.integers(0, 1000))


@settings(max_examples=40)
@given(SIZES, st.sampled_from(FORMS), st.sampled_from(LABELS), GENERATORS)
def test_the_accuracy_is_that_of_the_course_loop(sizes, form, labels, generator):
    """At a threshold that is one of the scores: a score must be above it.

    Called as the grader does.
    """
    rows, batch_size, seed = sizes
    pairs, model = questions(rows, 33, seed), mean_of_embeddings
    threshold = pair_scores(*pairs, model, VOCAB, batch_size=batch_size)[seed % rows]
    y, vocab = [i % 3 == 0 for i in range(rows)], defaultdict(int, VOCAB)
    expected = RIGHT["classify"](
        *pairs, y, threshold, model, vocab, generator, batch_size
    )
    asked = {
        "test_Q1": form(pairs[0]),
        "test_Q2": form(pairs[1]),
        "y": labels(y),
        "vocab": vocab,
    }
    more = {
        "threshold": threshold,
        "data_generator": generator,
        "batch_size": batch_size,
    }
    assert classify(model=model, **asked, **more) == expected and vocab == VOCAB


def trax_model(normalize=None):
    model = siamese.Siamese(vocab_size=50, d_model=16)
    if normalize:
        tower = tl.Serial(
            tl.Embedding(50, 16), tl.LSTM(16), tl.Max(axis=1), tl.Fn("N", normalize)
        )
        model = tl.Parallel(tower, tower)
    model.init((ShapeDtype((8, 16), np.int32),) * 2)
    # As drawn, all scores lie near 1; larger weights spread them as training does.
    model.weights = jax.tree.map(lambda weight: 4 * weight, model.weights)
    return model


@pytest.mark.parametrize("kind", ["course", "fast", "mixing"])
def test_trax_layers_answer_as_in_the_course(kind):
    # Vectors relative to their batch's mean: the rows are mixed.
    model = trax_model((lambda x: x - x.mean(axis=0)) if kind == "mixing" else None)
    if kind == "fast":
        siamese.fast_forward(model)
    Q1, Q2 = questions(18, 4, 8)
    y = np.random.default_rng(0).integers(0, 2, 18)
    # New weights are used.
    for turned in (False, True) if kind == "course" else (False,):
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
        message = (
            "^The model has no weights yet: use loop.eval_model, init_from_file or init"
        )
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
        with pytest.raises(
            ArgumentError, match=r"give a pair of arrays, \(q1, q2\), \[batch"
        ):
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


def gives(*shapes):
    return lambda pair: tuple(map(np.ones, shapes))


def two(first, second, names=("v1", "v2")):
    return dict(zip(names, (np.ones(first), np.ones(second))))


CALLS = {
    classify: {
        **{"test_Q1": [[5], [6]], "test_Q2": [[5], [7]], "y": [1, 0], "threshold": 0.7},
        **{"model": gives((2, 3), (2, 3)), "vocab": {"<PAD>": 1}, "batch_size": 2},
    },
    data_generator: {"Q1": [[2]], "Q2": [[2]], "batch_size": 2},
    loss_from_scores: {"scores": np.eye(2)},
}
WRONG = [
    (classify, {"y": [1]}, DataError, "1 labels for 2 pairs"),
    (classify, {"y": [1, 2]}, ArgumentError, r"y\[1\] is .*2"),
    (classify, {"test_Q1": [[5], []]}, DataError, r"test_Q1\[1\] is an empty question"),
    (classify, {"threshold": "high"}, ArgumentError, "threshold"),
    (classify, {"batch_size": 0}, ArgumentError, "batch_size"),
    (classify, {"data_generator": lambda *_, **__: iter([])}, ArgumentError, "must yield batches"),
    (classify, {"vocab": defaultdict(lambda: 0)}, ArgumentError, "<PAD>"),
    (classify, {"model": lambda pair: pair[0][0]}, ShapeError, "two arrays v1 and v2"),
    (classify, {"model": gives((2, 3), (2, 4))}, ShapeError, r"\(2, 4\)"),
    (classify, {"model": gives((1, 3), (1, 3))}, ShapeError, "each"),
    *((classify, {"model": model}, ArgumentError, f"a model, such as .*, not {name}")
      for model, name in ((Siamese, "Siamese"), (partial(Siamese, 9), "partial"), (None, "None"))),
    (data_generator, {"Q1": [], "Q2": []}, DataError, "empty"),
    (data_generator, {"Q2": [[2], [3]]}, DataError, "Q1 holds 1 questions and Q2 holds 2"),
    (data_generator, {"Q2": [[]]}, DataError, r"Q2\[0\] is an empty question \(1 such"),
    (data_generator, {"Q1": [["how", "are"]]}, DataError, "Q1.*integer token ids"),
    (data_generator, {"Q2": [[None]]}, DataError, "Q2.*integer token ids"),
    (data_generator, {"Q1": 7}, DataError, "Q1 must hold.*int"),
    *((data_generator, {"batch_size": n}, ArgumentError, "batch_size") for n in (0, 2.0, None, True)),
    *((data_generator, {"pad": n}, ArgumentError, "pad") for n in ("<PAD>", -(2**31) - 1, 2**31)),
    (TripletLossFn, two((2, 3), (3, 3)), ShapeError, r"\(2, 3\).*\(3, 3\)"),
    *((loss_from_scores, {"scores": s}, ArgumentError, "numbers") for s in ([[1, 2], [3]], [["a"]])),
    (TripletLossFn, two((1, 3), (1, 3)), ArgumentError, "at least 2"),
    (loss_from_scores, {"scores": np.ones((2, 3))}, ShapeError, r"square .*\(2, 3\)"),
    (loss_from_scores, {"closest": "nearest"}, ArgumentError, "'nearest'"),
    (loss_from_scores, {"reduction": "max"}, ArgumentError, "'sum'.*'max'"),
    (loss_from_scores, {"direction": "up"}, ArgumentError, "'columns'"),
    (loss_from_scores, {"margin": -0.1}, ArgumentError, "margin .*-0.1"),
    (loss_from_scores, {"margin": None}, ArgumentError, "margin .*None"),
    (loss_from_scores, {"false_negative_mask": np.eye(3) > 0}, ShapeError, r"\(2, 2\); .* \(3, 3\)"),
    (loss_from_scores, {"false_negative_mask": np.eye(2)}, ArgumentError, "bool.*float64"),
    (mean_negative, {"scores": np.ones(4)}, ShapeError, r"\[batch, batch\].*\(4,\)"),
    *((edition, {"year": year}, ArgumentError, f"of 2020 to 2023; year is {year!r}")
      for year in (2019, 2024, "2023", None, 22)),
    (Siamese, {"vocab_size": 0}, ArgumentError, "vocab_size"),
    (Siamese, {"d_model": True}, ArgumentError, "d_model"),
    (Siamese, {"mode": "test"}, ArgumentError, "'test'"),
    (Siamese, {"lstm_bias": "none"}, ArgumentError, "lstm_bias"),
    (cosine_similarity, two((4,), (4, 1)), ShapeError, r"\(4,\).*\(4, 1\)"),
    (cosine_similarity, two((2, 3), (3,)), ShapeError, r"\(2, 3\).*\(3,\)"),
    (cosine_similarity, two((), ()), ShapeError, r"\(\).*\(\)"),
    (similarity_matrix, two((3,), (3, 3)), ShapeError, r"\(3,\).*\(3, 3\)"),
    (similarity_matrix, two((2, 3), (2, 4)), ShapeError, r"\(2, 3\).*\(2, 4\)"),
    (similarity_matrix, two((2, 3, 1), (2, 3, 1)), ShapeError, r"\(2, 3, 1\)"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "wrong", "error", "words"), WRONG)
def test_a_wrong_argument_is_named_at_the_call(function, wrong, error, words):
    with pytest.raises(error, match=words):
        function(**CALLS.get(function, {}) | wrong)
