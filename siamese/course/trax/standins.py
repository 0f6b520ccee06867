"""Stand-ins for TensorFlow and Gym while Trax is imported, so that neither has to be loaded.

Trax's import touches TensorFlow, TensorFlow Datasets, TensorFlow Text and Gym only in
passing: type names for `isinstance`, one Keras base class, file helpers. While `import
trax` runs, those packages resolve to modules of this file. What the training loop calls
of them is answered here (`_LIGHT`); any other call is an error, which names the package
to import before Trax.
"""

from __future__ import annotations

import functools
import os
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from siamese.errors import MissingDependencyError

# The modules that Trax 1.4.1 imports of packages that are stood in for.
_TENSORFLOW = ("tensorflow", "tensorflow.compat", "tensorflow.compat.v2", "tensorflow.core",
               "tensorflow.core.util", "tensorflow.python", "tensorflow.python.summary",
               "tensorflow.python.summary.writer", "trax.tf_numpy",
               "tensorflow.python.summary.writer.event_file_writer")  # fmt: skip
_MODULES = (*_TENSORFLOW, "tensorflow_datasets", "tensorflow_text", "gym")
# Function of TensorFlow -> what answers for it.
_LIGHT: dict[str, Callable[..., object]] = {
    "tensorflow.io.gfile.exists": os.path.exists,
    "tensorflow.io.gfile.isdir": os.path.isdir,
    "tensorflow.io.gfile.makedirs": functools.partial(os.makedirs, exist_ok=True),
    "tensorflow.io.gfile.rename": lambda source, target, overwrite: os.replace(
        source, target
    ),
    "tensorflow.io.gfile.GFile": open,
    "tensorflow.random.set_seed": lambda seed: None,  # There is no generator to seed.
}


class _StandIn(types.ModuleType):
    """A module of a stood-in package, or a name in one."""

    def __getattr__(self, name: str) -> _StandIn:
        if name.startswith("__"):
            raise AttributeError(name)
        return _StandIn(f"{self.__name__}.{name}")

    def __call__(self, *args: object, **kwargs: object) -> object:
        path = self.__name__.replace("tensorflow.compat.v2", "tensorflow")
        if path in _LIGHT:
            return _LIGHT[path](*args, **kwargs)
        package = _package_of(path)
        raise MissingDependencyError(
            f"This part of Trax needs {path}, which training and prediction do not use. To use it, "
            f"install {package} and import it before Trax."
        )

    def __instancecheck__(self, instance: object) -> bool:
        return False  # of a class of a package that was never loaded

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[()]:
        return ()  # `trax.AsKeras` has a class of Keras 2 as its base.


@contextmanager
def standing_in() -> Iterator[None]:
    """Puts stand-ins in the places of packages that are not loaded, until the end of the block."""
    names = [name for name in _MODULES if _package_of(name) not in sys.modules]
    sys.modules.update({name: _StandIn(name) for name in names})
    try:
        yield
    finally:
        for name in names:
            del sys.modules[name]


def _package_of(name: str) -> str:
    """The package that a name of `_MODULES`, or below one, needs."""
    return name.split(".")[0].replace("trax", "tensorflow")
