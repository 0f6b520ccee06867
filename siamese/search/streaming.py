"""Answers for a file of pairs: one line out for each record in, errors included.

CSV or tab-separated (with a header that names the questions, or two columns without one) is answered in
kind: the record's own columns, then is_duplicate, similarity, probability and error. A line break inside
a question is written as a space. JSON Lines (objects with question1 and question2, or lists of two texts)
and Parquet are answered by JSON objects.
"""

from __future__ import annotations

import csv
import io
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
    normal_name,
)
from siamese.errors import DataError
from siamese.search.detector import DuplicateDetector
from siamese.search.display import excel_cell, json_text

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
) -> Iterator[tuple[str, bool]]:
    """Yields for each record (line out, whether it was answered); a header counts as answered.

    Args:
      detector: the model.
      path: a file, a pipe, or ``-`` for standard input. What is there of a pipe is answered at once.
      report: gets what was handled while reading.
      threshold: cosine for a duplicate; the model's own where None.
      bad_rows: 'refuse' answers a record that cannot be read with an error; 'skip' leaves it out.
      excel: put an apostrophe before cells that a spreadsheet would take for formulas.

    Raises:
      DataError: a file that cannot be read, or without two columns of questions.
    """
    skip = check_bad_rows(bad_rows)
    cut = detector.threshold if threshold is None else threshold
    known = {name for column in QUESTIONS for name in COLUMN_NAMES[column]}
    with Records(path, report, known) as records:
        places = None if records.is_json else _question_places(records)
        if records.is_delimited and records.header:
            yield _header_line(records, excel), True
        for rows, lines in records:
            for start in range(0, len(rows), BATCH):
                part = slice(start, start + BATCH)
                parsed = [_parsed(row, places) for row in rows[part]]
                pairs = [pair for pair, why in parsed if why is None]
                scores = _scores(detector, pairs)
                for row, line, (_, why) in zip(rows[part], lines[part], parsed):
                    answer: dict[str, Any] = dict.fromkeys(ANSWERS)
                    if why is None:
                        report.kept += 1
                        cosine, probability = next(scores)
                        answer["is_duplicate"] = cosine > cut
                        answer["similarity"] = round(cosine, 6)
                        answer["probability"] = (
                            None if probability is None else round(probability, 6)
                        )
                    else:
                        report.add_bad_row(line, why)
                        answer["error"] = f"line {line:,}{why.rstrip('.')}"
                    report.rows += 1
                    if why is None or not skip:
                        yield _written(records, row, answer, excel), why is None


def _question_places(records: Records) -> tuple[int, int]:
    """Which columns hold the questions. A file of two columns may do without a header."""
    names = list(map(normal_name, records.header))
    try:
        places = column_places(names, f"{records.name}, line 1", QUESTIONS)
        return places["question1"], places["question2"]
    except DataError:
        if not records.is_delimited:
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
    return 0, 1


def _parsed(row: Any, places: tuple[int, int] | None) -> tuple[list[str], str | None]:
    """A record's two questions, and what is wrong with it."""
    if type(row) is BadRow:
        return [], row.why
    if places is not None:
        pair = [row[at] for at in places]
    elif isinstance(row, list) and len(row) == 2:
        pair = row
    elif not isinstance(row, dict):
        return [], ": neither an object nor a list of two texts"
    else:
        try:
            found = column_places(list(row), "", QUESTIONS)
        except DataError as error:
            return [], str(error)
        pair = [list(row.values())[found[column]] for column in QUESTIONS]
    for column, value in zip(QUESTIONS, pair):
        if value is None or (isinstance(value, str) and not value.strip()):
            return pair, f": {column} is empty"
        if not isinstance(value, str):
            return pair, f": {column} is not text"
    return pair, None


def _scores(
    detector: DuplicateDetector, pairs: list[list[str]]
) -> Iterator[tuple[float, float | None]]:
    """The cosine and the probability of each pair."""
    if pairs:
        cosines = detector.similarity(*zip(*pairs))
        known = detector.calibration is not None
        probabilities = detector.calibrated(cosines).tolist() if known else [None] * len(pairs)
        yield from zip(cosines.tolist(), probabilities)


def _header_line(records: Records, excel: bool) -> str:
    taken = set(map(normal_name, records.header))
    new = [f"predicted_{name}" if name in taken else name for name in ANSWERS]
    return _delimited_line([*records.header, *new], records.delimiter, excel)


def _written(records: Records, row: Any, answer: dict[str, Any], excel: bool) -> str:
    """The answered record; of a bad one its line, in the first column, so that the width stays."""
    if records.is_delimited:
        kept = [row.text, *[""] * (records.width - 1)] if type(row) is BadRow else row
        yes = answer["is_duplicate"]
        answer = {**answer, "is_duplicate": yes if yes is None else int(yes)}
        return _delimited_line([*kept, *answer.values()], records.delimiter, excel)
    if records.header:  # Parquet
        row = dict(zip(records.header, row))
    elif isinstance(row, list) and type(row) is not BadRow and len(row) == 2:
        row = dict(zip(QUESTIONS, row))
    elif not isinstance(row, dict):
        row = {"line": row.text if type(row) is BadRow else row}
    found = {**row, **{name: value for name, value in answer.items() if value is not None}}
    return json_text(found, default=str)


def _delimited_line(row: list[Any], delimiter: str, excel: bool) -> str:
    out = io.StringIO()
    row = map(excel_cell, row) if excel else row
    cells = [re.sub("[\r\n]", " ", cell) if type(cell) is str else cell for cell in row]
    csv.writer(out, delimiter=delimiter, lineterminator="").writerow(cells)
    return out.getvalue().encode("utf-8", "replace").decode()
