"""Encoding very many questions: tokenized on all cores, then encoded in large calls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from siamese.search.detector import MAX_TOKENS, DuplicateDetector

MANY = 4_000  # from so many questions on they are tokenized on all cores
CHUNK = 50_000  # questions encoded at a time


def encode_questions(
    detector: DuplicateDetector, questions: Sequence[str], processes: int | None = None
) -> np.ndarray:
    """`DuplicateDetector.encode` for very many questions: tokenized on all cores.

    Args:
      detector: the model.
      questions: the texts.
      processes: how many processes tokenize; every core where None, this process alone where 1.

    Returns:
      float32 [questions, d].
    """
    questions = list(questions)
    if len(questions) < MANY or processes == 1 or set(map(type, questions)) != {str}:
        return detector.encode(questions)
    from siamese.data.token_workers import tokenize_in_workers, usable_cores
    from siamese.nn.ragged import Ragged

    vectors = np.empty((len(questions), detector.tower.output_size), np.float32)
    tokens, _ = tokenize_in_workers(questions, processes or usable_cores(), lambda count: None)
    lookup = detector.vocabulary.encode
    for start in range(0, len(questions), CHUNK):
        part = [lookup(words)[:MAX_TOKENS] for words in tokens[start : start + CHUNK]]
        vectors[start : start + CHUNK] = detector.encoder.encode(Ragged.from_lists(part))
    return vectors
