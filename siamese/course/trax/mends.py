"""What Trax is given once it is imported: the old names, plain pickles, and one sentence for an error."""

from __future__ import annotations

import functools
import io
import itertools
import pickle
import sys
import types
import warnings
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from typing import Any, BinaryIO, TypeAlias
from unittest import mock

import jax
import numpy as np
from absl import logging
from trax import fastmath, jaxboard, shapes
from trax import layers as tl
from trax.data import inputs
from trax.layers import base
from trax.supervised import trainer_lib, training

from siamese.course.trax.safe_pickle import read_plain_pickle
from siamese.errors import ArgumentError, CheckpointError, DataError, SiameseError

# What `siamese.course.trax` calls after the import of Trax; each says what it mends,
# and why.
MENDS: list[Callable[[], None]] = []

# A method of Trax's, which is called with what its caller passed.
Method: TypeAlias = Callable[..., object]


class _NoEvents:
    """In place of Trax's writer of TensorBoard's event files: its methods do nothing."""

    def __init__(self, *_: object, **__: object):
        pass

    def _nothing(self, *_: object, **__: object) -> None:
        pass

    scalar = image = text = flush = close = _nothing


@MENDS.append
def _write_no_event_files() -> None:
    """tensorflow, gym during `import trax`: a light form where the real one is not loaded."""
    if "tensorflow" not in sys.modules:
        jaxboard.SummaryWriter = _NoEvents


@MENDS.append
def _restore_random_number_generators() -> None:
    """trax.supervised.trainer_lib.init_random_number_generators: gone; the course calls it."""
    trainer_lib.init_random_number_generators = training._init_random_number_generators


@MENDS.append
def _leave_arrays_on_their_device() -> None:
    """trax.layers.on_cpu: puts arrays on the CPU for good, which today's JAX refuses beside a GPU's."""
    tl.on_cpu = jax.device_put


@MENDS.append
def _multiply_in_float32() -> None:
    """jax_default_matmul_precision, where it is not set: today's JAX rounds a GPU's products to 10 bits."""
    # JAX gives its configuration this attribute as it runs.
    precision = jax.config.jax_default_matmul_precision  # type: ignore[attr-defined]
    if precision is None:
        jax.config.update("jax_default_matmul_precision", "highest")


@MENDS.append
def _make_keys_outside_of_traces() -> None:
    """trax.layers.Layer.rng: kept a key of the trace it was made in, and the next call failed."""
    make = jax.ensure_compile_time_eval()(base.Layer.rng.fget)
    base.Layer.rng = property(make, base.Layer.rng.fset)


@MENDS.append
def _accept_eval_task_and_several_devices() -> None:
    """trax.supervised.training.Loop(eval_task=...): the name of eval_tasks in the notebooks of 2020.

    On several devices it would split the batch, and calls what has left JAX: it is
    shown one.
    """
    original = training.Loop.__init__

    def one() -> int:
        return 1

    @functools.wraps(original)
    def __init__(
        self: training.Loop,
        *args: object,
        eval_task: training.EvalTask | None = None,
        **kwargs: object,
    ) -> None:
        renamed = {} if eval_task is None else {"eval_tasks": eval_task}
        if (count := jax.local_device_count()) > 1:
            warnings.warn(  # Python prints it once.
                f"Trax's Loop uses one of {count} devices: it would split the batch, and with it the "
                "negatives. siamese train uses all of them.",
                stacklevel=1,
            )
        with mock.patch.multiple(
            fastmath, local_device_count=one, global_device_count=one
        ):
            original(self, *args, **kwargs, **renamed)

    training.Loop.__init__ = __init__


@MENDS.append
def _name_a_generator_that_ended() -> None:
    """TrainTask, EvalTask: a bare StopIteration where a generator ends, no word for lists as batches."""

    def counting(original: Method, name: str) -> Method:
        @functools.wraps(original)
        def counted(
            self: training.TrainTask | training.EvalTask,
            *args: object,
            **options: object,
        ) -> object:
            self._drawn = getattr(self, "_drawn", 0)
            try:
                result = original(self, *args, **options)
            except StopIteration:
                count = f"{self._drawn} batch" + "es" * (self._drawn != 1)
                raise DataError(
                    f"{name} ended after {count}: it must be endless."
                ) from None
            sample = jax.tree.leaves(self._sample_batch) or [None]
            if not all(hasattr(array, "shape") for array in sample):
                raise DataError(f"{name} must give batches of arrays, (q1, q2).")
            self._drawn += 1
            return result

        return counted

    tasks = {"train_generator": training.TrainTask, "val_generator": training.EvalTask}
    for name, task in tasks.items():
        for method in ("__init__", "next_batch"):
            setattr(task, method, counting(getattr(task, method), name))


@MENDS.append
def _mend_tree_unflatten() -> None:
    """trax.fastmath.numpy.tree_unflatten: compares an array with (), and Loop could not resume."""
    # As an attribute of the package it is JAX's or NumPy's.
    module = sys.modules["trax.fastmath.numpy"]
    original = module.tree_unflatten

    def tree_unflatten(
        flat: Sequence[object],
        tree: object,
        copy_from_tree: Sequence[object] | None = None,
    ) -> tuple[object, Sequence[object]]:
        if not isinstance(tree, (list, tuple, dict)) and tree is not None:  # a leaf
            return flat[0], flat[1:]
        return original(flat, tree, copy_from_tree=copy_from_tree)

    # The recursion inside the original looks its name up in the module, and finds ours.
    vars(module)["tree_unflatten"] = fastmath.tree_unflatten = tree_unflatten


