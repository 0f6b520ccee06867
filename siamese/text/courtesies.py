"""Greetings, thanks and sign-offs around a question of one line.

"Guten Tag, wie setze ich mein Passwort zurück? Vielen Dank im Voraus!" asks what "Wie
setze ich mein Passwort zurück?" asks. English ones are patterns (`without_greeting`);
those of other languages are the phrases of `COURTESIES` (`without_courtesies`), and
what is left of a question in English is never cut.
"""

from __future__ import annotations

import functools
import re
from itertools import islice

from siamese.text.cleaning import folded_phrase, has_words
from siamese.text.language import is_plain_english
from siamese.text.phrases import COURTESIES, QUESTION_STARTS

# ---- In English, and what programs add ----

_WHOM = "all|community|dear|everybody|everyone|experts?|folks|friends?|guys|madam|sir|support|team|there"
# What mail programs put before the subject of an answer or a forwarded mail. In Italian
# "R:" and "I:" stand there, too; the former is a language that questions are about.
_REPLY = (
    "re|fwd?|aw|wg|antw|doorst|rv|res|enc|rif|tr|sv|vs|vb|vl|odp|pd|ynt|[iıİ]lt|bls|trs|"
    "отв|ответ|пересл|رد|إعادة توجيه|ตอบ|ตอบกลับ|ส่งต่อ"
)
# Of scripts without blanks: none stands after their colon.
_UNSPACED_REPLY = "回复|答复|回覆|答覆|转发|轉寄|轉發|返信|転送|회신|답장|전달"
_ENGLISH_GREETING = re.compile(
    r"\A\s*+(?:(?:"
    r"(?:hi|hiya|hello|hey|dear|greetings|good (?:morning|afternoon|evening|day))"
    rf"(?: (?:{_WHOM}|and|or))*+\s*+[,.!:]++"
    rf"|(?:{_REPLY})(?:\[\d++\])?+\s?:"
    rf")(?:\s++|$)|(?:re|fwd?|{_UNSPACED_REPLY})\s?：\s*+|(?:{_UNSPACED_REPLY})\s?:\s*+)++",
    re.IGNORECASE,
)
_ENGLISH_THANKS = re.compile(
    r"(?<=[.?!])\s*+(?:(?:"
    r"(?:many |kind |best )?+(?:thanks|thank you|thx|cheers|regards|greetings)"
    r"(?: in advance| a lot| so much| very much|,[^.?!\n]{0,30}+)?+"
    r"|please help(?: me| us)?+"
    r"|any help (?:is|would be) (?:much )?+(?:appreciated|great|welcome)"
    r")\s*+(?:[.!]++\s*+|$))++$",
    re.IGNORECASE,
)
_LONGEST_THANKS = 100  # characters
_FOOTER_AT_END = re.compile(  # of a text in one line
    r"(?<=[.?!])\s+(?:Sent from my \w+(?: \w+)?|Von meinem \w+ gesendet|Envoyé de mon \w+|"
    r"Enviado desde mi \w+|Get Outlook for \w+)\.?\s*\Z"
)


def without_footer(text: str) -> str:
    """Text of one line without what a phone or a mail program adds at its end."""
    return _FOOTER_AT_END.sub("", text) if len(text) > 20 else text


def without_greeting(text: str) -> str:
    """Text without a mail's "Re:" and an English greeting, and thanks at its end; these alone stay."""
    greeting = _ENGLISH_GREETING.match(text)
    rest = text[greeting.end() :] if greeting else text
    thanks = _ENGLISH_THANKS.search(rest, max(0, len(rest) - _LONGEST_THANKS))
    rest = rest[: thanks.start()] if thanks else rest
    if rest == text:
        return text
    is_thanks = _ENGLISH_THANKS.match(f".{rest}", 1)  # and nothing else
    if is_thanks or not has_words(rest):
        return text
    return rest[0].upper() + rest[1:] if text[0].isupper() else rest


# ---- In other languages ----

LONGEST = 90  # characters of a greeting or of thanks, with names
MOST_NAMES = 3  # words after a greeting or a sign-off that may be names
MOST_MARKS = 3  # in a greeting and at its end
MOST_PHRASES = 4  # greetings in front, or phrases at the end


def _phrases(*kinds: str) -> frozenset[str]:
    texts = (getattr(known, kind) for known in COURTESIES.values() for kind in kinds)
    phrases = (folded_phrase(one) for text in texts for one in text.split("|"))
    return frozenset(filter(None, phrases))


