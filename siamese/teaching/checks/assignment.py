"""data_generator, and classify and predict, which call a model."""

from __future__ import annotations

import contextlib
import inspect
import io
import itertools
import random
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, SupportsIndex, TypeAlias

import numpy as np

from siamese.text.punkt import provide_punkt

from .engine import Case, Exercise, call
from .results import Fault, require, same
from .submission import Function, Learner, Watched
from .tables import solutions

Sides: TypeAlias = tuple[np.ndarray, ...]  # (q1, q2), or their vectors
Model: TypeAlias = Callable[[object], Sides]

# ---- data_generator ----

data_generator: Callable[..., Iterator[Sides]] = solutions()["data_generator"]
word_tokenize: Callable[[str], list[str]] = solutions()["word_tokenize"]
_Q1 = [[11, 12, 13], [21], [31, 32], [41, 42, 43, 44], [51, 52]]
_Q2 = [[11, 15], [21, 22, 23, 24, 25], [31], [42, 41], [51, 52, 53, 54, 55, 56]]
_READS = 5000  # more questions than any case needs between two batches


class _Counted(list[list[int]]):
    """Questions that notice when one after the other is read and no batch comes."""

    reads = 0  # since the last batch, of all such lists

    def __getitem__(self, place: SupportsIndex | slice) -> Any:
        _Counted.reads += 1
        if _Counted.reads > _READS:
            _Counted.reads = 0
            names = sys._getframe(1).f_locals
            grown = [name for name, value in names.items() if _is_long(value)]
            hint = "look at the condition for a full batch: is it ever true?"
            if grown:
                hint = (
                    f"{grown[0]} grows and grows: a new batch begins with empty lists"
                )
            raise Fault(f"{_READS:,} questions were read, and no batch came", hint)
        return super().__getitem__(place)


def _is_long(value: object) -> bool:
    return isinstance(value, list) and len(value) > _READS / 4


def _drawn(
    fn: Function,
    *arguments: object,
    count: int = 4,
    seed: int = 34,
    **options: object,
) -> list[Sides]:
    """The first batches, of arrays of whole numbers."""
    random.seed(seed)
    np.random.seed(seed)
    _Counted.reads = 0
    generator = fn(_Counted(_Q1), _Counted(_Q2), *arguments, **options)
    what = "None" if generator is None else f"a {type(generator).__name__}"
    is_collection = isinstance(generator, (tuple, list, np.ndarray))
    if is_collection or not np.iterable(generator):
        hint = f"no yield, it returned {what}: yield makes a generator"
        raise Fault(f"returned {what}", hint)
    drawn: list[Sides] = []
    copies: list[Sides] = []
    for batch in itertools.islice(generator, count):
        _Counted.reads = 0
        pair = isinstance(batch, (tuple, list)) and len(batch) == 2
        hint = "yield both sides, two arrays (q1, q2)"
        require(pair, f"a {type(batch).__name__} as batch", hint)
        drawn.append(tuple(map(_rows, batch)))
        copies.append(tuple(side.copy() for side in drawn[-1]))
    ended = "is endless: while True" if drawn else "ended without a yield"
    require(len(drawn) == count, f"{len(drawn)} batches", f"the generator {ended}")
    hint = "the same array is yielded twice: make a new one for each batch"
    require(
        same(drawn, copies, 0.0), "a batch that changed when the next one came", hint
    )
    return drawn


def _rows(side: object) -> np.ndarray:
    """One side of a batch; Fault where it is no array of rows of whole numbers."""
    hint = "yield arrays: np.array of the padded questions"
    require(hasattr(side, "dtype"), f"a {type(side).__name__}", hint)
    array = np.asarray(side)
    hint = "the batch has no questions: empty the two lists after the yield, not before"
    require(array.size, f"an array of shape {array.shape}", hint)
    hint = "token ids are whole numbers"
    shown = f"an array of {type(array.flat[0]).__name__}, dtype {array.dtype}"
    require(array.dtype.kind in "iu", shown, hint)
    hint = "each question is a row of its own: append the padded question, do not add its words"
    require(array.ndim == 2, f"an array of shape {array.shape}", hint)
    return array


