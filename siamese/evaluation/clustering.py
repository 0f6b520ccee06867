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


def b_cubed(found: Any, truth: Any, *, counted: Any = None) -> BCubed:
    """B-cubed precision, recall and F (Bagga and Baldwin, 1998; Amigo et al., 2009).

    Every item counts itself, so that all items alone have precision 1, and all in one group recall 1.

    Args:
      found: [n]; the group of each item: equal values, one group.
      truth: [n]; its true group.
      counted: bool [n]; the items over which is averaged, all where None. Their groups are whole.

    Raises:
      DataError: unequal lengths, or no items.

    Example:
      >>> b_cubed([0, 0, 0, 1], ["a", "a", "b", "b"]).precision
      0.6666666666666666
    """
    if len(found) != len(truth) or not len(found):
        raise DataError(f"B-cubed needs two groups of each item: {len(found)} and {len(truth)}.")
    groups, of_found, sizes = np.unique(found, return_inverse=True, return_counts=True)
    _, of_truth, true_sizes = np.unique(truth, return_inverse=True, return_counts=True)
    both = of_truth.astype(np.int64) * len(groups) + of_found
    _, cell, shared = np.unique(both, return_inverse=True, return_counts=True)
    where = slice(None) if counted is None else np.asarray(counted, bool)
    shared = shared[cell][where]  # [items]: of an item's group, those of its true group
    precision = float((shared / sizes[of_found][where]).mean())
    recall = float((shared / true_sizes[of_truth][where]).mean())
    return BCubed(precision, recall, 2 * precision * recall / (precision + recall))
