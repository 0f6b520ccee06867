"""Atomic files: the old one or the new one, whatever happens in between."""

import builtins
import errno
import os
import subprocess
import sys

import pytest
from small_disks import mounted_tmpfs

from siamese.errors import CheckpointError, DataError
from siamese.storage.atomic import open_atomically, remove_stale, write_bytes_atomically


def test_a_file_appears_with_its_content_and_nothing_else(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    write_bytes_atomically(tmp_path / "link", b"new")  # A link is written through.
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_bytes() == b"new"
    assert sorted(os.listdir(tmp_path)) == ["link", "real"]


@pytest.mark.parametrize(("module", "call"), [(os, "fsync"), (os, "replace"), (builtins, "open")])
def test_a_failing_system_call_keeps_the_old_and_leaves_nothing(
    tmp_path, monkeypatch, module, call
):
    def failing(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "a.bin").write_bytes(b"old")
    with monkeypatch.context() as patch:
        patch.setattr(module, call, failing)
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


def test_the_umask_decides_the_permissions(tmp_path):
    before = os.umask(0o027)
    try:
        write_bytes_atomically(tmp_path / "a", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


def test_temporaries_are_stale_only_when_their_writer_is_gone(tmp_path):
    program = (
        "import os, sys\n"
        "from siamese.storage import atomic\n"
        "os.chdir(sys.argv[1])\n"
        "with atomic.open_atomically('file'), atomic.open_atomically('other'):\n"
        "    print('ready', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    (tmp_path / ".mine.tmp-not-a-number").touch()  # Looks alike, and is not ours.
    (tmp_path / "precious").mkdir()
    (tmp_path / ".run.tmp-0123456789abcdef").symlink_to("precious")
    foreign = sorted(os.listdir(tmp_path))
    with subprocess.Popen(command, **pipes) as writer:
        assert writer.stdout.readline() == "ready\n"
        living = sorted(os.listdir(tmp_path))
        assert len(living) == len(foreign) + 2
        remove_stale(tmp_path)
        assert sorted(os.listdir(tmp_path)) == living
        writer.kill()
    write_bytes_atomically(tmp_path / "file", b"new")
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".file.tmp-")]
    remove_stale(tmp_path)
    assert sorted(os.listdir(tmp_path)) == sorted([*foreign, "file"])
