"""The batches of a seed, bit for bit: a run that resumes goes on with the batches it began with."""

import hashlib

import numpy as np
import pytest

from siamese import PairBatches
from siamese.nn.ragged import Ragged

TRAINING = {"batch_size": 32, "seed": 34, "swap": True, "clusters": True}
# Options; the start of the SHA-256 of the first 50 batches.
GOLDEN = {
    "masked, training": (TRAINING, "1fa03556de476bc8"),
    "topics": ({**TRAINING, "lengths": 6, "topic_block": 32}, "97e08b3c7ec4dc1d"),
    "labelled, masked": (
        {**TRAINING, "labelled": True, "pair_batch_size": 64, "topic_block": 4}, "51d191ae67d591bf"),
}  # fmt: skip


def made_up(options):
    """A table of 700 questions, 900 pairs of them in 150 clusters and without, and labelled pairs."""
    draw = np.random.default_rng(7)
    lengths = np.clip(draw.lognormal(2.3, 0.5, 700).round(), 1, 40).astype(np.int64)
    table = Ragged(draw.integers(2, 500, lengths.sum()), np.concatenate([[0], np.cumsum(lengths)]))
    rows = draw.integers(0, 700, (2, 900))
    clusters = np.repeat(draw.integers(-20, 150, 900)[None], 2, axis=0)
    clusters[1, ::5] = draw.integers(-20, 150, 180)
    labelled = (table, table, draw.integers(0, 2, 400), tuple(draw.integers(0, 700, (2, 400))))
    for name, value in (("clusters", tuple(clusters)), ("labelled", labelled)):
        if name in options:
            options = {**options, name: value}
    return PairBatches(table, table, rows=tuple(rows), **{"lengths": 14, **options})


@pytest.mark.parametrize("name", GOLDEN)
def test_batches_are_those_of_the_first_version(name):
    options, expected = GOLDEN[name]
    digest = hashlib.sha256()
    with made_up(options) as batches:
        for _ in range(50):
            for array in next(batches):
                digest.update(f"{array.dtype}{array.shape}".encode() + array.tobytes())
    assert digest.hexdigest()[:16] == expected
