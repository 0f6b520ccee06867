"""Retrieval and mining metrics against counting by hand."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese.evaluation.retrieval import evaluate_mining, evaluate_retrieval


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 9), unique=True, max_size=8),
            st.sets(st.integers(0, 9), min_size=1, max_size=4),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_retrieval_equals_the_definitions(asked):
    reciprocal, recall, average = [], [], []
    for row, wanted in asked:
        ranks = [rank for rank, item in enumerate(row, 1) if item in wanted]
        reciprocal.append(1 / ranks[0] if ranks else 0)
        recall.append(len(set(row[:3]) & wanted) / len(wanted))
        average.append(sum(len(set(row[:r]) & wanted) / r for r in ranks) / len(wanted))
    found = evaluate_retrieval(*zip(*asked, ([1], [])), ks=(3,))
    assert found.mrr == pytest.approx(np.mean(reciprocal))
    assert found.recall == {3: pytest.approx(np.mean(recall))}
    assert found.map == pytest.approx(np.mean(average))
    assert found.queries == len(asked)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=2, max_size=8), st.data())
def test_mining_equals_average_precision_over_all_pairs(clusters, data):
    every = np.array(list(itertools.combinations(range(len(clusters)), 2)))
    truth = np.array([clusters[a] == clusters[b] for a, b in every])
    scores = np.array([data.draw(st.integers(0, 5)) / 5 for _ in every])
    proposed = scores > 0.3  # The others count as never found.
    if not truth.any() or not proposed.any():
        return
    found = evaluate_mining(every[proposed][:, ::-1], scores[proposed], clusters)
    assert (found.positives, found.found) == (truth.sum(), truth[proposed].sum())
    steps, f1 = [], []
    for score in set(scores[proposed]):
        above = scores >= score
        steps.append(truth[above].mean() * truth[scores == score].sum())
        f1.append(2 * truth[above].sum() / (above.sum() + truth.sum()))
    assert found.average_precision == pytest.approx(sum(steps) / truth.sum())
    kept = scores >= found.best_threshold
    assert found.best_f1 == pytest.approx(max(f1))
    assert found.best_f1 == pytest.approx(2 * truth[kept].sum() / (kept.sum() + truth.sum()))
