"""What the commands say about the languages of a list."""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from siamese.encoders import GET_MINILM, MINILM, MINILM_PACKAGE, USE
from siamese.encoders.joined import Joined
from siamese.encoders.languages import KNOWN, knowing_parts, unknown_languages
from siamese.model.detector import DuplicateDetector
from siamese.text.language import (
    ENGLISH,
    LANGUAGES,
    ListLanguages,
    list_languages,
    spread,
)

if TYPE_CHECKING:
    from siamese.index import QuestionIndex

LOOKED_AT = 1_000  # questions of an index, by which its language is told
# So many times as long as `use` takes `minilm`: 6 on short questions, 13 on tickets
# (docs/tasks/train.md).
TIMES_USE = 10
FEW = 500  # questions, which take less than a minute on any machine
TIMED = 200  # questions of a longer list whose time by `use` is taken
MULTILINGUAL = "--model NAME, a multilingual model of sentence-transformers"


def about_model(
    detector: DuplicateDetector,
    questions: Sequence[str],
    main: str | None,
    asked: str,
) -> list[str]:
    """What is to be said of a model for a list in its languages.

    `main` is its main language where the owner says it, `asked` the name of the model
    that was asked for.
    """
    languages = list_languages(questions, main)
    lines = about_languages(detector, questions, languages, asked)
    return [*lines, *about_minilm(detector, questions, languages)]


def for_languages(
    detector: DuplicateDetector, questions: Sequence[str], main: str | None
) -> DuplicateDetector:
    """An encoder's model without the parts that do not know the languages of a list; others as they are.

    `main` is the main language of the list where the owner says it.
    """
    if detector.threshold_from != "default" or not isinstance(detector.encoder, Joined):
        return detector
    languages = list_languages(questions, main)
    encoder = knowing_parts(detector.encoder, questions, languages)
    if encoder is detector.encoder:
        return detector
    return DuplicateDetector.from_encoder(encoder).with_check(detector.check)


def about_languages(
    detector: DuplicateDetector,
    questions: Sequence[str],
    languages: ListLanguages | None = None,
    asked: str | None = None,
) -> list[str]:
    """A line for each language, from 5 % of a list on, that the model or a part of it does not know.

    Args:
      detector: the model that compares.
      questions: the list.
      languages: those of the list, where they are known.
      asked: the name of the model that was asked for, which may have more parts.
    """
    own = detector.encoder.name
    left_out = set(asked.split("+")) - set(own.split("+")) if asked else set()
    name = "+".join([own, *sorted(left_out & KNOWN.keys())])
    lines = []
    for unknown in unknown_languages(questions, name, languages):
        if unknown.part in left_out:
            lines.append(f"{unknown.text}; `{own}` alone compares these questions.")
            continue
        other = "--model use" if unknown.language in KNOWN["use"] else MULTILINGUAL
        lines.append(f"{unknown}. Another encoder: {other}.")
    return lines


def about_stems(index: QuestionIndex) -> list[str]:
    """A line where words of another language are found as if they were English."""
    if index.facts.languages is not None:
        return []
    texts = [entry["question"] for entry in index.snapshot().entries[:LOOKED_AT]]
    main = list_languages(texts).main
    if main == ENGLISH:
        return []
    return [
        f"Its words are stemmed as English ones, and the questions look {LANGUAGES[main]}; "
        "made again, the index takes their own stems."
    ]


def about_minilm(
    detector: DuplicateDetector, questions: Sequence[str], languages: ListLanguages
) -> list[str]:
    """A line on what `minilm` would take for an English list that `use` compares."""
    if detector.encoder.name != USE or not questions:
        return []
    if not languages.is_english:
        return []
    minutes = 0
    if len(questions) > FEW:
        minutes = round(TIMES_USE * _seconds(detector, questions) / 60)
    takes = "less than a minute"
    if minutes:
        takes = "about a minute" if minutes == 1 else f"about {minutes:,} minutes"
    line = f"On English tickets --model {MINILM} finds more, and takes {takes} here."
    if importlib.util.find_spec(MINILM_PACKAGE) is None:
        line = f"{line} To get it: {GET_MINILM}"
    return [line]


def _seconds(detector: DuplicateDetector, questions: Sequence[str]) -> float:
    """How long a list takes on all cores, by a sample on one."""
    sample = [questions[at] for at in spread(len(questions), TIMED)]
    detector.encode(sample[:1])  # The first time takes longer.
    begun = time.perf_counter()
    detector.encode(sample)
    seconds = time.perf_counter() - begun
    return seconds * len(questions) / len(sample) / (os.cpu_count() or 1)
