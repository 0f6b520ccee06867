"""bootstrap_interval against resampling one by one."""

import dataclasses

import numpy as np
import pytest

from siamese.errors import ArgumentError, DataError
from siamese.evaluation.bootstrap import Interval, bootstrap_interval
from siamese.evaluation.metrics import evaluate_scores

METRICS = ("accuracy", "precision", "recall", "f1", "mcc", "roc_auc", "average_precision")


def made(n, seed=0, ties=True):
    generator = np.random.default_rng(seed)
    labels = generator.random(n) < 0.4
    scores = generator.normal(size=n) + labels
    return (scores.round(1) if ties else scores), labels


@pytest.mark.parametrize("metric", METRICS)
def test_equals_one_resample_at_a_time(metric):
    scores, labels = made(60)
    found = bootstrap_interval(metric, scores, labels, threshold=0.5, resamples=40, seed=3)
    rows = np.random.default_rng(3).integers(60, size=(40, 60))
    each = [
        getattr(evaluate_scores(scores[row], labels[row], 0.5), metric)
        for row in rows
        if labels[row].any() and not labels[row].all()
    ]
    assert found.value == pytest.approx(getattr(evaluate_scores(scores, labels, 0.5), metric))
    assert (found.low, found.high) == pytest.approx(np.quantile(each, [0.025, 0.975]))


def test_a_function_of_ones_own():
    scores, labels = made(60)

    def accuracy(scores, labels):
        return float(((scores > 0.5) == labels).mean())

    own = bootstrap_interval(accuracy, scores, labels, resamples=100, seed=1)
    named = bootstrap_interval("accuracy", scores, labels, threshold=0.5, resamples=100, seed=1)
    assert dataclasses.astuple(own) == pytest.approx(dataclasses.astuple(named))
    assert named == bootstrap_interval(
        "accuracy", scores, labels, threshold=0.5, resamples=100, seed=1
    )
    assert str(Interval(0.8123, 0.8, 0.82456)) == "0.812 [0.800, 0.825]"


def test_resamples_with_one_class_are_left_out_of_ranking_metrics():
    found = bootstrap_interval("roc_auc", [0.1, 0.2, 0.9], [0, 0, 1], resamples=200)
    assert (found.value, found.low, found.high) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"metric": "loss"}, "metric must be one of"),
        ({"metric": "accuracy", "threshold": None}, "needs a threshold"),
        ({"resamples": 0}, "resamples"),
    ],
)
def test_wrong_arguments(changes, says):
    scores, labels = made(20)
    arguments = {"metric": "accuracy", "threshold": 0.5} | changes
    with pytest.raises(ArgumentError, match=says):
        bootstrap_interval(arguments.pop("metric"), scores, labels, **arguments)


def test_wrong_data():
    with pytest.raises(DataError, match="All 2 pairs"):
        bootstrap_interval("roc_auc", [0.1, 0.2], [1, 1])
    with pytest.raises(DataError, match="undefined"):
        bootstrap_interval(lambda s, y: float("nan"), [0.1, 0.2], [0, 1])
