"""Reading a pickle from a stranger: arrays, numbers, text and plain containers, nothing else.

Python's own unpickler does the work, and can find no name but the few that arrays are made of: each stands
for a class of this file that checks its arguments. A first pass over the instructions runs nothing and
bounds what the second one can cost.
"""

from __future__ import annotations

import io
import math
import pickle
import pickletools
import re
from collections import defaultdict
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np

from siamese.errors import CheckpointError

MAX_BYTES = (
    1 << 28
)  # Of a pickle, unpacked: the course's oldest files hold all their arrays, 64 MB.
_MAX_INSTRUCTIONS = 2_000_000  # Some seconds; a model's file has some thousands.
_MAX_VALUES = 2_000_000  # A value used twice counts twice: bounds what walking the result costs.
_PIECE = 1 << 20
_NUMBERS = re.compile(r"[<|=]?(\?|b1|[iu][1248]|f[248]|c8|c16)")
_SCALAR_TYPES = re.compile(r"numpy\.(bool_?|u?int(8|16|32|64)|float(16|32|64))")


def read_plain_pickle(file: BinaryIO, where: str, signature: Callable = lambda *of: of) -> Any:
    """The content of a pickle, read without running anything in it.

    Args:
      file: the pickle, of any protocol; it must be able to seek.
      where: the file's name, for messages.
      signature: function (shape, dtype) -> what stands for Trax's ShapeDtype of a model's input.

    Returns:
      None, numbers, text, bytes, lists, tuples, dicts with text as keys, ``defaultdict(list)``, and NumPy
      arrays and scalars (JAX's become NumPy's).

    Raises:
      CheckpointError: anything else, by its name; a damaged file; one that is too large.

    Example:
      >>> read_plain_pickle(io.BytesIO(pickle.dumps({"step": 3, "names": ("a", "b")})), "a.pkl")
      {'step': 3, 'names': ('a', 'b')}
    """
    try:
        start = file.tell()
        _check_instructions(_Limited(file))
        file.seek(start)
        content = _Unpickler(_Limited(file), signature).load()
        if file.read(1):  # Also reads a gzip file's checksum.
            raise ValueError
        return _plain(content, {})[0]
    except _Refused as reason:
        raise CheckpointError(
            f"{where} was refused: it {reason}. Files of weights hold arrays, numbers, text and plain "
            "containers, nothing that could run code. Nothing in it was run; do not use it unless "
            "you know where it comes from."
        ) from None
    except Exception as error:  # The unpickler promises no kinds of errors.
        raise CheckpointError(
            f"{where} is damaged: it is not a complete pickle ({type(error).__name__}). "
            "Use another copy of the file."
        ) from error


class _Refused(Exception):
    """Something that a file of weights never holds; the message follows "it"."""


class _Limited:
    """A file of at most MAX_BYTES, read in pieces: a claim of more bytes than there are costs nothing."""

    def __init__(self, file: BinaryIO):
        self._file, self._left = file, MAX_BYTES

    def read(self, size: int) -> bytes:
        self._spend(size)
        data = io.BytesIO()
        while data.tell() < size and data.write(self._file.read(min(size - data.tell(), _PIECE))):
            pass
        return data.getvalue()

    def readline(self) -> bytes:
        line = self._file.readline(_PIECE)
        self._spend(len(line))
        return line

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise _Refused(f"is larger than {MAX_BYTES >> 20} MB unpacked")


def _check_instructions(file: _Limited) -> None:
    """Refuses what makes Python's unpickler slow or vast; a damaged pickle raises ValueError."""
    for count, (instruction, argument, _) in enumerate(pickletools.genops(file)):
        if count == _MAX_INSTRUCTIONS:
            raise _Refused(f"has more than {_MAX_INSTRUCTIONS:,} instructions")
        if instruction.name.endswith("PUT") and argument > count:  # The memo is an array.
            raise ValueError


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: Any, signature: Callable):
        super().__init__(file)
        self._signature = signature

    def find_class(self, module: str, name: str) -> Any:
        path = f"{module.replace('numpy._core', 'numpy.core')}.{name}"
        if path == "trax.shapes.ShapeDtype":
            return self._signature_class()
        if _SCALAR_TYPES.fullmatch(path):
            return _Dtype(np.dtype(name.rstrip("_")).str)
        if path not in _NAMES:
            raise _Refused(f"names {f'{module}.{name}'[:200]!r}")
        return getattr(_KNOWN, _NAMES[path])

    def _signature_class(self) -> type:
        """A class for Trax's ShapeDtype; a new one each time, because a pickle can change it."""

        def set_state(array, state):
            fields = state[1] if isinstance(state, tuple) else state
            array.value = self._signature(tuple(fields["shape"]), fields["dtype"].dtype)

        return type("ShapeDtype", (_Array,), {"__setstate__": set_state})


