"""Cosines and the modified triplet loss: the documents' numbers, loops in float64."""

import sys
import types
from functools import partial

import golden
import jax
import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from refusals import refuses
from trax import layers as tl

from siamese import ShapeError, TripletLoss, TripletLossFn, edition
from siamese.nn import triplet as losses
from siamese.nn.similarity import cosine_similarity, l2_normalize, similarity_matrix
from siamese.nn.triplet import closest_negative, hinge, loss_from_scores, mean_negative


def compiled(function):
    """The function on JAX arrays: of float32, where float64 is not enabled."""

    def run(*args, **options):
        return jax.jit(partial(function, **options))(
            *(jax.numpy.asarray(a, float) for a in args)
        )

    return run


both = pytest.mark.parametrize("run", [lambda f: f, compiled], ids=["numpy", "jit"])


@both
@pytest.mark.parametrize(("v1", "v2", "expected"), golden.COSINE)
def test_the_documents_cosines(run, v1, v2, expected):
    with jax.enable_x64(True):
        cosine = float(run(cosine_similarity)(v1, v2))
    assert cosine == pytest.approx(expected, abs=golden.COSINE_TOLERANCE)


@both
def test_the_documents_unit_rows(run):
    with jax.enable_x64(True):
        unit = run(l2_normalize)(golden.NORMALIZE_X)
    tolerance = {"rtol": 0, "atol": golden.NORMALIZE_TOLERANCE}
    assert_allclose(unit, golden.NORMALIZE_EXPECTED, **tolerance)


@both
@pytest.mark.parametrize(("_", "rows", "v2", "expected"), golden.MATRICES)
def test_the_documents_matrices(run, _, rows, v2, expected):
    pair = (golden.MATRIX_V1, v2) if rows == "v1" else (v2, golden.MATRIX_V1)
    with jax.enable_x64(True):
        matrix = run(similarity_matrix)(*pair)
    assert_allclose(matrix, expected, rtol=0, atol=golden.MATRIX_TOLERANCE)


@given(arrays(np.float64, (3, 4), elements=st.floats(-10, 10)))
def test_matrix_equals_the_loop_over_pairs(v1):
    v1 = np.where(np.abs(v1) < 1e-6, 0, v1)
    v2 = v1[::-1] + 1
    expected = [[reference.cosine(a, b) for b in v2] for a in v1]
    assert_allclose(similarity_matrix(v1, v2), expected, atol=1e-12)
    assert_allclose(cosine_similarity(v1, v2), np.diag(expected), atol=1e-12)


def test_unit_rows_need_no_second_normalisation():
    v = l2_normalize(np.random.RandomState(0).randn(4, 3))
    products = similarity_matrix(v, v[::-1], normalize=False)
    assert_allclose(products, similarity_matrix(v, v[::-1]), atol=1e-15)
    # It multiplies as they are: the caller answers for their length.
    assert similarity_matrix([[2.0]], [[3.0]], normalize=False).tolist() == [[6.0]]


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_any_axis_has_length_1(axis):
    x = np.random.RandomState(0).randn(2, 3, 4)
    assert_allclose((l2_normalize(x, axis) ** 2).sum(axis), 1)


def test_precision_and_kind_follow_the_arguments():
    assert similarity_matrix([[1, 2]], [[3, 4]]).dtype == np.float64
    assert l2_normalize(np.ones(2, np.float32)).dtype == np.float32
    jax_array = l2_normalize(jax.numpy.ones((2, 3), jax.numpy.bfloat16))
    assert isinstance(jax_array, jax.Array) and jax_array.dtype == jax.numpy.bfloat16


def test_small_integers_do_not_overflow_in_their_own_arithmetic():
    unit = l2_normalize(np.array([100, 100], np.int8)).tolist()
    assert unit == pytest.approx([0.5**0.5] * 2)


def test_usual_vectors_are_divided_by_their_length_exactly_as_in_the_course():
    x = np.random.RandomState(0).randn(5, 8).astype(np.float32)
    assert_array_equal(
        l2_normalize(x), x / np.sqrt((x * x).sum(axis=-1, keepdims=True))
    )


def test_numpy_arrays_are_compared_while_another_thread_imports_jax(monkeypatch):
    # An import that has begun and is not done.
    monkeypatch.setitem(sys.modules, "jax", types.ModuleType("jax"))
    assert cosine_similarity([1.0, 0.0], [1.0, 0.0]) == 1


