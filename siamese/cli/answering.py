"""The commands that answer questions: predict for pairs, search for new ones, match for two lists."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from itertools import islice
from typing import Any

from siamese.cli import arguments as shared
from siamese.cli import output
from siamese.cli.arguments import arg, command, flag
from siamese.cli.output import Result, counted, note, remarks, table_result, threshold_facts
from siamese.cli.reading import note_cut, note_findings, opened, question_list, reading_options
from siamese.compat.progress import elapsed
from siamese.data.pairs import REQUIRED, pair_rows
from siamese.data.readers.report import ReadReport, source_name
from siamese.errors import ArgumentError
from siamese.search.detector import DuplicateDetector
from siamese.search.display import NO_LABELS, csv_line, harmless, json_text, rounded
from siamese.search.explain import explain
from siamese.search.groups import with_columns

# Column of a table -> what it holds of a hit, its rank and its query.
ANSWERS = ("similarity", "probability", "is_duplicate")
HITS = "query_id", "query", "rank", "id", "question", *ANSWERS, "vector_rank", "word_rank", "same"
HITS = {name: name for name in HITS}
MATCHES = {"id": "query_id", "question": "query", "match_id": "id", "match": "question"}
MATCHES |= {name: name for name in ANSWERS}
CHUNK_ROWS = 4096  # rows of a file of pairs that are answered at a time


@command(
    arg("model", help=shared.MODEL_HELP),
    arg("question1", help="a question; or a file of pairs, - for standard input"),
    arg("question2", nargs="?", help="the other question"),
    flag("--explain", "show what each word of two questions does to their cosine"),
    shared.THRESHOLD,
    *(shared.BAD_ROWS, shared.ENCODING, shared.COLUMNS),
)
def predict(flags: argparse.Namespace) -> Result | None:
    """Answer whether two questions, or many pairs, are duplicates.

    siamese predict use "How old are you?" "What is your age?" --explain
    siamese predict runs/course pairs.csv > answers.csv     (of JSON Lines, or with --json: JSON Lines)
    """
    detector = DuplicateDetector.load(flags.model)
    facts, pair = threshold_facts(detector, flags), (flags.question1, flags.question2)
    if flags.question2 is not None:
        return _answer(detector, pair, facts, flags.explain)
    if flags.explain:
        raise ArgumentError("--explain takes two questions, not a file.")
    if facts["threshold_from"] == "default":
        note(f"Threshold {detector.threshold:.3f}. {NO_LABELS}")
    report = ReadReport(source_name(flags.question1), bad_rows=flags.bad_rows)
    for line in _file_answers(detector, report, flags):
        output.write_out(line)
    note_findings(report)
    return None


def _file_answers(
    detector: DuplicateDetector, report: ReadReport, flags: argparse.Namespace
) -> Iterator[str]:
    """Yields the answers for a file of pairs, a part at a time: CSV, or JSON Lines where the file has them.

    Rows stay in their order; `report` counts those that were left out.
    """
    names = REQUIRED[:2]
    rows = pair_rows(flags.question1, report, flags.columns or (), flags.encoding, names)
    while part := list(islice(rows, CHUNK_ROWS)):
        lines, _, question1, question2, ids, _ = map(list, zip(*part))
        is_json = flags.json or report.format.startswith("JSON")
        if not report.kept:
            names = (*names, *ANSWERS, *(["id"] if ids[0] is not None else []))
            if not is_json:
                yield csv_line(names)
        report.kept += len(part)
        pairs = list(zip(question1, question2))
        report.add("cut", [line for line, pair in zip(lines, pairs) if detector.cut(pair)])
        answers = detector.answers(question1, question2, flags.threshold)
        for pair, answer, own in zip(pairs, answers, ids):
            row = rounded(dict(zip(names, (*pair, *answer, own))))
            if not is_json:
                row["is_duplicate"] = int(row["is_duplicate"])
            yield json_text(row) if is_json else csv_line(row.values())


def _answer(
    detector: DuplicateDetector, pair: tuple[str, str], facts: dict[str, Any], explained: bool
) -> Result:
    """The answer for two questions, perhaps with the effect of each word."""
    note_cut(detector, pair)
    explanation = explain(detector, *pair) if explained else None
    cut = facts["threshold"]
    ((cosine, probability, is_duplicate),) = detector.answers(*([side] for side in pair), cut)
    unknown = [word for question in pair for word in detector.unknown_words(question)]
    verdict, sign = ("duplicate", ">") if is_duplicate else ("not a duplicate", "<=")
    if detector.measure == "probability":
        line = f"-> {verdict}: probability {probability:.3f} {sign} {cut:.3f}, cosine {cosine:.3f}"
    else:
        line = f"-> {verdict}: cosine {cosine:.3f} {sign} {cut:.3f}"
        line += "" if probability is None else f", probability {probability:.2f}"
    lines = [*pair, line, *(f"   {remark}" for remark in remarks(unknown, facts))]
    text = "\n".join(f"  {line}" for line in lines)
    answer = {"question1": pair[0], "question2": pair[1], "is_duplicate": is_duplicate}
    answer |= {"similarity": cosine, "probability": probability, "unknown_words": unknown, **facts}
    if explanation:
        answer |= {name: explanation.as_dict()[name] for name in ("words1", "words2")}
        text += f"\n\n{explanation}"
    return text, rounded(answer)


def _mode(name: str, mode: str, help: str) -> Any:
    return arg(name, help=help, dest="mode", action="store_const", const=mode, default="hybrid")


def _setting(text: str) -> tuple[str, str]:
    """A flag's value of the form COLUMN=VALUE."""
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r}: write COLUMN=VALUE")
    return name, value


