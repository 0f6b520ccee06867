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

from siamese.compat import standins

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
    for module, mend in _MENDS.items():
        after_import(module, mend)


def after_import(module: str, action: Callable[[types.ModuleType], None]) -> None:
    """Runs ``action(module)`` whenever that module has been imported: at once where it already is."""
    if module in sys.modules:
        action(sys.modules[module])
    _after_import.setdefault(module, []).append(action)


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
        action(module)


@contextmanager
def _easing_import_of_trax():
    """Around the run of ``trax/__init__.py``: stand-ins, no banners, no change of matplotlib's backend."""
    import matplotlib

    use = matplotlib.use
    # Trax switches to a backend without a window, which would blank a notebook's plots.
    matplotlib.use = lambda *args, **kwargs: None
    try:
        with standins.standing_in(), warnings.catch_warnings():
            # Trax's and its libraries' own old code, not the user's.
            for category in (DeprecationWarning, FutureWarning, SyntaxWarning):
                warnings.filterwarnings("ignore", category=category)
            yield
    finally:
        matplotlib.use = use


# ---- Old names and known faults ----


def _jax_functions(jax: types.ModuleType) -> None:
    # Where the old names still exist they warn at each use, for Trax's user to read.
    jax.host_count, jax.host_id = jax.process_count, jax.process_index
    patched["jax.host_count, jax.host_id"] = "leaving JAX; Trax's Loop asks for them"


def _device_array(xla: types.ModuleType) -> None:
    vars(xla).setdefault("DeviceArray", sys.modules["jax"].Array)
    patched["jax.interpreters.xla.DeviceArray"] = "left JAX; the course imports it (now jax.Array)"


def _light_inspect(assert_shape: types.ModuleType) -> None:
    """Gives Trax's shape decorators a cheap `inspect`: they want their caller's file and line only.

    `inspect.stack()` reads source files and scans every loaded module for each of 65 decorated layers.
    """

    def getframeinfo(frame):
        return types.SimpleNamespace(filename=frame.f_code.co_filename, lineno=frame.f_lineno)

    assert_shape.inspect = types.SimpleNamespace(
        stack=lambda: [None, (sys._getframe(2),)],  # Trax asks for the caller of its own function.
        getframeinfo=getframeinfo,
        isclass=lambda thing: isinstance(thing, type),
    )
    patched["inspect in trax.layers.assert_shape"] = (
        "a light version: 65 calls of inspect.stack() make `import trax` take about a minute"
    )


_MENDS = {
    "jax": _jax_functions,
    "jax.interpreters.xla": _device_array,
    "trax.layers.assert_shape": _light_inspect,
    "trax": lambda trax: importlib.import_module("siamese.compat.mends").mend_trax(),
}
