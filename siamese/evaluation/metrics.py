"""Metrics of scores against labels, and the checks that all of evaluation makes on both."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from siamese.data.arguments import as_number, check_labels
from siamese.errors import ArgumentError, DataError


@dataclass(frozen=True)
class Metrics:
    """What scores are worth against labels.

    Attributes:
      n: number of pairs.
      base_rate: share of duplicates; always answering "no" is right in ``1 - base_rate``.
      threshold: a pair counts as a duplicate where its score is above it; None where none was given.
      accuracy, precision, recall, f1, mcc: at the threshold; None without one. Precision is 0 where
        nothing lies above the threshold, and mcc (Matthews) 0 where all answers are the same.
      roc_auc: chance that a duplicate scores higher than a non-duplicate, ties counting half.
      average_precision: mean precision over the duplicates, from the best score down.
    """

    n: int
    base_rate: float
    threshold: float | None
    accuracy: float | None
    precision: float | None
    recall: float | None
    f1: float | None
    mcc: float | None
    roc_auc: float
    average_precision: float

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self)


def check_scores(scores: Any, labels: Any, *, both: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Scores as float64 [n] and labels as bool [n], of one length.

    Args:
      scores: the higher, the more likely a duplicate.
      labels: 0 or 1.
      both: require duplicates and non-duplicates among them.

    Raises:
      ArgumentError: scores that are not finite numbers, or labels other than 0 and 1.
      DataError: unequal lengths, nothing at all, or one class only.
    """
    truth = check_labels(labels)
    array = np.asarray(scores)
    if array.ndim != 1 or (array.dtype.kind not in "biuf" and len(array)):
        raise ArgumentError(
            f"scores must be one flat row of numbers; shape {array.shape}, type {array.dtype}."
        )
    array = array.astype(np.float64)
    if len(array) != len(truth):
        raise DataError(f"There are {len(array)} scores and {len(truth)} labels; one each a pair.")
    if not len(array):
        raise DataError("There are no scores: at least one duplicate and one other are needed.")
    wrong = np.flatnonzero(~np.isfinite(array))
    if len(wrong):
        raise ArgumentError(
            f"scores[{wrong[0]}] is {array[wrong[0]]} ({len(wrong)} such): a model whose vectors are "
            "not finite cannot be evaluated; look at its training."
        )
    if both and truth.all() | ~truth.any():
        kind = "duplicates" if truth[0] else "non-duplicates"
        raise DataError(
            f"All {len(truth)} pairs are {kind}: without both classes there is nothing to tell apart."
        )
    return array, truth


def evaluate_scores(scores: Any, labels: Any, threshold: float | None = None) -> Metrics:
    """All metrics of scores against labels, through scikit-learn.

    Args:
      scores: float [n]; the higher, the more likely a duplicate.
      labels: bool or 0/1 [n].
      threshold: duplicates are those with a score strictly above it; None leaves out the metrics
        that need one. Choose it on other pairs (see `best_threshold`).

    Raises:
      ArgumentError, DataError: see `check_scores`.

    Example:
      >>> metrics = evaluate_scores([0.9, 0.8, 0.3, 0.1], [1, 0, 1, 0], threshold=0.5)
      >>> metrics.accuracy, metrics.roc_auc, metrics.base_rate
      (0.5, 0.75, 0.5)
    """
    from sklearn import metrics as sk

    scores, truth = check_scores(scores, labels)
    found = [None] * 5
    if threshold is not None:
        threshold = as_number(threshold, "threshold")
        answers = scores > threshold
        options = {"average": "binary", "zero_division": 0}
        found = (
            sk.accuracy_score(truth, answers),
            *sk.precision_recall_fscore_support(truth, answers, **options)[:3],
            sk.matthews_corrcoef(truth, answers),
        )
        found = map(float, found)
    ranked = (
        float(sk.roc_auc_score(truth, scores)),
        float(sk.average_precision_score(truth, scores)),
    )
    return Metrics(len(truth), float(truth.mean()), threshold, *found, *ranked)