@MENDS.append
def _log_without_a_handler() -> None:
    """absl.logging in Trax's modules: puts a handler on the root logger, which disables basicConfig."""
    logger = logging.get_absl_logger()
    vars(logger)["vlog_is_on"] = logging.vlog_is_on
    for name, module in list(sys.modules.items()):
        if name.startswith("trax.") and getattr(module, "logging", None) is logging:
            vars(module)["logging"] = logger


@MENDS.append
def _read_plain_pickles_only() -> None:
    """pickle.load in Trax's readers: reads plain values only; a stranger's file could run any code."""

    def load(file: BinaryIO) -> object:
        name = str(getattr(file, "name", "the file"))
        values = read_plain_pickle(file, name, shapes.ShapeDtype)
        # Trax asks for a state also where a file holds weights only.
        has_weights = isinstance(values, dict) and "flat_weights" in values
        return {"flat_state": (), **values} if has_weights else values

    plain = types.SimpleNamespace(**{**vars(pickle), "load": load})
    base.pickle = training.pickle = inputs.pickle = plain


# ---- One sentence in place of a traceback through Trax's layers ----


@MENDS.append
def _let_own_errors_through() -> None:
    """trax.layers.base.LayerError: hid the library's own sentence in a traceback of text."""

    def new(cls: type[Exception], *args: object) -> BaseException:
        error = sys.exc_info()[1]
        if isinstance(error, SiameseError):
            return error
        return Exception.__new__(cls, *args)

    base.LayerError.__new__ = new


@MENDS.append
def _name_missing_weights() -> None:
    """trax.layers.Layer.__call__: failed deep inside where a model has no weights yet."""
    original = base.Layer.__call__

    def needs_weights(layer: base.Layer) -> bool:
        own = (
            type(layer).init_weights_and_state is not base.Layer.init_weights_and_state
        )
        return any(map(needs_weights, layer.sublayers)) if layer.sublayers else own

    @functools.wraps(original)
    def __call__(
        self: base.Layer, x: object, weights: object = None, **options: object
    ) -> object:
        if not jax.tree.leaves(weights or self.weights) and needs_weights(self):
            advice = "use loop.eval_model, init_from_file or init."
            raise ArgumentError(f"The model has no weights yet: {advice}")
        return original(self, x, weights=weights, **options)

    base.Layer.__call__ = __call__


@MENDS.append
def _name_a_missing_question() -> None:
    """trax.layers.Parallel: failed deep inside where one input is given for two, or no ids."""

    def is_of_ids(x: Any) -> bool:
        return len(getattr(x, "shape", ())) > 1 and np.dtype(x.dtype).kind in "iu"

    def of_a_pair(method: Method, thing: str) -> Method:
        @functools.wraps(method)
        def checked(
            self: tl.Parallel, inputs: object, *args: object, **options: object
        ) -> object:
            try:
                return method(self, inputs, *args, **options)
            except Exception as error:
                is_right = (
                    isinstance(inputs, (tuple, list))
                    and len(inputs) == 2
                    and all(map(is_of_ids, inputs))
                )
                if self.n_in != 2 or "Embedding" not in str(self) or is_right:
                    raise
                words = f"Siamese takes two questions: give a pair of {thing}."
                raise ArgumentError(words) from error

        return checked

    ids = "[batch, length] each, of whole numbers"
    signatures = f"signatures, as trax.shapes.signature((q1, q2)), {ids}"
    tl.Parallel.init = of_a_pair(tl.Parallel.init, signatures)
    tl.Parallel.pure_fn = of_a_pair(tl.Parallel.pure_fn, f"arrays, (q1, q2), {ids}")


class _OtherShapes(CheckpointError, IndexError):
    """Trax raises an IndexError without a word there, and goes on without it in one place."""


def _check_shapes(saved_arrays: Sequence[object], arrays: Sequence[object]) -> None:
    """Refuses a saved list of arrays that does not fit the model's, one by one from the first.

    It may go on where the model's ends, as Trax allows.
    """
    for saved, array in itertools.zip_longest(saved_arrays, arrays):
        shapes = [getattr(each, "shape", "none") for each in (saved, array)]
        if array is not None and shapes[0] != shapes[1]:
            raise _OtherShapes(
                f"The model file is of another model: it has an array of shape {shapes[0]} where the "
                f"model has {shapes[1]}. Make the model with the layers, the vocabulary size and the "
                "d_model that were trained there, or take another file or output_dir."
            )


@MENDS.append
def _name_another_models_file() -> None:
    """Loop.load_checkpoint, Layer.init_from_file: named another model's file by a wall of shapes."""
    unflatten = base.unflatten_weights_and_state
    match = training._match_by_shape

    def unflatten_weights_and_state(
        flat_weights: Sequence[object],
        flat_state: Sequence[object],
        signature: Sequence[object],
        weights_only: bool = False,
    ) -> tuple[object, object]:
        _check_shapes(flat_weights, base.flatten_weights_and_state(*signature)[0])
        return unflatten(flat_weights, flat_state, signature, weights_only=weights_only)

    def match_by_shape(
        full: Sequence[object], partial: Sequence[object]
    ) -> Sequence[object]:
        try:
            with redirect_stdout(io.StringIO()):  # a line for every array
                return match(full, partial)
        except IndexError:
            saved = [array for array in partial if array is not None]
            arrays = [array for array in full if array is not None]
            _check_shapes(saved, arrays)
            raise

    base.unflatten_weights_and_state = unflatten_weights_and_state
    tl.unflatten_weights_and_state = unflatten_weights_and_state
    training._match_by_shape = match_by_shape
