"""The command as its user meets it: help, errors, doctor, demo; pipes, odd files, encodings."""

import csv
import io
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import odd_files
import pytest
from command_flags import FLAGS
from corpus_parts import small_corpus, write_pairs
from programs import environment_of

import siamese
from siamese import QuestionPairs
from siamese.cli.main import main


@pytest.mark.parametrize("command", FLAGS)
def test_fourteen_commands_show_examples(command, run):
    assert len({name.split()[0] for name in FLAGS if name}) == 14
    code, shown, _ = run(*command.split(), "--help")
    assert code == 0 and max(map(len, shown.splitlines())) <= 110
    # The first page names every command, in an example too.
    names = (
        name for name in FLAGS if name.startswith(command) and name not in ("", "index")
    )
    assert all(f"siamese {name} " in shown for name in names)


def test_a_package_that_a_command_lacks_is_named(refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "siamese.serving.api", raising=False)
    refused(["serve", "nothing"], 'pip install ".[serve]"')


@pytest.mark.parametrize(
    ("line", "near"),
    [
        ("dublicates q.csv", "siamese duplicates"),
        ("treshold q.csv", "siamese threshold"),
        ("index biuld q.csv", "siamese index build"),
        ("matches q.csv", "siamese match"),
        ("match q.csv --ouput o.csv", "--output"),
        ("search q.csv how --treshold=0.3", "--threshold"),
        ("zzz", "siamese --help"),
        ("duplicates q.csv --zzz", "siamese duplicates --help"),
    ],
)
def test_a_mistyped_word_gets_the_nearest_one(run, line, near):
    code, _, err = run(*line.split())
    assert code == 2 and near in err


def test_errors_are_one_message_and_exit_code_2(refused):
    Path("pairs.csv").write_text("question1,question2\n")
    Path("q.csv").write_text("question\nhow far\n")
    Path("links.csv").write_text("question1,question2,label\nhow far,how old,1\n")
    for line, message in (
        ("train --questions links.csv --train-rows 0", "leave out: --train-rows"),
        ("train --questions nowhere.csv", "nowhere.csv"),
        ("train --questions x --batch-size 1", "batch_size must be at least 2"),
        ("predict nowhere a b", "There is no model at nowhere"),
        ("predict model a.csv --explain", "two questions; leave out --explain"),
        ("predict model a b --threshold 80%", "'80%' is not a number from -1 to 1"),
        (
            "evaluate model --questions pairs.csv --queries q.csv",
            "not allowed with argument",
        ),
        ("evaluate model --queries q.csv", "belong together: --queries and --relevant"),
        ("search . how", "holds no index: an index is one file"),
        ("search nothing how", "There is no nothing: no list of questions, no index"),
        ("search q.csv q.csv", "siamese match q.csv q.csv"),
        ("search q.csv -", "'-' is a file, not the question"),
        *(
            (f"{words} ?!", "'?!' has no word")
            for words in ("search q.csv", "predict use how")
        ),
        (
            "index build no.csv --model model",
            "no file no.csv. A pipe needs --output INDEX",
        ),
        ("match q.csv q.csv --model model -k 0", "at least 1"),
        ("match nothing q.csv --model none", "nothing cannot be read"),
        ("index remove q.index 7", "7 cannot be read: no such file"),
        ("duplicates q.csv --model model --pairs --regroup", "leave out --regroup"),
        ("duplicates q.csv --pairs --keep first", "not allowed with argument --"),
    ):
        refused(line.split(), message)


@pytest.mark.slow
def test_doctor_prints_versions_devices_and_what_is_mended(run, monkeypatch):
    code, shown, err = run("doctor")
    mended = "inspect.stack of trax.layers.assert_shape"
    assert code == 0 and all(
        w in shown for w in ("trax", "1.4.1", "devices", mended, "OK: ")
    ), err
    monkeypatch.setattr("siamese.cli.course.TRAX", "1.5.0")
    (problem,) = json.loads(run("doctor", "--json")[1])["problems"]
    assert "Trax 1.4.1 was never tried" in problem and "trax==1.5.0" in problem


@pytest.mark.parametrize("name", ["head", "handwritten.csv"])
def test_the_demo_replaces_no_files_of_yours(refused, name):
    Path("runs").mkdir()
    (Path("runs") / name).write_text("mine")
    refused(["demo", "--output", "runs"], "runs holds other files")
    assert (Path("runs") / name).read_text() == "mine"


