"""One question tower as a pure JAX function: token ids in, vectors of length 1 out.

Equal to the Trax model on the same weights, without Trax or TensorFlow in the process. The weights are
a flat dict of arrays, as they are saved:

    embedding            float32 [vocab_size, d_model]
    lstm/kernel          float32 [2 * d_model, 4 * d_model]
    lstm/bias            float32 [4 * d_model]
    lstm_reverse/kernel, lstm_reverse/bias    of the second direction, where there is one
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from siamese.errors import CheckpointError, DataError
from siamese.nn.ragged import Ragged

PAD = 1
# Lengths and row counts that batches are padded to: few shapes, so few compilations.
LENGTHS = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
ROWS = (1, 16, 256)
TOKENS_PER_CALL = 16_384
FEW = 32  # Up to so many questions NumPy answers sooner than JAX starts.


@dataclass(frozen=True)
class TowerConfig:
    """The shape of a tower.

    Args:
      vocab_size: rows of the embedding.
      d_model: size of the embedding and of the LSTM's state.
      mask_padding: leave padding out (True), or average over it as the course does (False).
      bidirectional: a second LSTM from the end; its mean state is appended.
      compute: 'float32', or 'bfloat16' for the embedding's vectors and the LSTM's arithmetic; weights,
        normalisation and loss stay float32 (mixed precision, for accelerators).
    """

    vocab_size: int
    d_model: int = 128
    mask_padding: bool = False
    bidirectional: bool = False
    compute: str = "float32"

    @property
    def output_size(self) -> int:
        """The size of a question's vector."""
        return self.d_model * (1 + self.bidirectional)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Name -> shape of the weights."""
        d = self.d_model
        cell = {"kernel": (2 * d, 4 * d), "bias": (4 * d,)}
        found = {"embedding": (self.vocab_size, d)}
        for prefix in ("lstm", "lstm_reverse") if self.bidirectional else ("lstm",):
            found |= {f"{prefix}/{name}": shape for name, shape in cell.items()}
        return found


@dataclass(frozen=True)
class Dropout:
    """What is left out at random while a tower is trained.

    Args:
      embedding: the share of the embedding vectors' numbers set to zero; the others grow accordingly
        (Srivastava et al., 2014).
      word: the share of words replaced by the unknown word (Iyyer et al., 2015), which so learns what
        to do with words that are really unknown.
    """

    embedding: float = 0.0
    word: float = 0.0

    def __bool__(self) -> bool:
        return self.embedding > 0 or self.word > 0


def encode(weights: Mapping, tokens, config: TowerConfig, dropout: Dropout | None = None, key=None):
    """The vectors of a batch of padded questions; a pure function for `jax.jit` and `jax.grad`.

    Args:
      weights: name -> array, see this module's docstring.
      tokens: int32 [batch, length], padded with 1.
      config: the tower's shape.
      dropout: for training; None leaves nothing out.
      key: JAX random key; needed with `dropout`.

    Returns:
      float32 [batch, output_size], rows of length 1; zero for a row without tokens, where masked.
    """
    import jax.numpy as jnp

    from siamese.nn.lstm import lstm_mean

    words = drop_words(tokens, dropout, key) if dropout else tokens
    x = jnp.take(weights["embedding"], words, axis=0, mode="clip")  # [batch, length, d_model]
    if dropout:
        x = drop_numbers(x, dropout, key)
    x = x.astype(config.compute)
    mask = (tokens != PAD) if config.mask_padding else None
    directions = [("lstm", False), ("lstm_reverse", True)][: 2 if config.bidirectional else 1]
    means = [
        # The weights stay float32: the LSTM takes x's precision, their gradient keeps its own.
        lstm_mean(weights[f"{name}/kernel"], weights[f"{name}/bias"], x, mask, reverse=reverse)
        for name, reverse in directions
    ]
    return _normalize(jnp, jnp.concatenate(means, axis=-1).astype(jnp.float32))


def drop_words(tokens, dropout: Dropout, key):
    """Some words replaced by the unknown word, 0; padding stays."""
    import jax
    import jax.numpy as jnp

    if not dropout.word:
        return tokens
    dropped = jax.random.bernoulli(jax.random.fold_in(key, 0), dropout.word, tokens.shape)
    return jnp.where(dropped & (tokens != PAD), 0, tokens)


def drop_numbers(x, dropout: Dropout, key):
    """Some numbers set to zero, the rest divided by the share that stays: the same mean."""
    import jax
    import jax.numpy as jnp

    if not dropout.embedding:
        return x
    stays = 1 - dropout.embedding
    kept = jax.random.bernoulli(jax.random.fold_in(key, 1), stays, x.shape)
    return jnp.where(kept, x / stays, 0)


def towers(weights: Mapping, q1, q2, config: TowerConfig, dropout: Dropout | None = None, key=None):
    """Both questions through the one tower: (v1, v2). One batch of twice the size is faster."""
    import jax
    import jax.numpy as jnp

    if q1.shape != q2.shape:
        keys = jax.random.split(key) if dropout else (None, None)
        return tuple(
            encode(weights, q, config, dropout, own) for q, own in zip((q1, q2), keys, strict=True)
        )
    vectors = encode(weights, jnp.concatenate([q1, q2]), config, dropout, key)
    return vectors[: q1.shape[0]], vectors[q1.shape[0] :]


def encode_few(
    weights: Mapping[str, np.ndarray], tokens: np.ndarray, config: TowerConfig
) -> np.ndarray:
    """`encode` in plain NumPy, for a handful of questions: no second to import JAX, none to compile."""
    x = weights["embedding"][tokens]  # [batch, length, d_model]
    batch, length, d = x.shape
    mask = tokens != PAD if config.mask_padding else np.ones(tokens.shape, bool)
    means = []
    for name, order in (("lstm", range(length)), ("lstm_reverse", range(length - 1, -1, -1))):
        if f"{name}/kernel" not in weights:
            continue
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
    return _normalize(np, np.concatenate(means, axis=-1))


def _normalize(xp, x):
    """Rows of length 1; a zero row stays zero, with a zero gradient, which both `where` are for."""
    squared = xp.sum(x * x, axis=-1, keepdims=True)
    safe = xp.where(squared == 0, xp.ones_like(squared), squared)
    return xp.where(squared == 0, xp.zeros_like(x), x / xp.sqrt(safe))


def _sigmoid(x):
    return 0.5 * np.tanh(0.5 * x) + 0.5  # Never overflows, unlike 1 / (1 + exp(-x)).


class Encoder:
    """A tower that turns any number of questions of any length into vectors; safe to share by threads.

    Args:
      config: the tower's shape.
      weights: name -> float32 array, see this module's docstring.

    Raises:
      CheckpointError: weights that do not fit the configuration; names the array and both shapes.
    """

    def __init__(self, config: TowerConfig, weights: Mapping[str, np.ndarray]):
        self.config = config
        for name, shape in config.shapes().items():
            found = None if name not in weights else tuple(weights[name].shape)
            if found != shape:
                raise CheckpointError(
                    f"The model's weights do not fit its configuration: {name} has shape {found}, and "
                    f"{shape} is wanted. The files belong to different models."
                )
            if weights[name].dtype.kind != "f" or not np.isfinite(weights[name]).all():
                raise CheckpointError(
                    f"The model's weights are damaged: {name} must hold finite floating-point numbers "
                    f"(its dtype is {weights[name].dtype}). Train the model again, or take another copy."
                )
        self.weights = {
            name: np.ascontiguousarray(weights[name], np.float32) for name in config.shapes()
        }

    def __repr__(self) -> str:
        return f"Encoder({self.config.vocab_size:,} words, vectors of {self.config.output_size})"

    @functools.cached_property
    def _compiled(self):
        import jax

        enable_compile_cache()
        on_device = jax.device_put(self.weights)
        run = jax.jit(lambda weights, tokens: encode(weights, tokens, self.config))
        return lambda tokens: np.asarray(run(on_device, tokens))

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
        if (
            len(rows.values)
            and not 0 <= rows.values.min() <= rows.values.max() < self.config.vocab_size
        ):
            raise DataError(
                f"Token ids must lie from 0 to {self.config.vocab_size - 1}; they run from "
                f"{rows.values.min()} to {rows.values.max()}. Another vocabulary's?"
            )
        padded = self._padded_lengths(rows.lengths, length)  # [questions]
        few = len(rows) <= FEW
        for size in np.unique(padded):
            at = np.flatnonzero((padded == size) & (rows.lengths > 0))
            per_call = max(1, TOKENS_PER_CALL // int(size))
            for start in range(0, len(at), per_call):
                chunk = at[start : start + per_call]
                tokens = rows.padded(chunk, int(size), PAD)
                if few:
                    vectors[chunk] = encode_few(self.weights, tokens, self.config)
                    continue
                # Row counts are rounded up with repeated rows: few shapes to compile.
                count = next((n for n in ROWS if n >= len(chunk)), per_call)
                count = max(min(count, per_call), len(chunk))
                filled = tokens[np.arange(count) % len(chunk)]
                vectors[chunk] = self._compiled(filled)[: len(chunk)]
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


def enable_compile_cache(directory: str | os.PathLike | None = None) -> Path | None:
    """Keeps XLA's compiled programs on disk, so that a second process does not compile them again.

    Args:
      directory: where; ``$XDG_CACHE_HOME/siamese/xla`` (or ``~/.cache/...``) where None. A directory
        that the user has already set in JAX stays.

    Returns:
      The directory in use, or None where it cannot be written.
    """
    import jax

    if jax.config.jax_compilation_cache_dir:
        return Path(jax.config.jax_compilation_cache_dir)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    directory = Path(directory or Path(base) / "siamese" / "xla")
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    jax.config.update("jax_compilation_cache_dir", str(directory))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
    return directory
