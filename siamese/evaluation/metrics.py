"""Metrics of scores against labels, and the checks that all of evaluation makes on both.

Scores are float [n], the higher, the more likely a duplicate; labels are bool or 0/1
[n]. What is wrong in them is an ArgumentError or a DataError everywhere, see
`check_scores`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike

from siamese.errors import ArgumentError, DataError
from siamese.system.arguments import as_number, check_labels, counted
from siamese.system.open_types import JsonObject


@dataclass(frozen=True)
class Metrics:
    """What scores are worth against labels."""

    n: int  # pairs
    base_rate: float  # share of duplicates; always answering "no" is right in ``1 - base_rate``
    roc_auc: float  # chance that a duplicate scores higher than a non-duplicate, ties counting half
    # mean precision over the duplicates, from the best score down
    average_precision: float
    # a pair counts as a duplicate where its score is above it
    threshold: float | None = None
    # this and the next ones at the threshold; None without one
    accuracy: float | None = None
    precision: float | None = None  # 0 where nothing lies above the threshold
    recall: float | None = None
    f1: float | None = None

    def to_dict(self) -> JsonObject:
        """As plain values, for JSON."""
        return asdict(self)


def check_scores(
    scores: ArrayLike, labels: ArrayLike, *, both: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Scores as float64 [n] and labels as bool [n], of one length.

    ArgumentError for scores that are not finite numbers, and for labels other than 0
    and 1; DataError for unequal lengths, no scores, or, with `both`, one class only.
    """
    truth = check_labels(labels)
    array = np.asarray(scores)
    if array.ndim != 1 or (array.dtype.kind not in "biuf" and len(array)):
        raise ArgumentError(
            f"scores must be one flat row of numbers; shape {array.shape}, type {array.dtype}."
        )
    array = array.astype(np.float64)
    if len(array) != len(truth):
        raise DataError(
            f"{counted(len(array), 'score')} and {counted(len(truth), 'label')}; one each a pair."
        )
    if not len(array):
        raise DataError(
            "There are no pairs: at least one duplicate and one other are needed."
        )
    wrong = np.flatnonzero(~np.isfinite(array))
    if len(wrong):
        raise ArgumentError(
            f"scores[{wrong[0]}] is {array[wrong[0]]} ({len(wrong)} such): look at the "
            "model's training."
        )
    if both and (truth.all() or not truth.any()):
        kind = "duplicate" if truth[0] else "non-duplicate"
        what = (
            f"All {len(truth):,} pairs are {kind}s"
            if len(truth) > 1
            else f"The pair is a {kind}"
        )
        raise DataError(f"{what}; both classes are needed.")
    return array, truth


def evaluate_scores(
    scores: ArrayLike, labels: ArrayLike, threshold: float | None = None
) -> Metrics:
    """All metrics of scores against labels.

    Args:
      scores: float [n]; the higher, the more likely a duplicate.
      labels: bool or 0/1 [n].
      threshold: duplicates are those with a score strictly above it; None leaves out the metrics
        that need one. Choose it on other pairs (see `best_threshold`).

    Raises:
      ArgumentError: a score or the threshold is no finite number; a label is not 0 or 1.
      DataError: the lengths differ, there are no scores, or all labels are equal.

    Example:
      >>> metrics = evaluate_scores([0.9, 0.8, 0.3, 0.1], [1, 0, 1, 0], threshold=0.5)
      >>> metrics.accuracy, metrics.roc_auc, metrics.base_rate
      (0.5, 0.75, 0.5)
    """
    scores, truth = check_scores(scores, labels)
    if threshold is not None:
        threshold = as_number(threshold, "threshold")
    values = metric_values(scores, truth, threshold)
    return Metrics(len(truth), float(truth.mean()), threshold=threshold, **values)


def metric_values(
    scores: np.ndarray, truth: np.ndarray, threshold: float | None
) -> dict[str, float]:
    """Name of a metric -> its value by scikit-learn; arguments as `check_scores` gives them."""
    from sklearn import metrics

    values = {
        "roc_auc": metrics.roc_auc_score(truth, scores),
        "average_precision": metrics.average_precision_score(truth, scores),
    }
    if threshold is not None:
        answers = scores > threshold
        precision, recall, f1, _ = metrics.precision_recall_fscore_support(
            truth, answers, average="binary", zero_division=0
        )
        values["accuracy"] = np.mean(answers == truth)
        values |= {"precision": precision, "recall": recall, "f1": f1}
    return {name: float(value) for name, value in values.items()}
