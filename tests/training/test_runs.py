"""What happens to a run: split, evaluated, stopped, its directory or the clock taken away, exported."""

import csv
import dataclasses
import itertools
import json
import os
import shutil
import subprocess
import sys
import time

import jax
import numpy as np
import pytest
from programs import ROOT

from siamese import ArgumentError, CheckpointError, DataError, DuplicateDetector
from siamese.cli.main import main
from siamese.data.pairs import QuestionPairs
from siamese.storage.checkpoints import load_newest
from siamese.training.config import TrainConfig
from siamese.training.prepare import prepare
from siamese.training.split import split
from siamese.training.trainer import Trainer

SMALL = {
    "d_model": 8, "batch_size": 16, "warmup_steps": 4, "eval_every": 4, "checkpoint_every": 3,
    "steps": 8,
}  # fmt: skip
COURSE = TrainConfig.course(**SMALL)
DROPOUT = TrainConfig.course(word_dropout=0.2, batches="bucketed", **SMALL)


def trainer_of(corpus, config, output=None, **options):
    return Trainer(corpus.train, config, output, valid=corpus.valid, quiet=True, **options)


def trained(corpus, config, output=None, steps=8):
    trainer = trainer_of(corpus, dataclasses.replace(config, steps=steps), output)
    trainer.train()
    return trainer


def weights_of(trainer):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(trainer.loop.model.weights)]


@pytest.fixture(scope="module")
def whole(corpus, tmp_path_factory):
    """A run of 8 steps in a directory: (its trainer, the directory)."""
    output = tmp_path_factory.mktemp("runs") / "whole"
    return trained(corpus, COURSE, output), output


# ---- Evaluation, curves ----


@pytest.mark.parametrize("config, steps", [(COURSE, 8), (DROPOUT, 4)])
@pytest.mark.slow
def test_how_often_a_run_is_evaluated_changes_no_weight(corpus, config, steps):
    found = [
        weights_of(trained(corpus, dataclasses.replace(config, eval_every=every), None, steps))
        for every in (2, 3)
    ]
    for a, b in zip(*found):
        np.testing.assert_array_equal(a, b)


def curves(output):
    lines = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    timed = ("seconds", "train/steps per second")
    return [{name: line[name] for name in line if name not in timed} for line in lines]


def test_the_curves_of_a_run_that_was_stopped_are_those_of_one_that_was_not(
    corpus, whole, tmp_path
):
    trained(corpus, COURSE, tmp_path, 3)  # The next point is the mean of steps 2 to 4.
    trained(corpus, COURSE, tmp_path)
    assert curves(tmp_path) == curves(whole[1])
    assert [line["step"] for line in curves(tmp_path)] == [1, 4, 8]


# ---- The world around it ----


def test_a_clock_that_runs_backwards_changes_nothing(corpus, whole, tmp_path, monkeypatch):
    back = itertools.count(2e9, -1000.0)
    monkeypatch.setattr(time, "time", lambda: next(back))
    for steps in (3, 8):
        trainer = trained(corpus, COURSE, tmp_path, steps)
    assert trainer.loop.step == 8 and trainer.loop.resumed_from is not None
    for a, b in zip(weights_of(trainer), weights_of(whole[0])):
        np.testing.assert_array_equal(a, b)
    assert curves(tmp_path) == curves(whole[1])
    trainer.save()
    assert DuplicateDetector.load(tmp_path).card["steps"] == 8


@pytest.mark.parametrize("step", [2, 4])  # Before a checkpoint, and before an evaluation.
def test_a_run_directory_that_is_removed_ends_in_one_message(corpus, tmp_path, step):
    trainer = trainer_of(corpus, COURSE, tmp_path / "run")

    def remove(loop, loss):
        if loop.step == step:
            shutil.rmtree(tmp_path / "run")

    with pytest.raises(CheckpointError, match="run was removed while the run wrote to it"):
        trainer.train(remove)
    assert not list(tmp_path.rglob("*.tmp-*"))


# ---- The split ----


def numbered(labels):
    """Pairs of the labels, whose questions tell their number."""
    texts = [[f"what is {side} {i} ?" for i in range(len(labels))] for side in "ab"]
    return QuestionPairs(*texts, np.array(labels))


SORTED = numbered([1] * 40 + [0] * 60)


def test_small_files_are_shuffled_and_large_or_divided_ones_stay_in_the_files_order():
    train, valid, test = split(SORTED)
    assert (len(train), valid, len(test)) == (90, None, 10)
    assert {*train.question1, *test.question1} == {*SORTED.question1}
    again = split(SORTED)
    assert train.question1 == again[0].question1 and test.question1 == again[2].question1
    for part in (train.rows(0, 45), train.rows(45, 90), test):
        assert 0.1 < part.base_rate < 0.9
    rows = numbered([1, 0] * 50)
    train, valid, test = split(rows, 60, 20, valid_rows=10)
    assert train.question1 == rows.question1[:50] and valid.question1 == rows.question1[50:60]
    assert test.question1 == rows.question1[60:80]
    with pytest.raises(ArgumentError, match="between 1 and 59"):
        split(rows, 60, 20, valid_rows=60)
    with pytest.raises(DataError, match=r"test pairs hold 0 duplicates among 10.*--split shuffled"):
        split(SORTED, how="rows")


