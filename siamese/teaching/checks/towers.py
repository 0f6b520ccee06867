"""What every siamese model must be: two towers that are one, and vectors of length 1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .expect import show
from .learner import once
from .score import Exercise, Wrong


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
