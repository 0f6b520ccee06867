"""Answers that need no model, to stand beside every result: the majority class, and word overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from siamese.data.arguments import check_labels
from siamese.data.vocabulary import word_tokenize
from siamese.errors import DataError
from siamese.evaluation.metrics import Metrics, evaluate_scores
from siamese.evaluation.thresholds import best_threshold


def word_overlap(question1: Sequence[str], question2: Sequence[str]) -> np.ndarray:
    """Jaccard overlap of two questions' lower-cased words: shared / all distinct words.

    Args:
      question1: n texts.
      question2: n texts.

    Returns:
      float64 [n], from 0 to 1. Two questions without any words overlap by 0.

    Raises:
      DataError: sequences of unequal length.

    Example:
      >>> word_overlap(["How old are you?"], ["What age are you?"])
      array([0.42857143])
    """
    if len(question1) != len(question2):
        raise DataError(
            f"There are {len(question1)} first and {len(question2)} second questions; one each a pair."
        )
    first, second = (
        [{word.lower() for word in word_tokenize(text)} for text in side]
        for side in (question1, question2)
    )
    overlap = [len(one & two) / max(len(one | two), 1) for one, two in zip(first, second)]
    return np.array(overlap, dtype=np.float64)


def baselines(question1: Sequence, question2: Sequence, labels: Any) -> dict[str, Metrics]:
    """What any model must beat: the majority class, and counting shared words.

    Args:
      question1: n texts.
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
