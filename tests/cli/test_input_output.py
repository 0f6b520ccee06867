"""What the command reads from and writes to: pipes, odd files, full disks, narrow encodings."""

import io
import os
import sys
import time

import odd_files
import pytest

from siamese.cli.main import main
from siamese.compat.progress import elapsed

PAIRS = "question1,question2,is_duplicate\nhow far ?,how old ?,0\nhow old ?,how old,1\n"


@pytest.fixture
def commands(tmp_path, run):
    """Every command that answers about questions or pairs, with FILE for what it reads."""
    (tmp_path / "pairs.csv").write_text(PAIRS)
    assert run("index", "build", "pairs.csv", "--model", "model", "--output", "index")[0] == 0
    lines = {line.removesuffix(" --bad-rows skip") for line in odd_files.COMMANDS}
    others = ("train", "import-weights", "predict FILE", "--column")
    return [line.split() for line in sorted(lines) if not any(word in line for word in others)]


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
    assert "was read already" in run("match", "-", "-", "--model", "model", stdin=PAIRS)[2]
    # A table without known columns is refused here too, and lines are questions.
    command = ["duplicates", "-", "--model", "model"]
    assert "the columns: Matter, Case" in run(*command, stdin="Matter,Case\n1,How far?\n2,Who\n")[2]
    assert "2 questions" in run(*command, stdin="How far?\nWho, then?\n")[2]


def test_every_command_stops_at_a_bad_row_or_leaves_it_out_and_reads_encodings(
    commands, tmp_path, run
):
    (tmp_path / "pairs.csv").write_text(PAIRS + "how old ?,,0\n" + "how,far ?\n" * 30)
    for command in (of_file(command, "pairs.csv") for command in commands):
        code, _, err = run(*command)
        assert code == 2 and "line 5: 2 fields where the header has 3" in err, command
        code, *texts = run(*command, "--bad-rows", "skip")
        assert code == 0, command
        assert "1 row with an empty question (line 4): left out" in "".join(texts), command
        words = "30 rows that cannot be read (lines 5, 6, 7, 8, 9, …): left out"
        assert words in "".join(texts), command

    # Another encoding is asked for.
    text = PAIRS.replace("how far ?", "how far Zo\u00eb ?")
    (tmp_path / "pairs.csv").write_bytes(text.encode("cp1252"))
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
        codes |= {odd_files.run_one(tmp_path, command, path) for path in paths[at % 14 : -5 : 14]}
        assert {odd_files.run_one(tmp_path, command, path) for path in paths[-5:]} == {2}, command
    assert codes == {0, 2}


def test_a_full_disk_behind_standard_output_is_not_the_files_fault(commands, capsys):
    with open("/dev/full", "w") as full, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", full)
        assert main(of_file(commands[0], "pairs.csv")) == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert "Standard output cannot be written: No space left on device." in message
    assert "pairs.csv" not in message


def test_what_standard_output_cannot_encode_is_replaced(run, monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "latin-1"))
    monkeypatch.setattr(sys, "stderr", None)  # closed: 2>&-
    assert run("predict", "use", "日本 how", "how")[0] == 0
    assert written.getvalue().startswith(b"  ?? how")  # without a note


def test_a_terminal_shows_the_time_of_what_takes_long(monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    with elapsed("Encoding"):
        pass
    assert terminal.getvalue() == ""
    with elapsed("Encoding"):
        time.sleep(1.3)
    assert "Encoding ... 1 s" in terminal.getvalue() and terminal.getvalue().endswith("\x1b[K")
