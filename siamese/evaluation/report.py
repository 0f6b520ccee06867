"""A model's scores on labelled pairs: its figures beside those of simple answers, as a table."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from siamese.evaluation.bootstrap import Interval, resampled
from siamese.evaluation.calibration import expected_calibration_error
from siamese.evaluation.metrics import check_scores, evaluate_scores, metric_values
from siamese.evaluation.thresholds import best_threshold
from siamese.nn.ragged import check_pairs
from siamese.system.arguments import counted
from siamese.system.open_types import JsonMapping, JsonObject
from siamese.text.tokenizer import word_tokenize

# What the table shows, in this order, and the titles.
FIGURES = {
    "accuracy": "accuracy",
    "precision": "precision",
    "recall": "recall",
    "f1": "F1",
    "roc_auc": "ROC AUC",
    "average_precision": "average precision",
}


class Evaluation:
    """A model's scores on n labelled pairs, and what they are worth beside simple answers.

    ArgumentError for scores, probabilities or a threshold that are not finite numbers,
    and for labels other than 0 and 1; DataError for texts of another number, no pairs,
    or one class only.
    """

    def __init__(
        self,
        question1: Sequence[str],  # n texts
        question2: Sequence[str],
        scores: ArrayLike,  # float [n], from any model
        labels: ArrayLike,  # bool or 0/1 [n]
        threshold: float,  # a pair counts as a duplicate where its score is above it
        *,
        threshold_from: str = "given",  # such as "best accuracy on the validation rows"
        # float [n], calibrated; None without a calibration
        probabilities: ArrayLike | None = None,
        measure: str = "cosine",  # what the scores are, or 'probability'
        # name and scores, float [n], of an encoder without training
        encoder: tuple[str, ArrayLike] | None = None,
        # the model's threshold and calibration as plain values, and where they are from
        fit: JsonMapping | None = None,
    ):
        check_pairs(question1, np.asarray(labels), "question1", "labels")
        self.scores, self.labels = check_scores(scores, labels)  # float64, bool
        self.threshold_from = threshold_from
        self.measure = measure
        self.fit = fit
        self.metrics = evaluate_scores(scores, labels, threshold)
        # Name -> `Metrics`; their thresholds are chosen on these pairs.
        self.baselines = {}
        yes = self.metrics.base_rate > 0.5
        constant = np.full(len(self.labels), float(yes))
        name = "always yes" if yes else "always no"
        self.baselines[name] = evaluate_scores(constant, labels, 0.5)
        self._add_baseline("word overlap", word_overlap(question1, question2))
        self.encoder = None  # its name
        if encoder is not None:
            self.encoder, encoder_scores = encoder
            self._add_baseline("encoder", encoder_scores)
        self.calibration_error = None
        if probabilities is not None:
            self.calibration_error = expected_calibration_error(probabilities, labels)

    def _add_baseline(self, name: str, scores: ArrayLike) -> None:
        threshold = best_threshold(scores, self.labels)
        self.baselines[name] = evaluate_scores(scores, self.labels, threshold)

    @functools.cached_property
    def intervals(self) -> dict[str, Interval]:
        """The bootstrap interval of each metric, by its name; see `bootstrap_interval`."""

        def values(rows: np.ndarray) -> list[float]:
            if len(set(self.labels[rows])) < 2:  # No metric of both classes.
                return [np.nan] * len(FIGURES)
            figures = metric_values(
                self.scores[rows], self.labels[rows], self.metrics.threshold
            )
            return [figures[name] for name in FIGURES]

        return dict(zip(FIGURES, resampled(values, len(self.labels))))

    def to_dict(self) -> JsonObject:
        """The figures as plain values, for JSON; without the pairs."""
        return {
            **self.metrics.to_dict(),
            "measure": self.measure,
            "threshold_from": self.threshold_from,
            "intervals": {
                name: [each.low, each.high] for name, each in self.intervals.items()
            },
            "baselines": {
                name: metrics.to_dict() for name, metrics in self.baselines.items()
            },
            "encoder": self.encoder,
            "calibration_error": self.calibration_error,
        }

    def __str__(self) -> str:
        """The figures with their intervals, beside those of the baselines, in 80 columns."""
        metrics = self.metrics
        lines = [
            f"{counted(metrics.n, 'pair')}, {metrics.base_rate:.1%} duplicates",
            f"threshold {metrics.threshold:.4f}, a {self.measure} ({self.threshold_from})",
            "",
            _row("", "this model", self.baselines),
        ]
        for name, title in FIGURES.items():
            baselines = (
                f"{getattr(other, name):.3f}" for other in self.baselines.values()
            )
            lines.append(_row(title, str(self.intervals[name]), baselines))
        if self.calibration_error is not None:
            lines.append(
                _row("calibration error", f"{self.calibration_error:.3f} (15 bins)")
            )
        lines += [
            "",
            "[..]: 95 % bootstrap interval. Baselines' thresholds are chosen on these pairs.",
        ]
        if self.encoder:
            lines.append(f"encoder: {self.encoder}, untrained.")
        return "\n".join(lines)


def _row(title: str, model: str, baselines: Iterable[str] = ()) -> str:
    """A line of the table: a figure's title, the model's value, those of baselines."""
    cells = "".join(f"{baseline:>13}" for baseline in baselines)
    return f"{title:<19}{model:<22}{cells}".rstrip()


def word_overlap(question1: Sequence[str], question2: Sequence[str]) -> np.ndarray:
    """Jaccard overlap, float64 [n], of texts by their lower-cased words: shared / all distinct words.

    It is 0 for two questions without any words.
    """
    check_pairs(question1, question2, "question1", "question2")
    overlaps = []
    for text1, text2 in zip(question1, question2):
        words1 = {word.lower() for word in word_tokenize(text1)}
        words2 = {word.lower() for word in word_tokenize(text2)}
        overlaps.append(len(words1 & words2) / max(len(words1 | words2), 1))
    return np.array(overlaps)
