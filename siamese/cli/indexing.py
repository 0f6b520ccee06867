"""The commands that change an index (build, add, remove, export), and the one that serves it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Annotated

from siamese.cli import arguments as shared
from siamese.cli import reading
from siamese.cli.arguments import (
    CheckOptions,
    CommandOptions,
    ListReading,
    OneOf,
    flag,
    option,
    positional,
    refuse_flags,
)
from siamese.cli.output import Facts, claim, note
from siamese.cli.reading import opened, question_list
from siamese.encoders import is_encoder_name
from siamese.errors import ArgumentError
from siamese.model.detector import DuplicateDetector
from siamese.reading.questions import QuestionList, read_ids
from siamese.system.open_types import JsonObject
from siamese.text.columns import read_spec
from siamese.text.language import list_languages

# ---- index build ----


@dataclass(frozen=True, kw_only=True)
class IndexBuild(CommandOptions):
    """The options of `siamese index build`."""

    questions: shared.QuestionFile
    output: Annotated[
        str | None, option(metavar="INDEX", help="the file to write [FILE.index]")
    ] = None
    overwrite: Annotated[
        bool,
        flag("replace the index that is there; its threshold and answers go"),
    ] = False
    language: shared.MainLanguage = None
    model: shared.Model = None
    check: CheckOptions
    read: ListReading


def index_build(options: IndexBuild) -> Facts:
    """Encode a list of questions, to search it and to find duplicates in it.

    siamese index build questions.csv --output questions.db
    siamese index build faq.jsonl --model runs/course --column title --output faq.db
    """
    from siamese.index.file import IndexFile

    path = options.questions
    if options.output is None and not os.path.isfile(path):
        raise ArgumentError(f"There is no file {path}. A pipe needs --output INDEX.")
    output = options.output or f"{path}.index"
    claim(output, options)
    if os.path.exists(output):
        IndexFile(output, create=True).close()  # A file of another kind is refused.
    questions = question_list(path, options.read)
    note(*reading.about_list(path, questions))
    detector, model = _model_for(questions.compared, options)
    try:
        reading.build_index(
            detector,
            questions,
            options.language,
            path=output,
            model=model,
            reading=_how_read(options.read, questions),
            overwrite=options.overwrite,
        ).close()
    except KeyboardInterrupt:
        unfinished = f"{output}.unfinished"
        if os.path.exists(unfinished):
            note(f"{unfinished} has the vectors so far; the same command goes on.")
        raise
    note(f'Ask it: siamese search {quote(output)} "..."')
    return {
        "output": output,
        "questions": len(questions.ids),
        "left_out": questions.report.left_out,
    }


def _model_for(
    compared: Sequence[str], options: IndexBuild
) -> tuple[DuplicateDetector, str]:
    """The model of an index for what is compared of a list, and the name that finds it again."""
    asked = options.model or "use"
    detector = reading.load_model(asked, options.check)
    note(*reading.too_long(detector, compared))
    languages = list_languages(compared, options.language)
    detector = reading.for_languages(detector, compared, languages)
    note(*reading.about_languages(detector, compared, languages, asked))
    is_name = is_encoder_name(asked)
    return detector, detector.encoder.name if is_name else asked


def _how_read(read: ListReading, questions: QuestionList) -> JsonObject:
    """How a list was read, which its index keeps for what is added."""
    own = shared.given(read)
    kept = ("column", "id_column", "keep_repeated")
    facts = {name: own[name] for name in kept if name in own}
    facts["numbered"] = not questions.has_ids
    return facts


# ---- index add ----


@dataclass(frozen=True, kw_only=True)
class IndexAdd(CommandOptions):
    """The options of `siamese index add`."""

    index: shared.IndexFile
    questions: shared.QuestionFile
    read: ListReading
    model: shared.Model = None


def index_add(options: IndexAdd) -> Facts:
    """Add a list of questions to an index; stored questions are skipped, changed ones replaced.

    siamese index add questions.db more.csv
    """
    with reading.open_index(options.index, options.model) as index:
        built = index.facts.reading
        questions = reading.questions_like(
            index, options.questions, options.read, list(built)
        )
        free = "the next free numbers of the index"
        note(*reading.about_list(options.questions, questions, free))
        note(*reading.about_columns(index, questions))
        compared = built.get("compared", questions.column)
        if options.read.column:
            _check_form(questions.column, compared)
        if questions.has_ids and built.get("numbered"):
            note(
                "The index numbers its questions itself: such a number as an id replaces one."
            )
        note(*reading.too_long(index.detector, questions.compared))
        note(*reading.about_languages(index.detector, questions.compared))
        _, added, replaced, skipped = index.add(
            questions.questions,
            ids=questions.ids if questions.has_ids else None,
            columns=questions.columns,
            compared=questions.compared,
        )
        return {
            "added": added,
            "replaced": replaced,
            "skipped": skipped,
            "left_out": questions.report.left_out,
            "questions": len(index),
        }


def _check_form(new: str, own: str) -> None:
    """Refuses columns of another form than those of an index: the same question would be two texts."""
    forms = [read_spec(column) for column in (new, own)]
    one, two = ((len(parts.columns), parts.words) for parts in forms)
    if one != two:
        raise ArgumentError(
            f"The index compares {own}; of {new} the same questions would be stored twice. Leave "
            "--column out, or build another index."
        )


# ---- index remove ----

IDS = OneOf(required=True)


@dataclass(frozen=True, kw_only=True)
class IndexRemove(CommandOptions):
    """The options of `siamese index remove`."""

    index: shared.IndexFile
    file: Annotated[
        str | None,
        positional(
            metavar="FILE",
            one_of=IDS,
            help="an id a line, or a table with ids",
        ),
    ] = None
    ids: Annotated[
        Sequence[str] | None,
        option(nargs="+", metavar="ID", one_of=IDS, help="the ids themselves"),
    ] = None
    read: shared.RowReading
    id_column: shared.IdColumn = None
    model: shared.Model = None


def index_remove(options: IndexRemove) -> Facts:
    """Remove questions from an index by their ids.

    siamese index remove questions.db --ids 7 12
    siamese index remove questions.db ids.csv
    """
    if options.ids is not None:
        refuse_flags("index remove", "ids", options)
        ids = list(options.ids)
    else:
        read = reading.row_options(options.read)
        ids, report = read_ids(options.file, id_column=options.id_column, **read)
        note(*reading.findings(report))
    with reading.open_index(options.index, options.model) as index:
        return {"removed": index.remove(ids), "questions": len(index)}


# ---- index export ----


@dataclass(frozen=True, kw_only=True)
class IndexExport(CommandOptions):
    """The options of `siamese index export`."""

    index: shared.IndexFile
    output: Annotated[str, positional(metavar="FILE", help="the file to write")]
    overwrite: shared.Overwrite = False
    model: shared.Model = None


def index_export(options: IndexExport) -> Facts:
    """Write an index as a Parquet file, for engines beyond one machine.

    siamese index export questions.db questions.parquet       (id, question, columns, vector; needs pyarrow)
    """
    from siamese.index.export import export_parquet

    output = options.output
    if not output.lower().endswith(".parquet"):
        raise ArgumentError(
            f"{output}: an index is written as Parquet. Name the file so."
        )
    claim(output, options)
    with reading.open_index(options.index, options.model) as index:
        count = export_parquet(index, output, overwrite=options.overwrite)
    return {"output": output, "questions": count}


# ---- serve ----


@dataclass(frozen=True, kw_only=True)
class Serve(CommandOptions):
    """The options of `siamese serve`."""

    index: Annotated[
        str | None,
        positional(
            help="an index or a file of questions [default: 300 sample questions]"
        ),
    ] = None
    host: Annotated[str, option(help="address to listen on [default: %(default)s]")] = (
        "127.0.0.1"
    )
    port: Annotated[int, option(help="0 picks a free one [default: %(default)s]")] = (
        8000
    )
    allow_host: Annotated[
        Sequence[str],
        option(nargs="+", metavar="NAME", help="extra Host header to accept"),
    ] = ()
    read_only: Annotated[
        bool,
        flag("search and compare only: nobody can add, remove, answer or group"),
    ] = False
    language: shared.MainLanguage = None
    model: shared.Model = None
    check: CheckOptions
    read: ListReading


def serve(options: Serve) -> None:
    """Serve a page and a JSON API that search an index and change it.

    siamese serve questions.db               (needs the packages of the extra serve)
    siamese serve questions.csv              (a list of questions; what is added is lost at the end)
    siamese serve                            (300 questions written by hand, to look at the page)
    siamese serve questions.db --read-only   (for students or customers: search and compare only)
    SIAMESE_API_KEY=... siamese serve questions.db --host 0.0.0.0   (clients send Authorization: Bearer ...)
    """
    from siamese.corpus import HANDWRITTEN
    from siamese.serving.api import serve as serve_index

    refuse_flags("serve", "anything", options)
    path = options.index or str(HANDWRITTEN)
    if reading.kind_of(path) == "index":
        refuse_flags("serve", "an index", options, path)
    with opened(path, options, options.language) as source:
        note(*source.notes())
        serve_index(
            source.index(),
            options.host,
            options.port,
            list(options.allow_host),
            options.read_only,
        )
