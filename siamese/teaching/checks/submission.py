"""A function under test: what it changes, its blanks, its errors and its line, a limit on its time."""

from __future__ import annotations

import ast
import contextlib
import copy
import dis
import inspect
import linecache
import re
import signal
import textwrap
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .results import same


class NotWritten(Exception):
    """The exercise still has its blanks, or its answer is the library's own function."""


class TooSlow(BaseException):
    """A case ran out of time. Not an Exception: a learner's `except Exception` must not catch it."""


class Watched:
    """Calls a function with copies of its arguments, and remembers which of them it changed."""

    def __init__(self, fn: Callable):
        self.fn = fn
        self._calls: list[tuple] = []  # (arguments as they were, arguments as they were passed)

    def __call__(self, *arguments, **options):
        """The function's result."""
        passed = copy.deepcopy(arguments)
        self._calls.append((arguments, passed))
        return self.fn(*passed, **options)

    def changed(self) -> int | None:
        """The place of the first argument that a call changed."""
        kinds = list, dict, np.ndarray
        pairs = [pair for call in self._calls for pair in enumerate(zip(*call))]
        return next((i for i, (a, b) in pairs if isinstance(a, kinds) and not same(a, b, 0)), None)


class Learner(Watched):
    """The learner's function; NotWritten where it is none, or is the library's own."""

    def __init__(self, fn: Any, name: str):
        if not callable(fn):
            raise NotWritten(f"{name} is not a function but {type(fn).__name__}")
        super().__init__(fn)
        module = str(getattr(fn, "__module__", ""))
        if module.split(".")[0] in ("siamese", "trax"):
            raise NotWritten(f"this is the function of {module}: write your own")
        code = getattr(fn, "__code__", None)
        self.unused = _unused(code) if code else set()  # names of arguments that it does not read
        self.file = code.co_filename if code else ""  # where its lines stand

    def blank(self, stopped: bool, nothing: bool) -> str:
        """What shows that the learner's code is missing; empty where nothing does.

        The first case `stopped`, with an error, or gave `nothing`, None.
        """
        if line := blank_line(self.fn, stopped):
            return f"there is a None to replace: {line}"
        if stopped and "raise NotImplementedError" in source_of(self.fn):
            return "it raises NotImplementedError"
        written = re.search(r"\breturn (?!None\b)|\byield\b|\blambda\b", source_of(self.fn))
        return "it returned None; is `return` missing?" if nothing and not written else ""


def source_of(fn: Callable) -> str:
    """The text of a function; empty where there is none, as for np.dot."""
    try:
        return textwrap.dedent(inspect.getsource(fn))
    except (OSError, TypeError):
        return ""


def _unused(code) -> set[str]:
    """Names of arguments that are not read."""
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    steps = [
        s for s in dis.get_instructions(code) if "LOAD" in s.opname and "CONST" not in s.opname
    ]
    # From Python 3.13 on a step may load two names.
    loads = [s.argval if isinstance(s.argval, tuple) else (s.argval,) for s in steps]
    return set(arguments).difference(*loads)


_USES = (
    ast.Call | ast.keyword | ast.Starred | ast.BinOp | ast.Attribute | ast.For | ast.If | ast.While
)


def blank_line(fn: Callable, stopped: bool = False) -> str:
    """The function's first line with None where code belongs; empty where there is none.

    That is the only value of a name or of names, and a part of a use once a call stopped. Defaults,
    comparisons, ``x[:, None]``, ``axis=None`` and ``return None`` are proper code.
    """
    source = source_of(fn)
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except SyntaxError:  # a lambda inside a call
        return ""
    stored = [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    for node in nodes:
        if isinstance(node, ast.Assign):
            names = [n.id for n in ast.walk(node.targets[0]) if isinstance(n, ast.Name)]
            place = all(stored.count(name) < 2 for name in names)
        else:
            place = stopped and isinstance(node, _USES)
        if place and getattr(node, "arg", "") != "axis":
            several = isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)
            for part in ast.iter_child_nodes(node.value if several else node):
                if isinstance(part, ast.Constant) and part.value is None:
                    return source.splitlines()[part.lineno - 1].strip()
    return ""


def describe_error(error: BaseException, file: str) -> str:
    """The error in one line, and the learner's line that raised it."""
    kind, text = type(error).__name__, " ".join(str(error).split())
    described = f"{kind}: {text[:300]}{' ...' * (len(text) > 300)}" if text else kind
    frames = traceback.extract_tb(error.__traceback__)
    if own := [frame for frame in frames if frame.filename == file]:
        linecache.checkcache(own[-1].filename)
        line = (own[-1].line or "").strip()
        described += f"\nin line {own[-1].lineno}" + (f": {line}" if line else "")
    return described


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises `TooSlow` in the block after that time, again each second if it was swallowed.

    Works in the main thread on systems with SIGALRM; elsewhere there is no limit here, and
    `siamese grade` has its own from outside.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(number, frame):
        raise TooSlow

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
