"""The learning rate of each step, as a configuration asks for it."""

from __future__ import annotations

from collections.abc import Callable

from siamese import compat
from siamese.training.config import TrainConfig

compat.prepare()

from trax import lr  # noqa: E402


def learning_rate(config: TrainConfig, total_steps: Callable[[], int]) -> Callable[[int], float]:
    """The schedule of a run: step, from 1, to Adam's learning rate.

    'rsqrt' is the course's own, `trax.lr.warmup_and_rsqrt_decay`. 'linear' goes up to the full rate in the
    warm-up and then straight down to zero, which it would reach one step after the run's last.

    Args:
      config: the run's choices: schedule, learning_rate, warmup_steps.
      total_steps: gives the length of the run; asked for when the first step is.
    """
    if config.schedule == "rsqrt":
        return lr.warmup_and_rsqrt_decay(config.warmup_steps, config.learning_rate)

    def linear(step: int) -> float:
        up = step / max(config.warmup_steps, 1)
        left = total_steps() + 1
        down = (left - step) / max(left - config.warmup_steps, 1)
        return config.learning_rate * max(0.0, min(1.0, up, down))

    return linear
