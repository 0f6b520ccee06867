"""Reading a list of questions: CSV, TSV, JSON Lines or plain text, ids and other columns kept."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from siamese.data.files import OpenFile, ReadReport
from siamese.data.formats import csv_rows, json_rows, normal_name, split_header
from siamese.errors import DataError

QUESTION_NAMES = ("question", "questions", "text", "title", "sentence", "query")
PAIR_NAMES = ("question1", "question2")
ID_NAMES = ("id", "qid", "question_id", "idx")


@dataclass
class QuestionList:
    """Questions as they were read.

    Args:
      questions: the texts.
      ids: the file's own ids, or None where it has none.
      columns: the other columns of each question, or None where there are none.
      left_out: how many empty questions were left out.
    """

    questions: list[str] = field(default_factory=list)
    ids: list[Any] | None = None
    columns: list[dict[str, Any]] | None = None
    left_out: int = 0


def read_questions(
    path: str | os.PathLike, *, column: str | None = None, id_column: str | None = None
) -> QuestionList:
    """Reads a list of questions; the content decides the format, gzip is unpacked.

    Args:
      path: the file. CSV and TSV have a header; JSON Lines has one object a line; in any other text
        each line is a question. A file of pairs (question1, question2) gives its distinct questions.
      column: the column with the questions; found by its name (question, text, title, ...) if None.
      id_column: the column with the ids; found by its name (id, qid, ...) if None.

    Raises:
      DataError: a file that cannot be read so; names the file and line.
    """
    found = QuestionList()
    ids: list[Any] = []
    others: list[dict[str, Any]] = []
    name = key = None
    distinct: dict[str, None] = {}  # the questions of a file of pairs, in order
    with OpenFile(path) as file:
        for number, row in enumerate(_rows(file, column), start=1):
            if number == 1:
                name, key = _names(list(row), file.name, column, id_column)
            if name is None:
                sides = [value for side, value in row.items() if normal_name(side) in PAIR_NAMES]
                good = [side for side in sides if isinstance(side, str) and side.strip()]
                distinct.update(dict.fromkeys(good))
                found.left_out += len(sides) - len(good)
                continue
            question = row.get(name)
            if question is None or (isinstance(question, str) and not question.strip()):
                found.left_out += 1
                continue
            if not isinstance(question, str):
                raise DataError(
                    f"{file.name}, row {number:,}: {name} is {question!r:.40}, not text."
                )
            if key is not None and row.get(key) in (None, ""):
                raise DataError(f"{file.name}, row {number:,}: no {key}.")
            found.questions.append(question)
            ids.append(row.get(key))
            others.append({k: value for k, value in row.items() if k not in (name, key)})
    found.questions = found.questions or list(distinct)
    found.ids = ids if key is not None else None
    found.columns = others if any(others) else None
    return found


def _rows(file: OpenFile, column: str | None) -> Iterator[dict[str, Any]]:
    """The rows of a file by the names of their columns; those of plain text have a 'question'."""
    report = ReadReport(file.name)
    lines = file.lines(report)
    if file.start.startswith(b"{"):
        yield from (row for row, _ in json_rows(lines, report))
        return
    first = next(lines)
    known = {*QUESTION_NAMES, *PAIR_NAMES} if column is None else {normal_name(column)}
    header, delimiter = split_header(first, known)
    found = known & set(map(normal_name, header))
    if found - set(PAIR_NAMES) or found >= set(PAIR_NAMES):
        for rows, _ in csv_rows(lines, header, delimiter, report):
            yield from (dict(zip(header, row)) for row in rows)
    elif column or file.name.lower().removesuffix(".gz").endswith((".csv", ".tsv")):
        raise _no_column(file.name, header, column)
    else:
        yield {"question": first.rstrip("\n")}
        yield from ({"question": line.rstrip("\n")} for line in lines)


def _names(
    present: Sequence[str], path: str, column: str | None, id_column: str | None
) -> tuple[str | None, str | None]:
    """The columns with the questions (None for a file of pairs) and with the ids, or None."""
    normal = {normal_name(name): name for name in present}

    def first_of(names: Sequence[str]) -> str | None:
        return next((normal[name] for name in names if name in normal), None)

    question = first_of([normal_name(column)] if column is not None else QUESTION_NAMES)
    if question is None:
        if column is None and set(PAIR_NAMES) <= set(normal):
            return None, None
        raise _no_column(path, present, column)
    if id_column is not None and normal_name(id_column) not in normal:
        raise _no_column(path, present, id_column)
    return question, first_of([normal_name(id_column)] if id_column is not None else ID_NAMES)


def _no_column(path: str, present: Sequence[str], column: str | None) -> DataError:
    wanted = f"column {column!r}" if column else f"column named {', '.join(QUESTION_NAMES)}"
    return DataError(
        f"{path}, line 1: no {wanted}; found: {', '.join(map(str, present))[:200]}. Name the column "
        "with the questions (--column)."
    )
