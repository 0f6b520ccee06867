"""The batches of a configuration, and a run of the best preset: resumed, on devices, saved."""

import dataclasses
import itertools

import numpy as np
import pytest

from siamese import ArgumentError, DataError
from siamese.data.pairs import QuestionPairs
from siamese.training.batches import JoinedBatches, make_batches
from siamese.training.config import TrainConfig
from siamese.training.prepare import prepare

SUBJECTS = ["cats", "dogs", "fish", "birds", "trains", "boats", "cars", "planes"]
ASKED = ("how do i feed {} well", "what is the best food for {}", "why do people like {} so much",
         "where can i buy cheap {} today", "are {} dangerous for small children")  # fmt: skip
SMALL = TrainConfig.best(
    d_model=8, batch_size=8, labelled_size=6, near_misses=10, subject_block=4, warmup_steps=3,
    epochs=0.0, steps=9, eval_every=4, checkpoint_every=100, min_count=2, unknown_ids=5,
)  # fmt: skip


def pairs(seed=0):
    """Duplicates are one question in two wordings; the others have another subject or another matter."""
    draw = np.random.default_rng(seed)
    rows = []
    for i in range(160):
        subject, matter = SUBJECTS[draw.integers(8)], draw.integers(5)
        first = ASKED[matter].format(subject) + f" {'really ' * int(draw.integers(3))}?"
        if i % 4:
            second = f"tell me {ASKED[matter].format(subject)} ?"
        else:
            second = ASKED[(matter + 1 + draw.integers(4)) % 5].format(subject) + f" x{i} ?"
        rows.append((first, second, i % 4 > 0))
    return QuestionPairs(*map(list, zip(*rows)))


def split():
    everything = pairs()
    return everything.rows(0, 120), everything.rows(120, 160)


def test_labelled_pairs_stand_behind_the_duplicates():
    train, valid = split()
    data = prepare(train, SMALL, valid=valid)
    batches, validation = make_batches(data, SMALL)
    try:
        q1, q2, same, labels = next(batches)
        assert q1.shape == q2.shape and len(q1) == 8 + 6
        assert same.shape == (8, 8) and same.dtype == bool
        assert labels.shape == (6,) and set(labels.tolist()) <= {0, 1}
        assert len(next(validation)) == 2
    finally:
        batches.close()
        validation.close()


def test_labelled_pairs_have_their_own_labels_and_proportion():
    train, valid = split()
    data = prepare(train, SMALL, valid=valid)
    labels = data.labelled[2]
    known = {}
    joined = prepare(train, dataclasses.replace(SMALL, near_misses=0), valid=valid).labelled
    for one, two, label in zip(*(side.tolist() for side in joined)):
        assert known.setdefault((one, two), label) == label
    assert labels.mean() == pytest.approx(0.4, abs=0.01)
    others = sum(1 for label in joined[2] if not label)
    assert (labels == 0).sum() == others + 10  # the near misses


def test_the_position_is_kept():
    train, valid = split()
    data = prepare(train, SMALL, valid=valid)
    batches, _ = make_batches(data, SMALL)
    other, _ = make_batches(data, SMALL)
    assert isinstance(batches, JoinedBatches)
    for _ in range(5):
        next(batches)
    other.restore(batches.state())
    for mine, its in zip(next(batches), next(other), strict=True):
        np.testing.assert_array_equal(mine, its)
    batches.close()
    other.close()


def test_held_out_labels_are_not_looked_at():
    everything = pairs()
    config = dataclasses.replace(SMALL, near_misses=0, subject_block=0)
    data = prepare(everything, config)
    flipped = everything.is_duplicate.copy()
    first = np.flatnonzero(flipped)[int(flipped.sum() * config.train_share)]
    flipped[first + 1 :] = np.roll(flipped[first + 1 :], 1)  # As many of each, elsewhere.
    other = prepare(QuestionPairs(everything.question1, everything.question2, flipped), config)
    for mine, its in zip(data.labelled, other.labelled):
        np.testing.assert_array_equal(mine, its)
    for mine, its in zip(data.train_clusters, other.train_clusters):
        np.testing.assert_array_equal(mine, its)


def test_implied_duplicates_are_trained_on_with_their_cluster():
    train, valid = split()
    plain, more = (
        prepare(train, dataclasses.replace(SMALL, implied=implied), valid=valid)
        for implied in (False, True)
    )
    number = {}
    for data in (plain, more):
        for row1, row2, cluster1, cluster2 in zip(*data.train, *data.train_clusters):
            assert cluster1 == cluster2
            number.setdefault(row1, cluster1)
            assert number[row1] == number.setdefault(row2, cluster1) == cluster1
    labelled = {frozenset(pair) for pair in zip(*plain.train)}
    trained = {frozenset(pair) for pair in zip(*more.train)}
    assert labelled < trained
    assert len(more.train[0]) - len(plain.train[0]) == len(trained - labelled)


def test_no_labelled_non_duplicates():
    train, valid = split()
    only = train.duplicates()
    with pytest.raises(DataError, match="labelled_size"):
        prepare(only, dataclasses.replace(SMALL, near_misses=0), valid=valid)


