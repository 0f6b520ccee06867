"""Trax's training loop, mended: it ends well, on one device, and leaves the caller's randomness alone."""

from __future__ import annotations

import functools
import logging
import signal
from typing import Any

import numpy as np
from trax import layers as tl
from trax.supervised import training

from siamese.errors import DataError
from siamese.nn.collapse import CollapseWatch, warn_of_collapse
from siamese.nn.lstm import check_finite
from siamese.system.files import explained
from siamese.system.process import StopSignals, keeping_generators

logger = logging.getLogger("siamese")
COLLAPSE_TOLERANCE = 0.002  # of the loss of equal vectors
ADVICE = ("lstm_bias='forget_gate'", "a smaller learning rate", "a longer warm-up")


class Loop(training.Loop):
    """`trax.supervised.training.Loop` for one task over pairs; same arguments, arithmetic and files.

    It trains on one device. The last step of a run is saved, also where a generator
    ends (DataError) or Ctrl-C or SIGTERM comes, which waits for the end of the step.
    Weights that are not finite are never saved (SiameseError). The log reports a loss
    that stays or ends at that of equal vectors. Another model's checkpoint in
    `output_dir`, and a full disk, are a CheckpointError.
    """

    def __init__(self, model: tl.Layer, task: training.TrainTask, **stock: Any):
        self._signals = StopSignals()
        self._loss = np.nan
        self._collapse = CollapseWatch(COLLAPSE_TOLERANCE)
        with keeping_generators(), explained(stock.get("output_dir") or "", "read"):
            super().__init__(model, task, **stock)
        self._saved_step = self._step

    def run(self, n_steps: int = 1) -> None:
        """Trains for `n_steps` more steps; see the class for its end."""
        with StopSignals() as self._signals:
            try:
                super().run(n_steps)
            except (DataError, KeyboardInterrupt, SystemExit) as stop:
                if isinstance(stop, DataError) or self._signals.received:
                    self._finish()
                raise
            self._finish()

    def _finish(self) -> None:
        if self._saved_step != self._step:
            self.save_checkpoint("model")
        if self._step:
            self._watch_for_collapse(float(self._loss), steps=0, at_end=True)

    def _run_one_step(self, task_index: int, task_changed: bool) -> tuple[float, dict]:
        try:
            if self._signals.received:
                name = {signal.SIGINT: "Ctrl-C"}.get(self._signals.received, "SIGTERM")
                logger.warning("Stopped by %s after step %d.", name, self._step - 1)
                self._signals.raise_received()
            self._loss, stats = super()._run_one_step(task_index, task_changed)
        except BaseException:
            self._step -= 1  # Trax counts a step before it takes the batch.
            raise
        return self._loss, stats

    def save_checkpoint(self, basename: str) -> None:
        """Saves as Trax does, but no weights that are not finite, and nothing without an `output_dir`."""
        check_finite(self._model.weights, self._step)
        if self._output_dir is not None:
            with explained(self._output_dir):
                super().save_checkpoint(basename)
            self._saved_step = self._step

    def _log_training_progress(
        self, task: training.TrainTask, total_loss: float, n_steps: int, **rest: object
    ) -> None:
        check_finite(self._model.weights, self._step)
        with explained(self._output_dir or ""):
            super()._log_training_progress(task, total_loss, n_steps, **rest)
        self._watch_for_collapse(float(total_loss) / n_steps, n_steps)

    def _watch_for_collapse(
        self, loss: float, steps: int, at_end: bool = False
    ) -> None:
        """Warns once where the loss stays at, or the run ends at, that of equal vectors."""
        equal, pairs = self._loss_of_equal_vectors
        if self._collapse.begins(loss, equal, steps, at_end=at_end):
            warn_of_collapse(loss, self._step, ADVICE, pairs)

    @functools.cached_property
    def _loss_of_equal_vectors(self) -> tuple[float, int]:
        """The loss layer's loss of a batch of equal vectors, and by what it is a pair's: 1 for a mean."""

        def loss(pairs: int) -> float:
            ones = np.ones((pairs, 1), np.float32)
            more = [
                np.zeros((pairs,) * len(x.shape), x.dtype)
                for x in self._batch_signature[2:]
            ]
            return float(self._tasks[0].loss_layer((ones, ones, *more)))

        pairs = self._batch_signature[0].shape[0]
        is_sum = loss(2 * pairs) > 1.5 * loss(pairs)
        return loss(pairs), pairs if is_sum else 1
