"""Loop: Trax's training loop with exact resume, clean stops and checks of the loss.

A subclass of `trax.supervised.training.Loop`: same arguments, same attributes, same history, same
printed lines, same arithmetic. It differs in what surrounds a step: checkpoints through
`siamese.checkpoints` instead of pickles, the caller's random generators left as they were, any number
of devices with one and the same loss, and a stop at any moment that loses nothing.
"""

from __future__ import annotations

import io
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from siamese import checkpoints, compat, course_files, devices
from siamese.encoder import enable_compile_cache
from siamese.errors import ArgumentError, SiameseError
from siamese.freed_memory import keep_freed_memory
from siamese.randomness import keeping_generators
from siamese.trees import leaves_with_places, unflatten

compat.prepare()

import jax  # noqa: E402
from trax import fastmath  # noqa: E402
from trax.supervised import training  # noqa: E402

# The loss must stay at twice the margin for so long to count as collapsed. Every run of the course's model
# starts there: Trax's LSTM adds its forget bias of 1 to all four gates, so the first states are almost the
# same whatever the question, and it takes a few hundred steps of warm-up to leave.
COLLAPSE_STEPS = 600


class TrainingError(SiameseError):
    """Training cannot go on: the loss or the weights are no numbers any more."""


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
      quiet: print nothing; warnings and interruptions still show.
      **stock: what else Trax's Loop takes: eval_tasks, output_dir, eval_at, random_seed, ...

    Raises:
      ArgumentError: more than one training task.
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
        self._extras = checkpoint_extras or dict
        self.on_step = on_step
        self._margin = margin if margin is not None else getattr(task.loss_layer, "_margin", None)
        self._keep, self._best_metric, self._course_file = keep, best_metric, course_file
        self._patience, self._quiet = patience, quiet
        self._collapsed_for = 0
        self._saved_step: int | None = None
        self.warnings: list[str] = []
        self.resumed_from: Path | None = None
        if jax.process_count() > 1 and stock.get("random_seed") is None:
            raise ArgumentError("Several processes need the same random_seed: give one.")
        if stock.get("output_dir") is not None:
            stock["output_dir"] = os.fspath(stock["output_dir"])
        # Trax refuses to use fewer devices than there are, and its own way of using several computes
        # the loss on each one's part of the batch. It is told of one; the mesh spreads the arrays.
        self._made = False
        with (
            keeping_generators(),
            devices.told_of_one(),
            _no_pickled_counters(),
            self._as_quiet_as_asked(),
        ):
            super().__init__(model, [task], **stock)
        self._made = True
        self._place_on_devices()
        self.load_checkpoint()

    # ---- Running ----

    def run(self, n_steps: int = 1) -> None:
        """Trains for `n_steps` more steps, evaluating and saving as configured.

        SIGINT (Ctrl-C) and SIGTERM end the run after the current step with a checkpoint, and are then
        raised as KeyboardInterrupt and SystemExit; a second Ctrl-C does not wait.

        Raises:
          TrainingError: the loss or the weights became NaN or infinite; checkpoints stay as they are.
        """
        last = self._step + n_steps
        with self._open_summary_writers() as writers, _Signals() as signals:
            period = _Period(self)
            while self._step < last and not signals.received and not self._out_of_patience():
                self._step += 1
                loss, stats = self._run_one_step(0, False)
                period.add(loss, stats)
                if self.on_step is not None:
                    self.on_step(self, loss)
                if self._eval_at(self._step):
                    self._report(period, writers)
                    period = _Period(self)
                # After the evaluation, which draws batches too: a resumed run must not repeat them.
                if self._checkpoint_at(self._step):
                    self.save_checkpoint("model")
            if period.steps:
                self._check_loss(float(period.last))
            if self._saved_step != self._step:
                self.save_checkpoint("model")
            if self._course_file and self._output_dir is not None and self.is_chief:
                self.write_course_file()
            if signals.received:
                self._say(f"Stopped by {signals.received.name} after step {self._step}.")
        self._eval_model.weights = self._model.weights
        signals.raise_received()

    def _run_one_step(self, task_index, task_changed):
        step = self._step
        learning_rate = self._tasks[0].learning_rate(step)
        batch = devices.shard_batch(self._mesh, self._tasks[0].next_batch())
        # A NumPy key belongs to no device, and so goes with arrays on any number of them.
        rng = np.asarray(self.new_rng())
        return self._trainer_per_task[0].one_step(
            batch, rng, step=step, learning_rate=learning_rate
        )

    def _report(self, period: _Period, writers) -> None:
        """Prints and records the mean loss since the last report, then runs the evaluations."""
        self._check_loss(float(period.last))
        self.note_loss(float(period.loss) / period.steps, period.steps)
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
        if self._output_dir is None or not self.is_chief:
            return
        figures = {"step": self._step, "seconds": round(time.time(), 3)}
        for mode, prefix in (("train", "metrics/"), ("train", "training/"), ("eval", "metrics/")):
            for name in self._history.metrics_for_mode(mode):
                points = self._history.get(mode, name)
                if name.startswith(prefix) and points and points[-1][0] == self._step:
                    figures[f"{mode}/{name.removeprefix(prefix)}"] = float(points[-1][1])
        with open(self._metrics_file, "a", encoding="utf-8") as lines:
            lines.write(json.dumps(figures) + "\n")

    def _out_of_patience(self) -> bool:
        """Whether the validation loss has not become lower for `patience` evaluations."""
        if not self._patience or not self._eval_tasks:
            return False
        name = f"metrics/{self._eval_tasks[0].metric_names[0]}"
        values = [value for _, value in self._history.get("eval", name)]
        return bool(values) and len(values) - 1 - int(np.argmin(values)) >= self._patience

    def _as_quiet_as_asked(self):
        quiet = self._quiet or jax.process_index() > 0
        return redirect_stdout(io.StringIO()) if quiet else nullcontext()

    def _open_summary_writers(self):
        if self.is_chief:
            return super()._open_summary_writers()
        return nullcontext(([None], [None] * len(self._eval_tasks)))

    def _check_loss(self, loss: float) -> None:
        if not np.isfinite(loss):
            raise TrainingError(
                f"The loss is {loss} at step {self._step}. Try a smaller learning rate, and look for "
                "questions without tokens. Checkpoints saved before are whole: training can go on "
                "from the last of them."
            )

    def note_loss(self, loss: float, steps: int = 1) -> None:
        """Watches for collapse: a loss that stays at twice the margin means all vectors are equal."""
        if self._margin is None:
            return
        at_collapse = abs(loss - 2 * self._margin) < 0.004 * self._margin
        self._collapsed_for = self._collapsed_for + steps if at_collapse else 0
        if self._collapsed_for >= COLLAPSE_STEPS and not self.warnings:
            self.warnings.append(
                f"The loss has stayed at {loss:.3f}, twice the margin, for {self._collapsed_for} steps: "
                "all questions have the same vector (collapse). Try a smaller learning rate, a longer "
                "warm-up, closest='below_positive' for the first steps, or another seed."
            )
            self._say("Warning: " + self.warnings[-1])

    def _say(self, text: str) -> None:
        if self.is_chief:
            training._log(text)

    # ---- Devices ----

    def _place_on_devices(self) -> None:
        """Copies weights, state and optimizer slots to every device of the mesh."""
        if self._mesh is None:
            return
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
    def _metrics_file(self) -> Path:
        return Path(self._output_dir) / "metrics.jsonl"

    def save_checkpoint(self, basename: str = "model") -> None:
        """Saves everything that a resumed run needs to go on as if it had never stopped.

        Args:
          basename: 'model'; Trax's other names (lowest_..., highest_...) are what `best_metric` is for.
        """
        if self._output_dir is None or not self.is_chief:
            return
        weights = _on_host(self._model.weights)
        for place, leaf in leaves_with_places(weights):
            if not np.all(np.isfinite(np.asarray(leaf, dtype=np.float32))):
                raise TrainingError(
                    f"Weights {place} are not finite at step {self._step}; nothing was saved. Go on "
                    "from the last checkpoint with a smaller learning rate."
                )
        checkpoints.save_checkpoint(
            self._output_dir,
            checkpoints.Checkpoint(
                step=self._step,
                weights=weights,
                slots=_on_host(self._trainer_per_task[0].slots),
                model_state=_on_host({"model": self._model.state, "eval": self._eval_model.state}),
                random_state={"loop": np.asarray(self._rng)},
                batch_position=self._position(),
                history=self._history.to_dict(),
                metrics=self._latest_metrics(),
                **self._extras(),
            ),
            keep=self._keep,
            best_metric=self._best_metric,
        )
        self._saved_step = self._step

    def load_checkpoint(self, directory=None, filename=None) -> None:
        """Restores the newest whole checkpoint of a directory, if it has one.

        Args:
          directory: where the checkpoints are; `output_dir` by default.
          filename: must be None: a course file is read by `siamese.course_files`.

        Raises:
          CheckpointError: the checkpoint is of another model; both shapes are named.
        """
        directory = directory or self._output_dir
        if directory is None or not self._made:  # Trax calls this before the evaluations are there.
            return
        found, passed_over = checkpoints.load_newest(directory)
        for path, reason in passed_over:
            self._say(f"Passed over {path}: {reason}")
        if found is None:
            found = self._course_checkpoint(Path(directory))
        if found is None:
            return
        trainer = self._trainer_per_task[0]
        checkpoints.check_compatible(found, shapes=self._model.weights, slot_shapes=trainer.slots)
        trainer.slots = found.slots
        self._step = found.step
        if found.random_state is not None:
            self._rng = jax.numpy.asarray(found.random_state["loop"])
        self._history = training.trax_history.History.from_dict(found.history)
        self.update_weights_and_state(found.weights, found.model_state["model"])
        self._eval_model.weights = self._model.weights
        self._eval_model.state = found.model_state["eval"]
        self.resumed_from = found.path
        self._saved_step = found.step
        self._restore_positions(found.batch_position or {})
        self._place_on_devices()

    def _course_checkpoint(self, directory: Path) -> checkpoints.Checkpoint | None:
        """The ``model.pkl.gz`` of a directory that Trax's own Loop wrote, if it has one."""
        if not (directory / "model.pkl.gz").exists():
            return None
        saved = course_files.read_course_model(directory)
        trainer = self._trainer_per_task[0]
        slots = course_files.read_course_slots(saved)[0]
        return checkpoints.Checkpoint(
            step=saved.step,
            weights=unflatten(saved.weights, self._model.weights),
            model_state={"model": self._model.state, "eval": self._eval_model.state},
            slots=unflatten(slots, trainer.slots, "optimizer slots"),
            history=saved.history,
            path=saved.path,
        )

    def write_course_file(self) -> Path:
        """Writes ``model.pkl.gz`` and its companions as Trax's Loop does, for `init_from_file`."""
        return course_files.write_course_model(
            self._output_dir,
            _on_host(self._model.weights),
            _on_host(self._model.state),
            input_signature=self._batch_signature[: self._model.n_in],
            slots=[_on_host(self._trainer_per_task[0].slots)],
            step=self._step,
            history=self._history.to_dict(),
        )

    def _generators(self) -> Iterator[tuple[str, Any]]:
        yield "train", self._tasks[0].labeled_data
        for i, task in enumerate(self._eval_tasks):
            yield f"eval{i}", task.labeled_data

    def _position(self) -> dict[str, Any]:
        """Where each generator of batches stands; a plain generator has no position to save."""
        return {n: g.state() for n, g in self._generators() if hasattr(g, "state")}

    def _restore_positions(self, position: dict[str, Any]) -> None:
        for name, generator in self._generators():
            if name in position and hasattr(generator, "restore"):
                generator.restore(position[name])
            elif self._step:
                self._say(
                    f"The {name} batches start from the beginning: their generator keeps no position."
                )

    def _latest_metrics(self) -> dict[str, float]:
        names = self._history.metrics_for_mode("eval")
        return {
            name.removeprefix("metrics/"): float(self._history.get("eval", name)[-1][1])
            for name in names
            if self._history.get("eval", name)
        }


