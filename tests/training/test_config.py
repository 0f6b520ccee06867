"""TrainConfig: bounds, presets, flags; the learning rate it asks for."""

import argparse
import dataclasses

import pytest
from trax import lr

from siamese import ArgumentError, TrainConfig
from siamese.training.config import PRESETS, add_config_flags, config_from_flags
from siamese.training.trainer import learning_rate


@pytest.mark.parametrize(
    "field, value, message",
    [
        ("d_model", 0, "d_model must be at least 1; it is 0"),
        ("d_model", 4.0, "d_model must be of type int; it is 4.0"),
        ("batch_size", 1, "at least 2"),
        ("learning_rate", float("nan"), "at least 0"),
        ("temperature", 0, "temperature must be above 0"),
        ("word_dropout", 1.0, "word_dropout must be below 1"),
        ("loss", "contrastive", "loss must be one of triplet, ranking; it is 'contrastive'"),
        ("pair_batch_size", 8, "pair_batch_size needs loss='ranking'; it is 'triplet'"),
        ("hard_negatives", 8, "hard_negatives needs pair_batch_size: give it too"),
        ("topic_block", 8, "topic_block needs batches='bucketed'; it is 'course'"),
        ("false_negatives", "mask", "false_negatives needs batches='bucketed'"),
        ("swap", True, "swap needs batches='bucketed'"),
    ],
)
def test_a_value_outside_its_bounds_is_refused_with_its_field(field, value, message):
    with pytest.raises(ArgumentError, match=message):
        TrainConfig(**{field: value})


def test_every_field_has_a_flag_and_a_preset_fills_those_not_given():
    parser = argparse.ArgumentParser()
    add_config_flags(parser)
    text = parser.format_help()
    for field in dataclasses.fields(TrainConfig):
        assert f"--{field.name.replace('_', '-')}" in text
    line = ["--preset", "best", "--hard-negatives", "7", "--no-swap", "--margin", "0.5"]
    found = config_from_flags(parser.parse_args(line))
    assert found == TrainConfig.best(hard_negatives=7, swap=False, margin=0.5)
    assert config_from_flags(parser.parse_args([])) == TrainConfig.course() == TrainConfig()
    presets = [TrainConfig(), TrainConfig.best(), TrainConfig.general()]
    assert [TrainConfig.preset(name) for name in PRESETS] == presets
    with pytest.raises(ArgumentError, match="course, best"):
        TrainConfig.preset("worst")


def test_a_configuration_of_another_version_is_refused():
    with pytest.raises(ArgumentError, match=r"Unknown fields.*nearest.*--overwrite"):
        TrainConfig.from_dict({"nearest": 1})


def test_printed_choices_name_what_differs_from_the_course():
    shown = str(TrainConfig(margin=0.5)).splitlines()
    assert [line.split() for line in shown if "course:" in line] == [
        ["margin", "0.5", "(course:", "0.25)"]
    ]


def test_rates_the_courses_is_traxs_and_linear_falls_to_zero_behind_the_last_step():
    mine = learning_rate(TrainConfig.course(), lambda: 1000)
    its = lr.warmup_and_rsqrt_decay(400, 0.01)
    assert all(float(mine(step)) == float(its(step)) for step in (1, 399, 400, 5000))
    config = TrainConfig.best(warmup_steps=4, learning_rate=0.1)
    mine = learning_rate(config, lambda: 9)
    found = [mine(step) for step in range(1, 11)]
    assert found[:4] == pytest.approx([0.025, 0.05, 0.075, 0.1])
    assert found[4:] == pytest.approx([0.1 * left / 6 for left in (5, 4, 3, 2, 1, 0)])


def test_steps_that_are_asked_for_win_over_the_presets_epochs():
    assert TrainConfig.best(steps=50).epochs == 0 and TrainConfig.best().epochs > 0
    assert TrainConfig.best(steps=50, epochs=2.0).epochs == 2
