"""Siamese: two questions through one shared LSTM tower, as a Trax model."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
from trax import fastmath
from trax import layers as tl

from siamese.compat.randomness import keeping_generators
from siamese.course.similarity import l2_normalize
from siamese.data.arguments import one_of, whole_number
from siamese.errors import ArgumentError
from siamese.nn.tower import Dropout, TowerConfig, encode, towers

_BEYOND = "mask_padding, bidirectional, precision='bfloat16', static and dropout"


@keeping_generators()
def Siamese(
    vocab_size: int = 41699,
    d_model: int = 128,
    mode: str = "train",
    *,
    lstm_bias: str = "all_gates",
    mask_padding: bool = False,
    fast: bool = True,
    precision: str = "float32",
    bidirectional: bool = False,
    embedding_init: float = 0.0,
    embedding_dropout: float = 0.0,
    word_dropout: float = 0.0,
    static: Any = None,
):
    """The course's siamese network: ``tl.Parallel(tower, tower)``, the same tower object twice.

    The tower is Embedding, LSTM, Mean over the positions (padding included, as in the course) and
    Normalize. Both branches are one object, and so share their weights.

    Args:
      vocab_size: number of rows of the embedding: the vocabulary's size, padding and unknown included.
      d_model: size of the embedding, of the LSTM's state and of the question vectors.
      mode: 'train', 'eval' or 'predict', as in the course; only in 'train' is there dropout. It is not
        passed on: ``tl.LSTM(mode='predict')`` keeps its state in the layer, so with one tower used twice
        the second question would start from the first one's state.
      lstm_bias: where the LSTM's bias starts at 1. 'all_gates' is Trax's own: it adds the forget bias to
        the other gates too, so that at first every question has almost the same vector and the loss
        stays at twice the margin for hundreds of steps; 'forget_gate' not (Jozefowicz et al., 2015).
      mask_padding: leave padding (token 1) out of the LSTM and the mean; the course averages over it,
        and a question's vector depends on what it is batched with.
      fast: run both questions as one batch through `siamese.nn.tower`, which gives the layers' values
        and gradients (equal to about 1e-6) in less time; False runs Trax's layers one by one.
      precision: 'float32', or 'bfloat16' for the arithmetic inside the tower; weights, normalisation
        and loss stay float32. For accelerators; needs fast.
      bidirectional: a second LSTM reads each question from its end; a question's vector is twice as
        long. Needs fast, as do both kinds of dropout.
      embedding_init: standard deviation of the embedding's first values; 0 leaves Trax's own.
      embedding_dropout: share of the numbers of each word of a batch set to zero in training; below 1.
      word_dropout: share of words taken for unknown in training; 0 to below 1.
      static: a `siamese.nn.characters.StaticStart`, static vectors under the tower; needs fast,
        mask_padding and bidirectional.

    Returns:
      A Trax layer: (q1, q2), int32 [batch, length] each, to (v1, v2), float32 [batch, d_model] each,
      rows of length 1. A question without any tokens has a zero vector.

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
    one_of(precision, "precision", ("float32", "bfloat16"))
    dropout = Dropout(embedding_dropout, word_dropout)
    if not (0 <= dropout.embedding < 1 and 0 <= dropout.word < 1):
        raise ArgumentError(
            "embedding_dropout and word_dropout must be at least 0 and below 1; they are "
            f"{embedding_dropout!r} and {word_dropout!r}."
        )
    if not embedding_init >= 0:
        raise ArgumentError(f"embedding_init must be at least 0; it is {embedding_init!r}.")
    options = static.options if static else {}
    config = TowerConfig(vocab_size, d_model, mask_padding, bidirectional, precision, **options)
    if not fast and (dropout or config != TowerConfig(vocab_size, d_model)):
        raise ArgumentError(f"{_BEYOND} need fast=True: Trax's own layers have none of them.")
    started = {}
    if embedding_init:
        started["kernel_initializer"] = tl.initializers.RandomNormalInitializer(embedding_init)
    lstms = [_lstm(d_model, lstm_bias) for _ in config.lstms]
    normalize = tl.Fn("Normalize", lambda x: l2_normalize(x))
    if static:  # The fast path adds the static vectors and the other blocks.
        size = config.static_size
        tower = tl.Serial(
            tl.Embedding(vocab_size, size, kernel_initializer=lambda shape, rng: jnp.zeros(shape)),
            tl.Dense(
                d_model,
                kernel_initializer=lambda shape, rng: jnp.asarray(static.projection),
                use_bias=False,
            ),  # -> [batch, length, d_model]
            tl.Branch(*lstms),
            tl.Concatenate(),  # -> [batch, length, 2 * d_model]
            tl.Mean(axis=1),
            tl.Dense(size, use_bias=False),  # -> [batch, static_size]
            normalize,
        )
    else:
        tower = tl.Serial(
            tl.Embedding(
                vocab_size, d_model, **started
            ),  # [batch, length] -> [batch, length, d_model]
            *lstms,  # -> [batch, length, d_model]
            tl.Mean(axis=1),  # -> [batch, d_model]
            normalize,
        )
    model = tl.Parallel(tower, tower)
    for layer in (tower, model) if fast else ():
        # Class and parts stay Trax's. Its __setattr__ refuses public names; a partial, unlike a closure,
        # is copied with the layer.
        drop = dropout if mode == "train" else Dropout()
        vars(layer)["forward"] = partial(_forward, layer, config, drop, static)
        vars(layer)["takes_words"] = True  # Its inputs may be `siamese.nn.tower.Words`,
        vars(layer)["takes_rows"] = static is None  # and these be rows of a smaller embedding.
    return model


