"""Bootstrap intervals against resampling one by one, and hand-made samples."""

import dataclasses

import numpy as np
import pytest

from siamese.errors import ArgumentError, DataError
from siamese.evaluation.bootstrap import Interval, bootstrap_interval, metric_intervals
from siamese.evaluation.metrics import evaluate_scores


def scored(n, seed=0):
    generator = np.random.default_rng(seed)
    labels = generator.random(n) < 0.4
    return (generator.normal(size=n) + labels).round(1), labels  # With ties.


def test_equals_one_resample_at_a_time():
    scores, labels = scored(60)
    intervals = metric_intervals(scores, labels, 0.5, resamples=40, seed=3)
    rows = np.random.default_rng(3).integers(60, size=(40, 60))
    assert len(intervals) == 6
    for name, interval in intervals.items():

        def metric(scores, labels, name=name):
            return getattr(evaluate_scores(scores, labels, 0.5), name)

        each = [metric(scores[row], labels[row]) for row in rows]
        expected = metric(scores, labels), *np.quantile(each, [0.025, 0.975])
        assert dataclasses.astuple(interval) == pytest.approx(expected), name
        assert bootstrap_interval(metric, scores, labels, resamples=40, seed=3) == interval


def test_the_same_seed_gives_the_same_interval_and_it_prints_three_decimals():
    first, again = (metric_intervals(*scored(60), 0.5, resamples=20, seed=1) for _ in range(2))
    assert first == again != metric_intervals(*scored(60), 0.5, resamples=20, seed=2)
    assert str(Interval(0.8123, 0.8, 0.82456)) == "0.812 [0.800, 0.825]"


def test_resamples_with_one_class_are_left_out():
    area = metric_intervals([0.1, 0.2, 0.9], [0, 0, 1], 0.5, resamples=200)["roc_auc"]
    assert (area.value, area.low, area.high) == (1.0, 1.0, 1.0)


def test_wrong_arguments():
    with pytest.raises(ArgumentError, match="resamples"):
        bootstrap_interval(lambda s, y: 0.0, *scored(20), resamples=0)
    with pytest.raises(DataError, match="All 2 pairs"):
        metric_intervals([0.1, 0.2], [1, 1], 0.5)
    with pytest.raises(DataError, match="undefined"):
        bootstrap_interval(lambda s, y: float("nan"), [0.1, 0.2], [0, 1])
