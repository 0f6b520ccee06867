"""Which rows of a labelled file train, which validate and which test."""

from __future__ import annotations

import numpy as np

from siamese.data.pairs import QuestionPairs
from siamese.data.summary import COURSE_TEST_ROWS, COURSE_TRAIN_ROWS
from siamese.errors import ArgumentError, DataError

# The values of --split.
SPLITS = {
    "rows": "the file's first rows train, the next ones test, as in the course",
    "shuffled": "rows drawn by a fixed seed train and test",
    "clusters": "drawn too, and no question stands on both sides",
}
_SEED = 34  # Fixed: a resumed run must see the same rows.


def split(
    pairs: QuestionPairs,
    train_rows: int | None = None,
    test_rows: int | None = None,
    valid_rows: int = 0,
    how: str | None = None,
) -> tuple[QuestionPairs, QuestionPairs | None, QuestionPairs]:
    """The pairs to train on, to validate on (None without `valid_rows`) and to test on.

    Args:
      pairs: a file's labelled pairs.
      train_rows: how many rows train; the course's 300,000 where None and there are more, else 9 in 10.
      test_rows: how many test; at most the course's 10,240 where None.
      valid_rows: so many of the training rows, the last of them, validate.
      how: one of `SPLITS`; where None 'rows' if `train_rows` is given or there are more than 300,000
        rows, else 'shuffled'.

    Raises:
      ArgumentError: more rows than there are.
      DataError: the test or validation pairs have one label only.
    """
    total = len(pairs) if pairs.report is None else pairs.report.rows
    if how is None:
        how = "rows" if train_rows is not None or total > COURSE_TRAIN_ROWS else "shuffled"
    if train_rows is None:
        train_rows = COURSE_TRAIN_ROWS if total > COURSE_TRAIN_ROWS else total * 9 // 10
    if test_rows is None:
        test_rows = min(COURSE_TEST_ROWS, total - train_rows)
    train, test = pairs.split_rows(train_rows, test_rows)
    draw = np.random.default_rng(_SEED)
    if how == "shuffled":
        rows = draw.permutation(len(pairs))[: len(train) + len(test)]
        train, test = pairs.select(rows[: len(train)]), pairs.select(rows[len(train) :])
    elif how == "clusters":
        share = len(test) / len(pairs)
        parts = pairs.split_by_cluster((1 - share, share), _SEED)
        train, test = (part.select(draw.permutation(len(part))) for part in parts)
        train = train.rows(0, train_rows)
    check_both_labels(test, "The test pairs")
    if not valid_rows:
        return train, None, test
    if not 0 < valid_rows < len(train):
        raise ArgumentError(
            f"valid_rows must lie between 1 and {len(train) - 1}, the training rows; it is {valid_rows}."
        )
    cut = len(train) - valid_rows
    return train.rows(0, cut), train.rows(cut, len(train)), test


def check_both_labels(pairs: QuestionPairs, what: str) -> None:
    """Refuses pairs of one label: there is nothing to tell apart."""
    labels = pairs.is_duplicate
    if not labels.any() or labels.all():
        raise DataError(
            f"{what} hold {int(labels.sum())} duplicates among {len(labels)}: both labels are needed. "
            "Give more rows; where the file is sorted, use --split shuffled."
        )
