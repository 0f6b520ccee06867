"""Token rows in a file, for more questions than memory holds: written in pieces, read by mapping."""

from __future__ import annotations

import mmap
import os
import shutil
import struct
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from siamese.atomic import explain, open_atomically
from siamese.batch_checks import CHUNK, token_rows
from siamese.errors import DataError
from siamese.ragged import Ragged

# Values (int32), zeros up to a multiple of 8, offsets (int64), then this: magic, rows, values.
_END = struct.Struct("<16sqq")
_MAGIC = b"siamese rows 1\n\0"  # the number is the format's version


def write_token_rows(
    path: str | os.PathLike, parts: Iterable[Ragged | Sequence[Sequence[int]]]
) -> int:
    """Writes token rows to a file, whole or not at all, with the memory of one part at a time.

    Args:
      path: the file to make; its rows are those of all parts, in order.
      parts: Ragged, or lists of token ids; a generator is read as it goes.

    Returns:
      How many rows were written.

    Raises:
      DataError: where the file cannot be written, or a part holds no token rows.

    Example:
      >>> path = Path(tempfile.mkdtemp(), "q1.rows")
      >>> write_token_rows(path, [[[5, 6], [7]], [[8, 9]]])
      3
      >>> MappedRagged(path)[2].tolist()
      [8, 9]
    """
    rows = total = 0
    with open_atomically(path) as file, tempfile.TemporaryFile(dir=Path(path).parent) as offsets:
        offsets.write(struct.pack("<q", 0))
        for part in parts:
            part = token_rows(part, "parts")
            file.write(np.ascontiguousarray(part.values, dtype="<i4").data)
            offsets.write((part.offsets[1:] + total).astype("<i8").tobytes())
            rows, total = rows + len(part), total + len(part.values)
        file.write(bytes(-4 * total % 8))
        offsets.seek(0)
        shutil.copyfileobj(offsets, file)
        file.write(_END.pack(_MAGIC, rows, total))
    return rows


class MappedRagged(Ragged):
    """A file of `write_token_rows`, mapped: rows are read from disk when they are asked for.

    It takes the place of Ragged where rows are named (`take`, `padded`, PairBatches); `lengths` is
    worked out for the rows asked for and not kept.

    Args:
      path: the file.

    Raises:
      DataError: where it is missing, cut short, damaged, or no such file.
    """

    def __init__(self, path: str | os.PathLike):
        try:
            size = os.path.getsize(path)
            with open(path, "rb") as file:
                file.seek(max(0, size - _END.size))
                end = file.read()
        except OSError as error:
            raise DataError(explain(error, path, "read")) from error
        magic, rows, total = _END.unpack(end) if len(end) == _END.size else (b"", 0, 0)
        at = -(-4 * total // 8) * 8  # where the offsets begin
        if magic != _MAGIC or size != at + 8 * (rows + 1) + _END.size:
            raise DataError(
                f"{path}: no whole file of token rows of this version of siamese; it may have been "
                "cut short. Write it again."
            )
        whole = np.memmap(path, dtype=np.uint8, mode="r")
        self.path = Path(path)
        self.values = np.asarray(whole[: 4 * total]).view("<i4")
        self.offsets = np.asarray(whole[at : at + 8 * (rows + 1)]).view("<i8")
        self.lengths = _MappedLengths(self.offsets)
        self._check(whole.base)

    def _check(self, mapped: mmap.mmap) -> None:
        for start in range(0, len(self.offsets), CHUNK):
            part = self.offsets[start : start + CHUNK + 1]
            if (np.diff(part) < 0).any():
                raise DataError(f"{self.path}: its offsets do not rise; the file is damaged.")
            if hasattr(mapped, "madvise"):
                mapped.madvise(mmap.MADV_DONTNEED)
        if self.offsets[0] != 0 or self.offsets[-1] != len(self.values):
            raise DataError(f"{self.path}: its offsets do not span its values; it is damaged.")


class _MappedLengths(Sequence):
    """Each row's length, worked out from the offsets of the rows asked for."""

    def __init__(self, offsets: np.ndarray):
        self._offsets = offsets

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, rows):
        if isinstance(rows, slice):
            rows = np.arange(len(self))[rows]
        rows = np.asarray(rows)
        rows = np.where(rows < 0, rows + len(self), rows)
        if ((rows < 0) | (rows >= len(self))).any():
            raise IndexError(f"a row outside the {len(self)} rows")
        return self._offsets[rows + 1] - self._offsets[rows]

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return np.diff(self._offsets).astype(dtype or np.int64)
