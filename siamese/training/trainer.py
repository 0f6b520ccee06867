"""Trainer: a whole training run from labelled pairs to a saved model and a report."""

from __future__ import annotations

import dataclasses
import functools
import importlib.metadata
import math
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import trax
from trax import lr
from trax.supervised import training

from siamese.compat.progress import progress_bar
from siamese.compat.randomness import keeping_generators
from siamese.course.loss import TripletLoss
from siamese.course.model import Siamese, tower_weights
from siamese.data.pairs import QuestionPairs
from siamese.errors import ArgumentError, CheckpointError
from siamese.nn.characters import StaticStart
from siamese.nn.tower import TowerConfig
from siamese.search.detector import COURSE_THRESHOLD, DuplicateDetector
from siamese.storage import checkpoints
from siamese.training.batches import make_batches
from siamese.training.config import TrainConfig
from siamese.training.fine_tuning import enough_to_fit, set_weights
from siamese.training.loop import Loop
from siamese.training.losses import RankingLoss
from siamese.training.prepare import prepare
from siamese.training.report import Report, measure

# What may change between the parts of one run: how long it is and what it leaves behind.
_MAY_CHANGE = {"steps", "epochs", "eval_every", "checkpoint_every", "keep", "patience"}


class Trainer:
    """One training run in a directory; made again with the same choices, it goes on where it stopped.

    Args:
      pairs: the training rows, both labels.
      config: the run's choices.
      output_dir: where checkpoints, metrics and the saved model go; None keeps nothing.
      valid: labelled pairs for validation and threshold; taken from the end of `pairs` where None.
      held_out_pairs: where `valid` is None, so many of the last pairs at most choose the threshold.
      init_from: a saved model that the run starts from, with `fine_tuning_config`'s choices.
      resume: go on although other choices are asked for than the directory's run had.
      overwrite: start anew in a directory that holds a run.
      quiet: no progress and no printed steps.

    Raises:
      CheckpointError: the directory holds another run, and neither `resume` nor `overwrite` is given.
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
        self.config, self.quiet = config, quiet
        self.calibration = init_from.calibration if init_from else None  # `evaluate` makes it.
        self.init_from = init_from
        self.output_dir = None if output_dir is None else Path(output_dir)
        # A model of static vectors alone has no weights to start from; its learned part starts anew.
        start = init_from if init_from and init_from.tower.is_learned else None
        self.data = prepare(pairs, config, valid=valid, held_out_pairs=held_out_pairs, start=start)
        words = self.data.vocabulary
        if self.data.static:  # The vectors are read again; only the counts are the run's own.
            self._vocabulary = self.data.static.facts
        else:
            self._vocabulary = {"lowercase": words.lowercase, "words": list(words.words)}
        if init_from:
            self._vocabulary = {**self._vocabulary, "init_from": init_from.checksum}
        if self.output_dir is not None:
            self._check_directory(resume, overwrite)
        self.loop = self._make_loop()
        if start and not self.loop.resumed_from:
            self.loop.start_from(set_weights(self.loop.model, self.data.weights))

    def __repr__(self) -> str:
        pairs, words = len(self.data.train[0]), self.data.vocabulary.size
        return f"Trainer({pairs:,} duplicates, {words:,} words, step {self.loop.step:,})"

    def _check_directory(self, resume: bool, overwrite: bool) -> None:
        if overwrite:
            with checkpoints.CheckpointWriter(self.output_dir) as writer:
                writer.clear()
            (self.output_dir / "metrics.jsonl").unlink(missing_ok=True)
            return
        found, _ = checkpoints.load_newest(self.output_dir)
        if found is None:
            return
        # A field that an earlier version did not have had its default.
        there = dataclasses.asdict(TrainConfig.from_dict(found.config or {}))
        if resume:
            return
        asked = dataclasses.asdict(self.config)
        # A rate that reaches zero at the run's end is another one where the end is another.
        ends = {"steps", "epochs"} if self.config.schedule == "linear" else set()
        different = [
            f"{name} {there[name]!r} there, {asked[name]!r} asked for"
            for name in asked
            if name not in _MAY_CHANGE - ends and there[name] != asked[name]
        ]
        mine, its = map(checkpoints.vocabulary_checksum, (self._vocabulary, found.vocabulary))
        if mine != its:
            different.append("the training questions, or the model to start from, differ")
        if different:
            raise CheckpointError(
                f"{self.output_dir} holds another run, at step {found.step}: {'; '.join(different)}. "
                "Pass --resume to continue it with the new choices, --overwrite to start anew, or give "
                "another directory."
            )

    def _make_loop(self) -> Loop:
        config, data = self.config, self.data
        # The course's generator draws from Python's global generator. The run has a state of it of its own.
        with keeping_generators():
            random.seed(config.seed)
            self._train_batches, valid = make_batches(data, config)
            loss, valid_loss = losses(config)
            self._loss_name = valid_loss.name
            task = training.TrainTask(
                self._train_batches,
                loss,
                trax.optimizers.Adam(config.learning_rate, eps=config.adam_epsilon),
                learning_rate(config, lambda: self.total_steps),
                n_steps_per_checkpoint=config.checkpoint_every,
            )
            eval_batches = max(1, min(8, len(data.valid[0]) // config.batch_size))
            eval_task = training.EvalTask(valid, [valid_loss], n_eval_batches=eval_batches)
            make = functools.partial(Siamese, data.vocabulary.size, **model_options(config))
            judged = data.static and data.static.with_share(config.pair_static_share)
            loop = Loop(
                make(mode="train", static=data.static),
                task,
                eval_model=make(mode="eval", static=judged),
                eval_tasks=[eval_task],
                output_dir=self.output_dir,
                eval_at=lambda step: step == 1 or step % config.eval_every == 0,
                random_seed=config.seed,
                checkpoint_extras=lambda: {
                    "config": dataclasses.asdict(config),
                    "vocabulary": self._vocabulary,
                },
                keep=config.keep,
                best_metric=self._loss_name,
                patience=config.patience,
                lazy_adam=config.lazy_adam,
                embedding_rate=config.embedding_rate,
                embedding_pull=config.embedding_pull,
                quiet=True,
            )
            self._random_state = random.getstate()
        return loop

    @functools.cached_property
    def total_steps(self) -> int:
        """Steps of the whole run, from its configuration."""
        if self.config.epochs:
            per_epoch = len(self.data.train[0]) / self.config.batch_size
            if self.config.batches == "bucketed":
                per_epoch = self._train_batches.batches_per_epoch
            return max(1, math.ceil(self.config.epochs * per_epoch))
        return self.config.steps

    def train(self, on_step: Callable[[Loop, Any], None] | None = None) -> None:
        """Trains until the configured number of steps; `on_step` as in `Loop`."""
        if self.loop.step >= self.total_steps:
            self.loop.remove_leftovers()
            return
        pairs = self.config.batch_size
        total, done = self.total_steps * pairs, self.loop.step * pairs
        bar = progress_bar(total, "training", "pairs", done=done, quiet=self.quiet)
        with keeping_generators(), bar:
            random.setstate(self._random_state)

            def show(loop, loss):
                if bar.update(pairs):  # Not at every step: reading the loss waits for the device.
                    bar.set_postfix(loss=f"{float(loss):.4f}", refresh=False)
                if on_step is not None:
                    on_step(loop, loss)

            self.loop.on_step = show
            try:
                self.loop.run(self.total_steps - self.loop.step)
            finally:
                self._random_state = random.getstate()

    def evaluate(self, test: QuestionPairs) -> Report:
        """Measures the model on pairs it has not seen; chooses the threshold on the held-out pairs."""
        history = self.loop.history
        train_loss, valid_loss = (
            float(history.get(mode, f"metrics/{self._loss_name}")[-1][1])
            for mode in ("train", "eval")
        )
        report, self.calibration = measure(
            self.loop.eval_model,
            self.data,
            test,
            steps=self.loop.step,
            train_loss=train_loss,
            valid_loss=valid_loss,
        )
        start = self.init_from
        if start and not self.keeps_labels_for_threshold:
            self.calibration = start.calibration
            return dataclasses.replace(report, threshold=start.threshold)
        return report

    @property
    def keeps_labels_for_threshold(self) -> bool:
        """Whether enough labels are held out to fit threshold and calibration."""
        return enough_to_fit(self.data.held_out.is_duplicate)

    @property
    def _first_threshold(self) -> float:
        return self.init_from.threshold if self.init_from else COURSE_THRESHOLD

    def save(self, report: Report | None = None, **card: Any) -> DuplicateDetector:
        """The trained model as a detector, saved in ``output_dir/model`` where there is an output_dir.

        The report sets the threshold and goes into the card, with more JSON values in `card`.
        """
        static = self.data.static
        detector = DuplicateDetector(
            saved_weights(self.loop.model, static),
            self.data.vocabulary,
            saved_tower(self.config, self.data.vocabulary.size, static),
            threshold=report.threshold if report else self._first_threshold,
            calibration=self.calibration,
            card={
                "config": dataclasses.asdict(self.config),
                "training_pairs": len(self.data.train[0]),
                "steps": self.loop.step,
                "figures": report.as_dict() if report else {},
                "versions": {n: importlib.metadata.version(n) for n in ("trax", "jax", "numpy")},
                **card,
            },
        )
        if self.output_dir is not None:
            detector.save(self.output_dir / "model")
        return detector


def losses(config: TrainConfig):
    """The layer that trains and the one that validates, which has neither mask nor labelled pairs."""
    mask = config.false_negatives == "mask"
    if config.loss == "triplet":
        made = functools.partial(
            TripletLoss, config.margin, closest=config.closest, direction=config.direction
        )
        return made(false_negative_mask=mask), made()
    made = functools.partial(RankingLoss, config.temperature, direction=config.direction)
    pairs = {"pairs": config.pair_batch_size > 0, "pair_loss_weight": config.pair_loss_weight}
    return made(false_negative_mask=mask, **pairs), made()


def learning_rate(config: TrainConfig, total_steps: Callable[[], int]) -> Callable[[int], float]:
    """The schedule of a run: step, from 1, to Adam's learning rate.

    'rsqrt' is the course's own. 'linear' goes up to the full rate in the warm-up and then straight down to
    zero, which it would reach one step after the run's last; `total_steps` is called at the first step.
    """
    if config.schedule == "rsqrt":
        return lr.warmup_and_rsqrt_decay(config.warmup_steps, config.learning_rate)

    def linear(step: int) -> float:
        up = step / max(config.warmup_steps, 1)
        left = total_steps() + 1
        down = (left - step) / max(left - config.warmup_steps, 1)
        return config.learning_rate * max(0.0, min(1.0, up, down))

    return linear


def model_options(config: TrainConfig) -> dict[str, Any]:
    """The arguments of `Siamese` that a configuration asks for."""
    names = (
        "d_model", "lstm_bias", "mask_padding", "precision", "bidirectional", "embedding_init",
        "embedding_dropout", "word_dropout",
    )  # fmt: skip
    return {name: getattr(config, name) for name in names}


def saved_tower(config: TrainConfig, vocab_size: int, static: StaticStart | None) -> TowerConfig:
    """The tower of the saved model: over static vectors it has other shares for searches than for pairs."""
    options = {"mask_padding": config.mask_padding, "bidirectional": config.bidirectional}
    if static:
        options |= static.options
        options["pair_static_share"] = config.pair_static_share
        options["static_share"] = config.search_static_share
    return TowerConfig(vocab_size, config.d_model, **options)


def saved_weights(model, static: StaticStart | None) -> dict[str, np.ndarray]:
    """The arrays of the saved model, by the names of `siamese.nn.tower`.

    Over static vectors the embedding is float16, as they are: half the file, and no answer changes visibly.
    """
    weights = tower_weights(model)
    if static:
        weights |= {"embedding": weights["embedding"].astype(np.float16), **static.tables}
    return weights
