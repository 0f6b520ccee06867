"""tokenize_questions against word_tokenize and the course's loops; kept, damaged and killed."""

import csv
import gzip
import logging
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese.data import token_cache, token_workers
from siamese.data.token_cache import TokenizedQuestions, default_cache_dir, tokenize_questions
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


def tokens_of(tokenized):
    return [tokenized.tokens(place) for place in range(len(tokenized))]


def never(*arguments):
    raise AssertionError("tokenized although the cache holds it")


def test_each_distinct_question_once_in_order():
    found = tokenize_questions(QUESTIONS, cache_dir=False)
    assert tokens_of(found) == [word_tokenize(text) for text in QUESTIONS]
    assert found.rows.tolist() == [0, 1, 0, 2, 3, 4, 5] and found.rows.dtype == np.int64
    assert len(found.ids) == 6 and len(found) == 7
    assert found.words[:8] == ["When", "will", "I", "see", "you", "?", "can", "again"]
    assert found.ids.values.dtype == np.int32 and len(set(found.words)) == len(found.words)


def test_nothing_and_empty_questions():
    none = tokenize_questions([], cache_dir=False)
    assert len(none) == 0 and none.words == [] and dict(none.vocabulary()) == {"<PAD>": 1}
    empty = tokenize_questions(["", " "], cache_dir=False)
    assert tokens_of(empty) == [[], []] and empty.encode(Vocabulary())[0].tolist() == []


def test_arrays_and_generators_are_questions_too():
    array = np.array(["a b", "c", "a b"])
    assert tokens_of(tokenize_questions(array, cache_dir=False)) == [["a", "b"], ["c"], ["a", "b"]]
    assert tokenize_questions((q for q in array), cache_dir=False).rows.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ((["a", float("nan")], {}), DataError, "Question 1 .* nan"),
        ((["a", "b", None], {}), DataError, "Question 2 .* None"),
        (("one text", {}), ArgumentError, "a list of questions"),
        ((["a"], {"processes": 0}), ArgumentError, "processes"),
    ],
)
def test_bad_input(arguments, kind, message):
    questions, options = arguments
    with pytest.raises(kind, match=message):
        tokenize_questions(questions, cache_dir=False, **options)


def course_vocabulary(pairs):
    vocab = defaultdict(lambda: 0)
    vocab["<PAD>"] = 1
    for one, two in pairs:
        for word in word_tokenize(one) + word_tokenize(two):
            if word not in vocab:
                vocab[word] = len(vocab) + 1
    return vocab


texts = st.sampled_from(["a b c", "B a?", "c c d", "", "can't", "D? a", "x y", "<PAD>"])


@settings(deadline=None)
@given(st.lists(st.tuples(texts, texts), max_size=10), st.booleans())
def test_vocabulary_and_ids_equal_the_courses_loop(pairs, lowercase):
    if lowercase:
        pairs = [(one.lower(), two.lower()) for one, two in pairs]
    course = course_vocabulary(pairs)
    original = [(one.upper(), two.upper()) for one, two in pairs] if lowercase else pairs
    sides = [pair[0] for pair in original] + [pair[1] for pair in original] + ["unseen a"]
    found = tokenize_questions(sides, cache_dir=False, lowercase=lowercase)
    n = len(pairs)
    vocab = found.vocabulary(found.rows[:n], found.rows[n : 2 * n])
    assert vocab == course and vocab.lowercase == lowercase
    ids = found.encode(vocab)
    for place, text in enumerate(sides):
        assert ids[found.rows[place]].tolist() == vocab.encode(text)
    assert len(vocab) == len(course)


@settings(deadline=None)
@given(
    st.lists(st.tuples(texts, texts), max_size=10),
    st.integers(1, 4),
    st.none() | st.integers(0, 6),
    st.booleans(),
)
def test_vocabulary_options_equal_from_pairs(pairs, min_count, max_size, lowercase):
    options = {"min_count": min_count, "max_size": max_size, "lowercase": lowercase}
    one, two = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    found = tokenize_questions(one + two, cache_dir=False)
    slow = Vocabulary.from_pairs(map(word_tokenize, one), map(word_tokenize, two), **options)
    n = len(pairs)
    assert found.vocabulary(found.rows[:n], found.rows[n:], **options) == slow


def test_vocabulary_of_all_questions_and_of_one_side():
    found = tokenize_questions(["b a", "c"], cache_dir=False)
    assert list(found.vocabulary()) == ["<PAD>", "b", "a", "c"]
    assert list(found.vocabulary(found.rows[1:])) == ["<PAD>", "c"]


