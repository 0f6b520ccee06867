"""The files in which Trax's Loop keeps a model, read without running anything in them.

A directory holds ``model.pkl.gz`` (a gzipped pickle: step, state, history, input
signature) and beside it ``model.weights.npy.gz`` (gzipped .npy arrays, one after the
other). Older files, the course's among them, keep all of it in the one pickle.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from siamese.course.trax.safe_pickle import (
    Refused,
    read_in_pieces,
    read_plain_pickle,
    reading,
)
from siamese.errors import CheckpointError
from siamese.system.process import TooSlow, limited

MAX_BYTES = 1 << 29  # Of one file's arrays: the course's are 21 MB.
READ_SECONDS = 60.0  # The course's model takes less than one.
NUMBERS = np.typecodes["AllInteger"] + "?efdFD"  # The types that an array may have.


@dataclass(frozen=True)
class CourseModel:
    """What a model file of Trax holds."""

    # In Trax's order; empty parts and shared layers are left out.
    weights: list[np.ndarray]
    step: int  # 0 where the file does not say.
    path: Path  # The ``.pkl.gz`` file.


def read_course_model(
    path: os.PathLike | str, seconds: float = READ_SECONDS
) -> CourseModel:
    """Reads a model that the course, Trax's Loop or ``save_to_file`` saved; runs nothing of it.

    `path` is the ``.pkl.gz`` file, or a directory with a ``model.pkl.gz``.
    CheckpointError where it is missing, damaged, too large, holds anything but arrays,
    numbers, text and plain containers, or takes more than `seconds` (in the main
    thread; elsewhere a hostile file may take its time).
    """
    path = Path(path)
    path = path / "model.pkl.gz" if path.is_dir() else path
    try:
        with limited(seconds):
            return _read(path)
    except TooSlow:
        raise CheckpointError(
            f"{path} was refused: it takes more than {seconds:g} s to read, and a file of weights does "
            "not. Nothing in it was run; do not use it unless you know where it comes from."
        ) from None


def _read(path: Path) -> CourseModel:
    with _unpacked(path) as file:
        content = read_plain_pickle(file, str(path))
    if not isinstance(content, dict) or "flat_weights" not in content:
        raise CheckpointError(
            f"{path} is not a saved Trax model: it has no 'flat_weights'. Give the model.pkl.gz of a "
            "training directory."
        )
    weights = content["flat_weights"]
    step = content.get("step", 0)
    # The compression level: the weights are in a file of their own.
    if type(weights) is int:
        name = f"{path.name.removesuffix('.pkl.gz')}.weights.npy.gz"
        weights = read_arrays(path.with_name(name))
    numbers = (np.ndarray, np.generic, int, float)
    is_list = isinstance(weights, (list, tuple)) and all(
        isinstance(w, numbers) for w in weights
    )
    if not is_list or type(step) is not int or step < 0:
        raise CheckpointError(
            f"{path} is damaged: it has no list of arrays, or no number of steps."
        )
    return CourseModel([np.asarray(array) for array in weights], step, path)


def read_arrays(path: os.PathLike | str) -> list[np.ndarray]:
    """The arrays of a ``.npy.gz`` file of Trax: any number of .npy images, one after the other.

    Any damage is a CheckpointError; Trax's own reader stops at the first one and
    reports nothing.
    """
    arrays: list[np.ndarray] = []
    with _unpacked(path) as packed:
        file = read_in_pieces(packed, MAX_BYTES)
        while file.tell() < file.getbuffer().nbytes:
            array = np.lib.format.read_array(file)  # It refuses objects.
            if array.dtype.char not in NUMBERS:
                raise Refused(
                    f"holds an array of the type {array.dtype.str!r}, not of plain numbers"
                )
            arrays.append(array)
    return arrays


@contextmanager
def _unpacked(path: os.PathLike | str) -> Iterator[Any]:
    """A gzip file, open for reading; its damage, met inside the block, is a CheckpointError."""
    if not os.path.isfile(path):  # A pipe would wait for ever.
        raise CheckpointError(f"{path} does not exist. Copy Trax's other files too.")
    with reading(str(path)):
        if os.path.getsize(path) == 0:  # Python's gzip takes it for nothing packed.
            raise EOFError
        with gzip.open(path, "rb") as file:
            yield file
