"""Trax 1.4.1 on today's Python and JAX: a quick and quiet import, and the old names put back.

`prepare()` registers what has to happen around and after the import of a few modules; nothing heavy is
imported by it. When `import trax` runs, now or later, it takes seconds instead of a minute, does not
load TensorFlow or Gym, and finds the names that have since left JAX and Trax.
"""

from __future__ import annotations

import functools
import importlib.abc
import inspect
import io
import logging
import os
import sys
import types
import warnings
from collections.abc import Callable
from contextlib import ExitStack, contextmanager, redirect_stdout

from siamese.compat import standins
from siamese.compat.malloc import keep_memory
from siamese.errors import ArgumentError, CheckpointError

# What was changed, for `siamese doctor`: name of the thing -> why.
patched: dict[str, str] = {}

# The module whose `read_plain_pickle` reads Trax's files; `siamese` sets it, which stands above this one.
pickle_reader = ""

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
    _silence_known_warnings()
    # Before JAX has threads: glibc gives each a heap of its own, which holds no large block.
    after_import("jax", lambda module: keep_memory())
    after_import("jax", _restore_jax_functions)
    after_import("jax.interpreters.xla", _restore_device_array)
    after_import("trax.layers.assert_shape", _use_light_inspect)
    after_import("trax.fastmath.numpy", _mend_tree_unflatten)
    after_import("trax.supervised.trainer_lib", _restore_random_number_generators)
    for module in ("trax.layers.base", "trax.supervised.training", "trax.data.inputs"):
        after_import(module, _read_plain_pickles_only)
    after_import("trax.layers.base", _name_another_models_file)
    after_import("trax.supervised.training", _name_another_models_directory)
    after_import("trax.supervised.training", _accept_eval_task)


def after_import(module: str, action: Callable[[types.ModuleType], None]) -> None:
    """Runs ``action(module)`` whenever that module has been imported: at once where it already is."""
    if module in sys.modules:
        action(sys.modules[module])
    _after_import.setdefault(module, []).append(action)


class _Hooks(importlib.abc.MetaPathFinder):
    """Finds the watched modules as usual, and wraps how they are run."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname != "trax" and fullname not in _after_import:
            return None
        # Ask the finders after us. The list itself stays: another thread may be walking through it.
        others = (finder for finder in list(sys.meta_path) if finder is not self)
        specs = (finder.find_spec(fullname, path, target) for finder in others)
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and spec.loader is not None:
            spec.loader = _ThenLoader(spec.loader, fullname)
        return spec


class _ThenLoader(importlib.abc.Loader):
    """A module's own loader, with Trax's import eased and the registered actions run after it."""

    def __init__(self, loader, name: str):
        self._loader = loader
        self._name = name

    def __getattr__(self, name):
        return getattr(self._loader, name)  # get_source and the like: for tracebacks

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        with _easing_import_of_trax() if self._name == "trax" else ExitStack():
            self._loader.exec_module(module)
        # They stay registered: after a failed import the next one makes new modules to mend.
        for action in _after_import.get(self._name, ()):
            action(module)


@contextmanager
def _easing_import_of_trax():
    """Around the run of ``trax/__init__.py``: stand-ins, no banners, no change of matplotlib's backend."""
    before = set(sys.modules)
    try:
        with standins.standing_in(), _keeping_matplotlib_backend(), warnings.catch_warnings():
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
    patched["tensorflow, gym during `import trax`"] = (
        "lazy stand-ins: loading them takes seconds and training does not use them"
        if not standins.loaded("tensorflow")
        else "the real TensorFlow was loaded before Trax, and is used"
    )


@contextmanager
def _keeping_matplotlib_backend():
    """Trax switches matplotlib to a backend without a window, which would blank a notebook's plots."""
    try:
        import matplotlib
    except ImportError:
        yield
        return
    use = matplotlib.use
    matplotlib.use = lambda *args, **kwargs: None
    try:
        yield
    finally:
        matplotlib.use = use


def _silence_known_warnings() -> None:
    # Trax opens GzipFile on a file object without naming the mode; it has the right one.
    warnings.filterwarnings(
        "ignore", message="GzipFile was opened for writing", module=r"trax(\.|$)"
    )
    # NumPy functions that Trax's own code calls by their old names.
    warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"(trax|gin|gym)(\.|$)")
    # An argument of tf.function that Trax's TensorFlow-NumPy backend calls by its old name.
    logging.getLogger("tensorflow").addFilter(
        lambda record: "experimental_compile is deprecated" not in record.getMessage()
    )


# ---- Old names and known faults, module by module ----


def _restore_jax_functions(jax) -> None:
    # Where the old names still exist they warn at each use, for Trax's user to read.
    for old, new in (("host_count", "process_count"), ("host_id", "process_index")):
        setattr(jax, old, getattr(jax, new))
        patched[f"jax.{old}"] = f"leaving JAX; Trax's Loop asks for it (now jax.{new})"


def _restore_device_array(xla) -> None:
    import jax

    if "DeviceArray" not in vars(xla):
        xla.DeviceArray = jax.Array
        patched["jax.interpreters.xla.DeviceArray"] = (
            "left JAX; the course imports it (now jax.Array)"
        )


def _use_light_inspect(assert_shape) -> None:
    """Gives Trax's shape decorators a cheap `inspect`: they want their caller's file and line only.

    `inspect.stack()` reads source files and scans every loaded module for each of 65 decorated layers:
    nearly all of the minute that ``import trax`` takes. Only that one module sees the light version.
    """
    light = types.ModuleType("inspect (light)")
    light.__dict__.update(vars(inspect))

    def stack():
        frame, frames = sys._getframe(1), []
        while frame is not None:
            frames.append((frame,))
            frame = frame.f_back
        return frames

    def getframeinfo(frame):
        code = frame.f_code
        return inspect.Traceback(code.co_filename, frame.f_lineno, code.co_name, None, None)

    light.stack, light.getframeinfo = stack, getframeinfo
    assert_shape.inspect = light
    patched["inspect in trax.layers.assert_shape"] = (
        "a light version: 65 calls of inspect.stack() make `import trax` take about a minute"
    )


