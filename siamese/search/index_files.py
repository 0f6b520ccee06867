"""The directory of a question index: segments that never change, and what was removed; no pickle.

index/                       a store (`siamese.storage.store`); in its current generation:
  NAME-vectors.npy           float32, float16 or int8 [rows, d]; mapped, not read
  NAME-scales.npy            float32 [rows], for int8 only
  NAME-questions.jsonl       one JSON object a question: id, question, its other columns
  NAME-offsets.npy           int64 [rows + 1]: where each line of it starts
  NAME-keys.npy              uint64 [rows]: the keys of the ids (`siamese.search.segments.id_keys`)
  removed.npy                int64: the rows removed, counted through all segments; where there are any
  NAME-graph.usearch         the graph over the first segment, where there is one
  index.json                 version, the model's checksum, the names and rows of the segments

The arrays are mapped, so that a large index opens at once. A generation has hard links to the segments of
the one before, so adding a question writes kilobytes. In version 1 an index is one segment whose files have
no NAME, and no keys.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from siamese.errors import CheckpointError
from siamese.search.approximate import Graph
from siamese.search.nearest import STORAGES, StoredVectors
from siamese.search.segments import Records, Segment, State
from siamese.storage.store import Generation, check_files, generation, read_store, write_store

FORMAT_VERSION = 2

_MAPPED = 1 << 16  # Bytes from which on a file is mapped.


def write_index(
    path: os.PathLike | str, state: State, facts: dict[str, Any], **options: Any
) -> Generation:
    """Writes an index; what the generation before has of it already is not written again.

    Args:
      path: the directory; an older index there is replaced at the end.
      state: its questions.
      facts: more JSON values.
      **options: of `siamese.storage.store.write_store`.

    Raises:
      CheckpointError: it cannot be written, or `path` holds something other than an index.
    """

    def fill(folder: Path, older: Path | None) -> None:
        for segment in state.segments:
            vectors, records = segment.vectors, segment.records
            arrays = {"vectors": vectors.values, "offsets": records.offsets, "keys": segment.keys}
            if vectors.scales is not None:
                arrays["scales"] = vectors.scales
            names = [*(f"{name}.npy" for name in arrays), "questions.jsonl"]
            if not _linked(older, folder, [_name(segment.name, name) for name in names]):
                for name, array in arrays.items():
                    np.save(folder / _name(segment.name, f"{name}.npy"), array)
                records.text.tofile(folder / _name(segment.name, "questions.jsonl"))
        if state.graph is not None:
            name = _name(state.graph.name, "graph.usearch")
            if not _linked(older, folder, [name]):
                state.graph.save(folder / name)
        if len(state.removed):
            np.save(folder / "removed.npy", state.removed)
        body = {
            "version": FORMAT_VERSION,
            "segments": [[segment.name, len(segment)] for segment in state.segments],
            "graph": state.graph and state.graph.name,
            **facts,
        }
        text = json.dumps(body, indent=1, ensure_ascii=False)
        (folder / "index.json").write_text(text, encoding="utf-8")

    return write_store(path, "index", fill, **options)


def read_index(
    path: os.PathLike | str, *, check: bool = True
) -> tuple[State, dict[str, Any], Generation]:
    """Maps an index after checking it: (questions, facts, the generation that was read).

    Args:
      path: the directory.
      check: read every file once to compare its checksum; otherwise only sizes and forms.

    Raises:
      CheckpointError: missing, damaged, or of another version; the message says which file.
    """

    def read(folder: Path, manifest: dict[str, Any]):
        found = generation(path)
        if not found or folder != Path(path, found.name):
            raise CheckpointError(f"{path} changes while it is read.")  # It is read again.
        check_files(folder, manifest, content=check)
        files = manifest["files"]
        try:
            facts = json.loads((folder / "index.json").read_text(encoding="utf-8"))
            version = facts["version"]
            if version not in (1, FORMAT_VERSION):
                raise CheckpointError(
                    f"{path} has format version {version!r}; this siamese reads 1 to "
                    f"{FORMAT_VERSION}. Make it again with `siamese index`."
                )
            if version == 1:
                graph = "" if "graph.usearch" in files else None
                segments = [["", facts["questions"]]]
            else:
                segments, graph = facts["segments"], facts["graph"]
            removed = np.zeros(0, np.int64)
            if "removed.npy" in files:
                removed = _mapped(folder, files, "removed.npy", None, ("int64",))
            made = tuple(_segment(folder, files, name, rows) for name, rows in segments)
            if len({(s.vectors.values.dtype, s.vectors.values.shape[1]) for s in made}) != 1:
                raise ValueError("index.json names no segments, or of different vectors")
            size = sum(map(len, made))
            if (np.diff(removed, prepend=-1, append=size) <= 0).any():
                raise ValueError("removed.npy does not fit the segments")
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise CheckpointError(f"{path} is damaged: {error}. Make the index again.") from error
        if graph is not None:
            file = _file(folder, files, _name(graph, "graph.usearch"))
            first = made[0].vectors.values
            graph = Graph.load(file, len(first), first.shape[1], graph)
        return State(made, removed, graph), facts, found

    return read_store(path, "index", read)


def model_checksum(detector: Any) -> str:
    """The SHA-256 of what decides a detector's vectors: weights, vocabulary and tower."""
    known = getattr(detector, "_index_checksum", None)
    if known is not None:  # Weights and vocabulary never change.
        return known
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
    detector._index_checksum = digest.hexdigest()
    return detector._index_checksum


