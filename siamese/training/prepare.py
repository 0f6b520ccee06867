"""From labelled pairs to what a training run reads: vocabulary, token ids, training and held-out rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from siamese.data.clusters import clusters, implied_duplicates
from siamese.data.hard_negatives import SimilarQuestions
from siamese.data.pairs import QuestionPairs
from siamese.data.tokens import tokenize_questions
from siamese.data.vocabulary import Vocabulary
from siamese.errors import DataError
from siamese.nn.ragged import Ragged
from siamese.training.config import TrainConfig

COPIES = 3  # How often a labelled non-duplicate stands among the labelled pairs.


@dataclass(frozen=True)
class TrainingData:
    """The encoded pairs of a training run.

    Attributes:
      vocabulary: of the training duplicates, the course's numbering.
      ids: `Ragged` of token ids, a row for each distinct question.
      train: (rows1, rows2), int64 [pairs] each: the duplicates to train on, implied ones among them, as
        rows of `ids`.
      train_clusters: (clusters1, clusters2), int64 [pairs] each: questions of one cluster are duplicates.
      valid: likewise, the duplicates that only the validation loss sees.
      held_out: labelled pairs of both kinds behind the training part, to choose a threshold on.
      held_out_rows: their rows in `ids`.
      labelled: (rows1, rows2, is_duplicate), int64 [pairs] each and int32 [pairs]: training pairs of both
        kinds that go along with the batches; None where the configuration asks for none.
    """

    vocabulary: Vocabulary
    ids: Ragged
    train: tuple[np.ndarray, np.ndarray]
    train_clusters: tuple[np.ndarray, np.ndarray]
    valid: tuple[np.ndarray, np.ndarray]
    held_out: QuestionPairs
    held_out_rows: tuple[np.ndarray, np.ndarray]
    labelled: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None


def prepare(
    pairs: QuestionPairs,
    config: TrainConfig,
    *,
    valid: QuestionPairs | None = None,
    held_out_pairs: int = 10_000,
) -> TrainingData:
    """Tokenizes and divides the pairs as the course does.

    The vocabulary comes from all duplicates among `pairs` (or from all training pairs); the first
    ``config.train_share`` of them is trained on, the rest validates. The threshold is chosen on pairs of
    both labels that stand behind the last pair trained on.

    Args:
      pairs: the training rows, both labels.
      config: the run's choices.
      valid: labelled pairs for validation and threshold; taken from the end of `pairs` where None.
      held_out_pairs: at most so many of the last pairs are used for the threshold.

    Raises:
      DataError: fewer than two duplicates on either side of the division.
    """
    duplicates = np.flatnonzero(pairs.is_duplicate)
    cut = len(duplicates) if valid is not None else int(len(duplicates) * config.train_share)
    held_out = valid
    if held_out is None:
        first = duplicates[cut] if cut < len(duplicates) else len(pairs)
        held_out = pairs.rows(max(int(first), len(pairs) - held_out_pairs), len(pairs))
    n, m = len(pairs), len(held_out)
    texts = [*pairs.question1, *pairs.question2, *held_out.question1, *held_out.question2]
    tokenized = tokenize_questions(texts, lowercase=config.lowercase)
    rows1, rows2 = tokenized.rows[:n], tokenized.rows[n : 2 * n]
    held1, held2 = tokenized.rows[2 * n : 2 * n + m], tokenized.rows[2 * n + m :]
    # What stands behind the last duplicate trained on may be held out: its labels are not looked at.
    known = int(duplicates[cut]) if cut < len(duplicates) else n
    worded = duplicates if config.vocabulary == "duplicates" else np.arange(known)
    vocabulary = tokenized.vocabulary(rows1[worded], rows2[worded], min_count=config.min_count)
    vocabulary = vocabulary.with_unknown_ids(config.unknown_ids)
    ids = tokenized.encode(vocabulary)

    if valid is None:
        rest = duplicates[cut:]
        validation = (rows1[rest], rows2[rest])
    else:
        same = np.flatnonzero(valid.is_duplicate)
        validation = (held1[same], held2[same])
    if cut < 2 or len(validation[0]) < 2:
        raise DataError(
            f"There are {len(duplicates)} duplicates to train and validate on, which divide into "
            f"{cut} and {len(validation[0])}: at least 2 are needed for each. Give more rows."
        )
    empty = np.flatnonzero(ids.lengths == 0)
    trained = duplicates[:cut]
    used = np.concatenate([rows1[trained], rows2[trained], *validation])
    if np.isin(used, empty).any():
        raise DataError(
            "A question holds no words for the tokenizer (only blanks or control characters). "
            "`siamese data FILE` says where; take such rows out."
        )
    rows, sides, is_duplicate = _known_pairs(
        pairs.rows(0, known), (rows1[:known], rows2[:known]), config
    )
    train = np.flatnonzero(is_duplicate)
    labelled = None
    if config.near_misses or config.subject_block:
        similar = SimilarQuestions(ids, rows, sides, config.seed)
    if config.labelled_size:
        misses = similar.hard_negatives(config.near_misses) if config.near_misses else None
        lengths = tuple(ids.lengths[side] for side in rows)
        labelled = _labelled(is_duplicate, rows, lengths, sides, misses, config)
    if config.subject_block:
        train = train[similar.topic_order(train, config.subject_block)]
    return TrainingData(
        vocabulary,
        ids,
        tuple(side[train] for side in rows),
        tuple(side[train] for side in sides),
        validation,
        held_out,
        (held1, held2),
        labelled,
    )


def _known_pairs(pairs: QuestionPairs, rows, config: TrainConfig):
    """The labelled pairs, and those that follow from them where wanted: (rows, clusters, is_duplicate)."""
    joined = clusters(pairs)
    sides = (joined.cluster1, joined.cluster2)
    is_duplicate = np.asarray(pairs.is_duplicate, bool)
    if config.implied:
        *implied, cluster = implied_duplicates(rows, joined, seed=config.seed)
        rows = tuple(np.concatenate(both) for both in zip(rows, implied))
        sides = tuple(np.concatenate([side, cluster]) for side in sides)
        is_duplicate = np.concatenate([is_duplicate, np.ones(len(cluster), bool)])
    return rows, sides, is_duplicate


def _labelled(is_duplicate, rows, lengths, between, misses, config: TrainConfig):
    """Labelled pairs of both kinds in the wished proportion: (rows1, rows2, is_duplicate)."""
    others = np.flatnonzero(
        ~is_duplicate & (between[0] != between[1]) & (lengths[0] > 0) & (lengths[1] > 0)
    )
    # Labelled non-duplicates are few and made ones are many and less certain: they come more often.
    sides = [side[np.tile(others, COPIES)] for side in rows]
    if misses is not None:
        sides = [np.concatenate(both) for both in zip(sides, misses)]
    if not len(sides[0]):
        raise DataError(
            "labelled_size needs training pairs that are labelled as no duplicates, and there are none. "
            "Give some, or leave labelled_size and near_misses at 0."
        )
    share = config.labelled_duplicates
    wanted = round(len(sides[0]) * share / (1 - share))
    draw = np.random.default_rng([config.seed, len(sides[0])])
    duplicates = np.resize(draw.permutation(np.flatnonzero(is_duplicate)), wanted)
    sides = [np.concatenate([own, side[duplicates]]) for own, side in zip(sides, rows)]
    labels = np.arange(len(sides[0])) >= len(sides[0]) - wanted
    return *sides, labels.astype(np.int32)
