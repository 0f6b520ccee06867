"""Checks of classify, exercise 5 of the assignment (notebook 04)."""

from __future__ import annotations

import numpy as np

from .expect import expect_close, expect_unchanged
from .generator_checks import course_batches
from .learner import describe_error
from .score import Exercise, Score, Wrong

# The vector of a question is chosen by its first token; the dot products are exact numbers.
DIRECTIONS = np.zeros((16, 2), np.float32)
DIRECTIONS[2:8] = [[1, 0], [0.5, 0.8660254], [0, 1], [-1, 0], [0.8, 0.6], [0.6, 0.8]]


def first_token_model(questions):
    """(q1, q2), int32 [batch, length] each, to (v1, v2), float32 [batch, 2] each."""
    if not isinstance(questions, (tuple, list)) or len(questions) != 2:
        hint = "the model takes one argument, the pair (q1, q2)"
        raise Wrong("model((q1, q2))", f"model({type(questions).__name__})", hint)
    q1, q2 = (np.asarray(q) for q in questions)
    if q1.ndim != 2 or q1.shape != q2.shape:
        raise Wrong(
            "two arrays [batch, length] of one shape",
            f"shapes {q1.shape} and {q2.shape}",
            "the generator makes both sides of a batch equally long",
        )
    return DIRECTIONS[q1[:, 0]], DIRECTIONS[q2[:, 0]]


def recording_generator(log: list):
    """The course's generator, which notes how it was called."""

    def data_generator(Q1, Q2, batch_size, pad=1, shuffle=True):
        log.append({"rows": len(Q1), "batch_size": batch_size, "pad": pad, "shuffle": shuffle})
        return course_batches(Q1, Q2, batch_size, pad, shuffle)

    return data_generator


# ---- classify ----

answers = Exercise(
    "classify",
    "classify(test_Q1, test_Q2, y, threshold, model, vocab, data_generator=..., batch_size=...)",
)


def _questions(n, seed=5):
    draw = np.random.default_rng(seed)
    q1 = [[int(t), *[9] * int(k)] for t, k in zip(draw.integers(2, 8, n), draw.integers(0, 4, n))]
    q2 = [[int(t), *[9] * int(k)] for t, k in zip(draw.integers(2, 8, n), draw.integers(0, 4, n))]
    if n > 2:  # Two dot products of exactly 0.5.
        q1[1][0], q2[1][0], q1[2][0], q2[2][0] = 2, 3, 3, 2
    scores = np.array([float(DIRECTIONS[a[0]] @ DIRECTIONS[b[0]]) for a, b in zip(q1, q2)])
    y = (scores > 0.45).astype(np.int64)
    y[::4] = 1 - y[::4]  # A model that is sometimes wrong.
    return q1, q2, y, scores


