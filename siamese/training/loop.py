"""Loop: Trax's training loop with exact resume, clean stops and checks of the loss.

A subclass of `trax.supervised.training.Loop`: same arguments, same attributes, same history, same
printed lines, same arithmetic. It differs in what surrounds a step: checkpoints through
`siamese.storage.checkpoints` instead of pickles, the caller's random generators left as they were,
any number of devices with one and the same loss, and a stop at any moment that loses nothing.
"""

from __future__ import annotations

import functools
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

from siamese import compat
from siamese.compat.malloc import keep_freed_memory
from siamese.compat.randomness import keeping_generators
from siamese.errors import ArgumentError
from siamese.nn.encoder import enable_compile_cache
from siamese.training import devices
from siamese.training.loss_watch import LossSums, LossWatch
from siamese.training.run_files import (
    RunFiles,
    closing_batches,
    disk_errors_explained,
    restore_positions,
)
from siamese.training.step import update_step
from siamese.training.stop_signals import StopSignals

compat.prepare()

import jax  # noqa: E402
from trax.supervised import training  # noqa: E402


class Loop(training.Loop):
    """Trains a model on one task; see `trax.supervised.training.Loop` for the arguments of that class.

    Args:
      model: a Trax layer.
      task: a `trax.supervised.training.TrainTask`.
      mesh: a `jax.sharding.Mesh` to spread each batch over; all devices by default.
      checkpoint_extras: function () -> dict with more of `checkpoints.Checkpoint`'s fields to save.
      on_step: called after each step with (loop, loss); `loss` is a JAX scalar that may not be ready.
      margin: the loss's margin, to recognise collapse; None looks at the loss layer.
      keep: how many of the last checkpoints stay.
      best_metric: name of an eval metric whose lowest checkpoint stays too.
      course_file: at the end of each run, write Trax's ``model.pkl.gz`` beside the checkpoints.
      patience: stop after so many evaluations without a lower first eval metric; 0 never does.
      lazy_adam: move only the embedding rows of a batch's words; see `siamese.training.step`.
      quiet: print nothing; warnings and interruptions still show.
      **stock: what else Trax's Loop takes: eval_tasks (or eval_task), output_dir, eval_at, random_seed, ...

    Raises:
      ArgumentError: more than one training task; lazy_adam with another optimizer than Adam.
      CheckpointError: `output_dir` holds a checkpoint of another model; nothing in it is touched.
    """

    def __init__(
        self,
        model,
        task,
        *,
        mesh=None,
        checkpoint_extras: Callable[[], dict[str, Any]] | None = None,
        on_step: Callable[[Loop, Any], None] | None = None,
        margin: float | None = None,
        keep: int = 3,
        best_metric: str | None = None,
        course_file: bool = False,
        patience: int = 0,
        lazy_adam: bool = False,
        quiet: bool = False,
        **stock: Any,
    ):
        if isinstance(task, (list, tuple)):
            if len(task) != 1:
                raise ArgumentError(f"Loop trains on one task; it was given {len(task)}.")
            task = task[0]
        enable_compile_cache()
        keep_freed_memory()
        self._mesh = mesh if mesh is not None else devices.mesh()
        self.on_step = on_step
        if margin is None:
            margin = getattr(task.loss_layer, "_margin", None)
        self._watch = LossWatch(margin, patience)
        self._course_file, self._quiet, self._lazy_adam = course_file, quiet, lazy_adam
        self._saved_step: int | None = None
        self.warnings: list[str] = []
        self.resumed_from: Path | None = None
        if jax.process_count() > 1 and stock.get("random_seed") is None:
            raise ArgumentError("Several processes need the same random_seed: give one.")
        if stock.get("output_dir") is not None:
            stock["output_dir"] = os.fspath(stock["output_dir"])
        self._files_of = functools.partial(
            RunFiles, keep=keep, best_metric=best_metric, extras=checkpoint_extras or dict
        )
        self._files = None
        if stock.get("output_dir") is not None:
            self._files = self._files_of(stock["output_dir"])
        # Trax refuses to use fewer devices than there are, and its own way of using several computes
        # the loss on each one's part of the batch. It is told of one; the mesh spreads the arrays.
        self._made = False
        with (
            keeping_generators(),
            devices.told_of_one(),
            self._as_quiet_as_asked(),
            disk_errors_explained(stock.get("output_dir")),
        ):
            super().__init__(model, [task], **stock)
        self._made = True
        self._place_on_devices()
        self.load_checkpoint()

    def _init_trainer(self, task):
        trainer = super()._init_trainer(task)
        trainer._accelerated_update_fn = update_step(trainer, self._lazy_adam)
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
        with (
            self._writing(),
            disk_errors_explained(self._output_dir),
            self._open_summary_writers() as writers,
            closing_batches(self),
            StopSignals() as signals,
        ):
            period = LossSums()
            while self._step < last and not signals.received and not self._is_out_of_patience():
                self._step += 1
                loss, stats = self._run_one_step(0, False)
                period.add(loss, stats)
                if self.on_step is not None:
                    self.on_step(self, loss)
                if self._eval_at(self._step):
                    self._report(period, writers)
                    period = LossSums()
                # After the evaluation, which draws batches too: a resumed run must not repeat them.
                if self._checkpoint_at(self._step):
                    self.save_checkpoint("model")
            if period.steps:
                self._watch.check_finite(float(period.last), self._step)
            if self._saved_step != self._step:
                self.save_checkpoint("model")
            if self._course_file and self._files is not None and self.is_chief:
                self.write_course_file()
            if signals.received:
                go_on = "" if self._files is None else " Run the same again to go on from there."
                self._say(f"Stopped by {signals.received.name} after step {self._step}.{go_on}")
        self._eval_model.weights = self._model.weights
        signals.raise_received()

    def _run_one_step(self, task_index, task_changed):
        learning_rate = self._tasks[0].learning_rate(self._step)
        batch = devices.shard_batch(self._mesh, self._tasks[0].next_batch())
        # A NumPy key belongs to no device, and so goes with arrays on any number of them.
        rng = np.asarray(self.new_rng())
        trainer = self._trainer_per_task[0]
        return trainer.one_step(batch, rng, step=self._step, learning_rate=learning_rate)

    def _report(self, period: LossSums, writers) -> None:
        """Prints and records the mean loss since the last report, then runs the evaluations."""
        self._watch.check_finite(float(period.last), self._step)
        warning = self._watch.collapse_warning(float(period.loss) / period.steps, period.steps)
        if warning:
            self.warnings.append(warning)
            self._say("Warning: " + warning)
        with self._as_quiet_as_asked():
            self._log_training_progress(
                task=self._tasks[0],
                total_loss=period.loss,
                n_steps=period.steps,
                elapsed_time=period.seconds(),
                optimizer_metrics=period.stats,
                summary_writer=writers[0][0],
            )
            self.run_evals(writers[1])
        if self._files is not None and self.is_chief:
            self._files.add_metrics(self._history, self._step)

    def _is_out_of_patience(self) -> bool:
        if not self._eval_tasks:
            return False
        name = f"metrics/{self._eval_tasks[0].metric_names[0]}"
        return self._watch.out_of_patience([v for _, v in self._history.get("eval", name)])

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Holds the output directory for this process, without lines of steps that were lost."""
        if self._files is None or not self.is_chief:
            yield
            return
        with self._files.writing():
            self._files.forget_metrics_after(self._step)
            yield

    def _as_quiet_as_asked(self):
        quiet = self._quiet or jax.process_index() > 0
        return redirect_stdout(io.StringIO()) if quiet else nullcontext()

    def _open_summary_writers(self):
        if self.is_chief:
            return super()._open_summary_writers()
        return nullcontext(([None], [None] * len(self._eval_tasks)))

    def _say(self, text: str) -> None:
        if self.is_chief:  # Who asks for quiet may print JSON on stdout.
            print(text, file=sys.stderr if self._quiet else sys.stdout, flush=True)

    # ---- Devices ----

    def _place_on_devices(self) -> None:
        """Copies weights, state and optimizer slots to every device of the mesh."""
        trainer = self._trainer_per_task[0]
        accelerated = trainer.accelerated_model_with_loss
        accelerated.weights = devices.replicate(self._mesh, accelerated.weights)
        accelerated.state = devices.replicate(self._mesh, accelerated.state)
        # Not through the setter of `slots`, which moves them back to the first device.
        trainer._slots = devices.replicate(self._mesh, trainer.slots)
        trainer.optimizer.slots = trainer._slots
        trainer._opt_params = devices.replicate(self._mesh, trainer.optimizer.opt_params)

    # ---- Checkpoints ----

    @property
    def slots(self):
        """The optimizer's slots; the next step overwrites them, so copy what is to be kept."""
        return self._trainer_per_task[0].slots

    @property
    def rng(self):
        """The JAX key that the next step's is split from."""
        return self._rng

    def save_checkpoint(self, basename: str = "model") -> None:
        """Saves everything that a resumed run needs to go on as if it had never stopped.

        Args:
          basename: 'model'; Trax's other names (lowest_..., highest_...) are what `best_metric` is for.

        Raises:
          CheckpointError: the directory cannot be written; earlier checkpoints are untouched.
          TrainingError: the weights are not finite; nothing is saved.
        """
        if self._files is None or not self.is_chief:
            return
        self._files.save(self)
        self._saved_step = self._step

    def load_checkpoint(self, directory=None, filename=None) -> None:
        """Restores the newest whole checkpoint of a directory, if it has one.

        Args:
          directory: where the checkpoints are; `output_dir` by default.
          filename: must be None: a course file is read by `siamese.storage.trax_files`.

        Raises:
          CheckpointError: the checkpoint is of another model or vocabulary; both are named.
        """
        if filename is not None:
            raise ArgumentError(
                "load_checkpoint reads a directory of checkpoints, not a file; for Trax's own file "
                "use model.init_from_file."
            )
        if not self._made:  # Trax calls this before the evaluations are there.
            return
        files = self._files if directory is None else self._files_of(directory)
        found = None if files is None else files.load(self, self._say)
        if found is None:
            return
        self._trainer_per_task[0].slots = found.slots
        self._step = found.step
        if found.random_state is not None:
            self._rng = jax.numpy.asarray(found.random_state["loop"])
        self._history = training.trax_history.History.from_dict(found.history)
        self.update_weights_and_state(found.weights, found.model_state["model"])
        self._eval_model.weights = self._model.weights
        self._eval_model.state = found.model_state["eval"]
        self.resumed_from = found.path
        self._saved_step = found.step
        restore_positions(self, found.batch_position or {}, self._say)
        self._place_on_devices()

    def write_course_file(self) -> Path:
        """Writes ``model.pkl.gz`` and its companions as Trax's Loop does, for `init_from_file`."""
        return self._files.save_course_file(self, self._batch_signature[: self._model.n_in])
