"""Plots of an evaluation; each function returns a Matplotlib figure.

Scores are float [n], labels bool or 0/1 [n]; a threshold is marked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import cycle
from typing import Any

import numpy as np

from siamese.data.arguments import as_number
from siamese.evaluation.calibration import expected_calibration_error, reliability_curve
from siamese.evaluation.metrics import check_scores, evaluate_scores
from siamese.evaluation.picture import DARK, GREY, LIGHT, RED, new_picture
from siamese.evaluation.thresholds import threshold_cuts

_LINES = ((DARK, "-"), (LIGHT, "--"), (GREY, "-."), (RED, ":"))


@contextmanager
def _one_plot(title: str, xlabel: str, ylabel: str, **legend: Any) -> Iterator[tuple]:
    """A new figure with one pair of axes and, at the end, a legend: (figure, axes)."""
    with new_picture() as figure:
        axes = figure.add_subplot()
        axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
        yield figure, axes
        (figure if "outside" in legend["loc"] else axes).legend(**legend)


def plot_roc(
    scores: Any, labels: Any, threshold: float | None = None, others: Mapping | None = None
) -> Any:
    """ROC curve: true positive rate against false positive rate, over all thresholds.

    `others` are further scores of the same pairs by their names, such as word overlap.
    """
    named = {"this model": scores, **(others or {})}
    names = "false positive rate (of the non-duplicates)", "true positive rate (of the duplicates)"
    with _one_plot("ROC curve", *names, loc="lower right") as (figure, axes):
        for (colour, line), (name, values) in zip(cycle(_LINES), named.items()):
            values, truth = check_scores(values, labels)
            _, above, hits = threshold_cuts(values, truth)
            rates = (above - hits) / (~truth).sum(), hits / truth.sum()
            label = f"{name}: AUC {evaluate_scores(values, truth).roc_auc:.3f}"
            axes.plot(*rates, color=colour, linestyle=line, label=label)
        axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, label="chance: AUC 0.500")
        if threshold is not None:
            answers = np.asarray(scores) > as_number(threshold, "threshold")
            dot = answers[~truth].mean(), answers[truth].mean()
            label = f"at the threshold {threshold:.3f}"
            axes.plot(*dot, "o", color=DARK, markersize=8, label=label)
    return figure


def plot_score_histogram(scores: Any, labels: Any, threshold: float | None = None) -> Any:
    """Scores of duplicates and of the others, each as a share of its own class."""
    names = "Scores of both classes", "similarity", "share of the class"
    with _one_plot(*names, loc="best") as (figure, axes):
        values, truth = check_scores(scores, labels)
        low, high = values.min(), values.max()
        edges = np.linspace(low, high if high > low else low + 1, 41)
        hatched = {"facecolor": "none", "hatch": "////", "linestyle": "--", "edgecolor": LIGHT}
        filled = {"facecolor": DARK, "alpha": 0.45, "edgecolor": DARK}
        classes = ("not duplicates", ~truth, hatched), ("duplicates", truth, filled)
        for name, rows, look in classes:
            look |= {"histtype": "stepfilled", "linewidth": 1.4}
            weights, label = rows[rows] / rows.sum(), f"{name} ({rows.sum():,})"
            axes.hist(values[rows], edges, weights=weights, label=label, **look)
        if threshold is not None:
            label = f"threshold {as_number(threshold, 'threshold'):.3f}"
            axes.axvline(threshold, color="black", linewidth=1.4, label=label)
        axes.margins(y=0.15)
    return figure


def plot_reliability(
    probabilities: Any, labels: Any, bins: int = 15, strategy: str = "equal_mass"
) -> Any:
    """Predicted probability against the true share of duplicates, and how many pairs have which.

    Arguments as `siamese.evaluation.calibration.reliability_curve`; the title names the strategy of the
    bins beside the expected calibration error (ECE).
    """
    probability, share, _ = reliability_curve(probabilities, labels, bins, strategy)
    error = expected_calibration_error(probabilities, labels, bins, strategy)
    with new_picture() as figure:
        axes, below = figure.subplots(2, sharex=True, height_ratios=[3, 1])
        axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, label="perfectly calibrated")
        axes.plot(probability, share, "o-", color=DARK, markersize=4, label="this model")
        axes.set(ylabel="share of duplicates", ylim=(-0.03, 1.03), xlim=(-0.02, 1.02))
        axes.set_title(f"Reliability: ECE {error:.3f} ({bins} {strategy.replace('_', '-')} bins)")
        figure.legend(loc="outside lower center")
        below.hist(np.asarray(probabilities, float), np.linspace(0, 1, 41), color=GREY)
        below.set(xlabel="predicted probability", ylabel="pairs")
    return figure


def plot_accuracy_by_threshold(scores: Any, labels: Any, threshold: float | None = None) -> Any:
    """Accuracy, and F1, at every threshold, beside the majority-class baseline."""
    names = "Accuracy against threshold", "threshold", "accuracy, F1"
    with _one_plot(*names, loc="outside lower center", ncols=2) as (figure, axes):
        values, truth = check_scores(scores, labels)
        cuts, above, hits = threshold_cuts(values, truth)
        duplicates, others = truth.sum(), (~truth).sum()
        accuracy = (hits + others - (above - hits)) / len(truth)
        axes.plot(cuts, accuracy, "-", color=DARK, drawstyle="steps-pre", label="accuracy")
        f1 = 2 * hits / (above + duplicates)
        axes.plot(cuts, f1, "--", color=LIGHT, drawstyle="steps-pre", label="F1 of duplicates")
        constant = max(duplicates, others) / len(truth)
        label = f'always "{"yes" if duplicates > others else "no"}": {constant:.3f}'
        axes.axhline(constant, color=GREY, linestyle=":", label=label)
        if threshold is not None:
            at = float(np.mean((values > as_number(threshold, "threshold")) == truth))
            axes.axvline(threshold, color="black", linewidth=0.9)
            axes.plot(threshold, at, "o", color=DARK, label=f"at {threshold:.3f}: {at:.3f}")
        axes.set(ylim=(0, 1.02))
    return figure
