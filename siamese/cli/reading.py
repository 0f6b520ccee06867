"""Reading for the commands: lists of questions, labelled pairs, models, and indexes."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

from siamese.cli.languages import about_languages, about_stems
from siamese.cli.output import note
from siamese.cli.way_out import complete_command
from siamese.encoders import is_encoder_name
from siamese.encoders.protocol import FrozenEncoder
from siamese.errors import ArgumentError, DataError, SiameseError
from siamese.model.detector import DuplicateDetector
from siamese.reading.columns import read_spec
from siamese.reading.pairs import QuestionPairs, has_links, names_by_id, read_pairs
from siamese.reading.questions import QuestionList, read_questions
from siamese.system.arguments import counted
from siamese.system.files import explained
from siamese.text.display import NO_LABELS
from siamese.text.names import normal_name

LONG = 10.0  # seconds after which a command about a list prints how to keep its vectors
LISTS = "bad_rows encoding column id_column keep_repeated"
PAIRS = "bad_rows encoding columns"
OF_LIST = "column id_column keep_repeated"


def reading_options(flags: Any, names: str) -> dict[str, Any]:
    """The reading flags that are set, by their names."""
    return {
        name: value for name in names.split() if (value := getattr(flags, name, None))
    }


def refuse_flags(flags: Any, names: str, why: str) -> None:
    """Raises an ArgumentError where flags are set that have no effect, and says why they have none."""
    values = {name: getattr(flags, name, None) for name in names.split()}
    useless = [
        n
        for n, v in values.items()
        if v is not None and v is not False and v != "refuse"
    ]
    if useless:
        shown = ", ".join(f"--{name}" for name in useless).replace("_", "-")
        raise ArgumentError(f"{why}; leave out {shown}.")


def same_list(flags: Any) -> str:
    """The list and its flags, as a command names them again in the next one."""
    words = [flags.index]
    names = "model" if kind_of(flags.index) == "index" else f"model {LISTS}"
    for name, value in reading_options(flags, names).items():
        if value != "refuse":
            words += [
                f"--{name.replace('_', '-')}",
                *([] if value is True else [value]),
            ]
    return shlex.join(words)


def note_findings(report: Any) -> None:
    """Prints which rows of a file were left out or repeated."""
    if lines := report.finding_lines():
        note("\n  ".join([f"{report.path}:", *lines]))


def note_cut(detector: DuplicateDetector, questions: Iterable[str]) -> None:
    """Prints how many questions are too long for the model."""
    if count := detector.cut(questions):
        question = counted(count, "question")
        note(f"{question} too long for the model, which reads only the beginning.")


def note_default(detector: DuplicateDetector, flags: Any) -> None:
    """Prints model and threshold, and whether the threshold is a default without labels."""
    if getattr(flags, "threshold", 0) is None and detector.threshold_from == "default":
        name = getattr(flags, "model", None) or getattr(flags, "index", "")
        if isinstance(detector.encoder, FrozenEncoder):
            name = f"Encoder {detector.encoder.name}"
        note(f"{name}, threshold {detector.threshold:.3f}. {NO_LABELS}")


def question_list(path: str, flags: Any) -> QuestionList:
    """The questions of a file, read by the command's flags, with a note on what was left out."""
    options = reading_options(flags, f"{LISTS} repeated")
    try:
        questions = read_questions(path, **options)
    except DataError as error:
        way_out = complete_command(path, options, getattr(flags, "words", []))
        raise DataError(f"{error}{way_out}") from None
    names = list(dict.fromkeys(name for row in questions.columns or () for name in row))
    used = set(map(normal_name, read_spec(questions.column, names).columns))
    others = ", ".join(name for name in names if normal_name(name) not in used)
    ids = (
        "the file's own" if questions.has_ids else "the numbers of the data rows from 0"
    )
    if flags.command == "index add" and not questions.has_ids:
        ids = "the next free numbers of the index"
    count = counted(len(questions.ids), "question")
    text = f"{path}: {count}; column: {questions.column}; ids: {ids}"
    note(f"{text}; not compared: {others}." if others else f"{text}.")
    note_findings(questions.report)
    keep_delimiter(flags, questions.report)
    return questions


def keep_delimiter(flags: Any, report: Any) -> None:
    """Keeps what separates the cells of the first file that is read: a table goes out so."""
    flags.delimiter = getattr(flags, "delimiter", report.delimiter)


def list_for(index: Any, path: str, flags: Any, names: str) -> QuestionList:
    """The questions of a file for an index, read by its flags of these names where the command has none."""
    for name in names.split():
        setattr(flags, name, getattr(flags, name, None) or index.reading.get(name))
    questions = question_list(path, flags)
    compared = index.reading.get("compared", questions.column)
    if questions.column != compared:
        note(
            f"The index compares {compared}, and of these questions {questions.column}."
        )
    return questions


