"""QuestionPairs: labelled pairs of questions, read, checked, split and compared."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from siamese.data.clusters import Clusters, cluster_split, clusters, overlap
from siamese.data.pair_columns import PairColumns, joined, note_repeats
from siamese.data.read_report import ReadReport
from siamese.data.readers import read_columns
from siamese.errors import ArgumentError, DataError, ShapeError

CHUNK_ROWS = 50_000

__all__ = [
    "Clusters",
    "QuestionPairs",
    "ReadReport",
    "clusters",
    "iter_pairs",
    "overlap",
    "read_pairs",
    "read_tfds",
]


@dataclass(frozen=True, eq=False)
class QuestionPairs:
    """Pairs of questions, each labelled duplicate or not, kept column by column.

    Args:
      question1: the first question of each pair.
      question2: the second question of each pair.
      is_duplicate: bool [n] (0 and 1 are taken as well).
      ids: the file's own id of each pair; the numbers from 0 where left out.
      qid1: the file's own ids of the first questions, or None.
      qid2: the same for the second questions.
      row_numbers: int64 [n], rising: which data row of the file (from 0) each pair was, where rows
        were kept out; None where pair i is row i.
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
        if labels.dtype != bool:
            if labels.size and not np.isin(labels, (0, 1)).all():
                raise DataError("is_duplicate holds labels other than 0 and 1.")
            labels = labels.astype(bool)
        object.__setattr__(self, "is_duplicate", labels)
        for name in ("question2", "is_duplicate", "ids", "qid1", "qid2", "row_numbers"):
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
          ShapeError: a mask of another length.
          ArgumentError: a position that does not exist.
        """
        if isinstance(which, slice):
            which = np.arange(len(self))[which]
        which = np.asarray(which)
        if which.dtype == bool:
            if which.shape != (len(self),):
                raise ShapeError(f"A mask of shape {which.shape} for {len(self)} pairs.")
            which = np.flatnonzero(which)
        if not which.size:
            which = which.astype(np.int64)
        if which.ndim != 1 or which.dtype.kind not in "iu":
            raise ArgumentError("select takes a slice, a bool mask or a list of integer positions.")
        if which.size and not -len(self) <= which.min() <= which.max() < len(self):
            raise ArgumentError(f"Position {which.max()} of {len(self)} pairs does not exist.")
        positions = which.tolist()

        def take(column: Any) -> Any:
            if column is None or isinstance(column, np.ndarray):
                return column if column is None else column[which]
            return [column[i] for i in positions]

        names = ("question1", "question2", "is_duplicate", "ids", "qid1", "qid2")
        return QuestionPairs(**{name: take(getattr(self, name)) for name in names})

    def duplicates(self) -> QuestionPairs:
        """Only the pairs labelled duplicate: what the course trains on."""
        return self.select(self.is_duplicate)

    def split_rows(
        self, train_rows: int, test_rows: int | None = None
    ) -> tuple[QuestionPairs, QuestionPairs]:
        """The course's split: the first `train_rows` rows, then the next `test_rows`.

        Rows are the file's data rows. One that was kept out of the pairs (an empty question) still
        counts, so ``split_rows(300000, 10240)`` on Quora's file gives the course's rows.

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