_ANY_GREETINGS = frozenset(("hi", "hey", "hello", "dear"))  # before foreign names
_GREETINGS = _phrases("greetings") | _ANY_GREETINGS
_TO_WHOM = _phrases("to_whom")
_THANKS = _phrases("thanks", "regards")
_AFTER_THANKS = _phrases("after_thanks")
_MOST_WORDS = max(len(one.split()) for one in _GREETINGS | _THANKS)
# What a text begins with that may greet: a first word, or in scripts without blanks the
# first two characters.
_FIRST_WORDS = frozenset(one.split()[0] for one in _GREETINGS)
_FIRST_PAIRS = frozenset(one[:2] for one in _GREETINGS if one[0] > "\u0dff")
_MARKS = " \t,.!:;-–—~…¡,，。！：；、،؛)🙂😊🙏"
_ENDS_GREETING = re.compile(r"[,.!?:;，。！？：；、،؛…]|\s[-–—]\s")
_SENTENCE_END = re.compile(
    r"[.?!？！。؟…;；]|(?<=\w)[,，、،]|(?<=[\u0e00-\u30ff\u3400-\ud7a3\u0600-\u06ff])\s"
)
_ASCII_END = re.compile("[.?!,;]")  # of these ends those in ASCII
_AT_END = f"{_MARKS}?"  # may end a text
_FIRST_WORD = re.compile(r"[¡ \t]*+([^\s,.!:;，。！：；、،]{1,30})")
_FIRST_OF_THANKS = frozenset(one.split()[0].rstrip(_MARKS) for one in _THANKS)
# Of names, with a small letter.
_PARTICLES = frozenset(
    ("de", "der", "den", "van", "von", "zu", "la", "du", "di", "da", "dos", "do", "al")
)
# Between thanks and more of it, or where somebody greets from.
_BEFORE_MORE = frozenset(
    {"und", "et", "y", "e", "en", "i", "и", "ve", "dan", "&"}
    | {"aus", "de", "da", "uit", "z", "из", "dari"}
)
# Names of people in Chinese, Japanese and Korean end with one of these.
_NAME_ENDS = ("先生", "女士", "小姐", "老师", "经理", "様", "さん", "さま", "님", "씨")


def without_courtesies(text: str) -> str:
    """Text without greetings in front and thanks at its end, in other languages than English.

    These alone stay, and so does a text that is plainly English without them.
    """
    rest = text
    for _ in range(MOST_PHRASES):
        end = _greeting_end(rest)
        if not end:
            break
        rest = rest[end:].lstrip(_MARKS)
    for _ in range(MOST_PHRASES):
        start = _thanks_start(rest)
        if start is None:
            break
        rest = rest[:start].rstrip(" \t,，、،-–—")
    if rest == text:
        return text
    is_left = len(rest.strip(_MARKS)) > 3 and has_words(rest)
    if not is_left or is_plain_english(rest) or _is_courtesy(rest):
        return text
    return rest[0].upper() + rest[1:] if text[0].isupper() else rest


def _greeting_end(text: str) -> int:
    """Where the greeting that a text begins with ends; 0 where it begins with none."""
    first = _FIRST_WORD.match(text)
    if not first:
        return 0
    start = first.start(1)
    if not _may_greet(first[1]):
        return 0
    head = text[start : start + LONGEST]
    # "Sehr geehrter Herr Dr. Weber," ends at its second mark.
    marks = list(islice(_ENDS_GREETING.finditer(head), MOST_MARKS))
    for mark in reversed(marks):
        if _greets(head[: mark.start()], is_call=mark[0] in "!！"):
            return start + mark.end()
    end = _greeting_before_words(head)
    return start + end if end else 0


@functools.lru_cache(10_000)
def _may_greet(first: str) -> bool:
    """Whether a greeting begins with a text's first word; few words begin most texts."""
    word = folded_phrase(first)
    return word in _FIRST_WORDS or word[:2] in _FIRST_PAIRS


def _greets(head: str, is_call: bool = False) -> bool:
    """Whether a phrase is a greeting, perhaps with names or with whom it greets.

    A name after a comma may be what is asked about, but in a call: "Привет, Анна!".
    """
    words = head.split()
    for count in range(min(_MOST_WORDS, len(words)), 0, -1):
        start = folded_phrase(" ".join(words[:count]))
        if start.rstrip(",،.") not in _GREETINGS and start not in _GREETINGS:
            continue
        rest = words[count:]
        if start.endswith((",", "،")) and rest and not is_call:
            return _is_whom(rest)
        phrase = folded_phrase(" ".join(rest))
        is_any = count == 1 and folded_phrase(words[0]) in _ANY_GREETINGS
        has_names = len(rest) <= MOST_NAMES and _are_names(rest, phrase)
        if _is_whom(rest) or (has_names and not is_any):
            return True
    # Scripts without blanks, such as "您好客服" and "田中様".
    phrase = folded_phrase(head)
    for size in range(len(phrase), 1, -1):
        if phrase[:size] in _GREETINGS and phrase[0] > "\u0dff":
            rest_of = phrase[size:]
            return rest_of in _TO_WHOM or (
                len(rest_of) <= 8 and rest_of.endswith(_NAME_ENDS)
            )
    return len(phrase) <= 12 and phrase.endswith(_NAME_ENDS) and len(words) == 1


