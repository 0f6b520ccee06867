"""Checks of the notebooks' exercises: several cases each, with hints and never the solution.

Each ``check_<function>(fn)`` takes the learner's function, prints which cases it passed and, for those
it did not, the expected and the actual result and where to look, and returns a `Score`. `hint` tells
more on request.

Example:
  >>> def mean_negative(scores):
  ...     return scores.mean(axis=1)
  >>> check_mean_negative(mean_negative).points  # doctest: +ELLIPSIS
  ✗ mean_negative: 0 of 6 cases
  ...
"""

from .assignment import check_classify, check_predict
from .generator import check_data_generator
from .hints import hint, solution
from .losses import (
    check_modified_loss,
    check_symmetric_loss,
    check_triplet_loss,
    check_triplet_loss_fn,
)
from .models import check_shared_towers, check_siamese, check_train_model
from .numbers import (
    check_count_false_negatives,
    check_expected_calibration_error,
    check_masked_mean,
    check_one_shot,
)
from .score import MARK, Failure, Score
from .similarity import (
    check_closest_negative,
    check_cosine_similarity,
    check_mean_negative,
    check_normalize,
)
from .thresholds import check_accuracy_at, check_best_threshold

_CHECKS = {
    1: (check_cosine_similarity, check_triplet_loss),
    2: (check_mean_negative, check_closest_negative, check_modified_loss),
    3: (check_normalize, check_shared_towers),
    4: (check_accuracy_at, check_best_threshold),
    5: (check_data_generator, check_siamese, check_triplet_loss_fn, check_train_model, check_classify,
        check_predict),
    6: (check_symmetric_loss,),
    7: (check_masked_mean, check_count_false_negatives),
    8: (check_one_shot, check_expected_calibration_error),
}  # fmt: skip

# Number of the notebook -> name of the function in it -> its check.
EXERCISES = {number: {check.name: check for check in checks} for number, checks in _CHECKS.items()}
# Name of the function -> how many cases its check has.
OUT_OF = {check.name: len(check.cases) for checks in _CHECKS.values() for check in checks}

__all__ = [
    "EXERCISES",
    "MARK",
    "OUT_OF",
    "Failure",
    "Score",
    "hint",
    "solution",
    *(check.__name__ for checks in _CHECKS.values() for check in checks),
]
