"""Text without what nobody sees or means: markup, invisible characters, Unicode forms, quotes, case."""

from __future__ import annotations

import html
import re
import unicodedata

# Soft hyphens, joiners, marks of direction, fillers, variation selectors, byte order marks, tags: a regular
# expression's ranges. They change no letter.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_NAMES = (
    "a|abbr|b|blockquote|br|center|code|dd|del|div|dl|dt|em|font|h[1-6]|hr|i|img|ins|kbd|li|ol|p|pre|q|s|"
    "small|span|strike|strong|sub|sup|table|tbody|td|th|thead|tr|tt|u|ul"
)
_TAG = re.compile(rf"</?(?:{_NAMES})(?:\s[^<>]*)?/?>", re.IGNORECASE)
# Markup has an end tag, or a break after a word; a question about a tag, "what is <br> for?", has neither.
_MARKUP = re.compile(rf"</(?:{_NAMES})\s*>|(?<=\S)<br\s*/?>|<br\s*/>", re.IGNORECASE)
_STRAIGHT = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′´`ʼ", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
    }
)


def cleaned(text: str) -> str:
    """Text without invisible characters, HTML tags and entities; letters and case stay.

    Example:
      >>> cleaned("<p>pass\\u00adword &amp; <b>name</b></p>").split()
      ['password', '&', 'name']
      >>> cleaned("What is <br> for, and is a < b?")
      'What is <br> for, and is a < b?'
    """
    if "<" in text and _MARKUP.search(text):
        text = _TAG.sub(" ", text).strip()
    if "&" in text:
        text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
    return text if text.isascii() else _INVISIBLE.sub("", text)


def folded(text: str) -> str:
    """Cleaned text without differences of case, blanks, quotes, dashes and compatibility characters (NFKC).

    Example:
      >>> folded("What’s  the “Ｑ”?")
      'what\\'s the "q"?'
    """
    text = cleaned(text)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_STRAIGHT)
    return " ".join(text.split()).casefold().replace("`", "'")
