"""The format of indexes: files with their sizes and checksums.

    index/
      CURRENT             the name of the current generation
      gen-000012/         its files and manifest.json (sizes, SHA-256); never changed
      .lock               held by the one process that writes

A writer fills the next generation beside the others (a file that stays as it is becomes a hard link),
flushes and renames it, replaces CURRENT and removes the older ones. A reader reads CURRENT once; where that
generation is removed meanwhile it starts again.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import filelock

from siamese.errors import CheckpointError
from siamese.storage.atomic import (
    atomic_directory,
    explain,
    explained,
    open_atomically,
    remove_directory,
    remove_stale,
)

MANIFEST = "manifest.json"

_FORMAT, _VERSION = "siamese-checkpoint", 1
_MAX_MANIFEST_BYTES = 1 << 20
_WAIT = 60.0  # Seconds that a writer waits for another one of the same directory.
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_GENERATION = re.compile(r"gen-([0-9]{6,18})")
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
_KIND, _MAKES = "index", "`siamese index MODEL FILE` makes one"

T = TypeVar("T")


class Generation(NamedTuple):
    """What a store held when it was read: the generation's name, and the file that named it."""

    name: str
    inode: int
    modified_ns: int


# ---- Generations ----


def write_store(
    path: os.PathLike | str,
    fill: Callable[[Path, Path | None], None],
    *,
    replaces: Generation | None = None,
    locked: bool = False,
) -> Generation:
    """Writes the next generation of a store, which it returns; the older one is removed at the end.

    Args:
      path: the store's directory. It may hold an older store of the same kind, but nothing else.
      fill: function (folder, older) -> None that writes the files; it may hard-link those of `older`,
        the current generation (None where there is none).
      replaces: the generation that the caller has read. Another one is not replaced.
      locked: whether the caller holds the store's lock.

    Raises:
      CheckpointError: it cannot be written, `path` holds something else or another generation than
        `replaces`, or another process writes there. The older generation is unchanged.
    """
    path = Path(os.path.abspath(path))
    if not locked:  # Who holds the lock has read the store.
        _check_replaceable(path)
    with nullcontext() if locked else lock_store(path), explained(path):
        older = generation(path)
        if replaces is not None and replaces != older:
            raise CheckpointError(
                f"{path} was changed since it was loaded, so it was not replaced. Load it again and "
                "repeat the change, or change it under `QuestionIndex.open_for_change`."
            )
        remove_stale(path)
        found = [int(m[1]) for m in map(_GENERATION.fullmatch, os.listdir(path)) if m]
        name, shared = f"gen-{max(found, default=0) + 1:06d}", older and path / older.name
        with atomic_directory(path / name, CheckpointError, path) as folder:
            fill(folder, shared)
            write_manifest(folder, shared, kind=_KIND)
        with open_atomically(path / "CURRENT", CheckpointError, path) as file:
            file.write(name.encode())
        with suppress(OSError):
            for old in filter(_GENERATION.fullmatch, os.listdir(path)):
                if old != name:
                    remove_directory(path / old)
        return generation(path)


@contextmanager
def lock_store(path: os.PathLike | str) -> Iterator[None]:
    """Holds a store's lock, for instance from loading to saving; makes the directory where there is none.

    Raises:
      CheckpointError: another process holds it for a minute.
    """
    path = Path(os.path.abspath(path))
    with explained(path):
        path.mkdir(exist_ok=True)
    lock = take_lock(path, _WAIT)
    try:
        yield
    finally:
        with suppress(OSError):
            if os.listdir(path) == [".lock"]:  # Nothing was written in a new directory.
                (path / ".lock").unlink()
                path.rmdir()
        lock.release()


def generation(path: os.PathLike | str) -> Generation | None:
    """A store's current generation, by opening one small file; None where there is none."""
    with suppress(OSError, UnicodeDecodeError), open(Path(path, "CURRENT"), "rb") as file:
        name, status = file.read(30).decode("ascii"), os.fstat(file.fileno())
        if _GENERATION.fullmatch(name):
            return Generation(name, status.st_ino, status.st_mtime_ns)
    return None


def read_store(path: os.PathLike | str, read: Callable[[Path, dict], T]) -> T:
    """Reads the current generation of a store.

    Args:
      path: the store's directory.
      read: function (folder, manifest) -> result. It is called again where a writer removed the folder
        meanwhile.

    Raises:
      CheckpointError: the store is missing, damaged, or of another kind or version.
    """
    while True:
        folder = find_current(path)
        try:
            with explained(folder, "read"):
                manifest = read_manifest(folder)
                if manifest.get("kind") != _KIND:
                    raise CheckpointError(f"{path} holds no index. {_MAKES}.")
                return read(folder, manifest)
        except CheckpointError:
            if find_current(path) == folder:
                raise


def find_current(path: os.PathLike | str) -> Path:
    """The directory of a store's current generation."""
    path = Path(path)
    if current := generation(path):
        return path / current.name
    if is_store(path):
        raise CheckpointError(f"{path / 'CURRENT'} is damaged: it names no generation.")
    if not os.path.exists(path):
        raise CheckpointError(f"There is no index at {path}: it does not exist. {_MAKES}.")
    raise CheckpointError(f"{path} holds no index. {_MAKES}.")


