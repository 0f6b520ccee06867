"""Reading a pickle without running it: arrays, numbers, text and plain containers, nothing else.

A pickle is a program for a small stack machine. Python's `pickletools` takes it apart without running it.
The machine here has the instructions that push values and fill containers. No name is imported: the few
that arrays are made of stand for functions of this file, and the rest is refused.
"""

from __future__ import annotations

import math
import pickle
import pickletools
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

from siamese.errors import CheckpointError
from siamese.storage.trees import dtype_named

_MAX_INSTRUCTIONS = 2_000_000  # Some seconds; a model's file has some thousands.
_MAX_VALUES = 2_000_000  # A value used twice counts twice: bounds what walking the result costs.
_MAX_DEPTH = 200
_DTYPE = re.compile(r"[<|=]?(\?|b1|[iu][1248]|f[248]|c8|c16)|bfloat16")
_SCALAR = re.compile(r"numpy (bool_?|u?int(8|16|32|64)|float(16|32|64)|complex(64|128))")


def read_plain_pickle(data: bytes, where: str, signature: Callable = lambda *of: of) -> Any:
    """The content of a pickle, read without running anything in it.

    Args:
      data: the pickle, any protocol.
      where: the file's name, for messages.
      signature: function (shape, dtype) -> what stands for Trax's ShapeDtype of a model's input.

    Returns:
      None, numbers, text, bytes, lists, tuples, dicts with names as keys, ``defaultdict(list)``, and NumPy
      arrays and scalars (JAX's become NumPy's).

    Raises:
      CheckpointError: anything else, by its name; a damaged file; one of more than 2 million instructions.

    Example:
      >>> read_plain_pickle(pickle.dumps({"step": 3, "names": ("a", "b")}), "a.pkl")
      {'step': 3, 'names': ('a', 'b')}
    """
    try:
        return _finished(_run(data), signature)
    except _Refused as reason:
        raise CheckpointError(
            f"{where} was refused: it {reason}. Files of weights hold arrays, numbers, text and plain "
            "containers, nothing that could run code. Nothing in it was run; do not use it unless "
            "you know where it comes from."
        ) from None
    except (ValueError, TypeError, LookupError, OverflowError, MemoryError) as error:
        raise CheckpointError(
            f"{where} is damaged: it is not a complete pickle ({type(error).__name__}). "
            "Use another copy of the file."
        ) from error


class _Refused(Exception):
    """Something that a file of weights never holds; the message follows "it"."""


def _run(data: bytes) -> Any:
    """The machine: what the instructions leave on the stack, with the parts of arrays in it."""
    stack, below, memo, copied = [], [], {}, 0

    def since_mark() -> list[Any]:
        nonlocal stack
        items, stack = stack, below.pop()
        return items

    for steps, (instruction, value, _) in enumerate(pickletools.genops(data)):
        if steps == _MAX_INSTRUCTIONS:
            raise _Refused(f"has more than {_MAX_INSTRUCTIONS:,} instructions")
        name = instruction.name
        if name in _LITERALS:
            stack.append(value)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in ("EMPTY_LIST", "EMPTY_DICT"):
            stack.append([] if name == "EMPTY_LIST" else {})
        elif name == "MEMOIZE" or name.endswith("PUT"):
            memo[len(memo) if value is None else value] = stack[-1]
        elif name.endswith("GET"):
            stack.append(memo[value])
        elif name == "MARK":
            if len(below) > _MAX_DEPTH:
                raise _Refused("is nested too deeply")
            below.append(stack)
            stack = []
        elif name == "POP_MARK" or (name == "POP" and not stack):
            since_mark()
        elif name == "POP":
            stack.pop()
        elif name == "DUP":
            stack.append(stack[-1])
        elif name in _MAKERS:
            items = since_mark()  # Before the stack is looked up: it is another one then.
            stack.append(_MAKERS[name](items))
        elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
            items = [stack.pop() for _ in range(int(name[-1]))]
            stack.append(tuple(reversed(items)))
        elif name in ("APPEND", "APPENDS"):
            items = [stack.pop()] if name == "APPEND" else since_mark()
            _is(stack[-1], list).extend(items)
        elif name in ("SETITEM", "SETITEMS"):
            items = [stack.pop(), stack.pop()][::-1] if name == "SETITEM" else since_mark()
            _is(stack[-1], dict).update(_dict(items))
        elif name == "GLOBAL":
            stack.append(_named(value))
        elif name == "STACK_GLOBAL":
            attribute, module = stack.pop(), stack.pop()
            stack.append(_named(f"{_is(module, str)} {_is(attribute, str)}"))
        elif name == "REDUCE":
            arguments, function = stack.pop(), stack.pop()
            made = _is(function, FunctionType)(*arguments)
            copied += len(made) if isinstance(made, bytes) else 0
            if copied > len(data):
                raise _Refused("copies the same values again and again")
            stack.append(made)
        elif name == "NEWOBJ":
            if (stack.pop(), stack.pop()) != ((), _NAMES["trax.shapes ShapeDtype"]):
                raise _Refused("makes an object that is not part of an array")
            stack.append(_Part(_built_signature))
        elif name == "BUILD":
            state, part = stack.pop(), _is(stack[-1], _Part)
            part.value = part.build(part.value, state)
        elif name in ("PROTO", "FRAME"):
            if value > (pickle.HIGHEST_PROTOCOL if name == "PROTO" else len(data)):
                raise ValueError
        elif name != "STOP":
            raise _Refused(f"uses the pickle instruction {name}")
    return stack.pop()


