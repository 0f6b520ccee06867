"""Nearest vectors and matches: sorts of all products are the reference."""

import numpy as np
import pytest
from small_models import make_detector, random_questions

from siamese.errors import ArgumentError
from siamese.search.nearest import QUERIES_PER_CALL, TILE, match_questions, top_k


@pytest.mark.parametrize("n", [0, 1, TILE - 1, TILE, TILE + 1, 1000, 70_001])
@pytest.mark.parametrize("k", [1, 100])
def test_top_k_equals_brute_force_with_rows_left_out(n, k):
    rng = np.random.default_rng(n + k)
    vectors = rng.standard_normal((n, 16)).astype(np.float32)
    queries = rng.standard_normal((5, 16)).astype(np.float32)
    for skip in (np.zeros(0, np.int64), np.flatnonzero(rng.random(n) < 0.3)):
        rows, products = top_k(vectors, queries, k, skip)
        scores = vectors.astype(np.float64) @ queries.astype(np.float64).T  # [n, 5]
        scores[skip] = -np.inf
        order = np.argsort(-scores, axis=0, kind="stable")[: min(k, n - len(skip))]
        np.testing.assert_array_equal(rows, order.T)
        np.testing.assert_allclose(products, np.take_along_axis(scores, order, 0).T, atol=1e-5)


def test_top_k_is_the_same_alone_and_in_company_and_equal_rows_stay_in_order():
    rng = np.random.default_rng(3)
    kept = rng.standard_normal((5000, 16)).astype(np.float32)
    queries = rng.standard_normal((QUERIES_PER_CALL + 88, 16)).astype(np.float32)
    rows, products = top_k(kept, queries, 7)
    for i in (0, 299, QUERIES_PER_CALL, QUERIES_PER_CALL + 87):
        alone = top_k(kept, queries[i : i + 1], 7)
        np.testing.assert_array_equal(alone[0][0], rows[i])
        np.testing.assert_array_equal(alone[1][0], products[i])
    rows, _ = top_k(np.ones((100, 4), np.float32), np.ones((1, 4)), 5)
    assert rows[0].tolist() == [0, 1, 2, 3, 4]


def test_best_matches_are_those_of_the_whole_matrix():
    detector = make_detector()
    a, b = [*random_questions(20), ""], [*random_questions(30, seed=2), " "]
    scores = detector.encode(a) @ detector.encode(b[:-1]).T
    found = match_questions(detector, a, b, k=3)
    assert found[-1] == [] and [len(matches) for matches in found[:-1]] == [3] * 20
    for row, matches in zip(scores[:-1], found):
        assert [cosine for _, cosine in matches] == pytest.approx(np.sort(row)[:-4:-1], abs=1e-6)
        assert all(row[at] == pytest.approx(cosine, abs=1e-6) for at, cosine in matches)
    with pytest.raises(ArgumentError, match="k must be"):
        match_questions(detector, a, b, k=0)
    assert match_questions(detector, ["how far"], [""]) == [[]]
