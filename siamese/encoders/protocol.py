"""What an encoder is: texts to unit vectors, and how it reads a text; and what encoders share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from siamese.text.cleaning import LONGEST_TEXT, has_words, straightened
from siamese.text.tokenizer import MAX_TOKENS
from siamese.text.values import text_list
from siamese.text.wrapping import plain


class Encoder(Protocol):
    """Texts to vectors of length 1. Threads may share an encoder.

    Whoever holds an encoder reads each text once by `read`, and gives `encode` and
    `knows` what comes back; the encoders inside of another one do not read again.
    """

    name: str
    size: int  # numbers of a vector
    at_once: int  # characters of texts that a core encodes in about two seconds

    @property
    def has_zeros(self) -> bool:
        """Whether the vector of a text that it does not know is zero."""

    @property
    def fingerprint(self) -> str | None:
        """The SHA-256 of what decides the vectors, in hexadecimal; None: no file can name it."""

    @property
    def parts(self) -> tuple[slice, ...]:
        """Where the numbers of each encoder inside stand; of a single one, all."""

    @property
    def shares(self) -> tuple[float, ...]:
        """The weight of each part in the cosine, 1 together."""

    def beginning(self, text: str) -> tuple[str, bool]:
        """A question cleaned, and cut to what is read at most; whether it is longer."""

    def read(self, text: str) -> str:
        """A question as it is read: its `beginning`, with slips set right."""

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """The vectors of texts as they are read, float32 [texts, size], of length 1 or 0."""

    def knows(self, text: str) -> bool:
        """Whether it knows a word of a text; it cannot tell texts apart that it does not know."""

    def unknown(self, words: Iterable[str]) -> list[str]:
        """Those of the words that it does not know; a mark is no word."""

    def truncated(self, texts: Iterable[str]) -> int:
        """How many questions it does not read to their end."""


class BaseEncoder:
    """An `Encoder` that reads as most do; each has its own `encode`, and may know less."""

    name: str
    size: int
    longest = LONGEST_TEXT  # characters that it reads at most
    short = MAX_TOKENS  # A text of so many characters is read to its end.
    # Characters of texts that a core encodes in about two seconds.
    at_once = 250_000
    has_zeros = False
    fingerprint: str | None = None
    shares: tuple[float, ...] = (1.0,)

    @property
    def parts(self) -> tuple[slice, ...]:
        """Where the numbers of each encoder inside stand: of a single one, all."""
        return (slice(0, self.size),)

    @property
    def bases(self) -> tuple[BaseEncoder, ...]:
        """The different encoders inside whose vectors decide its own; without any, itself."""
        return (self,)

    def of_bases(self, vectors: Mapping[BaseEncoder, np.ndarray]) -> np.ndarray:
        """The vectors of texts that have these by each of the `bases`, float32 [texts, size]."""
        return vectors[self]

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """The vectors of texts as they are read, float32 [texts, size], of length 1 or 0."""
        raise NotImplementedError

    def read(self, text: str) -> str:
        """A question as it is read: cleaned, cut to `longest`, and with slips set right."""
        return self.respelled(self.beginning(text)[0])

    def beginning(self, text: str) -> tuple[str, bool]:
        """A question cleaned and cut to `longest` characters; whether it is longer."""
        is_longer = len(text) > LONGEST_TEXT
        text = straightened(plain(text))
        if len(text) > self.longest:
            text = " ".join(text.split())  # Blanks alone hide no words behind them.
        return text[: self.longest], is_longer or len(text) > self.longest

    def respelled(self, text: str) -> str:
        """The text as it is, or with slips in its words set right: `siamese.encoders.spelling`."""
        return text

    def knows(self, text: str) -> bool:
        """Whether it knows a word of a text."""
        return has_words(text)

    def has_more(self, text: str) -> bool:
        """Whether it does not read a text of at most `longest` characters to its end."""
        return False

    def truncated(self, texts: Iterable[str]) -> int:
        """How many questions it does not read to their end.

        Of a question, its tags counted, `siamese.text.cleaning.LONGEST_TEXT` characters
        are cleaned, and of the cleaned text `longest` characters are read.
        """
        long = (self.beginning(text) for text in texts if len(text) > self.short)
        return sum(is_longer or self.has_more(text) for text, is_longer in long)

    def unknown(self, words: Iterable[str]) -> list[str]:
        """Those of the words that it does not know; a mark is no word."""
        return [word for word in words if has_words(word) and not self.knows(word)]


class FrozenEncoder(BaseEncoder):
    """A pretrained encoder. The vector of a text that it does not know is zero.

    Args:
      name: the specification that `find_encoder` takes, such as 'use'.
      fingerprint: the SHA-256 of weights and token model, in hexadecimal; None for an object.
      size: the numbers of a vector.
      vectors: function of texts that it `knows` -> unit vectors, float32 [texts, size].
    """

    has_zeros = True

    def __init__(
        self,
        name: str,
        fingerprint: str | None,
        size: int,
        vectors: Callable[[list[str]], np.ndarray],
    ):
        self.name = name
        self.fingerprint = fingerprint
        self.size = size
        self._vectors = vectors

    def __reduce__(self) -> tuple:
        from siamese.encoders import find_encoder

        return find_encoder, (self.name,)  # A copy or a pickle holds no weights.

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """The vectors of texts as they are read, float32 [texts, size], of length 1 or 0.

        A text's vector is the same alone or in company (to 1e-6). For errors see
        `siamese.encoders.find_encoder` and `text_list`.
        """
        texts = text_list(texts, "encode")
        vectors = np.zeros((len(texts), self.size), np.float32)
        known = np.flatnonzero([self.knows(text) for text in texts])
        if len(known):
            vectors[known] = self._vectors([texts[place] for place in known])
        return vectors


def unknown_texts(encoder: Encoder, texts: Iterable[str]) -> np.ndarray:
    """Which questions have no word that an encoder knows, bool [questions]: it cannot tell them apart."""
    return np.array([not encoder.knows(encoder.read(text)) for text in texts], bool)


def unknown_rows(
    encoder: Encoder, read: Sequence[str], vectors: np.ndarray
) -> np.ndarray:
    """`unknown_texts` of questions as they are read, with their vectors, float32 [questions, d]."""
    if encoder.has_zeros:
        return np.logical_not(vectors.any(axis=1))
    return np.array([not encoder.knows(text) for text in read], bool)


# ---- Small parts ----


def runs(sizes: Sequence[int] | np.ndarray, most: int) -> Iterator[slice]:
    """Neighbours in runs of at most `most` together, or of one that is larger.

    Example:
      >>> list(runs([2, 3, 4, 9], 5))
      [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    ends = np.cumsum(sizes)
    first = total = 0
    while first < len(ends):
        last = max(first + 1, int(np.searchsorted(ends, total + most, side="right")))
        yield slice(first, last)
        first = last
        total = int(ends[last - 1])


def fingerprint_of(*contents: bytes) -> str:
    """The SHA-256 of the files' SHA-256s, in hexadecimal."""
    digests = b"".join(hashlib.sha256(content).digest() for content in contents)
    return hashlib.sha256(digests).hexdigest()


def checksum(arrays: Mapping[str, np.ndarray], facts: object) -> str:
    """The SHA-256 of JSON values and of every array's name, dtype, shape and bytes, in sorted order."""
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(json.dumps([name, array.dtype.name, array.shape]).encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def valid_unicode(text: str) -> str:
    """The text with half surrogate pairs replaced, which have no UTF-8 and break tokenizers."""
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()


def unit_rows(values: np.ndarray) -> np.ndarray:
    """Rows of finite numbers scaled to length 1, float32; rows of zeros stay."""
    _, exponents = np.frexp(np.abs(values).max(axis=1, keepdims=True))
    # Squares neither overflow nor vanish; a power of two changes no digit.
    values = values / np.ldexp(np.ones(1, values.dtype), exponents - 1)
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    return (values / np.where(lengths, lengths, 1)).astype(np.float32, copy=False)
