"""Word overlap: an answer that needs no model, to compare with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from siamese.data.arguments import check_pairs
from siamese.data.vocabulary import word_tokenize


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
