"""Search and duplicate mining, measured: MRR, recall at k, MAP, and average precision of a mined list."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from siamese.data.arguments import whole_number
from siamese.errors import ArgumentError, DataError
from siamese.evaluation.thresholds import threshold_cuts


@dataclass(frozen=True)
class RetrievalMetrics:
    """How well searches over a pool found what belongs to them.

    Attributes:
      queries: searches with something relevant in the pool; the means are over these.
      without_relevant: searches left out, as there was nothing to find.
      mrr: mean of 1 / rank of the first relevant id, 0 where none was returned.
      recall: k -> mean share of the relevant ids that stand among the first k.
      map: mean average precision: the precision at the rank of each relevant id, 0 for those not
        returned, averaged over a search's relevant ids.
    """

    queries: int
    without_relevant: int
    mrr: float
    recall: Mapping[int, float]
    map: float


def evaluate_retrieval(
    ranked: Iterable[Sequence[Hashable]],
    relevant: Iterable[Iterable[Hashable]],
    ks: Sequence[int] = (1, 5, 10),
) -> RetrievalMetrics:
    """MRR, recall at k and MAP of ranked answers.

    Args:
      ranked: for each query the ids returned, best first, none twice, the query's own left out; an
        int array [queries, depth] or sequences of different lengths.
      relevant: for each query the ids it should find.
      ks: the depths at which recall is measured.

    Raises:
      DataError: unequal numbers of queries, an id returned twice, or nothing to find at all.
      ArgumentError: depths that are not whole numbers of at least 1.

    Example:
      >>> found = evaluate_retrieval([["b", "a", "c"]], [{"a", "c"}], ks=(2,))
      >>> found.mrr, found.recall[2], round(found.map, 4)
      (0.5, 0.5, 0.5833)
    """
    recall: dict[int, list[float]] = {whole_number(k, "each of ks", 1): [] for k in ks}
    answers, wanted = list(ranked), [set(ids) for ids in relevant]
    if len(answers) != len(wanted):
        raise DataError(
            f"There are answers to {len(answers)} queries and relevant ids for {len(wanted)}."
        )
    reciprocal, precision = [], []
    for query, (row, targets) in enumerate(zip(answers, wanted)):
        row = np.asarray(row).tolist() if isinstance(row, np.ndarray) else list(row)
        if len(set(row)) != len(row):
            twice = next(item for item in row if row.count(item) > 1)
            raise DataError(f"Query {query} returned the id {twice!r} twice.")
        if not targets:
            continue
        # The rank, from 1, of each relevant id that was returned.
        hits = np.array([rank for rank, item in enumerate(row, 1) if item in targets], float)
        reciprocal.append(1 / hits[0] if len(hits) else 0.0)
        precision.append((np.arange(1, len(hits) + 1) / hits).sum() / len(targets))
        for k, found in recall.items():
            found.append((hits <= k).sum() / len(targets))
    if not reciprocal:
        raise DataError("No query has a relevant id in the pool: there is nothing to find.")
    return RetrievalMetrics(
        queries=len(reciprocal),
        without_relevant=len(wanted) - len(reciprocal),
        mrr=float(np.mean(reciprocal)),
        recall={k: float(np.mean(found)) for k, found in recall.items()},
        map=float(np.mean(precision)),
    )


@dataclass(frozen=True)
class MiningMetrics:
    """How well the duplicates in a list of questions were found.

    Attributes:
      positives: pairs of questions of one cluster in the whole list, found or not.
      found: those among the candidates.
      candidates: pairs proposed.
      average_precision: over all positives; those not proposed count as never found.
      best_f1: the best balance of precision and recall (of all positives) over all thresholds.
      best_threshold: the score of the last candidate kept there: take those at or above it.
    """

    positives: int
    found: int
    candidates: int
    average_precision: float
    best_f1: float
    best_threshold: float


def evaluate_mining(pairs: Any, scores: Any, clusters: Sequence[Hashable]) -> MiningMetrics:
    """Mined candidate pairs against the true clusters, over all pairs of the list.

    Args:
      pairs: int [candidates, 2], places in the list; (a, b) and (b, a) are the same pair.
      scores: float [candidates], the higher the surer.
      clusters: for each question of the list what it is a duplicate of: equal values, equal questions.

    Raises:
      DataError: a pair proposed twice or of a question with itself, unequal lengths, or clusters
        that hold no duplicates.
      ArgumentError: places outside the list, scores that are not finite.

    Example:
      >>> evaluate_mining([(0, 1), (1, 2)], [0.9, 0.4], ["x", "x", "y", "x"]).average_precision
      0.3333333333333333
    """
    label = {value: number for number, value in enumerate(dict.fromkeys(clusters))}
    cluster = np.array([label[value] for value in clusters], dtype=np.int64)  # [questions]
    sizes = np.bincount(cluster) if len(cluster) else np.zeros(0, int)
    positives = int((sizes * (sizes - 1) // 2).sum())
    if not positives:
        raise DataError("The clusters hold no two questions together: there is nothing to mine.")
    ends, values = _checked_candidates(pairs, scores, len(cluster))
    right = cluster[ends[:, 0]] == cluster[ends[:, 1]]  # [candidates]
    if not len(values):
        return MiningMetrics(positives, 0, 0, 0.0, 0.0, float("inf"))
    # One step for each distinct score: equal scores have no order among themselves.
    _, kept, hits = (found[1:] for found in threshold_cuts(values, right))
    gained = np.diff(hits, prepend=0)
    f1 = 2 * hits / (kept + positives)
    best = int(np.argmax(f1))
    return MiningMetrics(
        positives=positives,
        found=int(hits[-1]),
        candidates=len(values),
        average_precision=float((hits / kept * gained).sum() / positives),
        best_f1=float(f1[best]),
        best_threshold=float(-np.sort(-values)[kept[best] - 1]),
    )


def _checked_candidates(pairs: Any, scores: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Candidates as int64 [candidates, 2], smaller place first, and float64 [candidates]."""
    ends, values = np.asarray(pairs), np.asarray(scores, dtype=float)
    if not ends.size:
        ends = np.zeros((0, 2), np.int64)
    if ends.ndim != 2 or ends.shape[1] != 2 or ends.dtype.kind not in "iu":
        raise ArgumentError(f"pairs must be integers [candidates, 2]; the shape is {ends.shape}.")
    if values.shape != (len(ends),):
        raise DataError(f"There are {len(ends)} pairs and scores of shape {values.shape}.")
    if not np.isfinite(values).all():
        raise ArgumentError("scores must be finite numbers; some are not.")
    ends = np.sort(ends.astype(np.int64), axis=1)
    if ((ends < 0) | (ends >= n)).any():
        raise ArgumentError(
            f"pairs hold places in the list of {n} questions, from 0; they run from {ends.min()} to "
            f"{ends.max()}."
        )
    itself = ends[:, 0] == ends[:, 1]
    if itself.any():
        at = int(itself.argmax())
        raise DataError(f"pairs[{at}] compares question {ends[at, 0]} with itself.")
    _, first, counts = np.unique(ends @ [n, 1], return_index=True, return_counts=True)
    if len(first) < len(ends):
        twice = tuple(ends[first[counts.argmax()]].tolist())
        raise DataError(f"The pair {twice} is proposed more than once.")
    return ends, values