def _passes(fn: Watched) -> str:
    """What the batches of all five pairs show, and those of one pair."""
    for q1, _ in _drawn(fn, 5, count=6):
        pairs = (q1[:, 0] // 10).tolist()
        hint = "shuffle the order of the pairs; do not draw pairs at random"
        each_once = len(q1) != 5 or sorted(pairs) == [1, 2, 3, 4, 5]
        require(each_once, f"pairs {', '.join(map(str, pairs))} in one pass", hint)
    pairs = [q1[0, 0] // 10 for q1, _ in _drawn(fn, 1, count=30)]
    hint = (
        "shuffle once a pass, when all its pairs were used, and not before each batch"
    )
    for start in range(0, 30, 5):
        one_pass = pairs[start : start + 5]
        shown = f"pairs {', '.join(map(str, one_pass))} in batches of one"
        require(sorted(one_pass) == [1, 2, 3, 4, 5], shown, hint)
    return "pairs 1 to 5 in each pass"


def _partners(fn: Watched) -> str:
    """What shuffled batches of two show."""
    drawn = _drawn(fn, 2, count=20)
    hint = "question1 and question2 are taken by the same shuffled index"
    if fn.changed() is not None:
        hint = "the questions themselves are shuffled, each side by itself: shuffle the order"
    for q1, q2 in drawn:
        for first, second in zip(q1[:, 0], q2[:, 0]):
            require(first // 10 == second // 10, f"{first} beside {second}", hint)
    if same(drawn, _drawn(data_generator, 2, count=20, shuffle=False)):
        never = same(drawn, _drawn(fn, 2, count=20, shuffle=True))
        hint = "the order is never shuffled" if never else "the default is shuffle=True"
        raise Fault("the data's own order", hint)
    seeded = same(drawn, _drawn(fn, 2, count=20, seed=35))
    hint = "the function seeds the random numbers: leave random.seed to the caller"
    require(not seeded, "the same order with another seed", hint)
    hint = "shuffled at the start only: each pass has an order of its own"
    orders = {tuple(q1[:, 0]) for q1, _ in drawn}
    require(len(orders) > 3, "the same rows in each pass", hint)
    return "pairs, in another order in each pass"


_PLAIN: dict[str, object] = {"shuffle": False}
check_data_generator = Exercise(
    "data_generator",
    [
        Case("one batch in order", (_drawn, 2), {"count": 1, **_PLAIN}),
        Case("the longest question decides the length", (_drawn, 1), {"count": 5, **_PLAIN}),
        Case("batches of three", (_drawn, 3), _PLAIN),
        Case("another padding", (_drawn, 2, 9), {"count": 2, **_PLAIN}),
        Case("without shuffling the order stays, pass after pass", (_drawn, 2), {"count": 12, **_PLAIN}),
        Case("more rows than there are pairs", (_drawn, 12), {"count": 2, **_PLAIN}),
        Case("questions stay with their partners", (_partners,)),
        Case("every pair comes once in a pass", (_passes,)),
        Case("random.seed(34) gives the course's order", (_drawn, 2), {"count": 12, "shuffle": True}),
    ],
    observe=lambda fn, show, *arguments, **options: show(fn, *arguments, **options),
    nearest=True,
)  # fmt: skip

# ---- A model and a generator that are passed ----

# The vector of a question is chosen by its first token; the dot products are exact.
_DIRECTIONS = np.zeros((16, 2), np.float32)
_DIRECTIONS[2:8] = [
    [1.0, 0.0],
    [0.5, 0.8660254],
    [0.0, 1.0],
    [-1.0, 0.0],
    [0.8, 0.6],
    [0.6, 0.8],
]


def _sides(questions: object) -> list[np.ndarray]:
    """The two arrays that a model is called with; Fault where they are no [batch, length] of one shape."""
    if not isinstance(questions, (tuple, list)) or len(questions) != 2:
        hint = "the model takes one argument, the pair (q1, q2)"
        raise Fault(f"model({type(questions).__name__})", hint)
    q1, q2 = map(np.asarray, questions)
    hint = "the model takes two arrays [batch, length] of one shape"
    fits = q1.ndim == 2 and q1.shape == q2.shape
    require(fits, f"a model called with shapes {q1.shape} and {q2.shape}", hint)
    return [q1, q2]


class _Call(NamedTuple):
    """How a function called the generator."""

    batch_size: int
    pad: int
    shuffle: bool


def _recording(log: list[_Call]) -> Callable[..., Iterator[Sides]]:
    """The course's generator, which notes how it is called."""

    def generator(
        Q1: list[list[int]],
        Q2: list[list[int]],
        batch_size: int,
        pad: int = 1,
        shuffle: bool = True,
    ) -> Iterator[Sides]:
        log.append(_Call(batch_size, pad, shuffle))
        return data_generator(Q1, Q2, batch_size, pad, shuffle)

    return generator


def _expect_called(log: list[_Call], pad: int) -> None:
    hint = "make the batches with the argument data_generator"
    require(log, "data_generator was not called", hint)
    hint = "the batch size comes third, then what the vocabulary says, vocab['<PAD>']"
    for used in log:
        require(used.pad == pad, f"pad={used.pad}", hint)


def _share(
    fn: Watched,
    n: int,
    batch_size: int,
    threshold: float,
    labels: type = int,
    pad: int = 1,
) -> np.ndarray:
    """The share that the function gives for n pairs."""
    q1, q2, y = _labelled_questions(n)

    def model(questions: object) -> Sides:
        return tuple(_DIRECTIONS[side[:, 0]] for side in _sides(questions))

    log: list[_Call] = []
    options: dict[str, object] = {
        "data_generator": _recording(log),
        "batch_size": batch_size,
    }
    vocab = {"<PAD>": pad, "word": 9}
    share = call(fn, q1, q2, y.astype(labels), threshold, model, vocab, **options)
    _expect_called(log, pad)
    shuffled = any(used.shuffle for used in log)
    require(
        not shuffled,
        "shuffle=True",
        "the batches are shuffled, and y is not: shuffle=False",
    )
    size = max(used.batch_size for used in log)
    fits = size in (batch_size, min(batch_size, n))
    require(fits, f"batches of {size}", "use the argument batch_size")
    # [[0.7]], of np.dot(v1, v2.T), is the number.
    return share.reshape(()) if share.size == 1 else share


def _labelled_questions(
    n: int,
) -> tuple[list[list[int]], list[list[int]], np.ndarray]:
    """Pairs of questions, and labels of which a model that goes by the cosine gets some wrong."""
    draw = np.random.default_rng(5)
    q1 = _questions(draw, n)
    q2 = _questions(draw, n)
    if n > 3:  # Three dot products of exactly 0.5.
        q1[1][0] = 2
        q2[1][0] = 3
        q1[2][0] = 3
        q2[2][0] = 2
        q1[3][0] = 2
        q2[3][0] = 3
    first = _DIRECTIONS[[question[0] for question in q1]]
    second = _DIRECTIONS[[question[0] for question in q2]]
    y = (first * second).sum(axis=1) > 0.45
    y[::4] = ~y[::4]
    if n > 3:  # Of the three pairs at 0.5 two are duplicates.
        y[2] = False
        y[5] = ~y[5]
    return q1, q2, y


def _questions(draw: np.random.Generator, n: int) -> list[list[int]]:
    """Questions of a drawn direction and up to three words behind it."""
    first = draw.integers(2, 8, n).tolist()
    others = draw.integers(0, 4, n).tolist()
    return [[token, *[9] * count] for token, count in zip(first, others)]


check_classify = Exercise(
    "classify",
    [
        Case("24 pairs in batches of 8", (24, 8, 0.45)),
        Case("another threshold", (24, 8, -0.3)),
        Case("dot products exactly at the threshold", (24, 8, 0.5)),
        Case("all pairs in one batch", (8, 8, 0.45)),
        Case("batches of one", (6, 1, 0.45)),
        Case("a threshold above every dot product", (24, 8, 1.5)),
        Case("labels True and False", (24, 8, 0.45, bool)),
        Case("a padding of 7", (24, 8, 0.45, int, 7)),
        Case(
            "a last batch that is short: ask the generator for as many pairs as there "
            "are. (The course's own loop takes full batches only; this one case asks for "
            "more.)",
            (21, 8, 0.45),
        ),
    ],
    observe=_share,
)

# ---- predict ----

_WORDS = "<PAD> How old are you ? What is your age Is it cold Cats Dogs Why"
_IDS = {word: i for i, word in enumerate(_WORDS.split(), start=1)}


class _KerasModel:
    """The model of the TensorFlow edition: its `predict` takes texts, and gives [v1, v2] in one row."""

    def __init__(self, model: Model):
        self.model = model

    def predict(self, batches: Iterable[Any], **options: object) -> np.ndarray:
        """Float [1, 2 d], of the first batch of a tf.data.Dataset or a list: ((q1, q2), None)."""
        (sides, *_), *_ = batches
        texts = [np.asarray(side).ravel()[0] for side in sides]
        texts = [
            text.decode() if isinstance(text, bytes) else str(text) for text in texts
        ]
        ids = [[_IDS.get(word, 0) for word in word_tokenize(text)] for text in texts]
        longest = max(map(len, ids))
        padded = [
            np.array([side + [_IDS["<PAD>"]] * (longest - len(side))]) for side in ids
        ]
        return np.concatenate(self.model(padded), axis=1)


def _answer(
    fn: Watched,
    question1: str,
    question2: str,
    threshold: float,
    options: Mapping[str, object],
    pad: int = 1,
    kind: type[dict] = defaultdict,
    vectors: Sides | None = None,
) -> str:
    """The answer as text, True or False."""

    def model(questions: object) -> Sides:
        sides = _sides(questions)
        return vectors or tuple(_word_counts(side, pad) for side in sides)

    # A hand-in may call nltk.word_tokenize, as the course does.
    if "nltk" in sys.modules:
        provide_punkt(sys.modules["nltk"])
    log: list[_Call] = []
    words = {**_IDS, "<PAD>": pad}
    vocab = defaultdict(int, words) if kind is defaultdict else words
    keras = (
        isinstance(fn, Learner) and "vocab" not in inspect.signature(fn.fn).parameters
    )
    if keras:
        answer = fn(question1, question2, threshold, _KerasModel(model), **options)
    else:
        options = {**options, "data_generator": _recording(log)}
        answer = fn(question1, question2, threshold, model, vocab, **options)
    array = np.asarray(answer)
    # The course's own solution ends with np.dot(v1, v2.T) > threshold: [[True]] will do.
    if array.size != 1 or array.dtype != bool:
        call(lambda: 0 if answer is not None else None)
        form = f" of shape {array.shape}" if array.shape else ""
        hint = "return True or False alone: whether the cosine is above the threshold"
        raise Fault(f"{type(answer).__name__}{form}: {answer!r}", hint)
    if not keras:
        _expect_called(log, pad)
    return str(array.item())


def _word_counts(tokens: np.ndarray, pad: int) -> np.ndarray:
    """Rows of length 1, whose cosine counts common words in any order, but for padding."""
    counts = (tokens[:, :, None] == np.arange(32)).sum(axis=1).astype(np.float32)
    counts[:, pad] = 0
    return counts / np.maximum(np.sqrt((counts**2).sum(axis=1, keepdims=True)), 1e-9)


def _answered(
    fn: Watched,
    question1: str,
    question2: str,
    threshold: float,
    printed: bool = False,
    pad: int = 1,
    kind: type[dict] = defaultdict,
    vectors: Sides | None = None,
) -> str:
    if not printed:
        return _answer(fn, question1, question2, threshold, {}, pad, kind, vectors)
    texts = []
    for verbose in ({}, {"verbose": True}):  # False is the default.
        with contextlib.redirect_stdout(io.StringIO()) as stream:
            _answer(fn, question1, question2, threshold, verbose)
        texts.append(stream.getvalue().strip())
    hint = "nothing is printed without verbose"
    require(not texts[0], "something is printed without verbose", hint)
    require(
        texts[1],
        "nothing is printed",
        "verbose=True prints the questions and the cosine",
    )
    return "printed with verbose alone"


def _without_default(sentence: str, code: str) -> str:
    """An id of None, of vocab.get(word), goes lost on the way to the model like a word left out."""
    if sentence.startswith("an unknown word") and re.search(r"\.get\(\w+\)", code):
        return "vocab.get(word) gives None for an unknown word: its id is 0"
    return sentence


def _vectors(first: int, second: int) -> dict[str, object]:
    return {"vectors": (_DIRECTIONS[[first]], _DIRECTIONS[[second]])}


check_predict = Exercise(
    "predict",
    [
        Case("two questions alike", ("How old are you?", "How old are you ?", 0.1)),
        Case("two questions about other things", ("What is your age?", "Why Cats", 0.7)),
        Case("a low threshold", ("What is your age?", "Is it cold?", 0.1)),
        Case("a high threshold", ("How old are you?", "How old are Cats?", 0.9)),
        Case("the question mark is a word", ("Is it cold?", "Is it?", 0.84)),
        Case("several question marks", ("Why?", "???", 0.5)),
        Case("capitals stay", ("Cats", "Dogs", 0.5)),
        Case("unknown words count as 0", ("How Zorblax Quux", "Why Blah Bleh", 0.6)),
        Case("an unknown word in one question", ("Is it cold", "Is it cold Zorblax Quux", 0.8)),
        Case("a plain dict as vocabulary", ("Is it cold?", "Is it?", 0.8), {"kind": dict}),
        Case("a padding of 31", ("How Zorblax Quux", "Why Blah Bleh", 0.6), {"pad": 31}),
        Case("verbose=True", ("How old are you?", "How old are you ?", 0.7), {"printed": True}),
        Case("a cosine exactly at the threshold", ("Is it", "Is cold", 0.5), _vectors(2, 3)),
        Case("a cosine of 1 at a threshold of 1", ("Is it", "Is cold", 1.0), _vectors(2, 2)),
        Case("a cosine of 0.96 at a threshold of 0.7", ("Is it", "Is cold", 0.7), _vectors(6, 7)),
        Case("a threshold below 0", ("Is it", "Is cold", -0.5), _vectors(2, 4)),
        Case("opposite vectors", ("Is it", "Is cold", 0.5), _vectors(2, 5)),
    ],
    observe=_answered,
    reread=_without_default,
)  # fmt: skip
