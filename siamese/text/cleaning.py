"""Text cleaned of markup and invisible characters, and folded: Unicode forms, quotes, blanks, case."""

from __future__ import annotations

import functools
import html
import re
import unicodedata
from collections import defaultdict
from itertools import chain
from typing import Literal

# characters of a text with its tags; no model reads those after them
LONGEST_TEXT = 1 << 18

# These patterns meet the texts of strangers, so their time must grow with the text's
# length alone. Where two repetitions could share characters, the first is possessive
# (*+, ++, ?+), and a tag ends before the next "<". Tags have patterns, too: of five
# parsers four take quadratic time, and all of them read the "List<String>" of a post as
# a tag (docs/topics/decisions.md).

# Colours of a terminal, controls, soft hyphens, joiners, directions, fillers,
# variations, marks, tags.
_INVISIBLE = re.compile(
    "\x1b\\[[\\d;]*+[A-Za-z]|[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffc\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# as Word and Excel break lines: a blank
_BREAK = re.compile("[\x0b\x1c-\x1f\x85\u2800]|_x000D_")
_ENTITY = re.compile(
    r"&(?:amp;)*(#\d{1,7};|#[xX][0-9a-fA-F]{1,6};|[a-zA-Z][a-zA-Z0-9]{1,31};)"
)
_INLINE = "a|abbr|b|big|cite|code|del|em|font|i|ins|kbd|mark|q|s|small|span|strike|strong|sub|sup|tt|u|wbr"
_BLOCK = (
    "article|aside|blockquote|body|br|center|dd|details|div|dl|dt|figure|footer|h[1-6]|head|header|hr|html|"
    "img|li|main|nav|o:p|ol|p|pre|section|summary|svg|table|tbody|td|tfoot|th|thead|tr|ul"
)
# Of a whole page or mail; alone they are no markup.
_OF_PAGE = (
    "base|button|caption|col|colgroup|fieldset|form|input|label|legend|link|meta|title|xml"
    r"|[ovw]:\w+"
)
# Up to the tag's end: ">" in the quotes of a value is none.
_ATTRIBUTES = r"""(?:\s(?:[^<>=]++|=\s*+(?:"[^"<]*+"|'[^'<]*+')|=)*+)?+/?>"""
_INLINE_TAG = re.compile(  # A page's head or style sheet goes with its text.
    r"(?is)(?:\A|(?<=>))\s*+<(head|script|style)\b(?:(?!<\1\b).)*?</\1\s*+>"
    rf"|</?(?:{_INLINE}){_ATTRIBUTES}|<!--(?:(?!<!--).)*?-->"
    r"|<(?:!doctype|\?xml|!\[)\b[^<>]*+>"
)
_BLOCK_TAG = re.compile(rf"</?(?:{_BLOCK}|{_OF_PAGE}){_ATTRIBUTES}", re.IGNORECASE)
# Markup has an end tag, a tag of a block at the start, a break after a word, an
# attribute before a word, or a comment that has words or touches some. A question about
# a tag, "what is <br> for?", has none of these.
_MARKUP = re.compile(
    rf"</(?:{_INLINE}|{_BLOCK}|script|style)\s*+>"
    rf"|\A\s*+<(?:{_BLOCK})(?:\s[^<>]*+)?+>"
    r"|(?<=\S)<w?br\s*+/?>|<br\s*+/>"
    rf"|<(?:{_INLINE}|{_BLOCK})\s++[\w-]++\s*+=[^<>]*+>(?=\S)"
    r"|<!--\s*+[^\s-]|(?<=\S)<!--",
    re.IGNORECASE,
)
Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
_MANY = 30  # accents of one letter; no language writes so many
# What has none has no such run.
_FOREIGN = re.compile(f"[^\x00-\u02ff\u2000-\u206f]{{{_MANY}}}")
_SHORT = 1_000  # characters, of which it does not matter how many are accents
_STRAIGHT = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′´ʼ‹›", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
    }
)