def is_store(path: os.PathLike | str) -> bool:
    """Whether a directory looks like a store, by the names in it alone."""
    return os.path.isfile(os.path.join(path, "CURRENT"))


def _check_replaceable(path: Path) -> None:
    """Refuses to write a store over anything else."""
    with explained(path):
        names = os.listdir(path) if os.path.lexists(path) else []
    if is_store(path):
        try:
            found = read_manifest(find_current(path)).get("kind")
        except (CheckpointError, OSError):  # A damaged one may be written again.
            found = _KIND
        if found == _KIND:
            return
    elif all(name == ".lock" or ".tmp-" in name or _GENERATION.fullmatch(name) for name in names):
        return  # Nothing, or what a killed first writer left.
    raise CheckpointError(
        f"{path} holds something other than an older index; nothing was changed. Give another path."
    )


# ---- The lock ----


def take_lock(directory: os.PathLike | str, wait: float = 0.0) -> filelock.BaseFileLock:
    """The lock of a directory, taken; ``.release()`` gives it back, and so does the process's end.

    File systems without locks grant every lock.

    Args:
      directory: an existing directory.
      wait: seconds to wait for another writer. With 0, a second lock of the same process is granted: a
        notebook cell may run again.

    Raises:
      CheckpointError: another process holds it, or the directory is not writable; names the process.
    """
    path = Path(os.path.realpath(directory), ".lock")
    lock = filelock.FileLock(path, thread_local=False, is_singleton=not wait)
    try:
        lock.acquire(timeout=wait, poll_interval=0.01)
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
        if error.errno not in _NO_LOCKS:
            raise CheckpointError(explain(error, directory)) from error
    return lock


# ---- One directory of files ----


def write_manifest(folder: Path, older: Path | None = None, **facts: Any) -> None:
    """Writes the manifest of all files now in `folder`, with more JSON values such as the step.

    Files that are hard links to those of `older` have the checksums that they have there.
    """
    known, files = {}, {}
    with suppress(CheckpointError, OSError):
        known = read_manifest(older)["files"] if older else {}
    for path in sorted(folder.iterdir()):
        entry = {"size": path.stat().st_size}
        linked = path.name in known and path.samefile(older / path.name)
        entry["sha256"] = known[path.name]["sha256"] if linked else file_checksum(path)
        files[path.name] = entry
    body = {"format": _FORMAT, "version": _VERSION, **facts, "files": files}
    body["sha256"] = _own_checksum(body)  # So that a flipped byte in the manifest is noticed.
    (folder / MANIFEST).write_text(json.dumps(body, indent=1), encoding="utf-8")


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a directory, checked in form; no other file is opened."""
    path = folder / MANIFEST
    if not folder.is_dir():
        raise CheckpointError(f"{folder} is not a directory. Check the path.")
    if not os.path.lexists(path):
        raise CheckpointError(
            f"{folder} has no {MANIFEST}: its writer did not finish it, or it is not one of siamese's "
            "directories. Use another one."
        )
    if (size := _regular_size(path)) > _MAX_MANIFEST_BYTES:
        raise CheckpointError(f"{path} is damaged: {size} bytes are too many for a manifest.")
    try:
        body = json.loads(path.read_bytes())
        known, version = body["format"] == _FORMAT, body["version"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged: it cannot be read as a manifest.") from error
    if not known:
        raise CheckpointError(f"{path} is the manifest of another program.")
    if version != _VERSION:
        raise CheckpointError(
            f"{folder} has format version {version!r}; this siamese reads version {_VERSION}. "
            "Read it with the siamese that wrote it, or upgrade this one."
        )
    if body.get("sha256") != _own_checksum(body):
        raise CheckpointError(f"{path} is damaged: its checksum differs.")
    files = body.get("files")
    if not isinstance(files, dict) or not all(map(_is_entry, files.values())):
        raise CheckpointError(f"{path} is damaged: it does not list sizes and checksums of files.")
    for name in files:
        if not _FILE_NAME.fullmatch(name) or name == MANIFEST:
            raise CheckpointError(
                f"{path} names the file {name!r}, which is outside its directory. It was not written "
                "by siamese; do not use it."
            )
    return body


def _is_entry(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and type(entry.get("size")) is int
        and isinstance(entry.get("sha256"), str)
    )


def check_files(folder: Path, manifest: dict[str, Any], content: bool = True) -> None:
    """Compares every file's kind and size with the manifest, and its checksum where `content`."""
    for name, entry in manifest["files"].items():
        size = _regular_size(folder / name)
        if size != entry["size"]:
            raise CheckpointError(
                f"{folder / name} is damaged: {size} bytes, and {entry['size']} were written."
            )
        if content and file_checksum(folder / name) != entry["sha256"]:
            raise CheckpointError(
                f"{folder / name} is damaged: its content changed (the checksum differs)."
            )


def file_checksum(path: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _regular_size(path: Path) -> int:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing.") from None
    if not stat.S_ISREG(status.st_mode):
        what = "a symbolic link" if stat.S_ISLNK(status.st_mode) else "not a regular file"
        raise CheckpointError(f"{path} is {what}. Use another copy of the directory.")
    return status.st_size


def _own_checksum(body: dict[str, Any]) -> str:
    rest = {key: value for key, value in body.items() if key != "sha256"}
    content = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(content.encode()).hexdigest()
