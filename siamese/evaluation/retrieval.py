"""Search, measured: MRR, MAP and recall at k."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from siamese.evaluation.bootstrap import Interval, cluster_intervals
from siamese.reading.clusters import connected_groups
from siamese.reading.report import ReadReport
from siamese.reading.rows import open_rows
from siamese.reading.tables import id_text


@dataclass(frozen=True)
class RetrievalMetrics:
    """How well searches over a pool found what belongs to them."""

    # searches with something relevant in the pool; the means are over these
    queries: int
    mrr: float  # mean of 1 / rank of the first relevant id, 0 where none was returned
    # Mean average precision: the precision at the rank of each relevant id, 0 for those
    # not returned, averaged over a search's relevant ids.
    map: float
    # k -> mean share of the relevant ids that stand among the first k
    recall: Mapping[int, float]
    # of each by its name, of 95 %; empty without clusters
    intervals: Mapping[str, Interval]


def evaluate_retrieval(
    ranked: Iterable[
        Sequence[Hashable]
    ],  # ids returned for each query, best first, none twice
    relevant: Iterable[
        Iterable[Hashable]
    ],  # ids that each should find; without any it is left out
    ks: Sequence[int] = (1, 5, 10),  # the depths at which recall is measured
    clusters: Sequence[Hashable] | None = None,  # the cluster of each query
) -> RetrievalMetrics:
    """MRR, MAP and recall at k of ranked answers, the query's own id left out.

    Whole clusters are drawn for the intervals, since queries that share answers are not
    independent.
    """
    figures = {}  # number of the query -> its figures
    for query, (answers, targets) in enumerate(zip(ranked, relevant, strict=True)):
        ids = set(targets)
        if not ids:
            continue
        # The rank, from 1, of each relevant id that was returned.
        ranks = np.array(
            [rank for rank, item in enumerate(answers, 1) if item in ids], float
        )
        precision = np.arange(1, len(ranks) + 1) / ranks
        figures[query] = [
            1 / ranks[0] if len(ranks) else 0.0,
            precision.sum() / len(ids),
            *((ranks <= k).sum() / len(ids) for k in ks),
        ]
    values = np.array(list(figures.values()))  # [queries, figures]
    mrr, mean_precision, *recall = values.mean(axis=0).tolist()
    intervals = {}
    if clusters is not None:
        names = ["MRR", "MAP", *(f"recall@{k}" for k in ks)]
        query_clusters = [clusters[query] for query in figures]
        intervals = dict(zip(names, cluster_intervals(values, query_clusters)))
    return RetrievalMetrics(
        len(figures), mrr, mean_precision, dict(zip(ks, recall)), intervals
    )


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
    return connected_groups(len(relevant) + len(numbers), ends)[
        : len(relevant)
    ].tolist()


def read_relevance(
    path: str | os.PathLike, **options: Any
) -> tuple[dict[str, set[str]], ReadReport]:
    """Which ids belong to which query, of CSV or JSON Lines with the columns query_id and id.

    A row whose column `relevance`, where there is one, is 0 or less is left out. The
    options are encoding and bad_rows of `read_questions`. DataError for a file that
    cannot be read or lacks a column, and, with its line, for a row without ids or with
    a relevance that is no number.
    """
    relevant: dict[str, set[str]] = {}
    with open_rows(path, names={"query_id"}, **options) as rows:
        query_column = rows.column("query_id")
        id_column = rows.column("id")
        relevance_column = rows.first_column(["relevance"])
        for line, _, row in rows:
            query = id_text(row.get(query_column))
            item = id_text(row.get(id_column))
            value = row.get(relevance_column) if relevance_column else None
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