def _is_whom(words: list[str]) -> bool:
    """Whether words say whom a greeting is for: known ones, and after them names."""
    for count in range(len(words), 0, -1):
        if folded_phrase(" ".join(words[:count])) in _TO_WHOM:
            names = words[count:]
            return len(names) <= MOST_NAMES and (
                _are_names(names, "") or _is_whom(names)
            )
    return False


def _are_names(words: list[str], phrase: str) -> bool:
    """Whether words begin with capitals, and no question begins with them."""
    starts = phrase.partition(" ")[0] in QUESTION_STARTS
    are_names = all(word[0].isupper() or word in _PARTICLES for word in words)
    return not starts and are_names and (not words or words[-1] not in _PARTICLES)


def _greeting_before_words(head: str) -> int:
    """Where a greeting ends that no mark follows, such as "hallo wie geht das"; 0 where there is none."""
    words = head.split(" ", _MOST_WORDS + 1)
    for count in range(min(_MOST_WORDS, len(words) - 1), 0, -1):
        start = " ".join(words[:count])
        if folded_phrase(start) not in _GREETINGS - _ANY_GREETINGS:
            continue
        following = folded_phrase(words[count])
        has_no_case = start[0] > "\u05ff"
        is_start = following.strip("¿") in QUESTION_STARTS
        return len(start) if has_no_case or is_start else 0
    first = words[0]
    return len(first) if len(words) > 1 and first > "\u0dff" and _greets(first) else 0


def _thanks_start(text: str) -> int | None:
    """Where the thanks or the sign-off begins that a text ends with; None where there is none."""
    skipped = max(0, len(text) - LONGEST)
    tail = text[skipped:].rstrip(_AT_END)
    if tail.isascii() and not _ASCII_END.search(tail):
        return None
    # The longest one first: it has names and several phrases in it.
    for mark in _SENTENCE_END.finditer(tail):
        phrase = tail[mark.end() :].strip(_MARKS)
        if _thanks(phrase, may_have_names=mark[0] not in ",，、،"):
            return skipped + mark.end()
    return None


def _thanks(phrase: str, may_have_names: bool) -> bool:
    """Whether a phrase is thanks or a sign-off, perhaps with what for, or with names after it."""
    if phrase > "\u0dff":
        return _thanks_without_blanks(folded_phrase(phrase))
    words = phrase.split()
    if not words or folded_phrase(words[0].rstrip(_MARKS)) not in _FIRST_OF_THANKS:
        return False
    for count in range(min(_MOST_WORDS, len(words)), 0, -1):
        start = folded_phrase(" ".join(words[:count]).rstrip(_MARKS))
        if start in _THANKS:
            has_mark = words[count - 1][-1] in ",.!-"
            return _ends_thanks(words[count:], has_mark, may_have_names)
    return False


def _ends_thanks(words: list[str], has_mark: bool, may_have_names: bool) -> bool:
    """Whether words may follow thanks: what for, more thanks, a place, or names."""
    if not words:
        return True
    for count in range(min(_MOST_WORDS, len(words)), 0, -1):
        if folded_phrase(" ".join(words[:count]).strip(_MARKS)) in _AFTER_THANKS:
            return _ends_thanks(words[count:], has_mark, may_have_names)
    names = words[1:] if words[0] in _BEFORE_MORE else words
    if _thanks(" ".join(names), may_have_names):
        return True
    are_few = len(names) <= (MOST_NAMES + 1 if has_mark else MOST_NAMES - 1)
    return may_have_names and bool(names) and are_few and _are_names(names, "")


def _thanks_without_blanks(phrase: str) -> bool:
    """Whether a folded phrase is thanks, one after the other: "非常感谢您的帮助"."""
    if phrase in _THANKS:
        return True
    for size in range(len(phrase) - 1, 1, -1):
        if phrase[:size] in _THANKS:
            rest = phrase[size:].strip(_MARKS)
            return not rest or rest in _AFTER_THANKS or _thanks_without_blanks(rest)
    return False


def _is_courtesy(text: str) -> bool:
    """Whether a text is nothing but a greeting or thanks."""
    phrase = text.strip(_MARKS + "?¿")
    return _greets(phrase) or _thanks(phrase, True)
