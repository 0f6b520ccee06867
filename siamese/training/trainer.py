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

from siamese import compat
from siamese.compat.randomness import keeping_generators
from siamese.course.classify import classify, pair_scores
from siamese.course.loss import TripletLoss
from siamese.course.model import Siamese, model_options, tower_config, tower_weights
from siamese.data.pairs import QuestionPairs
from siamese.data.token_cache import tokenize_questions
from siamese.errors import ArgumentError, CheckpointError
from siamese.evaluation.baselines import word_overlap
from siamese.evaluation.calibration import fit_calibration
from siamese.evaluation.metrics import evaluate_scores
from siamese.evaluation.thresholds import best_threshold
from siamese.progress import Progress
from siamese.search.detector import DuplicateDetector
from siamese.storage import checkpoints
from siamese.training.batches import make_batches
from siamese.training.config import TrainConfig
from siamese.training.learning_rate import learning_rate
from siamese.training.loop import Loop
from siamese.training.losses import SoftmaxLoss
from siamese.training.prepare import prepare
from siamese.training.report import COURSE_THRESHOLD, Report

compat.prepare()

import trax  # noqa: E402
from trax.supervised import training  # noqa: E402

EVALUATION_BATCH = 512  # The batch size of the course's last cell; it matters for unmasked models.

# What may change between the parts of one run: how long it is and what it leaves behind.
_MAY_CHANGE = {"steps", "epochs", "eval_every", "checkpoint_every", "keep", "patience"}


