"""Rows of length 1, two towers that are one, the assignment's model, and the loop that trains it."""

from __future__ import annotations

import inspect
import linecache
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from .engine import Case, Exercise, call
from .results import Fault, require, show
from .submission import Function, Learner, Watched

if TYPE_CHECKING:
    import jax
    from trax.layers import Layer
    from trax.supervised.training import EvalTask, Loop, TrainTask

Shape: TypeAlias = tuple[int, ...]
Sides: TypeAlias = "tuple[jax.Array, jax.Array]"  # one array for each question


def _unit(fn: Watched, x: np.ndarray, compiled: bool = False) -> np.ndarray:
    """The rows, or those of a compiled Trax layer."""
    if compiled and isinstance(fn, Learner):
        import jax
        from trax import layers as tl

        layer = tl.Fn("Normalize", lambda x: fn.fn(x))
        return call(lambda: jax.jit(lambda x: layer(x))(x))
    return call(fn, x)


check_normalize = Exercise(
    "normalize",
    [
        Case("two rows of five", (np.array([[0.77, 0.02, 0.63, 0.75], [0.22, 0.2, 0.76, 0.17]]),)),
        Case("negative numbers", (np.array([[-3.0, 4], [-5, -12], [0.5, -0.5]]),)),
        Case("a square matrix", (np.array([[3.0, 4, 0], [0, 5, 12], [8, 0, 15]]),)),
        Case("one row", (np.array([[0.0, 3, 4]]),)),
        Case("rows of length 1 already", (np.array([[0.6, -0.8], [1, 0]]),)),
        Case("inside a Trax layer, compiled", (np.array([[3.0, 4, 0], [0, 5, 12]]),), {"compiled": True}),
    ],
    observe=_unit,
)  # fmt: skip

# ---- Two towers that are one ----

# Row 0 is the same question on both sides, row 3 the same words in two orders; two
# others stand in both.
_Q1 = [[3, 4, 5, 1], [6, 7, 8, 9], [2, 2, 3, 1], [3, 4, 5, 6], [10, 9, 1, 1]]
_Q2 = [[3, 4, 5, 1], [2, 2, 3, 1], [10, 9, 1, 1], [6, 5, 4, 3], [7, 1, 1, 1]]


def _built(fn: Function, **options: object) -> Layer:
    """A learner's model; Fault where it is no Trax layer of two inputs and two outputs."""
    from trax import layers as tl

    model = fn(**options)
    if not isinstance(model, tl.Layer):
        what = f"{type(model).__name__}: {show(str(model))}"
        if model is None:
            what = "None"
        raise Fault(what, "return the model: a Trax layer")
    if (model.n_in, model.n_out) != (2, 2):
        hint = (
            "two questions in, two vectors out: one combinator runs layers side by side"
        )
        if model.n_in == model.n_out == 1:
            hint = f"this is one tower, or towers one after the other: {hint}"
        raise Fault(f"{model.n_in} in, {model.n_out} out", hint)
    return model


def _leaves(layer: Layer) -> list[Layer]:
    """The layers that hold no others, in order; an LSTM is one."""
    inside = [] if layer.name.startswith(("LSTM", "GRU")) else layer.sublayers
    return [leaf for sub in inside for leaf in _leaves(sub)] or [layer]


def _structure(fn: Watched) -> str:
    """The layers of a model: their names, modes, effect on a fixed array, and which are one object."""
    mode = {"mode": "predict"} if "mode" in inspect.signature(fn.fn).parameters else {}
    leaves = _leaves(_built(fn, vocab_size=23, d_model=4, **mode))
    descriptions = []
    for leaf in leaves:
        modes = [part._mode for part in leaf.sublayers if hasattr(part, "_mode")]
        effect: object = ""
        if hasattr(leaf, "_forward_fn") and leaf.n_in == 1:
            try:
                output = leaf._forward_fn(np.sin(np.arange(60.0)).reshape(2, 5, 6))
                effect = np.round(np.asarray(output, float), 3).tolist()
            except Exception as error:
                effect = type(error).__name__
        descriptions.append(f"{leaves.index(leaf)} {leaf.name} {modes} {effect}")
    return "; ".join(descriptions)