@pytest.mark.slow
def test_the_demo_shows_what_it_can_and_what_it_cannot(run, monkeypatch):
    small = small_corpus(train=12_000, valid=500, test=500)
    monkeypatch.setattr("siamese.Siamese", partial(siamese.Siamese, d_model=32))
    monkeypatch.setattr("siamese.cli.demo.embedded_corpus", lambda: small)
    code, out, err = run("demo", "--steps", "120")
    assert code == 0, err
    lines = out.splitlines()
    assert all(len(line) <= 80 for line in [*lines, *err.splitlines()[:3]])
    # Of both parts something right and something wrong.
    assert "predicted the same" in out and ": right\n" in out and ": WRONG\n" in out
    assert "Refused by the near-miss check" in out and "-> direction: " in out
    assert "WRONGLY grouped" in out
    assert "ROC AUC" in out and "recall rose from " in out
    assert run(*lines[-1].split()[1:])[0] == 0

    # The same folder again: the training is there already.
    facts = json.loads(run("demo", "--steps", "120", "--json")[1])
    course = facts["course"]
    assert course["roc_auc"] > 0.6
    assert course["accuracy_few_common_words"] > course["accuracy_most_words_common"]
    # The figures that docs/topics/quality.md prints.
    figures = facts["handwritten"]
    assert figures["without_answers"] == {
        "pairs_found": 57,
        "precision": pytest.approx(0.930, abs=0.02),
        "recall": pytest.approx(0.442, abs=0.02),
    }
    assert figures["after_answers"]["recall"] == pytest.approx(0.600, abs=0.02)
    assert figures["languages"]["found_first"] > 0.9 * figures["languages"]["asked"]


def test_test_pairs_that_are_trained_on_are_counted(run):
    pairs = small_corpus(train=400).train
    path, few = write_pairs(Path("pairs.csv"), pairs), pairs.rows(0, 40)
    one, two = [*few.question2, "how far"], [*map(str.upper, few.question1), "how old"]
    test = QuestionPairs(one, two, [*few.is_duplicate, False])
    write_pairs(Path("test.csv"), test)
    command = ["train", "--preset", "course", "--questions", path, "--test", "test.csv"]
    small = ["--steps", "2", "--batch-size", "16", "--set", "d_model=8"]
    _, out, err = run(*command, *small, "--json")
    assert json.loads(out)["test_pairs_trained_on"] == 40
    assert "40 of 41 test pairs are training pairs too" in err


PAIRS = "question1,question2,is_duplicate\nhow far ?,how old ?,0\nhow old ?,how old,1\n"


@pytest.fixture
def commands(run):
    Path("pairs.csv").write_text(PAIRS)
    assert (
        run("index", "build", "pairs.csv", "--model", "model", "--output", "index")[0]
        == 0
    )
    lines = {line.removesuffix(" --bad-rows skip") for line in odd_files.COMMANDS}
    others = ("train", "import-weights", "predict FILE", "--column")
    return [
        line.split()
        for line in sorted(lines)
        if not any(word in line for word in others)
    ]


def of_file(command, file):
    return [file if part == "FILE" else part for part in command]


def test_every_command_reads_pipes(commands, run):
    for command in commands:
        reader, writer = os.pipe()  # as in siamese data <(...)
        with open(writer, "w") as file:
            file.write(PAIRS)
        code, _, err = run(*of_file(command, f"/dev/fd/{reader}"))
        assert code == 0, (command, err)
        os.close(reader)
    assert "\npairs  " in run("data", "-", stdin=PAIRS)[1]
    assert (
        "was read already" in run("match", "-", "-", "--model", "model", stdin=PAIRS)[2]
    )
    # A table without known columns is refused here too, and lines are questions.
    command = ["duplicates", "-", "--model", "model"]
    assert (
        "the columns: Matter, Case"
        in run(*command, stdin="Matter,Case\n1,How far?\n2,Who\n")[2]
    )
    assert "2 questions" in run(*command, stdin="How far?\nWho, then?\n")[2]


