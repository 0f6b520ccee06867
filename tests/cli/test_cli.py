"""The command `siamese` as its user meets it: help, a whole small run, errors, exit codes."""

import contextlib
import io
import json
import os

import pytest
from programs import ROOT, output_of, siamese
from small_models import make_detector

from siamese import DuplicateDetector
from siamese.cli.doctor import trax_problems
from siamese.cli.main import COMMANDS, WITH_PARTS, main
from siamese.data.pairs import read_pairs

PARTS = [function.__name__.replace("_", "-") for function in COMMANDS]
PARTS = [name.replace("-", " ") if name.split("-")[0] in WITH_PARTS else name for name in PARTS]
SMALL = ["--steps", "6", "--batch-size", "16", "--set", "d_model=8", "--set", "eval_every=3"]


@pytest.fixture(scope="module")
def train(questions_csv, tmp_path_factory):
    """Function of more flags: trains a small run in one directory -> (directory, code, out, err)."""
    output = tmp_path_factory.mktemp("runs") / "small"
    fixed = ["--train-rows", "300", "--test-rows", "100", "--output", str(output), *SMALL]

    def run(*more):
        with (
            contextlib.redirect_stdout(io.StringIO()) as out,
            contextlib.redirect_stderr(io.StringIO()) as err,
        ):
            code = main(["train", "--questions", str(questions_csv), *fixed, *more])
        return output, code, out.getvalue(), err.getvalue()

    return run


@pytest.fixture(scope="module")
def run(train):
    return train()


def test_there_are_fourteen_commands():
    assert len({name.split()[0] for name in PARTS}) == 14


@pytest.mark.parametrize("command", ["", *WITH_PARTS, *PARTS])
def test_help_shows_examples(command, capsys):
    with pytest.raises(SystemExit, match="0"):
        main([*command.split(), "--help"])
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 110
    # The first page names every command, in an example too.
    assert all(f"  siamese {name} " in shown for name in PARTS if name.startswith(command))


def test_the_parser_loads_neither_jax_nor_trax():
    code = "import sys; from siamese.cli.main import build_parser; build_parser(); " + (
        "print([m for m in ('jax', 'trax', 'tensorflow', 'sklearn', 'nltk') if m in sys.modules])"
    )
    assert output_of(code).strip() == "[]"


@pytest.mark.slow
def test_train_reports_and_saves(run):
    output, code, out, err = run
    assert code == 0, err
    for words in ("accuracy at threshold 0.7", "held-out pairs", "word overlap", "Saved in"):
        assert words in out
    assert "Preset course: d_model=8, batch_size=16, steps=6, eval_every=3." in err
    assert (output / "model.safetensors").is_file()


def test_the_same_command_goes_on_and_another_asks(run, train):
    _, code, _, err = train("--steps", "8")
    assert code == 0 and "at step 6" in err, err
    _, code, _, err = train("--set", "margin=0.5")
    assert code == 2 and "margin 0.25 there, 0.5 here" in err
    assert "--resume" in err and "--overwrite" in err


