"""The near-miss check: two questions that share most of their words are compared word by word.

A cosine sees topics, not roles: "from Lyon to Geneva" and "from Geneva to Lyon" have a
cosine of 1.00. This is verification of candidate pairs by comparison features, the
numbers of `FEATURES`. It only refuses: the penalty that it takes off a cosine is at
least 0, and 0 where two questions share less than half of their units.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import resources
from typing import NamedTuple

import numpy as np
import Stemmer

from siamese.encoders.protocol import checksum
from siamese.errors import ArgumentError
from siamese.model.near_miss_languages import LANGUAGES
from siamese.model.near_miss_words import Language
from siamese.model.trees import Trees
from siamese.text.cleaning import cleaned, normalized, straightened

MOST_UNITS = 50  # A text of more words is not compared.
LITTLE = 0.25  # the weight of a word such as "the" beside 1 of a word of content
# Between these shares of common units the penalty grows to all of it.
GATE = (0.5, 0.6)
SHORT = 6  # The penalty of longer texts falls: one word of twenty says less than one of five.
MARGIN = 0.5  # of two logits: the doubt that is not yet a penalty
KINDS = (
    "number",
    "date",
    "negation",
    "direction",
    "name",
    "noun",
    "verb",
    "question word",
    "scope",
)
FEATURES = {
    "cosine": "of the two vectors",
    "share": "of the units of both, those in common: 0.5 for 'clean shoes' and 'clean windows'",
    "units": "mean weight of the units of the two",
    "little_left": "words such as 'the' on one side alone",
    "words_exchanged": "words of content left on both sides: 1 for 'clean shoes' and 'clean windows'",
    "words_added": "and how many more on the other: 1 for 'clean shoes' and 'clean old shoes'",
    "longest_left": "letters of the longest stem of content left: 6 for 'clean shoes' and 'clean windows'",
    "content_share": "as share, of words of content alone",
    "alike": "words left that begin alike, such as 'organize' and 'organise'",
    "numbers_exchanged": "numbers and codes: 1 for 'error 404' and 'error 403'",
    "numbers_added": "1 for 'error 404' and 'error'",
    "numbers_common": "1 for 'error 404' twice",
    "dates_exchanged": "1 for 'on Monday' and 'on Tuesday'",
    "dates_added": "1 for 'on Monday' and 'soon'",
    "names_exchanged": "1 for 'eat in Porto' and 'eat in Lisbon'",
    "names_added": "1 for 'eat in Porto' and 'eat in town'",
    "names_common": "1 for 'eat in Porto' twice",
    "negation": "1 where one is negated: 'is visible' and 'is not visible', or 'is invisible'",
    "opposites": "pairs such as 'enable' and 'disable', 'buy' and 'sell'",
    "directions": "pairs such as 'before' and 'after'",
    "scopes": "pairs such as 'all' and 'some', 'first' and 'last'",
    "scope_added": "words of scope on one side alone, such as 'all'",
    "question_word": "2 for 'when' and 'why', or 'when' and 'can'; 1 for 'how' and 'can'",
    "moved": "common words of content that stand elsewhere: 2 for 'cats chase dogs' and 'dogs chase cats'",
    "breaks": "places where the common words of content go back: 1 for the same",
    "new_heads": "common words after another word: 2 for 'from Rome to Bari' and 'from Bari to Rome'",
    "crossed": "common words that stand after each other's word: 1 pair for the same",
    "passive": "1 where one has 'was eaten by' and the other has not",
}
# With more of them two questions are never more alike, so trees are fitted to fall.
FALLING = frozenset(
    {
        "numbers_exchanged",
        "dates_exchanged",
        "names_exchanged",
        "negation",
        "opposites",
        "directions",
        "scopes",
        "crossed",
        "words_exchanged",
    }
)
_N = {name: place for place, name in enumerate(FEATURES)}

_NUMBER, _DATE, _NAME, _SCOPE, _SMALL, _OPPOSITE, _DIRECTION = (
    1 << n for n in range(7)
)
_TIMES = 16  # A unit counts at most so often in a text.
_BLOCK = 1 << 15  # pairs compared at once
_HELD = 200_000  # words whose units are held
_PIECES = re.compile(  # a group, so that a text is split at its pieces and they stay
    r"((?<![^\s(])-(?=[$€£]?\d)"  # -5
    r"|[$€£¥₹%°]"
    r"|\.?[^\W_]+(?:[.,:/'_&+-]+[^\W_]+)*+(?:\+\+|\#)?)"
)
_CURRENCIES = frozenset("$€£¥₹")
_SPACELESS = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d{1,2}$)")
_GROUPED = re.compile(r"\d{1,3}(?:[.,]\d{3})+")
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)(\D*)")
_TIME = re.compile(r"(\d{1,2})[:h](\d\d)")
_ZEROS = re.compile(r"\.0+$")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_CAPITALS = re.compile(r"[^\W\d_][^\s]*[A-Z]|[A-Z][\w]*(?:\+\+|#)|\.[A-Z]")
_END = re.compile(r"[.?!:]\s")
_WORD = re.compile(r"[^\W\d_]{2,}")
_HAN = re.compile("[\u4e00-\u9fff]")
_KANA = re.compile("[\u3040-\u30ff]")
_LETTERS = {"de": "äöüß", "fr": "çèêàùœ", "es": "¿¡ñ"}
_LETTER = re.compile(f"[{''.join(_LETTERS.values())}]")
LEAST_LITTLE = 2  # words and letters that tell a language


class _Unit(NamedTuple):
    """What one piece of a text stands for, before its neighbours are known."""

    key: str  # what is compared: a stem, a number, a bigram
    kinds: int
    weight: float
    shown: str  # as a reader meets it


class _Text(NamedTuple):
    """A text's units in the order in which they are compared."""

    units: list[_Unit]
    heads: list[str]  # the key before each, determiners left out
    negations: list[str]
    question: str  # the kind of its question word
    passive: bool


