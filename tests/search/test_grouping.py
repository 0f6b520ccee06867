"""Duplicate groups: the reference is the whole n x n matrix in float64."""

import numpy as np
import pytest

from siamese.data.clusters import connected_groups
from siamese.errors import ArgumentError
from siamese.search import groups as module
from siamese.search.groups import duplicate_groups, similar_pairs
from siamese.search.nearest import StoredVectors


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 64)


def unit(n, d=6):
    vectors = np.random.default_rng(0).standard_normal((n, d)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def reference_pairs(vectors, threshold):
    scores = vectors.astype(np.float64) @ vectors.T.astype(np.float64)
    return {(i, j) for i in range(len(vectors)) for j in range(i) if scores[i, j] > threshold}


@pytest.mark.parametrize("n", [0, 1, 2, 63, 64, 65, 300])
@pytest.mark.parametrize("threshold", [0.9, -0.5])
def test_pairs_equal_the_whole_matrix(n, threshold):
    vectors = unit(n)
    found = list(similar_pairs(StoredVectors.of(vectors), threshold))
    pairs = [(int(j), int(i)) for a, b, _ in found for i, j in zip(a, b)]
    assert len(pairs) == len(set(pairs)) and set(pairs) == reference_pairs(vectors, threshold)
    for a, b, similarities in found:
        np.testing.assert_allclose(similarities, np.vecdot(vectors[a], vectors[b]), atol=1e-6)


@pytest.mark.parametrize("most_edges", [10, 4_000_000])
@pytest.mark.parametrize("storage", ["float32", "float16"])
def test_groups_equal_connected_components(monkeypatch, most_edges, storage):
    monkeypatch.setattr(module, "MOST_EDGES", most_edges)
    kept = StoredVectors.of(unit(400), storage)
    labels = connected_groups(400, np.array(sorted(reference_pairs(kept.rows(slice(None)), 0.93))))
    wanted = {frozenset(np.flatnonzero(labels == g).tolist()) for g in set(labels)}
    groups = duplicate_groups(kept, 0.93)
    assert {frozenset(m.row for m in group) for group in groups} == {
        g for g in wanted if len(g) > 1
    }
    sizes = [len(group) for group in groups]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] > 2
    for group in groups:
        assert [m.is_central for m in group] == [True] + [False] * (len(group) - 1)
        similarities = [m.similarity for m in group]
        assert similarities[0] == pytest.approx(1, abs=2e-3)
        assert similarities[1:] == sorted(similarities[1:], reverse=True)


def test_nothing_everything_and_no_cosine():
    assert duplicate_groups(StoredVectors.of(np.zeros((0, 4), np.float32)), 0.5) == []
    assert duplicate_groups(StoredVectors.of(unit(50)), 1.0) == []
    assert len(duplicate_groups(StoredVectors.of(unit(50)), -1.0)[0]) == 50
    for threshold in (1.5, -2, float("nan")):
        with pytest.raises(ArgumentError, match="threshold"):
            list(similar_pairs(StoredVectors.of(unit(3)), threshold))
