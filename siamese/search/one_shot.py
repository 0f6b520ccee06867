"""OneShotClassifier: a class learnt from one example, because only a similarity is needed."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

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
        _refuse_none(labels)
        names = tuple(dict.fromkeys(labels))
        vectors = self._encoded(examples)
        owners = np.array([names.index(label) for label in labels], np.int64)
        with self._lock:
            self._state = _Examples(names, vectors, owners)
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
        _refuse_none([label])
        found = self._encoded(examples)
        with self._lock:
            names, vectors, owners = self._state
            names = names if label in names else (*names, label)
            added = np.full(len(examples), names.index(label), np.int64)
            self._state = _Examples(
                names, np.concatenate([vectors, found]), np.concatenate([owners, added])
            )

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

    def _encoded(self, examples: Sequence[str]) -> np.ndarray:
        vectors = self.detector.encode(examples)
        empty = np.flatnonzero(~vectors.any(axis=1))
        if len(empty):
            raise DataError(f"Example {empty[0]} has no words: {examples[empty[0]]!r:.40}.")
        return vectors


def _refuse_none(labels: Sequence[Any]) -> None:
    if any(label is None for label in labels):
        raise ArgumentError("None cannot be a label: predict answers it for none of these.")


class OneShotAccuracy(NamedTuple):
    """Mean accuracy over the drawn example sets, and its standard deviation."""

    examples: int
    model: float
    model_std: float
    tfidf: float
    tfidf_std: float
    classes: int
    questions: int


def evaluate_one_shot(
    detector: DuplicateDetector,
    questions: Sequence[str],
    labels: Sequence[Hashable],
    *,
    examples: Sequence[int] = (1, 3, 5),
    repeats: int = 20,
    seed: int = 34,
) -> list[OneShotAccuracy]:
    """Accuracy with few examples a class, beside a TF-IDF nearest neighbour on the same examples.

    Args:
      detector: the model.
      questions: texts, all different.
      labels: the class of each.
      examples: how many examples a class to try; classes with too few questions are left out of all.
      repeats: how often the examples are drawn anew; the others are classified.
      seed: of the draws.

    Returns:
      A row for each of `examples`; every question gets a class (no threshold).

    Raises:
      ArgumentError: fewer than two classes with more questions than `examples`.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    if len(questions) != len(labels):
        raise ArgumentError(f"{len(questions)} questions and {len(labels)} labels.")
    names = {name: i for i, name in enumerate(sorted(set(labels), key=str))}
    owners = np.array([names[label] for label in labels], np.int64)
    members = [np.flatnonzero(owners == i) for i in range(len(names))]
    members = [rows for rows in members if len(rows) > max(examples)]
    if len(members) < 2:
        raise ArgumentError(f"Fewer than two classes have more than {max(examples)} questions.")
    used = np.sort(np.concatenate(members))
    vectors = detector.encode(questions)
    # TF-IDF learns its word weights from all the texts, without labels: in its favour.
    words = TfidfVectorizer(sublinear_tf=True).fit([questions[i] for i in used])
    words = words.transform(questions)
    rng = np.random.default_rng(seed)

    def accuracies(count: int) -> list[float]:
        """Of the model and of TF-IDF, with `count` examples a class drawn anew."""
        shots = np.concatenate([rng.choice(group, count, replace=False) for group in members])
        rest = np.setdiff1d(used, shots)
        products = vectors[rest] @ vectors[shots].T, (words[rest] @ words[shots].T).toarray()
        nearest = (shots[scores.argmax(axis=1)] for scores in products)
        return [float((owners[found] == owners[rest]).mean()) for found in nearest]

    rows = []
    for count in examples:
        model, tfidf = zip(*(accuracies(count) for _ in range(repeats)))
        figures = map(float, (np.mean(model), np.std(model), np.mean(tfidf), np.std(tfidf)))
        rows.append(OneShotAccuracy(count, *figures, len(members), len(used)))
    return rows