class _Words:
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
            ("date", _DATE, language.dates),
            ("opposite", _OPPOSITE, language.opposites),
            ("direction", _DIRECTION, language.directions),
            ("scope", _SCOPE, language.scopes),
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

    def key(self, word: str) -> str:
        """What a word is compared by: its stem, or that of its synonym."""
        word = self._first.get(word, word)
        if word in self.language.little:
            return word
        stem = self._stem(word)
        return self._stem(self._first.get(stem, stem))

    def groups_of(self, key: str) -> list[tuple[str, int]]:
        """The groups of opposites that a key belongs to, each with its kind."""
        found = [*self.groups.get(key, []), (f"un {key}", _OPPOSITE)]
        for prefix in self.language.prefixes:
            if key.startswith(prefix) and len(key) > len(prefix) + 2:
                found.append((f"un {key[len(prefix) :]}", _OPPOSITE))
        for place, pair in enumerate(self.language.prefix_pairs):
            for prefix in pair:
                if key.startswith(prefix) and len(key) > len(prefix) + 2:
                    found.append((f"{place} {key[len(prefix) :]}", _OPPOSITE))
        return found

    def unit(self, word: str) -> _Unit:
        """The unit of a word without digits."""
        key = self.key(word)
        kinds = 0
        weight = 1.0
        if key in self.language.little:
            kinds = _SMALL
            weight = LITTLE
        if key in self._dates:
            kinds |= _DATE
        if key in self._scopes and not kinds & _DATE:
            kinds |= _SCOPE
        return _Unit(key, kinds, weight, word)


def _number_unit(text: str) -> _Unit:
    """The unit of a piece with a digit: an amount, a version, a code, a date."""
    shown = text
    if _GROUPED.fullmatch(text) and ("," in text or text.endswith(".000")):
        text = text.replace(",", "").replace(".", "")
    text = _DECIMAL_COMMA.sub(".", _THOUSANDS.sub("", text))
    ordinal = _ORDINAL.fullmatch(text)
    if ordinal:
        return _Unit(f"#{ordinal[1]}", _NUMBER, 1.0, shown)
    if _YEAR.fullmatch(shown) or text.count("/") == 2:
        return _Unit(text, _NUMBER | _DATE, 1.0, shown)
    if text[0] == "v" and text[1:2].isdigit():
        text = text[1:]
    return _Unit(text, _NUMBER, 1.0, shown)


_CACHED = 50_000  # texts of at most `_SHORT` characters, whose units are kept
_SHORT = 500


