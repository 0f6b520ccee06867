"""Atomic files and directories: the old one or the new one, whatever happens in between."""

import builtins
import errno
import os
import subprocess
import sys

import numpy as np
import pytest
from small_disks import mounted_tmpfs

from siamese.errors import CheckpointError, DataError
from siamese.storage import atomic


def make(path, content=b"new"):
    """Writes a file, or where `path` ends in "d" a directory with a file."""
    if str(path).endswith("d"):
        with atomic.atomic_directory(path) as folder:
            (folder / "sub").mkdir()
            (folder / "sub" / "a").write_bytes(content)
            assert not (path / "sub").exists()
    else:
        atomic.write_bytes_atomically(path, content)


def test_files_and_directories_appear_with_their_content_and_nothing_else(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    make(tmp_path / "link")  # A link is written through.
    make(tmp_path / "d")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == (tmp_path / "d" / "sub" / "a").read_bytes() == b"new"
    assert sorted(os.listdir(tmp_path)) == ["d", "link", "real"]


@pytest.mark.parametrize(
    ("name", "module", "call"),
    [
        *(("a.bin", os, "fsync"), ("a.bin", os, "replace"), ("a.bin", builtins, "open")),
        *(("d", os, "fsync"), ("d", os, "rename"), ("d", os, "mkdir")),
    ],
)
def test_a_failing_system_call_keeps_the_old_and_leaves_nothing(
    tmp_path, monkeypatch, name, module, call
):
    def failing(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "a.bin").write_bytes(b"old")
    with monkeypatch.context() as patch:
        patch.setattr(module, call, failing)
        with pytest.raises(DataError, match=rf"{name}: the disk is full\. Free some space"):
            make(tmp_path / name)
    assert (tmp_path / "a.bin").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_an_exception_in_the_block_passes_through_and_nothing_is_written(tmp_path):
    with pytest.raises(ZeroDivisionError), atomic.open_atomically(tmp_path / "a") as file:
        file.write(b"half")
        raise ZeroDivisionError
    with pytest.raises(KeyboardInterrupt), atomic.atomic_directory(tmp_path / "d") as folder:
        (folder / "half").write_bytes(b"half")
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == []


def test_each_system_error_has_a_sentence(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "old").touch()
    for path, words in (
        (tmp_path / "no" / "a", "does not exist"),
        (tmp_path, "is a directory"),
        (tmp_path / "file" / "a", "part of the path is a file"),
        (tmp_path / "d", "exists already"),  # A directory with content is never replaced.
    ):
        with pytest.raises(DataError, match=words):
            make(path)
    with pytest.raises(CheckpointError, match="is a directory"):
        atomic.write_bytes_atomically(tmp_path, b"", CheckpointError)
    assert os.listdir(tmp_path / "d") == ["old"]


def test_the_umask_decides_the_permissions(tmp_path):
    before = os.umask(0o027)
    try:
        make(tmp_path / "a")
        make(tmp_path / "d")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "d").stat().st_mode & 0o777 == 0o750


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
        atomic.remove_stale(tmp_path)
        assert sorted(os.listdir(tmp_path)) == living
        writer.kill()
    make(tmp_path / "file")  # The next writer of the file removes the killed one's half.
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".file.tmp-")]
    atomic.remove_stale(tmp_path)
    assert sorted(os.listdir(tmp_path)) == sorted([*foreign, "file"])


def test_arrays_that_do_not_fit_the_disk_say_so(tmp_path):
    with mounted_tmpfs(tmp_path / "disk", "64k") as disk:  # NumPy's error has no number.
        with (
            pytest.raises(DataError, match=r"d: the disk is full\. Free some space"),
            atomic.atomic_directory(disk / "d") as folder,
        ):
            np.save(folder / "vectors.npy", np.zeros(100_000))
        assert os.listdir(disk) == []
