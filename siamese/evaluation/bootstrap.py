"""95 % confidence intervals by the percentile bootstrap (Efron and Tibshirani, 1993, chapter 13)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from siamese.evaluation.metrics import check_scores

RESAMPLES = 200


@dataclass(frozen=True)
class Interval:
    """A value with its 95 % bootstrap confidence interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def bootstrap_interval(
    metric: Callable[[np.ndarray, np.ndarray], float],
    scores: ArrayLike,
    labels: ArrayLike,
    resamples: int = RESAMPLES,
) -> Interval:
    """A metric with its interval: how far it would move with another sample of pairs.

    Pairs are drawn with replacement, the same ones each time it is called. Pairs that
    share questions are not independent, which makes the interval somewhat narrow. A
    resample whose metric is NaN is left out.
    """
    scores, truth = check_scores(scores, labels)

    def values(rows: np.ndarray) -> list[float]:
        return [metric(scores[rows], truth[rows])]

    (interval,) = resampled(values, len(truth), resamples)
    return interval


def resampled(
    values: Callable[[np.ndarray], ArrayLike],
    n: int,
    resamples: int = RESAMPLES,
) -> list[Interval]:
    """The intervals of some values, a function: places of a sample, int [n] -> floats [values]."""
    generator = np.random.default_rng(0)
    samples = [values(generator.integers(n, size=n)) for _ in range(resamples)]
    lows, highs = np.nanquantile(np.array(samples), [0.025, 0.975], axis=0)
    wholes = values(np.arange(n))
    return [
        Interval(float(value), float(low), float(high))
        for value, low, high in zip(np.asarray(wholes), lows, highs)
    ]
