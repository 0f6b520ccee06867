"""Siamese networks for question duplicates: the course's assignment, running again and grown.

Importing the package is cheap: names load their module when they are first used, so text handling,
search and ``siamese --help`` never load Trax. It also arranges that a later ``import trax`` is quick,
quiet and finds the names the course uses (see `siamese.compat`).
"""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

from siamese import compat
from siamese.data.course_nltk import provide_punkt
from siamese.errors import explain_missing_trax

__version__ = "0.2.0"

# Public name -> its module, read from the stub that type checkers read. A name must not be that of a module
# of this folder: importing that module would take the name's place.
_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
_EXPORTS = {
    alias.name: node.module
    for node in _STUB.body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}

__all__ = sorted(_EXPORTS)


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'siamese' has no attribute {name!r}")
    try:
        module = importlib.import_module(_EXPORTS[name])
    except ModuleNotFoundError as error:
        explain_missing_trax(error)
        raise
    except AttributeError as error:  # It would read as "siamese has no such name".
        raise ImportError(f"{_EXPORTS[name]} cannot be imported: {error}") from error
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})


compat.prepare()
compat.after_import("nltk", provide_punkt)
