"""Course weights (model.pkl.gz) and a vocabulary, made into a DuplicateDetector."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np

from siamese.compat.atomic import explained
from siamese.compat.trax_files import read_course_model
from siamese.data.vocabulary import PAD, PAD_ID, Vocabulary
from siamese.errors import CheckpointError, DataError
from siamese.evaluation.thresholds import COURSE_THRESHOLD
from siamese.nn.encoder import TowerConfig
from siamese.search.detector import DuplicateDetector


def import_weights(
    weights: str | os.PathLike, vocabulary: Vocabulary, *, threshold: float = COURSE_THRESHOLD
) -> DuplicateDetector:
    """A detector from what the course's training saved; runs nothing of the pickle.

    The course's embedding has ``len(vocab)`` rows while its ids run up to ``len(vocab)``, and its
    lookup clamps the one id too many to the last row: here that row stands twice, so that the
    answers stay the course's.

    The weights are the ``model.pkl.gz``, or its directory. CheckpointError for those of no course's model,
    or of another vocabulary.
    """
    model = read_course_model(weights)
    shapes = [tuple(array.shape) for array in model.weights]
    d = shapes[0][-1] if shapes and len(shapes[0]) == 2 else 0
    if len(shapes) != 3 or shapes[1:] != [(2 * d, 4 * d), (4 * d,)]:
        raise CheckpointError(
            f"{model.path} holds arrays of shapes {shapes}; the course's model has an embedding "
            "[words, d], an LSTM kernel [2 d, 4 d] and a bias [4 d]. It is another model."
        )
    embedding, kernel, bias = model.weights
    rows = len(embedding)
    if rows not in (vocabulary.size, vocabulary.size - 1):
        raise CheckpointError(
            f"{model.path} has {rows:,} rows of words, and the vocabulary has {len(vocabulary):,} "
            f"words, <PAD> included, which needs {vocabulary.size - 1:,} or {vocabulary.size:,}. "
            "Give the vocabulary that the model was trained with, in its order."
        )
    if rows < vocabulary.size:
        embedding = np.concatenate([embedding, embedding[-1:]])
    return DuplicateDetector(
        {"embedding": embedding, "lstm/kernel": kernel, "lstm/bias": bias},
        vocabulary,
        TowerConfig(vocabulary.size, d),
        threshold=threshold,
        card={"imported_from": Path(model.path).name, "step": model.step, "rows": rows},
    )


def read_vocabulary(path: str | os.PathLike) -> Vocabulary:
    """A vocabulary from a JSON object, word -> id, as ``json.dump(vocab)`` of the course's dict writes it.

    DataError for no such file, or ids that are not the course's: ``<PAD>`` 1, then 2, 3, ...
    """
    with explained(path, "read the vocabulary", DataError):
        content = Path(path).read_bytes()
    try:
        ids = json.loads(content.decode("utf-8-sig"))
        word_of = {number: word for word, number in ids.items()}
        words = [word_of[number] for number in range(PAD_ID, len(ids) + PAD_ID)]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(
            f"{path} is no JSON object of the course's words, {PAD} 1 and then every number once "
            f"({type(error).__name__}: {error}). Write it by json.dump(vocab)."
        ) from None
    if words[:1] != [PAD]:
        raise DataError(f"{path}: the id {PAD_ID} must be that of {PAD}, as in the course.")
    return Vocabulary(words)
