"""Report: the figures that a training run came to."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

COURSE_THRESHOLD = 0.7


@dataclass(frozen=True)
class Report:
    """What a training run came to. Accuracies and shares run from 0 to 1.

    Attributes:
      steps: training steps done, those of earlier parts of the run included.
      train_loss: mean loss since the evaluation before the last.
      valid_loss: the last validation loss.
      accuracy: on the test pairs at the course's threshold of 0.7, by the course's `classify`.
      threshold: the one most accurate on held-out pairs, which are not the test pairs.
      tuned_accuracy: on the test pairs at that threshold.
      roc_auc: on the test pairs.
      base_rate: the share of duplicates among the test pairs.
      overlap_accuracy: of word overlap with its own tuned threshold, on the test pairs.
      overlap_roc_auc: of word overlap.
      test_pairs: how many test pairs there were.
    """

    steps: int
    train_loss: float
    valid_loss: float
    accuracy: float
    threshold: float
    tuned_accuracy: float
    roc_auc: float
    base_rate: float
    overlap_accuracy: float
    overlap_roc_auc: float
    test_pairs: int

    def as_dict(self) -> dict[str, float]:
        """The figures as plain values."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        always_no = max(self.base_rate, 1 - self.base_rate)
        return "\n".join(
            (
                f"loss after {self.steps} steps      train {self.train_loss:.4f}, "
                f"valid {self.valid_loss:.4f}",
                f"on {self.test_pairs:,} test pairs, {self.base_rate:.1%} of them duplicates:",
                f"  accuracy at threshold {COURSE_THRESHOLD}     {self.accuracy:.4f}   (the course's)",
                f"  accuracy at threshold {self.threshold:.3f}   {self.tuned_accuracy:.4f}   "
                "(chosen on held-out pairs)",
                f"  ROC AUC                       {self.roc_auc:.4f}",
                f"  always the more frequent      {always_no:.4f}",
                f"  word overlap                  {self.overlap_accuracy:.4f}   "
                f"(ROC AUC {self.overlap_roc_auc:.4f})",
            )
        )
