"""Training: the course's `train_model`, and the Loop it returns."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from siamese import compat
from siamese.compat.randomness import keeping_generators
from siamese.errors import ArgumentError
from siamese.training.loop import Loop

compat.prepare()

import trax  # noqa: E402
from trax.supervised import training  # noqa: E402


def train_model(
    Siamese: Callable[[], Any],
    TripletLoss: Callable[[], Any],
    train_generator,
    val_generator,
    output_dir: str | os.PathLike = "model/",
    *,
    lr_schedule: Callable[[int], float] | None = None,
    random_seed: int | None = None,
    **loop_options: Any,
) -> Loop:
    """Makes the course's training loop: Adam at 0.01, warm-up over 400 steps, then 1/sqrt decay.

    Call ``run(n_steps)`` on what it returns. Where `output_dir` holds checkpoints of the same model,
    the loop goes on from the newest; Python's and NumPy's random generators stay as the caller left
    them.

    Args:
      Siamese: function () -> model, such as `Siamese` or ``functools.partial(Siamese, len(vocab))``.
      TripletLoss: function () -> loss layer of (v1, v2).
      train_generator: iterator of (q1, q2), int32 [batch, length] each.
      val_generator: likewise, for the evaluation.
      output_dir: where checkpoints and metrics go; None writes nothing.
      lr_schedule: function step -> learning rate; the course's ``warmup_and_rsqrt_decay(400, 0.01)``
        where None.
      random_seed: for the initial weights; drawn anew each time where None.
      **loop_options: more options of `Loop`, such as `on_step` or `keep`.

    Returns:
      A `Loop`, a subclass of `trax.supervised.training.Loop`.

    Raises:
      CheckpointError: `output_dir` holds another model's checkpoint. The message names both shapes and
        the way out, and nothing there was touched.

    Example:
      >>> from siamese import Siamese, TripletLoss, data_generator
      >>> batches = data_generator([[5, 6], [7]], [[5], [7, 8]], batch_size=2)
      >>> small = functools.partial(Siamese, vocab_size=10, d_model=4)
      >>> loop = train_model(small, TripletLoss, batches, batches, output_dir=None)
      Will not write evaluation metrics, because output_dir is None.
    """
    for name, factory in (("Siamese", Siamese), ("TripletLoss", TripletLoss)):
        if not callable(factory) or isinstance(factory, trax.layers.base.Layer):
            raise ArgumentError(
                f"train_model calls {name}() to make it: pass the function {name} itself, or "
                f"functools.partial({name}, ...), not {type(factory).__name__}."
            )
    with keeping_generators():
        model, loss, metric = Siamese(), TripletLoss(), TripletLoss()
        optimizer = trax.optimizers.Adam(0.01)
    # The tasks take their sample batch from the generators: that draw is the caller's.
    train_task = training.TrainTask(
        labeled_data=train_generator,
        loss_layer=loss,
        optimizer=optimizer,
        lr_schedule=lr_schedule or trax.lr.warmup_and_rsqrt_decay(400, 0.01),
    )
    eval_task = training.EvalTask(labeled_data=val_generator, metrics=[metric])
    return Loop(
        model,
        train_task,
        eval_tasks=[eval_task],
        output_dir=output_dir,
        random_seed=random_seed,
        **{"course_file": output_dir is not None, **loop_options},
    )
