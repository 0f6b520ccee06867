"""LossSums adds up a run's losses; LossWatch notices NaN, collapse, and an end of progress."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from siamese.errors import SiameseError

# The loss must stay at twice the margin for so long to count as collapsed. Every run of the course's model
# starts there: Trax's LSTM adds its forget bias of 1 to all four gates, so the first states are almost the
# same whatever the question, and it takes a few hundred steps of warm-up to leave.
COLLAPSE_STEPS = 600


class TrainingError(SiameseError):
    """Training cannot go on: the loss or the weights are no numbers any more."""


class LossWatch:
    """Looks at the losses of one run.

    Args:
      margin: the loss's margin, to recognise collapse; None does not look for it.
      patience: evaluations without a lower loss after which a run is at its end; 0 has no end.
    """

    def __init__(self, margin: float | None, patience: int = 0):
        self._margin, self._patience = margin, patience
        self._collapsed_for = 0
        self._warned = False

    @staticmethod
    def check_finite(loss: float, step: int) -> None:
        """Raises TrainingError where `loss`, that of step `step`, is NaN or infinite."""
        if not math.isfinite(loss):
            raise TrainingError(
                f"The loss is {loss} at step {step}. Try a smaller learning rate, and look for "
                "questions without tokens. Checkpoints saved before are whole: training can go on "
                "from the last of them."
            )

    def collapse_warning(self, loss: float, steps: int = 1) -> str | None:
        """The warning about collapse, once, where the loss has stayed at twice the margin too long.

        With all vectors equal, every similarity is 1: the mean and the closest negative each exceed
        the positive by exactly the margin.

        Args:
          loss: the mean loss of the last steps.
          steps: how many steps it is the mean of.
        """
        if self._margin is None:
            return None
        at_collapse = abs(loss - 2 * self._margin) < 0.004 * self._margin
        self._collapsed_for = self._collapsed_for + steps if at_collapse else 0
        if self._collapsed_for < COLLAPSE_STEPS or self._warned:
            return None
        self._warned = True
        return (
            f"The loss has stayed at {loss:.3f}, twice the margin, for {self._collapsed_for} steps: "
            "all questions have the same vector (collapse). Try lstm_bias='forget_gate', a smaller "
            "learning rate, a longer warm-up, closest='semi_hard', or another seed."
        )

    def out_of_patience(self, valid_losses: Sequence[float]) -> bool:
        """Whether the lowest of the validation losses lies `patience` evaluations back."""
        if not self._patience or not len(valid_losses):
            return False
        return len(valid_losses) - 1 - int(np.argmin(valid_losses)) >= self._patience


class LossSums:
    """Sums of loss and optimizer figures since the last report, kept on the device until asked for.

    Attributes:
      steps: how many losses were added.
      loss: their sum.
      last: the last of them, or None.
      stats: name -> sum of the optimizer's figures.
    """

    def __init__(self):
        self._start = time.time()
        self.steps, self.loss, self.last = 0, 0.0, None
        self.stats: dict[str, Any] = {}

    def add(self, loss, stats: Mapping[str, Any]) -> None:
        """Adds one step's; nothing is read from the device, so nothing waits for it."""
        self.steps += 1
        self.loss = self.loss + loss
        self.last = loss
        for name, value in stats.items():
            self.stats[name] = self.stats.get(name, 0.0) + value

    def seconds(self) -> float:
        """Since this object was made."""
        return max(time.time() - self._start, 1e-9)
