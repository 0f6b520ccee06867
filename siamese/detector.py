"""Answers whether one question is a duplicate of another."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from siamese import batches
from siamese.errors import ArgumentError, DataError
from siamese.text import word_tokenize


def predict(
    question1: str,
    question2: str,
    threshold: float,
    model: Callable[[tuple], tuple],
    vocab: Mapping[str, int],
    data_generator=batches.data_generator,
    verbose: bool = False,
) -> bool:
    """The course's prediction: whether the cosine of two questions is above the threshold.

    Args:
      question1: text.
      question2: text.
      threshold: cosine above which two questions count as duplicates; the course uses 0.7.
      model: takes (q1, q2), int32 [1, length] each, and returns (v1, v2), float [1, d_model] each.
      vocab: word -> id with ``<PAD>``: a `Vocabulary`, a dict or a defaultdict. Words it does not
        know become 0 and do not enter it.
      data_generator: pads the two questions to one length.
      verbose: print the ids, the cosine and the answer.

    Returns:
      True or False.

    Raises:
      DataError: a question without any words, or that is not text.
      ArgumentError: a vocabulary without ``<PAD>``.
    """
    pad = vocab.get("<PAD>", None)
    if pad is None:
        raise ArgumentError(
            "vocab has no '<PAD>': it must map it to the padding id, 1 in the course."
        )
    encoded = []
    for name, question in (("question1", question1), ("question2", question2)):
        words = word_tokenize(question)
        if not words:
            raise DataError(f"{name} has no words: {question!r}.")
        encoded.append([vocab.get(word, 0) for word in words])
    q1, q2 = next(data_generator([encoded[0]], [encoded[1]], 1, pad))
    v1, v2 = model((q1, q2))
    similarity = np.dot(np.asarray(v1[0]), np.asarray(v2[0]))
    answer = bool(similarity > threshold)
    if verbose:
        print(f"q1 = {q1}\nq2 = {q2}\ncosine = {similarity:.6f}\nduplicate = {answer}")
    return answer
