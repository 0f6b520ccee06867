"""Answers for a file of pairs, part by part: memory holds one part, whatever the size of the file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from siamese.data.pairs import read_columns
from siamese.data.reading import ReadReport
from siamese.search.detector import DuplicateDetector
from siamese.search.display import csv_line, json_text

QUESTIONS = ("question1", "question2")
ANSWERS = ("similarity", "probability", "is_duplicate")


def answer_file(
    detector: DuplicateDetector,
    source: Any,
    report: ReadReport,
    *,
    threshold: float | None = None,
    columns: str | None = None,
    encoding: str | None = None,
    excel: bool = False,
    as_json: bool = False,
) -> Iterator[str]:
    """Yields the lines of a CSV: question1, question2, similarity, probability, is_duplicate, [id].

    The answer to JSON Lines is JSON Lines. Rows stay in their order; one with an empty question is left out
    and counted in `report`.

    Args:
      detector: the model.
      source: what `siamese.data.pairs.read_pairs` takes, without labels.
      report: gets what was left out; its `bad_rows` says whether a row that cannot be read stops the
        answers ('refuse') or is left out and counted ('skip').
      threshold: a cosine; the detector's where None.
      columns: the names of the two questions, with a comma between.
      encoding: of the text; UTF-8 where None.
      excel: write no cell that a spreadsheet takes for a formula.
      as_json: answer everything by JSON Lines.

    Raises:
      DataError: a file that cannot be read, without two columns of questions, or with a bad row.
    """
    specs = columns.split(",")[:2] if columns else []
    names: list[str] = []
    for part in read_columns(source, report, QUESTIONS, specs, encoding):
        is_json = as_json or report.format.startswith("JSON")
        if not names:
            names = [*QUESTIONS, *ANSWERS, *(["id"] if "ids" in part else [])]
            if not is_json:
                yield csv_line(names)
        sides = [part[name] for name in QUESTIONS]
        full = [bool(one.strip() and two.strip()) for one, two in zip(*sides)]
        report.add("empty", [line for line, whole in zip(part["lines"], full) if not whole])
        rows = [
            row for row, whole in zip(zip(*sides, part.get("ids", part["lines"])), full) if whole
        ]
        report.kept += len(rows)
        if not rows:
            continue
        cut = [bool(whole and detector.cut(pair)) for *pair, whole in zip(*sides, full)]
        report.add("cut", [line for line, is_cut in zip(part["lines"], cut) if is_cut])
        similarity = detector.similarity([row[0] for row in rows], [row[1] for row in rows])
        answers = detector.judged(similarity, threshold)
        for (one, two, own), (cosine, probability, is_duplicate) in zip(rows, answers):
            shown = None if probability is None else round(probability, 6)
            cells = [one, two, round(cosine, 6), shown, is_duplicate, own][: len(names)]
            yield (
                json_text(dict(zip(names, cells)))
                if is_json
                else csv_line(_numbers(cells), excel=excel)
            )


def _numbers(cells: list[Any]) -> list[Any]:
    """Cells of CSV: 1 and 0 for true and false."""
    return [int(cell) if isinstance(cell, bool) else cell for cell in cells]
