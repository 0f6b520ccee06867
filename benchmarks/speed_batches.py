"""What speed.py trains on: batches of real or made-up questions, and their arithmetic."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
from speed_contenders import D_MODEL


def load(questions, splits, count: int, wanted: set[str]) -> dict[str, tuple[list, int]]:
    """For 'course', 'bucketed' and 'best': (batches, vocabulary size) from one file's training rows."""
    import random

    from siamese import PairBatches, data_generator, embedded_corpus, read_pairs
    from siamese.data.tokens import tokenize_questions

    pairs = embedded_corpus().train
    if questions:
        pairs = read_pairs(questions)
        if splits:
            rows = json.loads(Path(splits).read_text())["rows"]["train"]
            pairs = pairs.rows(*rows)
    found = {"best": best_batches(pairs, count)} if "best" in wanted else {}
    pairs = pairs.duplicates()
    tokenized = tokenize_questions([*pairs.question1, *pairs.question2], progress=False)
    rows1, rows2 = tokenized.rows[: len(pairs)], tokenized.rows[len(pairs) :]
    vocabulary = tokenized.vocabulary(rows1, rows2)
    ids = tokenized.encode(vocabulary)
    random.seed(34)
    course = data_generator(ids.take(rows1), ids.take(rows2), 256)
    course = [next(course) for _ in range(count)]
    bucketed = PairBatches(ids, ids, 256, rows=(rows1, rows2), seed=34)
    ours = [next(bucketed)[:2] for _ in range(count)]
    return {"course": (course, vocabulary.size), "bucketed": (ours, vocabulary.size), **found}


def best_batches(pairs, count: int) -> tuple[list, int]:
    """Batches of the best preset: duplicates, as many labelled pairs, and the mask of known duplicates."""
    from siamese import TrainConfig
    from siamese.training.prepare import make_batches, prepare

    config = TrainConfig.preset("best")
    data = prepare(pairs, config)
    train, _ = make_batches(data, config)
    found = [tuple(next(train)) for _ in range(count)]
    return found, data.vocabulary.size


def gflop(batches: list) -> float:
    """Products of a training step over all tokens: 2 * (2 d) * (4 d) forward, twice that backward."""
    tokens = sum(side.size for batch in batches for side in batch[:2])
    return tokens * 3 * 2 * 2 * D_MODEL * 4 * D_MODEL / 1e9


def random_batch(vocab: int, size: int, length: int, even: bool = False) -> tuple:
    """Questions without padding; words as often as Zipf's law has it (1 / rank), or all equally."""
    draw = np.random.RandomState(0)
    if even:
        return tuple(draw.randint(2, vocab, (size, length)).astype(np.int32) for _ in range(2))
    ranks = ((vocab - 2.0) ** draw.rand(2, size, length)).astype(np.int32)  # From 1 to vocab - 3.
    return tuple(ranks + 1)


def data_sizes(sizes=(10_000, 100_000, 1_000_000)) -> dict:
    """Milliseconds to draw one batch of 256 from PairBatches over so many made-up pairs, and at start."""
    from siamese import PairBatches
    from siamese.nn.ragged import Ragged

    found = {}
    for size in sizes:
        draw = np.random.default_rng(0)
        lengths = np.clip(draw.lognormal(2.35, 0.45, 2 * size).round(), 3, 64).astype(np.int64)
        ids = Ragged(
            draw.integers(2, 40_000, lengths.sum()).astype(np.int32),
            np.concatenate([[0], np.cumsum(lengths)]),
        )
        rows = np.arange(size), np.arange(size, 2 * size)
        start = time.perf_counter()
        batches = PairBatches(ids, ids, 256, rows=rows, seed=34)
        next(batches)
        first = time.perf_counter() - start
        start = time.perf_counter()
        for _ in range(1000):  # The mean: some plan an epoch.
            next(batches)
        each = time.perf_counter() - start
        found[f"{size:,}"] = {"first_ms": 1000 * first, "batch_ms": each}
    return found
