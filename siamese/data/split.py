"""Which rows of a labelled file train, which validate and which test."""

from __future__ import annotations

import numpy as np

from siamese.data.pairs import QuestionPairs
from siamese.data.summary import COURSE_TEST_ROWS, COURSE_TRAIN_ROWS
from siamese.errors import ArgumentError, DataError

_SEED = 34  # Fixed: a resumed run must see the same rows.


def split(
    pairs: QuestionPairs,
    train_rows: int | None = None,
    test_rows: int | None = None,
    valid_rows: int = 0,
    how: str | None = None,
    *,
    valid: QuestionPairs | None = None,
    test: QuestionPairs | None = None,
) -> tuple[QuestionPairs, QuestionPairs | None, QuestionPairs]:
    """The pairs to train on, to validate on (None without `valid_rows`) and to test on.

    Args:
      pairs: a file's labelled pairs.
      train_rows: how many rows train; the course's 300,000 where None and there are more, else 9 in 10.
      test_rows: how many test; at most the course's 10,240 where None.
      valid_rows: so many of the training rows, the last of them, validate.
      how: 'rows': the file's first rows train, the next ones test, as in the course; 'shuffled': rows drawn
        by a fixed seed; 'clusters': drawn too, and no question stands on both sides. Where None 'rows' if
        `train_rows` is given or there are more than 300,000 rows, else 'shuffled'.
      valid: pairs from elsewhere that validate.
      test: pairs from elsewhere that test: all of `pairs` train then, or the first `train_rows`.

    Raises:
      ArgumentError: more rows than there are; `valid_rows` beside `valid`, `test_rows` beside `test`.
      DataError: the test or validation pairs have one label only.
    """
    for given, rows, name in ((valid, valid_rows, "valid"), (test, test_rows, "test")):
        if given is not None and rows:
            raise ArgumentError(
                f"{name}_rows are taken from the file; leave them out beside {name}."
            )
    total = len(pairs) if pairs.report is None else pairs.report.rows
    if how is None:
        how = "rows" if train_rows is not None or total > COURSE_TRAIN_ROWS else "shuffled"
    if test is not None:
        test_rows, train_rows = None, train_rows or total
        if how == "clusters":
            raise ArgumentError(
                "--split clusters divides one file; leave it out beside a test file."
            )
    elif train_rows is None:
        train_rows = COURSE_TRAIN_ROWS if total > COURSE_TRAIN_ROWS else total * 9 // 10
    if test is not None:
        draw = np.random.default_rng(_SEED)
        rows = draw.permutation(len(pairs)) if how == "shuffled" else np.arange(len(pairs))
        train = pairs.select(rows[:train_rows])
    else:
        rest = min(COURSE_TEST_ROWS, total - train_rows) if test_rows is None else test_rows
        train, test = pairs.split_rows(train_rows, rest)
        if how != "rows":
            train, test = _drawn(pairs, train, test, how, train_rows)
    check_both_labels(test, "The test pairs")
    if valid is not None or not valid_rows:
        return train, valid, test
    if not 0 < valid_rows < len(train):
        raise ArgumentError(
            f"valid_rows must lie between 1 and {len(train) - 1}, the training rows; it is {valid_rows}."
        )
    cut = len(train) - valid_rows
    return train.rows(0, cut), train.rows(cut, len(train)), test


def _drawn(
    pairs: QuestionPairs, train: QuestionPairs, test: QuestionPairs, how: str, train_rows: int
) -> tuple[QuestionPairs, QuestionPairs]:
    """As many pairs as `train` and `test` hold, drawn by a fixed seed."""
    draw = np.random.default_rng(_SEED)
    if how == "shuffled":
        rows = draw.permutation(len(pairs))[: len(train) + len(test)]
        return pairs.select(rows[: len(train)]), pairs.select(rows[len(train) :])
    share = len(test) / len(pairs)
    parts = pairs.split_by_cluster((1 - share, share), _SEED)
    train, test = (part.select(draw.permutation(len(part))) for part in parts)
    return train.rows(0, train_rows), test


def check_both_labels(pairs: QuestionPairs, what: str) -> None:
    """Refuses pairs of one label: there is nothing to tell apart."""
    labels = pairs.is_duplicate
    if not labels.any() or labels.all():
        raise DataError(
            f"{what} hold {int(labels.sum())} duplicates among {len(labels)}: both labels are needed. "
            "Give more rows; where the file is sorted, use --split shuffled."
        )
