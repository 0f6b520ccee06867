"""The command `siamese` as its user meets it: help, a whole small run, errors, exit codes."""

import json
import os
import subprocess
import sys

import pytest
from programs import ROOT, siamese
from small_models import make_detector

from siamese.cli.doctor import trax_problems
from siamese.cli.main import EXAMPLES
from siamese.storage.store import find_current

SMALL = ["--steps", "6", "--d-model", "8", "--batch-size", "16", "--eval-every", "3"]


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
    for words in ("accuracy at threshold 0.7", "held-out pairs", "word overlap", "Saved in"):
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


def test_doctor_says_what_another_trax_will_do(tmp_path):
    other = tmp_path / "trax-1.3.9.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: trax\nVersion: 1.3.9\n")
    shown = siamese("doctor", env={"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])})
    problems = shown.stdout.partition("Problems:")[2]
    assert "Trax 1.3.9 cannot be imported: it needs jax.ops.index_add" in problems
    assert "trax==1.4.1" in problems and "was never tried" in trax_problems("2.0.0")[0]


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


@pytest.mark.parametrize("threshold", ["nan", "inf", "-inf"])
def test_a_threshold_that_is_not_finite_is_refused(threshold):
    done = siamese("predict", "nowhere", "a", "b", f"--threshold={threshold}")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith(f"{threshold!r} is not a finite number")


def test_no_rows_to_evaluate_are_refused(tmp_path, questions_csv):
    model = make_detector().save(tmp_path / "model")
    done = siamese("evaluate", model, "--questions", questions_csv, "--rows", "0")
    assert done.returncode == 2 and "leaves none of 400 pairs" in done.stderr
