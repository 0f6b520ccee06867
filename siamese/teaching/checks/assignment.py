"""Checks of classify and predict, exercises 5 and 6 of the assignment (notebook 04)."""

from __future__ import annotations

import contextlib
import copy
import functools
import io
from collections import defaultdict

import numpy as np

from .compare import NO_RETURN, Wrong, expect, expect_unchanged, require, show
from .generator import course_batches
from .learner import describe_error
from .score import Exercise
from .thresholds import accuracy_mistakes

# ---- What classify and predict are given ----

# The vector of a question is chosen by its first token; the dot products are exact numbers.
DIRECTIONS = np.zeros((16, 2), np.float32)
DIRECTIONS[2:8] = [[1, 0], [0.5, 0.8660254], [0, 1], [-1, 0], [0.8, 0.6], [0.6, 0.8]]


def first_token_model(questions):
    """(q1, q2), int32 [batch, length] each, to (v1, v2), float32 [batch, 2] each."""
    hint = "the model takes one argument, the pair (q1, q2)"
    pair = isinstance(questions, (tuple, list)) and len(questions) == 2
    require(pair, "model((q1, q2))", f"model({type(questions).__name__})", hint)
    q1, q2 = (np.asarray(q) for q in questions)
    alike, found = q1.ndim == 2 and q1.shape == q2.shape, f"shapes {q1.shape} and {q2.shape}"
    require(alike, "two arrays [batch, length] of one shape", found)
    return DIRECTIONS[q1[:, 0]], DIRECTIONS[q2[:, 0]]


def recording_generator(log: list):
    """The course's generator, which notes how it was called."""

    def data_generator(Q1, Q2, batch_size, pad=1, shuffle=True):
        log.append({"batch_size": batch_size, "pad": pad, "shuffle": shuffle})
        return course_batches(Q1, Q2, batch_size, pad, shuffle)

    return data_generator


def _expect_called(log, pad, hint):
    require(log, "data_generator was called", "it was not called", hint)
    other = [call["pad"] for call in log if call["pad"] != pad]
    hint = "the padding is what the vocabulary says: vocab['<PAD>']"
    require(not other, f"pad={pad}", f"pad={next(iter(other), pad)}", hint)


# ---- classify ----

check_classify = Exercise(
    "classify(test_Q1, test_Q2, y, threshold, model, vocab, data_generator=..., batch_size=...)",
    "the share of pairs whose answer, ``dot(v1, v2) > threshold``, is right.",
    look="print the answers of the second batch beside the labels they are compared with",
)


def _questions(n, seed=5):
    draw = np.random.default_rng(seed)
    q1, q2 = (
        [[int(t), *[9] * int(k)] for t, k in zip(draw.integers(2, 8, n), draw.integers(0, 4, n))]
        for _ in range(2)
    )
    if n > 2:  # Two dot products of exactly 0.5.
        q1[1][0], q2[1][0], q1[2][0], q2[2][0] = 2, 3, 3, 2
    scores = np.array([float(DIRECTIONS[a[0]] @ DIRECTIONS[b[0]]) for a, b in zip(q1, q2)])
    y = (scores > 0.45).astype(np.int64)
    y[::4] = 1 - y[::4]  # A model that is sometimes wrong.
    return q1, q2, y, scores


