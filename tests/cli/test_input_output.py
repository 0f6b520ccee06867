"""What the command reads from and writes to: pipes, odd files, full disks, narrow encodings."""

import io
import json
import os
import sys
import threading
import time

import pytest
from small_models import make_detector

from siamese.cli.main import main
from siamese.compat.progress import elapsed

PAIRS = "question1,question2,is_duplicate\nhow far ?,how old ?,0\nhow old ?,how old,1\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model"
    make_detector(threshold=0.4).save(path)
    return str(path)


@pytest.fixture
def commands(tmp_path, model):
    """Every command that reads questions or pairs, with FILE for what it reads, and an index."""
    good, index = tmp_path / "good.csv", str(tmp_path / "index")
    good.write_text(PAIRS)
    assert main(["index", "build", str(good), "--model", model, "--output", index]) == 0
    read = ["--answers", "FILE", "--output", str(tmp_path / "fitted")]
    return {
        "data": ["data", "FILE"],
        "evaluate": ["evaluate", model, "--questions", "FILE"],
        "predict": ["predict", model, "FILE"],
        "threshold": ["threshold", model, *read],
        "index build": ["index", "build", "FILE", "--model", model, "--output", f"{index}2"],
        "index add": ["index", "add", index, "FILE"],
        "search": ["search", "FILE", "how far", "--model", model],
        "search --queries": ["search", index, "--queries", "FILE"],
        "duplicates": ["duplicates", "FILE", "--model", model],
        "duplicates --add": ["duplicates", index, "--add", "FILE"],
        "duplicates --choose": ["duplicates", index, "--choose-threshold", "FILE"],
        "match": ["match", "FILE", str(good), "--model", model],
    }


def test_every_command_reads_pipes(commands, capsys):
    for name, arguments in commands.items():
        reader, writer = os.pipe()  # as in siamese data <(...)
        with open(writer, "w") as file:
            file.write(PAIRS)
        arguments = [f"/dev/fd/{reader}" if part == "FILE" else part for part in arguments]
        assert main(arguments) == 0, (name, capsys.readouterr().err)
        os.close(reader)


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_standard_input_is_a_file(model, capsys, monkeypatch, name):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(PAIRS.encode())))
    assert main(["data", name, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pairs"] == 2


def test_a_named_pipe_is_read(tmp_path):
    os.mkfifo(tmp_path / "written")
    write = threading.Thread(target=(tmp_path / "written").write_text, args=[PAIRS])
    write.start()
    assert main(["data", str(tmp_path / "written")]) == 0
    write.join()


def test_every_command_stops_at_a_bad_row_or_leaves_it_out(commands, tmp_path, capsys):
    file = tmp_path / "pairs.csv"
    file.write_text(PAIRS + "how old ?,,0\n" + "how,far ?\n" * 30)
    for name, arguments in commands.items():
        arguments = [str(file) if part == "FILE" else part for part in arguments]
        capsys.readouterr()
        assert main(arguments) == 2, name
        assert "line 5: 2 fields where the header has 3" in capsys.readouterr().err
        assert main([*arguments, "--bad-rows", "skip"]) == 0, name
        text = "".join(capsys.readouterr())
        assert "30 rows that cannot be read (lines 5, 6, 7, 8, 9, …): left out" in text, name
        assert "1 row with an empty question (line 4): left out" in text, name


def test_every_command_reads_another_encoding(commands, tmp_path, capsys):
    file = tmp_path / "pairs.csv"
    file.write_bytes(PAIRS.replace("how far ?", "how far Zo\u00eb ?").encode("cp1252"))
    for name, arguments in commands.items():
        arguments = [str(file) if part == "FILE" else part for part in arguments]
        assert main(arguments) == 2, name
        assert "line 2" in (message := capsys.readouterr().err) and "--encoding" in message, name
        assert main([*arguments, "--encoding", "cp1252"]) == 0, name


@pytest.mark.parametrize("question", ["-", "queries.txt"])
def test_search_takes_no_file_for_a_question(tmp_path, model, capsys, monkeypatch, question):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "queries.txt").write_text("how far ?\n")
    assert main(["search", "queries.txt", question, "--model", model]) == 2
    assert f"{question!r} is a file, not a question" in capsys.readouterr().err


def test_a_full_disk_behind_standard_output_is_not_the_files_fault(commands, tmp_path, capsys):
    for arguments in commands.values():
        arguments = [str(tmp_path / "good.csv") if part == "FILE" else part for part in arguments]
        with open("/dev/full", "w") as full, pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdout", full)
            assert main(arguments) == 2
        message = capsys.readouterr().err.splitlines()[-1]
        assert "Standard output cannot be written: No space left on device." in message
        assert "good.csv" not in message


def test_what_standard_output_cannot_encode_is_replaced(model, monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "latin-1"))
    assert main(["predict", model, "日本 how", "how"]) == 0
    assert b"?? how" in written.getvalue()


@pytest.mark.parametrize("seconds", [0.0, 1.3])
def test_a_terminal_shows_the_time_of_what_takes_long(monkeypatch, seconds):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    with elapsed("Encoding"):
        time.sleep(seconds)
    assert ("Encoding ... 1 s" in terminal.getvalue()) == bool(seconds)
    assert not seconds or terminal.getvalue().endswith("\x1b[K")
