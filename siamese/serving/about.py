"""What the page says of an index before anything is asked: its threshold, and three questions to try."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from siamese import __version__
from siamese.index import QuestionIndex
from siamese.system.open_types import JsonObject
from siamese.text.cleaning import has_words
from siamese.text.columns import normal_name, read_spec
from siamese.text.display import NO_LABELS
from siamese.text.language import spread

NOTE = f"{NO_LABELS[:-1]}; answers about pairs fit it to yours."


class Floors(NamedTuple):
    """Cosines below which fewer than 1 in 20 first hits of a search are right."""

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
MOST_COLUMNS = 5  # to which a search can be limited on the page
MOST_VALUES = 30  # of such a column
REPEATED = 3  # questions for each value, in the mean
LONGEST_VALUE = 60  # characters


def about(index: QuestionIndex, read_only: bool) -> JsonObject:
    """The size of an index, its threshold, and how its hits are shown."""
    detector = index.detector
    languages = index.facts.languages
    is_fitted = detector.threshold_from != "default"
    return {
        "version": __version__,
        "questions": len(index),
        "threshold": detector.threshold,
        "measure": detector.decision.measure,
        "note": "" if is_fitted else NOTE,
        "is_fitted": is_fitted,
        "joined": joined_columns(index),
        "languages": list(languages.shares) if languages else [],
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
    """What a search of an index can be tried with, chosen again when it has changed."""

    def __init__(self, index: QuestionIndex):
        self.index = index
        self.moment: object = None  # that of `chosen`
        self.chosen: JsonObject = {}

    def now(self) -> JsonObject:
        """Questions of the index as it is now, and the values of columns."""
        moment = self.index.facts.moment
        if self.moment is None or self.moment is not moment:
            snapshot = self.index.snapshot()
            entries = snapshot.entries
            joined = {normal_name(name) for name in joined_columns(self.index)[:1]}
            texts = [title_of(entry, joined) for entry in entries]
            values = column_values([entry["columns"] for entry in entries])
            self.chosen = {
                "questions": examples(texts, snapshot.vectors),
                "values": values,
            }
            self.moment = moment
        return self.chosen


def joined_columns(index: QuestionIndex) -> list[str]:
    """The columns that make a question, where the index says so."""
    compared = index.facts.reading.get("compared")
    return read_spec(compared).columns if compared else []


def title_of(entry: JsonObject, titles: set[str]) -> str:
    """The column of such a name, in its normal form; else the question."""
    for name, value in entry["columns"].items():
        if normal_name(name) in titles and isinstance(value, str) and has_words(value):
            return value
    return entry["question"]


def column_values(rows: list[JsonObject]) -> dict[str, list[str]]:
    """The columns with few values that repeat, and these, sorted: a search can be limited to one."""
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        for name, value in row.items():
            cell = str(value).strip()
            if isinstance(value, (str, int, float)) and cell:
                counts.setdefault(name, Counter())[cell] += 1
    chosen = {
        name: sorted(own)
        for name, own in counts.items()
        if 2 <= len(own) <= MOST_VALUES
        and own.total() >= REPEATED * len(own)
        and max(map(len, own)) <= LONGEST_VALUE
    }
    return dict(list(chosen.items())[:MOST_COLUMNS])


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
