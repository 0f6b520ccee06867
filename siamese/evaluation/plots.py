"""Plots of an evaluation; each function returns a Matplotlib figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from siamese.data.arguments import as_number
from siamese.errors import ArgumentError, DataError
from siamese.evaluation.calibration import expected_calibration_error, reliability_curve
from siamese.evaluation.metrics import check_scores, evaluate_scores
from siamese.evaluation.picture import DARK, GREY, LIGHT, RED, new_picture
from siamese.evaluation.thresholds import threshold_cuts

_SQUARE = {"xlim": (-0.02, 1.02), "ylim": (-0.02, 1.02)}
_LINES = ((DARK, "-"), (LIGHT, "--"), (GREY, "-."), (RED, ":"))


@contextmanager
def _one_plot(title: str, xlabel: str, ylabel: str, legend: str = "best") -> Iterator[tuple]:
    """A new figure with one pair of axes: (figure, axes); what is set here is set at the end."""
    with new_picture() as figure:
        axes = figure.add_subplot()
        yield figure, axes
        axes.set(xlabel=xlabel, ylabel=ylabel)
        axes.set_title(title)
        axes.legend(loc=legend)


def plot_roc(
    scores: Any, labels: Any, threshold: float | None = None, others: Mapping | None = None
):
    """ROC curve: true positive rate against false positive rate, over all thresholds.

    Args:
      scores: float [n].
      labels: bool or 0/1 [n].
      threshold: marked with a dot.
      others: name -> float [n], other scores of the same pairs drawn beside, such as word overlap.

    Returns:
      A Matplotlib figure.
    """
    names = "false positive rate (of the non-duplicates)", "true positive rate (of the duplicates)"
    with _one_plot("ROC curve", *names, legend="lower right") as (figure, axes):
        for style, name, values, truth in _curves(scores, labels, others):
            _, above, hits = threshold_cuts(values, truth)
            area = evaluate_scores(values, truth).roc_auc
            rates = (above - hits) / (~truth).sum(), hits / truth.sum()
            axes.plot(*rates, **style, label=f"{name}: AUC {area:.3f}")
        axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, label="chance: AUC 0.500")
        if threshold is not None:
            values, truth = check_scores(scores, labels)
            answers = values > as_number(threshold, "threshold")
            _dot(axes, answers[~truth].mean(), answers[truth].mean(), threshold)
        axes.set(**_SQUARE)
    return figure


def plot_precision_recall(
    scores: Any, labels: Any, threshold: float | None = None, others: Mapping | None = None
):
    """Precision against recall over all thresholds; arguments as `plot_roc`."""
    with _one_plot("Precision and recall", "recall", "precision") as (figure, axes):
        for style, name, values, truth in _curves(scores, labels, others):
            _, above, hits = threshold_cuts(values, truth)
            average = evaluate_scores(values, truth).average_precision
            recall, precision = hits[1:] / truth.sum(), hits[1:] / above[1:]
            label = f"{name}: average precision {average:.3f}"
            axes.step(
                np.append(0, recall), np.append(precision[0], precision), label=label, **style
            )
        values, truth = check_scores(scores, labels)
        rate = truth.mean()
        axes.axhline(rate, color=GREY, linewidth=0.8, label=f"chance: {rate:.3f}")
        if threshold is not None and (values > as_number(threshold, "threshold")).any():
            answers = values > threshold
            _dot(axes, answers[truth].mean(), truth[answers].mean(), threshold)
        axes.set(**_SQUARE)
    return figure


def _curves(scores: Any, labels: Any, others: Mapping | None) -> Iterator[tuple]:
    """(line style, name, scores, labels) of this model and of those beside it."""
    named = {"this model": scores, **(others or {})}
    if len(named) > len(_LINES):
        raise ArgumentError(f"At most {len(_LINES) - 1} others fit in one picture.")
    for (colour, line), (name, values) in zip(_LINES, named.items()):
        yield {"color": colour, "linestyle": line}, name, *check_scores(values, labels)


def _dot(axes, x: float, y: float, threshold: float) -> None:
    axes.plot(x, y, "o", color=DARK, markersize=8, label=f"at the threshold {threshold:.3f}")


def plot_score_histogram(scores: Any, labels: Any, threshold: float | None = None, bins: int = 40):
    """Scores of duplicates and of the others, each as a share of its own class, and the threshold."""
    names = "Scores of both classes", "similarity", "share of the class"
    with _one_plot(*names) as (figure, axes):
        values, truth = check_scores(scores, labels)
        low, high = values.min(), values.max()
        edges = np.linspace(low, high if high > low else low + 1, bins + 1)
        for chosen, name, colour, look in (
            (
                ~truth,
                "not duplicates",
                LIGHT,
                {"facecolor": "none", "hatch": "////", "linestyle": "--"},
            ),
            (truth, "duplicates", DARK, {"facecolor": DARK, "alpha": 0.45}),
        ):
            share = np.full(chosen.sum(), 1 / chosen.sum())
            axes.hist(values[chosen], edges, weights=share, histtype="stepfilled", linewidth=1.4,
                      edgecolor=colour, label=f"{name} ({chosen.sum():,})", **look)  # fmt: skip
        if threshold is not None:
            label = f"threshold {as_number(threshold, 'threshold'):.3f}"
            axes.axvline(threshold, color="black", linewidth=1.4, label=label)
        axes.margins(y=0.15)
    return figure


def plot_reliability(probabilities: Any, labels: Any, bins: int = 15, strategy: str = "equal_mass"):
    """Predicted probability against the true share of duplicates, and how many pairs have which.

    Args:
      probabilities: float [n], from 0 to 1.
      labels: bool or 0/1 [n].
      bins: see `siamese.evaluation.calibration.reliability_curve`.
      strategy: see there; the title names it beside the expected calibration error (ECE).

    Returns:
      A Matplotlib figure.
    """
    with new_picture() as figure:
        axes, below = figure.subplots(2, sharex=True, height_ratios=[3, 1])
        curve = reliability_curve(probabilities, labels, bins=bins, strategy=strategy)
        error = expected_calibration_error(probabilities, labels, bins=bins, strategy=strategy)
        axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, label="perfectly calibrated")
        low, high = wilson_interval(curve.duplicates * curve.count, curve.count)
        reach = np.maximum([curve.duplicates - low, high - curve.duplicates], 0)
        axes.errorbar(curve.probability, curve.duplicates, reach, fmt="o-", color=DARK, capsize=3,
                      markersize=4, label="this model (95 % intervals)")  # fmt: skip
        axes.set(ylabel="share of duplicates", ylim=(-0.03, 1.03), xlim=(-0.02, 1.02))
        name = strategy.replace("_", "-")
        axes.set_title(f"Reliability: ECE {error:.3f} ({bins} {name} bins)")
        axes.legend(loc="upper left")
        below.hist(np.asarray(probabilities, float), np.linspace(0, 1, 41), color=GREY)
        below.set(xlabel="predicted probability", ylabel="pairs")
    return figure


def plot_accuracy_by_threshold(scores: Any, labels: Any, threshold: float | None = None):
    """Accuracy, and F1, at every threshold, beside the majority-class baseline."""
    names = "Accuracy against threshold", "threshold", "accuracy, F1"
    with _one_plot(*names, legend="lower left") as (figure, axes):
        values, truth = check_scores(scores, labels)
        cuts, above, hits = threshold_cuts(values, truth)
        n, duplicates = len(truth), truth.sum()
        accuracy = (hits + (n - above) - (duplicates - hits)) / n
        axes.plot(cuts, accuracy, "-", color=DARK, drawstyle="steps-pre", label="accuracy")
        f1 = 2 * hits / (above + duplicates)
        axes.plot(cuts, f1, "--", color=LIGHT, drawstyle="steps-pre", label="F1 of duplicates")
        constant = max(truth.mean(), 1 - truth.mean())
        always = "yes" if truth.mean() > 0.5 else "no"
        label = f'always "{always}": {constant:.3f}'
        axes.axhline(constant, color=GREY, linestyle=":", label=label)
        if threshold is not None:
            at = float(np.mean((values > as_number(threshold, "threshold")) == truth))
            axes.axvline(threshold, color="black", linewidth=0.9)
            axes.plot(threshold, at, "o", color=DARK, label=f"at {threshold:.3f}: {at:.3f}")
        axes.set(ylim=(0, 1.02))
    return figure


def plot_accuracy_by(
    values: Any, scores: Any, labels: Any, threshold: float, name: str, bins: int = 8
):
    """Accuracy for groups of pairs: by length, by word overlap, or by any other number of a pair.

    Args:
      values: float [n], what the pairs are grouped by.
      scores: float [n].
      labels: bool or 0/1 [n].
      threshold: a pair counts as a duplicate where its score is above it.
      name: of `values`, for the axis; such as "tokens of the longer question".
      bins: at most so many groups, of about equal size; equal values stay together.

    Returns:
      A Matplotlib figure: accuracy with 95 % intervals, and the majority-class baseline's beside it.
    """
    with new_picture() as figure:
        axes = figure.add_subplot()
        scores, truth = check_scores(scores, labels)
        threshold = as_number(threshold, "threshold")
        values = np.asarray(values, dtype=float)
        if values.shape != truth.shape:
            raise DataError(f"values has shape {values.shape}; one for each of {len(truth)} pairs.")
        if not np.isfinite(values).all() or bins < 1:
            raise ArgumentError("values must be finite numbers, and bins at least 1.")
        edges = np.unique(np.quantile(values, np.arange(1, bins) / bins))
        group = np.searchsorted(edges, values, side="right")
        groups = [np.flatnonzero(group == g) for g in np.unique(group)]
        right = (scores > threshold) == truth
        count, hits = [len(rows) for rows in groups], [right[rows].sum() for rows in groups]
        rate = np.array([truth[rows].mean() for rows in groups])
        ends = [(values[rows].min(), values[rows].max()) for rows in groups]
        titles = [f"{a:.3g}" if a == b else f"{a:.3g}–{b:.3g}" for a, b in ends]
        places, accuracy = np.arange(len(groups)), np.divide(hits, count)
        low, high = wilson_interval(hits, count)
        reach = np.maximum([accuracy - low, high - accuracy], 0)
        axes.bar(
            places, accuracy, color=DARK, alpha=0.55, edgecolor=DARK, width=0.7, label="accuracy"
        )
        axes.errorbar(places, accuracy, reach, fmt="none", ecolor="black", capsize=3)
        always = np.maximum(rate, 1 - rate)
        axes.plot(places, always, "D", color=LIGHT, markeredgecolor="black", markersize=6,
                  label="majority class of the group")  # fmt: skip
        for place, number in zip(places, count):
            axes.text(place, 0.02, f"{number:,}", ha="center", fontsize=8, color="white",
                      bbox={"facecolor": DARK, "edgecolor": "none", "pad": 1.5})  # fmt: skip
        axes.set_xticks(places, titles, rotation=30 if len(groups) > 5 else 0)
        axes.set(xlabel=name, ylabel="accuracy", ylim=(0, 1.18))
        axes.set_yticks(np.arange(0, 1.01, 0.2))
        axes.set_title(f"Accuracy by {name}")
        axes.legend(loc="upper left", ncols=2)
    return figure


def wilson_interval(hits: Any, count: Any) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's 95 % confidence interval of shares ``hits / count``, through SciPy.

    Args:
      hits: whole numbers [n].
      count: whole numbers [n], at least 1.

    Returns:
      float64 [n] lower and float64 [n] upper ends.
    """
    from scipy.stats import binomtest

    found = [
        binomtest(round(h), round(n)).proportion_ci(method="wilson") for h, n in zip(hits, count)
    ]
    return np.array([f.low for f in found]), np.array([f.high for f in found])
