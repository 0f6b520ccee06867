"""The directory of a saved detector: weights, vocabulary, configuration and card; no pickle.

model/                    a store (`siamese.storage.store`); in its current generation:
  weights.safetensors     one tower's arrays, by name
  vocabulary.json         the words of its embedding
  detector.json           tower configuration, threshold, calibration, card

Reading one imports neither Trax nor JAX.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from siamese.data.vocabulary import Vocabulary
from siamese.errors import CheckpointError
from siamese.storage.store import (
    is_store,
    read_files,
    read_store,
    unreadable_explained,
    write_store,
)

__all__ = ["read_model", "unreadable_explained", "write_model"]

FORMAT_VERSION = 1


def write_model(
    path: os.PathLike | str,
    weights: dict[str, np.ndarray],
    vocabulary: Vocabulary,
    facts: dict[str, Any],
) -> Path:
    """Writes a saved model atomically; an older one at `path` is replaced at the end.

    Args:
      path: the directory; it may hold an older saved model, but nothing else.
      weights: name -> array of one tower.
      vocabulary: the words of its embedding.
      facts: JSON values: the tower's configuration, threshold, calibration and card.

    Raises:
      CheckpointError: it cannot be written, or `path` holds something other than a saved model.
    """

    def fill(folder: Path) -> None:
        from safetensors.numpy import save

        arrays = {name: np.ascontiguousarray(array) for name, array in weights.items()}
        (folder / "weights.safetensors").write_bytes(save(arrays))
        vocabulary.save(folder / "vocabulary.json")
        text = json.dumps({"version": FORMAT_VERSION, **facts}, indent=1, ensure_ascii=False)
        (folder / "detector.json").write_text(text, encoding="utf-8")

    return write_store(path, "detector", fill)


def read_model(
    path: os.PathLike | str,
) -> tuple[dict[str, np.ndarray], Vocabulary, dict[str, Any]]:
    """Reads a saved model after checking every file: (weights, vocabulary, facts).

    Args:
      path: the model's directory, or that of the training run that made it.

    Raises:
      CheckpointError: missing, damaged, or of another version; the message says which file.
      DataError: the vocabulary cannot be read.
    """

    def read(folder: Path, manifest: dict[str, Any]):
        files = read_files(folder, manifest)
        with unreadable_explained(path):
            from safetensors.numpy import load

            facts = json.loads(files["detector.json"])
            if facts["version"] != FORMAT_VERSION:
                raise CheckpointError(
                    f"{path} has format version {facts['version']!r}; this siamese reads "
                    f"{FORMAT_VERSION}."
                )
            weights = load(files["weights.safetensors"])
            return weights, Vocabulary.load(folder / "vocabulary.json"), facts

    path = Path(path)
    if not is_store(path) and is_store(path / "model"):
        path = path / "model"
    return read_store(path, "detector", read)
