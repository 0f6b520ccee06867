"""Many texts read at once, as the units by which the near-miss check compares them.

A text is divided at its blanks, and each of these tokens is taken apart once: into
pieces, and each piece into units (`near_miss_units`). What depends on neighbours (a
name, a question word, a number and its unit) is told for all texts together.
"""

from __future__ import annotations

import itertools
import threading
import zlib
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from siamese.model.near_miss_order import Arranger
from siamese.model.near_miss_slips import letters_of
from siamese.model.near_miss_units import (
    CAPITALS,
    CURRENCIES,
    NUMBER,
    PIECES,
    SMALL,
    ZEROS,
    Unit,
    Words,
    as_compared,
    named,
    units_of_piece,
    value_of,
)

TIMES = 16  # A unit counts at most so often in a text.
HELD = 100_000  # tokens that are kept
KINDS_OF_QUESTION = ("", "what", "whether")  # The first two exclude no other kind.
WHETHER = KINDS_OF_QUESTION.index("whether")

K = TypeVar("K")


class _Numbers(dict[K, int], Generic[K]):
    """Numbers of values as they come; `add` keeps what is known of a new one."""

    def __init__(self, add: Callable[[K], None]):
        super().__init__()
        self._add = add

    def __missing__(self, value: K) -> int:
        number = len(self)
        self[value] = number
        self._add(value)
        return number


class _Columns:
    """Rows of numbers that grow; an array that was handed out stays as it is."""

    def __init__(self, **kinds: DTypeLike):
        self._arrays = {name: np.zeros(0, kind) for name, kind in kinds.items()}
        self._new: list[int | float] = []  # of rows, one after the other
        self.append = self._new.extend

    def __getitem__(self, name: str) -> np.ndarray:
        if self._new:
            rows = np.array(self._new, np.float64).reshape(-1, len(self._arrays))
            for column, (known, array) in enumerate(self._arrays.items()):
                added = rows[:, column].astype(array.dtype)
                self._arrays[known] = np.concatenate([array, added])
            self._new.clear()
        return self._arrays[name]


