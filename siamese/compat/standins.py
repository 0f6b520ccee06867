"""Stand-ins for TensorFlow and Gym while Trax is imported, so that neither has to be loaded.

Trax's import touches TensorFlow, TensorFlow Datasets, TensorFlow Text and Gym only in passing: type
names for `isinstance`, one Keras base class, file helpers, an event writer. While `import trax` runs,
those packages resolve to modules of this file. What the training loop really uses of them is answered
here (`_LIGHT`); anything else loads the real package when it is first touched, or says which feature
asked for it and how to install it.
"""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import os
import pkgutil
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from siamese.errors import MissingDependencyError

# Package that is stood in for -> how its users get the real one.
_PACKAGES = {
    "tensorflow": "pip install -r requirements/tensorflow.txt (or: pip install tensorflow)",
    "tensorflow_datasets": "pip install -r requirements/tensorflow.txt",
    "tensorflow_text": "pip install -r requirements/tensorflow.txt",
    "gym": "pip install gym==0.26.2",
    "trax.tf_numpy": "pip install -r requirements/tensorflow.txt (or: pip install tensorflow)",
}
_importing_trax = False


class _StandIn(types.ModuleType):
    """A module of a stood-in package or a name in one; the real object when something really needs it."""

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        return _attribute(f"{self.__name__}.{name}")

    def __call__(self, *args, **kwargs):
        return _resolve(self.__name__)(*args, **kwargs)

    def __instancecheck__(self, instance) -> bool:
        # Nothing can be an instance of a class of a package that was never loaded.
        return loaded(self.__name__) and isinstance(instance, _real(self.__name__))

    def __mro_entries__(self, bases):
        return (_NoKeras,)

    def __repr__(self):
        return f"<stand-in for {self.__name__}>"


class _NoKeras:
    """Base of `trax.AsKeras`, whose real base is a class of Keras 2."""

    def __new__(cls, *args, **kwargs):
        raise MissingDependencyError(
            f"trax.{cls.__name__} is not supported: Trax wrote it for Keras 2. Train with Trax's Loop."
        )


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


def loaded(path: str) -> bool:
    """Whether the real package behind `path` is in the process."""
    package = "tensorflow" if path.startswith("trax.tf_numpy") else _package_of(path)
    module = sys.modules.get(package)
    return module is not None and not isinstance(module, _StandIn)


def _attribute(path: str):
    """What a stand-in answers for that dotted name."""
    if _importing_trax or any(light.startswith(_plain(path) + ".") for light in _LIGHT):
        return _StandIn(path)
    return _resolve(path)


def _resolve(path: str):
    """The object to work with: the real one if loaded, else our light one, else load the real one."""
    if not loaded(path):
        for name, light in _LIGHT.items():
            if f"{_plain(path)}.".startswith(f"{name}."):
                inside = _plain(path)[len(name) :]
                return pkgutil.resolve_name(light + inside) if light else _StandIn(path)
    return _real(path)


def _plain(path: str) -> str:
    return path.replace("tensorflow.compat.v2", "tensorflow")


def _real(path: str):
    """The real object of that dotted name, importing its package; says who needs it if it is missing."""
    try:
        package = _package_of(path)
        return _walk(importlib.import_module(package), path[len(package) + 1 :].split("."))
    except ImportError as error:
        if error.name not in _PACKAGES:
            raise  # The package is there; something inside it is broken. That error says more.
        raise MissingDependencyError(
            f"This part of Trax needs {path}, and the package {error.name} is not installed. "
            f"Training and prediction work without it; to use this part: {_PACKAGES[error.name]}"
        ) from None


def _walk(found: Any, parts: list[str]):
    """The object at the end of a dotted name; modules on the way are imported."""
    for part in filter(None, parts):
        if hasattr(found, part) or not isinstance(found, types.ModuleType):
            found = getattr(found, part)
            continue
        path = f"{found.__name__}.{part}"
        try:
            found = importlib.import_module(path)
        except ModuleNotFoundError as error:
            if error.name != path:
                raise
            raise AttributeError(path) from None  # So that hasattr() is False.
    return found


# ---- What the training loop really uses of TensorFlow, answered without it ----


def _rename(source, target, overwrite=False):
    if os.path.exists(target) and not overwrite:
        raise FileExistsError(target)
    os.replace(source, target)


def _local_or_real(name, function, path, *args, **kwargs):
    """A function of `tf.io.gfile` for a local file; a remote path (gs://...) goes to the real one."""
    remote = "://" in os.fspath(path)
    return (_real(f"tensorflow.io.gfile.{name}") if remote else function)(path, *args, **kwargs)


gfile = types.SimpleNamespace(
    exists=functools.partial(_local_or_real, "exists", os.path.exists),
    isdir=functools.partial(_local_or_real, "isdir", os.path.isdir),
    makedirs=functools.partial(
        _local_or_real, "makedirs", functools.partial(os.makedirs, exist_ok=True)
    ),
    rename=functools.partial(_local_or_real, "rename", _rename),
    GFile=functools.partial(_local_or_real, "GFile", open),
)


def set_seed(seed):
    """Seeds TensorFlow where it is loaded; where it is not, there is no generator to seed."""
    if loaded("tensorflow"):
        _real("tensorflow").random.set_seed(seed)


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