EXTREME = [
    np.array([60_000] * 3, np.float16),
    np.array([1e-7, 6e-8], np.float16),
    np.array([1e20, -3e20], np.float32),
    np.array([1e-25, 2e-25], np.float32),
    np.array([1e160, 1e160]),
    np.array([1e-170, 0.0, 3e-170]),
]


of_both = pytest.mark.parametrize(
    "array_of", [np.asarray, jax.numpy.asarray], ids=["numpy", "jax"]
)


@of_both
@pytest.mark.parametrize("v", EXTREME, ids=lambda v: f"{v.dtype} {v[0]}")
def test_vectors_whose_squares_overflow_or_underflow(v, array_of):
    """L4. Reference: the same vector divided by its largest magnitude, in float64."""
    unit = v.astype(np.float64) / np.abs(v.astype(np.float64)).max()
    unit /= np.linalg.norm(unit)
    tolerance = 1e-3 if v.dtype == np.float16 else 1e-6
    with np.errstate(all="raise", under="ignore"), jax.enable_x64(True):
        x = array_of(v)
        result = l2_normalize(x)
        assert result.dtype == v.dtype
        assert_allclose(np.asarray(result, float), unit, rtol=0, atol=tolerance)
        assert float(cosine_similarity(x, x)) == pytest.approx(1, abs=tolerance)
        assert float(cosine_similarity(x, -x)) == pytest.approx(-1, abs=tolerance)
        matrix = similarity_matrix(array_of([v] * 2), array_of([v, -v]))
        assert_allclose(matrix, [[1, -1]] * 2, atol=1e-3)


@of_both
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_no_cosine_is_above_1(dtype, array_of):
    """U4. Without the limit, some of these are above 1 by rounding."""
    x = array_of(np.random.default_rng(0).normal(size=(200, 64)).astype(dtype))
    for cosines in (cosine_similarity(x, x), similarity_matrix(x, x).diagonal()):
        assert cosines.max() == 1 and cosines.min() > 0.99
    assert cosine_similarity(x, -x).min() == similarity_matrix(x, -x).min() == -1


@pytest.mark.parametrize("scale", [1, 1e20, 1e-20, 1e-15])
def test_gradients_of_vast_tiny_and_zero_vectors(scale):
    """The gradient of x / |x| falls as 1 / |x|: that of c * x is that of x, divided by c."""
    x = np.array([[0.6, -0.2, 0.4], [0.0, 0.0, 0.0]])
    weights = np.arange(6).reshape(2, 3)
    expected = reference.gradient(
        lambda row: (l2_normalize(row) * weights[0]).sum(), x[0]
    )
    scaled = jax.numpy.asarray((x * scale).astype(np.float32))
    found = jax.grad(lambda x: (l2_normalize(x) * weights).sum())(scaled)
    assert_allclose(np.float64(found[0]) * scale, expected, rtol=1e-4, atol=1e-5)
    assert not l2_normalize(scaled)[1].any() and not found[1].any()


def test_the_cosine_with_a_zero_vector_is_0():
    assert cosine_similarity([0.0, 0.0], [1.0, 0.0]) == 0
    assert np.isfinite(similarity_matrix(np.zeros((2, 3)), np.ones((2, 3)))).all()


cosines = st.floats(-1, 1).map(lambda x: round(x, 3))
same_matrices = st.integers(2, 5).flatmap(
    lambda n: st.tuples(
        arrays(np.float64, (n, n), elements=cosines), arrays(bool, (n, n))
    )
)
choices = {"closest": losses.CLOSEST, "direction": losses.DIRECTIONS}
choices |= {"reduction": losses.REDUCTIONS, "margin": [0.0, 0.25, 1.5]}
options = st.fixed_dictionaries(
    {name: st.sampled_from(some) for name, some in choices.items()}
)


# A row without a negative below its positive, and two whose closest negative is a tie
# with it.
WITHOUT_AND_TIED = np.array([[-0.9, 0.8, 0.6], [0.7, 0.7, 0.2], [0.0, 0.9, 0.9]])


MATRIX_002 = golden.MATRICES[2][3]
TERMS = [
    (mean_negative, golden.SCORES, {}, golden.MEAN_NEGATIVE),
    (closest_negative, golden.SCORES, {}, golden.CLOSEST_BELOW_POSITIVE),
    (closest_negative, golden.SCORES, {"closest": "hardest"}, golden.CLOSEST_HARDEST),
    (loss_from_scores, golden.SCORES, {"reduction": "none"}, golden.LOSS_PER_ROW),
    (closest_negative, WITHOUT_AND_TIED, {}, [-np.inf, 0.7, 0.9]),
    (mean_negative, MATRIX_002, {}, golden.MEAN_NEGATIVE_002),
    (closest_negative, MATRIX_002, {}, golden.CLOSEST_NEGATIVE_002),
    (loss_from_scores, MATRIX_002, {}, golden.COST_002),
]


