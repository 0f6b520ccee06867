"""Odd, damaged and hostile files: a sentence and exit code 2, or an answer; never a traceback."""

import importlib.util
from pathlib import Path

import pytest
from question_files import GOOD, write_files
from small_models import make_detector

from siamese.data.pairs import read_pairs
from siamese.data.question_list import read_questions

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def robustness():
    path = ROOT / "benchmarks" / "robustness" / "files.py"
    spec = importlib.util.spec_from_file_location("robustness_files", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def folder(tmp_path_factory, robustness):
    folder = tmp_path_factory.mktemp("hostile")
    make_detector(threshold=0.4).save(folder / "model")
    write_files(folder / "files")
    good = ["index", str(folder / "model"), str(folder / "files" / "good-list.csv")]
    assert robustness.run([*good, "--output", str(folder / "index")])["code"] == 0
    return folder


@pytest.mark.parametrize("name", ["data", "predict", "index", "index add", "import-weights"])
@pytest.mark.slow
def test_no_file_makes_a_traceback(folder, robustness, name):
    """The benchmark gives all files to all commands; here some commands take every fourth."""
    files = sorted((folder / "files").iterdir())
    assert len(files) >= 120
    for file in files if name in ("data", "predict") else files[::4]:
        found = robustness.run(robustness.commands(folder, str(file))[name])
        assert not robustness.wrong(name, found), (file.name, found)


@pytest.mark.parametrize("good", GOOD)
def test_what_can_be_read_is_read_alike(folder, good):
    def read(change):
        path = folder / "files" / f"{change}-{good}"
        if good.startswith("list"):
            return read_questions(path).questions
        pairs = read_pairs(path)
        return pairs.question1, pairs.question2, pairs.is_duplicate.tolist()

    for change in ("bom", "crlf", "utf-16", "utf-16-be", "gzip", "no-last-end", "nul"):
        assert read(change) == read("good"), change


def test_paths_that_are_no_files(folder, robustness, monkeypatch):
    monkeypatch.setattr("siamese.data.files.FIFO_SECONDS", 0.05)
    names = ("data", "predict", "predict, as the model", "index", "import-weights", "duplicates")
    for path in robustness.no_files(folder):
        for name in names:
            found = robustness.run(robustness.commands(folder, path)[name])
            assert not robustness.wrong(name, found) and found["code"] == 2, (path, found)