WHERE_HELP = "only questions with this value in a column; may be repeated for other columns"


@command(
    shared.INDEX,
    [
        arg("question", nargs="?", help="a new question"),
        arg("--queries", metavar="FILE", help="a list of new questions: their hits are a table"),
    ],
    arg("-k", type=int, default=10, help="how many hits [%(default)s]"),
    shared.THRESHOLD,
    [
        _mode("--vectors-only", "vectors", "order by cosine [by vectors and words together]"),
        _mode("--words-only", "words", "order by shared words, BM25"),
    ],
    arg("--where", type=_setting, action="append", metavar="COLUMN=VALUE", help=WHERE_HELP),
    *shared.LIST_TABLE,
)
def search(flags: argparse.Namespace) -> Result:
    """Find the questions of an index or a list that are similar to a new one, or to each of a list.

    siamese search questions.csv "How old are you?"             (a list is encoded each time)
    siamese search old.index "How old are you?" -k 3 --where by=me --json
    siamese search old.index --queries new.csv > hits.csv       (--output hits.jsonl: JSON Lines)
    """
    if flags.queries is None and (flags.question == "-" or os.path.isfile(flags.question)):
        raise ArgumentError(
            f"{flags.question!r} is a file, not a question. For each question of a file: "
            f"siamese search {flags.index} --queries {flags.question}"
        )
    options = reading_options(flags, "mode threshold")
    options["where"] = dict(flags.where or ())
    if len(options["where"]) < len(flags.where or ()):
        raise ArgumentError("--where names one column twice.")
    with opened(flags.index, flags) as (index, detector):
        weight = index.vector_weight
        facts = {"mode": flags.mode, "vector_weight": weight, **threshold_facts(detector, flags)}
        order = (
            f"Ordered by cosine (weight {weight:g}) and shared words (weight {1 - weight:g}) "
            "together; --vectors-only orders by cosine."
        )
        if flags.queries is not None:
            if flags.mode == "hybrid":
                note(order)
            return _table(index, flags.queries, flags, facts, **options)
        hits = index.search(flags.question, flags.k, **options)
        unknown = detector.unknown_words(flags.question)
    lines = list(map(_hit_text, hits)) or ["Nothing found."]
    if any(hit.is_duplicate for hit in hits):
        lines.append(f"* a duplicate: {detector.measure} above {facts['threshold']:.3f}")
    cosines = [hit.similarity for hit in hits]
    if flags.mode == "hybrid" and cosines != sorted(cosines, reverse=True):
        lines.append(order)
    values = [rounded(hit._asdict()) for hit in hits]
    facts = {"question": flags.question, "hits": values, "unknown_words": unknown, **facts}
    return "\n".join([*lines, *remarks(unknown, facts)]), facts


def _hit_text(hit: Any) -> str:
    mark = "*" if hit.is_duplicate else " "
    probability = "" if hit.probability is None else f"  {hit.probability:4.0%}"
    same = f"  (same text: {', '.join(map(harmless, hit.same))})" if hit.same else ""
    return f"{mark} {hit.similarity:6.3f}{probability}  [{harmless(hit.id)}] {harmless(hit.question)}{same}"


def _table(
    index: Any, path: str, flags: argparse.Namespace, facts: dict[str, Any], **options: Any
) -> Result:
    """The hits of each question of a list, named as the command names them; one row for none.

    `facts` have the threshold, `options` are those of `QuestionIndex.search`.
    """
    queries, rows = question_list(path, flags), []
    names, prefix = (MATCHES, "match_") if flags.command == "match" else (HITS, "")
    with elapsed(f"Searching for {len(queries.questions):,} questions"):
        hits = index.search(queries.questions, flags.k, **options)
    columns = queries.columns or [{}] * len(hits)
    for i, question, own, best in zip(queries.ids, queries.questions, columns, hits):
        for rank, hit in enumerate(best or [None], 1):
            values, others = {"query_id": i, "query": question}, {}
            if hit:
                others = {f"{prefix}{name}": value for name, value in hit.columns.items()}
                values |= hit._asdict() | {"rank": rank, "same": " ".join(hit.same)}
                values["is_duplicate"] = int(hit.is_duplicate)
            row = {name: values.get(value) for name, value in names.items()}
            rows.append(with_columns(with_columns(row, others), own))
    matched = sum(any(hit.is_duplicate for hit in best) for best in hits)
    facts |= {"questions": len(hits), "with_hits": sum(map(bool, hits)), "matched": matched}
    summary = (
        f"{counted(len(hits), 'question')}, {facts['with_hits']:,} of them with hits, {matched:,} with "
        f"one above {facts['threshold']:.3f}."
    )
    return table_result(flags, rows, list(names), summary, facts)


@command(
    arg("a", metavar="A", help="the questions to match, a list in any format"),
    arg("index", metavar="B", help="the questions to match them with, or their index"),
    shared.THRESHOLD,
    arg("-k", type=int, default=1, help="matches of each question [%(default)s]"),
    *shared.LIST_TABLE,
)
def match(flags: argparse.Namespace) -> Result:
    """Find for each question of one list the best matches in another, as CSV or JSON Lines.

    siamese match new.csv faq.csv -k 3 --threshold 0.8 --output matches.csv
    """
    with opened(flags.index, flags) as (index, detector):
        facts = threshold_facts(detector, flags)
        return _table(index, flags.a, flags, facts, mode="vectors", threshold=flags.threshold)
