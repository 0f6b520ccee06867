"""Odd, damaged and hostile files: each is read, or refused with one sentence; never another error."""

import pytest
from every_command import COMMANDS, make_folder, run_one

NO_FILES = 5  # of the paths are no files, the last


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("pyarrow")
    pytest.importorskip("python_calamine")
    return tmp_path_factory.mktemp("hostile")


@pytest.fixture(scope="module")
def paths(folder):
    """The odd files, and paths that are no files; beside a model and an index."""
    return make_folder(folder)


@pytest.mark.slow
def test_no_file_makes_a_traceback(folder, paths):
    """Every command takes some of the files, `benchmarks/faults.py files` gives each all of them."""
    codes = [
        {run_one(folder, command, path) for path in paths[at % 14 : -NO_FILES : 14]}
        for at, command in enumerate(COMMANDS)
    ]
    assert set.union(*codes) == {0, 2}


def test_paths_that_are_no_files(folder, paths):
    for command in COMMANDS:
        assert {run_one(folder, command, path) for path in paths[-NO_FILES:]} == {2}, command
