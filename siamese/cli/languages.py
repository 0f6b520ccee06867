"""What the commands say about the languages of a list."""

from __future__ import annotations

from collections.abc import Sequence

from siamese.encoders.languages import KNOWN, unknown_languages
from siamese.model.detector import DuplicateDetector

MULTILINGUAL = "--model NAME, a multilingual model of sentence-transformers"


def about_languages(detector: DuplicateDetector, questions: Sequence[str]) -> list[str]:
    """A line for each language, from 5 % of a list on, that the model or a part of it does not know."""
    lines = []
    for unknown in unknown_languages(questions, detector.encoder.name):
        other = "--model use" if unknown.language in KNOWN["use"] else MULTILINGUAL
        lines.append(f"{unknown}. Another encoder: {other}.")
    return lines
