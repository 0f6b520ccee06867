"""train_model: the assignment's training loop."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import trax
from trax.supervised import training

from siamese.compat.randomness import keeping_generators
from siamese.errors import ArgumentError


def train_model(
    Siamese: Callable[[], Any],
    TripletLoss: Callable[[], Any],
    train_generator,
    val_generator,
    output_dir: str | os.PathLike | None = "model/",
    *,
    lr_schedule: Callable[[int], float] | None = None,
    Loop: Callable[..., Any] = training.Loop,
    **loop_options: Any,
):
    """Makes the course's loop: Adam at 0.01, 400 steps of linear warm-up, then 1/sqrt(step).

    Args:
      Siamese: function () -> model, such as `Siamese` or ``functools.partial(Siamese, len(vocab))``.
      TripletLoss: function () -> loss layer of (v1, v2).
      train_generator: iterator of (q1, q2), int32 [batch, length] each.
      val_generator: likewise, for the evaluation.
      output_dir: where the loop writes; None writes nothing.
      lr_schedule: function step -> learning rate; the course's where None.
      Loop: class of the loop; `siamese.train_model` gives the one of `siamese.training.loop`.
      **loop_options: more arguments of `Loop`.

    Returns:
      A `trax.supervised.training.Loop`; its ``run(n_steps)`` trains.

    Raises:
      ArgumentError: a model or a loss layer in place of the function that makes it.

    Example:
      >>> from siamese import Siamese, TripletLoss, data_generator
      >>> batches = data_generator([[5, 6], [7]], [[5], [7, 8]], batch_size=2)
      >>> small = lambda: Siamese(vocab_size=10, d_model=4)
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
    # A task takes its sample batch from the generator: that draw is the caller's.
    train_task = training.TrainTask(
        labeled_data=train_generator,
        loss_layer=loss,
        optimizer=optimizer,
        lr_schedule=lr_schedule or trax.lr.warmup_and_rsqrt_decay(400, 0.01),
    )
    eval_task = training.EvalTask(labeled_data=val_generator, metrics=[metric])
    return Loop(model, train_task, eval_tasks=[eval_task], output_dir=output_dir, **loop_options)
