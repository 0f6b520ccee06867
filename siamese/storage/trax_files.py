"""The files in which Trax's Loop keeps a model, read without running anything in them, and written.

A directory holds ``model.pkl.gz`` (a gzipped pickle: step, state, history, input signature) and its
companions ``model.weights.npy.gz`` and ``model.opt_slots0.npy.gz`` (gzipped .npy arrays, one after the
other). Older files, the course's among them, keep all of it in the one pickle. Trax's own
``init_from_file`` and ``load_checkpoint`` can load what is written here.
"""

from __future__ import annotations

import gzip
import io
import math
import os
import pickle
import re
import zlib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from siamese.errors import CheckpointError
from siamese.storage.atomic import explained, open_atomically, write_bytes_atomically
from siamese.storage.safe_pickle import read_plain_pickle
from siamese.storage.store import file_checksum
from siamese.storage.trees import dtype_named, leaves_with_places

MAX_BYTES = 1 << 30  # Of one file, unpacked: a gzip file of 1 MB can hold a GB of zeros.

_LEVEL = 2  # Trax's own compression level.
_LENGTH_BYTES = {b"\x93NUMPY\x01\x00": 2, b"\x93NUMPY\x02\x00": 4}  # Magic and version -> width.
# NumPy's own parser hands the header to Python's; here nothing but the expected text passes.
_HEADER = re.compile(
    r"\{'descr': '(?P<dtype>[<>|=]?[A-Za-z?][0-9]*(\[[A-Za-z]+\])?)', "
    r"'fortran_order': (?P<by_columns>True|False), 'shape': \((?P<shape>[0-9, ]*)\), \}[ \n]*"
)


@dataclass(frozen=True)
class CourseModel:
    """What a model file of Trax holds; `siamese.storage.trees.unflatten` puts arrays into a model."""

    weights: list[np.ndarray]  # In Trax's order; empty parts and shared layers are left out.
    slots: list[list[np.ndarray]]  # The optimizer's, for every task; empty where they are not read.
    step: int  # 0 where the file does not say.
    history: dict[str, Any] | None
    path: Path  # The ``.pkl.gz`` file.


# ---- Reading ----


def read_course_model(path: os.PathLike | str, with_slots: bool = False) -> CourseModel:
    """Reads a model that the course, Trax's Loop or ``save_to_file`` saved; runs nothing of it.

    Args:
      path: the ``.pkl.gz`` file, or a directory with a ``model.pkl.gz``.
      with_slots: whether to read the optimizer's slots.

    Raises:
      CheckpointError: it is missing, damaged, too large, holds anything but arrays, numbers, text and
        plain containers, or its companions belong to another save.
    """
    path = _pickle_path(path)
    content = read_plain_pickle(_unpacked(path), str(path))
    if not isinstance(content, dict) or "flat_weights" not in content:
        raise CheckpointError(
            f"{path} is not a saved Trax model: it has no 'flat_weights'. Give the model.pkl.gz of a "
            "training directory."
        )
    weights, slots = content["flat_weights"], []
    if type(weights) is int:  # The compression level: the weights are in a file of their own.
        file, older = _beside(path, "weights.npy.gz"), path.with_name(path.name + ".npy")
        weights = _companion(older if older.exists() and not file.exists() else file, content)
    if with_slots:
        slots = content.get("slots_per_task", [content["slots"]] if "slots" in content else [])
    if type(slots) is int:
        slots = []
        while (file := _beside(path, f"opt_slots{len(slots)}.npy.gz")).exists():
            slots.append(_companion(file, content))
    step, history = content.get("step", 0), content.get("history")
    try:
        if type(step) is not int or step < 0 or not isinstance(slots, (list, tuple)):
            raise ValueError
        history = None if history is None else _plain_history(history)
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise CheckpointError(
            f"{path} is damaged: step, slots or history are not Trax's."
        ) from error
    slots = [[leaf for _, leaf in leaves_with_places(task)] for task in slots]
    return CourseModel(
        _arrays(weights, path), [_arrays(task, path) for task in slots], step, history, path
    )


def read_arrays(path: os.PathLike | str) -> list[np.ndarray]:
    """The arrays of a ``.npy.gz`` file of Trax: any number of .npy images, one after the other.

    Any damage is a CheckpointError; Trax's own reader stops at the first one and reports nothing.
    """
    data, at, arrays = _unpacked(path), 0, []
    try:
        while at < len(data):
            begin = at + 8 + _LENGTH_BYTES[data[at : at + 8]]
            end = begin + int.from_bytes(data[at + 8 : begin], "little")
            fields = _HEADER.fullmatch(data[begin : min(end, begin + 10_000)].decode("latin-1"))
            dtype = np.dtype(fields["dtype"])
            if dtype.kind not in "biufc" or not dtype.isnative:
                raise CheckpointError(
                    f"{path} was refused: it holds an array of {dtype}, not of numbers. Files of "
                    "weights hold numbers; do not use it unless you know where it comes from."
                )
            shape = tuple(int(n) for n in fields["shape"].split(",") if n.strip())
            count = math.prod(shape)
            array = np.frombuffer(data, dtype, count, end) if count else np.zeros(0, dtype)
            order = "F" if fields["by_columns"] == "True" else "C"
            arrays.append(array.reshape(shape, order=order))
            at = end + array.nbytes
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        raise _damaged(path, error) from error
    return arrays


