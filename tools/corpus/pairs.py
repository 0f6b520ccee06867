"""Meanings and pairs of the embedded corpus: which meanings there are, and which questions meet."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tools.corpus.grammar import Grammar, Intent
from tools.corpus.wording import RECIPE_LENGTH, render

PARTS = ("train", "valid", "test")

MEANINGS_PER_INTENT = 16
HELD_OUT_MEANINGS = 2  # of each intent at the least, in valid and in test each
WORDINGS = (2, 3, 3, 3, 4, 4, 5, 6)  # how many wordings a meaning begins with
LENGTHS = range(5, 36)  # words a question may have
SHORTER = 0.85  # how often the shorter of two wordings is taken, as people write them

# The kinds of pairs that are no duplicates, and their shares.
NEGATIVES = {
    "twin": 0.38,  # one wording, one thing changed: Paris/Rome, lose/gain, A to B/B to A
    "intent": 0.14,  # the same question about something else, in other words
    "subject": 0.23,  # another question of the subject, rather about the same thing than not
    "unrelated": 0.25,
}


class Dice:
    """Random choices that are the same on every platform and Python.

    Built on `random.Random.random` alone: of Python's generators only this method's
    sequence is promised never to change.
    """

    def __init__(self, seed: int):
        self._random = random.Random(seed).random

    def pick(self, items: Sequence):
        """Returns one of the items."""
        return items[int(self._random() * len(items))]

    def chance(self, probability: float) -> bool:
        """Returns True with this probability."""
        return self._random() < probability

    def shuffled(self, items) -> list:
        """Returns the items in a random order."""
        items = list(items)
        for i in range(len(items) - 1, 0, -1):
            j = int(self._random() * (i + 1))
            items[i], items[j] = items[j], items[i]
        return items

    def recipe(self) -> list[float]:
        """Returns the numbers that decide a wording."""
        return [self._random() for _ in range(RECIPE_LENGTH)]


@dataclass(eq=False)
class Meaning:
    """An intent with its slots filled, and the wordings of it that were made so far."""

    intent: Intent
    fills: tuple[int, ...]
    group: int  # meanings of one group of an intent differ in one thing only

    def __post_init__(self):
        self.wordings: dict[str, tuple] = {}  # text -> its recipe
        self.id = self.intent.meaning_id(self.fills)
        self.about = {
            values[i].names[0]
            for values, i in zip(self.intent.slots.values(), self.fills)
        }


def meanings_by_part(grammar: Grammar, dice: Dice) -> dict[str, list[Meaning]]:
    """Draws the meanings of a corpus and splits them: no meaning is in two parts."""
    parts: dict[str, list[Meaning]] = {part: [] for part in PARTS}
    for intent in grammar.intents:
        for part, meanings in _split(_draw_meanings(intent, dice), dice).items():
            parts[part].extend(meanings)
    return parts


def _draw_meanings(intent: Intent, dice: Dice) -> list[Meaning]:
    """Draws the meanings of an intent in small groups of twins: alike but for one thing."""
    slots = list(intent.slots)
    meanings: dict[tuple, Meaning] = {}

    def add(fills: tuple[int, ...], group: int) -> bool:
        by_slot = dict(zip(slots, fills))
        for slot, i in by_slot.items():  # {city} and {city:2} are two cities
            second = by_slot.get(f"{slot}:2")
            if second is not None and (
                second == i or (intent.symmetric and second < i)
            ):
                return False
        if fills in meanings:
            return False
        meanings[fills] = Meaning(intent, fills, group)
        return True

    for group in range(8 * MEANINGS_PER_INTENT):
        if len(meanings) >= MEANINGS_PER_INTENT:
            break
        fills = tuple(dice.pick(range(len(intent.slots[slot]))) for slot in slots)
        if add(fills, group):
            add(_twin(intent, slots, fills, dice), group)
            if dice.chance(0.4):
                add(_twin(intent, slots, fills, dice), group)
    return list(meanings.values())


def _twin(
    intent: Intent, slots: list[str], fills: tuple, dice: Dice
) -> tuple[int, ...]:
    """Changes one thing: the side of a why, a direction, or one value."""
    twin = list(fills)
    pairs = [
        (i, slots.index(f"{slot}:2"))
        for i, slot in enumerate(slots)
        if f"{slot}:2" in slots
    ]
    if "side" in slots and dice.chance(0.7):
        i = slots.index("side")
        twin[i] = 1 - twin[i]
    elif pairs and not intent.symmetric and dice.chance(0.6):
        i, j = dice.pick(pairs)
        twin[i], twin[j] = twin[j], twin[i]
    else:
        i = dice.pick(range(len(slots)))
        twin[i] = dice.pick(range(len(intent.slots[slots[i]])))
    return tuple(twin)


def _split(meanings: list[Meaning], dice: Dice) -> dict[str, list[Meaning]]:
    """Splits the meanings of one intent, twins together, so that each part has something of it."""
    groups = {}
    for meaning in meanings:
        groups.setdefault(meaning.group, []).append(meaning)
    parts: dict[str, list[Meaning]] = {part: [] for part in PARTS}
    for group in dice.shuffled(groups.values()):
        for part in ("test", "valid"):
            if len(parts[part]) < HELD_OUT_MEANINGS:
                parts[part].extend(group)
                break
        else:
            parts["train"].extend(group)
    return parts


class Row(NamedTuple):
    """A pair, the meanings of its questions, and its kind: "duplicate" or a key of NEGATIVES."""

    text1: str
    meaning1: Meaning
    text2: str
    meaning2: Meaning
    kind: str


class PairMaker:
    """Makes the pairs of one part from its meanings.

    Args:
      grammar: from `load_grammar`.
      meanings: the part's meanings.
      taken: every question made for any part so far -> its meaning; new ones are added.
      dice: makes the choices.
    """

    def __init__(
        self,
        grammar: Grammar,
        meanings: list[Meaning],
        taken: dict[str, Meaning],
        dice: Dice,
    ):
        self._grammar = grammar
        self._meanings = meanings
        self._taken = taken
        self._dice = dice
        self._made: set[tuple[str, str]] = set()  # pairs, in alphabetical order
        self._by_intent: dict[int, list[Meaning]] = {}
        self._by_subject: dict[str, list[Meaning]] = {}
        for meaning in meanings:
            self._by_intent.setdefault(id(meaning.intent), []).append(meaning)
            self._by_subject.setdefault(meaning.intent.subject, []).append(meaning)
            lines = dice.shuffled(range(len(meaning.intent.lines_for(meaning.fills))))
            # each wording by another line while there are any
            for i in range(dice.pick(WORDINGS)):
                line = (lines[i % len(lines)] + 0.5) / len(lines)
                self._word(meaning, self._recipe_for(meaning, line))

    def negatives(self, n: int) -> list[Row]:
        """Returns n pairs of different meanings, in the shares of NEGATIVES."""
        makers = {
            "twin": self._twins,
            "intent": self._same_intent,
            "subject": self._same_subject,
            "unrelated": self._unrelated,
        }
        shares = list(itertools.accumulate(NEGATIVES.values()))
        starts = itertools.cycle(self._dice.shuffled(self._meanings))
        rows: list[Row] = []
        while len(rows) < n:
            done = len(rows) / n * shares[-1]
            kind = next(kind for kind, upto in zip(NEGATIVES, shares) if done < upto)
            first = next(starts)
            row = makers[kind](first) if first.wordings else None
            if row is not None:
                rows.append(row)
        return rows

    def duplicates(self, n: int) -> list[Row]:
        """Returns n pairs of wordings of one meaning: one of each meaning first, then at random."""
        first = []
        more = []
        for meaning in self._meanings:
            pairs = self._dice.shuffled(itertools.combinations(meaning.wordings, 2))
            first.extend((meaning, *pair) for pair in pairs[:1])
            more.extend((meaning, *pair) for pair in pairs[1:])
        candidates = self._dice.shuffled(first) + self._dice.shuffled(more)
        rows = (
            self._pair("duplicate", text1, a, text2, a)
            for a, text1, text2 in candidates
        )
        return list(itertools.islice(filter(None, rows), n))

    def _recipe_for(self, meaning: Meaning, line: float) -> list[float]:
        """Returns, of two recipes for a line, mostly the one with the shorter question."""
        n = 2 if self._dice.chance(SHORTER) else 1
        recipes = [[line, *self._dice.recipe()[1:]] for _ in range(n)]
        intent = meaning.intent
        fills = meaning.fills
        return min(
            recipes,
            key=lambda recipe: len(render(self._grammar, intent, fills, recipe)),
        )

    def _word(self, meaning: Meaning, recipe: list[float]) -> str | None:
        """Puts a meaning into words; None if the question is too long, too short or taken."""
        text = render(self._grammar, meaning.intent, meaning.fills, recipe)
        if len(text.split()) not in LENGTHS:
            return None
        key = _letters(text)
        if key not in self._taken:
            self._taken[key] = meaning
            meaning.wordings[text] = recipe
        return text if text in meaning.wordings else None

    def _twins(self, a: Meaning) -> Row | None:
        """Pairs a wording with the nearest other meaning, worded by the same recipe."""
        others = [b for b in self._by_intent[id(a.intent)] if b is not a]
        if not others:
            return None
        nearest = [b for b in others if b.group == a.group]
        b = self._dice.pick(nearest or others)
        text = self._dice.pick(list(a.wordings))
        other = self._word(b, a.wordings[text])
        return self._pair("twin", text, a, other, b) if other else None

    def _same_intent(self, a: Meaning) -> Row | None:
        others = [b for b in self._by_intent[id(a.intent)] if b is not a]
        return self._pair_any("intent", a, others)

    def _same_subject(self, a: Meaning) -> Row | None:
        others = [
            b for b in self._by_subject[a.intent.subject] if b.intent is not a.intent
        ]
        about_same = [b for b in others if a.about & b.about]
        return self._pair_any("subject", a, about_same or others)

    def _unrelated(self, a: Meaning) -> Row | None:
        b = self._dice.pick(self._meanings)
        return self._pair_any(
            "unrelated", a, [b] if b.intent.subject != a.intent.subject else []
        )

    def _pair_any(self, kind: str, a: Meaning, others: list[Meaning]) -> Row | None:
        """Pairs any wording of a meaning with any of another one."""
        b = self._dice.pick(others) if others else a
        if b is a or not b.wordings:
            return None
        text = self._dice.pick(list(a.wordings))
        other = self._dice.pick(list(b.wordings))
        return self._pair(kind, text, a, other, b)

    def _pair(
        self, kind: str, text: str, a: Meaning, other: str, b: Meaning
    ) -> Row | None:
        """Returns the pair in random order, or None if it was made before."""
        key = (min(text, other), max(text, other))
        if text == other or key in self._made:
            return None
        self._made.add(key)
        order = (text, a, other, b) if self._dice.chance(0.5) else (other, b, text, a)
        return Row(*order, kind)


def _letters(text: str) -> str:
    """The letters and digits of a question: what makes two texts the same question."""
    return " ".join(re.findall(r"\w+", text.lower()))
