"""The best matches of two lists of questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from siamese.nn.nearest import top_k
from siamese.system.arguments import whole_number
from siamese.text.values import text_list

if TYPE_CHECKING:
    from siamese.model.detector import DuplicateDetector


def match_questions(
    detector: DuplicateDetector,
    questions: Sequence[str],
    others: Sequence[str],
    *,
    k: int = 1,
) -> list[list[tuple[int, float]]]:
    """For each question its k best matches in another list, best first; none for one without words.

    A match is (place in `others`, cosine). ArgumentError for k below 1, or a text in
    place of a list.
    """
    lists = (text_list(texts, "match_questions") for texts in (questions, others))
    asked, stored = map(detector.encode, lists)
    worded = np.flatnonzero(stored.any(axis=1))
    rows, products = top_k(stored[worded], asked, whole_number(k, "k", 1))
    matches = zip(
        worded[rows].tolist(),
        np.minimum(products, 1).tolist(),
        np.asarray(asked.any(axis=1)),
    )
    return [
        list(zip(places, cosines)) if words else []
        for places, cosines, words in matches
    ]
