"""Report: the figures of a training run, measured on pairs it has not seen."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from siamese.course.generator import data_generator
from siamese.data.pairs import QuestionPairs
from siamese.data.tokens import tokenize_questions
from siamese.evaluation.baselines import word_overlap
from siamese.evaluation.calibration import Calibration, fit_calibration
from siamese.evaluation.metrics import Metrics, evaluate_scores
from siamese.evaluation.thresholds import best_threshold
from siamese.search.detector import COURSE_THRESHOLD, DuplicateDetector
from siamese.training.prepare import TrainingData

EVALUATION_BATCH = 512  # The batch size of the course's last cell; it matters for unmasked models.
CURVE_PAIRS = 1000  # With as many held-out pairs a curve of the parts' cosines decides.
LEAST_SPREAD = 0.01  # Cosines of which nine in ten lie closer together say nothing.


@dataclass(frozen=True)
class Report:
    """The figures of a training run on its test pairs. Accuracies and shares run from 0 to 1."""

    steps: int  # Training steps done, those of earlier parts of the run included.
    train_loss: float  # The mean since the evaluation before the last.
    valid_loss: float
    accuracy: float  # At the course's threshold of 0.7.
    threshold: float  # The one most accurate on held-out pairs, which are not the test pairs.
    tuned_accuracy: float  # At that threshold.
    roc_auc: float
    base_rate: float  # The share of duplicates.
    overlap_accuracy: float  # Of word overlap with its own tuned threshold.
    overlap_roc_auc: float
    test_pairs: int
    encoder_accuracy: float | None = None  # Of the bare encoder, with its own tuned threshold.
    encoder_roc_auc: float | None = None
    separates: bool = (
        True  # Whether the held-out cosines of duplicates are above those of other pairs.
    )

    def as_dict(self) -> dict[str, float]:
        """The figures as plain values."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        constant = max(self.base_rate, 1 - self.base_rate)
        return f"""\
loss after {self.steps} steps      train {self.train_loss:.4f}, valid {self.valid_loss:.4f}
on {self.test_pairs:,} test pairs, {self.base_rate:.1%} of them duplicates:
  accuracy at threshold {COURSE_THRESHOLD}     {self.accuracy:.4f}   (the course's)
  accuracy at threshold {self.threshold:.3f}   {self.tuned_accuracy:.4f}   (chosen on held-out pairs)
  ROC AUC                       {self.roc_auc:.4f}
  always the more frequent      {constant:.4f}
  word overlap                  {self.overlap_accuracy:.4f}   (ROC AUC {self.overlap_roc_auc:.4f})""" + (
            ""
            if self.encoder_roc_auc is None
            else f"""
  the encoder without training  {self.encoder_accuracy:.4f}   (ROC AUC {self.encoder_roc_auc:.4f})"""
        )


def measure(
    detector: DuplicateDetector, data: TrainingData, test: QuestionPairs, **losses: float
) -> tuple[Report, Calibration | None]:
    """Measures a model on test pairs; threshold and calibration come from the held-out pairs.

    A model that does not separate them has the course's threshold and no calibration. `losses` are the
    report's steps, train_loss and valid_loss.
    """
    held_out, labels = data.held_out, data.held_out.is_duplicate
    several = len(detector.shares) > 1 and len(labels) >= CURVE_PAIRS
    if several:
        detector = detector.with_curve(held_out)
    held_scores = pair_scores(detector, held_out)
    able = separates(held_scores, labels)
    if several:
        threshold = detector.threshold
    else:
        threshold = best_threshold(held_scores, labels) if able else COURSE_THRESHOLD
    scores = pair_scores(detector, test)
    tuned = evaluate_scores(scores, test.is_duplicate, threshold)
    overlap = _tuned(word_overlap, held_out, test)
    if detector.encoder is not None:
        bare = _tuned(DuplicateDetector.from_encoder(detector.encoder).similarity, held_out, test)
        losses |= {"encoder_accuracy": bare.accuracy, "encoder_roc_auc": bare.roc_auc}
    report = Report(
        **losses,
        accuracy=evaluate_scores(scores, test.is_duplicate, COURSE_THRESHOLD).accuracy,
        threshold=threshold,
        tuned_accuracy=tuned.accuracy,
        roc_auc=tuned.roc_auc,
        base_rate=tuned.base_rate,
        overlap_accuracy=overlap.accuracy,
        overlap_roc_auc=overlap.roc_auc,
        test_pairs=len(test),
        separates=able,
    )
    if several:
        return report, detector.calibration
    return report, fit_calibration(held_scores, labels) if able else None


def with_tower(
    head: DuplicateDetector, tower: DuplicateDetector, held_out: QuestionPairs
) -> tuple[DuplicateDetector, float]:
    """A head and a tower as one model, decided by a curve of held-out pairs, and what the tower adds.

    That is the ROC AUC on these pairs less that of the head and its encoder alone.
    """
    both = DuplicateDetector(
        tower.weights, tower.vocabulary, tower.tower, encoder=head.encoder, head=head.head,
        card=tower.card,
    )  # fmt: skip
    models = [model.with_curve(held_out) for model in (head, both)]
    one, two = (
        evaluate_scores(pair_scores(model, held_out), held_out.is_duplicate).roc_auc
        for model in models
    )
    return models[1], two - one


def _tuned(scores_of: Callable, held_out: QuestionPairs, test: QuestionPairs) -> Metrics:
    """The figures of a function of two lists on test pairs, by the best threshold for held-out pairs."""
    held_scores = scores_of(held_out.question1, held_out.question2)
    threshold = best_threshold(held_scores, held_out.is_duplicate)
    return evaluate_scores(scores_of(test.question1, test.question2), test.is_duplicate, threshold)


def pair_scores(detector: DuplicateDetector, pairs: QuestionPairs) -> np.ndarray:
    """The scores of pairs, float [pairs], see `DuplicateDetector.scores_of`.

    Where padding is not masked they depend on the batch: here on batches of 512, as in the course.
    """
    tower = detector.tower
    if detector.encoder is not None or tower.mask_padding:
        return detector.score(pairs.question1, pairs.question2)
    import jax

    from siamese.nn.tower import towers

    texts = map(detector.vocabulary.read, [*pairs.question1, *pairs.question2])
    tokenized = tokenize_questions(texts)
    ids = tokenized.encode(detector.vocabulary)
    sides = ids.take(tokenized.rows[: len(pairs)]), ids.take(tokenized.rows[len(pairs) :])
    run = jax.jit(functools.partial(towers, config=tower))
    scores = []
    for start in range(0, len(pairs), EVALUATION_BATCH):  # The last batch is shorter.
        part = [side[start : start + EVALUATION_BATCH] for side in sides]
        v1, v2 = run(detector.weights, *next(data_generator(*part, len(part[0]), shuffle=False)))
        scores.append(np.vecdot(np.asarray(v1), np.asarray(v2)))
    return np.concatenate(scores)


def separates(scores: np.ndarray, labels: np.ndarray) -> bool:
    """Whether cosines say anything about labels, both [pairs].

    They do not where nine in ten lie within 0.01, or where their ROC AUC is less than two standard errors
    above 0.5 (that of the Mann-Whitney statistic of equal distributions).
    """
    duplicates, others = int(np.sum(labels)), int(np.sum(~np.asarray(labels, bool)))
    if not duplicates or not others:
        return False
    low, high = np.quantile(scores, [0.05, 0.95])
    error = np.sqrt((duplicates + others + 1) / (12 * duplicates * others))
    return bool(
        high - low > LEAST_SPREAD and evaluate_scores(scores, labels).roc_auc > 0.5 + 2 * error
    )
