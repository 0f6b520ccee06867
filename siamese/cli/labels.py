"""The commands about labels: data describes them, evaluate measures by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from siamese.cli import arguments as shared
from siamese.cli import reading
from siamese.cli.arguments import (
    CheckOptions,
    CommandOptions,
    LinkReading,
    OneOf,
    PairReading,
    option,
    positional,
    refuse_flags,
)
from siamese.cli.labelled import labelled_pairs
from siamese.cli.output import Facts, Result, aligned, note, threshold_facts
from siamese.cli.reading import (
    load_model,
    no_labels,
    opened,
    too_long,
)
from siamese.errors import ArgumentError
from siamese.evaluation.groups import group_figures
from siamese.groups.grouping import Grouping, group_labels, linked_labels
from siamese.groups.within import keys_of
from siamese.model.detector import DuplicateDetector, pairs_of
from siamese.reading.clusters import clusters
from siamese.system.arguments import counted
from siamese.text.display import rounded

# ---- data ----


@dataclass(frozen=True, kw_only=True)
class Data(CommandOptions):
    """The options of `siamese data`."""

    questions: Annotated[
        str, positional(metavar="FILE", help="a file of labelled pairs")
    ]
    read: PairReading


def data(options: Data) -> Facts:
    """Describe a file of labelled pairs: clusters of duplicates, conflicts (pairs labelled apart in one).

    siamese data questions.csv --json
    """
    read = labelled_pairs(options.questions, options.read)
    note(*read.notes)
    pairs = read.pairs
    assert pairs.report is not None  # They were read.
    joined = clusters(pairs)
    return {
        "rows": pairs.report.rows,
        "pairs": len(pairs),
        "duplicates": int(pairs.is_duplicate.sum()),
        "base_rate": round(pairs.base_rate, 6),
        "questions": len(joined.questions),
        "clusters": int((joined.sizes > 1).sum()),
        "conflicts": len(joined.conflict_rows),
    }


# ---- evaluate ----

MEASURED = OneOf(required=True)
# The thresholds that are tried; the one with the best groups is reported.
CUTS = [round(0.4 + 0.025 * step, 3) for step in range(23)]


@dataclass(frozen=True, kw_only=True)
class Evaluate(CommandOptions):
    """The options of `siamese evaluate`."""

    index: shared.Target
    questions: Annotated[
        str | None,
        option(metavar="FILE", help="labelled pairs, any format", one_of=MEASURED),
    ] = None
    queries: Annotated[
        str | None,
        option(
            metavar="FILE",
            help="questions with ids, to search the index for",
            one_of=MEASURED,
        ),
    ] = None
    groups: Annotated[
        str | None,
        option(
            metavar="COLUMN",
            help="a column of the list with the true group of each question",
            one_of=MEASURED,
        ),
    ] = None
    threshold: shared.Threshold = None
    relevant: Annotated[
        str | None,
        option(metavar="FILE", help="CSV or JSON Lines with query_id and id"),
    ] = None
    model: shared.Model = None
    check: CheckOptions
    read: LinkReading


def evaluate(options: Evaluate) -> Result:
    """Measure a model on labelled pairs, a search on queries with known answers, or groups on true ones.

    siamese evaluate runs/course --questions questions.csv
    siamese evaluate tickets.csv --groups problem       (the groups that `siamese duplicates` makes)
    siamese evaluate questions.db --queries new.csv --relevant known.csv
    """
    from siamese.evaluation.report import Evaluation

    if (options.queries is None) != (options.relevant is None):
        raise ArgumentError(
            "Queries and their answers belong together: --queries and --relevant."
        )
    if options.queries is not None and options.relevant is not None:
        refuse_flags("evaluate", "queries", options)
        return _on_queries(options, options.queries, options.relevant)
    if options.groups is not None:
        refuse_flags("evaluate", "groups", options)
        return _on_groups(options, options.groups)
    detector = _evaluated(options)
    assert options.questions is not None  # It is asked for where no other flag is.
    read = labelled_pairs(options.questions, options.read, listed=options.read.list)
    note(*read.notes)
    pairs = read.pairs
    note(*too_long(detector, {*pairs.question1, *pairs.question2}))
    decision = detector.decision
    scores = decision.scores(*pairs_of(detector, pairs.question1, pairs.question2))
    facts = threshold_facts(detector, options.threshold)
    source = facts["threshold_from"]
    evaluation = Evaluation(
        pairs.question1,
        pairs.question2,
        scores,
        pairs.is_duplicate,
        facts["threshold"],
        threshold_from="a default, no labels behind it"
        if source == "default"
        else source,
        probabilities=decision.probabilities(scores),
        measure=decision.measure,
    )
    return Result(str(evaluation), evaluation.to_dict())


def _evaluated(options: Evaluate) -> DuplicateDetector:
    """The model that is measured, that of an index or a list, too."""
    path = options.index
    kind = reading.kind_of_target(path)
    if kind != "questions" and not options.read.list:
        refuse_flags("evaluate", "no list", options)
    if kind == "model":
        refuse_flags("evaluate", "a model", options, path)
        detector = load_model(path, options.check)
        note(*no_labels(detector, path, options.threshold))
        return detector
    with opened(path, options) as source:
        note(*source.notes())
        note(*no_labels(source.detector, source.name, options.threshold))
        return source.detector


def _on_groups(options: Evaluate, column: str) -> Result:
    """How well the groups of a list agree with a column of true ones, and the threshold that does best."""
    if reading.kind_of_target(options.index) == "model":
        raise ArgumentError(
            f"{options.index} is a model: --groups names a column of a list or an index."
        )
    with opened(options.index, options) as source:
        note(*source.notes())
        note(*no_labels(source.detector, source.name, options.threshold))
        snapshot = source.index().grouped(options.threshold)
        truth = [key[0] for key in keys_of(snapshot.entries, [column])]
    figures = group_figures(group_labels(snapshot.groups, len(truth)), truth)

    # The same groups without answers, at other thresholds.
    f1 = {}
    texts = [entry["question"] for entry in snapshot.entries]
    for cut in CUTS:
        grouping = Grouping.of(snapshot.detector, cut, snapshot.questions)
        made, _ = linked_labels(snapshot.questions, texts, snapshot.detector, grouping)
        f1[cut] = group_figures(made, truth)["f1"]
    best = max(f1, key=f1.__getitem__)
    facts = threshold_facts(snapshot.detector, options.threshold)
    facts |= {"threshold": snapshot.threshold, "questions": len(truth), **figures}
    facts |= {"best_threshold": best, "best_f1": f1[best]}
    return Result(_groups_text(facts), rounded(facts))


def _groups_text(facts: Facts) -> str:
    """The figures of groups as lines."""
    table = [["", "precision", "recall", "F1"]]
    for name, before in (("pairs", ""), ("B-cubed", "b_cubed_")):
        values = (facts[f"{before}{own}"] for own in ("precision", "recall", "f1"))
        table.append([name, *(f"{value:.3f}" for value in values)])
    return "\n".join(
        [
            f"{counted(facts['questions'], 'question')}, threshold {facts['threshold']:.3f}: "
            f"{facts['right_pairs']:,} of {counted(facts['pairs'], 'pair')} in groups are right, of "
            f"{facts['true_pairs']:,} true ones.",
            *aligned(table),
            f"Best F1 over pairs: {facts['best_f1']:.3f}, at the threshold {facts['best_threshold']:g}.",
        ]
    )


def _on_queries(options: Evaluate, queries_path: str, relevant: str) -> Result:
    """How well the search of an index finds the known answers of queries."""
    from siamese.evaluation.retrieval import DEPTH, read_relevance, search_quality

    queries = reading.question_list(queries_path, options.read)
    note(*reading.about_list(queries_path, queries))
    read = reading.row_options(options.read)
    relevance, report = read_relevance(relevant, **read)
    note(*reading.findings(report))
    texts = dict(zip(queries.ids, queries.questions))
    known = [name for name in texts if name in relevance]
    if not known:
        raise ArgumentError(f"{relevant} names no query of {queries_path} by its id.")
    with opened(options.index, options) as source:
        note(*source.notes())
        note(*too_long(source.detector, texts.values()))
        index = source.index()
        asked = {answer for name in known for answer in relevance[name]}
        stored = {entry["id"] for entry in index.snapshot().entries}
        for named, ids, path in (
            (set(relevance), set(texts), queries_path),
            (asked, stored, options.index),
        ):
            note(*_missing(named, ids, path, relevant))
        quality = search_quality(
            index, [texts[name] for name in known], [relevance[name] for name in known]
        )
    table = [["search", *quality["hybrid"]]]
    for mode, figures in quality.items():
        table.append([mode, *(f"{value:.3f}" for value in figures.values())])
    text = f"{len(known):,} queries, the first {DEPTH} answers."
    facts = {"queries": len(known), "depth": DEPTH, **quality}
    return Result("\n".join([*aligned(table), text]), facts)


def _missing(named: set, ids: set, path: str, relevant: str) -> list[str]:
    """A line on ids that a file of answers names and that are not there."""
    missing = named - ids
    if not missing:
        return []
    shown = f"{len(missing):,} of the {len(named):,} ids in {relevant}"
    return [
        f"{shown} are not in {path}, such as {min(missing)!r}: is it the right list?"
    ]
