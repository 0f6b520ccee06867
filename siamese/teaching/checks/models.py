"""Checks of models and of their training: shared_towers (notebook 02), Siamese and train_model (04)."""

from __future__ import annotations

import functools
import inspect
import os
import tempfile

import numpy as np

from .compare import NO_RETURN, Wrong, require, show
from .score import Exercise, trax_layers

SHARED_HINT = (
    "the two towers have weights of their own: make one tower, and use that same object twice"
)


# ---- shared_towers and Siamese: two towers that are one, and vectors of length 1 ----

ROWS = [[3, 4, 5, 1], [6, 7, 8, 9], [2, 2, 3, 1]]


class Towers:
    """A model made by the learner, known to be a layer of two inputs and two outputs."""

    def __init__(self, layer):
        base = trax_layers().Serial.__mro__[-2]  # trax.layers.base.Layer
        require(layer is not None, "a Trax layer", "None", NO_RETURN)
        found = f"{type(layer).__name__}: {show(str(layer))}"
        require(isinstance(layer, base), "a Trax layer", found, "return the model")
        hint = "two questions in, two vectors out: one combinator runs layers side by side"
        if layer.n_in == 1 and layer.n_out == 1:
            hint = "this is one tower, or towers one after the other: " + hint
        found = f"{layer.n_in} in, {layer.n_out} out"
        require((layer.n_in, layer.n_out) == (2, 2), "2 inputs, 2 outputs", found, hint)
        self.layer, self.printed = layer, " ".join(str(layer).split())
        self.layers, waiting = [], [layer]  # all inside, combinators included, each object once
        while waiting:
            layer = waiting.pop(0)
            if not any(layer is other for other in self.layers):
                self.layers.append(layer)
                waiting += list(layer.sublayers)
        self.names = [type(layer).__name__ for layer in self.layers]
        self.embeddings = [x for x in self.layers if type(x).__name__ == "Embedding"]

    @functools.cached_property
    def _compiled(self):
        """The layer as a function, compiled once: Trax itself compiles the LSTM in each call anew."""
        import jax
        from trax import fastmath, shapes

        rows, layer = np.ones((3, 4), np.int32), self.layer
        layer.init(shapes.signature((rows, rows)), rng=fastmath.random.get_prng(1))
        state = layer.weights, layer.state, layer.rng
        run = jax.jit(lambda given, *state: layer.pure_fn(given, *state, use_cache=True)[0])
        return lambda questions: run(questions, *state)

    def vectors(self, q1=ROWS, q2=ROWS[::-1]):
        """(v1, v2), float64, of two lists of three token rows [3, 4]."""
        given = tuple(np.array(q, np.int32) for q in (q1, q2))
        return tuple(np.asarray(v, np.float64) for v in self._compiled(given))

    def expect_shared(self) -> None:
        """Raises `Wrong` unless the same question has the same vector in both towers."""
        v1, v2 = self.vectors(ROWS, ROWS)
        same = "the same question has the same vector in both towers"
        found = f"{show(v1[0])} and {show(v2[0])}"
        require(np.allclose(v1, v2, atol=1e-5), same, found, SHARED_HINT)


def _shape(towers):
    hints = {
        (3, 4): "the mean runs over the wrong axis: [batch, length, d_model], which one?",
        (4, 6): "the mean runs over the batch: average over the positions",
        (3, 11): "vocab_size and d_model are exchanged",
    }
    for name, vectors in zip(("v1", "v2"), towers().vectors()):
        hint = hints.get(vectors.shape, "one vector of d_model numbers for each question")
        if vectors.ndim == 3:
            hint = "the LSTM gives a state for each position: average over the positions"
        right = vectors.shape == (3, 6)
        require(right, f"{name} of shape (3, 6)", f"shape {vectors.shape}", hint)


def _shared(towers):
    towers().expect_shared()
    count = len(towers().embeddings)
    require(count == 1, "one embedding", f"{count} embeddings", SHARED_HINT)


def _unit(towers):
    lengths = np.sqrt((np.concatenate(towers().vectors()) ** 2).sum(axis=-1))
    hint = "the tower's last layer makes each row's length 1: is it there, on the right axis?"
    require(np.allclose(lengths, 1, atol=1e-4), "lengths of 1", show(lengths), hint)


