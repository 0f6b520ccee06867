"""The batches of a seed and the state after them, bit for bit: old runs resume as they began."""

import hashlib
from collections import Counter

import numpy as np
import pytest

from siamese import PairBatches
from siamese.nn.ragged import Ragged

TRAINING = {"batch_size": 32, "seed": 34, "swap": True, "last": "drop", "clusters": True}
# Options; the start of the SHA-256 of the first 50 batches; the state's fingerprint of the settings.
GOLDEN = {
    "a short last batch": ({"batch_size": 32, "seed": 1}, "9dc14752955bb543", 1778660992),
    "a remainder that joins": (
        {"batch_size": 128, "seed": 2, "lengths": 3}, "1b60437ee6a27d3b", 3751026738),
    "one batch": ({"batch_size": 2000, "seed": 2}, "4b0fe8b257a4ebe4", 3693548327),
    "small windows, blocks": (
        {"batch_size": 16, "seed": 4, "window": 2, "topic_block": 5, "lengths": 3, "swap": True},
        "4b05fcf42678ef41", 1290574472),
    "masked": (
        {"batch_size": 32, "seed": 5, "clusters": True, "window": 4, "swap": True},
        "452e6e1b1a77242a", 3609183228),
    "masked, training": (TRAINING, "23214016d42dccee", 1404650714),
    "topics": (
        {**TRAINING, "window": 16, "lengths": 6, "topic_block": 32}, "651d05eb203fc340", 3809216018),
    "separate": (
        {"batch_size": 32, "seed": 6, "clusters": True, "false_negatives": "separate", "lengths": 4},
        "09dec404100f2d60", 2287767381),
    "separate, small windows": (
        {**TRAINING, "false_negatives": "separate", "window": 2}, "36461bde2c1db2bb", 991474226),
    "labelled": (
        {"batch_size": 32, "seed": 8, "labelled": True, "pair_batch_size": 24},
        "5de4a5ae1f327bb7", 386027128),
    "labelled, masked": (
        {**TRAINING, "labelled": True, "pair_batch_size": 64, "window": 3, "topic_block": 4},
        "94c5fec4332d44e7", 4084843573),
    "labelled, separate": (
        {**TRAINING, "labelled": True, "pair_batch_size": 500, "false_negatives": "separate"},
        "b5eb37687437128e", 1024979851),
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
def test_batches_and_state_are_those_of_the_first_version(name):
    options, expected, fingerprint = GOLDEN[name]
    digest = hashlib.sha256()
    with made_up({**options, "prefetch": 3}) as batches:
        shapes = Counter()
        for _ in range(50):
            batch = next(batches)
            shapes[batch.q1.shape] += 1
            for array in batch:
                digest.update(f"{array.dtype}{array.shape}".encode() + array.tobytes())
        state = batches.state()
        per_epoch = batches.batches_per_epoch
        report = batches.report()
    digest.update(repr((state["epoch"], state["batch"], per_epoch)).encode())
    digest.update(repr((sorted(shapes.items()), report["tokens"], report["left_out"])).encode())
    assert (digest.hexdigest()[:16], state["settings"]) == (expected, fingerprint)
    assert report["shapes"] == shapes
