"""Checks of train_model, exercise 4 of the assignment (notebook 04)."""

from __future__ import annotations

import inspect
import os
import tempfile

import numpy as np

from .expect import show
from .learner import once
from .score import Exercise, Score, Wrong
from .towers import trax_layers

VOCAB_SIZE, D_MODEL = 13, 4
TRAIN_IDS, VALID_IDS = (2, 7), (7, 12)  # from, below: a batch shows where it comes from

training = Exercise(
    "train_model",
    "train_model(Siamese, TripletLoss, train_generator, val_generator, output_dir='model/')",
    seconds=120,
)


class _Run:
    """What the learner's train_model made of a small model, and what it asked for."""

    def __init__(self, fn):
        self.folder = tempfile.TemporaryDirectory(prefix="check-")
        self.output_dir = os.path.join(self.folder.name, "run")
        self.calls = {"Siamese": 0, "TripletLoss": 0}
        self.drawn = {"train": 0, "valid": 0}
        self.loop = fn(
            self._siamese,
            self._triplet_loss,
            *_schedule(fn.fn),
            self._batches("train", TRAIN_IDS, 1),
            self._batches("valid", VALID_IDS, 2),
            self.output_dir,
        )

    def _siamese(self):
        self.calls["Siamese"] += 1
        tl = trax_layers()
        from trax.fastmath import numpy as fastnp

        def unit(x):
            return x / fastnp.sqrt(fastnp.sum(x * x, axis=-1, keepdims=True))

        tower = tl.Serial(
            tl.Embedding(VOCAB_SIZE, D_MODEL), tl.Mean(axis=1), tl.Fn("Normalize", unit)
        )
        return tl.Parallel(tower, tower)

    def _triplet_loss(self):
        self.calls["TripletLoss"] += 1
        tl = trax_layers()
        from trax.fastmath import numpy as fastnp

        def loss(v1, v2):
            scores = fastnp.dot(v1, v2.T)
            return fastnp.mean(scores) - fastnp.mean(fastnp.diagonal(scores))

        return tl.Fn("TripletLoss", loss)

    def _batches(self, name, ids, seed):
        draw = np.random.default_rng(seed)
        while True:
            self.drawn[name] += 1
            yield tuple(draw.integers(*ids, (6, 4)).astype(np.int32) for _ in range(2))


def _schedule(fn) -> list:
    """The learning rate's schedule, where the function takes it third, as the notebook of 2020 does."""
    try:
        third = list(inspect.signature(fn).parameters)[2:3]
    except (TypeError, ValueError):
        return []
    if third != ["lr_schedule"]:
        return []
    from trax import lr

    return [lr.warmup_and_rsqrt_decay(400, 0.01)]


def _loop(fn):
    """The learner's loop, made once for all cases."""
    if "run" not in fn.memo:
        trax_layers()
        fn.memo["run"] = once(lambda: _Run(fn))
    run = fn.memo["run"]()
    from trax.supervised import training as trax_training

    if run.loop is None:
        hint = "the function returned nothing: is `return` missing?"
        raise Wrong("a training.Loop", "None", hint)
    if not isinstance(run.loop, trax_training.Loop):
        hint = "return the training.Loop itself, made of the tasks"
        if type(run.loop).__name__ == "type":
            hint = "this is a class: call it to make the loop"
        raise Wrong("a training.Loop", f"{type(run.loop).__name__}", hint)
    return run


def _tokens(task) -> np.ndarray:
    return np.asarray(task.sample_batch[0])


def _from(tokens, ids) -> bool:
    return bool(((tokens >= ids[0]) & (tokens < ids[1])).all())


@training.case("it returns the training loop")
def _(fn):
    _loop(fn)


@training.case("it has not trained yet")
def _(fn):
    run = _loop(fn)
    if run.loop.step != 0:
        hint = "the caller runs the loop: return it without run()"
        raise Wrong("step 0", f"step {run.loop.step}", hint)


