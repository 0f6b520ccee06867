"""The manifest of a checkpoint directory: its files with their sizes and checksums."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from pathlib import Path
from typing import Any

from siamese.errors import CheckpointError

FORMAT = "siamese-checkpoint"
VERSION = 1
NAME = "manifest.json"

_MAX_MANIFEST_BYTES = 1 << 20
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_CHECKSUM = re.compile(r"[0-9a-f]{64}")


def checksum(data: bytes) -> str:
    """The SHA-256 of `data`, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def write_manifest(directory: Path, **facts: Any) -> None:
    """Writes the manifest of all files now in `directory`; the last file that a writer adds.

    Args:
      directory: the directory, complete but for the manifest.
      **facts: more JSON values to keep in it, such as the step.
    """
    files = {}
    for path in sorted(directory.iterdir()):
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        files[path.name] = {"size": path.stat().st_size, "sha256": digest}
    body = {"format": FORMAT, "version": VERSION, **facts, "files": files}
    body["sha256"] = _own_checksum(
        body
    )  # So that a flipped byte in the manifest itself is noticed.
    (directory / NAME).write_text(json.dumps(body, indent=1), encoding="utf-8")


def read_manifest(directory: Path) -> dict[str, Any]:
    """The manifest of a checkpoint directory, checked in form; no other file is opened.

    Raises:
      CheckpointError: where it is missing, damaged, of another format or an unknown version, or
        names a file outside the directory.
    """
    path = directory / NAME
    if not path.exists():
        if not directory.is_dir():
            raise CheckpointError(f"{directory} is no directory, so no checkpoint. Check the path.")
        raise CheckpointError(
            f"{directory} has no {NAME}: it is no checkpoint, or its writer never finished it. "
            "Use another checkpoint."
        )
    size = _regular_size(path)
    if size > _MAX_MANIFEST_BYTES:
        raise CheckpointError(f"{path} is damaged: {size} bytes are too many for a manifest.")
    try:
        body = json.loads(read_file(path, size))
        known = body["format"] == FORMAT
        version = body["version"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged: it cannot be read as a manifest.") from error
    if not known:
        raise CheckpointError(f"{path} is the manifest of something else than a checkpoint.")
    if version != VERSION:
        raise CheckpointError(
            f"{directory} has format version {version!r}; this siamese reads version {VERSION}. "
            "Read it with the siamese that wrote it, or upgrade this one."
        )
    if body.get("sha256") != _own_checksum(body):
        raise CheckpointError(f"{path} is damaged: its checksum is not the one written with it.")
    for name, entry in _files_of(body, path).items():
        if not _FILE_NAME.fullmatch(name) or name == NAME:
            raise CheckpointError(
                f"{path} names the file {name!r}: only files of the checkpoint's own directory are "
                "read. It was not written by siamese; do not use it."
            )
        if not _entry_sound(entry):
            raise CheckpointError(f"{path} is damaged: no size and checksum for {name}.")
    return body


def looks_whole(directory: Path) -> bool:
    """Whether the manifest is sound and every file has its size; the content is not read."""
    try:
        files = read_manifest(directory)["files"]
        return all(_regular_size(directory / n) == files[n]["size"] for n in files)
    except (CheckpointError, OSError):
        return False


def read_files(directory: Path, manifest: dict[str, Any], max_bytes: int) -> dict[str, bytes]:
    """All files of a checkpoint, each checked: kind, size (before a byte is read) and checksum.

    Raises:
      CheckpointError: for the first file that is missing, of another size or content, a link, or
        where all of them together are larger than `max_bytes`.
    """
    files = manifest["files"]
    for name, entry in files.items():
        size = _regular_size(directory / name)
        if size != entry["size"]:
            raise CheckpointError(
                f"{directory / name} is damaged: {size} bytes, and {entry['size']} were written."
            )
    total = sum(entry["size"] for entry in files.values())
    if total > max_bytes:
        raise CheckpointError(
            f"{directory} holds {total} bytes, more than the {max_bytes} that are read at most. "
            "Give a larger max_bytes where the checkpoint is meant to be that large."
        )
    contents = {}
    for name, entry in files.items():
        contents[name] = read_file(directory / name, entry["size"])
        if checksum(contents[name]) != entry["sha256"]:
            raise CheckpointError(
                f"{directory / name} is damaged: its content is not what was written "
                "(the checksum differs)."
            )
    return contents


def read_file(path: Path, size: int) -> bytes:
    """The content of a regular file of `size` bytes; links and devices are refused."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    flags |= getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise CheckpointError(f"{path} is no regular file. Use another checkpoint.")
        data = file.read(size + 1)
    if len(data) != size:
        raise CheckpointError(f"{path} changed while it was read. Try again.")
    return data


def _regular_size(path: Path) -> int:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing.") from None
    if stat.S_ISLNK(status.st_mode):
        raise CheckpointError(f"{path} is a symbolic link; a checkpoint's files must be its own.")
    if not stat.S_ISREG(status.st_mode):
        raise CheckpointError(f"{path} is no regular file. Use another checkpoint.")
    return status.st_size


def _files_of(body: dict[str, Any], path: Path) -> dict[str, Any]:
    if not isinstance(body.get("files"), dict) or type(body.get("step")) is not int:
        raise CheckpointError(f"{path} is damaged: it lists no step or no files.")
    return body["files"]


def _entry_sound(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and type(entry.get("size")) is int
        and entry["size"] >= 0
        and isinstance(entry.get("sha256"), str)
        and _CHECKSUM.fullmatch(entry["sha256"]) is not None
    )


def _own_checksum(body: dict[str, Any]) -> str:
    rest = {key: value for key, value in body.items() if key != "sha256"}
    return checksum(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode())
