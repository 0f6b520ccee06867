"""The assignment as a learner writes it, in plain Trax as the course teaches it: full points.

The functions are those of tests/course/notebooks/assignment.py, where nothing is called of the library.
Two of the course's own habits cost one case each, and the hint says so: a loop over full batches only, and
``vocab[word]`` on a defaultdict.
"""

from __future__ import annotations

import pytest
from stock_trax import COURSE, OF_2020, RIGHT

from siamese import checks


@pytest.mark.slow
@pytest.mark.parametrize(
    ("check", "function"),
    [
        (checks.check_data_generator, COURSE["data_generator"]),
        (checks.check_triplet_loss_fn, COURSE["TripletLossFn"]),
        (checks.check_classify, RIGHT["classify"]),
        (checks.check_predict, RIGHT["predict"]),
        (checks.check_siamese, COURSE["Siamese"]),
        (checks.check_train_model, RIGHT["train_model"]),
        (checks.check_train_model, OF_2020["train_model"]),
        (checks.check_train_model, COURSE["train_model"]),  # the schedule is its third argument
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_right_solution_has_full_points(check, function):
    score = check(function)
    assert score.full, score


def test_the_loop_over_full_batches_costs_the_short_batch_and_no_more():
    (failure,) = checks.check_classify(COURSE["classify"]).failures
    assert failure.case.startswith("a last batch that is short")
    assert "The course's own loop takes full batches only" in failure.case


def test_a_vocabulary_that_grows_costs_one_case():
    (failure,) = checks.check_predict(COURSE["predict"]).failures
    assert failure.case == "the inputs stay as they are" and "defaultdict" in failure.hint
    assert failure.actual == "vocab is changed" and "this costs one case" in failure.hint
