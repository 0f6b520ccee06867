"""Vocabulary: the course's numbering of words, frozen, and its file."""

from __future__ import annotations

import json
import os
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from siamese.data.tokenizer import UNKNOWN_ID, word_ids, word_tokenize
from siamese.errors import ArgumentError, DataError
from siamese.storage.atomic import explain, write_bytes_atomically

PAD, PAD_ID = "<PAD>", 1
UNKNOWN = "<UNK>"  # what `decode` writes for the id of all unknown words

_FORMAT, _VERSIONS = "siamese vocabulary", (1, 2)  # 2 has unknown_ids
_SAVE_AGAIN = "Save it again from the training questions (Vocabulary.save)."


class Vocabulary(Mapping):
    """The course's numbering of words: unknown 0, ``<PAD>`` 1, then words in order of first sight.

    Frozen: ``vocab[word]`` is 0 for an unknown word and never enters it, so it can stand where the course
    uses ``defaultdict(lambda: 0)``. ``in``, ``len``, ``get`` and iteration know the known words only
    (``<PAD>`` is one).

    With ``unknown_ids=n`` an unknown word has one of the n ids behind the last word's, chosen by the word's
    CRC-32, so that two different unknown words are seldom taken for one (feature hashing, Weinberger et al.
    2009, arXiv:0902.2206).

    Make one with `from_pairs` (training questions), `from_words` (a list) or `load` (a file).

    Example:
      >>> vocab = Vocabulary.from_pairs([["What", "is", "it", "?"]], [["Is", "it", "?"]])
      >>> vocab["<PAD>"], vocab["What"], vocab["Is"], vocab["never"], len(vocab), vocab.size
      (1, 2, 6, 0, 6, 7)
      >>> vocab.encode("What is this?"), vocab.decode([2, 3, 0, 5, 1])
      ([2, 3, 0, 5], ['What', 'is', '<UNK>', '?', '<PAD>'])
    """

    __slots__ = ("_ids", "_lowercase", "_unknown_ids", "_words")

    def __init__(self, words: Iterable[str] = (), *, lowercase: bool = False, unknown_ids: int = 0):
        """See `from_words`."""
        if isinstance(unknown_ids, bool) or not isinstance(unknown_ids, int) or unknown_ids < 0:
            raise ArgumentError(f"unknown_ids must be a whole number >= 0; it is {unknown_ids!r}.")
        ids = {PAD: PAD_ID}
        for word in _checked_words(words):
            if lowercase and word != PAD:
                word = word.lower()
            if word not in ids:
                ids[word] = len(ids) + 1
        self._ids = ids
        self._words = tuple(ids)
        self._lowercase = bool(lowercase)
        self._unknown_ids = unknown_ids

    @classmethod
    def from_words(cls, words: Iterable[str], *, lowercase: bool = False) -> Vocabulary:
        """Numbers a list's words in its order, from 2; repeated words and ``<PAD>`` are skipped.

        Raises:
          ArgumentError: `words` is a str, or holds something that is not a str.
        """
        return cls(words, lowercase=lowercase)

    @classmethod
    def from_pairs(
        cls,
        tokens1: Iterable[Sequence[str]],
        tokens2: Iterable[Sequence[str]],
        *,
        lowercase: bool = False,
        min_count: int = 1,
    ) -> Vocabulary:
        """Numbers the words of training pairs as the course does: pair by pair, question 1 first.

        Args:
          tokens1: the tokens of each question 1.
          tokens2: the tokens of each question 2, in the same order.
          lowercase: fold case here and in every later lookup and `encode` (the course does not).
          min_count: leave out words seen fewer times than this in all the questions together.

        Raises:
          ArgumentError: the two sides differ in length, or a question is text, not tokens.
        """
        tokens1, tokens2 = list(tokens1), list(tokens2)
        if len(tokens1) != len(tokens2):
            raise ArgumentError(
                f"tokens1 holds {len(tokens1)} questions and tokens2 {len(tokens2)}; "
                "a pair needs one of each."
            )
        counts: Counter[str] = Counter()
        for pair in zip(tokens1, tokens2):
            for question in pair:
                counts.update(_checked_words(question))
        return cls.from_counts(counts, lowercase=lowercase, min_count=min_count)

    @classmethod
    def from_counts(
        cls,
        counts: Mapping[str, int],
        *,
        lowercase: bool = False,
        min_count: int = 1,
    ) -> Vocabulary:
        """Numbers the words of a table, word -> times seen, in its order; see `from_pairs`."""
        if min_count < 1:
            raise ArgumentError(f"min_count must be 1 or more; it is {min_count}.")
        if lowercase:
            folded: Counter[str] = Counter()
            for word, count in counts.items():
                folded[word.lower()] += count
            counts = folded
        kept = [word for word in counts if counts[word] >= min_count and word != PAD]
        return cls(kept, lowercase=lowercase)

    @property
    def lowercase(self) -> bool:
        """Whether words are folded to lower case before they are looked up."""
        return self._lowercase

    @property
    def size(self) -> int:
        """Rows that an embedding needs: ids from 0 (unknown) to the last word's or unknown id."""
        return len(self._ids) + 1 + self._unknown_ids

    @property
    def unknown_ids(self) -> int:
        """How many ids unknown words share; 0 where all of them are 0."""
        return self._unknown_ids

    def with_unknown_ids(self, unknown_ids: int) -> Vocabulary:
        """The same words with so many ids for unknown ones.

        Example:
          >>> vocab = Vocabulary.from_words(["cat"]).with_unknown_ids(100)
          >>> vocab["cat"], 3 <= vocab["dog"] < vocab.size == 103, "dog" in vocab
          (2, True, False)
        """
        return Vocabulary(self._words, lowercase=self._lowercase, unknown_ids=unknown_ids)

    @property
    def words(self) -> tuple[str, ...]:
        """The known words by id: ``words[0]`` is ``<PAD>``, with id 1."""
        return self._words

    def __getitem__(self, word: str) -> int:
        if not isinstance(word, str):
            raise ArgumentError(f"A vocabulary is asked for a word (str), not {word!r}.")
        word = self._fold(word)
        if word in self._ids or not self._unknown_ids:
            return self._ids.get(word, UNKNOWN_ID)
        number = zlib.crc32(word.encode("utf-8", "surrogatepass")) % self._unknown_ids
        return len(self._ids) + 1 + number

    def get(self, word: str, default: Any = None) -> Any:
        """The id of a known word, else `default`."""
        return self._ids.get(self._fold(word), default) if isinstance(word, str) else default

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self._fold(word) in self._ids

    def __iter__(self) -> Iterator[str]:
        return iter(self._words)

    def __len__(self) -> int:
        return len(self._ids)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Vocabulary):
            return self._facts() == other._facts()
        return self._ids == dict(other) if isinstance(other, Mapping) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._facts())

    def _facts(self) -> tuple:
        return self._words, self._lowercase, self._unknown_ids

    def __repr__(self) -> str:
        options = f"lowercase={self._lowercase}, unknown_ids={self._unknown_ids}"
        return f"<Vocabulary of {len(self)} words, {options}: {', '.join(self._words[:4])} ...>"

    def _fold(self, word: str) -> str:
        return word.lower() if self._lowercase and word != PAD else word

    def encode(self, question: str | Iterable[str]) -> list[int]:
        """The ids of a question's tokens, ``vocab[word]`` of each; text is tokenized first."""
        return word_ids(word_tokenize(question) if isinstance(question, str) else question, self)

    def decode(self, ids: Iterable[int]) -> list[str]:
        """The words of ids (any integers, a NumPy row too); 0 and unknown ids become ``<UNK>``.

        Raises:
          ArgumentError: an id is not an integer, or not of this vocabulary.
        """
        out = []
        for index in ids:
            try:
                at = index.__index__()
            except AttributeError:
                raise ArgumentError(f"decode takes integer ids, not {index!r}.") from None
            if not 0 <= at < self.size:
                raise ArgumentError(
                    f"Id {at} is not in this vocabulary, whose ids run from 0 to {self.size - 1}."
                )
            out.append(self._words[at - 1] if 0 < at <= len(self._words) else UNKNOWN)
        return out

    def save(self, path: str | os.PathLike) -> None:
        """Writes the vocabulary as JSON, atomically.

        Raises:
          DataError: the file cannot be written.
        """
        facts = {"lowercase": self._lowercase, "words": list(self._words)}
        if self._unknown_ids:
            facts["unknown_ids"] = self._unknown_ids
        content = {"format": _FORMAT, "version": 2 if self._unknown_ids else 1, **facts}
        write_bytes_atomically(path, json.dumps(content, indent=0).encode("ascii"))

    @classmethod
    def load(cls, path: str | os.PathLike) -> Vocabulary:
        """Reads what `save` wrote; the checksum in older files is not looked at.

        Raises:
          DataError: the file is missing, cut short, of another version or of another kind.
        """
        content = _read_json(path)
        if not isinstance(content, dict) or content.get("format") != _FORMAT:
            raise DataError(
                f"{path}: JSON, but not a vocabulary written by siamese. "
                "For a list of words of your own, use Vocabulary.from_words(words)."
            )
        if content.get("version") not in _VERSIONS:
            raise DataError(
                f"{path}: a vocabulary of format version {content.get('version')!r}; this siamese "
                f"reads versions 1 and 2. Use the siamese that wrote it, or: {_SAVE_AGAIN}"
            )
        words, unknown_ids = content.get("words"), content.get("unknown_ids", 0)
        lowercase = content.get("lowercase")
        try:
            made = cls(words[1:], lowercase=lowercase, unknown_ids=unknown_ids)
            if words == list(made.words) and isinstance(lowercase, bool):
                return made
        except (TypeError, ArgumentError):
            pass
        raise DataError(
            f"{path}: damaged: it must list each word once, from {PAD} on, say whether it is "
            f"lowercase, and have a whole number of unknown_ids. {_SAVE_AGAIN}"
        )


def _read_json(path: str | os.PathLike) -> Any:
    try:
        return json.loads(Path(path).read_bytes().decode("utf-8"))
    except OSError as error:
        raise DataError(explain(error, path, "read the vocabulary")) from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not a whole JSON file ({error}). {_SAVE_AGAIN}") from error


def _checked_words(words: Iterable[str]) -> list[str]:
    """The words as a list; a str would pass for a sequence of one-letter words."""
    if isinstance(words, (str, bytes)):
        raise ArgumentError(
            f"A question must be a list of tokens here, not text ({words[:40]!r}); "
            "call word_tokenize on it first."
        )
    words = list(words)
    for word in words:
        if not isinstance(word, str):
            raise ArgumentError(f"A word must be text (str), not {word!r}.")
    return words
