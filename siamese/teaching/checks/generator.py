"""Check of data_generator, exercise 1 of the assignment (notebook 04)."""

from __future__ import annotations

import copy
import itertools
import random
from collections.abc import Iterator

import numpy as np

from .compare import Tried, Wrong, expect_unchanged, require, show
from .score import Exercise

Q1 = [[11, 12, 13], [21], [31, 32], [41, 42, 43, 44], [51, 52]]
Q2 = [[11, 15], [21, 22, 23], [31], [42, 41], [51, 52, 53, 54, 55]]
MISTAKES = {
    "no power": "padded to the longest question: the next power of two of its length is asked for",
    "next power": "a length that is a power of two already stays: 4 needs no padding to 8",
    "all data": "padded to the longest question of all data, or to a fixed length: only the batch's own "
    "questions count",
    "each side": "each side has a length of its own: both arrays take the longer side's",
    "only Q1": "the length looks at Q1 only: Q2 may hold the longest question",
    "pad is 1": "padded with 1 whatever pad says: use the argument",
    "pad is 0": "padded with 0: use the argument pad, whose default is 1",
    "pads in front": "the padding stands before the question: it belongs after it",
    "short batch": "the last batch of a pass is short: it runs over into the next pass",
    "drops the rest": "the pairs left over at the end of a pass are lost: the batch runs over",
    "one more": "a batch holds one pair too many: look at where its rows are counted",
    "exchanged": "the sides are exchanged: question1 comes first",
    "keeps the rows": "the batch still holds the batch before: empty the lists after each yield",
    "never shuffles": "the order is never shuffled",
    "shuffles once": "shuffled at the start only: each pass has an order of its own",
    "shuffles anyway": "shuffled although shuffle=False",
    "doubles": "padded to twice the longest: the next power of two of the longest is asked for",
    "only Q2": "the length looks at Q2 only: Q1 may hold the longest question",
    "always 4": "the length is always 4: the batch's own questions count",
    "always 16": "the length is always 16: the batch's own questions count",
    "begins at 1": "the first pair is missing: counting begins at 0",
    "begins again at 1": "after a pass the first pair is missing: the index goes back to 0",
    "loses the last": "the last pair of a pass is missing: look at when the pass is over",
    "every other": "every other pair is skipped: the index grows by 1",
    "skips": "pairs are skipped: the index grows by 1 with each pair",
    "batch of 2": "a batch has always 2 rows: use the argument batch_size",
    "sorted": "the pairs are sorted by their length: their order is asked for",
    "only Q1 read": "both sides are Q1: Q2 is never read",
    "Q1 twice": "both sides are Q1: the second comes from Q2",
    "Q2 twice": "both sides are Q2: the first comes from Q1",
    "words turned": "the words of a question are in the reverse order",
    "keeps one side": "one of the two lists still holds the batch before: empty both after each yield",
    "begins anew": "each batch begins again with the first pairs: the index goes on from batch to batch",
}
STRANGE = "there are tokens that are not in Q1 or Q2: does it use its arguments?"


def course_batches(Q1, Q2, batch_size, pad=1, shuffle=True, *, mistake="") -> Iterator[tuple]:
    """The reference, the course's generator; `mistake` makes one of the known mistakes instead."""
    first = shuffle and mistake != "never shuffles"
    again = (first and mistake != "shuffles once") or mistake == "shuffles anyway"
    order = list(range(len(Q1)))
    if mistake == "sorted":
        order.sort(key=lambda i: len(Q1[i]))
    if first:
        random.shuffle(order)
    index, rows = int(mistake == "begins at 1"), []
    step = {"every other": 2, "skips": batch_size}.get(mistake, 1)
    size = 2 if mistake == "batch of 2" else batch_size + (mistake == "one more")
    Q2 = Q1 if mistake == "only Q1 read" else Q2
    while True:
        if index >= len(order) - (mistake == "loses the last"):
            index = int(mistake == "begins again at 1")
            if mistake == "short batch" and rows:
                yield _padded(Q1, Q2, rows, pad, mistake)
            if mistake in ("short batch", "drops the rest") and batch_size <= len(order):
                rows = []  # A batch of more pairs than there are would never be full.
            if again:
                random.shuffle(order)
        rows.append(order[index])
        index += step
        if len(rows) >= size:
            yield _padded(Q1, Q2, rows, pad, mistake)
            rows = rows if mistake == "keeps the rows" else []
            index = 0 if mistake == "begins anew" else index


