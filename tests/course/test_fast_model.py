"""The course's model made faster: the same vectors, gradients and files as without it."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from refusals import refuses
from trax import layers as tl
from trax import shapes
from trax.fastmath import numpy as fastnp

from siamese import ArgumentError, ShapeError, Siamese, fast_forward
from siamese.course.model import set_tower_weights, tower_weights
from siamese.course.trax.files import read_course_model
from siamese.nn.lstm import LstmConfig

VOCAB, D, PAD = 30, 8, 1


def tokens(rows=6, length=8, vocab=VOCAB, seed=0):
    return (
        np.random.RandomState(seed).randint(PAD, vocab, (rows, length)).astype(np.int32)
    )


def arrays():
    draw = np.random.default_rng(3)
    shapes = LstmConfig(VOCAB, D).shapes()
    return {
        name: draw.normal(size=shape).astype(np.float32)
        for name, shape in shapes.items()
    }


def unit(x):
    return x / fastnp.linalg.norm(x, axis=-1, keepdims=True)


def learners(normalize=unit, mean=None, size=D):
    last = mean or tl.Mean(axis=1), tl.Fn("Normalize", normalize)
    tower = tl.Serial(tl.Embedding(VOCAB, D), tl.LSTM(size), *last)
    return tl.Parallel(tower, tower)


def models(make=lambda: Siamese(VOCAB, D)):
    pair = fast_forward(make()), make()
    for model in pair:
        set_tower_weights(model, arrays())
    return pair


@pytest.mark.parametrize(  # The learner's model reads few words.
    ("make", "rows", "length1", "length2", "vocab"),
    [(lambda: Siamese(VOCAB, D), 6, 8, 4, VOCAB), (learners, 40, 16, 16, 9)],
)
def test_vectors_and_gradients_equal_those_of_the_layers(
    make, rows, length1, length2, vocab
):
    fast, stock = models(make)
    questions = tokens(rows, length1, vocab, 1), tokens(rows, length2, vocab, 2)
    direction = np.random.default_rng(0).normal(size=(2, rows, D))

    def run(model):
        # Trax would make the parts' keys inside the trace, and keep the tracers.
        key = model.rng = jax.random.PRNGKey(0)

        def loss(weights):
            vectors, _ = model.pure_fn(questions, weights, model.state, key)
            return sum((v * d).sum() for v, d in zip(vectors, direction)), vectors

        (_, vectors), gradient = jax.jit(jax.value_and_grad(loss, has_aux=True))(
            model.weights
        )
        return [*vectors, *jax.tree.leaves(gradient)]

    for value, expected in zip(run(fast), run(stock), strict=True):
        assert_allclose(value, expected, rtol=1e-5, atol=1e-6)
    one, other = (model.sublayers[0](questions[0]) for model in (fast, stock))
    assert_allclose(one, other, rtol=0, atol=1e-6)


def test_a_model_with_weights_keeps_them_and_its_files(tmp_path):
    _, stock = models()
    questions = tokens(seed=1), tokens(seed=2)
    expected = stock(questions)[0]
    fast = fast_forward(stock)
    assert fast is stock
    assert_allclose(fast(questions)[0], expected, rtol=0, atol=1e-6)
    file = str(tmp_path / "model.pkl.gz")
    fast.save_to_file(file, input_signature=shapes.signature(questions))
    for array, expected in zip(
        read_course_model(file).weights, arrays().values(), strict=True
    ):
        assert_array_equal(array, expected)
    fresh = Siamese(VOCAB, D)
    fresh.init_from_file(file)
    jax.tree.map(assert_array_equal, tower_weights(fresh), arrays())


def test_weights_of_other_shapes_are_refused():
    with refuses(ShapeError, "embedding", "(3, 8)", "(30, 8)"):
        set_tower_weights(Siamese(VOCAB, D), arrays() | {"embedding": np.zeros((3, 8))})


OTHERS = {
    "no unit rows": lambda: learners(normalize=lambda x: x),
    "the maximum": lambda: learners(mean=tl.Max(axis=1)),
    "another size": lambda: learners(size=2 * D),
    "two towers": lambda: tl.Parallel(*(learners().sublayers[0] for _ in range(2))),
    "one layer": lambda: tl.Dense(D),
    "a number": lambda: 3,
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_model_is_refused_and_stays_as_it_is(name):
    model = OTHERS[name]()
    with pytest.raises(ArgumentError):
        fast_forward(model)
    assert "forward" not in getattr(model, "__dict__", {})
