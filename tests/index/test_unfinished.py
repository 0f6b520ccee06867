"""A build of an index that was stopped goes on where it was stopped."""

import signal
from pathlib import Path

import pytest
from numpy.testing import assert_allclose
from programs import run
from refusals import refuses
from small_models import make_detector, random_questions

from siamese.encoders.lstm import Lstm
from siamese.errors import DataError
from siamese.index import QuestionIndex

HELPERS = Path(__file__).parents[1] / "helpers"
QUESTIONS = random_questions(200)
SLOW = "siamese.index.unfinished.PATIENCE"  # seconds of work that may be lost


@pytest.fixture
def encoded(monkeypatch):
    """The texts that are encoded, in small batches; "stop" among them stops the work."""
    texts, encode = [], Lstm.encode

    def recorded(self, batch):
        if "stop" in texts:
            raise KeyboardInterrupt
        texts.extend(batch)
        return encode(self, batch)

    monkeypatch.setattr(Lstm, "encode", recorded)
    monkeypatch.setattr(Lstm, "at_once", 100)
    monkeypatch.setattr(SLOW, 0)
    return texts


def test_what_was_encoded_before_ctrl_c_is_not_encoded_again(tmp_path, encoded):
    detector, path = make_detector(), tmp_path / "questions.db"
    questions = [*QUESTIONS[:100], "stop", *QUESTIONS[100:]]
    with pytest.raises(KeyboardInterrupt):
        QuestionIndex.build(detector, questions, path=path)
    before = encoded.copy()
    assert 50 < len(before) < 150
    encoded.clear()
    with QuestionIndex.build(
        detector, questions[:100] + questions[101:], path=path
    ) as index:
        assert len(index) == 200
        assert sorted([*before, *encoded]) == sorted({*before, *encoded})
        assert {*before[:50]}.isdisjoint(encoded)
        vectors = index.vectors
    assert_allclose(vectors, make_detector().encode(QUESTIONS), atol=1e-6)
    assert {file.name for file in tmp_path.iterdir()} <= {
        f"questions.db{end}" for end in ("", "-wal", "-shm")
    }


def test_another_model_encodes_all_anew(tmp_path, encoded):
    path = tmp_path / "questions.db"
    with pytest.raises(KeyboardInterrupt):
        QuestionIndex.build(make_detector(), ["stop", *QUESTIONS], path=path)
    encoded.clear()
    other = make_detector(d=6)
    with QuestionIndex.build(other, QUESTIONS, path=path) as index:
        assert_allclose(index.vectors, other.encode(QUESTIONS), atol=1e-6)


def test_an_error_leaves_nothing_behind(tmp_path, encoded):
    with refuses(DataError, "no words"):
        QuestionIndex.build(make_detector(), [*QUESTIONS, " "], path=tmp_path / "a.db")
    assert not [*tmp_path.iterdir()]


def test_a_file_that_holds_something_else_does_no_harm(tmp_path, encoded):
    (tmp_path / "a.db.unfinished").write_text("my notes")
    with QuestionIndex.build(
        make_detector(), QUESTIONS, path=tmp_path / "a.db"
    ) as index:
        assert len(index) == 200


def test_a_killed_build_goes_on(tmp_path, encoded):
    script = """
        import os, signal, sys
        sys.path.append(sys.argv[2])
        from small_models import make_detector, random_questions
        from siamese.encoders.lstm import Lstm
        from siamese.index import QuestionIndex, unfinished
        unfinished.PATIENCE, Lstm.at_once, encode = 0, 100, Lstm.encode
        def killed(self, texts):
            if random_questions(200)[100] in texts:
                os.kill(os.getpid(), signal.SIGKILL)
            return encode(self, texts)
        Lstm.encode = killed
        QuestionIndex.build(make_detector(), random_questions(200), path=sys.argv[1])
    """
    path = tmp_path / "questions.db"
    assert run(script, arguments=[path, HELPERS]).returncode == -signal.SIGKILL
    with QuestionIndex.build(make_detector(), QUESTIONS, path=path) as index:
        assert 50 < len(encoded) < 150 and len(index) == 200
