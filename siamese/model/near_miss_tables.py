"""Which table of words a text is compared by."""

from __future__ import annotations

import functools
import re

from siamese.model.near_miss_languages import LANGUAGES
from siamese.text.cleaning import straightened

_WORD = re.compile(r"[^\W\d_]{2,}")
_HAN = re.compile("[\u4e00-\u9fff]")
_KANA = re.compile("[\u3040-\u30ff]")
_LETTERS = {"de": "äöüß", "fr": "çèêàùœ", "es": "¿¡ñ"}
_LETTER = re.compile(f"[{''.join(_LETTERS.values())}]")
LEAST_LITTLE = 2  # words and letters that tell a language
_CACHED = 100_000  # texts and tokens of which it is kept
_SHORT = 500  # characters that are looked at


@functools.cache
def _own_words() -> dict[str, list[str]]:
    """The little words of other languages that English has not, each with its languages."""
    english = LANGUAGES["en"].little
    languages: dict[str, list[str]] = {}
    for code, language in LANGUAGES.items():
        if code != "en" and language.stemmer:
            for word in language.little - english:
                languages.setdefault(word, []).append(code)
    for code, some in _LETTERS.items():
        languages |= {letter: [code] for letter in some}
    return languages


class _Foreign(dict[str, bool]):
    """Whether a token has a word of another language that English has not; what is found is kept."""

    def __missing__(self, token: str) -> bool:
        if len(self) > _CACHED:
            self.clear()
        words = _WORD.findall(straightened(token).lower())
        is_foreign = not _own_words().keys().isdisjoint(words)
        self[token] = is_foreign
        return is_foreign


_FOREIGN = _Foreign()


def may_be_foreign(text: str) -> bool:
    """Whether a text may be in another language than English; told in less time than `table_of`."""
    return not text.isascii() or any(map(_FOREIGN.__getitem__, text.split()))


@functools.lru_cache(_CACHED)
def table_of(text: str) -> str | None:
    """The language of `LANGUAGES` in whose words a text is, None where no word tells it.

    Another language than English is told by at least `LEAST_LITTLE` little words and
    letters that English has not, if the text has fewer words that are English alone.
    """
    text = straightened(text[:_SHORT]).lower()
    words = _WORD.findall(text)
    english = LANGUAGES["en"].little.intersection(words)
    if not text.isascii():
        if _HAN.search(text) and not _KANA.search(text):
            return "zh" if len(english) < LEAST_LITTLE else "en"
        words += set(_LETTER.findall(text))
    own = _own_words()
    found = [code for word in dict.fromkeys(words) if word in own for code in own[word]]
    best = max(dict.fromkeys(found), key=found.count, default="en")
    english -= LANGUAGES[best].little if found else frozenset()
    if len(found) < LEAST_LITTLE and not english:
        return None
    return best if found.count(best) >= max(LEAST_LITTLE, len(english) + 1) else "en"


def common_table(one: str | None, two: str | None) -> str:
    """The language by whose words two texts are compared: English where they are of two."""
    if one is None or two is None or one == two:
        return one or two or "en"
    return "en"
