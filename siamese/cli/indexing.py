"""The commands about indexes: index build, add, remove and export; search; serve."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

from siamese.cli import arguments as shared
from siamese.cli.arguments import arg, command, either, finite, flag
from siamese.cli.output import Result, counted, table_result, threshold_source
from siamese.cli.reading import (
    build_index,
    kind_of,
    note_cut,
    note_findings,
    open_index,
    question_list,
    reading_options,
)
from siamese.compat.progress import elapsed
from siamese.errors import ArgumentError
from siamese.search.display import NO_LABELS, harmless

BATCH = 256  # queries of a file that are answered together
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
    facts = {"output": output, "questions": questions.report.kept, "left_out": questions.left_out}
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
    ids = questions.ids if questions.has_ids else None
    with open_index(flags.index, flags, stored=True) as index:
        note_cut(index.detector, questions.questions)
        with elapsed(f"Encoding {counted(len(questions.questions), 'question')}"):
            added = index.add(questions.questions, ids=ids, columns=questions.columns)
        facts = {name: getattr(added, name) for name in ("added", "replaced", "skipped")}
        facts |= {"left_out": questions.left_out, "questions": len(index)}
    text = (
        f"{counted(added.added, 'question')} added, {added.replaced:,} replaced, {added.skipped:,} "
        f"skipped (stored already); the index has {facts['questions']:,}."
    )
    return text, facts


@command(
    A_FILE,
    arg("file", metavar="FILE", nargs="?", help="an id a line, or a table with a column of ids"),
    arg("--ids", nargs="+", metavar="ID", help="the ids themselves"),
    *(shared.BAD_ROWS, shared.ENCODING, shared.ID_COLUMN, shared.MODEL),
)
def index_remove(flags: argparse.Namespace) -> Result:
    """Remove questions from an index by their ids.

    siamese index remove old.index --ids 7 12
    siamese index remove old.index ids.csv
    """
    from siamese.data.questions import read_ids

    if (flags.ids is None) == (flags.file is None):
        raise ArgumentError("Pass the ids to remove: either --ids ID ... or a file.")
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
        size = index.export(flags.parquet)
    facts = {"output": flags.parquet, "questions": size, "bytes": os.path.getsize(flags.parquet)}
    text = f"{counted(size, 'question')}, {facts['bytes'] / 1e6:,.1f} MB"
    return f"{text}. Written to {flags.parquet}.", facts


def _mode(name: str, mode: str, help: str) -> Any:
    return flag(name, help, dest="mode", action="store_const", const=mode, default="hybrid")


@command(
    shared.INDEX,
    arg("question", nargs="?", help="a new question"),
    arg("--queries", metavar="FILE", help="a list of new questions: their hits are a table"),
    arg("-k", type=int, default=10, help="how many hits [%(default)s]"),
    shared.THRESHOLD,
    either(
        _mode("--vectors-only", "vectors", "order by cosine [by vectors and words together]"),
        _mode("--words-only", "words", "order by shared words, BM25"),
    ),
    arg(
        "--where",
        action="append",
        default=[],
        metavar="COLUMN=VALUE",
        help="only questions with this value in a column; may be repeated",
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
    if (flags.question is None) == (flags.queries is None):
        raise ArgumentError("Pass one question, or a list of questions (--queries FILE).")
    if flags.question is not None and (flags.question == "-" or os.path.isfile(flags.question)):
        raise ArgumentError(
            f"{flags.question!r} is a file, not a question. For each question of a file: "
            f"siamese search {flags.index} --queries {flags.question}"
        )
    with open_index(flags.index, flags) as index:
        weight, detector = index.vector_weight, index.detector
        order = (
            f"Ordered by cosine (weight {weight:g}) and shared words (weight {1 - weight:g}) "
            "together; --vectors-only orders by cosine."
        )
        cut = detector.threshold if flags.threshold is None else flags.threshold
        facts = {"mode": flags.mode, "vector_weight": weight, "threshold": cut}
        facts["threshold_from"] = threshold_source(detector, flags)
        if flags.queries is not None:
            queries = question_list(flags.queries, flags)
            with elapsed(f"Searching for {len(queries.questions):,} questions"):
                hits = _hits(index, queries.questions, flags)
            rows = _hit_rows(queries, hits)
            with_hits = sum(map(bool, hits))
            summary = f"{counted(len(hits), 'question')}, {with_hits:,} of them with hits."
            summary += f" {order}" if flags.mode == "hybrid" else ""
            facts |= {"questions": len(hits), "with_hits": with_hits}
            return table_result(flags, rows, HIT_COLUMNS, summary, facts)
        (hits,) = _hits(index, [flags.question], flags)
        unknown, size = detector.unknown_words(flags.question), len(index)
    lines = [_hit_text(hit) for hit in hits]
    if any(hit.is_duplicate for hit in hits):
        lines.append(f"* a duplicate: cosine above {cut:.3f}")
    cosines = [hit.similarity for hit in hits]
    if flags.mode == "hybrid" and cosines != sorted(cosines, reverse=True):
        lines.append(order)
    if not hits:
        why = "no question fits" if flags.question.strip() else "the question has no words"
        lines.append(f"Nothing found: {why if size else 'the index is empty'}.")
    if unknown:
        lines.append(f"words the model has never seen: {', '.join(unknown)}")
    if facts["threshold_from"] == "default":
        lines.append(NO_LABELS)
    answer = {"question": flags.question, "hits": list(map(_hit_values, hits))}
    return "\n".join(lines), {**answer, "unknown_words": unknown, **facts}


def _hits(index: Any, questions: Sequence[str], flags: argparse.Namespace) -> list[list]:
    """The hits of each question, by the command's flags."""
    where: dict[str, str] = {}
    for text in flags.where:
        column, equals, value = text.partition("=")
        if not equals:
            raise ArgumentError(f"--where {text!r}: write COLUMN=VALUE.")
        if where.setdefault(column, value) != value:
            raise ArgumentError(f"--where {column} stands there twice, with different values.")
    options = {name: getattr(flags, name) for name in ("mode", "threshold", "min_probability")}
    options |= {"where": where, "merge_same": flags.merge_same}
    hits = []
    for start in range(0, len(questions), BATCH):
        hits += index.search(questions[start : start + BATCH], flags.k, **options)
    return hits


