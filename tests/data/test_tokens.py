"""tokenize_questions against word_tokenize and the course's loops; in parallel, killed."""

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


def tokens_of(found):
    return [[found.words[word] for word in found.ids[row]] for row in found.rows]


def test_each_distinct_question_once_in_order():
    found = tokenize_questions(QUESTIONS)
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
        tokenize_questions(questions, processes=processes)


texts = st.sampled_from(["a b c", "B a?", "c c d", "", "can't", "D? a", "x y", "<PAD>"])


@given(
    st.lists(st.tuples(texts, texts), max_size=10),
    st.integers(1, 4),
    st.booleans(),
)
def test_vocabulary_and_ids_equal_those_of_single_questions(pairs, min_count, folded):
    options = {"min_count": min_count, "folded": folded}
    one, two = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    found = tokenize_questions(one + two)
    slow = Vocabulary.from_pairs(map(word_tokenize, one), map(word_tokenize, two), **options)
    n = len(pairs)
    assert found.vocabulary(found.rows[:n], found.rows[n:], **options) == slow
    ids = found.encode(slow)
    assert [ids[row].tolist() for row in found.rows] == [slow.encode(text) for text in one + two]


# On all cores


def run_tokenizing(questions, wait=True):
    """Tokenizes in a process of its own, without a main guard; returns the process."""
    code = (
        "from siamese import tokenize_questions\n"
        f"found = tokenize_questions({questions!r}, "
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


def test_a_script_without_a_main_guard_works():
    done = run_tokenizing([f"I cannot say {n}" for n in range(2000)])
    assert done.stdout.read().strip() == "['I', 'can', 'not', 'say', '1999']"
    assert done.stderr.read() == ""


def test_a_worker_killed_in_the_middle():
    """The tokens are the same, and a line says that one process did the rest."""
    process = run_tokenizing([f"I cannot say {n}" for n in range(5000)], wait=False)
    workers = []
    wait_until(lambda: workers.extend(workers_of(process.pid)) or workers)
    os.kill(workers[0], signal.SIGKILL)
    assert process.stdout.read().strip() == "['I', 'can', 'not', 'say', '4999']"
    assert "tokenized in one process, as a worker failed" in process.stderr.read()
    process.wait()
