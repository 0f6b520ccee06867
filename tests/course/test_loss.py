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
def test_the_documents_cosines(run):
    with jax.enable_x64(True):
        for v1, v2, expected in golden.COSINE:
            cosine = float(run(cosine_similarity)(v1, v2))
            assert cosine == pytest.approx(expected, abs=golden.COSINE_TOLERANCE)
        unit = run(l2_normalize)(golden.NORMALIZE_X)
        tolerance = {"rtol": 0, "atol": golden.NORMALIZE_TOLERANCE}
        assert_allclose(unit, golden.NORMALIZE_EXPECTED, **tolerance)
        for _, rows, v2, expected in golden.MATRICES:
            pair = (golden.MATRIX_V1, v2) if rows == "v1" else (v2, golden.MATRIX_V1)
            matrix = run(similarity_matrix)(*pair)
            assert_allclose(matrix, expected, rtol=0, atol=golden.MATRIX_TOLERANCE)


@given(arrays(np.float64, (3, 4), elements=st.floats(-10, 10)))
def test_matrix_equals_the_loop_over_pairs(v1):
    v1 = np.where(np.abs(v1) < 1e-6, 0, v1)
    v2 = v1[::-1] + 1
    expected = [[reference.cosine(a, b) for b in v2] for a in v1]
    assert_allclose(similarity_matrix(v1, v2), expected, atol=1e-12)
    assert_allclose(cosine_similarity(v1, v2), np.diag(expected), atol=1e-12)


def test_unit_rows_need_no_second_normalisation_and_any_axis_will_do():
    v = l2_normalize(np.random.RandomState(0).randn(4, 3))
    products, cosines = (
        similarity_matrix(v, v[::-1], normalize=n) for n in (False, True)
    )
    assert_allclose(products, cosines, atol=1e-15)
    # It multiplies as they are: the caller answers for their length.
    assert similarity_matrix([[2.0]], [[3.0]], normalize=False).tolist() == [[6.0]]
    x = np.random.RandomState(0).randn(2, 3, 4)
    for axis in (0, 1, 2, -1):
        assert_allclose((l2_normalize(x, axis) ** 2).sum(axis), 1)


def test_precision_and_kind_follow_the_arguments():
    assert similarity_matrix([[1, 2]], [[3, 4]]).dtype == np.float64
    assert l2_normalize(np.ones(2, np.float32)).dtype == np.float32
    # No overflow in the small integers' own arithmetic.
    assert l2_normalize(np.array([100, 100], np.int8)).tolist() == pytest.approx(
        [0.5**0.5] * 2
    )
    jax_array = l2_normalize(jax.numpy.ones((2, 3), jax.numpy.bfloat16))
    assert isinstance(jax_array, jax.Array) and jax_array.dtype == jax.numpy.bfloat16
    # Usual vectors are divided by their length exactly as in the course.
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


