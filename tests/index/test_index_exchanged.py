"""The file of an index that is exchanged, copied, removed or read-only under one that reads it."""

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import pytest
from programs import environment_of, read_only_view
from refusals import refuses
from small_models import make_detector, random_questions

from siamese.errors import CheckpointError
from siamese.index import QuestionIndex
from siamese.index.file import IndexFile, write_settings

OLD, NEW = ([f"{text} {n}" for n in range(300)] for text in ("how far", "rice cook"))
MORE = [f"old age {n}" for n in range(3)]


@pytest.fixture(scope="module")
def detector():
    return make_detector()


@pytest.fixture
def live(detector, tmp_path):
    for name, texts in (("live", OLD), ("new", NEW)):
        QuestionIndex.build(detector, texts, path=tmp_path / name).close()
    shutil.copy(tmp_path / "live", tmp_path / "backup")
    return tmp_path / "live"


def texts_of(path, detector):
    with QuestionIndex.open(path, detector) as index:
        assert {hit.question for hit in index.search("rice", k=1000)} == {
            *texts_in(index)
        }
        return texts_in(index)


def texts_in(index):
    return [entry["question"] for entry in index.snapshot().entries]


def is_whole(path):
    """Whether SQLite finds no fault in the file's own bytes."""
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as db:
        return db.execute("pragma integrity_check").fetchall() == [("ok",)]


