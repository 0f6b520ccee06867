"""One checkpoint directory: what is in it, written into a folder and read back; no pickle.

Its files:
  weights.safetensors: the model's weights and state.
  slots.safetensors: the optimizer's slots.
  state.json: step, random state, batch position, history.
  config.json, metrics.json, vocabulary.json: as their names say.
  manifest.json: sizes and checksums of all the others; written last.
"""

from __future__ import annotations

import json
import math
import os
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from siamese.errors import CheckpointError
from siamese.storage import manifest as manifests
from siamese.storage.atomic import explain
from siamese.storage.trees import from_json, load_tensors, save_tensors, to_json

MAX_BYTES = 16 << 30  # All files of one checkpoint together.


@dataclass(frozen=True)
class Checkpoint:
    """All that a training run needs to go on as if it had never stopped.

    Attributes:
      step: training steps done.
      weights: the model's weights, a tree of arrays (tuples, lists, dicts, None).
      model_state: the model's state other than weights, a tree.
      slots: the optimizer's slots, a tree.
      random_state: of all generators, any tree of plain values and small arrays; see
        `capture_random_state`.
      batch_position: where in the data the run stands; any tree of plain values and small arrays.
      history: the metrics so far; any tree of plain values.
      config: the run's configuration; any tree of plain values.
      metrics: name -> number, the latest evaluation; `best_metric` chooses among these.
      vocabulary: the vocabulary file's content, bytes; a JSON value is turned into bytes.
      path: where it was loaded from; None before it was saved.
    """

    step: int
    weights: Any
    model_state: Any = ()
    slots: Any = ()
    random_state: Any = None
    batch_position: Any = None
    history: Any = None
    config: Any = None
    metrics: dict[str, float] = field(default_factory=dict)
    vocabulary: Any = None
    path: Path | None = None

    @property
    def vocabulary_checksum(self) -> str | None:
        """SHA-256 of the vocabulary's bytes, or None where there is no vocabulary."""
        return None if self.vocabulary is None else vocabulary_checksum(self.vocabulary)


def vocabulary_checksum(vocabulary: Any) -> str:
    """The checksum by which vocabularies are compared: SHA-256 of the bytes saved."""
    return manifests.checksum(_vocabulary_bytes(vocabulary))


def load_checkpoint(path: os.PathLike | str, max_bytes: int = MAX_BYTES) -> Checkpoint:
    """Loads one checkpoint directory after checking every file's size and checksum.

    Args:
      path: the checkpoint's directory, such as ``run/step-00000400``.
      max_bytes: refuse a checkpoint whose files are larger than this together.

    Raises:
      CheckpointError: where anything is missing, damaged, unknown or too large.
    """
    path = Path(path)
    try:
        manifest = manifests.read_manifest(path)
        files = manifests.read_files(path, manifest, max_bytes)
    except OSError as error:
        raise CheckpointError(explain(error, path, "read")) from error
    except MemoryError as error:
        raise CheckpointError(f"{path} does not fit into memory.") from error
    try:
        weights = load_tensors(files["weights.safetensors"])
        state = from_json(files["state.json"])
        if state["step"] != manifest["step"]:
            raise ValueError("its step is not the manifest's")
        return Checkpoint(
            step=state["step"],
            weights=weights["weights"],
            model_state=weights["model_state"],
            slots=load_tensors(files["slots.safetensors"])["slots"],
            random_state=state["random_state"],
            batch_position=state["batch_position"],
            history=state["history"],
            config=from_json(files["config.json"]),
            metrics=from_json(files["metrics.json"]),
            vocabulary=files.get("vocabulary.json"),
            path=path,
        )
    except CheckpointError:
        raise
    except Exception as error:  # safetensors' own error is a bare Exception.
        raise CheckpointError(
            f"{path} cannot be read, though its checksums are right ({_brief(error)}). It was not "
            "written by this siamese; use another checkpoint."
        ) from error


def write_checkpoint_files(folder: Path, checkpoint: Checkpoint) -> None:
    """Writes all files of a checkpoint, the manifest last; flushing them is the caller's."""
    metrics = {name: float(value) for name, value in checkpoint.metrics.items()}
    state = {
        name: getattr(checkpoint, name)
        for name in ("step", "random_state", "batch_position", "history")
    }
    save_tensors(
        folder / "weights.safetensors",
        weights=checkpoint.weights,
        model_state=checkpoint.model_state,
    )
    save_tensors(folder / "slots.safetensors", slots=checkpoint.slots)
    for name, value in (("state", state), ("config", checkpoint.config), ("metrics", metrics)):
        (folder / f"{name}.json").write_text(to_json(value), encoding="utf-8")
    if checkpoint.vocabulary is not None:
        (folder / "vocabulary.json").write_bytes(_vocabulary_bytes(checkpoint.vocabulary))
    finite = {name: value for name, value in metrics.items() if math.isfinite(value)}
    manifests.write_manifest(folder, step=checkpoint.step, metrics=finite)


def capture_random_state(**keys: Any) -> dict[str, Any]:
    """The state of Python's and NumPy's global generators, and of `keys`, for a checkpoint.

    Args:
      **keys: further states, such as ``jax=key`` (uint32 array) or
        ``batches=generator.bit_generator.state``; returned as they are.
    """
    return {"python": random.getstate(), "numpy": np.random.get_state(legacy=False), **keys}


def restore_random_state(state: dict[str, Any]) -> None:
    """Puts Python's and NumPy's global generators back to what `capture_random_state` saw."""
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])


def _vocabulary_bytes(vocabulary: Any) -> bytes:
    if isinstance(vocabulary, (bytes, bytearray)):
        return bytes(vocabulary)
    return json.dumps(vocabulary, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def _brief(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:200]}"
