"""QuestionPairs: labelled pairs of questions, read, checked, split and compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from operator import not_
from typing import Any

import numpy as np

from siamese.data.clusters import cluster_split, number_questions
from siamese.data.files import ReadReport, shown_name
from siamese.data.records import (
    COLUMN_NAMES,
    check_bad_rows,
    column_places,
    header_or_numbers,
    open_records,
    text_at,
    wanted_names,
)
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
    path: Any,
    *,
    strict: bool = False,
    bad_rows: str = "refuse",
    columns: Sequence[str] | str = (),
    duplicate_from: float | None = None,
    duplicate_labels: Sequence[str] | str = (),
) -> QuestionPairs:
    """Reads labelled question pairs from a file, whatever its format; nothing is dropped silently.

    The content decides the format: the course's ``questions.csv``, Quora's tab-separated original,
    Kaggle's ``train.csv``, GLUE's QQP files, any CSV, tab-separated, JSON Lines or Parquet file with
    the columns question1, question2 and is_duplicate; gzipped too, but for Parquet.

    Questions are kept as they stand, blanks and line breaks included. A row with an empty question
    is kept out, since the course's own code fails on it, but counts in `split_rows`. Repeated and
    contradicting rows are kept. ``pairs.report`` counts all of it.

    Args:
      path: the file; ``-`` for standard input. Or a table in memory: a DataFrame, a `datasets.Dataset`,
        anything with columns by name.
      strict: refuse a file in which anything had to be handled.
      bad_rows: what becomes of a file with rows that cannot be read: 'refuse' it and list them, or
        'skip' and count them.
      columns: the names of the two questions and, third, the label, as a list or with commas between;
        found by the usual names where left out. "title+body" joins columns by a blank, "2*title+body"
        repeats the title, so that its words weigh twice. Numbers, "1,2,5", where there is no header.
      duplicate_from: labels are numbers; pairs with at least this one are duplicates.
      duplicate_labels: labels are names; pairs with one of these are duplicates, all others not.

    Returns:
      `QuestionPairs` with a `report`.

    Raises:
      DataError: a file that is missing, empty, damaged, not one of pairs, lacks columns, or holds rows
        that cannot be read; with the file and lines. With `strict`, the report.
      MissingDependencyError: a Parquet file without pyarrow.

    Example:
      >>> import pathlib, tempfile
      >>> folder = pathlib.Path(tempfile.mkdtemp())
      >>> text = "question1,question2,is_duplicate\\nWhy?,,0\\nA?,B?,1\\n"
      >>> _ = (folder / "my.csv").write_text(text)
      >>> read_pairs(folder / "my.csv").report.count("empty")
      1
    """
    report, skip = ReadReport(shown_name(path)), check_bad_rows(bad_rows)
    label_of = _labels(duplicate_from, duplicate_labels)
    parts = list(_checked_columns(path, report, _named(columns), label_of))
    if not skip:
        report.refuse_bad_rows()
    if report.kept:
        pairs, lines = _pairs(parts, report)
        _note_repeats(pairs, lines, report)
    if strict:
        report.refuse_unless_clean()
    _refuse_without_rows(report)
    if not report.kept:
        raise DataError(f"{report.path} has no usable pair.\n{report}")
    return pairs


def iter_pairs(
    path: Any,
    *,
    bad_rows: str = "refuse",
    columns: Sequence[str] | str = (),
    duplicate_from: float | None = None,
    duplicate_labels: Sequence[str] | str = (),
) -> Iterator[QuestionPairs]:
    """Reads a file of any size in parts of about a mebibyte, so that memory holds one part at a time.

    As `read_pairs`, but repeated and contradicting rows are not looked for: that would need the
    whole file in memory.

    Args:
      path: as for `read_pairs`.
      bad_rows: as for `read_pairs`; refused at the first part that holds some.
      columns: as for `read_pairs`.
      duplicate_from: as for `read_pairs`.
      duplicate_labels: as for `read_pairs`.

    Yields:
      `QuestionPairs`; all share one growing `report`, and `row_numbers` count through the file.

    Raises:
      DataError: as `read_pairs`, when the part with the fault is reached.
    """
    report, skip = ReadReport(shown_name(path)), check_bad_rows(bad_rows)
    label_of = _labels(duplicate_from, duplicate_labels)
    for part in _checked_columns(path, report, _named(columns), label_of):
        if not skip:
            report.refuse_bad_rows()
        pairs, _ = _pairs([part], report)
        if len(pairs):
            yield pairs
    _refuse_without_rows(report)


# -- From rows to pairs -----------------------------------------------------------------------


def _named(columns: Sequence[str] | str) -> list[str]:
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


def _checked_columns(
    path: Any, report: ReadReport, columns: list[str], label_of: Callable[[Any], bool | None]
) -> Iterator[Columns]:
    """Columns of question pairs by our names, checked, with the rows' numbers and lines."""
    known = {name for names in COLUMN_NAMES.values() for name in names} | wanted_names(columns)
    with open_records(path, report, known) as records:
        places: dict[str, list[int]] = {}
        if not records.is_json:
            where = records.name if report.unit == "row" else f"{records.name}, line 1"
            header = header_or_numbers(records, columns)
            places = column_places(header, where, REQUIRED, ("id",), columns)
        for rows, lines in records.good():
            if records.is_json:
                if not places:  # The first object decides which keys the columns have in this file.
                    keys = list(rows[0])
                    where = f"{records.name}, line {lines[0]:,}"
                    places = column_places(keys, where, REQUIRED, ("id",), columns)
                    wanted = {keys[at] for at in chain(*places.values())}
                whole = [wanted <= row.keys() for row in rows]
                for row, line in compress(zip(rows, lines), map(not_, whole)):
                    lost = " or ".join(key for key in keys if key in wanted - row.keys())
                    report.add_bad_row(line, f": no {lost}; found: {', '.join(row)[:200]}.")
                lines = list(compress(lines, whole))
                rows = [[row.get(key) for key in keys] for row in compress(rows, whole)]
            if rows:
                values = list(zip(*rows))
                found = {
                    name: values[at[0]] if len(at) == 1 else [text_at(row, at) for row in rows]
                    for name, at in places.items()
                }
                yield _checked(found, lines, report, label_of)


