"""Reading a pickle without running it: arrays, numbers, text and plain containers, nothing else.

A pickle is a program for a small stack machine. The machine here is Python's own, the one written in
Python, with a table of the instructions that push values and fill containers. No name is imported:
`find_class` knows the few that arrays are made of, gives functions of this file for them, and refuses the
rest.
"""

from __future__ import annotations

import io
import math
import pickle
import pickletools
import re
import struct
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from siamese.errors import CheckpointError
from siamese.storage.trees import dtype_named

_MAX_INSTRUCTIONS = 2_000_000  # Some seconds; a model's file has some thousands.
_MAX_VALUES = 2_000_000  # A value used twice counts twice: bounds what walking the result costs.
_MAX_DEPTH = 200
_MAX_KEY = 1 << 60  # Larger whole numbers can be chosen to collide in a dict.
_NOT_BUILT = np.dtype("V1")  # Of an array whose content an instruction is still to bring.
_DTYPE = re.compile(r"[<>|=]?(\?|b1|[iu][1248]|f[248]|c8|c16)")
_SCALARS = {
    f"numpy {name}": name.rstrip("_")
    for name in (
        *("bool", "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"),
        *("uint64", "float16", "float32", "float64", "complex64", "complex128"),
    )
} | {"ml_dtypes bfloat16": "bfloat16", "jaxlib.xla_extension bfloat16": "bfloat16"}
_PLAIN = (
    *("MARK", "STOP", "POP", "POP_MARK", "DUP", "PROTO", "FRAME", "NONE", "NEWTRUE", "NEWFALSE"),
    *("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE", "GET", "BINGET", "LONG_BINGET"),
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
    *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
    *("LIST", "EMPTY_LIST", "APPEND", "APPENDS", "TUPLE", "EMPTY_TUPLE", "TUPLE1", "TUPLE2"),
    *("TUPLE3", "DICT", "EMPTY_DICT", "SETITEM", "SETITEMS"),
    *("GLOBAL", "STACK_GLOBAL", "REDUCE", "NEWOBJ", "BUILD"),
)


@dataclass
class Signature:
    """Shape and dtype of one model input; stands for Trax's ShapeDtype where Trax is not loaded."""

    shape: tuple[int | None, ...] = ()
    dtype: np.dtype = _NOT_BUILT

    def __setstate__(self, state: Any) -> None:
        fields = state[1] if isinstance(state, tuple) else state
        self.__init__(*_signature_fields(fields["shape"], fields["dtype"]))


def read_plain_pickle(data: bytes, where: str) -> Any:
    """The content of a pickle, read without running anything in it.

    Args:
      data: the pickle, any protocol.
      where: the file's name, for messages.

    Returns:
      None, numbers, text, bytes, lists, tuples, dicts, ``defaultdict(list)``, `Signature`, and NumPy
      arrays and scalars (JAX's become NumPy's).

    Raises:
      CheckpointError: anything else, by its name; a damaged file; one of more than 2 million instructions.

    Example:
      >>> read_plain_pickle(pickle.dumps({"step": 3, "names": ("a", "b")}), "a.pkl")
      {'step': 3, 'names': ('a', 'b')}
    """
    try:
        content = _Reader(data).load()
        _check_plain(content, {}, set())
        return content
    except _Refused as reason:
        raise CheckpointError(
            f"{where} was refused: it {reason}. Files of weights hold arrays, numbers, text and plain "
            "containers, nothing that could run code. Nothing in it was run; do not use it unless "
            "you know where it comes from."
        ) from None
    except (
        *(ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, struct.error),
        *(RecursionError, MemoryError, EOFError, AssertionError, Warning, pickle.UnpicklingError),
    ) as error:
        raise CheckpointError(
            f"{where} is damaged: it is not a complete pickle ({type(error).__name__}). "
            "Use another copy of the file."
        ) from error


class _Refused(Exception):
    """Something that a file of weights never holds; the message follows "it"."""


@dataclass
class _Dtype:
    """A dtype in the making: BUILD sets its byte order."""

    value: np.dtype

    def __setstate__(self, state: Any) -> None:
        _, byte_order, subdtype, names, fields, *_ = state
        if (subdtype, names, fields) != (None, None, None) or len(state) > 8:
            raise _Refused("holds an array of records, not of numbers")
        self.value = self.value.newbyteorder(_is(byte_order, str))


