# ruff: noqa: I001
"""The public names; `siamese/__init__.py` reads them here, and imports each when it is first used."""

from siamese.compat.fast import fast_forward as fast_forward
from siamese.compat.process import (
    keep_memory as keep_memory,
    enable_compile_cache as enable_compile_cache,
)
from siamese.course.answers import (
    classify as classify,
    pair_scores as pair_scores,
    predict as predict,
)
from siamese.course.generator import data_generator as data_generator
from siamese.course.loss import (
    TripletLoss as TripletLoss,
    TripletLossFn as TripletLossFn,
    edition as edition,
)
from siamese.course.model import Siamese as Siamese
from siamese.course.similarity import (
    cosine_similarity as cosine_similarity,
    l2_normalize as l2_normalize,
    similarity_matrix as similarity_matrix,
)
from siamese.course.train_model import train_model as train_model
from siamese.data.corpus import embedded_corpus as embedded_corpus
from siamese.data.pairs import QuestionPairs as QuestionPairs, read_pairs as read_pairs
from siamese.data.questions import read_questions as read_questions
from siamese.data.tokenizer import word_tokenize as word_tokenize
from siamese.data.tokens import tokenize_questions as tokenize_questions
from siamese.data.vocabulary import Vocabulary as Vocabulary
from siamese.errors import (
    SiameseError as SiameseError,
    ShapeError as ShapeError,
    ArgumentError as ArgumentError,
    DataError as DataError,
    CheckpointError as CheckpointError,
    MissingDependencyError as MissingDependencyError,
)
from siamese.evaluation.metrics import evaluate_scores as evaluate_scores
from siamese.evaluation.thresholds import best_threshold as best_threshold
from siamese.search.detector import DuplicateDetector as DuplicateDetector
from siamese.search.explain import explain as explain
from siamese.search.groups import duplicate_groups as duplicate_groups
from siamese.search.index import QuestionIndex as QuestionIndex
from siamese.search.nearest import match_questions as match_questions
from siamese.training.config import TrainConfig as TrainConfig
from siamese.training.estimator import PairClassifier as PairClassifier
from siamese.training.pair_batches import PairBatches as PairBatches
from siamese.training.run import Trainer as Trainer

__version__: str
