"""Text cleaned of markup and invisible characters, and folded: Unicode forms, quotes, blanks, case."""

from __future__ import annotations

import html
import re
import unicodedata

# Controls, soft hyphens, joiners, marks of direction, fillers, variation selectors, byte order marks, tags.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_INLINE = "a|abbr|b|code|del|em|font|i|ins|kbd|q|s|small|span|strike|strong|sub|sup|tt|u"
_BLOCK = "blockquote|br|center|dd|div|dl|dt|h[1-6]|hr|img|li|ol|p|pre|table|tbody|td|th|thead|tr|ul"
_INLINE_TAG = re.compile(rf"</?(?:{_INLINE})(?:\s[^<>]*)?/?>", re.IGNORECASE)
_BLOCK_TAG = re.compile(rf"\s*</?(?:{_BLOCK})(?:\s[^<>]*)?/?>\s*", re.IGNORECASE)
# Markup has an end tag, a tag of a block at the start, or a break after a word. A question about a tag,
# "what is <br> for?", has none of these.
_MARKUP = re.compile(
    rf"</(?:{_INLINE}|{_BLOCK})\s*>|^\s*<(?:{_BLOCK})(?:\s[^<>]*)?>|(?<=\S)<br\s*/?>|<br\s*/>",
    re.IGNORECASE,
)
_WHOM = "all|community|dear|everybody|everyone|experts?|folks|friends?|guys|madam|sir|support|team|there"
_GREETING = re.compile(
    r"\s*(?:(?:hi|hiya|hello|hey|dear|greetings|good (?:morning|afternoon|evening|day))"
    rf"(?: (?:{_WHOM}|and|or))*\s*[,.!:]+(?:\s+|$))+",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"(?<=[.?!])\s*(?:(?:(?:many |kind |best )?(?:thanks|thank you|thx|cheers|regards|greetings)"
    r"(?: in advance| a lot| so much| very much|,[^.?!\n]{0,30})?|please help(?: me| us)?"
    r"|any help (?:is|would be) (?:much )?(?:appreciated|great|welcome))\s*(?:[.!]+\s*|$))+$",
    re.IGNORECASE,
)
_LONGEST_THANKS = 100  # characters
_STRAIGHT = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′´`ʼ", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
    }
)


def cleaned(text: str) -> str:
    """Text without invisible characters, HTML tags and entities, composed (NFC); letters and case stay.

    Three words or more in capitals alone become a sentence: an encoder takes them for other words.

    Example:
      >>> cleaned("<p>pass\\u00adword &amp; <b>name</b></p>").split()
      ['password', '&', 'name']
      >>> cleaned("What is <br> for, and is a < b?")
      'What is <br> for, and is a < b?'
    """
    if "<" in text and _MARKUP.search(text):
        text = _BLOCK_TAG.sub(" ", _INLINE_TAG.sub("", text)).strip()
    if "&" in text:
        text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
    if text.isupper() and len(text.split()) > 2:
        text = text.capitalize()
    if text.isprintable() and text.isascii():
        return text
    return unicodedata.normalize("NFC", _INVISIBLE.sub("", text))


def without_greeting(text: str) -> str:
    """Text without an English greeting before it and thanks after it; a text of these alone stays.

    Example:
      >>> without_greeting("Hi all, how do I reset my password? Thanks in advance!")
      'How do I reset my password?'
    """
    greeting = _GREETING.match(text)
    rest = text[greeting.end() :] if greeting else text
    thanks = _THANKS.search(rest, max(0, len(rest) - _LONGEST_THANKS))
    rest = rest[: thanks.start()] if thanks else rest
    is_thanks = _THANKS.match(f".{rest}", 1)  # and nothing else
    if rest == text or is_thanks or not any(map(str.isalnum, rest)):
        return text
    return rest[0].upper() + rest[1:] if text[0].isupper() else rest


def folded(text: str) -> str:
    """Cleaned text without differences of case, blanks, quotes, dashes, compatibility characters (NFKC)."""
    text = cleaned(text)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(_STRAIGHT)).translate(_STRAIGHT)
    return " ".join(text.split()).casefold().replace("`", "'")
