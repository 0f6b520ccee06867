"""train_model: the assignment's training loop."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import trax
from trax.supervised import training

from siamese.course.trax.loop import Loop
from siamese.errors import ArgumentError
from siamese.system.process import keeping_generators

Factory: TypeAlias = Callable[[], trax.layers.Layer]


def _also_with_the_schedule_third(
    function: Callable[..., training.Loop],
) -> Callable[..., training.Loop]:
    """Also takes the call of 2020: the learning rate's schedule in front of the two generators."""

    @functools.wraps(function)
    def train_model(
        Siamese: Factory, TripletLoss: Factory, *rest: Any, **named: Any
    ) -> training.Loop:
        folder = str, os.PathLike, type(None)
        others = sum(not isinstance(value, folder) for value in rest[1:3])
        others += len({"train_generator", "val_generator"} & named.keys())
        # Of a class, such as data_generator, the type has no `__next__`.
        if rest and others >= 2 and not hasattr(type(rest[0]), "__next__"):
            return function(
                Siamese, TripletLoss, *rest[1:], lr_schedule=rest[0], **named
            )
        return function(Siamese, TripletLoss, *rest, **named)

    return train_model


def _name_of(value: object) -> str:
    name = getattr(value, "__name__", "")
    return f"the function {name}" if name else type(value).__name__


def _check_factory(name: str, factory: Factory) -> None:
    try:
        # A layer, and TripletLossFn, need arguments.
        inspect.signature(factory).bind()
    except TypeError:
        raise ArgumentError(
            f"train_model calls {name}() to make it: pass the function {name} itself, or "
            f"functools.partial({name}, ...), not {_name_of(factory)}."
        ) from None


def _check_generator(name: str, generator: object) -> None:
    if not hasattr(type(generator), "__next__"):
        raise ArgumentError(
            f"{name} must be an endless iterator of batches, such as data_generator(...), not "
            f"{_name_of(generator)}."
        )


def _check_schedule(schedule: Callable[[int], float]) -> None:
    try:
        # What makes a schedule needs other arguments.
        inspect.signature(schedule).bind(1)
    except TypeError:
        what = f"a function of the step, not {_name_of(schedule)}"
        raise ArgumentError(f"lr_schedule must be {what}.") from None


def _check_layer(name: str, layer: object) -> None:
    if not isinstance(layer, trax.layers.Layer):
        raise ArgumentError(f"{name}() must give a Trax layer, not {_name_of(layer)}.")


@_also_with_the_schedule_third
def train_model(
    Siamese: Factory,
    TripletLoss: Factory,
    train_generator: Iterator,
    val_generator: Iterator,
    output_dir: str | os.PathLike | None = "model/",
    *,
    lr_schedule: Callable[[int], float] | None = None,
    random_seed: int | None = None,
    eval_at: Callable[[int], bool] | None = None,
) -> training.Loop:
    """Makes the course's loop: Adam at 0.01, 400 steps of linear warm-up, then 1/sqrt(step).

    The call of 2020, with the schedule as third argument, is taken too. Where
    `output_dir` holds a checkpoint of the same model, the loop goes on from it, and the
    batches start over. Python's and NumPy's random generators stay as the caller left
    them.

    Args:
      Siamese: function () -> model, such as `Siamese` or ``functools.partial(Siamese, len(vocab))``.
      TripletLoss: function () -> loss layer of (v1, v2).
      train_generator: endless iterator of (q1, q2), int32 [batch, length] each.
      val_generator: likewise, for the evaluation.
      output_dir: where Trax's checkpoints go; None writes nothing.
      lr_schedule: function step -> learning rate; the course's where None.
      random_seed: of the initial weights; drawn each time where None.
      eval_at: function step -> whether to print and evaluate; at step 1 and each 100th where None.

    Returns:
      A `trax.supervised.training.Loop`; its ``run(n_steps)`` trains. See `siamese.course.trax.loop.Loop`.

    Raises:
      ArgumentError: a model or a loss layer in place of the function that makes it, or batches that are
        no iterator.
      DataError: a generator without any batch.
      CheckpointError: `output_dir` holds another model's checkpoint; nothing there is touched.

    Example:
      >>> from siamese import Siamese, TripletLoss, data_generator
      >>> batches = data_generator([[5, 6], [7]], [[5], [7, 8]], batch_size=2)
      >>> small = lambda: Siamese(vocab_size=10, d_model=4)
      >>> loop = train_model(small, TripletLoss, batches, batches, output_dir=None)
      Will not write evaluation metrics, because output_dir is None.
    """
    schedule = lr_schedule or trax.lr.warmup_and_rsqrt_decay(400, 0.01)
    _check_factory("Siamese", Siamese)
    _check_factory("TripletLoss", TripletLoss)
    _check_generator("train_generator", train_generator)
    _check_generator("val_generator", val_generator)
    _check_schedule(schedule)
    with keeping_generators():
        model = Siamese()
        loss = TripletLoss()
        metric = TripletLoss()
        optimizer = trax.optimizers.Adam(0.01)
    _check_layer("Siamese", model)
    _check_layer("TripletLoss", loss)
    # Each task takes its sample batch from the generator: that draw is the caller's.
    train_task = training.TrainTask(
        labeled_data=train_generator,
        loss_layer=loss,
        optimizer=optimizer,
        lr_schedule=schedule,
    )
    eval_task = training.EvalTask(labeled_data=val_generator, metrics=[metric])
    return Loop(
        model,
        train_task,
        eval_tasks=[eval_task],
        output_dir=None if output_dir is None else os.fspath(output_dir),
        random_seed=random_seed,
        eval_at=eval_at,
    )
