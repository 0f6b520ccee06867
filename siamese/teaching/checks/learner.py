"""A learner's function under test: its blanks, its errors, its line, and a limit on its time."""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import linecache
import os
import re
import signal
import textwrap
import threading
import traceback
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
    "one_shot": {"OneShotClassifier"},
}


class NotWritten(Exception):
    """The exercise still has its blanks, or is not the learner's own work."""


class TooSlow(BaseException):
    """The time of a case is over. Not an Exception: a learner's `except Exception` must not keep it."""


class Learner:
    """Calls the learner's function.

    Args:
      fn: what the learner handed in.
      name: what the exercise calls it.

    Raises:
      NotWritten: it is not a function, or the library's own.
    """

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
        self.file = code.co_filename if code else ""
        self.stopped = False  # whether the case ended with an error
        self.result: Any = ...  # of the last call
        self.too_slow = 0
        self.memo: dict = {}  # what a check wants to make once for several cases

    def __call__(self, *arguments, **options):
        """Calls the function."""
        self.result = ...
        self.result = self.fn(*arguments, **options)
        return self.result

    def once(self, key: Any, make: Callable) -> Any:
        """What `make` gives, made once for all cases; an error is raised again in each."""
        if key not in self.memo:
            try:
                self.memo[key] = make(), None
            except BaseException as error:
                self.memo[key] = None, error
        value, error = self.memo[key]
        if error is not None:
            raise error
        return value

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
        body = tree.body[0].body if isinstance(tree.body[0], ast.FunctionDef) else []
        if body and all(isinstance(node, ast.Pass) or _is_text(node) for node in body):
            return "its body is empty"
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


_PROPER = ast.arguments, ast.Compare, ast.List, ast.Dict


def _nones(tree: ast.AST, stopped: bool) -> list[ast.Constant]:
    """Constants None where code belongs: a name's only value, and anywhere once the case stopped.

    Defaults, comparisons, ``x[:, None]``, ``axis=None`` and ``return None`` are proper code.
    """
    nodes, proper = list(ast.walk(tree)), []
    targets = [target for node in nodes for target in _targets(node)]
    for node in nodes:
        if isinstance(node, ast.Assign):
            often = targets.count(ast.unparse(node.targets[0])) > 1
            proper += [node.value] if often else []
        elif isinstance(node, ast.Return) or (isinstance(node, ast.keyword) and node.arg == "axis"):
            proper += [node.value]
        elif isinstance(node, ast.Subscript):
            proper += ast.walk(node.slice)
        elif isinstance(node, _PROPER) or not (stopped or isinstance(node, ast.Tuple)):
            proper += ast.iter_child_nodes(node)
    return [n for n in nodes if isinstance(n, ast.Constant) and n.value is None and n not in proper]


def _targets(node: ast.AST) -> list[str]:
    """The names that a statement gives a value."""
    found = getattr(node, "targets", None) or [getattr(node, "target", None)]
    return [ast.unparse(target) for target in found if target is not None]


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


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
    said = f"{kind}: {text}" if text else kind
    frames = traceback.extract_tb(error.__traceback__)
    frames = [frame for frame in frames if not frame.filename.startswith(HERE)]
    own = [frame for frame in frames if frame.filename == file] or frames[:1]
    if own:
        linecache.checkcache(own[-1].filename)
        line = (own[-1].line or "").strip()
        said += f"\nin line {own[-1].lineno}" + (f": {line}" if line else "")
    return said


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
