"""The directory of a question index: segments that never change, and what was removed; no pickle.

index/                       a store (`siamese.storage.store`); in its current generation:
  NAME-vectors.npy           float32 [rows, d]
  NAME-questions.jsonl       one JSON object a question: id, question, its other columns
  NAME-offsets.npy           int64 [rows + 1]: where each line of it starts
  NAME-keys.npy              uint64 [rows]: the keys of the ids (`siamese.search.segments.id_keys`)
  NAME-stems.npy             uint64 [words]: the keys of the stemmed words that the questions hold
  NAME-starts.npy            int64 [words + 1]: where the rows of each word start, in
  NAME-rows.npy              int32 or int64 [postings], and
  NAME-counts.npy            uint16 [postings]: how often the word stands in the row
  NAME-lengths.npy           int32 [rows]: how many words each question has
  index.json                 version, the model's checksum, the names and rows of the segments, and the rows
                             that were removed, counted through all segments

The arrays are mapped, not read, so that a large index opens at once. A generation has hard links to the
segments of the one before, so adding a question writes kilobytes.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from siamese.errors import ArgumentError, CheckpointError, MissingDependencyError
from siamese.search.lexical import VECTOR_WEIGHT, Postings
from siamese.search.segments import Entries, Segment, State, as_text
from siamese.storage.atomic import open_atomically
from siamese.storage.store import Generation, check_files, generation, read_store, write_store

FORMAT_VERSION = 4
ROWS_PER_GROUP = 1 << 16  # of a Parquet file


def write_index(
    path: os.PathLike | str, state: State, facts: dict[str, Any], **options: Any
) -> Generation:
    """Writes an index with more JSON values; what the generation before has of it is not written again.

    Options and errors are those of `siamese.storage.store.write_store`.
    """

    def fill(folder: Path, older: Path | None) -> None:
        for segment in state.segments:
            vectors, entries = segment.vectors, segment.entries
            arrays = {"vectors": vectors, "offsets": entries.offsets, "keys": segment.keys}
            start = f"{segment.name}-"
            files = {f"{start}{name}.npy": array for name, array in arrays.items()}
            if not _linked(older, folder, [*files, f"{start}questions.jsonl"]):
                for name, array in files.items():
                    np.save(folder / name, array)
                entries.text.tofile(folder / f"{start}questions.jsonl")
            counts = segment.words.counts
            arrays = {"stems": segment.words.keys, "starts": counts.indptr.astype(np.int64)}
            arrays |= {"rows": counts.indices, "counts": counts.data}
            arrays["lengths"] = segment.words.lengths
            files = {f"{start}{name}.npy": array for name, array in arrays.items()}
            if not _linked(older, folder, list(files)):
                for name, array in files.items():
                    np.save(folder / name, array)
        segments = [[segment.name, len(segment)] for segment in state.segments]
        rows = {"segments": segments, "removed": state.removed.tolist()}
        rows["vector_weight"] = state.vector_weight
        text = json.dumps({"version": FORMAT_VERSION, **facts, **rows}, ensure_ascii=False)
        (folder / "index.json").write_text(text, encoding="utf-8")

    return write_store(path, fill, **options)


def read_index(
    path: os.PathLike | str, *, check: bool = True
) -> tuple[State, dict[str, Any], Generation]:
    """Maps an index: (questions, facts, the generation that was read).

    With `check` every file is read once to compare its checksum; otherwise only sizes and forms are.

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
            if facts["version"] != FORMAT_VERSION:
                raise CheckpointError(
                    f"{path} has format version {facts['version']!r}; this siamese reads "
                    f"{FORMAT_VERSION}. Make it again with `siamese index`."
                )
            segments = tuple(_segment(folder, files, name, n) for name, n in facts["segments"])
            if len({s.vectors.shape[1] for s in segments}) != 1:
                raise ValueError("index.json names no segments, or of different vectors")
            removed, size = np.array(facts["removed"], np.int64), sum(map(len, segments))
            if (np.diff(removed, prepend=-1, append=size) <= 0).any():
                raise ValueError("the rows removed do not fit the segments")
            weight = float(facts.get("vector_weight", VECTOR_WEIGHT))
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise CheckpointError(f"{path} is damaged: {error}. Make the index again.") from error
        return State(segments, removed, weight), facts, found

    return read_store(path, read)


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


