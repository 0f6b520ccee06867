"""QuestionPairs: labelled pairs of questions, read, checked, split and compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, zip_longest
from typing import Any

import numpy as np

from siamese.data.clusters import cluster_split, number_questions
from siamese.data.files import OpenFile, ReadReport, shown_name
from siamese.data.records import COLUMN_NAMES, Records, check_bad_rows, column_places
from siamese.errors import ArgumentError, DataError, ShapeError

CHUNK_ROWS = 50_000
LABELS = {"0": False, "1": True, "0.0": False, "1.0": True}
REQUIRED = ("question1", "question2", "is_duplicate")
OPTIONAL = ("id", "qid1", "qid2")
Columns = dict[str, Sequence[Any]]  # our column -> its values
TEXT_COLUMNS = ("question1", "question2", "is_duplicate", "ids", "qid1", "qid2")


@dataclass(frozen=True, eq=False)
class QuestionPairs:
    """Pairs of questions, each labelled duplicate or not, kept column by column.

    Args:
      question1: the first question of each pair.
      question2: the second question of each pair.
      is_duplicate: bool [n] (0 and 1 are taken as well).
      ids: the file's own id of each pair; the numbers from 0 where left out.
      qid1, qid2: the file's own ids of the first and second questions, or None.
      row_numbers: int64 [n], rising: the data row of the file (from 0) of each pair; None where pair
        i is row i.
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
    ids: list[str] | np.ndarray | None = None
    qid1: list[str] | None = None
    qid2: list[str] | None = None
    row_numbers: np.ndarray | None = None
    report: ReadReport | None = None

    def __post_init__(self):
        n = len(self.question1)
        if self.ids is None:
            object.__setattr__(self, "ids", np.arange(n))
        labels = np.asarray(self.is_duplicate)
        if labels.dtype != bool and labels.size and not np.isin(labels, (0, 1)).all():
            raise DataError("is_duplicate holds labels other than 0 and 1.")
        object.__setattr__(self, "is_duplicate", labels.astype(bool))
        for name in (*TEXT_COLUMNS[1:], "row_numbers"):
            column = getattr(self, name)
            if column is not None and len(column) != n:
                raise ShapeError(f"question1 has {n} entries and {name} has {len(column)}.")

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
        """Some of the pairs, in the order asked for.

        Args:
          which: a slice, a bool mask [n], or integer positions.

        Returns:
          New `QuestionPairs` without report and row numbers.

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

        def take(column: Any) -> Any:
            if isinstance(column, np.ndarray):
                return column[which]
            return column and [column[at] for at in which.tolist()]

        return QuestionPairs(**{name: take(getattr(self, name)) for name in TEXT_COLUMNS})

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
        numbers = np.arange(len(self)) if self.row_numbers is None else self.row_numbers
        total = self.report.rows if self.report is not None else len(self)
        test_rows = total - train_rows if test_rows is None else test_rows
        if train_rows < 1 or test_rows < 1 or train_rows + test_rows > total:
            raise ArgumentError(
                f"train_rows={train_rows:,} and test_rows={test_rows:,} of {total:,} rows: both "
                f"must be at least 1 and together at most {total:,}."
            )
        start, middle, stop = np.searchsorted(numbers, [0, train_rows, train_rows + test_rows])
        return self.rows(start, middle), self.rows(middle, stop)

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


def read_pairs(path: Any, *, strict: bool = False, bad_rows: str = "refuse") -> QuestionPairs:
    """Reads labelled question pairs from a file, whatever its format; nothing is dropped silently.

    The content decides the format: the course's ``questions.csv``, Quora's tab-separated original,
    Kaggle's ``train.csv``, GLUE's QQP files, any CSV, tab-separated, JSON Lines or Parquet file with
    the columns question1, question2 and is_duplicate; each also gzipped. Two paths are two text
    files, line i of the one a duplicate of line i of the other.

    Questions are kept as they stand, blanks and line breaks included. A row with an empty question
    is kept out, since the course's own code fails on it, but counts in `split_rows`. Repeated and
    contradicting rows are kept. ``pairs.report`` counts all of it.

    Args:
      path: the file, or ``(path1, path2)`` for two text files; ``-`` for standard input.
      strict: refuse a file in which anything had to be handled.
      bad_rows: what becomes of a file with rows that cannot be read: 'refuse' it and list them, or
        'skip' and count them.

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
    report, skip = ReadReport(_shown(path)), check_bad_rows(bad_rows)
    parts = [_checked(*part, report) for part in _columns(path, report)]
    if not skip:
        report.refuse_bad_rows()
    if report.kept:
        pairs = _joined([pairs for pairs, _ in parts], report)
        _note_repeats(pairs, np.concatenate([lines for _, lines in parts]), report)
    if strict:
        report.refuse_unless_clean()
    if not report.rows:
        raise DataError(f"{report.path} has no rows after its header.")
    if not report.kept:
        raise DataError(f"{report.path} has no usable pair.\n{report}")
    return pairs


