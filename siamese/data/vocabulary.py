"""Text to token ids: word_tokenize (NLTK's tokens, no download) and the course's Vocabulary."""

from __future__ import annotations

import functools
import os
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from siamese.data.tokenizer import tokenize_many, word_tokenize
from siamese.data.vocabulary_file import SAVE_AGAIN, read_vocabulary, write_vocabulary
from siamese.errors import ArgumentError, DataError

__all__ = ["PAD", "PAD_ID", "UNKNOWN", "UNKNOWN_ID", "Vocabulary", "tokenize_many", "word_tokenize"]

PAD, PAD_ID = "<PAD>", 1
UNKNOWN, UNKNOWN_ID = "<UNK>", 0  # what `decode` writes for the id of all unknown words


class Vocabulary(Mapping):
    """The course's numbering of words: unknown 0, ``<PAD>`` 1, then words in order of first sight.

    Frozen: ``vocab[word]`` is 0 for a word it does not know and never enters it, so it can stand
    where the course uses ``defaultdict(lambda: 0)``. ``word in vocab``, ``len(vocab)`` and
    iteration speak of known words only (``<PAD>`` is one), and ``vocab.get(word)`` is None for an
    unknown one, all as with the course's defaultdict before anyone looked a word up.

    With ``unknown_ids=n`` unknown words have ids too: one of the n behind the last word's, chosen by the
    word's CRC-32. Two different unknown words are then seldom taken for one (Weinberger et al., 2009,
    arXiv:0902.2206): two questions that each name something the model has never seen seldom mean the same.

    Make one with `from_pairs` (training questions), `from_words` (a list) or `load` (a file).

    Example:
      >>> vocab = Vocabulary.from_pairs([["What", "is", "it", "?"]], [["Is", "it", "?"]])
      >>> vocab["<PAD>"], vocab["What"], vocab["Is"], vocab["never"], len(vocab), vocab.size
      (1, 2, 6, 0, 6, 7)
      >>> vocab.encode("What is this?"), vocab.decode([2, 3, 0, 5, 1])
      ([2, 3, 0, 5], ['What', 'is', '<UNK>', '?', '<PAD>'])
    """

    __slots__ = ("_hash", "_ids", "_lowercase", "_unknown_ids", "_words")

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
        self._hash: int | None = None

    @classmethod
    def from_words(cls, words: Iterable[str], *, lowercase: bool = False) -> Vocabulary:
        """Numbers words in the order given, from 2; repeated words and ``<PAD>`` are passed over.

        Args:
          words: the words, most often of one's own list; a single str is refused.
          lowercase: fold case here and in every later lookup and `encode`.

        Raises:
          ArgumentError: where `words` is a str, or holds something that is none.
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
        max_size: int | None = None,
    ) -> Vocabulary:
        """Numbers the words of training pairs as the course does: pair by pair, question 1 first.

        Args:
          tokens1: the tokens of each question 1.
          tokens2: the tokens of each question 2, in the same order.
          lowercase: fold case here and in every later lookup and `encode` (the course does not).
          min_count: leave out words seen fewer times than this in all the questions together.
          max_size: keep at most this many words (``<PAD>`` not counted), the most frequent ones;
            of equally frequent ones the first seen. The order of the numbers stays that of sight.

        Raises:
          ArgumentError: where the two sides differ in length, or a question is text, not tokens.
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
                words = _checked_words(question)
                counts.update([word.lower() for word in words] if lowercase else words)
        return cls.from_counts(counts, lowercase=lowercase, min_count=min_count, max_size=max_size)

    @classmethod
    def from_counts(
        cls,
        counts: Mapping[str, int],
        *,
        lowercase: bool = False,
        min_count: int = 1,
        max_size: int | None = None,
    ) -> Vocabulary:
        """Numbers the words of a table, word -> times seen, in its order; see `from_pairs`."""
        if min_count < 1 or (max_size is not None and max_size < 0):
            raise ArgumentError(
                f"min_count must be 1 or more and max_size 0 or more (or None); "
                f"got min_count={min_count}, max_size={max_size}."
            )
        if lowercase:
            folded: Counter[str] = Counter()
            for word, count in counts.items():
                folded[word.lower()] += count
            counts = folded
        kept = [word for word in counts if counts[word] >= min_count and word != PAD]
        if max_size is not None and len(kept) > max_size:
            # sorted() is stable, so equal counts stay in order of first sight
            frequent = set(sorted(kept, key=lambda word: -counts[word])[:max_size])
            kept = [word for word in kept if word in frequent]
        return cls(kept, lowercase=lowercase)

    @property
    def lowercase(self) -> bool:
        """Whether words are folded to lower case before they are looked up."""
        return self._lowercase

    @property
    def size(self) -> int:
        """Rows that an embedding needs: every id from 0 (unknown) to the last word, or unknown id."""
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
        found = self._ids.get(word)
        if found is None:
            return self._unknown_id(word) if self._unknown_ids else UNKNOWN_ID
        return found

    def _unknown_id(self, word: str) -> int:
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
        if self._hash is None:
            self._hash = hash(self._facts())
        return self._hash

    def _facts(self) -> tuple:
        return self._words, self._lowercase, self._unknown_ids

    def __reduce__(self):
        # Not the hash: that of a str differs from process to process.
        options = {"lowercase": self._lowercase, "unknown_ids": self._unknown_ids}
        return functools.partial(Vocabulary, **options), (self._words,)

    def __repr__(self) -> str:
        option = ", lowercase=True" if self._lowercase else ""
        option += f", unknown_ids={self._unknown_ids}" if self._unknown_ids else ""
        first = ", ".join(repr(word) for word in self._words[1:4])
        return f"<Vocabulary of {len(self)} words: {first}{', …' if len(self) > 4 else ''}{option}>"

    def _fold(self, word: str) -> str:
        return word.lower() if self._lowercase and word != PAD else word

    def encode(self, question: str | Iterable[str]) -> list[int]:
        """The ids of a question's tokens; text is tokenized first. Unknown words as in ``vocab[word]``."""
        words = word_tokenize(question) if isinstance(question, str) else question
        return word_ids(words, self)

    def decode(self, ids: Iterable[int]) -> list[str]:
        """The words of ids (any integers, a NumPy row too); 0 and unknown ids become ``<UNK>``.

        Raises:
          ArgumentError: where an id is no integer, or none of this vocabulary's.
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
        """Writes the vocabulary as JSON, whole or not at all.

        Raises:
          DataError: where the file cannot be written.
        """
        options = {"unknown_ids": self._unknown_ids} if self._unknown_ids else {}
        write_vocabulary(
            path, {"lowercase": self._lowercase, "words": list(self._words), **options}
        )

    @classmethod
    def load(cls, path: str | os.PathLike) -> Vocabulary:
        """Reads what `save` wrote, and checks that it is whole.

        Raises:
          DataError: naming the file, where it is missing, damaged, of another version or of
            another kind.
        """
        content = read_vocabulary(path)
        words, unknown_ids = content.get("words"), content.get("unknown_ids", 0)
        if not isinstance(words, list) or words[:1] != [PAD] or len(set(words)) != len(words):
            raise DataError(f"{path}: does not list each word once, from {PAD} on. {SAVE_AGAIN}")
        if not isinstance(unknown_ids, int) or unknown_ids < 0:
            raise DataError(
                f"{path}: unknown_ids is {unknown_ids!r}, no number of ids. {SAVE_AGAIN}"
            )
        return cls(words, lowercase=content.get("lowercase") is True, unknown_ids=unknown_ids)


def word_ids(words: Iterable[str], vocab: Mapping[str, int]) -> list[int]:
    """The ids of words in a `Vocabulary`, a dict or the course's defaultdict; 0 for unknown words.

    A `Vocabulary` answers with its own ids of unknown words; nothing enters a defaultdict.
    """
    if isinstance(vocab, Vocabulary):
        return [vocab[word] for word in words]
    return [vocab.get(word, UNKNOWN_ID) for word in words]


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
