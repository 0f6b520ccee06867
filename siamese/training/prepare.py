"""From labelled pairs to what a training run reads: vocabulary, token ids, rows, and batches of them."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from siamese.errors import ArgumentError, DataError
from siamese.nn.batches import PaddedBatches
from siamese.nn.ragged import Ragged, check_pairs
from siamese.reading.clusters import clusters, transitive_closure
from siamese.reading.pairs import QuestionPairs
from siamese.system.arguments import counted
from siamese.system.open_types import JsonObject
from siamese.text.cleaning import folded
from siamese.text.tokenizer import LONGEST, MAX_TOKENS
from siamese.text.vocabulary import TokenizedQuestions, Vocabulary, tokenize_questions
from siamese.training.batches import PairBatches
from siamese.training.config import TrainConfig

# The course's share of the duplicates that train; the others validate.
TRAIN_SHARE = 0.8
HELD_OUT = 10_000  # The last pairs that at most choose the threshold.
# How often a labelled negative stands among the labelled pairs, so that more of the
# duplicates stand beside them.
COPIES = 3
VALID_BATCHES = 8  # The validation loss is the mean over so many batches at most.
PAIR_DUPLICATES = 0.4  # The share of duplicates among the labelled pairs.

# rows1, rows2, is_duplicate: int64, int64 and int32 [pairs].
LabelledRows = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class TrainingData:
    """The encoded pairs of a training run; rows are those of `ids`."""

    vocabulary: Vocabulary  # The course's numbering.
    ids: Ragged  # Token ids, a row for each distinct question.
    # The text of each row, the first of those that are equal once folded.
    texts: list[str]
    # The duplicates to train on, those of the transitive closure among them: int64
    # [pairs] for each side.
    train: tuple[np.ndarray, np.ndarray]
    # Likewise; questions of one are duplicates.
    train_clusters: tuple[np.ndarray, np.ndarray]
    # Likewise, the duplicates only the validation loss sees.
    valid: tuple[np.ndarray, np.ndarray]
    held_out: QuestionPairs  # Pairs of both kinds, to choose a threshold on.
    held_out_rows: tuple[np.ndarray, np.ndarray]
    # Training pairs of both kinds for the auxiliary loss of pairs; None where the
    # configuration asks for none.
    labelled: LabelledRows | None = None


def prepare(
    pairs: QuestionPairs,
    config: TrainConfig,
    *,
    valid: QuestionPairs | None = None,
) -> TrainingData:
    """Tokenizes and divides the pairs as the course does.

    The vocabulary comes from all duplicates among `pairs` (or from all training pairs).
    The first 0.8 of the duplicates train (more where the rest exceeds
    ``config.valid_duplicates``), the rest validates. The threshold is chosen on pairs
    of both labels behind the last pair that trains, at most `HELD_OUT`. Where `valid`
    is given, its pairs do both.

    DataError, ArgumentError for fewer than two duplicates on either side, or no
    QuestionPairs.
    """
    # Which pairs train, and which choose the threshold.
    _check_types(pairs, valid)
    train_count, known, held_out = _divided(pairs, valid, config)
    duplicates = np.flatnonzero(pairs.is_duplicate)

    # The number and the token ids of each question.
    texts = _texts_of(pairs) + _texts_of(held_out)
    tokenized = _tokenized(texts, config)
    rows = tokenized.rows[: 2 * len(pairs)].reshape(2, -1)
    held_out_rows = tokenized.rows[2 * len(pairs) :].reshape(2, -1)
    with_words = duplicates if config.vocabulary == "duplicates" else np.arange(known)
    vocabulary = _vocabulary(tokenized, rows[:, with_words], config)
    ids = tokenized.encode(vocabulary)

    # The duplicates that train, and those that validate.
    training = rows[:, duplicates[:train_count]]
    validation = rows[:, duplicates[train_count:]]
    if valid is not None:
        validation = held_out_rows[:, np.flatnonzero(valid.is_duplicate)]
    _check_duplicates(training, validation, len(duplicates), ids)

    # What a step sees.
    train, train_clusters, labelled = _train_rows(pairs, rows[:, :known], ids, config)
    return TrainingData(
        vocabulary=vocabulary,
        ids=ids,
        texts=_first_of_each_row(texts, tokenized.rows),
        train=tuple(train),
        train_clusters=tuple(train_clusters),
        valid=tuple(validation),
        held_out=held_out,
        held_out_rows=(held_out_rows[0], held_out_rows[1]),
        labelled=labelled,
    )


def _texts_of(pairs: QuestionPairs) -> list[str]:
    return [*pairs.question1, *pairs.question2]


def _first_of_each_row(texts: list[str], rows: np.ndarray) -> list[str]:
    first_places = np.unique(rows, return_index=True)[1]
    return [texts[place] for place in first_places.tolist()]


def _check_types(pairs: object, valid: object) -> None:
    for rows in (pairs, pairs if valid is None else valid):
        if not isinstance(rows, QuestionPairs):
            kind = type(rows).__name__
            raise ArgumentError(
                f"Pairs are QuestionPairs, as read_pairs gives them, not {kind}."
            )


def _divided(
    pairs: QuestionPairs, valid: QuestionPairs | None, config: TrainConfig
) -> tuple[int, int, QuestionPairs]:
    """How many duplicates train, how many pairs can, and pairs for the threshold."""
    duplicates = np.flatnonzero(pairs.is_duplicate)
    if valid is not None:
        return len(duplicates), len(pairs), valid
    train_count = int(len(duplicates) * TRAIN_SHARE)
    if config.valid_duplicates:
        train_count = max(train_count, len(duplicates) - config.valid_duplicates)
    # Rows after the last duplicate that trains may be held out: no label there is read.
    known = (
        int(duplicates[train_count]) if train_count < len(duplicates) else len(pairs)
    )
    held_out = pairs.rows(max(known, len(pairs) - HELD_OUT), len(pairs))
    return train_count, known, held_out


def _tokenized(texts: list[str], config: TrainConfig) -> TokenizedQuestions:
    """The tokens of texts as the model will read them, a row for each distinct question."""
    read = (folded(text) if config.folded else text for text in texts)
    return tokenize_questions([text[:LONGEST] for text in read], most=MAX_TOKENS)


def _vocabulary(
    tokenized: TokenizedQuestions, rows: np.ndarray, config: TrainConfig
) -> Vocabulary:
    """The words of some pairs, rows [2, pairs], as the configuration asks."""
    return tokenized.vocabulary(
        *rows,
        folded=config.folded,
        min_count=config.min_count,
        unknown_ids=config.unknown_ids,
    )


def _check_duplicates(
    train: np.ndarray, validation: np.ndarray, duplicates: int, ids: Ragged
) -> None:
    """DataError for fewer than two pairs on a side, and for questions without words."""
    train_count = train.shape[1]
    validation_count = validation.shape[1]
    if train_count < 2 or validation_count < 2:
        raise DataError(
            f"{counted(duplicates, 'duplicate')} to train and validate on, which divide "
            f"into {train_count} and {validation_count}: at least 2 are needed for "
            "each. Give more rows."
        )
    if not ids.lengths[np.concatenate([train, validation], axis=1)].all():
        raise DataError(
            "A question holds no words for the tokenizer (only blanks or control characters). "
            "read_pairs(...).report says where; take such rows out."
        )


def _train_rows(
    pairs: QuestionPairs, rows: np.ndarray, ids: Ragged, config: TrainConfig
) -> tuple[np.ndarray, np.ndarray, LabelledRows | None]:
    """Train, train_clusters, int64 [2, pairs] each, and labelled of `TrainingData`.

    The labels of the first pairs, int64 rows of `ids` [2, known], may be read.
    """
    known = pairs.rows(0, rows.shape[1])
    rows, cluster_sides, is_duplicate = _known_pairs(known, rows, config)
    train = np.flatnonzero(is_duplicate)
    labelled = None
    if config.pair_batch_size:
        have_words = (ids.lengths[rows] > 0).all(axis=0)
        others = ~is_duplicate & (cluster_sides[0] != cluster_sides[1]) & have_words
        negatives = rows[:, np.tile(np.flatnonzero(others), COPIES)]
        labelled = _labelled(rows[:, train], negatives, config)
    return rows[:, train], cluster_sides[:, train], labelled


def _known_pairs(
    pairs: QuestionPairs, rows: np.ndarray, config: TrainConfig
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The labelled pairs and those that follow from them: rows, clusters, labels."""
    joined = clusters(pairs)
    cluster_sides = np.stack([joined.cluster1, joined.cluster2])
    is_duplicate = np.asarray(pairs.is_duplicate, bool)
    if config.transitive_closure:
        *closure, cluster = transitive_closure(tuple(rows), joined, seed=config.seed)
        rows = np.concatenate([rows, closure], axis=1)
        cluster_sides = np.concatenate([cluster_sides, [cluster, cluster]], axis=1)
        is_duplicate = np.concatenate([is_duplicate, np.ones(len(cluster), bool)])
    return rows, cluster_sides, is_duplicate