class _Reader:
    """Reads texts as units; the units of a word are made once, and those of a short text kept."""

    def __init__(self, words: _Words):
        self.words = words
        self._known: dict[str, tuple[_Unit, ...]] = {}
        self._auxiliaries = {*words.language.own_negations.values()}
        self._short = functools.lru_cache(_CACHED)(self._of_text)

    def __call__(self, text: str) -> _Text:
        return self._short(text) if len(text) <= _SHORT else self._of_text(text)

    def _of_text(self, text: str) -> _Text:
        text = self.words.rewritten(_as_compared(text))
        # The gaps are before the pieces.
        *parts, _ = _PIECES.split(text)
        gaps = parts[::2]
        pieces = parts[1::2]
        words = list(map(str.lower, pieces))
        starts = [
            at
            for at, gap in enumerate(gaps)
            if not at or (len(gap) > 1 and _END.search(gap))
        ]
        for at in starts:
            words[at] = self._asked(words[at], words[at + 1 : at + 2])
        found = [self._known.get(word) or self._units_of_word(word) for word in words]
        for at in self._names(text, pieces, words, starts):
            found[at] = tuple(_named(unit, pieces[at]) for unit in found[at])

        units = list(itertools.chain.from_iterable(found))
        negations = []
        if "not" in [unit.key for unit in units]:
            negations = [unit.shown for unit in units if unit.key == "not"]
            if self.words.language.double_negation:
                negations = negations[:1]
            units = [unit for unit in units if unit.key != "not"]
        if "," in text:
            units = self._with_late_clauses(units, _after_commas(gaps, found))
        shown = [unit.shown for unit in units]
        if "half" in shown or any(unit.kinds & _NUMBER for unit in units):
            units = self._with_units(units)
            shown = [unit.shown for unit in units]
        self._order_joined(units, shown)
        return _Text(
            units,
            self._heads(units),
            negations,
            self._question(words, starts),
            self._is_passive(shown),
        )

    def _names(
        self, text: str, pieces: list[str], words: list[str], starts: list[int]
    ) -> Iterator[int]:
        """The places of names: pieces with capitals that say something."""
        named = False if self.words.language.nouns_have_capitals else None
        changed = [at for at, word in enumerate(words) if word != pieces[at]]
        for at in changed:
            piece = pieces[at]
            if _CAPITALS.match(piece):
                yield at
            elif at not in starts and piece[0].isupper() and len(piece) > 1:
                named = _has_small_words(text) if named is None else named
                if named:
                    yield at

    def _heads(self, units: list[_Unit]) -> list[str]:
        """The key before each unit, determiners left out."""
        determiners = self.words.language.determiners
        heads = []
        last = ""
        for unit in units:
            heads.append(last)
            if unit.shown not in determiners:
                last = unit.key
        return heads

    def _asked(self, word: str, after: list[str]) -> str:
        """A sentence's first word, without a negation that asks no opposite."""
        language = self.words.language
        if word == "don't":
            return "do" if not language.before_subject.isdisjoint(after) else word
        return language.own_negations.get(word, word)

    def _units_of_word(self, word: str) -> tuple[_Unit, ...]:
        """The units of a piece in lower case, which are made once."""
        if len(self._known) > _HELD:
            self._known.clear()
        units = tuple(self._units_of(word))
        self._known[word] = units
        return units

    def _units_of(self, piece: str) -> Iterable[_Unit]:
        """The units of a piece in lower case."""
        language = self.words.language
        if piece in language.negated:
            for word in language.negated[piece]:
                for unit in self._units_of(word):
                    yield unit._replace(shown=piece) if unit.key == "not" else unit
            return
        if piece == "-":
            yield _Unit(piece, 0, 0.0, piece)
            return
        if _SPACELESS.match(piece) and not self.words.is_known(piece):
            for place in range(max(len(piece) - 1, 1)):
                yield _Unit(piece[place : place + 2], 0, 1.0, piece[place : place + 2])
            return
        if piece in language.numbers:
            yield _Unit(language.numbers[piece], _NUMBER, 1.0, piece)
            return
        if piece in language.ordinals:
            yield _Unit(f"#{language.ordinals[piece]}", _NUMBER, 1.0, piece)
            return
        if any(map(str.isdigit, piece)):
            yield from self._digits(piece)
            return
        if "'" in piece:
            base, _, rest = piece.rpartition("'")
            if rest == "t" and base.endswith("n"):
                yield from self._units_of(base[:-1])
                yield _Unit("not", 0, 0.0, piece)
                return
            if rest in ("s", "re", "m", "ve", "ll", "d", "t"):
                piece = base
        for part in re.split(r"[/&_]|-(?=\w{3})", piece) if len(piece) > 2 else [piece]:
            part = part.replace("-", "").strip("'.")
            if part in language.negations:
                yield _Unit("not", 0, 0.0, part)
                without, positive = language.without
                if part == without:
                    yield _Unit(positive, _SMALL, LITTLE, part)
            elif part:
                yield self.words.unit(part)

    def _digits(self, piece: str) -> Iterable[_Unit]:
        """The units of a piece with a digit: "200mg" and "27-inch" are a number and its unit."""
        units = self.words.language.units
        scales = self.words.language.scales
        amount = _AMOUNT.fullmatch(_THOUSANDS.sub("", piece))
        tail = amount[2].strip("-") if amount else ""
        if (
            amount
            and tail
            and (tail in units or tail in scales or tail in ("am", "pm"))
        ):
            yield _number_unit(amount[1])
            yield self.words.unit(tail)
            return
        yield _number_unit(piece)

    def _question(self, words: list[str], starts: list[int]) -> str:
        """The kind of a text's question word; "how" becomes "how many" by the next word."""
        language = self.words.language
        kind = ""
        for at, word in enumerate(words):
            if not kind:
                kind = language.questions.get(word.partition("'")[0], "")
                if word in self._auxiliaries and at in starts:
                    kind = "whether"
            elif kind == "how":
                kind = f"how {word}" if word in language.measures else "how to"
            elif kind == "how many":
                base, _ = language.units.get(word, ("", 0))
                kind = "how long" if base in ("second", "month") else kind
            else:
                break
        return kind

    def _with_units(self, units: list[_Unit]) -> list[_Unit]:
        """Numbers joined with what they count: "1,000 mg" is "1 g", "$2 million" is "2,000,000 dollars"."""
        joined: list[_Unit] = []
        place = 0
        while place < len(units):
            value, size = self._value_at(units, place)
            unit = units[place]
            place += size
            if value is None:
                joined.append(unit)
                continue
            sign = joined.pop() if joined and joined[-1].key == "-" else None
            currency = (
                joined.pop() if joined and joined[-1].key in _CURRENCIES else None
            )
            if sign:
                value = -value
                unit = unit._replace(key=f"-{unit.key}", shown=f"-{unit.shown}")
            if currency:
                unit = unit._replace(shown=f"{currency.shown}{unit.shown}")
            unit, size = self._counted(unit, value, currency, units[place:])
            place += size
            joined.append(unit)
        return joined

    def _value_at(self, units: list[_Unit], place: int) -> tuple[float | None, int]:
        """The number at a place, and how many units it takes; "half an hour" is 0.5 and a unit of time."""
        after = [unit.shown for unit in units[place + 1 : place + 3]]
        if units[place].shown == "half":
            skip = 1 + (after[:1] in (["a"], ["an"]))
            if len(after) >= skip and after[skip - 1] in self.words.language.units:
                return 0.5, skip
        return _value_of(units[place]), 1

    def _counted(
        self, unit: _Unit, value: float, currency: _Unit | None, after: list[_Unit]
    ) -> tuple[_Unit, int]:
        """A number with the scales and the unit after it, and how many units these take."""
        language = self.words.language
        base = currency.key if currency else ""
        words = [unit.shown]
        size = 0
        while size < len(after) and after[size].shown in language.scales:
            value *= language.scales[after[size].shown]
            words.append(after[size].shown)
            size += 1
        following = after[size].shown if size < len(after) else ""
        if following in ("am", "pm"):
            hour = value % 12 + 12 * (following == "pm")
            shown = " ".join([*words, following])
            return _Unit(f"at {hour:g}", _DATE | _NUMBER, 1.0, shown), size + 1
        if not base and following in language.units:
            base, factor = language.units[following]
            value *= factor
            words.append(following)
            size += 1
        if not base and len(words) == 1:
            return unit._replace(key=_ZEROS.sub("", unit.key)), size
        return _Unit(f"{value:.12g}{base}", _NUMBER, 1.0, " ".join(words)), size

    def _is_passive(self, shown: list[str]) -> bool:
        """Whether there is a form of "be", a participle, and then "by"."""
        if "by" not in shown:
            return False
        place = shown.index("by")
        before = shown[:place]
        if not before or not before[-1].endswith(("ed", "en", "wn", "ght", "t")):
            return False
        return not {"is", "are", "was", "were", "be", "been"}.isdisjoint(before)

    def _with_late_clauses(self, units: list[_Unit], commas: list[int]) -> list[_Unit]:
        """The units with clauses such as "In R, ..." last."""
        if not commas:
            return units
        bounds = [0, *commas, len(units)]
        early: list[_Unit] = []
        late: list[_Unit] = []
        for start, stop in itertools.pairwise(bounds):
            part = units[start:stop]
            is_late = part and part[0].shown in self.words.language.clauses
            (late if is_late else early).extend(part)
        return early + late

    def _order_joined(self, units: list[_Unit], shown: list[str]) -> None:
        """Puts two words that "and" joins in the order of their keys."""
        language = self.words.language
        joins = language.joins
        if not language.mutual.isdisjoint(shown):
            joins = joins | {"with"}
        if joins.isdisjoint(shown):
            return
        for place in range(1, len(units) - 1):
            if shown[place] in joins:
                after = place + 1
                if shown[after] in language.determiners and after + 1 < len(units):
                    after += 1
                one = units[place - 1]
                two = units[after]
                if one.key > two.key and not (one.kinds | two.kinds) & _SMALL:
                    units[place - 1] = two
                    units[after] = one


