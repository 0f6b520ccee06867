"""OneShotClassifier: a class learnt from one example, because only a similarity is needed."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Sequence

import numpy as np

from siamese.errors import ArgumentError, DataError
from siamese.search.detector import DuplicateDetector


class OneShotClassifier:
    """Classes of questions, each given by one or a few examples; nothing is trained.

    A question belongs to the class of the example most similar to it, or to none where even that one
    is not similar enough. Threads may share it.

    Args:
      detector: the model.
      threshold: cosine that the best example must exceed; the model's own where None. With -1 or
        below every question with words gets a class.

    Example:
      >>> classifier = OneShotClassifier(DuplicateDetector.load("demo"))  # doctest: +SKIP
      >>> _ = classifier.fit(["How do I cook rice?", "Is Rome far?"], ["food", "travel"])  # doctest: +SKIP
      >>> classifier.predict("What is the best way to cook rice?")  # doctest: +SKIP
      'food'
    """

    def __init__(self, detector: DuplicateDetector, *, threshold: float | None = None):
        self.detector = detector
        self.threshold = detector.threshold if threshold is None else float(threshold)
        # Class -> its examples' vectors, float32 [examples, d]. Replaced as one, so that a reader in
        # another thread never sees half of a change.
        self._examples: dict[Hashable, np.ndarray] = {}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        count = sum(map(len, self._examples.values()))
        threshold = f"threshold {self.threshold:.3f}"
        return f"OneShotClassifier({len(self._examples)} classes, {count} examples, {threshold})"

    @property
    def classes(self) -> tuple:
        """The classes' labels, in the order of their first examples."""
        return tuple(self._examples)

    def fit(self, examples: Sequence[str], labels: Sequence[Hashable]) -> OneShotClassifier:
        """Takes one or a few examples a class, in place of all that was known before.

        Raises:
          ArgumentError: another number of labels than of examples, or None as a label.
          DataError: an example without words, or that is not text.
        """
        if isinstance(examples, str) or len(examples) != len(labels):
            raise ArgumentError("fit takes a list of examples and as many labels.")
        with self._lock:
            self._examples = self._added({}, examples, labels)
        return self

    def add_class(self, label: Hashable, examples: str | Sequence[str]) -> None:
        """Adds a class, or more examples to one that is known; raises as `fit`, and without examples."""
        examples = [examples] if isinstance(examples, str) else list(examples)
        if not examples:
            raise ArgumentError(f"The class {label!r} needs at least one example.")
        with self._lock:
            self._examples = self._added(self._examples, examples, [label] * len(examples))

    def predict(self, questions: str | Sequence[str], threshold: float | None = None):
        """The class of a question (or of each in a list); None for none of these.

        A question without words, and any question before there are classes, is none of these.
        """
        if isinstance(questions, str):
            return self.predict([questions], threshold)[0]
        cut = self.threshold if threshold is None else threshold
        known = self._examples
        vectors = self.detector.encode(questions)
        answers = []
        for vector, row in zip(vectors, _scores(vectors, known)):
            best = max(zip(row, known), key=lambda found: found[0], default=(-np.inf, None))
            answers.append(best[1] if best[0] > cut and vector.any() else None)
        return answers

    def scores(self, questions: str | Sequence[str]) -> np.ndarray:
        """Cosine with the most similar example of each class, float32 [classes], or [n, classes]."""
        if isinstance(questions, str):
            return self.scores([questions])[0]
        return _scores(self.detector.encode(questions), self._examples)

    def _added(self, known: dict, examples: Sequence[str], labels: Sequence) -> dict:
        if any(label is None for label in labels):
            raise ArgumentError("None cannot be a label: predict answers it for none of these.")
        vectors = self.detector.encode(list(examples))
        empty = np.flatnonzero(~vectors.any(axis=1))
        if len(empty):
            raise DataError(f"Example {empty[0]} has no words: {examples[empty[0]]!r:.40}.")
        found = {label: list(rows) for label, rows in known.items()}
        for label, vector in zip(labels, vectors):
            found.setdefault(label, []).append(vector)
        return {label: np.stack(rows) for label, rows in found.items()}


def _scores(vectors: np.ndarray, known: dict) -> np.ndarray:
    """The best cosine for each class, float32 [questions, classes]."""
    best = [(vectors @ examples.T).max(axis=1) for examples in known.values()]
    return np.stack(best, axis=1) if best else np.zeros((len(vectors), 0), np.float32)
