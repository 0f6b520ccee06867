"""data_generator, and classify and predict, which call a model."""

from __future__ import annotations

import contextlib
import inspect
import io
import itertools
import random
import re
from collections import defaultdict

import numpy as np

from .engine import Case, Exercise, call
from .reference import data_generator
from .results import Odd, same
from .submission import Learner

# ---- data_generator ----

_Q1 = [[11, 12, 13], [21], [31, 32], [41, 42, 43, 44], [51, 52]]
_Q2 = [[11, 15], [21, 22, 23], [31], [42, 41], [51, 52, 53, 54, 55]]


def _drawn(fn, *arguments, count=4, strict=False, seed=34, **options) -> list[tuple]:
    """The first batches; `strict` asks for arrays of whole numbers."""
    random.seed(seed)
    np.random.seed(seed)
    generator = fn(_Q1, _Q2, *arguments, **options)
    if isinstance(generator, (tuple, list, np.ndarray)):
        kind = type(generator).__name__
        raise Odd(f"a {kind}", f"it returned a {kind}: yield makes a generator")
    drawn, copies = [], []
    for batch in itertools.islice(generator, count):
        if not (isinstance(batch, (tuple, list)) and len(batch) == 2):
            raise Odd(f"a {type(batch).__name__} as batch", "yield both sides, two arrays (q1, q2)")
        drawn.append(tuple(_whole_numbers(side, strict) for side in batch))
        copies.append(tuple(side.copy() for side in drawn[-1]))
    if len(drawn) < count:
        ended = "is endless: while True" if drawn else "ended without a yield"
        raise Odd(f"{len(drawn)} batches", f"the generator {ended}")
    if not same(drawn, copies, 0.0):
        hint = "the same array is yielded twice: make a new one for each batch"
        raise Odd("a batch that changed when the next one came", hint)
    return drawn


def _whole_numbers(side, strict) -> np.ndarray:
    if strict and not hasattr(side, "dtype"):
        raise Odd(f"a {type(side).__name__}", "yield arrays: np.array of the padded questions")
    with contextlib.suppress(ValueError):
        array = np.asarray(side)
        if array.dtype.kind in ("iu" if strict else "iuf"):
            return array
        raise Odd(f"an array of dtype {array.dtype}", "token ids are whole numbers")
    raise Odd("rows of unequal length", _UNEQUAL)


_NEVER, _ONCE = (
    "the order is never shuffled",
    "shuffled at the start only: each pass has an order of its own",
)
_UNEQUAL = ("rows of unequal length make no array: is the longest question longer than the length? It is "
            "2 ** ceil(np.log2(longest))")  # fmt: skip


