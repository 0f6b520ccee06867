import math

import pytest

from siamese.training.loss_watch import COLLAPSE_STEPS, LossSums, LossWatch, TrainingError


def test_a_loss_at_twice_the_margin_for_long_is_collapse_and_is_said_once():
    watch = LossWatch(margin=0.25)
    said = [watch.collapse_warning(0.5001) for _ in range(COLLAPSE_STEPS + 50)]
    assert [i for i, warning in enumerate(said) if warning] == [COLLAPSE_STEPS - 1]
    assert "all questions have the same vector" in said[COLLAPSE_STEPS - 1]


def test_a_loss_that_comes_away_from_it_starts_the_count_anew():
    watch = LossWatch(margin=0.25)
    assert not any(watch.collapse_warning(0.5 if i % 50 else 0.3) for i in range(2000))


def test_means_over_several_steps_count_as_so_many():
    assert LossWatch(margin=0.1).collapse_warning(0.2, COLLAPSE_STEPS)
    assert not LossWatch(margin=0.1).collapse_warning(0.2, COLLAPSE_STEPS - 1)
    assert not LossWatch(margin=None).collapse_warning(0.5, COLLAPSE_STEPS)


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_names_step_and_way_out(loss):
    with pytest.raises(TrainingError, match=r"step 7.*smaller learning rate"):
        LossWatch.check_finite(loss, 7)
    LossWatch.check_finite(0.0, 7)


@pytest.mark.parametrize(
    "losses, over",
    [
        ([], False),
        ([0.5], False),
        ([0.5, 0.4, 0.41], False),
        ([0.5, 0.4, 0.41, 0.42], True),
        ([0.5, 0.4, 0.41, 0.39], False),
        ([0.4, 0.4, 0.4], True),  # No lower loss is no progress.
    ],
)
def test_patience_counts_evaluations_since_the_lowest_loss(losses, over):
    assert LossWatch(None, patience=2).out_of_patience(losses) is over
    assert not LossWatch(None, patience=0).out_of_patience(losses)


def test_sums():
    sums = LossSums()
    for loss in (1.0, 2.0):
        sums.add(loss, {"norm": loss * 10})
    assert (sums.steps, sums.loss, sums.last, sums.stats) == (2, 3.0, 2.0, {"norm": 30.0})
    assert sums.seconds() > 0
