"""Checkpoints: the state of a run as one file, read only by the same run."""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path
from typing import Any

import jax
import numpy as np

from siamese.errors import CheckpointError
from siamese.search.detector import DuplicateDetector
from siamese.search.model_file import read_file, write_file
from siamese.training.config import TrainConfig
from siamese.training.prepare import TrainingData
from siamese.training.step import State

# Settings that may change when a run resumes: its duration and its outputs.
_MAY_CHANGE = {"steps", "epochs", "eval_every", "checkpoint_every", "patience"}


def fingerprint(data: TrainingData, start: DuplicateDetector | None) -> str:
    """The SHA-256 of the training questions and of the model that the run starts from."""
    digest = hashlib.sha256()
    for part in (data.ids.values, data.ids.offsets, *data.train, *data.valid):
        digest.update(np.ascontiguousarray(part, "<i8").tobytes())
    digest.update("\n".join(data.vocabulary.words).encode("utf-8", "surrogatepass"))
    digest.update((start.checksum if start else "").encode())
    return digest.hexdigest()


def write_checkpoint(path: Path, state: State, facts: dict[str, Any]) -> None:
    """Writes a state and what else a resumed run needs, in place of an older file."""
    leaves = map(np.asarray, jax.tree.leaves(state))
    write_file(path, "checkpoint", {f"{i:02d}": leaf for i, leaf in enumerate(leaves)}, facts)


def read_checkpoint(
    path: Path, state: State, config: TrainConfig, data: str
) -> tuple[State, dict[str, Any]]:
    """The state and the facts of a checkpoint; CheckpointError where it is damaged, or of another run.

    `state` is that before the run's first step, `data` the run's `fingerprint`.
    """
    arrays, facts = read_file(path, "checkpoint")
    if different := _differences(facts, config, data):
        raise CheckpointError(
            f"{path.parent} holds another run, at step {facts['step']}: {'; '.join(different)}. "
            "Pass --overwrite to discard it, or choose another directory."
        )
    saved = [jax.numpy.asarray(arrays[name]) for name in sorted(arrays)]
    return jax.tree.unflatten(jax.tree.structure(state), saved), facts


def _differences(facts: dict[str, Any], config: TrainConfig, data: str) -> list[str]:
    saved, values = facts["config"], dataclasses.asdict(config)
    # A rate that reaches zero at the run's end is another one where the end is another.
    ends = {"steps", "epochs"} if config.schedule == "linear" else set()
    different = [
        f"{name} {saved.get(name)!r} there, {value!r} here"
        for name, value in values.items()
        if name not in _MAY_CHANGE - ends and saved.get(name) != value
    ]
    if facts["data"] != data:
        different.append("the training questions, or the model to start from, differ")
    return different
