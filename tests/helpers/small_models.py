"""Untrained detectors of a few words, questions of those words, and weights as Trax's Loop writes them."""

import gzip
import pickle

import numpy as np

from siamese.encoders import find_encoder
from siamese.encoders.joined import Joined
from siamese.encoders.lstm import Lstm
from siamese.model.decision import fit_parts, part_cosines
from siamese.model.detector import DuplicateDetector
from siamese.nn.lstm import LstmConfig
from siamese.text.vocabulary import Vocabulary

SENTENCES = (
    "how do i learn to cook rice",
    "what is the best way",
    "how far",
    "age old are you ?",
)
WORDS = list(dict.fromkeys(" ".join(SENTENCES).split()))

# Questions that a list may well hold.
ODD = {
    "empty": "",
    "spaces only": " \n\t",
    "control characters": "how \x00\x01\x07 far \x1b[31m ?",
    "Cyrillic": "Как дела ?",
    "Japanese": "元気ですか",
    "right to left": "كيف حالك؟",
    "an emoji of several": "👩‍👩‍👧 ?",
    "a lone surrogate": "how \ud800 far",
    "unknown words only": "xyzzy plugh",
    "10,000 words": "how do i cook rice " * 2000,
}


def make_detector(
    seed=0, d=8, mask_padding=True, words=WORDS, folded=False, beside=lambda lstm: lstm,
    **options,
):  # fmt: skip
    """A detector of an LSTM, or of the encoder that a function `beside` makes of it."""
    vocabulary = Vocabulary(list(words), folded=folded)
    lstm = LstmConfig(vocabulary.size, d, mask_padding=mask_padding)
    draw = np.random.default_rng(seed).standard_normal
    weights = {
        name: draw(shape).astype(np.float32) for name, shape in lstm.shapes().items()
    }
    return DuplicateDetector(beside(Lstm(lstm, weights, vocabulary)), **options)


def letters(texts):
    """Counts of letters, [texts, 26], as an encoder's vectors; no text has a zero vector."""
    return np.array(
        [[0.01 + text.count(chr(97 + i)) for i in range(26)] for text in texts]
    )


def make_mixed_detector(share=0.75, **options):
    """An LSTM beside the encoder `letters`, which a file may name."""
    encoder = find_encoder(letters)
    encoder.fingerprint = "0" * 64
    return make_detector(
        beside=lambda lstm: Joined([(share, encoder), (1 - share, lstm)]), **options
    )


def make_curve_detector(**options):
    detector, texts = make_mixed_detector(0.6, **options), random_questions(400, seed=5)
    cosines = detector.similarity(texts[:200], texts[200:])
    parts = part_cosines(
        detector.encoder, detector.encode(texts[:200]), detector.encode(texts[200:])
    )
    return detector.with_threshold(
        fit_parts(parts, cosines, cosines > np.median(cosines)).fit
    )


def random_questions(count, seed=1):
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, rng.integers(1, 9))) for _ in range(count)]
    return [text if text.strip("? ") else f"how {text}" for text in texts]


def write_trax_weights(path, arrays, step=0):
    """Writes ``model.pkl.gz`` and its weights: `path` is a directory, or the name of the first."""
    path = path / "model.pkl.gz" if path.is_dir() else path
    beside = path.with_name(path.name.removesuffix(".pkl.gz") + ".weights.npy.gz")
    with gzip.open(beside, "wb", 2) as file:
        for array in arrays:
            np.save(file, array, allow_pickle=False)
    content = {
        "step": step,
        "flat_weights": 2,
        "flat_state": [],
        "input_signature": None,
    }
    path.write_bytes(gzip.compress(pickle.dumps(content), 2))
    return path
