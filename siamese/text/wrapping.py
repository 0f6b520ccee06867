"""A question without what a program put around it: Markdown, Jira, BBCode, ticket and list numbers.

Undone are only marks that wrap whole words, a fence, a link, and a mark or number in
front of a sentence; a question about marks ("What does **bold** mean in Markdown?",
"2*3*4", "__init__") stays to the letter. Every pattern is possessive or bounded, so
that the time grows with the length alone.
"""

from __future__ import annotations

import re

from siamese.text.cleaning import (
    LONGEST_TEXT,
    beginning,
    cleaned,
    has_words,
)
from siamese.text.courtesies import (
    without_courtesies,
    without_footer,
    without_greeting,
)
from siamese.text.mail import without_mail
from siamese.text.phrases import NO_PROJECTS, QUESTION_STARTS

# characters; what comes later says nothing about marks before it
LONGEST_QUESTION = 500
LEAST_LINES = 3  # of a text with a block
LEAST_WORDS = 3  # beside it
LAYERS = 6  # marks in marks that are undone, such as "# **[SUP-1] ...**"
LINE_END = re.compile(r"<br\s*+/?>|</(?:div|li|p|td|tr|h[1-6])\s*+>", re.IGNORECASE)
_LINE = "\ue000"  # stands for the end of a line of HTML while its tags are taken out
_URL = r"(?:https?://|www\.|mailto:|/|#)[^\s()<>\[\]|]*+"

