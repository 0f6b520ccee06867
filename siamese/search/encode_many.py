"""Encoding very many questions: tokenized on all cores, each distinct one encoded once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from siamese.search.detector import MAX_TOKENS, DuplicateDetector

MANY = 4_000  # from so many questions on they are tokenized on all cores


def encode_questions(
    detector: DuplicateDetector, questions: Sequence[str], processes: int | None = None
) -> np.ndarray:
    """`DuplicateDetector.encode` for very many questions: float32 [questions, d].

    Args:
      detector: the model.
      questions: the texts.
      processes: how many processes tokenize; every core where None, this process alone where 1.
    """
    questions = list(questions)
    if len(questions) < MANY or set(map(type, questions)) != {str}:
        return detector.encode(questions)
    from siamese.data.tokens import tokenize_questions

    options = {"cache_dir": False, "progress": False}
    tokenized = tokenize_questions(questions, processes=processes, **options)
    ids = tokenized.encode(detector.vocabulary)  # a row for each distinct question
    if ids.lengths.max() > MAX_TOKENS:
        ids = [row[:MAX_TOKENS].tolist() for row in ids]
    return detector.encoder.encode(ids)[tokenized.rows]
