"""Atomic files: the old one or the new one, whatever happens in between."""

import errno
import os
import subprocess
import sys
import threading
from multiprocessing.pool import ThreadPool

import pytest

from siamese.compat.atomic import open_atomically, write_text_atomically
from siamese.errors import CheckpointError, DataError


def test_a_file_appears_with_its_content_and_nothing_else(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "real").chmod(0o604)
    (tmp_path / "link").symlink_to("real")
    before = os.umask(0o027)
    try:
        write_text_atomically(tmp_path / "link", "new é")  # A link is written through.
        write_text_atomically(tmp_path / "new", "")
    finally:
        os.umask(before)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text("utf-8") == "new é"
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {"link": 0o604, "new": 0o640, "real": 0o604}


@pytest.mark.parametrize("call", ["fsync", "replace", "open"])
def test_a_failure_keeps_the_old_and_leaves_nothing(tmp_path, monkeypatch, call):
    def failing(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "a").write_text("old")
    with monkeypatch.context() as patch:
        patch.setattr(os, call, failing)
        with pytest.raises(DataError, match=r"a: the disk is full\. Free some space"):
            write_text_atomically(tmp_path / "a", "new")
    with pytest.raises(ZeroDivisionError), open_atomically(tmp_path / "a") as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert os.listdir(tmp_path) == ["a"] and (tmp_path / "a").read_text() == "old"


@pytest.mark.parametrize("kind", [DataError, CheckpointError])
def test_each_system_error_has_a_sentence(tmp_path, kind):
    (tmp_path / "file").touch()
    words = {"no/a": "does not exist", "": "is a directory", "file/a": "part of the path is a file"}
    for name, sentence in words.items():
        with pytest.raises(kind, match=sentence):
            write_text_atomically(tmp_path / name, "", kind)


def test_writers_wait_for_each_other_and_the_rest_of_a_killed_one_is_overwritten(tmp_path):
    program = (
        "import sys; from siamese.compat import atomic\n"
        "with atomic.open_atomically(sys.argv[1]) as file:\n"
        "    file.write(b'half' * 9999); file.flush(); print('ready', flush=True); sys.stdin.read()"
    )
    path = tmp_path / "file"
    command, pipe = [sys.executable, "-c", program, str(path)], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as writer:
        assert writer.stdout.readline() == "ready\n"
        waiting = threading.Thread(target=write_text_atomically, args=(path, "new"))
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive() and not path.exists()
        writer.kill()
    waiting.join()
    assert os.listdir(tmp_path) == ["file"] and path.read_text() == "new"
    texts = [letter * 100_000 for letter in "abcdefgh"] * 3
    with ThreadPool(8) as threads:
        threads.map(lambda text: write_text_atomically(path, text), texts, chunksize=1)
    assert os.listdir(tmp_path) == ["file"] and path.read_text() in texts