@pytest.mark.parametrize("v", EXTREME, ids=lambda v: f"{v.dtype} {v[0]}")
def test_vectors_whose_squares_overflow_or_underflow(v):
    """L4. Reference: the same vector divided by its largest magnitude, in float64."""
    unit = v.astype(np.float64) / np.abs(v.astype(np.float64)).max()
    unit /= np.linalg.norm(unit)
    tolerance = 1e-3 if v.dtype == np.float16 else 1e-6
    with np.errstate(all="raise", under="ignore"), jax.enable_x64(True):
        for x in (v, jax.numpy.asarray(v)):
            result = l2_normalize(x)
            assert result.dtype == v.dtype
            assert_allclose(np.asarray(result, float), unit, rtol=0, atol=tolerance)
            assert float(cosine_similarity(x, x)) == pytest.approx(1, abs=tolerance)
            assert float(cosine_similarity(x, -x)) == pytest.approx(-1, abs=tolerance)
            matrix = similarity_matrix([v] * 2, [v, -v])
            assert_allclose(matrix, [[1, -1]] * 2, atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_no_cosine_is_above_1(dtype):
    """U4. Without the limit, some of these are above 1 by rounding."""
    v = np.random.default_rng(0).normal(size=(200, 64)).astype(dtype)
    for x in (v, jax.numpy.asarray(v)):
        for cosines in (cosine_similarity(x, x), similarity_matrix(x, x).diagonal()):
            assert cosines.max() == 1 and cosines.min() > 0.99
        assert cosine_similarity(x, -x).min() == similarity_matrix(x, -x).min() == -1


def test_zero_vectors_and_gradients_of_vast_tiny_and_zero_ones():
    """The gradient of x / |x| falls as 1 / |x|: that of c * x is that of x, divided by c."""
    x, weights = (
        np.array([[0.6, -0.2, 0.4], [0.0, 0.0, 0.0]]),
        np.arange(6).reshape(2, 3),
    )
    expected = reference.gradient(
        lambda row: (l2_normalize(row) * weights[0]).sum(), x[0]
    )
    for scale in (1, 1e20, 1e-20, 1e-15):
        scaled = jax.numpy.asarray((x * scale).astype(np.float32))
        found = jax.grad(lambda x: (l2_normalize(x) * weights).sum())(scaled)
        assert_allclose(np.float64(found[0]) * scale, expected, rtol=1e-4, atol=1e-5)
        assert not l2_normalize(scaled)[1].any() and not found[1].any()
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


@both
def test_the_documents_numbers(run):
    close = {"rtol": 0, "atol": golden.LOSS_TOLERANCE}
    for function, scores, options, expected in (
        (mean_negative, golden.SCORES, {}, golden.MEAN_NEGATIVE),
        (closest_negative, golden.SCORES, {}, golden.CLOSEST_BELOW_POSITIVE),
        (
            closest_negative,
            golden.SCORES,
            {"closest": "hardest"},
            golden.CLOSEST_HARDEST,
        ),
        (loss_from_scores, golden.SCORES, {"reduction": "none"}, golden.LOSS_PER_ROW),
        (closest_negative, WITHOUT_AND_TIED, {}, [-np.inf, 0.7, 0.9]),
        (mean_negative, golden.MATRICES[2][3], {}, golden.MEAN_NEGATIVE_002),
        (closest_negative, golden.MATRICES[2][3], {}, golden.CLOSEST_NEGATIVE_002),
        (loss_from_scores, golden.MATRICES[2][3], {}, golden.COST_002),
    ):
        assert_allclose(run(function)(scores, **options), expected, **close)
    for *words, expected in golden.COSTS:
        options = dict(zip(("closest", "reduction", "direction"), words))
        loss = run(loss_from_scores)(golden.SCORES, **options)
        assert float(loss) == pytest.approx(expected, abs=golden.LOSS_TOLERANCE)


def test_the_broadcasting_mistake_of_document_000_is_caught():
    positive = np.diag(golden.SCORES)
    mean, nearest = (
        mean_negative(golden.SCORES),
        np.array(golden.CLOSEST_BELOW_POSITIVE),
    )
    # What the document computes: (4,) against (4, 1) becomes a 4 x 4 matrix.
    terms = (np.maximum(n[:, None] - positive + 0.25, 0) for n in (mean, nearest))
    mistake = sum(terms)
    assert mistake.shape == (4, 4)
    assert mistake.sum() == pytest.approx(
        golden.BROADCASTING_MISTAKE, abs=golden.LOSS_TOLERANCE
    )
    for negative in (mean[:, None], nearest[:, None]):
        with pytest.raises(ShapeError) as refused:
            hinge(positive, negative)
        assert "(4,)" in str(refused.value) and "(4, 1)" in str(refused.value)
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
    scores, same = v1 @ v2.T, draw.rand(5, 5) < 0.3

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


def test_gradients_at_kinks():
    """As in the course: equal closest negatives share, a hinge at exactly 0 counts half."""
    scores = np.array([[0.5, 0.25], [0.25, 0.5]])  # each gap: 0.25 - 0.5 + 0.25
    for reduction, half in (("mean", 0.5), ("sum", 1.0)):
        gradient = jax.grad(partial(loss_from_scores, reduction=reduction))
        expected = [[-half, half], [half, -half]]
        assert_array_equal(gradient(jax.numpy.asarray(scores)), expected)
    ties = jax.numpy.asarray([[0.5, 0.5, 0.5], [-0.5, 0.9, -0.5], [-0.5, -0.5, 0.9]])
    # The mean's halves, and those of the closest.
    gradient = jax.grad(loss_from_scores)(ties)
    assert_array_equal(gradient, [[-2, 1, 1], [0, 0, 0], [0, 0, 0]])


@both
def test_dot_products_below_minus_two_are_negatives_like_others(run):
    scores = np.array([[-5.0, -4.0, -3.0], [-6.0, -5.0, -7.0], [-9.0, -3.0, -2.5]])
    for closest in losses.CLOSEST:
        options = {"closest": closest, "direction": "both"}
        expected = pytest.approx(reference.triplet_loss(scores, **options), rel=1e-6)
        assert float(run(loss_from_scores)(scores, **options)) == expected


def test_the_calls_that_the_questions_document():
    """L7: docs/course/questions.md; the TensorFlow edition's cell has its minus sign in v2."""
    a, b = golden.ASSIGNMENT_V1[0], golden.ASSIGNMENT_V2[1]
    v1, v2 = [a, b], [a, -b]
    for loss, expected in (
        (TripletLossFn(v1, v2, direction="columns"), 0.703508),
        (TripletLossFn(v2, v1), 0.703508),
        (TripletLossFn(v1, v2), 2.203508),
        (edition(2022).TripletLossFn(v2, v1), 0.5),
    ):
        assert float(loss) == pytest.approx(expected, abs=golden.LOSS_TOLERANCE)


@pytest.mark.parametrize(("year", "expected"), [(2022, 0.5), (2023, 0.703508)])
def test_the_assignments_own_cell_and_ours_make_a_layer(year, expected):
    """L14: `tl.Fn` takes no function of keyword arguments without an end."""
    v, fn = (golden.ASSIGNMENT_V1, golden.ASSIGNMENT_V2), edition(year).TripletLossFn
    loss = pytest.approx(expected, abs=golden.LOSS_TOLERANCE)
    assert (fn.__name__, fn.__doc__) == ("TripletLossFn", TripletLossFn.__doc__)
    for layer in (
        tl.Fn("TripletLoss", partial(fn, margin=0.25)),
        tl.Fn("TripletLoss", partial(fn, margin=0.25, direction="rows")),
        edition(year).TripletLoss(),
        edition(year).TripletLoss(margin=0.25),
    ):
        assert str(layer) == "TripletLoss_in2"
        assert float(layer(v)) == loss
    masked = edition(year).TripletLoss(false_negative_mask=True)
    assert (
        str(masked) == str(TripletLoss(false_negative_mask=True)) == "TripletLoss_in3"
    )
    assert float(masked((*v, np.zeros((2, 2), bool)))) == loss
    assert float(masked((*v, ~np.eye(2, dtype=bool)))) == 0  # No negative is left.
    with pytest.raises(TypeError, match="unexpected keyword argument 'closests'"):
        fn(*v, closests="hardest")


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
    whole = np.array([[2, 1, 0], [1, 2, 1], [0, 0, 1]])
    for form in (whole.tolist(), whole, jax.numpy.asarray(whole)):
        assert float(loss_from_scores(form)) == pytest.approx(
            reference.triplet_loss(whole)
        )
