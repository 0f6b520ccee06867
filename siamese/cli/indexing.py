"""The commands that make, change and serve an index: index build, add, remove and export; serve."""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

from siamese.cli import arguments as shared
from siamese.cli.arguments import arg, command
from siamese.cli.output import Result, counted
from siamese.cli.reading import (
    build_index,
    note_cut,
    note_findings,
    opened,
    question_list,
    reading_options,
)
from siamese.compat.progress import elapsed
from siamese.data.questions import QuestionList, read_ids
from siamese.errors import ArgumentError
from siamese.search.detector import DuplicateDetector

A_FILE = arg("index", help="the file of an index")
A_LIST = arg("questions", metavar="FILE", help="a list of questions, in any format")
NEW_INDEX = arg("--output", metavar="INDEX", help="the file to write [FILE.index]")


@command(A_LIST, shared.NEW_MODEL, NEW_INDEX, *shared.READ_LIST)
def index_build(flags: argparse.Namespace) -> Result:
    """Encode a list of questions, to search it and to find duplicates in it.

    siamese index build questions.csv
    siamese index build faq.jsonl --model runs/course --column title --output faq.index
    """
    if flags.output is None and not os.path.isfile(flags.questions):
        raise ArgumentError(
            f"{flags.questions} is no file. Name the index to write (--output INDEX)."
        )
    output, started = flags.output or f"{flags.questions}.index", time.monotonic()
    detector = DuplicateDetector.load(flags.model)
    questions = question_list(flags.questions, flags)
    build_index(detector, questions, path=output, model=flags.model).close()
    size, seconds = os.path.getsize(output), round(time.monotonic() - started, 1)
    facts = {"output": output, "questions": len(questions.ids), "left_out": questions.left_out}
    return (
        f"{counted(len(questions.ids), 'question')}, {size / 1e6:,.1f} MB, in {seconds} s.\n"
        f'Saved in {output}. Ask it: siamese search {output} "..."'
    ), {**facts, "bytes": size, "seconds": seconds}


@command(A_FILE, A_LIST, *shared.READ_LIST, shared.MODEL)
def index_add(flags: argparse.Namespace) -> Result:
    """Add a list of questions to an index; stored questions are skipped, changed ones replaced.

    siamese index add old.index more.csv
    """
    questions = question_list(flags.questions, flags)
    with opened(flags.index, flags, stored=True) as (index, _):
        _, added, replaced, skipped = add_questions(index, questions)
        size = len(index)
    facts = {"added": added, "replaced": replaced, "skipped": skipped}
    return (
        f"{counted(added, 'question')} added, {replaced:,} replaced, {skipped:,} skipped (stored "
        f"already); the index has {size:,}."
    ), {**facts, "left_out": questions.left_out, "questions": size}


def add_questions(index: Any, questions: QuestionList) -> Any:
    """Adds a list to an index; returns its `Added`."""
    note_cut(index.detector, questions.questions)
    ids = questions.ids if questions.has_ids else None
    with elapsed(f"Encoding {counted(len(questions.questions), 'question')}"):
        return index.add(questions.questions, ids=ids, columns=questions.columns)


@command(
    A_FILE,
    [
        arg("file", metavar="FILE", nargs="?", help="an id a line, or a table with ids"),
        arg("--ids", nargs="+", metavar="ID", help="the ids themselves"),
    ],
    *(shared.BAD_ROWS, shared.ENCODING, shared.ID_COLUMN, shared.MODEL),
)
def index_remove(flags: argparse.Namespace) -> Result:
    """Remove questions from an index by their ids.

    siamese index remove old.index --ids 7 12
    siamese index remove old.index ids.csv
    """
    ids = flags.ids
    if ids is None:
        ids, report = read_ids(flags.file, **reading_options(flags, "bad_rows encoding id_column"))
        note_findings(report)
    with opened(flags.index, flags, stored=True) as (index, _):
        facts = {"removed": index.remove(ids), "questions": len(index)}
    text = f"{counted(facts['removed'], 'question')} removed; the index has {facts['questions']:,}."
    return text, facts


@command(A_FILE, arg("parquet", metavar="FILE", help="the file to write"), shared.MODEL)
def index_export(flags: argparse.Namespace) -> Result:
    """Write an index as a Parquet file, for engines beyond one machine.

    siamese index export old.index old.parquet       (id, question, columns, vector; needs pyarrow)
    """
    with opened(flags.index, flags, stored=True) as (index, _):
        facts = {"output": flags.parquet, "questions": index.export(flags.parquet)}
    return f"{counted(facts['questions'], 'question')} written to {flags.parquet}.", facts


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
    siamese serve questions.csv              (a list of questions; what is added is lost at the end)
    SIAMESE_API_KEY=... siamese serve old.index --host 0.0.0.0   (clients send Authorization: Bearer ...)
    """
    if flags.json:
        raise ArgumentError("The server answers in JSON by itself; leave --json out.")
    from siamese.serving.api import serve as serve_index

    with opened(flags.index, flags) as (index, _):
        serve_index(index, host=flags.host, port=flags.port, names=flags.allow_host)
