"""The directory of a question index: vectors, questions with their columns, facts; no pickle.

    index/
      vectors.npy           float32, float16 or int8 [questions, d]; mapped, not read
      scales.npy            float32 [questions], for int8 only
      questions.jsonl       one JSON object a question: id, question, its other columns
      offsets.npy           int64 [questions + 1]: where each line of questions.jsonl starts
      graph.usearch         the graph for approximate search, where there is one
      index.json            version, the model's checksum, counts
      manifest.json         sizes and checksums of the others

A new version is written beside the old one and takes its place when it is whole.
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
from siamese.storage import manifest as manifests
from siamese.storage.atomic import atomic_directory, explain, remove_directory

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
        offsets = np.zeros(len(lines) + 1, np.int64)
        np.cumsum([len(line) for line in lines], out=offsets[1:])
        return cls(np.frombuffer(b"".join(lines), np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> dict[str, Any]:
        line = self.text[self.offsets[i] : self.offsets[i + 1]].tobytes()
        return json.loads(line.decode("utf-8", "surrogatepass"))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[i] for i in range(len(self)))

    def take(self, which: np.ndarray) -> Records:
        """Some of the records, int64 positions in the order wanted."""
        lengths = np.diff(self.offsets)[which]
        offsets = np.zeros(len(which) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        pieces = [self.text[self.offsets[i] : self.offsets[i + 1]] for i in which]
        return Records(np.concatenate([np.zeros(0, np.uint8), *pieces]), offsets)

    def joined(self, others: list[Records]) -> Records:
        """These records and others, one after the other."""
        parts, offsets, end = [self, *others], [np.zeros(1, np.int64)], 0
        for part in parts:
            offsets.append(part.offsets[1:] + end)
            end += int(part.offsets[-1])
        return Records(np.concatenate([part.text for part in parts]), np.concatenate(offsets))


def write_index(
    path: os.PathLike | str,
    vectors: StoredVectors,
    records: Records,
    facts: dict[str, Any],
    graph: Any = None,
) -> Path:
    """Writes an index, whole or not at all; an older one at `path` is replaced at the end.

    Args:
      path: the directory; it may hold an older index, but nothing else.
      vectors: the questions' vectors.
      records: the questions, as many.
      facts: JSON values: the model's checksum and place, the next free id.
      graph: something with ``save(path)`` that writes the graph, or None.

    Raises:
      CheckpointError: it cannot be written, or `path` holds something that is no index.
    """
    path = Path(path)
    previous = path.with_name(path.name + ".previous")
    fresh = path.with_name(path.name + ".fresh")
    if path.exists() and (not path.is_dir() or (any(path.iterdir()) and not is_index(path))):
        raise CheckpointError(
            f"{path} holds something other than an index; nothing was changed. Give another path."
        )
    try:
        for leftover in (fresh, previous) if path.exists() else (fresh,):
            if leftover.exists():
                remove_directory(leftover)
        with atomic_directory(fresh, CheckpointError) as folder:
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
            manifests.write_manifest(folder, kind="index", step=0, metrics={})
        if path.exists():
            os.rename(path, previous)
        os.rename(fresh, path)
        if previous.exists():
            remove_directory(previous)
    except OSError as error:
        raise CheckpointError(explain(error, path)) from error
    return path


def read_index(
    path: os.PathLike | str, *, check: bool = True
) -> tuple[StoredVectors, Records, dict[str, Any], Path]:
    """Maps an index after checking it: (vectors, questions, facts, its directory).

    Args:
      path: the directory.
      check: read every file once to compare its checksum; otherwise only sizes and forms.

    Raises:
      CheckpointError: missing, damaged, or of another version; the message says which file.
    """
    path = find_index(path)
    try:
        manifest = manifests.read_manifest(path)
        if manifest.get("kind") != "index":
            raise CheckpointError(f"{path} is no index of questions. `siamese index` makes one.")
        for name, entry in manifest["files"].items():
            _check_file(path / name, entry, check or name == "index.json")
        facts = json.loads((path / "index.json").read_text(encoding="utf-8"))
        if facts.get("version") != FORMAT_VERSION:
            raise CheckpointError(
                f"{path} has format version {facts.get('version')!r}; this siamese reads "
                f"{FORMAT_VERSION}. Make it again with `siamese index`."
            )
        size = facts["questions"]
        values = _mapped(path / "vectors.npy", size, STORAGES, axes=2)
        scales = None
        if values.dtype == np.int8:
            scales = _mapped(path / "scales.npy", size, ("float32",))
        offsets = _mapped(path / "offsets.npy", size + 1, ("int64",))
        text = path / "questions.jsonl"
        text = np.memmap(text, np.uint8, "r") if text.stat().st_size else np.zeros(0, np.uint8)
        if offsets[0] != 0 or offsets[-1] != len(text) or (np.diff(offsets) <= 0).any():
            raise CheckpointError(f"{path / 'offsets.npy'} does not fit questions.jsonl.")
    except OSError as error:
        raise CheckpointError(explain(error, path, "read")) from error
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path} is damaged: {error}. Make the index again.") from error
    return StoredVectors(values, scales), Records(text, offsets), facts, path


def find_index(path: os.PathLike | str) -> Path:
    """The index that `path` means: itself, or what a killed writer had moved aside."""
    path = Path(path)
    for candidate in (path, path.with_name(path.name + ".previous")):
        if is_index(candidate):
            return candidate
    what = "holds no index" if path.exists() else "does not exist"
    raise CheckpointError(f"{path} {what}. `siamese index MODEL FILE` makes one.")


def is_index(path: Path) -> bool:
    """Whether a directory looks like an index: by its files' names alone."""
    return (path / "index.json").is_file() and (path / manifests.NAME).is_file()


def model_checksum(detector: Any) -> str:
    """The SHA-256 of what decides a detector's vectors: weights, vocabulary and tower."""
    digest = hashlib.sha256(repr(detector.tower).encode())
    for name in sorted(detector.weights):
        array = np.ascontiguousarray(detector.weights[name], "<f4")
        digest.update(f"{name} {array.shape}".encode())
        digest.update(array.data)
    vocabulary = detector.vocabulary
    facts = [vocabulary.lowercase, vocabulary.words]
    if vocabulary.unknown_ids:
        facts.append(vocabulary.unknown_ids)
    words = json.dumps(facts)
    digest.update(words.encode())
    return digest.hexdigest()


def _check_file(path: Path, entry: dict[str, Any], content: bool) -> None:
    if path.is_symlink() or not path.is_file():
        raise CheckpointError(f"{path} is missing. Make the index again with `siamese index`.")
    if path.stat().st_size != entry["size"]:
        raise CheckpointError(
            f"{path} is damaged: {path.stat().st_size} bytes, and {entry['size']} were written."
        )
    if content:
        with open(path, "rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != entry["sha256"]:
                raise CheckpointError(
                    f"{path} is damaged: its content is not what was written (the checksum differs)."
                )


def _mapped(path: Path, rows: int, dtypes: tuple[str, ...], axes: int = 1) -> np.ndarray:
    array = np.load(path, mmap_mode="r" if rows else None, allow_pickle=False)
    if array.dtype.name not in dtypes or array.ndim != axes or len(array) != rows:
        raise CheckpointError(
            f"{path} is damaged: {array.dtype} {array.shape}, and {rows} rows of "
            f"{' or '.join(dtypes)} are wanted."
        )
    return array