def test_bad_rows():
    found = tokenize_questions(["b a", "c"], cache_dir=False)
    for rows in ([2], [-1], [0.5], [[0]]):
        with pytest.raises(ArgumentError, match="Rows"):
            found.vocabulary(np.array(rows))
    with pytest.raises(ArgumentError, match="rows1 names 2 questions and rows2 1"):
        found.vocabulary(found.rows, found.rows[:1])


def test_encode_takes_a_dict_and_a_defaultdict_and_enters_nothing():
    found = tokenize_questions(["a b a"], cache_dir=False)
    for vocab in ({"a": 5}, defaultdict(lambda: 0, {"a": 5})):
        assert found.encode(vocab)[0].tolist() == [5, 0, 5]
        assert list(vocab) == ["a"]


def test_lowercase_folds_words_after_tokenizing(tmp_path):
    texts = ["Dr. No. Why?", "dr. no. WHY?"]
    plain = tokenize_questions(texts, cache_dir=tmp_path)
    lower = tokenize_questions(texts, cache_dir=tmp_path, lowercase=True)
    folded = [[word.lower() for word in tokens] for tokens in tokens_of(plain)]
    assert tokens_of(lower) == folded
    assert len(set(lower.words)) == len(lower.words) < len(plain.words)
    assert len(list(tmp_path.iterdir())) == 1  # one file serves both


# What is kept on disk


def test_kept_and_read_back(tmp_path, monkeypatch):
    made = tokenize_questions(QUESTIONS, cache_dir=tmp_path / "new" / "folder")
    monkeypatch.setattr(token_cache, "_tokenize", never)
    read = tokenize_questions(QUESTIONS, cache_dir=str(tmp_path / "new" / "folder"))
    assert tokens_of(read) == tokens_of(made) and read.words == made.words
    assert read.rows.tolist() == made.rows.tolist()
    repeated = tokenize_questions(QUESTIONS * 2, cache_dir=tmp_path / "new" / "folder")
    assert tokens_of(repeated) == tokens_of(made) * 2  # the same distinct questions


def test_other_questions_are_not_mixed_up(tmp_path):
    cases = [["ab", "c"], ["a", "bc"], ["abc"], ["c", "ab"], ["ab", "c", ""], []]
    for _ in range(2):
        for case in cases:
            found = tokenize_questions(case, cache_dir=tmp_path)
            assert tokens_of(found) == [word_tokenize(text) for text in case]
    assert len(list(tmp_path.iterdir())) == len(cases)


def test_another_tokenizer_version_does_not_find_it(tmp_path, monkeypatch):
    tokenize_questions(QUESTIONS, cache_dir=tmp_path)
    monkeypatch.setattr(token_cache, "tokenizer_version", lambda: "rules 0")
    monkeypatch.setattr(token_cache, "_tokenize", never)
    with pytest.raises(AssertionError, match="although"):
        tokenize_questions(QUESTIONS, cache_dir=tmp_path)


def test_default_folder(tmp_path, monkeypatch):
    assert default_cache_dir() == tmp_path / "xdg" / "siamese"
    tokenize_questions(["a"])
    assert len(list((tmp_path / "xdg" / "siamese").iterdir())) == 1
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert default_cache_dir() == tmp_path / "home" / ".cache" / "siamese"
    tokenize_questions(["a"], cache_dir=False)
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: raw[:-1],
        lambda raw: raw[: len(raw) // 2],
        lambda raw: b"",
        lambda raw: raw + b"x",
        lambda raw: raw[:-3] + bytes([raw[-3] ^ 1]) + raw[-2:],
        lambda raw: raw.replace(b"tokens 1\n", b"tokens 9\n"),
        lambda raw: b"<html>not found</html>",
    ],
)
def test_a_damaged_file_is_reported_in_a_line_and_made_again(damage, tmp_path, caplog, monkeypatch):
    made = tokenize_questions(QUESTIONS, cache_dir=tmp_path)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    with caplog.at_level(logging.WARNING):
        again = tokenize_questions(QUESTIONS, cache_dir=tmp_path)
    assert tokens_of(again) == tokens_of(made)
    (line,) = [record.getMessage() for record in caplog.records]
    assert str(path) in line and "\n" not in line and "again" in line
    assert path.read_bytes() == whole
    monkeypatch.setattr(token_cache, "_tokenize", never)
    tokenize_questions(QUESTIONS, cache_dir=tmp_path)


