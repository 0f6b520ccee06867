"""A learner's function under test: its blanks, its errors, its line, and a limit on its time."""

from __future__ import annotations

import ast
import contextlib
import dis
import functools
import inspect
import linecache
import os
import re
import signal
import textwrap
import threading
import traceback
import types
from collections.abc import Callable, Iterator
from typing import Any

# Where the frames of the checks themselves come from; `siamese grade` runs them from text.
HERE = (
    "<siamese.checks",
    os.path.dirname(os.path.abspath(globals().get("__file__", "/siamese/checks/learner.py"))),
)


# What of the library does an exercise's work: calling it is no solution.
SAME_WORK = {
    "normalize": {"l2_normalize"},
    "shared_towers": {"Siamese"},
    "TripletLossFn": {"TripletLoss", "loss_from_scores"},
    "symmetric_loss": {"TripletLossFn", "TripletLoss", "loss_from_scores"},
}


class NotWritten(Exception):
    """The exercise still has its blanks, or is not the learner's own work."""


class TooSlow(BaseException):
    """The time of a case is over. Not an Exception: a learner's `except Exception` must not keep it."""


class Learner:
    """Calls the learner's function; raises `NotWritten` for what is none, or is the library's own."""

    def __init__(self, fn: Any, name: str):
        if not callable(fn):
            raise NotWritten(f"{name} is not a function but {type(fn).__name__}")
        plain = _plain(fn)
        module = str(getattr(plain, "__module__", ""))
        if module.split(".")[0] in ("siamese", "trax"):
            raise NotWritten(f"this is the function of {module}: write your own")
        code = getattr(plain, "__code__", None)
        borrowed = _borrowed(plain, {name, *SAME_WORK.get(name, ())}) if code else ""
        if borrowed:
            raise NotWritten(f"it calls the library's own {borrowed}: write your own")
        self.fn, self.name = fn, name
        self.unused = _unused(code) - {"mode"} if code else set()  # mode: Siamese may leave it
        self.file = code.co_filename if code else ""
        self.stopped = False  # whether the case ended with an error
        self.result: Any = ...  # of the last call
        self.too_slow = 0
        self.memo: dict = {}  # what a check wants to make once for several cases

    def __call__(self, *arguments, **options):
        """The result."""
        self.result = ...
        self.result = self.fn(*arguments, **options)
        return self.result

    def once(self, key: Any, make: Callable) -> Any:
        """What `make` gives, made once for all cases."""
        if key not in self.memo:
            self.memo[key] = make()
        return self.memo[key]

    def blank(self) -> str:
        """What shows that the learner's code is still missing; empty where nothing does."""
        nothing = "it returned None; is `return` missing?" if self.result is None else ""
        try:
            source = textwrap.dedent(inspect.getsource(self.fn))
            tree = ast.parse(source)
        except (OSError, TypeError, SyntaxError):
            return nothing
        for value in _nones(tree, self.stopped):
            return f"there is a None to replace: {source.splitlines()[value.lineno - 1].strip()}"
        returned = [node.value for node in ast.walk(tree) if isinstance(node, ast.Return)]
        if any(value is not None and ast.unparse(value) != "None" for value in returned):
            return ""  # None may be an answer, if a wrong one.
        return nothing


def _plain(fn: Any) -> Any:
    """The function inside wrappers and partials."""
    try:
        fn = inspect.unwrap(fn)
        while isinstance(fn, functools.partial):
            fn = inspect.unwrap(fn.func)
    except ValueError:  # It wraps itself.
        pass
    return fn


def _unused(code: types.CodeType) -> set[str]:
    """Names of arguments that are not read, or that get another value first."""
    first: dict[str, str] = {}
    for step in dis.get_instructions(code):
        names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
        for name in names if step.opname not in ("MAKE_CELL", "LOAD_CONST") else ():
            if isinstance(name, str):
                first.setdefault(name, step.opname)
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return {name for name in arguments if first.get(name, "STORE").startswith("STORE")}


def _borrowed(fn: Any, names: set[str]) -> str:
    """Which of the library's functions of those names the function calls; empty for none."""
    used: set[str] = set()
    waiting = [fn.__code__]
    while waiting:
        code = waiting.pop()
        used.update(part for name in code.co_names for part in name.split("."))
        waiting += [constant for constant in code.co_consts if inspect.iscode(constant)]
    found = used & names if "siamese" in used else set()
    for value in map(fn.__globals__.get, used):
        if str(getattr(value, "__module__", "")).startswith("siamese."):
            found |= {getattr(value, "__name__", "")} & names
    return min(found, default="")


_USES = ast.Call, ast.keyword, ast.Starred, ast.For, ast.If, ast.While, ast.BinOp, ast.Attribute


def _nones(tree: ast.AST, stopped: bool) -> list[ast.Constant]:
    """Constants None where code belongs: a name's only value, and what is used once the case stopped.

    Defaults, comparisons, ``x[:, None]``, ``axis=None`` and ``return None`` are proper code.
    """
    nodes, found = list(ast.walk(tree)), []
    inside = [part for n in nodes if isinstance(n, ast.Subscript) for part in ast.walk(n.slice)]
    given = [getattr(n, "targets", [getattr(n, "target", None)])[0] for n in nodes]
    targets = [ast.unparse(target) for target in given if target is not None]
    for node in nodes:
        if isinstance(node, ast.Assign):
            place = targets.count(ast.unparse(node.targets[0])) == 1
        else:
            place = isinstance(node, ast.Tuple) or (stopped and isinstance(node, _USES))
        if place and getattr(node, "arg", "") != "axis":
            parts = [part for part in ast.iter_child_nodes(node) if part not in inside]
            found += [p for p in parts if isinstance(p, ast.Constant) and p.value is None]
    return found


def describe_error(error: BaseException, file: str = "") -> str:
    """The error in one line, with the learner's line that raised it."""
    kind, text = type(error).__name__, " ".join(str(error).split())
    if kind == "LayerError":  # Trax puts a whole traceback into the message; its end is the error.
        lines = [line.strip() for line in str(error).splitlines()]
        told = [line for line in lines if re.match(r"[\w.]+(Error|Exception)\b", line)]
        error = error.__context__ or error
        kind, _, text = (told[-1] if told else f"LayerError: {lines[-1]}").partition(": ")
        kind = kind.split(".")[-1]
    text = text if len(text) <= 300 else text[:300] + " ..."
    described = f"{kind}: {text}" if text else kind
    frames = traceback.extract_tb(error.__traceback__)
    frames = [frame for frame in frames if not frame.filename.startswith(HERE)]
    own = [frame for frame in frames if frame.filename == file] or frames[:1]
    if own:
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
