"""Search, measured: MRR, MAP and recall at k."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from siamese.reading.rows import ReadReport, open_rows
from siamese.text.values import id_text

MODES = ("hybrid", "vectors", "words")  # of a search
DEPTH = 100  # hits of a search that count


@dataclass(frozen=True)
class RetrievalMetrics:
    """How well searches over a pool found what belongs to them."""

    # Searches with something relevant in the pool; the means are over these.
    queries: int
    mrr: float  # mean of 1 / rank of the first relevant id, 0 where none was returned
    # Mean average precision: the precision at the rank of each relevant id, 0 for those
    # not returned, averaged over a search's relevant ids.
    map: float
    # k -> mean share of the relevant ids that stand among the first k
    recall: Mapping[int, float]


def evaluate_retrieval(
    ranked: Iterable[Sequence[Hashable]],
    relevant: Iterable[Iterable[Hashable]],
    ks: Sequence[int] = (1, 5, 10),
) -> RetrievalMetrics:
    """MRR, MAP and recall at k of ranked answers.

    Args:
      ranked: the ids returned for each query, best first, none twice.
      relevant: the ids that each should find; a query without any is left out.
      ks: the depths at which recall is measured.
    """
    figures = []
    for answers, targets in zip(ranked, relevant, strict=True):
        ids = set(targets)
        if not ids:
            continue
        # The rank, from 1, of each relevant id that was returned.
        ranks = np.array(
            [rank for rank, item in enumerate(answers, 1) if item in ids], float
        )
        precision = np.arange(1, len(ranks) + 1) / ranks
        first = 1 / ranks[0] if len(ranks) else 0.0
        recall = [(ranks <= k).sum() / len(ids) for k in ks]
        figures.append([first, precision.sum() / len(ids), *recall])
    mrr, mean_precision, *recall = np.array(figures).mean(axis=0).tolist()
    return RetrievalMetrics(len(figures), mrr, mean_precision, dict(zip(ks, recall)))


def search_quality(
    index: Any, queries: Sequence[str], relevant: Sequence[Iterable[Hashable]]
) -> dict[str, dict[str, float]]:
    """How well the searches of an index find known answers, by each mode of `QuestionIndex.search`.

    Args:
      index: a `QuestionIndex`.
      queries: questions to search it for.
      relevant: the ids that each should find among its first 100 hits.

    Returns:
      mode -> the names and values of MRR, MAP and recall at 1, 5 and 10.
    """
    quality = {}
    for mode in MODES:
        hits = index.search(queries, DEPTH, mode=mode)
        ranked = [[hit.id for hit in best] for best in hits]
        found = evaluate_retrieval(ranked, relevant)
        recall = {f"recall@{k}": share for k, share in found.recall.items()}
        quality[mode] = {"MRR": found.mrr, "MAP": found.map, **recall}
    return quality


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
