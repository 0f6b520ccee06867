"""Nearest vectors: a sort of all products in float64 is the reference."""

import numpy as np
import pytest

from siamese.errors import ArgumentError
from siamese.search.nearest import QUERIES_PER_CALL, SEGMENT, StoredVectors, top_k


def brute_force(vectors, query, k):
    products = vectors.astype(np.float64) @ query.astype(np.float64)
    order = np.argsort(-products, kind="stable")[:k]
    return order, products[order]


@pytest.mark.parametrize("n", [1, SEGMENT - 1, SEGMENT, SEGMENT + 1, 1000, 70_001])
@pytest.mark.parametrize("k", [1, 10, 100])
def test_top_k_equals_brute_force(n, k):
    rng = np.random.default_rng(n + k)
    vectors = rng.standard_normal((n, 16)).astype(np.float32)
    queries = rng.standard_normal((5, 16)).astype(np.float32)
    rows, products = top_k(StoredVectors.of(vectors), queries, k)
    assert rows.shape == products.shape == (5, min(n, k))
    for i, query in enumerate(queries):
        order, wanted = brute_force(vectors, query, k)
        np.testing.assert_array_equal(rows[i], order)
        np.testing.assert_allclose(products[i], wanted, atol=1e-5)


def test_top_k_is_the_same_alone_and_in_company():
    rng = np.random.default_rng(3)
    kept = StoredVectors.of(rng.standard_normal((5000, 16)).astype(np.float32))
    queries = rng.standard_normal((QUERIES_PER_CALL + 88, 16)).astype(np.float32)
    rows, products = top_k(kept, queries, 7)
    for i in (0, 299, QUERIES_PER_CALL, QUERIES_PER_CALL + 87):
        alone = top_k(kept, queries[i : i + 1], 7)
        np.testing.assert_array_equal(alone[0][0], rows[i])
        np.testing.assert_array_equal(alone[1][0], products[i])


def test_equal_products_come_in_the_order_of_rows():
    rows, _ = top_k(StoredVectors.of(np.ones((100, 4), np.float32)), np.ones((1, 4)), 5)
    assert rows[0].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(("storage", "error"), [("float16", 1e-3), ("int8", 1e-2)])
def test_smaller_storage_is_close_and_exact_on_what_it_keeps(storage, error):
    rng = np.random.default_rng(5)
    vectors = rng.standard_normal((3000, 32)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[17] = 0
    kept = StoredVectors.of(vectors, storage)
    assert np.abs(kept.rows(slice(None)) - vectors).max() < error
    assert kept.nbytes < vectors.nbytes * 0.6
    query = vectors[5]
    rows, products = top_k(kept, query[None], 10)
    order, wanted = brute_force(kept.rows(slice(None)), query, 10)
    np.testing.assert_array_equal(rows[0], order)
    np.testing.assert_allclose(products[0], wanted, atol=1e-5)


def test_unknown_storage_is_refused():
    with pytest.raises(ArgumentError, match="float32, float16, int8"):
        StoredVectors.of(np.zeros((1, 2)), "int4")
