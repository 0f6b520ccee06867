"""Stand-ins for TensorFlow and Gym while Trax is imported, so that neither has to be loaded.

Trax's import touches TensorFlow, TensorFlow Datasets, TensorFlow Text and Gym only in passing: type
names for `isinstance`, one Keras base class, file helpers. While `import trax` runs, those packages
resolve to modules of this file. What the training loop calls of them is answered here (`_LIGHT`); any
other call is an error, which names the package to import before Trax.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import os
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager

from siamese.errors import MissingDependencyError

# Packages that are stood in for.
_PACKAGES = ("tensorflow", "tensorflow_datasets", "tensorflow_text", "gym", "trax.tf_numpy")
# Function of TensorFlow -> what answers for it.
_LIGHT = {
    "tensorflow.io.gfile.exists": os.path.exists,
    "tensorflow.io.gfile.isdir": os.path.isdir,
    "tensorflow.io.gfile.makedirs": functools.partial(os.makedirs, exist_ok=True),
    "tensorflow.io.gfile.rename": lambda source, target, overwrite: os.replace(source, target),
    "tensorflow.io.gfile.GFile": open,
    "tensorflow.random.set_seed": lambda seed: None,  # There is no generator to seed.
}


class _StandIn(types.ModuleType):
    """A module of a stood-in package, or a name in one."""

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        return _StandIn(f"{self.__name__}.{name}")

    def __call__(self, *args, **kwargs):
        path = self.__name__.replace("tensorflow.compat.v2", "tensorflow")
        if path in _LIGHT:
            return _LIGHT[path](*args, **kwargs)
        package = _package_of(path).replace("trax.tf_numpy", "tensorflow")
        raise MissingDependencyError(
            f"This part of Trax needs {path}, which training and prediction do not use. To use it, "
            f"install {package} and import it before Trax."
        )

    def __instancecheck__(self, instance) -> bool:
        return False  # of a class of a package that was never loaded

    def __mro_entries__(self, bases):
        return ()  # `trax.AsKeras` has a class of Keras 2 as its base.


class _StandInFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers imports of the stood-in packages, unless the real one is already loaded."""

    def find_spec(self, fullname, path=None, target=None):
        package = _package_of(fullname)
        if package is None or loaded(package):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec):
        return _StandIn(spec.name)

    def exec_module(self, module):
        """Nothing to run."""


@contextmanager
def standing_in() -> Iterator[None]:
    """Lets the stood-in packages resolve to stand-ins; all is put back at the end, also on failure."""
    finder = _StandInFinder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name, module in list(sys.modules.items()):
            if isinstance(module, _StandIn):
                del sys.modules[name]
                # Else `from trax import tf_numpy` would find the stand-in on the parent for ever.
                parent, _, child = name.rpartition(".")
                if isinstance(vars(sys.modules.get(parent, object)).get(child), _StandIn):
                    delattr(sys.modules[parent], child)


def _package_of(name: str) -> str | None:
    return next((p for p in _PACKAGES if name == p or name.startswith(p + ".")), None)


def loaded(package: str) -> bool:
    """Whether the real package is in the process."""
    module = sys.modules.get(package.replace("trax.tf_numpy", "tensorflow"))
    return module is not None and not isinstance(module, _StandIn)
