"""Answers for a file of pairs: one line out for each record in, errors included.

CSV or tab-separated (with a header that names the questions, or two columns without one) is answered in
kind: the record's own columns, then is_duplicate, similarity, probability and error. A line break inside
a question is written as a space. JSON Lines (objects with question1 and question2, or lists of two texts)
and Parquet are answered by JSON objects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from siamese.data.files import ReadReport
from siamese.data.records import (
    COLUMN_NAMES,
    DELIMITERS,
    BadRow,
    Records,
    check_bad_rows,
    column_places,
    csv_fields,
    header_or_numbers,
    normal_name,
    text_at,
    wanted_names,
)
from siamese.errors import DataError
from siamese.search.detector import DuplicateDetector
from siamese.search.display import csv_line, json_text

BATCH = 512  # records answered together at most
ANSWERS = ("is_duplicate", "similarity", "probability", "error")
QUESTIONS = ("question1", "question2")
# title1, title2; q_a, q_b: two columns of one name, numbered.
_NUMBERED = re.compile(r"(\w*?[a-z])[ _-]?([12ab])", re.IGNORECASE)


def answer_file(
    detector: DuplicateDetector,
    path: Any,
    report: ReadReport,
    *,
    threshold: float | None = None,
    bad_rows: str = "refuse",
    excel: bool = False,
    columns: str | None = None,
) -> Iterator[tuple[str, bool]]:
    """Yields for each record (line out, whether it was answered); a header counts as answered.

    What is there of a pipe is answered at once. A record that cannot be read is answered with an error,
    or left out where `bad_rows` is 'skip'; `report` gets what was handled while reading. `columns` names
    the two questions, with a comma between, as in `siamese.data.pairs.read_pairs`.

    Raises:
      DataError: a file that cannot be read, or without two columns of questions.
    """
    skip = check_bad_rows(bad_rows)
    specs = columns.split(",")[:2] if columns else []
    known = {name for column in QUESTIONS for name in COLUMN_NAMES[column]} | wanted_names(specs)
    with Records(path, report, known) as records:
        places = None if records.is_json else _question_places(records, specs)
        if records.is_delimited and records.header:
            taken = set(map(normal_name, records.header))
            new = [f"predicted_{name}" if name in taken else name for name in ANSWERS]
            yield _delimited_line([*records.header, *new], records.delimiter, excel), True
        for rows, lines in records:
            for start in range(0, len(rows), BATCH):
                part = rows[start : start + BATCH]
                parsed = [_parsed(row, places, specs) for row in part]
                answers = iter(
                    _answers(detector, [p for p in parsed if type(p) is tuple], threshold)
                )
                for row, line, pair in zip(part, lines[start : start + BATCH], parsed):
                    report.rows += 1
                    good = type(pair) is tuple
                    if good:
                        report.kept += 1
                        answer = next(answers)
                    else:
                        report.add_bad_row(line, pair)
                        answer = [None, None, None, f"line {line:,}{pair.rstrip('.')}"]
                    if good or not skip:
                        yield _written(records, row, answer, excel), good


def _question_places(records: Records, specs: list[str]) -> list[list[int]]:
    """Which columns make the two questions. A file of two columns may do without a header."""
    names = list(map(normal_name, header_or_numbers(records, specs)))
    try:
        places = column_places(names, f"{records.name}, line 1", QUESTIONS, columns=specs)
        return [places[column] for column in QUESTIONS]
    except DataError:
        if not records.is_delimited or specs:
            raise
    two = (mark for mark in DELIMITERS if len(csv_fields(records.first, mark)[0]) == 2)
    records.delimiter = next(two, "")
    if not records.delimiter:
        raise DataError(
            f"{records.name}, line 1: neither JSON, nor a header with question1 and question2, nor two "
            "columns. Name the columns in a first line."
        )
    records.header, _ = csv_fields(records.first, records.delimiter)
    stems = [_NUMBERED.fullmatch(name.strip()) for name in records.header]
    numbered = all(stems) and stems[0][1] == stems[1][1] and stems[0][2] < stems[1][2]
    records.width = 2
    if not numbered:
        records.header = []
        records.report.add("no_header", [1])
    return [[0], [1]]


def _parsed(row: Any, places: list[list[int]] | None, specs: list[str]) -> tuple[str, str] | str:
    """A record's two questions, or what is wrong with it."""
    if type(row) is BadRow:
        return row.why
    if places is not None:
        pair = [text_at(row, at) for at in places]
    elif isinstance(row, list) and len(row) == 2:
        pair = row
    elif not isinstance(row, dict):
        return ": neither an object nor a list of two texts"
    else:
        try:
            found = column_places(list(row), "", QUESTIONS, columns=specs)
        except DataError as error:
            return str(error)
        pair = [text_at(list(row.values()), found[column]) for column in QUESTIONS]
    for column, value in zip(QUESTIONS, pair):
        if value is None or (isinstance(value, str) and not value.strip()):
            return f": {column} is empty"
        if not isinstance(value, str):
            return f": {column} is not text"
    return tuple(pair)


def _answers(
    detector: DuplicateDetector, pairs: list[tuple[str, str]], threshold: float | None
) -> list[list[Any]]:
    """The `ANSWERS` for each pair."""
    if not pairs:
        return []
    judged = detector.judged(detector.similarity(*zip(*pairs)), threshold)
    return [[yes, round(cosine, 6), p and round(p, 6), None] for cosine, p, yes in judged]


def _written(records: Records, row: Any, answer: list[Any], excel: bool) -> str:
    """The answered record; of a bad one its line, in the first column, so that the width stays."""
    if records.is_delimited:
        kept = [row.text, *[""] * (records.width - 1)] if type(row) is BadRow else row
        yes = None if answer[0] is None else int(answer[0])
        return _delimited_line([*kept, yes, *answer[1:]], records.delimiter, excel)
    if type(row) is BadRow:
        row = {"line": row.text}
    elif records.header:  # Parquet
        row = dict(zip(records.header, row))
    elif isinstance(row, list) and len(row) == 2:
        row = dict(zip(QUESTIONS, row))
    elif not isinstance(row, dict):
        row = {"line": row}
    found = {name: value for name, value in zip(ANSWERS, answer) if value is not None}
    return json_text({**row, **found}, default=str)


def _delimited_line(row: list[Any], delimiter: str, excel: bool) -> str:
    cells = [re.sub("[\r\n]", " ", cell) if type(cell) is str else cell for cell in row]
    return csv_line(cells, delimiter, excel)
