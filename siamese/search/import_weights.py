"""Course weights (model.pkl.gz) and a vocabulary, made into a DuplicateDetector."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from siamese.data.files import opened
from siamese.data.vocabulary import PAD, PAD_ID, Vocabulary
from siamese.errors import CheckpointError, DataError
from siamese.nn.encoder import TowerConfig
from siamese.search.detector import COURSE_THRESHOLD, DuplicateDetector
from siamese.storage.atomic import explain
from siamese.storage.trax_files import read_course_model


def import_weights(
    weights: str | os.PathLike,
    vocabulary: Vocabulary | str | os.PathLike,
    *,
    threshold: float = COURSE_THRESHOLD,
) -> DuplicateDetector:
    """A detector from what the course's training saved; runs nothing of the pickle.

    The course's embedding has ``len(vocab)`` rows while its ids run up to ``len(vocab)``, and its
    lookup clamps the one id too many to the last row: here that row stands twice, so that the
    answers stay the course's.

    Args:
      weights: the ``model.pkl.gz``, or its directory.
      vocabulary: a `Vocabulary`, or a file: see `read_vocabulary`.
      threshold: cosine for a duplicate; the course uses 0.7.

    Raises:
      CheckpointError: no weights of the course's model, or of another vocabulary.
      DataError: no vocabulary.
    """
    if not isinstance(vocabulary, Vocabulary):
        vocabulary = read_vocabulary(vocabulary)
    if Path(weights).is_fifo():
        raise CheckpointError(f"{weights} is a pipe. Give the file with the weights.")
    model = read_course_model(weights)
    found = [tuple(array.shape) for array in model.weights]
    d = found[0][-1] if found and len(found[0]) == 2 else 0
    if len(found) != 3 or found[1:] != [(2 * d, 4 * d), (4 * d,)]:
        raise CheckpointError(
            f"{model.path} holds arrays of shapes {found}; the course's model has an embedding "
            "[words, d], an LSTM kernel [2 d, 4 d] and a bias [4 d]. It is another model."
        )
    wrong = [str(array.dtype) for array in model.weights if array.dtype.kind != "f"]
    if wrong:
        raise CheckpointError(
            f"{model.path} holds arrays of {wrong[0]}; weights are floating-point numbers. "
            "Take the file that training wrote."
        )
    embedding, kernel, bias = (np.asarray(array, np.float32) for array in model.weights)
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
    """A vocabulary from a file: our own, a JSON object or list, or one word a line.

    Args:
      path: what `Vocabulary.save` wrote; a JSON object, word -> id, as ``json.dump(vocab)`` of the
        course's dict; a JSON list; or text. Lists and lines start with id 1, which is ``<PAD>``,
        or with id 2 where they leave ``<PAD>`` out.

    Raises:
      DataError: none of these, or ids that are not the course's: ``<PAD>`` 1, then 2, 3, ...
    """
    try:
        with opened(str(path))[0] as file:
            text = file.read().decode("utf-8-sig")
    except OSError as error:
        raise DataError(explain(error, path, "read the vocabulary")) from error
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text, so not a vocabulary.") from None
    words, unit = _json(text, path), "entry"
    if isinstance(words, dict) and isinstance(words.get("words"), list):
        return Vocabulary.load(path)
    if isinstance(words, dict):
        ids = sorted(words.items(), key=lambda item: item[1] if type(item[1]) is int else -1)
        wrong = [f"{w!r} has {i!r}" for at, (w, i) in enumerate(ids, 1) if i is True or i != at]
        if words.get(PAD) != PAD_ID or wrong:
            raise DataError(
                f"{path}: ids must be those of the course: {PAD} 1, then every number once; "
                f"{[*wrong, f'{PAD} has {words.get(PAD)!r}'][0]}."
            )
        words = [word for word, _ in ids]
    if words is None:
        unit, lines = "line", text.rstrip("\r\n").split("\n")
        words = [word.removesuffix("\r") for word in lines if lines != [""]]
    seen: dict[str, int] = {}
    for number, word in enumerate(words, start=1):
        wrong = "is not a word" if not isinstance(word, str) or not word else ""
        if not wrong and word in seen:
            wrong = f"stands on {unit} {seen[word]:,} already"
        if word == PAD and number != 1:
            wrong = "must come first, or be left out"
        if wrong:
            raise DataError(f"{path}, {unit} {number:,}: {word!r:.40} {wrong}.")
        seen[word] = number
    if not words:
        raise DataError(f"{path} holds no words.")
    return Vocabulary.from_words(words)


def _json(text: str, path: Any) -> Any:
    """A JSON object or list; None for other text."""
    try:
        return json.loads(text) if text.lstrip()[:1] in ("{", "[") else None
    except (ValueError, RecursionError) as error:
        if text.lstrip()[0] == "{":  # A word list may well start with a bracket as its first word.
            raise DataError(f"{path} is not complete JSON ({error}).") from None
    return None
