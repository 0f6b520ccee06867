"""cosine_similarity, l2_normalize, similarity_matrix against the documents' numbers and loops."""

import sys
import types

import golden
import jax
import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from siamese import cosine_similarity, l2_normalize, similarity_matrix


def as_jax(function):
    """The function on JAX arrays of float64: the documents' numbers have eight digits."""
    return lambda *args: function(*(jax.numpy.asarray(a, float) for a in args))


both = pytest.mark.parametrize(
    "run", [lambda f: f, lambda f: as_jax(jax.jit(f))], ids=["numpy", "jit"]
)


@both
def test_the_documents_numbers(run):
    with jax.enable_x64(True):
        for v1, v2, expected in golden.COSINE:
            cosine = float(run(cosine_similarity)(v1, v2))
            assert cosine == pytest.approx(expected, abs=golden.COSINE_TOLERANCE)
        unit = run(l2_normalize)(golden.NORMALIZE_X)
        tolerance = {"rtol": 0, "atol": golden.NORMALIZE_TOLERANCE}
        np.testing.assert_allclose(unit, golden.NORMALIZE_EXPECTED, **tolerance)
        for _, rows, v2, expected in golden.MATRICES:
            pair = (golden.MATRIX_V1, v2) if rows == "v1" else (v2, golden.MATRIX_V1)
            matrix = run(similarity_matrix)(*pair)
            np.testing.assert_allclose(matrix, expected, rtol=0, atol=golden.MATRIX_TOLERANCE)


@given(arrays(np.float64, (3, 4), elements=st.floats(-10, 10)))
def test_matrix_equals_the_loop_over_pairs(v1):
    v1 = np.where(np.abs(v1) < 1e-6, 0, v1)
    v2 = v1[::-1] + 1
    expected = [[reference.cosine(a, b) for b in v2] for a in v1]
    np.testing.assert_allclose(similarity_matrix(v1, v2), expected, atol=1e-12)
    np.testing.assert_allclose(cosine_similarity(v1, v2), np.diag(expected), atol=1e-12)


@pytest.mark.parametrize("function", [cosine_similarity, similarity_matrix])
def test_gradients_equal_central_differences_of_the_loop(function):
    draw = np.random.RandomState(0)
    v1, v2 = draw.randn(2, 3, 4)
    weights = draw.randn(3) if function is cosine_similarity else draw.randn(3, 3)

    def loop(v):
        cosines = np.array([[reference.cosine(a, b) for b in v2] for a in v])
        cosines = np.diag(cosines) if function is cosine_similarity else cosines
        return (cosines * weights).sum()

    with jax.enable_x64(True):
        gradient = jax.jit(jax.grad(lambda v: (function(v, jax.numpy.asarray(v2)) * weights).sum()))
        np.testing.assert_allclose(gradient(v1), reference.gradient(loop, v1), atol=1e-8)


def test_unit_rows_need_no_second_normalisation_and_any_axis_will_do():
    v = l2_normalize(np.random.RandomState(0).randn(4, 3))
    products, cosines = (similarity_matrix(v, v[::-1], normalize=n) for n in (False, True))
    np.testing.assert_allclose(products, cosines, atol=1e-15)
    # It multiplies as they are: the caller answers for their length.
    assert similarity_matrix([[2.0]], [[3.0]], normalize=False).tolist() == [[6.0]]
    x = np.random.RandomState(0).randn(2, 3, 4)
    for axis in (0, 1, 2, -1):
        np.testing.assert_allclose((l2_normalize(x, axis) ** 2).sum(axis), 1)


def test_precision_and_kind_follow_the_arguments():
    assert similarity_matrix([[1, 2]], [[3, 4]]).dtype == np.float64
    assert l2_normalize(np.ones(2, np.float32)).dtype == np.float32
    jax_array = l2_normalize(jax.numpy.ones((2, 3), jax.numpy.bfloat16))
    assert isinstance(jax_array, jax.Array) and jax_array.dtype == jax.numpy.bfloat16
    # Usual vectors are divided by their length exactly as in the course.
    x = np.random.RandomState(0).randn(5, 8).astype(np.float32)
    np.testing.assert_array_equal(l2_normalize(x), x / np.sqrt((x * x).sum(axis=-1, keepdims=True)))


def test_integers_lists_and_views_are_computed_as_floats():
    expected = reference.cosine([1, 2, 3], [3, -1, 2])
    for v1 in ([1, 2, 3], np.array([1, 2, 3], np.int8)):
        assert cosine_similarity(v1, [3, -1, 2]) == pytest.approx(expected, abs=1e-15)
    found = cosine_similarity(jax.numpy.asarray([1, 2, 3]), [3, -1, 2])
    assert found.dtype == np.float32 and float(found) == pytest.approx(expected, abs=1e-6)
    # No overflow in the small integers' own arithmetic.
    assert l2_normalize(np.array([100, 100], np.int8)).tolist() == pytest.approx([0.5**0.5] * 2)


def test_numpy_arrays_are_compared_while_another_thread_imports_jax(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", types.ModuleType("jax"))  # begun, and not done
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
            np.testing.assert_allclose(np.asarray(result, float), unit, rtol=0, atol=tolerance)
            assert float(cosine_similarity(x, x)) == pytest.approx(1, abs=tolerance)
            assert float(cosine_similarity(x, -x)) == pytest.approx(-1, abs=tolerance)
            matrix = similarity_matrix([v] * 2, [v, -v])
            np.testing.assert_allclose(matrix, [[1, -1]] * 2, atol=1e-3)


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
    x, weights = np.array([[0.6, -0.2, 0.4], [0.0, 0.0, 0.0]]), np.arange(6).reshape(2, 3)
    expected = reference.gradient(lambda row: (l2_normalize(row) * weights[0]).sum(), x[0])
    for scale in (1, 1e20, 1e-20, 1e-15):
        scaled = jax.numpy.asarray((x * scale).astype(np.float32))
        found = jax.grad(lambda x: (l2_normalize(x) * weights).sum())(scaled)
        np.testing.assert_allclose(np.float64(found[0]) * scale, expected, rtol=1e-4, atol=1e-5)
        assert not l2_normalize(scaled)[1].any() and not found[1].any()
    assert cosine_similarity([0.0, 0.0], [1.0, 0.0]) == 0
    assert np.isfinite(similarity_matrix(np.zeros((2, 3)), np.ones((2, 3)))).all()