def _finished(content: Any, signature: Callable) -> Any:
    """The content with its arrays in their places; refuses names, cycles, depth and vast sharing."""
    done: dict[int, tuple[Any, int]] = {}  # id of a container -> what it becomes, values in it
    above: set[int] = set()

    def finish(value: Any) -> tuple[Any, int]:
        if not isinstance(value, (list, tuple, dict)):
            if isinstance(value, (FunctionType, type)):
                raise _Refused("holds a name where a value is expected")
            if isinstance(value, _Part):
                made = _is(value.value, (np.ndarray, tuple))
                value = signature(*made) if isinstance(made, tuple) else made
            return value, 1
        if id(value) not in done:
            if id(value) in above or len(above) > _MAX_DEPTH:
                raise _Refused("holds a container that contains itself, or is nested too deeply")
            above.add(id(value))
            children, count = [], 1
            for child in value.values() if isinstance(value, dict) else value:
                finished, inside = finish(child)
                children.append(finished)
                count += inside
                if count > _MAX_VALUES:
                    raise _Refused(f"unfolds to more than {_MAX_VALUES:,} values")
            above.discard(id(value))
            if isinstance(value, dict):
                value.update(zip(value, children))
            done[id(value)] = value if isinstance(value, dict) else type(value)(children), count
        return done[id(value)]

    return finish(content)[0]


# ---- Parts, each checked before it is made ----


@dataclass
class _Part:
    """What is in the making: BUILD calls `build` (value, state) -> value."""

    build: Callable[[Any, Any], Any]
    value: np.ndarray | np.dtype | tuple | None = None  # A tuple (shape, dtype) is a signature.


def _built_dtype(dtype: np.dtype, state: Any) -> np.dtype:
    _, byte_order, subdtype, names, fields, *_ = state
    if (subdtype, names, fields) != (None, None, None) or len(state) > 8:
        raise _Refused("holds an array of records, not of numbers")
    if byte_order not in ("<", "=", "|"):
        raise _Refused("holds an array in another machine's byte order")
    return dtype


def _built_array(nothing: None, state: Any) -> np.ndarray:
    _is(nothing, type(None))
    *_, shape, dtype, by_columns, data = _is(state, tuple)
    return _array(shape, dtype, data, "F" if by_columns else "C")


def _built_signature(nothing: None, state: Any) -> tuple[tuple, np.dtype]:
    fields = state[1] if isinstance(state, tuple) else state
    shape = _is(fields["shape"], (tuple, list))
    if not all(n is None or (type(n) is int and n >= 0) for n in shape):
        raise ValueError
    return tuple(shape), _dtype(fields["dtype"]).value


def _is(value: Any, wanted: type | tuple[type, ...]) -> Any:
    if not isinstance(value, wanted):
        raise TypeError
    return value


def _dict(items: list[Any]) -> dict[str, Any]:
    """A dict from keys and values in turn."""
    for key in items[::2]:
        if not isinstance(key, str):  # Numbers can be chosen to collide.
            raise _Refused(f"has a {type(key).__name__} as a key")
    return dict(zip(items[::2], items[1::2], strict=True))


def _dtype(spec: Any, *flags: Any) -> _Part:
    if isinstance(spec, _Part):
        return _Part(_built_dtype, _is(spec.value, np.dtype))
    if _DTYPE.fullmatch(_is(spec, str)):
        return _Part(_built_dtype, dtype_named(spec))
    raise _Refused(f"holds an array of the type {spec[:60]!r}, not of numbers")


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


def _jax_array(function: Any, arguments: Any, state: Any, ignored: Any) -> np.ndarray:
    """A JAX array pickles as how to make a NumPy one; that is what it becomes."""
    return _built_array(None, state)


def _default_dict(factory: Any = None) -> dict[Any, Any]:
    """A ``defaultdict(list)``, which Trax's history is made of; no other."""
    if factory is not list:
        raise _Refused("holds a defaultdict of something else than lists")
    return defaultdict(list)


def _encode(text: str, encoding: str) -> bytes:
    if encoding not in ("latin1", "latin-1"):
        raise _Refused(f"encodes text as {encoding!r}")
    return _is(text, str).encode("latin-1")


def _named(name: str) -> Any:
    """What stands for "module attribute" in this file; the machine can call nothing else."""
    known = name.replace("numpy._core", "numpy.core").replace("__builtin__", "builtins")
    if _SCALAR.fullmatch(known) or known in _BFLOAT16:
        return _Part(_built_dtype, dtype_named(known.split()[1].rstrip("_")))
    if known not in _NAMES:
        raise _Refused(f"names {name.replace(' ', '.')[:200]!r}")
    return _NAMES[known]


_LITERALS = {
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
    *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
}
_BFLOAT16 = ("ml_dtypes bfloat16", "jaxlib.xla_extension bfloat16")
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_MAKERS = {"LIST": list, "TUPLE": tuple, "DICT": _dict}
_NAMES = {
    "numpy dtype": _dtype,
    "numpy ndarray": _array,
    "numpy.core.multiarray _reconstruct": lambda *_: _Part(_built_array),
    "numpy.core.multiarray scalar": lambda dtype, data: _array((), dtype, data)[()],
    "numpy.core.numeric _frombuffer": lambda a, *rest: _array(rest[1], rest[0], a, rest[2]),
    "jax._src.array _reconstruct_array": _jax_array,
    "jax._src.device_array reconstruct_device_array": _jax_array,
    "trax.shapes ShapeDtype": type,  # Made by NEWOBJ alone.
    "collections defaultdict": _default_dict,
    "builtins list": list,
    "builtins bytes": lambda: b"",
    "_codecs encode": _encode,
}
