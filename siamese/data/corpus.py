"""The embedded corpus: labelled question pairs made from a grammar and a seed, no download.

A grammar of everyday questions (siamese/data/corpus_grammar.py and the files under siamese/data/corpus)
gives meanings and many wordings of each. Pairs of wordings of one meaning are duplicates; of the
other pairs many share nearly all their words. The parts are split by meaning, so that the phrases
and the names in a test question were seen in training, but never together.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from siamese.data.corpus_grammar import load_grammar
from siamese.data.corpus_pairs import PARTS, Dice, Meaning, PairMaker, Row, meanings_by_part
from siamese.data.pairs import QuestionPairs
from siamese.errors import ArgumentError

__all__ = ["CorpusQuestion", "EmbeddedCorpus", "embedded_corpus"]

MAX_PAIRS = {"train": 24_000, "valid": 3_000, "test": 3_000}  # what the wordings are enough for


class CorpusQuestion(NamedTuple):
    """A question of the corpus: its text, the subject it is about, its meaning and its part."""

    text: str
    subject: str
    meaning: str
    part: str


@dataclass(frozen=True, eq=False)
class EmbeddedCorpus:
    """Question pairs in three parts that share no question and no meaning.

    Args:
      train: pairs to train on.
      valid: pairs to choose a threshold on.
      test: pairs to report on.
      questions: every question of the pairs, once; the pairs' qid1 and qid2 are positions in it.
      kinds: for each part, what each pair is: "duplicate"; "twin" (one wording, one thing changed:
        Paris/Rome, lose/gain, A to B/B to A); "intent" (the same question about something else, in
        other words); "subject" (another question, often about the same thing); "unrelated".
    """

    train: QuestionPairs
    valid: QuestionPairs
    test: QuestionPairs
    questions: tuple[CorpusQuestion, ...]
    kinds: dict[str, tuple[str, ...]]

    @property
    def subjects(self) -> tuple[str, ...]:
        """The subjects that the questions are about, sorted."""
        return tuple(sorted({question.subject for question in self.questions}))

    def meanings(self, part: str | None = None) -> dict[str, list[str]]:
        """Returns the questions of each meaning (all parts, or one): the true duplicate groups."""
        if part is not None and part not in PARTS:
            raise ArgumentError(f"part must be one of {', '.join(PARTS)}, not {part!r}.")
        groups: dict[str, list[str]] = {}
        for question in self.questions:
            if part in (None, question.part):
                groups.setdefault(question.meaning, []).append(question.text)
        return groups


def embedded_corpus(
    seed: int = 34,
    *,
    train_pairs: int = 12_000,
    valid_pairs: int = 1_500,
    test_pairs: int = 2_000,
    duplicate_share: float = 0.37,
) -> EmbeddedCorpus:
    """Makes the embedded corpus: the same for a seed on every platform, in about a second.

    Args:
      seed: which of the endless corpora to make.
      train_pairs: number of training pairs (at most 24,000).
      valid_pairs: number of pairs to choose a threshold on (at most 3,000).
      test_pairs: number of pairs to report on (at most 3,000).
      duplicate_share: the share of duplicates in each part, above 0 and at most 0.5.

    Returns:
      An `EmbeddedCorpus`.

    Raises:
      ArgumentError: an argument outside these bounds.

    Example:
      >>> corpus = embedded_corpus()
      >>> len(corpus.train), len(corpus.subjects), corpus.test.base_rate
      (12000, 60, 0.37)
    """
    seed = _whole("seed", seed)
    sizes = {
        part: _whole(f"{part}_pairs", size, 1, MAX_PAIRS[part])
        for part, size in zip(PARTS, (train_pairs, valid_pairs, test_pairs))
    }
    if not isinstance(duplicate_share, float) or not 0 < duplicate_share <= 0.5:
        raise ArgumentError(
            f"duplicate_share must be a float above 0 and at most 0.5, not {duplicate_share!r}."
        )

    grammar = load_grammar()
    dice = Dice(seed)
    taken: dict[str, Meaning] = {}
    questions: list[CorpusQuestion] = []
    pairs, kinds = {}, {}
    for part, meanings in meanings_by_part(grammar, dice).items():
        maker = PairMaker(grammar, meanings, taken, dice)
        n_duplicates = round(sizes[part] * duplicate_share)
        # The others come first: their wordings are new ones that duplicates can use too.
        rows = maker.negatives(sizes[part] - n_duplicates) + maker.duplicates(n_duplicates)
        rows = dice.shuffled(rows)
        pairs[part] = _question_pairs(rows, part, questions)
        kinds[part] = tuple(row.kind for row in rows)
    return EmbeddedCorpus(**pairs, questions=tuple(questions), kinds=kinds)


def _whole(name: str, value: Any, low: int | None = None, high: int | None = None) -> int:
    """Returns the argument as an int; refuses bools, fractions and what is out of bounds."""
    bounds = "" if low is None else f" from {low:,} to {high:,}"
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if (
        number is None
        or isinstance(value, bool | np.bool_)
        or (bounds and not low <= number <= high)
    ):
        raise ArgumentError(f"{name} must be an integer{bounds}, not {value!r}.")
    return number


def _question_pairs(rows: list[Row], part: str, questions: list[CorpusQuestion]) -> QuestionPairs:
    """Makes a part's pairs of its rows and appends its questions, each once, to `questions`."""
    number: dict[str, int] = {}
    for row in rows:
        for text, meaning in ((row.text1, row.meaning1), (row.text2, row.meaning2)):
            if text not in number:
                number[text] = len(questions)
                questions.append(CorpusQuestion(text, meaning.intent.subject, meaning.id, part))
    return QuestionPairs(
        [row.text1 for row in rows],
        [row.text2 for row in rows],
        np.array([row.kind == "duplicate" for row in rows], dtype=bool),
        qid1=[str(number[row.text1]) for row in rows],
        qid2=[str(number[row.text2]) for row in rows],
    )
