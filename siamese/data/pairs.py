"""QuestionPairs: labelled pairs of questions, read, checked, split and compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from operator import not_
from typing import Any

import numpy as np

from siamese.data.clusters import cluster_split, number_questions
from siamese.data.readers.columns import COLUMN_NAMES, pair_places, text_at
from siamese.data.readers.reading import open_rows, source_name
from siamese.data.readers.report import ReadReport
from siamese.data.readers.tables import id_text
from siamese.errors import ArgumentError, DataError, ShapeError

LABELS = {"0": False, "1": True, "0.0": False, "1.0": True, "false": False, "true": True}
REQUIRED = ("question1", "question2", "is_duplicate")
Columns = dict[str, Sequence[Any]]  # our column -> its values


@dataclass(frozen=True, eq=False)
class QuestionPairs:
    """Pairs of questions, each labelled duplicate or not, kept column by column.

    Args:
      question1: the first question of each pair.
      question2: the second question of each pair.
      is_duplicate: bool [n] (0 and 1 are taken as well).
      ids: the file's own id of each pair; `row_numbers` where left out.
      row_numbers: int64 [n], rising: the data row of the file (from 0) of each pair; 0 to n - 1 where
        left out.
      report: what was handled while reading, or None.

    Raises:
      ShapeError: columns of different lengths.
      DataError: a label that is neither 0 nor 1.

    Example:
      >>> pairs = QuestionPairs(["Is it far?", "Why?"], ["How far is it?", "Who?"], [1, 0])
      >>> len(pairs), pairs.base_rate, pairs.duplicates().question2
      (2, 0.5, ['How far is it?'])
    """

    question1: list[str]
    question2: list[str]
    is_duplicate: np.ndarray
    ids: list[Any] | None = None
    row_numbers: np.ndarray | None = None
    report: ReadReport | None = None

    def __post_init__(self):
        n = len(self.question1)
        labels = np.asarray(self.is_duplicate)
        if labels.dtype != bool and labels.size and not np.isin(labels, (0, 1)).all():
            raise DataError("is_duplicate holds labels other than 0 and 1.")
        rows = range(n) if self.row_numbers is None else self.row_numbers
        object.__setattr__(self, "is_duplicate", labels.astype(bool))
        object.__setattr__(self, "row_numbers", np.asarray(rows, np.int64))
        object.__setattr__(self, "ids", list(rows) if self.ids is None else self.ids)
        for name in ("question2", "is_duplicate", "ids", "row_numbers"):
            if len(getattr(self, name)) != n:
                raise ShapeError(
                    f"question1 has {n} entries and {name} has {len(getattr(self, name))}."
                )

    def __len__(self) -> int:
        return len(self.question1)

    def __repr__(self) -> str:
        return f"QuestionPairs({len(self):,} pairs, {self.base_rate:.1%} duplicates)"

    @property
    def base_rate(self) -> float:
        """The share of duplicates among the pairs; nan where there are none."""
        return float(self.is_duplicate.mean()) if len(self) else float("nan")

    def rows(self, start: int, stop: int) -> QuestionPairs:
        """Pairs `start` (inclusive) to `stop` (exclusive), as a slice of a list does."""
        return self.select(slice(start, stop))

    def select(self, which: Any) -> QuestionPairs:
        """Some of the pairs, in the order asked for, without report and row numbers.

        Args:
          which: a slice, a bool mask [n], or integer positions.

        Raises:
          ArgumentError: a mask of another length, or a position that does not exist.
        """
        if not isinstance(which, slice):
            which = np.asarray(which) if len(which) else np.zeros(0, np.int64)
        try:
            which = np.arange(len(self))[which]
        except IndexError as error:
            raise ArgumentError(
                f"select takes a slice, a bool mask or positions of {len(self)} pairs: {error}."
            ) from None
        texts = (self.question1, self.question2, self.ids)
        question1, question2, ids = ([column[at] for at in which.tolist()] for column in texts)
        return QuestionPairs(question1, question2, self.is_duplicate[which], ids)

    def duplicates(self) -> QuestionPairs:
        """Only the pairs labelled duplicate: what the course trains on."""
        return self.select(self.is_duplicate)

    def split_rows(
        self, train_rows: int, test_rows: int | None = None
    ) -> tuple[QuestionPairs, QuestionPairs]:
        """The course's split: the first `train_rows` rows, then the next `test_rows`.

        Rows are the file's data rows: one that was kept out of the pairs (an empty question) counts,
        so ``split_rows(300000, 10240)`` on Quora's file gives the course's rows.

        Args:
          train_rows: how many rows to train on.
          test_rows: how many of the rows after them to test on; None for all.

        Returns:
          The pairs for training and those for testing.

        Raises:
          ArgumentError: more rows than there are.
        """
        total = self.report.rows if self.report is not None else len(self)
        test_rows = total - train_rows if test_rows is None else test_rows
        if train_rows < 1 or test_rows < 1 or train_rows + test_rows > total:
            raise ArgumentError(
                f"train_rows={train_rows:,} and test_rows={test_rows:,} of {total:,} rows: both "
                f"must be at least 1 and together at most {total:,}."
            )
        stop = train_rows + test_rows
        return self.file_rows(0, train_rows), self.file_rows(train_rows, stop)

    def file_rows(self, start: int, stop: int | None = None) -> QuestionPairs:
        """The pairs among the file's data rows from `start` up to `stop` (to the end where None).

        A row that was kept out of the pairs (an empty question) counts, as in `split_rows`.
        """
        first = np.searchsorted(self.row_numbers, start)
        last = len(self) if stop is None else np.searchsorted(self.row_numbers, stop)
        return self.rows(first, last)

    def split_by_cluster(self, fractions: Sequence[float], seed: int = 0) -> list[QuestionPairs]:
        """A split whose parts share no question, so that a test asks about unseen questions only.

        Args:
          fractions: the wished share of the pairs for each part, such as ``(0.8, 0.1, 0.1)``.
          seed: the same seed gives the same parts.

        Returns:
          One `QuestionPairs` for each fraction, rows in the original order.

        Raises:
          ArgumentError: fractions that are not positive or do not add to 1.
          DataError: too few independent groups of questions for the parts.
        """
        return [self.select(rows) for rows in cluster_split(self, fractions, seed)]


def read_pairs(
    source: Any,
    *,
    columns: Sequence[str] | str = (),
    duplicate_from: float | None = None,
    duplicate_labels: Sequence[str] | str = (),
    encoding: str | None = None,
    bad_rows: str = "refuse",
) -> QuestionPairs:
    """Reads labelled question pairs, whatever the format; nothing is dropped silently.

    The content decides the format: the course's ``questions.csv``, Quora's tab-separated original,
    Kaggle's ``train.csv``, GLUE's QQP files, any CSV, tab-separated, JSON Lines, Parquet or Excel file with
    the columns question1, question2 and is_duplicate; gzipped too.

    Questions stay as they are, blanks and line breaks included. A row with an empty question is left out,
    since the course's own code fails on it, but counts in `split_rows`, as a row that cannot be read does.
    Repeated and contradicting rows stay. ``pairs.report`` counts all of it.

    Args:
      source: a path, '-' for standard input, or a table in memory: a DataFrame, a `datasets.Dataset`, ...
      columns: the names of the two questions and, third, the label, as a list or with commas between; the
        usual names where left out. "title+body" joins columns by a blank, "2*title+body" repeats the
        title, so that its words weigh twice. Numbers, "1,2,5", where there is no header.
      duplicate_from: labels are numbers; pairs with at least this one are duplicates.
      duplicate_labels: labels are names; pairs with one of these are duplicates, all others not.
      encoding: of the text; UTF-8 where None.
      bad_rows: 'refuse' a file with a row that cannot be read, or 'skip' such rows and count them.

    Returns:
      `QuestionPairs` with a `report`.

    Raises:
      DataError: a file that is missing, empty, damaged, not one of pairs, lacks columns, or holds a row
        that cannot be read; with the file and line.
      MissingDependencyError: a Parquet file without pyarrow, an Excel file without python-calamine.

    Example:
      >>> table = {"question1": ["Why?", "A?"], "question2": ["", "B?"], "is_duplicate": [0, 1]}
      >>> pairs = read_pairs(table)
      >>> pairs.question1, pairs.report.count("empty")
      (['A?'], 1)
    """
    report = ReadReport(source_name(source), bad_rows=bad_rows)
    label_of = _labels(duplicate_from, duplicate_labels)
    parts = list(_parts(source, report, encoding, _names(columns), label_of))
    if not report.rows:
        raise DataError(f"{report.path} has no rows after its header.")
    if not report.kept:
        raise DataError(f"{report.path} has no usable pair.\n{report}")
    lines = np.asarray([line for part in parts for line in part.pop("lines")], np.int64)
    whole = {name: list(chain.from_iterable(part[name] for part in parts)) for name in parts[0]}
    pairs = QuestionPairs(**whole, report=report)
    _note_repeats(pairs, lines, report)
    return pairs


def iter_pairs(
    source: Any,
    *,
    columns: Sequence[str] | str = (),
    duplicate_from: float | None = None,
    duplicate_labels: Sequence[str] | str = (),
    encoding: str | None = None,
    bad_rows: str = "refuse",
) -> Iterator[QuestionPairs]:
    """Reads a file of any size in parts of some thousand rows; memory holds one part at a time.

    As `read_pairs`, but repeated and contradicting rows are not looked for: that would need the
    whole file in memory.

    Args:
      source: as for `read_pairs`, and so are the others.
      columns: the names of the questions and the label.
      duplicate_from: the least label of duplicates.
      duplicate_labels: the labels of duplicates.
      encoding: of the text.
      bad_rows: 'refuse' or 'skip'.

    Yields:
      `QuestionPairs`; all share one growing `report`, and `row_numbers` count through the file.

    Raises:
      DataError: as `read_pairs`, when the part with the fault is reached.
    """
    report = ReadReport(source_name(source), bad_rows=bad_rows)
    label_of = _labels(duplicate_from, duplicate_labels)
    for part in _parts(source, report, encoding, _names(columns), label_of):
        del part["lines"]
        yield QuestionPairs(**part, report=report)
    if not report.rows:
        raise DataError(f"{report.path} has no rows after its header.")


# -- From rows to pairs -----------------------------------------------------------------------


def _names(columns: Sequence[str] | str) -> list[str]:
    names = columns.split(",") if isinstance(columns, str) else list(columns)
    if columns and len(names) not in (2, 3):
        raise ArgumentError(
            "columns names two questions and, third, the label, such as title1,title2,label; "
            f"it is {columns!r}."
        )
    return names if columns else []


def _labels(
    duplicate_from: float | None, duplicate_labels: Sequence[str] | str
) -> Callable[[Any], bool | None]:
    """The function from a cell to its label; None where it is not one."""
    if isinstance(duplicate_labels, str):
        duplicate_labels = duplicate_labels.split(",") if duplicate_labels else ()
    names = {name.strip().lower() for name in duplicate_labels}
    if names and duplicate_from is not None:
        raise ArgumentError("duplicate_from is for numbers, duplicate_labels for names: give one.")

    def number_or_name(value: Any) -> bool | None:
        text = str(value).strip()
        if names:
            return text.lower() in names if text and value is not None else None
        try:
            number = float(text)
        except ValueError:
            return None
        return number >= duplicate_from if number == number else None

    if names or duplicate_from is not None:
        return number_or_name
    return lambda value: value if type(value) is bool else LABELS.get(str(value).strip().lower())


def _parts(
    source: Any,
    report: ReadReport,
    encoding: str | None,
    columns: list[str],
    label_of: Callable[[Any], bool | None],
) -> Iterator[Columns]:
    """Columns of question pairs by our names, checked, with the rows' numbers and lines."""
    for part in read_columns(source, report, REQUIRED, columns, encoding):
        values = part["is_duplicate"]
        labels = part["is_duplicate"] = list(map(label_of, values))
        if None in labels:
            for line, value in compress(zip(part["lines"], values), [x is None for x in labels]):
                report.bad_row(
                    line,
                    f"is_duplicate is {value!r:.40}; it must be 0 (different questions) or 1 "
                    "(duplicates). For labels of other kinds there are --duplicate-from NUMBER and "
                    "--duplicate-labels NAMES.",
                )
            part = _some(part, [label is not None for label in labels])
        sides = part["question1"], part["question2"]
        if not all(all(map(str.strip, side)) for side in sides):
            full = [bool(one.strip() and two.strip()) for one, two in zip(*sides)]
            report.add("empty", compress(part["lines"], [not whole for whole in full]))
            part = _some(part, full)
        report.kept += len(part["lines"])
        if part["lines"]:
            yield part