def _padded(Q1, Q2, rows, pad, mistake):
    pad = {"pad is 1": 1, "pad is 0": 0}.get(mistake, pad)
    counted = range(len(Q1)) if mistake == "all data" else rows
    longest = [max(len(side[i]) for i in counted) for side in (Q1, Q2)]
    if mistake != "each side":
        longest = [{"only Q1": longest[0], "only Q2": longest[1]}.get(mistake, max(longest))] * 2
    sides = {"exchanged": (Q2, Q1), "Q1 twice": (Q1, Q1), "Q2 twice": (Q2, Q2)}.get(
        mistake, (Q1, Q2)
    )
    arrays = []
    for side, n in zip(sides, longest):
        lengths = {"next power": 1 << n.bit_length(), "no power": n, "doubles": 2 * n}
        lengths |= {"always 4": 4, "always 16": 16}
        length = lengths.get(mistake, 1 << (n - 1).bit_length())
        cut = [list(side[i])[:length] for i in rows]
        cut = [q[::-1] for q in cut] if mistake == "words turned" else cut
        fill = [[pad] * (length - len(q)) for q in cut]
        parts = zip(fill, cut) if mistake == "pads in front" else zip(cut, fill)
        arrays.append(np.array([left + right for left, right in parts]))
    return tuple(arrays)