def test_a_split_by_clusters_shares_no_question():
    draw = np.random.default_rng(0)
    words = [f"q {n} ?" for n in range(60)]
    pairs = QuestionPairs(
        [words[n] for n in draw.integers(60, size=40)],
        [words[n] for n in draw.integers(60, size=40)],
        np.arange(40) % 2,
    )
    train, _, test = split(pairs, 30, 10, how="clusters")
    assert len(train) and len(test)
    assert not {*train.question1, *train.question2} & {*test.question1, *test.question2}


def test_a_model_is_saved_before_it_is_evaluated(questions_csv, tmp_path, capsys, monkeypatch):
    command = ["train", "--questions", str(questions_csv), "--output", str(tmp_path)]
    command += ["--d-model", "8", "--batch-size", "8", "--steps", "2"]
    with monkeypatch.context() as patched:
        patched.setattr(Trainer, "evaluate", lambda *_: (_ for _ in ()).throw(DataError("no.")))
        assert main(command) == 2
    assert DuplicateDetector.load(tmp_path).threshold == 0.7
    capsys.readouterr()
    assert main([*command, "--json"]) == 0
    assert 0 < json.loads(capsys.readouterr().out)["base_rate"] < 1


def test_one_label_is_refused_before_the_first_step(corpus, tmp_path, capsys):
    rows = corpus.train.select(np.argsort(~corpus.train.is_duplicate, kind="stable"))
    path = tmp_path / "sorted.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["question1", "question2", "is_duplicate"])
        writer.writerows(zip(rows.question1, rows.question2, rows.is_duplicate.astype(int)))
    for flags, what in ((["--split", "rows"], "test"), (["--train-rows", "50"], "threshold")):
        assert main(["train", "--questions", str(path), "--output", str(tmp_path), *flags]) == 2
        message = capsys.readouterr().err.splitlines()[-1]
        assert what in message and "--split shuffled" in message
    assert not list(tmp_path.rglob("step-*"))


def test_fewer_duplicates_than_a_batch_are_refused_in_words_of_the_command(corpus):
    message = "There are 59 duplicates to train on, fewer than the batch size of 64.*--batch-size"
    config = TrainConfig.best(**{**SMALL, "batch_size": 64}, transitive_closure=False)
    with pytest.raises(DataError, match=message):
        trainer_of(corpus, config)
    # The course's generator goes on into the next pass.
    trainer_of(corpus, TrainConfig.course(**{**SMALL, "batch_size": 64}))


@pytest.mark.parametrize(
    "count, limit, expected",
    [(300, 3000, (240, 60)), (6000, 3000, (4800, 1200)), (6000, 100, (5900, 100))],
)
def test_best_validates_on_a_fifth_of_the_duplicates_and_at_most_so_many(count, limit, expected):
    config = TrainConfig.best(
        pair_batch_size=0, hard_negatives=0, topic_block=0, transitive_closure=False,
        batch_size=128,
        valid_duplicates=limit,
    )  # fmt: skip
    data = prepare(numbered([1, 0] * count), config)
    assert (len(data.train[0]), len(data.valid[0])) == expected


# ---- Export ----


def test_a_checkpoint_becomes_a_model(corpus, whole, tmp_path, capsys):
    _, output = whole
    run = tmp_path / "run"
    shutil.copytree(output, run)
    assert main(["export", str(run)]) == 0
    assert "Saved step 8" in capsys.readouterr().out
    made, wanted = DuplicateDetector.load(run), trainer_of(corpus, COURSE, output).save()
    questions = corpus.test.question1[:5]
    np.testing.assert_array_equal(made.encode(questions), wanted.encode(questions))
    assert made.threshold == 0.7 and made.card["exported_from"] == "step-00000008"
    for arguments, message in (
        (["export", str(run)], "is there already. Give --output"),
        (["export", str(run), "--step", "5", "--output", "x"], "no checkpoint of step 5. It has"),
        (["export", str(tmp_path)], "holds no checkpoints"),
    ):
        assert main(arguments) == 2
        assert message in capsys.readouterr().err
    older = sorted(path.name for path in run.glob("step-*"))[0]
    other = tmp_path / "other"
    assert main(["export", str(run), "--step", str(int(older[5:])), "--output", str(other)]) == 0
    assert DuplicateDetector.load(other).card["steps"] == int(older[5:]) < 8
    assert load_newest(run).checkpoint.step == 8


def test_what_a_kill_after_the_last_checkpoint_left_is_removed_by_the_same_command(
    corpus, whole, tmp_path
):
    run = shutil.copytree(whole[1], tmp_path / "run")
    begun_to_remove = run / f".step-00000001.tmp-{'0' * 16}"
    begun_to_remove.mkdir()
    before = {path.name for path in run.glob("step-*")}
    trained(corpus, dataclasses.replace(COURSE, keep=1), run)
    after = {path.name for path in run.glob("step-*")}
    assert max(before) in after and len(after) < len(before) and not begun_to_remove.exists()


@pytest.mark.slow
def test_killed_at_random_moments_every_run_ends_as_one_never_interrupted(tmp_path):
    # In a process of its own: it forks, which a process that has run JAX must not.
    script = ROOT / "benchmarks" / "robustness" / "train_kills.py"
    options = ["--kills", "3", "--steps", "40", "--signals", "TERM,KILL,INT"]
    done = subprocess.run(
        [sys.executable, script, *options, "--result", tmp_path / "result.json"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((tmp_path / "result.json").read_text())["kills"] == 3
