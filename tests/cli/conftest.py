"""Commands run in this process, in an empty folder with a small untrained model."""

import csv
import io

import pytest
from small_models import make_detector

from siamese.cli.main import main


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Function of a command: runs it in an empty folder with the file "model" -> (code, out, err)."""
    monkeypatch.chdir(tmp_path)
    make_detector(threshold=0.9).save("model")

    def run(*arguments, stdin=None):
        capsys.readouterr()
        if stdin is not None:
            raw = io.BufferedReader(io.BytesIO(stdin.encode()))
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(raw))
        try:
            code = main(list(map(str, arguments)))
        except SystemExit as stopped:  # of argparse
            code = stopped.code
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def rows(run):
    """Function of a command: the rows of the CSV that it prints."""

    def rows(*arguments):
        code, out, err = run(*arguments)
        assert code == 0, err
        return list(csv.DictReader(io.StringIO(out)))

    return rows


@pytest.fixture
def refused(run):
    """Function of a command and words: it ends with code 2 and one message that has the words."""

    def refused(command, words, stdin=None):
        code, out, err = run(*command, stdin=stdin)
        assert code == 2 and out == "" and words in err and "Traceback" not in err, (command, err)

    return refused
