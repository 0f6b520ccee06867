"""What happens to a run: stopped, killed, resumed, collapsed, its directory removed; which rows train."""

import csv
import dataclasses
import json
import re
import shutil
import signal

import numpy as np
import pytest
from killed_training import killed_runs

from siamese import CheckpointError, DataError, DuplicateDetector, Trainer
from siamese.cli.main import main
from siamese.data.pairs import QuestionPairs
from siamese.data.split import split
from siamese.search.model_file import read_file
from siamese.training.config import TrainConfig
from siamese.training.prepare import prepare
from siamese.training.run import TrainingError

SMALL = {
    "d_model": 8, "batch_size": 16, "warmup_steps": 4, "eval_every": 3, "checkpoint_every": 2,
    "epochs": 0.0, "steps": 7, "schedule": "rsqrt",
}  # fmt: skip
COURSE = TrainConfig.course(**SMALL)
LABELLED = {"pair_batch_size": 16, "hard_negatives": 40, "topic_block": 1, "bidirectional": False}
CONFIGS = {
    "course": COURSE,
    "bucketed": TrainConfig.course(batches="bucketed", word_dropout=0.2, **SMALL),
    "best": TrainConfig.best(**SMALL, **LABELLED),
}


def trainer_of(corpus, config=COURSE, output=None, **changes):
    config = dataclasses.replace(config, **changes)
    return Trainer(corpus.train, config, output, valid=corpus.valid, quiet=True)


def train(corpus, config=COURSE, output=None, **changes):
    """The losses of a run made again, as a new process would make it, and its trainer."""
    trainer, losses = trainer_of(corpus, config, output, **changes), []
    trainer.train(on_step=lambda trainer, loss: losses.append(float(loss)))
    return losses, trainer


def assert_same_weights(one, two):
    for name in one.weights:
        np.testing.assert_array_equal(one.weights[name], two.weights[name], err_msg=name)


def contents(output):
    """The checkpoints of a run, and its curves."""
    files = [read_file(output / f"{n}.safetensors", "checkpoint") for n in ("checkpoint", "best")]
    facts = [
        {n: facts[n] for n in ("step", "batches", "sums", "summed", "history")}
        for _, facts in files
    ]
    arrays = [{name: array.tobytes() for name, array in arrays.items()} for arrays, _ in files]
    return arrays, facts, (output / "metrics.jsonl").read_text()


# ---- Stopped, killed, resumed ----


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFIGS)
def test_stopped_twice_equals_never_stopped(corpus, tmp_path, name):
    whole, trainer = train(corpus, CONFIGS[name], tmp_path / "whole")
    parts = []
    for steps in (2, 5, 7):  # 2 and 5 lie in different epochs, and no epoch ends there.
        losses, resumed = train(corpus, CONFIGS[name], tmp_path / "parts", steps=steps)
        parts += losses
    assert resumed.resumed_from == 5 and parts == whole
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
    lines = map(json.loads, (tmp_path / "parts" / "metrics.jsonl").read_text().splitlines())
    assert [line["step"] for line in lines] == [1, 3, 6]
    # Nor does it matter how often a run is evaluated.
    assert_same_weights(trainer, train(corpus, CONFIGS[name], eval_every=2)[1])


@pytest.mark.slow
def test_killed_at_random_moments_every_run_ends_as_one_never_interrupted(tmp_path):
    assert killed_runs(tmp_path, 3, ["TERM", "KILL", "INT"], steps=40)["kills"] == 3


def test_a_stopped_run_leaves_the_model_so_far_and_resumes(corpus, tmp_path, caplog):
    trainer = trainer_of(corpus, output=tmp_path)

    def interrupt(trainer, loss):
        if trainer.step == 5:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        trainer.train(interrupt)
    assert "Stopped by SIGINT after step 5" in caplog.text and "to resume" in caplog.text
    assert DuplicateDetector.load(tmp_path).card["steps"] == 5
    assert_same_weights(train(corpus, output=tmp_path)[1], train(corpus)[1])


