"""How well groups agree with known ones: over pairs, and B-cubed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def group_figures(labels: np.ndarray, truth: Sequence[str]) -> dict[str, float | int]:
    """Precision, recall and F1 over pairs, and B-cubed over questions (Bagga and Baldwin, 1998).

    Args:
      labels: the group of each question, int64 [n].
      truth: its true group; a question of an empty one is alone.

    Example:
      >>> figures = group_figures(np.array([0, 0, 1, 1]), ["a", "a", "a", ""])
      >>> figures["precision"], round(figures["recall"], 3), figures["right_pairs"]
      (0.5, 0.333, 1)
    """
    alone = [name or f"\0{at}" for at, name in enumerate(truth)]
    true = np.unique(alone, return_inverse=True)[1].astype(np.int64)
    own = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    both = true * (int(own.max(initial=0)) + 1) + own
    sizes, true_sizes, shared = map(_sizes, (own, true, both))
    found, known, right = (
        int(size.sum() - len(own)) // 2 for size in (sizes, true_sizes, shared)
    )
    cubed = {
        "b_cubed_precision": float(np.mean(shared / sizes)),
        "b_cubed_recall": float(np.mean(shared / true_sizes)),
    }
    return {
        "pairs": found,
        "true_pairs": known,
        "right_pairs": right,
        "precision": right / found if found else 1.0,
        "recall": right / known if known else 1.0,
        "f1": 2 * right / (found + known) if found + known else 1.0,
        **cubed,
        "b_cubed_f1": 2 / sum(1 / value for value in cubed.values()),
    }


def _sizes(labels: np.ndarray) -> np.ndarray:
    """The size of each item's group, int64 [n]."""
    _, numbers, counts = np.unique(labels, return_inverse=True, return_counts=True)
    return counts[numbers]
