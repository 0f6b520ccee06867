"""Encoders over encoders: a head on one, and several side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from siamese.encoders.protocol import BaseEncoder, checksum, unit_rows
from siamese.errors import ArgumentError
from siamese.text.cleaning import has_words


class OverOthers(BaseEncoder):
    """An encoder whose vectors are made of those of its bases, which read the texts."""

    @property
    def has_zeros(self) -> bool:  # type: ignore[override]
        """Whether the vector of a text that none of the bases knows is zero."""
        return all(base.has_zeros for base in self.bases)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """The vectors of texts as they are read, float32 [texts, size], of length 1 or 0."""
        vectors = self.of_bases({base: base.encode(texts) for base in self.bases})
        vectors[[not has_words(text) for text in texts]] = 0
        return vectors

    def knows(self, text: str) -> bool:
        """Whether one of the bases knows a word of a text."""
        return any(base.knows(text) for base in self.bases)

    def respelled(self, text: str) -> str:
        """The text with the slips set right that any of the bases sets right."""
        for base in self.bases:
            text = base.respelled(text)
        return text

    def has_more(self, text: str) -> bool:
        """Whether one of the bases does not read it to its end."""
        return any(base.has_more(text) for base in self.bases)


class Head(OverOthers):
    """A square matrix over the vectors of an encoder, its base: ``M e / |M e|`` of a vector e.

    Args:
      base: the encoder.
      matrix: float [d, d] for its vectors of d numbers; see `siamese.training.head`.

    ArgumentError for a matrix of another shape, or one that is not finite.
    """

    name = "head"

    def __init__(self, base: BaseEncoder, matrix: np.ndarray):
        self.base = base
        self.size = base.size
        self.longest = base.longest
        self.short = base.short
        self.at_once = base.at_once
        self.matrix = np.array(matrix, np.float32)
        self.matrix.flags.writeable = False
        square = (self.size, self.size)
        if self.matrix.shape != square or not np.isfinite(self.matrix).all():
            raise ArgumentError(
                f"head must be a finite matrix {square}; it is {self.matrix.shape}."
            )

    @property
    def fingerprint(self) -> str | None:  # type: ignore[override]
        """The SHA-256 of the base's and of the matrix; None where the base has none."""
        if self.base.fingerprint is None:
            return None
        return checksum({"head": self.matrix}, self.base.fingerprint)

    @property
    def bases(self) -> tuple[BaseEncoder, ...]:
        """Those of its base."""
        return self.base.bases

    def of_bases(self, vectors: Mapping[BaseEncoder, np.ndarray]) -> np.ndarray:
        """The vectors of texts that have these by each of the `bases`, float32 [texts, size]."""
        return self.on(self.base.of_bases(vectors))

    def on(self, vectors: np.ndarray) -> np.ndarray:
        """The vectors of texts that have these by the base, float32 [texts, size]."""
        return unit_rows(vectors @ self.matrix)


class Joined(OverOthers):
    """Several encoders side by side: a cosine is the mean of theirs, weighed by their shares.

    The vector of a text is ``[sqrt(s) * v, sqrt(s') * v', ...]`` of length 1, of their
    vectors v and shares s. Where one has no vector for a text, the others count alone.
    A text without a letter or digit has a zero vector. All read a text alike, and a
    base that several share encodes it once.

    Args:
      encoders: (share, encoder) of each; shares are above 0, and count relative to each other.

    ArgumentError for no encoders, or other shares.

    Example:
      >>> from siamese.encoders import find_encoder
      >>> use = find_encoder("use")
      >>> both = Joined([(0.75, use), (0.25, Head(use, np.eye(512)))])
      >>> both.name, both.shares, both.parts
      ('use+head', (0.75, 0.25), (slice(0, 512, None), slice(512, 1024, None)))
    """

    def __init__(self, encoders: Sequence[tuple[float, BaseEncoder]]):
        self.weights = tuple(float(share) for share, _ in encoders)
        self.encoders = tuple(encoder for _, encoder in encoders)
        if not encoders or not all(0 < share < math.inf for share in self.weights):
            raise ArgumentError(f"shares must be above 0; they are {self.weights!r}.")
        self.shares = tuple(share / sum(self.weights) for share in self.weights)
        self.name = "+".join(encoder.name for encoder in self.encoders)
        self.size = sum(encoder.size for encoder in self.encoders)
        self.longest = max(encoder.longest for encoder in self.encoders)
        self.short = min(encoder.short for encoder in self.encoders)
        self.at_once = min(encoder.at_once for encoder in self.encoders)

    @property
    def parts(self) -> tuple[slice, ...]:
        """Where the numbers of each encoder stand."""
        ends = np.cumsum([0, *(encoder.size for encoder in self.encoders)]).tolist()
        return tuple(map(slice, ends[:-1], ends[1:]))

    @property
    def fingerprint(self) -> str | None:  # type: ignore[override]
        """The SHA-256 of the encoders' and their shares; None where one has none."""
        fingerprints = [encoder.fingerprint for encoder in self.encoders]
        if None in fingerprints:
            return None
        return checksum({}, [fingerprints, self.weights])

    @property
    def bases(self) -> tuple[BaseEncoder, ...]:
        """The different bases of its encoders."""
        return tuple(dict.fromkeys(base for own in self.encoders for base in own.bases))

    def of_bases(self, vectors: Mapping[BaseEncoder, np.ndarray]) -> np.ndarray:
        """The vectors of texts that have these by each of the `bases`, float32 [texts, size]."""
        return self.of_parts([encoder.of_bases(vectors) for encoder in self.encoders])

    def of_parts(self, vectors: Sequence[np.ndarray]) -> np.ndarray:
        """The vectors of texts that have these by each of its encoders, float32 [texts, size]."""
        weights = np.sqrt(np.array(self.weights, np.float32))
        scaled = [weight * own for weight, own in zip(weights, vectors)]
        return unit_rows(np.concatenate(scaled, axis=1))