def labelled_pairs(
    path: str, flags: Any, index: Any = None, **options: Any
) -> QuestionPairs:
    """The pairs of a file, read by the command's flags, with a note on what was left out.

    A file that names its questions by their ids needs no --list where there is an
    `index`.
    """
    options |= reading_options(flags, PAIRS)
    if flags.command == "train" and not flags.list and "columns" not in options:
        with contextlib.suppress(SiameseError):  # What it is, `read_pairs` says.
            if os.path.isfile(path) and has_links(
                path, encoding=options.get("encoding")
            ):
                flags.list = path
                note(f"{path} has links between its questions.")
    source = getattr(flags, "list", None)
    is_alone = index is not None and not source and "columns" not in options
    if is_alone and os.path.isfile(path) and names_by_id(path, options.get("encoding")):
        options["texts"] = {entry["id"]: entry["question"] for entry in index.entries}
        note(f"{path} names questions of {flags.index} by their ids.")
    if not source and kind_of(getattr(flags, "index", "")) != "questions":
        refuse_flags(flags, OF_LIST, "There is no list of questions (--list FILE)")
    if source and kind_of(source) == "index":
        from siamese.index import QuestionIndex

        with QuestionIndex.open(source) as index:
            flags.texts = {entry["id"]: entry["question"] for entry in index.entries}
    elif source:
        questions = question_list(source, flags)
        flags.texts = dict(zip(questions.ids, questions.questions))
    if source:
        options["texts"] = flags.texts
    pairs = read_pairs(path, **options)
    note_findings(pairs.report)
    keep_delimiter(flags, pairs.report)
    return pairs


def kind_of(path: str) -> str:
    """The kind of a path or a name: 'index', 'model' (also where nothing is there) or 'questions'."""
    if path != "-" and (is_encoder_name(path) or os.path.isdir(path)):
        return "model"
    if os.path.isfile(path):
        with explained(path, "read", DataError), open(path, "rb") as file:
            start = file.read(16)
        if start == b"SQLite format 3\0":
            return "index"
        if (
            start[5:9] == b"\0\0\0{"
        ):  # of safetensors, the length of a JSON header and its start
            return "model"
    return "questions" if path == "-" or os.path.exists(path) else "model"


def refuse_preset(name: str) -> None:
    """Refuses a preset's name in a model's place, with the command that trains it."""
    from siamese.training.config import PRESETS

    if name in PRESETS and not os.path.exists(name):
        raise ArgumentError(
            f"`{name}` is a preset of `siamese train`; train it first: siamese train --questions "
            f"LABELLED.csv --preset {name} --output runs/{name}, then name runs/{name}."
        )


def load_model(name: str) -> DuplicateDetector:
    """The model of a path or an encoder's name; a preset's name is refused."""
    refuse_preset(name)
    return DuplicateDetector.load(name)


def build_index(
    detector: DuplicateDetector, questions: QuestionList, **options: Any
) -> Any:
    """The `QuestionIndex` of a list, in memory or (with `path`) in a file."""
    from siamese.index import QuestionIndex

    note_cut(detector, questions.compared)
    for line in about_languages(detector, questions.compared):
        note(line)
    options |= {"ids": questions.ids, "columns": questions.columns}
    options |= {"compared": questions.compared}
    options["reading"] = {
        **options.get("reading", {}),
        "repeated": questions.repeated.to_json(),
    }
    options["show_progress"] = sys.stderr.isatty()
    return QuestionIndex.build(detector, questions.questions, **options)


@contextlib.contextmanager
def opened(
    path: str, flags: Any, *, stored: bool = False, model: bool = False
) -> Iterator[tuple[Any, DuplicateDetector]]:
    """The index at a path, or of a list of questions in memory, and its model.

    With `stored` a list is refused; with `model` a model will do, and the index is
    None.
    """
    from siamese.index import QuestionIndex

    if path != "-" and not os.path.exists(path) and not is_encoder_name(path):
        refuse_preset(path)
        raise ArgumentError(
            f"There is no {path}: no list of questions, no index and no model."
        )
    kind = kind_of(path)
    if kind == "model" and model:
        refuse_flags(flags, "model", f"{path} is a model itself")
        detector = load_model(path)
        note_default(detector, flags)
        yield None, detector
    elif stored or kind != "questions":
        names = (
            OF_LIST if flags.command == "threshold" else LISTS
        )  # Its answers are read, too.
        if flags.command in ("duplicates", "search", "serve", "threshold"):
            refuse_flags(flags, names, f"{path} is an index, which is read as it is")
        with QuestionIndex.open(path, flags.model) as index:
            note_default(index.detector, flags)
            for line in about_stems(index):
                note(line)
            yield index, index.detector
    else:
        flags.list_since = time.monotonic()
        detector = load_model(flags.model or "use")
        questions = question_list(path, flags)
        flags.compared = dict(zip(questions.questions, questions.compared))
        note_default(detector, flags)
        others = questions.columns or [{}] * len(questions.rows)
        if flags.command == "duplicates" and not any(
            "row" in own for own in others
        ):  # from 0
            questions.columns = [
                {"row": row, **own} for row, own in zip(questions.rows, others)
            ]
        with build_index(detector, questions) as index:
            yield index, detector


def note_way_on(flags: Any) -> None:
    """Prints how to keep the vectors of a list that took a while."""
    if (
        time.monotonic() - getattr(flags, "list_since", float("inf")) > LONG
        and flags.index != "-"
    ):
        index = shlex.quote(f"{os.path.splitext(flags.index)[0]}.db")
        note(
            "An index keeps the vectors, so that they are not made again:",
            f"  siamese index build {same_list(flags)} --output {index}",
        )
