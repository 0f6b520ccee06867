"""The batches of a configuration, and a run of the best preset: on devices, saved."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from siamese import CheckpointError, DataError, DuplicateDetector, embedded_corpus
from siamese.course.classify import pair_scores
from siamese.data.pairs import QuestionPairs
from siamese.training.batches import make_batches
from siamese.training.config import TrainConfig
from siamese.training.prepare import prepare
from siamese.training.trainer import Trainer

SMALL = TrainConfig.best(
    d_model=8, batch_size=8, pair_batch_size=6, hard_negatives=10, topic_block=4, warmup_steps=3,
    bidirectional=False, epochs=0.0, steps=9, eval_every=4, checkpoint_every=100, min_count=2,
    unknown_ids=5,
)  # fmt: skip


CORPUS = embedded_corpus(train_pairs=200, valid_pairs=150, test_pairs=50)
CHAIN = int(CORPUS.train.is_duplicate.argmax())  # A second duplicate of one question.
TRAIN = QuestionPairs(
    [*CORPUS.train.question1, CORPUS.train.question2[CHAIN]],
    [*CORPUS.train.question2, f"again : {CORPUS.train.question2[CHAIN]}"],
    [*CORPUS.train.is_duplicate, True],
)
VALID = CORPUS.valid


def prepared(rows=TRAIN, valid=VALID, **changes):
    return prepare(rows, dataclasses.replace(SMALL, **changes), valid=valid)


def test_labelled_pairs_stand_behind_the_duplicates_and_the_position_is_kept():
    data = prepared()
    (batches, validation), (other, _) = (make_batches(data, SMALL) for _ in range(2))
    q1, q2, same, labels = next(batches)
    assert q1.shape == q2.shape and len(q1) == 8 + 6
    assert same.shape == (8, 8) and same.dtype == bool
    assert labels.shape == (6,) and set(labels.tolist()) <= {0, 1}
    assert len(next(validation)) == 2
    for _ in range(5):
        next(batches)
    other.restore(batches.state())
    for mine, its in zip(next(batches), next(other), strict=True):
        np.testing.assert_array_equal(mine, its)
    for made in (batches, validation, other):
        made.close()


def test_labelled_pairs_have_their_own_labels_and_proportion():
    labels, known = prepared().labelled[2], {}
    joined = prepared(hard_negatives=0).labelled
    for one, two, label in zip(*(side.tolist() for side in joined)):
        assert known.setdefault((one, two), label) == label
    assert labels.mean() == pytest.approx(0.4, abs=0.01)
    others = sum(1 for label in joined[2] if not label)
    assert (labels == 0).sum() == others + 10  # the hard negatives


def test_held_out_labels_are_not_looked_at():
    changes = {"hard_negatives": 0, "topic_block": 0}
    flipped = TRAIN.is_duplicate.copy()
    first = np.flatnonzero(flipped)[int(flipped.sum() * SMALL.train_share)]
    flipped[first + 1 :] = np.roll(flipped[first + 1 :], 1)  # As many of each, elsewhere.
    rows = QuestionPairs(TRAIN.question1, TRAIN.question2, flipped)
    mine, its = (prepared(given, None, **changes) for given in (TRAIN, rows))
    for a, b in zip((*mine.labelled, *mine.train_clusters), (*its.labelled, *its.train_clusters)):
        np.testing.assert_array_equal(a, b)


def test_the_transitive_closure_is_trained_on_with_their_cluster():
    plain, more = (prepared(transitive_closure=closure) for closure in (False, True))
    cluster_of = {}
    for data in (plain, more):
        for row1, row2, cluster1, cluster2 in zip(*data.train, *data.train_clusters):
            assert cluster1 == cluster2
            for row in (row1, row2):
                assert cluster_of.setdefault(row, cluster1) == cluster1
    labelled, trained = ({frozenset(pair) for pair in zip(*data.train)} for data in (plain, more))
    assert labelled < trained
    assert len(more.train[0]) - len(plain.train[0]) == len(trained - labelled)


def test_labelled_pairs_need_non_duplicates_and_leave_out_those_without_words():
    with pytest.raises(DataError, match="pair_batch_size"):
        prepared(TRAIN.duplicates(), hard_negatives=0)
    blank = QuestionPairs(
        [*TRAIN.question1, " "], [*TRAIN.question2, "what is it ?"], [*TRAIN.is_duplicate, False]
    )
    mine, its = (prepared(rows, hard_negatives=0).labelled for rows in (blank, TRAIN))
    assert len(mine[0]) == len(its[0])


@pytest.mark.slow
def test_another_length_is_another_run_where_the_rate_falls_to_the_end(tmp_path):
    trainer = Trainer(TRAIN, SMALL, tmp_path, valid=VALID, quiet=True)
    trainer.loop.run(1)
    longer = dataclasses.replace(SMALL, steps=12)
    with pytest.raises(CheckpointError, match="steps 9 there, 12 asked for"):
        Trainer(TRAIN, longer, tmp_path, valid=VALID)
    rates = [trainer.loop.tasks[0].learning_rate(step) for step in range(1, 10)]
    np.testing.assert_allclose(rates[:3], 0.01 * np.array([1, 2, 3]) / 3)
    assert rates[2] == max(rates) and 0 < rates[-1] < 0.002


@pytest.mark.slow
def test_the_saved_model_answers_as_the_trained_one(tmp_path):
    config = dataclasses.replace(SMALL, bidirectional=True, topic_block=0, steps=2)
    trainer = Trainer(TRAIN, config, tmp_path, valid=VALID, quiet=True)
    trainer.train()
    report = trainer.evaluate(VALID)
    trainer.save(report)
    loaded = DuplicateDetector.load(tmp_path)
    assert loaded.tower.bidirectional and loaded.vocabulary.unknown_ids == 5
    assert loaded.threshold == report.threshold
    held = [trainer.data.ids.take(rows) for rows in trainer.data.held_out_rows]
    expected = pair_scores(*held, trainer.loop.eval_model, trainer.data.vocabulary)
    many = loaded.similarity(VALID.question1, VALID.question2)
    few = [loaded.similarity(a, b) for a, b in zip(VALID.question1, VALID.question2)]
    np.testing.assert_allclose(many, expected, atol=2e-6)
    np.testing.assert_allclose(few, expected, atol=2e-6)


DEVICES = """
import dataclasses
from test_training_batches import SMALL, TRAIN, VALID, Trainer
config = dataclasses.replace(SMALL, pair_batch_size=8, topic_block=0, steps=5)
losses = []
trainer = Trainer(TRAIN, config, valid=VALID, quiet=True)
trainer.train(on_step=lambda loop, loss: losses.append(float(loss)))
import jax
print([jax.device_count(), *losses])
"""


@pytest.mark.slow
def test_several_devices_give_the_same_losses():
    found = []
    for count in (1, 4):
        env = {**os.environ, "XLA_FLAGS": f"--xla_force_host_platform_device_count={count}"}
        env["PYTHONPATH"] = f"{Path(__file__).parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        done = subprocess.run(
            [sys.executable, "-c", DEVICES], env=env, check=True, stdout=subprocess.PIPE, text=True
        )
        devices, *losses = json.loads(done.stdout.splitlines()[-1])
        assert devices == count
        found.append(losses)
    np.testing.assert_allclose(found[0], found[1], rtol=2e-5)
