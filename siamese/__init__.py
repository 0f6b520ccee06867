"""Siamese networks for question duplicates: the course's assignment, running again and grown.

Importing the package is cheap: names load their module when they are first used, so
text handling, search and ``siamese --help`` never load Trax. ``import siamese.course``
imports Trax and mends it, and so does the first ``import trax`` after ``import
siamese``.
"""

from __future__ import annotations

import ast
import importlib
import sys
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

from siamese.errors import explain_missing_trax

__version__ = "0.2.0"

# The public names, as type checkers read them. A name must not be that of a module of
# this folder: importing that module would take the name's place.
if TYPE_CHECKING:
    # isort: off
    from siamese.course.trax.fast import fast_forward as fast_forward
    from siamese.system.process import enable_compile_cache as enable_compile_cache
    from siamese.system.process import keep_memory as keep_memory
    from siamese.course.answers import classify as classify
    from siamese.course.answers import pair_scores as pair_scores
    from siamese.course.answers import predict as predict
    from siamese.course.generator import data_generator as data_generator
    from siamese.course.loss import TripletLoss as TripletLoss
    from siamese.course.loss import TripletLossFn as TripletLossFn
    from siamese.course.loss import edition as edition
    from siamese.course.model import Siamese as Siamese
    from siamese.nn.similarity import cosine_similarity as cosine_similarity
    from siamese.nn.similarity import l2_normalize as l2_normalize
    from siamese.nn.similarity import similarity_matrix as similarity_matrix
    from siamese.course.train_model import train_model as train_model
    from siamese.corpus import embedded_corpus as embedded_corpus
    from siamese.reading.pairs import (
        QuestionPairs as QuestionPairs,
        read_pairs as read_pairs,
    )
    from siamese.reading.questions import read_questions as read_questions
    from siamese.text.tokenizer import word_tokenize as word_tokenize
    from siamese.text.vocabulary import tokenize_questions as tokenize_questions
    from siamese.text.vocabulary import Vocabulary as Vocabulary
    from siamese.errors import ArgumentError as ArgumentError
    from siamese.errors import CheckpointError as CheckpointError
    from siamese.errors import DataError as DataError
    from siamese.errors import MissingDependencyError as MissingDependencyError
    from siamese.errors import ShapeError as ShapeError
    from siamese.errors import SiameseError as SiameseError
    from siamese.evaluation.metrics import evaluate_scores as evaluate_scores
    from siamese.evaluation.thresholds import best_threshold as best_threshold
    from siamese.model.detector import DuplicateDetector as DuplicateDetector
    from siamese.model.explain import explain as explain
    from siamese.groups.grouping import duplicate_groups as duplicate_groups
    from siamese.index import QuestionIndex as QuestionIndex
    from siamese.model.match import match_questions as match_questions
    from siamese.training.config import TrainConfig as TrainConfig
    from siamese.training.estimator import PairClassifier as PairClassifier
    from siamese.training.batches import PairBatches as PairBatches
    from siamese.training.run import Trainer as Trainer
    # isort: on

# Public name -> its module, read from the imports above.
_EXPORTS = {
    alias.name: node.module
    for block in ast.parse(Path(__file__).read_text(encoding="utf-8")).body
    if isinstance(block, ast.If)
    for node in block.body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}

__all__ = sorted(_EXPORTS)


if not TYPE_CHECKING:  # To a type checker a name that is not above is a mistake.

    def __getattr__(name: str) -> Any:
        if name not in _EXPORTS:
            raise AttributeError(f"module 'siamese' has no attribute {name!r}")
        try:
            module = importlib.import_module(_EXPORTS[name])
        except ModuleNotFoundError as error:
            explain_missing_trax(error)
            raise
        except AttributeError as error:  # It would read as "siamese has no such name".
            raise ImportError(
                f"{_EXPORTS[name]} cannot be imported: {error}"
            ) from error
        value = getattr(module, name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})


class _CourseFirst(Loader):
    """Finds Trax for its first import, which imports `siamese.course` and takes its Trax."""

    def find_spec(self, name: str, *_: Any) -> ModuleSpec | None:
        if name != "trax" or "siamese.course" in sys.modules:
            return None
        return PathFinder.find_spec(name) and ModuleSpec(name, self)

    def create_module(self, spec: ModuleSpec) -> Any:
        importlib.import_module("siamese.course")
        spec.loader_state = sys.modules["trax"].__spec__
        return sys.modules["trax"]

    def exec_module(self, module: Any) -> None:
        module.__spec__ = module.__spec__.loader_state


sys.meta_path.insert(0, _CourseFirst())
