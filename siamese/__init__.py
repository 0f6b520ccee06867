"""Siamese networks for question duplicates: the course's assignment, running again and grown.

Importing the package is cheap: names load their module when they are first used, so text handling,
search and ``siamese --help`` never load Trax. It also arranges that a later ``import trax`` is quick,
quiet and finds the names the course uses (see `siamese.compat`).
"""

from __future__ import annotations

import importlib

from siamese import compat
from siamese.data.course_nltk import provide_punkt
from siamese.errors import explain_missing_trax

__version__ = "0.2.0"

# Public name -> the module that defines it. A name must not be that of a module of this folder: importing
# that module would take the name's place.
_EXPORTS = {
    "SiameseError": "errors",
    "ShapeError": "errors",
    "ArgumentError": "errors",
    "DataError": "errors",
    "CheckpointError": "errors",
    "MissingDependencyError": "errors",
    "cosine_similarity": "course.similarity",
    "l2_normalize": "course.similarity",
    "similarity_matrix": "course.similarity",
    "TripletLossFn": "course.loss",
    "TripletLoss": "course.loss",
    "edition": "course.editions",
    "word_tokenize": "data.tokenizer",
    "Vocabulary": "data.vocabulary",
    "tokenize_questions": "data.tokens",
    "QuestionPairs": "data.pairs",
    "read_pairs": "data.pairs",
    "read_questions": "data.questions",
    "embedded_corpus": "data.corpus",
    "data_generator": "course.generator",
    "PairBatches": "training.pair_batches",
    "Siamese": "course.model",
    "fast_forward": "compat.fast",
    "train_model": "course.train_model",
    "classify": "course.answers",
    "pair_scores": "course.answers",
    "evaluate_scores": "evaluation.metrics",
    "best_threshold": "evaluation.thresholds",
    "predict": "course.answers",
    "DuplicateDetector": "search.detector",
    "explain": "search.explain",
    "QuestionIndex": "search.index",
    "duplicate_groups": "search.groups",
    "match_questions": "search.nearest",
    "PairClassifier": "training.estimator",
    "TrainConfig": "training.config",
    "Trainer": "training.run",
    "keep_memory": "compat.process",
    "enable_compile_cache": "compat.process",
}

__all__ = sorted(_EXPORTS)


def __getattr__(name: str):
    if name not in _EXPORTS:
        raise AttributeError(f"module 'siamese' has no attribute {name!r}")
    try:
        module = importlib.import_module(f"siamese.{_EXPORTS[name]}")
    except ModuleNotFoundError as error:
        explain_missing_trax(error)
        raise
    except AttributeError as error:  # It would read as "siamese has no such name".
        raise ImportError(f"siamese.{_EXPORTS[name]} cannot be imported: {error}") from error
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_EXPORTS})


compat.prepare()
compat.after_import("nltk", provide_punkt)
