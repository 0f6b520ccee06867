"""A run's checkpoints: the one writer, the newest complete one, which are kept, which fit the model.

A run directory holds a directory for each checkpoint, such as ``run/step-00000400/``:
  weights.safetensors: the model's weights and state.
  slots.safetensors: the optimizer's slots.
  state.json: step, random state, batch position, history.
  config.json, metrics.json, vocabulary.json: as their names say.
  manifest.json: sizes and checksums of all the others (see `siamese.storage.store`).
A directory with content is never replaced: saving a step again makes ``step-00000400.1``, and the first
one is removed only then.
"""

from __future__ import annotations

import json
import math
import os
import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from siamese.errors import ArgumentError, CheckpointError
from siamese.storage import store
from siamese.storage.atomic import atomic_directory, explained, remove_directory, remove_stale
from siamese.storage.trees import difference, from_json, load_tensors, save_tensors, to_json

_DIRECTORY = re.compile(r"step-([0-9]{8,18})(?:\.([0-9]{1,9}))?")


@dataclass(frozen=True)
class Checkpoint:
    """All that a training run needs to go on as if it had never stopped.

    A tree is made of tuples, lists, dicts, None, numbers, text and arrays.
    """

    step: int  # Training steps done.
    weights: Any  # The model's weights, a tree.
    model_state: Any = ()  # The model's state other than weights, a tree.
    slots: Any = ()  # The optimizer's slots, a tree.
    random_state: Any = None  # Of all generators, a tree.
    batch_position: Any = None  # Where in the data the run stands, a tree.
    history: Any = None  # The metrics so far, a tree.
    # The sums of the figures that no point of the history has yet, and of how many steps they are.
    unreported: Any = field(default_factory=lambda: {"steps": 0, "sums": {}})
    config: Any = None  # The run's configuration, a tree.
    metrics: dict[str, float] = field(default_factory=dict)  # Of the latest evaluation.
    vocabulary: Any = None  # The vocabulary file's bytes; a JSON value is turned into bytes.
    path: Path | None = None  # Where it was loaded from; None before it was saved.


class Saved(NamedTuple):
    """One checkpoint directory, by its name alone: nothing in it was read."""

    path: Path
    step: int
    revision: int  # 0, or n in step-00000400.n: how often that step was saved again.


class Newest(NamedTuple):
    """What `load_newest` found."""

    checkpoint: Checkpoint | None
    skipped: list[tuple[Path, str]]  # Newer ones that could not be used, and why.


class CheckpointWriter:
    """The one writer of a run directory, a context; holds its lock until the end, or the process's.

    Args:
      run_dir: the run's directory; made where missing.
      keep: how many of the latest checkpoints to keep, at least 1.
      best_metric: name of a metric whose lowest checkpoint is kept besides.

    Raises:
      CheckpointError: the directory cannot be written, or another process writes to it.

    Example:
      >>> import tempfile
      >>> import numpy as np
      >>> with CheckpointWriter(tempfile.mkdtemp()) as writer:
      ...     path = writer.save(Checkpoint(step=5, weights=(np.zeros(2), ())))
      >>> path.name, load_newest(path.parent).checkpoint.weights
      ('step-00000005', (array([0., 0.]), ()))
    """

    def __init__(self, run_dir: os.PathLike | str, keep: int = 3, best_metric: str | None = None):
        if keep < 1:
            raise ArgumentError(f"keep must be at least 1; it is {keep}.")
        self.run_dir = Path(run_dir)
        self._keep, self._best_metric = keep, best_metric
        with explained(self.run_dir):
            self.run_dir.mkdir(parents=True, exist_ok=True)
        self._lock = store.take_lock(self.run_dir)
        remove_stale(self.run_dir)

    def save(self, checkpoint: Checkpoint) -> Path:
        """Saves `checkpoint` atomically, then removes those no longer kept; returns its directory.

        Raises:
          CheckpointError: it cannot be written or stored; all earlier ones are unchanged.
        """
        step = int(checkpoint.step)
        taken = [saved.revision for saved in list_checkpoints(self.run_dir) if saved.step == step]
        name = f"step-{step:08d}" + (f".{max(taken) + 1}" if taken else "")
        with atomic_directory(self.run_dir / name, CheckpointError) as folder:
            _write_files(folder, replace(checkpoint, step=step))
        self.remove_old(step)
        return self.run_dir / name

    def clear(self) -> None:
        """Removes every checkpoint of the directory, to start a run anew."""
        with explained(self.run_dir, "remove"):
            for saved in list_checkpoints(self.run_dir):
                remove_directory(saved.path)

    def __enter__(self) -> CheckpointWriter:
        return self

    def __exit__(self, *exception) -> None:
        self._lock.release()

    def remove_old(self, step: int) -> None:
        """Removes the checkpoints up to `step` that are no longer kept; `save` does so itself."""
        # Only complete ones are counted or removed: a damaged directory is evidence, and a later step
        # than the one just saved was skipped when the run resumed.
        values, latest = {}, {}
        for saved in reversed(list_checkpoints(self.run_dir)):
            with suppress(CheckpointError, OSError):
                manifest = store.read_manifest(saved.path)
                store.check_files(saved.path, manifest, content=False)
                if saved.step <= step and not saved.path.is_symlink():
                    values[saved] = manifest.get("metrics", {}).get(self._best_metric)
                    latest[saved.step] = saved  # The last revision of a step.
        kept = list(latest.values())[-self._keep :]
        measured = [saved for saved in values if values[saved] is not None]
        if measured:  # The later one of equals.
            kept.append(min(measured, key=lambda saved: (values[saved], -saved.step)))
        for saved in values.keys() - set(kept):
            with suppress(OSError):  # The new one is safe; an old one too many does no harm.
                remove_directory(saved.path)


