"""RunFiles: what a Loop leaves in its output directory: checkpoints, metrics, Trax's model file."""

from __future__ import annotations

import errno
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from siamese.errors import CheckpointError
from siamese.storage import checkpoints
from siamese.storage import trax_files as course_files
from siamese.storage.atomic import explain, write_text_atomically
from siamese.storage.trees import leaves_with_places, unflatten
from siamese.training.loss_watch import TrainingError


class RunFiles:
    """The files of one run, written by its only writer.

    Args:
      directory: the run's directory.
      keep: how many of the last checkpoints stay.
      best_metric: name of an eval metric whose lowest checkpoint stays too.
      extras: function () -> dict with more of `checkpoints.Checkpoint`'s fields to save. A vocabulary
        among them must be that of the checkpoint a run goes on from.
    """

    def __init__(
        self,
        directory: str | Path,
        *,
        keep: int,
        best_metric: str | None,
        extras: Callable[[], dict[str, Any]],
    ):
        self.directory = Path(directory)
        self._kept = {"keep": keep, "best_metric": best_metric}
        self._extras = extras
        self._writer: checkpoints.CheckpointWriter | None = None

    @contextmanager
    def writing(self) -> Iterator[checkpoints.CheckpointWriter]:
        """Keeps other processes from writing to the directory until the block ends; may be nested."""
        if self._writer is not None:
            yield self._writer
            return
        with checkpoints.CheckpointWriter(self.directory, **self._kept) as self._writer:
            try:
                yield self._writer
            finally:
                self._writer = None

    # ---- Saving ----

    def save(self, loop) -> None:
        """Saves everything that a resumed run needs to go on as if it had never stopped.

        Raises:
          TrainingError: weights that are not finite; nothing is saved.
          CheckpointError: the directory cannot be written, or another process writes to it.
        """
        weights = on_host(loop.model.weights)
        for place, leaf in leaves_with_places(weights):
            if not np.all(np.isfinite(np.asarray(leaf, dtype=np.float32))):
                raise TrainingError(
                    f"Weights {place} are not finite at step {loop.step}; nothing was saved. Go on "
                    "from the last checkpoint with a smaller learning rate."
                )
        checkpoint = checkpoints.Checkpoint(
            step=loop.step,
            weights=weights,
            slots=on_host(loop.slots),
            model_state=on_host({"model": loop.model.state, "eval": loop.eval_model.state}),
            random_state={"loop": np.asarray(loop.rng)},
            batch_position=_positions(loop),
            history=loop.history.to_dict(),
            metrics={
                name.removeprefix("metrics/"): float(loop.history.get("eval", name)[-1][1])
                for name in loop.history.metrics_for_mode("eval")
                if loop.history.get("eval", name)
            },
            **self._extras(),
        )
        with self.writing() as writer:
            writer.save(checkpoint)

    def save_course_file(self, loop, input_signature) -> Path:
        """Writes ``model.pkl.gz`` and its companions as Trax's Loop does, for `init_from_file`."""
        return course_files.write_course_model(
            self.directory,
            on_host(loop.model.weights),
            on_host(loop.model.state),
            input_signature=input_signature,
            slots=[on_host(loop.slots)],
            step=loop.step,
            history=loop.history.to_dict(),
        )

    # ---- Going on ----

    def load(self, loop, say: Callable[[str], None]) -> checkpoints.Checkpoint | None:
        """The newest whole checkpoint, or the model file that Trax's own Loop left, checked to fit.

        Raises:
          CheckpointError: it is of another model or vocabulary, or none of several is whole.
        """
        found, skipped = checkpoints.load_newest(self.directory)
        for path, reason in skipped:
            say(f"Skipped {path}: {reason}")
        if found is None:
            found = self._course_checkpoint(loop)
        if found is None:
            return None
        vocabulary = self._extras().get("vocabulary")
        in_use = None
        if vocabulary is not None and found.vocabulary is not None:
            in_use = checkpoints.vocabulary_checksum(vocabulary)
        checkpoints.check_compatible(found, in_use, loop.model.weights, loop.slots)
        return found

    def _course_checkpoint(self, loop) -> checkpoints.Checkpoint | None:
        if not (self.directory / "model.pkl.gz").exists():
            return None
        saved = course_files.read_course_model(self.directory)
        slots = course_files.read_course_slots(saved)[0]
        return checkpoints.Checkpoint(
            step=saved.step,
            weights=unflatten(saved.weights, loop.model.weights),
            model_state={"model": loop.model.state, "eval": loop.eval_model.state},
            slots=unflatten(slots, loop.slots, "optimizer slots"),
            history=saved.history,
            path=saved.path,
        )

    # ---- Metrics ----

    @property
    def metrics_file(self) -> Path:
        """One JSON object a line: step, time in seconds since 1970, and the figures of an evaluation."""
        return self.directory / "metrics.jsonl"

    def forget_metrics_after(self, step: int) -> None:
        """Takes out what a killed run wrote after the checkpoint that the run goes on from."""
        try:
            lines = self.metrics_file.read_text("utf-8", "replace").splitlines(keepends=True)
        except FileNotFoundError:
            return
        except OSError as error:
            raise CheckpointError(explain(error, self.metrics_file, "read")) from error
        kept = [line for line in lines if _whole_line_until(line, step)]
        if kept != lines:
            write_text_atomically(self.metrics_file, "".join(kept), CheckpointError)

    def add_metrics(self, history, step: int) -> None:
        """Appends a line with the figures that the history has for `step`."""
        figures: dict[str, float] = {"step": step, "seconds": round(time.time(), 3)}
        for mode, prefix in (("train", "metrics/"), ("train", "training/"), ("eval", "metrics/")):
            for name in history.metrics_for_mode(mode):
                points = history.get(mode, name)
                if name.startswith(prefix) and points and points[-1][0] == step:
                    figures[f"{mode}/{name.removeprefix(prefix)}"] = float(points[-1][1])
        try:
            with open(self.metrics_file, "a", encoding="utf-8") as lines:
                lines.write(json.dumps(figures) + "\n")
        except OSError as error:
            raise CheckpointError(explain(error, self.metrics_file)) from error


