"""best_threshold against trying every cut; fit_threshold on labels drawn from a curve."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese.errors import DataError
from siamese.evaluation.calibration import platt_curve
from siamese.evaluation.metrics import evaluate_scores
from siamese.evaluation.thresholds import best_threshold, fit_threshold

PAIRS = st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=2, max_size=25).filter(
    lambda pairs: len({y for _, y in pairs}) == 2
)


def every_cut(scores):
    distinct = sorted(set(scores))
    between = [(a + b) / 2 for a, b in itertools.pairwise(distinct)]
    return [distinct[0] - 1, *between, distinct[-1] + 1]


@settings(max_examples=25, deadline=None)
@given(pairs=PAIRS)
def test_no_cut_is_better(pairs):
    scores, labels = [s / 9 for s, _ in pairs], [y for _, y in pairs]
    best = max(evaluate_scores(scores, labels, cut).accuracy for cut in every_cut(scores))
    applied = evaluate_scores(scores, labels, best_threshold(scores, labels))
    assert applied.accuracy == pytest.approx(best, abs=1e-12)


def test_lies_midway_between_scores_or_beyond_all():
    assert best_threshold([0.25, 0.75], [0, 1]) == 0.5
    assert best_threshold([0.1, 0.2, 0.3], [1, 1, 0]) < 0.1
    assert best_threshold([0.1, 0.2, 0.3], [1, 0, 0]) == 0.3  # the highest of the equal cuts


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("low", [0.7, -0.3, 0.0, 1e-30])
def test_neighbouring_floats_are_told_apart_in_their_own_precision(dtype, low):
    low = dtype(low)
    scores = np.array([low, np.nextafter(low, dtype(2))])
    threshold = best_threshold(scores, [0, 1])
    # As NumPy compares: a Python float is rounded to the array's type.
    assert (scores > threshold).tolist() == [False, True]
    assert (scores.astype(np.float64) > threshold).tolist() == [False, True]


def test_the_fitted_threshold_is_where_the_curve_passes_one_half():
    rng = np.random.default_rng(0)
    scores = rng.uniform(0, 1, 1000)
    labels = rng.uniform(size=1000) < 1 / (1 + np.exp(-12 * (scores - 0.6)))
    fit = fit_threshold(scores, labels)
    assert fit.threshold == pytest.approx(0.6, abs=0.04)
    assert fit.low < fit.threshold < fit.high < fit.low + 0.1
    assert fit.calibration(fit.threshold) == pytest.approx(0.5)
    # Pairs chosen by their score do not move it.
    near = np.abs(scores - 0.75) < 0.2
    assert fit_threshold(scores[near], labels[near]).threshold == pytest.approx(0.6, abs=0.06)
    few = fit_threshold(scores[:40], labels[:40])
    assert few.high - few.low > fit.high - fit.low
    with pytest.raises(DataError, match="do not have higher cosines"):
        fit_threshold(scores, ~labels)


def labelled(seed, n, slope=9.0):
    rng = np.random.default_rng(seed)
    scores = np.clip(rng.normal(0.6, 0.2, n), -1, 1)
    return scores, rng.uniform(size=n) < 1 / (1 + np.exp(-slope * (scores - 0.6)))


def test_thirty_labels_are_steadier_than_their_own_curve():
    fitted, own = [], []
    for seed in range(60):
        scores, labels = labelled(seed, 30)
        slope, intercept = platt_curve(scores, labels)
        fitted.append(fit_threshold(scores, labels, resamples=0).threshold)
        own.append(-intercept / slope)
    assert np.std(fitted) < 0.9 * np.std(own) and abs(np.mean(fitted) - 0.6) < 0.02


def test_many_labels_outweigh_the_prior():
    scores, labels = labelled(0, 5000)
    slope, intercept = platt_curve(scores, labels)
    fit = fit_threshold(scores, labels, resamples=0)
    assert fit.threshold == pytest.approx(-intercept / slope, abs=0.01)
    assert fit.calibration.slope == pytest.approx(slope, rel=0.05)