def _write_files(folder: Path, checkpoint: Checkpoint) -> None:
    metrics = {name: float(value) for name, value in checkpoint.metrics.items()}
    names = ("step", "random_state", "batch_position", "history", "unreported")
    state = {name: getattr(checkpoint, name) for name in names}
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
    store.write_manifest(folder, step=checkpoint.step, metrics=finite)


# ---- Reading ----


def list_checkpoints(run_dir: os.PathLike | str) -> list[Saved]:
    """The checkpoint directories of a run, newest first, judged by their names alone."""
    names = []
    with explained(run_dir, "read"), suppress(FileNotFoundError):
        names = os.listdir(run_dir)
    found = [
        Saved(Path(run_dir, name), int(match[1]), int(match[2] or 0))
        for name in names
        if (match := _DIRECTORY.fullmatch(name))
    ]
    return sorted(found, key=lambda saved: (saved.step, saved.revision), reverse=True)


def load_newest(run_dir: os.PathLike | str) -> Newest:
    """The newest usable checkpoint of a run (None where there is none), and the newer ones skipped.

    Raises:
      CheckpointError: there are checkpoints, and none of them can be used.
    """
    for _ in range(3):  # A running trainer may remove an old one while it is read: look again.
        candidates = list_checkpoints(run_dir)
        skipped = []
        for saved in candidates:
            try:
                if saved.path.is_symlink():
                    raise CheckpointError(f"{saved.path} is a symbolic link.")
                checkpoint = load_checkpoint(saved.path)
                if checkpoint.step != saved.step:
                    raise CheckpointError(
                        f"{saved.path} holds step {checkpoint.step}: it was renamed."
                    )
                return Newest(checkpoint, skipped)
            except CheckpointError as error:
                skipped.append((saved.path, str(error)))
        if not candidates:
            return Newest(None, [])
        if list_checkpoints(run_dir) == candidates:
            break
    reasons = "\n".join(f"  {reason}" for _, reason in skipped)
    raise CheckpointError(
        f"None of the {len(skipped)} checkpoints in {run_dir} can be used; nothing was changed:"
        f"\n{reasons}\nGive another directory, or start anew there with --overwrite."
    )


def load_checkpoint(path: os.PathLike | str) -> Checkpoint:
    """Loads one checkpoint directory after checking every size and checksum.

    Raises:
      CheckpointError: anything is missing, damaged, unknown or too large.
    """
    path = Path(path)
    with explained(path, "read"):
        manifest = store.read_manifest(path)
        files = store.read_files(path, manifest)
    with store.unreadable_explained(path):
        state = from_json(files["state.json"])
        if state["step"] != manifest["step"]:
            raise ValueError("its step is not the manifest's")
        return Checkpoint(
            **load_tensors(files["weights.safetensors"]),
            **load_tensors(files["slots.safetensors"]),
            **state,
            config=from_json(files["config.json"]),
            metrics=from_json(files["metrics.json"]),
            vocabulary=files.get("vocabulary.json"),
            path=path,
        )


def check_compatible(
    checkpoint: Checkpoint, vocabulary: Any = None, weights: Any = None, slots: Any = None
) -> None:
    """Refuses a checkpoint of another model or another vocabulary.

    Args:
      checkpoint: the loaded checkpoint.
      vocabulary: the one in use; None leaves it unchecked.
      weights: the model's, or any tree of things with a `shape`; None leaves them unchecked.
      slots: the optimizer's, likewise.

    Raises:
      CheckpointError: names both sides, the leaf's place and the way out.
    """
    where = checkpoint.path or f"The checkpoint of step {checkpoint.step}"
    way_out = (
        "Use the vocabulary and configuration saved in the checkpoint, or train into another "
        "directory; --overwrite starts this one anew."
    )
    mine, its = vocabulary_checksum(vocabulary), vocabulary_checksum(checkpoint.vocabulary)
    if vocabulary is not None and mine != its:
        had = f"vocabulary {its[:12]}" if its else "no vocabulary"
        raise CheckpointError(
            f"{where} was made with {had}, and {mine[:12]} is in use (checksums): the same token ids "
            f"would mean other words. {way_out}"
        )
    for what, saved, wanted in (
        ("weights", checkpoint.weights, weights),
        ("optimizer slots", checkpoint.slots, slots),
    ):
        if wanted is not None and (different := difference(saved, wanted)):
            raise CheckpointError(
                f"{where} is of another model: its {what} have {different}. {way_out}"
            )


def vocabulary_checksum(vocabulary: Any) -> str | None:
    """By which vocabularies are compared: SHA-256 of the bytes saved; None where there is none."""
    return None if vocabulary is None else store.checksum(_vocabulary_bytes(vocabulary))


def _vocabulary_bytes(vocabulary: Any) -> bytes:
    if isinstance(vocabulary, bytes):
        return vocabulary
    return json.dumps(vocabulary, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
