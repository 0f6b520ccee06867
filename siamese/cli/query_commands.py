"""The commands that ask an index: search, for one question or a file of them, and its evaluation."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from siamese.cli.output import Result, read_list, threshold_source, write_out
from siamese.errors import ArgumentError
from siamese.search.display import NO_LABELS, csv_line, harmless, json_text

BATCH = 256  # questions of a file that are answered together
FIGURES = (
    *("id", "question", "similarity", "probability", "is_duplicate"),
    *("vector_rank", "word_rank", "same"),
)


def search(flags: argparse.Namespace) -> Result | int:
    """Find old questions that are similar to a new one, or to each of a file.

    siamese search old "How old are you?"
    siamese search old "How old are you?" -k 3 --where by=me --merge-same --json
    siamese search old --queries new.csv --csv > hits.csv     (--json: JSON Lines; - reads standard input)
    """
    if (flags.question is None) == (flags.queries is None):
        raise ArgumentError("Give one question, or a file of questions (--queries FILE).")
    if flags.question is not None and (flags.question == "-" or os.path.isfile(flags.question)):
        raise ArgumentError(
            f"{flags.question!r} is a file, not a question. For each question of a file: "
            f"siamese search {flags.index} --queries {flags.question}"
        )
    if flags.json and flags.csv:
        raise ArgumentError("Give --json or --csv, not both.")
    from siamese.search.index import QuestionIndex

    made = QuestionIndex.open(flags.index, flags.model)
    if flags.question is not None and not flags.csv:
        started = time.monotonic()
        ((text, found),) = _answers(made, [flags.question], flags)
        return text, {**found, "seconds": round(time.monotonic() - started, 4)}
    questions, ids = [flags.question], None
    if flags.queries is not None:
        questions, ids = _read_queries(flags)
    columns = [*dict.fromkeys(c for entry in made.entries for c in entry["columns"])]
    if flags.csv:
        own = [*["query_id"][: ids is not None], "query", "rank", *FIGURES]
        names = [f"column_{c}" if c in own else c for c in columns]
        write_out(csv_line([*own, *names], excel=flags.excel))
    for start in range(0, len(questions), BATCH):
        part = slice(start, start + BATCH)
        names = [{"query_id": i} for i in ids[part]] if ids else [{}] * BATCH
        for name, (text, found) in zip(names, _answers(made, questions[part], flags)):
            if flags.csv:
                for row in _csv_rows(found, columns):
                    write_out(csv_line([*name.values(), *row], excel=flags.excel))
            elif flags.json:
                write_out(json_text({**name, **found}))
            else:
                write_out(f"{harmless(found['question'])}\n{text}\n")
    return 0


def evaluate_search(flags: argparse.Namespace) -> Result:
    """Measure how well an index finds what belongs to each query.

    siamese evaluate-search old --queries new.csv --relevant qrels.txt
    siamese evaluate-search old --queries new.csv --relevant pairs.csv --choose-weight
    """
    from siamese.evaluation.retrieval import evaluate_retrieval, read_relevance, shared_clusters
    from siamese.search.index import QuestionIndex
    from siamese.search.lexical import VECTOR_WEIGHT

    questions, ids = _read_queries(flags)
    if ids is None:
        raise ArgumentError(f"{flags.queries} has no column of ids, which --relevant refers to.")
    names = [str(i) for i in ids]
    relevance = read_relevance(flags.relevant)
    relevant = [relevance.get(name, {}) for name in names]
    if not any(relevant):
        raise ArgumentError(f"{flags.relevant} says nothing of a query in {flags.queries}.")
    made = QuestionIndex.open(flags.index, flags.model)

    def ranked(mode: str, weight: float | None = None) -> list[list[str]]:
        found: list[list[str]] = []
        for start in range(0, len(questions), BATCH):
            hits = made.search(
                questions[start : start + BATCH], flags.k + 1, mode=mode, vector_weight=weight
            )
            found += [[str(hit.id) for hit in row] for row in hits]
        # The query's own row, where it stands in the index.
        own = names if flags.leave_out_own else [None] * len(names)
        return [[i for i in row if i != name][: flags.k] for row, name in zip(found, own)]

    kept = {}
    if flags.choose_weight:
        tried = {}
        for tenths in range(11):
            tried[tenths / 10] = evaluate_retrieval(ranked("hybrid", tenths / 10), relevant).mrr
        best = max(tried, key=lambda w: (round(tried[w], 6), -abs(w - VECTOR_WEIGHT)))
        made.vector_weight = best
        kept = {"mrr_at_weight": {str(weight): round(mrr, 6) for weight, mrr in tried.items()}}
    modes = [flags.mode] if flags.mode else ["hybrid", "vectors", "words"]
    clusters = shared_clusters(relevant)
    judged = {cluster for cluster, ids in zip(clusters, relevant) if ids}
    table, facts = [], {"queries": sum(map(bool, relevant)), "clusters": len(judged)}
    facts |= {"depth": flags.k, "vector_weight": made.vector_weight, **kept}
    for mode in modes:
        measured = evaluate_retrieval(ranked(mode), relevant, clusters=clusters)
        table.append([mode, *map(str, measured.intervals.values())])
        facts[mode] = {name: vars(value) for name, value in measured.intervals.items()}
        header = ["search", *measured.intervals]
    widths = [max(map(len, column)) for column in zip(header, *table)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in (header, *table)]
    lines.append(
        f"{facts['queries']:,} queries in {facts['clusters']:,} clusters, the first {flags.k} answers; "
        f"95 % intervals over clusters; weight of the vectors {made.vector_weight:g}."
    )
    return "\n".join(lines), facts


def _read_queries(flags: argparse.Namespace) -> tuple[list[str], list[Any] | None]:
    if flags.queries != "-" and not Path(flags.queries).exists():
        raise ArgumentError(f"{flags.queries}: no such file.")
    found = read_list(flags.queries, flags)
    return found.questions, found.ids


def _answers(made, questions: Sequence[str], flags: argparse.Namespace):
    """Yields for each question its answer for people, and as JSON values."""
    where = {}
    for text in flags.where or ():
        column, equals, value = text.partition("=")
        if not equals:
            raise ArgumentError(f"--where {text!r}: write COLUMN=VALUE.")
        if where.setdefault(column, value) != value:
            raise ArgumentError(f"--where {column} stands there twice, with different values.")
    answered = made.search(
        list(questions),
        flags.k,
        mode=flags.mode or "hybrid",
        threshold=flags.threshold,
        where=where,
        min_probability=flags.min_probability,
        merge_same=flags.merge_same,
    )
    cut = made.detector.threshold if flags.threshold is None else flags.threshold
    narrowed = bool(where) or flags.min_probability is not None or flags.mode == "words"
    for question, hits in zip(questions, answered):
        unknown = made.detector.unknown_words(question)
        lines = [_hit_text(hit) for hit in hits]
        if any(hit.is_duplicate for hit in hits):
            lines.append(f"* a duplicate: cosine above {cut:.3f}")
        cosines = [hit.similarity for hit in hits]
        if flags.mode is None and cosines != sorted(cosines, reverse=True):
            lines.append("ordered by vectors and words together (--vectors-only: by cosine)")
        if not lines:
            why = (
                "no question fits" if narrowed and question.strip() else "the question has no words"
            )
            lines = [f"Nothing found: {why if len(made) else 'the index is empty'}."]
        if unknown:
            lines.append(f"words the model has never seen: {', '.join(unknown)}")
        as_json = {"question": question, "hits": [*map(_hit, hits)], "unknown_words": unknown}
        as_json["threshold_from"] = threshold_source(made.detector, flags)
        if as_json["threshold_from"] == "default":
            lines.append(NO_LABELS)
        yield "\n".join(lines), as_json


def _csv_rows(found: dict[str, Any], columns: list[str]) -> Iterator[list[Any]]:
    """Yields a row for each hit of a question, with the columns that the index keeps."""
    for rank, hit in enumerate(found["hits"], start=1):
        same = " ".join(map(str, hit["same"]))
        shown = {**hit, "is_duplicate": int(hit["is_duplicate"]), "same": same}
        own = [found["question"], rank, *map(shown.get, FIGURES)]
        yield [*own, *map(hit["columns"].get, columns)]


def _hit(hit) -> dict[str, Any]:
    found = {**hit._asdict(), "similarity": round(hit.similarity, 6)}
    probability = found.pop("probability")
    return found if probability is None else {**found, "probability": round(probability, 6)}


def _hit_text(hit) -> str:
    mark = "*" if hit.is_duplicate else " "
    probability = "" if hit.probability is None else f"  {hit.probability:4.0%}"
    same = f"  (same text: {', '.join(map(harmless, hit.same))})" if hit.same else ""
    return f"{mark} {hit.similarity:6.3f}{probability}  [{harmless(hit.id)}] {harmless(hit.question)}{same}"