def iter_pairs(
    path: Any, chunk_rows: int = CHUNK_ROWS, *, strict: bool = False, bad_rows: str = "refuse"
) -> Iterator[QuestionPairs]:
    """Reads a file of any size in parts, so that memory holds one part at a time.

    As `read_pairs`, but repeated and contradicting rows are not looked for: that would need the
    whole file in memory.

    Args:
      path: as for `read_pairs`.
      chunk_rows: the most rows of a part.
      strict: stop with an error at the first part in which anything had to be handled.
      bad_rows: as for `read_pairs`; refused at the first part that holds some.

    Yields:
      `QuestionPairs`; all share one growing `report`, and `row_numbers` count through the file.

    Raises:
      DataError: as `read_pairs`, when the part with the fault is reached.
    """
    if chunk_rows < 1:
        raise ArgumentError(f"chunk_rows must be at least 1; it is {chunk_rows}.")
    report, skip = ReadReport(_shown(path)), check_bad_rows(bad_rows)
    for columns, lines in _columns(path, report):
        for start in range(0, len(lines), chunk_rows):
            part = slice(start, start + chunk_rows)
            some = {name: values[part] for name, values in columns.items()}
            pairs, _ = _checked(some, lines[part], report)
            if not skip:
                report.refuse_bad_rows()
            if strict:
                report.refuse_unless_clean()
            if len(pairs):
                yield pairs
    if not report.rows:
        raise DataError(f"{report.path} has no rows after its header.")


# -- From rows to pairs -----------------------------------------------------------------------


def _shown(path: Any) -> str:
    if isinstance(path, (tuple, list)):
        return " + ".join(map(str, path))
    return shown_name(path)


def _columns(path: Any, report: ReadReport) -> Iterator[tuple[Columns, Sequence[int]]]:
    """The columns of question pairs by our names, and the line each row starts on."""
    if isinstance(path, (tuple, list)):
        yield from _text_columns(path, report)
        return
    known = {name for names in COLUMN_NAMES.values() for name in names}
    with Records(path, report, known) as records:
        if records.is_json:
            yield from _json_columns(records, report)
            return
        places = column_places(records.header, f"{records.name}, line 1", REQUIRED, OPTIONAL)
        for rows, lines in records.good():
            values = list(zip(*rows))
            yield {name: values[at] for name, at in places.items()}, lines


def _json_columns(records: Records, report: ReadReport) -> Iterator[tuple[Columns, Sequence[int]]]:
    if records.file.start.startswith(b"["):
        raise DataError(
            f"{records.name}, line 1: a JSON array. Write one JSON object on each line instead."
        )
    keys: dict[str, str] = {}  # our column -> the key in this file
    for rows, lines in records.good():
        kept = []
        for row, line in zip(rows, lines):
            if not isinstance(row, dict):
                report.add_bad_row(line, f": not a JSON object: {str(row)[:40]!r}.")
                continue
            if not keys:
                where = f"{records.name}, line {line:,}"
                places = column_places(list(row), where, REQUIRED, OPTIONAL)
                keys = {column: list(row)[at] for column, at in places.items()}
            if missing := [key for key in keys.values() if key not in row]:
                why = f": no {' or '.join(missing)}; found: {', '.join(row)[:200]}."
                report.add_bad_row(line, why)
            else:
                kept.append((row, line))
        columns = {column: [row[key] for row, _ in kept] for column, key in keys.items()}
        if kept:
            yield columns, [line for _, line in kept]


