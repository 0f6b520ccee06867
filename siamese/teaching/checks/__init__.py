"""Checks of the notebooks' exercises: several cases each, and one sentence for a mistake.

Each ``check_<function>(fn)`` takes the learner's function, prints which cases it passed and, where it
failed, the expected and the actual result and the mistake, and returns a `Score`. `hint` tells more on
request, and `solution` shows the answer after three failed tries or hints.

Example:
  >>> def mean_negative(scores):
  ...     return scores.mean(axis=1)
  >>> check_mean_negative(mean_negative).points  # doctest: +ELLIPSIS
  ✗ mean_negative: 0 of 6 cases
  ...
"""

from siamese.errors import ArgumentError

from .assignment import check_classify, check_data_generator, check_predict
from .batch import (
    check_closest_negative,
    check_cosine_similarity,
    check_mean_negative,
    check_triplet_loss,
)
from .beyond import check_count_false_negatives, check_masked_mean, check_one_shot
from .engine import MARK, TRIES, Exercise, Failure, Score
from .evaluation import (
    check_accuracy_at,
    check_best_threshold,
    check_expected_calibration_error,
)
from .loss import (
    check_modified_loss,
    check_symmetric_loss,
    check_triplet_loss_fn,
)
from .model import check_normalize, check_shared_towers, check_siamese, check_train_model

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
_BY_NAME = {check.name: check for check in vars().copy().values() if isinstance(check, Exercise)}


def _exercise(name: str) -> Exercise:
    if name not in _BY_NAME:
        raise ArgumentError(f"There is no exercise {name!r}. There are: {', '.join(_BY_NAME)}.")
    return _BY_NAME[name]


def hint(exercise: str) -> None:
    """Prints the next of an exercise's three hints; after the third, the third again.

    Raises:
      ArgumentError: there is no such exercise; names those that there are.

    Example:
      >>> hint("mean_negative")
      1 of 3: In a row of the matrix one entry belongs to the pair itself. The others are negatives.
    """
    check = _exercise(exercise)
    check.hinted = min(check.hinted + 1, len(check.hints))
    print(f"{check.hinted} of {len(check.hints)}: {check.hints[check.hinted - 1]}")


def solution(exercise: str) -> None:
    """Prints an exercise's solution, after three tries that failed or three hints.

    Raises:
      ArgumentError: there is no such exercise; names those that there are.
    """
    check = _exercise(exercise)
    if max(check.failed, check.hinted) < TRIES:
        how = f'after {TRIES} tries, or three hints of checks.hint("{exercise}").'
        print(f"The solution of {exercise} opens {how}")
    else:
        print(check.source)


__all__ = [
    "EXERCISES",
    "MARK",
    "OUT_OF",
    "Failure",
    "Score",
    "hint",
    "solution",
    *(check.__name__ for check in _BY_NAME.values()),
]
