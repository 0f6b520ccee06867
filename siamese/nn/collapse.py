"""The watch for a collapse, a loss that stays at that of equal vectors: Trainer and the course keep one."""

from __future__ import annotations

import logging
from collections.abc import Sequence

logger = logging.getLogger("siamese")
# A loss that stays at that of equal vectors for so long counts as collapsed. Every run
# of the course's model starts there and leaves it in a few hundred steps: Trax's LSTM
# adds its forget bias to all four gates.
COLLAPSE_STEPS = 600


class CollapseWatch:
    """Tells a run once that its loss has stayed at that of equal vectors for `COLLAPSE_STEPS` steps.

    Args:
      tolerance: the share of that loss by which a loss may differ from it and still counts as equal.
    """

    def __init__(self, tolerance: float):
        self._tolerance = tolerance
        self._steps = 0
        self._has_told = False

    def begins(
        self, loss: float, equal: float, steps: int, *, at_end: bool = False
    ) -> bool:
        """Whether a collapse shows for the first time since the loss last was another.

        `loss` is the mean of the last `steps` steps, `equal` the loss of equal vectors. At
        the end of a run the last loss alone counts.
        """
        if not abs(loss - equal) < self._tolerance * abs(equal):
            self._steps = 0
            self._has_told = False
            return False
        self._steps += steps
        if self._has_told or (self._steps < COLLAPSE_STEPS and not at_end):
            return False
        self._has_told = True
        return True


def warn_of_collapse(
    loss: float, step: int, advice: Sequence[str], pairs: int = 1
) -> None:
    """Logs a run's collapse with what to try; `pairs` is how many a loss is the sum of, 1 for a mean."""
    of_a_pair = f" ({loss / pairs:.3f} a pair)" if pairs > 1 else ""
    logger.warning(
        "The loss is %.3f at step %d%s, that of equal vectors: all questions have nearly the same "
        "vector (collapse). Train longer, or try %s or another seed.",
        loss,
        step,
        of_a_pair,
        ", ".join(advice),
    )