def write_back(path):
    """Writes what lies in -wal into the file; -wal keeps it."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("pragma wal_checkpoint(full)").fetchall()


def link(new, live):
    os.symlink(new, f"{live}-link")
    os.replace(f"{live}-link", live)


EXCHANGES = {"mv": os.replace, "cp": shutil.copyfile, "ln -sfn": link}
STATES = {
    "nothing changed": lambda index: None,
    "changes in -wal": lambda index: index.add(MORE),
    "changes written back": lambda index: (
        index.add(MORE),
        write_back(index._file.path),
    ),
    "changes after that": lambda index: (
        index.add(MORE[:1]),
        write_back(index._file.path),
        index.add(MORE[1:]),
    ),
}
USES = {
    "search": lambda index: index.search("how far"),
    "add": lambda index: index.add("best way"),
    "remove": lambda index: index.remove(["5"]),
    "groups": lambda index: index.grouped(0.9),
    "close": lambda index: None,
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("exchange", EXCHANGES)
def test_an_exchanged_index_is_the_new_one_or_refused(
    detector, live, exchange, state, use
):
    index = QuestionIndex.open(live, detector)
    other = QuestionIndex.open(live, detector)
    STATES[state](index)
    index.search("how far")
    EXCHANGES[exchange](live.with_name("new"), live)
    refused = False
    try:
        USES[use](index)
        if use != "close":
            assert "rice cook 7" in texts_in(index)
    except CheckpointError as error:
        refused = True
        assert "-wal" in str(error)
        assert state != "nothing changed"
    for one in (index, other):
        one.close()
    # What the message advises.
    if refused or use == "close":
        for end in ("-wal", "-shm"):
            live.with_name(f"live{end}").unlink(missing_ok=True)
        assert texts_of(live, detector) == NEW
    expected = {"add": [*NEW, "best way"], "remove": NEW[:5] + NEW[6:]}
    texts = texts_of(live, detector)
    assert texts == (NEW if refused else expected.get(use, NEW))
    assert is_whole(live)


@pytest.mark.parametrize("replaced_by", ["new", "backup"])
@pytest.mark.parametrize("state", STATES)
def test_a_file_beside_what_a_killed_process_left_is_no_mixture(
    detector, live, tmp_path, state, replaced_by
):
    index = QuestionIndex.open(live, detector)
    STATES[state](index)
    left = tmp_path / "left"
    left.mkdir()
    for name in ("live", "live-wal", "live-shm"):
        shutil.copy(live.with_name(name), left / name)
    index.close()
    shutil.copy(live.with_name(replaced_by), left / "live")
    wholes = [NEW] if replaced_by == "new" else [OLD, OLD + MORE]
    try:
        assert texts_of(left / "live", detector) in wholes
    except CheckpointError:
        assert is_whole(left / "live")
        for end in ("-wal", "-shm"):
            (left / f"live{end}").unlink()
        assert texts_of(left / "live", detector) == wholes[0]


def test_an_older_copy_of_the_same_index_does_not_get_later_changes(detector, live):
    with QuestionIndex.open(live, detector) as index:
        STATES["changes after that"](index)
        shutil.copyfile(live.with_name("backup"), live)
        with pytest.raises(CheckpointError):
            index.search("how far")
    with pytest.raises(CheckpointError):
        QuestionIndex.open(live, detector)
    assert is_whole(live)


@pytest.mark.parametrize("ends", [["-wal"], ["-shm"], ["-wal", "-shm"]])
def test_what_lies_beside_an_open_index_is_removed(detector, live, ends):
    one, two = (QuestionIndex.open(live, detector) for _ in range(2))
    one.add(MORE[:1])
    for end in ends:
        os.unlink(f"{live}{end}")
    for index, text in ((two, MORE[1]), (one, MORE[2])):
        index.add(text)
        assert set(texts_in(index)) >= {*OLD, MORE[0], text}
    for index in (one, two):
        index.close()
    assert is_whole(live)
    assert set(texts_of(live, detector)) == {*OLD, *MORE}


def test_a_file_beside_the_journal_of_a_killed_build_keeps_its_questions(
    detector, live, tmp_path
):
    left = tmp_path / "left"
    left.mkdir()
    with (
        closing(IndexFile(tmp_path / "made", create=True)) as file,
        file.made(False) as db,
    ):
        write_settings(db, filler="x" * 9_000_000)  # More than SQLite keeps in memory.
        assert os.path.getsize(tmp_path / "made")
        for end in ("", "-journal"):
            shutil.copy(tmp_path / f"made{end}", left / f"made{end}")
    for start in (left / "made", live):
        shutil.copy(start, left / "again")
        shutil.copy(left / "made-journal", left / "again-journal")
        if start == live:
            with refuses(CheckpointError, "again-journal"):
                QuestionIndex.open(left / "again", detector)
            (left / "again-journal").unlink()
            assert texts_of(left / "again", detector) == OLD
        else:
            QuestionIndex.build(
                detector, NEW, path=left / "again", overwrite=True
            ).close()
            assert texts_of(left / "again", detector) == NEW


def test_a_removed_index_is_said_until_it_is_back(detector, live):
    with QuestionIndex.open(live, detector) as index:
        live.rename(live.with_name("away"))
        for use in ("search", "add", "groups"):
            with pytest.raises(CheckpointError):
                USES[use](index)
        live.with_name("new").rename(live)
        assert texts_in(index) == NEW
        live.with_name("away").rename(live)
        assert texts_in(index) == OLD


# A process that holds an index until its standard input ends, and then prints how many
# questions it finds.
HOLDER = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1] / "helpers")!r})
from small_models import make_detector
from siamese.index import QuestionIndex
index = QuestionIndex.open(sys.argv[1], make_detector())
index.add("how old")
print("ready", flush=True)
sys.stdin.read()
print(len(index.search("how far", k=999)), flush=True)
"""


@pytest.mark.parametrize("also", [[], ["-wal"], ["-shm"], ["-wal", "-shm"]])
def test_an_index_is_built_in_the_place_of_a_removed_one_that_a_process_holds(
    detector, live, also
):
    command = [sys.executable, "-c", HOLDER, str(live)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment_of(), **pipes) as holder:
        assert holder.stdout.readline() == "ready\n"
        for end in ["", *also]:
            os.unlink(f"{live}{end}")
        with QuestionIndex.build(detector, NEW, path=live) as index:
            index.add(MORE)
        output, _ = holder.communicate()
    assert output == f"{len(NEW) + len(MORE)}\n"
    assert texts_of(live, detector) == NEW + MORE
    assert is_whole(live)


def test_an_index_of_another_model_is_refused_under_a_reader(detector, live):
    with QuestionIndex.open(live, detector) as index:
        QuestionIndex.build(
            make_detector(seed=1), ["rice"], path=live.with_name("other")
        ).close()
        live.with_name("other").rename(live)
        with refuses(CheckpointError, "another model"):
            index.search("rice")
        live.with_name("new").rename(live)
        assert texts_in(index) == NEW