def _hit_values(hit: Any) -> dict[str, Any]:
    values = {**hit._asdict(), "similarity": round(hit.similarity, 6)}
    probability = values.pop("probability")
    return values if probability is None else {**values, "probability": round(probability, 6)}


def _hit_rows(queries: Any, hits: list[list]) -> list[dict[str, Any]]:
    """A row for each hit of each query, with its columns; a query without hits has one row."""
    from siamese.search.groups import with_columns

    rows = []
    for name, question, of_query in zip(queries.ids, queries.questions, hits):
        own = {**dict.fromkeys(HIT_COLUMNS), "query_id": name, "query": question}
        for rank, hit in enumerate(of_query, 1):
            values = _hit_values(hit)
            columns = values.pop("columns")
            values |= {"rank": rank, "is_duplicate": int(hit.is_duplicate)}
            rows.append(with_columns({**own, **values, "same": " ".join(hit.same)}, columns))
        if not of_query:
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
    arg("--workers", type=int, default=1, help="processes that answer [%(default)s]"),
    arg(
        "--allow-host",
        nargs="+",
        default=[],
        metavar="NAME",
        help="extra Host header to accept (behind a proxy) [none]",
    ),
    shared.MODEL,
    *shared.READ_LIST,
)
def serve(flags: argparse.Namespace) -> None:
    """Serve a page and a JSON API that search an index and change it.

    siamese serve old.index                  (needs the packages of the extra serve)
    siamese serve old.index --port 9000 --workers 4
    siamese serve questions.csv              (a list of questions; what is added is lost at the end)
    SIAMESE_API_KEY=... siamese serve old.index --host 0.0.0.0   (clients send Authorization: Bearer ...)
    """
    if flags.json:
        raise ArgumentError("The server answers in JSON by itself; leave --json out.")
    from siamese.search.detector import DuplicateDetector
    from siamese.serving.api import serve as serve_index

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # so that temporary files go
    options = {name: getattr(flags, name) for name in ("host", "port", "workers")}
    options["names"] = flags.allow_host
    if kind_of(flags.index) != "questions":
        return serve_index(flags.index, model=flags.model, **options)
    model = flags.model or "use"
    detector, questions = DuplicateDetector.load(model), question_list(flags.index, flags)
    with tempfile.TemporaryDirectory(prefix="siamese-") as folder:
        path = os.path.join(folder, "questions.index")
        build_index(detector, questions, path=path, model=model).close()
        serve_index(path, **options)
