"""The comparison features of pairs of texts: numbers that tell in what they differ."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from importlib import resources
from typing import NamedTuple

import numpy as np

from siamese.model.near_miss_languages import LANGUAGES
from siamese.model.near_miss_reading import TIMES, WHETHER, Reader, Texts, spread
from siamese.model.near_miss_slips import is_slip
from siamese.model.near_miss_tables import common_table, may_be_foreign, table_of
from siamese.model.near_miss_units import (
    DATE,
    DIRECTION,
    LITTLE,
    NAME,
    NUMBER,
    OPPOSITE,
    SCOPE,
    SMALL,
    THING,
    Words,
)

MOST_UNITS = 50  # A text of more words is not compared.
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
    "things": "pairs such as 'keyboard' and 'mouse'",
    "directions": "pairs such as 'before' and 'after'",
    "scopes": "pairs such as 'all' and 'some', 'first' and 'last'",
    "scope_added": "words of scope on one side alone, such as 'all'",
    "question_word": "2 for 'when' and 'why', or 'how' and 'can'; 1 for 'what' and 'how'",
    "whether": "1 where one asks for yes or no: 'can I park' and 'where do I park'",
    "modals": "2 for 'can I' and 'must I'; 1 for 'can I' and 'do I'",
    "words_tell": "what the words left say, by a table, names not: less for 'football' than for 'nowadays'",
    "names_alike": "names left that begin alike, such as 'Schmidt' and 'Schmitt'",
    "names_moved": "as moved, of names and numbers",
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
        "things",
        "question_word",
        "whether",
        "modals",
    }
)
_N = {name: place for place, name in enumerate(FEATURES)}

_BLOCK = 1 << 15  # pairs compared at once


@functools.cache
def reader_of(language: str) -> Reader:
    """Reads texts by a language's words."""
    return Reader(Words(LANGUAGES[language]))


class WordTable(NamedTuple):
    """What it says about two texts that a word is left on one side: a weight for each stem it knows.

    Of Quora's labelled pairs that differ in "football" few ask the same, of those that
    differ in "nowadays" most do. Stems are kept by their CRC-32.
    """

    stems: np.ndarray  # uint32, rising
    weights: np.ndarray  # float32

    @classmethod
    @functools.cache
    def shipped(cls) -> WordTable:
        """The table that comes with the weights."""
        weights = shipped_weights()
        return cls(weights["stems"], weights["stem_weights"])

    def __call__(self, codes: np.ndarray) -> np.ndarray:
        """The weights of keys by their CRC-32, float32 [n]; 0 of one that it does not know."""
        if not len(self.stems):
            return np.zeros(len(codes), np.float32)
        at = np.minimum(np.searchsorted(self.stems, codes), len(self.stems) - 1)
        return np.where(self.stems[at] == codes, self.weights[at], np.float32(0))


@functools.cache
def shipped_weights() -> dict[str, np.ndarray]:
    """The arrays of near_misses.npz."""
    path = resources.files("siamese") / "model" / "near_misses.npz"
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return dict(arrays)


def features(
    texts_a: Sequence[str],
    texts_b: Sequence[str],
    cosines: np.ndarray,
    table: WordTable | None = None,
) -> np.ndarray:
    """The comparison features of pairs of texts, float32 [n, len(FEATURES)], symmetric in the two texts.

    A text that stands in many pairs is read once. Rows of pairs with a text of more
    than `MOST_UNITS` units have the share 0. The table is the shipped one unless given.
    """
    table = table or WordTable.shipped()
    place_of: dict[str, int] = {}
    one, two = (
        np.array([place_of.setdefault(t, len(place_of)) for t in some], np.int64)
        for some in (texts_a, texts_b)
    )
    texts = list(place_of)
    of_pairs = _tables_of_pairs(texts, one, two)
    rows = np.zeros((len(one), len(FEATURES)), np.float32)
    for number, language in enumerate(LANGUAGES):
        pairs = np.flatnonzero(of_pairs == number)
        if len(pairs):
            rows[pairs] = _features_in(language, table, texts, one[pairs], two[pairs])
    rows[:, _N["cosine"]] = cosines
    return rows


# What `table_of` gives, and the number of the table of two texts by the numbers of theirs.
_TABLES = [*LANGUAGES, None]
_COMMON = np.array(
    [[_TABLES.index(common_table(one, two)) for two in _TABLES] for one in _TABLES]
)


def _tables_of_pairs(
    texts: Sequence[str], one: np.ndarray, two: np.ndarray
) -> np.ndarray:
    """The numbers of the tables by which pairs of texts are compared, int64 [pairs]."""
    foreign = np.fromiter(map(may_be_foreign, texts), bool, len(texts))
    told = np.flatnonzero(foreign[one] | foreign[two])
    tables = np.full(len(texts), _TABLES.index("en"))
    for place in {*one[told].tolist(), *two[told].tolist()}:
        tables[place] = _TABLES.index(table_of(texts[place]))
    return _COMMON[tables[one], tables[two]]