def _stemmer(name: str | None) -> Callable[[str], str]:
    """The stem of a word, or the word itself where words are not stemmed."""
    if name is None:
        return str
    return functools.lru_cache(1 << 16)(Stemmer.Stemmer(name).stemWord)


@functools.cache
def _reader(language: str) -> _Reader:
    return _Reader(_Words(LANGUAGES[language]))


@functools.cache
def _own_words() -> dict[str, list[str]]:
    """The little words of other languages that English has not, each with its languages."""
    english = LANGUAGES["en"].little
    languages: dict[str, list[str]] = {}
    for code, language in LANGUAGES.items():
        if code != "en" and language.stemmer:
            for word in language.little - english:
                languages.setdefault(word, []).append(code)
    for code, some in _LETTERS.items():
        languages |= {letter: [code] for letter in some}
    return languages


@functools.lru_cache(_CACHED)
def table_of(text: str) -> str | None:
    """The language of `LANGUAGES` in whose words a text is, None where no word tells it.

    Another language than English is told by at least `LEAST_LITTLE` little words and
    letters that English has not, if the text has fewer words that are English alone.
    """
    text = straightened(text[:_SHORT]).lower()
    words = _WORD.findall(text)
    english = LANGUAGES["en"].little.intersection(words)
    if not text.isascii():
        if _HAN.search(text) and not _KANA.search(text):
            return "zh" if len(english) < LEAST_LITTLE else "en"
        words += set(_LETTER.findall(text))
    own = _own_words()
    found = [code for word in dict.fromkeys(words) if word in own for code in own[word]]
    best = max(dict.fromkeys(found), key=found.count, default="en")
    english -= LANGUAGES[best].little if found else frozenset()
    if len(found) < LEAST_LITTLE and not english:
        return None
    return best if found.count(best) >= max(LEAST_LITTLE, len(english) + 1) else "en"


def _common_table(one: str | None, two: str | None) -> str:
    """The language by whose words two texts are compared: English where they are of two."""
    if one is None or two is None or one == two:
        return one or two or "en"
    return "en"


def _named(unit: _Unit, piece: str) -> _Unit:
    """The unit of a name, unless it is a number, a date or a word such as "the"."""
    if unit.key == "not" or unit.kinds & (_NUMBER | _DATE | _SMALL):
        return unit
    return unit._replace(kinds=unit.kinds | _NAME, shown=piece)


def _after_commas(gaps: list[str], found: list[tuple[_Unit, ...]]) -> list[int]:
    """The places of the units that follow a comma, negations not counted."""
    commas = []
    count = 0
    for gap, own in zip(gaps, found):
        if count and "," in gap:
            commas.append(count)
        count += sum(unit.key != "not" for unit in own)
    return commas


def _value_of(unit: _Unit) -> float | None:
    if not unit.kinds & _NUMBER:
        return None
    clock = _TIME.fullmatch(unit.key)
    if clock:
        return int(clock[1]) + int(clock[2]) / 60
    try:
        return float(unit.key)
    except ValueError:
        return None


def _as_compared(text: str) -> str:
    """The text with plain marks, repeated lines left out, scripts without blanks apart."""
    text = cleaned(text)
    if not text.isascii():
        text = straightened(normalized(straightened(text), "NFKC"))
        text = _SPACELESS.sub(lambda run: f" {run[0]} ", text)
    if "\n" in text:
        text = "\n".join(dict.fromkeys(text.splitlines()))
    return text.replace("`", "'")


def _has_small_words(text: str) -> bool:
    """Whether a capital says something: after the first word as many begin small as are like Titles."""
    words = text.split()[1:]
    return sum(w[0].islower() for w in words) >= sum(map(str.istitle, words))


