"""In what two texts differ, as a reader is told it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from siamese.model.near_miss_features import reader_of
from siamese.model.near_miss_reading import Text
from siamese.model.near_miss_slips import is_slip, letters_of
from siamese.model.near_miss_tables import common_table, table_of
from siamese.model.near_miss_units import (
    DATE,
    DIRECTION,
    NAME,
    NUMBER,
    OPPOSITE,
    SCOPE,
    SMALL,
    THING,
    Unit,
    Words,
)


class Difference(NamedTuple):
    """In what two texts differ: a kind of `KINDS`, and what each of them has of it."""

    kind: str
    one: str
    other: str

    def __str__(self) -> str:
        return f"{self.one or '-'} / {self.other or '-'}"


def differences_of(text_a: str, text_b: str) -> list[Difference]:
    """In what two texts differ, told from the same units as the features; other words last, as "noun"."""
    read = reader_of(common_table(table_of(text_a), table_of(text_b)))
    texts = read.explained(text_a), read.explained(text_b)
    return _Told(read.words, *texts).differences()


class _Told:
    """Collects in what two texts differ."""

    def __init__(self, words: Words, one: Text, two: Text):
        self.words = words
        self.texts = one, two
        self.left = _without_slips(
            _left_over(one.units, two.units), _left_over(two.units, one.units)
        )
        self.pairs = _excluding(words, *self.left)
        self.found: list[Difference] = []

    def differences(self) -> list[Difference]:
        """All of them, those of other words last."""
        # Numbers, dates, negations and names that one text has and the other has not,
        self.add("number", self.of_kind(NUMBER, DATE))
        self.add("date", self.of_kind(DATE))
        self.negations()
        self.add("name", self.of_kind(NAME))
        # words that exclude each other, another question, another order, and other words.
        told = {word for side in self.of_kind(NUMBER | DATE | NAME) for word in side}
        for kind in ("direction", "verb", "scope"):
            for name, first, second in self.pairs:
                if name == kind and not (first in told and second in told):
                    self.add(kind, ([first], [second]))
                    told |= {first, second}
        questions = [text.question for text in self.texts]
        if _asks_else({*questions}):
            asked = map(self.words.question_word, questions)
            self.add("question word", ([word] for word in asked))
        else:
            self.modals()
        self.add("direction", _turned(*self.texts))
        rest = [
            [u.shown for u in some if not u.kinds & SMALL and u.shown not in told]
            for some in self.left
        ]
        self.add("noun", rest)
        return self.found

    def add(self, kind: str, sides: Iterable[Iterable[str]]) -> None:
        """Adds a difference where one of the two sides has something."""
        shown = [" ".join(side) for side in sides]
        if any(shown):
            self.found.append(Difference(kind, *shown))

    def of_kind(self, kinds: int, without: int = 0) -> list[list[str]]:
        """What is left on each side, of some kinds and none of others."""
        return [
            sorted(u.shown for u in some if u.kinds & kinds and not u.kinds & without)
            for some in self.left
        ]

    def modals(self) -> None:
        """Adds "can" and "must" where each text has another of them."""
        one, two = (text.modal for text in self.texts)
        if one and two and one != two:
            self.add("question word", ([one], [two]))

    def negations(self) -> None:
        """Adds the negations where one text has one more, or an odd number more."""
        negated = [(one, two) for name, one, two in self.pairs if name == "negation"]
        counts = [len(text.negations) for text in self.texts]
        if (sum(counts) + len(negated)) % 2:
            prefixed = zip(*negated) if negated else ((), ())
            sides = zip(self.texts, prefixed)
            self.add("negation", [[*text.negations, *own] for text, own in sides])


def _asks_else(kinds: set[str]) -> bool:
    """Whether two kinds of question word exclude each other."""
    return len(kinds) == 2 and kinds.isdisjoint(("", "what"))


def _left_over(units: list[Unit], others: list[Unit]) -> list[Unit]:
    """The units that the other text has not, or has less often."""
    have: dict[str, int] = {}
    for unit in others:
        have[unit.key] = have.get(unit.key, 0) + 1
    left = []
    for unit in units:
        have[unit.key] = have.get(unit.key, 0) - 1
        if have[unit.key] < 0:
            left.append(unit)
    return left


def _without_slips(one: list[Unit], two: list[Unit]) -> tuple[list[Unit], list[Unit]]:
    """The units left on each side without those that are one word but for a slip of the pen."""
    meant = {
        letters_of(unit.key): unit for unit in reversed(two) if not unit.kinds & SMALL
    }
    meant.pop("", None)
    rest = []
    taken = []
    for unit in one:
        letters = "" if unit.kinds & SMALL else letters_of(unit.key)
        other = meant.get(letters)
        if other and is_slip(unit.key, other.key):
            taken.append(meant.pop(letters))
        else:
            rest.append(unit)
    return rest, [unit for unit in two if unit not in taken]


_NAME_OF_GROUP = {
    OPPOSITE: "verb",
    THING: "noun",
    DIRECTION: "direction",
    SCOPE: "scope",
    DATE: "date",
}


def _excluding(
    words: Words, one: list[Unit], two: list[Unit]
) -> list[tuple[str, str, str]]:
    """Units of which one excludes the other, with the kind of their group."""
    of_group: dict[str, str] = {}
    for unit in two:
        for group, _ in words.groups_of(unit.key):
            of_group.setdefault(group, unit.shown)
    found = []
    for unit in one:
        for group, kind in words.groups_of(unit.key):
            if group in of_group:
                name = "negation" if group.startswith("un ") else _NAME_OF_GROUP[kind]
                found.append((name, unit.shown, of_group[group]))
    return found


def _turned(one: Text, two: Text) -> list[list[str]]:
    """The common words that stand after each other's word, in each text's order; none of a moved clause."""
    heads: list[dict[str, str]] = [{}, {}]
    for side, text in zip(heads, (one, two)):
        for unit, head in zip(text.units, text.heads):
            if not unit.kinds & SMALL:
                side.setdefault(unit.key, head)
    changed = {
        (heads[0][key], heads[1][key]): key
        for key in heads[0]
        if key in heads[1] and heads[0][key] != heads[1][key]
    }
    crossed = {key for (a, b), key in changed.items() if (b, a) in changed}
    return [[u.shown for u in text.units if u.key in crossed] for text in (one, two)]
