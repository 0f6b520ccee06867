"""atomic.py: whole or not at all, whatever happens in between."""

import errno
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from siamese.errors import CheckpointError, DataError
from siamese.storage import atomic


def fail_at(monkeypatch, name, code):
    """Makes os.<name> fail with a system error."""

    def failing(*args, **kwargs):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, name, failing)


def test_a_file_appears_with_its_content_and_nothing_else(tmp_path):
    atomic.write_bytes_atomically(tmp_path / "a.bin", b"")
    atomic.write_bytes_atomically(tmp_path / "a.bin", b"second")
    atomic.write_text_atomically(tmp_path / "ä.txt", "é")
    assert (tmp_path / "a.bin").read_bytes() == b"second"
    assert (tmp_path / "ä.txt").read_bytes() == "é".encode()
    assert sorted(os.listdir(tmp_path)) == ["a.bin", "ä.txt"]


@pytest.mark.parametrize("name", ["fsync", "replace", "open"])
def test_a_failure_keeps_the_old_file_and_leaves_nothing(tmp_path, monkeypatch, name):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    with monkeypatch.context() as patch:
        fail_at(patch, name, errno.ENOSPC)
        with pytest.raises(DataError, match=r"a\.bin: the disk is full. Free some space"):
            atomic.write_bytes_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_an_exception_in_the_block_passes_through_and_nothing_is_written(tmp_path):
    with pytest.raises(ZeroDivisionError), atomic.open_atomically(tmp_path / "a") as file:
        file.write(b"half")
        raise ZeroDivisionError
    with pytest.raises(KeyboardInterrupt), atomic.atomic_directory(tmp_path / "d") as folder:
        (folder / "half").write_bytes(b"half")
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == []


def test_each_system_error_is_said_in_plain_words(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        atomic.write_bytes_atomically(tmp_path / "no" / "a", b"")
    with pytest.raises(CheckpointError, match="is a directory"):
        atomic.write_bytes_atomically(tmp_path, b"", CheckpointError)
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="part of the path is a file"):
        atomic.write_bytes_atomically(tmp_path / "file" / "a", b"")


def test_a_symbolic_link_is_written_through(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    atomic.write_bytes_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_the_umask_decides_the_permissions(tmp_path):
    before = os.umask(0o027)
    try:
        atomic.write_bytes_atomically(tmp_path / "a", b"")
        with atomic.atomic_directory(tmp_path / "d") as folder:
            (folder / "x").touch()
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "d").stat().st_mode & 0o777 == 0o750


def test_a_directory_appears_whole_with_subdirectories(tmp_path):
    with atomic.atomic_directory(tmp_path / "run") as folder:
        (folder / "sub").mkdir()
        (folder / "sub" / "a").write_text("x")
        assert not (tmp_path / "run").exists()
    assert (tmp_path / "run" / "sub" / "a").read_text() == "x"
    assert os.listdir(tmp_path) == ["run"]


def test_a_directory_with_content_is_never_replaced(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "old").touch()
    with (
        pytest.raises(DataError, match="there already"),
        atomic.atomic_directory(tmp_path / "run") as f,
    ):
        (f / "new").touch()
    assert os.listdir(tmp_path / "run") == ["old"]
    assert os.listdir(tmp_path) == ["run"]


@pytest.mark.parametrize("name", ["fsync", "rename", "mkdir"])
def test_a_failing_directory_leaves_nothing(tmp_path, monkeypatch, name):
    with monkeypatch.context() as patch:
        fail_at(patch, name, errno.EROFS)
        with (
            pytest.raises(DataError, match="read-only"),
            atomic.atomic_directory(tmp_path / "run") as folder,
        ):
            (folder / "a").write_text("x")
    assert os.listdir(tmp_path) == []


def test_temporaries_are_stale_only_when_their_writer_is_gone(tmp_path):
    program = textwrap.dedent(
        """
        import sys
        from siamese.storage import atomic
        with atomic.atomic_directory(sys.argv[1] + "/run") as folder:
            with atomic.open_atomically(sys.argv[1] + "/file") as file:
                (folder / "half").write_text("half")
                print("ready", flush=True)
                sys.stdin.read()
        """
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout.readline() == "ready\n"
    (tmp_path / ".mine.tmp-not-a-number").touch()  # Looks alike, and is not ours.
    living = sorted(os.listdir(tmp_path))
    assert len(living) == 3
    assert atomic.remove_stale(tmp_path) == []
    assert sorted(os.listdir(tmp_path)) == living
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait()
    writer.stdin.close()
    writer.stdout.close()
    assert len(atomic.remove_stale(tmp_path)) == 2
    assert os.listdir(tmp_path) == [".mine.tmp-not-a-number"]


def test_remove_stale_follows_no_link_and_bears_a_missing_directory(tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "a").touch()
    (tmp_path / ".run.tmp-0123456789abcdef").symlink_to("precious")
    assert atomic.remove_stale(tmp_path) == []
    assert (tmp_path / "precious" / "a").exists()
    assert atomic.remove_stale(tmp_path / "none") == []


def test_remove_directory_takes_it_from_its_name_first(tmp_path, monkeypatch):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "a").touch()
    monkeypatch.setattr(atomic.shutil, "rmtree", lambda *args, **kwargs: None)  # Killed there.
    atomic.remove_directory(tmp_path / "run")
    assert not (tmp_path / "run").exists()
    monkeypatch.undo()
    assert len(atomic.remove_stale(tmp_path)) == 1
    assert os.listdir(tmp_path) == []
