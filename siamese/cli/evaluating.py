"""The command `evaluate`: a model measured on labelled pairs, or an index on queries with known answers."""

from __future__ import annotations

import argparse
from typing import Any

from siamese.cli import arguments as shared
from siamese.cli.arguments import arg, command, flag
from siamese.cli.output import Result, aligned, counted, threshold_facts
from siamese.cli.reading import kind_of, labelled_pairs, open_index, opened, question_list
from siamese.compat.progress import elapsed
from siamese.errors import ArgumentError

WEIGHTS = [tenths / 10 for tenths in range(11)]  # of the vectors, from which one is chosen
# Where a threshold comes from, in words.
SOURCES = {
    "given": "given",
    "model": "saved with the model",
    "labels": "fitted to labels",
    "default": "a default, no labels behind it",
}


@command(
    shared.TARGET,
    arg("--questions", metavar="FILE", help="labelled pairs, any format"),
    arg("--skip-rows", type=int, default=0, help="rows of the file to leave out at the start"),
    arg("--rows", type=int, help="rows of the file to measure on [all that follow]"),
    shared.THRESHOLD,
    arg("--report", metavar="DIR", help="write an HTML page with plots and mistakes"),
    arg("--queries", metavar="FILE", help="questions with ids, to search the index for"),
    arg("--relevant", metavar="FILE", help="TREC qrels, or CSV with query_id, id [and relevance]"),
    arg("-k", type=int, default=100, help="how many answers of a query count [%(default)s]"),
    flag("--leave-out-own", "leave out the hit with the query's own id"),
    flag("--save-weight", "save the chosen weight of the vectors in the index"),
    shared.MODEL,
    *shared.READ_LIST,
    *shared.LABELS,
    shared.PAIRS_OF,
)
def evaluate(flags: argparse.Namespace) -> Result:
    """Measure a model on labelled pairs, or the search of an index on queries with known answers.

    siamese evaluate runs/course --questions questions.csv --skip-rows 300000 --rows 10240
    siamese evaluate runs/course --questions pairs.jsonl --threshold 0.7 --json
    siamese evaluate runs/course --questions questions.csv --report report      (needs matplotlib)
    siamese evaluate old.index --queries new.csv --relevant qrels.txt
    """
    if flags.questions and not (flags.queries or flags.relevant):
        return _on_pairs(flags)
    if flags.queries and flags.relevant and not flags.questions:
        return _on_queries(flags)
    raise ArgumentError(
        "Pass labelled pairs (--questions FILE), or queries and their answers (--queries FILE and "
        "--relevant FILE)."
    )


def _on_pairs(flags: argparse.Namespace) -> Result:
    from siamese.evaluation.report import Evaluation, short_table, write_report

    with opened(flags.target, flags) as (_, detector):
        pairs = labelled_pairs(flags.questions, flags)
    if flags.skip_rows or flags.rows is not None:
        stop = None if flags.rows is None else flags.skip_rows + flags.rows
        some = pairs.file_rows(flags.skip_rows, stop)
        if flags.skip_rows < 0 or not len(some):
            raise ArgumentError(
                f"--skip-rows {flags.skip_rows} --rows {flags.rows} leaves none of {len(pairs)} pairs."
            )
        pairs = some
    with elapsed(f"Encoding {counted(len(pairs), 'pair')}"):
        scores = detector.similarity(pairs.question1, pairs.question2)
    threshold, source = threshold_facts(detector, flags).values()
    evaluation = Evaluation(
        *(pairs.question1, pairs.question2, scores, pairs.is_duplicate, threshold),
        threshold_from=SOURCES[source],
        probabilities=None if detector.calibration is None else detector.probabilities_of(scores),
    )
    text, facts = short_table(evaluation), evaluation.to_dict()
    if flags.report:
        about = {"Model": flags.target, "File": flags.questions}
        facts["report"] = str(write_report(flags.report, evaluation, facts=about))
        text += f"\n\nReport: {facts['report']}\nIt quotes your questions; share it with care."
    return text, facts


def _on_queries(flags: argparse.Namespace) -> Result:
    """Chooses the weight of the vectors on one half of the queries, and measures on the other half.

    Queries that share an answer, directly or through others, are in one half.
    """
    from siamese.evaluation.retrieval import evaluate_retrieval
    from siamese.search.ranking import MODES

    kind = kind_of(flags.target)
    if kind == "model" or (flags.save_weight and kind == "questions"):
        raise ArgumentError(
            f"{flags.target} is not an index. Make one of the questions that are searched: siamese "
            "index build FILE"
        )
    measuring, choosing = _halves(flags)
    with open_index(flags.target, flags) as index:

        def measured(rows: list[tuple], mode: str, weight: float) -> Any:
            ids, texts, answers, clusters = zip(*rows)
            hits = index.search(texts, flags.k + 1, mode=mode, vector_weight=weight)
            own_ids = ids if flags.leave_out_own else [None] * len(ids)
            ranked = [[h.id for h in best if h.id != own] for own, best in zip(own_ids, hits)]
            ranked = [best[: flags.k] for best in ranked]
            return evaluate_retrieval(ranked, answers, clusters=clusters)

        weight, mrr = index.vector_weight, {}
        origin = "that of the index: one cluster of queries cannot be divided"
        with elapsed(f"Searching for the answers of {len(measuring) + len(choosing):,} queries"):
            if choosing:
                mrr = {w: measured(choosing, "hybrid", w).mrr for w in {weight, *WEIGHTS}}
                weight = max(mrr, key=lambda w: (round(mrr[w], 6), -abs(w - weight)))
                origin = f"chosen on {len(choosing):,} other queries{', saved' * flags.save_weight}"
            tables = {mode: measured(measuring, mode, weight).intervals for mode in MODES}
        if flags.save_weight and choosing:
            index.vector_weight = weight
    rows = [["search", *tables["hybrid"]], *([m, *table.values()] for m, table in tables.items())]
    lines = [
        *aligned(rows),
        f"{len(measuring):,} queries, the first {flags.k} answers; 95 % intervals over clusters.",
        f"Weight of the vectors in hybrid search: {weight:g}, {origin}.",
    ]
    facts = {"queries": len(measuring), "queries_that_chose": len(choosing), "depth": flags.k}
    facts |= {"vector_weight": weight, "mrr_at_weight": mrr}
    for mode, table in tables.items():
        facts[mode] = {name: vars(interval) for name, interval in table.items()}
    return "\n".join(lines), facts


def _halves(flags: argparse.Namespace) -> list[list[tuple]]:
    """The queries that measure and those that choose: (id, question, relevant ids, cluster) of each."""
    from siamese.evaluation.retrieval import read_relevance, shared_clusters

    queries, relevance = question_list(flags.queries, flags), read_relevance(flags.relevant)
    if not queries.has_ids:
        raise ArgumentError(
            f"{flags.queries} has no ids, which --relevant names (--id-column NAME)."
        )
    rows = [row for row in zip(queries.ids, queries.questions) if row[0] in relevance]
    if not rows:
        raise ArgumentError(f"{flags.relevant} names no query of {flags.queries}.")
    answers = [relevance[name] for name, _ in rows]
    clusters = shared_clusters(answers)
    number = {cluster: at for at, cluster in enumerate(dict.fromkeys(clusters))}
    halves: list[list[tuple]] = [[], []]
    for row, relevant, cluster in zip(rows, answers, clusters):
        halves[number[cluster] % 2].append((*row, relevant, cluster))  # Every second one chooses.
    return halves
