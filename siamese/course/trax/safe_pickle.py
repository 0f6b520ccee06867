"""Reading a pickle from a stranger: arrays, numbers, text and plain containers, nothing else.

Python's own unpickler does the work, in its form in Python, whose memory grows with the
file alone and which a signal can stop. It finds no name but the few that arrays are made
of, and in the places of those stand methods of this file, which are all that a pickle
can call.
"""

from __future__ import annotations

import gzip
import io
import pickle
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, BinaryIO, Literal

import numpy as np

from siamese.errors import CheckpointError

# Of a pickle, unpacked: the course's oldest files hold all arrays, 64 MB.
MAX_BYTES = 1 << 28
# The types that an array may have.
_NUMBERS = r"[<|=]?(?:\?|b1|[iu][1248]|f[248]|c8|c16)"


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
            raise CheckpointError(
                f"{where} cannot be read: {error.strerror or error}."
            ) from error
        raise CheckpointError(
            f"{where} is damaged or cut off ({type(error).__name__}). Use another copy of it."
        ) from error


def read_in_pieces(file: BinaryIO, limit: int) -> io.BytesIO:
    """The rest of a file of at most `limit` bytes, or Refused: a gzip file of 1 MB can hold a GB."""
    data = io.BytesIO()
    while piece := file.read(1 << 20):
        data.write(piece)
        if data.tell() > limit:
            raise Refused(f"is larger than {limit >> 20} MB unpacked")
    data.seek(0)
    return data


def read_plain_pickle(
    file: BinaryIO, where: str, signature: Callable = lambda *of: of
) -> Any:
    """The content of a pickle of any protocol, read without running anything in it.

    It is None, numbers, text, bytes, lists, tuples, dicts with text as keys,
    ``defaultdict(list)``, and NumPy arrays and scalars (JAX's become NumPy's);
    `signature` makes of (shape, dtype) what stands for Trax's ShapeDtype of a model's
    input. CheckpointError for anything else, by its name, and for a file that is
    damaged or larger than `MAX_BYTES`; it calls the file `where`. A hostile file may
    take its time.
    """
    with reading(where):
        stream = read_in_pieces(file, MAX_BYTES)
        content = _Unpickler(stream).load()
        if stream.read(1):
            raise ValueError
        return _plain(content, signature, {})


class _Type:
    """What a pickle knows as a type of numbers."""

    def __init__(self, name: str):
        if not re.fullmatch(_NUMBERS, name):
            raise Refused(f"holds an array of the type {name[:60]!r}, not of numbers")
        self.dtype = np.dtype(name)

    def __setstate__(self, state: tuple) -> None:
        if state[1] == ">":
            raise Refused("holds an array of another machine's byte order")


class _Array:
    """What a pickle knows as an array; it is one once its state is set."""

    value: np.ndarray

    def __setstate__(self, state: tuple) -> None:
        _, shape, kind, is_by_columns, data = state
        self.value = _array(data, kind, shape, "F" if is_by_columns else "C")


def _array(
    data: object, kind: _Type, shape: tuple, order: Literal["C", "F"]
) -> np.ndarray:
    if not (type(data) is bytes or type(data) is bytearray):
        raise ValueError
    return np.frombuffer(data, kind.dtype).reshape(shape, order=order)


class _Unpickler(pickle._Unpickler):
    """It finds no name but those of `_NAMES`, in whose places its own methods stand."""

    def find_class(self, module: str, name: str) -> Any:
        path = f"{module.replace('numpy._core', 'numpy.core')}.{name}"
        # A new class each time: a pickle can change it.
        if path == "trax.shapes.ShapeDtype":
            return type(name, (SimpleNamespace,), {})
        if re.fullmatch(r"numpy\.(bool_?|u?int(8|16|32|64)|float(16|32|64))", path):
            return _Type(np.dtype(name.rstrip("_")).str)
        if path not in _NAMES:
            raise Refused(f"names {f'{module}.{name}'[:200]!r}")
        return getattr(self, _NAMES[path])

    def _dtype(self, name: str, *_: object) -> _Type:
        return _Type(name)

    def _reconstruct(self, *_: object) -> _Array:
        return _Array()

    def _frombuffer(
        self, data: object, kind: _Type, shape: tuple, order: Literal["C", "F"] = "C"
    ) -> np.ndarray:
        return _array(data, kind, shape, order)

    def _scalar(self, kind: _Type, data: bytes) -> np.generic:
        return _array(data, kind, (), "C").reshape(1)[0]

    def _jax_array(
        self, function: object, arguments: object, state: tuple, _: object
    ) -> _Array:
        """A JAX array pickles as how to make a NumPy one; that is what it becomes."""
        array = _Array()
        array.__setstate__(state)
        return array

    def _lists(self, _: object) -> defaultdict:
        return defaultdict(list)


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
    """The content with its arrays and signatures in their places.

    A container that contains itself never ends.
    """
    if isinstance(value, _Array):
        return value.value
    if isinstance(value, SimpleNamespace):
        return signature(tuple(value.shape), value.dtype.dtype)
    if isinstance(value, _PLAIN):
        return value
    if not isinstance(value, (list, tuple, dict)):
        raise Refused("holds a name where a value is expected")
    # The ids stay good: `value` and all in it live until the end.
    if id(value) not in done:
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
