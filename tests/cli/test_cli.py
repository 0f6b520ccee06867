"""The command `siamese` as its user meets it: help, a whole small run, errors, exit codes."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from siamese import embedded_corpus
from siamese.cli.main import EXAMPLES
from siamese.storage.store import find_current

ROOT = Path(__file__).parents[2]
SMALL = ["--steps", "6", "--d-model", "8", "--batch-size", "16", "--eval-every", "3"]


def siamese(*arguments, **options):
    """Runs the command; returns the finished process with its output as text."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), **options.pop("env", {})}
    return subprocess.run(
        [sys.executable, "-m", "siamese.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=env,
        timeout=300,
        **options,
    )


@pytest.fixture(scope="module")
def questions_csv(tmp_path_factory):
    """400 pairs of the embedded corpus in the course's columns, gzipped."""
    pairs = embedded_corpus(train_pairs=400, valid_pairs=50, test_pairs=50).train
    path = tmp_path_factory.mktemp("data") / "questions.csv.gz"
    with gzip.open(path, "wt", encoding="utf-8", newline="") as file:
        import csv

        writer = csv.writer(file)
        writer.writerow(["id", "qid1", "qid2", "question1", "question2", "is_duplicate"])
        for i, row in enumerate(zip(pairs.question1, pairs.question2, pairs.is_duplicate)):
            writer.writerow([i, 2 * i, 2 * i + 1, row[0], row[1], int(row[2])])
    return path


@pytest.fixture(scope="module")
def run(questions_csv, tmp_path_factory):
    """A small training run: (its directory, the finished process)."""
    output = tmp_path_factory.mktemp("runs") / "small"
    return output, siamese(
        "train", "--questions", questions_csv, "--train-rows", 300, "--test-rows", 100,
        "--output", output, *SMALL,
    )  # fmt: skip


@pytest.mark.parametrize(
    "command",
    [[], *([name] for name in EXAMPLES if name)],
    ids=lambda command: " ".join(command) or "siamese",
)
def test_help_shows_examples(command):
    shown = siamese(*command, "--help")
    assert shown.returncode == 0 and "example" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 110
    if not command:  # the first page names every command, in an example too
        assert all(f"siamese {name} " in shown.stdout for name in EXAMPLES if name)


def test_help_and_data_load_neither_jax_nor_trax():
    code = "import sys; from siamese.cli.main import build_parser; build_parser(); " + (
        "print([m for m in ('jax', 'trax', 'tensorflow', 'sklearn', 'nltk') if m in sys.modules])"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert shown.stdout.strip() == "[]", shown.stderr


def test_train_reports_and_saves(run):
    output, process = run
    assert process.returncode == 0, process.stderr
    for words in (
        "accuracy at threshold 0.7",
        "chosen on held-out pairs",
        "word overlap",
        "Saved in",
    ):
        assert words in process.stdout
    assert "Choices (preset course)" in process.stderr and "(course: 256)" in process.stderr
    assert {"detector.json", "manifest.json", "vocabulary.json", "weights.safetensors"} == {
        path.name for path in find_current(output / "model", "detector").iterdir()
    }


def test_the_same_command_goes_on_and_another_asks(run, questions_csv):
    output, _ = run
    same = ["train", "--questions", questions_csv, "--train-rows", 300, "--test-rows", 100,
            "--output", output]  # fmt: skip
    longer = siamese(*same, *SMALL, "--steps", "8")
    assert longer.returncode == 0 and "at step 6" in longer.stderr, longer.stderr
    other = siamese(*same, *SMALL, "--margin", "0.5")
    assert other.returncode == 2 and "Traceback" not in other.stderr
    assert "margin 0.25 there, 0.5 asked for" in other.stderr
    assert "--resume" in other.stderr and "--overwrite" in other.stderr


@pytest.mark.slow
def test_the_best_preset_goes_on_in_the_middle_of_an_epoch(questions_csv, tmp_path):
    command = ["train", "--questions", questions_csv, "--train-rows", 300, "--valid-rows", 60,
               "--test-rows", 100, "--preset", "best", "--epochs", 0, "--d-model", 8,
               "--batch-size", 16, "--eval-every", 4, "--schedule", "rsqrt"]  # fmt: skip
    for folder, runs in (("whole", [13]), ("parts", [5, 13])):
        for steps in runs:
            done = siamese(*command, "--output", tmp_path / folder, "--steps", steps)
            assert done.returncode == 0, done.stderr
    weights = [
        (find_current(tmp_path / f / "model", "detector") / "weights.safetensors").read_bytes()
        for f in ("whole", "parts")
    ]
    assert weights[0] == weights[1]


def test_predict_and_evaluate_answer_without_trax(run, questions_csv):
    output, _ = run
    code = (
        "import sys; from siamese.cli.main import main; main(sys.argv[1:]); "
        "print([m for m in ('trax', 'tensorflow') if m in sys.modules])"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    shown = subprocess.run(
        [sys.executable, "-c", code, "predict", output, "How do I cook rice?", "Zorkmid, how?"],
        capture_output=True, text=True, env=env,
    )  # fmt: skip
    assert "duplicate: cosine" in shown.stdout and "never seen" in shown.stdout, shown.stderr
    assert shown.stdout.splitlines()[-1] == "[]"
    found = json.loads(siamese("evaluate", output, "--questions", questions_csv, "--json").stdout)
    assert (
        found["n"] == 400 and 0 <= found["accuracy"] <= 1 and "word overlap" in found["baselines"]
    )


def test_predict_json_agrees_with_the_library(run):
    from siamese import DuplicateDetector

    output, _ = run
    q1, q2 = "Where can I learn to bake bread?", "How long is a flight to Rome?"
    found = json.loads(siamese("predict", output, q1, q2, "--json").stdout)
    detector = DuplicateDetector.load(output)
    assert found["similarity"] == pytest.approx(detector.similarity(q1, q2), abs=1e-5)
    assert found["is_duplicate"] == detector.predict(q1, q2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "--questions", "nowhere.csv"], "nowhere.csv"),
        (["predict", "nowhere", "a", "b"], "There is no saved model at nowhere"),
        (["evaluate", ".", "--questions", "x"], "holds no saved model"),
        (["data", "nowhere.csv"], "nowhere.csv"),
        (["train", "--questions", "x", "--batch-size", "1"], "batch_size must be at least 2"),
    ],
)
def test_errors_are_one_message_and_exit_code_2(arguments, message, tmp_path):
    shown = siamese(*arguments, cwd=tmp_path)
    assert shown.returncode == 2 and message in shown.stderr
    assert "Traceback" not in shown.stderr and shown.stdout == ""


def test_doctor_tells_versions_devices_and_patches():
    shown = siamese("doctor")
    assert shown.returncode == 0, shown.stderr
    for words in ("trax", "1.4.1", "devices", "inspect in trax.layers.assert_shape", "All is well"):
        assert words in shown.stdout
    assert json.loads(siamese("doctor", "--json").stdout)["problems"] == []


@pytest.mark.slow
def test_the_demo_beats_chance_and_word_overlap(tmp_path):
    shown = siamese("demo", "--output", tmp_path / "demo", "--json")
    assert shown.returncode == 0, shown.stderr
    found = json.loads(shown.stdout)
    assert found["tuned_accuracy"] > max(found["base_rate"], 1 - found["base_rate"]) + 0.05
    assert found["tuned_accuracy"] > found["overlap_accuracy"] + 0.05
    assert found["roc_auc"] > found["overlap_roc_auc"] + 0.1
    assert len(found["answers"]) == 2
    assert found["presets"]["best"]["roc_auc"] > found["presets"]["course"]["roc_auc"]
    assert (
        siamese("predict", tmp_path / "demo" / "best", "Is it far?", "How far is it?").returncode
        == 0
    )
