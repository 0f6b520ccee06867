"""A model's scores on labelled pairs: its figures beside those of simple answers, as a table."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from siamese.data.arguments import check_pairs
from siamese.data.tokenizer import word_tokenize
from siamese.evaluation.bootstrap import Interval, resampled
from siamese.evaluation.calibration import expected_calibration_error
from siamese.evaluation.metrics import check_scores, evaluate_scores, metric_values
from siamese.evaluation.thresholds import best_threshold

# What the table shows, in this order, and the titles.
FIGURES = {
    **{"accuracy": "accuracy", "precision": "precision", "recall": "recall", "f1": "F1"},
    **{"roc_auc": "ROC AUC", "average_precision": "average precision"},
}


class Evaluation:
    """A model's scores on n labelled pairs, and what they are worth beside simple answers.

    DataError for texts of another number; see also `siamese.evaluation.metrics.check_scores`.
    """

    def __init__(
        self,
        question1: Sequence[str],  # n texts
        question2: Sequence[str],
        scores: Any,  # float [n], from any model
        labels: Any,  # bool or 0/1 [n]
        threshold: float,  # a pair counts as a duplicate where its score is above it
        *,
        threshold_from: str = "given",  # such as "best accuracy on the validation rows"
        probabilities: Any = None,  # float [n], calibrated; None without a calibration
        measure: str = "cosine",  # what the scores are, or 'probability'
        encoder: tuple[str, Any] | None = None,  # name and scores, float [n], without training
    ):
        check_pairs(question1, labels, "question1", "labels")
        self.scores, self.labels = check_scores(scores, labels)  # float64, bool
        self.threshold_from, self.measure = threshold_from, measure
        self.metrics = evaluate_scores(scores, labels, threshold)
        self.encoder = encoder and encoder[0]
        yes = self.metrics.base_rate > 0.5
        constant = evaluate_scores(np.full(len(self.labels), float(yes)), labels, 0.5)
        # Name -> `Metrics`; their thresholds are chosen on these pairs.
        self.baselines = {"always yes" if yes else "always no": constant}
        others = {"word overlap": word_overlap(question1, question2)}
        others |= {"encoder": encoder[1]} if encoder else {}
        for name, values in others.items():
            self.baselines[name] = evaluate_scores(values, labels, best_threshold(values, labels))
        self.calibration_error = None
        if probabilities is not None:
            self.calibration_error = expected_calibration_error(probabilities, labels)

    @functools.cached_property
    def intervals(self) -> dict[str, Interval]:
        """The bootstrap interval of each metric, by its name; see `bootstrap_interval`."""

        def values(rows: np.ndarray) -> list[float]:
            figures = metric_values(self.scores[rows], self.labels[rows], self.metrics.threshold)
            return [figures[name] for name in FIGURES]

        return dict(zip(FIGURES, resampled(values, len(self.labels))))

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, for JSON; without the pairs."""
        return {
            **self.metrics.to_dict(),
            "measure": self.measure,
            "threshold_from": self.threshold_from,
            "intervals": {name: [each.low, each.high] for name, each in self.intervals.items()},
            "baselines": {name: metrics.to_dict() for name, metrics in self.baselines.items()},
            "encoder": self.encoder,
            "calibration_error": self.calibration_error,
        }

    def __str__(self) -> str:
        """The figures with their intervals, beside those of the baselines, in 80 columns."""
        metrics, others = self.metrics, self.baselines
        rows = [("", "this model", *others)]
        for name, title in FIGURES.items():
            beside = (f"{getattr(other, name):.3f}" for other in others.values())
            rows.append((title, str(self.intervals[name]), *beside))
        if self.calibration_error is not None:
            rows.append(("calibration error", f"{self.calibration_error:.3f} (15 bins)"))
        table = (
            (f"{title:<19}{own:<22}" + "".join(f"{other:>13}" for other in beside)).rstrip()
            for title, own, *beside in rows
        )
        lines = [
            f"{metrics.n:,} pairs, {metrics.base_rate:.1%} duplicates",
            f"threshold {metrics.threshold:.4f}, a {self.measure} ({self.threshold_from})",
            *("", *table, ""),
            "[..]: 95 % bootstrap interval. Baselines' thresholds are chosen on these pairs.",
        ]
        if self.encoder:
            lines.append(f"encoder: {self.encoder}, untrained.")
        return "\n".join(lines)


def word_overlap(question1: Sequence[str], question2: Sequence[str]) -> np.ndarray:
    """Jaccard overlap, float64 [n], of texts by their lower-cased words: shared / all distinct words.

    It is 0 for two questions without any words.
    """
    check_pairs(question1, question2, "question1", "question2")
    first, second = (
        [{word.lower() for word in word_tokenize(text)} for text in side]
        for side in (question1, question2)
    )
    return np.array([len(a & b) / max(len(a | b), 1) for a, b in zip(first, second)])
