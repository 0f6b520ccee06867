"""Checks of data_generator, exercise 1 of the assignment (notebook 04)."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator

import numpy as np

from .expect import show
from .learner import take
from .score import Exercise, Score, Wrong

Q1 = [[11, 12, 13], [21], [31, 32], [41, 42, 43, 44], [51, 52]]
Q2 = [[11, 15], [21, 22, 23], [31], [42, 41], [51, 52, 53, 54, 55]]

generator = Exercise(
    "data_generator", "data_generator(Q1, Q2, batch_size, pad=1, shuffle=True)", seconds=10
)


def course_batches(
    Q1, Q2, batch_size, pad=1, shuffle=True, *, mistake: str = ""
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The reference, the course's generator; `mistake` makes one of the known mistakes instead."""
    order = list(range(len(Q1)))
    if shuffle and mistake != "never shuffles":
        random.shuffle(order)
    index, rows = 0, []
    while True:
        if index >= len(order):
            index = 0
            if mistake == "drops the rest":
                rows = []
            if mistake == "short batch" and rows:
                yield _padded(Q1, Q2, rows, pad, mistake)
                rows = []
            if (shuffle and mistake not in ("never shuffles", "shuffles once")) or (
                mistake == "shuffles anyway"
            ):
                random.shuffle(order)
        rows.append(order[index])
        index += 1
        if len(rows) >= batch_size:
            yield _padded(Q1, Q2, rows, pad, mistake)
            rows = rows if mistake == "keeps the rows" else []


def _padded(Q1, Q2, rows, pad, mistake=""):
    if mistake == "pad is 1":
        pad = 1
    if mistake == "pad is 0":
        pad = 0
    lengths1, lengths2 = [len(Q1[i]) for i in rows], [len(Q2[i]) for i in rows]
    if mistake == "all data":
        lengths1, lengths2 = list(map(len, Q1)), list(map(len, Q2))
    longest = [max(lengths1), max(lengths2)]
    if mistake == "only Q1":
        longest = [longest[0]] * 2
    elif mistake != "each side":
        longest = [max(longest)] * 2
    if mistake == "next power":
        lengths = [1 << n.bit_length() for n in longest]
    elif mistake == "no power":
        lengths = longest
    else:
        lengths = [1 << (n - 1).bit_length() for n in longest]
    arrays = []
    for side, length in zip((Q1, Q2), lengths):
        cut = [list(side[i])[:length] for i in rows]
        if mistake == "pads in front":
            arrays.append(np.array([[pad] * (length - len(q)) + q for q in cut]))
        else:
            arrays.append(np.array([q + [pad] * (length - len(q)) for q in cut]))
    return tuple(arrays)


MISTAKES = {
    "no power": "padded to the longest question: the next power of two of its length is asked for",
    "next power": "a length that is a power of two already stays: 4 needs no padding to 8",
    "all data": "padded to the longest question of all data: only the batch's own questions count",
    "each side": "each side has a length of its own: both arrays take the longer side's",
    "only Q1": "the length looks at Q1 only: Q2 may hold the longest question",
    "pad is 1": "padded with 1 whatever pad says: use the argument",
    "pad is 0": "padded with 0: use the argument pad",
    "pads in front": "the padding stands before the question: it belongs after it",
    "short batch": "the last batch of a pass is short: it runs over into the next pass",
    "drops the rest": "the pairs left over at the end of a pass are lost: the batch runs over",
    "keeps the rows": "the batch still holds the batch before: empty the lists after each yield",
    "never shuffles": "the order is never shuffled",
    "shuffles once": "shuffled at the start only: each pass has an order of its own",
    "shuffles anyway": "shuffled although shuffle=False",
}


def _expect_batches(
    fn, count, *arguments, tries=tuple(MISTAKES), hint="", seed=34, arrays=False, **options
):
    """Compares the first batches with the course's, and names the mistake that explains a difference.

    With `arrays`, lists and floats in place of arrays of whole numbers are wrong: in one case only.
    """

    def drawn(make, **more):
        random.seed(seed)
        return take(
            make(copy.deepcopy(Q1), copy.deepcopy(Q2), *arguments, **options, **more), count
        )

    expected = drawn(course_batches)
    came = _arrays(drawn(fn), strict=arrays)
    if _same(came, expected):
        return
    for name in tries:
        if _same(came, drawn(course_batches, mistake=name)):
            hint = MISTAKES[name]
            break
    place = next((i for i in range(len(expected)) if not _same(came[i : i + 1], [expected[i]])), 0)
    if place >= len(came):
        raise Wrong(
            f"{count} batches, and more",
            f"{len(came)} batches",
            "the generator is endless: while True",
        )
    raise Wrong(_shown(expected[place], place), _shown(came[place], place), hint)


