"""Labels for a threshold: pairs near the border are asked about, and the answers kept in a CSV file."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from siamese.data.pairs import REQUIRED, QuestionPairs, read_pairs
from siamese.errors import ArgumentError, DataError, SiameseError
from siamese.evaluation.thresholds import fit_threshold
from siamese.search.index import QuestionIndex
from siamese.storage.atomic import explain

QUESTIONS = 2_000  # of an index whose neighbours are looked at
NEIGHBOURS = 5  # of each
SPREAD = 3  # every third pair asked about comes from anywhere, the others from near the border
GOLDEN = 0.618  # multiples of it, modulo 1, cover 0 to 1 evenly however many there are


class Candidates(NamedTuple):
    """Pairs of similar questions that may be asked about, by rising cosine."""

    first: list[str]
    second: list[str]
    cosines: np.ndarray  # float64 [pairs]


def similar_candidates(index: QuestionIndex, seed: int = 0) -> Candidates:
    """Questions of an index, each with its nearest others; every pair once, without equal texts."""
    draw = np.random.default_rng(seed)
    rows = draw.permutation(len(index))[:QUESTIONS]
    entries = index.entries
    texts = [entries[int(row)]["question"] for row in rows]
    found: dict[tuple[str, str], float] = {}
    for text, hits in zip(texts, index.search(texts, NEIGHBOURS + 1)):
        for hit in hits:
            if hit.question.strip() != text.strip():
                found[min(text, hit.question), max(text, hit.question)] = hit.similarity
    pairs = sorted(found, key=found.__getitem__)
    cosines = np.array([found[pair] for pair in pairs])
    return Candidates([one for one, _ in pairs], [two for _, two in pairs], cosines)


class Answers:
    """The answers in a CSV file (question1, question2, is_duplicate), each written as it is given.

    Args:
      path: the file; made with the first answer, and gone on with where it is there.

    Raises:
      DataError: the file cannot be read as labelled pairs.
      ArgumentError: it has other columns, so that nothing can be added.
    """

    def __init__(self, path: str | os.PathLike):
        self.path, self.pairs = Path(path), QuestionPairs([], [], [])
        if self.path.exists() and self.path.stat().st_size:
            with open(self.path, encoding="utf-8", errors="replace", newline="") as file:
                header = next(csv.reader(file), [])
            if header != list(REQUIRED):
                raise ArgumentError(
                    f"{path} has the columns {', '.join(header)[:80]}; answers are added to a file with "
                    f"{','.join(REQUIRED)}. Name another file (--answers), or leave --label out."
                )
            if self.path.read_bytes().count(b"\n") > 1:
                self.pairs = read_pairs(self.path)

    def add(self, question1: str, question2: str, is_duplicate: bool) -> None:
        """Keeps an answer, in the file first."""
        row = (question1, question2, int(is_duplicate))
        try:
            with open(self.path, "a", encoding="utf-8", errors="replace", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerows([REQUIRED, row] if not file.tell() else [row])
        except OSError as error:
            raise DataError(explain(error, self.path)) from error
        now = self.pairs
        sides = [*now.question1, question1], [*now.question2, question2]
        self.pairs = QuestionPairs(*sides, [*now.is_duplicate.tolist(), is_duplicate])


def ask(
    candidates: Candidates,
    answers: Answers,
    count: int,
    question: Callable[[str, str, int], bool | None],
    similarity: Callable,
    threshold: float,
) -> None:
    """Asks about pairs until there are `count` answers in all, the earlier ones among them.

    The next pair is the one nearest to the border that the answers so far give (`threshold` while they
    give none), every third one any pair, so that the curve's slope is known too.

    Args:
      candidates: what may be asked about.
      answers: those there are; new ones are added.
      count: how many answers there shall be.
      question: function (question1, question2, number) -> is it a duplicate; None skips the pair. It
        raises EOFError to stop.
      similarity: of two lists of questions, pair by pair.
      threshold: the border to begin with.
    """
    known = answers.pairs
    asked = {frozenset(pair) for pair in zip(known.question1, known.question2)}
    open_rows = [
        row
        for row, pair in enumerate(zip(candidates.first, candidates.second))
        if frozenset(pair) not in asked
    ]
    scores = list(similarity(known.question1, known.question2)) if len(known) else []
    while len(answers.pairs) < count and open_rows:
        border, number = threshold, len(answers.pairs)
        with suppress(SiameseError):  # Not both labels yet, or not in this order.
            border = fit_threshold(scores, answers.pairs.is_duplicate, resamples=0).threshold
        at = int(number * GOLDEN % 1 * len(open_rows))
        if number % SPREAD:
            at = int(np.argmin(np.abs(candidates.cosines[open_rows] - border)))
        row = open_rows.pop(at)
        pair = candidates.first[row], candidates.second[row]
        try:
            answer = question(*pair, number + 1)
        except EOFError:
            return
        if answer is not None:
            answers.add(*pair, answer)
            scores.append(candidates.cosines[row])
