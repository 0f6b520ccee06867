"""The batches that a training configuration asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from siamese.course.generator import DataGenerator
from siamese.training.config import TrainConfig
from siamese.training.pair_batches import PairBatches
from siamese.training.prepare import TrainingData

PAD = 1


class JoinedBatches(PairBatches):
    """`PairBatches` with the labelled pairs put behind the duplicates: one batch for the model.

    Yields (q1, q2, false_negative_mask, is_duplicate), without the mask where there is none:
    int32 [batch + labelled, length] twice, bool [batch, batch], int32 [labelled].
    """

    def __next__(self) -> tuple[np.ndarray, ...]:
        q1, q2, *mask, labelled1, labelled2, is_duplicate = super().__next__()
        length = max(q1.shape[1], labelled1.shape[1])
        sides = [np.full((len(q1) + len(labelled1), length), PAD, np.int32) for _ in range(2)]
        for side, first, second in zip(sides, (q1, q2), (labelled1, labelled2)):
            side[: len(first), : first.shape[1]] = first
            side[len(first) :, : second.shape[1]] = second
        return (*sides, *mask, is_duplicate)


class ShuffledOnce(DataGenerator):
    """The course's generator in one order, pass after pass.

    Validation batches have it: shuffled anew from Python's `random` they would change the training
    batches, and so `--eval-every` would change the weights.
    """

    def __next__(self) -> tuple[np.ndarray, np.ndarray]:
        batch = super().__next__()
        self._shuffle = False
        return batch


def make_batches(data: TrainingData, config: TrainConfig) -> tuple[Iterator, Iterator]:
    """The endless batches to train on, as `JoinedBatches` has them, and to validate on: (q1, q2).

    Those to validate on are smaller where there are fewer duplicates to validate on than `batch_size`.
    """
    ids = data.ids
    if config.batches == "course":
        return tuple(
            made(*(ids.take(side) for side in rows), config.batch_size)
            for made, rows in ((DataGenerator, data.train), (ShuffledOnce, data.valid))
        )
    fixed = {"batch_size": config.batch_size, "seed": config.seed}
    options: dict[str, Any] = {"swap": config.swap}
    if config.false_negatives != "keep":
        options["clusters"] = data.train_clusters
    if config.topic_block:
        options["topic_block"] = config.topic_block
    made = PairBatches
    if data.labelled is not None:
        made, (rows1, rows2, labels) = JoinedBatches, data.labelled
        options["labelled"] = (ids, ids, labels, (rows1, rows2))
        options["pair_batch_size"] = config.pair_batch_size
    train = made(ids, ids, rows=data.train, **fixed, **options)
    # A loss over the other pairs of a batch needs two.
    fixed["batch_size"] = min(config.batch_size, max(2, len(data.valid[0])))
    return train, PairBatches(ids, ids, rows=data.valid, **fixed)
