"""Trax's gzipped files: .npy arrays one after the other, and whole contents, within limits."""

from __future__ import annotations

import gzip
import hashlib
import math
import os
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from siamese.errors import CheckpointError
from siamese.storage.atomic import explain, open_atomically

MAX_BYTES = 1 << 30  # Of one file, unpacked: a gzip file of 1 MB can hold a GB of nothing.
LEVEL = 2  # Trax's own compression level.

_CHUNK = 1 << 20
_LENGTH_BYTES = {b"\x93NUMPY\x01\x00": 2, b"\x93NUMPY\x02\x00": 4}  # Magic and version -> width.
_HEADER = re.compile(
    r"\{'descr': '(?P<dtype>[<>|=]?[A-Za-z?][0-9]*(\[[A-Za-z]+\])?)', "
    r"'fortran_order': (?P<by_columns>True|False), 'shape': \((?P<shape>[0-9, ]*)\), \}[ \n]*"
)


def read_arrays(path: os.PathLike | str, max_bytes: int = MAX_BYTES) -> list[np.ndarray]:
    """The arrays of a ``.npy.gz`` file of Trax: any number of .npy images, one after the other.

    Raises:
      CheckpointError: where it is missing, cut off, damaged or larger than `max_bytes`, or holds
        anything but numbers. (Trax's own reader stops at the first damage without a word.)
    """
    arrays = []
    try:
        with _open(path) as file:
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
        if isinstance(error, OSError) and not isinstance(error, gzip.BadGzipFile):
            raise CheckpointError(explain(error, path, "read")) from error
        raise _damaged(path, error) from error
    return arrays


_DAMAGE = (
    *(OSError, EOFError, zlib.error, ValueError, TypeError, KeyError, IndexError, SyntaxError),
    *(AttributeError, OverflowError, RecursionError, MemoryError),
)


def _read_array(file: Any, left: int, path: Any) -> tuple[np.ndarray, int]:
    """One .npy image from a stream; what it claims is checked before memory is taken for it."""
    version = _LENGTH_BYTES.get(file.read(8))
    if version is None:
        raise ValueError("magic or version")
    length = int.from_bytes(file.read(version), "little")
    if length > 10_000:
        raise ValueError("header length")
    header = file.read(length).decode("latin-1")
    # NumPy's own parser hands the header to Python's; here nothing but the expected text passes.
    fields = _HEADER.fullmatch(header)
    if fields is None and not header.startswith("{'descr': ["):
        raise ValueError("header")
    dtype = np.dtype(fields["dtype"]) if fields else None
    if dtype is None or dtype.kind not in "biufc":
        raise CheckpointError(
            f"{path} was refused: it holds an array of {dtype or 'records'}, not of numbers. Files "
            "of weights hold numbers; do not use it unless you know where it comes from."
        )
    shape = tuple(int(n) for n in fields["shape"].split(",") if n.strip())
    if len(shape) > 32:
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
    order = "F" if fields["by_columns"] == "True" else "C"
    return array.reshape(shape, order=order), size + length + 10


def unpacked(path: Path, max_bytes: int) -> bytes:
    """A gzip file's content, read bit by bit so that a small file cannot fill the memory."""
    data = bytearray()
    try:
        with _open(path) as file:
            while chunk := file.read(_CHUNK):
                data += chunk
                if len(data) > max_bytes:
                    raise _too_large(path)
    except (EOFError, zlib.error, gzip.BadGzipFile, MemoryError) as error:
        raise _damaged(path, error) from error
    except OSError as error:
        raise CheckpointError(explain(error, path, "read")) from error
    return bytes(data)


def _open(path: os.PathLike | str) -> gzip.GzipFile:
    if os.path.exists(path) and not os.path.isfile(path):  # A pipe would wait for ever.
        raise CheckpointError(f"{path} is no regular file. Check the path.")
    if os.path.getsize(path) == 0:  # Which Python's gzip takes for nothing packed.
        raise EOFError
    return gzip.open(path, "rb")


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
