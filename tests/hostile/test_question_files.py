"""Odd, damaged and hostile files: each is read, or refused with one sentence; never another error."""

import pytest
from question_files import GOOD, write_files

from siamese.data.pairs import read_pairs
from siamese.data.questions import read_ids, read_questions
from siamese.errors import SiameseError


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    pytest.importorskip("pyarrow")
    pytest.importorskip("python_calamine")
    return write_files(tmp_path_factory.mktemp("hostile"))


@pytest.mark.parametrize("bad_rows", ["refuse", "skip"])
@pytest.mark.parametrize("read", [read_pairs, read_questions, read_ids])
@pytest.mark.slow
def test_every_file_is_read_or_refused_with_its_name(files, read, bad_rows):
    assert len(files) >= 200
    refused = 0
    for path in files:
        try:
            read(path, bad_rows=bad_rows)
        except SiameseError as error:
            refused += 1
            assert str(error).startswith(str(path)) and len(str(error)) < 2000, (path.name, error)
    assert 0 < refused < len(files)


@pytest.mark.parametrize("good", GOOD)
def test_what_can_be_read_is_read_alike(files, good):
    def read(change):
        path = files[0].parent / f"{change}-{good}"
        if good.startswith("list"):
            return read_questions(path).questions
        pairs = read_pairs(path)
        return pairs.question1, pairs.question2, pairs.is_duplicate.tolist()

    for change in ("bom", "crlf", "utf-16", "utf-16-be", "gzip", "no-last-end"):
        if change == "crlf" and good.endswith(
            ("v",)
        ):  # a line break inside a question stays as it is
            continue
        assert read(change) == read("good"), change
