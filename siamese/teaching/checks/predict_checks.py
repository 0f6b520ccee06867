"""Checks of predict, exercise 6 of the assignment (notebook 04)."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from .classify_checks import DIRECTIONS, first_token_model, recording_generator
from .expect import show
from .score import Exercise, Score, Wrong

prediction = Exercise(
    "predict",
    "predict(question1, question2, threshold, model, vocab, data_generator=..., verbose=False)",
)
_WORDS = [
    "How",
    "old",
    "are",
    "you",
    "?",
    "What",
    "is",
    "your",
    "age",
    "Is",
    "it",
    "cold",
    "Cats",
    "Dogs",
    "Why",
]
WORD_IDS = {"<PAD>": 1, **{word: i for i, word in enumerate(dict.fromkeys(_WORDS), start=2)}}


def bag_of_words_model(pad=1):
    """A model whose cosine counts common words, whatever their order; padding does not count."""

    def model(questions):
        first_token_model(tuple(np.clip(q, 0, 15) for q in questions))  # checks the shapes
        vectors = []
        for q in questions:
            counts = (np.asarray(q)[:, :, None] == np.arange(32)).sum(axis=1).astype(np.float32)
            counts[:, pad] = 0
            vectors.append(
                counts / np.maximum(np.sqrt((counts**2).sum(axis=1, keepdims=True)), 1e-9)
            )
        return tuple(vectors)

    return model


def _vocabulary(kind=dict, pad=1):
    words = {**WORD_IDS, "<PAD>": pad}
    return defaultdict(lambda: 0, words) if kind is defaultdict else dict(words)


def _answer(fn, q1, q2, threshold, vocab, model=None, log=None, **options):
    came = fn(
        q1,
        q2,
        threshold,
        model or bag_of_words_model(vocab["<PAD>"]),
        vocab,
        data_generator=recording_generator([] if log is None else log),
        **options,
    )
    if came is None:
        raise Wrong("True or False", "None", "the function returned nothing: is `return` missing?")
    array = np.asarray(came)
    # The course's own solution ends with np.dot(v1, v2.T) > threshold: [[True]] is one answer too.
    if array.size != 1 or array.dtype != bool:
        hint = "compare the cosine with the threshold, and return that"
        kind = (
            f"{type(came).__name__} of shape {array.shape}" if array.shape else type(came).__name__
        )
        raise Wrong("True or False", f"{kind}: {show(came)}", hint)
    return bool(array.item())


def _predict_case(name, q1, q2, threshold, expected, hint="", kind=defaultdict, pad=1, **options):
    @prediction.case(name)
    def _(fn):
        vocab, log = _vocabulary(kind, pad), []
        came = _answer(fn, q1, q2, threshold, vocab, log=log, **options)
        if came != expected:
            raise Wrong(f"{expected} for {q1!r} and {q2!r} at {threshold}", str(came), hint)
        if log and any(call["pad"] != pad for call in log):
            raise Wrong(f"pad={pad}", f"pad={log[0]['pad']}", "the padding is vocab['<PAD>']")
        if not log:
            hint_now = "make the batch of one pair with the argument data_generator"
            raise Wrong("data_generator was called", "it was not called", hint_now)


_SAME, _OTHER = ("How old are you?", "How old are you ?"), ("What is your age?", "Why Cats")
_predict_case("two questions alike", *_SAME, 0.7, True)
_predict_case("two questions about other things", *_OTHER, 0.7, False)
_predict_case("a low threshold", "What is your age?", "Is it cold?", 0.1, True, "use the argument")
_predict_case(
    "the question mark is a word",
    "Is it cold?",
    "Is it?",
    0.84,
    True,
    "'cold?' is no word of the vocabulary: word_tokenize takes the question mark off",
)
_predict_case(
    "capitals stay",
    "Cats",
    "Dogs",
    0.5,
    False,
    "the vocabulary knows 'Cats', not 'cats': leave the case",
)


@prediction.case("unknown words do not enter the vocabulary")
def _(fn):
    vocab = _vocabulary(defaultdict)
    if not _answer(fn, "Is Zorblax cold?", "Is Zorblax cold?", 0.9, vocab):
        raise Wrong("True for the same question twice", "False", "an unknown word has the id 0")
    new = [word for word in vocab if word not in WORD_IDS]
    if new:
        raise Wrong(
            "a vocabulary as it was",
            f"the vocabulary has now {new}",
            "looking a word up in a defaultdict with [] puts it in: look it up in another way "
            "(the course's own solution has this flaw; it costs this one case)",
        )


_predict_case(
    "unknown words count as 0",
    "How Zorblax Quux",
    "Why Blah Bleh",
    0.6,
    True,
    "an unknown word has the id 0, and is not left out",
)
_predict_case(
    "a plain dict as vocabulary",
    "Is it cold?",
    "Is it?",
    0.8,
    True,
    "a vocabulary is a dict, word -> id",
    dict,
)
_predict_case(
    "a padding of 31", "How old are you?", "How old?", 0.7, True, "vocab['<PAD>']", pad=31
)
_predict_case(
    "verbose=True", *_SAME, 0.7, True, "verbose prints more; the answer is the same", verbose=True
)


@prediction.case("a cosine exactly at the threshold")
def _(fn):
    def model(questions):
        first_token_model(tuple(np.clip(q, 0, 15) for q in questions))
        return DIRECTIONS[[2]], DIRECTIONS[[3]]

    if _answer(fn, "Is it", "Is cold", 0.5, _vocabulary(), model):
        raise Wrong(
            "False: the cosine 0.5 is not above 0.5", "True", "above the threshold: > and not >="
        )


def check_predict(fn) -> Score:
    """Checks ``predict(question1, question2, threshold, model, vocab, data_generator, verbose=False)``."""
    return prediction.check(fn)
