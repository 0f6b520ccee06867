"""The vectors of an unfinished build: the same command goes on where it was stopped.

While a list is encoded, its vectors are kept in a SQLite file beside the index,
``INDEX.unfinished``. It goes when the index has them, and stays after Ctrl-C or a kill.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence

import numpy as np

from siamese.encoders.protocol import BaseEncoder

PATIENCE = 5.0  # seconds of work after which vectors are kept

_TABLE = (
    "create table if not exists vector "
    "(encoder text, text blob, vector blob, primary key (encoder, text))"
)
_FIND = "select vector from vector where encoder = ? and text = ?"
_STORE = "insert or replace into vector values (?, ?, ?)"


@contextlib.contextmanager
def resumable(
    encoder: BaseEncoder, index: str | os.PathLike
) -> Iterator[ResumableEncoder]:
    """The encoder, which keeps its vectors beside an index until the block ends.

    It has those that a block for the same index left which was interrupted or killed.
    After an error in the block they go.
    """
    kept = ResumableEncoder(encoder, f"{os.fspath(index)}.unfinished")
    try:
        yield kept
    except Exception:
        kept.forget()
        raise
    finally:
        kept.close()
    kept.forget()


class ResumableEncoder(BaseEncoder):
    """An encoder that keeps the vectors of texts in a file, and takes from there what it can.

    A file that cannot be written keeps nothing; then the texts are encoded as without
    it.
    """

    def __init__(self, encoder: BaseEncoder, path: str):
        self.encoder = encoder
        self.name = encoder.name
        self.size = encoder.size
        self.at_once = encoder.at_once
        self.path = path
        self._begun = time.monotonic()
        self._waiting: list[tuple[str, bytes, bytes]] = []  # rows to store
        self._db: sqlite3.Connection | None = None
        if os.path.exists(path):
            self._open()

    def read(self, text: str) -> str:
        """A question as the encoder reads it."""
        return self.encoder.read(text)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """The vectors of texts as they are read, float32 [texts, size]."""
        owner = str(self.encoder.fingerprint)
        keys = [
            hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
            for text in texts
        ]
        vectors = np.zeros((len(texts), self.size), np.float32)
        new = []
        for row, key in enumerate(keys):
            content = self._stored(owner, key)
            if content is None:
                new.append(row)
            else:
                vectors[row] = content
        if new:
            vectors[new] = self.encoder.encode([texts[row] for row in new])
            self._store([(owner, keys[row], vectors[row].tobytes()) for row in new])
        return vectors

    def close(self) -> None:
        """Closes the file."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def forget(self) -> None:
        """Removes the file."""
        self.close()
        with contextlib.suppress(OSError):
            os.unlink(self.path)

    def _open(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._db = sqlite3.connect(self.path, check_same_thread=False)
            self._db.execute(_TABLE)

    def _stored(self, owner: str, key: bytes) -> np.ndarray | None:
        if self._db is None:
            return None
        with contextlib.suppress(sqlite3.Error):
            row = self._db.execute(_FIND, (owner, key)).fetchone()
            if row and len(row[0]) == 4 * self.size:
                return np.frombuffer(row[0], np.float32)
        return None

    def _store(self, rows: list[tuple[str, bytes, bytes]]) -> None:
        self._waiting += rows
        if time.monotonic() - self._begun < PATIENCE:
            return
        if self._db is None:
            self._open()
        with contextlib.suppress(sqlite3.Error):
            if self._db is not None:
                with self._db:
                    self._db.executemany(_STORE, self._waiting)
        self._waiting = []
