"""Trax's gzipped files: .npy arrays one after the other, and whole contents, within limits."""

from __future__ import annotations

import gzip
import hashlib
import io
import math
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from siamese.atomic import explain, open_atomically
from siamese.errors import CheckpointError

MAX_BYTES = 1 << 30  # Of one file, unpacked: a gzip file of 1 MB can hold a GB of nothing.
LEVEL = 2  # Trax's own compression level.

_CHUNK = 1 << 20


def read_arrays(path: os.PathLike | str, max_bytes: int = MAX_BYTES) -> list[np.ndarray]:
    """The arrays of a ``.npy.gz`` file of Trax: any number of .npy images, one after the other.

    Raises:
      CheckpointError: where it is missing, cut off, damaged or larger than `max_bytes`, or holds
        anything but numbers. (Trax's own reader stops at the first damage without a word.)
    """
    arrays = []
    try:
        with gzip.open(path, "rb") as file:
            left = max_bytes
            while file.peek(1):
                array, used = _read_array(file, left, path)
                left -= used
                arrays.append(array)
    except CheckpointError:
        raise
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing. Copy the companions too.") from None
    except _DAMAGE as error:
        raise _damaged(path, error) from error
    return arrays


_DAMAGE = (
    *(OSError, EOFError, zlib.error, ValueError, TypeError, KeyError, IndexError, SyntaxError),
    *(AttributeError, OverflowError, RecursionError, MemoryError),
)


def _read_array(file: Any, left: int, path: Any) -> tuple[np.ndarray, int]:
    """One .npy image from a stream; what it claims is checked before memory is taken for it."""
    header = io.BytesIO(file.read(8))
    version = np.lib.format.read_magic(header)
    readers = {
        (1, 0): (2, np.lib.format.read_array_header_1_0),
        (2, 0): (4, np.lib.format.read_array_header_2_0),
    }
    width, reader = readers[version]
    prefix = file.read(width)
    length = int.from_bytes(prefix, "little")
    if len(prefix) != width or length > 10_000:
        raise ValueError("header length")
    shape, by_columns, dtype = reader(io.BytesIO(prefix + file.read(length)))
    if dtype.kind not in "biufc":
        raise CheckpointError(
            f"{path} was refused: it holds an array of {dtype}, not of numbers. Files of weights "
            "hold numbers; do not use it unless you know where it comes from."
        )
    if any(type(n) is not int or n < 0 for n in shape) or len(shape) > 32:
        raise ValueError("shape")
    size = math.prod(shape) * dtype.itemsize
    if size + length > left:
        raise _too_large(path)
    data = bytearray()
    while len(data) < size:
        chunk = file.read(min(_CHUNK, size - len(data)))
        if not chunk:
            raise EOFError
        data += chunk
    array = np.frombuffer(data, dtype) if data else np.zeros(0, dtype)
    return array.reshape(shape, order="F" if by_columns else "C"), size + length + 10


def unpacked(path: Path, max_bytes: int) -> bytes:
    """A gzip file's content, read bit by bit so that a small file cannot fill the memory."""
    data = bytearray()
    try:
        with gzip.open(path, "rb") as file:
            while chunk := file.read(_CHUNK):
                data += chunk
                if len(data) > max_bytes:
                    raise _too_large(path)
    except (EOFError, zlib.error, gzip.BadGzipFile, MemoryError) as error:
        raise _damaged(path, error) from error
    except OSError as error:
        raise CheckpointError(explain(error, path, "read")) from error
    return bytes(data)


def _too_large(path: Any) -> CheckpointError:
    return CheckpointError(
        f"{path} was refused: unpacked it is larger than the limit. If you trust it and it is meant "
        "to be that large, give a larger max_bytes."
    )


def _damaged(path: Any, error: BaseException) -> CheckpointError:
    return CheckpointError(
        f"{path} is damaged or cut off ({type(error).__name__}). Use another copy of the file."
    )


def file_checksum(path: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_arrays(path: Path, arrays: list[np.ndarray]) -> str:
    """Writes a ``.npy.gz`` file as Trax does, whole or not at all; returns its checksum."""
    with (
        open_atomically(path, CheckpointError) as file,
        gzip.GzipFile("", "wb", LEVEL, file, mtime=0) as packed,
    ):
        for array in arrays:
            np.save(packed, array, allow_pickle=False)
    return file_checksum(path)
