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
from refusals import refuses
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
    first, second = [list(side) for side in zip(*pairs)]
    seed = len(pairs)
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
    first = data_generator(ids, ids, 10)
    second = data_generator(ids, ids, 10)
    assert random.getstate() == before
    late = next(second)[0][:, 0].tolist(), next(first)[0][:, 0].tolist()
    random.seed(5)
    one = reference_batches(ids, ids, 10)
    two = reference_batches(ids, ids, 10)
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
    with refuses(ArgumentError, "2 pairs"):
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
    pairs = questions(rows, 33, seed)
    model = mean_of_embeddings
    threshold = pair_scores(*pairs, model, VOCAB, batch_size=batch_size)[seed % rows]
    y = [i % 3 == 0 for i in range(rows)]
    vocab = defaultdict(int, VOCAB)
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


def assert_answers_as_in_the_course(model):
    Q1, Q2 = questions(18, 4, 8)
    y = np.random.default_rng(0).integers(0, 2, 18)
    scores = np.sort(pair_scores(Q1, Q2, model, VOCAB, batch_size=8))
    gap = np.argmax(np.diff(scores))
    # Far from any score: the last bits decide nothing.
    threshold = scores[gap : gap + 2].mean()
    asked = (Q1, Q2, y, threshold, model, VOCAB, data_generator, 8)
    assert classify(*asked) == RIGHT["classify"](*asked)


def test_trax_layers_answer_as_in_the_course_with_new_weights_too():
    model = trax_model()
    assert_answers_as_in_the_course(model)
    model.weights = jax.tree.map(lambda weight: weight[::-1], model.weights)
    assert_answers_as_in_the_course(model)


def test_a_model_made_faster_answers_as_in_the_course():
    assert_answers_as_in_the_course(siamese.fast_forward(trax_model()))


def test_a_model_that_mixes_a_batchs_rows_answers_as_in_the_course():
    """Its vectors are relative to their batch's mean."""
    assert_answers_as_in_the_course(trax_model(lambda x: x - x.mean(axis=0)))


ONE = np.array([[2, 3]], np.int32)
WORDS = {"<PAD>": 1, "How": 2}
ASKS = {
    "predict": lambda model: siamese.predict("How old?", "How?", 0.7, model, WORDS),
    "classify": lambda model: classify([[2]], [[3]], [1], 0.7, model, WORDS),
    "a call": lambda model: model((ONE, ONE)),
    "a tower": lambda model: model.sublayers[0](ONE),
    "predict, in Serial": lambda model: siamese.predict(
        "How old?", "How?", 0.7, tl.Serial(model), WORDS
    ),
    "made faster": lambda model: siamese.fast_forward(model)((ONE, ONE)),
}


@pytest.mark.parametrize("name", ASKS)
def test_a_model_without_weights_is_one_sentence(name):
    """L1, in the forms in which a learner meets it."""
    with refuses(ArgumentError, "weights"):
        ASKS[name](siamese.Siamese(12, 6))