# Only a text with a mark in it, at its end or at its start can be wrapped.
_MARK = re.compile(r"[*_~`\[{|=]")
_ENDS = ("]", ")", ">", '"', "”")
_START = re.compile(
    r"\s*+(?:[^\w\s]|\d|[^\W\d]++(?:[^\w\s']|\d| ?[#\d:]| [-–—]| n[or]\.? ?\d))"
)
# Words of a question that is about marks.
_ABOUT = re.compile(
    r"\b(?:markdown|markup|mark-up|jira|bbcode|wiki|wikitext|textile|restructuredtext|asciidoc|html|latex|"
    r"syntax|asterisks?|stars?|backticks?|underscores?|tildes?|brackets?|hash(?:es|tag)?|bold|italics?|"
    r"char|int|void|struct|const|formatting|format|escape[ds]?|regex|regexp|operator|pointer|glob|"
    r"wildcards?|kwargs|dunder|"
    r"sternchen|fett|kursiv|gras|négrita|negrita|grassetto|negrito|heading|"
    r"means?|meaning|bedeutet?|heißt|signifie|significa|betekent)\b",
    re.IGNORECASE,
)
_MARKS = (
    "***",
    "**",
    "*",
    "___",
    "__",
    "_",
    "~~",
    "```",
    "``",
    "`",
    "'''",
    "''",
    "==",
    "++",
    "||",
)
_ENCLOSED = {"(": ")", "[": "]", "“": "”", "„": "“", "«": "»", '"': '"'}
_UNDERLINE = re.compile(
    r"(?<=\S)[ \t]{0,3}+\r?+\n(?:={3,}+|-{3,}+|~{3,}+)[ \t]*+(?=\r?+\n|\Z)"
)
_BOLD = re.compile(
    r"(?<![\w*\\])\*\*(?=[^\W_])([^*\n]{1,300}+)(?<=[\w.?!:)])\*\*(?![\w*])"
)
_LINK = re.compile(
    rf"!?+\[([^\[\]\n]{{1,500}}+)\]\(<?+{_URL}>?+(?:\s++\"[^\"\n]{{0,200}}+\")?+\s*+\)"
)
_NAMED_LINK = re.compile(r"\A\[([^\[\]\n]{3,500}+)\]\[[^\[\]\n]{0,50}+\]\Z")
_JIRA_LINK = re.compile(
    rf"\[([^\[\]|\n]{{1,500}}+)\|{_URL}(?:\|[^\[\]|\n]{{0,50}}+)?+\]"
)
_RST_LINK = re.compile(rf"\A`([^`<>\n]{{1,500}}+)\s<{_URL}>`__?+\Z")
_ANGLE = re.compile(r"\s++[(<]https?://[^\s()<>]*+[)>]\Z")
_WIKI_LINK = re.compile(r"\A\[\[(?:[^\[\]|\n]{1,300}+\|)?+([^\[\]|\n]{1,500}+)\]\]\Z")
_BB_NAMES = (
    "b|i|u|s|code|quote|url|color|colour|size|font|center|left|right|justify|list|h[1-6]|spoiler|indent|pre|"
    "strong|em|table|tr|td|tt|noparse|highlight|email|php|title|question"
)
_BB_TAG = re.compile(
    rf"\[(/?+)({_BB_NAMES})(?:=[^\[\]\n]{{0,200}}+)?+\]", re.IGNORECASE
)
_JIRA_TAG = re.compile(
    r"\{(?:(code|noformat|quote|panel|color|info|note|tip|warning|expand)(?:[:=][^{}\n]{0,100}+)?+)\}",
    re.IGNORECASE,
)
_MONOSPACE = re.compile(r"\{\{([^{}\n]{1,300}+)\}\}")
_BLOCK = re.compile(
    r"(?:(`{3}|~{3})[`~]*+[^`\n]{0,80}|\{(code|noformat)(?::[^{}\n]{0,80})?\})"
)
_OUTPUT = re.compile(
    r"Traceback \(most recent call last\):|File \"[^\"]{1,300}+\", line \d|Caused by: |\.{3} \d+ more\b|"
    r"at (?:async )?[\w.$<>/]{3,200}+ ?\(|[\[(]?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|"
    r"[\[(]?\d\d:\d\d:\d\d[.,\])]|(?:\[?(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\]?)[ :]"
)
_FENCE = re.compile(r"\A(`{3,}+|~{3,}+)([\w+#.-]*+)")
# A mark before a sentence: heading, quote, item, checkbox, Jira's "h1." and "bq.".
_IN_FRONT = re.compile(
    r"\A(?:#{1,6}+\s++|#{2,6}+|={1,6}+\s++|>{1,3}+\s*+|(?:>\s)++|[-+*•‣◦·–—→]\s++(?:\[[ xX]?\]\s++)?+|"
    r"\[[ xX]?\]\s++|"
    r"(?:h[1-6]|bq|p)\.\s++|\|\s++|!{1,2}+\s++)(?=[\W_]{0,6}[^\W\d_])"
)
# Not a year: "1. ", "2) ", "(3) ", "4.1 ", "Q5: ", "Question 6: " before a word that
# begins a question.
_NUMBER = re.compile(
    r"\A(?!(?:19|20)\d\d\b)(?:\(?+\d{1,4}+(?:\.\d{1,3}+)*+(?:[.)]{1,2}+|\s?[\-–—]|(?<=\.\d)|(?<=\.\d\d))|[a-z]\)|"
    r"(?:q|faq|question|frage|pregunta|domanda|pergunta|vraag|pytanie|вопрос|soru|pertanyaan|"
    r"item|topic|todo|subject|title|summary|betreff|titel|objet|asunto|oggetto|assunto|onderwerp|temat|тема|konu)"
    r"\s?\.?\s?#?\d{0,6}+(?:[:.)]|\s[-–—]))\s++",
    re.IGNORECASE,
)
_STARTS_IN_CAPITALS = frozenset(
    ["A", "In", "On", "At", "For", "From", "As", "It", "To", "Not", "No"]
)
_LONG_NUMBER = re.compile(r"\d{3}")
_PRONOUN = re.compile(r"\b(?:it|its|they|them|their|this|that|he|she)\b", re.IGNORECASE)
_BRACKETED_NUMBER = re.compile(
    r"\A(?:\[[^\[\]\n]{0,40}?#?\d{2,}[^\[\]\n\w]{0,3}\]|\(#?\d{3,12}\)|"
    r"\(#\d{1,12}\)|\[#\d{1,12}\]|\[[A-Za-z]{2,10}-\d{1,8}\])"
    r"\s*+[:\-–—|]?+\s*+"
)
_TICKET = re.compile(
    r"\A(?:(?:ticket|case|issue|bug|request|incident|task|story|ref|vorgang|fall|anfrage|demande|caso|"
    r"zaak|zgłoszenie|заявка)\s?(?:id|no\.?|nr\.?|number|nummer|n°|№)?+\s?[:#]?+\s?#?+"
    r"(?:[A-Z]{1,6}-?)?+\d{2,12}+|#\d{1,12}+|"
    r"(?:INC|REQ|RITM|CHG|PRB|SR|TKT|TCK|CASE|TASK|SCTASK|WO|CS|HD)[-_ ]?\d{3,12}+|"
    r"(?-i:([A-Z][A-Z0-9]{1,9})-\d{1,7}+))"
    r"(\s*+[:|]\s*+|\s++[-–—]{1,2}\s++|\s++(?=[^\W\d_]))",
    re.IGNORECASE,
)
_TAGS = (
    "solved|closed|duplicate|on hold|resolved|answered|urgent|help|question|frage|pregunta|gelöst|résolu|"
    "external|extern|ext|bug|issue|newbie|beginner|noob|help needed|help wanted|need help"
)
_TAG_IN_FRONT = re.compile(rf"\A\[(?:{_TAGS})\]\s*+[:\-–—]?+\s*+", re.IGNORECASE)
_TAG_AT_END = re.compile(
    rf"(?<=[\w?!.])\s*+(?:\[(?:{_TAGS})\]|\((?:solved|closed|duplicate|gelöst|résolu)\))\Z",
    re.IGNORECASE,
)