# Five arrays of `_Arrays`, about its keys.
_OfKeys = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class _Arrays(NamedTuple):
    """Texts as arrays of units; one text's units lie between two of `starts`."""

    starts: np.ndarray  # int64 [texts + 1]
    # int64 [units]: _TIMES * the number of its key + how often it came before
    keys: np.ndarray
    heads: np.ndarray  # int64 [units]
    kinds: np.ndarray  # int16 [units]
    weights: np.ndarray  # float32 [units]
    group_starts: np.ndarray  # int64 [keys + 1]
    groups: np.ndarray  # int64, of the keys, one after the other
    group_kinds: np.ndarray  # int16
    letters: np.ndarray  # int16 [keys]
    beginnings: np.ndarray  # int64 [keys]: alike for keys that begin alike
    negated: np.ndarray  # int8 [texts], 1 for an odd number of negations
    questions: np.ndarray  # int16 [texts], the number of a kind of question word
    passive: np.ndarray  # bool [texts]

    def has(self, at: np.ndarray, kinds: int) -> np.ndarray:
        """Whether units are of one of some kinds, bool [units]."""
        return (self.kinds[at] & kinds) != 0


# The first two exclude no other kind; "Can I" and "How can I" do not exclude each other.
_KINDS_OF_QUESTION = ("", "what", "whether", "how to")


def _exclude(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """Whether a question of one kind asks something else than one of another kind; by numbers of kinds."""
    low = np.minimum(one, two)
    high = np.maximum(one, two)
    return (low > 1) & (low != high) & ((low != 2) | (high != 3))


def _arrays(read: _Reader, texts: Sequence[str]) -> _Arrays:
    """The units of all texts, one text after the other, and what is known of each key."""
    found = list(map(read, texts))
    lengths = [len(text.units) for text in found]
    units = [unit for text in found for unit in text.units]
    keys = [unit.key for unit in units]
    heads = [head for text in found for head in text.heads]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys + heads))}
    names = {name: number for number, name in enumerate(_KINDS_OF_QUESTION)}
    key_numbers = np.array([numbers[key] for key in keys], np.int64)
    owners = np.repeat(np.arange(len(found)), lengths)
    times = _times_before(owners * len(numbers) + key_numbers)
    is_kept = times < _TIMES
    return _Arrays(
        np.append(0, np.bincount(owners[is_kept], minlength=len(found)).cumsum()),
        (_TIMES * key_numbers + times)[is_kept],
        np.array([numbers[head] for head in heads], np.int64)[is_kept],
        np.array([unit.kinds for unit in units], np.int16)[is_kept],
        np.array([unit.weight for unit in units], np.float32)[is_kept],
        *_of_keys(read.words, numbers),
        np.array([len(text.negations) % 2 for text in found], np.int8),
        np.array(
            [names.setdefault(text.question, len(names)) for text in found], np.int16
        ),
        np.array([text.passive for text in found], bool),
    )


def _times_before(values: np.ndarray) -> np.ndarray:
    """How often each value has come before, int64 [n]."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    is_first = np.append(True, ordered[1:] != ordered[:-1])[: len(values)]
    first = np.maximum.accumulate(np.where(is_first, np.arange(len(values)), 0))
    times = np.empty(len(values), np.int64)
    times[order] = np.arange(len(values)) - first
    return times


def _of_keys(words: _Words, numbers: dict[str, int]) -> _OfKeys:
    """Of each key: its groups (where they start, which, of which kind), letters, beginning."""
    group_numbers: dict[str, int] = {}
    group_starts = [0]
    groups = []
    group_kinds = []
    beginnings = []
    begin: dict[str, int] = {}
    for key in numbers:
        for group, kind in words.groups_of(key):
            groups.append(group_numbers.setdefault(group, len(group_numbers)))
            group_kinds.append(kind)
        group_starts.append(len(groups))
        # Words of four letters begin alike by three, others by four.
        start = key[:4] if len(key) > 4 else key[:3]
        beginnings.append(
            begin.setdefault(start, len(begin))
            if key.isalpha() and len(key) > 3
            else -1
        )
    return (
        np.array(group_starts, np.int64),
        np.array(groups, np.int64),
        np.array(group_kinds, np.int16),
        np.array([*map(len, numbers)], np.int16),
        np.array(beginnings, np.int64),
    )


def _spread(starts: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For ragged rows: to which of `rows` each value belongs, and its place; int64 [values] both."""
    counts = starts[rows + 1] - starts[rows]
    owner = np.repeat(np.arange(len(rows)), counts)
    first = np.cumsum(counts) - counts
    return owner, np.arange(len(owner)) - first[owner] + starts[rows][owner]


def features(
    texts_a: Sequence[str], texts_b: Sequence[str], cosines: np.ndarray
) -> np.ndarray:
    """The comparison features of pairs of texts, float32 [n, len(FEATURES)], symmetric in the two texts.

    A text that stands in many pairs is read once. Rows of pairs with a text of more
    than `MOST_UNITS` units have the share 0.
    """
    place_of: dict[str, int] = {}
    one, two = (
        np.array([place_of.setdefault(t, len(place_of)) for t in some], np.int64)
        for some in (texts_a, texts_b)
    )
    texts = list(place_of)
    tables = np.array([_TABLES.index(table_of(text)) for text in texts], np.int64)
    of_pairs = _COMMON[tables[one], tables[two]]
    rows = np.zeros((len(one), len(FEATURES)), np.float32)
    for number, language in enumerate(LANGUAGES):
        pairs = np.flatnonzero(of_pairs == number)
        if len(pairs):
            rows[pairs] = _features_in(language, texts, one[pairs], two[pairs])
    rows[:, _N["cosine"]] = cosines
    return rows


