"""What happens to a run: stopped, killed, resumed, collapsed; the saved model; which rows train."""

import dataclasses
import json
import re
import shutil
import signal
from types import SimpleNamespace

import numpy as np
import pytest
from corpus_parts import small_corpus, write_pairs
from killed_training import killed_runs

from siamese import (
    ArgumentError,
    CheckpointError,
    DataError,
    DuplicateDetector,
    SiameseError,
    Trainer,
)
from siamese.cli.main import main
from siamese.model.file import read_file
from siamese.reading.pairs import QuestionPairs, split
from siamese.text.tokenizer import word_tokenize
from siamese.training.config import TrainConfig
from siamese.training.prepare import prepare
from siamese.training.report import measure

SMALL = {
    "d_model": 8, "batch_size": 16, "warmup_steps": 4, "eval_every": 3, "checkpoint_every": 2,
    "epochs": 0.0, "steps": 7, "schedule": "rsqrt",
}  # fmt: skip
LABELLED = {
    "pair_batch_size": 16,
    "bidirectional": False,
}
CONFIGS = {
    "course": TrainConfig(**SMALL),
    "lstm": TrainConfig.preset("lstm", **SMALL, **LABELLED),
}
COURSE = CONFIGS["course"]


def of_few_lengths(pairs):
    sides = zip(pairs.question1, pairs.question2)
    longest = [max(len(word_tokenize(text)) for text in pair) for pair in sides]
    return pairs.select(np.flatnonzero(np.isin(longest, (15, 16))))


@pytest.fixture(scope="module")
def corpus():
    pairs = small_corpus(train=600, valid=150, test=150)
    parts = {
        name: of_few_lengths(getattr(pairs, name))
        for name in ("train", "valid", "test")
    }
    return SimpleNamespace(**parts)


def trainer_of(corpus, config=COURSE, output=None, **changes):
    config = dataclasses.replace(config, **changes)
    return Trainer(corpus.train, config, output, valid=corpus.valid, quiet=True)


def train(corpus, *arguments, **changes):
    trainer = trainer_of(corpus, *arguments, **changes)
    losses = []
    at_each_step(trainer, losses.append)
    trainer.train()
    return losses, trainer


def at_each_step(trainer, function):
    """Calls a function with the loss of each step."""
    step = trainer._train_step

    def followed(*arguments):
        state, metrics = step(*arguments)
        function(float(metrics["loss"]))
        return state, metrics

    trainer._train_step = followed


def contents(output):
    files = [
        read_file(output / f"{n}.safetensors", "checkpoint")
        for n in ("checkpoint", "best")
    ]
    names = "step", "batches", "loss_sum", "summed", "history"
    facts = [{name: facts[name] for name in names} for _, facts in files]
    arrays = [
        {name: array.tobytes() for name, array in arrays.items()} for arrays, _ in files
    ]
    return arrays, facts, (output / "metrics.jsonl").read_text()


@pytest.fixture(scope="module")
def two_steps(corpus, tmp_path_factory):
    run = tmp_path_factory.mktemp("run")
    train(corpus, output=run, steps=2)[1].save()
    return run


@pytest.fixture
def run(two_steps, tmp_path):
    return shutil.copytree(two_steps, tmp_path / "run")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "stops"), [("course", (5, 7)), ("lstm", (2, 5, 7))])
def test_stopped_once_or_twice_equals_never_stopped(corpus, tmp_path, name, stops):
    whole, _ = train(corpus, CONFIGS[name], tmp_path / "whole")
    parts = []
    for steps in stops:  # 2 and 5 lie in different epochs, and no epoch ends there.
        losses, resumed = train(corpus, CONFIGS[name], tmp_path / "parts", steps=steps)
        parts += losses
    assert resumed.resumed_from == 5 and parts == whole
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
    lines = map(
        json.loads, (tmp_path / "parts" / "metrics.jsonl").read_text().splitlines()
    )
    assert [line["step"] for line in lines] == [1, 3, 6]


@pytest.mark.slow
def test_killed_at_random_moments_every_run_ends_as_one_never_interrupted(tmp_path):
    assert killed_runs(tmp_path, 2, ["TERM", "KILL"], steps=20)["kills"] == 2


