"""What commands read: lists of questions, labelled pairs, models, and indexes."""

from __future__ import annotations

import contextlib
import math
import os
import re
import shlex
import sys
import time
from collections.abc import Iterator
from typing import Any

from siamese.cli.output import counted, note
from siamese.errors import ArgumentError
from siamese.search.display import NO_LABELS

LONG = 10.0  # seconds after which a command about a list says how to keep its vectors
LISTS = ("bad_rows", "encoding", "column", "id_column", "drop_repeated")
PAIRS = ("bad_rows", "encoding", "columns", "duplicate_from", "duplicate_labels")


def reading_options(flags: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Those of the reading flags that are set, by their names."""
    return {name: value for name in names if (value := getattr(flags, name, None)) is not None}


def same_flags(flags: Any) -> str:
    """The flags of a list that a command names again in the next one."""
    names = ("model", "encoding", "column", "id_column", "bad_rows", "drop_repeated")
    options = [
        (n, v) for n, v in reading_options(flags, names).items() if v not in ("refuse", False)
    ]
    values = ["" if value is True else f" {shlex.quote(value)}" for _, value in options]
    parts = [f" --{name.replace('_', '-')}{value}" for (name, _), value in zip(options, values)]
    return "".join(parts)


def note_findings(report: Any) -> None:
    """Prints what was left out, or is odd, in a file that was read."""
    if lines := report.finding_lines():
        note("\n  ".join([f"{report.path}:", *lines]))


def question_list(path: str, flags: Any) -> Any:
    """The `QuestionList` of a file, read by the command's flags, with a note on what was left out."""
    from siamese.data.questions import read_questions
    from siamese.data.readers.columns import normal_name

    questions = read_questions(path, **reading_options(flags, LISTS))
    names = {name: 0 for row in questions.columns or () for name in row}
    used = set(map(normal_name, re.split(r"[*+:]", questions.column)))
    names = [name for name in names if normal_name(name) not in used]
    size, ids = counted(len(questions.questions), "question"), "the file's own"
    what = f"{path}: {size}, made of {questions.column}; ids: "
    what += ids if questions.has_ids else "the numbers of the data rows from 0"
    note(f"{what}; not compared: {', '.join(names)}." if names else f"{what}.")
    note_findings(questions.report)
    return questions


def labelled_pairs(path: str, flags: Any) -> Any:
    """The `QuestionPairs` of a file, read by the command's flags, with a note on what was left out."""
    from siamese.data.pairs import read_pairs

    options = reading_options(flags, PAIRS)
    if getattr(flags, "list", None):
        if flags.list == path:
            raise ArgumentError(
                f"{path} holds the pairs; the list of their questions is another file."
            )
        options["texts"] = _texts_by_id(flags.list, flags)
    pairs = read_pairs(path, **options)
    note_findings(pairs.report)
    return pairs


def _texts_by_id(path: str, flags: Any) -> dict[str, str]:
    """The questions of a list or an index by their ids."""
    from siamese.search.index import QuestionIndex

    if kind_of(path) == "index":
        with QuestionIndex.open(path) as index:
            return {entry["id"]: entry["question"] for entry in index.entries}
    questions = question_list(path, flags)
    return dict(zip(questions.ids, questions.questions))


def note_cut(detector: Any, questions: Any) -> None:
    """Prints how many questions are too long for the model."""
    if count := detector.cut(questions):
        note(
            f"{counted(count, 'question')} too long for the model, which reads only the beginning."
        )


def kind_of(path: str) -> str:
    """What a path or a name stands for: 'index', 'model', 'questions' (a file to read) or 'nothing'."""
    from siamese.search.encoders import is_encoder_name
    from siamese.search.index_file import is_index_file

    if path == "-":
        return "questions"
    if os.path.isdir(path) or is_encoder_name(path):
        return "model"
    if not os.path.isfile(path):
        return "questions" if os.path.exists(path) else "nothing"  # a pipe
    if is_index_file(path):
        return "index"
    with open(path, "rb") as file:
        start = file.read(9)
    # A safetensors file starts with the length of its JSON header.
    return "model" if start[5:] == b"\0\0\0{" else "questions"


def open_index(path: str, flags: Any, *, stored: bool = False, numbered: bool = False) -> Any:
    """The `QuestionIndex` at a path; of a list of questions, unless it must be `stored`, one in memory.

    With `numbered` a list's questions get the column `row`, the number of the data row from 0.
    """
    from siamese.search.detector import DuplicateDetector
    from siamese.search.groups import with_columns
    from siamese.search.index import QuestionIndex

    if kind_of(path) != "questions":
        return QuestionIndex.open(path, flags.model)
    if stored:
        raise ArgumentError(
            f"{path} is a list of questions. Make an index of it first: siamese index build {path}"
        )
    flags.read_since = time.monotonic()
    detector = DuplicateDetector.load(flags.model or "use")
    questions = question_list(path, flags)
    if getattr(flags, "threshold", None) is None:
        labels = NO_LABELS if detector.threshold_from == "default" else ""
        model = f"Model {flags.model}" if flags.model else "Encoder use"
        note(f"{model}, threshold {detector.threshold:.3f}. {labels}".rstrip())
    if numbered:
        columns = questions.columns or [{}] * len(questions.rows)
        pairs = zip(questions.rows, columns)
        questions.columns = [with_columns({"row": n}, others) for n, others in pairs]
    return build_index(detector, questions)


def way_on(flags: Any, path: str) -> str:
    """What to do where reading and encoding a list takes its time whenever it is asked."""
    if path == "-" or time.monotonic() - getattr(flags, "read_since", math.inf) < LONG:
        return ""
    index = f"{os.path.splitext(path)[0]}.db"
    return "\n".join(
        [
            "An index keeps the vectors, so that they are not made again:",
            f"  siamese index build {path} --output {index}{same_flags(flags)}",
            f"  siamese threshold {index} --label 30",
            f"  siamese duplicates {index}",
        ]
    )


@contextlib.contextmanager
def opened(path: str, flags: Any) -> Iterator[tuple[Any, Any]]:
    """The index (None for a model) and the model that a path or a name stands for."""
    from siamese.search.detector import DuplicateDetector

    if kind_of(path) in ("model", "nothing"):
        yield None, DuplicateDetector.load(path)
    else:
        with open_index(path, flags) as index:
            yield index, index.detector


def build_index(detector: Any, questions: Any, **options: Any) -> Any:
    """The `QuestionIndex` of a list, in memory or (with `path`) in a file."""
    from siamese.search.index import QuestionIndex

    note_cut(detector, questions.questions)
    options |= {"ids": questions.ids, "columns": questions.columns}
    options["show_progress"] = sys.stderr.isatty()
    return QuestionIndex.build(detector, questions.questions, **options)
