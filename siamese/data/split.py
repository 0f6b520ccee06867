"""Which rows of a labelled file train and which test."""

from __future__ import annotations

import numpy as np

from siamese.data.arguments import whole_number
from siamese.data.pairs import QuestionPairs
from siamese.errors import ArgumentError, DataError

MOST_TEST_ROWS = 10_240  # as in the course, where `test_rows` is None
_SEED = 34  # Fixed: a resumed run must see the same rows.


def split(
    pairs: QuestionPairs,
    train_rows: int | None = None,
    test_rows: int | None = None,
    how: str | None = None,
    *,
    test: QuestionPairs | None = None,
) -> tuple[QuestionPairs, QuestionPairs]:
    """The pairs to train on and to test on.

    Args:
      pairs: a file's labelled pairs.
      train_rows: how many rows train; 9 in 10 where None.
      test_rows: how many test; the others, but at most 10,240, where None.
      how: 'rows': the file's first rows train, the next ones test, as in the course; 'shuffled': rows drawn
        by a fixed seed; 'clusters': drawn too, and no question stands on both sides. Where None 'rows' if
        `train_rows` is given, else 'shuffled'.
      test: pairs from elsewhere that test: all of `pairs` train then, or the first `train_rows`.

    Raises:
      ArgumentError: more rows than there are; `test_rows` or 'clusters' beside `test`.
      DataError: the test pairs have one label only.
    """
    how = how or ("shuffled" if train_rows is None else "rows")
    draw = np.random.default_rng(_SEED)
    if test is not None:
        if test_rows or how == "clusters":
            raise ArgumentError(
                "--test-rows and --split clusters divide one file; leave them out beside --test."
            )
        if train_rows is not None:
            whole_number(train_rows, "train_rows", 1)
        rows = draw.permutation(len(pairs)) if how == "shuffled" else np.arange(len(pairs))
        train = pairs.select(rows[:train_rows])
    else:
        total = len(pairs) if pairs.report is None else pairs.report.rows
        train_rows = total * 9 // 10 if train_rows is None else train_rows
        rest = min(MOST_TEST_ROWS, total - train_rows) if test_rows is None else test_rows
        train, test = pairs.split_rows(train_rows, rest)
        if how == "shuffled":  # as many pairs as these rows have
            rows, n = draw.permutation(len(pairs)), len(train)
            train, test = pairs.select(rows[:n]), pairs.select(rows[n : n + len(test)])
        elif how == "clusters":
            share = len(test) / len(pairs)
            parts = pairs.split_by_cluster((1 - share, share), _SEED)
            train, test = (part.select(draw.permutation(len(part))) for part in parts)
            train = train.rows(0, train_rows)
    check_both_labels(test, "The test pairs")
    return train, test


def check_both_labels(pairs: QuestionPairs, what: str) -> None:
    """Refuses pairs of one label: there is nothing to tell apart."""
    labels = pairs.is_duplicate
    if not labels.any() or labels.all():
        raise DataError(
            f"{what} hold {int(labels.sum())} duplicates among {len(labels)}: both labels are needed. "
            "Give more rows; where the file is sorted, use --split shuffled."
        )
