"""Text without differences that say nothing: quotes, blanks, compatibility characters, case."""

from __future__ import annotations

import html
import unicodedata

_STRAIGHT = str.maketrans("‘’“”", "''\"\"")


def plain(text: str) -> str:
    """Text with compatibility characters resolved (NFKC), straight quotes, and single blanks."""
    return " ".join(unicodedata.normalize("NFKC", text).translate(_STRAIGHT).split())


def folded(text: str) -> str:
    """Text without differences of case, blanks, quotes and compatibility characters.

    Example:
      >>> folded("What’s  the “Ｑ”?")
      'what\\'s the "q"?'
    """
    return plain(text).casefold()


def fold(text: str) -> str:
    """Text as static vectors know it: HTML entities resolved, NFKC, straight quotes, lower case.

    Example:
      >>> fold("What’s  the &quot;Ｑ&quot;?")
      'what\\'s the "q"?'
    """
    # Half a surrogate pair has no UTF-8, which a tokenizer works on.
    return plain(html.unescape(text)).lower().encode("utf-8", "replace").decode()
