"""The batches that a training configuration asks for."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from siamese.batching.pair_batches import PairBatches
from siamese.course import generator as batches
from siamese.training.config import TrainConfig
from siamese.training.prepare import TrainingData

PAD = 1
# Where blocks on one subject are to stay together, few windows and few lengths may take them apart.
SUBJECT_WINDOW, SUBJECT_LENGTHS = 16, 6


class JoinedBatches(Iterator):
    """Batches of `PairBatches` with the labelled pairs put behind the duplicates.

    A model takes (q1, q2) and gives (v1, v2); so both kinds of pairs go through it as one batch, and the
    loss, which is told the labels, knows by their number where the labelled pairs begin.

    Args:
      pairs: batches with labelled pairs.

    Yields:
      (q1, q2, same, is_duplicate), or (q1, q2, is_duplicate) without clusters: int32 [batch + labelled,
      length] twice, bool [batch, batch], int32 [labelled].
    """

    def __init__(self, pairs: PairBatches):
        self.pairs = pairs

    def __next__(self) -> tuple[np.ndarray, ...]:
        batch = next(self.pairs)
        between = (batch.same,) if "same" in self.pairs.fields else ()
        length = max(batch.q1.shape[1], batch.labelled_q1.shape[1])
        sides = ((batch.q1, batch.labelled_q1), (batch.q2, batch.labelled_q2))
        joined = [np.concatenate([_padded(q, length) for q in side]) for side in sides]
        return (*joined, *between, batch.is_duplicate)

    @property
    def batches_per_epoch(self) -> int:
        """How many batches the present epoch has."""
        return self.pairs.batches_per_epoch

    def state(self) -> dict[str, int]:
        """The position; see `PairBatches.state`."""
        return self.pairs.state()

    def restore(self, state: dict[str, int]) -> None:
        """Goes to a position; see `PairBatches.restore`."""
        self.pairs.restore(state)

    def close(self) -> None:
        """Stops the background thread."""
        self.pairs.close()


def make_batches(data: TrainingData, config: TrainConfig) -> tuple[Iterator, Iterator]:
    """The endless batches to train and to validate on.

    Args:
      data: the encoded pairs.
      config: the run's choices.

    Returns:
      Two generators. The first yields (q1, q2), then the mask of known duplicates with
      ``false_negatives='mask'``, then labels with ``pair_batch_size``; the second (q1, q2).
    """
    ids = data.ids
    if config.batches == "course":
        return tuple(
            batches.data_generator(ids.take(rows1), ids.take(rows2), config.batch_size)
            for rows1, rows2 in (data.train, data.valid)
        )
    bucketed = functools.partial(
        PairBatches, ids, ids, config.batch_size, last="drop", seed=config.seed
    )
    options: dict[str, Any] = {"swap": config.swap}
    if config.false_negatives != "keep":
        options |= {"clusters": data.train_clusters, "same": config.false_negatives}
    if config.topic_block:
        options |= {"read_block": config.topic_block, "window": SUBJECT_WINDOW}
        options |= {"lengths": SUBJECT_LENGTHS}
    if data.labelled is not None:
        rows1, rows2, labels = data.labelled
        options["labelled"] = (ids, ids, labels, (rows1, rows2))
        options["labelled_size"] = config.pair_batch_size
    train = bucketed(rows=data.train, **options)
    return (
        JoinedBatches(train) if data.labelled is not None else train,
        bucketed(rows=data.valid),
    )


def _padded(tokens: np.ndarray, length: int) -> np.ndarray:
    return np.pad(tokens, ((0, 0), (0, length - tokens.shape[1])), constant_values=PAD)
