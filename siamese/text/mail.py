"""What a mail says itself: without greeting, sign-off, signature, and the mail that it answers.

Each rule looks at one line, or at a few lines after it, so that the time grows with the
length alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from siamese.text.cleaning import folded_phrase
from siamese.text.courtesies import without_footer
from siamese.text.phrases import (
    FIRST_HEADER_NAMES,
    FOOTERS,
    GREETINGS,
    HEADER_NAMES,
    REGARDS,
    SEPARATORS,
    THANKS,
    WROTE,
)

QUOTE = ">"  # begins a line of the mail that is answered
LONGEST_MARK = 200  # characters; a longer line is neither greeting, sign-off nor header
MOST_NAMES = 4  # words that may follow a greeting or a sign-off on its line
MOST_AFTER_THANKS = 25  # words of a signature after mere thanks; more are text
LONGEST_SIGN_OFF = 90
LONGEST_SEPARATOR = 60
HEADER_LINES = 6  # in which a quoted mail's header has two of its names
SIGNATURE_MARKS = frozenset(("--", "—", "– –", "- --", "---"))

_RULE = re.compile(r"_{5,}")  # Outlook draws it above the mail that is answered.
# "…" in a footer stands for a device or a program.
_FOOTER = re.compile("|".join(FOOTERS).replace("…", ".{1,60}"))
_POSTSCRIPT = re.compile(r"p\.? ?s\.? ?[:.\-–]|p\.?s\.? ", re.IGNORECASE)
_ENDS = " \t,.!;:-–—~*_，。！：；、"
_LONGEST = max(len(phrase.split()) for phrase in GREETINGS | REGARDS | THANKS)  # words
_WROTE = tuple(WROTE)
_WROTE_BEFORE_NAME = re.compile(  # "Am 1. Mai 2026 um 10:00 schrieb B. Person:"
    r"(?:am|le|el|il|op|em|на|on|den|dnia|pada|w dniu)\b[^\n]{1,120}"
    r"\b(?:schrieb|schreef|a écrit|escribió|escreveu|ha scritto|wrote|skrev|napisał|menulis)\b"
    r"[^\n]{0,80}:"
)


_ADDRESS_AT_END = re.compile(
    r"(?<!\d)\d{4}(?!\d).*<[^<>@\s]{1,80}@[^<>@\s]{1,80}>\s?[:：]\Z"
)


def without_mail(text: str) -> str:
    """A mail's text without greeting, sign-off and what follows it, quoted mail and footers.

    A text that is nothing else stays, a forwarded mail without its header. A postscript
    stays. A text of one line, such as a plain question, loses a phone's footer at most.
    """
    lines = text.splitlines()
    if len(lines) < 2:
        return without_footer(text)
    own = _own_lines(lines)
    if len(own) == len(lines):
        return text
    if not _has_word(own):
        unquoted = [
            line.lstrip("> \t") if line.lstrip().startswith(QUOTE) else line
            for line in lines
        ]
        own = _own_lines(unquoted) if unquoted != lines else lines
        own = own if _has_word(own) else lines
    return "\n".join(own).strip()


def _own_lines(lines: Sequence[str]) -> list[str]:
    """The lines that are neither greeting, sign-off and what follows, quoted mail nor footer."""
    own: list[str] = []
    has_text = False
    at = 0
    while at < len(lines):
        line = lines[at].strip()
        if line.startswith(QUOTE):
            at += 1
            continue
        if line and len(line) <= LONGEST_MARK:
            # The mail that is answered: with marks before its lines, or down to the
            # end.
            if quoted := _quoted_head(lines, at):
                at += quoted
                while at < len(lines) and not lines[at].strip():
                    at += 1
                is_marked = at < len(lines) and lines[at].strip().startswith(QUOTE)
                if has_text and not is_marked:
                    break
                continue
            if skipped := _phrase_length(line, lines, at, has_text):
                at += skipped
                continue
        own.append(lines[at] if line else "")
        has_text = has_text or bool(line)
        at += 1
    return own


def _phrase_length(line: str, lines: Sequence[str], at: int, has_text: bool) -> int:
    """How many lines a greeting, a footer, or a sign-off with its signature has here; 0 for text."""
    if len(line) > LONGEST_SIGN_OFF:
        return 0
    phrase = folded_phrase(line)
    if _FOOTER.fullmatch(phrase):
        return 1
    if not has_text:
        return int(_is_greeting(phrase, line))
    is_signature = line in SIGNATURE_MARKS or _RULE.fullmatch(line)
    if not (is_signature or _signs_off(phrase, lines, at)):
        return 0
    # A rule between two parts of a text looks like the mark of a signature.
    if line == "---" and not _is_signature(lines, at + 1):
        return 0
    return _postscript(lines, at + 1) - at


def _has_word(lines: Sequence[str]) -> bool:
    return any(any(map(str.isalnum, line)) for line in lines)


def _opening(phrase: str, known: frozenset[str]) -> str | None:
    """What follows the known phrase that a line begins with; None where it begins with none."""
    words = phrase.split(" ", _LONGEST)
    for count in range(min(_LONGEST, len(words)), 0, -1):
        start = " ".join(words[:count])
        if start.rstrip(_ENDS) in known:
            rest = " ".join(words[count:])
            has_mark = start[-1:] in ",.!;:-–—" or rest[:1] in (
                "-",
                "–",
                "—",
                "/",
                "(",
                "",
            )
            return rest if has_mark else f"\0{rest}"
    return None


def _is_greeting(phrase: str, line: str) -> bool:
    """Whether a line is a greeting and nothing else, perhaps with names."""
    rest = _opening(phrase, GREETINGS)
    if rest is None or "?" in phrase:
        return False
    names = rest.lstrip("\0").split()
    ends = line[-1] in ",.!:;-–，！、"
    return len(names) <= (MOST_NAMES + 2 if ends else MOST_NAMES - 1) and (
        ends or not names or _named(line)
    )


def _named(line: str) -> bool:
    """Whether all words after the first begin with a capital, as names do."""
    return all(not word[0].islower() for word in line.split()[1:])


def _signs_off(phrase: str, lines: Sequence[str], at: int) -> bool:
    """Whether a line is a sign-off and nothing else, perhaps with names."""
    for known in (REGARDS, THANKS):
        rest = _opening(phrase, known)
        if rest is None or "?" in phrase:
            continue
        names = rest.lstrip("\0").split()
        if len(names) > MOST_NAMES or (
            rest.startswith("\0") and not _named(lines[at].strip())
        ):
            continue
        return known is REGARDS or _is_signature(lines, at + 1)
    return False


def _is_signature(lines: Sequence[str], start: int) -> bool:
    """Whether what follows is short enough for a signature, quoted mail aside, and asks nothing."""
    words = 0
    for at in range(start, len(lines)):
        line = lines[at].strip()
        if not line or line.startswith(QUOTE):
            continue
        if _quoted_head(lines, at):
            break
        words += len(line.split())
        if words > MOST_AFTER_THANKS or line.endswith("?"):
            return False
    return True


def _postscript(lines: Sequence[str], start: int) -> int:
    """Where a postscript, or a quoted mail, begins after a sign-off; the end where there is none."""
    for at in range(start, len(lines)):
        line = lines[at].strip()
        if _POSTSCRIPT.match(line):
            return at
        if _quoted_head(lines, at):
            return at
    return len(lines)


def _quoted_head(lines: Sequence[str], at: int) -> int:
    """How many lines introduce a quoted mail here: its header, "On ...

    wrote:", a separator; 0 for none.
    """
    line = lines[at].strip()
    following = lines[at + 1].strip() if at + 1 < len(lines) else ""
    if not line or len(line) > LONGEST_MARK:
        return 0
    has_colon = ":" in line or "：" in line
    is_broken = following.endswith((":", "：")) and len(following) <= LONGEST_MARK
    is_short = len(line) <= LONGEST_SEPARATOR
    if not has_colon and not is_broken and not is_short:
        return 0
    phrase = folded_phrase(line)
    if is_short and _separates(phrase):
        return 1 + _header_length(lines, at + 1)
    if _RULE.fullmatch(line) and (length := _header_length(lines, at + 1)):
        return 1 + length
    if has_colon and (length := _header_length(lines, at)):
        return length
    if line.endswith((":", "：")) and _attributes(phrase):
        return 1
    return 2 if is_broken and _attributes(f"{phrase} {folded_phrase(following)}") else 0


def _separates(phrase: str) -> bool:
    """Whether a phrase is nothing but a separator, such as "----- Original Message -----"."""
    bare = phrase.strip("-_=*:> ")
    return bare in SEPARATORS or bare.startswith("forwarded by ")


def _attributes(phrase: str) -> bool:
    """Whether a phrase introduces a quoted mail, such as "On 1 May 2026 B.

    Person wrote:".
    """
    has_date = "@" in phrase or any(map(str.isdigit, phrase))
    is_end = phrase.rstrip(":： ").endswith(_WROTE)
    # Gmail in Russian, Japanese and Arabic: "1 мая 2026 г. в 10:00, A <a@b.example>:"
    is_end = is_end or _ADDRESS_AT_END.search(phrase) is not None
    return has_date and (is_end or _WROTE_BEFORE_NAME.match(phrase) is not None)


def _header_length(lines: Sequence[str], start: int) -> int:
    """How many lines the header of a quoted mail has here, that has two of its names; 0 for none."""
    names: set[str] = set()
    length = 0
    for at in range(start, min(start + HEADER_LINES + 2, len(lines))):
        line = lines[at].strip().strip("*")
        if not line:
            if names:
                break
            length += 1
            continue
        name = folded_phrase(line[:30].replace("：", ":").partition(":")[0]).strip("* ")
        has_colon = ":" in line[:30] or "：" in line[:30]
        if not has_colon or name not in HEADER_NAMES:
            break
        if not names and name not in FIRST_HEADER_NAMES:
            break
        names.add(name)
        length = at - start + 1
    return length if len(names) >= 2 else 0
