"""Siamese: two questions through one shared LSTM tower, as a Trax model of Trax's own layers."""

from __future__ import annotations

import numpy as np
from jax import tree
from trax import layers as tl
from trax.shapes import ShapeDtype

from siamese.course.trax.fast import named
from siamese.errors import ShapeError
from siamese.nn.similarity import l2_normalize
from siamese.system.arguments import one_of, whole_number
from siamese.system.process import keeping_generators


@keeping_generators()
def Siamese(
    vocab_size: int = 41699,
    d_model: int = 128,
    mode: str = "train",
    *,
    lstm_bias: str = "all_gates",
) -> tl.Layer:
    """The course's siamese network: ``tl.Parallel(tower, tower)``, the same tower object twice.

    The tower is Embedding, LSTM, Mean over the positions (padding included, as in the
    course) and Normalize. Both branches are one object, and so share their weights.
    `siamese.fast_forward` makes the finished model train about twice as fast.

    Args:
      vocab_size: number of rows of the embedding: the vocabulary's size, padding and unknown included.
      d_model: size of the embedding, of the LSTM's state and of the question vectors.
      mode: 'train', 'eval' or 'predict', as in the course. It has no effect: ``tl.LSTM(mode='predict')``
        keeps its state in the layer, so with one tower used twice the second question would start from
        the first one's state.
      lstm_bias: where the LSTM's bias starts at 1. 'all_gates' is Trax's own: it adds the forget bias to
        the other gates too, so that at first every question has almost the same vector and the loss
        stays at twice the margin for hundreds of steps; 'forget_gate' does not (Jozefowicz et al., 2015).

    Returns:
      A Trax layer: (q1, q2), int32 [batch, length] each, to (v1, v2), float32 [batch, d_model] each,
      rows of length 1. A question whose mean state is zero has a zero vector.

    Raises:
      ArgumentError: an argument outside what is listed above.

    Example:
      >>> Siamese(vocab_size=10, d_model=4).n_in
      2
    """
    vocab_size = whole_number(vocab_size, "vocab_size", 1)
    d_model = whole_number(d_model, "d_model", 1)
    one_of(mode, "mode", ("train", "eval", "predict"))
    one_of(lstm_bias, "lstm_bias", ("all_gates", "forget_gate"))
    tower = tl.Serial(
        # [batch, length] -> [batch, length, d_model]
        tl.Embedding(vocab_size, d_model),
        _lstm(d_model, lstm_bias),  # -> [batch, length, d_model]
        tl.Mean(axis=1),  # -> [batch, d_model]
        tl.Fn("Normalize", lambda x: l2_normalize(x)),
    )
    return tl.Parallel(tower, tower)


def _lstm(d_model: int, lstm_bias: str) -> tl.Layer:
    """`tl.LSTM`; with 'forget_gate' its cell's initialisers leave the other gates' bias at zero."""
    layer = tl.LSTM(d_model)
    if lstm_bias == "forget_gate":
        cell = layer.sublayers[1].sublayer
        normal = cell._bias_initializer
        # The gates' order is i, j, f, o.
        gate = np.repeat(np.array([0.0, 0.0, 1.0, 0.0], np.float32), d_model)
        cell._forget_bias = 0.0
        cell._bias_initializer = lambda shape, rng: normal(shape, rng) + gate
    return layer


def tower_weights(model: tl.Layer) -> dict[str, np.ndarray]:
    """The shared tower's arrays by the names of `siamese.nn.lstm`: embedding, lstm/kernel, lstm/bias.

    `model` is of the course's layers and has weights, such as ``loop.eval_model``.
    """
    return {name: np.asarray(array) for name, array in named(model.weights[0]).items()}


def set_tower_weights(model: tl.Layer, weights: dict[str, np.ndarray]) -> None:
    """Puts arrays as those of `tower_weights` into such a model; ShapeError for arrays of other shapes.

    A model without weights is initialised.
    """
    if not tree.leaves(model.weights):
        model.init((ShapeDtype((1, 1), np.int32),) * 2)
    tower, shared = model.weights
    for name, array in named(tower).items():
        if np.shape(weights[name]) != array.shape:
            shape = np.shape(weights[name])
            raise ShapeError(
                f"{name} has shape {shape}; the model needs {array.shape}."
            )
    arrays = [weights[name] for name in named(tower)]
    model.weights = tree.unflatten(tree.structure(tower), arrays), shared