@both
@pytest.mark.parametrize(("function", "scores", "options", "expected"), TERMS)
def test_the_documents_terms(run, function, scores, options, expected):
    found = run(function)(scores, **options)
    assert_allclose(found, expected, rtol=0, atol=golden.LOSS_TOLERANCE)


@both
@pytest.mark.parametrize(
    ("closest", "reduction", "direction", "expected"), golden.COSTS
)
def test_the_documents_costs(run, closest, reduction, direction, expected):
    options = {"closest": closest, "reduction": reduction, "direction": direction}
    loss = run(loss_from_scores)(golden.SCORES, **options)
    assert float(loss) == pytest.approx(expected, abs=golden.LOSS_TOLERANCE)


def test_the_broadcasting_mistake_of_document_000_is_caught():
    positive = np.diag(golden.SCORES)
    mean = mean_negative(golden.SCORES)
    nearest = np.array(golden.CLOSEST_BELOW_POSITIVE)
    # What the document computes: (4,) against (4, 1) becomes a 4 x 4 matrix.
    terms = (np.maximum(n[:, None] - positive + 0.25, 0) for n in (mean, nearest))
    mistake = sum(terms)
    assert mistake.shape == (4, 4)
    assert mistake.sum() == pytest.approx(
        golden.BROADCASTING_MISTAKE, abs=golden.LOSS_TOLERANCE
    )
    for negative in (mean[:, None], nearest[:, None]):
        with refuses(ShapeError, "(4,)", "(4, 1)"):
            hinge(positive, negative)
    right = hinge(positive, mean).sum() + hinge(positive, nearest).sum()
    assert right == pytest.approx(0.516667, abs=golden.LOSS_TOLERANCE)


@given(same_matrices, options)
def test_value_equals_the_loop(case, chosen):
    scores, same = case
    for known in (None, same):
        expected = reference.triplet_loss(scores, same=known, **chosen)
        loss = loss_from_scores(scores, false_negative_mask=known, **chosen)
        assert_allclose(loss, expected, atol=1e-12)


@pytest.mark.parametrize("direction", losses.DIRECTIONS)
@pytest.mark.parametrize("closest", losses.CLOSEST)
def test_compiled_value_and_gradient_equal_the_loops_in_float64(closest, direction):
    options = {"closest": closest, "direction": direction}
    draw = np.random.RandomState(2)
    v1, v2 = draw.randn(2, 5, 3)
    v1, v2 = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (v1, v2))
    scores = v1 @ v2.T
    same = draw.rand(5, 5) < 0.3

    def loss(a, b, same):
        return TripletLossFn(a, b, 0.5, false_negative_mask=same, **options)

    def loop(scores):
        return reference.triplet_loss(scores, 0.5, same=same, **options)

    with jax.enable_x64(True):
        value, gradient = jax.jit(jax.value_and_grad(loss, (0, 1)))(v1, v2, same)
        assert_allclose(value, loop(scores), atol=1e-14)
        by_scores = reference.gradient(loop, scores)
        for found, expected in zip(gradient, (by_scores @ v2, by_scores.T @ v1)):
            assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize(("reduction", "half"), [("mean", 0.5), ("sum", 1.0)])
def test_a_hinge_at_exactly_0_counts_half_in_the_gradient(reduction, half):
    """As in the course."""
    scores = np.array([[0.5, 0.25], [0.25, 0.5]])  # each gap: 0.25 - 0.5 + 0.25
    gradient = jax.grad(partial(loss_from_scores, reduction=reduction))
    expected = [[-half, half], [half, -half]]
    assert_array_equal(gradient(jax.numpy.asarray(scores)), expected)


def test_equal_closest_negatives_share_the_gradient():
    """As in the course."""
    ties = jax.numpy.asarray([[0.5, 0.5, 0.5], [-0.5, 0.9, -0.5], [-0.5, -0.5, 0.9]])
    # The mean's halves, and those of the closest.
    gradient = jax.grad(loss_from_scores)(ties)
    assert_array_equal(gradient, [[-2, 1, 1], [0, 0, 0], [0, 0, 0]])


