"""Answers for a file of pairs, part by part: memory holds one part, whatever the size of the file."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from siamese.data.pairs import pair_rows
from siamese.data.readers.reading import ReadReport
from siamese.search.detector import DuplicateDetector
from siamese.search.display import csv_line, json_text

QUESTIONS = ("question1", "question2")
CHUNK_ROWS = 4096  # of a part
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
    names: list[str] = []
    rows = pair_rows(source, report, columns or "", encoding, QUESTIONS)
    while part := list(islice(rows, CHUNK_ROWS)):
        lines, _, question1, question2, ids, _ = map(list, zip(*part))
        is_json = as_json or report.format.startswith("JSON")
        if not names:
            names = [*QUESTIONS, *ANSWERS, *([] if ids[0] is None else ["id"])]
            if not is_json:
                yield csv_line(names)
        report.kept += len(part)
        pairs = list(zip(question1, question2))
        report.add("cut", [line for line, pair in zip(lines, pairs) if detector.cut(pair)])
        answers = detector.answers(question1, question2, threshold)
        for pair, (cosine, probability, is_duplicate), own in zip(pairs, answers, ids):
            shown = None if probability is None else round(probability, 6)
            cells = [*pair, round(cosine, 6), shown, is_duplicate, own][: len(names)]
            if is_json:
                yield json_text(dict(zip(names, cells)))
            else:
                yield csv_line([int(c) if isinstance(c, bool) else c for c in cells], excel=excel)
