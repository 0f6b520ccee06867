"""A run's checkpoints: the one writer, the newest whole one, which are kept, which fit the model.

A run directory holds one directory a checkpoint, such as ``run/step-00000400/`` (its files are
described in `siamese.storage.checkpoint_files`). A checkpoint is written beside its place, flushed
to disk and renamed into it. A directory with content is never replaced: saving a step again makes
``step-00000400.1``, and only then does the first one go.
"""

from __future__ import annotations

import math
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from siamese.errors import ArgumentError, CheckpointError
from siamese.storage import manifest as manifests
from siamese.storage.atomic import atomic_directory, explain, remove_directory, remove_stale
from siamese.storage.checkpoint_files import (
    MAX_BYTES,
    Checkpoint,
    capture_random_state,
    load_checkpoint,
    restore_random_state,
    vocabulary_checksum,
    write_checkpoint_files,
)
from siamese.storage.compatibility import check_compatible
from siamese.storage.run_lock import lock_run

__all__ = [
    "Checkpoint",
    "CheckpointWriter",
    "Newest",
    "Saved",
    "best_checkpoint",
    "capture_random_state",
    "check_compatible",
    "list_checkpoints",
    "load_checkpoint",
    "load_newest",
    "restore_random_state",
    "save_checkpoint",
    "vocabulary_checksum",
]

_DIRECTORY = re.compile(r"step-([0-9]{8,18})(?:\.([0-9]{1,9}))?")


class Saved(NamedTuple):
    """One checkpoint directory, by its name alone: nothing in it was read."""

    path: Path
    step: int
    revision: int  # 0, or n in step-00000400.n: how often that step was saved again.


class Newest(NamedTuple):
    """What `load_newest` found."""

    checkpoint: Checkpoint | None
    passed_over: list[tuple[Path, str]]  # Newer ones that could not be used, and why.


def save_checkpoint(
    run_dir: os.PathLike | str,
    checkpoint: Checkpoint,
    keep: int | None = 3,
    best_metric: str | None = None,
    higher_is_better: bool = False,
) -> Path:
    """Saves one checkpoint and removes those no longer kept. See `CheckpointWriter`.

    Example:
      >>> import tempfile
      >>> run = tempfile.mkdtemp()
      >>> save_checkpoint(run, Checkpoint(step=5, weights=(np.zeros(2), ()))).name
      'step-00000005'
      >>> load_newest(run).checkpoint.weights
      (array([0., 0.]), ())
    """
    with CheckpointWriter(run_dir, keep, best_metric, higher_is_better) as writer:
        return writer.save(checkpoint)