def _returning(layer: Layer) -> None:
    """Makes the function of a layer raise `Fault` where it returns nothing."""
    function = layer._forward_fn

    def checked(*inputs: jax.Array) -> object:
        output = function(*inputs)
        if output is not None:
            return output
        # The learner's function is in the closure of Trax's own.
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        functions = [cell for cell in cells if inspect.isfunction(cell)]
        code = (functions or [function])[0].__code__
        line = linecache.getline(code.co_filename, code.co_firstlineno).strip()
        raise Fault(
            f"the layer {layer.name} returns None\nin line {code.co_firstlineno}: {line}",
            f"is `return` missing in the function of the layer {layer.name}?",
        )

    layer._forward_fn = checked


def _shapes(
    model: Layer,
) -> tuple[tuple[object, object], list[Shape], Callable[[object, object], Sides]]:
    """Weights and state, as shapes; a pair of shapes of the outputs; and a function that runs the model."""
    import jax
    from trax import shapes

    for leaf in _leaves(model):
        if hasattr(leaf, "_forward_fn"):
            _returning(leaf)
    pair = (np.array(_Q1, np.int32), np.array(_Q2, np.int32))
    key = np.zeros(2, np.uint32)
    weights_and_state = jax.eval_shape(
        lambda: model.init(shapes.signature(pair), rng=key)
    )

    def run(weights: object, state: object) -> Sides:
        outputs, _ = model.pure_fn(pair, weights, state, key, use_cache=True)
        return outputs

    outputs = jax.eval_shape(run, *weights_and_state)
    return weights_and_state, [output.shape for output in outputs], run


@lru_cache(1)  # for all cases
def _facts(fn: Watched) -> dict[str, object]:
    """Case -> its result, of a model whose weights are known numbers."""
    import jax

    draw = np.random.default_rng(1)
    weights_and_state, _, run = _shapes(_built(fn, vocab_size=11, d_model=6))
    weights, state = jax.tree.map(
        lambda leaf: draw.normal(size=leaf.shape).astype(np.float32), weights_and_state
    )
    v1, v2 = (np.asarray(v, np.float64) for v in jax.jit(run)(weights, state))
    both = np.concatenate([v1, v2])
    hint = "all questions have the same vectors: does the function use its argument?"
    require(len(both) < 2 or np.ptp(both, axis=0).max() >= 1e-6, show(v1), hint)
    lengths = np.sqrt((v1 * v1).sum(axis=-1))
    shared = v1.shape == v2.shape and np.allclose(v1[0], v2[0], atol=1e-5)
    other = _built(fn, vocab_size=23, d_model=4)
    _, other_shapes, _ = _shapes(other)
    facts = (
        f"v1 {v1.shape}, v2 {v2.shape}",
        "equal vectors" if shared else f"{show(v1[0])} and {show(v2[0])}",
        "1" if np.allclose(lengths, 1, atol=1e-4) else show(lengths),
        [v1, v2],
        f"{_leaves(other)[0].name}, vectors {other_shapes}",
    )
    return dict(zip(_NAMES, facts))


_NAMES = (
    "shape of the vectors",
    "one question on both sides",
    "lengths of the vectors",
    "the vectors",
    "another vocab_size and d_model",
)
_TOWER_CASES = [Case(name, (name,)) for name in _NAMES]

check_shared_towers = Exercise(
    "shared_towers",
    _TOWER_CASES,
    observe=lambda fn, n: _facts(fn)[n],
    trace=_structure,
    stays=False,
)

# ---- Siamese ----

_ARGUMENTS = "vocab_size=41699, d_model=128, mode='train'"


def _assignment_fact(fn: Watched, name: str) -> object:
    if name == "its default arguments":
        three = list(inspect.signature(fn.fn).parameters.values())[:3]
        text = ", ".join(str(p.replace(annotation=p.empty)) for p in three)
        hint = "the course's arguments, with their defaults and in their order"
        require(text == _ARGUMENTS, text, hint)
        return text
    if name == "the printed model":
        model = _built(fn, vocab_size=11, d_model=6)
        printed = " ".join(str(model).split())
        hint = "the model is tl.Parallel itself: no tl.Serial around it"
        require(model.name != "Serial" or len(model.sublayers) > 1, printed, hint)
        return printed
    if name == "mode='predict'":
        return re.sub(r".*?LSTM\S* (\S+).*", r"the LSTM's mode: \1", _structure(fn))
    return _facts(fn)[name]


