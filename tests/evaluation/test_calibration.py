"""Calibration against known probabilities, scikit-learn and hand-counted bins."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve

from siamese.errors import ArgumentError, CheckpointError, DataError
from siamese.evaluation.calibration import (
    Calibration,
    expected_calibration_error,
    fit_calibration,
    reliability_curve,
)


def drawn(n, probability, seed=0):
    generator = np.random.default_rng(seed)
    scores = generator.uniform(-1, 1, n)
    return scores, generator.random(n) < probability(scores)


def logistic(scores):
    return 1 / (1 + np.exp(-(6 * scores - 1)))


def stairs(scores):
    return np.where(scores < 0.3, 0.05, np.where(scores < 0.35, 0.5, 0.95))


def test_platt_reaches_the_minimum_of_its_loss():
    scores, labels = drawn(400, logistic)
    found = fit_calibration(scores, labels, method="platt")
    ones, zeros = labels.sum(), (~labels).sum()
    target = np.where(labels, (ones + 1) / (ones + 2), 1 / (zeros + 2))

    def gap(slope, intercept):  # the gradient of the log loss in NumPy float64
        error = 1 / (1 + np.exp(-(slope * scores + intercept))) - target
        return np.array([error.mean(), (error * scores).mean()])

    assert np.abs(gap(found.slope, found.intercept)).max() < 1e-6


def test_platt_stays_finite_where_scores_separate_the_classes():
    found = fit_calibration(np.linspace(0, 1, 40), np.arange(40) >= 20, method="platt")
    assert np.isfinite([found.slope, found.intercept]).all()
    low, high = found([0.0, 1.0])
    assert 0 < low < 0.1 and 0.9 < high < 1
    with np.errstate(all="raise"), pytest.raises(ArgumentError, match="finite"):
        found(found([[-1e9, 1e9]]) * np.nan)
    constant = fit_calibration([0.5] * 100, [1] * 30 + [0] * 70, method="platt")
    assert constant([0.5])[0] == pytest.approx(0.3, abs=0.01)


def test_the_better_method_is_chosen_on_pairs_that_were_left_out():
    assert fit_calibration([0.1, 0.2, 0.9], [0, 0, 1]).method == "platt"  # Too few to compare.
    assert fit_calibration(*drawn(2000, logistic)).method == "platt"
    assert fit_calibration(*drawn(2000, stairs)).method == "isotonic"
    # Labels that the scores say nothing about: on pairs it has seen, isotonic always fits them better; on
    # others Platt's nearly level line is mostly better.
    methods = [
        fit_calibration(np.random.default_rng(seed).random(60), np.arange(60) % 2).method
        for seed in range(10)
    ]
    assert methods.count("platt") >= 6


@settings(max_examples=50, deadline=None)
@given(
    pairs=st.lists(st.tuples(st.floats(-1, 1), st.booleans()), min_size=4, max_size=40).filter(
        lambda pairs: len({y for _, y in pairs}) == 2
    ),
    method=st.sampled_from(["platt", "isotonic"]),
)
def test_travels_through_json_unchanged(pairs, method):
    found = fit_calibration([s for s, _ in pairs], [y for _, y in pairs], method=method)
    back = Calibration.from_dict(json.loads(json.dumps(found.to_dict())))
    asked = np.linspace(-2, 2, 50)
    assert back == found and (back(asked) == found(asked)).all()
    assert ((found(asked) >= 0) & (found(asked) <= 1)).all()
    if method == "isotonic":
        assert (np.diff(found(asked)) >= 0).all()


PLATT = {"method": "platt", "n": 5, "slope": 1.0, "intercept": 0.0}
ISOTONIC = {"method": "isotonic", "n": 5, "scores": [0.1, 0.2], "probabilities": [0.1, 0.2]}


@pytest.mark.parametrize(
    ("values", "change"),
    [
        (PLATT, {"method": "magic"}), (PLATT, {"slope": None}), (PLATT, {"slope": "steep"}),
        (PLATT, {"slope": float("nan")}), (PLATT, {"extra": 1}), (PLATT, None),
        (ISOTONIC, {"probabilities": [0.5]}), (ISOTONIC, {"scores": [0.2, 0.1]}),
        (ISOTONIC, {"probabilities": [0.2, 0.1]}), (ISOTONIC, {"scores": [], "probabilities": []}),
        (ISOTONIC, {"scores": [1], "probabilities": [2]}),
    ],
)  # fmt: skip
def test_a_damaged_calibration_is_refused(values, change):
    with pytest.raises(CheckpointError, match="damaged"):
        Calibration.from_dict(None if change is None else values | change)
    with pytest.raises(CheckpointError, match="damaged"):  # A field is missing.
        Calibration.from_dict({"method": values["method"], "n": 5})


def test_reliability_equals_scikit_learn():
    scores, labels = drawn(3000, logistic)
    probabilities = logistic(scores)
    for ours, theirs in (("equal_width", "uniform"), ("equal_mass", "quantile")):
        share, mean = calibration_curve(labels, probabilities, n_bins=15, strategy=theirs)
        curve = reliability_curve(probabilities, labels, bins=15, strategy=ours)
        np.testing.assert_allclose(curve[:2], [mean, share])
        assert curve[2].sum() == 3000


def test_the_error_by_hand_and_calibrating_removes_the_error_on_other_pairs():
    probabilities, labels = [0.1, 0.1, 0.3, 0.6, 0.9, 0.9], [0, 1, 0, 1, 1, 1]
    expected = 0.5 * abs(1 / 3 - 0.5 / 3) + 0.5 * abs(1 - 0.8)
    error = expected_calibration_error(probabilities, labels, bins=2, strategy="equal_width")
    assert error == pytest.approx(expected)
    scores, labels = drawn(4000, logistic)
    fresh, truth = drawn(8000, logistic, seed=1)
    calibrated = fit_calibration(scores, labels)(fresh)
    assert expected_calibration_error((fresh + 1) / 2, truth) > 0.1
    assert expected_calibration_error(calibrated, truth) < 0.02


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"probabilities": [-0.1, 0.5]}, ArgumentError, "from 0 to 1"),
        ({"probabilities": [0.1, 1.5]}, ArgumentError, "from 0 to 1"),
        ({"probabilities": [0.1, float("nan")]}, ArgumentError, "nan"),
        ({"labels": [0]}, DataError, "2 scores and 1"),
        ({"bins": 0}, ArgumentError, "bins"),
        ({"strategy": "fair"}, ArgumentError, "strategy"),
    ],
)
def test_wrong_arguments(changes, error, says):
    arguments = {"probabilities": [0.1, 0.5], "labels": [0, 1]} | changes
    with pytest.raises(error, match=says):
        reliability_curve(**arguments)
    with pytest.raises(ArgumentError, match="method"):
        fit_calibration([0.1, 0.2], [0, 1], method="beta")
