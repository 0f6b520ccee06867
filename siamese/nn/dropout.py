"""What a tower leaves out at random while it is trained."""

from __future__ import annotations

from dataclasses import dataclass


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


def drop_words(tokens, dropout: Dropout, key):
    """Some words replaced by the unknown word, 0; padding, 1, stays."""
    import jax
    import jax.numpy as jnp

    if not dropout.word:
        return tokens
    dropped = jax.random.bernoulli(jax.random.fold_in(key, 0), dropout.word, tokens.shape)
    return jnp.where(dropped & (tokens != 1), 0, tokens)


def drop_numbers(x, dropout: Dropout, key):
    """Some numbers set to zero, the rest divided by the share that stays: the same mean."""
    import jax
    import jax.numpy as jnp

    if not dropout.embedding:
        return x
    stays = 1 - dropout.embedding
    kept = jax.random.bernoulli(jax.random.fold_in(key, 1), stays, x.shape)
    return jnp.where(kept, x / stays, 0)