def test_a_stopped_run_leaves_the_model_so_far_and_resumes(corpus, tmp_path, caplog):
    trainer = trainer_of(corpus, output=tmp_path)
    at_each_step(
        trainer, lambda loss: trainer.step == 4 and signal.raise_signal(signal.SIGINT)
    )
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    assert (
        "Stopped by SIGINT after step 5" in caplog.text and "to resume" in caplog.text
    )
    assert DuplicateDetector.load(tmp_path).card["steps"] == 5
    # Nor does it matter how often a run is evaluated.
    runs = train(corpus, output=tmp_path)[1], train(corpus, eval_every=2)[1]
    np.testing.assert_equal(*(trainer.weights for trainer in runs))


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"adam_epsilon": 0.5}, ["adam_epsilon"]),
        # The rate is 0 at the last step.
        ({"schedule": "linear"}, ["schedule", "steps"]),
    ],
)
def test_another_configuration_is_refused_by_its_settings_names(
    corpus, run, change, names
):
    with pytest.raises(CheckpointError) as error:
        trainer_of(corpus, output=run, **change)
    assert all(f"{name} " in str(error.value) for name in names)


def test_a_run_of_other_questions_is_refused(corpus, run):
    with pytest.raises(CheckpointError):
        Trainer(corpus.train.rows(0, 150), COURSE, run, valid=corpus.valid)


def test_overwrite_discards_the_run_of_the_directory(corpus, run):
    assert (
        Trainer(corpus.train, COURSE, run, valid=corpus.valid, overwrite=True).step == 0
    )
    assert not [path for path in run.iterdir() if path.name[0] != "."]


def test_patience_ends_a_run_early_and_the_best_state_stays(corpus, tmp_path):
    _, trainer = train(corpus, output=tmp_path, steps=400, patience=3)
    losses = [line["valid/loss"] for line in trainer.history]
    best = int(np.argmin(losses))
    assert trainer.step < 400 and len(losses) - 1 - best == 3
    steps = [facts["step"] for facts in contents(tmp_path)[1]]
    assert steps == [trainer.step, trainer.history[best]["step"]]


def with_one_bit_changed(run):
    content = bytearray((run / "checkpoint.safetensors").read_bytes())
    content[-3] ^= 1
    return bytes(content)


def of_another_kind(run):
    return (run / "model.safetensors").read_bytes()


@pytest.mark.parametrize("damaged", [with_one_bit_changed, of_another_kind])
def test_a_damaged_checkpoint_is_refused_and_not_overwritten(corpus, run, damaged):
    path = run / "checkpoint.safetensors"
    content = damaged(run)
    path.write_bytes(content)
    with pytest.raises(CheckpointError) as error:
        train(corpus, output=run)
    assert str(path) in str(error.value)
    assert path.read_bytes() == content


@pytest.mark.parametrize("edition", [2022, 2023])
def test_a_collapsed_run_is_reported_once(corpus, caplog, edition, monkeypatch):
    monkeypatch.setattr("siamese.nn.collapse.COLLAPSE_STEPS", 5)
    changes = {"d_model": 32, "batch_size": 32, "learning_rate": 0.0, "steps": 9}
    # All questions have one vector.
    _, trainer = train(corpus, edition=edition, **changes)
    assert trainer.step == 9 and caplog.text.count("(collapse)") == 1
    assert re.search(r"The loss is 0\.(49|50)\d at step \d", caplog.text)
    report = trainer.evaluate(corpus.test)
    assert "does not separate duplicates from other pairs" in caplog.text
    model = trainer.save(report)
    assert re.search(
        r"nine in ten cosines lie within 0\.000\d, and the ROC AUC is", caplog.text
    )
    assert (
        model.threshold == report.metrics.threshold == 0.7 and model.calibration is None
    )
    measured = measure(model, trainer.data.held_out, corpus.test)[1]
    assert model.threshold_from == measured.threshold_from == "default"
    assert model.predict("How old?", "How old?")


def test_a_tiny_run_gets_no_advice_that_it_has_followed_or_that_is_not_the_reason(
    corpus, caplog
):
    """Its cosines are far apart, and its preset starts the LSTM's bias at the forget gate."""
    trainer = trainer_of(corpus, CONFIGS["lstm"], learning_rate=0.0, steps=2)
    trainer.train()
    trainer.evaluate(corpus.test)
    assert "does not separate duplicates from other pairs" in caplog.text
    assert "nine in ten" not in caplog.text and "lstm_bias" not in caplog.text


