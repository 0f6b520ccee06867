"""Everything an evaluation finds on labelled pairs, gathered once for the terminal and the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from siamese.data.arguments import as_number
from siamese.errors import DataError
from siamese.evaluation.baselines import baselines, word_overlap
from siamese.evaluation.bootstrap import Interval, bootstrap_interval
from siamese.evaluation.calibration import STRATEGIES, expected_calibration_error
from siamese.evaluation.metrics import Metrics, check_scores, evaluate_scores

# What the tables show, in this order, and how it is called there.
FIGURES = {
    "accuracy": "accuracy",
    "precision": "precision",
    "recall": "recall",
    "f1": "F1",
    "mcc": "Matthews correlation",
    "roc_auc": "ROC AUC",
    "average_precision": "average precision",
}


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A model's scores on n labelled pairs, and what they are worth; made by `evaluate_pairs`."""

    question1: Sequence[str]
    question2: Sequence[str]
    scores: np.ndarray  # float64 [n]
    labels: np.ndarray  # bool [n]
    overlap: np.ndarray  # float64 [n], the pairs' word overlap
    probabilities: np.ndarray | None  # float64 [n]; None where the model is not calibrated
    threshold: float  # A pair counts as a duplicate where its score is above it.
    threshold_from: str  # Where the threshold was chosen, in words.
    metrics: Metrics  # Of the model at the threshold.
    intervals: Mapping[str, Interval]  # Name of a metric -> its bootstrap interval.
    baselines: Mapping[str, Metrics]  # Their thresholds are chosen on these pairs.
    calibration_error: Mapping[str, float]  # Strategy of the bins -> ECE; {} without probabilities.

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, for JSON; without the pairs."""
        return {
            **self.metrics.to_dict(),
            "threshold_from": self.threshold_from,
            "intervals": {name: [found.low, found.high] for name, found in self.intervals.items()},
            "baselines": {name: found.to_dict() for name, found in self.baselines.items()},
            "calibration_error": dict(self.calibration_error),
        }


def evaluate_pairs(
    question1: Sequence[str],
    question2: Sequence[str],
    scores: Any,
    labels: Any,
    threshold: float,
    *,
    threshold_from: str = "given",
    probabilities: Any = None,
    resamples: int = 1000,
) -> Evaluation:
    """Metrics with 95 % intervals, baselines and calibration error of scores on labelled pairs.

    Args:
      question1: n texts.
      question2: n texts.
      scores: float [n], from any model.
      labels: bool or 0/1 [n].
      threshold: a pair counts as a duplicate where its score is above it.
      threshold_from: where it was chosen, such as "best accuracy on the validation rows".
      probabilities: float [n], calibrated probabilities; None without a calibration.
      resamples: of the bootstrap.

    Raises:
      ArgumentError, DataError: see `siamese.evaluation.metrics.check_scores`; texts of another number.
    """
    values, truth = check_scores(scores, labels)
    threshold = as_number(threshold, "threshold")
    for name, texts in (("question1", question1), ("question2", question2)):
        if len(texts) != len(truth):
            raise DataError(f"{name} holds {len(texts)} texts for {len(truth)} labels.")
    errors = {}
    if probabilities is not None:
        probabilities, _ = check_scores(probabilities, labels)
        errors = {
            s: expected_calibration_error(probabilities, truth, strategy=s) for s in STRATEGIES
        }
    options = {"threshold": threshold, "resamples": resamples}
    return Evaluation(
        question1=list(question1),
        question2=list(question2),
        scores=values,
        labels=truth,
        overlap=word_overlap(question1, question2),
        probabilities=probabilities,
        threshold=threshold,
        threshold_from=threshold_from,
        metrics=evaluate_scores(values, truth, threshold),
        intervals={name: bootstrap_interval(name, values, truth, **options) for name in FIGURES},
        baselines=baselines(question1, question2, truth),
        calibration_error=errors,
    )


def short_table(evaluation: Evaluation) -> str:
    """The figures as a table of text for the terminal, at most 80 columns wide."""
    metrics, beside = evaluation.metrics, evaluation.baselines
    lines = [
        f"{metrics.n:,} pairs, {metrics.base_rate:.1%} duplicates",
        f"threshold {metrics.threshold:.4f} ({evaluation.threshold_from})",
        "",
        f"{'':<22}{'this model':<24}" + "".join(f"{name:>14}" for name in beside),
    ]
    for name, title in FIGURES.items():
        others = (f"{getattr(found, name):>14.3f}" for found in beside.values())
        lines.append(f"{title:<22}{evaluation.intervals[name]!s:<24}" + "".join(others))
    for strategy, error in evaluation.calibration_error.items():
        title = "calibration error"
        lines.append(f"{title:<22}{error:.3f} (15 {strategy.replace('_', '-')} bins)")
    lines += ["", "[..]: 95 % bootstrap interval. Baselines' thresholds are chosen on these pairs."]
    return "\n".join(lines)


def worst_mistakes(evaluation: Evaluation, count: int = 15) -> tuple[np.ndarray, np.ndarray]:
    """The surest wrong answers: (taken for duplicates, missed duplicates), rows, worst first."""
    scores, labels = evaluation.scores, evaluation.labels
    answers = scores > evaluation.threshold
    order = np.argsort(-scores, kind="stable")
    wrongly = order[(answers & ~labels)[order]][:count]
    missed = order[::-1][(~answers & labels)[order[::-1]]][:count]
    return wrongly, missed
