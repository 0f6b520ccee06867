"""The answers to pairs of a list: a CSV file beside it, which several people may add to at once."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence

import numpy as np

from siamese.cli.arguments import NOT_CSV
from siamese.errors import ArgumentError, DataError
from siamese.groups.answers import AnswerChange, ChangedAnswers, changed_answers
from siamese.reading.clusters import answer_key, check_answers
from siamese.reading.pairs import QuestionPairs, read_pairs
from siamese.reading.rows import SKIP, open_rows
from siamese.system.files import open_atomically
from siamese.system.open_types import Keywords
from siamese.text.display import csv_line

HEADER = "question1", "question2", "is_duplicate"


def answers_of(path: str, options: Keywords) -> QuestionPairs:
    """The answers of a file; none where it is missing or empty.

    `options` are those of `read_pairs`.
    """
    if not os.path.exists(path) or (os.path.isfile(path) and not os.path.getsize(path)):
        return _pairs_of([])
    if os.path.isfile(path):
        rows, blank = _count_rows(path, options)
        if rows == blank:
            return _pairs_of([])
    return read_pairs(path, **options)


def _count_rows(path: str, options: Keywords) -> tuple[int, int]:
    """How many rows a file has after its header, and how many of them have no text, as of a spreadsheet."""
    encoding = options.get("encoding")
    with open_rows(path, bad_rows="skip", names=HEADER, encoding=encoding) as rows:
        cells = [list(row.values()) for *_, row in rows]
        texts = (any(str(cell or "").strip() for cell in row) for row in cells)
        return rows.report.rows, sum(not has_text for has_text in texts)


@contextlib.contextmanager
def naming(path: str) -> Iterator[None]:
    """Puts the file before the DataError of a block, such as one of `check_answers`."""
    try:
        yield
    except DataError as error:
        message = f"{path}: {error.message}"
        raise DataError(message, arguments=error.arguments) from None


class AnswersFile:
    """A file of answers; as of an index, `change_answers` is safe while others change it, too.

    A spreadsheet may have saved the file. ArgumentError where it holds more than
    answers, which would be lost when it is written again.
    """

    def __init__(self, path: str, options: Keywords):
        self.path = path
        self.options = options

    def answers(self) -> QuestionPairs:
        """All answers that the file has now, as labelled pairs; rows without text do not count."""
        try:
            pairs = answers_of(self.path, self.options | {"bad_rows": "refuse"})
        except DataError as error:
            # To skip rows would lose them when the file is rewritten.
            message = error.message.replace(SKIP, "")
            raise DataError(message, arguments=error.arguments) from None
        if pairs.report is None:
            return pairs
        self._check_alone(pairs)
        with naming(self.path):
            check_answers(pairs)
        return pairs

    def _check_alone(self, pairs: QuestionPairs) -> None:
        """Refuses a file of more than answers, or with rows that are none."""
        report = pairs.report
        assert report is not None
        is_ours = sorted(map(str.casefold, report.columns)) == sorted(HEADER)
        if not is_ours or self.path.lower().endswith(NOT_CSV):
            what = f"{self.path} is not a table of answers alone ({','.join(HEADER)})"
            raise ArgumentError(
                f"{what}, and is not rewritten. Name another file (--answers)."
            )
        rows, blank = _count_rows(self.path, self.options)
        if len(pairs) + blank != rows:
            lines = "; ".join(report.finding_lines())
            what = f"{self.path} is rewritten with each answer, and would lose what it has: {lines}"
            raise DataError(f"{what}. Correct or delete these rows.")

    def change_answers(self, changes: Sequence[AnswerChange]) -> ChangedAnswers:
        """`QuestionIndex.change_answers`; the answers are on disk when it returns."""
        # Others wait until the file is closed.
        with open_atomically(self.path, overwrite=True) as file:
            rows = _rows_of(self.answers())
            labels = {answer_key(*row[:2]): bool(row[2]) for row in rows}

            def add(pairs: QuestionPairs, forget: bool) -> int:
                keys = set(map(answer_key, pairs.question1, pairs.question2))
                kept = [row for row in rows if answer_key(*row[:2]) not in keys]
                rows[:] = kept if forget else [*kept, *_rows_of(pairs)]
                return len(pairs)

            changed = changed_answers(changes, labels.get, add)
            if rows:
                check_answers(_pairs_of(rows))
            # UTF-8 with its mark is read as UTF-8, whatever --encoding says.
            lines = [HEADER, *((one, two, int(label)) for one, two, label in rows)]
            text = "".join(f"{csv_line(line)}\n" for line in lines)
            file.write(text.encode("utf-8-sig") if rows else b"")
        return changed


def _pairs_of(rows: Sequence[tuple[str, str, bool]]) -> QuestionPairs:
    labels = np.array([label for *_, label in rows], bool)
    return QuestionPairs([one for one, *_ in rows], [two for _, two, _ in rows], labels)


def _rows_of(pairs: QuestionPairs) -> list[tuple[str, str, bool]]:
    return list(zip(pairs.question1, pairs.question2, pairs.is_duplicate.tolist()))
