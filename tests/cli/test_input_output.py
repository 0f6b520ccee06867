"""What the command reads from and writes to: pipes, odd files, full disks, narrow encodings."""

import io
import json
import os
import sys
import threading

import pytest
from small_models import make_detector

from siamese.cli.main import main

PAIRS = "question1,question2,is_duplicate\nhow far ?,how old ?,1\nhow old ?,what is ?,0\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model"
    make_detector(threshold=0.4).save(path)
    return str(path)


def commands(model, folder, file):
    """Every command that reads questions, given a file."""
    index = str(folder / "index")
    return {
        "data": ["data", file],
        "evaluate": ["evaluate", model, "--questions", file],
        "predict": ["predict", model, file],
        "index": ["index", model, file, "--output", index],
        "index add": ["index", "add", index, file],
    }


def test_every_command_reads_pipes(tmp_path, model, capsys):
    for name, arguments in commands(model, tmp_path, "").items():
        reader, writer = os.pipe()  # as in siamese data <(...)
        with open(writer, "w") as file:
            file.write(PAIRS)
        arguments = [f"/dev/fd/{reader}" if part == "" else part for part in arguments]
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


def test_every_command_stops_at_a_bad_row_or_leaves_it_out(tmp_path, model, capsys):
    file = tmp_path / "pairs.csv"
    file.write_text(PAIRS + "how old ?,,0\n" + "how,far ?\n" * 30)
    (tmp_path / "good.csv").write_text(PAIRS)
    main(["index", model, str(tmp_path / "good.csv"), "--output", str(tmp_path / "index")])
    for name, arguments in commands(model, tmp_path, str(file)).items():
        capsys.readouterr()
        assert main(arguments) == 2, name
        assert "line 5: 2 fields where the header has 3" in capsys.readouterr().err
        assert main([*arguments, "--bad-rows", "skip"]) == 0, name
        text = "".join(capsys.readouterr())
        assert "30 rows that cannot be read (lines 5, 6, 7, 8, 9, …): left out" in text, name
        assert "1 rows with an empty question (line 4): left out" in text, name


@pytest.mark.parametrize("question", ["-", "queries.txt"])
def test_search_takes_no_file_for_a_question(tmp_path, model, capsys, monkeypatch, question):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "queries.txt").write_text("how far ?\n")
    assert main(["index", model, "queries.txt", "--output", "old"]) == 0
    assert main(["search", "old", question]) == 2
    assert f"{question!r} is a file, not a question" in capsys.readouterr().err


def test_a_full_disk_behind_standard_output_is_not_the_files_fault(tmp_path, model, capsys):
    (tmp_path / "pairs.csv").write_text(PAIRS)
    for arguments in commands(model, tmp_path, str(tmp_path / "pairs.csv")).values():
        with open("/dev/full", "w") as full, pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdout", full)
            assert main(arguments) == 2
        message = capsys.readouterr().err
        assert "Standard output cannot be written: No space left on device." in message
        assert "pairs.csv" not in message


def test_what_standard_output_cannot_encode_is_replaced(tmp_path, model, monkeypatch):
    (tmp_path / "old.jsonl").write_text('{"question": "how \\ud800 far ?"}\n')
    assert (
        main(["index", model, str(tmp_path / "old.jsonl"), "--output", str(tmp_path / "old")]) == 0
    )
    for encoding, arguments, part in (
        ("latin-1", ["predict", model, "日本 how", "how"], b"?? how"),
        ("utf-8", ["search", str(tmp_path / "old"), "how far ?"], rb"how \ud800 far ?"),
        ("utf-8", ["search", str(tmp_path / "old"), "how far ?", "--json"], rb"how \ud800 far ?"),
    ):
        written = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding))
        assert main(arguments) == 0
        assert part in written.getvalue()
