"""A function under test: what it changes, its blanks, its errors and its line."""

from __future__ import annotations

import ast
import copy
import dis
import inspect
import linecache
import re
import textwrap
import traceback
from collections import Counter
from collections.abc import Callable
from types import CodeType
from typing import TypeAlias

import numpy as np

from .results import same

# A learner's function, or one in its place: what it takes and gives is what is checked.
Function: TypeAlias = Callable[..., object]


class NotWritten(Exception):
    """The exercise still has its blanks, or its answer is the library's own function."""


class Watched:
    """Calls a function with copies of its arguments, and remembers which of them it changed."""

    def __init__(self, fn: Function):
        self.fn = fn
        # (Arguments as they were, arguments as they were passed).
        self._calls: list[tuple[tuple[object, ...], tuple[object, ...]]] = []

    def __call__(self, *arguments: object, **options: object) -> object:
        """The function's result."""
        passed = copy.deepcopy(arguments)
        self._calls.append((arguments, passed))
        return self.fn(*passed, **options)

    def changed(self) -> int | None:
        """The place of the first argument that a call changed."""
        for arguments, passed in self._calls:
            for place, (before, after) in enumerate(zip(arguments, passed)):
                can_change = isinstance(before, (list, dict, np.ndarray))
                if can_change and not same(before, after, 0):
                    return place
        return None


class Learner(Watched):
    """The learner's function; NotWritten where it is none, or is the library's own."""

    def __init__(self, fn: object, name: str):
        if not callable(fn):
            raise NotWritten(f"{name} is not a function but {type(fn).__name__}")
        super().__init__(fn)
        module = str(getattr(fn, "__module__", ""))
        if module.split(".")[0] in ("siamese", "trax"):
            raise NotWritten(f"this is the function of {module}: write your own")
        code = getattr(fn, "__code__", None)
        # Names of arguments that it does not read.
        self.unused = _unused(code) if code else set()
        self.file = code.co_filename if code else ""  # where its lines stand
        self.text = code_of(fn)  # without docstring and comments

    def notebook_variables(self) -> list[str]:
        """Names of the notebook's lists, arrays, tables and numbers that the function reads."""
        code = getattr(self.fn, "__code__", None)
        scope = getattr(self.fn, "__globals__", {})
        kinds = (list, tuple, dict, np.ndarray, int, float)
        names = _names(code) if code else []
        return [name for name in names if isinstance(scope.get(name), kinds)]

    def blank(self, stopped: bool, nothing: bool) -> str:
        """What shows that the learner's code is missing; empty where nothing does.

        The first case `stopped`, with an error, or gave `nothing`, None.
        """
        line = blank_line(self.fn, stopped)
        if line:
            return f"there is a None to replace: {line}"
        if stopped and "raise NotImplementedError" in source_of(self.fn):
            return "it raises NotImplementedError"
        returns = re.search(
            r"\breturn (?!None\b)|\byield\b|\blambda\b", source_of(self.fn)
        )
        if nothing and source_of(self.fn) and not returns:
            return "it returned None; is `return` missing?"
        return ""


def source_of(fn: Function) -> str:
    """The text of a function; empty where there is none, as for np.dot."""
    try:
        return textwrap.dedent(inspect.getsource(fn))
    except (OSError, TypeError):
        return ""


def code_of(fn: Function) -> str:
    """The text of a function without its docstring and comments; empty where there is none."""
    try:
        tree = ast.parse(source_of(fn))
    except SyntaxError:  # a lambda inside a call
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def _names(code: CodeType) -> list[str]:
    """Names that the code, and the functions in it, look up outside."""
    inner = [const for const in code.co_consts if inspect.iscode(const)]
    steps = dis.get_instructions(code)
    names = [step.argval for step in steps if step.opname == "LOAD_GLOBAL"]
    return [*names, *(name for part in inner for name in _names(part))]


def _unused(code: CodeType) -> set[str]:
    """Names of arguments that are not read."""
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    loaded = set()
    for step in dis.get_instructions(code):
        if "LOAD" in step.opname and "CONST" not in step.opname:
            # From Python 3.13 on a step may load two names.
            loaded |= set(
                step.argval if isinstance(step.argval, tuple) else (step.argval,)
            )
    return set(arguments) - loaded


_USES = (
    ast.Call
    | ast.keyword
    | ast.Starred
    | ast.BinOp
    | ast.Attribute
    | ast.For
    | ast.If
    | ast.While
)


def blank_line(fn: Function, stopped: bool = False) -> str:
    """The function's first line with None where code belongs; empty where there is none.

    That is the only value of a name or of names, and a part of a use once a call
    stopped. Defaults, comparisons, ``x[:, None]``, ``axis=None`` and ``return None``
    are proper code.
    """
    source = source_of(fn)
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except SyntaxError:  # a lambda inside a call
        return ""
    names = [node for node in nodes if isinstance(node, ast.Name)]
    stored = Counter(name.id for name in names if isinstance(name.ctx, ast.Store))
    for node in nodes:
        if isinstance(node, ast.Assign):
            targets = [
                name for name in ast.walk(node.targets[0]) if isinstance(name, ast.Name)
            ]
            may_be_blank = all(stored[name.id] < 2 for name in targets)
        else:
            may_be_blank = stopped and isinstance(node, _USES)
        if not may_be_blank or getattr(node, "arg", "") == "axis":
            continue
        whole: ast.AST = node
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
            whole = node.value
        for part in ast.iter_child_nodes(whole):
            if isinstance(part, ast.Constant) and part.value is None:
                return source.splitlines()[part.lineno - 1].strip()
    return ""


def describe_error(error: BaseException, file: str) -> str:
    """The error in one line, and the learner's line that raised it."""
    description = type(error).__name__
    text = " ".join(str(error).split())
    if len(text) > 300:
        text = f"{text[:300]} ..."
    if text:
        description += f": {text}"
    frames = traceback.extract_tb(error.__traceback__)
    frames_of_learner = [frame for frame in frames if frame.filename == file]
    if frames_of_learner:
        last = frames_of_learner[-1]
        linecache.checkcache(last.filename)
        description += f"\nin line {last.lineno}"
        line = (last.line or "").strip()
        if line:
            description += f": {line}"
    return description
