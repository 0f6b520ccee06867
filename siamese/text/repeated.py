"""What many texts of a list repeat, such as signatures, templates and tags before titles."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from siamese.system.open_types import JsonMapping, JsonObject
from siamese.text.cleaning import has_words

SHARE = 0.01  # A line or a tag in more of the texts than this is repeated.
LEAST_TEXTS = 30  # A shorter list has no repeated lines.
LEAST_TIMES = 5  # More texts than this have it.
MOST = 0.5  # A tag of so many of the texts is repeated however short the list,
FEW_TEXTS = 5  # of at least so many texts.
NAMED_SHARE = 0.2  # A word and a colon before so many titles says what all of them are.
SHOWN = 40  # characters of a line in a note
MOST_TAGS = 6  # before or after one title
LONGEST_TAG = 60  # characters

_DIGITS = re.compile(r"\d++(?:[.,:/\- ]\d++)*+")
_BRACKETS = re.compile(
    r"\s*+(\[[^\[\]\n]{1,60}+\]|\([^()\n]{1,60}+\)|\{[^{}\n]{1,60}+\}|<[^<>\n]{1,60}+>)\s*+[:\-–|]?\s*+"
)
_NAME = re.compile(
    r"\s*+([^\W\d_][\w#./&+-]*+(?: (?![-–]+ )[\w#./&+-]++){0,2}+)(?:\s?+:|\s[-–|»>]{1,2}+)\s++"
)
MARKS_AFTER = (" - ", " – ", " | ", " · ", " « ")  # before a name at a title's end


@dataclass
class Repeated:
    """What is left out of the texts of a list before they are compared; all by keys, digits masked."""

    # each with the number of texts that have it
    lines: dict[str, int] = field(default_factory=dict)
    before: dict[str, int] = field(default_factory=dict)  # tags at the start of titles
    after: dict[str, int] = field(default_factory=dict)  # and at their end

    def __bool__(self) -> bool:
        return bool(self.lines or self.before or self.after)

    def update(self, other: Repeated) -> None:
        """Takes over what another column repeats."""
        for name, counts in vars(other).items():
            getattr(self, name).update(counts)

    def without(self, text: str) -> str:
        """The text without what is repeated; one that is nothing else stays as it is."""
        rest = text
        if self.lines and has_lines(text):
            rest = "\n".join(
                line for line in text.splitlines() if line_key(line) not in self.lines
            )
            rest = rest if has_words(rest) else text
        if self.before or self.after:
            bare = self._without_tags(rest)
            rest = bare if has_words(bare) else rest
        return rest

    def _without_tags(self, text: str) -> str:
        start = 0
        end = len(text)
        for key, stop in tags_before(text) if self.before else ():
            if key not in self.before:
                break
            start = stop
        for key, stop in tags_after(text) if self.after else ():
            if key not in self.after or stop <= start:
                break
            end = stop
        return text[start:end].strip() if (start, end) != (0, len(text)) else text

    def to_json(self) -> JsonObject:
        """As values of JSON, for `from_json`."""
        return {name: counts for name, counts in vars(self).items() if counts}

    @classmethod
    def from_json(cls, values: JsonMapping | None) -> Repeated:
        """What `to_json` made; nothing of None."""
        return cls(**{name: dict(counts) for name, counts in (values or {}).items()})


def find_repeated(texts: Sequence[str]) -> Repeated:
    """What occurs in more than 1 % of at least 30 texts, the most frequent first.

    Texts of several lines are as `plain_lines` has them. Lines are equal but for case,
    blanks and digits. A line counts once for each text; a text of one line does not
    count: a question that many people ask is no signature. Nor does a line that is all
    that most of its texts would have left. Tags before and after titles, "[Bug][Release
    7] ...", count likewise; one that most texts have is repeated in a short list, too.
    """
    size = len(texts)
    titles: list[str] = []
    others: list[str] = []  # texts of several lines
    for text in texts:
        (others if has_lines(text) else titles).append(text)
    return Repeated(
        lines=_repeated_lines(others, size) if size >= LEAST_TEXTS else {},
        before=_repeated_tags(map(tags_before, titles), size),
        after=_repeated_tags(map(tags_after, titles), size),
    )


def _repeated_lines(texts: Sequence[str], size: int) -> dict[str, int]:
    """The lines that many of a list's `size` texts have, with how many have each."""
    least = max(SHARE * size, LEAST_TIMES)
    counts: Counter[str] = Counter()
    keys_of = []
    for text in texts:
        keys = list(dict.fromkeys(filter(None, map(line_key, text.splitlines()))))
        if len(keys) > 1:
            counts.update(keys)
            keys_of.append(keys)
    repeated = {key for key, count in counts.items() if count > least}
    # The rarest line of a text that would have none left is its question.
    asked: Counter[str] = Counter()
    for keys in keys_of:
        if repeated.issuperset(keys):
            asked[min(keys, key=counts.__getitem__)] += 1
    repeated -= {key for key, count in asked.items() if 2 * count > counts[key]}
    return {key: count for key, count in counts.most_common() if key in repeated}


