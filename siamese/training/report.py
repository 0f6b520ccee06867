"""Report: the figures of a training run, measured on pairs it has not seen."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from siamese.data.clusters import cluster_split
from siamese.data.pairs import QuestionPairs
from siamese.errors import DataError
from siamese.evaluation.baselines import word_overlap
from siamese.evaluation.calibration import fit_calibration
from siamese.evaluation.metrics import Metrics, evaluate_scores
from siamese.evaluation.thresholds import best_threshold
from siamese.search.detector import COURSE_THRESHOLD, DuplicateDetector
from siamese.search.nearest import cosines_with
from siamese.search.parts import fit_parts

CURVE_PAIRS = 1000  # With as many labels a curve of the parts' cosines decides.
LEAST_SPREAD = 0.01  # Cosines of which nine in ten lie closer together say nothing.


@dataclass(frozen=True)
class Report:
    """The figures of a training run on its test pairs. Accuracies and shares run from 0 to 1."""

    steps: int  # Training steps done, those of earlier parts of the run included.
    train_loss: float  # The mean since the evaluation before the last.
    valid_loss: float
    measure: str  # What decides: 'cosine', or 'probability' of a curve of the parts' cosines.
    accuracy: float | None  # At the course's cosine of 0.7; None where a probability decides.
    threshold: float  # The one most accurate on held-out pairs, which are not the test pairs.
    tuned_accuracy: float  # At that threshold.
    roc_auc: float
    base_rate: float  # The share of duplicates.
    overlap_accuracy: float  # Of word overlap with its own tuned threshold.
    overlap_roc_auc: float
    test_pairs: int
    encoder: str | None = None  # The untrained encoder that the model is compared with.
    encoder_accuracy: float | None = None  # With its own tuned threshold.
    encoder_roc_auc: float | None = None
    separates: bool = True  # Whether the held-out cosines of duplicates are above those of others.

    def as_dict(self) -> dict[str, float]:
        """The figures as plain values."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        rows = [
            (f"accuracy at {self.measure} {COURSE_THRESHOLD}", self.accuracy, "the course's"),
            (
                f"accuracy at {self.measure} {self.threshold:.3f}",
                self.tuned_accuracy,
                "held-out pairs'",
            ),
            ("ROC AUC", self.roc_auc, ""),
            ("always the more frequent", max(self.base_rate, 1 - self.base_rate), ""),
            ("word overlap", self.overlap_accuracy, f"ROC AUC {self.overlap_roc_auc:.4f}"),
        ]
        if self.encoder_roc_auc is not None:
            beside = f"ROC AUC {self.encoder_roc_auc:.4f}"
            rows.append((f"encoder {self.encoder}, untrained", self.encoder_accuracy, beside))
        lines = [
            f"loss after {self.steps} steps: train {self.train_loss:.4f}, valid {self.valid_loss:.4f}",
            f"on {self.test_pairs:,} test pairs, {self.base_rate:.1%} of them duplicates:",
        ]
        for title, value, remark in rows:
            if value is not None:
                lines.append(f"  {title:<30}{value:.4f}" + f"   ({remark})" * bool(remark))
        return "\n".join(lines)


