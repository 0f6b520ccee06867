"""Embedding, LSTM, mean and length 1 as pure JAX functions: token ids in, vectors out.

Its weights are a flat dict of arrays, as they are saved:

    embedding            float32 [vocab_size, d_model]
    lstm/kernel          float32 [2 * d_model, 4 * d_model]
    lstm/bias            float32 [4 * d_model]
    lstm_reverse/kernel, lstm_reverse/bias    of the second direction, where there is one

With the same weights the course's Trax model computes the same vectors. An encoder adds
lstm/products and lstm_reverse/products, float32 [vocab_size, 4 * d_model]:
`products_of` every word, computed once.

A function imports JAX when it needs it: reading a model's files does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from siamese.errors import ArgumentError, SiameseError
from siamese.nn import arrays
from siamese.nn.arrays import unit_vectors

if TYPE_CHECKING:
    from jax import Array

UNKNOWN = 0
PAD = 1
# The parts of a batch that draw their own dropout of a word's vector: with one part a
# question and its duplicate lack the same numbers, and the model generalises less
# (docs/tasks/train.md).
DROPOUT_PARTS = 2


@dataclass(frozen=True)
class LstmConfig:
    """The shape of an LSTM."""

    vocab_size: int  # rows of the embedding
    d_model: int = 128  # size of the embedding and of the LSTM's state
    # leave padding out, or average over it as the course does
    mask_padding: bool = False
    # a second LSTM from the end; its mean state is appended
    bidirectional: bool = False

    def __post_init__(self) -> None:
        for name in ("mask_padding", "bidirectional"):
            if getattr(self, name) not in (True, False):
                raise ArgumentError(
                    f"{name} must be True or False; it is {getattr(self, name)!r}."
                )

    @property
    def output_size(self) -> int:
        """The size of a question's vector."""
        return self.d_model * (1 + self.bidirectional)

    @property
    def lstms(self) -> tuple[str, ...]:
        """The LSTMs' names in the weights."""
        return ("lstm", "lstm_reverse") if self.bidirectional else ("lstm",)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Name -> shape of the weights."""
        d = self.d_model
        shapes: dict[str, tuple[int, ...]] = {"embedding": (self.vocab_size, d)}
        for name in self.lstms:
            shapes |= {f"{name}/kernel": (2 * d, 4 * d), f"{name}/bias": (4 * d,)}
        return shapes


class Dropout(NamedTuple):
    """The dropout rates of training."""

    # Share of the vectors' numbers set to zero (Srivastava et al., 2014).
    embedding: float = 0.0
    # Share of words replaced by the unknown word (Iyyer et al., 2015).
    word: float = 0.0


class Words(NamedTuple):
    """A batch of padded questions, int32 [batch, length], by its distinct words: ``words[places]``."""

    # int32 [n]; the unknown word and padding come first, so that their ids are their
    # places.
    words: arrays.Array
    places: arrays.Array  # int32 [batch, length]


def init(
    key: Array,
    config: LstmConfig,
    lstm_bias: str = "all_gates",
    embedding_std: float = 0.0,
) -> dict[str, Array]:
    """The weights that training starts from, drawn as Trax draws them: float32 of ``config.shapes()``.

    The LSTM's bias starts at 1 at 'all_gates', as Trax's, or the 'forget_gate', see
    `siamese.Siamese`. An `embedding_std` of 0 takes Trax's uniform distribution, whose
    variance is 1 / d_model.
    """
    import jax
    import jax.numpy as jnp

    keys = iter(jax.random.split(key, 1 + 2 * len(config.lstms)))
    size = config.vocab_size
    d = config.d_model
    if embedding_std:
        embedding = embedding_std * jax.random.normal(next(keys), (size, d))
    else:
        limit = (3.0 / d) ** 0.5
        embedding = jax.random.uniform(
            next(keys), (size, d), jnp.float32, -limit, limit
        )
    weights = {"embedding": embedding}
    # i, j, f, o
    gates = {"all_gates": [1, 1, 1, 1], "forget_gate": [0, 0, 1, 0]}[lstm_bias]
    for name in config.lstms:
        limit = (6.0 / (2 * d + 4 * d)) ** 0.5  # Glorot & Bengio, 2010
        shape = (2 * d, 4 * d)
        kernel = jax.random.uniform(next(keys), shape, jnp.float32, -limit, limit)
        bias = jnp.repeat(jnp.array(gates, jnp.float32), d)
        bias = bias + 1e-6 * jax.random.normal(next(keys), (4 * d,))
        weights |= {f"{name}/kernel": kernel, f"{name}/bias": bias}
    return weights


def encode(
    weights: Mapping,  # name -> array, see this module's docstring
    # int32 [batch, length], padded with 1; or the same as `Words`, in less time
    tokens: arrays.Array | Words,
    config: LstmConfig,
    dropout: Dropout | None = None,  # for training, by the key
    key: Array | None = None,  # JAX's random key, for the dropout
) -> Array:
    """The vectors of a batch of padded questions; a pure function for `jax.jit` and `jax.grad`.

    They are float32 [batch, output_size], of length 1; zero for a row without tokens,
    where masked.
    """
    import jax.numpy as jnp

    from siamese.nn.recurrence import mean_state

    if isinstance(tokens, Words):
        words, places = map(jnp.asarray, tokens)
    else:  # Each position counts as a word of its own.
        first = jnp.array([UNKNOWN, PAD], jnp.int32)
        words = jnp.concatenate([first, jnp.ravel(tokens)])
        places = jnp.arange(2, len(words)).reshape(tokens.shape)
    token_ids = words[places]
    x = jnp.take(weights["embedding"], words, axis=0, mode="clip")  # [words, d_model]
    if dropout is not None and key is not None:
        x, places = dropped(x, places, token_ids, dropout, key)
    if "lstm/products" in weights:  # They are of every word of the vocabulary.
        products = [weights[f"{name}/products"] for name in config.lstms]
        places = token_ids
    else:
        products = products_of(weights, x, config)
    mask = (token_ids != PAD) if config.mask_padding else None
    means = [
        mean_state(weights[f"{name}/kernel"], product, places, mask, reverse)
        for name, product, reverse in zip(config.lstms, products, (False, True))
    ]
    return jnp.asarray(unit_vectors(jnp, jnp.concatenate(means, axis=-1)))


def products_of(weights: Mapping, x: Array, config: LstmConfig) -> list[Array]:
    """The LSTMs' products with the words' vectors x: `siamese.nn.recurrence.word_products` of each LSTM."""
    from siamese.nn.recurrence import word_products

    kernels = (
        (weights[f"{name}/kernel"], weights[f"{name}/bias"]) for name in config.lstms
    )
    return [word_products(kernel, bias, x) for kernel, bias in kernels]


def dropped(
    x: Array, places: Array, tokens: Array, dropout: Dropout, key: Array
) -> tuple[Array, Array]:
    """The words' vectors, some of their numbers zero, and the places, some that of the unknown word.

    The numbers that stay are divided by the share that stays; padding stays. Each part
    of the batch has copies of the vectors to drop numbers from.
    """
    import jax
    import jax.numpy as jnp

    if dropout.word:
        some = jax.random.bernoulli(
            jax.random.fold_in(key, 0), dropout.word, tokens.shape
        )
        places = jnp.where(some & (tokens != PAD), UNKNOWN, places)
    if dropout.embedding:
        part = jnp.arange(len(places)) * DROPOUT_PARTS // len(places)
        places = places + len(x) * part[:, None]
        x = jnp.tile(x, (DROPOUT_PARTS, 1))
        stays = 1 - dropout.embedding
        mask = jax.random.bernoulli(jax.random.fold_in(key, 1), stays, x.shape)
        x = jnp.where(mask, x / stays, 0)
    return x, places


def check_finite(weights: object, step: int) -> None:
    """Raises a SiameseError for weights, arrays in any tree, that training has made NaN or infinite."""
    import jax
    import numpy as np

    if not all(np.isfinite(array).all() for array in jax.tree.leaves(weights)):
        raise SiameseError(
            f"The weights are no longer finite numbers at step {step}, and are not saved: use a smaller "
            "learning rate in a new directory, and look for questions without tokens."
        )