def _name(segment: str, file: str) -> str:
    return f"{segment}-{file}" if segment else file


def _linked(older: Path | None, folder: Path, names: list[str]) -> bool:
    """Whether the older generation has all these files; they are then in this one too."""
    if older is None or not all((older / name).is_file() for name in names):
        return False
    for name in names:
        try:
            os.link(older / name, folder / name)
        except OSError:  # A file system without hard links.
            shutil.copyfile(older / name, folder / name)
    return True


def _file(folder: Path, files: dict[str, Any], name: str) -> Path:
    if name not in files:  # Only those have been checked.
        raise CheckpointError(f"{folder} is damaged: it has no {name}. Make the index again.")
    return folder / name


def _segment(folder: Path, files: dict[str, Any], name: str, rows: int) -> Segment:
    def array(what: str, rows: int, dtypes: tuple[str, ...], axes: int = 1) -> np.ndarray:
        return _mapped(folder, files, _name(name, f"{what}.npy"), rows, dtypes, axes)

    values = array("vectors", rows, STORAGES, axes=2)
    scales = array("scales", rows, ("float32",)) if values.dtype == np.int8 else None
    offsets = array("offsets", rows + 1, ("int64",))
    has_keys = _name(name, "keys.npy") in files  # Version 1 had none.
    keys = array("keys", rows, ("uint64",)) if has_keys else None
    file = _file(folder, files, _name(name, "questions.jsonl"))
    large = files[file.name]["size"] > _MAPPED
    text = np.memmap(file, np.uint8, "r") if large else np.fromfile(file, np.uint8)
    if offsets[0] != 0 or offsets[-1] != len(text) or (np.diff(offsets) <= 0).any():
        raise ValueError("offsets.npy does not fit questions.jsonl")
    return Segment(StoredVectors(values, scales), Records(text, offsets), keys, name)


def _mapped(
    folder: Path,
    files: dict[str, Any],
    name: str,
    rows: int | None,
    dtypes: tuple[str, ...],
    axes: int = 1,
) -> np.ndarray:
    path = _file(folder, files, name)
    large = files[name]["size"] > _MAPPED  # Mapping a small file takes longer than reading it.
    array = np.load(path, mmap_mode="r" if large else None, allow_pickle=False)
    other_rows = rows is not None and array.ndim == axes and len(array) != rows
    if array.dtype.name not in dtypes or array.ndim != axes or other_rows:
        raise CheckpointError(
            f"{path} is damaged: {array.dtype} {array.shape}, and {rows} rows of "
            f"{' or '.join(dtypes)} are wanted."
        )
    return array
