"""Answers that need no model, to compare with: the more frequent class, and word overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from siamese.data.arguments import check_labels, check_pairs
from siamese.data.vocabulary import word_tokenize
from siamese.evaluation.metrics import Metrics, evaluate_scores
from siamese.evaluation.thresholds import best_threshold


def word_overlap(question1: Sequence[str], question2: Sequence[str]) -> np.ndarray:
    """Jaccard overlap of n pairs of texts by their lower-cased words: shared / all distinct words.

    Returns:
      float64 [n], from 0 to 1. Two questions without any words overlap by 0.

    Raises:
      DataError: sequences of unequal length.

    Example:
      >>> word_overlap(["How old are you?"], ["What age are you?"])
      array([0.42857143])
    """
    check_pairs(question1, question2, "question1", "question2")
    first, second = (
        [{word.lower() for word in word_tokenize(text)} for text in side]
        for side in (question1, question2)
    )
    return np.array([len(a & b) / max(len(a | b), 1) for a, b in zip(first, second)])


def baselines(
    overlap: np.ndarray, labels: Any, encoder: np.ndarray | None = None
) -> dict[str, Metrics]:
    """The baselines of n pairs by name: 'always no' (or 'always yes'), 'word overlap' and 'encoder'.

    All are chosen on the same pairs, so they are optimistic.
    """
    truth = check_labels(labels)
    yes = bool(truth.mean() > 0.5)
    constant = np.full(len(truth), float(yes))
    figures = {"always yes" if yes else "always no": evaluate_scores(constant, truth, 0.5)}
    scores = {"word overlap": overlap, "encoder": encoder}
    for name, values in scores.items():
        if values is not None:
            figures[name] = evaluate_scores(values, truth, best_threshold(values, truth))
    return figures