def _repeated_tags(
    tags_of: Iterable[Iterable[tuple[str, int]]], size: int
) -> dict[str, int]:
    """The tags that many of a list's `size` texts have, with how many have each."""
    counts: Counter[str] = Counter()
    for tags in tags_of:
        counts.update({key for key, _ in tags})
    return {
        key: count
        for key, count in counts.most_common()
        if _is_repeated_tag(key, count, size)
    }


def _is_repeated_tag(key: str, count: int, size: int) -> bool:
    if count >= FEW_TEXTS and count > MOST * size:
        return True
    # A bare word, "Printer: ...", may say what the question is about.
    share = SHARE if key[0] in "[({<" or "0" in key else NAMED_SHARE
    return size >= LEAST_TEXTS and count > LEAST_TIMES and count > share * size


def has_lines(text: str) -> bool:
    """Whether a text has several lines."""
    return "\n" in text or "\r" in text


def line_key(line: str) -> str:
    """What lines are compared by: without differences of case, blanks and digits."""
    return " ".join(_DIGITS.sub("0", line.casefold()).split())


def tags_before(text: str) -> Iterable[tuple[str, int]]:
    """The tags at a text's start, "[Bug]" or "Name:", each as its key and where it ends."""
    start = 0
    for _ in range(MOST_TAGS):
        tag = _BRACKETS.match(text, start) or _NAME.match(
            text, start, start + LONGEST_TAG
        )
        if not tag or tag.end() >= len(text):
            return
        start = tag.end()
        yield line_key(tag[1]) + (":" if tag.re is _NAME else ""), start


def tags_after(text: str) -> Iterable[tuple[str, int]]:
    """The tags at a text's end, "[Bug]" or "- Name", each as its key and where it starts."""
    end = len(text.rstrip())
    for _ in range(MOST_TAGS):
        close = text[end - 1 : end]
        opening = {"]": "[", ")": "(", "}": "{"}.get(close)
        low = max(0, end - LONGEST_TAG - 2)
        if opening:
            start = text.rfind(opening, low, end)
            if start <= 0 or "\n" in text[start:end]:
                return
            key = text[start:end]
        else:
            start = max(text.rfind(mark, low, end) for mark in MARKS_AFTER)
            if start <= 0 or "\n" in text[start:end]:
                return
            key = text[start:end]
        end = len(text[:start].rstrip())
        if not end:
            return
        yield line_key(key), end


def repetition_note(
    name: str, repeated: Repeated, texts: Sequence[str], shortened: int
) -> str | None:
    """A note on what is not compared of the texts of a column, in words; None where there is nothing.

    Args:
      name: the column.
      repeated: what its texts repeat.
      texts: as they were before that was left out.
      shortened: how many of them had greetings, sign-offs, quoted mail or what programs print.
    """
    kinds = []
    if repeated.lines:
        kinds.append(_named("line", repeated.lines, _examples(repeated.lines, texts)))
    for counts, noun in ((repeated.before, "beginning"), (repeated.after, "ending")):
        if counts:
            kinds.append(_named(noun, counts, {}))
    without = []
    if kinds:
        share = f"{SHARE:.0%}".replace("%", " %")
        what = f"what more than {share} of its {len(texts):,} texts have, digits aside"
        without.append(f"{what}: {'; '.join(kinds)}")
    if shortened and len(texts) >= LEAST_TEXTS:
        what = "greetings, sign-offs, quoted mail or output of programs"
        without.append(f"the {what} of {shortened:,} texts")
    if not without:
        return None
    return (
        f"{name} is compared without {'; and without '.join(without)}. keep_repeated=True "
        "compares all of it"
    )


def _named(noun: str, counts: dict[str, int], examples: dict[str, str]) -> str:
    shown = [
        f"{examples.get(key, key)[:SHOWN]!r} ({count:,})"
        for key, count in [*counts.items()][:3]
    ]
    return (
        f"{len(counts):,} {noun}{'s' * (len(counts) > 1)}, such as {', '.join(shown)}"
    )


def _examples(lines: dict[str, int], texts: Sequence[str]) -> dict[str, str]:
    """The three most frequent lines, each as the first text with it has it."""
    wanted = set([*lines][:3])
    examples: dict[str, str] = {}
    for text in texts:
        if len(examples) == len(wanted):
            break
        for line in text.splitlines() if has_lines(text) else ():
            key = line_key(line)
            if key in wanted:
                examples.setdefault(key, line.strip())
    return examples
