"""A head of few labels, or of links alone, measured on labels left out, beside the bare encoder."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from siamese.encoders.joined import Joined
from siamese.encoders.protocol import unit_rows
from siamese.errors import DataError
from siamese.evaluation.metrics import evaluate_scores
from siamese.evaluation.retrieval import evaluate_retrieval
from siamese.evaluation.thresholds import fit_threshold
from siamese.model.decision import part_cosines
from siamese.model.detector import UNLABELLED_THRESHOLD, DuplicateDetector
from siamese.model.near_misses import NearMissCheck
from siamese.nn.nearest import top_k
from siamese.reading.clusters import cluster_split, number_questions, question_groups
from siamese.reading.pairs import QuestionPairs
from siamese.system.arguments import counted
from siamese.system.open_types import JsonObject
from siamese.training.head import fit_head
from siamese.training.own_check import fit_compared
from siamese.training.pieces import Pieces
from siamese.training.report import decided

FOLDS = 3  # Each part of the labels is judged by a head of the others.
LEAST = 3  # duplicates
CURVE_PAIRS = 1000  # With fewer the cosine decides.
# Of encoder and head, which is of the topic itself: chosen on a forum.
FEW_SHARES = (0.25, 0.75)
DEPTH = 100  # places that are searched for a link's second question


class Gain(NamedTuple):
    """What labels changed, on labels that were left out."""

    measure: str  # 'ROC AUC', or of links 'mean reciprocal rank'
    encoder: float  # of the bare encoder
    after: float
    labels: int
    duplicates: int

    def __str__(self) -> str:
        text = (
            f"On labels left out, in {FOLDS} parts, {self.measure}: the encoder alone "
            f"{self.encoder:.3f}, with the new head {self.after:.3f}."
        )
        if self.after <= self.encoder:
            text += (
                " These labels bought nothing: the encoder alone is as good or better."
            )
        return text


@dataclass(frozen=True)
class LabelledVectors:
    """Labelled pairs and the vectors of their questions: what a head is fitted on."""

    start: Pieces  # of the model to go on from
    card: JsonObject  # of that model
    texts: list[str]  # the distinct questions; of links, those of the list come last
    rows: np.ndarray  # int64 [n, 2]: each pair's two texts
    is_duplicate: np.ndarray  # bool [n]
    # The texts' vectors by the frozen encoder and by any LSTM, float32 [texts, d] each.
    frozen: np.ndarray
    lstm: np.ndarray | None
    seed: int

    @property
    def are_links(self) -> bool:
        """Whether all pairs are duplicates."""
        return bool(self.is_duplicate.all())

    def fitted(self, pairs: np.ndarray) -> DuplicateDetector:
        """The model with a head fitted on some of the pairs, int64 [some]."""
        rows = self.rows[pairs]
        groups = question_groups(self.texts, rows) if self.are_links else None
        matrix = fit_head(
            self.frozen,
            rows,
            self.is_duplicate[pairs],
            groups,
            start=None if self.start.head is None else self.start.head.matrix,
            seed=self.seed,
        )
        is_usual = self.start.lstm is not None or self.are_links
        pieces = self.start.with_head(matrix)
        encoder = pieces.encoder(None if is_usual else FEW_SHARES)
        return DuplicateDetector(encoder, card=self.card, check=NearMissCheck.shipped())

    def vectors(self, model: DuplicateDetector) -> np.ndarray:
        """The texts' vectors by a model of `fitted`, float32 [texts, size]."""
        head = Pieces.of(model.encoder).head
        assert head is not None and isinstance(model.encoder, Joined)
        parts = [self.frozen, head.on(self.frozen), self.lstm]
        return model.encoder.of_parts([own for own in parts if own is not None])


class LeftOut(NamedTuple):
    """What models say of the pairs that they were not fitted on."""

    cosines: np.ndarray  # float64 [n]
    part_cosines: np.ndarray  # float64 [n, parts]
    # Of links each fold's mean reciprocal ranks, by the encoder and by the new model.
    ranks: list[tuple[float, float]]


def teach(
    start: DuplicateDetector,  # from whose encoder and head it goes on; its LSTM stays as it is
    pairs: QuestionPairs,
    # for links: those that are no answers are drawn from them
    listed: list[str] | None = None,
    *,
    seed: int = 0,  # of batches, dropout and parts
    # called with remarks on the figures
    note: Callable[[str], None] = lambda text: None,
) -> tuple[DuplicateDetector, Gain]:
    """A model with a head of its own from at most some thousand labels, and what they bought.

    With both labels its threshold is fitted on left-out scores. Where all pairs are
    duplicates (links), their order is learned and no threshold. DataError for fewer
    than `LEAST` duplicates, and where the scores do not tell them from the others.
    """
    is_duplicate = np.asarray(pairs.is_duplicate, bool)
    count = len(is_duplicate)
    duplicates = int(is_duplicate.sum())
    if duplicates < LEAST:
        raise DataError(
            f"{counted(duplicates, 'duplicate')} among {counted(count, 'pair')}; a head needs {LEAST}."
        )
    texts, rows = number_questions(pairs.question1, pairs.question2)
    if is_duplicate.all():
        texts = list(dict.fromkeys([*texts, *(listed or ())]))
    pieces = Pieces.of(start.encoder)
    vectors = _encoded(start, texts, note)
    if pieces.head is not None:
        note(
            "Labels that this model has learned before make the new head's figures too good."
        )
    labelled = LabelledVectors(
        pieces, start.card, texts, rows, is_duplicate, *vectors, seed
    )
    left_out = cross_validated(labelled, parts_of(pairs, seed))
    model = labelled.fitted(np.arange(count))
    measure, encoder, after = _figures(labelled, left_out)
    gain = Gain(measure, encoder, after, count, duplicates)
    fit = _threshold_fit(labelled, left_out, model)
    source = fit.get("threshold_from", "labels")
    return decided(model, fit, {**model.card, "threshold_from": source}), gain


