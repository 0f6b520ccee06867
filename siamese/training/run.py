"""Trainer: a whole training run, from labelled pairs to a saved model and a report.

A run's directory holds ``checkpoint.safetensors`` (all that a resumed run needs),
``best.safetensors`` (the checkpoint with the lowest validation loss), ``metrics.jsonl``
and, at the end, ``model.safetensors``.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib.metadata
import json
import logging
import math
import os
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import jax
import numpy as np

from siamese.encoders import find_encoder
from siamese.encoders.lstm import Lstm
from siamese.encoders.protocol import BaseEncoder
from siamese.errors import ArgumentError, CheckpointError
from siamese.evaluation.report import Evaluation
from siamese.evaluation.thresholds import COURSE_THRESHOLD
from siamese.model.detector import DuplicateDetector
from siamese.model.file import MODEL_NAME, read_file, write_file
from siamese.model.near_misses import NearMissCheck
from siamese.nn.arrays import Array
from siamese.nn.collapse import CollapseWatch, warn_of_collapse
from siamese.nn.lstm import Dropout, LstmConfig, check_finite, init
from siamese.reading.pairs import QuestionPairs
from siamese.system.files import explained, lock_run, write_text_atomically
from siamese.system.open_types import JsonObject
from siamese.system.process import StopSignals
from siamese.system.progress import progress_bar
from siamese.training.config import PRESETS, TrainConfig
from siamese.training.head import head_network
from siamese.training.losses import make_loss
from siamese.training.pieces import Pieces
from siamese.training.prepare import TrainingData, make_batches, prepare
from siamese.training.report import decided, measure
from siamese.training.step import (
    Network,
    device_mesh,
    initial_state,
    lstm_network,
    make_evaluation,
    make_optimizer,
    make_step,
)

logger = logging.getLogger("siamese")
LEAST_STEPS = 500  # of a head: on 10,000 labels 4 epochs are 52 steps, and too few
_PACKAGES = ("jax", "numpy", "optax")
CHECKPOINT = "checkpoint.safetensors"
_FILES = (CHECKPOINT, "best.safetensors", MODEL_NAME, "metrics.jsonl")
# Settings that may change when a run resumes: its duration and its outputs.
_MAY_CHANGE = {"steps", "epochs", "eval_every", "checkpoint_every", "patience"}
LONG_WARMUP = 1000  # steps that help against a collapse
# In the edition of 2023 rounding masks all negatives of about one row a batch of equal
# vectors.
COLLAPSE_TOLERANCE = 0.02


class Trainer:
    """One training run in a directory; with the same configuration it resumes where it stopped.

    Args:
      pairs: the training rows, both labels.
      config: the run's configuration.
      output_dir: the run's directory; None writes nothing.
      valid: labelled pairs for validation and threshold; taken from the end of `pairs` where None.
      init_from: for a head a model with an encoder, from whose head the run starts; its LSTM stays.
      overwrite: discard the run in the directory and start over.
      quiet: no progress and no printed steps.

    Attributes:
      step: the training steps done.
      history: the figures of each evaluation, as metrics.jsonl has them.
      resumed_from: the step that the run resumed from, or None.

    Raises:
      CheckpointError: the directory holds another run or a model, and `overwrite` is not set.
    """

    def __init__(
        self,
        pairs: QuestionPairs,
        config: TrainConfig,
        output_dir: str | os.PathLike | None = None,
        *,
        valid: QuestionPairs | None = None,
        init_from: DuplicateDetector | None = None,
        overwrite: bool = False,
        quiet: bool = False,
    ):
        self.config = config
        self.quiet = quiet
        self.init_from = init_from
        self.output_dir = None if output_dir is None else Path(output_dir)
        self._encoder = _encoder_of(config, init_from)

        self.data = prepare(pairs, config, valid=valid)
        self._batches, self._valid_batches = make_batches(self.data, config)
        network, weights = self._head() if config.encoder else self._lstm()
        loss = make_loss(config)
        optimizer = make_optimizer(config, self.total_steps)
        self._train_step = make_step(network, loss, optimizer, seed=config.seed)
        self._evaluate = make_evaluation(network, loss)

        # The state before the first step, or that of the directory's checkpoint.
        self.state = initial_state(weights, optimizer)
        self.step = 0
        self.history: list[JsonObject] = []
        self.resumed_from: int | None = None
        # The sum of the losses of the steps since the last evaluation, and how many
        # these are.
        self._loss_sum: np.float32 | jax.Array = np.float32(0)
        self._summed = 0
        self._collapse = CollapseWatch(COLLAPSE_TOLERANCE)
        self._fingerprint = fingerprint(self.data, init_from)

        self._open_directory(overwrite)

    def _open_directory(self, overwrite: bool) -> None:
        """Goes on with the directory's run where there is one, or discards it."""
        self._overwrite = overwrite
        # Whether the model in the directory is this run's, which saves it more than
        # once.
        self._has_saved = False
        # What `_checkpoint_now` was when this run last read or wrote the checkpoint.
        self._checkpoint: tuple[int, ...] | None = None
        if self.output_dir is not None and overwrite:
            _discard(self.output_dir)
        else:
            self._resume()

    def _lstm(self) -> tuple[Network, Mapping[str, Array]]:
        """The LSTM that trains, and the weights that it starts from."""
        config = self.config
        self.lstm = LstmConfig(
            self.data.vocabulary.size,
            config.d_model,
            config.mask_padding,
            config.bidirectional,
        )
        key = jax.random.key(config.seed)
        weights = init(key, self.lstm, config.lstm_bias, config.embedding_std)
        dropout = Dropout(config.embedding_dropout, config.word_dropout)
        return lstm_network(self.lstm, dropout, device_mesh()), weights

    def _head(self) -> tuple[Network, Mapping[str, Array]]:
        """The head, which trains on the encoder's vectors, and its first matrix."""
        assert self._encoder is not None
        bare = DuplicateDetector.from_encoder(self._encoder)
        vectors = bare.encode(self.data.texts, show_progress=not self.quiet)
        started = self.init_from and Pieces.of(self.init_from.encoder).head
        head = (
            started.matrix if started else np.eye(bare.encoder.size, dtype=np.float32)
        )
        return head_network(vectors, self.config.embedding_dropout), {"head": head}

    @functools.cached_property
    def total_steps(self) -> int:
        """Steps of the whole run, from its configuration."""
        if not self.config.epochs:
            return self.config.steps
        per_epoch = len(self.data.train[0]) / self.config.batch_size
        if self.config.batches == "bucketed":  # Pairs that fill no batch are left out.
            per_epoch = math.floor(per_epoch)
        steps = max(1, math.ceil(self.config.epochs * per_epoch))
        # The minimum holds for the preset's epochs alone.
        is_preset = (
            self.config.encoder and self.config.epochs == PRESETS["head"]["epochs"]
        )
        return max(LEAST_STEPS, steps) if is_preset else steps

    @property
    def weights(self) -> dict[str, np.ndarray]:
        """The LSTM's weights, see `siamese.nn.lstm`."""
        return {name: np.asarray(array) for name, array in self.state.weights.items()}

    # ---- Training ----

    def train(self) -> None:
        """Trains until the configured number of steps, evaluating and saving as configured.

        SIGINT (Ctrl-C) and SIGTERM end the run after the current step with a checkpoint
        and a saved model, and are then raised as KeyboardInterrupt and SystemExit; a
        second Ctrl-C does not wait.

        Raises:
          SiameseError: the weights became NaN or infinite; the checkpoint stays as it is.
          CheckpointError: the directory cannot be written, or another process trains there.
        """
        if self.step >= self.total_steps:
            return
        pairs = self.config.batch_size
        bar = progress_bar(
            self.total_steps * pairs,
            "training",
            "pairs",
            done=self.step * pairs,
            quiet=self.quiet,
        )
        lock = lock_run(self.output_dir) if self.output_dir else nullcontext()
        with lock, bar, StopSignals() as signals:
            if self.output_dir is not None:
                self._check_directory()
            while (
                self.step < self.total_steps
                and not signals.received
                and self._has_patience
            ):
                loss = self._one_step()
                # Not at every step: reading the loss waits for the device.
                if bar.update(pairs):
                    bar.set_postfix(loss=f"{float(loss):.4f}", refresh=False)
            self._write_state("checkpoint")
        if signals.received:
            message = f"Stopped by {signals.received.name} after step {self.step}."
            if self.output_dir is not None:
                self.save()
                message += (
                    f" {self.output_dir} holds the model so far, unmeasured; run it "
                    "again to resume."
                )
            logger.warning(message)
        signals.raise_received()

    def _one_step(self) -> jax.Array:
        """Trains on the next batch; returns its loss."""
        config = self.config
        self.state, metrics = self._train_step(self.state, next(self._batches))
        self.step += 1
        # The sum stays on the device until it is reported: nothing waits for it.
        self._loss_sum = self._loss_sum + metrics["loss"]
        self._summed += 1
        if self.step == 1 or self.step % config.eval_every == 0:
            self._report()
        if self.step % config.checkpoint_every == 0:
            self._write_state("checkpoint")
        return metrics["loss"]

    def _report(self) -> None:
        """Evaluates, and records the mean loss since the last report."""
        check_finite(self.state.weights, self.step)
        train_loss = float(self._loss_sum) / self._summed
        losses = [
            self._evaluate(self.state.weights, batch) for batch in self._valid_batches
        ]
        valid_loss = float(np.mean(losses))
        steps = self._summed
        self._loss_sum = np.float32(0)
        self._summed = 0
        self.history.append(
            {"step": self.step, "train/loss": train_loss, "valid/loss": valid_loss}
        )
        if valid_loss == min(line["valid/loss"] for line in self.history):
            self._write_state("best")
        if self._has_collapsed(train_loss, steps):
            warn_of_collapse(train_loss, self.step, self._advice())

    def _has_collapsed(self, loss: float, steps: int) -> bool:
        """Whether the triplet loss has now stayed at that of equal vectors for too long."""
        # Mean and closest negative both exceed the positive by the margin there, in
        # every edition.
        equal = 2 * self.config.margin
        is_triplet = self.config.loss == "triplet"
        return is_triplet and self._collapse.begins(loss, equal, steps)

    def _advice(self) -> list[str]:
        """What the run can try against a collapse and has not tried."""
        advice = ["a smaller learning_rate"]
        if self.config.lstm_bias != "forget_gate":
            advice.insert(0, "lstm_bias='forget_gate'")
        if self.config.warmup_steps < LONG_WARMUP:
            advice.append(f"warmup_steps={LONG_WARMUP}")
        return advice

    @property
    def _has_patience(self) -> bool:
        if not self.config.patience or not self.history:
            return True
        losses = [line["valid/loss"] for line in self.history]
        since_best = len(losses) - 1 - int(np.argmin(losses))
        return since_best < self.config.patience

    # ---- The run's directory ----

    def _checkpoint_now(self) -> tuple[int, ...] | None:
        """What identifies the checkpoint file of the directory; None where there is none."""
        assert self.output_dir is not None
        try:
            status = os.stat(self.output_dir / CHECKPOINT)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size

    def _check_directory(self) -> None:
        """CheckpointError where another run has written to the directory since this one began."""
        if self._checkpoint_now() != self._checkpoint and not self._overwrite:
            raise CheckpointError(
                f"Another run has written to {self.output_dir} meanwhile. Run the command again to go on "
                "with it, or choose another directory."
            )

    def _write_state(self, name: str) -> None:
        """Writes all that a resumed run needs, in place of an older file of that name; and the history."""
        check_finite(self.state.weights, self.step)
        if self.output_dir is None:
            return
        facts = {
            "step": self.step,
            "config": dataclasses.asdict(self.config),
            "data": self._fingerprint,
            "batches": self._batches.state(),
            "loss_sum": float(self._loss_sum),
            "summed": self._summed,
            "history": self.history,
        }
        lines = "".join(f"{json.dumps(line)}\n" for line in self.history)
        metrics = self.output_dir / "metrics.jsonl"
        write_text_atomically(metrics, lines, CheckpointError, overwrite=True)
        leaves = jax.tree.leaves(self.state)
        arrays = {
            f"{number:02d}": np.asarray(leaf) for number, leaf in enumerate(leaves)
        }
        path = self.output_dir / f"{name}.safetensors"
        write_file(path, "checkpoint", arrays, facts, overwrite=True)
        self._checkpoint = self._checkpoint_now()

    def _resume(self) -> None:
        """Restores the directory's run where there is one.

        CheckpointError where it is damaged, or another run, or there is only a model.
        """
        if self.output_dir is None:
            return
        self._checkpoint = self._checkpoint_now()
        if self._checkpoint is None:
            if (self.output_dir / MODEL_NAME).exists():
                raise CheckpointError(
                    f"{self.output_dir} holds a model, and no run to go on with. Pass "
                    "overwrite=True to discard it, or choose another directory.",
                    arguments=("overwrite",),
                )
            return
        arrays, facts = read_file(self.output_dir / CHECKPOINT, "checkpoint")
        differences = self._differences(facts)
        if differences:
            raise CheckpointError(
                f"{self.output_dir} holds another run, at step {facts['step']}: "
                f"{'; '.join(differences)}. Pass overwrite=True to discard it, or "
                "choose another directory.",
                arguments=("overwrite",),
            )
        leaves = [jax.numpy.asarray(arrays[name]) for name in sorted(arrays)]
        self.state = jax.tree.unflatten(jax.tree.structure(self.state), leaves)
        self.step = self.resumed_from = facts["step"]
        self._loss_sum = np.float32(facts["loss_sum"])
        self._summed = facts["summed"]
        self.history = facts["history"]
        begin = 0
        for line in self.history:
            self._has_collapsed(line["train/loss"], line["step"] - begin)
            begin = line["step"]
        self._batches.restore(facts["batches"])
        self._has_saved = True

    def _differences(self, facts: JsonObject) -> list[str]:
        """What differs in the run of a checkpoint with these facts."""
        saved = facts["config"]
        may_change = _MAY_CHANGE
        if self.config.schedule == "linear":
            # A rate that reaches zero at the run's end differs where the end differs.
            may_change = may_change - {"steps", "epochs"}
        differences = [
            f"{name} {saved.get(name)!r} there, {value!r} here"
            for name, value in dataclasses.asdict(self.config).items()
            if name not in may_change and saved.get(name) != value
        ]
        if facts["data"] != self._fingerprint:
            differences.append(
                "the training questions, or the model to start from, differ"
            )
        return differences

    # ---- The model ----

    def evaluate(
        self, test: QuestionPairs, beside: DuplicateDetector | None = None
    ) -> Evaluation:
        """Measures the model on pairs it has not seen; the held-out pairs choose the threshold.

        With `beside`, an encoder, its figures stand beside those of an LSTM.
        """
        report, _ = measure(self.model(), self.data.held_out, test, beside)
        return report

    def _trained(self) -> BaseEncoder:
        """The encoder with what was trained: an LSTM, or a head beside what the run started from."""
        if not self.config.encoder:
            return Lstm(self.lstm, self.weights, self.data.vocabulary)
        pieces = Pieces(self._encoder, None, None)
        if self.init_from:
            pieces = Pieces.of(self.init_from.encoder)
        return pieces.with_head(self.weights["head"]).encoder()

    def model(self) -> DuplicateDetector:
        """The model as it is trained so far, with the course's threshold, without calibration."""
        versions = {name: importlib.metadata.version(name) for name in _PACKAGES}
        card = {
            "config": dataclasses.asdict(self.config),
            "training_pairs": len(self.data.train[0]),
            "steps": self.step,
            "figures": {},
            "threshold_from": "default",
            "versions": versions,
        }
        encoder = self._trained()
        # An LSTM alone, such as the course's, decides by its cosine.
        check = NearMissCheck.shipped() if len(encoder.parts) > 1 else None
        return DuplicateDetector(
            encoder, threshold=COURSE_THRESHOLD, card=card, check=check
        )

    def save(self, report: Evaluation | None = None, **card: Any) -> DuplicateDetector:
        """The trained model, saved in the run's directory where there is one.

        A report of `evaluate` sets threshold and calibration and goes into the card,
        with more JSON values in `card`.
        """
        detector = self.model()
        if report is not None and report.fit is not None:
            facts = {**detector.card, "figures": report.to_dict()}
            if report.fit["calibration"]:
                facts["threshold_from"] = "model"
            detector = decided(detector, report.fit, facts)
        detector.card.update(card)
        if self.output_dir is not None:
            with lock_run(self.output_dir):
                self._check_directory()
                detector.save(
                    self.output_dir, overwrite=self._overwrite or self._has_saved
                )
            self._has_saved = True
        return detector


def _encoder_of(
    config: TrainConfig, start: DuplicateDetector | None
) -> BaseEncoder | None:
    """The encoder that a head is trained on; None for an LSTM."""
    if start is not None:
        frozen = Pieces.of(start.encoder).frozen
        if not config.encoder or frozen is None:
            raise ArgumentError(
                "A run starts from the head of a model; an LSTM starts from nothing."
            )
        return frozen
    return find_encoder(config.encoder) if config.encoder else None


def _discard(directory: Path) -> None:
    """Removes the files of a run."""
    with lock_run(directory), explained(directory, "remove"):
        for name in _FILES:
            (directory / name).unlink(missing_ok=True)


def fingerprint(data: TrainingData, start: DuplicateDetector | None) -> str:
    """The SHA-256 of the training questions and of the model that the run starts from."""
    digest = hashlib.sha256()
    for array in (data.ids.values, data.ids.offsets, *data.train, *data.valid):
        digest.update(np.ascontiguousarray(array, "<i8").tobytes())
    digest.update("\n".join(data.vocabulary.words).encode("utf-8", "surrogatepass"))
    digest.update(((start and start.encoder.fingerprint) or "").encode())
    return digest.hexdigest()
