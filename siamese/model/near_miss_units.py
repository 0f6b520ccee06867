"""What the near-miss check compares: the units of a word, a number, or a name."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

import Stemmer

from siamese.model.near_miss_words import Language
from siamese.text.cleaning import cleaned, normalized, straightened

LITTLE = 0.25  # the weight of a word such as "the" beside 1 of a word of content
# What a unit is, one bit each; the last three are kinds of words that exclude each other.
NUMBER, DATE, NAME, SCOPE, SMALL, OPPOSITE, DIRECTION, THING = (
    1 << n for n in range(8)
)
PIECES = re.compile(  # a group, so that a text is split at its pieces and they stay
    r"((?<![^\s(])-(?=[$€£]?\d)"  # -5
    r"|[$€£¥₹%°]"
    r"|\.?[^\W_]+(?:[.,:/'_&+-]+[^\W_]+)*+(?:\+\+|\#)?)"
)
CURRENCIES = frozenset("$€£¥₹")
SPACELESS = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d{1,2}$)")
_GROUPED = re.compile(r"\d{1,3}(?:[.,]\d{3})+")
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)(\D*)")
_TIME = re.compile(r"(\d{1,2})[:h](\d\d)")
ZEROS = re.compile(r"\.0+$")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
CAPITALS = re.compile(r"[^\W\d_][^\s]*[A-Z]|[A-Z][\w]*(?:\+\+|#)|\.[A-Z]")


class Unit(NamedTuple):
    """What one piece of a text stands for, before its neighbours are known."""

    key: str  # what is compared: a stem, a number, a bigram
    kinds: int
    weight: float
    shown: str  # as a reader meets it


class Words:
    """A language's table, arranged for looking up."""

    def __init__(self, language: Language):
        self.language = language
        self._stem = _stemmer(language.stemmer)
        self._rewrites = [
            (re.compile(pattern, re.IGNORECASE), text)
            for pattern, text in language.rewrites
        ]
        self._first: dict[str, str] = {}
        for first, *others in language.same:
            for other in others:
                self._first.setdefault(other, first)
        self.groups: dict[str, list[tuple[str, int]]] = {}
        for name, kind, groups in (
            ("date", DATE, language.dates),
            ("opposite", OPPOSITE, language.opposites),
            ("thing", THING, language.things),
            ("direction", DIRECTION, language.directions),
            ("scope", SCOPE, language.scopes),
        ):
            for place, group in enumerate(groups):
                for word in group:
                    entry = (f"{name} {place}", kind)
                    self.groups.setdefault(self.key(word), []).append(entry)
        # Of a script without blanks words of the table are told apart, the longest first.
        self._spaceless = None
        if language.stemmer is None:
            known = sorted(language.all_words(), key=len, reverse=True)
            self._spaceless = re.compile("|".join(map(re.escape, known)))
        pairs = itertools.chain.from_iterable(language.prefix_pairs)
        self._prefixes = (*language.prefixes, *pairs)
        self.auxiliaries = frozenset(language.own_negations.values())
        self._dates = {self.key(w) for group in language.dates for w in group}
        self._scopes = {self.key(w) for group in language.scopes for w in group}

    def rewritten(self, text: str) -> str:
        """The text with other words for the same, and blanks around known words of a script without."""
        for pattern, other in self._rewrites:
            text = pattern.sub(other, text)
        if self._spaceless is not None:
            text = self._spaceless.sub(lambda word: f" {word[0]} ", text)
        return text

    def is_known(self, word: str) -> bool:
        """Whether a word of a script without blanks is in the table."""
        return self._spaceless is not None and bool(self._spaceless.fullmatch(word))

    def question_word(self, kind: str) -> str:
        """A word of a kind of question, or the kind where no word of the table is of it."""
        words = {own: word for word, own in reversed(self.language.questions.items())}
        return words.get(kind, kind).replace("_", " ")

    def asked(self, word: str, after: list[str]) -> str:
        """A sentence's first word, without a negation that asks no opposite."""
        if word == "don't":
            is_order = self.language.before_subject.isdisjoint(after)
            return word if is_order else "do"
        return self.language.own_negations.get(word, word)

    def asked_more(self, kind: str, after: list[str]) -> str:
        """What "how" and "how many" ask with the two words after them: "how many", "how long"."""
        if kind == "how" and after:
            word, *after = after
            kind = f"how {word}" if word in self.language.measures else "how to"
        if kind == "how many" and after:
            base, _ = self.language.units.get(after[0], ("", 0))
            kind = "how long" if base in ("second", "month") else kind
        return kind

    def key(self, word: str) -> str:
        """What a word is compared by: its stem, or that of its synonym."""
        word = self._first.get(word, word)
        if word in self.language.little:
            return word
        stem = self._stem(word)
        return self._stem(self._first.get(stem, stem))

    def groups_of(self, key: str) -> list[tuple[str, int]]:
        """The groups of opposites that a key belongs to, each with its kind."""
        found = [*self.groups.get(key, []), (f"un {key}", OPPOSITE)]
        if not key.startswith(self._prefixes):
            return found
        for prefix in self.language.prefixes:
            if key.startswith(prefix) and len(key) > len(prefix) + 2:
                found.append((f"un {key[len(prefix) :]}", OPPOSITE))
        for place, pair in enumerate(self.language.prefix_pairs):
            for prefix in pair:
                if key.startswith(prefix) and len(key) > len(prefix) + 2:
                    found.append((f"{place} {key[len(prefix) :]}", OPPOSITE))
        return found

    def unit(self, word: str) -> Unit:
        """The unit of a word without digits."""
        key = self.key(word)
        kinds = 0
        weight = 1.0
        if key in self.language.little:
            kinds = SMALL
            weight = LITTLE
        if key in self._dates:
            kinds |= DATE
        if key in self._scopes and not kinds & DATE:
            kinds |= SCOPE
        return Unit(key, kinds, weight, word)