def read_columns(
    source: Any,
    report: ReadReport,
    required: Sequence[str],
    columns: Sequence[str] = (),
    encoding: str | None = None,
) -> Iterator[Columns]:
    """Chunks of a file by our names: `required`, ids where it has any, lines, row_numbers.

    `columns` are what the user calls the first of the required ones. A missing question is empty text.
    """
    known = {name for names in COLUMN_NAMES.values() for name in names}
    with open_rows(source, report, specs=columns, names=known, encoding=encoding) as rows:
        where = report.path if report.unit == "row" else f"{report.path}, line 1"
        places: dict[str, list[int]] = {}
        header: list[str] = []
        for chunk in rows:
            values, lines, numbers = chunk
            if not places:
                header = list(values[0]) if rows.is_json or rows.is_plain else rows.header
            places = places or pair_places(header, where, required, columns)
            if rows.is_json:
                values, lines, numbers = _cells(chunk, header, places, report)
            by_place = list(zip(*values)) or [()] * len(header)
            part = {
                name: by_place[at[0]] if len(at) == 1 else [text_at(row, at) for row in values]
                for name, at in places.items()
            }
            part |= {"lines": lines, "row_numbers": numbers}
            if "id" in part:
                part["ids"] = list(map(id_text, part.pop("id")))
            yield _checked_text(part, report)
        if not report.rows and not rows.is_json:
            pair_places(rows.header, where, required, columns)


