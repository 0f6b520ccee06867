"""Answers that bind groups: which of them a list takes, and which of its questions they join or part.

An answer is about two folded texts (`siamese.reading.clusters.answer_key`), and holds
for all questions that have them.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from siamese.reading.clusters import answer_key, check_answers
from siamese.reading.pairs import QuestionPairs

Answer = tuple[str, str, bool]  # two folded texts, the lesser first; are they the same?


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
