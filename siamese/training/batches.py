"""The batches that a training configuration asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from siamese.course.generator import DataGenerator
from siamese.nn.ragged import Ragged
from siamese.training.config import TrainConfig
from siamese.training.pair_batches import PairBatches
from siamese.training.prepare import TrainingData

VALID_BATCHES = 8  # The validation loss is the mean over so many batches at most.


def make_batches(data: TrainingData, config: TrainConfig) -> tuple[Iterator, list[tuple]]:
    """The endless batches to train on, and the few to validate on: (q1, q2), int32 [batch, length].

    Those to validate on are smaller where there are fewer duplicates to validate on than `batch_size`.
    The course's generator draws from Python's `random` as soon as its first batch is asked for.
    """
    ids, count = data.ids, len(data.valid[0])
    if config.network == "head":  # A question is the row of its vector, a token of its own.
        rows = np.arange(len(ids) + 1)
        ids = Ragged(rows[:-1].astype(np.int32), rows)
    size = min(
        config.batch_size, max(2, count)
    )  # A loss over the other pairs of a batch needs two.
    if config.batches == "course":
        valid = DataGenerator(*(ids.take(side) for side in data.valid), size, shuffle=False)
        train = DataGenerator(*(ids.take(side) for side in data.train), config.batch_size)
    else:
        options: dict[str, Any] = {"clusters": data.train_clusters, "swap": True}
        if data.labelled is not None:
            rows1, rows2, labels = data.labelled
            options["labelled"] = (ids, ids, labels, (rows1, rows2))
            options["pair_batch_size"] = config.pair_batch_size
        train = PairBatches(
            ids, ids, config.batch_size, rows=data.train, seed=config.seed,
            topic_block=config.topic_block, **options,
        )  # fmt: skip
        valid = PairBatches(ids, ids, size, rows=data.valid, seed=config.seed)
    return train, [next(valid) for _ in range(max(1, min(VALID_BATCHES, count // size)))]