def _checked(
    columns: Columns,
    lines: Sequence[int],
    report: ReadReport,
    label_of: Callable[[Any], bool | None],
) -> Columns:
    """The columns with checked labels and text; rows that are not pairs go into the report."""
    bad: dict[int, str] = {}
    for name in ("question1", "question2"):
        if set(map(type, columns[name])) - {str}:
            columns[name] = ["" if text is None else text for text in columns[name]]
            for at, text in enumerate(columns[name]):
                if not isinstance(text, str):
                    bad[at] = f", column {name}: {text!r:.40} is not text."
    values = columns["is_duplicate"]
    labels = list(map(label_of, values))
    if None in labels:
        for at in (at for at, label in enumerate(labels) if label is None):
            bad[at] = (
                f": is_duplicate is {values[at]!r:.40}; it must be 0 (different questions) or 1 "
                "(duplicates). Labels of other kinds: --duplicate-from NUMBER, --duplicate-labels NAMES."
            )
    columns = {**columns, "is_duplicate": labels, "lines": lines}
    if bad:
        for at, why in bad.items():
            report.add_bad_row(lines[at], why)
        columns = _some(columns, [at not in bad for at in range(len(lines))])
    if "id" in columns:
        columns["ids"] = list(map(str, columns.pop("id")))
    start = report.rows
    report.rows += len(columns["lines"])
    columns["row_numbers"] = range(start, report.rows)
    sides = columns["question1"], columns["question2"]
    if not all(all(map(str.strip, side)) for side in sides):
        full = [bool(one.strip() and two.strip()) for one, two in zip(*sides)]
        report.add("empty", compress(columns["lines"], [not whole for whole in full]))
        columns = _some(columns, full)
    report.kept += len(columns["lines"])
    return columns


def _some(columns: Columns, which: list[bool]) -> Columns:
    return {name: list(compress(values, which)) for name, values in columns.items()}


def _pairs(parts: list[Columns], report: ReadReport) -> tuple[QuestionPairs, np.ndarray]:
    """Parts of one file as a whole, and the line of each pair."""
    columns = {name: list(chain.from_iterable(part[name] for part in parts)) for name in parts[0]}
    lines = np.asarray(columns.pop("lines"), np.int64)
    return QuestionPairs(**columns, report=report), lines


def _refuse_without_rows(report: ReadReport) -> None:
    if not report.rows:
        raise DataError(f"{report.path} has no rows after its header.")


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