def _forward(layer, config: TowerConfig, dropout: Dropout, static, inputs):
    """The forward pass of a tower, or of two times the same one, by `siamese.nn.tower`."""
    if fastmath.is_backend(fastmath.Backend.TFNP):  # Trax's layers run on both, the tower is JAX.
        if config != TowerConfig(config.vocab_size, config.d_model):
            raise ArgumentError(f"{_BEYOND} need Trax's JAX backend: Trax's own layers have none.")
        return type(layer).forward(layer, inputs)
    tables = static.on_device if static else {}
    if isinstance(layer, tl.Parallel):
        weights = _named(layer.weights[0]) | tables
        return towers(weights, *inputs[:2], config, dropout, layer.rng)
    return encode(_named(layer.weights) | tables, inputs, config, dropout, layer.rng)


def _lstm(d_model: int, lstm_bias: str):
    """`tl.LSTM`; with 'forget_gate' its cell's initialisers leave the other gates' bias at zero."""
    layer = tl.LSTM(d_model)
    if lstm_bias == "forget_gate":
        cell = layer.sublayers[1].sublayer
        normal = cell._bias_initializer
        gate = np.repeat(np.array([0.0, 0.0, 1.0, 0.0], np.float32), d_model)  # i, j, f, o
        cell._forget_bias = 0.0
        cell._bias_initializer = lambda shape, rng: normal(shape, rng) + gate
    return layer


def tower_weights(model) -> dict[str, np.ndarray]:
    """The shared tower's arrays by the names of `siamese.nn.tower`, from a model that `Siamese` made."""
    return {name: np.asarray(array) for name, array in _named(model.weights[0]).items()}


def _named(weights) -> dict:
    """The arrays in a tower's weights, by the names of `siamese.nn.tower`."""
    named = {"embedding": weights[0]}
    lstms = weights[1:-2]  # Behind them come Mean and Normalize, which have no weights.
    if not isinstance(
        lstms[0], tuple
    ):  # A tower over static vectors; an LSTM's weights are a tuple.
        _, named["projection"], (_, lstms), _, _, named["output"], _ = weights
    for prefix, lstm in zip(("lstm", "lstm_reverse"), lstms):
        named[f"{prefix}/kernel"], named[f"{prefix}/bias"] = lstm[1][0]
    return {name: array[0] if isinstance(array, tuple) else array for name, array in named.items()}