def _number_unit(text: str) -> Unit:
    """The unit of a piece with a digit: an amount, a version, a code, a date."""
    shown = text
    if _GROUPED.fullmatch(text) and ("," in text or text.endswith(".000")):
        text = text.replace(",", "").replace(".", "")
    text = _DECIMAL_COMMA.sub(".", _THOUSANDS.sub("", text))
    ordinal = _ORDINAL.fullmatch(text)
    if ordinal:
        return Unit(f"#{ordinal[1]}", NUMBER, 1.0, shown)
    if _YEAR.fullmatch(shown) or text.count("/") == 2:
        return Unit(text, NUMBER | DATE, 1.0, shown)
    if text[0] == "v" and text[1:2].isdigit():
        text = text[1:]
    return Unit(text, NUMBER, 1.0, shown)


def units_of_piece(words: Words, piece: str) -> Iterable[Unit]:
    """The units of a piece in lower case."""
    language = words.language
    if piece in language.negated:
        for word in language.negated[piece]:
            for unit in units_of_piece(words, word):
                yield unit._replace(shown=piece) if unit.key == "not" else unit
        return
    if piece == "-":
        yield Unit(piece, 0, 0.0, piece)
        return
    if SPACELESS.match(piece) and not words.is_known(piece):
        for place in range(max(len(piece) - 1, 1)):
            yield Unit(piece[place : place + 2], 0, 1.0, piece[place : place + 2])
        return
    if piece in language.numbers:
        yield Unit(language.numbers[piece], NUMBER, 1.0, piece)
        return
    if piece in language.ordinals:
        yield Unit(f"#{language.ordinals[piece]}", NUMBER, 1.0, piece)
        return
    if any(map(str.isdigit, piece)):
        yield from _digits(words, piece)
        return
    if "'" in piece:
        base, _, rest = piece.rpartition("'")
        if rest == "t" and base.endswith("n"):
            yield from units_of_piece(words, base[:-1])
            yield Unit("not", 0, 0.0, piece)
            return
        if rest in ("s", "re", "m", "ve", "ll", "d", "t"):
            piece = base
    if piece in language.questions:
        yield words.unit(piece)  # "por_qué" is one word.
    else:
        yield from _units_of_parts(words, piece)


def _units_of_parts(words: Words, piece: str) -> Iterable[Unit]:
    """The units of the parts of a piece without digits: "and/or" has two, "e-mail" one."""
    language = words.language
    for part in re.split(r"[/&_]|-(?=\w{3})", piece) if len(piece) > 2 else [piece]:
        part = part.replace("-", "").strip("'.")
        if part in language.numbers:
            yield Unit(language.numbers[part], NUMBER, 1.0, part)
        elif part in language.negations:
            yield Unit("not", 0, 0.0, part)
            without, positive = language.without
            if part == without:
                yield Unit(positive, SMALL, LITTLE, part)
        elif part:
            yield words.unit(part)


def _digits(words: Words, piece: str) -> Iterable[Unit]:
    """The units of a piece with a digit: "200mg" and "27-inch" are a number and its unit."""
    units = words.language.units
    scales = words.language.scales
    amount = _AMOUNT.fullmatch(_THOUSANDS.sub("", piece))
    tail = amount[2].strip("-") if amount else ""
    if amount and tail and (tail in units or tail in scales or tail in ("am", "pm")):
        yield _number_unit(amount[1])
        yield words.unit(tail)
        return
    yield _number_unit(piece)


def _stemmer(name: str | None) -> Callable[[str], str]:
    """The stem of a word, or the word itself where words are not stemmed."""
    if name is None:
        return str
    return functools.lru_cache(1 << 16)(Stemmer.Stemmer(name).stemWord)


def named(unit: Unit, piece: str) -> Unit:
    """The unit of a name, unless it is a number, a date or a word such as "the"."""
    if unit.key == "not" or unit.kinds & (NUMBER | DATE | SMALL):
        return unit
    return unit._replace(kinds=unit.kinds | NAME, shown=piece)


def value_of(unit: Unit) -> float | None:
    """The number that a unit is, None where it is none."""
    if not unit.kinds & NUMBER:
        return None
    clock = _TIME.fullmatch(unit.key)
    if clock:
        return int(clock[1]) + int(clock[2]) / 60
    try:
        return float(unit.key)
    except ValueError:
        return None


def as_compared(text: str) -> str:
    """The text with plain marks, repeated lines left out, scripts without blanks apart."""
    text = cleaned(text)
    if not text.isascii():
        text = straightened(normalized(straightened(text), "NFKC"))
        text = SPACELESS.sub(lambda run: f" {run[0]} ", text)
    if "\n" in text:
        text = "\n".join(dict.fromkeys(text.splitlines()))
    return text.replace("`", "'")
