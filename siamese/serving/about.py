"""What the page says of an index before anything is asked: its threshold, and three questions to try."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from siamese import __version__
from siamese.index import QuestionIndex
from siamese.reading.columns import read_spec
from siamese.text.display import NO_LABELS
from siamese.text.language import spread

NOTE = f"{NO_LABELS[:-1]}; answers about pairs fit it to yours."


class Floors(NamedTuple):
    """Cosines below which about 1 in 20 first hits of a search is right."""

    few_words: float  # of a question of fewer than `WHOLE` words
    whole: float


WHOLE = 6
# Chosen on benchmarks/results/first_hits.md. Other encoders have none.
FLOORS = {"use": Floors(0.25, 0.4)}
TRIED = 300  # questions among which the examples are chosen
COMPARED = 20_000  # questions with which they are compared
LENGTHS = (15, 90)  # characters of an example
COPY = 0.95  # the cosine from which two questions are about the same text
RELATED = 0.5  # no two examples have more


def about(index: QuestionIndex, read_only: bool) -> dict[str, Any]:
    """The size of an index, its threshold, and how its hits are shown."""
    detector = index.detector
    compared = index.reading.get("compared")
    languages = index.languages
    is_fitted = detector.threshold_from != "default"
    return {
        "version": __version__,
        "questions": len(index),
        "threshold": detector.threshold,
        "measure": detector.decision.measure,
        "note": "" if is_fitted else NOTE,
        "is_fitted": is_fitted,
        "joined": read_spec(compared).columns if compared else [],
        "language": languages.main if languages else "",
        "read_only": read_only,
    }


def floor_of(question: str, encoder: str, mode: str) -> float | None:
    """The cosine below which no hit of a question is similar; None where that is not known.

    What is found by shared words alone may well have a small cosine.
    """
    floors = FLOORS.get(encoder)
    if floors is None or mode == "words":
        return None
    return floors.whole if len(question.split()) >= WHOLE else floors.few_words


class Examples:
    """Three questions of an index to try a search with, chosen again when it has changed."""

    def __init__(self, index: QuestionIndex):
        self.index = index
        self.vectors: Any = None  # those that `chosen` is of
        self.chosen: list[str] = []

    def now(self) -> list[str]:
        """The examples of the index as it is now."""
        if self.vectors is None or self.vectors is not self.index.vectors:
            entries, vectors, *_ = self.index.snapshot()
            texts = [entry["question"] for entry in entries]
            self.chosen = examples(texts, vectors)
            self.vectors = vectors
        return self.chosen


def examples(texts: list[str], vectors: np.ndarray, count: int = 3) -> list[str]:
    """Questions to try a search with: short ones to which others are similar, and not each other.

    `vectors`, float32 [questions, d], are those of the texts.
    """
    low, high = LENGTHS
    short = [
        at
        for at, text in enumerate(texts)
        if low <= len(text) <= high and text.isprintable()
    ]
    tried = [short[at] for at in spread(len(short), TRIED)]
    others = list(spread(len(texts), COMPARED))
    cosines = vectors[tried] @ vectors[others].T  # [tried, others]
    cosines[cosines >= COPY] = -1  # with itself, too
    nearest = cosines.max(axis=1, initial=-1)
    chosen: list[int] = []
    for place in np.argsort(-nearest, kind="stable").tolist():
        own = vectors[tried[place]]
        if len(chosen) < count and (vectors[chosen] @ own <= RELATED).all():
            chosen.append(tried[place])
    return [texts[at] for at in chosen]