def test_a_folder_that_cannot_be_written_is_reported_and_the_work_goes_on(tmp_path, caplog):
    (tmp_path / "file").write_text("in the way")
    with caplog.at_level(logging.WARNING):
        found = tokenize_questions(QUESTIONS, cache_dir=tmp_path / "file" / "cache")
    assert tokens_of(found) == [word_tokenize(text) for text in QUESTIONS]
    messages = [record.getMessage() for record in caplog.records]
    assert "not kept on disk" in messages[-1] and str(tmp_path / "file") in messages[-1]
    assert (tmp_path / "file").read_text() == "in the way"


def test_a_full_disk_is_reported_and_the_work_goes_on(tmp_path, caplog, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with caplog.at_level(logging.WARNING):
        found = tokenize_questions(QUESTIONS, cache_dir=tmp_path)
    assert tokens_of(found) == [word_tokenize(text) for text in QUESTIONS]
    (record,) = caplog.records
    assert "disk is full" in record.getMessage()
    assert list(tmp_path.iterdir()) == []


KILLED = """
import os, signal
from siamese.data import token_cache
{before}
questions = ["I cannot " + str(n) for n in range({many})]
token_cache.tokenize_questions(questions, cache_dir={folder!r}, processes=2)
"""


def test_killed_while_writing_leaves_no_half_file_and_is_cleaned_up(tmp_path):
    before = "os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)"
    code = KILLED.format(before=before, many=50, folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", code], timeout=60)
    assert done.returncode == -signal.SIGKILL
    (half,) = tmp_path.iterdir()
    assert half.name.startswith(".")  # beside, not in place
    other = tokenize_questions(["other"], cache_dir=tmp_path)
    assert tokens_of(other) == [["other"]]
    assert not half.exists()


@pytest.mark.parametrize("seconds", [0.3, 0.6, 1.0])
def test_killed_at_work_leaves_nothing_and_its_workers_end(seconds, tmp_path):
    before = (
        "start = token_cache.tokenize_in_workers.__globals__['_start']\n"
        "def told():\n    worker = start(); print(worker.pid, flush=True); return worker\n"
        "token_cache.tokenize_in_workers.__globals__['_start'] = told"
    )
    code = KILLED.format(before=before, many=200_000, folder=str(tmp_path))
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    pids = [int(process.stdout.readline()) for _ in range(2)]
    time.sleep(seconds)
    assert process.poll() is None
    process.kill()
    process.wait()
    process.stdout.close()
    assert list(tmp_path.iterdir()) == []
    deadline = time.monotonic() + 20
    while any(_runs(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_runs(pid) for pid in pids)


def _runs(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


# All cores

HARD = [f"I cannot say {n}. Dr. No, can't he? {'x' * (n % 7)}" for n in range(3_000)]


def test_worker_processes_give_the_same_tokens():
    one = tokenize_questions(HARD, cache_dir=False, processes=1)
    three = tokenize_questions(HARD, cache_dir=False, processes=3)
    assert three.words == one.words and (three.ids.values == one.ids.values).all()
    assert tokens_of(one)[:50] == [word_tokenize(text) for text in HARD[:50]]


@pytest.mark.parametrize("way", ["script", "stdin"])
def test_a_script_without_a_main_guard_works(way, tmp_path):
    """multiprocessing's spawn would import the script again here, and fail."""
    code = (
        "from siamese.data.token_cache import tokenize_questions\n"
        "questions = [f'I cannot say {n}' for n in range(2000)]\n"
        "found = tokenize_questions(questions, cache_dir=False, processes=2)\n"
        "print(found.tokens(1999))\n"
    )
    (tmp_path / "script.py").write_text(code)
    # a module of the same name as one that Python itself needs lies in the working folder
    (tmp_path / "random.py").write_text("raise SystemExit('the wrong random')")
    arguments = [str(tmp_path / "script.py")] if way == "script" else ["-"]
    done = subprocess.run(
        [sys.executable, "-P", *arguments],
        input=code,
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(token_cache.__file__).parents[2])},
    )
    assert done.stdout.strip() == "['I', 'can', 'not', 'say', '1999']", done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("pass", "a worker process failed"),
        ("print('{}')", "not the one of this process"),
        ("print('no json', flush=True)", "a worker process failed"),
    ],
)
def test_failing_workers_are_reported_and_their_work_done_here(
    program, reason, caplog, monkeypatch
):
    def start():
        pipe = subprocess.PIPE
        return subprocess.Popen([sys.executable, "-c", program], stdin=pipe, stdout=pipe)

    monkeypatch.setattr(token_workers, "_start", start)
    with caplog.at_level(logging.WARNING):
        found = tokenize_questions(HARD[:1200], cache_dir=False, processes=2)
    assert tokens_of(found) == [word_tokenize(text) for text in HARD[:1200]]
    (record,) = caplog.records
    assert reason in record.getMessage()


