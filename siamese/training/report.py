"""Report: the figures of a training run, measured on pairs it has not seen."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from siamese.course.classify import classify, pair_scores
from siamese.data.pairs import QuestionPairs
from siamese.data.tokens import tokenize_questions
from siamese.evaluation.baselines import word_overlap
from siamese.evaluation.calibration import Calibration, fit_calibration
from siamese.evaluation.metrics import evaluate_scores
from siamese.evaluation.thresholds import best_threshold
from siamese.search.detector import COURSE_THRESHOLD
from siamese.training.prepare import TrainingData

EVALUATION_BATCH = 512  # The batch size of the course's last cell; it matters for unmasked models.


@dataclass(frozen=True)
class Report:
    """The figures of a training run on its test pairs. Accuracies and shares run from 0 to 1."""

    steps: int  # Training steps done, those of earlier parts of the run included.
    train_loss: float  # The mean since the evaluation before the last.
    valid_loss: float
    accuracy: float  # At the course's threshold of 0.7, by the course's `classify`.
    threshold: float  # The one most accurate on held-out pairs, which are not the test pairs.
    tuned_accuracy: float  # At that threshold.
    roc_auc: float
    base_rate: float  # The share of duplicates.
    overlap_accuracy: float  # Of word overlap with its own tuned threshold.
    overlap_roc_auc: float
    test_pairs: int

    def as_dict(self) -> dict[str, float]:
        """The figures as plain values."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        constant = max(self.base_rate, 1 - self.base_rate)
        return f"""\
loss after {self.steps} steps      train {self.train_loss:.4f}, valid {self.valid_loss:.4f}
on {self.test_pairs:,} test pairs, {self.base_rate:.1%} of them duplicates:
  accuracy at threshold {COURSE_THRESHOLD}     {self.accuracy:.4f}   (the course's)
  accuracy at threshold {self.threshold:.3f}   {self.tuned_accuracy:.4f}   (chosen on held-out pairs)
  ROC AUC                       {self.roc_auc:.4f}
  always the more frequent      {constant:.4f}
  word overlap                  {self.overlap_accuracy:.4f}   (ROC AUC {self.overlap_roc_auc:.4f})"""


def measure(
    model, data: TrainingData, test: QuestionPairs, **losses: float
) -> tuple[Report, Calibration]:
    """Measures a `Siamese` on test pairs; threshold and calibration come from the held-out pairs.

    `losses` are the report's steps, train_loss and valid_loss.
    """
    held_out, held_labels = data.held_out, data.held_out.is_duplicate
    tokenized = tokenize_questions([*test.question1, *test.question2], vocabulary=data.vocabulary)
    ids = tokenized.encode(data.vocabulary)
    sides = ids.take(tokenized.rows[: len(test)]), ids.take(tokenized.rows[len(test) :])
    options = {"model": model, "vocab": data.vocabulary, "batch_size": EVALUATION_BATCH}
    held_scores = pair_scores(*(data.ids.take(rows) for rows in data.held_out_rows), **options)
    threshold = best_threshold(held_scores, held_labels).threshold
    tuned = evaluate_scores(pair_scores(*sides, **options), test.is_duplicate, threshold)
    held_overlap = word_overlap(held_out.question1, held_out.question2)
    overlap = evaluate_scores(
        word_overlap(test.question1, test.question2),
        test.is_duplicate,
        best_threshold(held_overlap, held_labels).threshold,
    )
    report = Report(
        **losses,
        accuracy=classify(*sides, test.is_duplicate, COURSE_THRESHOLD, **options),
        threshold=threshold,
        tuned_accuracy=tuned.accuracy,
        roc_auc=tuned.roc_auc,
        base_rate=tuned.base_rate,
        overlap_accuracy=overlap.accuracy,
        overlap_roc_auc=overlap.roc_auc,
        test_pairs=len(test),
    )
    return report, fit_calibration(held_scores, held_labels)
