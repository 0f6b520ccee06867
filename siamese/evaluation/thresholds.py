"""The threshold above which two questions count as duplicates, chosen on validation pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from siamese.errors import DataError
from siamese.evaluation.bootstrap import bootstrap_interval
from siamese.evaluation.calibration import Calibration, fit_calibration, slope_through
from siamese.evaluation.metrics import check_scores
from siamese.system.open_types import JsonObject

COURSE_THRESHOLD = 0.7
# Mean and standard deviation of the slope that a curve of few labels is expected to
# have. The border of thirty labels is steadier with it: on Quora's validation rows (40
# draws) the threshold's accuracy rises from 0.817 to 0.827 (`lstm`), of the worst draw
# from 0.627 to 0.769; with 1,000 labels nothing changes.
SLOPE = 20.0, 3.0


def best_threshold(scores: ArrayLike, labels: ArrayLike) -> float:
    """The threshold with the highest accuracy on these pairs, over every way to cut the scores.

    A pair counts as a duplicate where its score is above it. Choose it on validation
    pairs and apply it to others.

    Args:
      scores: float [n].
      labels: bool or 0/1 [n].

    Returns:
      Of equal accuracies the highest threshold wins.

    Raises:
      ArgumentError, DataError: see `check_scores`.

    Example:
      >>> best_threshold([0.9, 0.8, 0.3, 0.1], [1, 1, 0, 0])
      0.55
    """
    scores, truth = check_scores(scores, labels)
    # Every way to cut the scores: midway between two neighbouring different ones, or
    # beyond the ends.
    order = np.argsort(-scores, kind="stable")
    falling = scores[order]
    hits = np.cumsum(truth[order])
    # last of each equal run
    last = np.flatnonzero(np.append(np.diff(falling) != 0, True))
    distinct = falling[last]
    upper = distinct[:-1]
    lower = distinct[1:]
    between = upper * 0.5 + lower * 0.5
    # Neighbouring floats have no midpoint; the lower one cuts as well, `>` being
    # strict. The same for neighbours in float32, as NumPy rounds a threshold to the
    # float32 scores it compares.
    rounded = np.maximum(between, between.astype(np.float32))
    between = np.where((rounded >= upper) | (between < lower), lower, between)
    bottom = np.nextafter(distinct[-1], -np.inf)
    # nothing is above the highest
    thresholds = np.concatenate([[distinct[0]], between, [bottom]])
    above = np.append(0, last + 1)  # int64 [cuts]: scores above each
    right = np.append(0, hits[last])  # the duplicates among them
    # right answers, but for a constant
    return float(thresholds[np.argmax(2 * right - above)])


class FittedThreshold(NamedTuple):
    """A threshold of few labels, how sure it is, and the calibration whose curve it comes from."""

    threshold: float  # The score at which a pair is a duplicate as likely as not.
    low: float  # The 95 % bootstrap interval of it.
    high: float
    pairs: int  # Labelled pairs it was fitted on.
    duplicates: int  # Those labelled duplicates.
    calibration: Calibration

    def to_dict(self) -> JsonObject:
        """As plain values that JSON can hold."""
        return {**self._asdict(), "calibration": self.calibration.to_dict()}


def fit_threshold(
    scores: ArrayLike, labels: ArrayLike, *, resamples: int = 200
) -> FittedThreshold:
    """The threshold and calibration of a few labels: where a logistic curve of the score passes 1/2.

    Unlike `best_threshold` it uses how far each pair lies from the border, which makes
    it the steadier on tens of pairs; and pairs may be chosen by their score (near the
    border), which does not move the curve. Fitted as Platt (1999) does, see
    `siamese.evaluation.calibration`, with the prior `SLOPE`; the calibration has the
    slope of the labels themselves.

    `resamples` are those of the bootstrap; 0 leaves it out, and the interval empty.
    DataError where duplicates do not have the higher scores, so that no threshold tells
    them apart.
    """
    scores, truth = check_scores(scores, labels)
    duplicates = int(truth.sum())
    threshold = _border(scores, truth)
    if np.isnan(threshold) or (slope := slope_through(threshold, scores, truth)) <= 0:
        raise DataError(
            f"The duplicates among the labels, {duplicates:,} of {len(truth):,}, do not have higher "
            "cosines than the others, so no threshold tells them apart. Look at the labels, or give more."
        )
    low = high = threshold
    if resamples:
        interval = bootstrap_interval(_border, scores, truth, resamples)
        low = interval.low
        high = interval.high
    calibration = Calibration(len(truth), slope, -slope * threshold)
    return FittedThreshold(threshold, low, high, len(truth), duplicates, calibration)


def _border(scores: np.ndarray, truth: np.ndarray) -> float:
    """Where the curve passes 1/2, cut to cosines; NaN where it does not rise without the prior."""
    # A resample may hold one class only.
    if len(set(truth)) < 2 or scores[truth].mean() <= scores[~truth].mean():
        return np.nan
    curve = fit_calibration(scores, truth, SLOPE)
    return float(np.clip(-curve.intercept / curve.slope, -1, 1))
