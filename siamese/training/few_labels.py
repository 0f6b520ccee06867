"""A head of few labels, or of links alone, measured on labels left out, beside the bare encoder."""

from __future__ import annotations

import contextlib
import copy
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from siamese.compat.progress import elapsed
from siamese.data.clusters import cluster_split, number_questions, question_groups
from siamese.data.pairs import QuestionPairs
from siamese.errors import DataError
from siamese.evaluation.metrics import evaluate_scores
from siamese.evaluation.retrieval import evaluate_retrieval
from siamese.evaluation.thresholds import fit_threshold
from siamese.search.detector import SHARES, UNLABELLED_THRESHOLD, DuplicateDetector
from siamese.search.encoders import unit_rows
from siamese.search.nearest import top_k
from siamese.search.parts import fit_parts
from siamese.training.head import fit_head, head_vectors
from siamese.training.report import CURVE_PAIRS

FOLDS = 3  # Each part of the labels is judged by a head of the others.
LEAST = 3  # duplicates
FEW_SHARES = 0.25, 0.75  # of encoder and head, which is of the topic itself: chosen on a forum
DEPTH = 100  # places that are searched for a link's second question


class Bought(NamedTuple):
    """What labels changed, on labels that were left out: 'ROC AUC', or of links 'mean reciprocal rank'."""

    measure: str
    encoder: float  # of the bare encoder
    after: float
    labels: int
    duplicates: int

    def __str__(self) -> str:
        worse = " These labels bought nothing: the encoder alone is as good or better."
        return (
            f"On labels left out, in {FOLDS} parts, {self.measure}: the encoder alone {self.encoder:.3f}, "
            f"with the new head {self.after:.3f}.{worse * (self.after <= self.encoder)}"
        )


def teach(
    start: DuplicateDetector,  # from whose encoder and head it goes on; its tower stays as it is
    pairs: QuestionPairs,
    listed: list[str] | None = None,  # for links: those that are no answers are drawn from them
    *,
    seed: int = 0,  # of batches, dropout and parts
    note: Callable[[str], None] = lambda text: None,  # called with remarks on the figures
) -> tuple[DuplicateDetector, Bought]:
    """A model with a head of its own from at most some thousand labels, and what they bought.

    With both labels its threshold is fitted on left-out scores. Where all pairs are duplicates (links),
    their order is learned and no threshold. DataError for fewer than `LEAST` duplicates, and where the
    scores do not tell them from the others.
    """
    labels = np.asarray(pairs.is_duplicate, bool)
    if labels.sum() < LEAST:
        raise DataError(
            f"{int(labels.sum())} of the {len(labels)} pairs are duplicates; a head needs {LEAST} at least."
        )
    links = bool(labels.all())
    texts, rows = number_questions(pairs.question1, pairs.question2)  # rows: int64 [n, 2]
    if links:  # What stands in the list alone comes behind.
        texts = list(dict.fromkeys([*texts, *(listed or ())]))
    begun = time.monotonic()
    with elapsed(f"Encoding {len(texts):,} questions"):
        whole = start.encode(texts)
    note(f"{len(texts):,} questions encoded in {time.monotonic() - begun:.1f} s.")
    if start.head is not None:
        note("Labels that this model has learned before make the new head's figures too good.")
    vectors = unit_rows(whole[:, start.places["encoder"]])  # the encoder's
    names = ("encoder", "head", "tower") if start.tower else ("encoder", "head")
    model = copy.copy(start)
    model.__dict__.pop("checksum", None)  # It is that of `start`.
    model.shares = dict(zip(names, SHARES[names] if start.tower or links else FEW_SHARES))
    tower = [unit_rows(whole[:, start.places["tower"]])] if start.tower else []

    def learned(part: np.ndarray) -> np.ndarray:
        groups = question_groups(texts, rows[part]) if links else None
        return fit_head(vectors, rows[part], labels[part], groups, start=start.head, seed=seed)

    # On left-out labels: cosines [pairs], those of the parts [pairs, parts], and of links each part's
    # mean reciprocal ranks by the encoder and by the new model.
    scores, part_cosines = np.zeros(len(labels)), np.zeros((len(labels), len(names)))
    parts, ranks = parts_of(pairs, seed), []
    for part in parts:
        model.head = learned(np.setdiff1d(np.arange(len(labels)), part))
        new = model.joined([vectors, np.asarray(head_vectors(model.head, vectors)), *tower])
        one, two = (new[side] for side in rows[part].T)
        scores[part], part_cosines[part] = np.vecdot(one, two), model.part_cosines(one, two)
        if links:
            ranks.append([_mean_rank(side, rows, part) for side in (vectors, new)])
    model.head = learned(np.arange(len(labels)))
    if links:
        measure, (encoder, after) = "mean reciprocal rank", np.mean(ranks, axis=0).tolist()
        fit = {"threshold": UNLABELLED_THRESHOLD, "calibration": None, "threshold_from": "default"}
    else:  # of the cosines, also where a curve of them decides
        measure, both = "ROC AUC", (part_cosines[:, 0], scores)
        encoder, after = (evaluate_scores(each, labels).roc_auc for each in both)
        if len(labels) < CURVE_PAIRS:
            fit = fit_threshold(scores, labels).to_dict()
        else:
            fit = fit_parts(part_cosines, scores, labels).fit
    bought = Bought(measure, encoder, after, len(labels), int(labels.sum()))
    return model.with_fit(fit), bought


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


def _mean_rank(vectors: np.ndarray, rows: np.ndarray, part: np.ndarray) -> float:
    """The mean reciprocal rank of the links of a part: each first question among all, for its answers."""
    answers: dict[int, set[int]] = {}
    for one, two in rows[part].tolist():
        answers.setdefault(one, set()).add(two)
    asked = list(answers)
    near, _ = top_k(vectors, vectors[asked], DEPTH + 1)
    ranked = [
        [row for row in some if row != own][:DEPTH] for some, own in zip(near.tolist(), asked)
    ]
    return evaluate_retrieval(ranked, list(answers.values()), ks=(1,)).mrr
