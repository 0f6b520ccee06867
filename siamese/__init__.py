"""Siamese networks for question duplicates: the course's assignment, running again and grown.

Importing the package is cheap: names load their module when they are first used, so
text handling, search and ``siamese --help`` never load Trax. ``import siamese.course``
imports Trax and mends it, and so does the first ``import trax`` after ``import
siamese``.
"""

from __future__ import annotations

import importlib
import sys
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

import lazy_loader

from siamese.errors import explain_missing_trax

__version__ = "0.3.0"

_public_name, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    """A public name, from its module as the stub file beside this one says."""
    try:
        return _public_name(name)
    except ModuleNotFoundError as error:
        explain_missing_trax(error)
        raise


class _CourseFirst(Loader):
    """Finds Trax for its first import, which imports `siamese.course` and takes its Trax."""

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        if name != "trax" or "siamese.course" in sys.modules:
            return None
        return PathFinder.find_spec(name) and ModuleSpec(name, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        importlib.import_module("siamese.course")
        spec.loader_state = sys.modules["trax"].__spec__
        return sys.modules["trax"]

    def exec_module(self, module: Any) -> None:
        module.__spec__ = module.__spec__.loader_state


sys.meta_path.insert(0, _CourseFirst())
