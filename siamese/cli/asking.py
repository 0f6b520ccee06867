"""The dialog of `siamese threshold --label`: pairs on standard error, answers from standard input."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from siamese.cli.output import note
from siamese.errors import DataError
from siamese.groups.answers import AnswerChange, ChangedAnswers
from siamese.index.asking import ENOUGH, Answer, shown
from siamese.index.list_pairs import ListPairs
from siamese.reading.pairs import QuestionPairs


class KeepsAnswers(Protocol):
    """What keeps answers: an index, or an `AnswersFile`."""

    def answers(self) -> QuestionPairs:
        """All answers."""

    def change_answers(self, changes: Sequence[AnswerChange]) -> ChangedAnswers:
        """Stores, replaces or takes back answers, all or none."""


REPLIES = ("y", "n", "s", "u", "q")


def ask_pairs(
    place: KeepsAnswers,
    similar: ListPairs,
    count: int,
    path: str,
    compared: Mapping[str, str] | None = None,
) -> QuestionPairs:
    """Asks about pairs until there are so many answers; returns all of them.

    Each is kept before the next pair is shown. Others may answer at the same time:
    their answers count, and are never replaced or taken back.

    Args:
      place: what keeps the answers: an index, or an `AnswersFile`.
      similar: the pairs that are asked about.
      count: how many answers there are at the end.
      path: where the answers are, to name it.
      compared: question -> what is compared of it, and shown.
    """
    answers = place.answers()
    if len(answers) < count:
        note(
            f"The answers are saved in {path}; the same command goes on with them.",
            f"A threshold takes {ENOUGH} answers of yes; with fewer the former one stays.",
        )
    dialog = Dialog(place)
    while len(answers) < count:
        candidate = similar.next(answers, dialog.skipped)
        if candidate is None:
            break
        one, two = (similar.entries[row] for row in candidate[:2])
        pair = one["question"], two["question"]
        one_shown, two_shown = ((compared or {}).get(text, text) for text in pair)
        number = f"{len(answers) + 1} of {count}"
        reply = _ask((one_shown, two_shown), (number, one["id"], two["id"]))
        if reply == "q":
            break
        dialog.take(reply, pair)
        answers = place.answers()
    return answers


@dataclass
class Dialog:
    """What one run of the command has asked."""

    place: KeepsAnswers  # an index, or an `AnswersFile`
    mine: list[Answer] = field(default_factory=list)  # the answers of this run
    skipped: list[tuple[str, str]] = field(default_factory=list)

    def take(self, reply: str, pair: tuple[str, str]) -> None:
        """Does what a reply to a pair says."""
        if reply == "s":
            self.skipped.append(pair)
        elif reply == "u":
            self.take_back()
        else:
            self.keep(pair, reply == "y")

    def keep(self, pair: tuple[str, str], is_duplicate: bool) -> None:
        """Stores an answer, if the pair has none by now and it contradicts no other; else skips it."""
        change = AnswerChange(*pair, is_duplicate, (None,))
        try:
            stored = self.place.change_answers([change]).stored
        except DataError as error:
            note(f"Not stored: {error.message}")
            self.skipped.append(pair)
            return
        if stored:
            self.mine.append((*pair, int(is_duplicate)))
        else:
            note("Not stored: one of the questions was removed meanwhile.")
            self.skipped.append(pair)

    def take_back(self) -> None:
        """Takes the last answer of this run back; another person's answer to the pair stays."""
        if not self.mine:
            note("There is no answer of this run to take back.")
            return
        one, two, label = self.mine.pop()
        try:
            self.place.change_answers([AnswerChange(one, two, None, (bool(label),))])
        except DataError as error:
            note(error.message)


def _ask(pair: tuple[str, str], heading: tuple[str, str, str]) -> str:
    """Asks on standard error, reads standard input; the answer is y, n, s, u, or q, also at its end.

    The heading is the number of the question, and the ids of the pair, which is shown
    as it is compared.
    """
    number, *ids = heading
    note(f"\n{number}", *(f"  [{own}] {text}" for own, text in zip(ids, shown(*pair))))
    reply = ""
    while reply not in REPLIES:
        note("The same question? y, n, s (skip), u (undo the last answer), q (stop)")
        reply = (sys.stdin.readline() or "q").strip().lower()[:1]
    return reply
