"""Questions that come with the package: the embedded corpus of labelled pairs, and some written by hand.

A grammar of everyday questions (tools/corpus in the repository) gives meanings and many
wordings of each. Pairs of wordings of one meaning are duplicates; of the other pairs
many share nearly all their words. The parts are split by meaning, so that the phrases
and the names in a test question were seen in training, but never together.
"""

from __future__ import annotations

import csv
import gzip
import json
from importlib import resources
from typing import NamedTuple

import numpy as np

from siamese.errors import ArgumentError
from siamese.reading.pairs import QuestionPairs

FILES = resources.files("siamese") / "corpus"
HANDWRITTEN = FILES / "handwritten.csv"
HANDWRITTEN_FILES = {
    "en": HANDWRITTEN,
    **{code: FILES / f"handwritten_{code}.csv" for code in ("de", "fr", "es", "zh")},
}


class CorpusQuestion(NamedTuple):
    """A question of the corpus: its text, the subject it is about, its meaning and its part."""

    text: str
    subject: str
    meaning: str
    part: str


class EmbeddedCorpus(NamedTuple):
    """Question pairs in three parts that share no question and no meaning; every question of them, once."""

    train: QuestionPairs
    valid: QuestionPairs
    test: QuestionPairs
    questions: tuple[CorpusQuestion, ...]


def embedded_corpus() -> EmbeddedCorpus:
    """Reads the embedded corpus, of whose pairs 37 % are duplicates.

    Example:
      >>> corpus = embedded_corpus()
      >>> len(corpus.train), corpus.test.base_rate
      (12000, 0.37)
    """
    known: list[CorpusQuestion] = []
    pairs: dict[str, list[tuple]] = {"train": [], "valid": [], "test": []}
    path = FILES / "corpus.jsonl.gz"  # made by tools/make_corpus.py
    for line in map(json.loads, gzip.decompress(path.read_bytes()).splitlines()):
        if "question" in line:
            subject = line["meaning"].partition("/")[0]
            known.append(
                CorpusQuestion(line["question"], subject, line["meaning"], line["part"])
            )
        else:
            one, two = (known[number] for number in line["pair"])
            pairs[one.part].append((one, two))
    parts = {}
    for part, rows in pairs.items():
        one, two = ([row[side].text for row in rows] for side in (0, 1))
        parts[part] = QuestionPairs(
            one, two, np.array([a.meaning == b.meaning for a, b in rows])
        )
    asked = (question for rows in pairs.values() for pair in rows for question in pair)
    return EmbeddedCorpus(**parts, questions=tuple(dict.fromkeys(asked)))


def handwritten_questions(language: str = "en") -> list[dict[str, str]]:
    """300 questions written by hand in English, or 40 in German, French, Spanish or Chinese.

    They are there to try a model on; nothing trains on them or is tuned on them. Of the
    English ones 100 are in groups of 2 to 5 duplicates, 60 are near misses of another
    question, 140 stand alone; of 40 others 20, 10 and 10. Each is a dict of id,
    question, group (of duplicates, else ""), style (plain, typo, greeting, or no
    question mark), source (helpdesk, forum or everyday), near_miss (number, negation,
    direction or name, else "") and twin (the id of the question that a near miss nearly
    is). A group has one name in all languages. A question in another language that is
    in no group has the id of the English one of its meaning as well, as english.

    Args:
      language: a key of `HANDWRITTEN_FILES`; else ArgumentError.
    """
    if language not in HANDWRITTEN_FILES:
        raise ArgumentError(
            f"There are no handwritten questions in {language!r}; there are some in "
            f"{', '.join(HANDWRITTEN_FILES)}."
        )
    text = HANDWRITTEN_FILES[language].read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))
