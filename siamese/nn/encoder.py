"""Any number of questions through one tower: `Encoder`, without Trax or TensorFlow in the process."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from siamese.errors import CheckpointError, DataError
from siamese.nn.ragged import Ragged
from siamese.nn.tower import PAD, TowerConfig, encode, products_of, unit_vectors

# Lengths and row counts that batches are padded to: few shapes, so few compilations.
LENGTHS = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
ROWS = (1, 16, 256)
TOKENS_PER_CALL = 16_384
# Of the LSTMs' products with every word, kept while an encoder lives.
MAX_PRODUCT_BYTES = 512 << 20
FEW = 32  # Up to so many questions NumPy answers sooner than JAX starts.


def encode_few(
    weights: Mapping[str, np.ndarray], tokens: np.ndarray, config: TowerConfig
) -> np.ndarray:
    """`encode` in plain NumPy, for a handful of questions: no second to import JAX, none to compile."""
    x = weights["embedding"][tokens]  # [batch, length, d_model]
    batch, length, d = x.shape
    mask = tokens != PAD if config.mask_padding else np.ones(tokens.shape, bool)
    means = []
    for name, order in zip(config.lstms, (range(length), range(length - 1, -1, -1))):
        kernel, bias = weights[f"{name}/kernel"], weights[f"{name}/bias"]
        from_x = x @ kernel[:d] + bias  # [batch, length, 4 * d_model]
        h = c = total = np.zeros((batch, d), np.float32)
        for t in order:
            i, j, f, o = np.split(from_x[:, t] + h @ kernel[d:], 4, axis=-1)
            c_new = c * _sigmoid(f) + _sigmoid(i) * np.tanh(j)
            h_new = _sigmoid(o) * np.tanh(c_new)
            here = mask[:, t, None]
            h, c = np.where(here, h_new, h), np.where(here, c_new, c)
            total = total + np.where(here, h, 0)
        count = mask.sum(axis=1, keepdims=True)
        means.append(total / np.maximum(count, 1).astype(np.float32))
    return unit_vectors(np, np.concatenate(means, axis=-1))


def _sigmoid(x):
    return 0.5 * np.tanh(0.5 * x) + 0.5  # Never overflows, unlike 1 / (1 + exp(-x)).


def _copy(begun: tuple[np.ndarray, Any] | None, vectors: np.ndarray) -> None:
    if begun is not None:
        rows, made = begun
        vectors[rows] = np.asarray(made)[: len(rows)]


class Encoder:
    """A tower that turns any number of questions of any length into vectors; safe to share by threads.

    Args:
      config: the tower's shape.
      weights: name -> array, see `siamese.nn.tower`.

    Raises:
      CheckpointError: weights that do not fit the configuration; names the array and both shapes.
    """

    def __init__(self, config: TowerConfig, weights: Mapping[str, np.ndarray]):
        self.config = config
        for name, shape in config.shapes().items():
            actual = None if name not in weights else tuple(weights[name].shape)
            if actual != shape:
                raise CheckpointError(
                    f"The model's weights do not fit its configuration: {name} has shape {actual}, and "
                    f"must have {shape}. The files belong to different models."
                )
            array = np.asarray(weights[name])
            if array.dtype.kind != "f" or not np.isfinite(array).all():
                raise CheckpointError(
                    f"The model's weights are damaged: {name} must hold finite floating-point numbers "
                    f"(its dtype is {array.dtype}). Train the model again, or take another copy."
                )
        self.weights = {
            name: np.asarray(weights[name], np.float32, order="C") for name in config.shapes()
        }

    def __repr__(self) -> str:
        return f"Encoder({self.config.vocab_size:,} words, vectors of {self.config.output_size})"

    @functools.cached_property
    def _compiled(self):
        import jax

        config = self.config
        on_device = jax.device_put(self.weights)
        size = 16 * config.d_model * config.vocab_size * len(config.lstms)
        if size <= MAX_PRODUCT_BYTES:
            products = jax.jit(lambda weights: products_of(weights, weights["embedding"], config))
            names = (f"{name}/products" for name in config.lstms)
            on_device |= dict(zip(names, products(on_device)))
        run = jax.jit(lambda weights, tokens: encode(weights, tokens, config))
        return lambda tokens: run(on_device, tokens)

    def encode(self, questions: Ragged | Sequence[Sequence[int]], *, length: int | None = None):
        """The vectors of questions given as token ids.

        Args:
          questions: `Ragged`, or a list of lists, of int token ids without padding.
          length: pad every question to this length. It matters where padding is not masked; without
            it each is padded to its own power of two there, as the course's predict does.

        Returns:
          float32 [questions, output_size], in the order given; zero for a question without tokens.

        Raises:
          DataError: ids outside the embedding, or a question longer than `length`.
        """
        rows = Ragged.from_lists(questions)
        vectors = np.zeros((len(rows), self.config.output_size), np.float32)
        if not len(rows):
            return vectors
        least, most = rows.values.min(initial=0), rows.values.max(initial=0)
        if least < 0 or most >= self.config.vocab_size:
            raise DataError(
                f"Token ids must lie from 0 to {self.config.vocab_size - 1}; they run from {least} "
                f"to {most}. Another vocabulary's?"
            )
        padded = self._padded_lengths(rows.lengths, length)  # [questions]
        few = len(rows) <= FEW
        # JAX works on a call while the vectors of the one before are copied.
        begun: tuple[np.ndarray, Any] | None = None
        for size in np.unique(padded):
            at = np.flatnonzero((padded == size) & (rows.lengths > 0))
            per_call = max(1, TOKENS_PER_CALL // int(size))
            # Few shapes, so few compilations: calls are filled up with repeated rows.
            step = per_call if len(at) >= per_call else min(per_call, ROWS[-1])
            count = min(step, next((n for n in ROWS if n >= len(at)), step))
            for start in range(0, len(at), step):
                chunk = at[start : start + step]
                tokens = rows.padded(chunk, int(size), PAD)
                if few:
                    vectors[chunk] = encode_few(self.weights, tokens, self.config)
                    continue
                filled = tokens[np.arange(count) % len(chunk)]
                before, begun = begun, (chunk, self._compiled(filled))
                _copy(before, vectors)
        _copy(begun, vectors)
        return vectors

    def _padded_lengths(self, lengths: np.ndarray, length: int | None) -> np.ndarray:
        if length is not None:
            if len(lengths) and lengths.max() > length:
                raise DataError(f"A question of {lengths.max()} tokens is longer than {length}.")
            return np.full(len(lengths), length)
        longest = np.maximum(lengths, 1)
        if not self.config.mask_padding:
            return 1 << np.ceil(np.log2(longest)).astype(int)
        sizes = np.array([*LENGTHS, max(int(longest.max()), LENGTHS[-1])])
        return sizes[np.searchsorted(sizes, longest)]
