"""A detector of static vectors alone: nothing is trained, it answers in the first minute."""

from __future__ import annotations

import os

from siamese.data.pairs import QuestionPairs
from siamese.data.subwords import StaticVectors
from siamese.errors import ArgumentError
from siamese.nn.tower import TowerConfig
from siamese.search.detector import COURSE_THRESHOLD, DuplicateDetector


def ready_detector(
    embedding: str | os.PathLike,
    *,
    threshold: float | None = None,
    pairs: QuestionPairs | None = None,
) -> DuplicateDetector:
    """A detector whose cosine is that of mean static vectors (0.85) and mean character vectors (0.15).

    Args:
      embedding: as for `siamese.data.subwords.StaticVectors.read`.
      threshold: cosine above which two questions are duplicates; 0.7 where None: of `wordllama`
        0.699 is the most accurate on Quora's validation rows.
      pairs: labelled pairs that threshold and calibration are fitted on instead.

    Raises:
      ArgumentError: both `threshold` and `pairs`.
      MissingDependencyError, DataError: see `StaticVectors.read` and `DuplicateDetector.fitted`.
    """
    if threshold is not None and pairs is not None:
        raise ArgumentError("Give a threshold or labelled pairs to fit it on, not both.")
    vectors = StaticVectors.read(embedding)
    vocabulary = vectors.vocabulary
    size, d = vectors.table.shape
    options = {"static_size": d, "static_share": 1.0}  # With TowerConfig's own character_share.
    tower = TowerConfig(size, mask_padding=True, bidirectional=True, **options)
    detector = DuplicateDetector(
        {"static": vectors.table, "characters": vocabulary.characters()},
        vocabulary,
        tower,
        threshold=COURSE_THRESHOLD if threshold is None else threshold,
        card={"embedding": str(embedding)},
    )
    return detector if pairs is None else detector.fitted(pairs)