def _cells(chunk: Any, header: list[str], places: dict[str, list[int]], report: ReadReport) -> Any:
    """The cells of JSON objects; one without a required key is a bad row."""
    keys = {header[at] for at in chain(*places.values())}
    is_whole = [keys <= row.keys() for row in chunk.rows]
    for row, line in compress(zip(chunk.rows, chunk.lines), map(not_, is_whole)):
        missing = " or ".join(key for key in header if key in keys - row.keys())
        report.bad_row(line, f"no {missing}; the keys: {', '.join(row)[:200]}.")
    values, lines, numbers = (list(compress(column, is_whole)) for column in chunk)
    return [[row.get(key) for key in header] for row in values], lines, numbers


def _checked_text(part: Columns, report: ReadReport) -> Columns:
    """The part without rows whose questions are neither text nor missing."""
    bad: set[int] = set()
    for name in ("question1", "question2"):
        if set(map(type, part[name])) - {str}:
            part[name] = ["" if text is None else text for text in part[name]]
            for at, text in enumerate(part[name]):
                if not isinstance(text, str):
                    report.bad_row(part["lines"][at], f"{name} is {text!r:.40}, not text.")
                    bad.add(at)
    return _some(part, [at not in bad for at in range(len(part["lines"]))]) if bad else part


def _some(columns: Columns, which: list[bool]) -> Columns:
    return {name: list(compress(values, which)) for name, values in columns.items()}


def _note_repeats(pairs: QuestionPairs, lines: np.ndarray, report: ReadReport) -> None:
    """Notes rows whose two questions, in either order, stood together in an earlier row."""
    questions, numbers = number_questions(pairs.question1, pairs.question2)
    keys = numbers.min(axis=1) * len(questions) + numbers.max(axis=1)  # one number for each pair
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    first = first[inverse]  # [pairs]; the first row with this pair
    later = np.arange(len(keys)) != first
    agrees = pairs.is_duplicate == pairs.is_duplicate[first]
    report.add("repeated", lines[later & agrees].tolist())
    report.add("contradicting", lines[later & ~agrees].tolist())
