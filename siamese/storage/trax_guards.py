"""What Trax's own Loop and layers read: plain values alone, and of this model, or one sentence."""

from __future__ import annotations

import functools
import io
import os
import types
from contextlib import redirect_stdout

from siamese.compat import patched
from siamese.errors import CheckpointError
from siamese.storage.safe_pickle import read_plain_pickle


def guard(module: types.ModuleType) -> None:
    """Mends a module of Trax that reads files; `siamese` calls it after the module's import."""
    _read_plain_pickles_only(module)
    if module.__name__ == "trax.layers.base":
        _name_another_models_file(module)
    if module.__name__ == "trax.supervised.training":
        _name_another_models_directory(module)


def _read_plain_pickles_only(module: types.ModuleType) -> None:
    """Trax's readers of model files and data counters would run whatever a stranger's file asks for.

    Their module sees a `pickle` whose `load` takes arrays, numbers, text and plain containers alone.
    """
    plain = types.ModuleType("pickle (plain values only)")
    plain.__dict__.update(vars(module.pickle))

    def load(file):
        from trax.shapes import ShapeDtype

        name = getattr(file, "name", None) or "the file"
        return read_plain_pickle(file.read(), str(name), ShapeDtype)

    module.pickle = plain
    plain.load = load
    patched[f"pickle in {module.__name__}"] = (
        "reads plain values only: a model file from a stranger could run any code"
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
