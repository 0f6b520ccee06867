"""The directory of a question index: vectors, questions with their columns, facts; no pickle.

index/                    a store (`siamese.storage.store`); in its current generation:
  vectors.npy             float32, float16 or int8 [questions, d]; mapped, not read
  scales.npy              float32 [questions], for int8 only
  questions.jsonl         one JSON object a question: id, question, its other columns
  offsets.npy             int64 [questions + 1]: where each line of questions.jsonl starts
  graph.usearch           the graph for approximate search, where there is one
  index.json              version, the model's checksum, counts

The arrays are mapped, so that a large index opens at once.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from siamese.errors import CheckpointError
from siamese.search.nearest import STORAGES, StoredVectors
from siamese.storage.store import check_files, read_store, write_store

FORMAT_VERSION = 1
GRAPH = "graph.usearch"


class Records:
    """Questions with their columns: JSON lines in one flat array, which may be mapped from a file.

    Args:
      text: uint8 [bytes]; the lines, one after the other.
      offsets: int64 [records + 1]; line i is ``text[offsets[i]:offsets[i + 1]]``.
    """

    def __init__(self, text: np.ndarray, offsets: np.ndarray):
        self.text, self.offsets = text, offsets

    @classmethod
    def of(cls, records: Iterable[dict[str, Any]]) -> Records:
        """Keeps dicts of JSON values."""
        lines = [
            json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
            for record in records
        ]
        return cls(np.frombuffer(b"".join(lines), np.uint8), _ends([len(line) for line in lines]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> dict[str, Any]:
        line = self.text[self.offsets[i] : self.offsets[i + 1]].tobytes()
        return json.loads(line.decode("utf-8", "surrogatepass"))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[i] for i in range(len(self)))

    def take(self, which: np.ndarray) -> Records:
        """Some of the records, int64 positions in the order wanted."""
        pieces = [self.text[self.offsets[i] : self.offsets[i + 1]] for i in which]
        lengths = np.diff(self.offsets)[which]
        return Records(np.concatenate([self.text[:0], *pieces]), _ends(lengths))

    def joined(self, others: list[Records]) -> Records:
        """These records and others, one after the other."""
        parts = [self, *others]
        lengths = np.concatenate([np.diff(part.offsets) for part in parts])
        return Records(np.concatenate([part.text for part in parts]), _ends(lengths))


def _ends(lengths: Any) -> np.ndarray:
    return np.append(0, np.cumsum(lengths, dtype=np.int64))


def write_index(
    path: os.PathLike | str,
    vectors: StoredVectors,
    records: Records,
    facts: dict[str, Any],
    graph: Any = None,
) -> Path:
    """Writes an index atomically; an older one at `path` is replaced at the end.

    Args:
      path: the directory; it may hold an older index, but nothing else.
      vectors: the questions' vectors.
      records: the questions, as many.
      facts: JSON values: the model's checksum and place, the next free id.
      graph: something with ``save(path)`` that writes the graph, or None.

    Raises:
      CheckpointError: it cannot be written, or `path` holds something other than an index.
    """

    def fill(folder: Path) -> None:
        np.save(folder / "vectors.npy", vectors.values, allow_pickle=False)
        if vectors.scales is not None:
            np.save(folder / "scales.npy", vectors.scales, allow_pickle=False)
        np.save(folder / "offsets.npy", records.offsets, allow_pickle=False)
        (folder / "questions.jsonl").write_bytes(records.text.tobytes())
        if graph is not None:
            graph.save(folder / GRAPH)
        body = {"version": FORMAT_VERSION, "questions": len(records), **facts}
        text = json.dumps(body, indent=1, ensure_ascii=False)
        (folder / "index.json").write_text(text, encoding="utf-8")

    return write_store(path, "index", fill)


def read_index(
    path: os.PathLike | str, *, check: bool = True
) -> tuple[StoredVectors, Records, dict[str, Any], Path]:
    """Maps an index after checking it: (vectors, questions, facts, its files' directory).

    Args:
      path: the directory.
      check: read every file once to compare its checksum; otherwise only sizes and forms.

    Raises:
      CheckpointError: missing, damaged, or of another version; the message says which file.
    """

    def read(folder: Path, manifest: dict[str, Any]):
        check_files(folder, manifest, content=check)
        try:
            facts = json.loads((folder / "index.json").read_text(encoding="utf-8"))
            if facts["version"] != FORMAT_VERSION:
                raise CheckpointError(
                    f"{path} has format version {facts['version']!r}; this siamese reads "
                    f"{FORMAT_VERSION}. Make it again with `siamese index`."
                )
            size = facts["questions"]
            values = _mapped(folder / "vectors.npy", size, STORAGES, axes=2)
            scales = None
            if values.dtype == np.int8:
                scales = _mapped(folder / "scales.npy", size, ("float32",))
            offsets = _mapped(folder / "offsets.npy", size + 1, ("int64",))
            text = folder / "questions.jsonl"
            text = np.memmap(text, np.uint8, "r") if text.stat().st_size else np.zeros(0, np.uint8)
            if offsets[0] != 0 or offsets[-1] != len(text) or (np.diff(offsets) <= 0).any():
                raise ValueError("offsets.npy does not fit questions.jsonl")
        except (ValueError, KeyError, TypeError) as error:
            raise CheckpointError(f"{path} is damaged: {error}. Make the index again.") from error
        return StoredVectors(values, scales), Records(text, offsets), facts, folder

    return read_store(path, "index", read)


def model_checksum(detector: Any) -> str:
    """The SHA-256 of what decides a detector's vectors: weights, vocabulary and tower."""
    tower = detector.tower
    # As the tower's repr was when the first indexes were made: a new field must not spoil them.
    facts = (
        f"TowerConfig(vocab_size={tower.vocab_size}, d_model={tower.d_model}, "
        f"mask_padding={tower.mask_padding}, pooling='mean', bidirectional={tower.bidirectional}, "
        f"compute={tower.compute!r})"
    )
    digest = hashlib.sha256(facts.encode())
    for name in sorted(detector.weights):
        array = np.ascontiguousarray(detector.weights[name], "<f4")
        digest.update(f"{name} {array.shape}".encode())
        digest.update(array.data)
    vocabulary = detector.vocabulary
    unknown = [vocabulary.unknown_ids] if vocabulary.unknown_ids else []
    digest.update(json.dumps([vocabulary.lowercase, vocabulary.words, *unknown]).encode())
    return digest.hexdigest()


def _mapped(path: Path, rows: int, dtypes: tuple[str, ...], axes: int = 1) -> np.ndarray:
    array = np.load(path, mmap_mode="r" if rows else None, allow_pickle=False)
    if array.dtype.name not in dtypes or array.ndim != axes or len(array) != rows:
        raise CheckpointError(
            f"{path} is damaged: {array.dtype} {array.shape}, and {rows} rows of "
            f"{' or '.join(dtypes)} are wanted."
        )
    return array
