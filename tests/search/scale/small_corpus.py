"""The embedded corpus's questions, and an untrained detector that knows their words."""

from small_models import make_detector

import siamese


def corpus_questions(count=800):
    """Different questions of the embedded corpus."""
    pairs = siamese.embedded_corpus().train
    return list(dict.fromkeys([*pairs.question1, *pairs.question2]))[:count]


def corpus_detector():
    words = " ".join(corpus_questions()).lower().replace("?", " ?").split()
    return make_detector(d=16, words=dict.fromkeys(words))