def test_a_worker_killed_in_the_middle(monkeypatch):
    started, start = [], token_workers._start

    def remembered():
        started.append(start())
        return started[-1]

    done = 0

    def count(more):
        nonlocal done
        done += more
        started[0].kill()

    monkeypatch.setattr(token_workers, "_start", remembered)
    tokens, reason = token_workers.tokenize_in_workers(HARD, 2, count)
    assert tokens == [word_tokenize(text) for text in HARD]
    assert done == len(HARD)
    assert reason and "failed" in reason


def test_no_python_to_start(caplog, monkeypatch):
    monkeypatch.setattr(sys, "executable", "")
    with caplog.at_level(logging.WARNING):
        found = tokenize_questions(HARD[:1200], cache_dir=False, processes=2)
    assert found.tokens(0) == word_tokenize(HARD[0])
    assert "path of this Python is unknown" in caplog.text


def test_an_error_on_the_way_stops_the_workers(monkeypatch):
    started, start = [], token_workers._start

    def remembered():
        started.append(start())
        return started[-1]

    def interrupt(more):
        raise KeyboardInterrupt

    monkeypatch.setattr(token_workers, "_start", remembered)
    with pytest.raises(KeyboardInterrupt):
        token_workers.tokenize_in_workers(HARD * 3, 2, interrupt)
    assert len(started) == 2 and all(worker.returncode is not None for worker in started)


def test_few_questions_start_no_process(monkeypatch):
    monkeypatch.setattr(token_cache, "tokenize_in_workers", never)
    tokenize_questions(HARD[:1000] + [f"easy {n}?" for n in range(5000)], cache_dir=False)


@pytest.mark.parametrize("processes", [1, 2])
def test_progress_counts_every_distinct_question_once(processes, monkeypatch):
    seen = []

    class Recorder(token_cache.Progress):
        def __init__(self, total, *arguments, **options):
            seen.append([total, 0, options["quiet"]])
            super().__init__(total, *arguments, **options)

        def update(self, steps=1, **figures):
            seen[-1][1] += steps
            super().update(steps, **figures)

    monkeypatch.setattr(token_cache, "Progress", Recorder)
    questions = [*HARD, "an easy one?", HARD[0]]
    tokenize_questions(questions, cache_dir=False, processes=processes, progress=False)
    assert seen == [[len(HARD) + 1, len(HARD) + 1, True]]


@pytest.mark.quora
@pytest.mark.slow
def test_the_whole_quora_file(quora_csv, tmp_path):
    with gzip.open(quora_csv, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    one, two = ([row[f"question{side}"] for row in rows] for side in (1, 2))
    found = tokenize_questions(one + two, cache_dir=tmp_path, processes=2)
    assert len(found.ids) == 144_593
    tokens = {}
    for text in dict.fromkeys(one + two):
        tokens[text] = word_tokenize(text)
    n = len(rows)
    for place in range(0, n, 7):
        assert found.tokens(place) == tokens[one[place]]
        assert found.tokens(n + place) == tokens[two[place]]
    # the course's vocabulary: the duplicates of the training rows
    chosen = np.array([row["is_duplicate"] == "1" for row in rows])
    vocab = defaultdict(lambda: 0, {"<PAD>": 1})
    for place in np.flatnonzero(chosen):
        for word in tokens[one[place]] + tokens[two[place]]:
            if word not in vocab:
                vocab[word] = len(vocab) + 1
    assert found.vocabulary(found.rows[:n][chosen], found.rows[n:][chosen]) == vocab
    ids = found.encode(vocab)
    for place in range(0, n, 7):
        expected = [vocab.get(word, 0) for word in tokens[one[place]]]
        assert ids[found.rows[place]].tolist() == expected
    read = tokenize_questions(one + two, cache_dir=tmp_path)
    assert read.words == found.words and (read.ids.values == found.ids.values).all()
    assert isinstance(read, TokenizedQuestions)