def test_every_command_stops_at_a_bad_row_or_skips_it_and_reads_encodings(
    commands, run
):
    Path("pairs.csv").write_text(PAIRS + "how old ?,,0\n" + "how,far ?\n" * 30)
    for command in (of_file(command, "pairs.csv") for command in commands):
        code, _, err = run(*command)
        assert code == 2 and "line 5: 2 fields where the header has 3" in err, command
        code, *texts = run(*command, "--bad-rows", "skip")
        assert code == 0, command
        assert "1 row with an empty question (line 4): left out" in "".join(texts), (
            command
        )
        words = "30 rows that cannot be read (lines 5, 6, 7, 8, 9, …): left out"
        assert words in "".join(texts), command

    # Another encoding is asked for.
    text = PAIRS.replace("how far ?", "how far Zo\u00eb ?")
    Path("pairs.csv").write_bytes(text.encode("cp1252"))
    for command in (of_file(command, "pairs.csv") for command in commands):
        code, _, err = run(*command)
        assert code == 2 and "line 2" in err and "--encoding" in err, command
        assert run(*command, "--encoding", "cp1252")[0] == 0, command


@pytest.mark.slow
def test_no_odd_file_and_no_path_that_is_no_file_makes_a_traceback(tmp_path):
    """Every command takes some of the files; `benchmarks/faults.py files` gives each all of them."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("python_calamine")
    paths, codes = odd_files.make_folder(tmp_path), set()
    for at, command in enumerate(odd_files.COMMANDS):
        codes |= {
            odd_files.run_one(tmp_path, command, path)
            for path in paths[at % 14 : -5 : 14]
        }
        assert {odd_files.run_one(tmp_path, command, path) for path in paths[-5:]} == {
            2
        }, command
    assert codes == {0, 2}


def test_a_full_disk_behind_standard_output_is_not_the_files_fault(commands, capsys):
    with open("/dev/full", "w") as full, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", full)
        assert main(of_file(commands[0], "pairs.csv")) == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert "Standard output cannot be written: No space left on device." in message
    assert "pairs.csv" not in message


TEXTS = ["Où est le café?", "日本 how", "how far?"]
ENCODINGS = [
    {"PYTHONIOENCODING": "ascii"},
    {"PYTHONIOENCODING": "latin-1"},
    {"PYTHONIOENCODING": "ascii:strict"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
]


@pytest.mark.parametrize("environment", ENCODINGS, ids=str)
@pytest.mark.parametrize("flags", [[], ["--json"]], ids=str)
def test_a_table_is_utf_8_whatever_standard_output_is(run, environment, flags):
    Path("q.txt").write_text("\n".join(TEXTS), "utf-8")
    command = [sys.executable, "-m", "siamese.cli", "match", "q.txt", "q.txt", *flags]
    command += ["--model", "model"]
    done = subprocess.run(
        command, env=environment_of(**environment), capture_output=True
    )
    assert done.returncode == 0, done.stderr
    shown = done.stdout.decode("utf-8")
    rows = json.loads(shown)["rows"] if flags else csv.DictReader(io.StringIO(shown))
    assert [row["question"] for row in rows] == TEXTS


def test_a_terminal_shows_escapes_for_what_it_cannot_encode(run, monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "latin-1"))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stderr", None)  # closed: 2>&-
    assert run("predict", "use", "日本 é how", "how")[0] == 0
    assert written.getvalue().startswith(b"  \\u65e5\\u672c \xe9 how")  # without a note


@pytest.mark.parametrize("preset", ["course", "lstm", "head", "ensemble"])
@pytest.mark.parametrize(
    "command",
    [
        ["predict", "{}", "How far?", "How long?"],
        ["duplicates", "list.txt", "--model", "{}"],
        ["evaluate", "{}", "--questions", "pairs.csv"],
    ],
)
def test_a_presets_name_for_a_model_is_answered_with_the_command_that_trains_it(
    refused, preset, command
):
    Path("list.txt").write_text("How far?\nHow long?\n")
    refused(
        [part.format(preset) for part in command],
        "a preset of `siamese train`; train it first",
    )


def test_memory_that_does_not_suffice_is_one_message(refused, monkeypatch):
    def without_memory(*arguments):
        raise MemoryError

    monkeypatch.setattr("siamese.cli.reading.question_list", without_memory)
    Path("list.csv").write_text("question\nHow far is it?\nWho?\n")
    refused(["duplicates", "list.csv"], "memory")


def test_ctrl_c_while_the_command_is_imported_is_one_word(monkeypatch, capsys):
    class Interrupting:
        def find_spec(self, name, path=None, target=None):
            if name == "siamese.cli.main":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "siamese.cli.main")
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    from siamese.cli.__main__ import run as run_command

    assert run_command() == 130
    assert capsys.readouterr().err.strip() == "Interrupted."
