"""Checks of models and of their training: shared_towers (notebook 02), Siamese and train_model (04)."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import tempfile
from collections.abc import Callable

import numpy as np

from .score import NO_RETURN, Exercise, Wrong, require, show

SHARED_HINT = (
    "the two towers have weights of their own: make one tower, and use that same object twice"
)


def trax_layers():
    """`trax.layers`, imported the quick way where siamese is there to ease it."""
    try:
        from siamese import compat

        compat.prepare()
    except ImportError:
        pass
    from trax import layers

    return layers


# ---- shared_towers and Siamese: two towers that are one, and vectors of length 1 ----


class Towers:
    """A model made by the learner, initialised and compiled once."""

    def __init__(self, make: Callable):
        self._make = make

    @functools.cached_property
    def layer(self):
        """The layer as the learner made it, known to be a layer of two inputs and two outputs."""
        layer = self._make()
        base = trax_layers().Serial.__mro__[-2]  # trax.layers.base.Layer
        require(layer is not None, "a Trax layer", "None", NO_RETURN)
        found = f"{type(layer).__name__}: {show(str(layer))}"
        require(isinstance(layer, base), "a Trax layer", found, "return the model")
        hint = "two questions in, two vectors out: one combinator runs layers side by side"
        if layer.n_in == 1 and layer.n_out == 1:
            hint = "this is one tower, or towers one after the other: " + hint
        found = f"{layer.n_in} in, {layer.n_out} out"
        require((layer.n_in, layer.n_out) == (2, 2), "2 inputs, 2 outputs", found, hint)
        return layer

    @functools.cached_property
    def _compiled(self):
        """The layer as a function, compiled once: Trax itself compiles the LSTM in each call anew."""
        import jax
        from trax import fastmath, shapes

        rows, layer = np.ones((3, 4), np.int32), self.layer
        layer.init(shapes.signature((rows, rows)), rng=fastmath.random.get_prng(1))
        state = layer.weights, layer.state, layer.rng
        return jax.jit(lambda questions: layer.pure_fn(questions, *state, use_cache=True)[0])

    def vectors(self, q1, q2):
        """(v1, v2), float64, of two lists of three token rows [3, 4]."""
        given = tuple(np.array(q, np.int32) for q in (q1, q2))
        return tuple(np.asarray(v, np.float64) for v in self._compiled(given))

    def layers(self) -> list:
        """All layers inside, combinators included, each object once."""
        found, waiting = [], [self.layer]
        while waiting:
            layer = waiting.pop(0)
            if not any(layer is other for other in found):
                found.append(layer)
                waiting += list(layer.sublayers)
        return found

    def embeddings(self) -> list:
        """The embedding layers; one, where the towers share it."""
        return [layer for layer in self.layers() if type(layer).__name__ == "Embedding"]

    def expect_shared(self) -> None:
        """Raises `Wrong` unless the same question has the same vector in both towers."""
        v1, v2 = self.vectors(ROWS, ROWS)
        same = "the same question has the same vector in both towers"
        found = f"{show(v1[0])} and {show(v2[0])}"
        require(np.allclose(v1, v2, atol=1e-5), same, found, SHARED_HINT)


ROWS = [[3, 4, 5, 1], [6, 7, 8, 9], [2, 2, 3, 1]]


def add_tower_cases(exercise: Exercise, build: Callable) -> None:
    """Adds the cases that every siamese model must pass.

    Args:
      exercise: takes the cases.
      build: function (learner's function, vocab_size, d_model) -> model.
    """

    def case(name):
        def add(check):
            exercise.case(name)(lambda fn: check(functools.partial(towers, fn)))

        return add

    def towers(fn, vocab_size=11, d_model=6) -> Towers:
        make = functools.partial(build, fn, vocab_size, d_model)
        return fn.once((vocab_size, d_model), lambda: Towers(make))

    @case("shape of the vectors")
    def _(towers):
        hints = {
            (3, 4): "the mean runs over the wrong axis: [batch, length, d_model], which one?",
            (4, 6): "the mean runs over the batch: average over the positions",
            (3, 11): "vocab_size and d_model are exchanged",
        }
        for name, vectors in zip(("v1", "v2"), towers().vectors(ROWS, ROWS[::-1])):
            hint = hints.get(vectors.shape, "one vector of d_model numbers for each question")
            if vectors.ndim == 3:
                hint = "the LSTM gives a state for each position: average over the positions"
            right = vectors.shape == (3, 6)
            require(right, f"{name} of shape (3, 6)", f"shape {vectors.shape}", hint)

    @case("both towers share their weights")
    def _(towers):
        towers().expect_shared()
        count = len(towers().embeddings())
        require(count == 1, "one embedding", f"{count} embeddings", SHARED_HINT)

    @case("vectors of length 1")
    def _(towers):
        lengths = np.sqrt((np.concatenate(towers().vectors(ROWS, ROWS[::-1])) ** 2).sum(axis=-1))
        hint = "the tower's last layer makes each row's length 1: is it there, on the right axis?"
        require(np.allclose(lengths, 1, atol=1e-4), "lengths of 1", show(lengths), hint)

    @case("the order of the words counts")
    def _(towers):
        v1, v2 = towers().vectors([[3, 4, 5, 6]] * 3, [[6, 5, 4, 3]] * 3)
        hint = "the same words in another order give the same vector: is the LSTM there?"
        same = np.allclose(v1, v2, atol=1e-6)
        require(not same, "two different vectors", f"twice {show(v1)}", hint)

    @case("each question has its own vector")
    def _(towers):
        v1, v2 = towers().vectors(ROWS, ROWS[::-1])
        own = not np.allclose(v1[0], v1[1], atol=1e-6) and np.allclose(v1, v2[::-1], atol=1e-5)
        hint = "v1 belongs to the first questions, v2 to the second, row by row"
        if v1.shape != (3, 6):
            hint = "look at the shape of the vectors first"
        require(own, "v1 of q1 and v2 of q2", f"{show(v1)} and {show(v2)}", hint)

    @case("vocab_size and d_model are used")
    def _(towers):
        for wanted in ((11, 6), (23, 4)):
            v1, _ = towers(*wanted).vectors(ROWS, ROWS)
            shapes = [np.shape(layer.weights) for layer in towers(*wanted).embeddings()]
            shape, hint = shapes[0] if shapes else None, "use the arguments, not fixed numbers"
            if shape is None:
                hint = "is there an embedding layer?"
            elif shape == wanted[::-1]:
                hint = "vocab_size and d_model are exchanged"
            require(shape == wanted, f"an embedding of shape {wanted}", shape, hint)
            words, right = f"vectors of {wanted[1]} numbers", v1.shape == (3, wanted[1])
            require(right, words, f"shape {v1.shape}", "use d_model in every layer")

    @case("the mean over the positions")
    def _(towers):
        names = [type(layer).__name__ for layer in towers().layers()]
        printed = " ".join(str(towers().layer).split())
        lstm = "the tower needs an LSTM after the embedding"
        mean = "the tower averages the LSTM's states; it does not take the last one or the sum"
        for word, hint in (("LSTM", lstm), ("Mean", mean)):
            require(word in printed or word in names, f"a layer {word}", printed, hint)


check_shared_towers = Exercise(
    "shared_towers(vocab_size, d_model)", "a Trax model of one shared tower.", seconds=60
)
add_tower_cases(check_shared_towers, lambda fn, size, d: fn(size, d))

check_siamese = Exercise(
    "Siamese(vocab_size=41699, d_model=128, mode='train')", "the assignment's model.", seconds=60
)
add_tower_cases(check_siamese, lambda fn, size, d: fn(vocab_size=size, d_model=d))


@check_siamese.case("the printed model")
def _(fn):
    tower = "Serial[ Embedding_11_6 LSTM_6 Mean Normalize ]"
    expected = f"Parallel_in2_out2[ {tower} {tower} ]"
    actual = " ".join(str(Towers(lambda: fn(vocab_size=11, d_model=6)).layer).split())
    hint = "compare name by name"
    if "Normalize" not in actual:
        hint = "the last layer is a tl.Fn with the name 'Normalize'"
    for word in ("Mean", "LSTM_6", "Embedding_11_6", "Parallel"):
        hint = hint if word in actual else f"there is no {word}"
    require(actual == expected, expected, actual, hint)


@check_siamese.case("its default arguments")
def _(fn):
    wanted = [("vocab_size", 41699), ("d_model", 128), ("mode", "train")]
    try:
        signature = inspect.signature(fn.fn)
    except (TypeError, ValueError):
        return
    found = [(name, p.default) for name, p in signature.parameters.items()]
    hint = "the course's arguments in their order"
    require(found[:3] == wanted, check_siamese.signature, f"Siamese{signature}", hint)


@check_siamese.case("mode='eval'")
def _(fn):
    Towers(lambda: fn(vocab_size=11, d_model=6, mode="eval")).expect_shared()


# ---- train_model ----

VOCAB_SIZE, D_MODEL = 13, 4
TRAIN_IDS, VALID_IDS = range(2, 7), range(7, 12)  # a batch shows where it comes from
check_train_model = Exercise(
    "train_model(Siamese, TripletLoss, train_generator, val_generator, output_dir='model/')",
    "a training.Loop that is ready to run.",
    seconds=120,
)


class _Run:
    """What the learner's train_model made of a small model, and what it asked for."""

    def __init__(self, fn):
        self.layers = trax_layers()
        self.folder = tempfile.TemporaryDirectory(prefix="check-")
        self.output_dir = os.path.join(self.folder.name, "run")
        self.called: set[str] = set()
        train, valid = self._batches(TRAIN_IDS), self._batches(VALID_IDS)
        parts = self._siamese, self._triplet_loss, *_schedule(fn.fn), train, valid
        self.loop = fn(*parts, self.output_dir)

    def _siamese(self):
        self.called.add("Siamese")
        tl = self.layers
        from trax.fastmath import numpy as fastnp

        def unit(x):
            return x / fastnp.sqrt(fastnp.sum(x * x, axis=-1, keepdims=True))

        embedding = tl.Embedding(VOCAB_SIZE, D_MODEL)
        tower = tl.Serial(embedding, tl.Mean(axis=1), tl.Fn("Normalize", unit))
        return tl.Parallel(tower, tower)

    def _triplet_loss(self):
        self.called.add("TripletLoss")
        from trax.fastmath import numpy as fastnp

        def loss(v1, v2):
            scores = fastnp.dot(v1, v2.T)
            return fastnp.mean(scores) - fastnp.mean(fastnp.diagonal(scores))

        return self.layers.Fn("TripletLoss", loss)

    def _batches(self, ids):
        draw = np.random.default_rng(1)
        while True:
            yield tuple(draw.choice(ids, (2, 6, 4)).astype(np.int32))

    @property
    def task(self):
        """The training task."""
        return self.loop.tasks[0]

    @property
    def eval_task(self):
        """The evaluation task, None where there is not exactly one."""
        tasks = self.loop.eval_tasks or []
        return tasks[0] if len(tasks) == 1 else None


def _schedule(fn) -> list:
    """The learning rate's schedule, where the function takes it third, as the notebook of 2020 does."""
    with contextlib.suppress(TypeError, ValueError):
        if list(inspect.signature(fn).parameters)[2:3] == ["lr_schedule"]:
            from trax import lr

            return [lr.warmup_and_rsqrt_decay(400, 0.01)]
    return []


def _run(fn) -> _Run:
    """The learner's run with its loop, made once for all cases."""
    run = fn.once("run", lambda: _Run(fn))
    from trax.supervised import training

    require(run.loop is not None, "a training.Loop", "None", NO_RETURN)
    hint = "return the training.Loop itself, made of the tasks"
    if isinstance(run.loop, type):
        hint = "this is a class: call it to make the loop"
    right = isinstance(run.loop, training.Loop)
    require(right, "a training.Loop", type(run.loop).__name__, hint)
    return run


def _leaves(weights) -> list[np.ndarray]:
    if isinstance(weights, (tuple, list)):
        return [leaf for part in weights for leaf in _leaves(part)]
    return [np.array(weights)] if np.ndim(weights) else []


def _tokens(task) -> str:
    """Which of the two generators a task's batches come from."""
    tokens = np.asarray(task.sample_batch[0])
    kinds = {"train_generator": TRAIN_IDS, "val_generator": VALID_IDS}
    return next(
        (name for name, ids in kinds.items() if np.isin(tokens, ids).all()), show(tokens[0])
    )


# Case -> facts: (what it is, function run -> what it is there, what it must be, hint).
LOOP_FACTS = {
    "it returns the training loop": [],
    "it has not trained yet": [
        ("step", lambda run: run.loop.step, 0, "the caller runs the loop: return it without run()"),
    ],
    "the model and the loss that were passed": [
        ("called", lambda run: sorted(run.called), ["Siamese", "TripletLoss"],
         "Siamese and TripletLoss are arguments and functions: call them to make the layers"),
        ("embedding", lambda run: np.shape(max(_leaves(run.loop.model.weights), key=np.size)),
         (VOCAB_SIZE, D_MODEL), "the loop trains another model than Siamese() gives"),
        ("loss layer", lambda run: run.task.loss_layer.name, "TripletLoss",
         "the task's loss_layer is TripletLoss()"),
    ],
    "training on the training batches": [
        ("batches of", lambda run: _tokens(run.task), "train_generator",
         "labeled_data of the TrainTask is train_generator: the two generators are exchanged, or the "
         "validation batches train the model"),
    ],
    "evaluation on the validation batches": [
        ("evaluation tasks", lambda run: len(run.loop.eval_tasks or []), 1, "give the loop eval_tasks"),
        ("batches of", lambda run: _tokens(run.eval_task), "val_generator",
         "labeled_data of the EvalTask is val_generator, not the training batches"),
        ("metrics", lambda run: [metric.name for metric in run.eval_task.metrics], ["TripletLoss"],
         "the metric is the loss: [TripletLoss()]"),
    ],
    "Adam": [
        ("the optimizer", lambda run: type(run.task.optimizer).__name__, "Adam",
         "the assignment trains with trax.optimizers.Adam"),
        ("its own learning rate", lambda run: run.task.optimizer.opt_params["learning_rate"], 0.01,
         "the assignment's optimizer is Adam(0.01), the highest rate of its schedule"),
    ],
    "output_dir": [
        ("output_dir", lambda run: os.path.abspath(run.loop.output_dir or "None") == run.output_dir, True,
         "hand the argument output_dir on to the loop"),
    ],
}  # fmt: skip


def _add_facts(case: str, facts: list) -> None:
    @check_train_model.case(case)
    def _(fn):
        run = _run(fn)
        for what, read, wanted, hint in facts:
            actual = read(run)
            require(actual == wanted, f"{what} {wanted}", f"{what} {actual}", hint)


for _case, _facts in LOOP_FACTS.items():
    _add_facts(_case, _facts)


@check_train_model.case("the learning rate")
def _(fn):
    rate, steps = _run(fn).task.learning_rate, np.array([1, 100, 400, 1600, 6400])
    actual = np.array([float(rate(int(step))) for step in steps])
    wanted = 0.01 * np.minimum(steps / 400, np.sqrt(400 / steps))
    hint = "warm-up over 400 steps to 0.01, then as 1 / sqrt(step)"
    if np.allclose(actual, actual[0]):
        hint = "it stays the same: give the TrainTask an lr_schedule"
    elif np.allclose(actual / actual.max(), wanted / wanted.max(), rtol=0.02):
        hint = "the shape is right, the highest learning rate is not 0.01"
    elif actual[2] < actual[3]:
        hint = "the warm-up is longer than 400 steps"
    right = np.allclose(actual, wanted, rtol=0.02, atol=1e-6)
    require(right, f"{show(wanted)} at steps {show(steps)}", show(actual), hint)


@check_train_model.case("two steps")
def _(fn):
    loop = _run(fn).loop
    start, before = loop.step, _leaves(loop.model.weights)
    loop.run(2)
    require(loop.step == start + 2, f"step {start + 2} after run(2)", f"step {loop.step}")
    if all(map(np.array_equal, before, _leaves(loop.model.weights))):
        raise Wrong("other weights after two steps", "the same weights", "is the learning rate 0?")
