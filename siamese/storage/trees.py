"""Trees of arrays, as Trax keeps weights in, to JSON and safetensors and back, exactly.

A tree is made of tuples, lists, dicts, None, numbers, text and arrays. What is read has the structure of
what was written: a tuple is a tuple again, an empty tuple and Trax's marker for shared weights stay, and
an array in two places is one array in two places.
"""

from __future__ import annotations

import base64
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from siamese.errors import CheckpointError

# Name in a safetensors header -> NumPy dtype; the library's NumPy side has no bfloat16.
_DTYPES = {
    **{"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"},
    **{"I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "BOOL": "bool"},
    **{"U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8", "C64": "complex64"},
}
_TAGS = ("__tuple__", "__dict__", "__lists__", "__array__", "__float__")


def dtype_named(name: str) -> np.dtype:
    """The NumPy dtype of that name; ``bfloat16`` is the one of ml_dtypes."""
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def to_json(tree: Any) -> str:
    """A tree of plain values and small arrays as JSON text; `from_json` turns it back exactly.

    Scalars of NumPy and JAX become Python numbers; arrays are kept with dtype and shape. Any other value
    is a CheckpointError that names its place in the tree.
    """

    def inline(array: Any, path: str) -> Any:
        array = np.asarray(array)
        if array.ndim == 0:
            return _encode(array.item(), inline, path)
        array = _storable(array, path)
        data = base64.b64encode(array.tobytes()).decode("ascii")
        shape = list(array.shape)
        return {"__array__": {"dtype": array.dtype.name, "shape": shape, "base64": data}}

    return json.dumps(_encode(tree, inline, ""), allow_nan=False, indent=1)


def from_json(text: str | bytes) -> Any:
    """The tree that `to_json` wrote; raises ValueError, TypeError or KeyError on anything else."""

    def inline(entry: Any) -> np.ndarray:
        if entry["dtype"] not in _DTYPES.values():
            raise ValueError(f"unknown dtype {entry['dtype']!r}")
        data = base64.b64decode(entry["base64"], validate=True)
        flat = np.frombuffer(bytearray(data), dtype=dtype_named(entry["dtype"]))
        return flat.reshape(entry["shape"])

    return _decode(json.loads(text), inline)


def save_tensors(path: Any, **trees: Any) -> None:
    """Writes named trees into one safetensors file; their structure goes into its header.

    A leaf that is not an array of bool, integers, floats (bfloat16 too) or complex64 is a CheckpointError
    that names its place in the tree.
    """
    tensors: dict[str, np.ndarray] = {}
    names: dict[int, str] = {}  # id of a leaf -> tensor name: an array in two places is stored once

    def store(array: Any, place: str) -> Any:
        if id(array) not in names:
            name = f"{len(names)}/{place}"  # Keys such as "a/b" can make two places look alike.
            tensors[name] = _storable(np.asarray(array), place)
            names[id(array)] = name
        return {"__array__": names[id(array)]}

    structure = {name: _encode(tree, store, name) for name, tree in trees.items()}
    import safetensors.numpy

    data = safetensors.numpy.save(tensors, {"structure": json.dumps(structure, allow_nan=False)})
    with open(path, "wb") as file:  # Not save_file: its errors hide the system's error number.
        file.write(data)


def load_tensors(data: bytes) -> dict[str, Any]:
    """The named trees of a safetensors file's content; ValueError and its kin on anything else."""
    import safetensors

    header_length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or header_length > min(len(data) - 8, 100_000_000):
        raise ValueError("the header's length does not fit the file")
    header = json.loads(data[8 : 8 + header_length])
    structure = json.loads(header["__metadata__"]["structure"])
    arrays = {}
    for name, tensor in safetensors.deserialize(data):
        dtype = dtype_named(_DTYPES[tensor["dtype"]])
        arrays[name] = np.frombuffer(tensor["data"], dtype=dtype).reshape(tensor["shape"])
    return {name: _decode(tree, arrays.__getitem__) for name, tree in structure.items()}


def leaves_with_places(tree: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yields (place, leaf) for each array or value in a tree, in Trax's order; None is left out."""
    if isinstance(tree, (tuple, list, dict)):
        branches = tree.items() if isinstance(tree, dict) else enumerate(tree)
        for key, branch in branches:
            yield from leaves_with_places(branch, f"{place}/{key}")
    elif tree is not None:
        yield place.lstrip("/"), tree


def difference(tree: Any, like: Any) -> str | None:
    """The first place where a tree differs from `like` in structure or shape, in words; or None.

    Example:
      >>> difference((np.zeros(2), ()), (np.zeros(3), ()))
      'shape (2,) at 0, and the model has (3,)'
    """
    found, wanted = (
        {place: tuple(getattr(leaf, "shape", ())) for place, leaf in leaves_with_places(side)}
        for side in (tree, like)
    )
    for place in [*wanted, *found]:
        if place not in found:
            return f"nothing at {place}, and the model has shape {wanted[place]}"
        if place not in wanted:
            return f"shape {found[place]} at {place}, and the model has nothing there"
        if found[place] != wanted[place]:
            return f"shape {found[place]} at {place}, and the model has {wanted[place]}"
    return None


def unflatten(leaves: list, like: Any, what: str = "weights") -> Any:
    """Puts arrays in Trax's order into the structure of `like`, a tree of things with a `shape`.

    Raises:
      CheckpointError: the number of arrays or a shape differs; names both and the place.
    """
    count = sum(1 for _ in leaves_with_places(like))
    if count != len(leaves):
        raise CheckpointError(
            f"The {what} do not fit: {len(leaves)} arrays, and the model has {count}. "
            "They belong to a model of another structure; load them into that one."
        )
    rest = iter(leaves)

    def fill(tree: Any) -> Any:
        if isinstance(tree, (tuple, list)):
            return type(tree)(map(fill, tree))
        if isinstance(tree, dict):
            return {key: fill(branch) for key, branch in tree.items()}
        return None if tree is None else next(rest)

    filled = fill(like)
    if different := difference(filled, like):
        raise CheckpointError(
            f"The {what} do not fit: {different}. Make the model with the same vocabulary size and "
            "d_model."
        )
    return filled


def _storable(array: np.ndarray, place: str) -> np.ndarray:
    """The array in C order and little-endian bytes."""
    if array.dtype.name not in _DTYPES.values():
        raise CheckpointError(
            f"Cannot save {place or 'the value'}: checkpoints cannot hold arrays of {array.dtype}. "
            f"Convert it to one of {', '.join(sorted(_DTYPES.values()))}."
        )
    # order="C" and not ascontiguousarray, which would give a scalar an axis.
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def _encode(tree: Any, array: Callable[[Any, str], Any], place: str) -> Any:
    """Plain JSON where JSON has the type, a tagged object where it has not."""
    if tree is None or type(tree) in (bool, int, str):
        return tree
    if type(tree) is float:
        return tree if math.isfinite(tree) else {"__float__": repr(tree)}
    if type(tree) in (tuple, list):
        items = [_encode(item, array, f"{place}/{i}") for i, item in enumerate(tree)]
        return items if type(tree) is list else {"__tuple__": items}
    if isinstance(tree, dict):
        if not all(type(key) in (str, int) for key in tree):
            raise CheckpointError(f"Cannot save {place}: keys must be text or whole numbers.")
        pairs = [[key, _encode(value, array, f"{place}/{key}")] for key, value in tree.items()]
        if isinstance(tree, defaultdict) and tree.default_factory is list:
            return {"__lists__": pairs}  # How Trax keeps its history.
        if all(type(key) is str for key in tree) and not any(tag in tree for tag in _TAGS):
            return dict(pairs)
        return {"__dict__": pairs}
    if all(hasattr(tree, name) for name in ("__array__", "dtype", "shape")):
        return array(tree, place)
    raise CheckpointError(
        f"Cannot save {place or 'the value'}: checkpoints cannot hold a {type(tree).__name__}. "
        "Use tuples, lists, dicts, numbers, text and arrays."
    )


def _decode(value: Any, array: Callable[[Any], Any]) -> Any:
    if isinstance(value, list):
        return [_decode(item, array) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        (tag, content), *_ = value.items()
        if tag == "__tuple__":
            return tuple(_decode(item, array) for item in content)
        if tag == "__array__":
            return array(content)
        if tag == "__float__":
            return float(content)
        if tag == "__dict__":
            return {key: _decode(item, array) for key, item in content}
        if tag == "__lists__":
            return defaultdict(list, {key: _decode(item, array) for key, item in content})
    return {key: _decode(item, array) for key, item in value.items()}
