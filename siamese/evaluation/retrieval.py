"""Search and duplicate mining, measured: MRR, recall at k, MAP, and average precision of a mined list."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import average_precision_score

from siamese.evaluation.thresholds import threshold_cuts


@dataclass(frozen=True)
class RetrievalMetrics:
    """How well searches over a pool found what belongs to them.

    Attributes:
      queries: searches with something relevant in the pool; the means are over these.
      mrr: mean of 1 / rank of the first relevant id, 0 where none was returned.
      recall: k -> mean share of the relevant ids that stand among the first k.
      map: mean average precision: the precision at the rank of each relevant id, 0 for those not
        returned, averaged over a search's relevant ids.
    """

    queries: int
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
      ranked: for each query the ids returned, best first, none twice, the query's own left out.
      relevant: for each query the ids it should find; a query without any is left out.
      ks: the depths at which recall is measured.

    Example:
      >>> found = evaluate_retrieval([["b", "a", "c"]], [{"a", "c"}], ks=(2,))
      >>> found.mrr, found.recall[2], round(found.map, 4)
      (0.5, 0.5, 0.5833)
    """
    reciprocal, precision, recall = [], [], {k: [] for k in ks}
    for row, targets in zip(ranked, map(set, relevant), strict=True):
        if not targets:
            continue
        # The rank, from 1, of each relevant id that was returned.
        hits = np.array([rank for rank, item in enumerate(row, 1) if item in targets], float)
        reciprocal.append(1 / hits[0] if len(hits) else 0.0)
        precision.append((np.arange(1, len(hits) + 1) / hits).sum() / len(targets))
        for k, found in recall.items():
            found.append((hits <= k).sum() / len(targets))
    return RetrievalMetrics(
        queries=len(reciprocal),
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


def evaluate_mining(
    pairs: np.ndarray, scores: np.ndarray, clusters: Sequence[Hashable]
) -> MiningMetrics:
    """Mined candidate pairs against the true clusters, over all pairs of the list.

    Args:
      pairs: int [candidates, 2], places in the list, each pair once; at least one candidate.
      scores: float [candidates], the higher the surer.
      clusters: for each question of the list what it is a duplicate of: equal values, equal questions.

    Example:
      >>> found = evaluate_mining([(0, 1), (1, 2)], [0.9, 0.4], ["x", "x", "y", "x"])
      >>> found.average_precision
      0.3333333333333333
    """
    _, cluster = np.unique(np.asarray(clusters), return_inverse=True)  # [questions]
    sizes = np.bincount(cluster)
    positives = int((sizes * (sizes - 1) // 2).sum())
    ends, values = np.asarray(pairs), np.asarray(scores, dtype=float)
    right = cluster[ends[:, 0]] == cluster[ends[:, 1]]  # [candidates]
    # One step for each distinct score: equal scores have no order among themselves.
    _, kept, hits = (found[1:] for found in threshold_cuts(values, right))
    f1 = 2 * hits / (kept + positives)
    best = int(np.argmax(f1))
    among_candidates = average_precision_score(right, values) if right.any() else 0.0
    return MiningMetrics(
        positives=positives,
        found=int(hits[-1]),
        candidates=len(values),
        average_precision=float(among_candidates * hits[-1] / positives),
        best_f1=float(f1[best]),
        best_threshold=float(-np.sort(-values)[kept[best] - 1]),
    )
