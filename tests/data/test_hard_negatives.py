"""Hard negatives and the order by topic, against dense computations."""

import numpy as np
import pytest

from siamese.data.hard_negatives import HIGHEST, LOWEST, SimilarQuestions, term_weights
from siamese.nn.ragged import Ragged


def questions(n=120, words=40):
    draw = np.random.default_rng(0)
    return Ragged.from_lists(
        [draw.integers(2, words, draw.integers(2, 9)).tolist() for _ in range(n)]
    )


def similar(asked, clusters=None, seed=0):
    """The pairs (0, 1), (2, 3), ... of the questions, each of its own cluster by default."""
    clusters = np.arange(len(asked)) if clusters is None else clusters
    rows = np.arange(0, len(asked), 2), np.arange(1, len(asked), 2)
    return SimilarQuestions(asked, rows, tuple(clusters[side] for side in rows), seed)


def test_weights_by_hand():
    """(1 + log tf) * (log((1 + n) / (1 + df)) + 1), scaled to length 1; terms of two questions or more."""
    weights = term_weights(
        Ragged.from_lists([[5, 6, 5], [5, 6, 7, 5, 6], [8, 9], [6, 9]])
    ).toarray()
    twice, two, three = 1 + np.log(2), np.log(5 / 3) + 1, np.log(5 / 4) + 1  # of 2 and 3 questions
    rows = [  # 5, 6, 9 and 5 6; no pair of words reaches over two questions
        [twice * two, three, 0, two],
        [twice * two, twice * three, 0, twice * two],
        [0, 0, two, 0],
        [0, three, two, 0],
    ]
    rows = np.array(rows) / np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(weights @ weights.T, rows @ rows.T, atol=1e-12)
    assert weights.shape == (4, 4)


def test_hard_negatives_are_of_other_clusters_and_moderate_cosine():
    asked, clusters = questions(), np.arange(120) // 3
    one, two = similar(asked, clusters, seed=3).hard_negatives(10_000)
    weights = term_weights(asked)
    dense = np.triu((weights @ weights.T).toarray(), 1)
    # So many neighbours lie in the range for no question, so every pair of the range is there.
    fits = (dense >= LOWEST) & (dense < HIGHEST) & (clusters[:, None] != clusters)
    assert len(one) > 20
    assert sorted(map(list, zip(one.tolist(), two.tolist()))) == np.argwhere(fits).tolist()


def test_a_wished_count_is_a_part_and_the_seed_decides():
    few = [similar(questions(), seed=seed).hard_negatives(10) for seed in (1, 1, 2)]
    assert [len(pairs[0]) for pairs in few] == [10, 10, 10]
    np.testing.assert_array_equal(few[0], few[1])
    assert not np.array_equal(few[0], few[2])


@pytest.mark.parametrize("rows", [[[5], [6], [7], [8]], [[], [], [5], []]])
def test_nothing_in_common_gives_nothing(rows):
    asked = similar(Ragged.from_lists(rows))
    assert [len(side) for side in asked.hard_negatives(5)] == [0, 0]
    assert asked.topic_order(np.arange(2), 1).tolist() == [0, 1]


def test_the_order_brings_topics_together():
    draw = np.random.default_rng(0)
    topic = draw.permutation(np.arange(400) % 8)  # [pairs]
    asked = [(2 + 10 * t + draw.integers(0, 10, 6)).tolist() for t in np.repeat(topic, 2)]
    order = similar(Ragged.from_lists(asked)).topic_order(np.arange(400), block=25)
    assert sorted(order.tolist()) == list(range(400))
    assert (topic[order][1:] == topic[order][:-1]).mean() > 0.6  # 1/8 at random
