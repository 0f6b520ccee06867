"""Stand-ins for TensorFlow and Gym while Trax is imported, so that neither has to be loaded.

Trax's import touches TensorFlow, TensorFlow Datasets, TensorFlow Text and Gym only in passing: type
names for `isinstance`, one Keras base class, file helpers, an event writer. While `import trax` runs,
those packages resolve to modules of this file. What the training loop really uses of them is answered
here (`_LIGHT`); anything else is an error, which names the package to import before Trax.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import os
import pkgutil
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager

from siamese.errors import MissingDependencyError

# Packages that are stood in for.
_PACKAGES = ("tensorflow", "tensorflow_datasets", "tensorflow_text", "gym", "trax.tf_numpy")
_importing_trax = False


class _StandIn(types.ModuleType):
    """A module of a stood-in package, or a name in one."""

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        return _attribute(f"{self.__name__}.{name}")

    def __call__(self, *args, **kwargs):
        return _resolve(self.__name__)(*args, **kwargs)

    def __instancecheck__(self, instance) -> bool:
        return False  # of a class of a package that was never loaded

    def __mro_entries__(self, bases):
        return ()  # `trax.AsKeras` has a class of Keras 2 as its base.

    def __repr__(self):
        return f"<stand-in for {self.__name__}>"


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
    global _importing_trax
    finder = _StandInFinder()
    sys.meta_path.insert(0, finder)
    _importing_trax = True
    try:
        yield
    finally:
        _importing_trax = False
        sys.meta_path.remove(finder)
        for name, module in list(sys.modules.items()):
            if isinstance(module, _StandIn):
                del sys.modules[name]
                # Else `from trax import tf_numpy` would find the stand-in on the parent for ever.
                parent, _, child = name.rpartition(".")
                if isinstance(getattr(sys.modules.get(parent), child, None), _StandIn):
                    delattr(sys.modules[parent], child)


def _package_of(name: str) -> str | None:
    return next((p for p in _PACKAGES if name == p or name.startswith(p + ".")), None)


def loaded(package: str) -> bool:
    """Whether the real package is in the process."""
    module = sys.modules.get(package.replace("trax.tf_numpy", "tensorflow"))
    return module is not None and not isinstance(module, _StandIn)


def _attribute(path: str):
    """What a stand-in has by that dotted name."""
    if _importing_trax or any(light.startswith(_plain(path) + ".") for light in _LIGHT):
        return _StandIn(path)
    return _resolve(path)


def _resolve(path: str):
    """The light object of that dotted name; an error where there is none."""
    for name, light in _LIGHT.items():
        if f"{_plain(path)}.".startswith(f"{name}."):
            return (
                pkgutil.resolve_name(light + _plain(path)[len(name) :]) if light else _StandIn(path)
            )
    package = _package_of(path).replace("trax.tf_numpy", "tensorflow")
    raise MissingDependencyError(
        f"This part of Trax needs {path}, which training and prediction do not use. To use it, install "
        f"{package} and import it before Trax."
    )


def _plain(path: str) -> str:
    return path.replace("tensorflow.compat.v2", "tensorflow")


# ---- What the training loop really uses of TensorFlow, answered without it ----


def _rename(source, target, overwrite=False):
    if os.path.exists(target) and not overwrite:
        raise FileExistsError(target)
    os.replace(source, target)


gfile = types.SimpleNamespace(
    exists=os.path.exists,
    isdir=os.path.isdir,
    makedirs=functools.partial(os.makedirs, exist_ok=True),
    rename=_rename,
    GFile=open,
)


def set_seed(seed):
    """Does nothing: there is no generator of TensorFlow to seed."""


# Name in TensorFlow -> what answers for it; an empty text is a class that nothing is an instance of.
_LIGHT = {
    "tensorflow.io.gfile": f"{__name__}:gfile",
    "tensorflow.random.set_seed": f"{__name__}:set_seed",
    "tensorflow.TensorShape": "",
    "tensorflow.DType": "",
    "tensorflow.make_tensor_proto": "siamese.compat.event_files:make_tensor_proto",
    "tensorflow.compat.v1.Summary": "tensorboardX.proto.summary_pb2:Summary",
    "tensorflow.compat.v1.SummaryMetadata": "tensorboardX.proto.summary_pb2:SummaryMetadata",
    "tensorflow.compat.v1.HistogramProto": "tensorboardX.proto.summary_pb2:HistogramProto",
    "tensorflow.core.util.event_pb2": "tensorboardX.proto.event_pb2",
    "tensorflow.python.summary.writer.event_file_writer": "siamese.compat.event_files",
}
