"""Trax's import: quick and quiet, without TensorFlow and Gym, and mended at its end.

`import siamese.course` calls `import_trax`; nothing else does.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from siamese.course.trax.standins import standing_in
from siamese.system.process import keeping_generators

ASSERT_SHAPE = "trax.layers.assert_shape"  # It scans all loaded modules for each call.
REAL_STACK = inspect.stack
REAL_GETFRAMEINFO = inspect.getframeinfo

# What was mended, for `siamese doctor`: name of the thing -> why.
mended: dict[str, str] = {}


@keeping_generators()
def import_trax() -> types.ModuleType | None:
    """Imports Trax and mends it; None where it is not installed.

    An import of Trax that failed before is cleared. Trax that is there already is
    mended.
    """
    import jax

    mend(_old_names, jax)
    # Trax opens GzipFile on a file object without naming the mode; it has the right
    # one.
    warnings.filterwarnings(
        "ignore", message="GzipFile was opened for writing", module=r"trax(\.|$)"
    )
    # NumPy functions that Trax's own code calls by their old names.
    warnings.filterwarnings(
        "ignore", category=DeprecationWarning, module=r"(trax|gin|gym)(\.|$)"
    )
    if "trax" not in sys.modules:
        _clear_half_imported()
        try:
            with _easing_import():
                importlib.import_module("trax")
        except ModuleNotFoundError as error:
            if error.name != "trax":
                raise
            return None
    mend(_answer_assert_shape_quickly, sys.modules[ASSERT_SHAPE])
    mend(_import_without_tensorflow)
    for repair in importlib.import_module("siamese.course.trax.mends").MENDS:
        mend(repair)
    return sys.modules["trax"]


def mend(action: Callable[..., None], *arguments: object) -> None:
    """Calls a function whose docstring says "what: why" for `siamese doctor`."""
    action(*arguments)
    name, _, why = " ".join((action.__doc__ or "").split()).rstrip(".").partition(": ")
    mended[name] = why


def _clear_half_imported() -> None:
    """Forgets what a failed import of Trax left: its parts, and the names that they gave Gin."""
    left = [name for name in sys.modules if name.startswith("trax.")]
    if left:
        left += [name for name in sys.modules if name.partition(".")[0] == "gin"]
    for name in left:
        del sys.modules[name]


@contextmanager
def _easing_import() -> Iterator[None]:
    """Around the run of ``trax/__init__.py``: stand-ins, no banners, no other backend of matplotlib."""
    # Trax switches to a backend without a window, which would blank a notebook's plots.
    with (
        mock.patch("matplotlib.use"),
        mock.patch.multiple(inspect, stack=_stack, getframeinfo=_getframeinfo),
        standing_in(),
        warnings.catch_warnings(),
    ):
        # Trax's and its libraries' own old code, not the user's.
        for category in (DeprecationWarning, FutureWarning, SyntaxWarning):
            warnings.filterwarnings("ignore", category=category)
        yield


def _stack(*arguments: Any, **options: Any) -> list:
    """`inspect.stack`, of which Trax wants the caller of its own function alone."""
    caller = sys._getframe(1)
    if caller.f_globals.get("__name__") == ASSERT_SHAPE:
        return [None, (caller.f_back,)]
    return REAL_STACK(*arguments, **options)[1:]


def _getframeinfo(frame: Any, *arguments: Any, **options: Any) -> Any:
    """`inspect.getframeinfo`, of which Trax wants file and line alone."""
    if sys._getframe(1).f_globals.get("__name__") == ASSERT_SHAPE:
        return types.SimpleNamespace(
            filename=frame.f_code.co_filename, lineno=frame.f_lineno
        )
    return REAL_GETFRAMEINFO(frame, *arguments, **options)


def _answer_assert_shape_quickly(assert_shape: types.ModuleType) -> None:
    """inspect.stack of trax.layers.assert_shape: 65 calls make `import trax` take about a minute."""
    quick = types.SimpleNamespace(
        stack=_stack, getframeinfo=_getframeinfo, isclass=inspect.isclass
    )
    vars(assert_shape)["inspect"] = quick


def _import_without_tensorflow() -> None:
    """trax: an import without TensorFlow, the banners of old code and another backend of matplotlib."""


def _old_names(jax: types.ModuleType) -> None:
    """jax.host_count, jax.interpreters.xla.DeviceArray: leaving or gone; Loop or the course ask for it."""
    # Its own warns, for Trax's user to read.
    vars(jax)["host_count"] = jax.process_count
    xla = importlib.import_module("jax.interpreters.xla")
    vars(xla).update(DeviceArray=jax.Array, _DeviceArray=jax.Array)
