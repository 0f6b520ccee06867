"""The command `siamese` as its user meets it: help, errors, exit codes, doctor, demo, evaluation."""

import json
import os
import sys

import pytest
from programs import ROOT, output_of, siamese

from siamese import DuplicateDetector
from siamese.cli.main import COMMANDS, WITH_PARTS
from siamese.data.pairs import read_pairs

PARTS = [function.__name__.replace("_", "-") for function in COMMANDS]
PARTS = [name.replace("-", " ") if name.split("-")[0] in WITH_PARTS else name for name in PARTS]
SMALL = ["--steps", "6", "--batch-size", "16", "--set", "d_model=8", "--set", "eval_every=3"]


@pytest.mark.parametrize("command", ["", *WITH_PARTS, *PARTS])
def test_fourteen_commands_show_examples(command, run):
    assert len({name.split()[0] for name in PARTS}) == 14
    code, shown, _ = run(*command.split(), "--help")
    assert code == 0 and max(map(len, shown.splitlines())) <= 110
    # The first page names every command, in an example too.
    assert all(f"  siamese {name} " in shown for name in PARTS if name.startswith(command))


def test_the_parser_loads_neither_jax_nor_trax():
    code = "import sys; from siamese.cli.main import build_parser; build_parser(); " + (
        "print([m for m in ('jax', 'trax', 'tensorflow', 'sklearn', 'nltk') if m in sys.modules])"
    )
    assert output_of(code).strip() == "[]"


def test_a_package_that_a_command_lacks_is_named(refused, monkeypatch):
    for package in ("fastapi", "uvicorn", "prometheus_client"):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, package, None)
            patch.delitem(sys.modules, "siamese.serving.api", raising=False)
            install = ": pip install fastapi uvicorn prometheus-client"
            refused(["serve", "nothing", "--host", "nowhere"], install)


def test_errors_are_one_message_and_exit_code_2(tmp_path, refused, questions_csv):
    (tmp_path / "pairs.csv").write_text("question1,question2\n")
    (tmp_path / "q.csv").write_text("question\nhow far\n")
    for line, message in (
        ("train --questions nowhere.csv", "nowhere.csv"),
        ("train --questions x --batch-size 1", "batch_size must be at least 2"),
        ("predict nowhere a b", "There is no model at nowhere"),
        ("predict model a.csv --explain", "two questions"),
        ("predict model nowhere.csv", "no such file"),
        ("predict model a b --threshold nan", "'nan' is not a finite number from -1 to 1"),
        ("predict model a b --threshold=-inf", "'-inf' is not a finite number"),
        ("duplicates q.csv --threshold 2", "'2' is not a finite number from -1 to 1"),
        ("evaluate folder --questions x", "There is no model at folder"),
        ("evaluate model --questions pairs.csv --queries q.csv", "Pass labelled pairs"),
        (f"evaluate model --questions {questions_csv} --rows 0", "leaves none of 400 pairs"),
        ("data nowhere.csv", "nowhere.csv"),
        ("import-weights . o --vocab none", "none"),
        ("search . how", "holds no index: an index is one file"),
        ("search nothing how", "There is no index and no list of questions at nothing"),
        ("search q.csv", "one of the arguments question --queries is required"),
        ("search q.csv how --queries q.csv", "not allowed with"),
        ("search q.csv how --where by --model model", "write COLUMN=VALUE"),
        ("search q.csv how --where a=b --where a=c --model model", "names one column twice"),
        ("index build q.csv --model model --output model", "holds no index"),
        ("index build - --model model", "--output INDEX"),
        ("index add q.csv q.csv", "q.csv is a list of questions. Make an index of it first"),
        ("index remove q.csv", "one of the arguments FILE --ids is required"),
        ("match q.csv q.csv --model model -k 0", "at least 1"),
        ("duplicates q.csv --model model --pairs --regroup", "leave out --regroup"),
        ("duplicates q.csv --pairs --keep first", "not allowed with argument --"),
        ("duplicates q.csv --add q.csv --keep first", "not allowed with argument --"),
        ("serve q.csv --json", "leave --json out"),
    ):
        (tmp_path / "folder").mkdir(exist_ok=True)
        refused(line.split(), message)
    assert DuplicateDetector.load("model").threshold == 0.9  # It is still there.