class Trainer:
    """One training run in a directory; made again with the same choices it goes on where it stopped.

    Args:
      pairs: the training rows, both labels.
      config: the run's choices.
      output_dir: where checkpoints, metrics and the saved model go; None keeps nothing.
      valid: labelled pairs for validation and threshold; taken from the end of `pairs` where None.
      held_out_pairs: where `valid` is None, so many of the last pairs at most choose the threshold.
      resume: go on although other choices are asked for than the directory's run had.
      overwrite: start anew in a directory that holds a run.
      quiet: no progress and no printed steps.

    Raises:
      CheckpointError: the directory holds another run, and neither `resume` nor `overwrite` says what
        is meant.
    """

    def __init__(
        self,
        pairs: QuestionPairs,
        config: TrainConfig,
        output_dir: str | os.PathLike | None = None,
        *,
        valid: QuestionPairs | None = None,
        held_out_pairs: int = 10_000,
        resume: bool = False,
        overwrite: bool = False,
        quiet: bool = False,
    ):
        if resume and overwrite:
            raise ArgumentError("resume and overwrite exclude each other.")
        self.config, self.quiet = config, quiet
        self.calibration = None  # `evaluate` makes it.
        self.output_dir = None if output_dir is None else Path(output_dir)
        self.data = prepare(pairs, config, valid=valid, held_out_pairs=held_out_pairs)
        words = self.data.vocabulary
        self._vocabulary = {"lowercase": words.lowercase, "words": list(words.words)}
        if self.output_dir is not None:
            self._check_directory(resume, overwrite)
        self.loop = self._make_loop()

    def _check_directory(self, resume: bool, overwrite: bool) -> None:
        if overwrite:
            with checkpoints.CheckpointWriter(self.output_dir) as writer:
                writer.clear()
            (self.output_dir / "metrics.jsonl").unlink(missing_ok=True)
            return
        found, _ = checkpoints.load_newest(self.output_dir)
        if found is None or resume:
            return
        asked = dataclasses.asdict(self.config)
        # A field that an older run had not yet had its default.
        there = {**dataclasses.asdict(TrainConfig()), **(found.config or {})}
        # A rate that reaches zero at the run's end is another one where the end is another.
        may_change = _MAY_CHANGE - (
            {"steps", "epochs"} if self.config.schedule == "linear" else set()
        )
        different = [
            f"{name} {there.get(name)!r} there, {asked[name]!r} asked for"
            for name in asked
            if name not in may_change and there.get(name) != asked[name]
        ]
        if found.vocabulary_checksum != checkpoints.vocabulary_checksum(self._vocabulary):
            different.append("the training questions, and so the vocabulary, differ")
        if different:
            raise CheckpointError(
                f"{self.output_dir} holds another run, at step {found.step}: {'; '.join(different)}. "
                "Say what is meant: --resume goes on with that run under the new choices, --overwrite "
                "starts anew, or give another directory."
            )

    def _make_loop(self) -> Loop:
        config, data = self.config, self.data
        # The course's generator draws from Python's global generator: the run has a state of it of its
        # own, which is in place while the run works and put away in between.
        with keeping_generators():
            random.seed(config.seed)
            train, valid = make_batches(data, config)
            self._train_batches = train
            loss, valid_loss = losses(config)
            self._loss_name = valid_loss.name
            task = training.TrainTask(
                train,
                loss,
                trax.optimizers.Adam(config.learning_rate, eps=config.adam_epsilon),
                learning_rate(config, lambda: self.total_steps),
                n_steps_per_checkpoint=config.checkpoint_every,
            )
            eval_batches = max(1, min(8, len(data.valid[0]) // config.batch_size))
            eval_task = training.EvalTask(valid, [valid_loss], n_eval_batches=eval_batches)
            make = functools.partial(Siamese, data.vocabulary.size, **model_options(config))
            loop = Loop(
                make(mode="train"),
                task,
                eval_model=make(mode="eval"),
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
        """Trains until the configured number of steps; shows progress, loss and pairs per second.

        Args:
          on_step: called after each step with (loop, loss); `loss` is a JAX scalar.
        """
        remaining = self.total_steps - self.loop.step
        if remaining <= 0:
            return
        with (
            keeping_generators(),
            Progress(
                self.total_steps,
                "training",
                unit="pairs",
                units_per_step=self.config.batch_size,
                done=self.loop.step,
                quiet=self.quiet,
            ) as progress,
        ):
            random.setstate(self._random_state)

            def show(loop, loss):
                progress.update(**({"loss": float(loss)} if progress.due() else {}))
                if on_step is not None:
                    on_step(loop, loss)

            self.loop.on_step = show
            try:
                self.loop.run(remaining)
            finally:
                self._random_state = random.getstate()

    def evaluate(self, test: QuestionPairs) -> Report:
        """Measures the model on pairs it has not seen; chooses the threshold on the held-out pairs."""
        data = self.data
        held1, held2 = (data.ids.take(rows) for rows in data.held_out_rows)
        tokenized = tokenize_questions(
            [*test.question1, *test.question2], lowercase=self.config.lowercase
        )
        test_ids = tokenized.encode(data.vocabulary)
        test1 = test_ids.take(tokenized.rows[: len(test)])
        test2 = test_ids.take(tokenized.rows[len(test) :])
        scores = functools.partial(
            pair_scores,
            model=self.loop.eval_model,
            vocab=data.vocabulary,
            batch_size=EVALUATION_BATCH,
        )
        labels, held_labels = test.is_duplicate, data.held_out.is_duplicate
        held_scores = scores(held1, held2)
        chosen = best_threshold(held_scores, held_labels, "accuracy").threshold
        self.calibration = fit_calibration(held_scores, held_labels)
        tuned = evaluate_scores(scores(test1, test2), labels, chosen)
        overlap_chosen = best_threshold(
            word_overlap(data.held_out.question1, data.held_out.question2), held_labels, "accuracy"
        ).threshold
        overlap = evaluate_scores(
            word_overlap(test.question1, test.question2), labels, overlap_chosen
        )
        history = self.loop.history
        return Report(
            steps=self.loop.step,
            train_loss=float(history.get("train", f"metrics/{self._loss_name}")[-1][1]),
            valid_loss=float(history.get("eval", f"metrics/{self._loss_name}")[-1][1]),
            accuracy=classify(
                test1,
                test2,
                labels,
                COURSE_THRESHOLD,
                self.loop.eval_model,
                data.vocabulary,
                batch_size=EVALUATION_BATCH,
            ),
            threshold=chosen,
            tuned_accuracy=tuned.accuracy,
            roc_auc=tuned.roc_auc,
            base_rate=tuned.base_rate,
            overlap_accuracy=overlap.accuracy,
            overlap_roc_auc=overlap.roc_auc,
            test_pairs=len(test),
        )

    def save(self, report: Report | None = None, **card: Any) -> DuplicateDetector:
        """The trained model as a detector, saved in ``output_dir/model`` where there is an output_dir.

        Args:
          report: sets the threshold, and goes into the card.
          **card: more JSON values for the card.
        """
        figures = report.as_dict() if report else {}
        detector = DuplicateDetector(
            tower_weights(self.loop.model),
            self.data.vocabulary,
            tower_config(self.config, self.data.vocabulary.size),
            threshold=report.threshold if report else COURSE_THRESHOLD,
            calibration=self.calibration,
            card={
                "config": dataclasses.asdict(self.config),
                "training_pairs": len(self.data.train[0]),
                "steps": self.loop.step,
                "figures": figures,
                "versions": {n: importlib.metadata.version(n) for n in ("trax", "jax", "numpy")},
                **card,
            },
        )
        if self.output_dir is not None:
            detector.save(self.output_dir / "model")
        return detector


def losses(config: TrainConfig):
    """The layer that trains and the one that validates, which has neither mask nor labelled pairs."""
    if config.loss == "softmax":
        made = functools.partial(SoftmaxLoss, config.temperature, direction=config.direction)
        extras = {"labelled": config.labelled_size > 0, "labelled_weight": config.labelled_weight}
    else:
        made = functools.partial(
            TripletLoss, config.margin, closest=config.closest, direction=config.direction
        )
        extras = {}
    return made(false_negative_mask=config.same == "mask", **extras), made()
