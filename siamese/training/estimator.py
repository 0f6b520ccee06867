"""PairClassifier: whether two questions are duplicates, as an estimator of scikit-learn."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from siamese.errors import ArgumentError
from siamese.evaluation.thresholds import fit_threshold
from siamese.search.detector import DuplicateDetector
from siamese.search.nearest import EQUAL


class PairClassifier(ClassifierMixin, BaseEstimator):
    """Pairs of questions, duplicates or not, by the cosine of their vectors.

    The vectors stay those of the model; `fit` fits a threshold and a calibration on labelled pairs. Tens
    of pairs are enough.

    Args:
      model: an encoder's name, the path of a saved model, or an object with ``encode(list[str])``.

    Attributes:
      classes_: the two labels, as in `fit`.
      threshold_: the cosine above which a pair is a duplicate: as likely as not.
      calibration_: turns cosines into probabilities.

    Example:
      >>> pairs = [["Is it far?", "Is it distant?"], ["Is it far?", "Who are you?"]]
      >>> PairClassifier("use").fit(pairs, [1, 0]).predict(pairs).tolist()
      [1, 0]
    """

    def __init__(self, model: Any = "use"):
        self.model = model

    def fit(self, pairs: Any, y: Any) -> PairClassifier:
        """Fits threshold and calibration.

        Args:
          pairs: text [n, 2]: a list of pairs, an array, or a table of two columns.
          y: bool or 0/1 [n]: is each a duplicate; both must be there.

        Raises:
          ArgumentError, DataError: see `siamese.evaluation.thresholds.fit_threshold`.
        """
        fit = fit_threshold(self._cosines(pairs), y, resamples=0)
        self.classes_ = np.unique(y)
        self.threshold_, self.calibration_ = fit.threshold, fit.calibration
        return self

    def _cosines(self, pairs: Any) -> np.ndarray:
        """The cosine of each pair, float32 [n]."""
        table = np.asarray(pairs, dtype=object)
        if table.ndim != 2 or table.shape[1] != 2:
            raise ArgumentError(
                f"Pairs are two questions each, [n, 2]; these are {list(table.shape)}."
            )
        if isinstance(self.model, (str, os.PathLike)):
            detector = DuplicateDetector.load(self.model)
        else:
            detector = DuplicateDetector.from_encoder(self.model)
        return detector.similarity(*table.T.tolist())

    def predict(self, pairs: Any) -> np.ndarray:
        """The label of each pair, [n]."""
        check_is_fitted(self)
        is_duplicate = self._cosines(pairs) > min(self.threshold_, EQUAL)
        return self.classes_[is_duplicate.astype(int)]

    def predict_proba(self, pairs: Any) -> np.ndarray:
        """The probabilities of both labels, float64 [n, 2]."""
        check_is_fitted(self)
        probability = self.calibration_(self._cosines(pairs))
        return np.stack([1 - probability, probability], axis=1)
