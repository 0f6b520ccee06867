"""The directory of a saved detector: weights, vocabulary, configuration and card; no pickle.

    model/
      weights.safetensors   one tower's arrays, by name
      vocabulary.json       word -> id
      detector.json         tower configuration, threshold, calibration, card
      manifest.json         sizes and checksums of the others

A new version is written beside the old one and takes its place when it is whole.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from siamese.data.vocabulary import Vocabulary
from siamese.errors import CheckpointError, SiameseError
from siamese.storage import manifest as manifests
from siamese.storage.atomic import atomic_directory, explain, remove_directory

FORMAT_VERSION = 1
MAX_BYTES = 16 << 30


def write_model(
    path: os.PathLike | str,
    weights: dict[str, np.ndarray],
    vocabulary: Vocabulary,
    facts: dict[str, Any],
) -> Path:
    """Writes a saved model, whole or not at all; an older one at `path` is replaced at the end.

    Args:
      path: the directory; it may hold an older saved model, but nothing else.
      weights: name -> array of one tower.
      vocabulary: the words of its embedding.
      facts: JSON values: the tower's configuration, threshold, calibration and card.

    Raises:
      CheckpointError: it cannot be written, or `path` holds something that is no saved model.
    """
    path = Path(os.path.abspath(path))
    previous = path.with_name(path.name + ".previous")
    if path.exists() and (not path.is_dir() or (any(path.iterdir()) and not is_model(path))):
        raise CheckpointError(
            f"{path} holds something other than a saved model; nothing was changed. Give another path."
        )
    try:
        fresh = path.with_name(path.name + ".fresh")
        for leftover in (fresh, previous) if path.exists() else (fresh,):
            if leftover.exists():
                remove_directory(leftover)
        with atomic_directory(fresh, CheckpointError) as folder:
            from safetensors.numpy import save_file

            save_file(
                {n: np.ascontiguousarray(a) for n, a in weights.items()},
                folder / "weights.safetensors",
            )
            vocabulary.save(folder / "vocabulary.json")
            text = json.dumps({"version": FORMAT_VERSION, **facts}, indent=1, ensure_ascii=False)
            (folder / "detector.json").write_text(text, encoding="utf-8")
            manifests.write_manifest(folder, kind="detector", step=0, metrics={})
        if path.exists():
            os.rename(path, previous)
        os.rename(fresh, path)
        if previous.exists():
            remove_directory(previous)
    except OSError as error:
        raise CheckpointError(explain(error, path)) from error
    return path


def read_model(
    path: os.PathLike | str,
) -> tuple[dict[str, np.ndarray], Vocabulary, dict[str, Any]]:
    """Reads a saved model after checking every file: (weights, vocabulary, facts).

    Raises:
      CheckpointError: missing, damaged, or of another version; the message says which file.
      DataError: the vocabulary is none.
    """
    path = find_model(path)
    try:
        manifest = manifests.read_manifest(path)
        files = manifests.read_files(path, manifest, MAX_BYTES)
        if manifest.get("kind") != "detector":
            raise CheckpointError(
                f"{path} is a checkpoint of a training run, not a saved model. Give the run's directory."
            )
    except OSError as error:
        raise CheckpointError(explain(error, path, "read")) from error
    with unreadable_explained(path):
        from safetensors.numpy import load

        facts = json.loads(files["detector.json"])
        if facts["version"] != FORMAT_VERSION:
            raise CheckpointError(
                f"{path} has format version {facts['version']!r}; this siamese reads {FORMAT_VERSION}."
            )
        weights = load(files["weights.safetensors"])
        return weights, Vocabulary.load(path / "vocabulary.json"), facts


@contextmanager
def unreadable_explained(path: os.PathLike | str) -> Iterator[None]:
    """Turns whatever goes wrong with content whose checksums are right into a CheckpointError."""
    try:
        yield
    except SiameseError:
        raise
    except Exception as error:  # safetensors' own error is a bare Exception.
        raise CheckpointError(
            f"{path} cannot be read, though its checksums are right ({type(error).__name__}: "
            f"{str(error)[:200]}). It was not written by this siamese; use another model."
        ) from error


def find_model(path: os.PathLike | str) -> Path:
    """The saved model that `path` means: itself, or the one in a training run's directory.

    Raises:
      CheckpointError: where there is none.
    """
    path, place = Path(path), Path(os.path.abspath(path))
    previous = place.with_name(place.name + ".previous")
    for candidate in (path, path / "model", previous):
        if is_model(candidate):
            return candidate
    if not path.exists():
        raise CheckpointError(f"There is no saved model at {path}. `siamese train` makes one.")
    raise CheckpointError(
        f"{path} holds no saved model: it has no detector.json. Give the directory that `siamese train` "
        "wrote, or make a model from course weights with `siamese import-weights`."
    )


def is_model(path: Path) -> bool:
    """Whether a directory looks like a saved model: by its files' names alone."""
    return (path / "detector.json").is_file() and (path / manifests.NAME).is_file()