def read_pairs(path: Any, *, strict: bool = False, format: str | None = None) -> QuestionPairs:
    """Reads labelled question pairs from a file, whatever its format; nothing is dropped silently.

    The format is found out by content: the course's ``questions.csv``, Quora's tab-separated
    original, Kaggle's ``train.csv``, GLUE's QQP files, any CSV, tab-separated, JSON Lines or
    Parquet file with the columns question1, question2 and is_duplicate; each also gzipped. Two
    paths are two text files, line i of the one a duplicate of line i of the other.

    Questions are kept as they stand (blanks and line breaks included). A row with an empty question
    is kept out, since the course's own code fails on it; its row still counts in `split_rows`.
    Repeated and contradicting rows are kept. All of it is counted in ``pairs.report``.

    Args:
      path: the file, or ``(path1, path2)`` for two text files.
      strict: refuse a file in which anything had to be handled.
      format: None to find it out, or one of csv, tsv, jsonl, parquet, text to insist.

    Returns:
      `QuestionPairs` with a `report`.

    Raises:
      DataError: a file that is missing, empty, damaged, no file of pairs, lacks columns, or holds
        a row that cannot be read; with the file and line. With `strict`, what `report` would say.
      MissingDependencyError: a Parquet file without pyarrow.

    Example:
      >>> import pathlib, tempfile
      >>> folder = pathlib.Path(tempfile.mkdtemp())
      >>> text = "question1,question2,is_duplicate\\nWhy?,,0\\nA?,B?,1\\n"
      >>> _ = (folder / "my.csv").write_text(text)
      >>> read_pairs(folder / "my.csv").report.count("empty")
      1
    """
    report = ReadReport(_shown(path))
    return _whole(read_columns(path, report, format, CHUNK_ROWS), report, strict)


def iter_pairs(
    path: Any, chunk_rows: int = CHUNK_ROWS, *, strict: bool = False, format: str | None = None
) -> Iterator[QuestionPairs]:
    """Reads a file of any size in parts, so that memory holds one part at a time.

    As `read_pairs`, but repeated and contradicting rows are not looked for: for that the whole
    file would have to be remembered.

    Args:
      path: as for `read_pairs`.
      chunk_rows: the most rows of a part.
      strict: stop with an error at the first part in which anything had to be handled.
      format: as for `read_pairs`.

    Yields:
      `QuestionPairs`; all share one growing `report`, and `row_numbers` count through the file.

    Raises:
      DataError: as `read_pairs`, when the part with the fault is reached.
    """
    report = ReadReport(_shown(path))
    for columns in read_columns(path, report, format, chunk_rows):
        if strict:
            report.refuse_unless_clean()
        if len(columns.lines):
            yield _pairs(columns, report, columns.rows)


def read_tfds(split: str = "train", data_dir: str | os.PathLike | None = None) -> QuestionPairs:
    """Reads Quora's pairs as TensorFlow Datasets' ``glue/qqp`` has them (the first use downloads).

    Args:
      split: 'train' or 'validation', or a slice such as 'train[:1000]'. 'test' has no labels.
      data_dir: where TensorFlow Datasets keeps its data; None for its default.

    Returns:
      `QuestionPairs` with a `report`.

    Raises:
      MissingDependencyError: without TensorFlow and TensorFlow Datasets.
      DataError: no such split, no network, or a split without labels.
    """
    from siamese.data.table_readers import tfds_columns

    report = ReadReport(f"glue/qqp, {split}", "TensorFlow Datasets", unit="row")
    folder = None if data_dir is None else os.fspath(data_dir)
    return _whole(tfds_columns(split, folder, report, CHUNK_ROWS), report, strict=False)


# -- From columns to pairs --------------------------------------------------------------------


def _shown(path: Any) -> str:
    return " + ".join(map(str, path)) if isinstance(path, (tuple, list)) else str(path)


def _pairs(columns: PairColumns, report: ReadReport, row_numbers: Any) -> QuestionPairs:
    ids = columns.rows if columns.ids is None else columns.ids
    return QuestionPairs(
        columns.question1,
        columns.question2,
        columns.is_duplicate,
        ids,
        columns.qid1,
        columns.qid2,
        row_numbers,
        report,
    )


def _whole(parts: Iterator[PairColumns], report: ReadReport, strict: bool) -> QuestionPairs:
    """All parts of a file as one, its repeated and contradicting rows noted."""
    all_parts = list(parts)
    if report.kept:
        columns = joined(all_parts)
        note_repeats(columns, report)
    if strict:
        report.refuse_unless_clean()
    if not report.kept:
        raise DataError(f"{report.path} has no usable pair.\n{report}")
    return _pairs(columns, report, None if report.kept == report.rows else columns.rows)
