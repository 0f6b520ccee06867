"""The embedded corpus's questions, and an untrained detector that knows their words."""

import numpy as np

import siamese
from siamese.data.vocabulary import Vocabulary
from siamese.nn.encoder import TowerConfig
from siamese.search.detector import DuplicateDetector


def corpus_questions(count=800):
    """Different questions of the embedded corpus."""
    pairs = siamese.embedded_corpus().train
    return list(dict.fromkeys([*pairs.question1, *pairs.question2]))[:count]


def corpus_detector(d=16):
    words = dict.fromkeys(" ".join(corpus_questions()).lower().replace("?", " ?").split())
    vocabulary = Vocabulary(list(words))
    tower = TowerConfig(vocabulary.size, d, mask_padding=True)
    rng = np.random.default_rng(0)
    shapes = tower.shapes().items()
    weights = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes}
    return DuplicateDetector(weights, vocabulary, tower)