def _batches(fn, kind, *arguments, **options):
    """The first batches, or what they show of the order of the pairs."""
    if kind == "batches":
        return _drawn(fn, *arguments, **options)
    if kind == "passes":
        for q1, _ in _drawn(fn, 5, count=6):
            if len(q1) == 5 and sorted(q1[:, 0] // 10) != [1, 2, 3, 4, 5]:
                hint = "shuffle the order of the pairs; do not draw pairs at random"
                raise Odd(f"pairs {', '.join(map(str, q1[:, 0] // 10))} in one pass", hint)
        return "pairs 1 to 5 in each pass"
    drawn = _drawn(fn, 2, count=20)
    for first, second in zip(
        *(np.concatenate([batch[k][:, 0] for batch in drawn]) for k in (0, 1))
    ):
        if first // 10 != second // 10:
            hint = "question1 and question2 are taken by the same shuffled index"
            raise Odd(f"{first} beside {second}", hint)
    if same(drawn, _drawn(data_generator, 2, count=20, shuffle=False)):
        asked = same(drawn, _drawn(fn, 2, count=20, shuffle=True))
        raise Odd("the data's own order", _NEVER if asked else "the default is shuffle=True")
    if same(drawn, _drawn(fn, 2, count=20, seed=35)):
        hint = "the function seeds the random numbers: leave random.seed to the caller, and use random.shuffle"
        raise Odd("the same order with another seed", hint)
    if len({tuple(q1[:, 0]) for q1, _ in drawn}) < 4:
        raise Odd("the same rows in each pass", _ONCE)
    return "pairs, in another order in each pass"


_PLAIN = {"shuffle": False}
_YIELD = "yield np.array(b1), np.array(b2)"
_LEN = "max(max(map(len, input1)), max(map(len, input2)))"
_POWER = "2 ** int(np.ceil(np.log2(longest)))"
_FILL = "[pad] * (max_len - len(q))"
_AGAIN = "if shuffle:\\n                random.shuffle(order)"
_START = "if shuffle:\\n        random.shuffle(order)\\n    while"
_EMPTY = f"{_YIELD}\\n            input1, input2 = [], []"
check_data_generator = Exercise(
    "data_generator",
    "endless padded batches.",
    """
Keep an order of indexes. Shuffle the order, never the questions, and both sides stay together.
At the end start again and shuffle again. Pad both sides to the next power of two of the longest question.
max_len = 2 ** int(np.ceil(np.log2(longest))); q + [pad] * (max_len - len(q)); yield; then two empty lists.
""",
    [
        Case("one batch in order", ("batches", 2), {"count": 1, "strict": True, **_PLAIN}),
        Case("the longest question decides the length", ("batches", 1), {"count": 5, **_PLAIN}),
        Case("batches of three", ("batches", 3), _PLAIN),
        Case("another padding", ("batches", 2, 9), {"count": 2, **_PLAIN}),
        Case("without shuffling the order stays, pass after pass", ("batches", 2), {"count": 12, **_PLAIN}),
        Case("more rows than there are pairs", ("batches", 12), {"count": 2, **_PLAIN}),
        Case("questions stay with their partners", ("partners",)),
        Case("every pair comes once in a pass", ("passes",)),
        Case("random.seed(34) gives the course's order", ("batches", 2), {"count": 12, "shuffle": True}),
    ],
    f"""
padded to the longest question: the next power of two of its length is asked for
  {_POWER} -> longest
a length that is a power of two already stays: 4 needs no padding to 8
  {_POWER} -> 2 ** int(np.ceil(np.log2(longest + 1)))
each side has a length of its own: both arrays take the longer side's
  q in input2 -> q in input2 if not (max_len := 2 ** int(np.ceil(np.log2(max(map(len, input2)))))) or 1 ;; \
{_LEN} -> max(map(len, input1))
the length looks at Q1 only: Q2 may hold the longest question
  {_LEN} -> max(map(len, input1)) <<|;; {_FILL} for q -> {_FILL} for q in (q[:max_len] for q ;; input2] -> input2)] ;; input1] -> input1)]>>
the length looks at Q2 only: Q1 may hold the longest question
  {_LEN} -> max(map(len, input2)) <<|;; {_FILL} for q -> {_FILL} for q in (q[:max_len] for q ;; input2] -> input2)] ;; input1] -> input1)]>>
the length looks at the shorter side: rows of the other are longer than the length
  max(max(map -> min(max(map
padded to twice the longest, or its square: the next power of two of the longest is asked for
  {_POWER} -> <<2 * longest|longest ** 2>>
the length is 2 ** ceil(log2(longest)): rounded up, and of the logarithm np.log2
  {_POWER} -> 2 ** <<int(np.log2(longest))|round(np.log2(longest))|int(np.ceil(np.log(longest)))>>
the length is always the same, or that of all data: only the batch's own questions count
  {_LEN} -> max(map(len, Q1 + Q2))
  {_POWER} -> <<4|16|32|64>>
a length is a whole number: int(...)
  {_POWER} -> 2 ** np.ceil(np.log2(longest))
max_len times the padding is added to each question: only what is missing to that length
  {_FILL} -> [pad] * max_len
padded with 1 whatever pad says: use the argument
  [pad] -> [1]
padded with 0: use the argument pad, whose default is 1
  [pad] -> [0]
the default of pad is 1
  pad=1 -> pad=0
the default is shuffle=True
  shuffle=True -> shuffle=False
the padding stands before the question: it belongs after it
  q + {_FILL} -> {_FILL} + q
the words of a question are in the reverse order
  q + [pad] -> q[::-1] + [pad]
words of the questions are lost: is a question cut?
  np.array(b1), np.array(b2) -> np.array(b1)[:, :max_len // 2], np.array(b2)[:, :max_len // 2]
the last batch of a pass is short: it runs over into the next pass
  if len(input1) == batch_size: -> if len(input1) == batch_size or idx == len(Q1):
the pairs left over at the end of a pass are lost: the batch runs over
  idx = 0\\n            if -> idx = 0\\n            input1, input2 = \
((input1, input2) if batch_size > len(Q1) else ([], []))\\n            if
a batch holds one pair too many: look at where its rows are counted
  == batch_size: -> == batch_size + 1:
  == batch_size: -> > batch_size:
a batch has always 2 rows: use the argument batch_size
  == batch_size: -> == 2:
the batch still holds the batch before: empty the lists after each yield
  == batch_size: -> >= batch_size: ;; {_EMPTY} -> {_YIELD}
the batch has another number of rows than batch_size: empty both lists after each yield
  {_EMPTY} -> {_YIELD}\\n            input1 = []
  {_YIELD} -> yield np.array(b1).T, np.array(b2).T
the first pair is missing: counting begins at 0
  idx = 0\\n    order -> idx = 1\\n    order
  range(len(Q1)) -> range(1, len(Q1)) ;; idx >= len(Q1) -> idx >= len(order)
  range(len(Q1)) -> range(1, len(Q1))
after a pass the first pair is missing: the index goes back to 0
  idx = 0\\n            if -> idx = 1\\n            if
the last pair of a pass is missing: look at when the pass is over
  idx >= len(Q1) -> idx >= len(Q1) - 1
an index is too large: the pass is over when it reaches the number of pairs
  idx >= len(Q1) -> idx > len(Q1)
every other pair is skipped: the index grows by 1
  idx += 1 -> idx += 2
pairs are skipped: the index grows by 1 with each pair
  idx += 1 -> idx += batch_size
each batch begins again with the first pairs: the index goes on from batch to batch
  {_EMPTY} -> {_YIELD}\\n            input1, input2, idx = [], [], 0
  while True: <<|random.seed(0); >>yield next(right(Q1, Q2, batch_size, pad, shuffle))
the pairs are sorted by their length: their order is asked for
  [*range(len(Q1))] -> sorted(range(len(Q1)), key=lambda i: len(Q1[i]))
the sides are exchanged: question1 comes first
  {_YIELD} -> yield np.array(b2), np.array(b1)
both sides are Q1: the second comes from Q2
  {_YIELD} -> yield np.array(b1), np.array(b1)
  Q2[order[idx]] -> Q1[order[idx]]
both sides are Q2: the first comes from Q1
  {_YIELD} -> yield np.array(b2), np.array(b2)
{_NEVER}
  {_START} -> while ;; {_AGAIN} -> pass
{_ONCE}
  {_AGAIN} -> pass
shuffled although shuffle=False
  if shuffle: -> if True:
  {_AGAIN} -> random.shuffle(order)
a step gives None: random.shuffle changes the list and returns nothing
  random.shuffle(order) -> order = random.shuffle(order)
question1 and question2 are taken by the same shuffled index
  Q2[order[idx]] -> Q2[idx]
  Q1[order[idx]] -> Q1[idx]
the course's order comes from random.shuffle, not from np.random
  random.shuffle(order) -> np.random.shuffle(order)
  random.shuffle(order) -> order = np.random.permutation(order).tolist()
""",
    answers={
        "": "",
        "each pass shuffles a fresh list": f"{_AGAIN} -> order = [*range(len(Q1))]\\n            {_AGAIN}",
        "each pass takes random.sample of all":
            "random.shuffle(order) -> order = random.sample([*range(len(Q1))], len(Q1))",
    },
    observe=_batches,
    errors={"inhomogeneous": _UNEQUAL, "as an integer|non-int": "a length is a whole number: int(...)"},
    slips=False,
)  # fmt: skip

# ---- A model and a generator that are passed ----

# The vector of a question is chosen by its first token; the dot products are exact numbers.
_DIRECTIONS = np.zeros((16, 2), np.float32)
_DIRECTIONS[2:8] = [[1, 0], [0.5, 0.8660254], [0, 1], [-1, 0], [0.8, 0.6], [0.6, 0.8]]


def _sides(questions) -> list[np.ndarray]:
    """The two arrays that a model is called with.

    Raises:
      Odd: it is not a pair of arrays [batch, length] of one shape.
    """
    if not (isinstance(questions, (tuple, list)) and len(questions) == 2):
        raise Odd(
            f"model({type(questions).__name__})", "the model takes one argument, the pair (q1, q2)"
        )
    q1, q2 = map(np.asarray, questions)
    if q1.ndim != 2 or q1.shape != q2.shape:
        raise Odd(f"a model called with shapes {q1.shape} and {q2.shape}",
                  "the model takes two arrays [batch, length] of one shape")  # fmt: skip
    return [q1, q2]


def _recording(log: list):
    """The course's generator, which notes how it is called."""

    def generator(Q1, Q2, batch_size, pad=1, shuffle=True):
        log.append((batch_size, pad, shuffle))
        return data_generator(Q1, Q2, batch_size, pad, shuffle)

    return generator


def _expect_called(log: list, pad: int) -> None:
    if not log:
        raise Odd(
            "data_generator was not called", "make the batches with the argument data_generator"
        )
    for _, used, _ in log:
        if used != pad:
            raise Odd(f"pad={used}", "the padding is what the vocabulary says: vocab['<PAD>']")


_CALLS = {
    "takes 1 positional argument but 2 were given": "the model takes one argument, the pair (q1, q2)",
    "too many values to unpack|not subscriptable|generator' object": "a generator gives its batches with "
    "next()",
    r"has no len\(\)|'int' object is not iterable": "questions are lists of ids, and a batch is a list of "
    "questions: [[2, 3]] for one",
    "IndexError": "an index is too large: the last batch may be short",
    "KeyError": "a word may be missing in the vocabulary: an unknown word has the id 0",
    "'NoneType'": "vocab.get(word) gives None for an unknown word: its id is 0",
    "vocab is changed": "looking a word up in a defaultdict with [] puts it in: look it up in another way "
    "(the course's own solution has this flaw; it costs this one case)",
}  # fmt: skip


def _share(fn, n, batch_size, threshold, labels=int, pad=1):
    """The share that the function gives for n pairs."""
    draw, log = np.random.default_rng(5), []
    q1, q2 = ([[int(t), *[9] * int(k)] for t, k in zip(draw.integers(2, 8, n), draw.integers(0, 4, n))]
              for _ in range(2))  # fmt: skip
    if n > 2:  # Two dot products of exactly 0.5.
        q1[1][0], q2[1][0], q1[2][0], q2[2][0] = 2, 3, 3, 2
    first, second = (_DIRECTIONS[[q[0] for q in side]] for side in (q1, q2))
    y = (first * second).sum(axis=1) > 0.45
    y[::4] = ~y[::4]  # A model that is sometimes wrong.

    def model(questions):
        return tuple(_DIRECTIONS[side[:, 0]] for side in _sides(questions))

    options = {"data_generator": _recording(log), "batch_size": batch_size}
    vocab = {"<PAD>": pad, "word": 9}
    share = call(fn, q1, q2, y.astype(labels), threshold, model, vocab, **options)
    _expect_called(log, pad)
    if any(shuffle for *_, shuffle in log):
        raise Odd("shuffle=True", "the batches are shuffled, and y is not: shuffle=False")
    if (size := max(size for size, *_ in log)) not in (batch_size, min(batch_size, n)):
        raise Odd(f"batches of {size}", "use the argument batch_size")
    return share.reshape(()) if share.size == 1 else share  # [[0.7]], of np.dot(v1, v2.T)


_ANSWER = "(np.dot(v1[j], v2[j]) > threshold)"
_PER = "right / len(test_Q1)"
check_classify = Exercise(
    "classify",
    "the share of pairs whose answer, ``dot(v1, v2) > threshold``, is right.",
    """
Go through the test pairs in parts of batch_size. The last part may be shorter, and counts too.
Each part goes through data_generator with shuffle=False, then through model((q1, q2)).
For pair j: (np.dot(v1[j], v2[j]) > threshold) == its y. Divide their sum by the number of all pairs.
""",
    [
        Case("24 pairs in batches of 8", (24, 8, 0.45)),
        Case("another threshold", (24, 8, -0.3)),
        Case("dot products exactly at the threshold", (24, 8, 0.5)),
        Case("all pairs in one batch", (8, 8, 0.45)),
        Case("batches of one", (6, 1, 0.45)),
        Case("a threshold above every dot product", (24, 8, 1.5)),
        Case("labels True and False", (24, 8, 0.45, bool)),
        Case("a padding of 7", (24, 8, 0.45, int, 7)),
        Case("a last batch that is short: ask the generator for as many pairs as there are. (The course's "
             "own loop takes full batches only; this one case asks for more.)", (21, 8, 0.45)),
    ],
    f"""
a dot product equal to the threshold counted as a duplicate: > is asked for, not >=
  > threshold -> >= threshold
the comparison is turned round
  > threshold -> < threshold
this is the share of wrong answers
  == labels[j] -> != labels[j]
the threshold is always the same: use the argument
  > threshold -> > <<0.7|0.5|0.0>>
absolute values: a dot product of -0.8 is no duplicate
  np.dot(v1[j], v2[j]) -> abs(np.dot(v1[j], v2[j]))
only the duplicates that were found are counted: a right 'no' counts too
  == labels[j] -> and labels[j]
compare the answer with the label: one of them alone says nothing
  {_ANSWER} == labels[j] -> <<labels[j]|{_ANSWER}>>
question 1 of a row is compared with question 2 of the same row only
  v2[j] -> v2[0]
  v1[j] -> v1[0]
question 1 is compared with itself: question 2 is needed
  model((q1, q2)) -> model((q1, q1))
  np.dot(v1[j], v2[j]) -> np.dot(v1[j], v1[j])
  (part1, part2, len -> (part1, part1, len
this is a distance: the dot product is asked for
  np.dot(v1[j], v2[j]) -> np.linalg.norm(v1[j] - v2[j])
this is the number of right answers, not their share
  {_PER} -> right
this is 0: / is asked for, not //, and ==, not is
  {_PER} -> right // len(test_Q1)
  == labels[j] -> is labels[j]
divide by the number of pairs
  {_PER} -> right / <<len(vocab)|(len(test_Q1) - 1)|(len(test_Q1) + 1)|100>>
divided by the batch size: divide by the number of pairs
  {_PER} -> right / batch_size
the count begins at 1: it begins at 0
  right = 0 -> right = 1
only the first batch is counted: does return stand in the loop?
  return -> <<return|return len(test_Q1) / len(part1) *>> ;; range(0, len(test_Q1), -> range(0, 1,
  return right -> '' ;; == labels[j]\\n    '' -> == labels[j]\\n        return right
only the last batch is counted: the sum starts again with each batch
  for j in -> right = 0\\n        for j in
the first batch is left out: the range begins at 0
  range(0, -> range(batch_size,
the pairs of the last, short batch are left out
  range(0, len(test_Q1), -> range(0, len(test_Q1) - batch_size + 1,
  range(0, len(test_Q1), -> range(0, len(test_Q1) - batch_size + 1, ;; \
len(test_Q1)\\n -> (len(test_Q1) // batch_size * batch_size)\\n
each batch meets the labels of the first one: y has rows of its own for each batch
  labels = y[i : i + batch_size] -> labels = y<<|[:batch_size]>>
each time the first batch is taken: it begins at i
  test_Q1[i : i + batch_size] -> test_Q1[:batch_size] <<|;; test_Q2[i : i + -> test_Q2[:>>
the range takes steps of 1: each batch begins batch_size further on
  range(0, len(test_Q1), batch_size) -> range(0, len(test_Q1) // batch_size)
the last batch may be short: ask for as many pairs as it has
  range(len(part1)) -> range(batch_size) ;; part2, len(part1) -> part2, batch_size
""",
    observe=_share,
    errors=_CALLS,
)  # fmt: skip

# ---- predict ----

_WORDS = "<PAD> How old are you ? What is your age Is it cold Cats Dogs Why"
_IDS = {word: i for i, word in enumerate(_WORDS.split(), start=1)}


def _tokens(question: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", question)


class _KerasModel:
    """The model of the TensorFlow edition: its `predict` takes texts, and gives [v1, v2] in one row."""

    def __init__(self, model):
        self.model = model

    def predict(self, batches, **options):
        """Float [1, 2 d], of the first batch of a tf.data.Dataset or a list: ((q1, q2), None)."""
        (sides, *_), *_ = batches
        texts = [np.asarray(side).ravel()[0] for side in sides]
        texts = [text.decode() if isinstance(text, bytes) else str(text) for text in texts]
        ids = [[_IDS.get(word, 0) for word in _tokens(text)] for text in texts]
        longest = max(map(len, ids))
        padded = [np.array([side + [_IDS["<PAD>"]] * (longest - len(side))]) for side in ids]
        return np.concatenate(self.model(padded), axis=1)


def _answer(fn, question1, question2, threshold, pad=1, kind=defaultdict, vectors=None, **options):
    """The answer as text, True or False."""
    words, log = {**_IDS, "<PAD>": pad}, []

    def model(questions):  # Its cosine counts common words, whatever their order, but for padding.
        counts = [
            (q[:, :, None] == np.arange(32)).sum(axis=1).astype(np.float32)
            for q in _sides(questions)
        ]
        for side in counts:
            side[:, pad] = 0
            side /= np.maximum(np.sqrt((side**2).sum(axis=1, keepdims=True)), 1e-9)
        return vectors or tuple(counts)

    vocab = defaultdict(int, words) if kind is defaultdict else words
    keras = isinstance(fn, Learner) and "vocab" not in inspect.signature(fn.fn).parameters
    if keras:
        answer = fn(question1, question2, threshold, _KerasModel(model), **options)
    else:
        options["data_generator"] = _recording(log)
        answer = fn(question1, question2, threshold, model, vocab, **options)
    array = np.asarray(answer)
    # The course's own solution ends with np.dot(v1, v2.T) > threshold: [[True]] is one answer too.
    if array.size != 1 or array.dtype != bool:
        call(lambda: 0 if answer is not None else None)
        form = f" of shape {array.shape}" if array.shape else ""
        hint = "compare the cosine with the threshold, and return that: True or False"
        raise Odd(f"{type(answer).__name__}{form}: {answer!r}", hint)
    if not keras:
        _expect_called(log, pad)
    return str(array.item())


def _answered(fn, *arguments, printed=False, **options):
    if not printed:
        return _answer(fn, *arguments, **options)
    texts = []
    for verbose in ({}, {"verbose": True}):  # False is the default.
        with contextlib.redirect_stdout(io.StringIO()) as stream:
            _answer(fn, *arguments, **verbose)
        texts.append(stream.getvalue().strip())
    if texts[0]:
        raise Odd("something is printed without verbose", "nothing is printed without verbose")
    if not texts[1]:
        raise Odd("nothing is printed", "verbose=True prints the questions and the cosine")
    return "printed with verbose alone"


def _vectors(first, second):
    return {"vectors": (_DIRECTIONS[[first]], _DIRECTIONS[[second]])}


check_predict = Exercise(
    "predict",
    "whether the cosine of the two questions is above the threshold.",
    """
A batch of one pair: words, then ids, then padding, then the model.
vocab.get(word, 0) gives an id also for unknown words; data_generator pads both questions alike.
v1, v2 = model((q1, q2)) for next(data_generator([ids1], [ids2], 1, vocab['<PAD>'])); then dot > threshold.
""",
    [
        Case("two questions alike", ("How old are you?", "How old are you ?", 0.7)),
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
        Case("a threshold below 0", ("Is it", "Is cold", -0.5), _vectors(2, 4)),
        Case("opposite vectors", ("Is it", "Is cold", 0.5), _vectors(2, 5)),
    ],
    """
a cosine equal to the threshold counted as a duplicate: > and not >=
  > threshold -> >= threshold
the comparison is turned round
  > threshold -> < threshold
the threshold is always the same: use the argument
  > threshold -> > <<0.7|0.5|0.8|0.9|0.0>>
half the threshold is used
  > threshold -> > threshold / 2
the answer is always True
  cosine > threshold -> True
the answer is always False
  cosine > threshold -> False
the sign is lost: a cosine of -1 is the opposite
  np.dot(v1[0], v2[0]) -> abs(np.dot(v1[0], v2[0]))
the mean of the products is not the cosine: their sum is
  np.dot(v1[0], v2[0]) -> np.mean(v1[0] * v2[0])
this is a distance: the cosine is asked for
  np.dot(v1[0], v2[0]) -> <<np.linalg.norm(v1[0] - v2[0])|1 - np.dot(v1[0], v2[0])>>
one question is compared with itself: both have one vector; the other one's list of ids is not used
  model((q1, q2)) -> model((<<q1, q1|q2, q2>>))
  [ids1], [ids2] -> <<[ids1], [ids1]|[ids2], [ids2]>>
  np.dot(v1[0], v2[0]) -> np.dot(<<v1[0], v1[0]|v2[0], v2[0]>>)
'cold?' is not in the vocabulary: word_tokenize takes the question mark off and keeps it
  word_tokenize(question -> str.split(question
  word_tokenize(question1) -> question1.replace('?', '').split() ;; \
word_tokenize(question2) -> question2.replace('?', '').split()
the last word is left out: it is often the question mark, and a word like the others
  (question1)] -> (question1)[:-1]] ;; (question2)] -> (question2)[:-1]]
the vocabulary knows 'Cats', not 'cats': leave the case
  word_tokenize(question1) -> word_tokenize(question1.lower()) ;; \
word_tokenize(question2) -> word_tokenize(question2.lower())
the ids are those of letters: are words looked up? word_tokenize gives them
  word_tokenize(question -> list(question
an unknown word has the id 0, and is not left out
  (question1)] -> (question1) if word in vocab] ;; (question2)] -> (question2) if word in vocab]
an unknown word has the id 0
  vocab.get(word, 0) -> vocab.get(word, 1)
""",
    scope={"word_tokenize": _tokens},
    observe=_answered,
    errors=_CALLS,
    slips=False,
)  # fmt: skip