def _order(towers):
    v1, v2 = towers().vectors([[3, 4, 5, 6]] * 3, [[6, 5, 4, 3]] * 3)
    hint = "the same words in another order give the same vector: is the LSTM there?"
    require(not np.allclose(v1, v2, atol=1e-6), "two different vectors", f"twice {show(v1)}", hint)


def _own_vectors(towers):
    v1, v2 = towers().vectors(ROWS, [*ROWS[1:], ROWS[0]])  # Exchanged sides are seen too.
    own = not np.allclose(v1[0], v1[1], atol=1e-6)
    own = own and np.allclose(np.roll(v1, -1, axis=0), v2, atol=1e-5)
    hint = "v1 belongs to the first questions, v2 to the second, row by row"
    if v1.shape != (3, 6):
        hint = "look at the shape of the vectors first"
    require(own, "v1 of q1 and v2 of q2", f"{show(v1)} and {show(v2)}", hint)


def _arguments(towers):
    for wanted in ((11, 6), (23, 4)):
        made = towers(*wanted)
        v1, _ = made.vectors()
        shape = np.shape(made.embeddings[0].weights) if made.embeddings else None
        hint = "use the arguments, not fixed numbers"
        if shape == wanted[::-1]:
            hint = "vocab_size and d_model are exchanged"
        require(shape == wanted, f"an embedding of shape {wanted}", shape, hint)
        words, right = f"vectors of {wanted[1]} numbers", v1.shape == (3, wanted[1])
        require(right, words, f"shape {v1.shape}", "use d_model in every layer")


def _mean(towers):
    lstm = "the tower needs an LSTM after the embedding"
    mean = "the tower averages the LSTM's states; it does not take the last one or the sum"
    for word, hint in (("LSTM", lstm), ("Mean", mean)):
        there = word in towers().printed or word in towers().names
        require(there, f"a layer {word}", towers().printed, hint)


TOWER_CASES = [
    ("shape of the vectors", _shape),
    ("both towers share their weights", _shared),
    ("vectors of length 1", _unit),
    ("the order of the words counts", _order),
    ("each question has its own vector", _own_vectors),
    ("vocab_size and d_model are used", _arguments),
    ("the mean over the positions", _mean),
]


def _on_towers(fn, case, *, keywords):
    def towers(*sizes):
        given = dict(zip(("vocab_size", "d_model"), sizes or (11, 6)))
        return fn.once(sizes, lambda: Towers(fn(**given) if keywords else fn(*given.values())))

    case(towers)


check_shared_towers = Exercise(
    "shared_towers(vocab_size, d_model)", "a Trax model of one shared tower.", seconds=60
)
check_shared_towers.table(TOWER_CASES, _on_towers, keywords=False)

check_siamese = Exercise(
    "Siamese(vocab_size=41699, d_model=128, mode='train')", "the assignment's model.", seconds=60
)
check_siamese.table(TOWER_CASES, _on_towers, keywords=True)


@check_siamese.case("the printed model")
def _(fn):
    tower = "Serial[ Embedding_11_6 LSTM_6 Mean Normalize ]"
    expected = f"Parallel_in2_out2[ {tower} {tower} ]"
    actual = Towers(fn(vocab_size=11, d_model=6)).printed
    hint = ""
    if "Normalize" not in actual:
        hint = "the last layer is a tl.Fn with the name 'Normalize'"
    for word in ("Mean", "LSTM_6", "Embedding_11_6", "Parallel"):
        hint = hint if word in actual else f"there is no {word}"
    require(actual == expected, expected, actual, hint or "compare name by name")


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
    Towers(fn(vocab_size=11, d_model=6, mode="eval")).expect_shared()


# ---- train_model ----

VOCAB_SIZE, D_MODEL = 13, 4
TRAIN_IDS, VALID_IDS = range(2, 7), range(7, 12)  # a batch shows where it comes from
check_train_model = Exercise(
    "train_model(Siamese, TripletLoss, train_generator, val_generator, output_dir='model/')",
    "a training.Loop that is ready to run.",
    seconds=120,
    uses_trax=True,
)