@training.case("the model and the loss that were passed")
def _(fn):
    run = _loop(fn)
    for name, count in run.calls.items():
        if not count:
            hint = f"{name} is an argument and a function: call {name}() to make the layer"
            raise Wrong(f"{name}() was called", "it was not called", hint)
    shapes = [np.shape(w) for w in _leaves(run.loop.model.weights)]
    if (VOCAB_SIZE, D_MODEL) not in shapes:
        hint = "the loop trains another model than Siamese() gives"
        raise Wrong(f"weights of shape {(VOCAB_SIZE, D_MODEL)}", str(shapes), hint)
    name = run.loop.tasks[0].loss_layer.name
    if name != "TripletLoss":
        raise Wrong("the loss layer TripletLoss", name, "the task's loss_layer is TripletLoss()")


@training.case("training on the training batches")
def _(fn):
    tokens = _tokens(_loop(fn).loop.tasks[0])
    if not _from(tokens, TRAIN_IDS):
        hint = "labeled_data of the TrainTask is train_generator"
        if _from(tokens, VALID_IDS):
            hint = "the two generators are exchanged, or the validation batches train the model"
        raise Wrong(f"tokens {TRAIN_IDS[0]} to {TRAIN_IDS[1] - 1}", show(tokens[0]), hint)


@training.case("evaluation on the validation batches")
def _(fn):
    tasks = _loop(fn).loop.eval_tasks
    if not tasks or len(tasks) != 1:
        count = len(tasks) if tasks else 0
        raise Wrong("one evaluation task", f"{count} tasks", "give the loop eval_tasks")
    tokens = _tokens(tasks[0])
    if not _from(tokens, VALID_IDS):
        hint = "labeled_data of the EvalTask is val_generator, not the training batches"
        raise Wrong(f"tokens {VALID_IDS[0]} to {VALID_IDS[1] - 1}", show(tokens[0]), hint)
    names = [metric.name for metric in tasks[0].metrics]
    if names != ["TripletLoss"]:
        raise Wrong("the metric TripletLoss", str(names), "the metric is the loss: [TripletLoss()]")


@training.case("Adam")
def _(fn):
    name = type(_loop(fn).loop.tasks[0].optimizer).__name__
    if name != "Adam":
        raise Wrong("the optimizer Adam", name, "the assignment trains with trax.optimizers.Adam")


@training.case("the learning rate")
def _(fn):
    task = _loop(fn).loop.tasks[0]
    steps = np.array([1, 100, 400, 1600, 6400])
    came = np.array([float(task.learning_rate(int(step))) for step in steps])
    wanted = 0.01 * np.minimum(steps / 400, np.sqrt(400 / steps))
    if np.allclose(came, wanted, rtol=0.02, atol=1e-6):
        return
    hint = "warm-up over 400 steps to 0.01, then as 1 / sqrt(step)"
    if np.allclose(came, came[0]):
        hint = "it stays the same: give the TrainTask an lr_schedule"
    elif np.allclose(came / came.max(), wanted / wanted.max(), rtol=0.02):
        hint = "the shape is right, the highest learning rate is not 0.01"
    elif came[2] < came[3]:
        hint = "the warm-up is longer than 400 steps"
    raise Wrong(f"{show(wanted)} at steps {show(steps)}", show(came), hint)


@training.case("output_dir")
def _(fn):
    run = _loop(fn)
    came = run.loop.output_dir
    if came is None or os.path.abspath(came) != os.path.abspath(run.output_dir):
        raise Wrong(run.output_dir, str(came), "hand the argument output_dir on to the loop")


@training.case("two steps")
def _(fn):
    run = _loop(fn)
    start, before = run.loop.step, _leaves(run.loop.model.weights)
    run.loop.run(2)
    if run.loop.step != start + 2:
        raise Wrong(f"step {start + 2} after run(2)", f"step {run.loop.step}")
    after = _leaves(run.loop.model.weights)
    if all(np.array_equal(a, b) for a, b in zip(before, after)):
        raise Wrong("other weights after two steps", "the same weights", "is the learning rate 0?")


def _leaves(weights) -> list[np.ndarray]:
    if isinstance(weights, (tuple, list)):
        return [leaf for part in weights for leaf in _leaves(part)]
    return [np.array(weights)] if np.ndim(weights) else []


def check_train_model(fn) -> Score:
    """Checks ``train_model(Siamese, TripletLoss, train_generator, val_generator, output_dir='model/')``."""
    return training.check(fn)
