"""OneShotClassifier: a class learnt from one example, because only a similarity is needed."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from siamese.errors import ArgumentError, DataError
from siamese.search.detector import DuplicateDetector


class _Examples(NamedTuple):
    classes: tuple
    vectors: np.ndarray  # float32 [examples, d]
    owners: np.ndarray  # int64 [examples], each example's class

    def scores(self, vectors: np.ndarray) -> np.ndarray:
        """The best cosine for each class, float32 [questions, classes]."""
        similarities = vectors @ self.vectors.T  # [questions, examples]
        best = [similarities[:, self.owners == i].max(axis=1) for i in range(len(self.classes))]
        return np.stack(best, axis=1) if best else np.zeros((len(vectors), 0), np.float32)


class OneShotClassifier:
    """Classes of questions, each given by one or a few examples; nothing is trained.

    A question belongs to the class of the example most similar to it, or to none where even that one
    is not similar enough.

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
        # Replaced as one, so that a reader in another thread never sees half of a change.
        size = detector.tower.output_size
        self._state = _Examples((), np.zeros((0, size), np.float32), np.zeros(0, np.int64))
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        names, vectors, _ = self._state
        threshold = f"threshold {self.threshold:.3f}"
        return f"OneShotClassifier({len(names)} classes, {len(vectors)} examples, {threshold})"

    @property
    def classes(self) -> tuple:
        """The classes' labels, in the order of their first examples."""
        return self._state.classes

    def fit(self, examples: Sequence[str], labels: Sequence[Hashable]) -> OneShotClassifier:
        """Takes one or a few examples a class, in place of all that was known before.

        Raises:
          ArgumentError: another number of labels than of examples, or None as a label.
          DataError: an example without words, or that is not text.
        """
        if isinstance(examples, str) or len(examples) != len(labels):
            raise ArgumentError("fit takes a list of examples and as many labels.")
        found = self._examples(examples, labels, ())
        with self._lock:
            self._state = found
        return self

    def add_class(self, label: Hashable, examples: str | Sequence[str]) -> None:
        """Adds a class, or more examples to one that is known; nothing is trained.

        Raises:
          ArgumentError: no examples, or None as the label.
          DataError: an example without words, or that is not text.
        """
        examples = [examples] if isinstance(examples, str) else list(examples)
        if not examples:
            raise ArgumentError(f"The class {label!r} needs at least one example.")
        with self._lock:
            old = self._state
            new = self._examples(examples, [label] * len(examples), old.classes)
            vectors = np.concatenate([old.vectors, new.vectors])
            self._state = _Examples(new.classes, vectors, np.concatenate([old.owners, new.owners]))

    def predict(self, questions: str | Sequence[str], threshold: float | None = None):
        """The class of a question (or of each in a list); None for none of these.

        A question without words, and any question before there are classes, is none of these.
        """
        single = isinstance(questions, str)
        cut = self.threshold if threshold is None else threshold
        state = self._state
        vectors = self.detector.encode([questions] if single else questions)
        answers = []
        for vector, row in zip(vectors, state.scores(vectors)):
            best = int(row.argmax()) if row.size and vector.any() else -1
            answers.append(state.classes[best] if best >= 0 and row[best] > cut else None)
        return answers[0] if single else answers

    def scores(self, questions: str | Sequence[str]) -> np.ndarray:
        """Cosine with the most similar example of each class, float32 [classes], or [n, classes]."""
        if isinstance(questions, str):
            return self.scores([questions])[0]
        return self._state.scores(self.detector.encode(questions))

    def _examples(self, examples: Sequence[str], labels: Sequence, known: tuple) -> _Examples:
        """The encoded examples; new classes come after those that are `known`."""
        if any(label is None for label in labels):
            raise ArgumentError("None cannot be a label: predict answers it for none of these.")
        vectors = self.detector.encode(list(examples))
        empty = np.flatnonzero(~vectors.any(axis=1))
        if len(empty):
            raise DataError(f"Example {empty[0]} has no words: {examples[empty[0]]!r:.40}.")
        names = tuple(dict.fromkeys([*known, *labels]))
        owners = np.array([names.index(label) for label in labels], np.int64)
        return _Examples(names, vectors, owners)