def measure(
    detector: DuplicateDetector,
    held_out: QuestionPairs,
    test: QuestionPairs,
    beside: DuplicateDetector | None = None,
    **losses: float,
) -> tuple[Report, DuplicateDetector]:
    """Measures a model on test pairs; threshold and calibration come from the held-out pairs.

    Args:
      detector: the model. Where it does not separate the held-out pairs it gets the course's threshold
        and no calibration.
      held_out: labelled pairs; from `CURVE_PAIRS` on a model of several parts gets a curve of them.
      test: others.
      beside: an encoder to compare a model with that has none.
      **losses: the report's steps, train_loss and valid_loss.

    Returns:
      The figures, and the model with its threshold and calibration.
    """
    sides = [detector._pairs(part.question1, part.question2) for part in (held_out, test)]
    labels, held_scores, able = held_out.is_duplicate, cosines_with(*sides[0]), True
    if len(detector.shares) > 1 and len(labels) >= CURVE_PAIRS:
        curve = fit_parts(detector.part_cosines(*sides[0]), held_scores, labels)
        fit = {"threshold": 0.5, "calibration": curve.to_dict()}
    elif able := separates(held_scores, labels):
        calibration = fit_calibration(held_scores, labels).to_dict()
        fit = {"threshold": best_threshold(held_scores, labels), "calibration": calibration}
    else:
        fit = {"threshold": COURSE_THRESHOLD, "calibration": None}
    detector = detector.with_fit(fit)
    scores, at_course = detector.scores_of(*sides[1]), None
    tuned = evaluate_scores(scores, test.is_duplicate, detector.threshold)
    if not detector.decides_by_parts:
        at_course = evaluate_scores(scores, test.is_duplicate, COURSE_THRESHOLD).accuracy
    overlap = _tuned(
        *(word_overlap(p.question1, p.question2) for p in (held_out, test)), held_out, test
    )
    bare = []
    if detector.encoder is not None:  # Its cosines are those of the first part.
        bare = [detector.part_cosines(*both)[:, 0] for both in sides]
    elif beside is not None:
        bare = [beside.similarity(part.question1, part.question2) for part in (held_out, test)]
    if bare:
        figures, name = _tuned(*bare, held_out, test), (detector.encoder or beside.encoder).name
        losses |= {"encoder": name, "encoder_accuracy": figures.accuracy}
        losses |= {"encoder_roc_auc": figures.roc_auc}
    report = Report(
        **losses,
        measure=detector.measure,
        accuracy=at_course,
        threshold=detector.threshold,
        tuned_accuracy=tuned.accuracy,
        roc_auc=tuned.roc_auc,
        base_rate=tuned.base_rate,
        overlap_accuracy=overlap.accuracy,
        overlap_roc_auc=overlap.roc_auc,
        test_pairs=len(test),
        separates=able,
    )
    return report, detector


def with_tower(
    head: DuplicateDetector, tower: DuplicateDetector, held_out: QuestionPairs
) -> tuple[DuplicateDetector, float]:
    """A head and a tower as one model, and what the tower adds to the ROC AUC of head and encoder.

    It is measured on held-out pairs; where a curve of the parts decides, on each half of them by a curve
    that was fitted on the other half: with more cosines a curve always fits its own pairs better.
    """
    both = DuplicateDetector(
        tower.weights, tower.vocabulary, tower.tower, encoder=head.encoder, head=head.head,
        card=tower.card,
    )  # fmt: skip
    sides, labels = both._pairs(held_out.question1, held_out.question2), held_out.is_duplicate
    cosines, part_cosines = cosines_with(*sides), both.part_cosines(*sides)
    shares = np.array([[*head.shares.values(), 0], [*both.shares.values()]])
    if len(labels) < CURVE_PAIRS:
        scores = shares @ part_cosines.T
    else:
        halves = parts_of(held_out, 2, seed=0)
        scores = [
            left_out_probabilities(
                part_cosines[:, : np.count_nonzero(some)], cosines, labels, halves
            )
            for some in shares
        ]
        curve = fit_parts(part_cosines, cosines, labels)
        both = both.with_fit({"threshold": 0.5, "calibration": curve.to_dict()})
    without, beside = (evaluate_scores(each, labels).roc_auc for each in scores)
    return both, beside - without


def parts_of(pairs: QuestionPairs, count: int, seed: int) -> list[np.ndarray]:
    """The rows of parts without common questions, or, of pairs that do not divide so, of any parts."""
    try:
        return cluster_split(pairs, [1 / count] * count, seed)
    except DataError:
        drawn = np.random.default_rng(seed).permutation(len(pairs))
        return [np.sort(part) for part in np.array_split(drawn, count)]


def left_out_probabilities(
    part_cosines: np.ndarray, cosines: np.ndarray, labels: np.ndarray, parts: Sequence[np.ndarray]
) -> np.ndarray:
    """The probabilities, float64 [n], of the pairs of each part by a curve fitted on the others.

    Args: as `siamese.search.parts.fit_parts`; and the rows of the parts.
    """
    probabilities = np.zeros(len(labels))
    for part in parts:
        rest = np.setdiff1d(np.arange(len(labels)), part)
        curve = fit_parts(part_cosines[rest], cosines[rest], labels[rest])
        probabilities[part] = curve(part_cosines[part])
    return probabilities


def _tuned(
    held_scores: np.ndarray, scores: np.ndarray, held_out: QuestionPairs, test: QuestionPairs
) -> Metrics:
    """The figures of scores of test pairs, by the best threshold of the held-out pairs."""
    threshold = best_threshold(held_scores, held_out.is_duplicate)
    return evaluate_scores(scores, test.is_duplicate, threshold)


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
