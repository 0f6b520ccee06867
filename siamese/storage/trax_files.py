"""The course's own model files, as Trax's Loop writes them, read without running anything in them.

A course directory holds ``model.pkl.gz`` (a gzipped pickle: step, state, history, input signature)
and its companions ``model.weights.npy.gz`` and ``model.opt_slots0.npy.gz`` (gzipped .npy arrays, one
after the other). Older files, the course's among them, keep all of it in the one pickle. What is
written here can be loaded by Trax's own ``init_from_file`` and ``load_checkpoint``.
"""

from __future__ import annotations

import gzip
import os
import pickle
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from siamese.errors import ArgumentError, CheckpointError
from siamese.storage.array_files import (
    LEVEL,
    MAX_BYTES,
    file_checksum,
    read_arrays,
    unpacked,
    write_arrays,
)
from siamese.storage.atomic import write_bytes_atomically
from siamese.storage.safe_pickle import read_plain_pickle
from siamese.storage.trees import dtype_named, leaves_with_places


@dataclass(frozen=True)
class CourseModel:
    """What a course file holds.

    Attributes:
      weights: the model's arrays in Trax's order (empty parts and shared layers left out); see
        `siamese.storage.trees.unflatten` to put them into a model.
      state: the arrays of its state; None where the file was saved with ``weights_only=True``.
      eval_state: those of the evaluation model, where they were saved.
      input_signature: `Signature`s of the model's inputs, or None.
      step: training steps done; 0 where the file does not say.
      history: Trax's history as a dict, or None.
      path: the ``.pkl.gz`` file.
    """

    weights: list[np.ndarray]
    state: list[np.ndarray] | None = None
    eval_state: list[np.ndarray] | None = None
    input_signature: Any = None
    step: int = 0
    history: dict[str, Any] | None = None
    path: Path | None = None
    _inside: dict[str, Any] = field(default_factory=dict, repr=False)


def read_course_model(path: os.PathLike | str, max_bytes: int = MAX_BYTES) -> CourseModel:
    """Reads a model that the course, Trax's Loop or ``save_to_file`` saved; runs nothing of it.

    Args:
      path: the ``.pkl.gz`` file, or a directory with a ``model.pkl.gz``.
      max_bytes: the most that one file may hold, unpacked.

    Raises:
      CheckpointError: where it is missing, damaged, too large, holds anything but arrays, numbers,
        text and plain containers, or where its companions belong to another save.

    Example:
      >>> import tempfile
      >>> from siamese.storage.safe_pickle import Signature
      >>> folder = tempfile.mkdtemp()
      >>> inputs = Signature((2, 4), np.dtype("int32"))
      >>> _ = write_course_model(folder, [np.ones(3, "float32")], input_signature=inputs)
      >>> read_course_model(folder).weights
      [array([1., 1., 1.], dtype=float32)]
    """
    path = _pickle_path(path)
    content = read_plain_pickle(unpacked(path, max_bytes), str(path))
    if not isinstance(content, dict) or "flat_weights" not in content:
        raise CheckpointError(
            f"{path} is no saved Trax model: it has no 'flat_weights'. Give the model.pkl.gz of a "
            "training directory."
        )
    weights = content["flat_weights"]
    if type(weights) is int:  # The compression level: the weights are in a file of their own.
        weights = _companion(_weights_path(path), content, max_bytes)
    step = content.get("step", 0)
    if type(step) is not int or step < 0:
        raise CheckpointError(f"{path} is damaged: its step is {step!r}.")
    return CourseModel(
        weights=_arrays(weights, path, "weights"),
        state=_arrays(content.get("flat_state"), path, "state"),
        eval_state=_arrays(content.get("flat_eval_state"), path, "state"),
        input_signature=content.get("input_signature"),
        step=step,
        history=_history_of(content.get("history"), path),
        path=path,
        _inside=content,
    )


def read_course_slots(
    path: os.PathLike | str | CourseModel, max_bytes: int = MAX_BYTES
) -> list[list[np.ndarray]]:
    """The optimizer's slots saved with a course model: for every task, arrays in Trax's order.

    Args:
      path: as for `read_course_model`, or what that returned.
      max_bytes: the most that one file may hold, unpacked.

    Raises:
      CheckpointError: as `read_course_model`.
    """
    model = path if isinstance(path, CourseModel) else read_course_model(path, max_bytes)
    content, path = model._inside, model.path
    slots = content.get("slots_per_task", [content["slots"]] if "slots" in content else [])
    if type(slots) is int:
        slots = []
        while _slots_path(path, len(slots)).exists():
            slots.append(_companion(_slots_path(path, len(slots)), content, max_bytes))
    if not isinstance(slots, (list, tuple)):
        raise CheckpointError(f"{path} is damaged: its optimizer slots are no list.")
    return [_arrays([leaf for _, leaf in leaves_with_places(s)], path, "slots") for s in slots]


