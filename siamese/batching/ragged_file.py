"""RaggedFile: token rows in a file, for more questions than memory holds."""

from __future__ import annotations

import os
import shutil
import struct
import tempfile
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from siamese.data.token_rows import CHUNK, token_rows
from siamese.errors import DataError
from siamese.nn.ragged import Ragged
from siamese.storage.atomic import explain, open_atomically

# Values (int32), zeros up to a multiple of 8, offsets (int64), then this: magic, rows, values.
_END = struct.Struct("<16sqq")
_MAGIC = b"siamese rows 1\n\0"  # the number is the format's version

# Rows that lie this near to each other are read in one go, with those between them.
_NEAR = 64


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
      >>> RaggedFile(path)[2].tolist()
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


class RaggedFile(Ragged):
    """A file of `write_token_rows`; rows are read when they are asked for, and none are kept.

    It takes the place of Ragged where rows are named: indexing, `take`, `padded`, PairBatches.
    Reading, not mapping: pages of a mapped file count as the process's memory, as many as it has
    touched. Rows near each other are quickest, such as PairBatches asks for with `read_block`.

    Args:
      path: the file.

    Raises:
      DataError: where it is missing, cut short, damaged, or no such file.
    """

    def __init__(self, path: str | os.PathLike):
        self.path = Path(path)
        self._lock = threading.Lock()
        try:
            self._file = open(path, "rb", buffering=0)  # noqa: SIM115 (closed with the object)
            size = os.fstat(self._file.fileno()).st_size
            end = self._read(max(0, size - _END.size), np.uint8, min(size, _END.size)).tobytes()
        except OSError as error:
            raise DataError(explain(error, path, "read")) from error
        magic, rows, total = _END.unpack(end) if len(end) == _END.size else (b"", 0, 0)
        self._rows, self._total = rows, total
        self._offsets_at = -(-4 * total // 8) * 8
        if magic != _MAGIC or size != self._offsets_at + 8 * (rows + 1) + _END.size:
            raise DataError(
                f"{path}: no whole file of token rows of this version of siamese; it may have been "
                "cut short. Write it again."
            )
        self._check()
        self.lengths = _Lengths(self)

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self.take(np.arange(len(self))[index])
        values, starts, lengths = self.fetch(np.array([range(len(self))[index]]))
        return values[starts[0] : starts[0] + lengths[0]]

    def fetch(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The named rows as they lie in the file, with others between them.

        Returns:
          values, int32; and int64 [rows] each: where in them each row starts, and its length.
        """
        return self._fetch(rows, want_values=True)

    def take(self, rows: np.ndarray) -> Ragged:
        """The named rows, in that order, as a Ragged in memory."""
        values, starts, lengths = self.fetch(np.asarray(rows, dtype=np.int64))
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Ragged(values[places], offsets)

    def padded(self, rows: np.ndarray, length: int, pad: int = 1) -> np.ndarray:
        """The named rows as int32 [len(rows), length]; see `Ragged.padded`."""
        return self.take(rows).padded(np.arange(len(rows)), length, pad)

    def _fetch(self, rows: np.ndarray, want_values: bool):
        wanted, back = np.unique(rows, return_inverse=True)
        if len(wanted) and not (wanted[0] >= 0 and wanted[-1] < self._rows):
            raise IndexError(f"a row outside the {self._rows} rows")
        starts = np.empty(len(wanted), dtype=np.int64)
        lengths = np.empty(len(wanted), dtype=np.int64)
        pieces, read = [], 0
        edges = [0, *(np.flatnonzero(np.diff(wanted) > _NEAR) + 1).tolist(), len(wanted)]
        for begin, end in zip(edges, edges[1:] if len(wanted) else []):
            first, last = int(wanted[begin]), int(wanted[end - 1])
            offsets = self._read(self._offsets_at + 8 * first, "<i8", last - first + 2)
            here = wanted[begin:end] - first
            starts[begin:end] = offsets[here] - offsets[0] + read
            lengths[begin:end] = offsets[here + 1] - offsets[here]
            if want_values:
                pieces.append(self._read(4 * int(offsets[0]), "<i4", int(offsets[-1] - offsets[0])))
                read += len(pieces[-1])
        values = np.concatenate(pieces) if pieces else np.zeros(0, np.int32)
        return values, starts[back], lengths[back]

    def _read(self, at: int, dtype, count: int) -> np.ndarray:
        out = np.empty(count, dtype)
        view = memoryview(out).cast("B")
        with self._lock:  # the background thread reads, too
            self._file.seek(at)
            while len(view):
                got = self._file.readinto(view)
                if not got:
                    raise DataError(f"{self.path}: it was cut short while it was read.")
                view = view[got:]
        return out

    def _check(self) -> None:
        previous = 0
        for start in range(0, self._rows + 1, CHUNK):
            count = min(CHUNK, self._rows + 1 - start)
            offsets = self._read(self._offsets_at + 8 * start, "<i8", count)
            if (start == 0 and offsets[0]) or (np.diff(offsets, prepend=previous) < 0).any():
                raise DataError(f"{self.path}: its offsets do not rise from 0; it is damaged.")
            previous = int(offsets[-1])
        if previous != self._total:
            raise DataError(f"{self.path}: its offsets do not span its values; it is damaged.")


class _Lengths(Sequence):
    """Each row's length, read for the rows asked for."""

    def __init__(self, file: RaggedFile):
        self._file = file

    def __len__(self) -> int:
        return len(self._file)

    def __getitem__(self, rows):
        if isinstance(rows, slice):
            rows = np.arange(len(self))[rows]
        rows = np.asarray(rows)
        rows = np.where(rows < 0, rows + len(self), rows)
        return self._file._fetch(rows.ravel(), want_values=False)[2].reshape(rows.shape)

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return self[:].astype(dtype or np.int64)
