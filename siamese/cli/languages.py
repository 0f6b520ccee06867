"""What the commands say about the languages of a list."""

from __future__ import annotations

from collections.abc import Sequence

from siamese.encoders.languages import KNOWN, unknown_languages
from siamese.index import QuestionIndex
from siamese.model.detector import DuplicateDetector
from siamese.text.language import ENGLISH, LANGUAGES, list_languages

LOOKED_AT = 1_000  # questions of an index, by which its language is told
MULTILINGUAL = "--model NAME, a multilingual model of sentence-transformers"


def about_languages(detector: DuplicateDetector, questions: Sequence[str]) -> list[str]:
    """A line for each language, from 5 % of a list on, that the model or a part of it does not know."""
    lines = []
    for unknown in unknown_languages(questions, detector.encoder.name):
        other = "--model use" if unknown.language in KNOWN["use"] else MULTILINGUAL
        lines.append(f"{unknown}. Another encoder: {other}.")
    return lines


def about_stems(index: QuestionIndex) -> list[str]:
    """A line where words of another language are found as if they were English."""
    if index.languages is not None:
        return []
    texts = [entry["question"] for entry in index.entries[:LOOKED_AT]]
    main = list_languages(texts).main
    if main == ENGLISH:
        return []
    return [
        f"Its words are stemmed as English ones, and the questions look {LANGUAGES[main]}; "
        "made again, the index takes their own stems."
    ]