def _segment(folder: Path, files: dict[str, Any], name: str, rows: int) -> Segment:
    def path(what: str) -> Path:
        if f"{name}-{what}" not in files:  # Only those have been checked.
            raise ValueError(f"{folder} has no {name}-{what}")
        return folder / f"{name}-{what}"

    def mapped(what: str, shape: tuple[int | None, ...], *dtypes: str) -> np.ndarray:
        array = np.load(path(what), mmap_mode="r", allow_pickle=False)
        fits = len(shape) == array.ndim and all(n in (None, m) for n, m in zip(shape, array.shape))
        if array.dtype.name not in dtypes or not fits:
            kinds = " or ".join(dtypes)
            raise ValueError(f"{name}-{what} is {array.dtype} {array.shape}, not {kinds} {shape}")
        return np.asarray(array)  # Slicing np.memmap itself is slow.

    vectors = mapped("vectors.npy", (rows, None), "float32")
    offsets = mapped("offsets.npy", (rows + 1,), "int64")
    text = np.zeros(0, np.uint8)
    if rows:
        text = np.asarray(np.memmap(path("questions.jsonl"), np.uint8, "r"))
    if offsets[0] != 0 or offsets[-1] != len(text) or (np.diff(offsets) <= 0).any():
        raise ValueError("offsets.npy does not fit questions.jsonl")
    keys = mapped("keys.npy", (rows,), "uint64")
    words = mapped("stems.npy", (None,), "uint64")
    starts = mapped("starts.npy", (len(words) + 1,), "int64")
    places = mapped("rows.npy", (None,), "int32", "int64")
    counts = mapped("counts.npy", (len(places),), "uint16")
    if starts[0] != 0 or starts[-1] != len(places) or (np.diff(starts) < 0).any():
        raise ValueError("starts.npy does not fit rows.npy")
    if len(places) and not 0 <= places.min() <= places.max() < rows:
        raise ValueError("rows.npy holds rows that are not there")
    counts = csr_array((counts, places, starts), (len(words), rows))
    postings = Postings(words, counts, mapped("lengths.npy", (rows,), "int32"))
    return Segment(vectors, Entries(text, offsets), keys, name, postings)


def export_parquet(index: os.PathLike | str, path: os.PathLike | str) -> int:
    """Writes an index as a Parquet file, which other engines read; returns how many questions. No model.

    Its columns: ``id`` (int64, or text where one of the ids is), ``question`` (text), the columns that the
    index keeps (text; of a taken name with ``column_`` before it) and ``vector`` (a list of d float32).

    Raises:
      CheckpointError: see `read_index`.
      MissingDependencyError: pyarrow is not installed.
      ArgumentError: the file cannot be written.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingDependencyError("Parquet needs pyarrow: pip install pyarrow.") from None
    live = read_index(index)[0].whole
    entries, vectors = live.entries, live.vectors
    # Whether all ids fit int64; the columns, in the order in which they appear.
    whole, kept = True, {}
    for entry in entries:
        whole = whole and isinstance(entry["id"], int) and -(1 << 63) <= entry["id"] < 1 << 63
        kept |= dict.fromkeys(entry["columns"])
    own, d = ("id", "question", "vector"), vectors.shape[1]
    names = {column: f"column_{column}" if column in own else column for column in kept}
    texts = ("question", *names.values())
    schema = pyarrow.schema(
        [("id", pyarrow.int64() if whole else pyarrow.string())]
        + [(_written(name), pyarrow.string()) for name in texts]
        + [("vector", pyarrow.list_(pyarrow.float32(), d))]
    )
    with (
        open_atomically(path, ArgumentError) as file,
        parquet.ParquetWriter(file, schema) as writer,
    ):
        for start in range(0, len(entries), ROWS_PER_GROUP):
            rows = slice(start, min(start + ROWS_PER_GROUP, len(entries)))
            some = [entries[row] for row in range(rows.start, rows.stop)]
            columns = [[entry["id"] if whole else _written(entry["id"]) for entry in some]]
            columns.append([_written(entry["question"]) for entry in some])
            columns += [[_written(entry["columns"].get(name)) for entry in some] for name in names]
            flat = pyarrow.array(vectors[rows].ravel())
            columns.append(pyarrow.FixedSizeListArray.from_arrays(flat, d))
            writer.write_table(pyarrow.table(columns, schema=schema))
    return len(entries)


def _written(value: Any) -> str | None:
    """A value as Parquet's text; lone surrogates, which UTF-8 does not have, become question marks."""
    if value is None:
        return None
    return as_text(value).encode("utf-8", "replace").decode()
