"""Groups against the truth: B-cubed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from siamese.errors import DataError


class BCubed(NamedTuple):
    """How well groups agree with the true ones, item by item."""

    precision: float  # of an item's group, the share that is of its true group
    recall: float  # of an item's true group, the share that is in its group
    f: float  # F1 of the two means


def b_cubed(groups: Any, truth: Any, *, counted: Any = None) -> BCubed:
    """B-cubed precision, recall and F (Bagga and Baldwin, 1998; Amigo et al., 2009).

    Every item counts itself, so that all items alone have precision 1, and all in one group recall 1.

    Args:
      groups: [n]; the group of each item: equal values, one group.
      truth: [n]; its true group.
      counted: bool [n]; the items over which is averaged, all where None. Their groups are whole.

    Raises:
      DataError: unequal lengths, or no items.

    Example:
      >>> b_cubed([0, 0, 0, 1], ["a", "a", "b", "b"]).precision
      0.6666666666666666
    """
    if len(groups) != len(truth) or not len(groups):
        raise DataError(f"B-cubed needs two groups of each item: {len(groups)} and {len(truth)}.")
    sizes, of_item = _sizes(groups)
    true_sizes, of_true = _sizes(truth)
    shared, _ = _sizes(of_true.astype(np.int64) * len(groups) + of_item)
    where = slice(None) if counted is None else np.asarray(counted, bool)
    precision = float((shared / sizes)[where].mean())
    recall = float((shared / true_sizes)[where].mean())
    return BCubed(precision, recall, 2 * precision * recall / (precision + recall))


def _sizes(groups: Any) -> tuple[np.ndarray, np.ndarray]:
    """The size of each item's group, and the group's number: int [n], int [n]."""
    _, numbers, counts = np.unique(groups, return_inverse=True, return_counts=True)
    return counts[numbers], numbers
