"""Atomic files: written beside their place, flushed to disk, then renamed."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NoReturn

from siamese.errors import ArgumentError, CheckpointError, DataError, SiameseError

POLLING = 0.01  # seconds after which a writer looks again whether another one has ended

# What the common system errors mean to somebody who runs a program, and what to do.
_MEANINGS = {
    errno.ENOSPC: "the disk is full. Free some space or choose another directory",
    errno.EDQUOT: "the disk quota is used up. Free some space or choose another directory",
    errno.EROFS: "the file system is read-only. Choose another directory",
    errno.EACCES: "no permission. Change the directory's permissions or choose another one",
    errno.ENOENT: "it does not exist. Check the path, or create the directory first",
    errno.ENOTDIR: "a part of the path is a file, not a directory. Check the path",
    errno.EISDIR: "it is a directory, not a file. Check the path",
    errno.EEXIST: "it exists already. Choose another name, or move it away first",
}


@contextmanager
def explained(
    path: os.PathLike | str,
    doing: str = "write",
    error: type[SiameseError] = CheckpointError,
) -> Iterator[None]:
    """Raises a system error of the block as `error`: what failed, why, and what to do."""
    try:
        yield
    except OSError as failure:
        reason = _MEANINGS.get(failure.errno or 0) or failure.strerror
        reason = reason or f"it is missing or cannot be read ({failure})"
        raise error(f"Cannot {doing} {os.fspath(path)}: {reason}.") from failure


def check_replaceable(path: os.PathLike | str, error: type[SiameseError]) -> None:
    """Raises `error` where a path is there and is no file: a rename would replace a device or a pipe."""
    if os.path.exists(path) and not os.path.isfile(path):
        what = "is a directory, a device or a pipe, and is not replaced"
        raise error(f"{path} {what}. Name another output.")


def check_writable(path: os.PathLike | str) -> None:
    """ArgumentError for a file that cannot be written; its directory is made if missing."""
    import tempfile

    check_replaceable(path, ArgumentError)
    folder = os.path.dirname(path) or "."
    with explained(folder, error=ArgumentError):
        os.makedirs(folder, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()


def refuse_existing(path: os.PathLike | str) -> NoReturn:
    """Raises the ArgumentError for an output that is there already."""
    raise ArgumentError(
        f"There is {os.fspath(path)} already. Pass overwrite=True, or name another output.",
        arguments=("overwrite",),
    ) from None


@contextmanager
def open_atomically(
    path: os.PathLike | str, error: type[SiameseError] = DataError, *, overwrite: bool
) -> Iterator[BinaryIO]:
    """A binary file to write, which is at `path` when the block ends without an exception.

    Without `overwrite` a file that is there by then stays, and an ArgumentError is
    raised; an empty one does not count. After a failure the old file stays unchanged. A
    symbolic link stays, too. A system error (disk full, read-only, ...) is raised as
    `error`; it says why and what to do. Writers of one file wait for each other: they
    lock one temporary file. A killed writer's rest there is overwritten by the next.
    """
    check_replaceable(path, error)
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name[:60]}.tmp-siamese")
    with explained(path, error=error), _locked(temporary) as file:
        with suppress(OSError):  # A new file has the usual permissions.
            os.chmod(temporary, os.stat(target).st_mode & 0o777)
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if overwrite or not _linked(temporary, target, path):
                os.replace(temporary, target)
            # The rename outlives a power cut; some network drives refuse.
            with suppress(OSError):
                directory = os.open(target.parent, os.O_RDONLY)
                try:
                    os.fsync(directory)
                finally:
                    os.close(directory)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise


def _linked(temporary: Path, target: Path, path: os.PathLike | str) -> bool:
    """Names a file `target` where nothing has the name; False where it may be renamed to it instead.

    ArgumentError for a file that is there, which the caller calls `path`. The empty
    file that `mktemp` or a full disk makes does not count.
    """
    try:
        try:
            os.link(temporary, target)
        except FileExistsError:
            raise
        except OSError:
            # A file system without links: the name is taken by an empty file.
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            return False
    except FileExistsError:
        if os.path.getsize(target):
            refuse_existing(path)
        return False
    os.unlink(temporary)
    return True


@contextmanager
def _locked(path: Path) -> Iterator[BinaryIO]:
    """An empty file to write, locked until the block ends."""
    import filelock  # Not at the top: it takes 50 ms, and readers lock nothing.

    is_ours = False
    while not is_ours:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        file = open(descriptor, "r+b")  # noqa: SIM115
        with suppress(OSError):  # a file system without locks
            filelock.lock_descriptor(descriptor, poll_interval=POLLING)
        with suppress(FileNotFoundError):
            status = os.fstat(descriptor)
            if os.path.samestat(status, os.stat(path)):
                is_ours = status.st_nlink == 1
                if not is_ours:
                    os.unlink(path)  # A writer was killed when its file had both names.
        if not is_ours:
            file.close()  # The writer before has renamed it.
    try:
        file.truncate()
        yield file
    finally:
        # What was buffered may not fit the disk; it is discarded.
        with suppress(OSError):
            file.close()


def write_text_atomically(
    path: os.PathLike | str,
    text: str,
    error: type[SiameseError] = DataError,
    *,
    overwrite: bool,
) -> None:
    """Writes a file in UTF-8; see `open_atomically`."""
    with open_atomically(path, error, overwrite=overwrite) as file:
        file.write(text.encode("utf-8"))


@contextmanager
def lock_run(directory: str | os.PathLike) -> Iterator[None]:
    """Holds the lock of a run's directory, which is made if missing; one process may hold it twice.

    CheckpointError where another process holds it, or the directory cannot be written.
    """
    import filelock  # Not at the top, as in `_locked`.

    path = Path(os.path.realpath(directory), ".lock")

    lock = filelock.FileLock(path, thread_local=False, is_singleton=True, timeout=0)
    with explained(directory):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire()
        except filelock.Timeout:
            raise CheckpointError(
                f"Another process writes to {directory}. Wait until it ends, stop it, or give another "
                "directory."
            ) from None
        except OSError as error:
            # A file system without locks.
            if error.errno not in (errno.ENOLCK, errno.ENOTSUP):
                raise
    try:
        yield
    finally:
        lock.release()
