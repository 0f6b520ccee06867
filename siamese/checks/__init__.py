"""Checks of the notebooks' exercises: several cases each, with hints and never the solution.

Each ``check_<function>(fn)`` takes the learner's function, prints which cases it passed and, for those
it did not, what was expected, what came and where to look, and returns a `Score`.

Example:
  >>> def mean_negative(scores):
  ...     return scores.mean(axis=1)
  >>> check_mean_negative(mean_negative).points  # doctest: +ELLIPSIS
  ✗ mean_negative: 0 of 6 cases
  ...
"""

from __future__ import annotations

from .model_checks import check_normalize, check_shared_towers, check_siamese
from .score import Failure, Score
from .similarity_checks import (
    check_closest_negative,
    check_cosine_similarity,
    check_mean_negative,
)
from .threshold_checks import check_accuracy_at, check_best_threshold

# Number of the notebook -> name of the function in it -> its check.
EXERCISES = {
    1: {
        "cosine_similarity": check_cosine_similarity,
        "mean_negative": check_mean_negative,
        "closest_negative": check_closest_negative,
    },
    2: {"normalize": check_normalize, "shared_towers": check_shared_towers},
    3: {"accuracy_at": check_accuracy_at, "best_threshold": check_best_threshold},
    4: {"Siamese": check_siamese},
}

__all__ = [
    "EXERCISES",
    "Failure",
    "Score",
    *(check.__name__ for checks in EXERCISES.values() for check in checks.values()),
]