@pytest.mark.slow
def test_another_run_needs_resume_or_overwrite(corpus, tmp_path):
    train(corpus, CONFIGS["bucketed"], tmp_path, steps=2)
    options = {"valid": corpus.valid, "quiet": True}
    other = dataclasses.replace(CONFIGS["bucketed"], margin=0.5)
    with pytest.raises(CheckpointError, match=r"margin 0.25 there, 0.5 here.*--resume"):
        Trainer(corpus.train, other, tmp_path, **options)
    assert Trainer(corpus.train, other, tmp_path, resume=True, **options).step == 2
    smaller = dataclasses.replace(other, batch_size=8)
    Trainer(corpus.train, smaller, tmp_path, resume=True, **options).train()
    wider = dataclasses.replace(other, d_model=9)
    with pytest.raises(CheckpointError, match=r"weights of another shape.*--overwrite"):
        Trainer(corpus.train, wider, tmp_path, resume=True, **options)
    with pytest.raises(CheckpointError, match="the training questions, or the model"):
        Trainer(corpus.train.rows(0, 150), smaller, tmp_path, **options)
    assert Trainer(corpus.train, other, tmp_path, overwrite=True, **options).step == 0
    assert not [path for path in tmp_path.iterdir() if path.name[0] != "."]
    # Where the rate falls to the run's end, another end is another run.
    linear = dataclasses.replace(other, schedule="linear", steps=2)
    Trainer(corpus.train, linear, tmp_path, **options).train()
    with pytest.raises(CheckpointError, match="steps 2 there, 12 here"):
        Trainer(corpus.train, dataclasses.replace(linear, steps=12), tmp_path, **options)


def test_patience_ends_a_run_early_and_the_best_state_stays(corpus, tmp_path):
    _, trainer = train(corpus, output=tmp_path, steps=400, patience=3, learning_rate=0.05)
    losses = [line["valid/loss"] for line in trainer.history]
    best = int(np.argmin(losses))
    assert trainer.step < 400 and len(losses) - 1 - best == 3
    steps = [facts["step"] for facts in contents(tmp_path)[1]]
    assert steps == [trainer.step, trainer.history[best]["step"]]


@pytest.mark.parametrize("step", [1, 2])  # Before a checkpoint, and before an evaluation.
def test_a_run_directory_that_is_removed_ends_in_one_message(corpus, tmp_path, step):
    trainer = trainer_of(corpus, output=tmp_path / "run")

    def remove(trainer, loss):
        if trainer.step == step:
            shutil.rmtree(tmp_path / "run")

    with pytest.raises(CheckpointError, match="run was removed while the run wrote to it"):
        trainer.train(remove)
    assert not list(tmp_path.rglob("*.tmp-*"))


# ---- Collapse, NaN ----


def test_a_run_that_ends_collapsed_reports_it_and_keeps_the_course_s_threshold(corpus, caplog):
    _, trainer = train(corpus, steps=1, learning_rate=0.0)  # All questions have one vector.
    report = trainer.evaluate(corpus.test)
    assert "does not separate duplicates from other pairs" in caplog.text
    assert report.threshold == 0.7 and not report.separates
    model = trainer.save(report)
    assert model.calibration is None and model.predict("How old?", "How old?")


@pytest.mark.parametrize("edition", [2022, 2023])
def test_a_loss_that_stays_on_the_plateau_is_reported_once(corpus, caplog, edition, monkeypatch):
    monkeypatch.setattr("siamese.training.run.COLLAPSE_STEPS", 5)
    _, trainer = train(
        corpus, edition=edition, d_model=32, batch_size=32, learning_rate=0.0, steps=9
    )
    assert trainer.step == 9 and caplog.text.count("(collapse)") == 1
    assert re.search(r"stayed at 0\.(49|50)\d for 5 steps", caplog.text)


def test_a_loss_that_is_not_a_number_ends_the_run_and_the_checkpoint_stays(corpus, tmp_path):
    train(corpus, output=tmp_path, steps=3)
    wild = dataclasses.replace(COURSE, learning_rate=1e30)
    trainer = Trainer(corpus.train, wild, tmp_path, valid=corpus.valid, resume=True, quiet=True)
    with pytest.raises(TrainingError, match=r"not finite|loss is nan|loss is inf"):
        trainer.train()
    arrays, facts = read_file(tmp_path / "checkpoint.safetensors", "checkpoint")
    assert facts["step"] in (3, 4) and all(np.isfinite(array).all() for array in arrays.values())


# ---- The saved model ----


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes", [{"bidirectional": True}, {"mask_padding": False}, {"encoder": "use"}]
)
def test_the_saved_model_answers_as_the_trained_one(corpus, tmp_path, changes):
    config = dataclasses.replace(CONFIGS["best"], unknown_ids=5)
    _, trainer = train(corpus, config, tmp_path, steps=2, **changes)
    report = trainer.evaluate(corpus.valid)
    trainer.save(report)
    loaded = DuplicateDetector.load(tmp_path)
    assert loaded.vocabulary.unknown_ids == 5 and loaded.threshold == report.threshold
    assert loaded.tower == trainer.tower and (loaded.calibration is not None) == report.separates
    assert_same_weights(loaded, trainer)
    sides = corpus.valid.question1[:40], corpus.valid.question2[:40]
    few = [loaded.similarity(a, b) for a, b in zip(*sides)]
    np.testing.assert_allclose(few, loaded.similarity(*sides), atol=2e-6)
    if "encoder" in changes:  # It stands beside the tower and changes nothing in its training.
        alone = train(corpus, config, steps=2)[1]
        assert_same_weights(trainer, alone)
        parts = [np.sqrt(0.75) * DuplicateDetector.load("use").encode(sides[0])]
        parts.append(np.sqrt(0.25) * alone.save().encode(sides[0]))
        np.testing.assert_allclose(loaded.encode(sides[0]), np.hstack(parts), atol=1e-6)


