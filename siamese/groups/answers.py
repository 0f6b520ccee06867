"""Answers that bind groups: which of them a list takes, and which of its questions they join or part.

An answer is about two folded texts (`siamese.reading.clusters.answer_key`), and holds
for all questions that have them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from siamese.errors import DataError
from siamese.reading.clusters import answer_key, check_answers
from siamese.reading.pairs import QuestionPairs

Answer = tuple[str, str, bool]  # two folded texts, the lesser first; are they the same?
ANY = (None, False, True)


class AnswerChange(NamedTuple):
    """The answer to a pair of questions becomes another; None stands for no answer."""

    question1: str
    question2: str
    is_duplicate: bool | None
    replaces: tuple[bool | None, ...] = ANY  # the answers that it may replace


class ChangedAnswers(NamedTuple):
    """What `QuestionIndex.change_answers` did."""

    stored: int  # pairs that the index has; each has its new answer
    before: list[bool | None]  # the former answer of each pair


def changed_answers(
    changes: Sequence[AnswerChange],
    answer_of: Callable[[tuple[str, str]], bool | None],
    add: Callable[[QuestionPairs, bool], int],
) -> ChangedAnswers:
    """Changes the answers to several pairs; DataError where one of them may not be replaced.

    `answer_of` tells the answer that a pair has, by its `answer_key`. `add` stores
    answers, or forgets them, and returns to how many pairs.
    """
    before = [answer_of(answer_key(one.question1, one.question2)) for one in changes]
    for change, own in zip(changes, before):
        if own not in (*change.replaces, change.is_duplicate):
            what = {None: "took the answer back", True: "answered duplicates"}
            raise DataError(
                f"Another person {what.get(own, 'answered different')} meanwhile. Nothing was changed."
            )
    stored = 0
    for is_forgotten in (True, False):
        some = [one for one in changes if (one.is_duplicate is None) == is_forgotten]
        if some:
            pairs = QuestionPairs(
                [one.question1 for one in some],
                [one.question2 for one in some],
                np.array([bool(one.is_duplicate) for one in some]),
            )
            stored += add(pairs, is_forgotten)
    return ChangedAnswers(stored, before)


def new_answers(earlier: QuestionPairs, pairs: QuestionPairs) -> list[Answer]:
    """Pairs as answers; each replaces an earlier one to the same texts.

    DataError where they contradict each other, or the other answers.
    """
    keys = list(map(answer_key, pairs.question1, pairs.question2))
    replaced = set(keys)
    earlier_keys = map(answer_key, earlier.question1, earlier.question2)
    rest = earlier.select(
        [at for at, key in enumerate(earlier_keys) if key not in replaced]
    )
    together = QuestionPairs(
        rest.question1 + pairs.question1,
        rest.question2 + pairs.question2,
        np.append(rest.is_duplicate, pairs.is_duplicate),
    )
    check_answers(together)
    return [
        (one, two, is_duplicate)
        for (one, two), is_duplicate in zip(keys, pairs.is_duplicate.tolist())
        if one != two
    ]


def answered_places(
    folded: Sequence[str], answers: QuestionPairs
) -> tuple[np.ndarray, np.ndarray]:
    """`bound_places` of a list by its folded texts; an answer about another text is left out."""
    known = set(folded)
    keys = map(answer_key, answers.question1, answers.question2)
    own = [
        (*key, is_duplicate)
        for key, is_duplicate in zip(keys, answers.is_duplicate.tolist())
        if known.issuperset(key)
    ]
    answered = {text for *key, _ in own for text in key}
    places = ((text, at) for at, text in enumerate(folded) if text in answered)
    return bound_places(places, own)


def bound_places(
    texts: Iterable[tuple[str, int]], answers: Iterable[Answer]
) -> tuple[np.ndarray, np.ndarray]:
    """What answers bind: pairs of questions that are the same, and pairs that differ.

    `texts` are the folded texts of the questions, with their places in the list; those
    of one text are the same. Both results are int64 [pairs, 2], places in the list.
    KeyError for an answer to a text that none of them has.
    """
    first: dict[str, int] = {}
    same: list[tuple[int, int]] = []
    different: list[tuple[int, int]] = []
    for text, place in texts:
        if first.setdefault(text, place) != place:
            same.append((first[text], place))
    for one, two, is_duplicate in answers:
        (same if is_duplicate else different).append((first[one], first[two]))
    return _places(same), _places(different)


def _places(pairs: list[tuple[int, int]]) -> np.ndarray:
    return np.array(pairs, np.int64).reshape(-1, 2)
