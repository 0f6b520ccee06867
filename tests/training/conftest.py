"""Pairs to train on."""

from types import SimpleNamespace

import numpy as np
import pytest
from corpus_parts import small_corpus

from siamese.data.tokenizer import word_tokenize


def of_few_lengths(pairs):
    """Those whose longer question has 15 or 16 words: a step compiles for one or two shapes."""
    sides = zip(pairs.question1, pairs.question2)
    longest = [max(len(word_tokenize(text)) for text in pair) for pair in sides]
    return pairs.select(np.flatnonzero(np.isin(longest, (15, 16))))


@pytest.fixture(scope="session")
def corpus():
    """154 pairs, 57 of them duplicates: an epoch has three batches of 16."""
    pairs = small_corpus(train=600, valid=150, test=150)
    parts = {name: of_few_lengths(getattr(pairs, name)) for name in ("train", "valid", "test")}
    return SimpleNamespace(**parts)
