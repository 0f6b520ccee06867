"""A run stopped in the middle of an epoch ends as one never stopped, bit for bit, with either generator."""

import dataclasses

import numpy as np
import pytest

from siamese import CheckpointError, TrainConfig, Trainer
from siamese.search.model_file import read_file

pytestmark = pytest.mark.slow

SMALL = {
    "d_model": 8, "batch_size": 16, "warmup_steps": 4, "eval_every": 3, "checkpoint_every": 2,
    "patience": 0, "epochs": 0.0, "schedule": "rsqrt",
}  # fmt: skip
CONFIGS = {
    "course": TrainConfig.course(**SMALL),
    "bucketed": TrainConfig.course(batches="bucketed", word_dropout=0.2, **SMALL),
    "best": TrainConfig.best(
        **{**SMALL, "pair_batch_size": 16, "hard_negatives": 40, "topic_block": 1},
        bidirectional=False,
    ),
}


def train(corpus, name, output, steps):
    """Makes the trainer again, as a new process would, and trains until `steps` are done."""
    config = dataclasses.replace(CONFIGS[name], steps=steps)
    trainer = Trainer(corpus.train, config, output, valid=corpus.valid, quiet=True)
    losses = []
    trainer.train(on_step=lambda trainer, loss: losses.append(float(loss)))
    return losses, trainer


@pytest.mark.parametrize("name", CONFIGS)
def test_stopped_twice_equals_never_stopped(corpus, tmp_path, name):
    whole, _ = train(corpus, name, tmp_path / "whole", 7)
    parts = []
    for steps in (2, 5, 7):  # 2 and 5 lie in different epochs, and no epoch ends there.
        losses, trainer = train(corpus, name, tmp_path / "parts", steps)
        parts += losses
    assert trainer.resumed_from == 5 and parts == whole
    for file in ("checkpoint", "best"):
        ours, expected = (
            read_file(tmp_path / part / f"{file}.safetensors", "checkpoint")
            for part in ("parts", "whole")
        )
        assert ours[0].keys() == expected[0].keys()
        for array in expected[0]:
            np.testing.assert_array_equal(ours[0][array], expected[0][array])
        for fact in ("step", "batches", "sums", "summed", "history"):
            assert ours[1][fact] == expected[1][fact]


def test_another_configuration_needs_resume_or_overwrite(corpus, tmp_path):
    train(corpus, "bucketed", tmp_path, 2)
    other = dataclasses.replace(CONFIGS["bucketed"], margin=0.5)
    with pytest.raises(CheckpointError, match=r"margin 0.25 there, 0.5 here.*--resume"):
        Trainer(corpus.train, other, tmp_path, valid=corpus.valid)
    resumed = Trainer(corpus.train, other, tmp_path, valid=corpus.valid, resume=True)
    assert resumed.step == 2
    wider = dataclasses.replace(other, d_model=9)
    with pytest.raises(CheckpointError, match=r"weights of another shape.*--overwrite"):
        Trainer(corpus.train, wider, tmp_path, valid=corpus.valid, resume=True)
    some = corpus.train.rows(0, 150)
    with pytest.raises(CheckpointError, match="the training questions, or the model"):
        Trainer(some, CONFIGS["bucketed"], tmp_path, valid=corpus.valid)
    assert Trainer(corpus.train, other, tmp_path, valid=corpus.valid, overwrite=True).step == 0
    assert [path.name for path in tmp_path.iterdir() if path.name[0] != "."] == ["metrics.jsonl"]


def test_another_length_is_another_run_where_the_rate_falls_to_the_end(corpus, tmp_path):
    config = dataclasses.replace(CONFIGS["best"], schedule="linear", steps=3)
    Trainer(corpus.train, config, tmp_path, valid=corpus.valid, quiet=True).train()
    longer = dataclasses.replace(config, steps=12)
    with pytest.raises(CheckpointError, match="steps 3 there, 12 here"):
        Trainer(corpus.train, longer, tmp_path, valid=corpus.valid)


def test_patience_ends_a_run_early_and_the_best_state_stays(corpus, tmp_path):
    config = dataclasses.replace(CONFIGS["course"], steps=400, patience=3, learning_rate=0.05)
    trainer = Trainer(corpus.train, config, tmp_path, valid=corpus.valid, quiet=True)
    trainer.train()
    losses = [line["valid/loss"] for line in trainer.history]
    best = int(np.argmin(losses))
    assert trainer.step < 400 and len(losses) - 1 - best == 3
    _, facts = read_file(tmp_path / "best.safetensors", "checkpoint")
    assert facts["step"] == trainer.history[best]["step"]
    assert read_file(tmp_path / "checkpoint.safetensors", "checkpoint")[1]["step"] == trainer.step
