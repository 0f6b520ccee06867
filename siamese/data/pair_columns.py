"""Columns of question pairs as they come from a file: found by name, checked, put together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from siamese.data.clusters import number_questions
from siamese.data.read_report import ReadReport
from siamese.errors import DataError

# Our column -> the names it has in files (Quora's, Kaggle's, GLUE's, and the Hugging Face hub's).
COLUMN_NAMES = {
    "question1": ("question1", "sentence1"),
    "question2": ("question2", "sentence2"),
    "is_duplicate": ("is_duplicate", "label"),
    "id": ("id", "idx", "pair_id"),
    "qid1": ("qid1",),
    "qid2": ("qid2",),
}
REQUIRED = ("question1", "question2", "is_duplicate")
_LABELS = {"0": False, "1": True, "0.0": False, "1.0": True}


@dataclass
class PairColumns:
    """Some rows of a file, column by column, checked.

    Args:
      question1: first questions, none of them empty.
      question2: second questions, as many.
      is_duplicate: bool [n].
      ids: the file's own id of each pair, or None where it has none.
      qid1: the file's own ids of the first questions, or None.
      qid2: the same for the second questions.
      lines: int64 [n]; the line (from 1) on which each row starts.
      rows: int64 [n]; which data row of the file (from 0) each pair is.
    """

    question1: list[str]
    question2: list[str]
    is_duplicate: np.ndarray
    ids: list[str] | None
    qid1: list[str] | None
    qid2: list[str] | None
    lines: np.ndarray
    rows: np.ndarray


def normal_name(name: str) -> str:
    """A column's name as it is compared: without blanks around it, in lower case."""
    return name.strip().lower()


def column_places(header: Sequence[str], path: str) -> dict[str, int]:
    """Where each of our columns stands in a header; DataError where a needed one is missing."""
    names = [normal_name(name) for name in header]
    places = {}
    for column, known in COLUMN_NAMES.items():
        found = [place for place, name in enumerate(names) if name in known]
        if len(found) > 1:
            doubled = " and ".join(str(header[place]) for place in found)
            raise DataError(f"{path}, line 1: {column} stands in two columns ({doubled}).")
        if found:
            places[column] = found[0]
    missing = [column for column in REQUIRED if column not in places]
    if missing:
        shown = ", ".join(str(name).strip()[:40] for name in header[:12])
        why = ""
        if missing == ["is_duplicate"]:
            why = " This is perhaps a test file that was published without labels."
        raise DataError(
            f"{path}, line 1: no column {' or '.join(missing)}; found: {shown}. Question pairs need "
            f"the columns {', '.join(REQUIRED)}.{why}"
        )
    return places


def checked(
    columns: dict[str, Sequence[Any]], lines: np.ndarray, report: ReadReport
) -> PairColumns:
    """Rows with checked labels and text, those with an empty question left out and noted.

    Raises:
      DataError: a label that is not 0 or 1, or a question that is not text.
    """
    n = len(lines)
    is_duplicate = _labels(columns["is_duplicate"], lines, report)
    rows = np.arange(report.rows, report.rows + n, dtype=np.int64)
    taken: dict[str, list[str] | None] = {"id": None, "qid1": None, "qid2": None}
    keep = np.ones(n, bool)
    for name in ("question1", "question2"):
        texts = list(columns[name])
        if set(map(type, texts)) - {str}:
            texts = [_text(text, name, lines[i], report) for i, text in enumerate(texts)]
        if not all(map(str.strip, texts)):
            keep &= np.fromiter((bool(text.strip()) for text in texts), bool, n)
        taken[name] = texts
    for name in ("id", "qid1", "qid2"):
        if name in columns:
            taken[name] = list(map(str, columns[name]))
    report.rows += n
    if not keep.all():
        report.add("empty", lines[~keep])
        kept = np.flatnonzero(keep).tolist()
        taken = {k: column and [column[i] for i in kept] for k, column in taken.items()}
        is_duplicate, lines, rows = is_duplicate[keep], lines[keep], rows[keep]
    report.kept += len(lines)
    return PairColumns(
        taken["question1"],
        taken["question2"],
        is_duplicate,
        taken["id"],
        taken["qid1"],
        taken["qid2"],
        lines,
        rows,
    )


def _labels(values: Sequence[Any], lines: np.ndarray, report: ReadReport) -> np.ndarray:
    if set(map(type, values)) == {str} and set(values) <= {"0", "1"}:
        return np.fromiter(map("1".__eq__, values), bool, len(values))
    out = np.zeros(len(values), bool)
    for i, value in enumerate(values):
        if isinstance(value, (bool, np.bool_)):
            out[i] = value
            continue
        label = _LABELS.get(str(value).strip())
        if label is None:
            shown = f"{value!r:.40}" if isinstance(value, str) else f"{value}"
            raise DataError(
                f"{report.path}, {report.unit} {lines[i]:,}: is_duplicate is {shown}; it must be 0 "
                "(different questions) or 1 (duplicates)."
            )
        out[i] = label
    return out


def _text(value: Any, column: str, line: int, report: ReadReport) -> str:
    """A question from JSON or Parquet: text, or empty where it is null."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    raise DataError(
        f"{report.path}, {report.unit} {line:,}, column {column}: {value!r:.40} is not text."
    )


def joined(parts: Iterable[PairColumns]) -> PairColumns:
    """Parts of one file, at least one, as a whole."""
    all_parts = list(parts)

    def column(name: str) -> Any:
        pieces = [getattr(part, name) for part in all_parts]
        if pieces[0] is None:
            return None
        if isinstance(pieces[0], np.ndarray):
            return np.concatenate(pieces)
        return [value for piece in pieces for value in piece]

    return PairColumns(**{field.name: column(field.name) for field in fields(PairColumns)})


def note_repeats(columns: PairColumns, report: ReadReport) -> None:
    """Notes rows whose two questions, in either order, stood together in an earlier row."""
    questions, numbers = number_questions(columns.question1, columns.question2)
    keys = numbers.min(axis=1) * len(questions) + numbers.max(axis=1)  # one number for each pair
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    first = first[inverse]  # [pairs]; the first row with this pair
    later = np.arange(len(keys)) != first
    agrees = columns.is_duplicate == columns.is_duplicate[first]
    report.add("repeated", columns.lines[later & agrees])
    report.add("contradicting", columns.lines[later & ~agrees])
