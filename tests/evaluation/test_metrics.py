"""Metrics against their definitions, counted by hand."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese.errors import ArgumentError, DataError
from siamese.evaluation.metrics import evaluate_scores


def by_hand(scores, labels, threshold):
    tp = sum(s > threshold and y for s, y in zip(scores, labels))
    fp = sum(s > threshold and not y for s, y in zip(scores, labels))
    fn = sum(not s > threshold and y for s, y in zip(scores, labels))
    tn = len(scores) - tp - fp - fn
    product = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    positives = [s for s, y in zip(scores, labels) if y]
    negatives = [s for s, y in zip(scores, labels) if not y]
    wins = sum((p > n) + 0.5 * (p == n) for p in positives for n in negatives)
    average = 0.0  # the precision at each distinct score, weighted by the duplicates gained there
    for cut in sorted(set(scores), reverse=True):
        above = sum(s >= cut for s in scores)
        found = sum(s >= cut for s in positives)
        average += found / above * sum(s == cut for s in positives)
    return {
        "accuracy": (tp + tn) / len(scores),
        "precision": tp / (tp + fp) if tp + fp else 0.0,
        "recall": tp / (tp + fn),
        "f1": 2 * tp / (2 * tp + fp + fn),
        "mcc": (tp * tn - fp * fn) / math.sqrt(product) if product else 0.0,
        "roc_auc": wins / len(positives) / len(negatives),
        "average_precision": average / len(positives),
        "base_rate": len(positives) / len(scores),
        "n": len(scores),
        "threshold": threshold,
    }


@settings(max_examples=100, deadline=None)
@given(
    pairs=st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=2, max_size=25).filter(
        lambda pairs: len({y for _, y in pairs}) == 2
    ),
    cut=st.integers(-1, 7),
)
def test_equals_the_definitions(pairs, cut):
    scores, labels = [s / 6 for s, _ in pairs], [y for _, y in pairs]
    found = evaluate_scores(scores, labels, cut / 6).to_dict()
    expected = by_hand(scores, labels, cut / 6)
    assert set(found) == set(expected)
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-12), name


def test_without_a_threshold_only_the_ranking_is_measured():
    found = evaluate_scores([0.9, 0.1], [1, 0])
    assert (found.accuracy, found.mcc, found.threshold) == (None, None, None)
    assert found.roc_auc == found.average_precision == 1.0


@pytest.mark.parametrize(
    ("scores", "labels", "error", "says"),
    [
        ([], [], DataError, "no scores"),
        ([0.1, 0.2], [1], DataError, "2 scores and 1 labels"),
        ([0.1, float("nan")], [1, 0], ArgumentError, r"scores\[1\] is nan"),
        ([0.1, float("inf")], [1, 0], ArgumentError, r"scores\[1\] is inf"),
        ([0.1, 0.2], [1, 2], ArgumentError, r"labels\[1\] is .*2"),
        ([0.1, 0.2], [1, -1], ArgumentError, r"labels\[1\]"),
        ([0.1, 0.2], [0.5, 1], ArgumentError, r"labels\[0\]"),
        ([0.1, 0.2], ["yes", "no"], ArgumentError, "'?yes'?"),
        ([0.1, 0.2], [None, 1], ArgumentError, "None"),
        ([0.1, 0.2], [1, 1], DataError, "All 2 pairs are duplicates"),
        ([0.1, 0.2], [0, 0], DataError, "All 2 pairs are non-duplicates"),
        ([[0.1, 0.2]], [1, 0], ArgumentError, "flat"),
        (["0.1", "x"], [1, 0], ArgumentError, "numbers"),
    ],
)
def test_wrong_input(scores, labels, error, says):
    with pytest.raises(error, match=says):
        evaluate_scores(scores, labels, 0.5)


@pytest.mark.parametrize("threshold", ["high", float("nan"), [1, 2]])
def test_wrong_threshold(threshold):
    with pytest.raises(ArgumentError, match="threshold"):
        evaluate_scores([0.1, 0.2], [0, 1], threshold)
