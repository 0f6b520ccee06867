"""The stems by which questions are found, each text's by the language it is in.

A stem of another language than English begins with the language and a colon
("de:rechnung"), so that how rare it is is counted within its language. A question that
is asked is looked up by the stems of every language that the list has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import repeat

import numpy as np

from siamese.text.cleaning import LONGEST_TEXT, folded
from siamese.text.language import (
    ENGLISH,
    LANGUAGES,
    SURE,
    SURE_LETTERS,
    ListLanguages,
    language_of,
    letters,
    text_languages,
)

# The number of each language; English has 0.
NUMBERS = {code: number for number, code in enumerate(LANGUAGES)}
UNSURE = -1
ONLY_ENGLISH = ListLanguages(ENGLISH, {ENGLISH: 1.0})

# Snowball's algorithms. The others have no forms of words to take off, or no blanks
# between words: their words are pairs of neighbouring characters.
ALGORITHMS = {
    "ar": "arabic",
    "de": "german",
    "en": "english",
    "es": "spanish",
    "fr": "french",
    "id": "indonesian",
    "it": "italian",
    "nl": "dutch",
    "pl": "polish",
    "pt": "portuguese",
    "ru": "russian",
    "tr": "turkish",
    "cs": "czech",
    "da": "danish",
    "el": "greek",
    "fa": "persian",
    "fi": "finnish",
    "hi": "hindi",
    "hu": "hungarian",
    "no": "norwegian",
    "ro": "romanian",
    "sv": "swedish",
}
WITHOUT_BLANKS = frozenset(("ja", "ko", "th", "zh"))

_WORD = re.compile(r"\w+")
_UNSPACED = re.compile(
    "[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]+"
)


def stems_in(texts: Iterable[str], language: str = ENGLISH) -> list[list[str]]:
    """The stems of folded texts of one language, in order.

    Example:
      >>> stems_in(["which cities' parks?"])
      [['which', 'citi', 'park']]
      >>> stems_in(["alte rechnungen"], "de"), stems_in(["火车站"], "zh")
      ([['de:alt', 'de:rechnung']], [['zh:火车', 'zh:车站']])
    """
    import Stemmer  # Not at the top: only searches by words need it.

    rows = list(map(_WORD.findall, texts, repeat(0), repeat(LONGEST_TEXT)))
    if language in WITHOUT_BLANKS:
        rows = [[part for word in row for part in _pairs(word)] for row in rows]
    words = list({word for row in rows for word in row})
    stems = words
    if algorithm := ALGORITHMS.get(language):
        # A stemmer of its own, since it holds the word it works on.
        stems = Stemmer.Stemmer(algorithm).stemWords(words)
    if language != ENGLISH:
        stems = [f"{language}:{stem}" for stem in stems]
    stem_of = dict(zip(words, stems))
    return [[stem_of[word] for word in row] for row in rows]


def _pairs(word: str) -> list[str]:
    """The pairs of neighbouring characters of a script without blanks; of others the word."""
    parts: list[str] = []
    end = 0
    for run in _UNSPACED.finditer(word):
        parts += [word[end : run.start()]] if run.start() > end else []
        whole = run[0]
        parts += [whole[at : at + 2] for at in range(max(1, len(whole) - 1))]
        end = run.end()
    return [*parts, word[end:]] if end < len(word) else parts


def words_in(text: str) -> list[str]:
    """The stems of a text in English, folded, in order.

    Example:
      >>> words_in("Which cities' parks?")
      ['which', 'citi', 'park']
    """
    return stems_in([folded(text)])[0]


def stems_of(
    texts: Sequence[str], folded_texts: Sequence[str], languages: ListLanguages
) -> tuple[list[list[str]], np.ndarray]:
    """The stems of a list's texts, each of its own language, and the number of that, int8 [texts]."""
    stems: list[list[str]] = [[] for _ in texts]
    codes = text_languages(texts, languages)
    for code in dict.fromkeys(codes):
        places = [place for place, own in enumerate(codes) if own == code]
        of_code = stems_in([folded_texts[place] for place in places], code)
        for place, own in zip(places, of_code):
            stems[place] = own
    return stems, np.array([NUMBERS[code] for code in codes], np.int8)


def asked_stems(text: str, languages: ListLanguages) -> tuple[list[str], int]:
    """The stems of a question by every language of a list, and the number of its language.

    The number is `UNSURE` where the language is not sure, and where the list has one alone.
    """
    own = folded(text)
    stems = [s for code in languages.shares for s in stems_in([own], code)[0]]
    if len(languages.shares) < 2 or letters(text) < SURE_LETTERS:
        return stems, UNSURE
    code, probability = language_of(text)
    return stems, NUMBERS[code] if probability >= SURE else UNSURE
