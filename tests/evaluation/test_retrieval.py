"""Retrieval and mining metrics against counting by hand."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from siamese.errors import ArgumentError, DataError
from siamese.evaluation.retrieval import evaluate_mining, evaluate_retrieval


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_retrieval_equals_the_definitions(data):
    ranked, relevant = [], []
    for _ in range(data.draw(st.integers(1, 5))):
        ranked.append(data.draw(st.lists(st.integers(0, 9), unique=True, max_size=8)))
        relevant.append(data.draw(st.sets(st.integers(0, 9), max_size=4)))
    asked = [(row, found) for row, found in zip(ranked, relevant) if found]
    if not asked:
        with pytest.raises(DataError, match="nothing to find"):
            evaluate_retrieval(ranked, relevant)
        return
    reciprocal, recall, average = [], [], []
    for row, wanted in asked:
        ranks = [rank for rank, item in enumerate(row, 1) if item in wanted]
        reciprocal.append(1 / ranks[0] if ranks else 0)
        recall.append(len(set(row[:3]) & wanted) / len(wanted))
        average.append(sum(len(set(row[:r]) & wanted) / r for r in ranks) / len(wanted))
    found = evaluate_retrieval(ranked, relevant, ks=(3,))
    assert found.mrr == pytest.approx(np.mean(reciprocal))
    assert found.recall == {3: pytest.approx(np.mean(recall))}
    assert found.map == pytest.approx(np.mean(average))
    assert (found.queries, found.without_relevant) == (len(asked), len(ranked) - len(asked))


def test_perfect_worst_and_array_answers():
    perfect = evaluate_retrieval(np.array([[3, 1], [2, 0]]), [[3], [2, 0]], ks=(1, 2))
    assert (perfect.mrr, perfect.map, perfect.recall) == (1.0, 1.0, {1: 0.75, 2: 1.0})
    nothing = evaluate_retrieval([[]], [["a"]])
    assert (nothing.mrr, nothing.map, nothing.recall[10]) == (0, 0, 0)


def test_wrong_retrieval():
    with pytest.raises(DataError, match="1 queries and relevant ids for 2"):
        evaluate_retrieval([[1]], [[1], [2]])
    with pytest.raises(DataError, match="Query 1 returned the id 7 twice"):
        evaluate_retrieval([[1], [7, 2, 7]], [[1], [2]])
    for k in (0, -1, 1.5, True):
        with pytest.raises(ArgumentError, match="ks"):
            evaluate_retrieval([[1]], [[1]], ks=(k,))


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_mining_equals_average_precision_over_all_pairs(data):
    clusters = data.draw(st.lists(st.integers(0, 3), min_size=2, max_size=8))
    every = list(itertools.combinations(range(len(clusters)), 2))
    truth = np.array([clusters[a] == clusters[b] for a, b in every])
    scores = np.array([data.draw(st.integers(0, 5)) / 5 for _ in every])
    if not truth.any():
        with pytest.raises(DataError, match="nothing to mine"):
            evaluate_mining(every, scores, clusters)
        return
    order = np.random.default_rng(0).permutation(len(every))
    mined = evaluate_mining(np.array(every)[order][:, ::-1], scores[order], clusters)
    found = mined.average_precision
    assert found == pytest.approx(average_precision_score(truth, scores))
    # Those not proposed are found last, if at all: no average precision without them is higher.
    proposed = scores > 0.3
    few = evaluate_mining(np.array(every)[proposed], scores[proposed], clusters)
    assert few.average_precision <= found + 1e-12
    assert (few.positives, few.found) == (truth.sum(), truth[proposed].sum())
    steps = [
        (truth[scores >= s].sum() / (scores >= s).sum(), truth[scores == s].sum())
        for s in set(scores[proposed])
    ]
    expected = sum(precision * gained for precision, gained in steps) / truth.sum()
    assert few.average_precision == pytest.approx(expected)
    if proposed.any():
        f1 = [
            2 * truth[scores >= s].sum() / ((scores >= s).sum() + truth.sum())
            for s in set(scores[proposed])
        ]
        kept = scores >= few.best_threshold
        assert few.best_f1 == pytest.approx(max(f1))
        assert few.best_f1 == pytest.approx(2 * truth[kept].sum() / (kept.sum() + truth.sum()))


def test_nothing_proposed():
    found = evaluate_mining([], [], ["x", "x", "y"])
    assert (found.positives, found.found, found.average_precision) == (1, 0, 0.0)


@pytest.mark.parametrize(
    ("pairs", "scores", "error", "says"),
    [
        ([(0, 1), (1, 0)], [0.1, 0.2], DataError, r"\(0, 1\) is proposed more than once"),
        ([(1, 1)], [0.1], DataError, "with itself"),
        ([(0, 9)], [0.1], ArgumentError, "list of 3 questions"),
        ([(-1, 0)], [0.1], ArgumentError, "list of 3 questions"),
        ([(0, 1)], [0.1, 0.2], DataError, "1 pairs"),
        ([(0, 1)], [float("nan")], ArgumentError, "finite"),
        ([(0.5, 1)], [0.1], ArgumentError, "integers"),
        ([(0, 1, 2)], [0.1], ArgumentError, "integers"),
    ],
)
def test_wrong_mining(pairs, scores, error, says):
    with pytest.raises(error, match=says):
        evaluate_mining(pairs, scores, ["x", "x", "y"])
