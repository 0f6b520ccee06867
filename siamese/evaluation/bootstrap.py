"""Confidence intervals by the bootstrap, for whole blocks of resamples at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from siamese.data.arguments import as_number, one_of, whole_number
from siamese.errors import ArgumentError, DataError
from siamese.evaluation.metrics import check_scores

AT_THRESHOLD = ("accuracy", "precision", "recall", "f1", "mcc")
RANKED = ("roc_auc", "average_precision")
# Resamples are drawn as rows of one matrix, this many cells of it at a time.
_CELLS_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Interval:
    """A value with its 95 % bootstrap confidence interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def bootstrap_interval(
    metric: str | Callable[[np.ndarray, np.ndarray], float],
    scores: Any,
    labels: Any,
    *,
    threshold: float | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> Interval:
    """Percentile bootstrap: how far a metric would move with another sample of pairs.

    Pairs are drawn with replacement. (Efron and Tibshirani, An Introduction to the Bootstrap, 1993,
    chapter 13.) Pairs that share questions are not independent, which makes it somewhat narrow.

    Args:
      metric: 'accuracy', 'precision', 'recall', 'f1' or 'mcc' (with `threshold`), 'roc_auc' or
        'average_precision', computed for whole blocks of resamples at once; or a function of
        (scores, labels), called once a resample.
      scores: float [n].
      labels: bool or 0/1 [n].
      threshold: for the metrics that need one.
      resamples: how many samples are drawn.
      seed: of the draws; the same seed gives the same interval.

    Returns:
      The metric with its interval. Resamples on which it is undefined (one class only) are left out.

    Raises:
      ArgumentError, DataError: see `check_scores`; unknown metrics.
    """
    scores, truth = check_scores(scores, labels)
    whole_number(resamples, "resamples", 1)
    of_counts = _of_counts(metric, scores, truth, threshold)
    n, drawn = len(truth), []
    generator = np.random.default_rng(seed)
    block = max(1, _CELLS_AT_ONCE // n)
    with np.errstate(invalid="ignore", divide="ignore"):  # a resample may hold one class only
        for start in range(0, resamples, block):
            rows = generator.integers(n, size=(min(block, resamples - start), n))  # [block, n]
            rows += np.arange(len(rows))[:, None] * n
            # How often each pair was drawn in each resample.
            counts = np.bincount(rows.ravel(), minlength=rows.size).reshape(rows.shape)
            drawn.append(of_counts(counts))
        value = of_counts(np.ones((1, n), int))[0]
    values = np.concatenate(drawn).astype(float)
    values = values[np.isfinite(values)]
    if not len(values):
        raise DataError(f"{metric} is undefined on all {resamples} resamples: too few pairs.")
    low, high = np.quantile(values, [0.025, 0.975])
    return Interval(float(value), float(low), float(high))


def _of_counts(
    metric: Any, scores: np.ndarray, truth: np.ndarray, threshold: float | None
) -> Callable[[np.ndarray], np.ndarray]:
    """The metric of resamples given as counts [resamples, n]; NaN where it is undefined."""
    if callable(metric):
        rows = np.arange(len(truth))
        return lambda counts: np.array(
            [metric(scores[drawn], truth[drawn]) for drawn in (np.repeat(rows, c) for c in counts)]
        )
    one_of(metric, "metric", (*AT_THRESHOLD, *RANKED))
    if metric in RANKED:
        return _ranked(metric, scores, truth)
    if threshold is None:
        raise ArgumentError(f"{metric} needs a threshold.")
    answers = scores > as_number(threshold, "threshold")
    cells = np.stack([answers & truth, answers & ~truth, ~answers & truth, ~answers & ~truth])

    def at_threshold(counts: np.ndarray) -> np.ndarray:
        tp, fp, fn, tn = (counts @ cells.T.astype(int)).T.astype(float)  # confusion matrices
        product = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
        return {
            "accuracy": (tp + tn) / (tp + fp + fn + tn),
            "precision": np.where(tp + fp > 0, tp / (tp + fp), 0.0),
            "recall": tp / (tp + fn),
            "f1": 2 * tp / (2 * tp + fp + fn),
            "mcc": np.where(product > 0, (tp * tn - fp * fn) / np.sqrt(product), 0.0),
        }[metric]

    return at_threshold


def _ranked(
    metric: str, scores: np.ndarray, truth: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    order = np.argsort(-scores, kind="stable")
    falling, duplicate = scores[order], truth[order]
    last = np.flatnonzero(np.append(falling[:-1] != falling[1:], True))

    def of_counts(counts: np.ndarray) -> np.ndarray:
        counts = counts[:, order]
        hits = np.cumsum(counts * duplicate, axis=1)[:, last]  # [resamples, distinct scores]
        above = np.cumsum(counts, axis=1)[:, last]
        new_hits = np.diff(hits, axis=1, prepend=0)
        if metric == "average_precision":
            return (hits / np.maximum(above, 1) * new_hits).sum(axis=1) / hits[:, -1]
        others = above - hits
        # For each non-duplicate the duplicates above it, and half of those level with it.
        beaten = ((hits - new_hits / 2) * np.diff(others, axis=1, prepend=0)).sum(axis=1)
        return beaten / (hits[:, -1] * others[:, -1])

    return of_counts