def cleaned(text: str, most: int = LONGEST_TEXT) -> str:
    """Text without invisible characters, HTML tags and entities, composed (NFC); letters and case stay.

    Three words in capitals alone, or a long one, become a sentence: an encoder takes
    them for other words. Of a longer text the first `most` characters count.
    """
    if len(text) > most:
        text = beginning(text, most)
    whole = text
    if "<" in text:
        text = _without_tags(text)
    if "&" in text:
        is_escaped = text is whole  # Its tags may be entities, such as &lt;p&gt;.
        text = _ENTITY.sub(lambda entity: html.unescape(f"&{entity[1]}"), text)
        text = _without_tags(text) if is_escaped else text
    if text.isupper() and (len(text.split()) > 2 or max(map(len, text.split())) > 5):
        text = text.capitalize()
    if text.isascii() and (text.isprintable() or _is_seen(text)):
        return text
    return normalized(_INVISIBLE.sub("", _BREAK.sub(" ", text)), "NFC")


def _is_seen(text: str) -> bool:
    """Whether a text of ASCII has no characters that `cleaned` takes out, or puts blanks for."""
    printable = (
        text.replace("\n", " ").replace("\r", " ").replace("\t", " ").isprintable()
    )
    return printable and "_x000D_" not in text


def beginning(text: str, most: int = LONGEST_TEXT) -> str:
    """The first `most` characters, without a tag that would be cut in two."""
    if len(text) <= most:
        return text
    text = text.lstrip()[:most]
    last_tag = text.rfind("<")
    is_open = last_tag > text.rfind(">") and _MARKUP.search(text)
    return text[:last_tag] if is_open else text


def _without_tags(text: str) -> str:
    if "<" in text and _MARKUP.search(text):
        parts = _BLOCK_TAG.split(_INLINE_TAG.sub("", text))
        return " ".join(map(str.strip, parts)).strip()
    return text


def normalized(text: str, form: Form) -> str:
    """`unicodedata.normalize` of a text to NFC or NFKC, in linear time.

    Python sorts the accents of one letter by insertion: 80,000 of them take ten
    seconds. Here a long run of accents is in order before Python sees it.
    """
    if len(text) > _SHORT and not text.isascii() and _FOREIGN.search(text):
        apart: Form = "NFD" if form == "NFC" else "NFKD"
        text = _long_run(apart).sub(lambda run: _in_order(run[0], apart), text)
    return unicodedata.normalize(form, text)


@functools.cache
def _long_run(form: Form) -> re.Pattern[str]:
    """A long run of characters that are accents, or decompose into accents."""
    # All of them are among these.
    accents = (
        chr(code) for code in range(0x300, 0x20000) if _class_in(chr(code), form)
    )
    return re.compile(f"[{''.join(accents)}]{{{_MANY},}}+")


def _class_in(character: str, form: Form) -> int:
    """The combining class of a character, or of the first one of its decomposition."""
    if unicodedata.decomposition(character):
        character = unicodedata.normalize(form, character)[0]
    return unicodedata.combining(character)


def _in_order(accents: str, form: Form) -> str:
    """Accents decomposed and sorted by class; those of one class keep their order."""
    by_class = defaultdict(list)
    for accent in accents:
        for part in unicodedata.normalize(form, accent):
            by_class[unicodedata.combining(part)].append(part)
    return "".join(chain.from_iterable(by_class[number] for number in sorted(by_class)))


def has_words(text: str) -> bool:
    """Whether a text has a letter or a digit."""
    return any(map(str.isalnum, text))


def straightened(text: str) -> str:
    """Text with straight quotes and plain hyphens for curly quotes, primes and dashes."""
    return text if text.isascii() else text.translate(_STRAIGHT)


def folded(text: str) -> str:
    """Cleaned text without differences of case, blanks, quotes, dashes, compatibility characters (NFKC).

    What follows the first `LONGEST_TEXT` characters stays as it is.
    """
    if len(text) > LONGEST_TEXT:
        return folded(text[:LONGEST_TEXT]) + text[LONGEST_TEXT:]
    text = cleaned(text)
    if not text.isascii():
        text = normalized(text.translate(_STRAIGHT), "NFKC").translate(_STRAIGHT)
    return " ".join(text.split()).casefold().replace("`", "'")


def folded_phrase(text: str) -> str:
    """A phrase of a mail as it is compared: differences of case, blanks and apostrophes go, "ss" is "ß"."""
    text = text.casefold().replace("’", "'").replace("ß", "ss")
    return " ".join(text.replace("i̇", "i").split())  # "İ" is "i" with a dot
