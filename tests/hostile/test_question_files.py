"""Odd, damaged and hostile files: each is read, or refused with one sentence; never another error."""

import pytest
from every_command import commands, make_folder, run_one

from siamese.data.pairs import read_pairs
from siamese.data.questions import read_ids, read_questions
from siamese.errors import SiameseError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("pyarrow")
    pytest.importorskip("python_calamine")
    return tmp_path_factory.mktemp("hostile")


@pytest.fixture(scope="module")
def paths(folder):
    """The odd files, and paths that are no files; beside a model and an index."""
    return make_folder(folder)


@pytest.mark.parametrize("read", [read_pairs, read_questions, read_ids])
@pytest.mark.slow
def test_every_file_is_read_or_refused_with_its_name(paths, read):
    files, refused = paths[:-5], 0  # the others are no files
    assert len(files) >= 200
    for at, path in enumerate(files):
        try:
            read(path, bad_rows="refuse" if at % 2 else "skip")
        except SiameseError as error:
            refused += 1
            assert str(error).startswith(str(path)) and len(str(error)) < 2000, (path.name, error)
    assert 0 < refused < len(files)


@pytest.mark.parametrize("name", ["data", "predict", "index build", "index add", "import-weights"])
@pytest.mark.slow
def test_no_file_makes_a_traceback(folder, paths, name):
    """benchmarks/faults.py gives all files to all commands; here most commands take every eighth."""
    for path in paths if name == "data" else paths[::8]:
        run_one(name, commands(folder, path)[name])


def test_paths_that_are_no_files(folder, paths):
    for path in paths[-5:]:
        for name in ("data", "predict", "predict, as the model", "index build", "import-weights"):
            assert run_one(name, commands(folder, path)[name]) == 2, (path, name)
