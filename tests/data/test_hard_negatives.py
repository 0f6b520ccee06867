"""Hard negatives and the order by topic, against dense computations and scikit-learn."""

import numpy as np
import pytest

from siamese.data.hard_negatives import (
    HIGHEST,
    LOWEST,
    SimilarQuestions,
    hard_negatives,
    term_weights,
    topic_order,
)
from siamese.nn.ragged import Ragged


def questions(n=120, words=40, seed=0):
    draw = np.random.default_rng(seed)
    return Ragged.from_lists(
        [draw.integers(2, words, draw.integers(2, 9)).tolist() for _ in range(n)]
    )


def test_weights_are_those_of_scikit_learn():
    from sklearn.feature_extraction.text import TfidfVectorizer

    asked = questions()
    texts = [
        " ".join(f"w{token}" for token in row) for row in (asked[i] for i in range(len(asked)))
    ]
    reference = TfidfVectorizer(
        token_pattern=r"\S+", ngram_range=(1, 2), min_df=2, sublinear_tf=True
    ).fit_transform(texts)
    found = term_weights(asked)
    assert found.shape == reference.shape
    np.testing.assert_allclose(
        (found @ found.T).toarray(), (reference @ reference.T).toarray(), atol=1e-12
    )


def test_no_pair_of_words_reaches_over_two_questions():
    asked = Ragged.from_lists([[5, 6], [7, 8], [5, 6], [7, 8], [6, 7]])
    assert term_weights(asked).shape[1] == 4 + 2  # 5, 6, 7, 8 and (5, 6), (7, 8)


def test_hard_negatives_are_of_other_clusters_and_moderate_cosine():
    asked, clusters = questions(), np.arange(120) // 3
    weights = term_weights(asked)
    one, two = hard_negatives(weights, clusters, 10_000, seed=3)
    cosines = (weights @ weights.T).toarray()[one, two]
    assert len(one) > 20
    assert (clusters[one] != clusters[two]).all()
    assert (cosines >= LOWEST - 1e-9).all() and (cosines < HIGHEST + 1e-9).all()
    assert len(set(zip(one.tolist(), two.tolist()))) == len(one) and (one < two).all()
    # So many neighbours lie in the range for no question, so every pair of the range is found.
    dense = np.triu((weights @ weights.T).toarray(), 1)
    fits = (dense >= LOWEST) & (dense < HIGHEST) & (clusters[:, None] != clusters)
    assert set(zip(one.tolist(), two.tolist())) == set(
        zip(*(side.tolist() for side in np.nonzero(fits)))
    )


def test_a_wished_count_is_a_part_and_the_seed_decides():
    weights, clusters = term_weights(questions()), np.arange(120)
    few = [hard_negatives(weights, clusters, 10, seed=seed) for seed in (1, 1, 2)]
    assert [len(pairs[0]) for pairs in few] == [10, 10, 10]
    np.testing.assert_array_equal(few[0], few[1])
    assert not np.array_equal(few[0], few[2])


def test_nothing_in_common_gives_nothing():
    asked = Ragged.from_lists([[5], [6], [7]])
    one, two = hard_negatives(term_weights(asked), np.arange(3), 5)
    assert len(one) == len(two) == 0


def test_the_order_brings_topics_together():
    draw = np.random.default_rng(0)
    topic = draw.permutation(np.arange(400) % 8)  # [pairs]
    sides = [
        [(2 + 10 * s + draw.integers(0, 10, 6)).tolist() for s in topic] for _ in range(2)
    ]  # Each topic has ten words of its own.
    weights = term_weights(Ragged.from_lists(sides[0] + sides[1]))
    rows = np.arange(400)
    found = topic_order(weights, rows, rows + 400, block=25)
    assert sorted(found.tolist()) == rows.tolist()
    together = (topic[found][1:] == topic[found][:-1]).mean()
    assert together > 0.6  # 1/8 at random
    np.testing.assert_array_equal(found, topic_order(weights, rows, rows + 400, block=25))


@pytest.mark.parametrize("count", [1, 2, 7])
def test_orders_of_few_pairs(count):
    weights = term_weights(questions(2 * count))
    found = topic_order(weights, np.arange(count), np.arange(count) + count, block=1)
    assert sorted(found.tolist()) == list(range(count))


def test_rows_of_a_larger_table():
    asked = questions(60)
    rows = (np.arange(10, 30), np.arange(30, 50))
    clusters = (np.arange(20), np.arange(20))
    similar = SimilarQuestions(asked, rows, clusters, seed=1)
    one, two = similar.hard_negatives(1000)
    assert len(one) and min(one.min(), two.min()) >= 10 and max(one.max(), two.max()) < 50
    cluster_of = np.full(60, -1)
    cluster_of[rows[0]], cluster_of[rows[1]] = clusters
    assert (cluster_of[one] != cluster_of[two]).all()
    order = similar.topic_order(np.array([3, 8, 11]), block=1)
    assert sorted(order.tolist()) == [0, 1, 2]
