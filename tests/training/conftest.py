"""Pairs to train on."""

import pytest

from siamese import embedded_corpus


@pytest.fixture(scope="session")
def corpus():
    """160 pairs, about 60 of them duplicates: an epoch has three or four batches."""
    return embedded_corpus(train_pairs=160, valid_pairs=150, test_pairs=50)
