"""The commands about indexes: index build, add, remove and export; search; serve."""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

from siamese.cli import arguments as shared
from siamese.cli.arguments import arg, command, either, finite, flag
from siamese.cli.output import Result, counted, remarks, table_result, threshold_facts
from siamese.cli.reading import (
    build_index,
    note_cut,
    note_findings,
    open_index,
    question_list,
    reading_options,
)
from siamese.compat.progress import elapsed
from siamese.errors import ArgumentError
from siamese.search.display import harmless, rounded

HIT_COLUMNS = (
    *("query_id", "query", "rank", "id", "question", "similarity", "probability", "is_duplicate"),
    *("vector_rank", "word_rank", "same"),
)
A_FILE = arg("index", help="the file of an index")
A_LIST = arg("questions", metavar="FILE", help="a list of questions, in any format")


@command(
    A_LIST,
    shared.NEW_MODEL,
    arg("--output", metavar="INDEX", help="the file to write [FILE.index]"),
    *shared.READ_LIST,
)
def index_build(flags: argparse.Namespace) -> Result:
    """Encode a list of questions, to search it and to find duplicates in it.

    siamese index build questions.csv
    siamese index build faq.jsonl --model runs/course --column title --output faq.index
    """
    from siamese.search.detector import DuplicateDetector

    if flags.output is None and not os.path.isfile(flags.questions):
        raise ArgumentError(
            f"{flags.questions} is no file. Name the index to write (--output INDEX)."
        )
    output, started = flags.output or f"{flags.questions}.index", time.monotonic()
    detector = DuplicateDetector.load(flags.model)
    questions = question_list(flags.questions, flags)
    build_index(detector, questions, path=output, model=flags.model).close()
    facts = {
        "output": output,
        "questions": len(questions.questions),
        "left_out": questions.left_out,
    }
    facts |= {"bytes": os.path.getsize(output), "seconds": round(time.monotonic() - started, 1)}
    text = (
        f"{counted(facts['questions'], 'question')}, {facts['bytes'] / 1e6:,.1f} MB, in "
        f'{facts["seconds"]} s.\nSaved in {output}. Ask it: siamese search {output} "..."'
    )
    return text, facts


@command(A_FILE, A_LIST, *shared.READ_LIST, shared.MODEL)
def index_add(flags: argparse.Namespace) -> Result:
    """Add a list of questions to an index; stored questions are skipped, changed ones replaced.

    siamese index add old.index more.csv
    """
    questions = question_list(flags.questions, flags)
    with open_index(flags.index, flags, stored=True) as index:
        _, added, replaced, skipped = add_questions(index, questions)
        facts = {"added": added, "replaced": replaced, "skipped": skipped}
        facts |= {"left_out": questions.left_out, "questions": len(index)}
    text = (
        f"{counted(added, 'question')} added, {replaced:,} replaced, {skipped:,} skipped (stored "
        f"already); the index has {facts['questions']:,}."
    )
    return text, facts


def add_questions(index: Any, questions: Any) -> Any:
    """Adds a `QuestionList` to an index; returns its `Added`."""
    note_cut(index.detector, questions.questions)
    ids = questions.ids if questions.has_ids else None
    with elapsed(f"Encoding {counted(len(questions.questions), 'question')}"):
        return index.add(questions.questions, ids=ids, columns=questions.columns)


@command(
    A_FILE,
    either(
        arg("file", metavar="FILE", nargs="?", help="an id a line, or a table with ids"),
        arg("--ids", nargs="+", metavar="ID", help="the ids themselves"),
        required=True,
    ),
    *(shared.BAD_ROWS, shared.ENCODING, shared.ID_COLUMN, shared.MODEL),
)
def index_remove(flags: argparse.Namespace) -> Result:
    """Remove questions from an index by their ids.

    siamese index remove old.index --ids 7 12
    siamese index remove old.index ids.csv
    """
    from siamese.data.questions import read_ids

    ids = flags.ids
    if ids is None:
        options = reading_options(flags, ("bad_rows", "encoding", "id_column"))
        ids, report = read_ids(flags.file, **options)
        note_findings(report)
    with open_index(flags.index, flags, stored=True) as index:
        facts = {"removed": index.remove(ids), "questions": len(index)}
    text = f"{counted(facts['removed'], 'question')} removed; the index has {facts['questions']:,}."
    return text, facts


@command(A_FILE, arg("parquet", metavar="FILE", help="the file to write"), shared.MODEL)
def index_export(flags: argparse.Namespace) -> Result:
    """Write an index as a Parquet file, for engines beyond one machine.

    siamese index export old.index old.parquet       (id, question, columns, vector; needs pyarrow)
    """
    with open_index(flags.index, flags, stored=True) as index:
        facts = {"output": flags.parquet, "questions": index.export(flags.parquet)}
    facts["bytes"] = os.path.getsize(flags.parquet)
    return f"{counted(facts['questions'], 'question')} written to {flags.parquet}.", facts


def _mode(name: str, mode: str, help: str) -> Any:
    return arg(name, help=help, dest="mode", action="store_const", const=mode, default="hybrid")


