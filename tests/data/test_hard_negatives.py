"""Hard negatives against a dense computation."""

import numpy as np

from siamese.data.hard_negatives import HIGHEST, LOWEST, SimilarQuestions, term_weights
from siamese.nn.ragged import Ragged


def similar(asked, clusters=None, seed=0):
    """The pairs (0, 1), (2, 3), ... of the questions, each of its own cluster by default."""
    clusters = np.arange(len(asked)) if clusters is None else clusters
    rows = np.arange(0, len(asked), 2), np.arange(1, len(asked), 2)
    return SimilarQuestions(asked, rows, tuple(clusters[side] for side in rows), seed)


def test_hard_negatives_are_of_other_clusters_and_moderate_cosine():
    draw, clusters = np.random.default_rng(0), np.arange(120) // 3
    asked = Ragged.from_lists([draw.integers(2, 40, draw.integers(2, 9)) for _ in range(120)])
    one, two = similar(asked, clusters, seed=3).hard_negatives(10_000)
    weights = term_weights(asked)
    dense = np.triu((weights @ weights.T).toarray(), 1)
    # So many neighbours lie in the range for no question, so every pair of the range is there.
    fits = (dense >= LOWEST) & (dense < HIGHEST) & (clusters[:, None] != clusters)
    assert len(one) > 20
    assert sorted(map(list, zip(one.tolist(), two.tolist()))) == np.argwhere(fits).tolist()
    few = [similar(asked, clusters, seed).hard_negatives(10) for seed in (1, 1, 2)]
    assert [len(side) for side in few[0]] == [10, 10]
    np.testing.assert_array_equal(few[0], few[1])
    assert not np.array_equal(few[0], few[2])
    nothing_in_common = similar(Ragged.from_lists([[5], [6], [], []]))
    assert [len(side) for side in nothing_in_common.hard_negatives(5)] == [0, 0]
    assert nothing_in_common.topic_order(np.arange(2), 1).tolist() == [0, 1]
