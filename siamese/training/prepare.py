"""From labelled pairs to what a training run reads: vocabulary, token ids, rows, and batches of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from siamese.course.generator import data_generator
from siamese.data.clusters import clusters, transitive_closure
from siamese.data.hard_negatives import SimilarQuestions
from siamese.data.pairs import QuestionPairs
from siamese.data.text import folded
from siamese.data.vocabulary import Vocabulary, tokenize_questions
from siamese.errors import ArgumentError, DataError
from siamese.nn.ragged import Ragged
from siamese.training.batches import PairBatches
from siamese.training.config import TrainConfig

TRAIN_SHARE = 0.8  # The course's share of the duplicates that train; the others validate.
HELD_OUT = 10_000  # The last pairs that at most choose the threshold.
COPIES = 3  # How often a labelled negative stands among the labelled pairs.
VALID_BATCHES = 8  # The validation loss is the mean over so many batches at most.
PAIR_DUPLICATES = 0.4  # The share of duplicates among the labelled pairs.


@dataclass(frozen=True)
class TrainingData:
    """The encoded pairs of a training run; rows are those of `ids`."""

    vocabulary: Vocabulary  # The course's numbering.
    ids: Ragged  # Token ids, a row for each distinct question.
    texts: list[str]  # The text of each row, the first of those that are equal once folded.
    # The duplicates to train on, those of the transitive closure among them: int64 [pairs] for each side.
    train: tuple[np.ndarray, np.ndarray]
    train_clusters: tuple[np.ndarray, np.ndarray]  # Likewise; questions of one are duplicates.
    valid: tuple[np.ndarray, np.ndarray]  # Likewise, the duplicates only the validation loss sees.
    held_out: QuestionPairs  # Pairs of both kinds, to choose a threshold on.
    held_out_rows: tuple[np.ndarray, np.ndarray]
    # (rows1, rows2, is_duplicate), int32 labels: training pairs of both kinds for the auxiliary
    # loss of pairs; None where the configuration asks for none.
    labelled: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None


def prepare(
    pairs: QuestionPairs,
    config: TrainConfig,
    *,
    valid: QuestionPairs | None = None,
) -> TrainingData:
    """Tokenizes and divides the pairs as the course does.

    The vocabulary comes from all duplicates among `pairs` (or from all training pairs). The first 0.8 of
    the duplicates train (more where the rest exceeds ``config.valid_duplicates``), the rest validates. The
    threshold is chosen on pairs of both labels behind the last pair that trains, at most `HELD_OUT`.
    Where `valid` is given, its pairs do both.

    DataError, ArgumentError for fewer than two duplicates on either side, or no QuestionPairs.
    """
    for rows in (pairs, pairs if valid is None else valid):
        if not isinstance(rows, QuestionPairs):
            kind = type(rows).__name__
            raise ArgumentError(f"Pairs are QuestionPairs, as read_pairs gives them, not {kind}.")
    duplicates = np.flatnonzero(pairs.is_duplicate)
    cut = len(duplicates) if valid is not None else int(len(duplicates) * TRAIN_SHARE)
    if config.valid_duplicates and valid is None:
        cut = max(cut, len(duplicates) - config.valid_duplicates)
    # Rows after the last duplicate that trains may be held out: their labels are not read.
    n = len(pairs)
    known = int(duplicates[cut]) if cut < len(duplicates) else n
    held_out = pairs.rows(max(known, n - HELD_OUT), n) if valid is None else valid
    texts = [*pairs.question1, *pairs.question2, *held_out.question1, *held_out.question2]
    tokenized = tokenize_questions(map(folded, texts) if config.folded else texts)
    first_rows = np.unique(tokenized.rows, return_index=True)[1]
    rows = tokenized.rows[: 2 * n].reshape(2, n)
    held_out_rows = tokenized.rows[2 * n :].reshape(2, len(held_out))
    worded = duplicates if config.vocabulary == "duplicates" else np.arange(known)
    options = {name: getattr(config, name) for name in ("folded", "min_count", "unknown_ids")}
    vocabulary = tokenized.vocabulary(*rows[:, worded], **options)
    ids = tokenized.encode(vocabulary)

    validation = rows[:, duplicates[cut:]]
    if valid is not None:
        validation = held_out_rows[:, np.flatnonzero(valid.is_duplicate)]
    if cut < 2 or validation.shape[1] < 2:
        raise DataError(
            f"There are {len(duplicates)} duplicates to train and validate on, which divide into "
            f"{cut} and {validation.shape[1]}: at least 2 are needed for each. Give more rows."
        )
    used = np.concatenate([rows[:, duplicates[:cut]], validation], axis=1)
    if not ids.lengths[used].all():
        raise DataError(
            "A question holds no words for the tokenizer (only blanks or control characters). "
            "`siamese data FILE` says where; take such rows out."
        )

    rows, sides, is_duplicate = _known_pairs(pairs.rows(0, known), rows[:, :known], config)
    train, labelled = np.flatnonzero(is_duplicate), None
    if config.hard_negatives or config.topic_block > 1:
        similar = SimilarQuestions(ids, rows, sides, config.seed)
    if config.pair_batch_size:
        others = ~is_duplicate & (sides[0] != sides[1]) & (ids.lengths[rows] > 0).all(axis=0)
        # Labelled negatives are few, mined ones are many and less certain: the former are repeated.
        negatives = rows[:, np.tile(np.flatnonzero(others), COPIES)]
        if config.hard_negatives:
            mined = similar.hard_negatives(config.hard_negatives)
            negatives = np.concatenate([negatives, mined], axis=1)
        labelled = _labelled(rows[:, train], negatives, config)
    if config.topic_block > 1:
        train = train[similar.topic_order(train, config.topic_block)]
    return TrainingData(
        vocabulary,
        ids,
        [texts[row] for row in first_rows.tolist()],
        tuple(side[train] for side in rows),
        tuple(side[train] for side in sides),
        tuple(validation),
        held_out,
        tuple(held_out_rows),
        labelled,
    )


def _known_pairs(pairs: QuestionPairs, rows: np.ndarray, config: TrainConfig):
    """The labelled pairs, and those that follow from them: rows, clusters [2, pairs]; labels [pairs]."""
    joined = clusters(pairs)
    sides = np.stack([joined.cluster1, joined.cluster2])
    is_duplicate = np.asarray(pairs.is_duplicate, bool)
    if config.transitive_closure:
        *closure, cluster = transitive_closure(tuple(rows), joined, seed=config.seed)
        rows = np.concatenate([rows, closure], axis=1)
        sides = np.concatenate([sides, [cluster, cluster]], axis=1)
        is_duplicate = np.concatenate([is_duplicate, np.ones(len(cluster), bool)])
    return rows, sides, is_duplicate


def _labelled(duplicates: np.ndarray, negatives: np.ndarray, config: TrainConfig):
    """All negatives and drawn duplicates in the wished proportion: (rows1, rows2, is_duplicate)."""
    count = negatives.shape[1]
    if not count:
        raise DataError(
            "The loss of labelled pairs needs training pairs that are no duplicates, and there are none. "
            "Give some, or leave it out: --set pair_batch_size=0 --set hard_negatives=0."
        )
    wanted = round(count * PAIR_DUPLICATES / (1 - PAIR_DUPLICATES))
    draw = np.random.default_rng([config.seed, count])
    drawn = np.resize(draw.permutation(duplicates.shape[1]), wanted)
    rows1, rows2 = np.concatenate([negatives, duplicates[:, drawn]], axis=1)
    return rows1, rows2, np.repeat(np.array([0, 1], np.int32), [count, wanted])


def make_batches(data: TrainingData, config: TrainConfig) -> tuple[Iterator, list[tuple]]:
    """The endless batches to train on, and the few to validate on: (q1, q2), int32 [batch, length].

    Those to validate on are smaller where there are fewer duplicates to validate on than `batch_size`.
    """
    ids, count = data.ids, len(data.valid[0])
    if config.encoder:  # A question is the row of its vector, a token of its own.
        rows = np.arange(len(ids) + 1)
        ids = Ragged(rows[:-1].astype(np.int32), rows)
    train, valid = ([ids.take(side) for side in part] for part in (data.train, data.valid))
    # A loss over the other pairs of a batch needs two.
    size = min(config.batch_size, max(2, count))
    if config.batches == "course":
        batches = data_generator(*train, config.batch_size)
        batches.draws = random.Random(config.seed)
        validation = data_generator(*valid, size, shuffle=False)
    else:
        options: dict[str, Any] = {"seed": config.seed}
        validation = PairBatches(*valid, size, **options)
        if data.labelled is not None:
            *rows, labels = data.labelled
            options["labelled"] = (*map(ids.take, rows), labels)
            options["pair_batch_size"] = config.pair_batch_size
        batches = PairBatches(
            *train, config.batch_size, topic_block=config.topic_block, swap=True,
            clusters=data.train_clusters, **options,
        )  # fmt: skip
    return batches, [next(validation) for _ in range(max(1, min(VALID_BATCHES, count // size)))]
