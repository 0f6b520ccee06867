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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from siamese.errors import ArgumentError, CheckpointError
from siamese.storage.atomic import explain, open_atomically, write_bytes_atomically
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
    state: list[np.ndarray] | None = None  # None where it was saved with ``weights_only=True``.
    input_signature: Any = None  # A `Signature` for each input, or None.
    step: int = 0  # 0 where the file does not say.
    history: dict[str, Any] | None = None
    path: Path | None = None  # The ``.pkl.gz`` file.
    _content: dict[str, Any] = field(default_factory=dict, repr=False)


# ---- Reading ----


def read_course_model(path: os.PathLike | str, max_bytes: int = MAX_BYTES) -> CourseModel:
    """Reads a model that the course, Trax's Loop or ``save_to_file`` saved; runs nothing of it.

    Args:
      path: the ``.pkl.gz`` file, or a directory with a ``model.pkl.gz``.
      max_bytes: the most that one file may hold, unpacked.

    Raises:
      CheckpointError: it is missing, damaged, too large, holds anything but arrays, numbers, text and
        plain containers, or its companions belong to another save.
    """
    path = _pickle_path(path)
    content = read_plain_pickle(_unpacked(path, max_bytes), str(path))
    if not isinstance(content, dict) or "flat_weights" not in content:
        raise CheckpointError(
            f"{path} is not a saved Trax model: it has no 'flat_weights'. Give the model.pkl.gz of a "
            "training directory."
        )
    weights = content["flat_weights"]
    if type(weights) is int:  # The compression level: the weights are in a file of their own.
        weights = _companion(_weights_path(path), content, max_bytes)
    step, history = content.get("step", 0), content.get("history")
    try:
        if type(step) is not int or step < 0:
            raise ValueError
        history = None if history is None else _plain_history(history)
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise CheckpointError(f"{path} is damaged: step or history are not Trax's.") from error
    return CourseModel(
        weights=_arrays(weights, path, "weights"),
        state=_arrays(content.get("flat_state"), path, "state"),
        input_signature=content.get("input_signature"),
        step=step,
        history=history,
        path=path,
        _content=content,
    )


def read_course_slots(model: CourseModel, max_bytes: int = MAX_BYTES) -> list[list[np.ndarray]]:
    """The optimizer's slots saved with a model: for every task, arrays in Trax's order."""
    content, path = model._content, model.path
    slots = content.get("slots_per_task", [content["slots"]] if "slots" in content else [])
    if type(slots) is int:
        slots = []
        while _slots_path(path, len(slots)).exists():
            slots.append(_companion(_slots_path(path, len(slots)), content, max_bytes))
    if not isinstance(slots, (list, tuple)):
        raise CheckpointError(f"{path} is damaged: its optimizer slots are not a list.")
    return [_arrays([leaf for _, leaf in leaves_with_places(s)], path, "slots") for s in slots]


def read_arrays(path: os.PathLike | str, max_bytes: int = MAX_BYTES) -> list[np.ndarray]:
    """The arrays of a ``.npy.gz`` file of Trax: any number of .npy images, one after the other.

    Any damage is a CheckpointError; Trax's own reader stops at the first one and reports nothing.
    """
    data, at, arrays = _unpacked(path, max_bytes), 0, []
    try:
        while at < len(data):
            array, at = _read_array(data, at, path)
            arrays.append(array)
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        raise _damaged(path, error) from error
    return arrays


def _read_array(data: bytearray, at: int, path: Any) -> tuple[np.ndarray, int]:
    """The .npy image at a place, over the data it was read from, and the place behind it."""
    width = _LENGTH_BYTES[bytes(data[at : at + 8])]
    begin = at + 8 + width
    end = begin + int.from_bytes(data[at + 8 : begin], "little")
    header = data[begin : min(end, begin + 10_000)].decode("latin-1")
    fields = _HEADER.fullmatch(header)
    if fields is None and not header.startswith("{'descr': ["):
        raise ValueError("header")
    dtype = np.dtype(fields["dtype"]) if fields else None
    if dtype is None or dtype.kind not in "biufc":
        raise CheckpointError(
            f"{path} was refused: it holds an array of {dtype or 'records'}, not of numbers. Files "
            "of weights hold numbers; do not use it unless you know where it comes from."
        )
    shape = tuple(int(n) for n in fields["shape"].split(",") if n.strip())
    count = math.prod(shape)
    if len(shape) > 32 or end + count * dtype.itemsize > len(data):
        raise ValueError("shape")
    array = np.frombuffer(data, dtype, count, end) if count else np.zeros(0, dtype)
    order = "F" if fields["by_columns"] == "True" else "C"
    return array.reshape(shape, order=order), end + array.nbytes


def _unpacked(path: os.PathLike | str, max_bytes: int) -> bytearray:
    """A gzip file's content, read in pieces, so that a small file cannot fill the memory."""
    if os.path.exists(path) and not os.path.isfile(path):  # A pipe would wait for ever.
        raise CheckpointError(f"{path} is not a regular file. Check the path.")
    data = bytearray()
    try:
        with gzip.open(path, "rb") as file:
            if os.path.getsize(path) == 0:  # Python's gzip takes it for nothing packed.
                raise EOFError
            while chunk := file.read(1 << 20):
                data += chunk
                if len(data) > max_bytes:
                    raise CheckpointError(
                        f"{path} was refused: unpacked it is larger than the limit. If you trust it "
                        "and it is meant to be that large, give a larger max_bytes."
                    )
    except FileNotFoundError:
        raise CheckpointError(f"{path} does not exist. Copy Trax's other files too.") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _damaged(path, error) from error
    except OSError as error:
        raise CheckpointError(explain(error, path, "read")) from error
    return data


