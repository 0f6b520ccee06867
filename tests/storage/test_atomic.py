"""Atomic files: the old one or the new one, whatever happens in between."""

import errno
import os
import subprocess
import sys
import threading

import pytest
from small_disks import mounted_tmpfs

from siamese.errors import CheckpointError, DataError
from siamese.storage.atomic import open_atomically, write_bytes_atomically


def test_a_file_appears_with_its_content_and_nothing_else(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    before = os.umask(0o027)
    try:
        write_bytes_atomically(tmp_path / "link", b"new")  # A link is written through.
    finally:
        os.umask(before)
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_bytes() == b"new"
    assert sorted(os.listdir(tmp_path)) == ["link", "real"]
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("call", ["fsync", "replace", "open"])
def test_a_failing_system_call_keeps_the_old_and_leaves_nothing(tmp_path, monkeypatch, call):
    def failing(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "a.bin").write_bytes(b"old")
    with monkeypatch.context() as patch:
        patch.setattr(os, call, failing)
        with pytest.raises(DataError, match=r"a\.bin: the disk is full\. Free some space"):
            write_bytes_atomically(tmp_path / "a.bin", b"new")
    assert (tmp_path / "a.bin").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_a_full_disk_keeps_the_old(tmp_path):
    with mounted_tmpfs(tmp_path / "disk", "64k") as disk:
        write_bytes_atomically(disk / "a", b"old")
        with pytest.raises(DataError, match=r"a: the disk is full\. Free some space"):
            write_bytes_atomically(disk / "a", bytes(100_000))
        assert os.listdir(disk) == ["a"] and (disk / "a").read_bytes() == b"old"


def test_an_exception_in_the_block_passes_through_and_nothing_is_written(tmp_path):
    with pytest.raises(ZeroDivisionError), open_atomically(tmp_path / "a") as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [("no/a", "does not exist"), ("", "is a directory"), ("file/a", "part of the path is a file")],
)
def test_each_system_error_has_a_sentence(tmp_path, name, words):
    (tmp_path / "file").touch()
    for kind in (DataError, CheckpointError):
        with pytest.raises(kind, match=words):
            write_bytes_atomically(tmp_path / name, b"", kind)


def test_writers_wait_for_each_other_and_the_rest_of_a_killed_one_is_overwritten(tmp_path):
    program = (
        "import sys\n"
        "from siamese.storage import atomic\n"
        "with atomic.open_atomically(sys.argv[1]) as file:\n"
        "    file.write(b'half' * 9999)\n"
        "    file.flush()\n"
        "    print('ready', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "file")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as writer:
        assert writer.stdout.readline() == "ready\n"
        waiting = threading.Thread(target=write_bytes_atomically, args=(tmp_path / "file", b"new"))
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive() and not (tmp_path / "file").exists()
        writer.kill()
    waiting.join()
    assert os.listdir(tmp_path) == ["file"] and (tmp_path / "file").read_bytes() == b"new"


def test_many_writers_of_one_file_leave_one_whole_file(tmp_path):
    texts = [bytes([number]) * 100_000 for number in range(8)]
    threads = [
        threading.Thread(target=write_bytes_atomically, args=(tmp_path / "file", text))
        for text in texts * 3
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert os.listdir(tmp_path) == ["file"] and (tmp_path / "file").read_bytes() in texts