def write_course_model(
    path: os.PathLike | str,
    weights: Any,
    state: Any = (),
    *,
    input_signature: Any,
    eval_state: Any = None,
    slots: list[Any] | None = None,
    step: int = 0,
    history: dict[str, Any] | None = None,
    companions: bool = True,
) -> Path:
    """Writes a model as Trax's Loop does, so that ``init_from_file`` and old programs can load it.

    Every file appears whole or not at all, the pickle last, and it holds the checksums of its
    companions: `read_course_model` notices a set that a kill left mixed.

    Args:
      path: a directory, which gets a ``model.pkl.gz``, or the name of a ``.pkl.gz`` file.
      weights: the model's weights, a tree or a flat list of arrays.
      state: its state, likewise.
      input_signature: anything with `shape` and `dtype`, or a tuple of such, one for each input.
      eval_state: state of the evaluation model; the same as `state` where None.
      slots: for every task the optimizer's slots, trees or flat lists.
      step: training steps done.
      history: Trax's ``History.to_dict()``.
      companions: False puts everything into the one file, as older Trax did: one rename replaces
        the whole model.

    Returns:
      The path of the ``.pkl.gz`` file.

    Raises:
      CheckpointError: where a file cannot be written.
      ArgumentError: for an input signature without shape and dtype.
    """
    path = _pickle_path(path)
    flat_weights, flat_state = _bits(weights), _bits(state)
    flat_slots = [_bits(task) for task in slots or []]
    flat_eval_state = flat_state if eval_state is None else _bits(eval_state)
    content: dict[str, bytes] = {
        "step": _dumps(int(step)),
        "flat_weights": _dumps(LEVEL) if companions else _dump_arrays(flat_weights),
        "flat_state": _dump_arrays(flat_state),
        "flat_eval_state": _dump_arrays(flat_eval_state),
        "history": _dumps(_plain_history(history)),
        "slots_per_task": _dumps(LEVEL)
        if companions and flat_slots
        else b"](" + b"".join(map(_dump_arrays, flat_slots)) + b"e",
        "input_signature": _dump_signature(input_signature),
        "version_timestamp": _dumps("Mar-10-2021"),  # Of the format, as in Trax.
    }
    if companions:
        files = {_weights_path(path): flat_weights}
        files |= {_slots_path(path, task): arrays for task, arrays in enumerate(flat_slots)}
        sums = {file.name: write_arrays(file, arrays) for file, arrays in files.items()}
        content["siamese_companions"] = _dumps(sums)
    items = b"".join(_dumps(key) + value for key, value in content.items())
    packed = gzip.compress(b"\x80\x03}(" + items + b"u.", LEVEL, mtime=0)
    write_bytes_atomically(path, packed, CheckpointError)
    return path


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
        raise CheckpointError(f"{path} is damaged: its {what} are no list of arrays.")
    foreign = sum(a.nbytes for a in flat if hasattr(a, "dtype") and not a.dtype.isnative)
    if foreign > MAX_BYTES:  # Many arrays over the same bytes, each of which would be copied.
        raise CheckpointError(f"{path} was refused: its {what} do not fit into memory.")
    return [_from_bits(np.asarray(array)) for array in flat]


def _from_bits(array: np.ndarray) -> np.ndarray:
    array = array.astype(array.dtype.newbyteorder("="), copy=False)  # JAX takes no other.
    return array.view(dtype_named("bfloat16")) if array.dtype == np.uint16 else array


def _bits(tree: Any) -> list[np.ndarray]:
    """The arrays of a tree in Trax's order; bfloat16 as uint16, which is how Trax keeps it."""
    arrays = [np.asarray(leaf) for _, leaf in leaves_with_places(tree)]
    return [a.view(np.uint16) if a.dtype.name == "bfloat16" else a for a in arrays]


def _pickle_path(path: os.PathLike | str) -> Path:
    path = Path(path)
    return path / "model.pkl.gz" if path.is_dir() else path


def _weights_path(path: Path) -> Path:
    if path.name.endswith(".pkl.gz"):
        return path.with_name(path.name.removesuffix("pkl.gz") + "weights.npy.gz")
    return path.with_name(path.name + ".npy")


def _slots_path(path: Path, task: int) -> Path:
    return path.with_name(f"{path.name.removesuffix('.pkl.gz')}.opt_slots{task}.npy.gz")


def _history_of(history: Any, path: Path) -> dict[str, Any] | None:
    try:
        return None if history is None else _plain_history(history)
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise CheckpointError(f"{path} is damaged: its history is none of Trax's.") from error


def _plain_history(history: dict[str, Any] | None) -> dict[str, Any]:
    """Trax's history with Python's numbers: {"_values": {mode: {metric: [(step, value), ...]}}}."""
    values = {}
    for mode, metrics in (history or {}).get("_values", {}).items():
        values[str(mode)] = defaultdict(list)  # Trax appends to metrics that are not there yet.
        for metric, points in metrics.items():
            plain = [(int(step), np.asarray(value).tolist()) for step, value in points]
            values[str(mode)][str(metric)] = plain
    return {"_values": values}


# The pickle is put together from pieces (pickles without their frame), because Python's own writer
# would have to import Trax to name Trax's ShapeDtype. Protocol 3 numbers its memo explicitly, so the
# pieces do not disturb each other.


def _dumps(value: Any) -> bytes:
    return pickle.dumps(value, protocol=3)[2:-1]


def _dump_arrays(arrays: list[np.ndarray]) -> bytes:
    # numpy.ndarray(shape, dtype, data): the same name in every NumPy, unlike what arrays pickle as.
    pieces = [
        b"cnumpy\nndarray\n"
        + _dumps((array.shape, array.dtype.newbyteorder("<").str, _little_endian(array)))
        + b"R"
        for array in arrays
    ]
    return b"](" + b"".join(pieces) + b"e"


def _little_endian(array: np.ndarray) -> bytes:
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


def _dump_signature(signature: Any) -> bytes:
    if isinstance(signature, (tuple, list)):
        return b"(" + b"".join(map(_dump_signature, signature)) + b"t"
    try:
        shape = tuple(None if n is None else int(n) for n in signature.shape)
        dtype = np.dtype(signature.dtype).str
    except (AttributeError, TypeError, ValueError):
        raise ArgumentError(
            f"input_signature must have shape and dtype, or be a tuple of such; got {signature!r}."
        ) from None
    named = b"cnumpy\ndtype\n" + _dumps((dtype,)) + b"R"
    return b"ctrax.shapes\nShapeDtype\n" + _dumps(shape) + named + b"\x86R"