@command(
    shared.INDEX,
    either(
        arg("question", nargs="?", help="a new question"),
        arg("--queries", metavar="FILE", help="a list of new questions: their hits are a table"),
        required=True,
    ),
    arg("-k", type=int, default=10, help="how many hits [%(default)s]"),
    shared.THRESHOLD,
    either(
        _mode("--vectors-only", "vectors", "order by cosine [by vectors and words together]"),
        _mode("--words-only", "words", "order by shared words, BM25"),
    ),
    arg(
        "--where",
        type=shared.setting,
        action="append",
        default=[],
        metavar="COLUMN=VALUE",
        help="only questions with this value in a column; may be repeated for other columns",
    ),
    arg("--min-probability", type=finite, help="only hits at least so probable, from 0 to 1"),
    flag("--merge-same", "one hit of each text, but for case, blanks and quotes"),
    shared.MODEL,
    *shared.READ_LIST,
    *shared.TABLE,
)
def search(flags: argparse.Namespace) -> Result:
    """Find the questions of an index or a list that are similar to a new one, or to each of a list.

    siamese search old.index "How old are you?"
    siamese search questions.csv "How old are you?"             (a list is encoded each time)
    siamese search old.index "How old are you?" -k 3 --where by=me --merge-same --json
    siamese search old.index --queries new.csv > hits.csv       (--output hits.jsonl: JSON Lines)
    """
    if flags.queries is None and (flags.question == "-" or os.path.isfile(flags.question)):
        raise ArgumentError(
            f"{flags.question!r} is a file, not a question. For each question of a file: "
            f"siamese search {flags.index} --queries {flags.question}"
        )
    names = ("mode", "threshold", "min_probability", "merge_same")
    options = {name: getattr(flags, name) for name in names} | {"where": dict(flags.where)}
    if len(options["where"]) < len(flags.where):
        raise ArgumentError("--where names one column twice.")
    with open_index(flags.index, flags) as index:
        weight = index.vector_weight
        facts = {"mode": flags.mode, "vector_weight": weight}
        facts |= threshold_facts(index.detector, flags)
        order = (
            f"Ordered by cosine (weight {weight:g}) and shared words (weight {1 - weight:g}) "
            "together; --vectors-only orders by cosine."
        )
        if flags.queries is not None:
            queries = question_list(flags.queries, flags)
            with elapsed(f"Searching for {len(queries.questions):,} questions"):
                hits = index.search(queries.questions, flags.k, **options)
            facts |= {"questions": len(hits), "with_hits": sum(map(bool, hits))}
            summary = f"{counted(len(hits), 'question')}, {facts['with_hits']:,} of them with hits."
            summary += f" {order}" if flags.mode == "hybrid" else ""
            return table_result(flags, _hit_rows(queries, hits), HIT_COLUMNS, summary, facts)
        hits = index.search(flags.question, flags.k, **options)
        unknown, size = index.detector.unknown_words(flags.question), len(index)
    lines = list(map(_hit_text, hits))
    if any(hit.is_duplicate for hit in hits):
        lines.append(f"* a duplicate: cosine above {facts['threshold']:.3f}")
    cosines = [hit.similarity for hit in hits]
    if flags.mode == "hybrid" and cosines != sorted(cosines, reverse=True):
        lines.append(order)
    if not hits:
        why = "no question fits" if flags.question.strip() else "the question has no words"
        lines.append(f"Nothing found: {why if size else 'the index is empty'}.")
    values = [rounded(hit._asdict()) for hit in hits]
    facts = {"question": flags.question, "hits": values, "unknown_words": unknown, **facts}
    return "\n".join([*lines, *remarks(unknown, facts)]), facts


def _hit_rows(queries: Any, hits: list[list]) -> list[dict[str, Any]]:
    """A row for each hit of each query, with its columns; a query without hits has one row."""
    from siamese.search.groups import with_columns

    rows = []
    for name, query, best in zip(queries.ids, queries.questions, hits):
        own = {**dict.fromkeys(HIT_COLUMNS), "query_id": name, "query": query}
        for rank, hit in enumerate(best, 1):
            row = {**own, **rounded(hit._asdict()), "rank": rank, "same": " ".join(hit.same)}
            row["is_duplicate"] = int(hit.is_duplicate)
            rows.append(with_columns(row, row.pop("columns")))
        if not best:
            rows.append(own)
    return rows


def _hit_text(hit: Any) -> str:
    mark = "*" if hit.is_duplicate else " "
    probability = "" if hit.probability is None else f"  {hit.probability:4.0%}"
    same = f"  (same text: {', '.join(map(harmless, hit.same))})" if hit.same else ""
    return f"{mark} {hit.similarity:6.3f}{probability}  [{harmless(hit.id)}] {harmless(hit.question)}{same}"


@command(
    shared.INDEX,
    arg("--host", default="127.0.0.1", help="address to listen on [%(default)s]"),
    arg("--port", type=int, default=8000, help="0 picks a free one [%(default)s]"),
    arg("--allow-host", nargs="+", default=[], metavar="NAME", help="extra Host header to accept"),
    shared.MODEL,
    *shared.READ_LIST,
)
def serve(flags: argparse.Namespace) -> None:
    """Serve a page and a JSON API that search an index and change it.

    siamese serve old.index                  (needs the packages of the extra serve)
    siamese serve old.index --port 9000
    siamese serve questions.csv              (a list of questions; what is added is lost at the end)
    SIAMESE_API_KEY=... siamese serve old.index --host 0.0.0.0   (clients send Authorization: Bearer ...)
    """
    if flags.json:
        raise ArgumentError("The server answers in JSON by itself; leave --json out.")
    from siamese.serving.api import serve as serve_index

    with open_index(flags.index, flags) as index:
        serve_index(index, host=flags.host, port=flags.port, names=flags.allow_host)
