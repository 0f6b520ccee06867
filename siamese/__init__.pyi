"""The public names, as type checkers, editors and the package itself read them."""

# A name must not be that of a module of this folder: importing that module would take
# the name's place.
from .corpus import embedded_corpus as embedded_corpus
from .course.answers import classify as classify
from .course.answers import pair_scores as pair_scores
from .course.answers import predict as predict
from .course.generator import data_generator as data_generator
from .course.loss import TripletLoss as TripletLoss
from .course.loss import TripletLossFn as TripletLossFn
from .course.loss import edition as edition
from .course.model import Siamese as Siamese
from .course.train_model import train_model as train_model
from .course.trax.fast import fast_forward as fast_forward
from .errors import ArgumentError as ArgumentError
from .errors import CheckpointError as CheckpointError
from .errors import DataError as DataError
from .errors import MissingDependencyError as MissingDependencyError
from .errors import ShapeError as ShapeError
from .errors import SiameseError as SiameseError
from .evaluation.metrics import evaluate_scores as evaluate_scores
from .evaluation.thresholds import best_threshold as best_threshold
from .groups.grouping import duplicate_groups as duplicate_groups
from .index import QuestionIndex as QuestionIndex
from .index.tables import find_duplicates as find_duplicates
from .index.tables import to_pandas as to_pandas
from .model.detector import DuplicateDetector as DuplicateDetector
from .model.explain import explain as explain
from .model.match import match_questions as match_questions
from .nn.similarity import cosine_similarity as cosine_similarity
from .nn.similarity import l2_normalize as l2_normalize
from .nn.similarity import similarity_matrix as similarity_matrix
from .reading.pairs import QuestionPairs as QuestionPairs
from .reading.pairs import read_pairs as read_pairs
from .reading.questions import read_questions as read_questions
from .system.process import enable_compile_cache as enable_compile_cache
from .system.process import keep_memory as keep_memory
from .text.tokenizer import word_tokenize as word_tokenize
from .text.vocabulary import Vocabulary as Vocabulary
from .text.vocabulary import tokenize_questions as tokenize_questions
from .training.batches import PairBatches as PairBatches
from .training.config import TrainConfig as TrainConfig
from .training.estimator import PairClassifier as PairClassifier
from .training.run import Trainer as Trainer

__version__: str
__all__: list[str]
