"""What a trained model decides by, fitted on held-out pairs, and its figures on pairs it has not seen."""

from __future__ import annotations

import logging

import numpy as np

from siamese.evaluation.calibration import fit_calibration
from siamese.evaluation.metrics import evaluate_scores
from siamese.evaluation.report import Evaluation
from siamese.evaluation.thresholds import COURSE_THRESHOLD, best_threshold
from siamese.model.decision import Questions, calibration_of, part_cosines
from siamese.model.detector import DuplicateDetector, pairs_of
from siamese.nn.nearest import cosines_with
from siamese.reading.pairs import QuestionPairs
from siamese.system.open_types import JsonMapping, JsonObject
from siamese.training.own_check import LEAST_PAIRS, fit_own_check
from siamese.training.pieces import Pieces

logger = logging.getLogger("siamese")
MOST = (0.05, 0.95)  # the quantiles between which nine in ten lie
LEAST_SPREAD = 0.01  # Cosines of which nine in ten lie closer together say nothing.


def measure(
    detector: DuplicateDetector,
    held_out: QuestionPairs,
    test: QuestionPairs,
    beside: DuplicateDetector
    | None = None,  # an encoder to compare a model with that has none
) -> tuple[Evaluation, DuplicateDetector]:
    """The figures of a model on test pairs, and the model with what the held-out pairs say.

    They give threshold and calibration, or a curve with trees, see
    `siamese.training.own_check`. Where a model does not separate them it gets the
    course's threshold, marked as a default, and no calibration, and a warning says so.
    """
    fit = _fit(detector, held_out)
    source = fit.get("threshold_from", "model")
    detector = decided(detector, fit, {**detector.card, "threshold_from": source})
    sides = pairs_of(detector, test.question1, test.question2)
    scores = detector.decision.scores(*sides)
    frozen = Pieces.of(detector.encoder).frozen
    encoder = None
    if frozen is not None:  # Its cosines are those of the first part.
        encoder = frozen.name, _frozen_cosines(detector, *sides)
    elif beside is not None:
        cosines = beside.similarity(test.question1, test.question2)
        encoder = beside.encoder.name, cosines
    is_fitted = fit["calibration"] is not None
    report = Evaluation(
        test.question1,
        test.question2,
        scores,
        test.is_duplicate,
        detector.threshold,
        threshold_from="held-out pairs"
        if is_fitted
        else "the course's, no labels behind it",
        probabilities=detector.decision.probabilities(scores) if is_fitted else None,
        measure=detector.decision.measure,
        encoder=encoder,
        fit=fit,
    )
    return report, detector


def decided(
    detector: DuplicateDetector, fit: JsonMapping, card: JsonObject
) -> DuplicateDetector:
    """A model with what held-out pairs say, `Evaluation.fit`, and another card."""
    return DuplicateDetector(
        detector.encoder,
        threshold=fit["threshold"],
        calibration=calibration_of(fit["calibration"]),
        card=card,
        check=detector.check,
        trees=fit.get("trees"),
    )


def _frozen_cosines(
    detector: DuplicateDetector, one: Questions, two: Questions
) -> np.ndarray:
    """The cosines of pairs by the frozen encoder in a model, float32 [n]."""
    if Pieces.of(detector.encoder).frozen is detector.encoder:
        return cosines_with(one.vectors, two.vectors)
    return part_cosines(detector.encoder, one.vectors, two.vectors)[:, 0]


def _fit(detector: DuplicateDetector, held_out: QuestionPairs) -> JsonObject:
    """Threshold, calibration and trees of held-out pairs, see `measure`."""
    one, two = pairs_of(detector, held_out.question1, held_out.question2)
    labels = held_out.is_duplicate
    if len(detector.encoder.parts) > 1 and len(labels) >= LEAST_PAIRS:
        return fit_own_check(detector.encoder, one, two, labels)
    scores = detector.decision.scores(one, two)
    problem = unseparated(scores, labels)
    if problem:
        logger.warning(problem)
        return {
            "threshold": COURSE_THRESHOLD,
            "calibration": None,
            "threshold_from": "default",
        }
    calibration = fit_calibration(scores, labels).to_dict()
    return {"threshold": best_threshold(scores, labels), "calibration": calibration}


def with_lstm(
    head: DuplicateDetector, lstm: DuplicateDetector, held_out: QuestionPairs
) -> tuple[DuplicateDetector, float]:
    """A head and an LSTM as one model, and what the LSTM adds to the ROC AUC of head and encoder.

    It is measured by the whole vectors' cosines of held-out pairs.
    """
    pieces = Pieces.of(head.encoder)._replace(lstm=Pieces.of(lstm.encoder).lstm)
    both = DuplicateDetector(pieces.encoder(), card=lstm.card, check=head.check)
    one, two = pairs_of(both, held_out.question1, held_out.question2)
    cosines = part_cosines(both.encoder, one.vectors, two.vectors)

    def roc_auc(model: DuplicateDetector) -> float:
        shares = np.array(model.encoder.shares)
        scores = cosines[:, : len(shares)] @ shares
        return evaluate_scores(scores, held_out.is_duplicate).roc_auc

    return both, roc_auc(both) - roc_auc(head)


def unseparated(cosines: np.ndarray, labels: np.ndarray) -> str:
    """What is wrong where cosines say nothing about labels, both [pairs]; else ''.

    They do not where nine in ten lie within 0.01, or where their ROC AUC is less than
    two standard errors above 0.5 (that of the Mann-Whitney statistic of equal
    distributions).
    """
    spread = np.ptp(np.quantile(cosines, MOST))
    roc_auc = evaluate_scores(cosines, labels).roc_auc
    n = len(labels)
    duplicates = int(np.sum(labels))
    error = np.sqrt((n + 1) / (12 * duplicates * (n - duplicates)))
    if spread > LEAST_SPREAD and roc_auc > 0.5 + 2 * error:
        return ""
    if spread <= LEAST_SPREAD:
        reason = f"nine in ten cosines lie within {spread:.4f}, and the ROC AUC is {roc_auc:.3f}"
    else:
        reason = f"the ROC AUC is {roc_auc:.3f}, and chance alone can give that on {n:,} pairs"
    return (
        f"The model does not separate duplicates from other pairs: on the held-out pairs {reason}. It has "
        "no calibration, and its threshold is the course's, not fitted to labels. Train longer, or with "
        "more labels."
    )