class CheckpointWriter:
    """The one writer of a run directory; holds its lock until closed or the process ends.

    Args:
      run_dir: the run's directory; made where missing.
      keep: how many of the latest checkpoints to keep; None keeps all.
      best_metric: name of a metric whose best checkpoint is kept besides.
      higher_is_better: whether the best is the largest value.

    Raises:
      ArgumentError: `keep` below 1.
      CheckpointError: where the directory cannot be written, or another process writes to it.
    """

    def __init__(
        self,
        run_dir: os.PathLike | str,
        keep: int | None = 3,
        best_metric: str | None = None,
        higher_is_better: bool = False,
    ):
        if keep is not None and keep < 1:
            raise ArgumentError(f"keep must be at least 1, or None to keep all; got {keep}.")
        self.run_dir = Path(run_dir)
        self._keep = keep
        self._best = (best_metric, higher_is_better)
        try:
            self.run_dir.mkdir(parents=True, exist_ok=True)
            self._lock = lock_run(self.run_dir)
        except OSError as error:
            raise CheckpointError(explain(error, self.run_dir)) from error
        remove_stale(self.run_dir)

    def save(self, checkpoint: Checkpoint) -> Path:
        """Saves `checkpoint`, whole or not at all, then removes those no longer kept.

        Returns:
          The checkpoint's directory.

        Raises:
          CheckpointError: where it cannot be written or stored; all earlier ones are untouched.
        """
        step = checkpoint.step
        if isinstance(step, bool) or not isinstance(step, (int, np.integer)) or step < 0:
            raise ArgumentError(f"A checkpoint's step is a whole number from 0; got {step!r}.")
        taken = [saved.revision for saved in list_checkpoints(self.run_dir) if saved.step == step]
        name = f"step-{step:08d}" + (f".{max(taken) + 1}" if taken else "")
        with atomic_directory(self.run_dir / name, CheckpointError) as folder:
            write_checkpoint_files(folder, replace(checkpoint, step=int(step)))
        self._remove_old(self.run_dir / name)
        return self.run_dir / name

    def clear(self) -> None:
        """Removes every checkpoint of the directory, to start a run anew."""
        try:
            for saved in list_checkpoints(self.run_dir):
                remove_directory(saved.path)
        except OSError as error:
            raise CheckpointError(explain(error, self.run_dir, "remove")) from error

    def close(self) -> None:
        """Lets go of the directory; another process may write to it then."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> CheckpointWriter:
        return self

    def __exit__(self, *exception) -> None:
        self.close()

    def __del__(self):
        if getattr(self, "_lock", None) is not None:
            self.close()

    def _remove_old(self, just_saved: Path) -> None:
        # Only what looks whole is counted or removed: a damaged directory is evidence, and a later
        # step than the one just saved was passed over when the run resumed.
        step = next(s.step for s in list_checkpoints(self.run_dir) if s.path == just_saved)
        whole = [
            saved
            for saved in list_checkpoints(self.run_dir)
            if saved.step <= step and manifests.looks_whole(saved.path)
        ]
        newest_of = {}
        for saved in whole:  # Newest first: the first of a step is its latest revision.
            newest_of.setdefault(saved.step, saved)
        kept = list(newest_of.values())[: self._keep]
        best = best_checkpoint(self.run_dir, *self._best) if self._best[0] else None
        for saved in whole:
            if saved not in kept and saved.path != best:
                try:
                    remove_directory(saved.path)
                except OSError:
                    continue  # The new one is safe; an old one too many does no harm.


def list_checkpoints(run_dir: os.PathLike | str) -> list[Saved]:
    """The checkpoint directories of a run, newest first, judged by their names alone."""
    try:
        entries = list(os.scandir(run_dir))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise CheckpointError(explain(error, run_dir, "read")) from error
    found = []
    for entry in entries:
        match = _DIRECTORY.fullmatch(entry.name)
        if match:
            found.append(Saved(Path(entry.path), int(match[1]), int(match[2] or 0)))
    return sorted(found, key=lambda saved: (saved.step, saved.revision), reverse=True)


def best_checkpoint(
    run_dir: os.PathLike | str, metric: str, higher_is_better: bool = False
) -> Path | None:
    """The directory of the checkpoint whose `metric` is best; the later one of equals; or None."""
    values = []
    for saved in list_checkpoints(run_dir):
        try:
            if saved.path.is_symlink() or not manifests.looks_whole(saved.path):
                continue
            value = manifests.read_manifest(saved.path)["metrics"][metric]
            if math.isfinite(value):
                values.append((value if higher_is_better else -value, saved.step, saved.path))
        except (CheckpointError, OSError, KeyError, TypeError):
            continue
    return max(values)[2] if values else None


def load_newest(run_dir: os.PathLike | str, max_bytes: int = MAX_BYTES) -> Newest:
    """The newest whole checkpoint of a run, and the newer ones that were passed over, with reasons.

    Returns:
      `Newest`; its checkpoint is None where the directory holds none or does not exist.

    Raises:
      CheckpointError: where there are checkpoints and not one of them is whole.
    """
    for _ in range(3):  # A running trainer may remove an old one while it is read: look again.
        candidates = list_checkpoints(run_dir)
        passed_over = []
        for saved in candidates:
            try:
                if saved.path.is_symlink():
                    raise CheckpointError(f"{saved.path} is a symbolic link.")
                checkpoint = load_checkpoint(saved.path, max_bytes)
                if checkpoint.step != saved.step:
                    raise CheckpointError(
                        f"{saved.path} holds step {checkpoint.step}: it was renamed."
                    )
                return Newest(checkpoint, passed_over)
            except CheckpointError as error:
                passed_over.append((saved.path, str(error)))
        if not candidates:
            return Newest(None, [])
        if list_checkpoints(run_dir) == candidates:
            break
    reasons = "\n".join(f"  {reason}" for _, reason in passed_over)
    raise CheckpointError(
        f"None of the {len(passed_over)} checkpoints in {run_dir} can be used, and nothing was changed:"
        f"\n{reasons}\nGive another directory, or start anew there with --overwrite."
    )