def test_a_read_only_view_follows_each_change(detector, live, tmp_path):
    (tmp_path / "writable").mkdir()
    path = shutil.move(live, tmp_path / "writable" / "i")
    with read_only_view(tmp_path / "writable", tmp_path / "view") as view:
        reader = QuestionIndex.open(view / "i", detector)
        assert texts_in(reader) == OLD
        for n, text in enumerate(random_questions(12)):
            with QuestionIndex.open(path, detector) as writer:
                writer.add(text, ids=[f"new {n}"])
                assert texts_in(reader)[-1] == text
                writer.add(text, ids=[f"newer {n}"])
                if n % 2:
                    reader.close()
                    reader = QuestionIndex.open(view / "i", detector)
                assert reader.search(text, k=1000)[-1].question and len(reader) == len(
                    writer
                )
            writer = QuestionIndex.open(path, detector)
            writer.remove([f"new {n}"])
            assert len(reader) == len(writer) == 301 + n
            writer.close()
        with refuses(CheckpointError, "read-only"):
            reader.add("rice")
        shutil.copyfile(live.with_name("new"), path)
        with suppress(CheckpointError):
            assert texts_in(reader) == NEW
        reader.close()


def test_a_read_only_view_beside_a_busy_writer_ends_every_search(
    detector, live, tmp_path
):
    (tmp_path / "writable").mkdir()
    path = shutil.move(live, tmp_path / "writable" / "i")
    stop = threading.Event()

    def write():
        n = 0
        while not stop.is_set():
            with QuestionIndex.open(path, detector) as writer:
                writer.add([f"best way {n}", f"what age {n}"], ids=[f"{n}/a", f"{n}/b"])
                if n > 5:
                    writer.remove([f"{n - 5}/a", f"{n - 5}/b"])
            n += 1
        return n

    seen = read_only_view(tmp_path / "writable", tmp_path / "view")
    with seen as view, ThreadPoolExecutor(1) as pool:
        done = pool.submit(write)
        try:
            for _ in range(8):
                with QuestionIndex.open(view / "i", detector) as reader:
                    for _ in range(5):
                        ids = {hit.id for hit in reader.search("best way", k=1000)}
                        assert {f"{n}" for n in range(300)} <= ids
                        assert {f"{i[:-1]}b" for i in ids if i[-1] == "a"} <= ids
        finally:
            stop.set()
        assert done.result() > 0


def test_a_read_only_file_that_was_not_closed_is_said(
    detector, live, tmp_path, monkeypatch
):
    index = QuestionIndex.open(live, detector)
    index.add(MORE)
    for name in ("live", "live-wal"):
        shutil.copy(live.with_name(name), tmp_path / name.replace("live", "left"))
    index.close()
    monkeypatch.setattr(os, "access", lambda *args: False)
    with refuses(CheckpointError, str(tmp_path / "left"), "not closed"):
        QuestionIndex.open(tmp_path / "left", detector)
    monkeypatch.undo()
    assert texts_of(tmp_path / "left", detector) == OLD + MORE


def test_readers_do_not_wait_for_a_writer_that_waits(detector, live):
    with QuestionIndex.open(live, detector) as index, ThreadPoolExecutor(2) as pool:
        with closing(sqlite3.connect(live, isolation_level=None)) as other:
            other.execute("begin immediate")
            waiting = [pool.submit(index.add, text) for text in MORE[:2]]
            assert texts_in(index) == OLD
            assert len(index.search("how far", k=300)) == len(index) == 300
            assert index.detector.threshold == detector.threshold
            assert not any(one.done() for one in waiting)
            other.execute("rollback")
        assert sorted(one.result().added for one in waiting) == [1, 1]
        assert len(index) == 302


def test_a_change_that_waits_ends_when_the_index_is_closed(detector, live):
    index = QuestionIndex.open(live, detector)
    with (
        closing(sqlite3.connect(live, isolation_level=None)) as other,
        ThreadPoolExecutor(1) as pool,
    ):
        other.execute("begin immediate")
        waiting = pool.submit(index.add, "best way")
        assert len(index) == 300
        index.close()
        with pytest.raises(CheckpointError):
            waiting.result()
        other.execute("rollback")
    assert texts_of(live, detector) == OLD
