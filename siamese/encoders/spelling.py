"""Slips of the pen in words: one wrong letter, set right where hardly another word can be meant.

An encoder reads a misspelt word as the pieces of other words. The pieces' scores are
logarithms of how often they occur, so a word of many rare pieces is improbable, and a
word that is one piece is known. A word that is not known becomes the most probable
known word that is one slip away, where that is much more probable (a noisy channel:
Kernighan, Church and Gale, 1990). In a word with a capital, which may be a name, only
swapped letters are set right; words of fewer than 5 or more than 25 letters stay.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from string import ascii_lowercase
from typing import TYPE_CHECKING

from siamese.text.language import is_plainly_foreign

if TYPE_CHECKING:
    from siamese.encoders.use import Pieces

# How much more probable the other word must be, as a logarithm: after two neighbouring
# letters that changed places, and after a letter too few, too many or another. Chosen
# by reading the words that it changes in 28,000 questions (docs/topics/decisions.md).
SWAPPED = 10.0
OTHER = 14.0
# A word between blanks and marks: no part of a name, an address, a number or a word
# with a hyphen.
_WORD = re.compile(
    r"(?<![\w'’&./@#-])(?:[A-Z][a-z]{4,24}|[a-z]{5,25})(?![\w'’@/;-]|\.\w)"
)
_CACHED = 100_000  # words
MOST_WORDS = 1_000  # of a text; a word that is not known takes nearly a millisecond


class Spelling:
    """The spelling of the words that are pieces of a vocabulary.

    Example:
      >>> from siamese.encoders import find_encoder
      >>> find_encoder("use").respelled("What is diffrent, and what did you recieve?")
      'What is different, and what did you receive?'
    """

    def __init__(self, pieces: Pieces):
        self._pieces = pieces
        self._word = functools.lru_cache(_CACHED)(self._of_word)

    def __call__(self, text: str) -> str:
        """The text with the slips in its first `MOST_WORDS` words set right.

        A text that is plainly in another language than English stays: the pieces know
        few of the forms that its words take.
        """
        right = _WORD.sub(lambda word: self._word(word[0]), text, count=MOST_WORDS)
        return text if right != text and is_plainly_foreign(text) else right

    @functools.cached_property
    def _known(self) -> dict[str, float]:
        """Each known word in small letters, and its score."""
        known: dict[str, float] = {}
        for word, score in self._pieces.words():
            if word.isascii() and word.isalpha():
                known[word.lower()] = max(score, known.get(word.lower(), score))
        return known

    def _of_word(self, word: str) -> str:
        small = word.lower()
        pieces = self._pieces
        if f"▁{word}" in pieces or f"▁{small}" in pieces or small in self._known:
            return word
        candidates = [(swapped(small), SWAPPED)]
        if word == small:
            candidates.append((one_letter_away(small), OTHER))
        gain, best = max(
            (self._known.get(other, float("-inf")) - least, other)
            for others, least in candidates
            for other in others
        )
        if gain <= max(pieces.score(word), pieces.score(small)):
            return word
        return best if word == small else best.title()


def swapped(word: str) -> Iterator[str]:
    """The word with two neighbouring letters in each other's place."""
    for i in range(len(word) - 1):
        yield word[:i] + word[i + 1] + word[i] + word[i + 2 :]


def one_letter_away(word: str) -> Iterator[str]:
    """The word with a letter less, more or another."""
    for i in range(len(word) + 1):
        if i < len(word):
            yield word[:i] + word[i + 1 :]
        for letter in ascii_lowercase:
            yield word[:i] + letter + word[i:]
            yield word[:i] + letter + word[i + 1 :]
