"""Scores as probabilities of being a duplicate (Platt, 1999), and how far off probabilities are."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike

from siamese.evaluation.metrics import check_scores
from siamese.system.open_types import JsonObject


@dataclass(frozen=True)
class Calibration:
    """Turns scores into probabilities of being a duplicate; a saved model holds one, as `to_dict`.

    The probability is ``1 / (1 + exp(-(slope * score + intercept)))``, fitted on `n`
    pairs. ValueError for a number that is not finite.
    """

    n: int
    slope: float
    intercept: float

    def __post_init__(self) -> None:
        if not np.isfinite([self.slope, self.intercept]).all():
            raise ValueError("its numbers are not finite.")

    def __call__(self, scores: ArrayLike) -> np.ndarray:
        """Probabilities, float64 from 0 to 1, of finite scores of any shape."""
        return logistic(self.slope * np.asarray(scores, np.float64) + self.intercept)

    def to_dict(self) -> JsonObject:
        """As plain values that JSON can hold."""
        return asdict(self)


def fit_calibration(
    scores: ArrayLike, labels: ArrayLike, prior: tuple[float, float] | None = None
) -> Calibration:
    """Fits a calibration on validation pairs: the logistic regression of labels on scores.

    Newton's method takes a hundredth of scikit-learn's time, and `fit_threshold` fits
    200 resamples. `prior` is mean and standard deviation of a normal prior on the
    slope; none where None.
    """
    scores, truth = check_scores(scores, labels)
    centre = scores.mean()
    scale = scores.std() or 1.0
    mean, deviation = (0, np.inf) if prior is None else np.multiply(prior, scale)
    x = np.stack([(scores - centre) / scale, np.ones(len(scores))])  # [2, n]
    slope, intercept = fit_logistic(
        x, truth, np.array([mean, 0]), np.array([deviation**-2, 0])
    )
    return Calibration(
        len(truth), float(slope / scale), float(intercept - slope / scale * centre)
    )


def slope_through(border: float, scores: np.ndarray, truth: np.ndarray) -> float:
    """The slope of the logistic regression whose curve passes 1/2 at a given score."""
    (slope,) = fit_logistic((scores - border)[None], truth, np.zeros(1), np.zeros(1))
    return float(slope)


def fit_logistic(
    x: np.ndarray,
    truth: np.ndarray,
    mean: np.ndarray,
    precision: np.ndarray,
    offset: np.ndarray | float = 0.0,  # of the logits, float [n]
) -> np.ndarray:
    """The weights float64 [k] of a logistic regression on x, [k, n], with a normal prior on each.

    Platt's targets, (n+ + 1) / (n+ + 2) and 1 / (n- + 2) in place of 1 and 0, keep the
    slope finite where the scores separate the classes; on thousands of pairs they
    change nothing visible.
    """
    duplicates = truth.sum()
    others = len(truth) - duplicates
    target = np.where(truth, (duplicates + 1) / (duplicates + 2), 1 / (others + 2))
    weights = np.zeros(len(x))
    for _ in range(50):
        p = logistic(weights @ x + offset)
        hessian = (x * (p * (1 - p))) @ x.T + np.diag(precision + 1e-9)
        step = np.linalg.solve(hessian, x @ (target - p) - precision * (weights - mean))
        # A whole step may go too far where labels are separate.
        weights += np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-8:
            break
    return weights


def logistic(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)), without overflow."""
    return 0.5 + 0.5 * np.tanh(x / 2)  # Never overflows, unlike 1 / (1 + exp(-x)).


def expected_calibration_error(
    probabilities: ArrayLike, labels: ArrayLike, bins: int = 15
) -> float:
    """Mean gap between the predicted probability and the share of duplicates, over bins.

    ``sum over bins of count / n * |share of duplicates - mean probability|`` (Naeini,
    Cooper and Hauskrecht, 2015), of probabilities, float [n], and labels, bool or 0/1
    [n]. The bins hold about as many pairs each; there are fewer than `bins` where pairs
    of one probability stay together.
    """
    values, truth = check_scores(probabilities, labels, both=False)
    edges = np.quantile(values, np.arange(1, bins) / bins)
    # bin k: edges[k-1] <= p < edges[k]
    index = np.searchsorted(edges, values, side="right")
    return float(np.abs(np.bincount(index, truth - values)).sum() / len(values))
