"""Calibration against Platt's loss, scikit-learn and hand-counted bins."""

import json

import numpy as np
import pytest
from sklearn.calibration import calibration_curve

from siamese.errors import ArgumentError
from siamese.evaluation.calibration import (
    Calibration,
    expected_calibration_error,
    fit_calibration,
)


def logistic(scores):
    return 1 / (1 + np.exp(-(6 * scores - 1)))


def drawn(n, seed=0):
    generator = np.random.default_rng(seed)
    scores = generator.uniform(-1, 1, n)
    return scores, generator.random(n) < logistic(scores)


def test_a_fit_reaches_the_minimum_of_platts_loss_and_travels_through_json():
    scores, labels = drawn(400)
    fit = fit_calibration(scores, labels)
    ones, zeros = labels.sum(), (~labels).sum()
    target = np.where(labels, (ones + 1) / (ones + 2), 1 / (zeros + 2))
    error = 1 / (1 + np.exp(-(fit.slope * scores + fit.intercept))) - target
    assert np.abs([error.mean(), (error * scores).mean()]).max() < 1e-6  # the gradient
    assert Calibration.from_dict(json.loads(json.dumps(fit.to_dict()))) == fit
    fresh, truth = drawn(8000, seed=1)
    assert expected_calibration_error((fresh + 1) / 2, truth) > 0.1
    assert expected_calibration_error(fit_calibration(*drawn(4000))(fresh), truth) < 0.02


def test_a_fit_stays_finite_where_scores_separate_the_classes_or_are_all_equal():
    fit = fit_calibration(np.linspace(0, 1, 40), np.arange(40) >= 20)
    low, high = fit([0.0, 1.0])
    assert 0 < low < 0.1 and 0.9 < high < 1
    with np.errstate(all="raise"):
        assert fit([[-1e9, 1e9]]).tolist() == [[0, 1]]
    constant = fit_calibration([0.5] * 100, [1] * 30 + [0] * 70)
    assert constant([0.5])[0] == pytest.approx(0.3, abs=0.01)


def test_the_error_is_that_of_scikit_learns_bins_of_equal_mass():
    scores, labels = drawn(3000)
    share, mean = calibration_curve(labels, scores**2, n_bins=15, strategy="quantile")
    expected = np.abs(share - mean).mean()  # 200 pairs in each
    assert expected_calibration_error(scores**2, labels) == pytest.approx(expected)
    # Two bins, of the pairs below and from 0.3 on.
    probabilities, labels = [0.1, 0.1, 0.3, 0.3, 0.9, 0.9], [0, 1, 0, 1, 1, 1]
    expected = (abs(1 - 0.2) + abs(3 - 2.4)) / 6
    assert expected_calibration_error(probabilities, labels, 2) == pytest.approx(expected)


def test_what_is_no_probability_is_refused():
    with pytest.raises(ArgumentError, match=r"from 0 to 1; these from 0\.1 to 1\.5"):
        expected_calibration_error([0.1, 1.5], [0, 1])
    with pytest.raises(ArgumentError, match="Only finite scores"):
        Calibration(9, 20.0, -10.0)([0.5, float("nan")])
