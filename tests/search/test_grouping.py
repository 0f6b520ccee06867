"""Duplicate groups: the reference is the whole n x n matrix in float64, and SciPy's linkage."""

import itertools

import numpy as np
import pytest
from scipy.cluster import hierarchy

from siamese.errors import ArgumentError
from siamese.search import linkage
from siamese.search.groups import duplicate_groups, join_groups
from siamese.search.linkage import average_linkage, strongest_pairs


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(linkage, "ROWS", 64)
    monkeypatch.setattr(linkage, "COLUMNS", 16)


def unit(n, d=6):
    vectors = np.random.default_rng(0).standard_normal((n, d)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def rows_of(found):
    return {frozenset(member.row for member in group) for group in found}


def decaying(n, d=64):
    """Vectors whose axes weigh less and less, as an encoder's do; every second is near the one before."""
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((n, d)) * 0.93 ** np.arange(d) @ np.linalg.qr(unit(d, d))[0]
    vectors[1::2] = vectors[::2] + 0.2 * vectors[1::2]
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize(
    ("vectors", "threshold"),
    [*itertools.product(map(unit, (0, 1, 65, 200)), (0.9, -0.5)), (decaying(300), 0.9)],
)
def test_pairs_equal_the_whole_matrix(monkeypatch, vectors, threshold):
    monkeypatch.setattr(linkage, "SAMPLE", 128)
    if vectors.shape[1] == 64:  # Vectors that decay are shortened first.
        assert linkage.upper_bounds(vectors, threshold).shape[1] < 64
    i, j, cosines, least = strongest_pairs(vectors, threshold)
    pairs, scores = [*zip(j.tolist(), i.tolist())], np.float64(vectors) @ np.float64(vectors).T
    expected = [(a, b) for a in range(len(vectors)) for b in range(a) if scores[a, b] > threshold]
    assert sorted(pairs) == expected
    np.testing.assert_allclose(cosines, np.vecdot(vectors[i], vectors[j]), atol=1e-6)
    assert least == threshold


@pytest.mark.parametrize("most_pairs", [100, 4_000_000])
@pytest.mark.parametrize("threshold", [0.93, 0.6, -0.2])
def test_average_linkage_is_scipys(monkeypatch, most_pairs, threshold):
    monkeypatch.setattr(linkage, "MOST_PAIRS", most_pairs)
    vectors = unit(250)
    found = duplicate_groups(vectors, threshold)
    tree = hierarchy.linkage(np.float64(vectors), "average", "cosine")
    labels = hierarchy.fcluster(tree, 1 - threshold, "distance")
    expected = (frozenset(np.flatnonzero(labels == g).tolist()) for g in set(labels))
    assert rows_of(found) == {group for group in expected if len(group) > 1}
    labels = average_linkage(vectors, threshold, parts=average_linkage(vectors, 0.95))
    np.testing.assert_array_equal(labels, average_linkage(vectors, threshold))
    sizes = [len(group) for group in found]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] > 2
    for group in found:
        similarities = [m.similarity for m in group]
        assert similarities[0] == pytest.approx(1, abs=2e-3)
        assert similarities[1:] == sorted(similarities[1:], reverse=True)


def test_rounding_does_not_order_the_questions_of_a_group():
    same = np.array([[1, 0], [1, 0], [1, 0], [0.9, 0.43588989]], np.float32)
    for noise in np.random.default_rng(0).uniform(-2e-7, 2e-7, (40, 4, 2)).astype(np.float32):
        (group,) = duplicate_groups(same + noise, 0.5)
        assert [member.row for member in group] == [0, 1, 2, 3]


def test_new_questions_join_the_group_with_the_best_mean():
    vectors = unit(200)
    labels = average_linkage(vectors, 0.8)
    new = np.concatenate([unit(240)[200:], np.zeros((1, 6), np.float32)])
    new[-2] = new[-3]
    own = 1_000 + np.arange(len(new))
    joined, members = join_groups(vectors, labels, new, own, (0.8, None)), {}
    for at, label in enumerate(labels):
        members.setdefault(label, []).append(vectors[at])
    for vector, label, alone in zip(new, joined, own):
        means = {group: float(np.mean(some @ vector)) for group, some in members.items()}
        best = max(means, key=means.get)
        assert label == (best if means[best] > 0.8 else alone)
        members.setdefault(label, []).append(vector)
    assert joined[-2] == joined[-3] and joined[-1] == own[-1] and 10 < (joined < 200).sum() < 35


def test_equal_texts_are_a_group_at_any_threshold():
    same = np.repeat(unit(40), 2, axis=0)
    same += np.float32(3e-8) * (np.arange(80)[:, None] % 3)  # as rounding may differ
    for threshold in (0.999999, 1.0):
        groups_there = duplicate_groups(same, threshold)
        assert rows_of(groups_there) == {frozenset((n, n + 1)) for n in range(0, 80, 2)}
        assert max(m.similarity for group in groups_there for m in group) <= 1
        assert strongest_pairs(same, threshold)[2].max() <= 1


def test_nothing_everything_and_no_cosine():
    assert duplicate_groups(np.zeros((0, 4), np.float32), 0.5) == []
    assert duplicate_groups(unit(50), 1.0) == []
    assert len(duplicate_groups(unit(50), -1.0)[0]) == 50
    assert duplicate_groups([], 0.5) == [] == duplicate_groups(unit(3).tolist(), "0.99")
    for threshold in (1.5, -2, float("nan"), "x", None):
        with pytest.raises(ArgumentError, match="threshold must be a number from -1 to 1"):
            duplicate_groups(unit(3), threshold)
    for vectors in (unit(3) * 2, unit(3) * np.nan, ["how", "far"], unit(1)[0], "questions.csv"):
        with pytest.raises(ArgumentError, match="vectors of length 1"):
            duplicate_groups(vectors, 0.5)
