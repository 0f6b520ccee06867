"""Loop: Trax's training loop with exact resume, clean stops and checks of the loss.

A subclass of `trax.supervised.training.Loop`: same arguments, history, printed lines and arithmetic. It
differs in what surrounds a step: checkpoints instead of pickles, the caller's random generators left as
they were, any number of devices with one and the same loss, and a stop at any moment that loses nothing.
"""

from __future__ import annotations

import errno
import io
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import Any

import jax
import numpy as np
from trax.supervised import training

from siamese.compat.randomness import keeping_generators
from siamese.errors import ArgumentError, CheckpointError
from siamese.nn.tower import LSTM_FORM
from siamese.storage import checkpoints, trax_files
from siamese.storage.atomic import explain
from siamese.storage.trees import leaves_with_places, unflatten
from siamese.training import devices
from siamese.training.monitor import (
    COLLAPSE_STEPS,
    StopSignals,
    TrainingError,
    add_metrics,
    check_finite,
    forget_metrics_after,
    is_collapsed,
)
from siamese.training.step import update_step

logger = logging.getLogger("siamese")


class Loop(training.Loop):
    """Trains a model on one `TrainTask`; `stock` are more arguments of `trax.supervised.training.Loop`.

    Args:
      model: a Trax layer.
      task: a `trax.supervised.training.TrainTask`.
      checkpoint_extras: function () -> dict with more of `checkpoints.Checkpoint`'s fields to save. A
        vocabulary among them must be that of the checkpoint a run goes on from.
      on_step: called after each step with (loop, loss); `loss` is a JAX scalar that may not be ready.
      keep: how many of the last checkpoints stay.
      best_metric: name of an eval metric whose lowest checkpoint stays too.
      course_file: at the end of each run, write Trax's ``model.pkl.gz`` beside the checkpoints.
      patience: stop after so many evaluations without a lower first eval metric; 0 never does.
      lazy_adam: move only the embedding rows of a batch's words; see `siamese.training.step`.
      embedding_rate, embedding_pull: likewise.
      quiet: print nothing; warnings still go to the log.
      **stock: eval_tasks (or eval_task), output_dir, eval_at, random_seed, ...

    Attributes:
      resumed_from: the checkpoint that the run goes on from, or None.

    Raises:
      ArgumentError: more than one training task; lazy_adam with another optimizer than Adam.
      CheckpointError: `output_dir` holds a checkpoint of another model; nothing in it is touched.
    """

    def __init__(
        self,
        model,
        task,
        *,
        checkpoint_extras: Callable[[], dict[str, Any]] | None = None,
        on_step: Callable[[Loop, Any], None] | None = None,
        keep: int = 3,
        best_metric: str | None = None,
        course_file: bool = False,
        patience: int = 0,
        lazy_adam: bool = False,
        embedding_rate: float = 1.0,
        embedding_pull: float = 0.0,
        quiet: bool = False,
        **stock: Any,
    ):
        if isinstance(task, (list, tuple)):
            if len(task) != 1:
                raise ArgumentError(f"Loop trains on one task; it was given {len(task)}.")
            task = task[0]
        if jax.process_count() > 1 and stock.get("random_seed") is None:
            raise ArgumentError("Several processes need the same random_seed: give one.")
        if stock.get("output_dir") is not None:
            stock["output_dir"] = os.fspath(stock["output_dir"])
        self._margin, self._patience = getattr(task.loss_layer, "_margin", None), patience
        self._collapsed = 0  # For so many steps the loss has been that of equal vectors.
        self._mesh = devices.mesh()
        self._course_file, self._quiet = course_file, quiet
        self._step_options = {
            "lazy_adam": lazy_adam,
            "embedding_rate": embedding_rate,
            "embedding_pull": embedding_pull,
            "mesh": self._mesh,
        }
        self._extras = checkpoint_extras or dict
        self._kept = {"keep": keep, "best_metric": best_metric}
        self._writer: checkpoints.CheckpointWriter | None = None
        self._saved_step: int | None = None
        # Of the steps since the last report: sums of the loss and of the optimizer's figures, and how many.
        self._sums: dict[str, Any] = {}
        self._summed = 0
        self.on_step = on_step
        self.resumed_from: Path | None = None
        # Trax loads a checkpoint before it sets the eval tasks, whose batches have a position too.
        self.load_checkpoint = lambda: None
        with (
            keeping_generators(),
            devices.as_single_device(),
            self._as_quiet_as_asked(),
            disk_errors_explained(stock.get("output_dir")),
        ):
            super().__init__(model, [task], **stock)
        del self.load_checkpoint
        devices.replicate_trainer(self._mesh, self._trainer_per_task[0])
        self.load_checkpoint()

    def _init_trainer(self, task):
        trainer = super()._init_trainer(task)
        trainer._accelerated_update_fn = update_step(trainer, **self._step_options)
        return trainer

    # ---- Running ----

    def run(self, n_steps: int = 1) -> None:
        """Trains for `n_steps` more steps, evaluating and saving as configured.

        SIGINT (Ctrl-C) and SIGTERM end the run after the current step with a checkpoint, and are then
        raised as KeyboardInterrupt and SystemExit; a second Ctrl-C does not wait.

        Raises:
          TrainingError: the loss or the weights became NaN or infinite; checkpoints stay as they are.
          CheckpointError: `output_dir` cannot be written, or another process trains there.
        """
        last = self._step + n_steps
        with self._running(), self._open_summary_writers() as writers, StopSignals() as signals:
            begun = time.monotonic()
            while self._step < last and not signals.received and not self._is_out_of_patience():
                self._step += 1
                loss, stats = self._run_one_step(0, False)  # The loss is among the stats too.
                # The sums stay on the device until they are reported: nothing waits for them.
                sums = self._sums
                self._sums = {name: sums.get(name, 0.0) + value for name, value in stats.items()}
                self._summed += 1
                if self.on_step is not None:
                    self.on_step(self, loss)
                if self._eval_at(self._step):
                    check_finite(float(loss), self._step)
                    self._report(time.monotonic() - begun, writers)
                    self._sums, self._summed, begun = {}, 0, time.monotonic()
                # After the evaluation, which draws batches too: a resumed run must not repeat them.
                if self._checkpoint_at(self._step):
                    self.save_checkpoint()
            if self._sums:
                check_finite(float(self._sums["loss"]), self._step)
            if self._saved_step != self._step:
                self.save_checkpoint()
            if self._course_file and self._writes:
                trax_files.write_course_model(
                    Path(self._output_dir),
                    _on_host(self._model.weights),
                    _on_host(self._model.state),
                    input_signature=self._batch_signature[: self._model.n_in],
                    slots=[_on_host(self.slots)],
                    step=self._step,
                    history=self._history.to_dict(),
                )
            if signals.received:
                go_on = " Run the same again to go on from there." if self._output_dir else ""
                self._warn(f"Stopped by {signals.received.name} after step {self._step}.{go_on}")
        self._eval_model.weights = self._model.weights
        signals.raise_received()

    def _run_one_step(self, task_index, task_changed):
        learning_rate = self._tasks[0].learning_rate(self._step)
        batch = self._tasks[0].next_batch()
        # A NumPy key belongs to no device, and so goes with arrays on any number of them.
        rng = np.asarray(self.new_rng())
        trainer = self._trainer_per_task[0]
        return trainer.one_step(batch, rng, step=self._step, learning_rate=learning_rate)

    def _report(self, seconds: float, writers) -> None:
        """Prints and records the means since the last report, then runs the evaluations."""
        sums, steps = self._sums, self._summed
        mean, before = float(sums["loss"]) / steps, self._collapsed
        self._collapsed = before + steps if is_collapsed(mean, self._margin) else 0
        if before < COLLAPSE_STEPS <= self._collapsed:
            self._warn(
                f"Warning: The loss has stayed at {mean:.3f}, twice the margin, for {self._collapsed} "
                "steps: all questions have the same vector (collapse). Try lstm_bias='forget_gate', a "
                "smaller learning rate, a longer warm-up, closest='semi_hard', or another seed."
            )
        with self._as_quiet_as_asked():
            self._log_training_progress(
                task=self._tasks[0],
                total_loss=sums["loss"],
                n_steps=steps,
                elapsed_time=max(seconds, 1e-9),
                optimizer_metrics=sums,
                summary_writer=writers[0][0],
            )
            # What the evaluations draw is given back: how often they run changes no weight.
            kept = self._rng
            self.run_evals(writers[1])
            self._rng = kept
        if self._writes:
            add_metrics(self._output_dir, self._history, self._step)

    def _is_out_of_patience(self) -> bool:
        if not self._patience or not self._eval_tasks:
            return False
        name = f"metrics/{self._eval_tasks[0].metric_names[0]}"
        losses = [loss for _, loss in self._history.get("eval", name)]
        return bool(losses) and len(losses) - 1 - np.argmin(losses) >= self._patience

    def _as_quiet_as_asked(self):
        quiet = self._quiet or jax.process_index() > 0
        return redirect_stdout(io.StringIO()) if quiet else nullcontext()

    def _warn(self, text: str) -> None:
        if self.is_chief:
            logger.warning(text)

    # ---- What belongs to a run: its directory, its batches ----

    @property
    def _writes(self) -> bool:
        """Whether this process writes files: of several, the first one does."""
        return self._output_dir is not None and self.is_chief

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Keeps other processes from writing to the directory until the block ends; may be nested."""
        if self._writer is not None or not self._writes:
            yield
            return
        with checkpoints.CheckpointWriter(self._output_dir, **self._kept) as self._writer:
            try:
                yield
            finally:
                self._writer = None

    def remove_leftovers(self) -> None:
        """Removes what a process left that was killed after its last checkpoint."""
        with self._writing():
            if self._writer is not None:
                self._writer.remove_old(self._step)

    @contextmanager
    def _running(self) -> Iterator[None]:
        """Holds the directory and the background threads of batches that keep their position."""
        try:
            with self._writing(), disk_errors_explained(self._output_dir):
                if self._writes:
                    forget_metrics_after(self._output_dir, self._step)
                yield
        except (CheckpointError, FileNotFoundError) as error:
            if not self._writes or os.path.isdir(self._output_dir):
                raise
            raise CheckpointError(
                f"{self._output_dir} was removed while the run wrote to it; nothing is left of the run. "
                "Start it again."
            ) from error
        finally:
            for generator in self._generators().values():
                # Python's own generators are left alone: a closed one is at its end.
                if all(hasattr(generator, name) for name in ("state", "restore", "close")):
                    generator.close()

    def _open_summary_writers(self):
        if self.is_chief:
            return super()._open_summary_writers()
        return nullcontext(([None], [None] * len(self._eval_tasks)))

    def _generators(self) -> dict[str, Any]:
        evals = {f"eval{i}": task.labeled_data for i, task in enumerate(self._eval_tasks)}
        return {"train": self._tasks[0].labeled_data, **evals}

    # ---- Checkpoints ----

    @property
    def slots(self):
        """The optimizer's slots; the next step overwrites them, so copy what is to be kept."""
        return self._trainer_per_task[0].slots

    def save_checkpoint(self, basename: str = "model") -> None:
        """Saves everything that a resumed run needs; Trax's `basename` has no effect.

        Raises:
          CheckpointError: the directory cannot be written; earlier checkpoints are untouched.
          TrainingError: the weights are not finite; nothing is saved.
        """
        if not self._writes:
            return
        weights = _on_host(self._model.weights)
        for place, leaf in leaves_with_places(weights):
            if not np.all(np.isfinite(np.asarray(leaf, dtype=np.float32))):
                raise TrainingError(
                    f"Weights {place} are not finite at step {self._step}; nothing was saved. Go on "
                    "from the last checkpoint with a smaller learning rate."
                )
        evals = {n: self._history.get("eval", n) for n in self._history.metrics_for_mode("eval")}
        checkpoint = checkpoints.Checkpoint(
            step=self._step,
            weights=weights,
            slots=_on_host(self.slots),
            model_state=_on_host({"model": self._model.state, "eval": self._eval_model.state}),
            random_state={"loop": np.asarray(self._rng), "arithmetic": _arithmetic()},
            batch_position={
                n: g.state() for n, g in self._generators().items() if hasattr(g, "state")
            },
            history=self._history.to_dict(),
            unreported={"steps": self._summed, "sums": _on_host(self._sums)},
            metrics={n.removeprefix("metrics/"): float(v[-1][1]) for n, v in evals.items() if v},
            **self._extras(),
        )
        with self._writing():
            self._writer.save(checkpoint)
        self._saved_step = self._step

    def load_checkpoint(self, directory=None) -> None:
        """Restores the newest complete checkpoint of a directory, or Trax's own file where it has none.

        Raises:
          CheckpointError: the checkpoint is of another model or vocabulary; both are named.
        """
        directory = directory or self._output_dir
        found = None if directory is None else self._newest(Path(directory))
        if found is None:
            return
        self._trainer_per_task[0].slots = found.slots
        self._step = self._saved_step = found.step
        if found.random_state is not None:
            self._rng = jax.numpy.asarray(found.random_state["loop"])
            before = found.random_state.get("arithmetic", {})
            for name, now in _arithmetic().items():
                if before.get(name) != now:
                    self._warn(
                        f"The run began with {name.upper()}={before.get(name)}, and goes on with "
                        f"{now}: its figures will differ from those of a run that was not stopped."
                    )
        self._history = training.trax_history.History.from_dict(found.history)
        self._sums, self._summed = found.unreported["sums"], found.unreported["steps"]
        self.update_weights_and_state(found.weights, found.model_state["model"])
        self._eval_model.weights = self._model.weights
        self._eval_model.state = found.model_state["eval"]
        self.resumed_from = found.path
        positions = found.batch_position or {}
        for name, generator in self._generators().items():
            if name in positions and hasattr(generator, "restore"):
                generator.restore(positions[name])
            elif self._step:
                self._warn(
                    f"The {name} batches start from the beginning: their generator has no state()."
                )
        devices.replicate_trainer(self._mesh, self._trainer_per_task[0])

    def start_from(self, weights: Any) -> None:
        """Sets the weights that training starts from, in the form of `model.weights`."""
        self.update_weights_and_state(weights)
        self._eval_model.weights = self._model.weights
        devices.replicate_trainer(self._mesh, self._trainer_per_task[0])

    def _newest(self, directory: Path) -> checkpoints.Checkpoint | None:
        """The checkpoint to go on from, checked against the model, its optimizer and the vocabulary."""
        found, skipped = checkpoints.load_newest(directory)
        for path, reason in skipped:
            self._warn(f"Skipped {path}: {reason}")
        if found is None and (directory / "model.pkl.gz").exists():
            saved = trax_files.read_course_model(directory, with_slots=True)
            found = checkpoints.Checkpoint(
                step=saved.step,
                weights=unflatten(saved.weights, self._model.weights),
                model_state={"model": self._model.state, "eval": self._eval_model.state},
                slots=unflatten(saved.slots[0], self.slots, "optimizer slots"),
                history=saved.history,
                path=saved.path,
            )
        if found is not None:
            vocabulary = self._extras().get("vocabulary") if found.vocabulary else None
            checkpoints.check_compatible(found, vocabulary, self._model.weights, self.slots)
        return found


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


def _arithmetic() -> dict[str, Any]:
    """What changes the numbers of a step: JAX's settings, and the form in which the LSTM is computed."""
    names = ("jax_enable_x64", "jax_default_matmul_precision")
    return {name: getattr(jax.config, name) for name in names} | {"lstm_form": LSTM_FORM}


def _on_host(tree: Any) -> Any:
    """The tree with NumPy arrays for those on devices."""
    return jax.tree.map(np.asarray, tree)
