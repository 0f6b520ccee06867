"""train_model: the course's, with siamese's Loop."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from siamese.course import train_model as course
from siamese.training.loop import Loop


def train_model(
    Siamese: Callable[[], Any],
    TripletLoss: Callable[[], Any],
    train_generator,
    val_generator,
    output_dir: str | os.PathLike | None = "model/",
    **loop_options: Any,
) -> Loop:
    """The course's `train_model` with this module's `Loop`: call ``run(n_steps)`` on what it returns.

    Where `output_dir` holds checkpoints of the same model, the loop goes on from the newest; Python's
    and NumPy's random generators stay as the caller left them.

    Args:
      Siamese: see `siamese.course.train_model.train_model`, as for the others not named here.
      TripletLoss: likewise.
      train_generator: likewise.
      val_generator: likewise.
      output_dir: where checkpoints, metrics and Trax's model file go; None writes nothing.
      **loop_options: `lr_schedule`, function step -> learning rate; `random_seed` for the initial weights,
        drawn anew each time where None; more options of `Loop`, such as `on_step` or `keep`.

    Raises:
      CheckpointError: `output_dir` holds another model's checkpoint. The message names both shapes and
        the way out, and nothing there was touched.
    """
    options = {"Loop": Loop, "course_file": output_dir is not None, **loop_options}
    tasks = train_generator, val_generator, output_dir
    return course.train_model(Siamese, TripletLoss, *tasks, **options)
