"""Text without differences that say nothing: quotes, blanks, compatibility characters, case."""

from __future__ import annotations

import unicodedata

_STRAIGHT = str.maketrans("‘’“”", "''\"\"")


def folded(text: str) -> str:
    """Text without differences of case, blanks, quotes and compatibility characters (NFKC).

    Example:
      >>> folded("What’s  the “Ｑ”?")
      'what\\'s the "q"?'
    """
    straight = unicodedata.normalize("NFKC", text).translate(_STRAIGHT)
    return " ".join(straight.split()).casefold()