def _arrays(batches, strict=False) -> list:
    if not batches:
        raise Wrong("a batch", "nothing", "the generator ended without a yield")
    for batch in batches:
        if not isinstance(batch, (tuple, list)) or len(batch) != 2:
            words = f"{type(batch).__name__} of shape {np.shape(batch)}"
            raise Wrong("two arrays (q1, q2) a batch", words, "yield both sides")
    return [tuple(_whole_numbers(side, strict) for side in batch) for batch in batches]


def _whole_numbers(side, strict) -> np.ndarray:
    if strict and not hasattr(side, "dtype"):
        hint = "yield arrays: np.array of the padded questions"
        raise Wrong("NumPy arrays", type(side).__name__, hint)
    hint = "token ids are whole numbers; rows of unequal length make an array of objects"
    try:
        array = np.asarray(side)
    except ValueError:  # lists of unequal length
        raise Wrong("rows of one length", show(side), hint) from None
    if array.dtype.kind not in ("iu" if strict else "iuf"):
        raise Wrong("arrays of whole numbers", f"dtype {array.dtype}", hint)
    return array


def _same(a, b) -> bool:
    return len(a) == len(b) and all(
        np.array_equal(x, y) for left, right in zip(a, b) for x, y in zip(left, right)
    )


def _shown(batch, place) -> str:
    return f"batch {place}: q1 {show(batch[0])} q2 {show(batch[1])}"


LENGTHS = ("no power", "next power", "all data", "each side", "only Q1")


@generator.case("one batch in order")
def _(fn):
    hint = "rows 0 and 1, padded with 1 to 4 tokens"
    _expect_batches(fn, 1, 2, shuffle=False, arrays=True, hint=hint)


@generator.case("the longest question decides the length")
def _(fn):
    for batch_size in (1, 3):
        _expect_batches(fn, 4, batch_size, shuffle=False, tries=[*LENGTHS, *MISTAKES])


@generator.case("another padding")
def _(fn):
    _expect_batches(fn, 2, 2, 9, False, tries=["pad is 1", "pad is 0", *MISTAKES])


@generator.case("a batch runs over the end")
def _(fn):
    _expect_batches(
        fn,
        3,
        2,
        shuffle=False,
        tries=["short batch", "drops the rest", *MISTAKES],
        hint="after pair 4 the batch goes on with pair 0",
    )


@generator.case("without shuffling the order stays, pass after pass")
def _(fn):
    _expect_batches(fn, 12, 2, shuffle=False, hint="start again with pair 0 after the last one")


@generator.case("more rows than there are pairs")
def _(fn):
    _expect_batches(fn, 2, 12, shuffle=False, hint="a batch may pass the end more than once")


@generator.case("questions stay with their partners")
def _(fn):
    random.seed(1)
    given = copy.deepcopy(Q1), copy.deepcopy(Q2)
    batches = _arrays(take(fn(*given, 2), 20))
    for q1, q2 in batches:
        for first, second in zip(q1.tolist(), q2.tolist()):
            if first[0] // 10 != second[0] // 10:
                hint = "question1 and question2 are taken by the same shuffled index"
                raise Wrong("rows of one pair", f"{first} beside {second}", hint)
    if len({tuple(q1[:, 0]) for q1, _ in batches}) < 4:
        raise Wrong("another order in each pass", "the same rows again", MISTAKES["never shuffles"])


@generator.case("every pair comes once in a pass")
def _(fn):
    random.seed(2)
    batches = _arrays(take(fn(copy.deepcopy(Q1), copy.deepcopy(Q2), 5), 6))
    for q1, _ in batches:
        rows = sorted(int(row[0]) // 10 for row in q1)
        if rows != [1, 2, 3, 4, 5]:
            hint = "shuffle the order of the pairs; do not draw pairs at random"
            raise Wrong("pairs 1 to 5 in a pass", f"pairs {rows}", hint)


@generator.case("random.seed(34) gives the course's order")
def _(fn):
    hint = "random.shuffle of the list of indexes: once at the start, and once when a pass is over"
    _expect_batches(
        fn,
        12,
        2,
        tries=["never shuffles", "shuffles once", "short batch", "drops the rest"],
        hint=hint,
    )


@generator.case("the questions stay as they are")
def _(fn):
    first, second = copy.deepcopy(Q1), copy.deepcopy(Q2)
    _arrays(take(fn(first, second, 2, shuffle=False), 6))
    for name, before, now in (("Q1", Q1, first), ("Q2", Q2, second)):
        if before != now:
            hint = f"the function changed {name}: pad a copy of each question"
            raise Wrong(f"{name} as it was", f"{name} is now {now}", hint)


def check_data_generator(fn) -> Score:
    """Checks ``data_generator(Q1, Q2, batch_size, pad=1, shuffle=True)``: endless padded batches."""
    return generator.check(fn)