@pytest.mark.parametrize(
    ("changes", "new"),
    [({}, True), ({"lstm_bias": "forget_gate", "warmup_steps": 2000}, False)],
    ids=["neither", "both"],
)
def test_a_collapsed_run_is_not_advised_to_do_what_it_does(
    corpus, caplog, monkeypatch, changes, new
):
    monkeypatch.setattr("siamese.nn.collapse.COLLAPSE_STEPS", 5)
    stuck = {"d_model": 32, "batch_size": 32, "learning_rate": 0.0, "steps": 9}
    trainer = trainer_of(corpus, **stuck, **changes)
    trainer._train_step = lambda state, batch: (state, {"loss": np.float32(0.5)})
    trainer.train()
    assert "(collapse)" in caplog.text
    assert ("lstm_bias" in caplog.text) == ("warmup_steps" in caplog.text) == new


def test_a_loss_that_is_not_a_number_ends_the_run_and_the_checkpoint_stays(corpus, run):
    trainer = trainer_of(corpus, output=run)
    before = contents(run)
    trainer.state.weights["embedding"] *= np.inf
    with pytest.raises(SiameseError):
        trainer.train()
    assert trainer.step == 3
    assert contents(run) == before


def test_weights_that_are_infinite_after_a_step_are_not_saved(corpus, tmp_path):
    trainer = trainer_of(corpus, output=tmp_path, learning_rate=float("inf"))
    with pytest.raises(SiameseError):
        trainer.train()
    assert trainer.step == 1
    assert not list(tmp_path.glob("*.safetensors"))


def command(path, pairs):
    flags = ["--preset", "course", "--questions", str(write_pairs(path, pairs))]
    return ["train", *flags, "--output", str(path.parent)]


def test_a_model_is_saved_before_it_is_measured(corpus, tmp_path, capsys, monkeypatch):
    train = command(tmp_path / "pairs.csv", corpus.train)
    train += ["--set", "d_model=8", "--batch-size", "8", "--steps", "2"]
    with monkeypatch.context() as patched:
        patched.setattr(
            Trainer, "evaluate", lambda *_: (_ for _ in ()).throw(DataError("no."))
        )
        assert main(train) == 2
    assert DuplicateDetector.load(tmp_path).threshold == 0.7
    capsys.readouterr()
    assert main(train) == 0
    out = capsys.readouterr().out
    assert (
        "encoder: use, untrained" in out and "the untrained encoder is as good" in out
    )


@pytest.mark.parametrize(("count", "what"), [(-10, "test"), (50, "threshold")])
def test_one_label_is_refused_before_the_first_step(
    corpus, tmp_path, capsys, count, what
):
    rows = corpus.train.select(np.argsort(~corpus.train.is_duplicate, kind="stable"))
    train = command(tmp_path / "sorted.csv", rows)
    count = count if count > 0 else len(rows) + count
    assert main([*train, "--train-rows", str(count)]) == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert what in message
    assert "without --train-rows a sorted file is shuffled" in message
    assert not list(tmp_path.rglob("*.safetensors"))


def numbered(labels):
    texts = [[f"what is {side} {i} ?" for i in range(len(labels))] for side in "ab"]
    return QuestionPairs(*texts, np.array(labels))


def test_small_files_are_shuffled():
    in_order = numbered([1] * 40 + [0] * 60)
    train, test = split(in_order)
    assert (len(train), len(test)) == (90, 10)
    assert {*train.question1, *test.question1} == {*in_order.question1}
    assert train.question1 == split(in_order)[0].question1
    assert 0.1 < test.base_rate < 0.9


def test_rows_that_are_asked_for_stay_in_the_files_order():
    rows = numbered([1, 0] * 50)
    train, test = split(rows, 60, 20)
    assert train.question1 == rows.question1[:60]
    assert test.question1 == rows.question1[60:80]


def test_a_split_by_clusters_puts_no_question_on_both_sides():
    rows = numbered([1, 0] * 50)
    # Rows i and i + 50 have the same two.
    twins = [rows.question1[i - 50] for i in range(100)]
    linked = QuestionPairs(rows.question1, twins, rows.is_duplicate)
    train, test = split(linked, 60, 20, by_cluster=True)
    assert len(train) and len(test) and not {*train.question1} & {*test.question2}


def test_fewer_rows_than_one_do_not_train():
    rows = numbered([1, 0] * 50)
    with pytest.raises(ArgumentError):
        split(rows, -3, test=rows)


@pytest.mark.parametrize(("limit", "expected"), [(3000, (240, 60)), (50, (250, 50))])
def test_lstm_validates_on_a_fifth_of_the_duplicates_and_at_most_so_many(
    limit, expected
):
    changes = {"pair_batch_size": 0, "batch_size": 128, "transitive_closure": False}
    config = TrainConfig.preset("lstm", **changes, valid_duplicates=limit)
    data = prepare(numbered([1, 0] * 300), config)
    assert (len(data.train[0]), len(data.valid[0])) == expected