@pytest.mark.slow
def test_doctor_prints_versions_devices_and_patches(tmp_path):
    shown = siamese("doctor")
    assert shown.returncode == 0, shown.stderr
    patched, ran = "inspect in trax.layers.assert_shape", "OK: a tiny Trax model ran"
    for words in ("trax", "1.4.1", "devices", patched, ran):
        assert words in shown.stdout
    other = tmp_path / "trax-1.3.9.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: trax\nVersion: 1.3.9\n")
    paths = {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    (problem,) = json.loads(siamese("doctor", "--json", env=paths).stdout)["problems"]
    assert "Trax 1.3.9 was never tried" in problem and "trax==1.4.1" in problem


def test_the_demo_replaces_no_files_of_yours(run, tmp_path):
    (tmp_path / "runs").mkdir()
    for name in ("head", "questions.csv"):
        (tmp_path / "runs" / name).write_text("mine")
        code, _, err = run("demo", "--output", "runs")
        assert code == 2 and "runs holds other files" in err
        assert (tmp_path / "runs" / name).read_text() == "mine"


@pytest.mark.slow
def test_the_demo_beats_chance_and_word_overlap(run):
    code, out, _ = run("demo", "--steps", "60", "--json")
    facts = json.loads(out)
    course, head = facts["models"]["course"], facts["models"]["head"]
    simple = max(head["base_rate"], 1 - head["base_rate"], head["overlap_accuracy"])
    for figures, accuracy, roc_auc in ((course, 0.01, 0.05), (head, 0.15, 0.3)):
        assert figures["tuned_accuracy"] > simple + accuracy
        assert figures["roc_auc"] > head["overlap_roc_auc"] + roc_auc
    assert code == 0 and len(facts["answers"]) == 3
    assert run("predict", "demo/head", "Is it far?", "How far is it?")[0] == 0
    # The figures that docs/quality.md prints.
    assert facts["handwritten"] == pytest.approx({"precision": 0.340, "recall": 0.133}, abs=0.02)


def test_test_pairs_that_are_trained_on_are_counted(questions_csv, tmp_path, run):
    pairs = read_pairs(questions_csv)
    rows = zip(pairs.question2[:40], map(str.upper, pairs.question1[:40]), pairs.is_duplicate)
    lines = ["question1,question2,is_duplicate", *(f'"{b}","{a}",{int(y)}' for b, a, y in rows)]
    (tmp_path / "test.csv").write_text("\n".join([*lines, "how far,how old,0"]))
    command = ["train", "--preset", "course", "--questions", questions_csv, "--test", "test.csv"]
    _, out, err = run(*command, *SMALL, "--json")
    assert json.loads(out)["test_pairs_trained_on"] == 40
    assert "40 of 41 test pairs are training pairs too" in err
    assert "Preset course: d_model=8, batch_size=16, steps=6, eval_every=3." in err


def test_evaluate_measures_the_rows_that_train_tests(tmp_path, run, refused):
    # Rows 1 and 4 of the file have an empty question: they count as rows, and are no pairs.
    rows = [f"how far {n},{'how' if n % 2 else 'how far'} {n},{n % 3 % 2}" for n in range(12)]
    rows[1], rows[4] = ",how,1", "how,,0"
    header = "question1,question2,is_duplicate"
    (tmp_path / "pairs.csv").write_text("\n".join([header, *rows]))
    (tmp_path / "tested.csv").write_text("\n".join([header, *rows[6:10]]))
    tested = read_pairs("pairs.csv").split_rows(6, 4)[1]
    assert tested.row_numbers.tolist() == [0, 1, 2, 3] and tested.question1[0] == "how far 6"
    command = ["evaluate", "model", "--questions", "pairs.csv", "--threshold", "0.5"]
    figures = json.loads(run(*command, "--skip-rows", "6", "--rows", "4", "--json")[1])
    command[3] = "tested.csv"
    assert json.loads(run(*command, "--json")[1]) == figures and figures["n"] == 4
    command[3] = "pairs.csv"
    assert json.loads(run(*command, "--skip-rows", "10", "--json")[1])["n"] == 2
    for flags in ("--skip-rows 12", "--skip-rows -3", "--skip-rows 4 --rows 1"):
        refused([*command, *flags.split()], "leaves none of 10 pairs")
