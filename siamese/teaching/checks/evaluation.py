"""Accuracy at a threshold, the best threshold, and the error of calibrated probabilities."""

from __future__ import annotations

import numpy as np

from .engine import Case, Exercise, call
from .submission import Function
from .tables import solutions

accuracy_at = solutions()["accuracy_at"]
best_threshold = solutions()["best_threshold"]
_SCORES = np.array([0.95, 0.2, 0.71, 0.55, -0.3, 0.88, 0.64, 0.1])
_LABELS = np.array([1, 0, 1, 0, 0, 0, 1, 0])

check_accuracy_at = Exercise(
    "accuracy_at",
    [
        Case("eight pairs at 0.6", (_SCORES, _LABELS, 0.6)),
        Case("the same pairs at another threshold", (_SCORES, _LABELS, 0.15)),
        Case("scores exactly at the threshold",
             (np.array([0.5, 0.5, 0.5, 0.75, 0.25]), np.array([0, 0, 1, 1, 0]), 0.5)),
        Case("labels True and False", (_SCORES, _LABELS.astype(bool), 0.6)),
        Case("a negative threshold", (_SCORES, _LABELS, -0.4)),
        Case("no duplicates at all", (np.array([0.9, 0.1, 0.2]), np.zeros(3, int), 0.7)),
        Case("nine pairs, two wrong", (np.r_[_SCORES, 0.52], np.r_[_LABELS, 0], 0.62)),
    ],
)  # fmt: skip

# ---- best_threshold ----


def _threshold(fn: Function, scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The result, or the solution's threshold where it is as good."""
    threshold = call(fn, scores, labels)
    best = call(best_threshold, scores, labels)
    if threshold.shape or best.shape:
        return threshold
    accuracy = accuracy_at(scores, labels, threshold)
    is_as_good = accuracy >= accuracy_at(scores, labels, best) - 1e-9
    return best if is_as_good else threshold


check_best_threshold = Exercise(
    "best_threshold",
    [Case(name, (np.array(scores, float), np.array(labels))) for name, scores, labels in (
        ("eight pairs", _SCORES, _LABELS),
        ("duplicates and others well apart", [0.1, 0.9, 0.3, 0.85, 0.2, 0.8], [0, 1, 0, 1, 0, 1]),
        ("scores close together", [0.7012, 0.7011, 0.7013, 0.7009, 0.7008, 0.7010], [1, 1, 1, 0, 0, 0]),
        ("all scores below 0", [-0.9, -0.2, -0.7, -0.1, -0.6], [0, 1, 0, 1, 0]),
        ("every pair a duplicate", [0.4, 0.9, 0.6], [1, 1, 1]),
        ("no pair a duplicate", [0.4, 0.9, 0.6], [0, 0, 0]),
        ("equal scores", [0.5, 0.5, 0.5, 0.8, 0.2, 0.5], [1, 0, 0, 1, 0, 0]),
        ("labels True and False", _SCORES[::-1], _LABELS[::-1].astype(bool)),
    )],
    variants=("", "np.sort(scores) -> scores", "np.append(scores.min() - 1, np.sort(scores)) -> scores"),
    observe=_threshold,
)  # fmt: skip

# ---- expected_calibration_error ----

_P = np.array([0.03, 0.08, 0.17, 0.22, 0.24, 0.41, 0.47, 0.66, 0.68, 0.83, 0.94, 0.97])
_Y = np.array([0, 1, 0, 0, 1, 1, 0, 1, 0, 1, 1, 1])
check_expected_calibration_error = Exercise(
    "expected_calibration_error",
    [
        Case("twelve pairs in ten bins", (_P, _Y)),
        Case("the same in four bins", (_P, _Y, 4)),
        Case("one bin", (_P, _Y, 1)),
        Case("most bins empty", (np.array([0.32, 0.33, 0.36, 0.92]), np.array([0, 1, 0, 1]))),
        Case("a probability of exactly 1", (np.array([1.0, 0.95, 0.45, 0.55]), np.array([0, 1, 1, 0]))),
        Case("a probability of exactly 0", (np.array([0.0, 0, 0, 0.55]), np.array([1, 0, 1, 0]))),
        Case("labels True and False", (_P, _Y.astype(bool))),
        Case("perfectly calibrated", (np.repeat([0.25, 0.75], 4), np.array([0, 0, 1, 0, 1, 1, 0, 1]))),
    ],
)  # fmt: skip