def _damaged(path: os.PathLike | str, error: Exception) -> CheckpointError:
    return CheckpointError(
        f"{path} is damaged or cut off ({type(error).__name__}). Use another copy of it."
    )


def _companion(file: Path, content: dict[str, Any], max_bytes: int) -> list[np.ndarray]:
    """The arrays of a companion file, which must be the one that was saved with the pickle."""
    if not file.exists() and file.name.endswith(".weights.npy.gz"):
        older = file.with_name(file.name.removesuffix(".weights.npy.gz") + ".pkl.gz.npy")
        file = older if older.exists() else file
    arrays = read_arrays(file, max_bytes)
    sums = content.get("siamese_companions")
    if isinstance(sums, dict) and file.name in sums and sums[file.name] != file_checksum(file):
        raise CheckpointError(
            f"{file} was not saved together with its .pkl.gz: a later save was interrupted. "
            "Use another checkpoint."
        )
    return arrays


def _arrays(flat: Any, path: Path | None, what: str) -> list[np.ndarray] | None:
    """A flat list of arrays as it was before Trax turned bfloat16 into uint16 to save it."""
    if flat is None:
        return None
    if not isinstance(flat, (list, tuple)) or not all(
        isinstance(array, (np.ndarray, np.generic, int, float)) for array in flat
    ):
        raise CheckpointError(f"{path} is damaged: its {what} are not a list of arrays.")
    foreign = sum(a.nbytes for a in flat if hasattr(a, "dtype") and not a.dtype.isnative)
    if foreign > MAX_BYTES:  # Many arrays over the same bytes, each of which would be copied.
        raise CheckpointError(f"{path} was refused: its {what} do not fit into memory.")
    arrays = [np.asarray(array) for array in flat]
    native = [a.astype(a.dtype.newbyteorder("="), copy=False) for a in arrays]  # As JAX asks for.
    return [a.view(dtype_named("bfloat16")) if a.dtype == np.uint16 else a for a in native]


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
    """Writes a model as Trax's Loop does, so that ``init_from_file`` and old programs can load it.

    Every file is written atomically, the pickle last. It holds the checksums of its companions:
    `read_course_model` notices a set that a kill left mixed.

    Args:
      path: a directory, which gets a ``model.pkl.gz``, or the name of a ``.pkl.gz`` file.
      weights: the model's weights, a tree or a flat list of arrays.
      state: its state, likewise; also that of the evaluation model.
      input_signature: anything with `shape` and `dtype`, or a tuple of such, one for each input.
      slots: for every task the optimizer's slots, trees or flat lists.
      step: training steps done.
      history: Trax's ``History.to_dict()``.

    Returns:
      The path of the ``.pkl.gz`` file.

    Raises:
      CheckpointError: a file cannot be written.
      ArgumentError: an input signature without shape and dtype.
    """
    path = _pickle_path(path)
    flat_state = _bits(state)
    content = {
        "step": int(step),
        "flat_weights": _LEVEL,
        "flat_state": flat_state,
        "flat_eval_state": flat_state,
        "history": _plain_history(history or {}),
        "slots_per_task": _LEVEL if slots else [],
        "input_signature": _trax_signature(input_signature),
        "version_timestamp": "Mar-10-2021",  # Of the format, as in Trax.
    }
    files = {_weights_path(path): _bits(weights)}
    files |= {_slots_path(path, task): _bits(arrays) for task, arrays in enumerate(slots or [])}
    for file, arrays in files.items():
        write_arrays(file, arrays)
    content["siamese_companions"] = {file.name: file_checksum(file) for file in files}
    pickled = io.BytesIO()
    _Pickler(pickled, protocol=4).dump(content)
    packed = gzip.compress(pickled.getvalue(), _LEVEL, mtime=0)
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


class _Pickler(pickle.Pickler):
    """Pickles arrays and dtypes under names that are the same in every NumPy."""

    def reducer_override(self, value: Any) -> Any:
        if type(value) is np.ndarray:
            little = value.astype(value.dtype.newbyteorder("<"), copy=False)
            return np.ndarray, (value.shape, little.dtype.str, little.tobytes())
        if isinstance(value, np.dtype):
            return np.dtype, (value.str,)
        return NotImplemented


def _trax_signature(signature: Any) -> Any:
    """Trax's own ShapeDtype for each input."""
    if isinstance(signature, (tuple, list)):
        return tuple(map(_trax_signature, signature))
    from trax.shapes import ShapeDtype

    try:
        shape = tuple(None if n is None else int(n) for n in signature.shape)
        return ShapeDtype(shape, np.dtype(signature.dtype))
    except (AttributeError, TypeError, ValueError):
        raise ArgumentError(
            f"input_signature must have shape and dtype, or be a tuple of such; got {signature!r}."
        ) from None


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


def _weights_path(path: Path) -> Path:
    if path.name.endswith(".pkl.gz"):
        return path.with_name(path.name.removesuffix("pkl.gz") + "weights.npy.gz")
    return path.with_name(path.name + ".npy")


def _slots_path(path: Path, task: int) -> Path:
    return path.with_name(f"{path.name.removesuffix('.pkl.gz')}.opt_slots{task}.npy.gz")
