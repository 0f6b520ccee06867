"""What happens to a run: split, evaluated, stopped, collapsed, its directory or the clock taken away."""

import csv
import dataclasses
import itertools
import json
import re
import shutil
import signal
import time

import numpy as np
import pytest
from killed_training import killed_runs

from siamese import ArgumentError, CheckpointError, DataError, DuplicateDetector, Trainer
from siamese.cli.main import main
from siamese.data.pairs import QuestionPairs
from siamese.data.split import split
from siamese.search.model_file import read_file
from siamese.training.config import TrainConfig
from siamese.training.monitor import TrainingError
from siamese.training.prepare import prepare

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
    return list(trainer.weights.values())


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
    return [{name: line[name] for name in line if name != "seconds"} for line in lines]


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
    assert trainer.step == 8 and trainer.resumed_from == 3
    for a, b in zip(weights_of(trainer), weights_of(whole[0])):
        np.testing.assert_array_equal(a, b)
    assert curves(tmp_path) == curves(whole[1])
    trainer.save()
    assert DuplicateDetector.load(tmp_path).card["steps"] == 8


@pytest.mark.parametrize("step", [2, 4])  # Before a checkpoint, and before an evaluation.
def test_a_run_directory_that_is_removed_ends_in_one_message(corpus, tmp_path, step):
    trainer = trainer_of(corpus, COURSE, tmp_path / "run")

    def remove(trainer, loss):
        if trainer.step == step:
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
    command = [
        "train",
        "--preset",
        "course",
        "--questions",
        str(questions_csv),
        "--output",
        str(tmp_path),
    ]
    command += ["--set", "d_model=8", "--batch-size", "8", "--steps", "2"]
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
        assert (
            main(
                [
                    "train",
                    "--preset",
                    "course",
                    "--questions",
                    str(path),
                    "--output",
                    str(tmp_path),
                    *flags,
                ]
            )
            == 2
        )
        message = capsys.readouterr().err.splitlines()[-1]
        assert what in message and "--split shuffled" in message
    assert not list(tmp_path.rglob("*.safetensors"))


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
        pair_batch_size=0, hard_negatives=0, topic_block=1, transitive_closure=False,
        batch_size=128,
        valid_duplicates=limit,
    )  # fmt: skip
    data = prepare(numbered([1, 0] * count), config)
    assert (len(data.train[0]), len(data.valid[0])) == expected


# ---- Stops and collapse ----


def test_a_stopped_run_leaves_the_model_so_far_and_resumes(corpus, whole, tmp_path, caplog):
    trainer = trainer_of(corpus, COURSE, tmp_path)

    def interrupt(trainer, loss):
        if trainer.step == 5:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        trainer.train(interrupt)
    assert "Stopped by SIGINT after step 5" in caplog.text and "to resume" in caplog.text
    assert DuplicateDetector.load(tmp_path).card["steps"] == 5
    trained(corpus, COURSE, tmp_path)
    for a, b in zip(weights_of(trainer_of(corpus, COURSE, tmp_path)), weights_of(whole[0])):
        np.testing.assert_array_equal(a, b)


def test_a_run_that_ends_collapsed_reports_it_and_keeps_the_course_s_threshold(corpus, caplog):
    config = TrainConfig.course(**{**SMALL, "steps": 1, "learning_rate": 0.0})
    trainer = trained(corpus, config, steps=1)  # Trax's start: all questions have one vector.
    report = trainer.evaluate(corpus.test)
    assert "does not separate duplicates from other pairs" in caplog.text
    assert report.threshold == 0.7 and not report.separates
    model = trainer.save(report)
    assert model.calibration is None and model.predict("How old?", "How old?")


@pytest.mark.parametrize("edition", [2022, 2023])
def test_a_loss_that_stays_on_the_plateau_is_reported_once(corpus, caplog, edition):
    config = TrainConfig.course(
        edition=edition, d_model=32, batch_size=32, learning_rate=0.0, eval_every=300, steps=900
    )
    trainer = trained(corpus, config, steps=900)
    assert trainer.step == 900 and caplog.text.count("(collapse)") == 1
    assert re.search(r"stayed at 0\.(49|50)\d for 600 steps", caplog.text)


def test_a_loss_that_is_not_a_number_ends_the_run_and_the_checkpoint_stays(corpus, tmp_path):
    trained(corpus, COURSE, tmp_path, steps=3)
    wild = dataclasses.replace(COURSE, learning_rate=1e30)
    with pytest.raises(TrainingError, match=r"not finite|loss is nan|loss is inf"):
        trainer_of(corpus, wild, tmp_path, resume=True).train()
    arrays, facts = read_file(tmp_path / "checkpoint.safetensors", "checkpoint")
    assert facts["step"] == 3 and all(np.isfinite(array).all() for array in arrays.values())


@pytest.mark.slow
def test_killed_at_random_moments_every_run_ends_as_one_never_interrupted(tmp_path):
    assert killed_runs(tmp_path, 3, ["TERM", "KILL", "INT"], steps=40)["kills"] == 3