class _Period:
    """Sums of loss and optimizer figures since the last report, kept on the device until asked for."""

    def __init__(self, loop: Loop):
        self._start = time.time()
        self.steps, self.loss, self.last, self.stats = 0, 0.0, None, {}

    def add(self, loss, stats) -> None:
        self.steps += 1
        self.loss = self.loss + loss
        self.last = loss
        for name, value in stats.items():
            self.stats[name] = self.stats.get(name, 0.0) + value

    def seconds(self) -> float:
        return max(time.time() - self._start, 1e-9)


class _Signals:
    """Remembers SIGINT and SIGTERM instead of dying of them; only in the main thread."""

    def __enter__(self) -> _Signals:
        self.received: signal.Signals | None = None
        self._before = {}
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._remember)
        return self

    def _remember(self, number, frame):
        if self.received is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.received = signal.Signals(number)

    def __exit__(self, *_) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def raise_received(self) -> None:
        if self.received is signal.SIGINT:
            raise KeyboardInterrupt
        if self.received is not None:
            raise SystemExit(128 + self.received)


@contextmanager
def _no_pickled_counters() -> Iterator[None]:
    """Trax's Loop unpickles `data_counters0.pkl`, whoever wrote it; our positions need no such file."""
    with mock.patch.object(training.inputs, "load_data_counters", lambda *args: None):
        yield


def _on_host(tree):
    return fastmath.nested_map(np.asarray, tree)