_MORE = [
    Case(n, (n,))
    for n in ("the printed model", "its default arguments", "mode='predict'")
]
check_siamese = Exercise(
    "Siamese",
    [*_TOWER_CASES, *_MORE],
    observe=_assignment_fact,
    trace=_structure,
    stays=False,
)

# ---- train_model ----

# Token ids: a batch shows where it comes from.
_TRAIN = range(2, 7)
_VALID = range(7, 12)


def _batches(ids: range) -> Iterator[tuple[np.ndarray, ...]]:
    draw = np.random.default_rng(1)
    while True:
        yield tuple(draw.choice(ids, (2, 6, 4)).astype(np.int32))


def _small_model() -> Layer:
    from trax import layers as tl

    tower = tl.Serial(tl.Embedding(13, 4), tl.Mean(axis=1))
    return tl.Parallel(tower, tower)


def _small_loss() -> Layer:
    from trax import layers as tl

    return tl.Fn("TripletLoss", lambda v1, v2: ((v1 - v2) ** 2).mean())


def _source(task: TrainTask | EvalTask) -> str:
    """Which of the two generators a task's batches come from."""
    is_training = np.isin(task.sample_batch[0], _TRAIN).all()
    return "train_generator" if is_training else "val_generator"


@lru_cache(1)  # for all cases
def _loop(fn: Watched) -> dict[str, str]:
    """Case -> what the learner's training loop shows, in words."""
    with tempfile.TemporaryDirectory(prefix="check-") as folder:
        output_dir = os.path.join(folder, "run")
        loop = _returned_loop(fn.fn, output_dir)
        in_output_dir = os.path.abspath(loop.output_dir or "None") == output_dir
    task = loop.tasks[0]
    embedding = max(np.shape(leaf.weights) for leaf in _leaves(loop.model))
    optimizer = task.optimizer
    metrics = [
        f"{_source(eval_task)} with {metric.name}"
        for eval_task in loop.eval_tasks or []
        for metric in eval_task.metrics
    ]
    facts = (
        "step 0",
        f"embedding {embedding}, loss layer {task.loss_layer.name}",
        _source(task),
        ", ".join(metrics),
        f"{type(optimizer).__name__}({optimizer.opt_params['learning_rate']:.4g})",
        "output_dir" if in_output_dir else str(loop.output_dir),
        _learning_rates(task),
    )
    return dict(zip(_FACTS, facts))


def _returned_loop(train_model: Function, output_dir: str) -> Loop:
    """What the learner's function returns for small parts; Fault where it is no loop at step 0."""
    from trax import lr
    from trax.supervised import training

    parts: list[object] = [
        _small_model,
        _small_loss,
        _batches(_TRAIN),
        _batches(_VALID),
    ]
    third = [*inspect.signature(train_model).parameters][2:3]
    if third == ["lr_schedule"]:  # the notebook of 2020
        parts.insert(2, lr.warmup_and_rsqrt_decay(400, 0.01))
    loop = train_model(*parts, output_dir)
    hint = "like loop.run(), it gives nothing: is `return` missing?"
    require(loop is not None, "None", hint)
    hint = "return the training.Loop itself, made of the tasks"
    if not isinstance(loop, training.Loop):
        raise Fault(type(loop).__name__, hint)
    hint = "the caller runs the loop: return it without run()"
    require(not loop.step, f"step {loop.step}", hint)
    return loop


def _learning_rates(task: TrainTask) -> str:
    """The task's rates at five steps, as multiples of the course's."""
    steps = np.array([1, 100, 400, 1600, 6400])
    rates = [float(task.learning_rate(int(step))) for step in steps]
    shares = rates / (0.01 * np.minimum(steps / 400, np.sqrt(400 / steps)))
    return f"times {', '.join(f'{share:.1f}' for share in shares)} of what is asked for"


_FACTS = (
    "it returns a loop that has not trained yet",
    "the model and the loss are those that were passed",
    "training on the training batches",
    "evaluation on the validation batches",
    "Adam",
    "output_dir",
    "the learning rate at steps 1, 100, 400, 1600 and 6400",
)
# An error names the functions as the exercise does.
_small_model.__qualname__ = "Siamese"
_small_loss.__qualname__ = "TripletLoss"
check_train_model = Exercise(
    "train_model",
    [Case(name, (name,)) for name in _FACTS],
    observe=lambda fn, name: _loop(fn)[name],
    stays=False,
)
