"""Checks of the model: normalize and shared_towers (notebook 02), Siamese (notebook 04)."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np

from .expect import expect_close, expect_unchanged, show
from .learner import once
from .score import Exercise, Score, Wrong

# ---- normalize ----

normal = Exercise("normalize", "normalize(x)")


def unit_rows(x):
    """The reference, as a loop over rows."""
    return np.array([row / np.sqrt(sum(number * number for number in row)) for row in x])


def _normal_mistakes(x):
    lengths = np.sqrt((x * x).sum(axis=1))
    found = [
        (x / np.sqrt((x * x).sum(axis=0)), "the columns have length 1: normalise the rows"),
        (x / np.sqrt((x * x).sum()), "one length for the whole batch: each row has its own"),
        (
            x / (x * x).sum(axis=1, keepdims=True),
            "divided by the squared length: a root is missing",
        ),
        (
            x / np.abs(x).sum(axis=1, keepdims=True),
            "divided by the sum of absolute values: a length is the root of the sum of squares",
        ),
        (x / x.sum(axis=1, keepdims=True), "divided by the sum: a length is the root of squares"),
        (
            x / np.abs(x).max(axis=1, keepdims=True),
            "divided by the largest entry, not by the length",
        ),
        (
            x / np.sqrt((x * x).mean(axis=1, keepdims=True)),
            "the mean of the squares, not their sum",
        ),
        (lengths, "these are the rows' lengths: divide the rows by them"),
        (x, "the rows are as they were"),
    ]
    if x.shape[0] == x.shape[1]:
        found.append(
            (
                x / lengths,
                "row i was divided by the length of row j: lengths [batch] meet x [batch, d], and "
                "broadcasting lines them up with the columns",
            )
        )
    return found


def _normal_case(name, x, hint=""):
    x = np.array(x, float)

    @normal.case(name)
    def _(fn):
        given = x.copy()
        expect_close(fn(given), unit_rows(x), hint, mistakes=_normal_mistakes(x))
        expect_unchanged("x", x, given)


_normal_case("two rows of five", [[0.77, 0.02, 0.63, 0.75, 0.5], [0.22, 0.2, 0.76, 0.17, 0.09]])
_normal_case(
    "a square matrix", [[3.0, 4.0, 0.0], [0.0, 5.0, 12.0], [8.0, 0.0, 15.0]], "does it broadcast?"
)
_normal_case("negative numbers", [[-3.0, 4.0], [-5.0, -12.0], [0.5, -0.5]], "the signs stay")
_normal_case("one row", [[0.0, 3.0, 4.0]])
_normal_case("rows of length 1 already", [[0.6, -0.8], [1.0, 0.0]], "these stay as they are")


@normal.case("inside a Trax layer, compiled")
def _(fn):
    import jax

    tl = trax_layers()
    x = np.array([[3.0, 4.0, 0.0], [0.0, 5.0, 12.0]], np.float32)
    layer = tl.Fn("Normalize", lambda x: fn(x))
    came = jax.jit(lambda x: layer(x))(x)
    expect_close(came, unit_rows(x), mistakes=_normal_mistakes(x))


def check_normalize(fn) -> Score:
    """Checks ``normalize(x)``: float [batch, d] -> the same with rows of length 1; runs compiled."""
    return normal.check(fn)


# ---- The towers ----


def trax_layers():
    """`trax.layers`, imported the quick way where siamese is there to ease it."""
    try:
        from siamese import compat

        compat.prepare()
    except ImportError:
        pass
    from trax import layers

    return layers


class Towers:
    """A model made by the learner, initialised once: its vectors, weights and printed form."""

    def __init__(self, make: Callable):
        self._make = once(make)
        self._ready = once(self._initialise)

    def layer(self):
        """The layer as the learner made it, known to be a layer of two inputs and two outputs."""
        layer = self._make()
        base = trax_layers().Serial.__mro__[-2]  # trax.layers.base.Layer
        if layer is None:
            raise Wrong(
                "a Trax layer", "None", "the function returned nothing: is `return` missing?"
            )
        if not isinstance(layer, base):
            raise Wrong(
                "a Trax layer", f"{type(layer).__name__}: {show(str(layer))}", "return the model"
            )
        if (layer.n_in, layer.n_out) != (2, 2):
            hint = "two questions in, two vectors out: one combinator runs layers side by side"
            if layer.n_in == 1 and layer.n_out == 1:
                hint = "this is one tower, or towers one after the other: " + hint
            raise Wrong("2 inputs, 2 outputs", f"{layer.n_in} in, {layer.n_out} out", hint)
        return layer

    def _initialise(self):
        from trax import fastmath, shapes

        layer = self.layer()
        rows = np.ones((3, 4), np.int32)
        layer.init(shapes.signature((rows, rows)), rng=fastmath.random.get_prng(1))
        return layer

    def vectors(self, q1, q2):
        """(v1, v2) of two lists of token rows, as float64 arrays."""
        given = tuple(np.array(q, np.int32) for q in (q1, q2))
        return tuple(np.asarray(v, np.float64) for v in self._ready()(given))

    def layers(self) -> list:
        """All layers inside, combinators included, each object once."""
        found: list = []
        waiting = [self.layer()]
        while waiting:
            layer = waiting.pop(0)
            if not any(layer is other for other in found):
                found.append(layer)
                waiting += list(layer.sublayers)
        return found

    def embedding_shape(self) -> tuple | None:
        """The shape of the embedding's weights."""
        self._ready()
        for layer in self.layers():
            if type(layer).__name__ == "Embedding" and hasattr(layer.weights, "shape"):
                return tuple(layer.weights.shape)
        return None


