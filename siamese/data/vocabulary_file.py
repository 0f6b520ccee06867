"""The file of a vocabulary: JSON with a version and a checksum, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from siamese.errors import DataError
from siamese.storage.atomic import explain, write_bytes_atomically

SAVE_AGAIN = "Save it again from the training questions (Vocabulary.save)."
_FORMAT = "siamese vocabulary"
_VERSIONS = (1, 2)  # 2 has unknown_ids, which a reader of 1 would overlook.


def write_vocabulary(path: str | os.PathLike, content: dict[str, Any]) -> None:
    """Writes a vocabulary's lowercase, words and, where it has them, unknown_ids.

    Raises:
      DataError: where the file cannot be written.
    """
    version = 2 if "unknown_ids" in content else 1
    content = {"format": _FORMAT, "version": version, **content}
    content["sha256"] = checksum(content)
    write_bytes_atomically(path, json.dumps(content, indent=0).encode("ascii"))


def read_vocabulary(path: str | os.PathLike) -> dict[str, Any]:
    """What `write_vocabulary` was given, once version and checksum are found right.

    Raises:
      DataError: naming the file, where it is missing, damaged, of another version or of another kind.
    """
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise DataError(explain(error, path, "read the vocabulary")) from error
    try:
        content = json.loads(raw.decode("utf-8"))
    except (UnicodeDecodeError, RecursionError, ValueError) as error:
        raise DataError(f"{path}: {_why_not_json(raw, error)} {SAVE_AGAIN}") from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise DataError(
            f"{path}: JSON, but not a vocabulary written by siamese. "
            "For a list of words of your own, use Vocabulary.from_words(words)."
        )
    if content.get("version") not in _VERSIONS:
        raise DataError(
            f"{path}: a vocabulary of format version {content.get('version')!r}; "
            f"this siamese reads versions {_VERSIONS[0]} and {_VERSIONS[-1]}. "
            f"Use the siamese that wrote it, or: {SAVE_AGAIN}"
        )
    expected = content.pop("sha256", None)
    if expected != checksum(content):
        raise DataError(f"{path}: damaged: the checksum does not match its content. {SAVE_AGAIN}")
    return content


def checksum(content: dict[str, Any]) -> str:
    """SHA-256 of everything else in the file, as hexadecimal digits."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def _why_not_json(raw: bytes, error: Exception) -> str:
    if not raw.strip():
        return "the file is empty."
    if raw.lstrip()[:1] == b"<":
        return "this is an HTML or XML page, not a vocabulary; was a download page saved instead?"
    if raw[:2] == b"\x1f\x8b":
        return "this is a gzip file; unpack it first."
    if isinstance(error, json.JSONDecodeError):
        return f"not a whole JSON file: line {error.lineno}, column {error.colno}: {error.msg}."
    return "not a JSON file."
