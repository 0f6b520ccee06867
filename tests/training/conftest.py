"""Pairs to train on."""

from types import SimpleNamespace

import numpy as np
import pytest

from siamese import embedded_corpus
from siamese.data.tokenizer import word_tokenize


def of_few_lengths(pairs):
    """Those whose longer question has 15 or 16 words: a step compiles for one or two shapes."""
    sides = zip(pairs.question1, pairs.question2)
    longest = [max(len(word_tokenize(text)) for text in pair) for pair in sides]
    return pairs.select(np.flatnonzero(np.isin(longest, (15, 16))))


@pytest.fixture(scope="session")
def corpus():
    """154 pairs, 57 of them duplicates: an epoch has three batches of 16."""
    pairs = embedded_corpus(train_pairs=600, valid_pairs=150, test_pairs=150)
    return SimpleNamespace(
        train=of_few_lengths(pairs.train),
        valid=of_few_lengths(pairs.valid),
        test=of_few_lengths(pairs.test),
    )
