"""Pairs to train on."""

from types import SimpleNamespace

import numpy as np
import pytest

from siamese import embedded_corpus, word_tokenize


@pytest.fixture(scope="session")
def corpus():
    """160 pairs, about 60 of them duplicates: an epoch has three or four batches."""
    return embedded_corpus(train_pairs=160, valid_pairs=150, test_pairs=50)


@pytest.fixture(scope="session")
def one_length():
    """400, 50 and 50 pairs whose longer question has 16 tokens: one length to compile for."""
    whole = embedded_corpus()

    def of_16(pairs, count):
        sides = zip(pairs.question1, pairs.question2)
        longer = [max(len(word_tokenize(q)) for q in pair) for pair in sides]
        return pairs.select(np.flatnonzero(np.array(longer) == 16)[:count])

    parts = {"train": 400, "valid": 50, "test": 50}
    return SimpleNamespace(**{n: of_16(getattr(whole, n), count) for n, count in parts.items()})
