"""Confidence intervals by the bootstrap, for whole blocks of resamples at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from siamese.data.arguments import as_number
from siamese.errors import ArgumentError, DataError
from siamese.evaluation.metrics import check_scores

# Resamples are drawn as rows of one matrix, this many cells of it at a time.
_CELLS_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Interval:
    """A value with its bootstrap confidence interval."""

    value: float
    low: float
    high: float
    level: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def bootstrap_interval(
    metric: str | Callable[[np.ndarray, np.ndarray], float],
    scores: Any,
    labels: Any,
    *,
    threshold: float | None = None,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Percentile bootstrap: how far a metric would move with another sample of pairs.

    Pairs are drawn with replacement. (Efron and Tibshirani, An Introduction to the Bootstrap, 1993,
    chapter 13.) Pairs that share questions are not independent, which makes it somewhat narrow.

    Args:
      metric: 'accuracy', 'precision', 'recall', 'f1' or 'mcc' (with `threshold`), 'roc_auc',
        'average_precision' or 'base_rate', all computed for whole blocks of resamples at once; or
        a function of (scores, labels), called once a resample.
      scores: float [n].
      labels: bool or 0/1 [n].
      threshold: for the metrics that need one.
      resamples: how many samples are drawn.
      level: the share of resamples inside the interval.
      seed: of the draws; the same seed gives the same interval.

    Returns:
      The metric with its interval. Resamples on which it is undefined (one class only) are left out.

    Raises:
      ArgumentError, DataError: see `check_scores`; unknown metrics, levels outside 0 to 1.
    """
    scores, truth = check_scores(scores, labels)
    if not 0 < level < 1:
        raise ArgumentError(f"level must lie between 0 and 1; it is {level!r}.")
    if not isinstance(resamples, (int, np.integer)) or resamples < 1:
        raise ArgumentError(f"resamples must be a whole number of at least 1; it is {resamples!r}.")
    by_counts = None
    if not callable(metric):
        by_counts = _metric_of_counts(metric, scores, truth, threshold)
    n, drawn = len(truth), []
    generator = np.random.default_rng(seed)
    block = max(1, _CELLS_AT_ONCE // n)
    for start in range(0, resamples, block):
        rows = generator.integers(n, size=(min(block, resamples - start), n))  # [block, n]
        if by_counts is None:
            drawn.append([metric(scores[row], truth[row]) for row in rows])
        else:
            rows += np.arange(len(rows))[:, None] * n
            counts = np.bincount(rows.ravel(), minlength=rows.size).reshape(rows.shape)
            drawn.append(by_counts(counts))  # counts: how often each pair was drawn
    values = np.concatenate(drawn).astype(float)
    value = metric(scores, truth) if by_counts is None else by_counts(np.ones((1, n), int))[0]
    values = values[np.isfinite(values)]
    if not len(values):
        raise DataError(f"{metric} is undefined on all {resamples} resamples: too few pairs.")
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(value), float(low), float(high), float(level))


def _metric_of_counts(
    metric: str, scores: np.ndarray, truth: np.ndarray, threshold: float | None
) -> Callable[[np.ndarray], np.ndarray]:
    """The metric of resamples given as counts [resamples, n]; NaN where it is undefined."""
    at_threshold = ("accuracy", "precision", "recall", "f1", "mcc")
    ranked = ("roc_auc", "average_precision")
    if metric not in (*at_threshold, *ranked, "base_rate"):
        raise ArgumentError(
            f"metric must be one of {', '.join((*at_threshold, *ranked, 'base_rate'))} or a "
            f"function of (scores, labels); it is {metric!r}."
        )
    if metric == "base_rate":
        return lambda counts: counts @ truth / counts.sum(axis=1)
    if metric in at_threshold:
        if threshold is None:
            raise ArgumentError(f"{metric} needs a threshold.")
        answers = scores > as_number(threshold, "threshold")
        cells = np.stack([answers & truth, answers & ~truth, ~answers & truth, ~answers & ~truth])
        return lambda counts: _at_threshold(metric, *(counts @ cells.T.astype(int)).T)
    order = np.argsort(-scores, kind="stable")
    falling = scores[order]
    last = np.flatnonzero(np.append(falling[:-1] != falling[1:], True))
    duplicate = truth[order]

    def of_ranks(counts: np.ndarray) -> np.ndarray:
        counts = counts[:, order]
        hits = np.cumsum(counts * duplicate, axis=1)[:, last]  # [resamples, distinct scores]
        above = np.cumsum(counts, axis=1)[:, last]
        new_hits = np.diff(hits, axis=1, prepend=0)
        new_others = np.diff(above - hits, axis=1, prepend=0)
        duplicates, others = hits[:, -1], (above - hits)[:, -1]
        with np.errstate(invalid="ignore", divide="ignore"):
            if (
                metric == "roc_auc"
            ):  # each non-duplicate: the duplicates above it, half of those level
                beaten = ((hits - new_hits / 2) * new_others).sum(axis=1)
                return beaten / (duplicates * others)
            precision = hits / np.maximum(above, 1)
            return (precision * new_hits).sum(axis=1) / duplicates

    return of_ranks


def _at_threshold(metric: str, tp, fp, fn, tn) -> np.ndarray:
    tp, fp, fn, tn = (np.asarray(cell, dtype=float) for cell in (tp, fp, fn, tn))
    with np.errstate(invalid="ignore", divide="ignore"):
        if metric == "accuracy":
            return (tp + tn) / (tp + fp + fn + tn)
        if metric == "precision":
            return np.where(tp + fp > 0, tp / (tp + fp), 0.0)
        if metric == "recall":
            return tp / (tp + fn)
        if metric == "f1":
            return 2 * tp / (2 * tp + fp + fn)
        product = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
        return np.where(product > 0, (tp * tn - fp * fn) / np.sqrt(product), 0.0)
