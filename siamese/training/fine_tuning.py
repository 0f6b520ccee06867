"""Fine-tuning: a run that starts from a saved model's vocabulary and weights, on few labels or many."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from siamese.data.vocabulary import Vocabulary
from siamese.errors import ArgumentError, DataError
from siamese.nn.characters import StaticStart
from siamese.search.detector import DuplicateDetector
from siamese.training.config import PRESETS, TrainConfig

FEW = 300  # With fewer labels all of them train, and nothing is measured.
# Fewer held-out labels leave threshold and calibration as they are.
FIT_PAIRS, FIT_OF_EACH = 100, 20
# Chosen by cross-validation over a forum's questions and by what other topics lose (docs/own_data.md).
MANY = 1000
LEARNING_RATE, LEARNING_RATE_OF_MANY = 5e-4, 2e-3
# The weights' names in the order in which Trax's layers hold them.
_ORDER = (
    "embedding", "projection", "lstm/kernel", "lstm/bias", "lstm_reverse/kernel", "lstm_reverse/bias",
    "output",
)  # fmt: skip
_CHOICES = {
    "hard_negatives": 0,
    "min_count": 1,
    "embedding_init": 0.0,
    "warmup_steps": 10,
    "epochs": 3.0,
    "eval_every": 50,
    "checkpoint_every": 100,
}


def fine_tuning_config(start: DuplicateDetector, labels: np.ndarray, **given: Any) -> TrainConfig:
    """The choices of a run that starts from a model: its tower, `best`'s loss, a small learning rate.

    Args:
      start: the model.
      labels: bool [n], of the pairs to train on; their number decides the learning rate, that of the
        duplicates the batch size.
      **given: choices that replace these.

    Raises:
      ArgumentError: a choice that contradicts the model's tower.
      DataError: fewer than two duplicates, which make no batch.
    """
    duplicates = int(labels.sum())
    if duplicates < 2:
        raise DataError(
            f"Fine-tuning needs at least 2 duplicates; the {len(labels)} pairs have {duplicates}."
        )
    tower = start.tower
    rate = LEARNING_RATE if len(labels) < MANY else LEARNING_RATE_OF_MANY
    fixed: dict[str, Any] = {
        "d_model": tower.d_model,
        "mask_padding": tower.mask_padding,
        "bidirectional": tower.bidirectional,
        "lowercase": start.vocabulary.lowercase,
        "unknown_ids": start.vocabulary.unknown_ids,
    }
    preset = PRESETS["best"]
    if tower.static_size:
        preset, before = PRESETS["general"], start.card.get("config") or start.card
        fixed |= {
            "lowercase": False,
            "embedding": before.get("embedding", "wordllama"),
            "character_share": tower.character_share,
        }
        if tower.is_learned:
            fixed["search_static_share"] = tower.static_share
            fixed["pair_static_share"] = tower.pair_static_share
    for name, value in fixed.items():
        if given.get(name, value) != value:
            raise ArgumentError(
                f"{name} is {value!r} in the model the run starts from, and {given[name]!r} was asked "
                "for: leave it out."
            )
    size = min(256, max(4, duplicates // 8))
    batches = {
        "batch_size": min(size, duplicates),
        "pair_batch_size": 0 if labels.all() else size,
    }
    if "steps" in given:
        given = {"epochs": 0.0, **given}
    return TrainConfig(**{**preset, **_CHOICES, "learning_rate": rate, **batches, **fixed, **given})


def started_vocabulary(start: DuplicateDetector, words: Vocabulary) -> Vocabulary:
    """The model's words, then those of the training questions that it does not have."""
    known = start.vocabulary
    made = Vocabulary((*known.words, *words.words), lowercase=known.lowercase)
    return made.with_unknown_ids(known.unknown_ids)


def started_weights(start: DuplicateDetector, vocabulary: Mapping) -> dict[str, np.ndarray]:
    """The model's weights for its vocabulary or a grown one.

    A new word's embedding starts as the one that the word had as an unknown word, so that before the
    first step the model answers as it did.
    """
    weights = {name: np.asarray(start.weights[name]) for name in _ORDER if name in start.weights}
    if isinstance(vocabulary, Vocabulary):
        unknown = vocabulary.unknown_ids
        words = [start.vocabulary[word] for word in vocabulary.words]
        rows = [0, *words, *range(start.vocabulary.size - unknown, start.vocabulary.size)]
        weights["embedding"] = weights["embedding"][rows]
    return weights


def static_of(
    start: DuplicateDetector, config: TrainConfig, familiar_length: int
) -> StaticStart | None:
    """The tables under the model's tower, or None where there are none."""
    if not start.tower.static_size:
        return None
    table = start.weights["static"]
    checksum = hashlib.sha256(np.ascontiguousarray(table).tobytes()).hexdigest()
    shares = {
        "static_share": config.static_share,
        "character_share": start.tower.character_share,
        # Of posts longer than those it learned from before it keeps knowing little, however few the labels.
        "familiar_length": start.tower.familiar_length or familiar_length,
    }
    projection = np.asarray(start.weights["projection"], np.float32)
    return StaticStart(table, start.weights["characters"], projection, shares, checksum)


def set_weights(model: Any, weights: Mapping[str, np.ndarray]) -> Any:
    """A `Siamese` model's weights, in Trax's form, with these arrays in their places."""
    leaves, form = jax.tree.flatten(model.weights)
    arrays = [weights[name] for name in _ORDER if name in weights]
    if [np.shape(leaf) for leaf in leaves] != [array.shape for array in arrays]:
        raise ArgumentError("The model that the run starts from has another tower.")
    return jax.tree.unflatten(form, [jax.numpy.asarray(a, np.float32) for a in arrays])


def enough_to_fit(labels: np.ndarray) -> bool:
    """Whether held-out labels suffice for a threshold and a calibration."""
    return len(labels) >= FIT_PAIRS and FIT_OF_EACH <= labels.sum() <= len(labels) - FIT_OF_EACH
