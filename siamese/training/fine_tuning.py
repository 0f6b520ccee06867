"""Fine-tuning: a run that starts from a saved model's vocabulary and weights, on few labels or many."""

from __future__ import annotations

from typing import Any

import numpy as np

from siamese.data.vocabulary import Vocabulary
from siamese.errors import ArgumentError, DataError
from siamese.search.detector import DuplicateDetector
from siamese.training.config import PRESETS, TrainConfig

FEW = 300  # With fewer labels all of them train, and nothing is measured.
# Fewer held-out labels leave threshold and calibration as they are.
FIT_PAIRS, FIT_OF_EACH = 100, 20
# Chosen by cross-validation over a forum's questions and by what other topics lose (docs/train.md).
MANY = 1000
LEARNING_RATE, LEARNING_RATE_OF_MANY = 5e-4, 2e-3
_CHANGES = {
    "hard_negatives": 0,
    "min_count": 1,
    "warmup_steps": 10,
    "epochs": 3.0,
    "eval_every": 50,
    "checkpoint_every": 100,
}


def fine_tuning_config(start: DuplicateDetector, labels: np.ndarray, **changes: Any) -> TrainConfig:
    """The configuration of a run that starts from a model: its tower, `best`'s loss, a small learning rate.

    Args:
      start: the model.
      labels: bool [n], of the pairs to train on; their number decides the learning rate, that of the
        duplicates the batch size.
      **changes: fields that replace these.

    Raises:
      ArgumentError: a field that contradicts the model's tower.
      DataError: fewer than two duplicates, which make no batch.
    """
    duplicates = int(labels.sum())
    if duplicates < 2:
        raise DataError(
            f"Fine-tuning needs at least 2 duplicates; the {len(labels)} pairs have {duplicates}."
        )
    rate = LEARNING_RATE if len(labels) < MANY else LEARNING_RATE_OF_MANY
    fixed: dict[str, Any] = {"encoder": start.encoder.name if start.encoder else ""}
    if start.tower:
        fixed |= {
            "d_model": start.tower.d_model,
            "mask_padding": start.tower.mask_padding,
            "bidirectional": start.tower.bidirectional,
            "folded": start.vocabulary.folded,
            "unknown_ids": start.vocabulary.unknown_ids,
        }
    for name, value in fixed.items():
        if changes.get(name, value) != value:
            raise ArgumentError(
                f"{name} is {value!r} in the model that the run starts from, and the configuration has "
                f"{changes[name]!r}: leave it out."
            )
    size = min(256, max(4, duplicates // 8))
    batches = {
        "batch_size": min(size, duplicates),
        "pair_batch_size": 0 if labels.all() else size,
    }
    if "steps" in changes:
        changes = {"epochs": 0.0, **changes}
    preset = {**PRESETS["best"], **_CHANGES, "learning_rate": rate}
    return TrainConfig(**{**preset, **batches, **fixed, **changes})


def started_weights(start: DuplicateDetector, vocabulary: Vocabulary) -> dict[str, np.ndarray]:
    """The model's weights for its vocabulary or a grown one.

    A new word's embedding starts as the one that the word had as an unknown word, so that before the
    first step the model answers as it did.
    """
    weights = {name: np.asarray(start.weights[name]) for name in start.tower.shapes()}
    unknown = vocabulary.unknown_ids
    words = [start.vocabulary[word] for word in vocabulary.words]
    rows = [0, *words, *range(start.vocabulary.size - unknown, start.vocabulary.size)]
    weights["embedding"] = weights["embedding"][rows]
    return weights


def enough_to_fit(labels: np.ndarray) -> bool:
    """Whether held-out labels suffice for a threshold and a calibration."""
    return len(labels) >= FIT_PAIRS and FIT_OF_EACH <= labels.sum() <= len(labels) - FIT_OF_EACH