def _features_in(
    language: str,
    table: WordTable,
    texts: Sequence[str],
    one: np.ndarray,
    two: np.ndarray,
) -> np.ndarray:
    """The features of pairs of texts, given by their places, as a language's words tell them."""
    used, places = np.unique(np.concatenate([one, two]), return_inverse=True)
    arrays = reader_of(language)([texts[place] for place in used.tolist()])
    one, two = np.split(places, 2)
    tell = table(arrays.codes)
    rows = np.zeros((len(one), len(FEATURES)), np.float32)
    for at in range(0, len(rows), _BLOCK):
        block = slice(at, at + _BLOCK)
        _compare(arrays, tell, one[block], two[block], rows[block])
    return rows


# Of one side of a block: to which pair each unit belongs, and its place in the texts.
_Side = tuple[np.ndarray, np.ndarray]


def _matched(
    t: Texts, one: np.ndarray, two: np.ndarray
) -> tuple[list[_Side], list[_Side], list[_Side]]:
    """Of both sides of pairs: all units, those in common, and those left."""
    sides = [spread(t.starts, one), spread(t.starts, two)]
    size = TIMES * (len(t.beginnings) + 1)
    one_codes, two_codes = (pairs * size + t.keys[at] for pairs, at in sides)
    _, *both = np.intersect1d(
        one_codes, two_codes, assume_unique=True, return_indices=True
    )
    common = [(pairs[own], at[own]) for (pairs, at), own in zip(sides, both)]
    left = [_without(side, own) for side, own in zip(sides, both)]
    slips = _slips(t, left)
    if not len(slips[0]):
        return sides, common, left
    both_common = [
        (np.append(pairs, more[own]), np.append(at, places[own]))
        for (pairs, at), (more, places), own in zip(common, left, slips)
    ]
    return sides, both_common, [_without(side, own) for side, own in zip(left, slips)]


def _without(side: _Side, rows: np.ndarray) -> _Side:
    """A side without some of its units."""
    pairs, at = side
    rest = np.ones(len(at), bool)
    rest[rows] = False
    return pairs[rest], at[rest]