def _unpacked(path: os.PathLike | str) -> bytes:
    """A gzip file's content, read in pieces, so that a small file cannot fill the memory."""
    if not os.path.exists(path):
        raise CheckpointError(f"{path} does not exist. Copy Trax's other files too.")
    if not os.path.isfile(path):  # A pipe would wait for ever.
        raise CheckpointError(f"{path} is not a regular file. Check the path.")
    data = io.BytesIO()
    with explained(path, "read"):
        try:
            with gzip.open(path, "rb") as file:
                if os.path.getsize(path) == 0:  # Python's gzip takes it for nothing packed.
                    raise EOFError
                while chunk := file.read(1 << 20):
                    data.write(chunk)
                    if data.tell() > MAX_BYTES:
                        raise CheckpointError(
                            f"{path} was refused: unpacked it is larger than {MAX_BYTES >> 20} MB."
                        )
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise _damaged(path, error) from error
    return data.getvalue()


def _damaged(path: os.PathLike | str, error: Exception) -> CheckpointError:
    return CheckpointError(
        f"{path} is damaged or cut off ({type(error).__name__}). Use another copy of it."
    )


def _companion(file: Path, content: dict[str, Any]) -> list[np.ndarray]:
    """The arrays of a companion file, which must be the one that was saved with the pickle."""
    arrays = read_arrays(file)
    sums = content.get("siamese_companions")
    if isinstance(sums, dict) and file.name in sums and sums[file.name] != file_checksum(file):
        raise CheckpointError(
            f"{file} was not saved together with its .pkl.gz: a later save was interrupted. "
            "Use another checkpoint."
        )
    return arrays


def _arrays(flat: Any, path: Path) -> list[np.ndarray]:
    """A flat list of arrays as it was before Trax turned bfloat16 into uint16 to save it."""
    if not isinstance(flat, (list, tuple)) or not all(
        isinstance(array, (np.ndarray, np.generic, int, float)) for array in flat
    ):
        raise CheckpointError(f"{path} is damaged: its weights or slots are not a list of arrays.")
    arrays = map(np.asarray, flat)
    return [a.view(dtype_named("bfloat16")) if a.dtype == np.uint16 else a for a in arrays]


# ---- Writing ----


def write_course_model(
    path: os.PathLike | str,
    weights: Any,
    state: Any = (),
    *,
    input_signature: Any,
    slots: list[Any] | None = None,
    step: int = 0,
    history: dict[str, Any] | None = None,
) -> Path:
    """Writes a model as Trax's Loop does, so that ``init_from_file`` can load it.

    Every file is written atomically, the pickle last. It holds the checksums of its companions:
    `read_course_model` notices a set that a kill left mixed.

    Args:
      path: a directory, which gets a ``model.pkl.gz``, or the name of a ``.pkl.gz`` file.
      weights: the model's weights, a tree or a flat list of arrays.
      state: its state, likewise; also that of the evaluation model.
      input_signature: Trax's ShapeDtype of each input.
      slots: for every task the optimizer's slots, trees or flat lists.
      step: training steps done.
      history: Trax's ``History.to_dict()``.

    Returns:
      The path of the ``.pkl.gz`` file.

    Raises:
      CheckpointError: a file cannot be written.
    """
    path = _pickle_path(path)
    files = {_beside(path, "weights.npy.gz"): _bits(weights)}
    for task, arrays in enumerate(slots or []):
        files[_beside(path, f"opt_slots{task}.npy.gz")] = _bits(arrays)
    for file, arrays in files.items():
        write_arrays(file, arrays)
    content = {
        "step": int(step),
        "flat_weights": _LEVEL,
        "flat_state": _bits(state),
        "flat_eval_state": _bits(state),
        "history": _plain_history(history or {}),
        "slots_per_task": _LEVEL if slots else [],
        "input_signature": input_signature,
        "version_timestamp": "Mar-10-2021",  # Of the format, as in Trax.
        "siamese_companions": {file.name: file_checksum(file) for file in files},
    }
    packed = gzip.compress(pickle.dumps(content, protocol=4), _LEVEL, mtime=0)
    write_bytes_atomically(path, packed, CheckpointError)
    return path


def write_arrays(path: Path, arrays: list[np.ndarray]) -> None:
    """Writes a ``.npy.gz`` file as Trax does, atomically."""
    with (
        open_atomically(path, CheckpointError) as file,
        gzip.GzipFile("", "wb", _LEVEL, file, mtime=0) as packed,
    ):
        for array in arrays:
            np.save(packed, array, allow_pickle=False)


def _bits(tree: Any) -> list[np.ndarray]:
    """The arrays of a tree in Trax's order; bfloat16 as uint16, which is how Trax keeps it."""
    arrays = [np.asarray(leaf) for _, leaf in leaves_with_places(tree)]
    return [a.view(np.uint16) if a.dtype.name == "bfloat16" else a for a in arrays]


def _plain_history(history: dict[str, Any]) -> dict[str, Any]:
    """Trax's history with Python's numbers: {"_values": {mode: {metric: [(step, value), ...]}}}."""
    values = {}
    for mode, metrics in history.get("_values", {}).items():
        values[str(mode)] = defaultdict(list)  # Trax appends to metrics that are not there yet.
        for metric, points in metrics.items():
            plain = [(int(step), np.asarray(value).tolist()) for step, value in points]
            values[str(mode)][str(metric)] = plain
    return {"_values": values}


def _pickle_path(path: os.PathLike | str) -> Path:
    path = Path(path)
    return path / "model.pkl.gz" if path.is_dir() else path


def _beside(path: Path, ending: str) -> Path:
    """A companion of a ``.pkl.gz`` file."""
    return path.with_name(f"{path.name.removesuffix('.pkl.gz')}.{ending}")
