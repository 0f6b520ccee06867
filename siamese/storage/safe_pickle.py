"""Reading a pickle without running it: arrays, numbers, text and plain containers, nothing else.

A pickle is a program for a small stack machine, and Python's own reader calls whatever functions the
program names. Here `pickletools` parses the program and a machine steps through it that has no
instruction to import or to call: the few names that arrays are made of select code of this file, any
other name ends the reading with an error that says it.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from typing import Any

from siamese.errors import CheckpointError
from siamese.storage.plain_values import (
    SCALAR_TYPES,
    Made,
    Name,
    Refused,
    Signature,
    checked_dict,
    checked_key,
    complete,
    finished,
    make_array,
    make_default_dict,
    make_dtype,
    make_jax_array,
    make_signature,
    of_type,
)

__all__ = ["Signature", "read_plain_pickle"]


def read_plain_pickle(data: bytes, where: str) -> Any:
    """The content of a pickle, read without running anything in it.

    Args:
      data: the pickle, any protocol.
      where: the file's name, for messages.

    Returns:
      None, numbers, text, bytes, lists, tuples, sets, dicts, ``defaultdict(list)``, `Signature`, and
      NumPy arrays and scalars (JAX's become NumPy's). Arrays are views of `data`: read-only.

    Raises:
      CheckpointError: for anything else, by its name, and for a damaged file.

    Example:
      >>> import pickle
      >>> read_plain_pickle(pickle.dumps({"step": 3, "names": ("a", "b")}), "a.pkl")
      {'step': 3, 'names': ('a', 'b')}
      >>> try:
      ...     read_plain_pickle(pickle.dumps(print), "a.pkl")
      ... except CheckpointError as error:
      ...     print(str(error)[:44])
      a.pkl was refused: it names 'builtins.print'
    """
    try:
        return finished(_Machine(len(data)).run(data))
    except Refused as reason:
        raise CheckpointError(
            f"{where} was refused: it {reason}. Files of weights hold arrays, numbers, text and plain "
            "containers, nothing that could run code. Nothing in it was run; do not use it unless "
            "you know where it comes from."
        ) from None
    except (
        *(ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError),
        *(RecursionError, MemoryError, EOFError, AssertionError, Warning),
    ) as error:
        raise CheckpointError(
            f"{where} is damaged: it is no whole pickle ({type(error).__name__}). "
            "Use another copy of the file."
        ) from error


class _Machine:
    """The stack machine: one method an instruction with an effect, tables for the plain ones."""

    def __init__(self, size: int):
        self._stack: list[Any] = []
        self._marks: list[int] = []  # The stack's height at each MARK.
        self._memo: dict[int, Any] = {}
        self._size = size
        self._copying_left = 4 * size  # Copies of one memoized value must not outgrow the file.
        self._calls = {
            "numpy dtype": make_dtype,
            "numpy ndarray": lambda shape, dtype, data: Made(
                "array", make_array(dtype, shape, data)
            ),
            "numpy.core.multiarray _reconstruct": lambda *ignored: Made("array"),
            "numpy.core.multiarray scalar": lambda dtype, data: make_array(dtype, (), data)[()],
            "numpy.core.numeric _frombuffer": lambda data, dtype, shape, order: Made(
                "array", make_array(dtype, shape, data, order)
            ),
            "jax._src.array _reconstruct_array": make_jax_array,
            "jax._src.device_array reconstruct_device_array": make_jax_array,
            "trax.shapes ShapeDtype": make_signature,
            "collections defaultdict": make_default_dict,
            "collections OrderedDict": lambda items=(): dict(self._copied(items)),
            "builtins set": lambda items=(): set(map(checked_key, self._copied(items))),
            "builtins frozenset": lambda items=(): frozenset(map(checked_key, self._copied(items))),
            "builtins bytearray": lambda data=b"", *_: bytearray(
                self._copied(of_type(data, bytes))
            ),
            "builtins bytes": lambda data=b"": bytes(self._copied(of_type(data, bytes))),
            "builtins complex": lambda real, imag: complex(
                of_type(real, float), of_type(imag, float)
            ),
            "_codecs encode": self._encode,
        }

    def run(self, data: bytes) -> Any:
        """Steps through the pickle; returns what stands on top of the stack at its end."""
        for opcode, argument, _ in pickletools.genops(data):
            name = opcode.name
            if name in _PUSH_ARGUMENT:
                self._stack.append(argument)
            elif name in _PUSH_NEW:
                self._stack.append(_PUSH_NEW[name]())
            elif name in _FROM_MARK:
                self._stack.append(_FROM_MARK[name](self._pop_to_mark()))
            elif name == "STOP":
                return self._pop()
            else:
                action = getattr(self, f"_do_{name.lower()}", None)
                if action is None:
                    raise Refused(f"uses the pickle instruction {name}")
                action(argument)
        raise EOFError

    def _pop(self) -> Any:
        if self._marks and self._marks[-1] >= len(self._stack):
            raise IndexError
        return self._stack.pop()

    def _pop_to_mark(self) -> list[Any]:
        start = self._marks.pop()
        items = self._stack[start:]
        del self._stack[start:]
        return items

    def _copied(self, value: Any) -> Any:
        self._copying_left -= len(value)
        if self._copying_left < 0:
            raise Refused("copies the same values again and again")
        return value

    def _encode(self, text: str, encoding: str) -> bytes:
        if encoding not in ("latin1", "latin-1"):
            raise Refused(f"encodes text as {encoding!r}")
        return self._copied(of_type(text, str)).encode("latin-1")

    def _named(self, module: str, attribute: str) -> Name:
        known = module.replace("numpy._core", "numpy.core").replace("__builtin__", "builtins")
        text = f"{known} {attribute}"
        if text not in self._calls and text not in SCALAR_TYPES and text != "builtins list":
            raise Refused(f"names {f'{module}.{attribute}'[:200]!r}")
        return Name(text)

    def _do_proto(self, argument):
        if argument > 5:
            raise Refused(f"is of the unknown pickle protocol {argument}")

    def _do_frame(self, argument):
        if argument > self._size:
            raise EOFError

    def _do_mark(self, argument):
        self._marks.append(len(self._stack))

    def _do_pop(self, argument):
        if self._marks and self._marks[-1] == len(self._stack):
            self._marks.pop()
        else:
            self._pop()

    def _do_pop_mark(self, argument):
        self._pop_to_mark()

    def _do_dup(self, argument):
        self._stack.append(self._stack[-1])

    def _do_put(self, argument):
        self._memo[argument] = self._stack[-1]

    _do_binput = _do_long_binput = _do_put

    def _do_memoize(self, argument):
        self._memo[len(self._memo)] = self._stack[-1]

    def _do_get(self, argument):
        self._stack.append(self._memo[argument])

    _do_binget = _do_long_binget = _do_get

    def _do_tuple1(self, argument):
        self._stack.append((self._pop(),))

    def _do_tuple2(self, argument):
        second, first = self._pop(), self._pop()
        self._stack.append((first, second))

    def _do_tuple3(self, argument):
        third, second, first = self._pop(), self._pop(), self._pop()
        self._stack.append((first, second, third))

    def _do_append(self, argument):
        item = self._pop()
        of_type(self._stack[-1], list).append(item)

    def _do_appends(self, argument):
        items = self._pop_to_mark()
        of_type(self._stack[-1], list).extend(items)

    def _do_setitem(self, argument):
        value, key = self._pop(), self._pop()
        of_type(self._stack[-1], dict)[checked_key(key)] = value

    def _do_setitems(self, argument):
        items = self._pop_to_mark()
        of_type(self._stack[-1], dict).update(checked_dict(items))

    def _do_additems(self, argument):
        items = self._pop_to_mark()
        of_type(self._stack[-1], set).update(map(checked_key, items))

    def _do_global(self, argument):
        self._stack.append(self._named(*argument.split(" ", 1)))

    def _do_inst(self, argument):
        raise Refused(f"names {argument.replace(' ', '.')[:200]!r}")

    def _do_stack_global(self, argument):
        attribute, module = of_type(self._pop(), str), of_type(self._pop(), str)
        self._stack.append(self._named(module, attribute))

    def _do_reduce(self, argument):
        arguments, called = of_type(self._pop(), tuple), self._pop()
        if not isinstance(called, Name) or called.text not in self._calls:
            raise Refused("calls something that is no part of an array")
        self._stack.append(self._calls[called.text](*arguments))

    def _do_newobj(self, argument):
        arguments, made = self._pop(), self._pop()
        if made != Name("trax.shapes ShapeDtype") or arguments != ():
            raise Refused("makes an object that is no part of an array")
        self._stack.append(Made("signature"))

    def _do_build(self, argument):
        state = self._pop()
        complete(of_type(self._stack[-1], Made), state)


_PUSH_ARGUMENT = frozenset(
    [
        "INT",
        "BININT",
        "BININT1",
        "BININT2",
        "LONG",
        "LONG1",
        "LONG4",
        "FLOAT",
        "BINFLOAT",
        "STRING",
        "BINSTRING",
        "SHORT_BINSTRING",
        "UNICODE",
        "SHORT_BINUNICODE",
        "BINUNICODE",
        "BINUNICODE8",
        "BINBYTES",
        "SHORT_BINBYTES",
        "BINBYTES8",
        "BYTEARRAY8",
    ]
)
_PUSH_NEW: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "EMPTY_DICT": dict,
    "EMPTY_SET": set,
}
_FROM_MARK: dict[str, Callable[[list[Any]], Any]] = {
    "LIST": list,
    "TUPLE": tuple,
    "DICT": checked_dict,
    "FROZENSET": lambda items: frozenset(map(checked_key, items)),
}
