"""Reading a list of questions: CSV, TSV, JSON Lines, Parquet or plain text; ids and columns kept."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from siamese.data.files import ReadReport, shown_name
from siamese.data.records import (
    check_bad_rows,
    header_or_numbers,
    normal_name,
    open_records,
    spec_places,
    text_at,
    wanted_names,
)
from siamese.errors import DataError

QUESTION_NAMES = ("question", "questions", "text", "title", "sentence", "query")
PAIR_NAMES = ("question1", "question2")
ID_NAMES = ("id", "qid", "question_id", "idx")


@dataclass
class QuestionList:
    """Questions as they were read.

    Args:
      report: what was handled while reading.
      questions: the texts.
      ids: the file's own ids, or None where it has none.
      columns: the other columns of each question, or None where there are none.
    """

    report: ReadReport
    questions: list[str]
    ids: list[Any] | None
    columns: list[dict[str, Any]] | None

    @property
    def left_out(self) -> int:
        """How many rows had an empty question."""
        return self.report.count("empty")


def read_questions(
    path: str | os.PathLike,
    *,
    column: str | None = None,
    id_column: str | None = None,
    bad_rows: str = "refuse",
) -> QuestionList:
    """Reads a list of questions; the content decides the format, gzip is unpacked.

    Args:
      path: the file, or a table in memory (a DataFrame, a `datasets.Dataset`, ...). CSV and TSV have a
        header; JSON Lines has one object a line; in any other text
        each line is a question. A file of pairs (question1, question2) gives its distinct questions.
      column: the column with the questions; found by its name (question, text, title, ...) if None.
        "title+body" joins columns, "2*title+body" repeats the title so that its words weigh twice; a
        number, "2", where there is no header.
      id_column: the column with the ids; found by its name (id, qid, ...) if None.
      bad_rows: 'refuse' a file with rows that cannot be read, or 'skip' and count them.

    Raises:
      DataError: a file that cannot be read so; names the file and lines.
    """
    skip = check_bad_rows(bad_rows)
    report = ReadReport(shown_name(path))
    questions: list[str] = []
    ids: list[Any] = []
    others: list[dict[str, Any]] = []
    distinct: dict[str, None] = {}  # the questions of a file of pairs, in order
    names: list[str] | None = None
    key = None
    for row, line in _rows(path, report, column):
        if not report.rows:
            names, key = _names(list(row), f"{report.path}, line 1", column, id_column)
        report.rows += 1
        texts = [row[n] for n in row if normal_name(n) in PAIR_NAMES]
        if names:
            texts = [text_at([row.get(name) for name in names], range(len(names)))]
        wrong = [text for text in texts if not isinstance(text, str | None)]
        good = [text for text in texts if isinstance(text, str) and text.strip()]
        if wrong:
            what = column or (names or ["a question"])[0]
            report.add_bad_row(line, f": {what} is {wrong[0]!r:.40}, not text.")
        elif names is None:
            distinct.update(dict.fromkeys(good))
        elif good and key is not None and row.get(key) in (None, ""):
            report.add_bad_row(line, f": no {key}.")
        elif good:
            questions += good
            ids.append(row.get(key))
            others.append({k: value for k, value in row.items() if k not in (*names, key)})
        if len(good) < len(texts) and not wrong:
            report.add("empty", [line])
    if not skip:
        report.refuse_bad_rows()
    questions = questions or list(distinct)
    report.kept = len(questions)
    return QuestionList(report, questions, ids if key else None, others if any(others) else None)


def _rows(path: Any, report: ReadReport, column: str | None) -> Iterator[tuple[Any, int]]:
    """The rows of a file by the names of their columns; those of plain text have a 'question'."""
    known = {*QUESTION_NAMES, *PAIR_NAMES} if column is None else wanted_names([column])
    with open_records(path, report, known) as records:
        header, is_plain = header_or_numbers(records, [column] if column else []), False
        if records.is_delimited and records.header:
            names = list(map(normal_name, header))
            found = known & set(names)
            if any(names.count(name) > 1 for name in found):
                raise DataError(
                    f"{records.name}, line 1: two columns have one name: {', '.join(header)}."
                )
            is_plain = not found - set(PAIR_NAMES) and not found >= set(PAIR_NAMES)
            named = records.name.lower().removesuffix(".gz").endswith((".csv", ".tsv"))
            if is_plain and (column or named):
                raise _no_column(f"{records.name}, line 1", header, column)
        if is_plain:
            header, report.format = ["question"], "a question a line"
        for rows, lines in records.lines() if is_plain else records.good():
            for row, line in zip(rows, lines):
                yield row if records.is_json else dict(zip(header, row)), line


def _names(
    present: Sequence[str], where: str, column: str | None, id_column: str | None
) -> tuple[list[str] | None, str | None]:
    """The columns that make a question (None for a file of pairs), and that with the ids, or None."""
    normal = {normal_name(name): name for name in present}
    asked = QUESTION_NAMES if column is None else (normal_name(column),)
    found = [normal[name] for name in normal if name in asked]
    if len(found) > 1:
        raise DataError(
            f"{where}: {' and '.join(found)} may each hold the questions. Name one (--column)."
        )
    if column and not found and wanted_names([column]) & set(normal):  # "2*title+body"
        found = [list(present)[at] for at in spec_places(column, present, where)]
    is_pairs = column is None and not found and set(PAIR_NAMES) <= set(normal)
    if not found and not is_pairs:
        raise _no_column(where, present, column)
    if id_column is not None and normal_name(id_column) not in normal:
        raise _no_column(where, present, id_column)
    wanted = ID_NAMES if id_column is None else (normal_name(id_column),)
    key = next((normal[name] for name in wanted if name in normal), None)
    return (None, None) if is_pairs else (found, key)


def _no_column(where: str, present: Sequence[str], column: str | None) -> DataError:
    wanted = f"column {column!r}" if column else f"column named {', '.join(QUESTION_NAMES)}"
    return DataError(
        f"{where}: no {wanted}; found: {', '.join(map(str, present))[:200]}. Name the column "
        "with the questions (--column)."
    )