def _classify_mistakes(scores, y, threshold, batch_size):
    found, truth, n = scores > threshold, y.astype(bool), len(y)
    right = int((found == truth).sum())
    whole = n // batch_size * batch_size
    rounded = -(-n // batch_size) * batch_size
    wrapped = (found == truth)[np.arange(rounded) % n]
    short_batch = [
        ((found == truth)[:whole], "the pairs of the last, short batch are left out"),
        ((found == truth)[:whole].sum() / n, "the pairs of the last, short batch are left out"),
        (wrapped, "the last batch was filled up with pairs that were counted before"),
        (wrapped.sum() / n, "the last batch was filled up with pairs that were counted before"),
        (right / rounded, "divided by the size of all batches: the last one is short"),
    ]  # fmt: skip
    return (short_batch if n % batch_size else []) + [
        ((scores >= threshold) == truth, "a dot product equal to the threshold counted as a duplicate: "
         "> is asked for, not >="),
        (right, "this is the number of right answers, not their share"),
        (100 * right / n, "this is a percentage; the share is asked for, from 0 to 1"),
        (1 - right / n, "this is the share of wrong answers"),
        ((found & truth).sum() / n, "only the duplicates that were found are counted: a right 'no' "
         "counts too"),
        (found.mean(), "this is the share above the threshold: compare it with y"),
        ((scores > 0.7) == truth, "the threshold is always 0.7: use the argument"),
        ((scores > 0.5) == truth, "the threshold is always 0.5: use the argument"),
        (right / batch_size, "divided by the batch size: divide by the number of pairs"),
    ]  # fmt: skip


def _number(came):
    """An array of one element as a number: sums of np.dot(v1, v2.T) > threshold end as [[0.7]]."""
    return came.reshape(()) if getattr(came, "size", None) == 1 and np.ndim(came) else came


def _try(fn, n, batch_size, threshold, hint="", labels=None, pad=1):
    """Calls classify on n pairs and raises `Wrong` unless its answer and its calls are right."""
    q1, q2, y, scores = _questions(n)
    y = y if labels is None else labels(y)
    log: list = []
    vocab = {"<PAD>": pad, "word": 9}
    given = [list(q) for q in q1], [list(q) for q in q2], y.copy()
    came = fn(
        *given,
        threshold,
        first_token_model,
        vocab,
        data_generator=recording_generator(log),
        batch_size=batch_size,
    )
    expected = float(np.mean((scores > threshold) == y.astype(bool)))
    mistakes = [
        (np.mean(value), text)
        for value, text in _classify_mistakes(scores, y, threshold, batch_size)
    ]
    if any(call["shuffle"] for call in log):
        mistakes, hint_now = [], "the batches come shuffled, and y does not: shuffle=False"
    else:
        hint_now = hint
    expect_close(_number(came), expected, hint_now, mistakes=mistakes)
    _expect_calls(log, n, batch_size, pad)
    for name, before, now in (("test_Q1", q1, given[0]), ("test_Q2", q2, given[1])):
        expect_unchanged(name, before, now)
    expect_unchanged("y", y, given[2])


def _classify_case(name, n, batch_size, threshold, hint="", labels=None, pad=1):
    answers.case(name)(lambda fn: _try(fn, n, batch_size, threshold, hint, labels, pad))


def _expect_calls(log, n, batch_size, pad):
    if not log:
        hint = "make the batches with the argument data_generator"
        raise Wrong("data_generator was called", "it was not called", hint)
    if any(call["shuffle"] for call in log):
        hint = "shuffled batches do not fit y: shuffle=False"
        raise Wrong("shuffle=False", "shuffle=True", hint)
    if any(call["pad"] != pad for call in log):
        hint = "the padding is what the vocabulary says: '<PAD>'"
        raise Wrong(f"pad={pad}", f"pad={log[0]['pad']}", hint)
    largest = max(call["batch_size"] for call in log)
    if largest != min(batch_size, max(n, 1)) and largest != batch_size:
        raise Wrong(
            f"batches of {batch_size}", f"batches of {largest}", "use the argument batch_size"
        )


_classify_case("24 pairs in batches of 8", 24, 8, 0.45)
_classify_case("another threshold", 24, 8, -0.3)
_classify_case(
    "dot products exactly at the threshold",
    24,
    8,
    0.5,
    "a dot product of exactly 0.5 is not above 0.5",
)
_classify_case("all pairs in one batch", 8, 8, 0.45)


@answers.case("a last batch that is short")
def _(fn):
    for n in (21, 5):  # What this costs costs one case: the course's loop takes full batches only.
        try:
            _try(fn, n, 8, 0.45)
        except Wrong as wrong:
            raise Wrong(wrong.expected, wrong.came, f"{_SHORT}{wrong.hint}") from None
        except (LookupError, ValueError, TypeError) as error:
            came = describe_error(error, fn.file)
            raise Wrong("the share of right answers", came, f"{_SHORT}{_SHORT_WAY}") from None


_SHORT = "with 21 or 5 pairs in batches of 8 the last batch holds 5: "
_SHORT_WAY = (
    "ask the generator for as many pairs as there are. (The course's own loop takes full batches "
    "only, and its test pairs fill them; this one case asks for more.)"
)
_classify_case("batches of one", 6, 1, 0.45)
_classify_case("labels True and False", 24, 8, 0.45, "y may be bool", lambda y: y.astype(bool))
_classify_case("a padding of 7", 24, 8, 0.45, pad=7)


@answers.case("each pair with its own partner")
def _(fn):
    # One vector fits all: a matrix of all pairs has other entries than its diagonal.
    q1, q2 = [[2], [4], [5], [2]], [[2], [4], [5], [4]]
    came = fn(
        q1, q2, np.array([1, 1, 1, 0]), 0.7, first_token_model, {"<PAD>": 1},
        data_generator=recording_generator([]), batch_size=4,
    )  # fmt: skip
    matrix = DIRECTIONS[[2, 4, 5, 2]] @ DIRECTIONS[[2, 4, 5, 4]].T > 0.7
    crossed = matrix == np.array([1, 1, 1, 0], bool)
    hint = "question 1 of a row is compared with question 2 of the same row only"
    expect_close(
        _number(came), 1.0, hint, mistakes=[(crossed.mean(), hint), (crossed.sum() / 4, hint)]
    )


def check_classify(fn) -> Score:
    """Checks ``classify(test_Q1, test_Q2, y, threshold, model, vocab, data_generator, batch_size)``."""
    return answers.check(fn)
