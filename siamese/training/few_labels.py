"""A head of few labels, or of links alone, measured on labels left out, beside the bare encoder."""

from __future__ import annotations

import copy
from typing import NamedTuple

import numpy as np

from siamese.data.clusters import cluster_split, number_questions
from siamese.data.pairs import QuestionPairs
from siamese.errors import ArgumentError, DataError
from siamese.evaluation.metrics import evaluate_scores
from siamese.evaluation.retrieval import evaluate_retrieval
from siamese.evaluation.thresholds import fit_threshold
from siamese.search.detector import SHARES, UNLABELLED_THRESHOLD, DuplicateDetector
from siamese.search.encoders import unit_rows
from siamese.search.nearest import top_k
from siamese.search.parts import fit_parts
from siamese.training.head import fit_head, head_vectors

FOLDS = 3  # Each part of the labels is judged by a head of the others.
LEAST = 3  # duplicates
CURVE_LABELS = 1000  # With as many labels a curve of the parts' cosines decides.
FEW_SHARES = 0.25, 0.75  # of encoder and head, which is of the topic itself: chosen on a forum
DEPTH = 100  # places in which a link's second question is looked for


class Bought(NamedTuple):
    """What labels changed, on labels that were left out: 'ROC AUC', or of links 'mean reciprocal rank'."""

    measure: str
    before: float  # of the model that the labels were given to
    after: float
    labels: int
    duplicates: int

    def __str__(self) -> str:
        change = f"{self.measure} {self.before:.3f} before, {self.after:.3f} with the new head"
        note = (
            ""
            if self.after > self.before
            else " These labels bought nothing: keep the model you had."
        )
        return f"On labels left out, in {FOLDS} parts: {change}.{note}"


def teach(
    start: DuplicateDetector,
    pairs: QuestionPairs,
    listed: list[str] | None = None,
    *,
    seed: int = 0,
    show_progress: bool = False,
) -> tuple[DuplicateDetector, Bought]:
    """A model with a head of its own from at most some thousand labels; goes on from the head of `start`.

    Args:
      start: a model with an encoder; its tower, if any, stays as it is.
      pairs: labelled pairs. Where all are duplicates (links), their order is learned and no threshold.
      listed: questions; for links those that are no answers are drawn from them.
      seed: of batches, dropout and parts.
      show_progress: show a bar on standard error while questions are encoded.

    Returns:
      The model, and what the labels bought. With both labels its threshold is fitted on left-out scores.

    Raises:
      ArgumentError: `start` has no encoder.
      DataError: fewer than `LEAST` duplicates, or the scores do not tell them from the others.
    """
    labels = np.asarray(pairs.is_duplicate, bool)
    if start.encoder is None:
        raise ArgumentError("A head needs an encoder below it, and this model has none.")
    if labels.sum() < LEAST:
        raise DataError(
            f"{int(labels.sum())} of the {len(labels)} pairs are duplicates; a head needs {LEAST} at least."
        )
    links = bool(labels.all())
    texts, rows = number_questions(pairs.question1, pairs.question2)  # rows: int64 [n, 2]
    if links:  # What stands in the list alone comes behind.
        texts = [*texts, *dict.fromkeys(set(listed or ()) - set(texts))]
    whole = start.encode(texts, show_progress=show_progress)
    vectors = unit_rows(whole[:, start.places["encoder"]])  # the encoder's
    names = ("encoder", "head", "tower") if start.tower else ("encoder", "head")
    model = copy.copy(start)
    model.__dict__.pop("checksum", None)  # It is that of `start`.
    model.shares = dict(zip(names, SHARES[names] if start.tower or links else FEW_SHARES))

    def learned(part: np.ndarray) -> np.ndarray:
        sides = vectors[rows[part, 0]], vectors[rows[part, 1]]
        return fit_head(*sides, labels[part], vectors, start=start.head, seed=seed)

    before, after, part_cosines = np.zeros(len(labels)), np.zeros(len(labels)), []
    ranks = []
    parts = _parts(pairs, seed)
    for part in parts:
        model.head = learned(np.setdiff1d(np.arange(len(labels)), part))
        new = _vectors(model, start, whole, vectors)
        one, two = rows[part].T
        before[part] = np.vecdot(whole[one], whole[two])
        after[part] = np.vecdot(new[one], new[two])
        part_cosines.append(model.part_cosines(new[one], new[two]))
        if links:
            ranks.append([_mean_rank(side, rows, part) for side in (whole, new)])
    model.head = learned(np.arange(len(labels)))
    if links:
        bought = Bought("mean reciprocal rank", *np.mean(ranks, axis=0), *[len(labels)] * 2)
        facts = {"threshold": UNLABELLED_THRESHOLD, "threshold_from": "default"}
        return model.with_fit({**facts, "calibration": None}), bought
    roc_auc = [evaluate_scores(scores, labels).roc_auc for scores in (before, after)]
    bought = Bought("ROC AUC", *roc_auc, len(labels), int(labels.sum()))
    if len(labels) < CURVE_LABELS:
        return model.with_fit(fit_threshold(after, labels).to_dict()), bought
    order = np.argsort(np.concatenate(parts))
    curve = fit_parts(np.concatenate(part_cosines)[order], after, labels)
    return model.with_fit({"threshold": 0.5, "calibration": curve.to_dict()}), bought


def _parts(pairs: QuestionPairs, seed: int) -> list[np.ndarray]:
    """The rows of `FOLDS` parts without common questions, or, of pairs that do not divide so, any parts."""
    try:
        return cluster_split(pairs, [1 / FOLDS] * FOLDS, seed)
    except DataError:
        drawn = np.random.default_rng(seed).permutation(len(pairs))
        return [np.sort(part) for part in np.array_split(drawn, FOLDS)]


def _vectors(
    model: DuplicateDetector, start: DuplicateDetector, whole: np.ndarray, vectors: np.ndarray
) -> np.ndarray:
    """The vectors of a model with a head, from those of `start` and of its encoder."""
    parts = {"encoder": vectors, "head": np.asarray(head_vectors(model.head, vectors))}
    if start.tower:
        parts["tower"] = unit_rows(whole[:, start.places["tower"]])
    return model.joined([parts[name] for name in model.shares])


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