def _difference(found, wanted) -> str:
    """In what a batch differs from the right one, in words."""
    for actual, right in zip(found, wanted):
        if actual.shape == right.shape and (actual == right).all():
            continue
        if actual.ndim != 2 or len(actual) != len(right):
            return "the batch has another number of rows than batch_size"
        if set(actual[:, 0] // 10) != set(right[:, 0] // 10) and (actual[:, 0] > 10).all():
            return "these are other pairs: look at how the index goes on"
        if not np.isin(right[right > 10], actual).all():
            return "words of the questions are lost: is a question cut?"
        if actual.shape != right.shape:
            return (
                "the right pairs, padded to another length: the next power of two of the longest "
                "is asked for"
            )
    return "look at the order of the rows, at the words and at the padding"


check_data_generator = Exercise(
    "data_generator(Q1, Q2, batch_size, pad=1, shuffle=True)",
    "endless padded batches.",
    seconds=5,
    look="print this batch beside the one that is expected",
)


def _drawn(make, count, *arguments, **options) -> list:
    """The first batches; raises `Wrong` where making them changes the questions."""
    random.seed(34)
    given = copy.deepcopy((Q1, Q2))
    batches = list(itertools.islice(make(*given, *arguments, **options), count))
    for name, before, now in zip(("Q1", "Q2"), (Q1, Q2), given):
        expect_unchanged(name, before, now)
    return batches


def _expect_batches(fn, count, hint, *calls, shuffle=True):
    """The first batches are the course's, or those of a known mistake."""
    tried: Tried = {}
    for arguments in calls:
        options = {"shuffle": shuffle}
        expected = _drawn(course_batches, count, *arguments, **options)
        # Lists and floats in place of arrays of whole numbers are wrong: in one case only.
        actual = _arrays(_drawn(fn, count, *arguments, **options), strict=count == 1)
        for mistake, words in MISTAKES.items():
            try:
                made = _drawn(course_batches, count, *arguments, **options, mistake=mistake)
            except IndexError:  # The mistake gives no batch here.
                continue
            if not _same(made, expected):
                tried[words, 1] = max(tried.get((words, 1), 0.0), float(_same(actual, made)))
        if _same(actual, expected):
            continue
        tokens = np.unique(np.concatenate([side.ravel() for pair in actual for side in pair]))
        strange = not np.isin(tokens[tokens > 10], list(itertools.chain(*Q1, *Q2))).all()
        for place, (found, wanted) in enumerate(zip(actual, expected)):
            shown = [f"batch {place}: q1 {show(a)} q2 {show(b)}" for a, b in (wanted, found)]
            if not _same([found], [wanted]):
                told = STRANGE if strange else f"{_difference(found, wanted)}. {hint}"
                raise Wrong(*shown, told.removesuffix(". "), tried)
        endless = "the generator is endless: while True"
        raise Wrong(f"{count} batches, and more", f"{len(actual)} batches", endless)
    return tried


def _arrays(batches, strict=False) -> list:
    require(batches, "a batch", "nothing", "the generator ended without a yield")
    for batch in batches:
        pair = isinstance(batch, (tuple, list)) and len(batch) == 2
        found = f"a {type(batch).__name__}"
        require(pair, "two arrays (q1, q2) a batch", found, "yield both sides")
    return [tuple(_whole_numbers(side, strict) for side in batch) for batch in batches]


def _whole_numbers(side, strict) -> np.ndarray:
    if strict:
        hint = "yield arrays: np.array of the padded questions"
        require(hasattr(side, "dtype"), "NumPy arrays", type(side).__name__, hint)
    hint = "token ids are whole numbers; rows of unequal length make an array of objects"
    try:
        array = np.asarray(side)
    except ValueError:  # lists of unequal length
        raise Wrong("rows of one length", show(side), hint) from None
    right = array.dtype.kind in ("iu" if strict else "iuf")
    require(right, "arrays of whole numbers", f"dtype {array.dtype}", hint)
    return array


def _same(a, b) -> bool:
    return len(a) == len(b) and all(
        np.array_equal(x, y) for left, right in zip(a, b) for x, y in zip(left, right)
    )


check_data_generator.table(
    [
        ("one batch in order", 1, "rows 0 and 1, padded with 1 to 4 tokens", (2,)),
        ("the longest question decides the length", 4, "", (1,), (3,)),
        ("another padding", 2, "", (2, 9)),
        ("a batch runs over the end", 3, "after pair 4 the batch goes on with pair 0", (2,)),
        ("without shuffling the order stays, pass after pass", 12,
         "start again with pair 0 after the last one", (2,)),
        ("more rows than there are pairs", 2, "a batch may pass the end more than once", (12,)),
    ],
    _expect_batches,
    shuffle=False,
)  # fmt: skip


def _shuffles_when_told(fn) -> bool:
    order = _drawn(course_batches, 20, 2, shuffle=False)
    return not _same(_arrays(_drawn(fn, 20, 2, shuffle=True)), order)


@check_data_generator.case("questions stay with their partners")
def _(fn):
    batches = _arrays(_drawn(fn, 20, 2))
    hint = "question1 and question2 are taken by the same shuffled index"
    for q1, q2 in batches:
        for first, second in zip(q1.tolist(), q2.tolist()):
            paired = first[0] // 10 == second[0] // 10
            require(paired, "rows of one pair", f"{first} beside {second}", hint)
    again = _arrays(list(itertools.islice(fn(Q1, Q2, 2), 20)))  # the random numbers go on
    hint = "the function seeds the random numbers itself: leave random.seed to the caller"
    if _same(batches, _drawn(course_batches, 20, 2, shuffle=False)):
        hint = MISTAKES["never shuffles"]
        if _shuffles_when_told(fn):
            hint = "the default is shuffle=True"
    require(not _same(batches, again), "another order in each generator", "the same", hint)
    orders = {tuple(q1[:, 0]) for q1, _ in batches}
    hint = MISTAKES["never shuffles"]
    require(len(orders) >= 4, "another order in each pass", "the same rows again", hint)


@check_data_generator.case("every pair comes once in a pass")
def _(fn):
    hint = "shuffle the order of the pairs; do not draw pairs at random"
    for q1, _ in _arrays(_drawn(fn, 6, 5)):
        rows = sorted(int(row[0]) // 10 for row in q1)
        require(rows == [1, 2, 3, 4, 5], "pairs 1 to 5 in a pass", f"pairs {rows}", hint)


check_data_generator.table(
    [
        ("random.seed(34) gives the course's order", 12, "random.shuffle of the list of indexes: once at "
         "the start, and once when a pass is over", (2,)),
    ],
    _expect_batches,
)  # fmt: skip


@check_data_generator.case("the questions stay as they are")
def _(fn):
    _arrays(_drawn(fn, 6, 2, shuffle=False))
