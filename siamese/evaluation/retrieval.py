"""Search, measured: MRR, MAP and recall at k."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from siamese.data.clusters import connected_groups
from siamese.data.readers.reading import open_rows
from siamese.data.readers.report import ReadReport
from siamese.data.readers.tables import id_text
from siamese.evaluation.bootstrap import Interval, cluster_intervals

IDS = "query_id", "id"  # columns


@dataclass(frozen=True)
class RetrievalMetrics:
    """How well searches over a pool found what belongs to them."""

    queries: int  # searches with something relevant in the pool; the means are over these
    mrr: float  # mean of 1 / rank of the first relevant id, 0 where none was returned
    # Mean average precision: the precision at the rank of each relevant id, 0 for those not returned,
    # averaged over a search's relevant ids.
    map: float
    recall: Mapping[int, float]  # k -> mean share of the relevant ids that stand among the first k
    intervals: Mapping[str, Interval]  # of each by its name, of 95 %; empty without clusters


def evaluate_retrieval(
    ranked: Iterable[Sequence[Hashable]],  # ids returned for each query, best first, none twice
    relevant: Iterable[Iterable[Hashable]],  # ids that each should find; without any it is left out
    ks: Sequence[int] = (1, 5, 10),  # the depths at which recall is measured
    clusters: Sequence[Hashable] | None = None,  # the cluster of each query
) -> RetrievalMetrics:
    """MRR, MAP and recall at k of ranked answers, the query's own id left out.

    Whole clusters are drawn for the intervals, since queries that share answers are not independent.
    """
    rows = {}  # place of the query -> its figures
    for place, (row, targets) in enumerate(zip(ranked, relevant, strict=True)):
        ids = set(targets)
        if not ids:
            continue
        # The rank, from 1, of each relevant id that was returned.
        hits = np.array([rank for rank, item in enumerate(row, 1) if item in ids], float)
        rows[place] = [
            1 / hits[0] if len(hits) else 0.0,
            (np.arange(1, len(hits) + 1) / hits).sum() / len(ids),
            *((hits <= k).sum() / len(ids) for k in ks),
        ]
    values = np.array(list(rows.values()))  # [queries, figures]
    mrr, mean_precision, *recall = values.mean(axis=0).tolist()
    intervals = {}
    if clusters is not None:
        names = ["MRR", "MAP", *(f"recall@{k}" for k in ks)]
        intervals = dict(zip(names, cluster_intervals(values, [clusters[at] for at in rows])))
    return RetrievalMetrics(len(rows), mrr, mean_precision, dict(zip(ks, recall)), intervals)


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


def read_relevance(
    path: str | os.PathLike, **options: Any
) -> tuple[dict[str, set[str]], ReadReport]:
    """Which ids belong to which query, of CSV or JSON Lines with the columns query_id and id.

    A row whose column `relevance`, where there is one, is 0 or less is left out. The options, and errors,
    are encoding and bad_rows of `read_questions`.
    """
    relevant: dict[str, set[str]] = {}
    with open_rows(path, names={"query_id"}, **options) as rows:
        names, judged = list(map(rows.column, IDS)), rows.first_column(["relevance"])
        for line, _, row in rows:
            query, item = (id_text(row.get(name)) for name in names)
            value = row.get(judged) if judged else None
            try:
                counts = value in (None, "") or not float(value) <= 0
            except (TypeError, ValueError):
                rows.report.bad_row(line, f"relevance is {value!r:.40}, not a number.")
                continue
            if not query or not item:
                rows.report.bad_row(line, "no query_id or no id.")
            elif counts:
                relevant.setdefault(query, set()).add(item)
    return relevant, rows.report