_LIST = object()  # Stands for the name ``list``, which a defaultdict is made with.


class _Instructions(dict):
    """Opcode -> method; counts the steps and refuses what is not in it."""

    steps = 0

    def __getitem__(self, code: int) -> Any:
        self.steps += 1
        if self.steps > _MAX_INSTRUCTIONS:
            raise _Refused(f"has more than {_MAX_INSTRUCTIONS:,} instructions")
        return super().__getitem__(code)

    def __missing__(self, code: int) -> Any:
        known = pickletools.code2op.get(chr(code))
        raise _Refused(f"uses the pickle instruction {known.name if known else code}")


class _Reader(pickle._Unpickler):
    def __init__(self, data: bytes):
        super().__init__(io.BytesIO(data))
        machine, own = pickle._Unpickler.dispatch, vars(_Reader)
        self.dispatch = _Instructions(
            (code, own.get(machine[code].__name__, machine[code]))
            for name in _PLAIN
            for code in getattr(pickle, name)
        )
        self._size = len(data)
        self._copying_left = 4 * len(data)  # Copies of a memoized value must not outgrow the file.
        self._names = {
            "numpy dtype": _dtype,
            "numpy ndarray": _array,
            "numpy.core.multiarray _reconstruct": lambda *_: np.zeros(0, _NOT_BUILT),
            "numpy.core.multiarray scalar": lambda dtype, data: _array((), dtype, data)[()],
            "numpy.core.numeric _frombuffer": lambda a, *rest: _array(rest[1], rest[0], a, rest[2]),
            # A JAX array pickles as how to make a NumPy one; that is what it becomes.
            "jax._src.array _reconstruct_array": self._jax_array,
            "jax._src.device_array reconstruct_device_array": self._jax_array,
            "trax.shapes ShapeDtype": lambda *of: Signature(*_signature_fields(*of)),
            "collections defaultdict": _default_dict,
            "builtins list": _LIST,
            "builtins bytes": lambda: b"",
            "_codecs encode": self._encode,
        }

    def find_class(self, module: str, attribute: str) -> Any:
        """What stands for a name in this file; the machine can call nothing else."""
        known = module.replace("numpy._core", "numpy.core").replace("__builtin__", "builtins")
        name = f"{known} {attribute}"
        if name in _SCALARS:
            return _Dtype(dtype_named(_SCALARS[name]))
        if name not in self._names:
            raise _Refused(f"names {f'{module}.{attribute}'[:200]!r}")
        return self._names[name]

    def load_newobj(self):
        arguments, made = self.stack.pop(), self.stack.pop()
        if made is not self._names["trax.shapes ShapeDtype"] or arguments != ():
            raise _Refused("makes an object that is not part of an array")
        self.append(Signature())

    def load_build(self):
        made, state = self.stack[-2], self.stack.pop()
        if isinstance(made, np.ndarray) and made.dtype == _NOT_BUILT:
            self._fill(made, state)
        elif isinstance(made, (_Dtype, Signature)):
            made.__setstate__(state)
        else:
            raise ValueError

    def _fill(self, made: np.ndarray, state: Any) -> np.ndarray:
        *_, shape, dtype, column_order, data = _is(state, tuple)
        order = "F" if column_order else "C"
        array = _array(shape, dtype, data, order)
        self._copy(data)
        made.__setstate__((1, array.shape, array.dtype, order == "F", array.tobytes(order)))
        return made

    def _jax_array(self, function: Any, arguments: Any, state: Any, ignored: Any) -> np.ndarray:
        return self._fill(np.zeros(0, _NOT_BUILT), state)

    def _encode(self, text: str, encoding: str) -> bytes:
        if encoding not in ("latin1", "latin-1"):
            raise _Refused(f"encodes text as {encoding!r}")
        return self._copy(_is(text, str)).encode("latin-1")

    def _copy(self, value: Any) -> Any:
        self._copying_left -= len(value)
        if self._copying_left < 0:
            raise _Refused("copies the same values again and again")
        return value

    # ---- Instructions with a check of their own ----

    def load_mark(self):
        if len(self.metastack) > _MAX_DEPTH:
            raise _Refused("is nested too deeply")
        super().load_mark()

    def _length(self) -> int:
        (length,) = struct.unpack("<Q", self.read(8))
        if length > self._size:
            raise EOFError
        return length

    def load_frame(self):
        self._unframer.load_frame(self._length())

    def load_bytearray8(self):
        self.append(bytearray(self.read(self._length())))

    def load_dict(self):
        items = self.pop_mark()  # Before self.append is looked up: it changes with the stack.
        self.append(_dict(items))

    def load_setitem(self):
        value, key = self.stack.pop(), self.stack.pop()
        _is(self.stack[-1], dict)[_key(key)] = value

    def load_setitems(self):
        items = _dict(self.pop_mark())
        _is(self.stack[-1], dict).update(items)


