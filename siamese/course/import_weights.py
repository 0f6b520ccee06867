"""Course weights (model.pkl.gz) and a vocabulary, made into a DuplicateDetector."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np

from siamese.course.trax.files import read_course_model
from siamese.encoders.lstm import Lstm
from siamese.errors import CheckpointError, DataError
from siamese.model.detector import DuplicateDetector
from siamese.nn.lstm import LstmConfig
from siamese.system.files import explained
from siamese.text.vocabulary import PAD, PAD_ID, Vocabulary

LARGEST_VOCABULARY = 64 << 20  # bytes


def import_weights(
    weights: str | os.PathLike, vocabulary: Vocabulary, unseen: int = 0
) -> DuplicateDetector:
    """A detector from what the course's training saved; runs nothing of the pickle.

    The course's embedding has ``len(vocab)`` rows for ids up to ``len(vocab)``, and its
    lookup clamps the last one: here the last row stands twice. Its dict grows by each
    unseen word that it is asked for, with the id 0: the rows made for these (41,699 for
    36,268 words) are left out, as no id takes them. `weights` are a ``model.pkl.gz`` or
    its directory; CheckpointError for another model or vocabulary.
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
    if not vocabulary.size - 1 <= rows <= vocabulary.size + unseen:
        raise CheckpointError(
            f"{model.path} has {rows:,} rows of words, and the vocabulary has {len(vocabulary):,} "
            f"words, <PAD> included, which needs {vocabulary.size - 1:,} to {vocabulary.size + unseen:,}. "
            "Give the vocabulary that the model was trained with, in its order."
        )
    extended = np.concatenate([embedding, embedding[-1:]])[: vocabulary.size]
    arrays = {"embedding": extended, "lstm/kernel": kernel, "lstm/bias": bias}
    return DuplicateDetector(
        Lstm(LstmConfig(vocabulary.size, d), arrays, vocabulary),
        card={"imported_from": Path(model.path).name, "step": model.step, "rows": rows},
    )


def read_vocabulary(path: str | os.PathLike) -> tuple[Vocabulary, int]:
    """A vocabulary and how many unseen words, of id 0, stand beside it, from ``json.dump(vocab)``'s file.

    DataError for no such file, or ids that are not the course's: ``<PAD>`` 1, then 2,
    3, ...
    """
    with explained(path, "read the vocabulary", DataError), open(path, "rb") as file:
        content = file.read(LARGEST_VOCABULARY + 1)
    if len(content) > LARGEST_VOCABULARY:
        most = f"{LARGEST_VOCABULARY >> 20} MB, which hold millions of words"
        raise DataError(
            f"{path} is no vocabulary: it has more than {most}. Name another file."
        )
    try:
        ids = json.loads(content)
        word_of = {number: word for word, number in ids.items()}
        unseen = [*ids.values()].count(0)
        words = [
            word_of[number] for number in range(PAD_ID, len(ids) - unseen + PAD_ID)
        ]
        if words[0] != PAD:
            raise ValueError(f"the id {PAD_ID} is that of {words[0]!r:.40}")
    except (
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        raise DataError(
            f"{path} is no JSON object of the course's words, {PAD} 1 and then every number once "
            f"({type(error).__name__}: {error}). Write it by json.dump(vocab)."
        ) from None
    return Vocabulary(words), unseen