def _labelled(
    duplicates: np.ndarray, negatives: np.ndarray, config: TrainConfig
) -> LabelledRows:
    """All negatives, and drawn duplicates in the proportion `PAIR_DUPLICATES`."""
    count = negatives.shape[1]
    if not count:
        raise DataError(
            "The loss of labelled pairs needs training pairs that are no duplicates, and there are none. "
            "Give some, or leave it out: pair_batch_size=0."
        )
    duplicate_count = round(count * PAIR_DUPLICATES / (1 - PAIR_DUPLICATES))
    draw = np.random.default_rng([config.seed, count])
    drawn = np.resize(draw.permutation(duplicates.shape[1]), duplicate_count)
    rows1, rows2 = np.concatenate([negatives, duplicates[:, drawn]], axis=1)
    return rows1, rows2, np.repeat(np.array([0, 1], np.int32), [count, duplicate_count])


def make_batches(
    data: TrainingData, config: TrainConfig
) -> tuple[PaddedBatches | PairBatches, list[tuple]]:
    """The endless batches to train on, and the few to validate on: (q1, q2), int32 [batch, length].

    Those to validate on are smaller where there are fewer duplicates to validate on
    than `batch_size`.
    """
    ids = data.ids
    if config.encoder:  # A question is the row of its vector, a token of its own.
        numbers = np.arange(len(ids) + 1)
        ids = Ragged(numbers[:-1].astype(np.int32), numbers)
    train1, train2 = (ids.take(side) for side in data.train)
    valid1, valid2 = (ids.take(side) for side in data.valid)
    # A loss over the other pairs of a batch needs two.
    valid_count = len(data.valid[0])
    valid_size = min(config.batch_size, max(2, valid_count))
    batches: PaddedBatches | PairBatches
    validation: PaddedBatches | PairBatches
    if config.batches == "course":
        check_pairs(train1, train2, "question1", "question2")
        check_pairs(valid1, valid2, "question1", "question2")
        batches = PaddedBatches(train1, train2, config.batch_size)
        batches.draws = random.Random(config.seed)
        validation = PaddedBatches(valid1, valid2, valid_size, shuffle=False)
    else:
        batches = PairBatches(
            train1,
            train2,
            config.batch_size,
            seed=config.seed,
            swap=True,
            clusters=data.train_clusters,
            **_labelled_options(data, ids, config),
        )
        validation = PairBatches(valid1, valid2, valid_size, seed=config.seed)
    number = max(1, min(VALID_BATCHES, valid_count // valid_size))
    return batches, [next(validation) for _ in range(number)]


def _labelled_options(
    data: TrainingData, ids: Ragged, config: TrainConfig
) -> JsonObject:
    """The arguments of `PairBatches` for labelled pairs."""
    if data.labelled is None:
        return {}
    rows1, rows2, labels = data.labelled
    labelled = ids.take(rows1), ids.take(rows2), labels
    return {"labelled": labelled, "pair_batch_size": config.pair_batch_size}