def _slips(t: Texts, left: list[_Side]) -> list[np.ndarray]:
    """Of units left, the places on each side of those that are one word but for a slip of the pen."""
    found = []
    for pairs, at in left:
        letters = t.letters_of[t.keys[at] // TIMES]
        rows = np.flatnonzero((letters > 0) & ~t.has(at, SMALL))
        codes = pairs[rows] * (len(t.letters_of) + 1) + letters[rows]
        codes, first = np.unique(codes, return_index=True)
        found.append((codes, rows[first]))
    (codes_a, rows_a), (codes_b, rows_b) = found
    _, in_a, in_b = np.intersect1d(
        codes_a, codes_b, assume_unique=True, return_indices=True
    )
    same_letters = [rows_a[in_a], rows_b[in_b]]
    numbers = [t.keys[at[own]] // TIMES for (_, at), own in zip(left, same_letters)]
    slips = [is_slip(t.words[one], t.words[two]) for one, two in zip(*numbers)]
    return [own[np.array(slips, bool)] for own in same_letters]


def stems_left(texts_a: Sequence[str], texts_b: Sequence[str]) -> list[list[str]]:
    """The stems, names not, that one text of each pair has and the other has not, or has less often."""
    read = reader_of("en")
    t = read([*texts_a, *texts_b])
    one = np.arange(len(texts_a))
    found: list[list[str]] = [[] for _ in texts_a]
    for pairs, at in _matched(t, one, one + len(one))[2]:
        plain = ~t.has(at, NAME)
        numbers = t.keys[at[plain]] // TIMES
        for pair, number in zip(pairs[plain].tolist(), numbers.tolist()):
            found[pair].append(t.words[number])
    return found


def _compare(
    t: Texts, tell: np.ndarray, one: np.ndarray, two: np.ndarray, rows: np.ndarray
) -> None:
    """Writes the features of a block of pairs, but the cosine; `tell` is what each key left says."""
    sides, common, left = _matched(t, one, two)
    _shares(t, sides, common, rows)
    _left(t, left, rows, len(rows))
    rows[:, _N["words_tell"]] = sum(
        np.bincount(pairs, tell[t.keys[at] // TIMES] * ~t.has(at, NAME), len(rows))
        for pairs, at in left
    )
    _opposites(t, left, rows, len(rows))
    (pairs, at_a), (_, at_b) = common
    _order(t, pairs, at_a, at_b, rows, len(rows))
    rows[:, _N["negation"]] = t.negated[one] != t.negated[two]
    asked = t.questions[one], t.questions[two]
    rows[:, _N["question_word"]] = (asked[0] != asked[1]) + 1 * _exclude(*asked)
    whether = [kinds == WHETHER for kinds in asked]
    rows[:, _N["whether"]] = whether[0] != whether[1]
    modals = t.modals[one], t.modals[two]
    rows[:, _N["modals"]] = (modals[0] != modals[1]) * (1 + (np.minimum(*modals) > 0))
    rows[:, _N["passive"]] = t.passive[one] != t.passive[two]
    lengths = np.diff(t.starts)
    too_long = np.maximum(lengths[one], lengths[two]) > MOST_UNITS
    rows[too_long, _N["share"]] = 0


def _shares(
    t: Texts, sides: Sequence[_Side], common: Sequence[_Side], rows: np.ndarray
) -> None:
    """How much the two texts have in common."""

    def total(side: _Side, is_content: bool = False) -> np.ndarray:
        pairs, at = side
        weights = t.weights[at]
        return np.bincount(
            pairs, weights > LITTLE if is_content else weights, len(rows)
        )

    weight = total(sides[0]) + total(sides[1])
    shared = total(common[0]) + total(common[1])
    rows[:, _N["share"]] = shared / np.maximum(weight, 1e-6)
    rows[:, _N["units"]] = weight / 2
    content = total(sides[0], True) + total(sides[1], True)
    shared = 2 * total(common[0], True)
    rows[:, _N["content_share"]] = shared / np.maximum(content, 1)
    pairs, at = common[0]
    for name, kind in (("numbers_common", NUMBER), ("names_common", NAME)):
        rows[:, _N[name]] = np.bincount(pairs[t.has(at, kind)], minlength=len(rows))


def _left(t: Texts, left: list[_Side], rows: np.ndarray, n: int) -> None:
    """Counts what is left on each side, by kind: exchanged for something, or added by one side."""

    def counts(choose: Callable[[np.ndarray], np.ndarray]) -> list[np.ndarray]:
        found = [np.bincount(pairs[choose(at)], minlength=n) for pairs, at in left]
        return [np.minimum(*found), np.abs(found[0] - found[1])]

    special = NUMBER | DATE | NAME | SCOPE | SMALL
    for name, choose in (
        ("words", lambda at: ~t.has(at, special)),
        ("numbers", lambda at: t.has(at, NUMBER) & ~t.has(at, DATE)),
        ("dates", lambda at: t.has(at, DATE)),
        ("names", lambda at: t.has(at, NAME)),
    ):
        fewer, more = counts(choose)
        rows[:, _N[f"{name}_exchanged"]] = fewer
        rows[:, _N[f"{name}_added"]] = more
    longest = np.zeros(n, np.int16)
    for pairs, at in left:
        plain = ~t.has(at, special)
        np.maximum.at(longest, pairs[plain], t.letters[t.keys[at[plain]] // TIMES])
    rows[:, _N["longest_left"]] = longest
    rows[:, _N["scope_added"]] = counts(lambda at: t.has(at, SCOPE))[1]
    rows[:, _N["little_left"]] = sum(counts(lambda at: t.has(at, SMALL)))


def _opposites(t: Texts, left: list[_Side], rows: np.ndarray, n: int) -> None:
    """Counts pairs of words left, one on each side, of which one excludes the other; and words alike."""
    sides = []
    for pairs, at in left:
        keys = t.keys[at] // TIMES
        owner, entry = spread(t.group_starts, keys)
        sides.append((pairs[owner], t.groups[entry], t.group_kinds[entry]))
    size = int(t.groups.max(initial=0)) + 1
    (pairs_a, groups_a, kinds), (pairs_b, groups_b, _) = sides
    codes, first = np.unique(pairs_a * size + groups_a, return_index=True)
    hit = np.isin(codes, pairs_b * size + groups_b)
    pairs = pairs_a[first[hit]]
    kinds = kinds[first[hit]]
    for name, kind in (
        ("opposites", OPPOSITE),
        ("things", THING),
        ("directions", DIRECTION),
        ("scopes", SCOPE),
    ):
        rows[:, _N[name]] = np.bincount(pairs[kinds == kind], minlength=n)
    size = int(t.beginnings.max(initial=0)) + 1
    for name, kind in (("alike", 0), ("names_alike", NAME)):
        alike = []
        for pairs, at in left:
            begin = t.beginnings[t.keys[at] // TIMES]
            chosen = (begin >= 0) & ((t.kinds[at] & (NUMBER | DATE | NAME)) == kind)
            alike.append(pairs[chosen] * size + begin[chosen])
        common = np.intersect1d(alike[0], alike[1]) // size
        rows[:, _N[name]] = np.bincount(common, minlength=n)


def _order(
    t: Texts,
    pairs: np.ndarray,
    at_a: np.ndarray,
    at_b: np.ndarray,
    rows: np.ndarray,
    n: int,
) -> None:
    """How the common words stand in the two texts."""
    content = (t.kinds[at_a] & SMALL) == 0
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
    moved &= t.has(at_a, NAME | NUMBER)
    rows[:, _N["names_moved"]] = np.bincount(pairs[moved], minlength=n)
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


def _exclude(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """Whether a question of one kind asks something else than one of another kind; by numbers of kinds."""
    low = np.minimum(one, two)
    high = np.maximum(one, two)
    return (low > 1) & (low != high)
