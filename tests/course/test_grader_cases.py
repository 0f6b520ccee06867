"""What the course's grader asks, private names of Trax's Loop too: calls, shapes, types, tolerances."""

import functools
from collections import defaultdict

import golden
import jax
import numpy as np
import pytest
import reference
import trax
from jax.interpreters.xla import DeviceArray
from numpy.testing import assert_allclose, assert_array_equal
from stock_trax import OF_2020
from trax import layers as tl
from trax import shapes
from trax.fastmath import numpy as jnp
from trax.layers import base
from trax.supervised import training

import siamese
from siamese import Siamese, TripletLoss, data_generator, predict, train_model

# The course keeps questions as an array of lists.
Q1, Q2 = np.array([[[5, 6, 7], [8], [9, 10]], [[5, 7], [8, 11], [10]]], object)


@pytest.mark.parametrize(
    "sizes", [{"vocab_size": 41699, "d_model": 128}, {"vocab_size": 200, "d_model": 16}]
)
@pytest.mark.parametrize("mode", ["train", "eval", "predict"])
@pytest.mark.parametrize("change", [lambda model: model, siamese.fast_forward])
def test_siamese(sizes, mode, change):
    model = change(Siamese(**sizes, mode=mode))
    printed = golden.MODEL_PRINTED.replace("41699", str(sizes["vocab_size"]))
    assert str(model) == printed.replace("128", str(sizes["d_model"]))
    assert str(type(model)) == "<class 'trax.layers.combinators.Parallel'>"
    assert (
        type(model) is tl.Parallel
        and model.n_in == model.n_out == len(model.sublayers) == 2
    )
    serial, pure = "trax.layers.combinators.Serial", "trax.layers.base.PureLayer"
    for tower in model.sublayers:
        types = [str(type(layer)) for layer in (tower, *tower.sublayers)]
        names = (serial, "trax.layers.core.Embedding", serial, pure, pure)
        assert types == [f"<class '{name}'>" for name in names]


PAIR = {"v1": golden.ASSIGNMENT_V1, "v2": golden.ASSIGNMENT_V2}
FOUR = {
    "v1": siamese.l2_normalize(golden.MATRIX_V1),
    "v2": siamese.l2_normalize([[3, 5, 7], [19, 17, 15], [-9, -39, -19], [7, -73, 17]]),
}


@pytest.mark.parametrize(
    ("vectors", "margin", "of_2023"),
    [
        (PAIR, {}, 0.70350766),
        (PAIR, {"margin": 0.8}, None),
        (FOUR, {}, 0.30219173),
        (FOUR, {"margin": 0.8}, 2.426249),
    ],
)
@pytest.mark.parametrize("kind", [np.asarray, jnp.asarray, np.ndarray.tolist])
@pytest.mark.parametrize("year", [2020, 2022, 2023])
def test_triplet_loss_fn(vectors, margin, of_2023, kind, year):
    loss_fn = siamese.edition(year).TripletLossFn
    loss = loss_fn(**{name: kind(v) for name, v in vectors.items()}, **margin)
    assert isinstance(loss, DeviceArray) and loss.shape == ()
    words = ("hardest", "mean") if year < 2023 else ("semi_hard", "sum")
    scores = vectors["v1"] @ vectors["v2"].T
    expected = reference.triplet_loss(scores, margin.get("margin", 0.25), *words)
    if year == 2023 and of_2023:  # the lecture's closest negative and the sum
        assert expected == pytest.approx(of_2023, abs=golden.LOSS_TOLERANCE)
    assert float(loss) == pytest.approx(expected, abs=golden.LOSS_TOLERANCE)


@pytest.mark.parametrize(
    ("year", "printed"), [(2022, "0.5"), (2023, "0.703507661819458")]
)
def test_what_the_assignments_cell_prints(year, printed):
    loss = siamese.edition(year).TripletLossFn(**PAIR)
    assert f"Triplet Loss: {loss}" == f"Triplet Loss: {printed}"
    if year == 2023:
        assert f"{siamese.TripletLossFn(**PAIR)}" == printed


SCHEDULE = trax.lr.warmup_and_rsqrt_decay(400, 0.01)  # the third argument in 2020


def call_of_2020(Siamese, TripletLoss, train_generator, val_generator):
    generators = {"train_generator": train_generator, "val_generator": val_generator}
    return train_model(
        Siamese, TripletLoss, SCHEDULE, **generators, output_dir="model/"
    )


def call_of_2020_by_position(*functions_and_generators):
    Siamese, TripletLoss, *rest = functions_and_generators
    return siamese.edition(2020).train_model(
        Siamese, TripletLoss, SCHEDULE, *rest, "model/"
    )


CALLS = [
    train_model,
    siamese.edition(2022).train_model,
    siamese.edition(2023).train_model,
]
CALLS += [call_of_2020, call_of_2020_by_position, OF_2020["train_model"]]


