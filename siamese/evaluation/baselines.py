"""Answers that need no model, to stand beside every result: the majority class, and word overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from siamese.data.arguments import check_labels
from siamese.data.vocabulary import word_tokenize
from siamese.errors import ArgumentError, DataError
from siamese.evaluation.metrics import Metrics, evaluate_scores
from siamese.evaluation.thresholds import best_threshold


def word_overlap(question1: Any, question2: Any) -> Any:
    """Jaccard overlap of two questions' lower-cased words: shared / all distinct words.

    Args:
      question1: one text; or a sequence of n texts, or of n lists of words.
      question2: the same kind.

    Returns:
      A number from 0 to 1, or float64 [n]. Two questions without any words overlap by 0.

    Raises:
      DataError: sequences of unequal length.
      ArgumentError: something that is neither text nor words.

    Example:
      >>> word_overlap("How old are you?", "What age are you?")
      0.42857142857142855
    """
    if isinstance(question1, str) and isinstance(question2, str):
        return _jaccard(_words(question1), _words(question2))
    first, second = ([_words(question) for question in side] for side in (question1, question2))
    if len(first) != len(second):
        raise DataError(
            f"There are {len(first)} first and {len(second)} second questions; one each a pair."
        )
    return np.array([_jaccard(*pair) for pair in zip(first, second)], dtype=np.float64)


def _jaccard(first: set[str], second: set[str]) -> float:
    return len(first & second) / max(len(first | second), 1)


def _words(question: Any) -> set[str]:
    words = word_tokenize(question) if isinstance(question, str) else question
    if not isinstance(words, (list, tuple)) or not all(isinstance(word, str) for word in words):
        raise ArgumentError(f"A question must be text or a list of words; this is {question!r}.")
    return {word.lower() for word in words}


def baselines(question1: Sequence, question2: Sequence, labels: Any) -> dict[str, Metrics]:
    """What any model must beat: the majority class, and counting shared words.

    Args:
      question1: n texts (or lists of words).
      question2: n texts.
      labels: bool or 0/1 [n].

    Returns:
      'always no' (or 'always yes') and 'word overlap', each with its Metrics. Both are chosen on the
      same pairs, which flatters them.
    """
    truth = check_labels(labels)
    overlap = word_overlap(question1, question2)
    yes = bool(np.mean(truth) > 0.5)
    constant = evaluate_scores(np.full(len(truth), float(yes)), truth, threshold=0.5)
    cut = best_threshold(overlap, truth).threshold
    return {
        "always yes" if yes else "always no": constant,
        "word overlap": evaluate_scores(overlap, truth, threshold=cut),
    }
