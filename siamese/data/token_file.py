"""The file that keeps tokenized questions: flat arrays, with a checksum over every byte of them.

A line that names the format, a line of JSON (what it holds, and the checksums), then the distinct
words in UTF-8, one a line, the rows' offsets (int64) and the word ids (int32), little-endian.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import IO

import numpy as np

from siamese.errors import DataError
from siamese.nn.ragged import Ragged
from siamese.storage.atomic import explain, open_atomically

_MAGIC = b"siamese tokens 1\n"  # the number is the format's version
_LONGEST_HEADER = 4096  # bytes
_ENCODING = ("utf-8", "surrogatepass")  # a question may hold half a surrogate pair


def write_tokens(path: str | os.PathLike, key: str, words: list[str], ids: Ragged) -> None:
    """Writes tokenized questions, whole or not at all.

    Args:
      path: the file to make.
      key: what these are the tokens of, and by which tokenizer; `read_tokens` must be given it.
      words: the distinct words, none of which holds white space.
      ids: for each distinct question, the places of its tokens in `words`.

    Raises:
      DataError: where the file cannot be written.
    """
    sections = [
        "\n".join(words).encode(*_ENCODING),
        memoryview(np.ascontiguousarray(ids.offsets, dtype="<i8")).cast("B"),
        memoryview(np.ascontiguousarray(ids.values, dtype="<i4")).cast("B"),
    ]
    header = {
        "key": key,
        "words": len(words),
        "bytes": [len(section) for section in sections],
        "sha256": [hashlib.sha256(section).hexdigest() for section in sections],
    }
    with open_atomically(path) as file:
        file.write(_MAGIC + json.dumps(header).encode("ascii") + b"\n")
        for section in sections:
            file.write(section)


def read_tokens(path: str | os.PathLike, key: str) -> tuple[list[str], Ragged]:
    """Reads what `write_tokens` wrote, and checks every byte of it.

    Returns:
      The distinct words, and each distinct question's places in them.

    Raises:
      FileNotFoundError: where there is no such file.
      DataError: where it cannot be read, is damaged, cut short, of another version or of other
        questions.
    """
    try:
        return _read(path, key)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DataError(explain(error, path, "read")) from error


def _read(path: str | os.PathLike, key: str) -> tuple[list[str], Ragged]:
    with open(path, "rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise DataError(f"{path}: no token file of this version of siamese.")
        header = _header(path, file.readline(_LONGEST_HEADER))
        if header["key"] != key:
            raise DataError(f"{path}: holds the tokens of other questions or another tokenizer.")
        size = file.tell() + sum(header["bytes"])
        if Path(path).stat().st_size != size:
            raise DataError(f"{path}: should be {size:,} bytes long; it was cut or grew.")
        text, offsets, values = (
            _section(path, file, length, digest)
            for length, digest in zip(header["bytes"], header["sha256"])
        )
    words = text.tobytes().decode(*_ENCODING).split("\n") if header["words"] else []
    ids = Ragged(values.view("<i4"), offsets.view("<i8"))
    inside = not len(ids.values) or (ids.values.min() >= 0 and ids.values.max() < len(words))
    if len(words) != header["words"] or not inside:
        raise DataError(f"{path}: its word list and its ids do not go together.")
    return words, ids


def _header(path: str | os.PathLike, line: bytes) -> dict:
    try:
        header = json.loads(line)
        lengths, digests = header["bytes"], header["sha256"]
        whole = all(isinstance(length, int) and length >= 0 for length in lengths)
        if not (len(lengths) == len(digests) == 3 and whole):
            raise ValueError("three sections expected")
        if lengths[1] % 8 or lengths[2] % 4 or header["words"] < 0 or not header["key"]:
            raise ValueError("odd lengths")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise DataError(f"{path}: its header is damaged ({error}).") from error
    return header


def _section(path: str | os.PathLike, file: IO[bytes], length: int, digest: str) -> np.ndarray:
    section = np.empty(length, dtype=np.uint8)
    file.readinto(section.data)
    if hashlib.sha256(section.data).hexdigest() != digest:
        raise DataError(f"{path}: its content does not match its checksum.")
    return section