def _classify_mistakes(scores, y, threshold, batch_size):
    right, n = (scores > threshold) == y.astype(bool), len(y)
    parts = [right[i : i + batch_size] for i in range(0, n, batch_size)]
    crossed = (scores > threshold) == np.resize(y[:batch_size], n).astype(bool)
    steps = [scores[i : i + batch_size] > threshold for i in range(max(n // batch_size, 1))]
    found = [
        *accuracy_mistakes(scores, y, threshold),
        (right.sum() / 2, "divide by the number of pairs"),
        (parts[0].sum() / n, "only the first batch is counted: does return stand in the loop?"),
        (parts[0].mean(), "only the first batch is counted"),
        (
            parts[-1].sum() / n,
            "only the last batch is counted: the sum starts again with each batch",
        ),
        (parts[-1].mean(), "only the last batch is counted: the sum starts again with each batch"),
        ((right.sum() - parts[0].sum()) / n, "the first batch is left out: the range begins at 0"),
        (
            np.mean([part.mean() for part in parts]),
            "the mean of the batches' shares: a short batch weighs less",
        ),
        (
            sum(part.mean() for part in parts),
            "the shares of the batches are added: divide by the pairs",
        ),
        (
            crossed.mean(),
            "each batch meets the labels of the first one: y has rows of its own for each batch",
        ),
        (
            right[np.arange(n) % batch_size].mean(),
            "each time the first batch is taken: it begins at start",
        ),
        (
            sum((s == y[i : i + len(s)]).sum() for i, s in enumerate(steps)) / n,
            "the range takes steps of 1: each batch begins batch_size further on",
        ),
        (
            np.mean(((2 - 2 * scores) ** 0.5 > threshold) == y),
            "this is a distance: the dot product is asked for",
        ),
        (right.sum() / batch_size, "divided by the batch size: divide by the number of pairs"),
    ]
    if n % batch_size == 0:
        return found
    whole = right[: n - n % batch_size]
    left_out = "the pairs of the last, short batch are left out"
    return [(whole.mean(), left_out), (whole.sum() / n, left_out), *found]


def _number(actual):
    """An array of one element as a number: sums of np.dot(v1, v2.T) > threshold end as [[0.7]]."""
    return actual.reshape(()) if getattr(actual, "size", 0) == 1 and np.ndim(actual) else actual


def _try(fn, n, batch_size, threshold, hint="", labels=int, pad=1):
    """Calls classify on n pairs and raises `Wrong` unless its answer and its calls are right."""
    q1, q2, y, scores = _questions(n)
    y = y.astype(labels)
    log: list = []
    given = copy.deepcopy((q1, q2, y))
    made = {"data_generator": recording_generator(log), "batch_size": batch_size}
    vocab = {"<PAD>": pad, "word": 9}
    actual = _number(fn(*given, threshold, first_token_model, vocab, **made))
    mistakes, shuffled = _classify_mistakes(scores, y, threshold, batch_size), False
    if any(call["shuffle"] for call in log):
        mistakes, shuffled = [], True
        hint = "the batches are shuffled, and y is not: shuffle=False"
    tried = expect(actual, np.mean((scores > threshold) == y.astype(bool)), hint, mistakes)
    _expect_called(log, pad, "make the batches with the argument data_generator")
    require(not shuffled, "shuffle=False", "shuffle=True", hint)
    largest = max(call["batch_size"] for call in log)
    right, hint = largest in (batch_size, min(batch_size, n)), "use the argument batch_size"
    require(right, f"batches of {batch_size}", f"batches of {largest}", hint)
    for name, before, now in zip(("test_Q1", "test_Q2", "y"), (q1, q2, y), given):
        expect_unchanged(name, before, now)
    return tried


check_classify.table((
    ("24 pairs in batches of 8", 24, 8, 0.45),
    ("another threshold", 24, 8, -0.3),
    ("dot products exactly at the threshold", 24, 8, 0.5, "a dot product of exactly 0.5 is not above 0.5"),
    ("all pairs in one batch", 8, 8, 0.45),
    ("batches of one", 6, 1, 0.45),
    ("labels True and False", 24, 8, 0.45, "y may be bool", bool),
    ("a padding of 7", 24, 8, 0.45, "", int, 7),
), _try)  # fmt: skip


@check_classify.case("a last batch that is short")
def _(fn):
    told = "with 21 or 5 pairs in batches of 8 the last batch holds 5: "
    ask = (
        "ask the generator for as many pairs as there are. (The course's own loop takes full "
        "batches only, and its test pairs fill them; this one case asks for more.)"
    )
    for n in (21, 5):  # What this costs costs one case: the course's loop takes full batches only.
        try:
            _try(fn, n, 8, 0.45)
        except Wrong as wrong:
            raise Wrong(
                wrong.expected, wrong.actual, told + (wrong.hint or ask), wrong.tried
            ) from None
        except (LookupError, ValueError, TypeError) as error:
            found = describe_error(error, fn.file)
            raise Wrong("the share of right answers", found, told + ask) from None


@check_classify.case("each pair with its own partner")
def _(fn):
    # One vector fits all: a matrix of all pairs has other entries than its diagonal.
    first, second, y = [2, 4, 5, 2], [2, 4, 5, 4], np.array([1, 1, 1, 0])
    rows = [[token] for token in first], [[token] for token in second]
    made = {"data_generator": recording_generator([]), "batch_size": 4}
    actual = fn(*rows, y.copy(), 0.7, first_token_model, {"<PAD>": 1}, **made)
    crossed = (DIRECTIONS[first] @ DIRECTIONS[second].T > 0.7) == y.astype(bool)
    hint = "question 1 of a row is compared with question 2 of the same row only"
    expect(_number(actual), 1.0, hint, [(crossed.mean(), hint), (crossed.sum() / 4, hint)])


# ---- predict ----

check_predict = Exercise(
    "predict(question1, question2, threshold, model, vocab, data_generator=..., verbose=False)",
    "whether the cosine of the two questions is above the threshold.",
    look="print the tokens of both questions, their vectors and the cosine",
)
_WORDS = "<PAD> How old are you ? What is your age Is it cold Cats Dogs Why"
WORD_IDS = {word: i for i, word in enumerate(_WORDS.split(), start=1)}


def bag_of_words_model(pad, questions):
    """A model whose cosine counts common words, whatever their order; padding does not count."""
    first_token_model(tuple(np.clip(q, 0, 15) for q in questions))  # checks the shapes
    vectors = []
    for q in questions:
        counts = (np.asarray(q)[:, :, None] == np.arange(32)).sum(axis=1).astype(np.float32)
        counts[:, pad] = 0
        lengths = np.sqrt((counts**2).sum(axis=1, keepdims=True))
        vectors.append(counts / np.maximum(lengths, 1e-9))
    return tuple(vectors)


def _vocabulary(kind=defaultdict, pad=1):
    words = {**WORD_IDS, "<PAD>": pad}
    return defaultdict(int, words) if kind is defaultdict else words


def _answer(fn, q1, q2, threshold, vocab, model=None, log=None, **options):
    model = model or functools.partial(bag_of_words_model, vocab["<PAD>"])
    made = recording_generator([] if log is None else log)
    actual = fn(q1, q2, threshold, model, vocab, data_generator=made, **options)
    require(actual is not None, "True or False", "None", NO_RETURN)
    array = np.asarray(actual)
    # The course's own solution ends with np.dot(v1, v2.T) > threshold: [[True]] is one answer too.
    hint = "compare the cosine with the threshold, and return that"
    found = type(actual).__name__ + (f" of shape {array.shape}" if array.shape else "")
    right = array.size == 1 and array.dtype == bool
    require(right, "True or False", f"{found}: {show(actual)}", hint)
    return bool(array.item())


def _expect_answer(fn, q1, q2, threshold, expected, hint="", kind=defaultdict, pad=1):
    log: list = []
    actual = _answer(fn, q1, q2, threshold, _vocabulary(kind, pad), log=log)
    right = f"{expected} for {q1!r} and {q2!r} at {threshold}"
    require(actual == expected, right, actual, hint)
    _expect_called(log, pad, "make the batch of one pair with the argument data_generator")


_SAME = "How old are you?", "How old are you ?"
check_predict.table((
    ("two questions alike", *_SAME, 0.7, True),
    ("two questions about other things", "What is your age?", "Why Cats", 0.7, False,
     "both have one vector: print both lists of ids. Is the second question's used, "
     "and are words looked up?"),
    ("a low threshold", "What is your age?", "Is it cold?", 0.1, True, "use the argument"),
    ("the question mark is a word", "Is it cold?", "Is it?", 0.84, True,
     "'cold?' is not in the vocabulary: word_tokenize takes the question mark off"),
    ("capitals stay", "Cats", "Dogs", 0.5, False,
     "the vocabulary knows 'Cats', not 'cats': leave the case"),
    ("unknown words count as 0", "How Zorblax Quux", "Why Blah Bleh", 0.6, True,
     "an unknown word has the id 0, and is not left out"),
    ("a plain dict as vocabulary", "Is it cold?", "Is it?", 0.8, True,
     "a vocabulary is a dict, word -> id", dict),
    ("a padding of 31", "How old are you?", "How old?", 0.7, True, "vocab['<PAD>']", defaultdict, 31),
), _expect_answer)  # fmt: skip


@check_predict.case("verbose=True")
def _(fn):
    for verbose in (False, True):
        with contextlib.redirect_stdout(io.StringIO()) as stream:
            asked = {"verbose": True} if verbose else {}  # False is the default
            same = _answer(fn, *_SAME, 0.7, _vocabulary(), **asked)
        require(same, "True", "False", "verbose prints more; the answer is the same")
        printed, wanted = stream.getvalue().strip(), "something" if verbose else "nothing"
        hint = (
            "verbose=True prints the questions and the cosine; nothing is printed without verbose"
        )
        require(bool(printed) == verbose, f"{wanted} printed", f"printed: {printed[:80]!r}", hint)


@check_predict.case("unknown words do not enter the vocabulary")
def _(fn):
    vocab = _vocabulary()
    same = _answer(fn, "Is Zorblax cold?", "Is Zorblax cold?", 0.9, vocab)
    require(same, "True for the same question twice", "False", "an unknown word has the id 0")
    new = [word for word in vocab if word not in WORD_IDS]
    hint = (
        "looking a word up in a defaultdict with [] puts it in: look it up in another way "
        "(the course's own solution has this flaw; it costs this one case)"
    )
    require(not new, "a vocabulary as it was", f"the vocabulary has now {new}", hint)


@check_predict.case("a cosine exactly at the threshold")
def _(fn):
    for other, cosine, hint in (
        (3, 0.5, "above the threshold: > and not >="),
        (5, -1, "the sign is lost: a cosine of -1 is the opposite"),
    ):
        vectors = DIRECTIONS[[2]], DIRECTIONS[[other]]
        above = _answer(fn, "Is it", "Is cold", 0.5, _vocabulary(), lambda pair: vectors)  # noqa: B023
        require(not above, f"False: the cosine {cosine} is not above 0.5", "True", hint)
