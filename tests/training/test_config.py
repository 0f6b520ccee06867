"""TrainConfig: bounds, presets, flags and settings."""

import argparse
import dataclasses

import pytest

from siamese import ArgumentError, TrainConfig
from siamese.training.config import PRESETS, add_config_flags, changes_from_flags
from siamese.training.prepare import TRAIN_SHARE

PARSER = argparse.ArgumentParser()
add_config_flags(PARSER)


def parsed(*line):
    flags = PARSER.parse_args(line)
    return TrainConfig.preset(flags.preset or "course", **changes_from_flags(flags))


def test_every_field_can_be_set_and_a_preset_fills_the_others():
    text = PARSER.format_help()
    for field in dataclasses.fields(TrainConfig):
        assert f"--{field.name.replace('_', '-')} " in text or field.name in text
    changes = {"hard_negatives": 7, "folded": False, "margin": 0.5, "seed": 3}
    settings = [f"--set={name}={value}" for name, value in changes.items() if name != "seed"]
    config = parsed("--preset", "best", *settings, "--seed", "3")
    assert config == TrainConfig.preset("best", **changes)
    assert dataclasses.asdict(config).items() >= (PRESETS["best"] | changes).items()
    assert parsed() == TrainConfig.preset("course") == TrainConfig()
    with pytest.raises(ArgumentError, match="course, best, head"):
        TrainConfig.preset("worst")
    # Steps that are set win over the preset's epochs.
    assert TrainConfig.preset("best", steps=50).epochs == 0
    assert TrainConfig.preset("best", steps=50, epochs=2.0).epochs == 2


@pytest.mark.parametrize(
    "setting, message",
    [
        ("margins=1", "must be NAME=VALUE, with a name out of .*margin"),
        ("margin=wide", "--set margin takes float; it is 'wide'"),
        ("folded=1", "--set folded takes true or false"),
        ("d_model=0", "d_model must be at least 1; it is 0"),
        ("learning_rate=nan", "at least 0"),
        ("adam_epsilon=0", "adam_epsilon must be above 0"),
        ("loss=contrastive", "loss must be one of triplet, ranking; it is 'contrastive'"),
        ("pair_batch_size=8", "pair_batch_size needs loss='ranking'; it is 'triplet'"),
        ("hard_negatives=8", "hard_negatives needs pair_batch_size: set it too"),
    ],
)
def test_a_setting_that_does_not_fit_is_refused(setting, message):
    with pytest.raises(ArgumentError, match=message):
        parsed("--set", setting)
    with pytest.raises(ArgumentError, match="d_model must be of type int"):
        TrainConfig(d_model=4.0)


def test_the_assignment_s_settings_are_those_of_the_preset_course():
    expected = {"batch_size": 256, "learning_rate": 0.01, "warmup_steps": 400, "margin": 0.25}
    expected |= {"seed": 34, "edition": 2023, "d_model": 128}
    assert vars(TrainConfig()).items() >= expected.items() and TRAIN_SHARE == 0.8