@contextmanager
def disk_errors_explained(directory: str | Path | None) -> Iterator[None]:
    """Turns a full or read-only disk, met by Trax's own writing, into a CheckpointError.

    Other system errors pass: they may come from the caller's generators.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
            raise
        raise CheckpointError(explain(error, error.filename or directory or "a file")) from error


def restore_positions(loop, positions: dict[str, Any], say: Callable[[str], None]) -> None:
    """Puts each generator of batches where it stood; says which of them keep no position."""
    for name, generator in _generators(loop):
        if name in positions and hasattr(generator, "restore"):
            generator.restore(positions[name])
        elif loop.step:
            say(f"The {name} batches start from the beginning: their generator keeps no position.")


@contextmanager
def closing_batches(loop) -> Iterator[None]:
    """Ends the background threads of batches that keep their position and can go on from it.

    Python's own generators are left alone: a closed one is at its end.
    """
    try:
        yield
    finally:
        for _, generator in _generators(loop):
            if all(hasattr(generator, name) for name in ("state", "restore", "close")):
                generator.close()


def on_host(tree: Any) -> Any:
    """The tree with NumPy arrays for those on devices."""
    import jax

    return jax.tree.map(np.asarray, tree)


def _positions(loop) -> dict[str, Any]:
    return {name: g.state() for name, g in _generators(loop) if hasattr(g, "state")}


def _generators(loop) -> Iterator[tuple[str, Any]]:
    yield "train", loop.tasks[0].labeled_data
    for i, task in enumerate(loop.eval_tasks):
        yield f"eval{i}", task.labeled_data


def _whole_line_until(line: str, step: int) -> bool:
    try:
        return line.endswith("\n") and json.loads(line)["step"] <= step
    except (ValueError, KeyError, TypeError):
        return False
