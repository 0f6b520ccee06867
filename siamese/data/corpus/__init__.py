"""Questions that come with the package: the embedded corpus of labelled pairs, and 300 written by hand.

A grammar of everyday questions (tools/corpus in the repository) gives meanings and many wordings of each.
Pairs of wordings of one meaning are duplicates; of the other pairs many share nearly all their words. The
parts are split by meaning, so that the phrases and the names in a test question were seen in training,
but never together.
"""

from __future__ import annotations

import csv
import gzip
import json
from dataclasses import dataclass
from importlib import resources
from typing import NamedTuple

import numpy as np

from siamese.data.arguments import whole_number
from siamese.data.pairs import QuestionPairs
from siamese.errors import ArgumentError

FILES = resources.files("siamese") / "data" / "corpus"
HANDWRITTEN = FILES / "handwritten.csv"
PAIRS = {"train": 12_000, "valid": 1_500, "test": 2_000}
DUPLICATES = 0.37  # share of each part's pairs


class CorpusQuestion(NamedTuple):
    """A question of the corpus: its text, the subject it is about, its meaning and its part."""

    text: str
    subject: str
    meaning: str
    part: str


@dataclass(frozen=True, eq=False)
class EmbeddedCorpus:
    """Question pairs in three parts that share no question and no meaning; every question of them, once."""

    train: QuestionPairs
    valid: QuestionPairs
    test: QuestionPairs
    questions: tuple[CorpusQuestion, ...]

    @property
    def subjects(self) -> tuple[str, ...]:
        """The subjects that the questions are about, sorted."""
        return tuple(sorted({question.subject for question in self.questions}))


def embedded_corpus(
    *, train_pairs: int = 12_000, valid_pairs: int = 1_500, test_pairs: int = 2_000
) -> EmbeddedCorpus:
    """Reads the embedded corpus, or the first pairs of each part of it; 37 % are duplicates.

    Raises:
      ArgumentError: a number of pairs below 1 or above the default.

    Example:
      >>> corpus = embedded_corpus()
      >>> len(corpus.train), len(corpus.subjects), corpus.test.base_rate
      (12000, 60, 0.37)
    """
    known: list[CorpusQuestion] = []
    # part -> its others, its duplicates
    rows: dict[str, tuple[list, list]] = {part: ([], []) for part in PAIRS}
    path = FILES / "corpus.jsonl.gz"  # made by tools/make_corpus.py
    for at, line in enumerate(map(json.loads, gzip.decompress(path.read_bytes()).splitlines())):
        if "question" in line:
            subject = line["meaning"].partition("/")[0]
            known.append(CorpusQuestion(line["question"], subject, line["meaning"], line["part"]))
        else:
            one, two = (known[number] for number in line["pair"])
            rows[one.part][line["kind"] == "duplicate"].append((at, one, two))
    used: dict[CorpusQuestion, None] = {}
    parts = {}
    for part, size in zip(PAIRS, (train_pairs, valid_pairs, test_pairs)):
        size = whole_number(size, f"{part}_pairs", 1)
        if size > PAIRS[part]:
            raise ArgumentError(f"{part}_pairs must be at most {PAIRS[part]:,}, not {size:,}.")
        # The first duplicates and the first others, in the file's order and the parts' proportion.
        n = round(size * DUPLICATES)
        chosen = sorted([*rows[part][True][:n], *rows[part][False][: size - n]])
        used.update(dict.fromkeys(question for _, *pair in chosen for question in pair))
        one, two = ([row[side].text for row in chosen] for side in (1, 2))
        is_duplicate = [one.meaning == two.meaning for _, one, two in chosen]
        parts[part] = QuestionPairs(one, two, np.array(is_duplicate))
    return EmbeddedCorpus(**parts, questions=tuple(used))


def handwritten_questions() -> list[dict[str, str]]:
    """300 questions written by hand, to try a model on; nothing trains on them or is tuned on them.

    100 are in groups of 2 to 5 duplicates, 60 are near misses of another question, 140 stand alone.

    Returns:
      dicts of id, question, group (of duplicates, else ""), style (plain, typo, greeting, or no question
      mark), source (helpdesk, forum or everyday), near_miss (number, negation, direction or name, else "")
      and twin (the id of the question that a near miss nearly is).

    Example:
      >>> question = handwritten_questions()[1]
      >>> question["question"], question["source"]
      ('Do cats really need a second litter box?', 'everyday')
    """
    text = HANDWRITTEN.read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))