def _encoded(
    start: DuplicateDetector, texts: list[str], note: Callable[[str], None]
) -> tuple[np.ndarray, np.ndarray | None]:
    """The texts' vectors by the frozen encoder and by any LSTM, float32 [texts, d] each."""
    begun = time.monotonic()
    vectors = start.encode(texts, show_progress=sys.stderr.isatty())
    note(
        f"{counted(len(texts), 'question')} encoded in {time.monotonic() - begun:.1f} s."
    )
    pieces = Pieces.of(start.encoder)
    parts = start.encoder.parts
    frozen = slice(None) if pieces.frozen is start.encoder else parts[0]
    lstm = None if pieces.lstm is None else unit_rows(vectors[:, parts[-1]])
    return unit_rows(vectors[:, frozen]), lstm


def cross_validated(labelled: LabelledVectors, folds: list[np.ndarray]) -> LeftOut:
    """Each fold's pairs, int64 [some], by a model of the others."""
    count = len(labelled.rows)
    cosines = np.zeros(count)
    of_parts = np.zeros((count, 2 if labelled.lstm is None else 3))
    ranks = []
    for fold in folds:
        model = labelled.fitted(np.setdiff1d(np.arange(count), fold))
        vectors = labelled.vectors(model)
        one, two = (vectors[side] for side in labelled.rows[fold].T)
        cosines[fold] = np.vecdot(one, two)
        of_parts[fold] = part_cosines(model.encoder, one, two)
        if labelled.are_links:
            before = _mean_rank(labelled.frozen, labelled.rows[fold])
            ranks.append((before, _mean_rank(vectors, labelled.rows[fold])))
    return LeftOut(cosines, of_parts, ranks)


def _figures(labelled: LabelledVectors, left_out: LeftOut) -> tuple[str, float, float]:
    """A measure's name, and its value for the encoder alone and for the new model."""
    if labelled.are_links:
        return "mean reciprocal rank", *np.mean(left_out.ranks, axis=0).tolist()
    # Of the cosines, also where a curve of them decides.
    encoder = evaluate_scores(left_out.part_cosines[:, 0], labelled.is_duplicate)
    model = evaluate_scores(left_out.cosines, labelled.is_duplicate)
    return "ROC AUC", encoder.roc_auc, model.roc_auc


def _threshold_fit(
    labelled: LabelledVectors, left_out: LeftOut, model: DuplicateDetector
) -> JsonObject:
    """Threshold, calibration and trees of pairs left out; links have none."""
    if labelled.are_links:
        return {
            "threshold": UNLABELLED_THRESHOLD,
            "calibration": None,
            "threshold_from": "default",
        }
    read = [model.encoder.read(text) for text in labelled.texts]
    one, two = ([read[row] for row in side] for side in labelled.rows.T)
    labels = labelled.is_duplicate
    cosines = left_out.cosines
    # The order of questions that no label has is better by the cosine than by a curve.
    if len(labels) < CURVE_PAIRS:
        assert model.check is not None
        scores = cosines - model.check.penalty(one, two, cosines)
        return fit_threshold(scores, labels).to_dict()
    return fit_compared(left_out.part_cosines, cosines, one, two, labels)


def parts_of(pairs: QuestionPairs, seed: int) -> list[np.ndarray]:
    """The rows of `FOLDS` parts without common questions, or, of pairs that do not divide so, of any parts.

    A part has both labels where the pairs have them.
    """
    labels = pairs.is_duplicate
    with contextlib.suppress(DataError):
        parts = cluster_split(pairs, [1 / FOLDS] * FOLDS, seed)
        if all(set(labels[part]) == set(labels) for part in parts):
            return parts
    drawn = np.random.default_rng(seed).permutation(len(pairs))
    return [np.sort(part) for part in np.array_split(drawn, FOLDS)]


def _mean_rank(vectors: np.ndarray, links: np.ndarray) -> float:
    """The mean reciprocal rank of the answers of links, int64 [n, 2]."""
    answers: dict[int, set[int]] = {}
    for question, answer in links.tolist():
        answers.setdefault(question, set()).add(answer)
    questions = list(answers)
    nearest, _ = top_k(vectors, vectors[questions], DEPTH + 1)
    ranked = []
    for question, rows in zip(questions, nearest.tolist()):
        others = [row for row in rows if row != question]
        ranked.append(others[:DEPTH])
    return evaluate_retrieval(ranked, list(answers.values()), ks=(1,)).mrr