@pytest.mark.parametrize("function", CALLS)
def test_train_model(function, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    batches = [
        data_generator(Q1, Q2, batch_size=2, pad=1, shuffle=False) for _ in range(2)
    ]
    model = functools.partial(Siamese, 200, 16)
    loop = function(model, TripletLoss, *batches)
    assert isinstance(loop, training.Loop)
    (task,), (eval_task,) = loop._tasks, loop._eval_tasks
    assert str(task.loss_layer) == "TripletLoss_in2"
    assert isinstance(task.optimizer, trax.optimizers.adam.Adam)
    adam = {
        "weight_decay_rate": 1e-5,
        "b1": 0.9,
        "b2": 0.999,
        "eps": 1e-5,
        "learning_rate": 0.01,
    }
    assert task._optimizer.opt_params == {
        name: jnp.array(value) for name, value in adam.items()
    }
    for step in (1, 200, 400, 401, 1600):  # Trax's warm-up ends one step after the 400
        expected = 0.01 * min(step / 401, (401 / step) ** 0.5)
        assert float(task.learning_rate(step)) == pytest.approx(expected)
    assert task.labeled_data is batches[0] and eval_task.labeled_data is batches[1]
    assert list(eval_task._metric_names) == ["TripletLoss"]
    assert loop._output_dir == loop.output_dir == "model/"  # with the slash
    assert loop.eval_model is loop.model and loop.step == 0


@pytest.mark.parametrize(
    "rest_of",
    [
        lambda batches: (batches, lambda step: 0.1, batches, None),
        lambda batches: (lambda step: 0.1, batches),
    ],
    ids=["in another place", "one generator alone"],
)
def test_a_schedule_in_another_place_or_beside_one_generator_is_refused(rest_of):
    batches = data_generator(Q1, Q2, batch_size=2)
    model = functools.partial(Siamese, 200, 16)
    with pytest.raises((TypeError, siamese.ArgumentError)):
        train_model(model, TripletLoss, *rest_of(batches))


def as_key(batch):
    return tuple(tuple(map(tuple, side)) for side in batch)


def unit(angles):
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


@pytest.mark.parametrize("kind", ["defaultdict", "dict"])
@pytest.mark.parametrize(
    ("cosine", "threshold", "expected"),
    [
        (0.9, 0.7, True),
        (0.5, 0.7, False),
        (0.85, 0.5, True),
        (0.85, 0.8, True),
        (0.3, 0.5, False),
    ],
)
def test_predict(kind, cosine, threshold, expected):
    words = {"<PAD>": 1, "When": 2, "will": 3, "we": 4, "meet": 5, "?": 6, "again": 7}
    vocab = defaultdict(lambda: 0, words) if kind == "defaultdict" else dict(words)
    angle = np.array([np.arccos(cosine)])
    # "soon" is not known, and so 0; both questions are padded to 8.
    asked = [[2, 3, 4, 5, 6, 1, 1, 1]], [[2, 3, 4, 5, 7, 0, 6, 1]]
    model = {as_key(asked): (unit(0 * angle), unit(angle))}
    answer = {"threshold": threshold, "model": lambda batch: model.get(as_key(batch))}
    texts = {
        "question1": "When will we meet?",
        "question2": "When will we meet again soon?",
    }
    found = predict(**texts, **answer, vocab=vocab)
    assert found == expected and type(found) is bool
    assert vocab == words


QUESTIONS = np.random.RandomState(0).randint(2, 30, (2, 6, 8)).astype(np.int32)


def made(fast=False, mode="train", **options):
    model = Siamese(30, 8, mode, **options)
    model.init(shapes.signature(tuple(QUESTIONS)))
    return siamese.fast_forward(model) if fast else model


def test_the_model_has_as_many_weights_as_in_the_documents():
    by_default = Siamese()
    by_default.init(shapes.signature(tuple(QUESTIONS)))
    weights = jax.tree.leaves(by_default.weights)
    assert sum(leaf.size for leaf in weights) == golden.MODEL_WEIGHTS


def test_the_towers_are_one_object_with_one_set_of_weights():
    model = made()
    first, second = model.sublayers
    assert first is second
    assert model.weights[1] == base.GET_WEIGHTS_FROM_CACHE
    v1, v2 = model((QUESTIONS[0], QUESTIONS[0]))
    assert_array_equal(v1, v2)
    assert_allclose(np.linalg.norm(v1, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("mode", ["eval", "predict"])
def test_mode_has_no_effect_and_keeps_no_state(mode):
    first = made()
    expected = jax.eval_shape(first, tuple(QUESTIONS)) and first(tuple(QUESTIONS))
    model = made(mode=mode)
    model.weights = first.weights
    for _ in range(2):  # the second call starts as the first did
        assert_array_equal(model(tuple(QUESTIONS)), expected)


@pytest.mark.parametrize("fast", [True, False])
def test_zero_vectors_stay_and_ids_beyond_the_embedding_take_its_last_row(fast):
    """The course makes len(vocab) rows for ids up to len(vocab); Trax clamps, NaN would be no answer."""
    model = made(fast=fast)
    beyond, last = (np.full((6, 8), token, np.int32) for token in (30, 29))
    vectors = model((beyond, beyond))
    assert np.isfinite(vectors).all()
    assert_allclose(vectors, model((last, last)), atol=1e-6)
    model.weights = (
        jax.tree_util.tree_map(np.zeros_like, model.weights[0]),
        model.weights[1],
    )
    assert_array_equal(model(tuple(QUESTIONS)), np.zeros((2, 6, 8)))


@pytest.mark.parametrize(
    ("name", "expected"), [("all_gates", [1, 1, 1, 1]), ("forget_gate", [0, 0, 1, 0])]
)
def test_the_lstm_bias_starts_where_it_is_told_to(name, expected):
    bias = made(lstm_bias=name).weights[0][1][1][0][1]
    assert_allclose(bias, np.repeat(expected, 8), atol=1e-4)
