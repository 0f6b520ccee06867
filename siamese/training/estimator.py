"""PairClassifier: whether two questions are duplicates, as an estimator of scikit-learn."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from siamese.errors import ArgumentError
from siamese.model.detector import DuplicateDetector
from siamese.reading.pairs import QuestionPairs


class PairClassifier(ClassifierMixin, BaseEstimator):
    """Pairs of questions, duplicates or not, as `DuplicateDetector.fitted` judges them.

    The vectors stay those of the model; `fit` fits a threshold and a calibration on
    labelled pairs. Tens of pairs are enough.

    Args:
      model: an encoder's name, the path of a saved model, or an object with ``encode(list[str])``.

    Attributes:
      classes_: the two labels, as in `fit`.
      detector_: the fitted `DuplicateDetector`.

    Example:
      >>> pairs = [["Is it far?", "Is it distant?"], ["Is it far?", "Who are you?"]]
      >>> PairClassifier("use").fit(pairs, [1, 0]).predict(pairs).tolist()
      [1, 0]
    """

    def __init__(self, model: Any = "use"):
        self.model = model

    def fit(self, pairs: ArrayLike, y: ArrayLike) -> PairClassifier:
        """Fits threshold and calibration.

        Args:
          pairs: text [n, 2]: a list of pairs, an array, or a table of two columns.
          y: bool or 0/1 [n]: is each a duplicate; both must be there.

        Raises:
          ArgumentError: pairs that are not two texts each, or labels other than 0 and 1.
          DataError: labels of another number, of one class only, or that do not have higher
            cosines where they are 1.
        """
        is_saved = isinstance(self.model, (str, os.PathLike))
        load = DuplicateDetector.load if is_saved else DuplicateDetector.from_encoder
        question1, question2 = _sides(pairs)
        labelled = QuestionPairs(question1, question2, np.asarray(y))
        self.detector_ = load(self.model).fitted(labelled, resamples=0)
        self.classes_ = np.unique(y)
        return self

    def predict(self, pairs: ArrayLike) -> np.ndarray:
        """The label of each pair, [n]."""
        check_is_fitted(self)
        question1, question2 = _sides(pairs)
        answers = np.asarray(self.detector_.predict(question1, question2))
        return self.classes_[answers.astype(int)]

    def predict_proba(self, pairs: ArrayLike) -> np.ndarray:
        """The probabilities of both labels, float64 [n, 2]."""
        check_is_fitted(self)
        question1, question2 = _sides(pairs)
        probability = self.detector_.probability(question1, question2)
        return np.stack([1 - probability, probability], axis=1)


def _sides(pairs: ArrayLike) -> list[list[str]]:
    """The first and the second questions."""
    table = np.asarray(pairs, dtype=object)
    if table.ndim != 2 or table.shape[1] != 2:
        raise ArgumentError(
            f"Pairs are two questions each, [n, 2]; these are {list(table.shape)}."
        )
    return table.T.tolist()