# What `table_of` gives, and the number of the table of two texts by the numbers of theirs.
_TABLES = [*LANGUAGES, None]
_COMMON = np.array(
    [[_TABLES.index(_common_table(one, two)) for two in _TABLES] for one in _TABLES]
)


def _features_in(
    language: str, texts: Sequence[str], one: np.ndarray, two: np.ndarray
) -> np.ndarray:
    """The features of pairs of texts, given by their places, as a language's words tell them."""
    used, places = np.unique(np.concatenate([one, two]), return_inverse=True)
    arrays = _arrays(_reader(language), [texts[place] for place in used.tolist()])
    one, two = np.split(places, 2)
    rows = np.zeros((len(one), len(FEATURES)), np.float32)
    for at in range(0, len(rows), _BLOCK):
        block = slice(at, at + _BLOCK)
        _compare(arrays, one[block], two[block], rows[block])
    return rows


def _compare(t: _Arrays, one: np.ndarray, two: np.ndarray, rows: np.ndarray) -> None:
    """Writes the features of a block of pairs, but the cosine."""
    n = len(one)
    size = _TIMES * (len(t.beginnings) + 1)
    pair_a, at_a = _spread(t.starts, one)
    pair_b, at_b = _spread(t.starts, two)
    _, both_a, both_b = np.intersect1d(
        pair_a * size + t.keys[at_a],
        pair_b * size + t.keys[at_b],
        assume_unique=True,
        return_indices=True,
    )

    def total(pairs: np.ndarray, of: np.ndarray | None = None) -> np.ndarray:
        return np.bincount(pairs, of, n)

    # What they have in common.
    weight_a = total(pair_a, t.weights[at_a])
    weight_b = total(pair_b, t.weights[at_b])
    common = total(pair_a[both_a], t.weights[at_a[both_a]] + t.weights[at_b[both_b]])
    rows[:, _N["share"]] = common / np.maximum(weight_a + weight_b, 1e-6)
    rows[:, _N["units"]] = (weight_a + weight_b) / 2
    is_content = [t.weights[at] > LITTLE for at in (at_a, at_b)]
    content = total(pair_a[is_content[0]]) + total(pair_b[is_content[1]])
    rows[:, _N["content_share"]] = (
        2 * total(pair_a[both_a][is_content[0][both_a]]) / np.maximum(content, 1)
    )

    shared = at_a[both_a]
    for name, kind in (("numbers_common", _NUMBER), ("names_common", _NAME)):
        rows[:, _N[name]] = total(pair_a[both_a][t.has(shared, kind)])

    # What is left on each side, by kind.
    left = []
    for pairs, at, both in ((pair_a, at_a, both_a), (pair_b, at_b, both_b)):
        rest = np.ones(len(at), bool)
        rest[both] = False
        left.append((pairs[rest], at[rest]))
    _left(t, left, rows, n)

    # What excludes what, and the order.
    _opposites(t, left, rows, n)
    negated = t.negated[one] != t.negated[two]
    rows[:, _N["negation"]] = negated
    asked = t.questions[one], t.questions[two]
    rows[:, _N["question_word"]] = (asked[0] != asked[1]) + 1 * _exclude(*asked)
    rows[:, _N["passive"]] = t.passive[one] != t.passive[two]
    _order(t, pair_a[both_a], at_a[both_a], at_b[both_b], rows, n)
    too_long = np.maximum(np.diff(t.starts)[one], np.diff(t.starts)[two]) > MOST_UNITS
    rows[too_long, _N["share"]] = 0


