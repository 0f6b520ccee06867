"""QuestionPairs: labelled pairs of questions, read, checked, split and compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, cast

import numpy as np

from siamese.errors import ArgumentError, DataError, ShapeError
from siamese.reading.clusters import cluster_split
from siamese.reading.rows import ReadReport, Rows, open_rows
from siamese.system.arguments import counted, whole_number
from siamese.text.columns import (
    ALL_ID_NAMES,
    ID_NAMES,
    LINK_NAMES,
    TextColumns,
    columns_named,
    normal_name,
    shown_names,
)
from siamese.text.values import as_list, id_text, text_list

LABELS = {
    "0": False,
    "1": True,
    "0.0": False,
    "1.0": True,
    "false": False,
    "true": True,
}
BY_NAME = (
    "Question pairs need the columns {}, separated by comma, semicolon, tab or |. Name yours with "
    "columns=."
)
BY_ID = "Pairs by id need the list of their questions (texts=)."
# Our column -> its names in files (Quora's, Kaggle's, and the Hugging Face hub's).
COLUMN_NAMES = {
    "question1": ("question1", "sentence1"),
    "question2": ("question2", "sentence2"),
    "is_duplicate": ("is_duplicate", "label"),
}
BY_IDS = ("id1", "id2")
KNOWN_NAMES = (*(name for names in COLUMN_NAMES.values() for name in names), *BY_IDS)
PAIR_IDS = ("id", "idx", "pair_id")
MOST_TEST_ROWS = 10_240  # as in the course, where `test_rows` is None
_SEED = 34  # of `split`, fixed: a resumed run must see the same rows


@dataclass(frozen=True, eq=False)
class QuestionPairs:
    """Pairs of questions, each labelled duplicate or not, kept column by column.

    Args:
      question1, question2: the questions of each pair.
      is_duplicate: bool [n] (0 and 1 are taken as well).
      ids: the file's own id of each pair; `row_numbers` where left out.
      row_numbers: int64 [n], rising: each pair's data row of the file, from 0; 0 to n - 1 where left out.
      report: the rows that were left out, or None.

    ShapeError for columns of different lengths, DataError for a label that is neither 0
    nor 1.

    Example:
      >>> pairs = QuestionPairs(["Is it far?", "Why?"], ["How far is it?", "Who?"], [1, 0])
      >>> len(pairs), pairs.base_rate, pairs.duplicates().question2
      (2, 0.5, ['How far is it?'])
    """

    question1: list[str]
    question2: list[str]
    is_duplicate: np.ndarray
    ids: list[Any] = None  # type: ignore[assignment]  # __post_init__ sets it
    row_numbers: np.ndarray = None  # type: ignore[assignment]  # likewise
    report: ReadReport | None = None

    def __post_init__(self) -> None:
        # Lists, since a column of pandas counts by its index.
        one = text_list(self.question1, "QuestionPairs")
        two = text_list(self.question2, "QuestionPairs")
        labels = np.asarray(self.is_duplicate)
        n = len(one)
        if labels.ndim != 1 or (
            labels.dtype != bool and not {*labels.tolist()} <= {0, 1}
        ):
            raise DataError("is_duplicate holds labels other than 0 and 1.")
        rows = cast(Any, self.row_numbers)
        ids = cast(Any, self.ids)
        rows = range(n) if rows is None else rows
        ids = as_list(rows if ids is None else ids, "ids must be a list")
        columns: Any = one, two, labels.astype(bool), ids, np.asarray(rows, np.int64)
        for field, column in zip(fields(self), columns):
            if len(column) != n:
                raise ShapeError(
                    f"question1 has {n} entries and {field.name} has {len(column)}."
                )
            object.__setattr__(self, field.name, column)

    def __len__(self) -> int:
        return len(self.question1)

    def __repr__(self) -> str:
        return f"QuestionPairs({counted(len(self), 'pair')}, {self.base_rate:.1%} duplicates)"

    @property
    def base_rate(self) -> float:
        """The share of duplicates among the pairs; nan where there are none."""
        return float(self.is_duplicate.mean()) if len(self) else float("nan")

    def rows(self, start: int, stop: int) -> QuestionPairs:
        """Pairs `start` (inclusive) to `stop` (exclusive), as a slice of a list does."""
        return self.select(slice(start, stop))

    def select(self, which: Any) -> QuestionPairs:
        """Some of the pairs, without report and row numbers: by a slice, a bool mask [n] or positions."""
        empty = not isinstance(which, slice) and not len(which)
        which = np.arange(len(self))[slice(0) if empty else which]
        texts = (self.question1, self.question2, self.ids)
        question1, question2, ids = (
            [column[at] for at in which.tolist()] for column in texts
        )
        return QuestionPairs(question1, question2, self.is_duplicate[which], ids)

    def duplicates(self) -> QuestionPairs:
        """Only the pairs labelled duplicate: what the course trains on."""
        return self.select(self.is_duplicate)

    def split_rows(
        self, train_rows: int, test_rows: int | None = None
    ) -> tuple[QuestionPairs, QuestionPairs]:
        """The course's split: the first `train_rows` rows train, the next `test_rows` (or all) test.

        Rows are the file's, those that were left out counted: ``split_rows(300000,
        10240)`` of Quora's file is the course's split. ArgumentError where there are
        fewer rows.
        """
        total = self.report.rows if self.report is not None else len(self)
        test_rows = total - train_rows if test_rows is None else test_rows
        if train_rows < 1 or test_rows < 1 or train_rows + test_rows > total:
            asked = f"train_rows={train_rows:,} and test_rows={test_rows:,}"
            raise ArgumentError(
                f"{asked} of {total:,} rows: each is above 0, both together no more."
            )
        ends = np.searchsorted(self.row_numbers, [train_rows, train_rows + test_rows])
        return self.rows(0, ends[0]), self.rows(*ends)

    def split_by_cluster(
        self, fractions: Sequence[float], seed: int = 0
    ) -> list[QuestionPairs]:
        """Parts that share no question, so that a test asks about unseen questions only.

        Each fraction, such as ``(0.8, 0.1, 0.1)``, gives about this share of the pairs,
        in their order. For errors see `cluster_split`.
        """
        return [self.select(rows) for rows in cluster_split(self, fractions, seed)]


def read_pairs(
    source: Any,
    *,
    columns: Sequence[str] | str = (),
    encoding: str | None = None,
    bad_rows: str = "refuse",
    labels: bool = True,
    texts: Mapping[str, str] | None = None,
) -> QuestionPairs:
    """Reads labelled question pairs: the course's ``questions.csv``, Quora's and Kaggle's files, any other.

    The content decides the format, as in `read_questions`. A row with an empty question
    is left out, since the course's own code fails on it, but counts in `split_rows`, as
    a row that cannot be read does. Repeated rows stay. ``pairs.report`` counts what was
    left out.

    Args:
      source: a path, '-' for standard input, or a table in memory: a DataFrame, a `datasets.Dataset`, ...
      columns: the two questions and, third, the label, as a list or with commas between, each as the
        `column` of `read_questions`; question1, question2 and is_duplicate where left out.
      encoding: of the text; UTF-8 where None.
      bad_rows: 'refuse' a file with a row that cannot be read, or 'skip' such rows and count them.
      labels: False for a file whose labels are not read; all its pairs count as duplicates.
      texts: id -> question, where the file names its questions by their ids, in the columns id1 and id2; of
        a file without labels all pairs are duplicates. A list with a column of links beside its ids, such
        as `duplicate_of`, has the pairs of these; an empty link is none.

    Raises:
      DataError: a file that is missing, empty, damaged, not one of pairs, lacks columns, or holds a row
        that cannot be read; with the file and line.
      MissingDependencyError: a Parquet file without pyarrow, an Excel file without python-calamine.

    Example:
      >>> table = {"question1": ["Why?", "A?"], "question2": ["", "B?"], "is_duplicate": [0, 1]}
      >>> pairs = read_pairs(table)
      >>> pairs.question1, pairs.report.counts["empty"]
      (['A?'], 1)
    """
    specs = _column_specs(columns)[: 3 if labels else 2]
    known = set(KNOWN_NAMES)
    if texts is not None:
        texts = {id_text(i): text for i, text in texts.items()}
        known.update(LINK_NAMES)
    with open_rows(
        source, bad_rows, names=known, specs=specs, encoding=encoding
    ) as rows:
        made_of = _pair_columns(rows, specs, labels, texts is not None)
        entries = list(_entries(rows, made_of, texts))
    report = rows.report
    if not report.rows:
        raise DataError(f"{report.path} has no rows after its header.")
    if not entries:
        raise DataError(f"{report.path} has no usable pair.\n{report}")
    question1, question2, answers, ids, numbers = map(list, zip(*entries))
    return QuestionPairs(
        question1, question2, np.array(answers), ids, np.array(numbers), report
    )


def _column_specs(columns: Sequence[str] | str) -> list[str]:
    """The columns as a user names them, taken apart."""
    specs = columns.split(",") if isinstance(columns, str) else [*map(str, columns)]
    if columns and len(specs) not in (2, 3):
        raise ArgumentError(
            f"columns names two questions and perhaps a label; it is {columns!r}."
        )
    return specs if columns else []


def names_by_id(source: Any, encoding: str | None = None) -> bool:
    """Whether a file names its questions by their ids: it has id1 and id2, and no question1."""
    with open_rows(source, names=KNOWN_NAMES, encoding=encoding) as rows:
        names = set(map(normal_name, rows.header))
    return {"id1", "id2"} <= names and names.isdisjoint(COLUMN_NAMES["question1"])


Entry = tuple[str, str, bool, Any, int]  # question1, question2, label, id, data row


def _entries(
    rows: Rows, made_of: list[TextColumns], texts: Mapping[str, str] | None
) -> Iterator[Entry]:
    """The rows with both questions and a label; the others go into the report."""
    one, two, *label = made_of
    if texts is not None and len(one.columns) + len(two.columns) > 2:
        raise DataError(f"{rows.where}: columns of ids cannot be joined.")
    key = rows.first_column(PAIR_IDS)
    for line, number, row in rows:
        if texts is None:
            pair = rows.pair(line, row, (one, two))
        else:
            pair = [id_text(row.get(side.columns[0])) for side in (one, two)]
            if not all(pair):  # An empty link is none.
                rows.report.add("linkless", [line])
                continue
            if unknown := [name for name in pair if name not in texts]:
                rows.report.bad_row(
                    line, f"the list has no question with the id {unknown[0]!r}."
                )
                continue
            pair = [texts[name] for name in pair]
        if not pair:
            continue
        value = row.get(label[0].columns[0]) if label else 1
        answer = LABELS.get(str(value).strip().lower())
        if answer is None:
            what = "it must be 0 (different questions) or 1 (duplicates)"
            rows.report.bad_row(line, f"is_duplicate is {value!r:.40}; {what}.")
        else:
            yield (
                pair[0],
                pair[1],
                answer,
                id_text(row.get(key)) if key else number,
                number,
            )


def has_links(source: Any, **options: Any) -> bool:
    """Whether a list has a column of links to other questions of it, such as `duplicate_of`.

    Options are `bad_rows` and `encoding` of `read_pairs`.
    """
    with open_rows(source, names=(*LINK_NAMES, *ALL_ID_NAMES), **options) as rows:
        has_pairs = {"question1", "id1"}.intersection(map(normal_name, rows.header))
        return not rows.is_plain and not has_pairs and _links(rows) is not None


def _links(rows: Rows) -> list[TextColumns] | None:
    """The columns of ids and of links to other questions, of a list that has both."""
    if {"id1", "id2"} <= set(map(normal_name, rows.header)):
        return None
    key = rows.first_column(ID_NAMES) or rows.first_column(ALL_ID_NAMES)
    link = rows.first_column(LINK_NAMES)
    return [TextColumns([key]), TextColumns([link])] if key and link else None


def _pair_columns(
    rows: Rows, specs: Sequence[str], labels: bool, by_id: bool
) -> list[TextColumns]:
    """What makes both questions, or their ids, and the label; `specs` name the first of them."""
    has_labels = bool(columns_named(COLUMN_NAMES["is_duplicate"], rows.header))
    if by_id and not specs and (links := _links(rows)):
        return links
    if by_id and len(specs) < 3 and not has_labels:
        labels = False
    required = list(BY_IDS if by_id else ("question1", "question2"))
    required += ["is_duplicate"] * labels
    made_of = list(map(rows.text_columns, specs))
    for name in required[len(made_of) :]:
        usual = COLUMN_NAMES.get(name, (name,))
        columns = [
            other
            for other in rows.header
            if normal_name(other) in map(normal_name, usual)
        ]
        if len(columns) != 1:
            several = f"{name} may be any of {' and '.join(columns)}"
            what = several if columns else f"no column {name}"
            has_ids = set(BY_IDS) <= set(map(normal_name, rows.header))
            is_by_id = name == "question1" and has_ids
            how = BY_ID if is_by_id else BY_NAME.format(", ".join(required))
            raise DataError(
                f"{rows.where}: {what}; the columns: {shown_names(rows.header)}. {how}",
                arguments=("columns", "texts"),
            )
        made_of.append(TextColumns(columns))
    return made_of


# ---- Which pairs train and which test ----


def split(
    pairs: QuestionPairs,
    train_rows: int | None = None,
    test_rows: int | None = None,
    *,
    by_cluster: bool = False,
    test: QuestionPairs | None = None,
) -> tuple[QuestionPairs, QuestionPairs]:
    """The pairs to train on and to test on: drawn by a fixed seed, or with `train_rows` in file order.

    Args:
      pairs: a file's labelled pairs.
      train_rows: how many rows train, the first; 9 in 10 where None.
      test_rows: how many test; the others, but at most 10,240, where None.
      by_cluster: draw so that no question stands on both sides.
      test: pairs from elsewhere that test: all of `pairs` train then, or the first `train_rows`.

    ArgumentError for more rows than there are, and for `test_rows` or `by_cluster`
    beside `test`; DataError where the test pairs have one label only.
    """
    order = np.arange(len(pairs))
    if train_rows is None:
        order = np.random.default_rng(_SEED).permutation(len(pairs))
    if test is not None:
        if test_rows or by_cluster:
            raise ArgumentError(
                "test_rows and by_cluster=True divide one file; leave them out beside test=.",
                arguments=("test_rows", "by_cluster", "test"),
            )
        if train_rows is not None:
            whole_number(train_rows, "train_rows", 1)
        train = pairs.select(order[:train_rows])
    else:
        total = len(pairs) if pairs.report is None else pairs.report.rows
        train_rows = total * 9 // 10 if train_rows is None else train_rows
        rest = (
            min(MOST_TEST_ROWS, total - train_rows) if test_rows is None else test_rows
        )
        train, test = pairs.split_rows(train_rows, rest)
        n = len(train)
        m = len(test)
        if by_cluster:
            draw = np.random.default_rng(_SEED)
            parts = pairs.split_by_cluster((1 - m / len(pairs), m / len(pairs)), _SEED)
            train, test = (part.select(draw.permutation(len(part))) for part in parts)
            train = train.rows(0, train_rows)
        else:  # as many pairs as these rows have
            train = pairs.select(order[:n])
            test = pairs.select(order[n : n + m])
    check_both_labels(test, "The test pairs")
    return train, test


def check_both_labels(pairs: QuestionPairs, what: str) -> None:
    """Refuses pairs of one label: there is nothing to tell apart."""
    labels = pairs.is_duplicate
    if not labels.any() or labels.all():
        raise DataError(
            f"{what} hold {counted(int(labels.sum()), 'duplicate')} among {len(labels)}: both labels are "
            "needed. Give more rows; without train_rows a sorted file is shuffled.",
            arguments=("train_rows",),
        )