class _Ragged:
    """Lists of numbers, one after the other, that grow."""

    def __init__(self) -> None:
        self._ends = _Columns(end=np.int64)
        self._ends.append([0])
        self._values = _Columns(value=np.int64)
        self._count = 0

    def append(self, values: Sequence[int]) -> None:
        self._count += len(values)
        self._ends.append([self._count])
        self._values.append(values)

    @property
    def starts(self) -> np.ndarray:
        """int64 [lists + 1]: where each begins."""
        return self._ends["end"]

    @property
    def values(self) -> np.ndarray:
        """int64, of all lists."""
        return self._values["value"]

    def of(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """To which of some lists each value belongs, and the values."""
        owner, places = spread(self.starts, rows)
        return owner, self.values[places]


def spread(starts: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For ragged rows: to which of `rows` each value belongs, and its place; int64 [values] both."""
    counts = starts[rows + 1] - starts[rows]
    owner = np.repeat(np.arange(len(rows)), counts)
    first = np.cumsum(counts) - counts
    return owner, np.arange(len(owner)) - first[owner] + starts[rows][owner]


def _times_before(values: np.ndarray) -> np.ndarray:
    """How often each value has come before, int64 [n]."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    is_first = np.append(True, ordered[1:] != ordered[:-1])[: len(values)]
    first = np.maximum.accumulate(np.where(is_first, np.arange(len(values)), 0))
    times = np.empty(len(values), np.int64)
    times[order] = np.arange(len(values)) - first
    return times


class Texts(NamedTuple):
    """Texts as arrays of units; one text's units lie between two of `starts`."""

    starts: np.ndarray  # int64 [texts + 1]
    keys: (
        np.ndarray
    )  # int64 [units]: TIMES * number of its key + how often it came before
    heads: np.ndarray  # int64 [units]: the key before each, determiners left out
    kinds: np.ndarray  # int16 [units]
    weights: np.ndarray  # float32 [units]
    group_starts: np.ndarray  # int64 [keys + 1]
    groups: np.ndarray  # int64, of the keys, one after the other
    group_kinds: np.ndarray  # int64
    letters: np.ndarray  # int16 [keys]
    beginnings: np.ndarray  # int64 [keys]: alike for keys that begin alike
    codes: np.ndarray  # uint32 [keys]: their CRC-32
    # int64 [keys]: the same for a word and its slips, 0 for none
    letters_of: np.ndarray
    words: list[str]  # the keys, in the order of their numbers
    negated: np.ndarray  # int8 [texts], 1 for an odd number of negations
    questions: np.ndarray  # int16 [texts], the number of a kind of question word
    modals: np.ndarray  # int16 [texts], the number of a kind of modal, 0 for none
    passive: np.ndarray  # bool [texts]: "was eaten by"

    def has(self, at: np.ndarray, kinds: int) -> np.ndarray:
        """Whether units are of one of some kinds, bool [units]."""
        return (self.kinds[at] & kinds) != 0


class Text(NamedTuple):
    """One text as it is told to a reader."""

    units: list[Unit]  # in the order in which they are compared
    heads: list[str]  # the key before each, determiners left out
    negations: list[str]
    question: str  # the kind of its question word
    modal: str  # the kind of its first word such as "can" or "must"


class _Pieces(NamedTuple):
    """The pieces of all texts, one text after the other."""

    owners: np.ndarray  # int64 [pieces]
    words: np.ndarray  # int64 [pieces]
    forms: np.ndarray  # int64 [pieces]
    begin: np.ndarray  # bool [pieces], a sentence
    after_comma: np.ndarray  # bool [pieces]


class _Units(NamedTuple):
    """The units of all texts, one text after the other."""

    starts: np.ndarray  # int64 [texts + 1]
    owners: np.ndarray  # int64 [units]
    units: np.ndarray  # int64 [units]

    @classmethod
    def of(cls, owners: np.ndarray, units: np.ndarray, n: int) -> _Units:
        """Those of n texts."""
        counts = np.bincount(owners, minlength=n)
        return cls(np.append(0, counts.cumsum()), owners, units)


# What is known of a piece of a token.
_OF_ENTRY: dict[str, DTypeLike] = {
    "word": np.int64,
    "form": np.int64,
    "named": np.int64,
    "is_name": bool,
    "is_title": bool,
    "asks": bool,
    "comma": bool,
}
# What is known of a unit.
_OF_UNIT: dict[str, DTypeLike] = {
    "key": np.int64,
    "kinds": np.int16,
    "weight": np.float32,
    "is_not": bool,
    "is_clause": bool,
    "is_determiner": bool,
    "joins": bool,
    "is_with": bool,
    "is_mutual": bool,
    "is_value": bool,
    "is_sign": bool,
    "is_counted": bool,
    "changes": bool,
}


class Reader:
    """Reads texts by the words of a language; what is known of tokens is kept."""

    def __init__(self, words: Words):
        self.words = words
        self._arranger = Arranger(words)
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        """Begins without tokens."""
        self._tokens = _Numbers(self._add_token)
        self._entries_of_token = _Ragged()
        self._of_token = _Columns(ends=bool, comma=bool, capitals=np.int64)
        self._of_entry = _Columns(**_OF_ENTRY)
        self._pieces: list[str] = []
        self._word_numbers = _Numbers(self._add_word)
        self._of_word = _Columns(question=np.int16, auxiliary=bool, modal=np.int16)
        self._words: list[str] = []
        self._forms = _Numbers(self._add_form)
        self._units_of_form = _Ragged()
        self._unit_numbers = _Numbers(self._add_unit)
        self._of_unit = _Columns(**_OF_UNIT)
        self._units: list[Unit] = []
        self._keys = _Numbers(self._add_key)
        self._of_key = _Columns(
            letters=np.int16, beginning=np.int64, code=np.uint32, letters_of=np.int64
        )
        self._key_words: list[str] = []
        self._letters = _Numbers[str](lambda letters: None)
        self._letters[""]
        self._groups_of_key = _Ragged()
        self._kinds_of_groups = _Columns(kind=np.int64)
        self._groups = _Numbers[str](lambda group: None)
        self._beginnings = _Numbers[str](lambda start: None)
        self._questions = _Numbers[str](lambda kind: None)
        self._modals = _Numbers[str](lambda kind: None)
        self._modals[""]
        for kind in KINDS_OF_QUESTION:
            self._questions[kind]
        self._no_head = self._keys[""]

    # What is known of a token, a piece, a unit, and a key.

    def _add_token(self, token: str) -> None:
        *parts, rest = PIECES.split(token)
        entries = []
        for gap, piece in zip(parts[::2], parts[1::2]):
            word = piece.lower()
            form = self._forms[word, ""]
            is_name = word != piece and bool(CAPITALS.match(piece))
            is_title = word != piece and piece[0].isupper() and len(piece) > 1
            entries.append(len(self._pieces))
            self._pieces.append(piece)
            self._of_entry.append(
                (
                    self._word_numbers[word],
                    form,
                    self._forms[word, piece] if is_name or is_title else form,
                    is_name,
                    is_title,
                    word == "don't" or word in self.words.language.own_negations,
                    "," in gap,
                )
            )
        self._entries_of_token.append(entries)
        self._of_token.append(
            (token[-1] in ".?!:", "," in rest, token[0].islower() - token.istitle())
        )

    def _add_word(self, word: str) -> None:
        kind = self.words.language.questions.get(word.partition("'")[0], "")
        self._words.append(word)
        modal = self._modals[self.words.language.modals.get(word, "")]
        self._of_word.append(
            (self._questions[kind], word in self.words.auxiliaries, modal)
        )

    def _add_form(self, form: tuple[str, str]) -> None:
        """A word, and the piece that it is where it is a name."""
        word, piece = form
        units = units_of_piece(self.words, word)
        if piece:
            units = (named(unit, piece) for unit in units)
        self._units_of_form.append([self._unit_numbers[unit] for unit in units])

    def _add_unit(self, unit: Unit) -> None:
        language = self.words.language
        shown = unit.shown
        self._units.append(unit)
        self._of_unit.append(
            (
                self._keys[unit.key],
                unit.kinds,
                unit.weight,
                unit.key == "not",
                shown in language.clauses,
                shown in language.determiners,
                shown in language.joins,
                shown == "with",
                shown in language.mutual,
                value_of(unit) is not None,
                unit.key == "-" or unit.key in CURRENCIES,
                shown in language.units
                or shown in language.scales
                or shown in ("am", "pm"),
                shown in ("half", "by")
                or (bool(unit.kinds & NUMBER) and bool(ZEROS.search(unit.key))),
            )
        )

    def _add_key(self, key: str) -> None:
        groups = self.words.groups_of(key)
        self._groups_of_key.append([self._groups[group] for group, _ in groups])
        self._kinds_of_groups.append([kind for _, kind in groups])
        # Words of four letters begin alike by three, others by four.
        start = key[:4] if len(key) > 4 else key[:3]
        begins = key.isalpha() and len(key) > 3
        beginning = self._beginnings[start] if begins else -1
        code = zlib.crc32(key.encode())
        letters = self._letters[letters_of(key)]
        self._of_key.append((len(key), beginning, code, letters))
        self._key_words.append(key)

    # All texts together.

    def __call__(self, texts: Sequence[str]) -> Texts:
        """The texts as arrays of units."""
        with self._lock:
            return self._read(texts)

    def _read(self, texts: Sequence[str]) -> Texts:
        pieces, units, negations, passive = self._in_order(texts)
        n = len(texts)
        negated = np.bincount(negations.owners, minlength=n)
        if self.words.language.double_negation:
            negated = np.minimum(negated, 1)
        keys = self._of_unit["key"][units.units]
        times = _times_before(units.owners * len(self._keys) + keys)
        kept = times < TIMES
        return Texts(
            _Units.of(units.owners[kept], units.units[kept], n).starts,
            (TIMES * keys + times)[kept],
            self._heads(units)[kept],
            self._of_unit["kinds"][units.units][kept],
            self._of_unit["weight"][units.units][kept],
            self._groups_of_key.starts,
            self._groups_of_key.values,
            self._kinds_of_groups["kind"],
            self._of_key["letters"],
            self._of_key["beginning"],
            self._of_key["code"],
            self._of_key["letters_of"],
            self._key_words,
            (negated % 2).astype(np.int8),
            self._asked(pieces, n),
            self._modals_of(pieces, n),
            passive,
        )

    def explained(self, text: str) -> Text:
        """One text with its words."""
        with self._lock:
            pieces, units, negations, _ = self._in_order([text])
            # They number a kind that comes for the first time, so its name is looked up after.
            heads = self._heads(units).tolist()
            question = self._asked(pieces, 1)[0]
            modal = self._modals_of(pieces, 1)[0]
            shown = [self._units[unit].shown for unit in negations.units.tolist()]
            if self.words.language.double_negation:
                shown = shown[:1]
            return Text(
                [self._units[unit] for unit in units.units.tolist()],
                [self._key_words[head] for head in heads],
                shown,
                list(self._questions)[question],
                list(self._modals)[modal],
            )

    def _in_order(
        self, texts: Sequence[str]
    ) -> tuple[_Pieces, _Units, _Units, np.ndarray]:
        """The pieces, the units in the order in which they are compared, the negations, what is passive."""
        if len(self._tokens) > HELD:
            self._forget()
        pieces = self._in_pieces(texts)
        place, every = self._units_of_form.of(pieces.forms)
        owners = pieces.owners[place]
        is_not = self._of_unit["is_not"][every]
        units = _Units.of(owners[~is_not], every[~is_not], len(texts))
        negations = _Units.of(owners[is_not], every[is_not], len(texts))
        # Before which unit each piece stands.
        counts = np.bincount(place[~is_not], minlength=len(pieces.owners))
        before = (np.cumsum(counts) - counts)[pieces.after_comma]
        is_inside = before > units.starts[pieces.owners[pieces.after_comma]]
        commas = _Units(
            units.starts,
            pieces.owners[pieces.after_comma][is_inside],
            before[is_inside],
        )
        units, passive = self._arranged(units, commas)
        return pieces, units, negations, passive

    def _in_pieces(self, texts: Sequence[str]) -> _Pieces:
        """The pieces of texts, each as a name or not."""
        tokens = [self.words.rewritten(as_compared(text)).split() for text in texts]
        counts = np.fromiter(map(len, tokens), np.int64, len(texts))
        flat = itertools.chain.from_iterable(tokens)
        numbers = np.fromiter(
            map(self._tokens.__getitem__, flat), np.int64, int(counts.sum())
        )
        owners_of_tokens = np.repeat(np.arange(len(texts)), counts)
        at, entries = self._entries_of_token.of(numbers)
        owners = owners_of_tokens[at]
        is_first = np.append(True, owners[1:] != owners[:-1])[: len(owners)]

        def between(flags: np.ndarray) -> np.ndarray:
            """Whether a token between a piece and the one before it has a flag."""
            count = np.append(0, np.cumsum(flags[numbers]))[at]
            return np.append(False, count[1:] > count[:-1])[: len(at)] & ~is_first

        begin = is_first | between(self._of_token["ends"])
        after_comma = between(self._of_token["comma"])
        after_comma |= self._of_entry["comma"][entries] & ~is_first
        is_named = self._are_names(owners_of_tokens, numbers, entries, owners, begin)
        words = self._of_entry["word"][entries]
        forms = np.where(
            is_named, self._of_entry["named"][entries], self._of_entry["form"][entries]
        )
        found = _Pieces(owners, words, forms, begin, after_comma)
        self._ask(found, entries, is_named)
        return found

    def _are_names(
        self,
        owners_of_tokens: np.ndarray,
        tokens: np.ndarray,
        entries: np.ndarray,
        owners: np.ndarray,
        begin: np.ndarray,
    ) -> np.ndarray:
        """Which pieces are names: those with capitals that say something."""
        is_name = self._of_entry["is_name"][entries]
        if self.words.language.nouns_have_capitals or not len(owners):
            return is_name
        # After the first word as many begin small as are like Titles.
        says = self._of_token["capitals"][tokens]
        is_first = np.append(True, owners_of_tokens[1:] != owners_of_tokens[:-1])
        says[is_first] = 0
        small = np.bincount(owners_of_tokens, says) >= 0
        return is_name | (self._of_entry["is_title"][entries] & ~begin & small[owners])

    def _ask(self, pieces: _Pieces, entries: np.ndarray, is_named: np.ndarray) -> None:
        """Writes sentences' first words without a negation that asks no opposite."""
        asking = pieces.begin & self._of_entry["asks"][entries]
        first = pieces.words.copy()
        for at in np.flatnonzero(asking).tolist():
            word = self._words[first[at]]
            after = []
            if at + 1 < len(first) and pieces.owners[at + 1] == pieces.owners[at]:
                after = [self._words[first[at + 1]]]
            other = self.words.asked(word, after)
            if other != word:
                piece = self._pieces[entries[at]] if is_named[at] else ""
                pieces.words[at] = self._word_numbers[other]
                pieces.forms[at] = self._forms[other, piece]

    def _arranged(self, units: _Units, commas: _Units) -> tuple[_Units, np.ndarray]:
        """The units as the `Arranger` gives them, and which texts are passive: bool [texts]."""
        passive = np.zeros(len(units.starts) - 1, bool)
        is_changed = np.zeros(len(units.starts) - 1, bool)
        for owners in (
            self._with_clauses(units, commas),
            self._with_amounts(units),
            self._with_joins(units),
            units.owners[self._of_unit["changes"][units.units]],
        ):
            is_changed[owners] = True
        changed = np.flatnonzero(is_changed)
        if not len(changed):
            return units, passive
        ends_of_commas = np.searchsorted(commas.owners, changed, "right").tolist()
        starts_of_commas = np.searchsorted(commas.owners, changed).tolist()
        lists = []
        for text, start, stop in zip(
            changed.tolist(), starts_of_commas, ends_of_commas
        ):
            begin = int(units.starts[text])
            own = units.units[begin : units.starts[text + 1]].tolist()
            places = (commas.units[start:stop] - begin).tolist()
            found, passive[text] = self._arranger(
                [self._units[unit] for unit in own], places
            )
            lists.append([self._unit_numbers[unit] for unit in found])
        rest = ~is_changed[units.owners]
        counts = np.fromiter(map(len, lists), np.int64, len(lists))
        owners = np.concatenate([units.owners[rest], np.repeat(changed, counts)])
        new = np.fromiter(itertools.chain.from_iterable(lists), np.int64, counts.sum())
        order = np.argsort(owners, kind="stable")
        every = np.concatenate([units.units[rest], new])[order]
        return _Units.of(owners[order], every, len(is_changed)), passive

    def _with_clauses(self, units: _Units, commas: _Units) -> np.ndarray:
        """The texts with commas in which a part begins like a clause such as "In R, ..."."""
        is_clause = np.append(self._of_unit["is_clause"][units.units], False)
        firsts = units.starts[commas.owners]
        return commas.owners[is_clause[firsts] | is_clause[commas.units]]

    def _with_amounts(self, units: _Units) -> np.ndarray:
        """The texts that have a number with a sign, a currency or a unit."""
        values = np.flatnonzero(self._of_unit["is_value"][units.units])
        before = np.maximum(values - 1, 0)
        after = np.minimum(values + 1, len(units.units) - 1)
        is_sign = self._of_unit["is_sign"][units.units]
        is_counted = self._of_unit["is_counted"][units.units]
        return units.owners[values[is_sign[before] | is_counted[after]]]

    def _with_joins(self, units: _Units) -> np.ndarray:
        """The texts in which "and" joins two words that are not in the order of their keys."""
        of_unit = self._of_unit
        joins = of_unit["joins"][units.units]
        mutual = units.owners[of_unit["is_mutual"][units.units]]
        if len(mutual):
            is_with = of_unit["is_with"][units.units]
            joins |= is_with & np.isin(units.owners, mutual)
        places = np.flatnonzero(joins)
        ends = units.starts[units.owners[places] + 1]
        is_inside = (places > units.starts[units.owners[places]]) & (places + 1 < ends)
        places = places[is_inside]
        ends = ends[is_inside]
        after = places + 1
        skips = of_unit["is_determiner"][units.units[after]] & (after + 1 < ends)
        after += skips
        one = units.units[places - 1]
        two = units.units[after]
        kinds = of_unit["kinds"]
        content = ((kinds[one] | kinds[two]) & SMALL) == 0
        found = [
            owner
            for owner, a, b in zip(
                units.owners[places[content]].tolist(),
                one[content].tolist(),
                two[content].tolist(),
            )
            if self._units[a].key > self._units[b].key
        ]
        return np.array(found, np.int64)

    def _heads(self, units: _Units) -> np.ndarray:
        """The key before each unit, determiners left out: int64 [units]."""
        own = np.arange(len(units.units))
        is_determiner = self._of_unit["is_determiner"][units.units]
        last = np.maximum.accumulate(np.where(is_determiner, -1, own))
        before = np.append(-1, last)[: len(own)]
        has_one = before >= units.starts[units.owners]
        keys = self._of_unit["key"][units.units]
        return np.where(has_one, keys[before] if len(keys) else 0, self._no_head)

    def _asked(self, pieces: _Pieces, n: int) -> np.ndarray:
        """The numbers of the kinds of texts' question words: "how" becomes "how many" by the next word."""
        kinds = self._of_word["question"][pieces.words]
        kinds = np.where(
            self._of_word["auxiliary"][pieces.words] & pieces.begin, WHETHER, kinds
        )
        at = np.flatnonzero(kinds)
        owners = pieces.owners[at]
        at = at[np.append(True, owners[1:] != owners[:-1])[: len(at)]]
        found = np.zeros(n, np.int16)
        found[pieces.owners[at]] = kinds[at]
        grows = [self._questions[kind] for kind in ("how", "how many")]
        names = list(self._questions)
        ends = np.searchsorted(pieces.owners, pieces.owners[at], "right")
        is_open = np.isin(kinds[at], grows)
        for place, end in zip(at[is_open].tolist(), ends[is_open].tolist()):
            after = pieces.words[place + 1 : min(place + 3, end)].tolist()
            kind = names[kinds[place]]
            asked = self.words.asked_more(kind, [self._words[word] for word in after])
            found[pieces.owners[place]] = self._questions[asked]
        return found

    def _modals_of(self, pieces: _Pieces, n: int) -> np.ndarray:
        """The numbers of the kinds of texts' first modals, such as "can" or "have to"."""
        kinds = self._of_word["modal"][pieces.words]
        known = self.words.language.modals
        for before, after in (two.split() for two in known if " " in two):
            pair = self._word_numbers[before], self._word_numbers[after]
            at = np.flatnonzero(pieces.words[1:] == pair[1]) + 1
            at = at[pieces.words[at - 1] == pair[0]]
            at = at[pieces.owners[at - 1] == pieces.owners[at]]
            own = kinds[at] == 0
            kinds[at[own]] = self._modals[known[f"{before} {after}"]]
        at = np.flatnonzero(kinds)
        owners = pieces.owners[at]
        at = at[np.append(True, owners[1:] != owners[:-1])[: len(at)]]
        found = np.zeros(n, np.int16)
        found[pieces.owners[at]] = kinds[at]
        return found
