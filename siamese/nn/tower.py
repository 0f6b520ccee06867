"""One question tower as a pure JAX function: token ids in, vectors of length 1 out.

Equal to the Trax model on the same weights, which are a flat dict of arrays, as they are saved:

    embedding            float32 [vocab_size, d_model]
    lstm/kernel          float32 [2 * d_model, 4 * d_model]
    lstm/bias            float32 [4 * d_model]
    lstm_reverse/kernel, lstm_reverse/bias    of the second direction, where there is one

A tower over static vectors has more, of which the tables are never trained:

    static               float16 [vocab_size, static_size], static vectors of the tokens
    characters           float32 [vocab_size, 256], see `siamese.nn.characters`
    projection           float32 [static_size, d_model], what the LSTMs read of a token's vector
    output               float32 [2 * d_model, static_size], from their mean states to a static vector

An encoder adds lstm/products and lstm_reverse/products, float32 [vocab_size, 4 * d_model]: `products_of`
every word, computed once.

Here the embedding, [vocab_size, static_size], is what training adds to the static vectors; saved, it is
float16. A question's vector is three blocks of unit length, each times the square root of its share: the
mean static vector, the mean character vector, and what was learned: the mean of static vectors plus
embedding, to which the LSTMs add (a residual: He et al., 2016). The shares sum to 1, so the dot product of
two questions is the weighted mean of three cosines. What was learned says less about texts longer than
those trained on, and has a smaller share of them (`TowerConfig.familiar_length`).

JAX is imported when a function needs it: who only reads a model's files does without.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from siamese.errors import ArgumentError

UNKNOWN, PAD = 0, 1
TABLES = ("static", "characters")  # Never trained.
CHARACTERS = 256  # Size of the character vectors.
# Static vectors have a standard deviation of 1, which is too much for an LSTM's gates; and its states are
# to change the mean of such vectors only a little at first.
INPUT_SCALE, OUTPUT_SCALE = 0.15, 0.2
# A run resumed in another form of the same arithmetic differs in the last bits, and is told so.
LSTM_FORM = "word products, rows"
# So many parts of a batch draw their own dropout of a word's vector: with one, a question and its duplicate
# lack the same numbers, and the model learns less that holds for others (docs/training.md).
DROPOUT_PARTS = 2


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
      static_size: size of the static vectors; 0 for a tower without them.
      static_share: share of static and character vectors in the cosine; 1 learns nothing.
      character_share: the character vectors' part of that share.
      pair_static_share: as static_share, where two questions are compared and nothing is searched; not more
        than 0 where static_share is 0.
      familiar_length: of a question of more tokens the learned block's share is multiplied by
        (familiar_length / tokens)^2, and the others have what it loses; 0 for no such length.
    """

    vocab_size: int
    d_model: int = 128
    mask_padding: bool = False
    bidirectional: bool = False
    compute: str = "float32"
    # Not in the repr, from which the checksums of towers without them were made.
    static_size: int = field(default=0, repr=False)
    static_share: float = field(default=0.5, repr=False)
    character_share: float = field(default=0.15, repr=False)
    pair_static_share: float = field(default=0.0, repr=False)
    familiar_length: int = field(default=0, repr=False)

    def __post_init__(self):
        for name in ("mask_padding", "bidirectional"):
            if getattr(self, name) not in (True, False):
                raise ArgumentError(f"{name} must be True or False; it is {getattr(self, name)!r}.")
        if self.compute not in ("float32", "bfloat16"):
            raise ArgumentError(f"compute must be float32 or bfloat16; it is {self.compute!r}.")
        if self.static_size and not (self.mask_padding and self.bidirectional):
            raise ArgumentError("A tower over static vectors has mask_padding and bidirectional.")
        for name in ("static_share", "character_share", "pair_static_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ArgumentError(f"{name} must lie from 0 to 1; it is {getattr(self, name)!r}.")
        if not self.familiar_length >= 0:
            raise ArgumentError(f"familiar_length is at least 0; it is {self.familiar_length!r}.")
        if self.pair_static_share and not self.static_share:
            raise ArgumentError("pair_static_share needs a static_share above 0.")

    @property
    def output_size(self) -> int:
        """The size of a question's vector."""
        if self.static_size:
            return self.static_size * (1 + self.is_learned) + CHARACTERS
        return self.d_model * (1 + self.bidirectional)

    @property
    def is_learned(self) -> bool:
        """Whether there is an embedding and an LSTM: static vectors alone have none."""
        return not self.static_size or self.static_share < 1

    @property
    def lstms(self) -> tuple[str, ...]:
        """The LSTMs' names in the weights."""
        return ("lstm", "lstm_reverse") if self.bidirectional else ("lstm",)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Name -> shape of the weights."""
        d, size, found = self.d_model, self.static_size, {}
        if self.is_learned:
            found["embedding"] = (self.vocab_size, size or d)
            for name in self.lstms:
                found |= {f"{name}/kernel": (2 * d, 4 * d), f"{name}/bias": (4 * d,)}
        if size and self.is_learned:
            found |= {"projection": (size, d), "output": (len(self.lstms) * d, size)}
        if size:
            found |= {
                "static": (self.vocab_size, size),
                "characters": (self.vocab_size, CHARACTERS),
            }
        return found

    @property
    def blocks(self) -> dict[str, slice]:
        """Name -> columns of the blocks of a vector over static vectors."""
        ends = [0, self.static_size, self.static_size + CHARACTERS, self.output_size]
        columns = [slice(*ends[i : i + 2]) for i in range(2 + self.is_learned)]
        return dict(zip((*TABLES, "learned"), columns))

    def shares(self, static_share):
        """Those of the blocks, in their order, where static and character vectors have so much."""
        part = self.character_share
        return static_share * (1 - part), static_share * part, 1 - static_share


@dataclass(frozen=True)
class Dropout:
    """What is left out at random while a tower is trained."""

    embedding: float = 0.0  # Share of the vectors' numbers set to zero (Srivastava et al., 2014).
    word: float = 0.0  # Share of words replaced by the unknown word (Iyyer et al., 2015).

    def __bool__(self) -> bool:
        return self.embedding > 0 or self.word > 0


class Words(NamedTuple):
    """A batch of padded questions, int32 [batch, length], by its distinct words: ``words[places]``."""

    words: Any  # int32 [n]; first the unknown word and padding, so that they have their number as place.
    places: Any  # int32 [batch, length]


def encode(weights: Mapping, tokens, config: TowerConfig, dropout: Dropout | None = None, key=None):
    """The vectors of a batch of padded questions; a pure function for `jax.jit` and `jax.grad`.

    Args:
      weights: name -> array, see this module's docstring.
      tokens: int32 [batch, length], padded with 1; or the same as `Words`, which takes less time.
      config: the tower's shape.
      dropout: for training; it needs the JAX random `key`.
      key: likewise.

    Returns:
      float32 [batch, output_size], rows of length 1; zero for a row without tokens, where masked.
    """
    import jax.numpy as jnp

    distinct = isinstance(tokens, Words)
    words, places = tokens if distinct else _every_position(tokens)
    tokens = words[places]
    if not config.is_learned:
        return joined_blocks(jnp, weights, tokens, config)

    from siamese.nn.lstm import mean_state

    x, read = word_vectors(weights, words, config), places
    if dropout:
        read = drop_words(places, tokens, dropout, key)
        if distinct and dropout.embedding:
            # Parts of the batch have vectors of their own to drop from.
            part = jnp.arange(len(places)) * DROPOUT_PARTS // len(places)
            read = read + len(words) * part[:, None]
            x = jnp.tile(x, (DROPOUT_PARTS, 1))
        x = drop_numbers(x, dropout, key)
    if "lstm/products" in weights:
        products, at = [weights[f"{name}/products"] for name in config.lstms], tokens
    else:
        products, at = products_of(weights, x, config), read
    mask = (tokens != PAD) if config.mask_padding else None
    means = [
        mean_state(weights[f"{name}/kernel"], product, at, mask, config.compute, reverse)
        for name, product, reverse in zip(config.lstms, products, (False, True))
    ]
    states = jnp.concatenate(means, axis=-1).astype(jnp.float32)
    if not config.static_size:
        return unit_vectors(jnp, states)
    return joined_blocks(jnp, weights, tokens, config, states, x[read])


def word_vectors(weights: Mapping, words, config: TowerConfig):
    """The vectors of words by their numbers, float32 [words, d_model], or [words, static_size]."""
    import jax.numpy as jnp

    x = jnp.take(weights["embedding"], words, axis=0, mode="clip")
    if config.static_size:
        x = x.astype(jnp.float32) + jnp.take(weights["static"], words, axis=0, mode="clip")
    return x


def products_of(weights: Mapping, x, config: TowerConfig) -> list:
    """What the LSTMs make of each word's vector in x: `siamese.nn.lstm.word_products` of each LSTM."""
    from siamese.nn.lstm import word_products

    x = x.astype(config.compute)
    if config.static_size:
        # The weights stay float32: the LSTM takes x's precision, their gradient keeps its own.
        x = (INPUT_SCALE * x) @ weights["projection"].astype(config.compute)
    kernels = ((weights[f"{name}/kernel"], weights[f"{name}/bias"]) for name in config.lstms)
    return [word_products(kernel, bias, x) for kernel, bias in kernels]


def _every_position(tokens) -> Words:
    """Tokens as `Words`, each of one position, where nobody has sought the distinct ones."""
    import jax.numpy as jnp

    words = jnp.concatenate([jnp.array([UNKNOWN, PAD], jnp.int32), tokens.ravel()])
    return Words(words, jnp.arange(2, len(words), dtype=jnp.int32).reshape(tokens.shape))


def joined_blocks(xp, weights: Mapping, tokens, config: TowerConfig, states=None, x=None):
    """The blocks of a tower over static vectors as one vector, by NumPy or JAX.

    Args:
      xp: numpy or jax.numpy.
      weights: see this module's docstring.
      tokens: int32 [batch, length].
      config: the tower's shape.
      states: float32 [batch, 2 * d_model], the LSTMs' mean states; None without them.
      x: float32 [batch, length, static_size], the static vectors and embeddings they come from.

    Returns:
      float32 [batch, output_size]; zero for a row without known tokens.
    """
    known = (tokens > PAD)[..., None]  # [batch, length, 1]
    blocks = []
    for name in TABLES:
        rows = weights[name][tokens].astype(xp.float32)  # [batch, length, d]
        blocks.append(unit_vectors(xp, xp.where(known, rows, 0).sum(axis=1)))
    if states is not None:
        mean = unit_vectors(xp, xp.where((tokens != PAD)[..., None], x, 0).sum(axis=1))
        learned = unit_vectors(xp, mean + OUTPUT_SCALE * (states @ weights["output"]))
        blocks.append(xp.where(known.any(axis=1), learned, 0))
    learned_share = xp.full((len(tokens), 1), 1 - config.static_share, xp.float32)
    if config.familiar_length:
        lengths = xp.maximum((tokens != PAD).sum(axis=1, keepdims=True), 1)
        learned_share = learned_share * xp.minimum(1, config.familiar_length / lengths) ** 2
    shares = config.shares(1 - learned_share)  # float32 [batch, 1] each
    scaled = [b * xp.sqrt(share).astype(xp.float32) for b, share in zip(blocks, shares)]
    return xp.concatenate(scaled, axis=-1)


def towers(weights: Mapping, q1, q2, config: TowerConfig, dropout: Dropout | None = None, key=None):
    """Both questions through the one tower: (v1, v2). One batch of twice the size is faster."""
    import jax
    import jax.numpy as jnp

    places1, places2 = (q.places if isinstance(q, Words) else q for q in (q1, q2))
    if places1.shape != places2.shape:
        keys = jax.random.split(key) if dropout else (None, None)
        return tuple(
            encode(weights, q, config, dropout, own) for q, own in zip((q1, q2), keys, strict=True)
        )
    both = jnp.concatenate([places1, places2])
    if isinstance(q1, Words):
        both = Words(q1.words, both)
    vectors = encode(weights, both, config, dropout, key)
    return vectors[: len(places1)], vectors[len(places1) :]


def drop_words(places, tokens, dropout: Dropout, key):
    """Some places replaced by that of the unknown word; padding stays."""
    import jax
    import jax.numpy as jnp

    if not dropout.word:
        return places
    dropped = jax.random.bernoulli(jax.random.fold_in(key, 0), dropout.word, tokens.shape)
    return jnp.where(dropped & (tokens != PAD), UNKNOWN, places)


def drop_numbers(x, dropout: Dropout, key):
    """Some numbers of each word set to zero, the rest divided by the share that stays: the same mean."""
    import jax
    import jax.numpy as jnp

    if not dropout.embedding:
        return x
    stays = 1 - dropout.embedding
    kept = jax.random.bernoulli(jax.random.fold_in(key, 1), stays, x.shape)
    return jnp.where(kept, x / stays, 0)


def unit_vectors(xp, x, axis: int = -1):
    """`x` scaled to length 1 along an axis, by NumPy or JAX; a zero vector stays, with a zero gradient."""
    squared = xp.sum(x * x, axis=axis, keepdims=True)
    is_zero = squared == 0
    # Both `where` are needed: the inner one keeps NaN out of the gradient, the outer one makes it 0.
    safe = xp.where(is_zero, xp.ones_like(squared), squared)
    return xp.where(is_zero, xp.zeros_like(x), x / xp.sqrt(safe))
