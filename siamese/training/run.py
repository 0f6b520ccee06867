"""Trainer: a whole training run, from labelled pairs to a saved model and a report.

A run's directory holds ``checkpoint.safetensors`` (all that a resumed run needs), ``best.safetensors`` (the
checkpoint with the lowest validation loss), ``metrics.jsonl`` and, at the end, ``model.safetensors``.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib.metadata
import logging
import math
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import numpy as np

from siamese.compat.progress import progress_bar
from siamese.compat.randomness import keeping_generators
from siamese.compat.signals import StopSignals
from siamese.data.pairs import QuestionPairs
from siamese.errors import ArgumentError, CheckpointError
from siamese.nn.tower import Dropout, TowerConfig, init
from siamese.search.detector import COURSE_THRESHOLD, DuplicateDetector
from siamese.search.encoders import find_encoder
from siamese.search.model_file import read_file, write_file
from siamese.storage.atomic import explained, lock_run
from siamese.training.batches import make_batches
from siamese.training.config import TrainConfig
from siamese.training.head import make_head_evaluation, make_head_step
from siamese.training.losses import make_loss, plateau
from siamese.training.monitor import (
    COLLAPSE_STEPS,
    TrainingError,
    add_metrics,
    check_finite,
    is_on_plateau,
    read_metrics,
)
from siamese.training.prepare import prepare
from siamese.training.report import Report, measure
from siamese.training.step import (
    State,
    device_mesh,
    initial_state,
    make_evaluation,
    make_optimizer,
    make_step,
)

logger = logging.getLogger("siamese")
# Settings that may change when a run resumes: its duration and its outputs.
_MAY_CHANGE = {"steps", "epochs", "eval_every", "checkpoint_every", "patience"}
_PACKAGES = ("jax", "numpy", "optax")


class Trainer:
    """One training run in a directory; with the same configuration it resumes where it stopped.

    Args:
      pairs: the training rows, both labels.
      config: the run's configuration.
      output_dir: the run's directory; None writes nothing.
      valid: labelled pairs for validation and threshold; taken from the end of `pairs` where None.
      held_out_pairs: where `valid` is None, so many of the last pairs at most choose the threshold.
      init_from: for a head a model with an encoder, from whose head the run starts; its tower stays.
      resume: resume although the configuration differs from that of the directory's run.
      overwrite: discard the run in the directory and start over.
      quiet: no progress and no printed steps.

    Attributes:
      step: the training steps done.
      history: the figures of each evaluation, as metrics.jsonl has them.
      resumed_from: the step that the run resumed from, or None.

    Raises:
      CheckpointError: the directory holds another run, and neither `resume` nor `overwrite` is set.
    """

    def __init__(
        self,
        pairs: QuestionPairs,
        config: TrainConfig,
        output_dir: str | os.PathLike | None = None,
        *,
        valid: QuestionPairs | None = None,
        held_out_pairs: int = 10_000,
        init_from: DuplicateDetector | None = None,
        resume: bool = False,
        overwrite: bool = False,
        quiet: bool = False,
    ):
        if resume and overwrite:
            raise ArgumentError("resume and overwrite exclude each other.")
        self.config, self.quiet, self.init_from = config, quiet, init_from
        self.output_dir = None if output_dir is None else Path(output_dir)
        if init_from and (config.network != "head" or init_from.encoder is None):
            raise ArgumentError("A run starts from the head of a model; a tower starts anew.")
        self._encoder = init_from.encoder if init_from else None
        if config.encoder and self._encoder is None:
            self._encoder = find_encoder(config.encoder)
        self.data = data = prepare(pairs, config, valid=valid, held_out_pairs=held_out_pairs)
        self._batches, self._valid_batches = make_batches(data, config)
        # The course's generator draws from Python's `random`: the run has a state of it of its own.
        self._random_state = random.Random(config.seed).getstate()
        network = self._head if config.network == "head" else self._tower
        optimizer = make_optimizer(config, self.total_steps)
        self.state = initial_state(network(optimizer, make_loss(config)), optimizer)
        self.step, self.history, self.resumed_from = 0, [], None
        self._sums: dict[str, Any] = {}  # of the metrics of the steps since the last evaluation
        self._summed = 0  # how many steps these are
        self._saved_step: int | None = None
        self._collapsed = False  # whether the loss stays on the plateau of equal vectors
        self.calibration = None
        if self.output_dir is not None and overwrite:
            self._remove_run()
        elif self.output_dir is not None and (self.output_dir / "checkpoint.safetensors").exists():
            self._load_checkpoint(resume)

    def _tower(self, optimizer: Any, loss: Any) -> dict[str, Any]:
        """Makes the steps of a tower; returns the weights that it starts from."""
        config, words = self.config, self.data.vocabulary
        self.tower = tower = TowerConfig(
            words.size, config.d_model, config.mask_padding, config.bidirectional
        )
        dropout = Dropout(config.embedding_dropout, config.word_dropout)
        self._train_step = make_step(
            tower, loss, optimizer, dropout=dropout, seed=config.seed, mesh=device_mesh()
        )
        self._evaluate = make_evaluation(tower, loss)
        return init(jax.random.key(config.seed), tower, config.lstm_bias, config.embedding_std)

    def _head(self, optimizer: Any, loss: Any) -> dict[str, Any]:
        """Likewise of a head, on the vectors of the encoder, which are computed here."""
        bare = DuplicateDetector.from_encoder(self._encoder)
        started = time.monotonic()
        vectors = bare.encode(self.data.texts, show_progress=not self.quiet)
        self.encoding_s = time.monotonic() - started
        options = {"dropout": self.config.embedding_dropout, "seed": self.config.seed}
        self._train_step = make_head_step(vectors, loss, optimizer, **options)
        self._evaluate = make_head_evaluation(vectors, loss)
        head = self.init_from.head if self.init_from else None
        return {"head": np.eye(vectors.shape[1], dtype=np.float32) if head is None else head}

    def __repr__(self) -> str:
        pairs, words = len(self.data.train[0]), self.data.vocabulary.size
        return f"Trainer({pairs:,} duplicates, {words:,} words, step {self.step:,})"

    @functools.cached_property
    def total_steps(self) -> int:
        """Steps of the whole run, from its configuration."""
        if not self.config.epochs:
            return self.config.steps
        per_epoch = len(self.data.train[0]) / self.config.batch_size
        if self.config.batches == "bucketed":
            per_epoch = self._batches.batches_per_epoch
        return max(1, math.ceil(self.config.epochs * per_epoch))

    @property
    def weights(self) -> dict[str, np.ndarray]:
        """The tower's weights, see `siamese.nn.tower`."""
        return {name: np.asarray(array) for name, array in self.state.weights.items()}

    # ---- Training ----

    def train(self, on_step: Callable[[Trainer, Any], None] | None = None) -> None:
        """Trains until the configured number of steps, evaluating and saving as configured.

        SIGINT (Ctrl-C) and SIGTERM end the run after the current step with a checkpoint and a saved model,
        and are then raised as KeyboardInterrupt and SystemExit; a second Ctrl-C does not wait.

        Args:
          on_step: called after each step with the trainer and the loss, a JAX number that may not be ready.

        Raises:
          SiameseError: the loss or the weights became NaN or infinite; the checkpoint stays as it is.
          CheckpointError: the directory cannot be written, or another process trains there.
        """
        if self.step >= self.total_steps:
            return
        pairs = self.config.batch_size
        bar = progress_bar(
            self.total_steps * pairs, "training", "pairs", done=self.step * pairs, quiet=self.quiet
        )
        with self._directory(), keeping_generators(), bar, StopSignals() as signals:
            random.setstate(self._random_state)
            try:
                while self.step < self.total_steps and not signals.received and self._has_patience:
                    loss = self._one_step()
                    if bar.update(
                        pairs
                    ):  # Not at every step: reading the loss waits for the device.
                        bar.set_postfix(loss=f"{float(loss):.4f}", refresh=False)
                    if on_step is not None:
                        on_step(self, loss)
                if self._sums:
                    check_finite(float(self._sums["loss"]), self.step)
                self._save_checkpoint()
            finally:
                self._random_state = random.getstate()
        if signals.received:
            saved = ""
            if self.output_dir is not None:
                self.save()
                saved = f" {self.output_dir} holds the model so far, unmeasured; run it again to resume."
            logger.warning(f"Stopped by {signals.received.name} after step {self.step}.{saved}")
        signals.raise_received()

    def _one_step(self) -> Any:
        """Trains on the next batch; returns its loss."""
        config = self.config
        self.state, metrics = self._train_step(self.state, next(self._batches))
        self.step += 1
        # The sums stay on the device until they are reported: nothing waits for them.
        self._sums = {n: self._sums.get(n, 0.0) + value for n, value in metrics.items()}
        self._summed += 1
        if self.step == 1 or self.step % config.eval_every == 0:
            self._report()
        if self.step % config.checkpoint_every == 0:
            self._save_checkpoint()
        return metrics["loss"]

    def _report(self) -> None:
        """Evaluates, and records the means of the metrics since the last report."""
        figures = {f"train/{n}": float(total) / self._summed for n, total in self._sums.items()}
        check_finite(figures["train/loss"], self.step)
        losses = [self._evaluate(self.state.weights, batch) for batch in self._valid_batches]
        figures = {"step": self.step, **figures, "valid/loss": float(np.mean(losses))}
        self._sums, self._summed = {}, 0
        self.history.append(figures)
        if self.output_dir is not None:
            add_metrics(self.output_dir, figures)
            if figures["valid/loss"] == min(line["valid/loss"] for line in self.history):
                self._write_state("best")
        last = [
            line["train/loss"] for line in self.history if line["step"] > self.step - COLLAPSE_STEPS
        ]
        level = plateau(self.config)
        stays = self.step >= COLLAPSE_STEPS and all(is_on_plateau(loss, level) for loss in last)
        if stays and not self._collapsed:  # Reported once.
            logger.warning(
                f"The loss has stayed at {last[-1]:.3f} for {COLLAPSE_STEPS} steps: all questions have "
                "almost the same vector (collapse). Try --set lstm_bias=forget_gate, a smaller "
                "--learning-rate, --set warmup_steps=1000, or another --seed."
            )
        self._collapsed = stays

    @property
    def _has_patience(self) -> bool:
        losses = [line["valid/loss"] for line in self.history]
        if not self.config.patience or not losses:
            return True
        return len(losses) - 1 - int(np.argmin(losses)) < self.config.patience

    # ---- The run's directory ----

    @contextmanager
    def _directory(self) -> Iterator[None]:
        """Holds the lock of the run's directory; brings metrics.jsonl to the run's step."""
        if self.output_dir is None:
            yield
            return
        with lock_run(self.output_dir):
            read_metrics(self.output_dir, self.step)
            yield

    def _remove_run(self) -> None:
        with lock_run(self.output_dir):
            for name in ("checkpoint", "best", "model"):
                with explained(self.output_dir, "remove"):
                    (self.output_dir / f"{name}.safetensors").unlink(missing_ok=True)
            read_metrics(self.output_dir, step=-1)

    @functools.cached_property
    def _fingerprint(self) -> str:
        """Of the training questions and of the model that the run starts from."""
        digest = hashlib.sha256()
        for part in (
            self.data.ids.values,
            self.data.ids.offsets,
            *self.data.train,
            *self.data.valid,
        ):
            digest.update(np.ascontiguousarray(part, "<i8").tobytes())
        digest.update("\n".join(self.data.vocabulary.words).encode("utf-8", "surrogatepass"))
        digest.update((self.init_from.checksum if self.init_from else "").encode())
        return digest.hexdigest()

    def _save_checkpoint(self) -> None:
        if self.output_dir is not None and self._saved_step != self.step:
            self._write_state("checkpoint")
            self._saved_step = self.step

    def _write_state(self, name: str) -> None:
        """Writes all that a resumed run needs, in place of an older file of that name."""
        if not all(np.isfinite(array).all() for array in self.weights.values()):
            raise TrainingError(
                f"The weights are not finite at step {self.step}; nothing was saved. Resume from the "
                "last checkpoint with a smaller learning rate."
            )
        if not self.output_dir.is_dir():
            raise CheckpointError(
                f"{self.output_dir} was removed while the run wrote to it; nothing is left of the run. "
                "Start it again."
            )
        leaves = map(np.asarray, jax.tree.leaves(self.state))
        facts = {
            "step": self.step,
            "config": dataclasses.asdict(self.config),
            "data": self._fingerprint,
            "batches": self._batches.state(),
            "sums": {name: float(value) for name, value in self._sums.items()},
            "summed": self._summed,
            "history": self.history,
        }
        path = self.output_dir / f"{name}.safetensors"
        write_file(path, "checkpoint", {f"{i:02d}": leaf for i, leaf in enumerate(leaves)}, facts)

    def _load_checkpoint(self, resume: bool) -> None:
        """Restores the run of the directory, checked against the configuration and the questions."""
        arrays, facts = read_file(self.output_dir / "checkpoint.safetensors", "checkpoint")
        self._check_same_run(facts, resume)
        leaves, form = jax.tree.flatten(self.state)
        saved = [arrays.get(f"{number:02d}") for number in range(len(leaves))]
        shapes = [(np.shape(leaf), np.shape(array)) for leaf, array in zip(leaves, saved)]
        if any(ours != theirs for ours, theirs in shapes):
            raise CheckpointError(
                f"{self.output_dir}/checkpoint.safetensors has weights of another shape than this "
                "configuration. Pass --overwrite to discard the run, or choose another directory."
            )
        self.state = State(*jax.tree.unflatten(form, map(jax.numpy.asarray, saved)))
        self.step = self._saved_step = self.resumed_from = facts["step"]
        self._sums = {name: np.float32(value) for name, value in facts["sums"].items()}
        self._summed, self.history = facts["summed"], facts["history"]
        with keeping_generators():  # The course's generator sets Python's `random`.
            self._batches.restore(facts["batches"])
            if "random" in facts["batches"]:
                self._random_state = random.getstate()

    def _check_same_run(self, facts: dict[str, Any], resume: bool) -> None:
        if resume:
            return
        saved, config = facts["config"], dataclasses.asdict(self.config)
        # A rate that reaches zero at the run's end is another one where the end is another.
        ends = {"steps", "epochs"} if self.config.schedule == "linear" else set()
        different = [
            f"{name} {saved.get(name)!r} there, {config[name]!r} here"
            for name in config
            if name not in _MAY_CHANGE - ends and saved.get(name) != config[name]
        ]
        if facts["data"] != self._fingerprint:
            different.append("the training questions, or the model to start from, differ")
        if different:
            raise CheckpointError(
                f"{self.output_dir} holds another run, at step {facts['step']}: {'; '.join(different)}. "
                "Pass --resume to continue it with the new configuration, --overwrite to discard it, or "
                "choose another directory."
            )

    # ---- The model ----

    def evaluate(self, test: QuestionPairs, beside: DuplicateDetector | None = None) -> Report:
        """Measures the model on pairs it has not seen; the held-out pairs choose the threshold.

        With `beside`, an encoder, its figures stand beside those of a tower.
        """
        last, held_out = self.history[-1], self.data.held_out
        report, model = measure(
            self.save(write=False), held_out, test, beside,
            steps=self.step, train_loss=last["train/loss"], valid_loss=last["valid/loss"],
        )  # fmt: skip
        self.calibration = model.calibration
        if not report.separates:
            logger.warning(
                "The model does not separate duplicates from other pairs: its cosines are as high for both "
                f"(ROC AUC {report.roc_auc:.3f}). It has no threshold of its own and no calibration. Train "
                "longer, or try --set lstm_bias=forget_gate."
            )
        return report

    def save(
        self, report: Report | None = None, *, write: bool = True, **card: Any
    ) -> DuplicateDetector:
        """The trained model as a detector, saved in the run's directory where there is one and `write`.

        The report sets the threshold and goes into the card, with more JSON values in `card`.
        """
        is_head, start = self.config.network == "head", self.init_from
        if not is_head:
            tower = self.weights, self.data.vocabulary, self.tower
        elif start and start.tower:
            tower = start.weights, start.vocabulary, start.tower
        else:
            tower = None, None, None
        detector = DuplicateDetector(
            *tower,
            encoder=self._encoder,
            head=self.weights["head"] if is_head else None,
            threshold=report.threshold if report else COURSE_THRESHOLD,
            calibration=self.calibration,
            card={
                "config": dataclasses.asdict(self.config),
                "training_pairs": len(self.data.train[0]),
                "steps": self.step,
                "figures": report.as_dict() if report else {},
                "versions": {name: importlib.metadata.version(name) for name in _PACKAGES},
                **card,
            },
        )
        if self.output_dir is not None and write:
            detector.save(self.output_dir)
        return detector
