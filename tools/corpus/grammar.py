"""The grammar of the embedded corpus: reads the text files beside this module and checks them.

A meaning is an intent ("how long does DISH keep WHERE") with its slots filled. Every
line of an intent asks the same thing in other words, and every line speaks of every
slot, so a meaning has many wordings and two meanings share none. How the files are
written is explained at the top of travel.txt; `tools.corpus.wording` puts meanings into
words.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from siamese.errors import DataError

TOPICS = (
    "travel",
    "home",
    "health",
    "money",
    "study",
    "technology",
    "culture",
    "people",
)
# The two meanings of a `why` intent: why should I, why shouldn't I.
SIDES = ("for", "against")

_LINE = re.compile(
    r"(?:\((?P<slot>\w+)=(?P<value>[^)]*)\) )?(?P<kind>say|how|know|find|should|why): "
)
_PART = re.compile(
    r"\[(?P<choice>[^\]]*)\]|\{(?P<slot>\w+(?::2)?)(?:\.(?P<form>\w+))?\}"
)
_VALUE = re.compile(r"(?P<names>[^(]+?)\s*(?:\((?P<forms>\w+: [^)]*)\))?$")


class Value(NamedTuple):
    """What a slot can hold: names that mean the same, and other forms of the word by their label."""

    names: tuple[str, ...]
    forms: dict[str, str]


class Line(NamedTuple):
    """One wording of an intent; `only` restricts it to one value of one slot."""

    kind: str
    parts: tuple
    only: tuple[str, str] | None


@dataclass(frozen=True)
class Intent:
    """Something people ask, with slots for what they ask it about."""

    subject: str
    name: str
    symmetric: bool  # the order of {slot} and {slot:2} does not matter
    slots: dict[str, tuple[Value, ...]]
    lines: tuple[Line, ...]

    def lines_for(self, fills: Sequence[int]) -> Sequence[Line]:
        """Returns the lines that fit these values (one index per slot, in the slots' order)."""
        if not any(line.only for line in self.lines):
            return self.lines
        names = {
            slot: values[i].names[0]
            for (slot, values), i in zip(self.slots.items(), fills)
        }
        return [
            line
            for line in self.lines
            if not line.only or names[line.only[0]] == line.only[1]
        ]

    def meaning_id(self, fills: Sequence[int]) -> str:
        """Returns a readable name, such as 'flights/flight time/city=Rome,city:2=Cairo'."""
        values = (
            f"{slot}={values[i].names[0]}"
            for (slot, values), i in zip(self.slots.items(), fills)
        )
        return f"{self.subject}/{self.name}/{','.join(values)}"


@dataclass(frozen=True)
class Grammar:
    """All intents, the frames they are put in, and each subject's sentences that change nothing."""

    intents: tuple[Intent, ...]
    frames: dict[str, tuple]
    contexts: dict[str, tuple[str, ...]]

    @property
    def subjects(self) -> tuple[str, ...]:
        """The subjects in the order of the files."""
        return tuple(self.contexts)


@functools.cache
def load_grammar() -> Grammar:
    """Reads the grammar (once)."""
    folder = Path(__file__).parent
    lists: dict[str, tuple[Value, ...]] = {}
    frames: dict[str, list] = {}
    _read_words(_lines_of(folder, "words"), lists, frames)
    intents: list[Intent] = []
    contexts: dict[str, list[str]] = {}
    for topic in TOPICS:
        read_topic(_lines_of(folder, topic), lists, intents, contexts)
    return Grammar(
        tuple(intents),
        {kind: tuple(value) for kind, value in frames.items()},
        {subject: tuple(value) for subject, value in contexts.items()},
    )


def _lines_of(folder: Path, name: str) -> Iterator[tuple[str, str]]:
    """Yields (place, line) for the lines of a file that are neither empty nor comments."""
    text = (folder / f"{name}.txt").read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            yield f"{name}.txt, line {number}", line


def _read_words(lines, lists: dict, frames: dict) -> None:
    """Reads word lists and frames into `lists` and `frames`."""
    for place, line in lines:
        if line.startswith("== "):
            what, _, name = line[3:].partition(" ")
            default = _parse_value(name, place)
            name = default.names[0]
            target = lists if what == "list" else frames
            target[name] = []
        elif what == "list":
            value = _parse_value(line, place)
            target[name].append(Value(value.names, default.forms | value.forms))
        elif "{..." not in line:  # words to put before or after a question
            target[name].append(line)
        else:  # both sides of a "why" frame, or the one side of any other
            target[name].append(
                tuple(_split_frame(side) for side in line.split(" // "))
            )
    for name in lists:
        lists[name] = tuple(lists[name])


def read_topic(lines, lists: dict, intents: list, contexts: dict) -> None:
    """Reads one file of subjects into `intents` and `contexts`."""
    local: dict[str, tuple[Value, ...]] = {}
    wordings: list[Line] = []
    head = subject = None

    def close():
        if head is not None:
            intents.append(_make_intent(subject, head, lists | local, wordings))
            local.clear()
            wordings.clear()

    for place, line in lines:
        if line.startswith("== subject "):
            close()
            head = None
            subject = line[len("== subject ") :]
            contexts[subject] = []
        elif line.startswith("-- "):
            close()
            head = (
                line[3:].removesuffix(" | symmetric"),
                line.endswith(" | symmetric"),
                place,
            )
        elif line.startswith("context: "):
            contexts[subject].append(line.removeprefix("context: "))
        elif line.startswith("let "):
            slot, _, values = line[4:].partition(": ")
            if slot in local:
                raise DataError(
                    f"{place}: the slot {slot!r} has its values twice; keep one"
                )
            local[slot] = tuple(
                _parse_value(value, place) for value in values.split(" / ")
            )
        elif match := _LINE.match(line):
            only = (match["slot"], match["value"]) if match["slot"] else None
            wordings.append(Line(match["kind"], _parse(line[match.end() :]), only))
        else:
            raise DataError(
                f"{place}: expected '== subject', '--', 'let' or a line, got {line!r}"
            )
    close()


def _make_intent(subject: str, head: tuple, lists: dict, lines: list[Line]) -> Intent:
    """Builds an intent; checks that every line speaks of every slot, or else it would mean less."""
    name, symmetric, place = head
    if any(line.kind == "why" for line in lines):
        lists = lists | {"side": tuple(Value((side,), {}) for side in SIDES)}
    used = [_slots_of(line) for line in lines]
    slots = list(dict.fromkeys(itertools.chain.from_iterable(used)))
    for number, line_slots in enumerate(used, start=1):
        if set(line_slots) != set(slots):
            missing = ", ".join(sorted(set(slots) - set(line_slots)))
            raise DataError(
                f"{place}: wording {number} of {name!r} lacks the slot {missing}"
            )
    unknown = [slot for slot in slots if slot.removesuffix(":2") not in lists]
    if unknown:
        raise DataError(f"{place}: no word list for {', '.join(unknown)}")
    values = {slot: lists[slot.removesuffix(":2")] for slot in sorted(slots)}
    return Intent(subject, name, symmetric, values, tuple(lines))


def _slots_of(line: Line) -> list[str]:
    """Returns the slots that a line speaks of, also by its condition or its frame."""
    slots = [part[1] for part in line.parts if part[0] == "slot"]
    if line.only:
        slots.append(line.only[0])
    if line.kind == "why":
        slots.append("side")
    return slots


def _parse_value(text: str, place: str) -> Value:
    """Parses 'name = other name (form: word, form: word)'."""
    match = _VALUE.match(text.strip())
    if not match:
        raise DataError(f"{place}: cannot read the value {text!r}")
    forms = (form.split(": ", 1) for form in (match["forms"] or "").split(", ") if form)
    return Value(tuple(match["names"].split(" = ")), dict(forms))


def _parse(text: str) -> tuple:
    """Cuts a line into ('text', s), ('choice', alternatives) and ('slot', name, form) parts."""
    parts: list[tuple] = []
    start = 0
    for match in _PART.finditer(text):
        parts.append(("text", text[start : match.start()]))
        if match["slot"]:
            parts.append(("slot", match["slot"], match["form"]))
        else:
            parts.append(("choice", tuple(match["choice"].split("|"))))
        start = match.end()
    parts.append(("text", text[start:]))
    return tuple(part for part in parts if part != ("text", ""))


def _split_frame(text: str) -> tuple:
    """Cuts a frame at its {...}: what comes before, whether the -ing form is wanted, what follows."""
    ing = "{...+ing}" in text
    before, _, after = text.partition("{...+ing}" if ing else "{...}")
    return _parse(before), ing, _parse(after)
