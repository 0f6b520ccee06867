"""Odd, damaged and hostile files: a sentence and exit code 2, or an answer; never a traceback."""

import pytest
from every_command import PIPE_WAIT, commands, make_folder, run_one
from question_files import GOOD

from siamese.data.pairs import read_pairs
from siamese.data.question_list import read_questions


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("hostile")


@pytest.fixture(scope="module")
def paths(folder):
    """The odd files, and paths that are no files; beside a model and an index."""
    return make_folder(folder)


@pytest.mark.parametrize("name", ["data", "predict", "index build", "index add", "import-weights"])
@pytest.mark.slow
def test_no_file_makes_a_traceback(folder, paths, name, monkeypatch):
    """benchmarks/faults.py gives all files to all commands; here some commands take every fourth."""
    monkeypatch.setattr(PIPE_WAIT, 0.05)
    assert len(paths) >= 120
    for path in paths if name in ("data", "predict") else paths[::4]:
        run_one(name, commands(folder, path)[name])


@pytest.mark.parametrize("good", GOOD)
def test_what_can_be_read_is_read_alike(folder, paths, good):
    def read(change):
        path = folder / "files" / f"{change}-{good}"
        if good.startswith("list"):
            return read_questions(path).questions
        pairs = read_pairs(path)
        return pairs.question1, pairs.question2, pairs.is_duplicate.tolist()

    for change in ("bom", "crlf", "utf-16", "utf-16-be", "gzip", "no-last-end", "nul"):
        assert read(change) == read("good"), change


def test_paths_that_are_no_files(folder, paths, monkeypatch):
    monkeypatch.setattr(PIPE_WAIT, 0.05)
    for path in paths[-6:]:
        for name in ("data", "predict", "predict, as the model", "index build", "import-weights"):
            assert run_one(name, commands(folder, path)[name]) == 2, (path, name)