SIGNATURES = {
    "of one question": ShapeDtype((1, 1), dtype=np.int32),
    "of an array": signature(ONE),
    "a tuple of one": signature((ONE,)),
    "a list of one": [signature(ONE)],
    "a shape": (1, 1),
    "two shapes": ((1, 1), (1, 1)),
    "of two rows": (ShapeDtype((1,), dtype=np.int32),) * 2,
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_one_signature_for_two_is_one_sentence(name):
    """L3, in the forms in which a learner meets it."""
    with refuses(ArgumentError, "Siamese", "signatures"):
        siamese.Siamese(12, 6).init(SIGNATURES[name])


@pytest.fixture(scope="module")
def initialised():
    model = siamese.Siamese(12, 6)
    model.init(signature((ONE, ONE)))
    return model


QUESTIONS = {
    "an array": ONE,
    "a tuple of one": (ONE,),
    "a list of one": [ONE],
    "lists": [[1, 2], [1, 2]],
    "rows": (ONE[0], ONE[0]),
    "texts": ("How?", "How?"),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_one_question_for_two_is_one_sentence(initialised, name):
    """L3, in the forms in which a learner meets it."""
    with refuses(ArgumentError, "Siamese", "(q1, q2)"):
        initialised(QUESTIONS[name])


@pytest.mark.parametrize("kind", [tuple, list])
def test_a_pair_of_questions_is_taken_as_a_tuple_and_as_a_list(initialised, kind):
    assert initialised(kind([ONE, ONE]))[0].shape == (1, 6)


BOOM = tl.Fn("boom", lambda x: x.nothing)


@pytest.mark.parametrize(
    ("layer", "x"),
    [
        (BOOM, np.ones(3)),
        (tl.Parallel(BOOM, BOOM), np.ones((2, 2, 3))),
        (tl.Parallel(BOOM, BOOM, BOOM), np.ones((3, 3))),
    ],
    ids=["a layer", "two", "three"],
)
def test_errors_of_other_layers_stay_trax_s(layer, x):
    with pytest.raises(tl.LayerError) as error:
        layer(x)
    assert "boom" in str(error.value)


def test_the_losss_own_error_comes_through_traxs_layers():
    with refuses(siamese.ShapeError, "(2, 3)", "(3, 3)"):
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
    (classify, {"y": [1]}, DataError, ["y holds 1", "2 pairs"]),
    (classify, {"y": [1, 2]}, ArgumentError, ["y[1]", "2"]),
    (classify, {"test_Q1": [[5], []]}, DataError, ["test_Q1[1]"]),
    (classify, {"threshold": "high"}, ArgumentError, ["threshold"]),
    (classify, {"batch_size": 0}, ArgumentError, ["batch_size"]),
    (classify, {"data_generator": lambda *_, **__: iter([])}, ArgumentError, ["data_generator"]),
    (classify, {"vocab": defaultdict(lambda: 0)}, ArgumentError, ["vocab", "<PAD>"]),
    (classify, {"model": lambda pair: pair[0][0]}, ShapeError, ["model", "v1", "v2"]),
    (classify, {"model": gives((2, 3), (2, 4))}, ShapeError, ["model", "(2, 4)"]),
    (classify, {"model": gives((1, 3), (1, 3))}, ShapeError, ["model", "2 pairs"]),
    *((classify, {"model": model}, ArgumentError, ["model", f"not {name}"])
      for model, name in ((Siamese, "Siamese"), (partial(Siamese, 9), "partial"), (None, "None"))),
    (data_generator, {"Q1": [], "Q2": []}, DataError, ["empty"]),
    (data_generator, {"Q2": [[2], [3]]}, DataError, ["Q1 holds 1", "Q2 holds 2"]),
    (data_generator, {"Q2": [[]]}, DataError, ["Q2[0]", "(1 such"]),
    (data_generator, {"Q1": [["how", "are"]]}, DataError, ["Q1", "integer"]),
    (data_generator, {"Q2": [[None]]}, DataError, ["Q2", "integer"]),
    (data_generator, {"Q1": 7}, DataError, ["Q1", "int"]),
    *((data_generator, {"batch_size": n}, ArgumentError, ["batch_size"]) for n in (0, 2.0, None)),
    *((data_generator, {"pad": n}, ArgumentError, ["pad"]) for n in ("<PAD>", -(2**31) - 1, 2**31)),
    (TripletLossFn, two((2, 3), (3, 3)), ShapeError, ["(2, 3)", "(3, 3)"]),
    (loss_from_scores, {"scores": [[1, 2], [3]]}, ArgumentError, ["numbers", "[3]"]),
    (loss_from_scores, {"scores": [["a"]]}, ArgumentError, ["numbers", "'a'"]),
    (TripletLossFn, two((1, 3), (1, 3)), ArgumentError, ["2"]),
    (loss_from_scores, {"scores": np.ones((2, 3))}, ShapeError, ["(2, 3)"]),
    (loss_from_scores, {"closest": "nearest"}, ArgumentError, ["closest", "'nearest'"]),
    (loss_from_scores, {"reduction": "max"}, ArgumentError, ["reduction", "'sum'", "'max'"]),
    (loss_from_scores, {"direction": "up"}, ArgumentError, ["direction", "'columns'"]),
    (loss_from_scores, {"margin": -0.1}, ArgumentError, ["margin", "-0.1"]),
    (loss_from_scores, {"margin": None}, ArgumentError, ["margin", "None"]),
    (loss_from_scores, {"false_negative_mask": np.eye(3) > 0}, ShapeError, ["(2, 2)", "(3, 3)"]),
    (loss_from_scores, {"false_negative_mask": np.eye(2)}, ArgumentError, ["bool", "float64"]),
    (mean_negative, {"scores": np.ones(4)}, ShapeError, ["[batch, batch]", "(4,)"]),
    *((edition, {"year": year}, ArgumentError, ["2020", "2023", repr(year)])
      for year in (2019, 2024, "2023", None, 22)),
    (Siamese, {"vocab_size": 0}, ArgumentError, ["vocab_size"]),
    (Siamese, {"d_model": 2.5}, ArgumentError, ["d_model"]),
    (Siamese, {"mode": "test"}, ArgumentError, ["mode", "'test'"]),
    (Siamese, {"lstm_bias": "none"}, ArgumentError, ["lstm_bias"]),
    (cosine_similarity, two((4,), (4, 1)), ShapeError, ["(4,)", "(4, 1)"]),
    (cosine_similarity, two((2, 3), (3,)), ShapeError, ["(2, 3)", "(3,)"]),
    (cosine_similarity, two((), ()), ShapeError, ["()"]),
    (similarity_matrix, two((3,), (3, 3)), ShapeError, ["(3,)", "(3, 3)"]),
    (similarity_matrix, two((2, 3), (2, 4)), ShapeError, ["(2, 3)", "(2, 4)"]),
    (similarity_matrix, two((2, 3, 1), (2, 3, 1)), ShapeError, ["(2, 3, 1)"]),
]  # fmt: skip


@pytest.mark.parametrize(("function", "wrong", "error", "names"), WRONG)
def test_a_wrong_argument_is_named_at_the_call(function, wrong, error, names):
    with refuses(error, *names):
        function(**CALLS.get(function, {}) | wrong)
