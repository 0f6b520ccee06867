"""Reading a pickle from a stranger: arrays, numbers, text and plain containers, nothing else.

Python's own unpickler does the work, and finds no name but the few that arrays are made of. Each stands for
a bound method of this file, which a pickle can call and cannot change.
"""

from __future__ import annotations

import gzip
import io
import math
import pickle
import pickletools
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, BinaryIO

import numpy as np

from siamese.errors import CheckpointError

MAX_BYTES = 1 << 28  # Of a pickle, unpacked: the course's oldest files hold all arrays, 64 MB.
_MAX_INSTRUCTIONS = 2_000_000  # Some seconds; a model's file has some thousands.
_PIECE = 1 << 20
_NUMBERS = r"[<|=]?(?:\?|b1|[iu][1248]|f[248]|c8|c16)"  # The types that an array may have.


class Refused(Exception):
    """Something that a file of weights never holds; the message follows "it"."""


@contextmanager
def reading(where: str) -> Iterator[None]:
    """Raises what goes wrong in the block as a CheckpointError of the file of that name."""
    try:
        yield
    except CheckpointError:
        raise
    except Refused as reason:
        raise CheckpointError(
            f"{where} was refused: it {reason}. Files of weights hold arrays, numbers, text and plain "
            "containers, nothing that could run code. Nothing in it was run; do not use it unless "
            "you know where it comes from."
        ) from None
    except Exception as error:  # The unpickler and NumPy promise no kinds of errors.
        if isinstance(error, OSError) and not isinstance(error, gzip.BadGzipFile):
            raise CheckpointError(f"{where} cannot be read: {error.strerror or error}.") from error
        raise CheckpointError(
            f"{where} is damaged or cut off ({type(error).__name__}). Use another copy of it."
        ) from error


class LimitedFile:
    """A file of at most `limit` bytes, read in pieces: claims of more bytes than there are cost nothing."""

    def __init__(self, file: BinaryIO, limit: int):
        self._file, self._limit, self._left = file, limit, limit

    def read(self, size: int) -> bytes:
        """The next `size` bytes, or as many as there are."""
        self._spend(size)
        data = io.BytesIO()
        while data.tell() < size and data.write(self._file.read(min(size - data.tell(), _PIECE))):
            pass
        return data.getvalue()

    def readline(self) -> bytes:
        """The next line; the unpickler asks for it."""
        line = self._file.readline(_PIECE)
        self._spend(len(line))
        return line

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise Refused(f"is larger than {self._limit >> 20} MB unpacked")


def read_plain_pickle(file: BinaryIO, where: str, signature: Callable = lambda *of: of) -> Any:
    """The content of a pickle of any protocol, read without running anything in it.

    It is None, numbers, text, bytes, lists, tuples, dicts with text as keys, ``defaultdict(list)``, and
    NumPy arrays and scalars (JAX's become NumPy's); `signature` makes of (shape, dtype) what stands for
    Trax's ShapeDtype of a model's input. CheckpointError for anything else, by its name, and for a file
    that is damaged or too large; it calls the file `where`.
    """
    with reading(where):
        start = file.tell()
        # A first look runs nothing and refuses what makes Python's unpickler slow or vast.
        instructions = pickletools.genops(LimitedFile(file, MAX_BYTES))
        for count, (code, argument, _) in enumerate(instructions):
            if count == _MAX_INSTRUCTIONS:
                raise Refused(f"has more than {_MAX_INSTRUCTIONS:,} instructions")
            if code.name.endswith("PUT") and argument > count:  # The unpickler's memo is an array.
                raise ValueError
        file.seek(start)
        content = _Unpickler(LimitedFile(file, MAX_BYTES)).load()
        if file.read(1):  # Also reads a gzip file's checksum.
            raise ValueError
        return _plain(content, signature, {})


class _Dtype(str):
    """The name of a numpy.dtype of numbers."""

    def __setstate__(self, state: tuple) -> None:
        if state[1] == ">":
            raise Refused("holds an array of another machine's byte order")


