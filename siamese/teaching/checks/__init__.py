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

from .beyond_checks import calibration, check_expected_calibration_error, check_one_shot, one_shot
from .classify_checks import answers, check_classify
from .generator_checks import check_data_generator, generator
from .loss_checks import check_symmetric_loss, check_triplet_loss_fn, symmetric, triplet
from .model_checks import (
    check_normalize,
    check_shared_towers,
    check_siamese,
    normal,
    shared,
    siamese,
)
from .predict_checks import check_predict, prediction
from .repair_checks import (
    check_count_false_negatives,
    check_masked_mean,
    false_negatives,
    masked,
)
from .score import Failure, Score
from .similarity_checks import (
    check_closest_negative,
    check_cosine_similarity,
    check_mean_negative,
    closest,
    cosine,
    mean,
)
from .threshold_checks import accuracy, best, check_accuracy_at, check_best_threshold
from .training_checks import check_train_model, training

# Number of the notebook -> name of the function in it -> its check.
EXERCISES = {
    1: {
        "cosine_similarity": check_cosine_similarity,
        "mean_negative": check_mean_negative,
        "closest_negative": check_closest_negative,
    },
    2: {"normalize": check_normalize, "shared_towers": check_shared_towers},
    3: {"accuracy_at": check_accuracy_at, "best_threshold": check_best_threshold},
    4: {
        "data_generator": check_data_generator,
        "Siamese": check_siamese,
        "TripletLossFn": check_triplet_loss_fn,
        "train_model": check_train_model,
        "classify": check_classify,
        "predict": check_predict,
    },
    5: {"symmetric_loss": check_symmetric_loss},
    6: {"masked_mean": check_masked_mean, "count_false_negatives": check_count_false_negatives},
    7: {
        "one_shot": check_one_shot,
        "expected_calibration_error": check_expected_calibration_error,
    },
}

# Name of the function -> how many cases its check has.
OUT_OF = {
    exercise.name: len(exercise.cases)
    for exercise in (
        *(cosine, mean, closest, normal, shared, accuracy, best, generator, siamese, triplet),
        *(training, answers, prediction, symmetric, masked, false_negatives, one_shot, calibration),
    )
}

__all__ = [
    "EXERCISES",
    "OUT_OF",
    "Failure",
    "Score",
    *(check.__name__ for checks in EXERCISES.values() for check in checks.values()),
]
