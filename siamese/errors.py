"""Every error that a user can cause.

One message each: what was wrong, where, and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence


class SiameseError(Exception):
    """Base of all errors that a user can cause; the command line prints the message and exits 2.

    Attributes:
      message: what was wrong, where, and what to do.
      arguments: the arguments of Python that the message tells to pass or to leave out, each written there
        as `name=` or `name=value`; the command line has flags in their places.

    Example:
      >>> error = ArgumentError("q.db is there. Pass overwrite=True.", arguments=["overwrite"])
      >>> str(error), error.arguments
      ('q.db is there. Pass overwrite=True.', ('overwrite',))
    """

    def __init__(self, message: object = "", *, arguments: Sequence[str] = ()):
        super().__init__(message)
        self.message = str(message)
        self.arguments = tuple(arguments)


class ShapeError(SiameseError, ValueError):
    """Arrays whose shapes do not go together, such as (4,) against (4, 1)."""


class ArgumentError(SiameseError, ValueError):
    """An argument outside what a function accepts; the message names it and the accepted values."""


class DataError(SiameseError, ValueError):
    """A file, row or question that cannot be used; the message names the file, line and column."""


class CheckpointError(SiameseError, RuntimeError):
    """A checkpoint or saved model that is missing, damaged, unsafe, or made by another model."""


class MissingDependencyError(SiameseError, ImportError):
    """An optional package that a feature needs; the message says which feature and how to install."""


def explain_missing_trax(error: ModuleNotFoundError) -> None:
    """Raises a MissingDependencyError where it is Trax that an import lacks; otherwise does nothing."""
    if error.name == "trax":
        raise MissingDependencyError(
            "This needs Trax, which is not installed (training, answering and search do not need it). In "
            "the folder of siamese's source run `pip install --no-deps -r requirements.txt`; elsewhere "
            "`pip install trax==1.4.1`, which brings TensorFlow with it (3 GB)."
        ) from error
