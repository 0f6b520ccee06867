"""Slips of the pen between two words: neighbouring letters swapped, or a letter doubled.

A misspelt word and the word meant are one word to the near-miss check, not two that
differ. The encoder `use` sets right the slips that leave hardly another word to mean
(`siamese.encoders.spelling`); here both words are at hand, so the rare ones and names
are found as well.
"""

from __future__ import annotations

import re

from siamese.model.near_miss_words import words_of

FEWEST = 5  # Shorter words have too many others that are one slip away.
_DOUBLED = re.compile(r"(.)\1+")
# Stems of English words that are one slip away from another word.
_OTHER_WORDS = words_of("""
    angel angl brain brian carol casual causal cooper copper desert dessert diari dairi
    diner dinner fiber flour fluor later latter loser looser macro manga magna marina
    marian marit martial median medina quiet quit quot sacr scare salv scarp scrap silver
    sliver slave stain trail trial unit unti
""")


def letters_of(word: str) -> str:
    """The same text for a word and for it with a slip; "" for a word that is not compared."""
    if len(word) < FEWEST or not word.isalpha() or word in _OTHER_WORDS:
        return ""
    single = _DOUBLED.sub(r"\1", word)
    return single[0] + "".join(sorted(single[1:]))


def is_slip(one: str, other: str) -> bool:
    """Whether two different words of the same `letters_of` are one slip away from each other.

    Example:
      >>> is_slip("languag", "lanugag"), is_slip("tomorow", "tomorrow"), is_slip("parent", "pattern")
      (True, True, False)
    """
    if _DOUBLED.sub(r"\1", one) == _DOUBLED.sub(r"\1", other):
        return True
    if len(one) != len(other):
        return False
    differ = [place for place in range(len(one)) if one[place] != other[place]]
    if len(differ) != 2 or differ[1] != differ[0] + 1:
        return False
    first, second = differ
    return one[first] == other[second] and one[second] == other[first]
