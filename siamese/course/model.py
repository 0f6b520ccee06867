"""Siamese: two questions through one shared LSTM tower, as a Trax model."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from trax import fastmath
from trax import layers as tl

from siamese.compat.randomness import keeping_generators
from siamese.course.similarity import l2_normalize
from siamese.data.arguments import one_of, whole_number
from siamese.errors import ArgumentError
from siamese.nn.encoder import Dropout, TowerConfig, encode, towers


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
):
    """The course's siamese network: ``tl.Parallel(tower, tower)``, the same tower object twice.

    The tower is Embedding, LSTM, Mean over the positions (padding included, as in the course) and
    Normalize. Because both branches are one object they share their weights: what one question teaches
    the tower, the other's branch knows too.

    Args:
      vocab_size: number of rows of the embedding: the vocabulary's size, padding and unknown included.
      d_model: size of the embedding, of the LSTM's state and of the question vectors.
      mode: 'train', 'eval' or 'predict', as in the course. It decides whether dropout, which the course
        has none of, is done; nothing else. In Trax, ``tl.LSTM(mode='predict')`` would keep its state in
        the layer, and with one tower used twice the second question would start from the first one's
        state; so it is not passed on.
      lstm_bias: where the LSTM's bias starts at 1. 'all_gates' is Trax's own: it adds the forget bias to
        input gate, candidate and output gate too, so that at first every question has almost the same
        vector and the loss stays at twice the margin for hundreds of steps. 'forget_gate' is what the
        forget bias was meant for (Jozefowicz et al., 2015).
      mask_padding: leave padding (token 1) out of the LSTM and the mean, so that a question's vector
        does not depend on what it is batched with. The course averages over padding.
      fast: run both questions as one batch through `siamese.nn.encoder`, which gives the layers' values
        and gradients (equal to about 1e-6) in less time; False runs Trax's layers one by one. Layers,
        printed form, weights and checkpoints are the same.
      precision: 'float32', or 'bfloat16' for the arithmetic inside the tower; weights, normalisation
        and loss stay float32. For accelerators; needs fast.
      bidirectional: a second LSTM reads each question from its end; a question's vector is twice as
        long. Needs fast, as do both kinds of dropout.
      embedding_init: standard deviation of the embedding's first values; 0 leaves Trax's own.
      embedding_dropout: share of the embedding's numbers set to zero in training; 0 to below 1.
      word_dropout: share of words taken for unknown in training; 0 to below 1.

    Returns:
      A Trax layer: (q1, q2), int32 [batch, length] each, to (v1, v2), float32 [batch, d_model] each,
      rows of length 1. A question without any tokens has a zero vector.

    Raises:
      ArgumentError: sizes that are not positive whole numbers, another mode, or mask_padding without
        fast: Trax's layers do not mask.

    Example:
      >>> Siamese(vocab_size=10, d_model=4).n_in
      2
    """
    vocab_size = whole_number(vocab_size, "vocab_size", 1)
    d_model = whole_number(d_model, "d_model", 1)
    one_of(mode, "mode", ("train", "eval", "predict"))
    one_of(lstm_bias, "lstm_bias", ("all_gates", "forget_gate"))
    one_of(precision, "precision", ("float32", "bfloat16"))
    for name, share in (
        ("embedding_dropout", embedding_dropout),
        ("word_dropout", word_dropout),
    ):
        if not 0 <= share < 1:
            raise ArgumentError(f"{name} must be at least 0 and below 1; it is {share!r}.")
    if not embedding_init >= 0:
        raise ArgumentError(f"embedding_init must be at least 0; it is {embedding_init!r}.")
    beyond = {
        "mask_padding": mask_padding,
        "bidirectional": bidirectional,
        "embedding_dropout": embedding_dropout,
        "word_dropout": word_dropout,
        "precision": precision != "float32" and precision,
    }
    asked = next((f"{name}={value!r}" for name, value in beyond.items() if value), None)
    if asked and not fast:
        raise ArgumentError(f"{asked} needs fast=True: Trax's own layers do not have it.")
    config = TowerConfig(
        vocab_size,
        d_model,
        mask_padding=mask_padding,
        bidirectional=bidirectional,
        compute=precision,
    )
    started = {}
    if embedding_init:
        started["kernel_initializer"] = tl.initializers.RandomNormalInitializer(embedding_init)
    layers = (
        tl.Embedding(vocab_size, d_model, **started),  # [batch, length] -> [batch, length, d_model]
        *(
            _lstm(d_model, lstm_bias) for _ in range(1 + bidirectional)
        ),  # -> [batch, length, d_model]
        tl.Mean(axis=1),  # -> [batch, d_model]
        tl.Fn("Normalize", lambda x: l2_normalize(x)),
    )
    tower = tl.Serial(*layers)
    model = tl.Parallel(tower, tower)
    if fast:
        dropout = Dropout(embedding_dropout, word_dropout) if mode == "train" else Dropout()
        _run_by(_encode, tower, config, dropout)
        _run_by(_encode_both, model, config, dropout)
    return model


def _run_by(run: Callable, layer, config: TowerConfig, dropout: Dropout) -> None:
    """Makes ``run(layer, inputs)`` the layer's forward pass; its class stays Trax's, as do its parts."""
    layer._config, layer._dropout = config, dropout
    # Trax's __setattr__ refuses public names. A partial, unlike a closure, is copied with the layer.
    vars(layer)["forward"] = partial(run, layer)


def _encode(tower: tl.Serial, tokens):
    """The tower's forward pass by `siamese.nn.encoder`."""
    if _on_tensorflow(tower._config):
        return tl.Serial.forward(tower, tokens)
    return encode(_named(tower.weights), tokens, tower._config, tower._dropout, tower.rng)


def _encode_both(model: tl.Parallel, inputs):
    """Twice the same tower, as one batch of twice the size where the questions have one shape."""
    if _on_tensorflow(model._config):
        return tl.Parallel.forward(model, inputs)
    weights = _named(model.weights[0])
    return towers(weights, *inputs[:2], model._config, model._dropout, model.rng)


def _on_tensorflow(config: TowerConfig) -> bool:
    """Whether Trax's TensorFlow-NumPy backend is on; the encoder is JAX, Trax's layers run on both."""
    if not fastmath.is_backend(fastmath.Backend.TFNP):
        return False
    if config != TowerConfig(config.vocab_size, config.d_model):
        raise ArgumentError(
            "mask_padding, bfloat16 and bidirectional need Trax's JAX backend: its own layers, which "
            "the TensorFlow-NumPy backend runs, have none of them."
        )
    return True


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
    """The shared tower's arrays by the names of `siamese.nn.encoder`, from a model that `Siamese` made."""
    return {name: np.asarray(array) for name, array in _named(model.weights[0]).items()}


def _named(weights) -> dict:
    """The arrays in a tower's weights, by the names of `siamese.nn.encoder`."""
    named = {"embedding": weights[0]}
    # Behind the LSTMs come Mean and Normalize, which have no weights.
    for prefix, lstm in zip(("lstm", "lstm_reverse"), weights[1:-2]):
        named[f"{prefix}/kernel"], named[f"{prefix}/bias"] = lstm[1][0]
    return {name: array[0] if isinstance(array, tuple) else array for name, array in named.items()}