class _Array:
    """numpy.ndarray, in the making until its state is set."""

    value: Any = None

    def __setstate__(self, state: tuple) -> None:
        *_, shape, dtype, by_columns, data = state
        self.value = _array(data, dtype, shape, "F" if by_columns else "C")


class _Unpickler(pickle.Unpickler):
    """It finds no name but those of `_NAMES`, in whose places its own methods stand."""

    def find_class(self, module: str, name: str) -> Any:
        path = f"{module.replace('numpy._core', 'numpy.core')}.{name}"
        if path == "trax.shapes.ShapeDtype":  # A new class each time: a pickle can change it.
            return type(name, (SimpleNamespace,), {})
        if re.fullmatch(r"numpy\.(bool_?|u?int(8|16|32|64)|float(16|32|64))", path):
            return _Dtype(np.dtype(name.rstrip("_")).str)
        if path not in _NAMES:
            raise Refused(f"names {f'{module}.{name}'[:200]!r}")
        return getattr(self, _NAMES[path])

    def _dtype(self, name: str, *flags: Any) -> _Dtype:
        if not re.fullmatch(_NUMBERS, name):
            raise Refused(f"holds an array of the type {name[:60]!r}, not of numbers")
        return _Dtype(name)

    def _reconstruct(self, *_: Any) -> _Array:
        return _Array()

    def _frombuffer(self, data: Any, dtype: _Dtype, shape: tuple, order: str = "C") -> np.ndarray:
        return _array(data, dtype, shape, order)

    def _scalar(self, dtype: _Dtype, data: bytes) -> np.generic:
        return _array(data, dtype, ())[()]

    def _jax_array(self, function: Any, arguments: Any, state: tuple, _: Any) -> _Array:
        """A JAX array pickles as how to make a NumPy one; that is what it becomes."""
        array = _Array()
        array.__setstate__(state)
        return array

    def _lists(self, _: Any) -> defaultdict:
        return defaultdict(list)


def _array(data: bytes, dtype: _Dtype, shape: tuple, order: str = "C") -> np.ndarray:
    """The bytes as an array of that shape; an error where they are more or less than it needs."""
    if type(dtype) is not _Dtype or len(data) != math.prod(shape) * np.dtype(dtype).itemsize:
        raise ValueError
    return np.ndarray(shape, dtype, data, order=order)


_NAMES = {  # Path -> the method of `_Unpickler`.
    "numpy.dtype": "_dtype",
    "numpy.ndarray": "_reconstruct",
    "numpy.core.multiarray._reconstruct": "_reconstruct",
    "numpy.core.multiarray.scalar": "_scalar",
    "numpy.core.numeric._frombuffer": "_frombuffer",
    "jax._src.array._reconstruct_array": "_jax_array",
    "jax._src.device_array.reconstruct_device_array": "_jax_array",
    "collections.defaultdict": "_lists",
    "builtins.list": "_reconstruct",  # The default of Trax's history; nothing calls it.
}
_PLAIN = (type(None), bool, int, float, str, bytes, bytearray, np.ndarray, np.generic)


def _plain(value: Any, signature: Callable, done: dict[int, Any]) -> Any:
    """The content with its arrays in their places; a container that contains itself never ends."""
    if isinstance(value, _Array):
        value = value.value  # None where it was never filled.
    if isinstance(value, SimpleNamespace):
        return signature(tuple(value.shape), np.dtype(value.dtype))
    if isinstance(value, _PLAIN) and type(value) is not _Dtype:
        return value
    if not isinstance(value, (list, tuple, dict)):
        raise Refused("holds a name where a value is expected")
    if id(value) not in done:  # The ids stay good: `value` and all in it live until the end.
        children = value.values() if isinstance(value, dict) else value
        plain = [_plain(child, signature, done) for child in children]
        if not isinstance(value, dict):
            done[id(value)] = type(value)(plain)
        elif all(type(key) is str for key in value):
            done[id(value)] = value.copy()
            done[id(value)].update(zip(value, plain))
        else:
            raise Refused("has a key that is not text")
    return done[id(value)]
