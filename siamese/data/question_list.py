"""Reading a list of questions: CSV, TSV, JSON Lines or plain text, ids and other columns kept."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from siamese.data.delimited import csv_rows, split_header
from siamese.data.file_lines import OpenFile
from siamese.data.pair_columns import normal_name
from siamese.data.read_report import ReadReport
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
    """Reads a list of questions; the format is found out by the content, gzip is unpacked.

    Args:
      path: the file. CSV and TSV have a header; JSON Lines has one object a line; in any other text
        each line is a question. A file of pairs (question1, question2) gives its distinct questions.
      column: the column with the questions; found by its name (question, text, title, ...) if None.
      id_column: the column with the ids; found by its name (id, qid, ...) if None.

    Raises:
      DataError: a file that cannot be read so; names the file and line.
    """
    report = ReadReport(str(path))
    with OpenFile(path) as file:
        head = file.head.removeprefix(b"\xef\xbb\xbf").lstrip()
        lines = file.lines(report)
        if head.startswith(b"{"):
            rows = _json_rows(lines, report.path)
        else:
            first = next(lines)
            named = str(path).lower().removesuffix(".gz").endswith((".csv", ".tsv"))
            header, delimiter = _header(first, column)
            if header is None and not (named or column):
                rows = _text_rows(first, lines)
            else:
                if header is None:
                    header = split_header(first, "\t" if "\t" in first else ",")
                    _no_column(report.path, header, column)
                chunks = csv_rows(lines, delimiter, header, report, 50_000)
                rows = (dict(zip(header, row)) for part, _ in chunks for row in part)
        return _collected(rows, report.path, column, id_column)


def _header(first: str, column: str | None) -> tuple[list[str] | None, str]:
    """The columns' names and the delimiter, where a first line is a header; else None."""
    for delimiter in ",\t;|":
        names = split_header(first, delimiter)
        normal = [normal_name(name) for name in names]
        known = [name for name in normal if name in QUESTION_NAMES]
        asked = column is not None and normal_name(column) in normal
        if asked or (column is None and (known or set(PAIR_NAMES) <= set(normal))):
            return names, delimiter
    return None, ","


def _text_rows(first: str, lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    yield {"question": first.rstrip("\n")}
    for line in lines:
        yield {"question": line.rstrip("\n")}


def _json_rows(lines: Iterator[str], path: str) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path}, line {number:,}: not JSON ({error}).") from None
        if not isinstance(row, dict):
            raise DataError(f"{path}, line {number:,}: not a JSON object: {line[:40]!r}.")
        yield row


def _collected(
    rows: Iterator[dict[str, Any]], path: str, column: str | None, id_column: str | None
) -> QuestionList:
    found = QuestionList()
    names: tuple[str, str | None] | None = None
    ids: list[Any] = []
    columns: list[dict[str, Any]] = []
    seen: dict[str, None] = {}
    for number, row in enumerate(rows, start=1):
        if names is None:
            names = _names(list(row), path, column, id_column)
        if names[0] == "":  # pairs: the distinct questions of both
            for name, value in row.items():
                if normal_name(name) in PAIR_NAMES:
                    if isinstance(value, str) and value.strip():
                        seen[value] = None
                    else:
                        found.left_out += 1
            continue
        question = row.get(names[0])
        if question is None or (isinstance(question, str) and not question.strip()):
            found.left_out += 1
            continue
        if not isinstance(question, str):
            raise DataError(f"{path}, row {number:,}: {names[0]} is {question!r:.40}, not text.")
        found.questions.append(question)
        if names[1] is not None:
            if row.get(names[1]) in (None, ""):
                raise DataError(f"{path}, row {number:,}: no {names[1]}.")
            ids.append(row[names[1]])
        columns.append({name: value for name, value in row.items() if name not in names})
    if names and names[0] == "":
        found.questions = list(seen)
        return found
    found.ids = ids if names and names[1] is not None else None
    found.columns = columns if any(columns) else None
    return found


def _names(
    present: Sequence[str], path: str, column: str | None, id_column: str | None
) -> tuple[str, str | None]:
    """The columns with the questions ("" for a file of pairs) and with the ids, or None."""
    normal = {normal_name(name): name for name in present}
    if column is None and set(PAIR_NAMES) <= set(normal) and not set(QUESTION_NAMES) & set(normal):
        return "", None
    if column is not None:
        question = normal.get(normal_name(column))
    else:
        question = next((normal[name] for name in QUESTION_NAMES if name in normal), None)
    if question is None:
        _no_column(path, present, column)
    if id_column is not None:
        if normal_name(id_column) not in normal:
            _no_column(path, present, id_column)
        return question, normal[normal_name(id_column)]
    return question, next((normal[name] for name in ID_NAMES if name in normal), None)


def _no_column(path: str, present: Sequence[str], column: str | None) -> None:
    wanted = f"column {column!r}" if column else f"column named {', '.join(QUESTION_NAMES)}"
    raise DataError(
        f"{path}, line 1: no {wanted}; found: {', '.join(map(str, present))[:200]}. Name the column "
        "with the questions (--column)."
    )
