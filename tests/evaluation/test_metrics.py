"""Metrics against scikit-learn's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from siamese.errors import ArgumentError, DataError
from siamese.evaluation.metrics import evaluate_scores


@settings(max_examples=100, deadline=None)
@given(
    pairs=st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=2, max_size=25).filter(
        lambda pairs: len({y for _, y in pairs}) == 2
    ),
    cut=st.integers(-1, 7),
)
def test_equals_scikit_learn(pairs, cut):
    scores, labels = np.array([s / 6 for s, _ in pairs]), np.array([y for _, y in pairs])
    answers = scores > cut / 6
    expected = {
        "n": len(pairs),
        "base_rate": labels.mean(),
        "threshold": cut / 6,
        "accuracy": sk.accuracy_score(labels, answers),
        "precision": sk.precision_score(labels, answers, zero_division=0),
        "recall": sk.recall_score(labels, answers),
        "f1": sk.f1_score(labels, answers),
        "roc_auc": sk.roc_auc_score(labels, scores),
        "average_precision": sk.average_precision_score(labels, scores),
    }
    assert evaluate_scores(scores, labels, cut / 6).to_dict() == pytest.approx(expected, abs=1e-12)


def test_without_a_threshold_only_the_ranking_is_measured():
    metrics = evaluate_scores([0.9, 0.1], [1, 0])
    assert (metrics.accuracy, metrics.f1, metrics.threshold) == (None, None, None)
    assert metrics.roc_auc == metrics.average_precision == 1.0


@pytest.mark.parametrize(
    ("scores", "labels", "threshold", "error", "says"),
    [
        ([], [], 0.5, DataError, "no scores"),
        ([0.1, 0.2], [1], 0.5, DataError, "2 scores and 1 labels"),
        ([0.1, float("nan")], [1, 0], 0.5, ArgumentError, r"scores\[1\] is nan"),
        ([0.1, float("inf")], [1, 0], 0.5, ArgumentError, r"scores\[1\] is inf"),
        ([0.1, 0.2], [1, 2], 0.5, ArgumentError, r"labels\[1\] is .*2"),
        ([0.1, 0.2], [0.5, 1], 0.5, ArgumentError, r"labels\[0\]"),
        ([0.1, 0.2], ["yes", "no"], 0.5, ArgumentError, "'?yes'?"),
        ([0.1, 0.2], [None, 1], 0.5, ArgumentError, "None"),
        ([0.1, 0.2], [1, 1], 0.5, DataError, "All 2 pairs are duplicates"),
        ([0.1, 0.2], [0, 0], 0.5, DataError, "All 2 pairs are non-duplicates"),
        ([[0.1, 0.2]], [1, 0], 0.5, ArgumentError, "flat"),
        (["0.1", "x"], [1, 0], 0.5, ArgumentError, "numbers"),
        ([0.1, 0.2], [0, 1], "high", ArgumentError, "threshold"),
        ([0.1, 0.2], [0, 1], float("nan"), ArgumentError, "threshold"),
        ([0.1, 0.2], [0, 1], [1, 2], ArgumentError, "threshold"),
    ],
)
def test_wrong_input(scores, labels, threshold, error, says):
    with pytest.raises(error, match=says):
        evaluate_scores(scores, labels, threshold)
