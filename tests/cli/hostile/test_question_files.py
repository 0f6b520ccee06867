"""Odd, damaged and hostile files: each is read, or refused with one sentence; never another error."""

import pytest
from every_command import COMMANDS, make_folder, run_one

NO_FILES = 5  # of the paths are no files, the last


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A folder with a model and an index; the odd files, and paths that are no files."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("python_calamine")
    folder = tmp_path_factory.mktemp("hostile")
    return folder, make_folder(folder)


@pytest.mark.slow
def test_no_file_makes_a_traceback(hostile):
    """Every command takes some of the files, `benchmarks/faults.py files` gives each all of them."""
    folder, paths = hostile
    codes = [
        {run_one(folder, command, path) for path in paths[at % 14 : -NO_FILES : 14]}
        for at, command in enumerate(COMMANDS)
    ]
    assert set.union(*codes) == {0, 2}


def test_paths_that_are_no_files(hostile):
    folder, paths = hostile
    for command in COMMANDS:
        assert {run_one(folder, command, path) for path in paths[-NO_FILES:]} == {2}, command