def _mend_tree_unflatten(trax_numpy) -> None:
    """`tree in copy_from_tree` compares arrays with (): an error on today's JAX when a run resumes."""
    original = trax_numpy.tree_unflatten

    def tree_unflatten(flat, tree, copy_from_tree=None):
        is_leaf = not isinstance(tree, (list, tuple, dict)) and tree is not None
        if is_leaf:
            return flat[0], flat[1:]
        return original(flat, tree, copy_from_tree=copy_from_tree)

    # The recursion inside the original looks its own name up in the module, and so finds ours.
    trax_numpy.tree_unflatten = tree_unflatten
    patched["trax.fastmath.numpy.tree_unflatten"] = (
        "compares arrays with the empty tuple, which today's JAX refuses: Loop could not resume"
    )


def _restore_random_number_generators(trainer_lib) -> None:
    if not hasattr(trainer_lib, "init_random_number_generators"):
        from trax.supervised import training

        trainer_lib.init_random_number_generators = training._init_random_number_generators
        patched["trax.supervised.trainer_lib.init_random_number_generators"] = (
            "left Trax 1.4; the course calls it"
        )


def _read_plain_pickles_only(module) -> None:
    """Trax's readers of model files and data counters would run whatever a stranger's file asks for.

    Their module sees a `pickle` whose `load` takes arrays, numbers, text and plain containers alone.
    """
    plain = types.ModuleType("pickle (plain values only)")
    plain.__dict__.update(vars(module.pickle))

    def load(file):
        from trax.shapes import ShapeDtype

        reader = importlib.import_module(pickle_reader)

        def as_trax(value):
            if isinstance(value, reader.Signature):
                return ShapeDtype(value.shape, value.dtype)
            if type(value) in (tuple, list):
                return type(value)(map(as_trax, value))
            return value

        name = getattr(file, "name", None) or "the file"
        content = reader.read_plain_pickle(file.read(), str(name))
        if isinstance(content, dict) and "input_signature" in content:
            content["input_signature"] = as_trax(content["input_signature"])
        return content

    plain.load = load
    module.pickle = plain
    patched[f"pickle in {module.__name__}"] = (
        "reads plain values only: a model file from a stranger could run any code"
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
    patched["trax.supervised.training.Loop(eval_task=...)"] = (
        "the argument's name in Trax 1.3, which the course's notebooks of 2020 use (now eval_tasks)"
    )


class _OtherShapes(CheckpointError, IndexError):
    """Trax raises an IndexError without a word there, and goes on without it in one place."""


def _check_shapes(found, wanted) -> None:
    """Refuses a saved list of arrays that does not fit the model's, one by one from the first.

    Either may go on where the other ends, as Trax allows: a model of more layers than were saved
    keeps its own for the rest.
    """
    for saved, own in zip(found, wanted):
        shape, own_shape = (getattr(array, "shape", ()) for array in (saved, own))
        if shape != own_shape:
            raise _OtherShapes(f"an array of shape {shape} where the model has {own_shape}")


def _naming_the_file(method, file_of):
    """The method, with `_OtherShapes` told as one sentence on the file that it reads."""

    @functools.wraps(method)
    def named(self, *args, **kwargs):
        try:
            return method(self, *args, **kwargs)
        except _OtherShapes as other:
            raise CheckpointError(
                f"{file_of(self, *args, **kwargs)} is of another model: it has {other}. Make the "
                "model with the vocabulary size and d_model that were trained there, or take "
                "another file or output_dir."
            ) from None

    return named


def _name_another_models_file(base) -> None:
    original = base.unflatten_weights_and_state

    def unflatten_weights_and_state(flat_weights, flat_state, signature, weights_only=False):
        own, _ = base.flatten_weights_and_state(*signature)
        _check_shapes(flat_weights, own)
        if len(flat_weights) < len(own):
            raise _OtherShapes(f"{len(flat_weights)} arrays where the model has {len(own)}")
        return original(flat_weights, flat_state, signature, weights_only=weights_only)

    base.unflatten_weights_and_state = unflatten_weights_and_state
    base.Layer.init_from_file = _naming_the_file(
        base.Layer.init_from_file, lambda self, file_name, *args, **kwargs: file_name
    )
    patched["trax.layers.Layer.init_from_file"] = (
        "took weights of other shapes without a word, or raised an empty IndexError"
    )


def _name_another_models_directory(training) -> None:
    original = training._match_by_shape

    def _match_by_shape(full, partial):
        try:
            with redirect_stdout(io.StringIO()):  # a line for every array
                return original(full, partial)
        except IndexError:
            _check_shapes(
                *([array for array in arrays if array is not None] for arrays in (partial, full))
            )
            raise _OtherShapes(f"{len(partial)} arrays where the model has {len(full)}") from None

    def file_of(loop, directory=None, filename=None):
        return os.path.join(directory or loop._output_dir, (filename or "model") + ".pkl.gz")

    training._match_by_shape = _match_by_shape
    training.Loop.load_checkpoint = _naming_the_file(training.Loop.load_checkpoint, file_of)
    patched["trax.supervised.training.Loop.load_checkpoint"] = (
        "printed a wall of shapes and raised an empty IndexError where the directory holds "
        "the checkpoint of another model"
    )
