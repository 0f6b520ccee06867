"""Trax 1.4.1 on today's Python and JAX: a quick and quiet import, and the old names put back.

`prepare()` registers what has to happen around and after the import of a few modules; nothing heavy is
imported by it. When `import trax` runs, now or later, it takes seconds instead of a minute, does not
load TensorFlow or Gym, and finds the names that have since left JAX and Trax.
"""

from __future__ import annotations

import functools
import importlib.abc
import inspect
import sys
import types
import warnings
from collections.abc import Callable
from contextlib import contextmanager, nullcontext

from siamese.compat import standins
from siamese.errors import ArgumentError

# What was changed, for `siamese doctor`: name of the thing -> why.
patched: dict[str, str] = {}

_after_import: dict[str, list[Callable[[types.ModuleType], None]]] = {}
_prepared = False


def prepare() -> None:
    """Arranges for Trax to import quickly and quietly and to find its old names.

    Call it before the first ``import trax``; ``import siamese`` does. Calling it again does nothing,
    and where Trax or JAX are already loaded only the missing names are put back.
    """
    global _prepared
    if _prepared:
        return
    _prepared = True
    sys.meta_path.insert(0, _Hooks())
    # Trax opens GzipFile on a file object without naming the mode; it has the right one.
    warnings.filterwarnings(
        "ignore", message="GzipFile was opened for writing", module=r"trax(\.|$)"
    )
    # NumPy functions that Trax's own code calls by their old names.
    warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"(trax|gin|gym)(\.|$)")
    for module, actions in _after_import.items():
        for action in actions if module in sys.modules else ():
            action(sys.modules[module])


def after_import(module: str, action: Callable[[types.ModuleType], None]) -> None:
    """Runs ``action(module)`` whenever that module has been imported: at once where it already is."""
    if module in sys.modules:
        action(sys.modules[module])
    _after_import.setdefault(module, []).append(action)


class _Hooks(importlib.abc.MetaPathFinder):
    """Finds the watched modules as usual, and arranges for what happens around their run."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname != "trax" and fullname not in _after_import:
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
    # They stay registered: after a failed import the next one makes new modules to mend.
    for action in _after_import.get(module.__name__, ()):
        action(module)


@contextmanager
def _easing_import_of_trax():
    """Around the run of ``trax/__init__.py``: stand-ins, no banners, no change of matplotlib's backend."""
    import matplotlib

    before, use = set(sys.modules), matplotlib.use
    # Trax switches to a backend without a window, which would blank a notebook's plots.
    matplotlib.use = lambda *args, **kwargs: None
    try:
        with standins.standing_in(), warnings.catch_warnings():
            # Trax's and its libraries' own old code, not the user's.
            for category in (DeprecationWarning, FutureWarning, SyntaxWarning):
                warnings.filterwarnings("ignore", category=category)
            yield
    except BaseException:
        # Half of Trax, bound to stand-ins, must not be found by the next attempt; nor gin's list of
        # what Trax has registered there, which refuses to register it again.
        for name in set(sys.modules) - before:
            if name.partition(".")[0] in ("trax", "gin"):
                del sys.modules[name]
        raise
    finally:
        matplotlib.use = use
    patched["tensorflow, gym during `import trax`"] = (
        "lazy stand-ins: loading them takes seconds and training does not use them"
        if not standins.loaded("tensorflow")
        else "the real TensorFlow was loaded before Trax, and is used"
    )


# ---- Old names and known faults: module, and what mends it ----


def _mends(module: str, name: str, why: str):
    """The function mends what `name` says after the import of `module`."""

    def register(mend: Callable[[types.ModuleType], None]) -> None:
        def action(loaded: types.ModuleType) -> None:
            mend(loaded)
            patched[name] = why

        _after_import.setdefault(module, []).append(action)

    return register


@_mends("jax", "jax.host_count, jax.host_id", "leaving JAX; Trax's Loop asks for them")
def _restore_jax_functions(jax) -> None:
    # Where the old names still exist they warn at each use, for Trax's user to read.
    jax.host_count, jax.host_id = jax.process_count, jax.process_index


@_mends(
    "jax.interpreters.xla",
    "jax.interpreters.xla.DeviceArray",
    "left JAX; the course imports it (now jax.Array)",
)
def _restore_device_array(xla) -> None:
    vars(xla).setdefault("DeviceArray", sys.modules["jax"].Array)


@_mends(
    "trax.layers.assert_shape",
    "inspect in trax.layers.assert_shape",
    "a light version: 65 calls of inspect.stack() make `import trax` take about a minute",
)
def _use_light_inspect(assert_shape) -> None:
    """Gives Trax's shape decorators a cheap `inspect`: they want their caller's file and line only.

    `inspect.stack()` reads source files and scans every loaded module for each of 65 decorated layers.
    """

    def getframeinfo(frame):
        return types.SimpleNamespace(filename=frame.f_code.co_filename, lineno=frame.f_lineno)

    assert_shape.inspect = types.SimpleNamespace(
        stack=lambda: [None, (sys._getframe(2),)],  # Trax asks for the caller of its own function.
        getframeinfo=getframeinfo,
        isclass=inspect.isclass,
    )


@_mends(
    "trax.fastmath.numpy",
    "trax.fastmath.numpy.tree_unflatten",
    "compares arrays with the empty tuple, which today's JAX refuses: Loop could not resume",
)
def _mend_tree_unflatten(trax_numpy) -> None:
    original = trax_numpy.tree_unflatten

    def tree_unflatten(flat, tree, copy_from_tree=None):
        is_leaf = not isinstance(tree, (list, tuple, dict)) and tree is not None
        if is_leaf:
            return flat[0], flat[1:]
        return original(flat, tree, copy_from_tree=copy_from_tree)

    # The recursion inside the original looks its own name up in the module, and so finds ours.
    trax_numpy.tree_unflatten = tree_unflatten


@_mends(
    "trax.supervised.trainer_lib",
    "trax.supervised.trainer_lib.init_random_number_generators",
    "left Trax 1.4; the course calls it",
)
def _restore_random_number_generators(trainer_lib) -> None:
    training = importlib.import_module("trax.supervised.training")
    vars(trainer_lib).setdefault(
        "init_random_number_generators", training._init_random_number_generators
    )


@_mends(
    "trax",
    "absl.logging in Trax's modules",
    "its functions put a handler on the root logger: a later logging.basicConfig would do nothing",
)
def _log_without_a_handler(trax) -> None:
    absl = sys.modules["absl.logging"]
    plain = types.ModuleType("absl.logging (without basicConfig)")
    plain.__dict__.update(vars(absl))
    for level in ("debug", "info", "warning", "error"):
        setattr(plain, level, getattr(absl.get_absl_logger(), level))
    for name, module in list(sys.modules.items()):
        if name.startswith("trax.") and getattr(module, "logging", None) is absl:
            module.logging = plain


@_mends(
    "trax.supervised.training",
    "trax.supervised.training.Loop(eval_task=...)",
    "the argument's name in Trax 1.3, which the course's notebooks of 2020 use (now eval_tasks)",
)
def _accept_eval_task(training) -> None:
    original = training.Loop.__init__

    @functools.wraps(original)
    def __init__(self, *args, eval_task=None, **kwargs):
        if eval_task is not None:
            if kwargs.get("eval_tasks") is not None:
                raise ArgumentError("Loop takes eval_tasks or eval_task (its old name), not both.")
            kwargs["eval_tasks"] = eval_task
        original(self, *args, **kwargs)

    training.Loop.__init__ = __init__
