"""What a pickle of weights may hold, made from its parts with every part checked first."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from siamese.storage.trees import dtype_named

_MAX_DEPTH = 200
_MAX_VALUES = 20_000_000  # A value used twice counts twice: bounds what walking the result costs.
_MAX_KEY = 1 << 60  # Larger whole numbers can be chosen to collide in a dict.

_DTYPE = re.compile(r"[<>|=]?(\?|b1|[iu][1248]|f[248]|c8|c16)")
SCALAR_TYPES = {
    f"numpy {name}": name.rstrip("_")
    for name in (
        *("bool", "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"),
        *("uint64", "float16", "float32", "float64", "complex64", "complex128"),
    )
} | {"ml_dtypes bfloat16": "bfloat16", "jaxlib.xla_extension bfloat16": "bfloat16"}


@dataclass(frozen=True)
class Signature:
    """Shape and dtype of one model input; stands for Trax's ShapeDtype where Trax is not loaded.

    ``trax.shapes.signature(s)`` turns it, and tuples of it, into Trax's own.
    """

    shape: tuple[int | None, ...]
    dtype: np.dtype


class Refused(Exception):
    """Something that a file of weights never holds; the message follows "it"."""


@dataclass(frozen=True)
class Name:
    """A name that the file mentions and this file knows; it is never imported."""

    text: str


class Made:
    """A dtype, array or Signature in the making: BUILD completes what REDUCE began."""

    def __init__(self, kind: str, value: Any = None):
        self.kind = kind
        self.value = value


def of_type(value: Any, wanted: type) -> Any:
    """The value, which must be of that type (TypeError)."""
    if not isinstance(value, wanted):
        raise TypeError
    return value


def checked_key(key: Any) -> Any:
    """A key of a dict or set: text, bytes or a whole number of moderate size."""
    if isinstance(key, (str, bytes)) or (isinstance(key, int) and abs(key) < _MAX_KEY):
        return key
    raise Refused(f"has a {type(key).__name__} as a key")


def checked_dict(items: list[Any]) -> dict[Any, Any]:
    """A dict from keys and values in turn."""
    return {checked_key(key): value for key, value in zip(items[::2], items[1::2], strict=True)}


def make_dtype(spec: Any, *flags: Any) -> Made:
    """What `numpy.dtype(spec)` begins; numbers only."""
    if isinstance(spec, Name):
        return Made("dtype", _dtype_of(spec))
    if of_type(spec, str)[-1:] == "O" or not (spec == "bfloat16" or _DTYPE.fullmatch(spec)):
        raise Refused(f"holds an array of the type {spec[:60]!r}, not of numbers")
    return Made("dtype", dtype_named(spec))


def _dtype_of(value: Any) -> np.dtype:
    if isinstance(value, Name):
        return dtype_named(SCALAR_TYPES[value.text])
    if isinstance(value, str):
        value = make_dtype(value)
    if of_type(value, Made).kind != "dtype":
        raise TypeError
    return value.value


def _shape(shape: Any) -> tuple[int, ...]:
    if len(of_type(shape, tuple)) > 32 or not all(type(n) is int and n >= 0 for n in shape):
        raise ValueError
    return shape


def make_array(dtype: Any, shape: Any, data: Any, order: str = "C") -> np.ndarray:
    """An array over `data`, which must have exactly the length that shape and dtype ask for."""
    dtype = _dtype_of(dtype)
    if isinstance(data, list):
        raise Refused("holds an array of Python objects, not of numbers")
    if isinstance(data, str):  # Bytes written by Python 2.
        data = data.encode("latin-1")
    if len(of_type(data, (bytes, bytearray))) != math.prod(_shape(shape)) * dtype.itemsize:
        raise ValueError
    array = np.frombuffer(data, dtype) if data else np.zeros(0, dtype)
    array.flags.writeable = False
    return array.reshape(shape, order={"C": "C", "F": "F"}[order])


def make_jax_array(function: Any, arguments: Any, state: Any, ignored: Any) -> Made:
    """A JAX array, which pickles as how to make a NumPy one; that is what it becomes."""
    if function != Name("numpy.core.multiarray _reconstruct"):
        raise Refused("calls something that is no part of an array")
    made = Made("array")
    complete(made, state)
    return made


def make_signature(shape: Any, dtype: Any = Name("numpy float32")) -> Made:
    """What `trax.shapes.ShapeDtype(shape, dtype)` would make."""
    if not all(n is None or (type(n) is int and n >= 0) for n in of_type(shape, (tuple, list))):
        raise ValueError
    return Made("signature", Signature(tuple(shape), _dtype_of(dtype)))


def make_default_dict(factory: Any = None) -> dict[Any, Any]:
    """A ``defaultdict(list)``, which Trax's history is made of; no other."""
    if factory != Name("builtins list"):
        raise Refused("holds a defaultdict of something else than lists")
    return defaultdict(list)


def complete(made: Made, state: Any) -> None:
    """Completes a dtype, array or Signature with its state, as NumPy and Trax write it."""
    if made.kind == "dtype" and made.value is not None:
        version, byte_order, subdtype, names, fields, *_ = state
        if (subdtype, names, fields) != (None, None, None) or len(state) > 8:
            raise Refused("holds an array of records, not of numbers")
        made.value = made.value.newbyteorder(of_type(byte_order, str))
    elif made.kind == "array" and made.value is None:
        *version, shape, dtype, column_order, data = of_type(state, tuple)
        if len(version) > 1:
            raise ValueError
        made.value = make_array(dtype, shape, data, "F" if column_order else "C")
    elif made.kind == "signature" and made.value is None:
        fields = state[1] if isinstance(state, tuple) else state
        made.value = make_signature(fields["shape"], fields["dtype"]).value
    else:
        raise ValueError


def finished(top: Any) -> Any:
    """The result with everything in the making replaced; refuses cycles, names and vast sharing."""
    finished: dict[int, tuple[Any, int, Any]] = {}  # id -> (result, values in it, the original)
    open_ids: set[int] = set()

    def finish(value: Any, depth: int) -> tuple[Any, int]:
        if isinstance(value, Made):
            if value.value is None:
                raise ValueError
            return value.value, 1
        if isinstance(value, Name):
            raise Refused(f"holds the name {value.text.replace(' ', '.')!r}")
        if not isinstance(value, (list, tuple, dict)):
            return value, 1
        if id(value) in finished:
            return finished[id(value)][:2]
        if id(value) in open_ids or depth > _MAX_DEPTH:
            raise Refused("holds a container that contains itself, or is nested too deeply")
        open_ids.add(id(value))
        children = value.values() if isinstance(value, dict) else value
        results, count = [], 1
        for child in children:
            result, inside = finish(child, depth + 1)
            results.append(result)
            count += inside
            if count > _MAX_VALUES:
                raise Refused(f"unfolds to more than {_MAX_VALUES} values")
        if isinstance(value, dict):
            pairs = zip(value, results, strict=True)
            whole = defaultdict(list, pairs) if isinstance(value, defaultdict) else dict(pairs)
        else:
            whole = type(value)(results)
        open_ids.discard(id(value))
        finished[id(value)] = (whole, count, value)
        return whole, count

    return finish(top, 0)[0]
