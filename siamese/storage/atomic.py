"""Atomic files and directories: written beside their place, flushed to disk, then renamed.

A temporary is locked (`flock`) while its writer lives. So a cleaner can tell what a killed writer left
from the work of a living one, in any process or container of the machine.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from siamese.errors import DataError, SiameseError

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
    number = error.errno
    if number is None and str(error).endswith(" written"):  # NumPy's short write has no number.
        number = errno.ENOSPC
    meaning = _MEANINGS.get(number) or error.strerror or str(error) or type(error).__name__
    return f"Cannot {doing} {os.fspath(path)}: {meaning}."


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
    with _temporary(target, _create_file, named or path, error) as (temporary, descriptor):
        file = os.fdopen(descriptor, "wb", closefd=False)
        try:
            yield file
            file.flush()
            os.fsync(descriptor)
        finally:
            with suppress(OSError):  # What was buffered may not fit the disk; it is discarded.
                file.close()
        os.replace(temporary, target)


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


@contextmanager
def atomic_directory(
    path: os.PathLike | str,
    error: type[SiameseError] = DataError,
    named: os.PathLike | str | None = None,
) -> Iterator[Path]:
    """Yields a directory to fill; it gets the name `path`, flushed to disk, when the block ends well.

    A directory with content is never replaced. A system error is raised as in `open_atomically`.
    """
    target = Path(path)
    with _temporary(target, _create_directory, named or path, error) as (temporary, _):
        yield temporary
        _sync_tree(temporary)
        os.rename(temporary, target)


def remove_directory(path: os.PathLike | str) -> None:
    """Removes a directory; renames it first, so that a kill leaves no half of it under its name."""
    doomed = _temporary_name(Path(path))
    os.rename(path, doomed)
    shutil.rmtree(doomed, ignore_errors=True)


def remove_stale(directory: os.PathLike | str, target: str = "") -> list[str]:
    """Removes the temporaries in `directory` whose writers are gone; returns their names.

    Never fails: what cannot be removed, or cannot be locked on this file system, stays.

    Args:
      directory: where to look.
      target: only those of the file or directory of this name.
    """
    prefix = _temporary_name(Path(target)).name[:-16] if target else "."
    removed = []
    with suppress(OSError):
        for name in sorted(os.listdir(directory)):
            path = Path(directory, name)
            ours = name.startswith(prefix) and _TEMPORARY.match(name)
            if not ours or path.is_symlink() or fcntl is None:
                continue
            with suppress(OSError):
                descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
                    removed.append(name)
                finally:
                    os.close(descriptor)
    return removed


def _temporary_name(target: Path) -> Path:
    return target.with_name(f".{target.name[:60]}.tmp-{secrets.token_hex(8)}")


@contextmanager
def _temporary(
    target: Path, create, named: os.PathLike | str, error: type[SiameseError]
) -> Iterator[tuple[Path, int | None]]:
    """A new, locked temporary beside `target` and its descriptor; what is left of it is removed."""
    temporary = descriptor = None
    remove_stale(target.parent, target.name)  # what a killed writer of the same file left
    try:
        while descriptor is None:
            temporary = _temporary_name(target)
            descriptor = create(temporary)
            if fcntl is None:
                break  # Windows cannot open directories.
            if not _lock_held(descriptor, temporary):  # A cleaner removed it before it was locked.
                os.close(descriptor)
                descriptor = None
        yield temporary, descriptor
        _sync_directory(target.parent)
    except OSError as failure:
        raise error(explain(failure, named)) from failure
    finally:
        if descriptor is not None:
            os.close(descriptor)
        if temporary is not None:
            _remove(temporary)


def _remove(path: Path) -> None:
    with suppress(OSError):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def _create_file(path: Path) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
    return os.open(path, flags | getattr(os, "O_BINARY", 0), 0o666)


def _create_directory(path: Path) -> int | None:
    os.mkdir(path)
    return None if fcntl is None else os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _lock_held(descriptor: int, path: Path) -> bool:
    """Locks a new temporary; False where a cleaner has locked or removed it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError:
        return True  # A file system without locks: cleaners there cannot lock it either.


def _sync_tree(directory: Path) -> None:
    for root, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(root, name)
            if os.stat(path).st_nlink > 1:  # A hard link to a file that was flushed before.
                continue
            descriptor = os.open(path, os.O_RDWR)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        _sync_directory(root)


def _sync_directory(directory: os.PathLike | str) -> None:
    """Flushes a directory's entries, so that a rename in it outlives a power cut."""
    if os.name == "nt":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as failure:
        if failure.errno not in (errno.EINVAL, errno.ENOTSUP):  # Some network drives refuse.
            raise
    finally:
        os.close(descriptor)
