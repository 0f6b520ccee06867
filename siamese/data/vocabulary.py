"""Vocabulary: the course's numbering of words, frozen, and its file."""

from __future__ import annotations

import json
import os
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from siamese.data import text
from siamese.data.tokenizer import UNKNOWN_ID, word_ids, word_tokenize
from siamese.errors import ArgumentError, DataError
from siamese.storage.atomic import explain, write_text_atomically

PAD, PAD_ID = "<PAD>", 1

_FORMAT, _VERSION = "siamese vocabulary", 2
_SAVE_AGAIN = "Save it again from the training questions (Vocabulary.save)."


@dataclass(frozen=True, repr=False)
class Vocabulary(Mapping):
    """The course's numbering of words: unknown 0, ``<PAD>`` 1, then words in order of first sight.

    Frozen: ``vocab[word]`` is 0 for an unknown word and never enters it, so it can stand where the course
    uses ``defaultdict(lambda: 0)``. ``in``, ``len``, ``get`` and iteration know the known words only
    (``<PAD>`` is one). Make one with `from_pairs` (training questions), `from_words` (a list) or `load`.

    Args:
      words: the known words by id; ``words[0]`` is ``<PAD>``, with id 1. Repeated words are skipped.
      folded: fold words and texts here and in every later lookup and `encode`, see
        `siamese.data.text.folded` (the course does not).
      unknown_ids: how many ids behind the last word's the unknown words share; which of them is chosen by
        a word's CRC-32, so that two different unknown words are seldom taken for one (feature hashing,
        Weinberger et al. 2009, arXiv:0902.2206). 0: all of them are 0.

    Raises:
      ArgumentError: `words` is a str or holds something else, or `unknown_ids` is not a whole number.

    Example:
      >>> vocab = Vocabulary.from_pairs([["What", "is", "it", "?"]], [["Is", "it", "?"]])
      >>> vocab["<PAD>"], vocab["What"], vocab["Is"], vocab["never"], len(vocab), vocab.size
      (1, 2, 6, 0, 6, 7)
      >>> vocab.encode("What is this?")
      [2, 3, 0, 5]
    """

    words: tuple[str, ...] = ()
    folded: bool = field(default=False, kw_only=True)
    unknown_ids: int = field(default=0, kw_only=True)
    _ids: dict[str, int] = field(init=False, compare=False)

    def __post_init__(self):
        n = self.unknown_ids
        if isinstance(n, bool) or not isinstance(n, int) or n < 0:
            raise ArgumentError(f"unknown_ids must be a whole number >= 0; it is {n!r}.")
        ids = {PAD: PAD_ID}
        for word in _checked_words(self.words):
            ids.setdefault(self._fold(word), len(ids) + 1)
        object.__setattr__(self, "words", tuple(ids))
        object.__setattr__(self, "_ids", ids)

    @classmethod
    def from_words(cls, words: Iterable[str], *, folded: bool = False) -> Vocabulary:
        """Numbers a list's words in its order, from 2; repeated words and ``<PAD>`` are skipped."""
        return cls(words, folded=folded)

    @classmethod
    def from_pairs(
        cls, tokens1: Iterable[Sequence[str]], tokens2: Iterable[Sequence[str]], **options
    ) -> Vocabulary:
        """Numbers the words of training pairs as the course does: pair by pair, question 1 first.

        Args:
          tokens1: the tokens of each question 1.
          tokens2: the tokens of each question 2, in the same order.
          **options: of `from_counts`.

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
        return cls.from_counts(counts, **options)

    @classmethod
    def from_counts(
        cls, counts: Mapping[str, int], *, folded: bool = False, min_count: int = 1
    ) -> Vocabulary:
        """Numbers the words of a table, word -> times seen, in its order.

        Args:
          counts: the table.
          folded: fold words, before counting too.
          min_count: leave out words seen fewer times than this.
        """
        if min_count < 1:
            raise ArgumentError(f"min_count must be 1 or more; it is {min_count}.")
        if folded:
            together: Counter[str] = Counter()
            for word, count in counts.items():
                together[text.folded(word)] += count
            counts = together
        kept = [word for word in counts if counts[word] >= min_count and word != PAD]
        return cls(kept, folded=folded)

    @property
    def size(self) -> int:
        """Rows that an embedding needs: ids from 0 (unknown) to the last word's or unknown id."""
        return len(self._ids) + 1 + self.unknown_ids

    def with_unknown_ids(self, unknown_ids: int) -> Vocabulary:
        """The same words with so many ids for unknown ones.

        Example:
          >>> vocab = Vocabulary.from_words(["cat"]).with_unknown_ids(100)
          >>> vocab["cat"], 3 <= vocab["dog"] < vocab.size == 103, "dog" in vocab
          (2, True, False)
        """
        return replace(self, unknown_ids=unknown_ids)

    def __getitem__(self, word: str) -> int:
        if not isinstance(word, str):
            raise ArgumentError(f"A vocabulary is asked for a word (str), not {word!r}.")
        word = self._fold(word)
        if word in self._ids or not self.unknown_ids:
            return self._ids.get(word, UNKNOWN_ID)
        number = zlib.crc32(word.encode("utf-8", "surrogatepass")) % self.unknown_ids
        return len(self._ids) + 1 + number

    def get(self, word: str, default: Any = None) -> Any:
        """The id of a known word, else `default`."""
        return self._ids.get(self._fold(word), default) if isinstance(word, str) else default

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self._fold(word) in self._ids

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __len__(self) -> int:
        return len(self._ids)

    def __repr__(self) -> str:
        options = f"folded={self.folded}, unknown_ids={self.unknown_ids}"
        return f"<Vocabulary of {len(self)} words, {options}: {', '.join(self.words[:4])} ...>"

    def _fold(self, word: str) -> str:
        return text.folded(word) if self.folded and word != PAD else word

    def read(self, question: str) -> str:
        """A text as its tokens are taken: folded, or as it is."""
        return text.folded(question) if self.folded else question

    def encode(self, question: str | Iterable[str]) -> list[int]:
        """The ids of a question's tokens, ``vocab[word]`` of each; text is tokenized first."""
        tokens = word_tokenize(self.read(question)) if isinstance(question, str) else question
        return word_ids(tokens, self)

    def save(self, path: str | os.PathLike) -> None:
        """Writes the vocabulary as JSON, atomically.

        Raises:
          DataError: the file cannot be written.
        """
        facts = {"folded": self.folded, "words": self.words, "unknown_ids": self.unknown_ids}
        content = {"format": _FORMAT, "version": _VERSION, **facts}
        write_text_atomically(path, json.dumps(content, indent=0))

    @classmethod
    def load(cls, path: str | os.PathLike) -> Vocabulary:
        """Reads what `save` wrote.

        Raises:
          DataError: the file is missing, cut short, of another version or of another kind.
        """
        try:
            content = json.loads(Path(path).read_bytes().decode("utf-8"))
        except OSError as error:
            raise DataError(explain(error, path, "read the vocabulary")) from error
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path}: not a whole JSON file ({error}). {_SAVE_AGAIN}") from error
        if not isinstance(content, dict) or content.get("format") != _FORMAT:
            raise DataError(
                f"{path}: JSON, but not a vocabulary written by siamese. "
                "For a list of words of your own, use Vocabulary.from_words(words)."
            )
        if content.get("version") != _VERSION:
            raise DataError(
                f"{path}: a vocabulary of format version {content.get('version')!r}; this siamese "
                f"reads version {_VERSION}. Use the siamese that wrote it, or: {_SAVE_AGAIN}"
            )
        words, folded = content.get("words"), content.get("folded")
        try:
            unknown_ids = content.get("unknown_ids")
            made = cls(words[1:], folded=folded, unknown_ids=unknown_ids)
            if words == list(made.words) and isinstance(folded, bool):
                return made
        except (TypeError, ArgumentError):
            pass
        raise DataError(
            f"{path}: damaged: it must list each word once, from {PAD} on, say whether it is "
            f"folded, and have a whole number of unknown_ids. {_SAVE_AGAIN}"
        )


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