def write_csv(path, pairs):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["question1", "question2", "is_duplicate"])
        writer.writerows(zip(pairs.question1, pairs.question2, pairs.is_duplicate.astype(int)))
    return ["train", "--preset", "course", "--questions", str(path), "--output", str(path.parent)]


def test_a_model_is_saved_before_it_is_measured_beside_the_encoder(
    corpus, tmp_path, capsys, monkeypatch
):
    command = write_csv(tmp_path / "pairs.csv", corpus.train)
    command += ["--set", "d_model=8", "--batch-size", "8", "--steps", "2"]
    with monkeypatch.context() as patched:
        patched.setattr(Trainer, "evaluate", lambda *_: (_ for _ in ()).throw(DataError("no.")))
        assert main(command) == 2
    assert DuplicateDetector.load(tmp_path).threshold == 0.7
    capsys.readouterr()
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "encoder use, untrained" in out and "the untrained encoder is as good" in out


def test_one_label_is_refused_before_the_first_step(corpus, tmp_path, capsys):
    rows = corpus.train.select(np.argsort(~corpus.train.is_duplicate, kind="stable"))
    command = write_csv(tmp_path / "sorted.csv", rows)
    for flags, what in ((["--split", "rows"], "test"), (["--train-rows", "50"], "threshold")):
        assert main([*command, *flags]) == 2
        message = capsys.readouterr().err.splitlines()[-1]
        assert what in message and "--split shuffled" in message
    assert not list(tmp_path.rglob("*.safetensors"))


# ---- Which rows train ----


def numbered(labels):
    """Pairs of the labels, whose questions tell their number."""
    texts = [[f"what is {side} {i} ?" for i in range(len(labels))] for side in "ab"]
    return QuestionPairs(*texts, np.array(labels))


def test_small_files_are_shuffled_and_large_or_divided_ones_stay_in_the_files_order():
    in_order = numbered([1] * 40 + [0] * 60)
    train, test = split(in_order)
    assert (len(train), len(test)) == (90, 10)
    assert {*train.question1, *test.question1} == {*in_order.question1}
    again = split(in_order)
    assert train.question1 == again[0].question1 and test.question1 == again[1].question1
    for part in (train.rows(0, 45), train.rows(45, 90), test):
        assert 0.1 < part.base_rate < 0.9
    rows = numbered([1, 0] * 50)
    train, test = split(rows, 60, 20)
    assert train.question1 == rows.question1[:60] and test.question1 == rows.question1[60:80]
    with pytest.raises(DataError, match=r"test pairs hold 0 duplicates among 10.*--split shuffled"):
        split(in_order, how="rows")


def test_a_split_by_clusters_shares_no_question():
    drawn = np.random.default_rng(0).integers(60, size=(2, 40))
    sides = ([f"q {number} ?" for number in side] for side in drawn)
    train, test = split(QuestionPairs(*sides, np.arange(40) % 2), 30, 10, how="clusters")
    assert len(train) and len(test)
    assert not {*train.question1, *train.question2} & {*test.question1, *test.question2}


def test_fewer_duplicates_than_a_batch_are_refused_in_words_of_the_command(corpus):
    message = "There are 59 duplicates to train on, fewer than the batch size of 64.*--batch-size"
    with pytest.raises(DataError, match=message):
        trainer_of(corpus, CONFIGS["best"], batch_size=64, transitive_closure=False)
    trainer_of(corpus, batch_size=64)  # The course's generator goes on into the next pass.


@pytest.mark.parametrize(
    "count, limit, expected",
    [(300, 3000, (240, 60)), (6000, 3000, (4800, 1200)), (6000, 100, (5900, 100))],
)
def test_best_validates_on_a_fifth_of_the_duplicates_and_at_most_so_many(count, limit, expected):
    config = TrainConfig.best(
        pair_batch_size=0, hard_negatives=0, topic_block=1, transitive_closure=False,
        batch_size=128, valid_duplicates=limit,
    )  # fmt: skip
    data = prepare(numbered([1, 0] * count), config)
    assert (len(data.train[0]), len(data.valid[0])) == expected
