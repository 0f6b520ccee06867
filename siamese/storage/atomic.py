"""Atomic files: written beside their place, flushed to disk, then renamed.

A temporary file is locked (`flock`) while its writer lives. So a cleaner can tell what a killed writer
left from the work of a living one, in any process or container of the machine.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import filelock

from siamese.errors import CheckpointError, DataError, SiameseError

try:
    import fcntl
except ImportError:  # Windows has no flock: temporaries are then never taken for stale.
    fcntl = None

_TEMPORARY = re.compile(r"^\..*\.tmp-[0-9a-f]{16}$", re.DOTALL)

# What the common system errors mean to somebody who runs a program, and what to do.
_MEANINGS = {
    errno.ENOSPC: "the disk is full. Free some space or choose another directory",
    errno.EDQUOT: "the disk quota is used up. Free some space or choose another directory",
    errno.EROFS: "the file system is read-only. Choose another directory",
    errno.EACCES: "no permission. Change the directory's permissions or choose another one",
    errno.EPERM: "the operation is not permitted there. Choose another directory",
    errno.ENOENT: "it does not exist. Check the path, or create the directory first",
    errno.ENOTDIR: "a part of the path is a file, not a directory. Check the path",
    errno.EISDIR: "it is a directory, not a file. Check the path",
    errno.EEXIST: "it exists already. Choose another name, or move it away first",
    errno.ENOTEMPTY: "it exists already. Choose another name, or move it away first",
    errno.ENAMETOOLONG: "the name is too long. Choose a shorter one",
    errno.EIO: "the device reports an input/output error. Check the disk",
}


def explain(error: OSError, path: os.PathLike | str, doing: str = "write") -> str:
    """One sentence for a system error: what failed, why, and what to do."""
    meaning = _MEANINGS.get(error.errno) or error.strerror or str(error) or type(error).__name__
    return f"Cannot {doing} {os.fspath(path)}: {meaning}."


@contextmanager
def explained(
    path: os.PathLike | str, doing: str = "write", error: type[SiameseError] = CheckpointError
) -> Iterator[None]:
    """Raises a system error of the block as `error`; see `explain`."""
    try:
        yield
    except OSError as failure:
        raise error(explain(failure, path, doing)) from failure


@contextmanager
def open_atomically(
    path: os.PathLike | str,
    error: type[SiameseError] = DataError,
    named: os.PathLike | str | None = None,
) -> Iterator[BinaryIO]:
    """A binary file to write; it replaces `path` when the block ends without an exception.

    After a failure the old file stays unchanged. A symbolic link is followed, so the link stays. A
    system error (disk full, read-only, ...) is raised as `error`; it says why and what to do, and names
    `named`, the path that the user gave (`path` where None).
    """
    target = Path(os.path.realpath(path))
    remove_stale(target.parent, target.name)  # what a killed writer of the same file left
    with explained(named or path, error=error):
        temporary, file = _locked_temporary(target)
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.replace(temporary, target)
            _sync(target.parent)
        finally:
            with suppress(OSError):  # What was buffered may not fit the disk; it is discarded.
                file.close()
            with suppress(OSError):
                os.unlink(temporary)


def write_bytes_atomically(
    path: os.PathLike | str, data: bytes, error: type[SiameseError] = DataError
) -> None:
    """Writes `data` as the file `path`; see `open_atomically`."""
    with open_atomically(path, error) as file:
        file.write(data)


def write_text_atomically(
    path: os.PathLike | str, text: str, error: type[SiameseError] = DataError
) -> None:
    """Writes `text` in UTF-8 as the file `path`; see `open_atomically`."""
    write_bytes_atomically(path, text.encode("utf-8"), error)


def remove_stale(directory: os.PathLike | str, target: str = "") -> None:
    """Removes the temporaries in `directory` whose writers are gone, or those of the file `target` there.

    Never fails: what cannot be removed, or cannot be locked on this file system, stays.
    """
    prefix = _temporary_name(Path(target)).name[:-16] if target else "."
    with suppress(OSError):
        for name in os.listdir(directory):
            path = Path(directory, name)
            if name.startswith(prefix) and _TEMPORARY.match(name) and not path.is_symlink():
                with suppress(OSError):
                    _remove_unlocked(path)


def _temporary_name(target: Path) -> Path:
    return target.with_name(f".{target.name[:60]}.tmp-{secrets.token_hex(8)}")


def _remove_unlocked(path: Path) -> None:
    """Removes a temporary file; OSError where its writer lives."""
    if fcntl is None:
        return
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK)) as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()


def _locked_temporary(target: Path) -> tuple[Path, BinaryIO]:
    """A new temporary file beside `target`, locked."""
    while True:
        temporary = _temporary_name(target)
        file = open(temporary, "xb")  # noqa: SIM115
        if fcntl is None or _lock_held(file.fileno(), temporary):
            return temporary, file
        file.close()  # A cleaner removed it before it was locked.


def _lock_held(descriptor: int, path: Path) -> bool:
    """Locks a new temporary; False where a cleaner has locked or removed it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError:
        return True  # A file system without locks: cleaners there cannot lock it either.


def _sync(path: os.PathLike | str, flags: int = os.O_RDONLY) -> None:
    """Flushes a file, or a directory's entries, so that a rename in it outlives a power cut."""
    if os.name == "nt" and os.path.isdir(path):
        return
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    except OSError as failure:
        if failure.errno not in (errno.EINVAL, errno.ENOTSUP):  # Some network drives refuse.
            raise
    finally:
        os.close(descriptor)


@contextmanager
def lock_run(directory: str | os.PathLike) -> Iterator[None]:
    """Holds the lock of a run's directory, which is made where there is none.

    The same process may hold it twice: a notebook cell may run again.

    Raises:
      CheckpointError: another process holds it (and is named), or the directory cannot be written.
    """
    with explained(directory):
        os.makedirs(directory, exist_ok=True)
    path = Path(os.path.realpath(directory), ".lock")
    lock = filelock.FileLock(path, thread_local=False, is_singleton=True, timeout=0)
    try:
        with suppress(NotImplementedError):
            lock.acquire()
        with suppress(OSError):
            path.write_text(f"process {os.getpid()} on {socket.gethostname()}", "utf-8")
    except filelock.Timeout:
        holder = "unknown"
        with suppress(OSError):
            holder = path.read_bytes()[:200].decode("utf-8", "replace").strip() or holder
        raise CheckpointError(
            f"Another process writes to {directory} ({holder}). Wait until it ends, stop it, or give "
            "another directory."
        ) from None
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP):  # A file system without locks.
            raise CheckpointError(explain(error, directory)) from error
    try:
        yield
    finally:
        lock.release()
