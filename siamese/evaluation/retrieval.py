"""Search, measured: MRR, recall at k, MAP, nDCG."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from siamese.data.clusters import connected_groups
from siamese.data.readers.columns import normal_name
from siamese.data.readers.reading import open_rows
from siamese.errors import DataError
from siamese.evaluation.bootstrap import Interval, cluster_intervals


@dataclass(frozen=True)
class RetrievalMetrics:
    """How well searches over a pool found what belongs to them.

    Attributes:
      queries: searches with something relevant in the pool; the means are over these.
      mrr: mean of 1 / rank of the first relevant id, 0 where none was returned.
      map: mean average precision: the precision at the rank of each relevant id, 0 for those not
        returned, averaged over a search's relevant ids.
      ndcg: mean normalized discounted cumulative gain of the first 10 (Jarvelin and Kekalainen, 2002): the
        sum of relevance / log2(rank + 1), divided by that of the best possible order.
      recall: k -> mean share of the relevant ids that stand among the first k.
      intervals: each of these by its name, with its 95 % bootstrap interval; empty without clusters.
    """

    queries: int
    mrr: float
    map: float
    ndcg: float
    recall: Mapping[int, float]
    intervals: Mapping[str, Interval]


def evaluate_retrieval(
    ranked: Iterable[Sequence[Hashable]],
    relevant: Iterable[Iterable[Hashable]],
    ks: Sequence[int] = (1, 5, 10),
    clusters: Sequence[Hashable] | None = None,
) -> RetrievalMetrics:
    """MRR, MAP, nDCG@10 and recall at k of ranked answers.

    Args:
      ranked: for each query the ids returned, best first, none twice, the query's own left out.
      relevant: for each query the ids it should find, or a mapping of them to how relevant they are, above
        0; a query without any is left out.
      ks: the depths at which recall is measured.
      clusters: for each query the cluster it belongs to; whole clusters are drawn for the intervals, since
        queries that share answers are not independent.

    Raises:
      DataError: no query has anything relevant.

    Example:
      >>> metrics = evaluate_retrieval([["b", "a", "c"]], [{"a", "c"}], ks=(2,))
      >>> metrics.mrr, metrics.recall[2], round(metrics.map, 4)
      (0.5, 0.5, 0.5833)
    """
    rows = {}  # place of the query -> its figures
    for place, (row, targets) in enumerate(zip(ranked, relevant, strict=True)):
        gains = dict(targets) if isinstance(targets, Mapping) else dict.fromkeys(targets, 1)
        if not gains:
            continue
        # The rank, from 1, of each relevant id that was returned.
        hits = np.array([rank for rank, item in enumerate(row, 1) if item in gains], float)
        ndcg = _dcg(gains.get(item, 0) for item in row) / _dcg(sorted(gains.values(), reverse=True))
        rows[place] = [
            1 / hits[0] if len(hits) else 0.0,
            (np.arange(1, len(hits) + 1) / hits).sum() / len(gains),
            ndcg,
            *((hits <= k).sum() / len(gains) for k in ks),
        ]
    if not rows:
        raise DataError("No query has anything relevant.")
    values = np.array(list(rows.values()))  # [queries, figures]
    mrr, mean_precision, ndcg, *recall = values.mean(axis=0).tolist()
    intervals = {}
    if clusters is not None:
        names = ["MRR", "MAP", "nDCG@10", *(f"recall@{k}" for k in ks)]
        intervals = dict(zip(names, cluster_intervals(values, [clusters[at] for at in rows])))
    return RetrievalMetrics(len(rows), mrr, mean_precision, ndcg, dict(zip(ks, recall)), intervals)


def _dcg(gains: Iterable[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(islice(gains, 10), 1))


def shared_clusters(relevant: Iterable[Iterable[Hashable]]) -> list[int]:
    """The cluster of each query: those that share a relevant id, directly or through others, are in one."""
    relevant = list(relevant)
    numbers: dict[Hashable, int] = {}
    edges = [
        (query, len(relevant) + numbers.setdefault(item, len(numbers)))
        for query, targets in enumerate(relevant)
        for item in targets
    ]
    ends = np.array(edges, np.int64).reshape(-1, 2)
    return connected_groups(len(relevant) + len(numbers), ends)[: len(relevant)].tolist()


def read_relevance(path: str | os.PathLike) -> dict[str, dict[str, float]]:
    """Reads which ids belong to which query: query -> id -> relevance, those above 0 only.

    The file has TREC's lines (query, anything, id, relevance, divided by blanks), or is CSV or JSON Lines
    with the columns query_id, id and perhaps relevance, which is 1 where there is none.

    Raises:
      DataError: a file that cannot be read so; names the line.
    """
    relevance: dict[str, dict[str, float]] = {}
    with open_rows(path, names={"query_id"}, by_name_alone=True) as rows:
        for line, _, row in rows:
            if rows.is_plain:
                values: list[Any] = " ".join(row.values()).split()
                if not values:
                    continue
            else:
                named = {normal_name(name): value for name, value in row.items()}
                grade = named.get("relevance")
                values = [
                    named.get("query_id"),
                    0,
                    named.get("id"),
                    1 if grade in (None, "") else grade,
                ]
            try:
                query, _, item, grade = values
                if query is None or item is None or not math.isfinite(grade := float(grade)):
                    raise ValueError
            except (TypeError, ValueError):
                raise DataError(
                    f"{rows.report.path}, line {line:,}: neither TREC qrels (query 0 id relevance) nor a "
                    "row with query_id, id, relevance."
                ) from None
            if grade > 0:
                relevance.setdefault(str(query), {})[str(item)] = grade
    return relevance