def plain(text: str) -> str:
    """A text as it is compared: without markup of any kind, mail around it, ticket and list numbers.

    HTML's ends of lines and paragraphs become lines. A text that is nothing else stays.
    """
    text = cleaned_lines(text) if "<" in text else cleaned(text)
    if len(text.splitlines()) > 1:
        text = without_mail(without_output(text))
    else:
        text = without_footer(text)
    if not (_MARK.search(text) or _START.match(text) or text.rstrip().endswith(_ENDS)):
        return without_courtesies(without_greeting(text))
    for _ in range(LAYERS):
        inner = unwrapped(without_courtesies(without_greeting(text)))
        if inner == text:
            break
        text = inner
    return text


def plain_lines(text: str) -> str:
    """`plain` of a text of several lines; one of one line, or of more than is read, stays as it is."""
    if len(text) > LONGEST_TEXT:
        return text
    is_html = "<" in text and LINE_END.search(text) is not None
    return plain(text) if is_html or "\n" in text or "\r" in text else text


def without_output(text: str) -> str:
    """A text without what programs printed: fenced blocks, stack traces and lines of logs.

    A text with less than three words beside them stays.
    """
    lines = text.splitlines()
    if len(lines) < LEAST_LINES:
        return text
    own: list[str] = []
    end = ""  # of the block that is open
    opened = 0  # where it begins
    for at, line in enumerate(lines):
        bare = line.strip()
        if end:
            if bare.startswith(end):
                end = ""
        elif block := _BLOCK.fullmatch(bare):
            end = block[1] or f"{{{block[2]}}}".lower()
            opened = at
        elif not _OUTPUT.match(bare):
            own.append(line)
    if end:  # It is not closed.
        own += lines[opened:]
    if len(own) == len(lines) or sum(map(len, map(str.split, own))) < LEAST_WORDS:
        return text
    return "\n".join(own).strip()


def cleaned_lines(text: str) -> str:
    """`cleaned`, with a line break where HTML ends a line."""
    text = beginning(text)
    marked = LINE_END.sub(rf"\g<0>{_LINE}", text)
    if marked == text:
        return cleaned(text)
    marked = cleaned(marked, most=len(marked))
    # A tag that is still there is text, such as that of "What is <br> for?".
    lines = marked.replace(f">{_LINE}", ">").split(_LINE)
    return "\n".join(map(str.strip, lines)).strip()


def unwrapped(text: str) -> str:
    """A text without the outermost marks around it, or in front of it; a text of marks alone stays."""
    whole = text.strip()
    if not whole:
        return text
    inner = _UNDERLINE.sub("", whole) if "\n" in whole else whole
    inner = _without_front(inner)
    for remove in (_without_fence, _without_outer_marks):
        bare = remove(inner).strip()
        inner = bare if has_words(bare) else inner
    bare = _without_tags(inner).strip()
    if (
        bare != inner
        and has_words(bare)
        and not _ABOUT.search(whole, 0, LONGEST_QUESTION)
    ):
        inner = bare
    return inner if inner != whole and has_words(inner) else text


def _without_front(text: str) -> str:
    """Without a number, a mark or a tag in front, and a tag at the end."""
    tag = _BRACKETED_NUMBER.match(text) or _TAG_IN_FRONT.match(text)
    if tag and len(text) - tag.end() > 2:
        text = text[tag.end() :]
    text = _TAG_AT_END.sub("", text) if text[-1] in "])" else text
    if mark := _IN_FRONT.match(text):
        rest = text[mark.end() :]
        if _begins(rest):
            text = rest.rstrip("#=| ") if mark[0][0] in "#=|" else rest
    if ticket := _TICKET.match(text):
        rest = text[ticket.end() :]
        project = (ticket[1] or "").casefold()
        has_mark = bool(ticket[2].strip())
        is_product = project in NO_PROJECTS or bool(project and not has_mark)
        # "R2-D2: is it ...?" asks about what its front names.
        is_short = not _LONG_NUMBER.search(ticket[0])
        is_product |= bool(is_short and _PRONOUN.search(rest[:40]))
        if not is_product and _begins(rest) and len(rest.split()) > 1:
            text = rest
    if number := _NUMBER.match(text):
        rest = text[number.end() :]
        text = rest if " " in rest and _is_start(rest) else text
    return text


