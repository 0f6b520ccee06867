"""tokenize_questions against word_tokenize and the course's loops; kept, damaged, killed, in parallel."""

import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import siamese
from siamese.data.tokens import tokenize_questions
from siamese.data.vocabulary import Vocabulary, word_tokenize
from siamese.errors import ArgumentError, DataError

QUESTIONS = [
    "When will I see you?",
    "When can I see you again?",
    "When will I see you?",
    "I cannot. Dr. No can't, can he?",
    "",
    "café \ud83d \x00 क्या",
    "When will I see you? ",
]


@pytest.fixture(autouse=True)
def home_is_elsewhere(tmp_path, monkeypatch):
    """No test may write to the real cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))


def tokens_of(found):
    return [[found.words[word] for word in found.ids[row]] for row in found.rows]


def test_each_distinct_question_once_in_order():
    found = tokenize_questions(QUESTIONS, cache_dir=False)
    assert tokens_of(found) == [word_tokenize(text) for text in QUESTIONS]
    assert found.rows.tolist() == [0, 1, 0, 2, 3, 4, 5] and found.rows.dtype == np.int64
    assert len(found.ids) == 6
    assert found.words[:8] == ["When", "will", "I", "see", "you", "?", "can", "again"]
    assert found.ids.values.dtype == np.int32 and len(set(found.words)) == len(found.words)


@pytest.mark.parametrize(
    ("questions", "processes", "kind", "message"),
    [
        (["a", float("nan")], 1, DataError, "Question 1 .* nan"),
        ("one text", 1, ArgumentError, "a list of questions"),
        (["a"], 0, ArgumentError, "processes"),
    ],
)
def test_bad_input(questions, processes, kind, message):
    with pytest.raises(kind, match=message):
        tokenize_questions(questions, cache_dir=False, processes=processes)


texts = st.sampled_from(["a b c", "B a?", "c c d", "", "can't", "D? a", "x y", "<PAD>"])


@given(
    st.lists(st.tuples(texts, texts), max_size=10),
    st.integers(1, 4),
    st.booleans(),
)
def test_vocabulary_and_ids_equal_those_of_single_questions(pairs, min_count, folded):
    options = {"min_count": min_count, "folded": folded}
    one, two = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    found = tokenize_questions(one + two, cache_dir=False)
    slow = Vocabulary.from_pairs(map(word_tokenize, one), map(word_tokenize, two), **options)
    n = len(pairs)
    assert found.vocabulary(found.rows[:n], found.rows[n:], **options) == slow
    ids = found.encode(slow)
    assert [ids[row].tolist() for row in found.rows] == [slow.encode(text) for text in one + two]


def test_kept_and_read_back(tmp_path):
    folder = tmp_path / "new" / "folder"
    made = tokenize_questions(QUESTIONS, cache_dir=folder)
    (path,) = folder.iterdir()
    before = path.stat()
    read = tokenize_questions(QUESTIONS * 2, cache_dir=str(folder))  # the same distinct questions
    assert tokens_of(read) == tokens_of(made) * 2 and read.words == made.words
    (path,) = folder.iterdir()
    assert path.stat() == before  # written once


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: b"",
        lambda raw: raw.replace(b"values.npy", b"waluez.npy"),
        lambda raw: b"<html>not found</html>",
    ],
)
def test_a_damaged_file_is_reported_in_a_line_and_made_again(damage, tmp_path, caplog):
    made = tokenize_questions(QUESTIONS, cache_dir=tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_bytes(damage(path.read_bytes()))
    with caplog.at_level(logging.WARNING):
        again = tokenize_questions(QUESTIONS, cache_dir=tmp_path)
        assert tokens_of(again) == tokens_of(made)
        (line,) = [record.getMessage() for record in caplog.records]
        assert str(path) in line and "\n" not in line and "again" in line
        tokenize_questions(QUESTIONS, cache_dir=tmp_path)
    assert len(caplog.records) == 1  # the new file is whole


def test_no_cut_and_no_flipped_bit_changes_a_token(tmp_path):
    made = tokens_of(tokenize_questions(QUESTIONS, cache_dir=tmp_path))
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    for place in range(0, len(whole), 9):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << (place % 8)
        for damaged in (whole[:place], bytes(flipped)):
            path.write_bytes(damaged)
            assert tokens_of(tokenize_questions(QUESTIONS, cache_dir=tmp_path)) == made


def test_what_cannot_be_written_is_reported_and_the_work_goes_on(tmp_path, caplog, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr(os, "fsync", full)
    folders = {tmp_path / "file" / "cache": "not kept on disk", tmp_path / "new": "disk is full"}
    for folder, message in folders.items():
        with caplog.at_level(logging.WARNING):
            found = tokenize_questions(QUESTIONS, cache_dir=folder)
        assert tokens_of(found) == [word_tokenize(text) for text in QUESTIONS]
        assert message in caplog.records[-1].getMessage()
    assert not list((tmp_path / "new").iterdir())


# Killed, and on all cores


def run_tokenizing(questions, folder, before="", wait=True):
    """Tokenizes in a process of its own, without a main guard; returns the process."""
    code = (
        f"{before}\nfrom siamese import tokenize_questions\n"
        f"found = tokenize_questions({questions!r}, cache_dir={folder and str(folder)!r}, "
        "processes=2, progress=False)\n"
        "print([found.words[word] for word in found.ids[found.rows[-1]]])\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-P", "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(Path(siamese.__file__).parents[1])},
    )  # fmt: skip
    process.stdin.write(code)
    process.stdin.close()
    if wait:
        process.wait(timeout=1800)
    return process


def workers_of(pid):
    """The ids of the worker processes that a process has started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, parent = path.read_text().rsplit(")", 1)[1].split()[:2]
            command = path.with_name("cmdline").read_bytes()
        except OSError:  # it has ended
            continue
        if int(parent) == pid and b"loky" in command and b"--process-name" in command:
            found.append(int(path.parent.name))
    return found


def wait_until(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def test_killed_while_writing_leaves_no_half_file_and_is_cleaned_up(tmp_path):
    before = "import os, signal; os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)"
    done = run_tokenizing(["I cannot"], tmp_path, before)
    assert done.returncode == -signal.SIGKILL
    (half,) = tmp_path.iterdir()
    assert half.name.startswith(".")  # beside, not in place
    assert tokens_of(tokenize_questions(["I cannot"], cache_dir=tmp_path)) == [["I", "can", "not"]]
    assert not half.exists()


def test_a_script_without_a_main_guard_works():
    done = run_tokenizing([f"I cannot say {n}" for n in range(2000)], False)
    assert done.stdout.read().strip() == "['I', 'can', 'not', 'say', '1999']"
    assert done.stderr.read() == ""


def test_a_worker_killed_in_the_middle():
    """The tokens are the same, and a line says that one process did the rest."""
    process = run_tokenizing([f"I cannot say {n}" for n in range(5000)], False, wait=False)
    workers = []
    wait_until(lambda: workers.extend(workers_of(process.pid)) or workers)
    os.kill(workers[0], signal.SIGKILL)
    assert process.stdout.read().strip() == "['I', 'can', 'not', 'say', '4999']"
    assert "tokenized in one process, as a worker failed" in process.stderr.read()
    process.wait()
