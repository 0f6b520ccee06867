"""A run stopped in the middle of an epoch ends as one never stopped, bit for bit, with either generator."""

import dataclasses
from unittest import mock

import jax
import numpy as np
import pytest

from siamese import CheckpointError
from siamese.storage.checkpoints import list_checkpoints, load_newest
from siamese.training.config import TrainConfig
from siamese.training.trainer import Trainer

pytestmark = pytest.mark.slow

SMALL = {
    "d_model": 8, "batch_size": 16, "warmup_steps": 4, "eval_every": 3, "checkpoint_every": 2,
    "patience": 0, "epochs": 0.0, "schedule": "rsqrt",
}  # fmt: skip
CONFIGS = {
    "course": TrainConfig.course(**SMALL),
    "bucketed": TrainConfig.course(batches="bucketed", swap=True, false_negatives="mask", **SMALL),
    "best": TrainConfig.best(
        **{**SMALL, "pair_batch_size": 16, "hard_negatives": 40, "topic_block": 0},
        bidirectional=False,
    ),
}


def train(corpus, name, output, steps):
    """Makes the trainer anew, as a new process would, and trains until `steps` are done."""
    values = {**vars(CONFIGS[name]), "steps": steps}
    trainer = Trainer(corpus.train, TrainConfig(**values), output, valid=corpus.valid, quiet=True)
    losses = []
    trainer.train(on_step=lambda loop, loss: losses.append(float(loss)))
    return losses, trainer


@pytest.mark.parametrize("name", CONFIGS)
def test_stopped_twice_equals_never_stopped(corpus, tmp_path, name):
    whole, _ = train(corpus, name, tmp_path / "whole", 7)
    parts = []
    for steps in (2, 5, 7):  # 2 and 5 lie in different epochs, and no epoch ends there.
        losses, trainer = train(corpus, name, tmp_path / "parts", steps)
        parts += losses
    assert trainer.loop.resumed_from.name.startswith("step-00000005")
    assert parts == whole
    ours, expected = (load_newest(tmp_path / part).checkpoint for part in ("parts", "whole"))
    for field in ("weights", "slots", "random_state", "batch_position"):
        found, wanted = (jax.tree.leaves(getattr(c, field)) for c in (ours, expected))
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted):
            np.testing.assert_array_equal(a, b)


def test_other_choices_need_resume_or_overwrite(corpus, tmp_path):
    train(corpus, "bucketed", tmp_path, 2)
    other = dataclasses.replace(CONFIGS["bucketed"], margin=0.5)
    with pytest.raises(CheckpointError, match=r"margin 0.25 there, 0.5 asked for.*--resume"):
        Trainer(corpus.train, other, tmp_path, valid=corpus.valid)
    resumed = Trainer(corpus.train, other, tmp_path, valid=corpus.valid, resume=True)
    assert resumed.loop.step == 2
    assert Trainer(corpus.train, other, tmp_path, valid=corpus.valid, overwrite=True).loop.step == 0


def test_patience_ends_a_run_early_and_keeps_the_best(corpus, tmp_path):
    values = {**vars(CONFIGS["course"]), "steps": 400, "patience": 3, "learning_rate": 0.05}
    trainer = Trainer(corpus.train, TrainConfig(**values), tmp_path, valid=corpus.valid, quiet=True)
    trainer.train()
    losses = [loss for _, loss in trainer.loop.history.get("eval", "metrics/TripletLoss")]
    best = int(np.argmin(losses))
    assert trainer.loop.step < 400 and len(losses) - 1 - best == 3
    metrics = [load_newest(tmp_path).checkpoint.metrics["TripletLoss"]]
    assert metrics[0] == losses[-1]
    assert len(list_checkpoints(tmp_path)) in (3, 4)  # the last three, and the best beside them


def test_going_on_with_other_arithmetic_is_reported(corpus, tmp_path, caplog):
    train(corpus, "bucketed", tmp_path, 1)
    train(corpus, "bucketed", tmp_path, 2)
    assert "goes on with" not in caplog.text
    with jax.default_matmul_precision("highest"):
        train(corpus, "bucketed", tmp_path, 3)
    assert "began with JAX_DEFAULT_MATMUL_PRECISION=None, and goes on with highest" in caplog.text
    with mock.patch("siamese.training.loop.LSTM_FORM", "a later version's"):
        train(corpus, "bucketed", tmp_path, 4)
    assert "LSTM_FORM=word products, rows, and goes on with a later version's" in caplog.text