def _text_columns(
    paths: Sequence[Any], report: ReadReport
) -> Iterator[tuple[Columns, Sequence[int]]]:
    """Two text files: line i of the one and line i of the other are duplicates."""
    if len(paths) != 2:
        raise ArgumentError(f"{len(paths)} paths: give one file, or two text files.")
    report.format = "two text files, line by line"
    with OpenFile(paths[0]) as file1, OpenFile(paths[1]) as file2:
        sides = [chain.from_iterable(file.lines(report)) for file in (file1, file2)]
        numbered = enumerate(zip_longest(*sides), start=1)
        while chunk := list(islice(numbered, CHUNK_ROWS)):
            if None in chunk[-1][1]:
                for _ in numbered:
                    pass
                short, long = sorted((file1, file2), key=lambda file: file.lines_read)
                raise DataError(
                    f"{short.name} has {short.lines_read:,} lines and {long.name} has "
                    f"{long.lines_read:,}; line i of the one must be a duplicate of line i of the "
                    "other."
                )
            lines = [line for line, _ in chunk]
            columns = dict(zip(REQUIRED[:2], zip(*(pair for _, pair in chunk))))
            yield {**columns, "is_duplicate": ["1"] * len(lines)}, lines


def _checked(
    columns: Columns, lines: Sequence[int], report: ReadReport
) -> tuple[QuestionPairs, np.ndarray]:
    """Pairs with checked labels and text, and their lines; rows that are none go into the report."""
    bad: dict[int, str] = {}
    for name in ("question1", "question2"):
        if set(map(type, columns[name])) - {str}:
            columns[name] = ["" if text is None else text for text in columns[name]]
            for at, text in enumerate(columns[name]):
                if not isinstance(text, str):
                    bad[at] = f", column {name}: {text!r:.40} is not text."
    values = columns["is_duplicate"]
    labels = [LABELS.get(str(v).strip()) if type(v) is not bool else v for v in values]
    if None in labels:
        for at in (at for at, label in enumerate(labels) if label is None):
            bad[at] = (
                f": is_duplicate is {values[at]!r:.40}; it must be 0 (different questions) or 1 "
                "(duplicates)."
            )
    if bad:
        for at, why in bad.items():
            report.add_bad_row(lines[at], why)
        good = [at for at in range(len(lines)) if at not in bad]
        lines, labels = [lines[at] for at in good], [labels[at] for at in good]
        columns = {name: [column[at] for at in good] for name, column in columns.items()}
    ids, qid1, qid2 = (
        list(map(str, columns[name])) if name in columns else None
        for name in ("id", "qid1", "qid2")
    )
    n, lines = len(lines), np.asarray(lines, np.int64)
    rows = np.arange(report.rows, report.rows + n)
    question1, question2 = list(columns["question1"]), list(columns["question2"])
    pairs = QuestionPairs(
        question1, question2, labels, rows if ids is None else ids, qid1, qid2, rows, report
    )
    report.rows += n
    if not (all(map(str.strip, question1)) and all(map(str.strip, question2))):
        keep = np.array([bool(a.strip() and b.strip()) for a, b in zip(question1, question2)])
        report.add("empty", lines[~keep].tolist())
        kept = pairs.select(keep)
        pairs, lines = replace(kept, row_numbers=rows[keep], report=report), lines[keep]
    report.kept += len(pairs)
    return pairs, lines


def _joined(parts: list[QuestionPairs], report: ReadReport) -> QuestionPairs:
    """Parts of one file as a whole; row numbers only where rows were kept out."""

    def column(name: str) -> Any:
        pieces = [getattr(part, name) for part in parts]
        if pieces[0] is None or isinstance(pieces[0], np.ndarray):
            return None if pieces[0] is None else np.concatenate(pieces)
        return [value for piece in pieces for value in piece]

    rows = None if report.kept == report.rows else column("row_numbers")
    columns = {name: column(name) for name in TEXT_COLUMNS}
    return QuestionPairs(**columns, row_numbers=rows, report=report)


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
