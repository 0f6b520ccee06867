"""Vocabulary: the course's numbering of words, frozen; and questions as rows of word ids."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from siamese.errors import ArgumentError
from siamese.nn.ragged import Ragged
from siamese.system.arguments import whole_number
from siamese.system.progress import progress_bar
from siamese.text.cleaning import folded as _folded
from siamese.text.tokenizer import UNKNOWN_ID, word_ids, word_tokenize
from siamese.text.values import text_list

PAD = "<PAD>"
PAD_ID = 1


@dataclass(frozen=True, repr=False)
class Vocabulary(Mapping):
    """The course's numbering of words: unknown 0, ``<PAD>`` 1, then words in order of first appearance.

    Frozen: ``vocab[word]`` is 0 for an unknown word and never enters it, so it can
    stand where the course uses ``defaultdict(lambda: 0)``. ``in``, ``len``, ``get`` and
    iteration know the known words only.

    Args:
      words: the known words by id, from ``<PAD>`` on, which may be left out; repeated words are skipped.
      folded: read questions and words by `siamese.text.cleaning.folded` (the course does not). `words` are
        folded already.
      unknown_ids: how many ids behind the last word's the unknown words share; which of them is chosen by
        a word's CRC-32, so that two different unknown words are seldom taken for one (feature hashing,
        Weinberger et al. 2009, arXiv:0902.2206). 0: all of them are 0.

    ArgumentError where `words` is a str or holds something else, or `unknown_ids` is
    not a whole number.

    Example:
      >>> vocab = Vocabulary.from_pairs([["What", "is", "it", "?"]], [["Is", "it", "?"]])
      >>> vocab["<PAD>"], vocab["What"], vocab["Is"], vocab["never"], len(vocab), vocab.size
      (1, 2, 6, 0, 6, 7)
      >>> vocab.encode("What is this?")
      [2, 3, 0, 5]
    """

    words: Sequence[str] = ()
    folded: bool = field(default=False, kw_only=True)
    unknown_ids: int = field(default=0, kw_only=True)
    _ids: dict[str, int] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        whole_number(self.unknown_ids, "unknown_ids", 0)
        words = tuple(dict.fromkeys([PAD, *_checked_words(self.words)]))
        object.__setattr__(self, "words", words)
        object.__setattr__(
            self, "_ids", dict(zip(words, range(PAD_ID, len(words) + 1)))
        )

    @classmethod
    def from_pairs(
        cls,
        tokens1: Iterable[Sequence[str]],
        tokens2: Iterable[Sequence[str]],
        **options: Any,
    ) -> Vocabulary:
        """Numbers the words of training pairs as the course does: pair by pair, question 1 first.

        `options` are those of `from_counts`. ArgumentError where the two sides differ
        in length, or a question is text, not tokens.
        """
        tokens1 = list(tokens1)
        tokens2 = list(tokens2)
        if len(tokens1) != len(tokens2):
            sizes = f"{len(tokens1)} questions and tokens2 {len(tokens2)}"
            raise ArgumentError(f"tokens1 holds {sizes}; a pair needs one of each.")
        in_order = chain.from_iterable(zip(tokens1, tokens2))
        counts = Counter(chain.from_iterable(map(_checked_words, in_order)))
        return cls.from_counts(counts, **options)

    @classmethod
    def from_counts(
        cls,
        counts: Mapping[str, int],
        *,
        folded: bool = False,
        min_count: int = 1,
        **options: Any,
    ) -> Vocabulary:
        """Numbers the words of `counts`, word -> times seen, in its order.

        With `folded` words are folded and counted so; words seen fewer than `min_count`
        times are left out.
        """
        whole_number(min_count, "min_count", 1)
        sums: Counter[str] = Counter()
        for word, count in counts.items():
            sums[_folded(word) if folded else word] += count
        return cls(
            [word for word in sums if sums[word] >= min_count], folded=folded, **options
        )

    @property
    def size(self) -> int:
        """Rows that an embedding needs: ids from 0 (unknown) to the last word's or unknown id."""
        return len(self._ids) + 1 + self.unknown_ids

    def __getitem__(self, word: str) -> int:
        if not isinstance(word, str):
            raise ArgumentError(
                f"A vocabulary is asked for a word (str), not {word!r}."
            )
        word = self._fold(word)
        if word in self._ids or not self.unknown_ids:
            return self._ids.get(word, UNKNOWN_ID)
        number = zlib.crc32(word.encode("utf-8", "surrogatepass")) % self.unknown_ids
        return len(self._ids) + 1 + number

    def get(self, word: Any, default: Any = None) -> Any:
        """The id of a known word, else `default`."""
        return (
            self._ids.get(self._fold(word), default)
            if isinstance(word, str)
            else default
        )

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
        return _folded(word) if self.folded and word not in self._ids else word

    def read(self, question: str) -> str:
        """A question's text as it is tokenized: folded, or as it is."""
        return _folded(question) if self.folded else question

    def encode(self, question: str | Iterable[str]) -> list[int]:
        """The ids of a question's tokens, ``vocab[word]`` of each; text is read and tokenized first."""
        words = (
            word_tokenize(self.read(question))
            if isinstance(question, str)
            else question
        )
        return word_ids(words, self)


