"""The batches that a training configuration asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from siamese.batching.pair_batches import PairBatches
from siamese.course.generator import data_generator
from siamese.training.config import TrainConfig
from siamese.training.prepare import TrainingData

PAD = 1
# Small windows and few lengths, so that blocks on one topic mostly stay together.
TOPIC_OPTIONS = {"window": 16, "lengths": 6}


class JoinedBatches(PairBatches):
    """`PairBatches` with the labelled pairs put behind the duplicates.

    A model takes (q1, q2) and gives (v1, v2); so both kinds of pairs go through it as one batch. The loss
    is told the labels, and knows by their number where the labelled pairs begin.

    Yields:
      (q1, q2, false_negative_mask, is_duplicate), without the mask where there is none: int32 [batch +
      labelled, length] twice, bool [batch, batch], int32 [labelled].
    """

    def __next__(self) -> tuple[np.ndarray, ...]:
        q1, q2, *mask, labelled1, labelled2, is_duplicate = super().__next__()
        length = max(q1.shape[1], labelled1.shape[1])
        joined = [
            np.concatenate([_padded(q, length) for q in side])
            for side in ((q1, labelled1), (q2, labelled2))
        ]
        return (*joined, *mask, is_duplicate)


def make_batches(data: TrainingData, config: TrainConfig) -> tuple[Iterator, Iterator]:
    """The endless batches to train and to validate on.

    Args:
      data: the encoded pairs.
      config: the run's choices.

    Returns:
      Two iterators. The first yields (q1, q2), then the `false_negative_mask` where it is asked for,
      then labels where labelled pairs are; the second (q1, q2).
    """
    ids = data.ids
    if config.batches == "course":
        return tuple(
            data_generator(ids.take(rows1), ids.take(rows2), config.batch_size)
            for rows1, rows2 in (data.train, data.valid)
        )
    fixed = {"batch_size": config.batch_size, "last": "drop", "seed": config.seed}
    options: dict[str, Any] = {"swap": config.swap}
    if config.same != "negatives":
        options |= {"clusters": data.train_clusters, "false_negatives": config.same}
    if config.subject_block:
        options |= {"topic_block": config.subject_block, **TOPIC_OPTIONS}
    made = PairBatches
    if data.labelled is not None:
        made, (rows1, rows2, labels) = JoinedBatches, data.labelled
        options["labelled"] = (ids, ids, labels, (rows1, rows2))
        options["pair_batch_size"] = config.labelled_size
    return (
        made(ids, ids, rows=data.train, **fixed, **options),
        PairBatches(ids, ids, rows=data.valid, **fixed),
    )


def _padded(tokens: np.ndarray, length: int) -> np.ndarray:
    return np.pad(tokens, ((0, 0), (0, length - tokens.shape[1])), constant_values=PAD)