@pytest.mark.parametrize(
    "changes",
    [
        {"labelled_size": 8},
        {"near_misses": 5},
        {"subject_block": 8},
        {"loss": "softmax", "temperature": 0.0},
        {"embedding_dropout": 1.0},
        {"word_dropout": -0.1},
        {"labelled_duplicates": 1.0},
        {"min_count": 0},
        {"schedule": "cosine"},
        {"loss": "hinge"},
    ],
)
def test_choices_that_do_not_go_together(changes):
    with pytest.raises(ArgumentError, match="|".join(changes)):
        TrainConfig.course(**changes)


def test_labelled_pairs_without_words_are_left_out():
    train, valid = split()
    blank = QuestionPairs(
        [*train.question1, " "], [*train.question2, "what is it ?"], [*train.is_duplicate, False]
    )
    config = dataclasses.replace(SMALL, near_misses=0)
    mine, its = (prepare(rows, config, valid=valid).labelled for rows in (blank, train))
    assert len(mine[0]) == len(its[0])


def trained(folder, *, stop_after=None, config=SMALL):
    from siamese.training.trainer import Trainer

    train, valid = split()
    trainer = Trainer(train, config, folder, valid=valid, quiet=True)
    if stop_after:
        trainer.loop.run(stop_after)
    else:
        trainer.train()
    return trainer


def arrays(trainer):
    from siamese.course.model import tower_weights

    return tower_weights(trainer.loop.model)


def test_a_resumed_run_of_the_preset_is_the_same_bit_for_bit(tmp_path):
    whole = trained(tmp_path / "whole")
    trained(tmp_path / "parts", stop_after=5)
    resumed = trained(tmp_path / "parts")
    assert resumed.loop.resumed_from is not None and resumed.loop.step == 9
    for name, array in arrays(whole).items():
        np.testing.assert_array_equal(array, arrays(resumed)[name], err_msg=name)


def test_another_length_is_another_run_where_the_rate_falls_to_the_end(tmp_path):
    from siamese import CheckpointError

    trained(tmp_path / "run", stop_after=2)
    with pytest.raises(CheckpointError, match="steps 9 there, 12 asked for"):
        trained(tmp_path / "run", config=dataclasses.replace(SMALL, steps=12))


def test_the_rate_rises_and_falls_to_the_end():
    trainer = trained(None, stop_after=1)
    rates = [trainer.loop.tasks[0].learning_rate(step) for step in range(1, 10)]
    np.testing.assert_allclose(rates[:3], 0.01 * np.array([1, 2, 3]) / 3)
    assert rates[2] == max(rates) and 0 < rates[-1] < 0.002
    assert all(after < before for before, after in itertools.pairwise(rates[2:]))


def test_the_saved_model_answers_as_the_trained_one(tmp_path):
    from siamese.course.classify import pair_scores
    from siamese.search.detector import DuplicateDetector

    config = dataclasses.replace(SMALL, bidirectional=True)
    trainer = trained(tmp_path / "run", config=config)
    _, valid = split()
    report = trainer.evaluate(valid)
    trainer.save(report)
    loaded = DuplicateDetector.load(tmp_path / "run")
    assert loaded.tower.bidirectional and loaded.vocabulary.unknown_ids == 5
    assert loaded.threshold == report.threshold
    held = [trainer.data.ids.take(rows) for rows in trainer.data.held_out_rows]
    wanted = pair_scores(*held, trainer.loop.eval_model, trainer.data.vocabulary)
    many = loaded.similarity(valid.question1, valid.question2)
    few = [loaded.similarity(a, b) for a, b in zip(valid.question1, valid.question2)]
    np.testing.assert_allclose(many, wanted, atol=2e-6)
    np.testing.assert_allclose(few, wanted, atol=2e-6)
    # Dropout is off: the same question again has the same vector.
    np.testing.assert_array_equal(loaded.encode(valid.question1), loaded.encode(valid.question1))


DEVICES = """
import sys
sys.path.insert(0, {tests!r})
from test_training_batches import SMALL, trained
import jax
assert jax.device_count() == {count}
import dataclasses
losses = []
from siamese.training.trainer import Trainer
from test_training_batches import split
train, valid = split()
config = dataclasses.replace(SMALL, labelled_size=8)
trainer = Trainer(train, config, None, valid=valid, quiet=True)
trainer.train(lambda loop, loss: losses.append(float(loss)))
print(losses)
"""


@pytest.mark.slow
def test_several_devices_give_the_same_losses():
    import json
    import os
    import subprocess
    import sys
    from pathlib import Path

    found = []
    for count in (1, 4):
        flag = f"--xla_force_host_platform_device_count={count}"
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                DEVICES.format(tests=str(Path(__file__).parent), count=count),
            ],
            env={**os.environ, "XLA_FLAGS": flag},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        found.append(json.loads(done.stdout.splitlines()[-1]))
    np.testing.assert_allclose(found[0], found[1], rtol=2e-5)