def _checked_words(words: Iterable[str]) -> list[str]:
    """The words as a list; a str would pass for a sequence of one-letter words."""
    if isinstance(words, (str, bytes)):
        raise ArgumentError(
            f"{words[:40]!r} is no list of tokens; call word_tokenize on it."
        )
    words = list(words)
    for word in words:
        if not isinstance(word, str):
            raise ArgumentError(f"A word must be text (str), not {word!r}.")
    return words


@dataclass(frozen=True, eq=False, repr=False)
class TokenizedQuestions:
    """Questions as rows of word ids, each distinct question once.

    Example:
      >>> pairs = tokenize_questions(["What is it?", "Is it?", "What is it?"])
      >>> pairs.words, pairs.rows.tolist()
      (['What', 'is', 'it', '?', 'Is'], [0, 1, 0])
      >>> vocab = pairs.vocabulary(pairs.rows[:1], pairs.rows[1:2])
      >>> pairs.encode(vocab)[1].tolist()
      [6, 4, 5]
    """

    words: list[str]  # the distinct words, in order of first appearance
    ids: Ragged  # int32, one row for each distinct question; ``words[id]`` is the token
    rows: np.ndarray  # int64 [questions]: the row in `ids` of each question

    def vocabulary(
        self, rows1: np.ndarray, rows2: np.ndarray, **options: Any
    ) -> Vocabulary:
        """`Vocabulary.from_pairs` of training pairs, int [pairs] each: the rows in `ids` of their sides."""
        pairs = np.stack([rows1, rows2], axis=1).ravel()  # q1, q2, q1, q2, ...
        in_order = map(self.words.__getitem__, self.ids.take(pairs).values.tolist())
        return Vocabulary.from_counts(Counter(in_order), **options)

    def encode(self, vocab: Mapping[str, int]) -> Ragged:
        """Each distinct question in ids of `vocab` (a `Vocabulary` or a dict); 0 for an unknown word."""
        table = np.asarray(word_ids(self.words, vocab), dtype=np.int32)
        return Ragged(table[self.ids.values], self.ids.offsets)


def tokenize_questions(
    questions: Iterable[str], *, progress: bool = True, most: int | None = None
) -> TokenizedQuestions:
    """Tokenizes questions, each distinct one once; with `progress` a bar is shown after two seconds.

    Of a question at most `most` tokens count, or all of them where it is None.
    Errors are those of `text_list`.
    """
    places: dict[str, int] = {}
    questions = text_list(questions, "tokenize_questions")
    rows = [places.setdefault(question, len(places)) for question in questions]
    numbers: dict[str, int] = {}  # of the distinct words, in order of first appearance
    ids = []
    with progress_bar(
        len(places), "tokenizing", "questions", quiet=not progress
    ) as bar:
        for text in places:
            ids.append(
                [
                    numbers.setdefault(word, len(numbers))
                    for word in word_tokenize(text)[:most]
                ]
            )
            bar.update()
    return TokenizedQuestions(
        list(numbers), Ragged.from_lists(ids), np.asarray(rows, np.int64)
    )
