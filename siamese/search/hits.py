"""Hits: what a search answers with."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from siamese.search.detector import DuplicateDetector
from siamese.search.index_files import Records


class Hit(NamedTuple):
    """An old question that was found, with its similarity (cosine) to the new one.

    `probability` is None where the model has no calibration; `columns` holds the other columns that
    the question came with.
    """

    id: str | int
    question: str
    similarity: float
    probability: float | None
    is_duplicate: bool
    columns: dict[str, Any]


def make_hits(
    detector: DuplicateDetector,
    rows: np.ndarray,
    similarities: np.ndarray,
    records: Records,
    with_words: np.ndarray,
    threshold: float | None = None,
) -> list[list[Hit]]:
    """The hits of each query, in the order given.

    Args:
      detector: its calibration gives the probabilities.
      rows: int64 [queries, k]; the records found.
      similarities: float32 [queries, k]; their cosines.
      records: of the index.
      with_words: bool [queries]; a query without words has no hits.
      threshold: cosine above which a hit is a duplicate; the detector's own where None.
    """
    threshold = detector.threshold if threshold is None else threshold
    probabilities = None
    if detector.calibration is not None and similarities.size:
        probabilities = detector.calibrated(similarities.ravel()).reshape(similarities.shape)
    answers = []
    for i, has_words in enumerate(with_words):
        hits = []
        for j, row in enumerate(rows[i] if has_words else ()):
            record, similarity = records[row], float(similarities[i, j])
            hits.append(
                Hit(
                    record["id"],
                    record["question"],
                    similarity,
                    None if probabilities is None else float(probabilities[i, j]),
                    similarity > threshold,
                    record["columns"],
                )
            )
        answers.append(hits)
    return answers