# ---- What the names stand for: bound methods, which a pickle cannot change ----


class _Dtype:
    """numpy.dtype, of numbers alone."""

    def __init__(self, spec: Any):
        name = spec.dtype.str if isinstance(spec, _Dtype) else spec
        if not _NUMBERS.fullmatch(name):
            raise _Refused(f"holds an array of the type {name[:60]!r}, not of numbers")
        self.dtype = np.dtype(name)

    def __setstate__(self, state: tuple) -> None:
        _, byte_order, subdtype, names, fields, *_ = state
        if byte_order not in ("<", "=", "|") or (subdtype, names, fields) != (None, None, None):
            raise _Refused("holds an array of records or of another machine's byte order")


class _Array:
    """numpy.ndarray, in the making until its state is set."""

    value: Any = None

    def __setstate__(self, state: tuple) -> None:
        *_, shape, dtype, by_columns, data = state
        if self.value is not None:
            raise ValueError  # It has a state.
        self.value = _KNOWN.frombuffer(data, dtype, shape, "F" if by_columns else "C")


class _Names:
    """The functions that arrays are made with; `self.list` is good for `lists` alone."""

    __slots__ = ()

    def dtype(self, spec: Any, *flags: Any) -> _Dtype:
        return _Dtype(spec)

    def reconstruct(self, *_: Any) -> _Array:
        return _Array()

    def frombuffer(self, data: Any, dtype: _Dtype, shape: tuple, order: str = "C") -> np.ndarray:
        """An array over bytes, which must have exactly the length that shape and dtype ask for."""
        if isinstance(data, list):
            raise _Refused("holds an array of Python objects, not of numbers")
        if not isinstance(data, (bytes, bytearray)) or not all(type(n) is int for n in shape):
            raise TypeError
        if min(shape, default=0) < 0 or len(data) != math.prod(shape) * dtype.dtype.itemsize:
            raise ValueError
        array = np.frombuffer(data, dtype.dtype) if data else np.zeros(0, dtype.dtype)
        return array.reshape(shape, order=order)

    def scalar(self, dtype: _Dtype, data: bytes) -> np.generic:
        return self.frombuffer(data, dtype, ())[()]

    def jax_array(self, function: Any, arguments: Any, state: tuple, _: Any) -> _Array:
        """A JAX array pickles as how to make a NumPy one; that is what it becomes."""
        array = _Array()
        array.__setstate__(state)
        return array

    def lists(self, factory: Any) -> defaultdict:
        if factory != self.list:  # Trax's history is made of defaultdict(list); no other is known.
            raise _Refused("holds a defaultdict of something else than lists")
        return defaultdict(list)

    def list(self) -> None:
        raise _Refused("calls list()")


_KNOWN = _Names()
_NAMES = {  # Path -> the method of `_KNOWN`.
    "numpy.dtype": "dtype",
    "numpy.ndarray": "reconstruct",
    "numpy.core.multiarray._reconstruct": "reconstruct",
    "numpy.core.multiarray.scalar": "scalar",
    "numpy.core.numeric._frombuffer": "frombuffer",
    "jax._src.array._reconstruct_array": "jax_array",
    "jax._src.device_array.reconstruct_device_array": "jax_array",
    "collections.defaultdict": "lists",
    "builtins.list": "list",
}
_PLAIN = (type(None), bool, int, float, str, bytes, bytearray, np.ndarray, np.generic)


def _plain(value: Any, done: dict[int, Any]) -> tuple[Any, int]:
    """The content with its arrays in their places, and the number of values in it."""
    if isinstance(value, _Array):
        if value.value is None:
            raise ValueError  # An array that was never filled.
        return value.value, 1
    if not isinstance(value, (list, tuple, dict)):
        if not isinstance(value, _PLAIN):
            raise _Refused("holds a name where a value is expected")
        return value, 1
    if id(value) in done:
        if done[id(value)] is None:
            raise _Refused("holds a container that contains itself")
        return done[id(value)]
    done[id(value)] = None  # The ids stay good: `value` and all in it live until the end.
    children, size = [], 1
    for child in value.values() if isinstance(value, dict) else value:
        plain, inside = _plain(child, done)
        children.append(plain)
        size += inside
        if size > _MAX_VALUES:
            raise _Refused(f"unfolds to more than {_MAX_VALUES:,} values")
    if not isinstance(value, dict):
        done[id(value)] = type(value)(children), size
        return done[id(value)]
    if not all(type(key) is str for key in value):
        raise _Refused("has a key that is not text")
    plain = defaultdict(list) if isinstance(value, defaultdict) else {}
    plain.update(zip(value, children))
    done[id(value)] = plain, size
    return done[id(value)]