def _left(t: _Arrays, left: list, rows: np.ndarray, n: int) -> None:
    """Counts what is left on each side, by kind: exchanged for something, or added by one side."""

    def counts(choose: Callable[[np.ndarray], np.ndarray]) -> list[np.ndarray]:
        found = [np.bincount(pairs[choose(at)], minlength=n) for pairs, at in left]
        return [np.minimum(*found), np.abs(found[0] - found[1])]

    special = _NUMBER | _DATE | _NAME | _SCOPE | _SMALL
    for name, choose in (
        ("words", lambda at: ~t.has(at, special)),
        ("numbers", lambda at: t.has(at, _NUMBER) & ~t.has(at, _DATE)),
        ("dates", lambda at: t.has(at, _DATE)),
        ("names", lambda at: t.has(at, _NAME)),
    ):
        fewer, more = counts(choose)
        rows[:, _N[f"{name}_exchanged"]] = fewer
        rows[:, _N[f"{name}_added"]] = more
    longest = np.zeros(n, np.int16)
    for pairs, at in left:
        plain = ~t.has(at, special)
        np.maximum.at(longest, pairs[plain], t.letters[t.keys[at[plain]] // _TIMES])
    rows[:, _N["longest_left"]] = longest
    rows[:, _N["scope_added"]] = counts(lambda at: t.has(at, _SCOPE))[1]
    rows[:, _N["little_left"]] = sum(counts(lambda at: t.has(at, _SMALL)))


def _opposites(t: _Arrays, left: list, rows: np.ndarray, n: int) -> None:
    """Counts pairs of words left, one on each side, of which one excludes the other; and words alike."""
    sides = []
    for pairs, at in left:
        keys = t.keys[at] // _TIMES
        owner, entry = _spread(t.group_starts, keys)
        sides.append((pairs[owner], t.groups[entry], t.group_kinds[entry]))
    size = int(t.groups.max(initial=0)) + 1
    (pairs_a, groups_a, kinds), (pairs_b, groups_b, _) = sides
    codes, first = np.unique(pairs_a * size + groups_a, return_index=True)
    hit = np.isin(codes, pairs_b * size + groups_b)
    pairs = pairs_a[first[hit]]
    kinds = kinds[first[hit]]
    for name, kind in (
        ("opposites", _OPPOSITE),
        ("directions", _DIRECTION),
        ("scopes", _SCOPE),
    ):
        rows[:, _N[name]] = np.bincount(pairs[kinds == kind], minlength=n)
    size = int(t.beginnings.max(initial=0)) + 1
    alike = []
    for pairs, at in left:
        begin = t.beginnings[t.keys[at] // _TIMES]
        plain = (begin >= 0) & ((t.kinds[at] & (_NUMBER | _DATE | _NAME)) == 0)
        alike.append(pairs[plain] * size + begin[plain])
    rows[:, _N["alike"]] = np.bincount(np.intersect1d(*alike) // size, minlength=n)


def _order(
    t: _Arrays,
    pairs: np.ndarray,
    at_a: np.ndarray,
    at_b: np.ndarray,
    rows: np.ndarray,
    n: int,
) -> None:
    """How the common words stand in the two texts."""
    content = (t.kinds[at_a] & _SMALL) == 0
    pairs = pairs[content]
    at_a = at_a[content]
    at_b = at_b[content]
    in_a = np.lexsort((at_a, pairs))
    pairs = pairs[in_a]
    at_a = at_a[in_a]
    at_b = at_b[in_a]
    in_b = np.lexsort((at_b, pairs))
    moved = in_b != np.arange(len(in_b))
    rows[:, _N["moved"]] = np.bincount(pairs[moved], minlength=n)
    back = (at_b[1:] < at_b[:-1]) & (pairs[1:] == pairs[:-1])
    rows[:, _N["breaks"]] = np.bincount(pairs[1:][back], minlength=n)
    head_a = t.heads[at_a]
    head_b = t.heads[at_b]
    new = head_a != head_b
    rows[:, _N["new_heads"]] = np.bincount(pairs[new], minlength=n)
    size = len(t.beginnings) + 1
    pairs = pairs[new]
    head_a = head_a[new]
    head_b = head_b[new]
    one = (pairs * size + head_a) * size + head_b
    other = (pairs * size + head_b) * size + head_a
    crossed = np.isin(one, other)
    rows[:, _N["crossed"]] = np.bincount(pairs[crossed], minlength=n) // 2


# The features of each kind of difference, which `ignore` leaves out.
_OF_KIND = {
    "number": ("numbers_exchanged", "numbers_added"),
    "date": ("dates_exchanged", "dates_added"),
    "negation": ("negation",),
    "direction": ("directions", "moved", "breaks", "crossed", "passive"),
    "name": ("names_exchanged", "names_added"),
    "noun": ("words_exchanged", "words_added", "longest_left"),
    "verb": ("opposites",),
    "question word": ("question_word",),
    "scope": ("scopes", "scope_added"),
}
_DIFFER = [_N[name] for some in _OF_KIND.values() for name in some]


class Difference(NamedTuple):
    """In what two texts differ: a kind of `KINDS`, and what each of them has of it."""

    kind: str
    one: str
    other: str

    def __str__(self) -> str:
        return f"{self.one or '-'} / {self.other or '-'}"


class NearMissCheck:
    """Takes a penalty off the cosine of two questions that share most words and ask something else.

    Of a cosine s it makes ``s - strength * g * max(0, l - m - MARGIN)``. The logit l is
    that of being duplicates by the cosine alone, m that by all `FEATURES`; g rises from
    0 to 1 where the share of common units rises between the two shares of `GATE`, times
    `SHORT` / units where the two have more than `SHORT` units on average. So a
    pair is never made more alike, and one that shares less than half of its units stays
    as it is. Texts of more than `MOST_UNITS` words are not compared.

    Args:
      weights: the arrays of near_misses.npz, see `tools/train_near_misses.py`.
      ignore: kinds of `KINDS` that do not count: two order numbers are two tickets and
        one entry of a FAQ.
      strength: how much of a cosine one unit of the logit takes.

    ArgumentError for an unknown kind.
    """

    def __init__(
        self,
        weights: dict[str, np.ndarray],
        ignore: Iterable[str] = (),
        strength: float | None = None,
    ):
        self.weights = weights
        self.trees = Trees.of(weights)
        self.ignore = tuple(kind for kind in KINDS if kind in set(ignore))
        unknown = sorted(set(ignore) - set(KINDS))
        if unknown:
            raise ArgumentError(
                f"ignore has {', '.join(map(repr, unknown))}; the kinds are {', '.join(KINDS)}."
            )
        self.strength = float(weights["strength"]) if strength is None else strength

    @functools.cached_property
    def fingerprint(self) -> str:
        """What tells its penalties from those of another check: 16 digits of a SHA-256."""
        return checksum(self.weights, [self.strength, self.ignore])[:16]

    @classmethod
    def shipped(cls, ignore: Iterable[str] = ()) -> NearMissCheck:
        """The check that comes with the package; near_misses.json has its data and figures."""
        return cls(_shipped_weights(), ignore)

    def penalty(
        self, texts_a: Sequence[str], texts_b: Sequence[str], cosines: np.ndarray
    ) -> np.ndarray:
        """What comes off the cosines of pairs of texts, float32 [n], 0 or more.

        Example:
          >>> check = NearMissCheck.shipped()
          >>> one, other = "Which bus goes to the port?", "Which bus goes from the port?"
          >>> bool(check.penalty([one], [other], np.array([0.98]))[0] > 0.1)
          True
        """
        return self.penalty_of(features(texts_a, texts_b, cosines))

    def features(
        self, texts_a: Sequence[str], texts_b: Sequence[str], cosines: np.ndarray
    ) -> np.ndarray:
        """The `features` of pairs of texts, those of ignored kinds 0."""
        rows = features(texts_a, texts_b, cosines)
        for kind in self.ignore:
            rows[:, [_N[name] for name in _OF_KIND[kind]]] = 0
        return rows

    def penalty_of(self, rows: np.ndarray) -> np.ndarray:
        """The penalties, float32 [n], of rows of `features`."""
        return np.float32(self.strength) * self.doubts(rows)

    def doubts(self, rows: np.ndarray) -> np.ndarray:
        """The penalties as logits, float32 [n], before `strength` makes cosines of them."""
        found = np.zeros(len(rows), np.float32)
        low, high = GATE
        near = np.flatnonzero(rows[:, _N["share"]] > low)
        rows = rows[near]
        for kind in self.ignore:
            rows[:, [_N[name] for name in _OF_KIND[kind]]] = 0
        # With its kind ignored a pair may differ in nothing.
        differ = rows[:, _DIFFER].any(axis=1)
        near = near[differ]
        rows = rows[differ]
        gate = np.clip((rows[:, _N["share"]] - low) / (high - low), 0, 1)
        gate *= np.minimum(SHORT / np.maximum(rows[:, _N["units"]], 1), 1)
        slope, shift = self.weights["cosine"]
        doubt = slope * rows[:, _N["cosine"]] + shift - self.logits(rows) - MARGIN
        found[near] = gate * np.maximum(doubt, 0)
        return found

    def logits(self, rows: np.ndarray) -> np.ndarray:
        """The logit of being duplicates by all features, float64 [n], of rows of `features`."""
        return self.trees(rows)

    def reasons(self, text_a: str, text_b: str) -> list[Difference]:
        """In what two texts differ, ignored kinds left out; other words only where nothing else does."""
        found = [d for d in differences_of(text_a, text_b) if d.kind not in self.ignore]
        return [d for d in found if d.kind != "noun"] or found


@functools.cache
def _shipped_weights() -> dict[str, np.ndarray]:
    path = resources.files("siamese") / "model" / "near_misses.npz"
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return dict(arrays)


def differences_of(text_a: str, text_b: str) -> list[Difference]:
    """In what two texts differ, told from the same units as the features; other words last, as "noun"."""
    read = _reader(_common_table(table_of(text_a), table_of(text_b)))
    words = read.words
    one = read(text_a)
    two = read(text_b)
    left = _left_over(one.units, two.units), _left_over(two.units, one.units)
    found: list[Difference] = []

    # Each kind is added where the two sides have something of it.
    def differ(kind: str, sides: Iterable[Iterable[str]]) -> None:
        shown = [" ".join(side) for side in sides]
        if any(shown):
            found.append(Difference(kind, *shown))

    def of_kind(kinds: int, without: int = 0) -> list[list[str]]:
        return [
            sorted(u.shown for u in some if u.kinds & kinds and not u.kinds & without)
            for some in left
        ]

    # Numbers, dates, negations and names that one text has and the other has not,
    differ("number", of_kind(_NUMBER, _DATE))
    differ("date", of_kind(_DATE))
    pairs = _excluding(words, *left)
    negated = [p for p in pairs if p[0] == "negation"]
    if (len(one.negations) + len(two.negations) + len(negated)) % 2:
        ours = [*one.negations, *(word for _, word, _ in negated)]
        theirs = [*two.negations, *(word for _, _, word in negated)]
        differ("negation", (ours, theirs))
    differ("name", of_kind(_NAME))
    # words that exclude each other, another question, another order, and other words.
    told = {shown for side in (*of_kind(_NUMBER | _DATE | _NAME),) for shown in side}
    for kind in ("direction", "verb", "scope"):
        for name, first, second in pairs:
            if name == kind and not (first in told and second in told):
                differ(kind, ([first], [second]))
                told |= {first, second}
    if _asks_else({one.question, two.question}):
        asked = [words.question_word(text.question) for text in (one, two)]
        differ("question word", ([word] for word in asked))
    differ("direction", _turned(one, two))
    rest = [
        [u.shown for u in some if not u.kinds & _SMALL and u.shown not in told]
        for some in left
    ]
    differ("noun", rest)
    return found


def _asks_else(kinds: set[str]) -> bool:
    """Whether two kinds of question word exclude each other."""
    is_same = len(kinds) < 2 or kinds == {"whether", "how to"}
    return not is_same and kinds.isdisjoint(("", "what"))


def _left_over(units: list[_Unit], others: list[_Unit]) -> list[_Unit]:
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


_NAME_OF_GROUP = {
    _OPPOSITE: "verb",
    _DIRECTION: "direction",
    _SCOPE: "scope",
    _DATE: "date",
}


def _excluding(
    words: _Words, one: list[_Unit], two: list[_Unit]
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


def _turned(one: _Text, two: _Text) -> list[list[str]]:
    """The common words that stand after each other's word, in each text's order; none of a moved clause."""
    heads: list[dict[str, str]] = [{}, {}]
    for side, text in zip(heads, (one, two)):
        for unit, head in zip(text.units, text.heads):
            if not unit.kinds & _SMALL:
                side.setdefault(unit.key, head)
    changed = {
        (heads[0][key], heads[1][key]): key
        for key in heads[0]
        if key in heads[1] and heads[0][key] != heads[1][key]
    }
    crossed = {key for (a, b), key in changed.items() if (b, a) in changed}
    return [[u.shown for u in text.units if u.key in crossed] for text in (one, two)]