# ---- Parts, each checked before it is made ----


def _is(value: Any, wanted: type | tuple[type, ...]) -> Any:
    if not isinstance(value, wanted):
        raise TypeError
    return value


def _key(key: Any) -> Any:
    if isinstance(key, str) or (isinstance(key, int) and abs(key) < _MAX_KEY):
        return key
    raise _Refused(f"has a {type(key).__name__} as a key")


def _dict(items: Any) -> dict[Any, Any]:
    """A dict from keys and values in turn."""
    return {_key(key): value for key, value in zip(items[::2], items[1::2], strict=True)}


def _default_dict(factory: Any = None) -> dict[Any, Any]:
    """A ``defaultdict(list)``, which Trax's history is made of; no other."""
    if factory is not _LIST:
        raise _Refused("holds a defaultdict of something else than lists")
    return defaultdict(list)


def _dtype(spec: Any, *flags: Any) -> _Dtype:
    if isinstance(spec, _Dtype):
        return _Dtype(spec.value)
    if isinstance(spec, str) and (spec == "bfloat16" or _DTYPE.fullmatch(spec)):
        return _Dtype(dtype_named(spec))
    raise _Refused(f"holds an array of the type {str(_is(spec, str))[:60]!r}, not of numbers")


def _array(shape: Any, dtype: Any, data: Any, order: str = "C") -> np.ndarray:
    """An array over `data`, which must have exactly the length that shape and dtype ask for."""
    dtype = _dtype(dtype).value
    if isinstance(data, list):
        raise _Refused("holds an array of Python objects, not of numbers")
    if len(_is(shape, tuple)) > 32 or not all(type(n) is int and n >= 0 for n in shape):
        raise ValueError
    if len(_is(data, (bytes, bytearray))) != math.prod(shape) * dtype.itemsize:
        raise ValueError
    array = np.frombuffer(data, dtype) if data else np.zeros(0, dtype)
    return array.reshape(shape, order={"C": "C", "F": "F"}[order])


def _signature_fields(shape: Any, dtype: Any = "f4") -> tuple[tuple, np.dtype]:
    """What `trax.shapes.ShapeDtype(shape, dtype)` would hold."""
    if not all(n is None or (type(n) is int and n >= 0) for n in _is(shape, (tuple, list))):
        raise ValueError
    return tuple(shape), _dtype(dtype).value


def _check_plain(value: Any, counts: dict[int, int], above: set[int]) -> int:
    """How many values are in `value`; refuses names, cycles, depth and vast sharing."""
    if not isinstance(value, (list, tuple, dict)):
        if value is _LIST or callable(value) or isinstance(value, _Dtype):
            raise _Refused("holds a name where a value is expected")
        if isinstance(value, (np.ndarray, Signature)) and value.dtype == _NOT_BUILT:
            raise ValueError
        return 1
    if id(value) not in counts:
        if id(value) in above or len(above) > _MAX_DEPTH:
            raise _Refused("holds a container that contains itself, or is nested too deeply")
        above.add(id(value))
        count = 1
        for child in value.values() if isinstance(value, dict) else value:
            count += _check_plain(child, counts, above)
            if count > _MAX_VALUES:
                raise _Refused(f"unfolds to more than {_MAX_VALUES:,} values")
        above.discard(id(value))
        counts[id(value)] = count
    return counts[id(value)]