class _Run:
    """What the learner's train_model made of a small model, and what it asked for."""

    def __init__(self, fn):
        from trax import lr
        from trax.supervised import training

        self.folder = tempfile.TemporaryDirectory(prefix="check-")
        self.output_dir = os.path.join(self.folder.name, "run")
        self.called: set[str] = set()
        parts = [self._siamese, self._triplet_loss, _batches(TRAIN_IDS), _batches(VALID_IDS)]
        if list(inspect.signature(fn.fn).parameters)[2:3] == ["lr_schedule"]:
            # As the notebook of 2020 has it.
            parts.insert(2, lr.warmup_and_rsqrt_decay(400, 0.01))
        loop = fn(*parts, self.output_dir)
        require(loop is not None, "a training.Loop", "None", NO_RETURN)
        right = isinstance(loop, training.Loop)
        hint = "return the training.Loop itself, made of the tasks"
        require(right, "a training.Loop", type(loop).__name__, hint)
        self.loop, self.task = loop, loop.tasks[0]
        self.eval_tasks = loop.eval_tasks or []

    def _siamese(self):
        self.called.add("Siamese")
        tl = trax_layers()
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

        return trax_layers().Fn("TripletLoss", loss)


def _batches(ids):
    draw = np.random.default_rng(1)
    while True:
        yield tuple(draw.choice(ids, (2, 6, 4)).astype(np.int32))


def _run(fn) -> _Run:
    """The learner's run with its loop, made once for all cases."""
    return fn.once("run", lambda: _Run(fn))


def _leaves(weights) -> list[np.ndarray]:
    import jax

    return [np.array(leaf) for leaf in jax.tree_util.tree_leaves(weights)]


def _tokens(task) -> str:
    """Which of the two generators a task's batches come from."""
    in_training = np.isin(np.asarray(task.sample_batch[0]), TRAIN_IDS)
    return "train_generator" if in_training.all() else "val_generator"


def _expect_facts(fn, *facts):
    run = _run(fn)
    for what, read, wanted, hint in facts:
        actual = read(run)
        require(actual == wanted, f"{what} {wanted}", f"{what} {actual}", hint)


# Case, then facts: (what it is, function run -> what it is there, what it must be, hint).
LOOP_FACTS = (
    ("it returns the training loop",),
    ("it has not trained yet",
        ("step", lambda run: run.loop.step, 0, "the caller runs the loop: return it without run()"),
    ),
    ("the model and the loss that were passed",
        ("called", lambda run: sorted(run.called), ["Siamese", "TripletLoss"],
         "Siamese and TripletLoss are arguments and functions: call them to make the layers"),
        ("embedding", lambda run: np.shape(max(_leaves(run.loop.model.weights), key=np.size)),
         (VOCAB_SIZE, D_MODEL), "the loop trains another model than Siamese() gives"),
        ("loss layer", lambda run: run.task.loss_layer.name, "TripletLoss",
         "the task's loss_layer is TripletLoss()"),
    ),
    ("training on the training batches",
        ("batches of", lambda run: _tokens(run.task), "train_generator",
         "labeled_data of the TrainTask is train_generator: the two generators are exchanged, or the "
         "validation batches train the model"),
    ),
    ("evaluation on the validation batches",
        ("evaluation tasks", lambda run: len(run.eval_tasks), 1, "give the loop eval_tasks"),
        ("batches of", lambda run: _tokens(run.eval_tasks[0]), "val_generator",
         "labeled_data of the EvalTask is val_generator, not the training batches"),
        ("metrics", lambda run: [metric.name for metric in run.eval_tasks[0].metrics], ["TripletLoss"],
         "the metric is the loss: [TripletLoss()]"),
    ),
    ("Adam",
        ("the optimizer", lambda run: type(run.task.optimizer).__name__, "Adam",
         "the assignment trains with trax.optimizers.Adam"),
        ("its own learning rate", lambda run: run.task.optimizer.opt_params["learning_rate"], 0.01,
         "the assignment's optimizer is Adam(0.01), the highest rate of its schedule"),
    ),
    ("output_dir",
        ("output_dir", lambda run: os.path.abspath(run.loop.output_dir or "None") == run.output_dir, True,
         "hand the argument output_dir on to the loop"),
    ),
)  # fmt: skip
check_train_model.table(LOOP_FACTS, _expect_facts)


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
    elif actual.max() > 1:
        hint = (
            "a learning rate above 1: are its two numbers exchanged? The warm-up's steps come first"
        )
    elif np.isclose(actual[2], actual[-1], rtol=0.05):
        hint = "after the warm-up it stays the same: it falls as 1 / sqrt(step)"
    elif actual[2] < actual[3]:
        hint = "the warm-up is longer than 400 steps"
    elif actual[1] > 1.1 * wanted[1]:
        hint = "the warm-up is shorter than 400 steps"
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
