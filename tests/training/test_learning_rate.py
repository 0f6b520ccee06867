"""The learning rate of each step."""

import pytest

from siamese.training.config import TrainConfig
from siamese.training.trainer import learning_rate


def test_the_courses_schedule_is_traxs():
    from trax import lr

    mine = learning_rate(TrainConfig.course(), lambda: 1000)
    its = lr.warmup_and_rsqrt_decay(400, 0.01)
    assert [float(mine(step)) for step in (1, 399, 400, 5000)] == [
        float(its(step)) for step in (1, 399, 400, 5000)
    ]


def test_linear_rises_and_falls_to_zero_behind_the_last_step():
    config = TrainConfig.best(warmup_steps=4, learning_rate=0.1)
    mine = learning_rate(config, lambda: 9)
    found = [mine(step) for step in range(1, 11)]
    assert found[:4] == pytest.approx([0.025, 0.05, 0.075, 0.1])
    assert found[4:] == pytest.approx([0.1 * left / 6 for left in (5, 4, 3, 2, 1, 0)])


def test_linear_with_more_warm_up_than_steps_never_reaches_the_full_rate():
    mine = learning_rate(TrainConfig.best(warmup_steps=100, learning_rate=0.1), lambda: 10)
    assert max(mine(step) for step in range(1, 11)) <= 0.1
    assert all(mine(step) > 0 for step in range(1, 11))