def _begins(rest: str) -> bool:
    """Whether a sentence begins here: a capital, perhaps behind marks, or a word that begins a question."""
    letter = next((character for character in rest[:8] if character.isalpha()), "")
    return not letter.islower() or _is_start(rest) if letter else False


def _is_start(rest: str) -> bool:
    """Whether a word stands here that begins a question or a statement, marks before it aside."""
    word = rest.lstrip("*_~`'\"[{(#>¿¡ ").split(" ", 1)[0].rstrip(",.:?!*_")
    word = word.partition("'")[0] if word.casefold() not in QUESTION_STARTS else word
    return (
        word.casefold() in QUESTION_STARTS
        or word in _STARTS_IN_CAPITALS
        or word[:1] > "\u2e7f"
    )


def _without_fence(text: str) -> str:
    """Without a fence of backticks or tildes around all lines, and the name of a language after it."""
    fence = _FENCE.match(text)
    if not fence or not text.endswith(fence[1]) or len(text) <= 2 * len(fence[1]):
        return text
    mark = fence[1]
    language = fence[2] if text[fence.end() : fence.end() + 1] in ("\n", "\r") else ""
    inside = text[len(mark) + len(language) : -len(mark)].strip()
    return text if mark in inside else inside


def _without_tags(text: str) -> str:
    """Without links, tags of BBCode and Jira, and marks of bold words."""
    if "[" in text:
        text = _LINK.sub(r"\1", text)
        text = _JIRA_LINK.sub(r"\1", text)
        text = _NAMED_LINK.sub(r"\1", text)
        text = _WIKI_LINK.sub(r"\1", text)
        text = _without_pairs(text, _BB_TAG)
    if text.startswith("`") and (link := _RST_LINK.match(text)):
        text = link[1]
    if text.endswith((")", ">")):
        text = _ANGLE.sub("", text)
    if "{" in text:
        text = _without_pairs(text, _JIRA_TAG)
        monospace = _MONOSPACE.fullmatch(text)
        text = (
            monospace[1] if monospace and _is_sentence(monospace[1].strip()) else text
        )
    return _BOLD.sub(r"\1", text) if "**" in text else text


def _without_pairs(text: str, tag: re.Pattern[str]) -> str:
    """Without the tags that come in pairs around words: "[b]...[/b]", "{code}...{code}"."""
    has_ends = tag is _BB_TAG
    found: dict[str, list[re.Match[str]]] = {}
    for match in tag.finditer(text):
        found.setdefault(match[2 if has_ends else 1].casefold(), []).append(match)
    cuts = []
    for matches in found.values():
        if has_ends:
            opening = [match for match in matches if not match[1]]
        else:
            matches = matches[: len(matches) // 2 * 2]  # One without an end is text.
            opening = matches[::2]
        if opening and 2 * len(opening) == len(matches):
            is_tight = all(
                text[m.end() : m.end() + 1] not in ("", " ", ",", ".") for m in opening
            )
            if is_tight:
                cuts += [match.span() for match in matches]
    if not cuts:
        return text
    cuts.sort()
    starts = [0, *(end for _, end in cuts)]
    ends = [*(start for start, _ in cuts), len(text)]
    return "".join(text[start:end] for start, end in zip(starts, ends))


def _without_outer_marks(text: str) -> str:
    """Without marks around the whole text."""
    for mark in _MARKS:
        size = len(mark)
        if text.startswith(mark) and len(text) > 2 * size:
            # A question mark may stand behind the mark.
            end = len(text.rstrip("?!.")) if not text.endswith(mark) else len(text)
            inside = text[size : end - size]
            is_pair = text.startswith(mark, end - size) and mark[0] not in (
                inside[:1],
                inside[-1:],
            )
            if is_pair and mark not in inside and _is_sentence(inside):
                return inside + text[end:]
    if _ENCLOSED.get(text[0]) == text[-1] and text[-2:-1] in ("?", "!", "."):
        inside = text[1:-1]
        if text[0] not in inside and text[-1] not in inside and _is_sentence(inside):
            return inside
    return text


def _is_sentence(text: str) -> bool:
    """Whether marks around a text wrap a sentence, no name such as `__init__` or `ls -l`."""
    words = text.split()
    if text != text.strip() or len(words) < 2:
        return False
    return text[-1] in "?!." or _begins(text) or len(words) > 3
