"""What Trax's layers and Loop are given: plain values, pairs, a model with weights; or one sentence."""

from __future__ import annotations

import functools
import io
import os
import types
from contextlib import redirect_stdout

from siamese.compat import patched
from siamese.compat.safe_pickle import read_plain_pickle
from siamese.errors import ArgumentError, CheckpointError


def guard(module: types.ModuleType) -> None:
    """Mends a module of Trax; `siamese` calls it after the module's import."""
    if hasattr(module, "pickle"):
        _read_plain_pickles_only(module)
    for mend in _MENDS.get(module.__name__, ()):
        mend(module)


def _read_plain_pickles_only(module: types.ModuleType) -> None:
    """Trax's readers of model files and data counters would run whatever a stranger's file asks for.

    Their module sees a `pickle` whose `load` takes arrays, numbers, text and plain containers alone.
    """
    plain = types.ModuleType("pickle (plain values only)")
    plain.__dict__.update(vars(module.pickle))

    def load(file):
        from trax.shapes import ShapeDtype

        return read_plain_pickle(file, str(getattr(file, "name", "the file")), ShapeDtype)

    module.pickle = plain
    plain.load = load
    patched[f"pickle in {module.__name__}"] = (
        "reads plain values only: a model file from a stranger could run any code"
    )


# ---- One sentence in place of a traceback through Trax's layers ----


def _name_missing_weights(base) -> None:
    original = base.Layer.__call__

    def needs_weights(layer) -> bool:
        own = type(layer).init_weights_and_state is not base.Layer.init_weights_and_state
        return any(map(needs_weights, layer.sublayers)) if layer.sublayers else own

    @functools.wraps(original)
    def __call__(self, x, weights=None, **options):
        try:
            return original(self, x, weights=weights, **options)
        except base.LayerError as error:
            flat, _ = base.flatten_weights_and_state(weights or self.weights, ())
            if flat or not needs_weights(self):
                raise
            raise ArgumentError(
                "The model has no weights yet: use loop.eval_model, init_from_file or init."
            ) from error

    base.Layer.__call__ = __call__
    patched["trax.layers.Layer.__call__"] = "failed deep inside where a model has no weights yet"


def _name_a_missing_question(combinators) -> None:
    Parallel = combinators.Parallel

    def of_a_pair(method, thing):
        @functools.wraps(method)
        def checked(self, inputs, *args, **options):
            is_pair = isinstance(inputs, (tuple, list)) or getattr(inputs, "ndim", 0) > 2
            if self.n_in == 2 and not (is_pair and len(inputs) >= 2):
                raise ArgumentError(f"Siamese takes two questions: give a pair of {thing}.")
            return method(self, inputs, *args, **options)

        return checked

    Parallel.init = of_a_pair(Parallel.init, "signatures, as trax.shapes.signature((q1, q2))")
    Parallel.__call__ = of_a_pair(Parallel.__call__, "arrays, (q1, q2)")
    patched["trax.layers.Parallel"] = "failed deep inside where one input is given for two"


class _OtherShapes(CheckpointError, IndexError):
    """Trax raises an IndexError without a word there, and goes on without it in one place."""


def _check_shapes(saved_arrays, arrays) -> None:
    """Refuses a saved list of arrays that does not fit the model's, one by one from the first.

    It may go on where the model's ends, as Trax allows.
    """
    for saved, array in zip(saved_arrays, arrays):
        saved_shape, shape = (getattr(each, "shape", ()) for each in (saved, array))
        if saved_shape != shape:
            raise _OtherShapes(f"an array of shape {saved_shape} where the model has {shape}")
    if len(saved_arrays) < len(arrays):
        raise _OtherShapes(f"{len(saved_arrays)} arrays where the model has {len(arrays)}")


def _name_the_file(owner, method: str, file_of) -> None:
    """The method of a class raises `_OtherShapes` as one sentence on the file that it reads."""
    original = getattr(owner, method)

    @functools.wraps(original)
    def named(self, *args, **options):
        try:
            return original(self, *args, **options)
        except _OtherShapes as other:
            raise CheckpointError(
                f"{file_of(self, *args, **options)} is of another model: it has {other}. Make the "
                "model with the vocabulary size and d_model that were trained there, or take "
                "another file or output_dir."
            ) from None

    setattr(owner, method, named)
    patched[f"{owner.__module__}.{owner.__name__}.{method}"] = (
        "reported another model's file by an empty IndexError after a wall of shapes, or not at all"
    )


def _name_another_models_file(base) -> None:
    original = base.unflatten_weights_and_state

    def unflatten_weights_and_state(flat_weights, flat_state, signature, weights_only=False):
        _check_shapes(flat_weights, base.flatten_weights_and_state(*signature)[0])
        return original(flat_weights, flat_state, signature, weights_only=weights_only)

    base.unflatten_weights_and_state = unflatten_weights_and_state
    _name_the_file(base.Layer, "init_from_file", lambda layer, file_name, *_, **options: file_name)


def _name_another_models_directory(training) -> None:
    original = training._match_by_shape

    def _match_by_shape(full, partial):
        try:
            with redirect_stdout(io.StringIO()):  # a line for every array
                return original(full, partial)
        except IndexError:
            _check_shapes(*([a for a in arrays if a is not None] for arrays in (partial, full)))
            raise

    def file_of(loop, directory=None, filename=None):
        return os.path.join(directory or loop._output_dir, (filename or "model") + ".pkl.gz")

    training._match_by_shape = _match_by_shape
    _name_the_file(training.Loop, "load_checkpoint", file_of)


_MENDS = {
    "trax.layers.base": (_name_another_models_file, _name_missing_weights),
    "trax.layers.combinators": (_name_a_missing_question,),
    "trax.supervised.training": (_name_another_models_directory,),
}