SHARED_HINT = (
    "the two towers have weights of their own: make one tower, and use that same object twice"
)


def add_tower_cases(exercise: Exercise, build: Callable) -> None:
    """Adds the cases that every siamese model must pass.

    Args:
      exercise: takes the cases.
      build: function (learner's function, vocab_size, d_model) -> model.
    """

    def towers(fn, vocab_size=11, d_model=6) -> Towers:
        key = (vocab_size, d_model)
        if key not in fn.memo:
            fn.memo[key] = Towers(lambda: build(fn, vocab_size, d_model))
        return fn.memo[key]

    @exercise.case("shape of the vectors")
    def _(fn):
        v1, v2 = towers(fn).vectors([[3, 4, 5, 1]] * 3, [[6, 7, 1, 1]] * 3)
        for name, vectors in (("v1", v1), ("v2", v2)):
            if vectors.shape != (3, 6):
                hint = "one vector of d_model numbers for each question"
                if vectors.ndim == 3:
                    hint = "the LSTM gives a state for each position: average over the positions"
                elif vectors.shape == (3, 4):
                    hint = "the mean runs over the wrong axis: [batch, length, d_model], which one?"
                elif vectors.shape == (4, 6):
                    hint = "the mean runs over the batch: average over the positions"
                elif vectors.shape == (3, 11):
                    hint = "vocab_size and d_model are exchanged"
                raise Wrong(f"{name} of shape (3, 6)", f"shape {vectors.shape}", hint)

    @exercise.case("both towers share their weights")
    def _(fn):
        rows = [[3, 4, 5, 1], [6, 7, 8, 9], [2, 2, 3, 1]]
        v1, v2 = towers(fn).vectors(rows, rows)
        if not np.allclose(v1, v2, atol=1e-5):
            raise Wrong(
                "the same question has the same vector in both towers",
                f"{show(v1[0])} and {show(v2[0])}",
                SHARED_HINT,
            )
        counts = sum(type(layer).__name__ == "Embedding" for layer in towers(fn).layers())
        if counts != 1:
            raise Wrong("one embedding", f"{counts} embeddings", SHARED_HINT)

    @exercise.case("vectors of length 1")
    def _(fn):
        first = [[3, 4, 5, 1], [9, 8, 2, 2], [3, 3, 3, 3]]
        v1, v2 = towers(fn).vectors(first, [[6, 7, 1, 1], [2, 3, 4, 5], [9, 1, 1, 1]])
        lengths = np.sqrt((np.concatenate([v1, v2]) ** 2).sum(axis=-1))
        if not np.allclose(lengths, 1, atol=1e-4):
            hint = (
                "the tower's last layer makes each row's length 1: is it there, on the right axis?"
            )
            raise Wrong("lengths of 1", show(lengths), hint)

    @exercise.case("the order of the words counts")
    def _(fn):
        v1, v2 = towers(fn).vectors([[3, 4, 5, 6]] * 3, [[6, 5, 4, 3]] * 3)
        if np.allclose(v1, v2, atol=1e-6):
            hint = "the same words in another order give the same vector: is the LSTM there?"
            raise Wrong("two different vectors", f"twice {show(v1)}", hint)

    @exercise.case("each question has its own vector")
    def _(fn):
        rows = [[3, 4, 5, 6], [5, 5, 2, 1], [7, 8, 9, 2]]
        v1, v2 = towers(fn).vectors(rows, rows[::-1])
        if np.allclose(v1[0], v1[1], atol=1e-6) or not np.allclose(v1, v2[::-1], atol=1e-5):
            hint = "v1 belongs to the first questions, v2 to the second, row by row"
            raise Wrong("v1 of q1 and v2 of q2", f"{show(v1)} and {show(v2)}", hint)

    @exercise.case("vocab_size and d_model are used")
    def _(fn):
        for vocab_size, d_model in ((11, 6), (23, 4)):
            model = towers(fn, vocab_size, d_model)
            shape = model.embedding_shape()
            if shape != (vocab_size, d_model):
                hint = "use the arguments, not fixed numbers"
                if shape == (d_model, vocab_size):
                    hint = "vocab_size and d_model are exchanged"
                elif shape is None:
                    hint = "is there an embedding layer?"
                raise Wrong(f"an embedding of shape {(vocab_size, d_model)}", str(shape), hint)
            v1, _ = model.vectors([[3, 4, 5, 1]] * 3, [[6, 7, 1, 1]] * 3)
            if v1.shape != (3, d_model):
                raise Wrong(
                    f"vectors of {d_model} numbers",
                    f"shape {v1.shape}",
                    "use d_model in every layer",
                )

    @exercise.case("the mean over the positions")
    def _(fn):
        names = [type(layer).__name__ for layer in towers(fn).layers()]
        printed = str(towers(fn).layer())
        for word, hint in (
            ("LSTM", "the tower needs an LSTM after the embedding"),
            (
                "Mean",
                "the tower averages the LSTM's states; it does not take the last one or the sum",
            ),
        ):
            if word not in printed and word not in names:
                raise Wrong(f"a layer {word}", " ".join(printed.split()), hint)


