"""Trax 1.4.1 on today's Python and JAX: a quick and quiet import, and the old names put back.

`prepare()` registers what has to happen around and after the import of a few modules; nothing heavy is
imported by it. When `import trax` runs, now or later, it takes seconds instead of a minute, does not
load TensorFlow or Gym, and finds the names that have since left JAX and Trax. Three modules here have
nothing to do with Trax, and every folder may use them: `progress`, `process` and `atomic`.
"""

from __future__ import annotations

import functools
import importlib
import sys
import types
import warnings
from collections.abc import Callable
from contextlib import contextmanager, nullcontext

from siamese.compat.standins import standing_in

# What was changed, for `siamese doctor`: name of the thing -> why.
patched: dict[str, str] = {}

_after_import: dict[str, list[Callable[[types.ModuleType], None]]] = {}


def prepare() -> None:
    """Arranges for Trax to import quickly and quietly and to find its old names.

    Call it before the first ``import trax``; ``import siamese`` does. Calling it again does nothing,
    and where Trax or JAX are already loaded only the missing names are put back.
    """
    if any(isinstance(finder, _Hooks) for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, _Hooks())
    # Trax opens GzipFile on a file object without naming the mode; it has the right one.
    warnings.filterwarnings(
        "ignore", message="GzipFile was opened for writing", module=r"trax(\.|$)"
    )
    # NumPy functions that Trax's own code calls by their old names.
    warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"(trax|gin|gym)(\.|$)")
    for module, mend in _AFTER.items():
        after_import(module, mend)


def after_import(module: str, action: Callable[[types.ModuleType], None]) -> None:
    """Runs ``action(module)`` whenever that module has been imported: at once where it already is."""
    if module in sys.modules:
        _mend(action, sys.modules[module])
    _after_import.setdefault(module, []).append(action)


def _mend(action: Callable, *module: types.ModuleType) -> None:
    """Calls a function; where it has a docstring, this says "what: why" for `siamese doctor`."""
    action(*module)
    if action.__doc__:
        name, _, why = action.__doc__.rstrip(".").partition(": ")
        patched[name] = why


class _Hooks:
    """Finds the watched modules as usual, and arranges for what happens around their run."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname not in _after_import:
            return None
        # Ask the finders after us. The list itself stays: another thread may be walking through it.
        others = (finder for finder in list(sys.meta_path) if finder is not self)
        specs = (finder.find_spec(fullname, path, target) for finder in others)
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and spec.loader is not None:
            spec.loader.exec_module = functools.partial(_execute, spec.loader)
        return spec


def _execute(loader: importlib.abc.Loader, module: types.ModuleType) -> None:
    """Runs a module, with Trax's import eased, and the registered actions after it."""
    del loader.exec_module  # From here on it is the one of the loader's class again.
    with _easing_import_of_trax() if module.__name__ == "trax" else nullcontext():
        loader.exec_module(module)
    for action in _after_import[module.__name__]:
        _mend(action, module)


@contextmanager
def _easing_import_of_trax():
    """Around the run of ``trax/__init__.py``: stand-ins, no banners, no change of matplotlib's backend."""
    from unittest import mock

    # Trax switches to a backend without a window, which would blank a notebook's plots.
    with mock.patch("matplotlib.use"), standing_in(), warnings.catch_warnings():
        # Trax's and its libraries' own old code, not the user's.
        for category in (DeprecationWarning, FutureWarning, SyntaxWarning):
            warnings.filterwarnings("ignore", category=category)
        yield


# ---- Old names and known faults ----


def _old_names(jax: types.ModuleType) -> None:
    """jax.host_count, jax.interpreters.xla.DeviceArray: leaving or gone; Loop or the course ask for it."""
    jax.host_count = jax.process_count  # Its own warns, for Trax's user to read.
    jax.interpreters.xla.DeviceArray = jax.interpreters.xla._DeviceArray = jax.Array


def _light_inspect(assert_shape: types.ModuleType) -> None:
    """inspect.stack of trax.layers.assert_shape: 65 calls make `import trax` take about a minute."""
    # Its decorators want the caller's file and line only; the real one scans every loaded module.
    assert_shape.inspect = types.SimpleNamespace(
        stack=lambda: [None, (sys._getframe(2),)],  # Trax asks for the caller of its own function.
        getframeinfo=lambda frame: types.SimpleNamespace(
            filename=frame.f_code.co_filename, lineno=frame.f_lineno
        ),
        isclass=assert_shape.inspect.isclass,
    )


def _mend_trax(_: types.ModuleType) -> None:
    """trax: an import without TensorFlow, the banners of old code and another backend of matplotlib."""
    for mend in importlib.import_module("siamese.compat.mends").MENDS:
        _mend(mend)


_AFTER = {"jax": _old_names, "trax.layers.assert_shape": _light_inspect, "trax": _mend_trax}
