"""Plots of an evaluation; each function returns a Matplotlib figure."""

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
        axes.set(xlabel=xlabel, ylabel=ylabel)
        axes.set_title(title)
        yield figure, axes
        (figure if "outside" in legend["loc"] else axes).legend(**legend)


def plot_roc(
    scores: Any, labels: Any, threshold: float | None = None, others: Mapping | None = None
):
    """ROC curve: true positive rate against false positive rate, over all thresholds.

    Args:
      scores: float [n].
      labels: bool or 0/1 [n].
      threshold: marked with a dot.
      others: name -> float [n], other scores of the same pairs drawn beside, such as word overlap.
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


def plot_score_histogram(scores: Any, labels: Any, threshold: float | None = None):
    """Scores of duplicates and of the others, each as a share of its own class, and the threshold."""
    names = "Scores of both classes", "similarity", "share of the class"
    with _one_plot(*names, loc="best") as (figure, axes):
        values, truth = check_scores(scores, labels)
        low, high = values.min(), values.max()
        edges = np.linspace(low, high if high > low else low + 1, 41)
        hatched = {"facecolor": "none", "hatch": "////", "linestyle": "--", "edgecolor": LIGHT}
        filled = {"facecolor": DARK, "alpha": 0.45, "edgecolor": DARK}
        classes = ("not duplicates", ~truth, hatched), ("duplicates", truth, filled)
        for name, chosen, look in classes:
            look |= {"histtype": "stepfilled", "linewidth": 1.4}
            look |= {
                "weights": chosen[chosen] / chosen.sum(),
                "label": f"{name} ({chosen.sum():,})",
            }
            axes.hist(values[chosen], edges, **look)
        if threshold is not None:
            label = f"threshold {as_number(threshold, 'threshold'):.3f}"
            axes.axvline(threshold, color="black", linewidth=1.4, label=label)
        axes.margins(y=0.15)
    return figure


def plot_reliability(probabilities: Any, labels: Any, bins: int = 15, strategy: str = "equal_mass"):
    """Predicted probability against the true share of duplicates, and how many pairs have which.

    Arguments as `siamese.evaluation.calibration.reliability_curve`; the title names the strategy of the
    bins beside the expected calibration error (ECE).
    """
    with new_picture() as figure:
        axes, below = figure.subplots(2, sharex=True, height_ratios=[3, 1])
        options = {"bins": bins, "strategy": strategy}
        probability, share, _ = reliability_curve(probabilities, labels, **options)
        error = expected_calibration_error(probabilities, labels, **options)
        axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, label="perfectly calibrated")
        axes.plot(probability, share, "o-", color=DARK, markersize=4, label="this model")
        axes.set(ylabel="share of duplicates", ylim=(-0.03, 1.03), xlim=(-0.02, 1.02))
        axes.set_title(f"Reliability: ECE {error:.3f} ({bins} {strategy.replace('_', '-')} bins)")
        figure.legend(loc="outside lower center")
        below.hist(np.asarray(probabilities, float), np.linspace(0, 1, 41), color=GREY)
        below.set(xlabel="predicted probability", ylabel="pairs")
    return figure


def plot_accuracy_by_threshold(scores: Any, labels: Any, threshold: float | None = None):
    """Accuracy, and F1, at every threshold, beside the majority-class baseline."""
    names = "Accuracy against threshold", "threshold", "accuracy, F1"
    with _one_plot(*names, loc="outside lower center", ncols=2) as (figure, axes):
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