@both
@pytest.mark.parametrize("closest", losses.CLOSEST)
def test_dot_products_below_minus_two_are_negatives_like_others(run, closest):
    scores = np.array([[-5.0, -4.0, -3.0], [-6.0, -5.0, -7.0], [-9.0, -3.0, -2.5]])
    options = {"closest": closest, "direction": "both"}
    expected = pytest.approx(reference.triplet_loss(scores, **options), rel=1e-6)
    assert float(run(loss_from_scores)(scores, **options)) == expected


A = golden.ASSIGNMENT_V1[0]
B = golden.ASSIGNMENT_V2[1]
V1 = [A, B]
V2 = [A, -B]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: TripletLossFn(V1, V2, direction="columns"), 0.703508),
        (lambda: TripletLossFn(V2, V1), 0.703508),
        (lambda: TripletLossFn(V1, V2), 2.203508),
        (lambda: edition(2022).TripletLossFn(V2, V1), 0.5),
    ],
    ids=["by columns", "turned", "as it stands", "turned, 2022"],
)
def test_the_calls_that_the_questions_document(call, expected):
    """L7: docs/course/questions.md; the TensorFlow edition's cell has its minus sign in v2."""
    assert float(call()) == pytest.approx(expected, abs=golden.LOSS_TOLERANCE)


PAIR = (golden.ASSIGNMENT_V1, golden.ASSIGNMENT_V2)
LAYERS = {
    "a cell with a margin": lambda own: tl.Fn(
        "TripletLoss", partial(own.TripletLossFn, margin=0.25)
    ),
    "a cell with a direction": lambda own: tl.Fn(
        "TripletLoss", partial(own.TripletLossFn, margin=0.25, direction="rows")
    ),
    "TripletLoss": lambda own: own.TripletLoss(),
    "TripletLoss with a margin": lambda own: own.TripletLoss(margin=0.25),
}
each_year = pytest.mark.parametrize(
    ("year", "expected"), [(2022, 0.5), (2023, 0.703508)]
)


@each_year
@pytest.mark.parametrize("name", LAYERS)
def test_the_assignments_own_cell_and_ours_make_a_layer(name, year, expected):
    """L14: `tl.Fn` takes no function of keyword arguments without an end."""
    layer = LAYERS[name](edition(year))
    assert str(layer) == "TripletLoss_in2"
    assert float(layer(PAIR)) == pytest.approx(expected, abs=golden.LOSS_TOLERANCE)


@each_year
def test_a_layer_with_a_mask_takes_three_inputs(year, expected):
    masked = edition(year).TripletLoss(false_negative_mask=True)
    assert str(masked) == "TripletLoss_in3"
    assert str(TripletLoss(false_negative_mask=True)) == "TripletLoss_in3"
    loss = float(masked((*PAIR, np.zeros((2, 2), bool))))
    assert loss == pytest.approx(expected, abs=golden.LOSS_TOLERANCE)
    assert float(masked((*PAIR, ~np.eye(2, dtype=bool)))) == 0  # No negative is left.


@pytest.mark.parametrize("year", [2022, 2023])
def test_an_editions_function_has_its_name_and_docstring_and_no_other_arguments(year):
    fn = edition(year).TripletLossFn
    assert (fn.__name__, fn.__doc__) == ("TripletLossFn", TripletLossFn.__doc__)
    with refuses(TypeError, "closests"):
        fn(*PAIR, closests="hardest")


@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [("float32", 1e-7), ("float64", 1e-15), ("float16", 2e-3), ("bfloat16", 1e-2)],
)
def test_precision_follows_the_scores(dtype, tolerance):
    expected = reference.triplet_loss(golden.SCORES, reduction="none")
    with jax.enable_x64(True):
        loss = jax.jit(partial(loss_from_scores, reduction="none"))
        found = loss(jax.numpy.asarray(golden.SCORES, dtype))
    assert found.dtype == dtype
    assert_allclose(np.asarray(found, np.float64), expected, atol=tolerance)
    if dtype != "bfloat16":
        assert loss_from_scores(golden.SCORES.astype(dtype)).dtype == dtype


@pytest.mark.parametrize(
    "form",
    [np.ndarray.tolist, np.asarray, jax.numpy.asarray],
    ids=["lists", "numpy", "jax"],
)
def test_scores_may_be_whole_numbers(form):
    whole = np.array([[2, 1, 0], [1, 2, 1], [0, 0, 1]])
    loss = float(loss_from_scores(form(whole)))
    assert loss == pytest.approx(reference.triplet_loss(whole))
