"""The tables under a tower over static vectors; one of them is computed, the tokens' character vectors.

They are what a misspelt word has in common with the right one. A token's vector is the sum over its
character trigrams g of ``sign(g) * log((3 n + 1) / (count(g) + 1))``: sign(g) is the 256 bits of g's
SHA-256 as plus and minus 1/16, a random projection (Achlioptas, 2003) that is the same everywhere;
count(g) is in how many of the n training questions a token with g stands, summed over those tokens, so
that frequent trigrams weigh little, as in TF-IDF.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import log
from typing import Any

import numpy as np

from siamese.nn.tower import CHARACTERS, TABLES

_BLOCK = 4096  # Rows computed at once.


class CharacterTable:
    """The character vectors of a vocabulary's tokens, computed where they are asked for.

    Like an array float32 [size, 256]: `table[ids]` has the rows of integer ids, `np.asarray(table)` all.

    Args:
      text: function id -> a token's text with its leading blank; '' has a zero row.
      size: the number of rows.
      counts: trigram -> its count, for every trigram of every token.
      questions: n, the number of questions that were counted.

    Example:
      >>> words = ["", "", " cat", " cats"]
      >>> table = CharacterTable.counted(words.__getitem__, 4, np.array([0, 0, 1, 1]), 2)
      >>> table.counts[" ca"], table[np.array([[2, 3]])].shape
      (2, (1, 2, 256))
    """

    dtype = np.dtype(np.float32)

    def __init__(
        self, text: Callable[[int], str], size: int, counts: Mapping[str, int], questions: int
    ):
        self.shape = (size, CHARACTERS)
        self.counts, self.questions = dict(counts), questions
        self._text = text

    @classmethod
    def counted(cls, text, size: int, occurrences: np.ndarray, questions: int) -> CharacterTable:
        """With the counts of trigrams taken from those of tokens, int [size]."""
        counts: dict[str, int] = {}
        for token in range(size):
            for trigram in trigrams(text(token)):
                counts[trigram] = counts.get(trigram, 0) + int(occurrences[token])
        return cls(text, size, counts, questions)

    def to_dict(self) -> dict[str, Any]:
        """JSON values: the arguments that are not the vocabulary's."""
        return {"counts": self.counts, "questions": self.questions}

    def __getitem__(self, ids: np.ndarray) -> np.ndarray:
        distinct, places = np.unique(ids, return_inverse=True)
        rows = np.zeros((len(distinct), CHARACTERS), np.float32)
        for start in range(0, len(distinct), _BLOCK):
            chosen = distinct[start : start + _BLOCK]
            rows[start : start + len(chosen)] = self._rows(chosen.tolist())
        return rows[places.reshape(np.shape(ids))]

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return self[np.arange(self.shape[0])].astype(dtype or self.dtype, copy=False)

    def _rows(self, ids: list[int]) -> np.ndarray:
        found = [trigrams(self._text(i)) for i in ids]
        number = {trigram: at for at, trigram in enumerate({t: None for row in found for t in row})}
        rows = np.zeros((len(ids), CHARACTERS), np.float32)
        if not number:
            return rows
        bits = b"".join(hashlib.sha256(trigram.encode()).digest() for trigram in number)
        signs = np.unpackbits(np.frombuffer(bits, np.uint8)).reshape(-1, CHARACTERS)
        most = 3 * self.questions + 1
        weights = [max(0.0, log(most / (self.counts.get(t, 0) + 1))) for t in number]
        scaled = (signs * np.float32(2) - 1) / 16 * np.array(weights, np.float32)[:, None]
        lengths = np.array([len(row) for row in found])
        flat = scaled[[number[trigram] for row in found for trigram in row]]
        starts = np.concatenate([[0], np.cumsum(lengths[lengths > 0])[:-1]])
        rows[lengths > 0] = np.add.reduceat(flat, starts, axis=0)
        return rows


def trigrams(text: str) -> list[str]:
    """The character trigrams of a text, in order; of a shorter one the whole, of none nothing.

    Example:
      >>> trigrams(" cat"), trigrams("?"), trigrams("")
      ([' ca', 'cat'], ['?'], [])
    """
    return [text[i : i + 3] for i in range(max(1, len(text) - 2))] if text else []


@dataclass(frozen=True, eq=False)
class StaticStart:
    """What a tower over static vectors is made of before it is trained.

    Args:
      static: float16 [vocab_size, static_size], see `siamese.nn.tower`.
      characters: the character vectors.
      projection: float32 [static_size, d_model], its first values.
      shares: static_share, character_share and familiar_length of `TowerConfig`.
      checksum: of the static vectors and their vocabulary.
    """

    static: np.ndarray
    characters: CharacterTable
    projection: np.ndarray
    shares: Mapping[str, float]
    checksum: str

    @property
    def tables(self) -> dict[str, Any]:
        """The tables by their names in the weights."""
        return {name: getattr(self, name) for name in TABLES}

    @property
    def facts(self) -> dict[str, Any]:
        """JSON values that a run's checkpoints carry, from which the tables can be made again."""
        return {
            "vectors": self.checksum,
            "characters": self.characters.to_dict(),
            "familiar_length": self.shares["familiar_length"],
        }

    @functools.cached_property
    def on_device(self) -> dict[str, Any]:
        """The tables as JAX arrays, for every model of a run, closed over by its compiled steps.

        JAX passes them to a step as arguments. Neither weights nor state of the model, they have no
        optimizer slots, stand in no checkpoint, and are not copied by each step, as state would be.
        """
        import jax
        import jax.numpy as jnp

        with jax.ensure_compile_time_eval():  # A model may be traced when it asks first.
            return {name: jnp.asarray(np.asarray(a)) for name, a in self.tables.items()}

    def with_share(self, static_share: float) -> StaticStart:
        """The same with another share of static and character vectors."""
        made = replace(self, shares={**self.shares, "static_share": static_share})
        vars(made)["on_device"] = self.on_device  # The tables are made and copied once.
        return made

    @property
    def options(self) -> dict[str, Any]:
        """Those of `TowerConfig`."""
        return {"static_size": self.static.shape[1], **self.shares}