shared = Exercise("shared_towers", "shared_towers(vocab_size, d_model)", seconds=60)
add_tower_cases(shared, lambda fn, vocab_size, d_model: fn(vocab_size, d_model))


def check_shared_towers(fn) -> Score:
    """Checks ``shared_towers(vocab_size, d_model)``: a Trax model of one shared tower."""
    return shared.check(fn)


# ---- Siamese ----

siamese = Exercise("Siamese", "Siamese(vocab_size=41699, d_model=128, mode='train')", seconds=60)
add_tower_cases(siamese, lambda fn, size, d: fn(vocab_size=size, d_model=d))

_TOWER = "Serial[ Embedding_{0}_{1} LSTM_{1} Mean Normalize ]"


@siamese.case("the printed model")
def _(fn):
    tower = _TOWER.format(11, 6)
    expected = f"Parallel_in2_out2[ {tower} {tower} ]"
    came = " ".join(str(Towers(lambda: fn(vocab_size=11, d_model=6)).layer()).split())
    if came != expected:
        missing = [
            word for word in ("Parallel", "Embedding_11_6", "LSTM_6", "Mean") if word not in came
        ]
        hint = f"there is no {missing[0]}" if missing else "compare name by name"
        if not missing and "Normalize" not in came:
            hint = "the last layer is a tl.Fn with the name 'Normalize'"
        raise Wrong(expected, came, hint)


@siamese.case("its default arguments")
def _(fn):
    wanted = {"vocab_size": 41699, "d_model": 128, "mode": "train"}
    try:
        found = {name: p.default for name, p in inspect.signature(fn.fn).parameters.items()}
    except (TypeError, ValueError):
        return
    if list(found)[:3] != list(wanted) or any(found[name] != wanted[name] for name in wanted):
        words = ", ".join(f"{name}={value!r}" for name, value in wanted.items())
        came = str(inspect.signature(fn.fn))
        raise Wrong(f"Siamese({words})", f"Siamese{came}", "the course's arguments in their order")


@siamese.case("mode='eval'")
def _(fn):
    layer = Towers(lambda: fn(vocab_size=11, d_model=6, mode="eval"))
    v1, v2 = layer.vectors([[3, 4, 5, 1]] * 3, [[3, 4, 5, 1]] * 3)
    if not np.allclose(v1, v2, atol=1e-5):
        raise Wrong("the same vector twice", f"{show(v1)} and {show(v2)}", SHARED_HINT)


def check_siamese(fn) -> Score:
    """Checks ``Siamese(vocab_size=41699, d_model=128, mode='train')``: the assignment's model."""
    return siamese.check(fn)