@pytest.mark.slow
def test_predict_and_evaluate_answer_without_trax(run, questions_csv):
    q1, q2 = "How do I cook rice?", "Zorkmid, how?"
    code = f"""
        import sys
        from siamese.cli.main import main
        main(["predict", {str(run[0])!r}, {q1!r}, {q2!r}])
        main(["predict", {str(run[0])!r}, {q1!r}, {q2!r}, "--json"])
        main(["evaluate", {str(run[0])!r}, "--questions", {str(questions_csv)!r}, "--json"])
        print([m for m in ("trax", "tensorflow") if m in sys.modules])
    """
    *text, answer, figures, loaded = output_of(code).splitlines()
    assert "duplicate: cosine" in "".join(text) and "never seen" in text[-1] and loaded == "[]"
    answer, figures = json.loads(answer), json.loads(figures)
    detector = DuplicateDetector.load(run[0])
    assert answer["similarity"] == pytest.approx(detector.similarity(q1, q2), abs=1e-5)
    assert answer["is_duplicate"] == detector.predict(q1, q2)
    assert figures["n"] == 400 and 0 <= figures["accuracy"] <= 1
    assert "word overlap" in figures["baselines"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "--questions", "nowhere.csv"], "nowhere.csv"),
        (["predict", "nowhere", "a", "b"], "There is no model at nowhere"),
        (["evaluate", ".", "--questions", "x"], "There is no model at model.safetensors"),
        (["data", "nowhere.csv"], "nowhere.csv"),
        (["train", "--questions", "x", "--batch-size", "1"], "batch_size must be at least 2"),
    ],
)
def test_errors_are_one_message_and_exit_code_2(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert message in shown.err and "Traceback" not in shown.err and shown.out == ""


@pytest.mark.slow
def test_doctor_tells_versions_devices_and_patches():
    shown = siamese("doctor")
    assert shown.returncode == 0, shown.stderr
    patched, ran = "inspect in trax.layers.assert_shape", "OK: a tiny Trax model ran"
    for words in ("trax", "1.4.1", "devices", patched, ran):
        assert words in shown.stdout


@pytest.mark.slow
def test_doctor_says_what_another_trax_will_do(tmp_path):
    other = tmp_path / "trax-1.3.9.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: trax\nVersion: 1.3.9\n")
    paths = {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    (problem,) = json.loads(siamese("doctor", "--json", env=paths).stdout)["problems"]
    assert "Trax 1.3.9 cannot be imported: it needs jax.ops.index_add" in problem
    assert "trax==1.4.1" in problem and "was never tried" in trax_problems("2.0.0")[0]


@pytest.mark.slow
def test_the_demo_beats_chance_and_word_overlap(tmp_path, capsys):
    # A fifth of the steps it takes by itself: enough for `best` to be far beyond both, and `course` beyond.
    assert main(["demo", "--output", str(tmp_path / "demo"), "--steps", "60", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    course, best = facts["models"]["course"], facts["models"]["best"]
    simple = max(best["base_rate"], 1 - best["base_rate"], best["overlap_accuracy"])
    for figures, accuracy, roc_auc in ((course, 0.01, 0.05), (best, 0.05, 0.15)):
        assert figures["tuned_accuracy"] > simple + accuracy
        assert figures["roc_auc"] > best["overlap_roc_auc"] + roc_auc
    assert len(facts["answers"]) == 2 and best["roc_auc"] > course["roc_auc"]
    assert main(["predict", str(tmp_path / "demo" / "best"), "Is it far?", "How far is it?"]) == 0


def test_test_pairs_that_are_trained_on_are_counted(questions_csv, tmp_path, capsys):
    pairs = read_pairs(questions_csv)
    rows = zip(pairs.question2[:40], map(str.upper, pairs.question1[:40]), pairs.is_duplicate)
    test = tmp_path / "test.csv"
    lines = ["question1,question2,is_duplicate", *(f'"{b}","{a}",{int(y)}' for b, a, y in rows)]
    test.write_text("\n".join([*lines, "how far,how old,0"]))
    command = ["train", "--questions", str(questions_csv), "--test", str(test), *SMALL, "--json"]
    assert main([*command, "--output", str(tmp_path / "run")]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["test_pairs_trained_on"] == 40
    assert "40 of 41 test pairs are training pairs too" in shown.err


@pytest.mark.parametrize("threshold", ["nan", "inf", "-inf"])
def test_a_threshold_that_is_not_finite_is_refused(threshold, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["predict", "nowhere", "a", "b", f"--threshold={threshold}"])
    assert f"{threshold!r} is not a finite number" in capsys.readouterr().err


def test_no_rows_to_evaluate_are_refused(tmp_path, questions_csv, capsys):
    model = make_detector().save(tmp_path / "model")
    assert main(["evaluate", str(model), "--questions", str(questions_csv), "--rows", "0"]) == 2
    assert "leaves none of 400 pairs" in capsys.readouterr().err


def test_evaluate_measures_the_rows_that_train_tests(tmp_path, capsys):
    # Rows 1 and 4 of the file have an empty question: they count as rows, and are no pairs.
    rows = [f"how far {n},{'how' if n % 2 else 'how far'} {n},{n % 3 % 2}" for n in range(12)]
    rows[1], rows[4] = ",how,1", "how,,0"
    path = tmp_path / "pairs.csv"
    path.write_text("\n".join(["question1,question2,is_duplicate", *rows]))
    tested = read_pairs(path).split_rows(6, 4)[1]
    assert tested.row_numbers.tolist() == [0, 1, 2, 3] and tested.question1[0] == "how far 6"
    model = str(make_detector(threshold=0.5).save(tmp_path / "model"))
    command = ["evaluate", model, "--questions", str(path), "--json"]
    assert main([*command, "--skip-rows", "6", "--rows", "4"]) == 0
    figures = json.loads(capsys.readouterr().out)
    (tmp_path / "tested.csv").write_text(
        "\n".join(["question1,question2,is_duplicate", *rows[6:10]])
    )
    assert main([*command[:3], str(tmp_path / "tested.csv"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == figures and figures["n"] == 4
    assert main([*command, "--skip-rows", "10"]) == 0
    assert json.loads(capsys.readouterr().out)["n"] == 2
    for flags in (
        ["--skip-rows", "12"],
        ["--skip-rows", "-3"],
        ["--skip-rows", "4", "--rows", "1"],
    ):
        assert main([*command, *flags]) == 2
        assert "leaves none of 10 pairs" in capsys.readouterr().err
