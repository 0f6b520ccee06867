"""Questions as an index keeps them: segments that never change, and a list of the rows removed.

Adding makes a small segment beside the large one, so neither memory nor disk copies all that is there.
Small segments are joined as in a binary counter (n additions copy each question log n times), and with
the large one when they hold more than a tenth of its questions.
"""

from __future__ import annotations

import functools
import hashlib
import json
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from siamese.errors import ArgumentError
from siamese.search.approximate import Graph
from siamese.search.nearest import NONE, StoredVectors, top_k

MOST_SMALL = 0.1  # of the large segment's rows, in small segments or removed, before all are joined
FEW = 8  # rows that are rather copied than kept in files of their own
MOST_REMOVED = 0.5  # where there is a graph, which takes long to make anew


class Entries(Sequence):
    """Questions with their ids and columns: JSON lines in one flat array, which may be mapped from a file.

    `text` is uint8 [bytes], `offsets` int64 [entries + 1]; line i is ``text[offsets[i]:offsets[i + 1]]``.
    """

    def __init__(self, text: np.ndarray, offsets: np.ndarray):
        self.text, self.offsets = text, offsets

    @classmethod
    def of(cls, entries: Iterable[dict[str, Any]]) -> Entries:
        """Keeps dicts of JSON values."""
        texts = (json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)
        lines = [text.encode("utf-8", "surrogatepass") for text in texts]
        return cls(np.frombuffer(b"".join(lines), np.uint8), _ends(list(map(len, lines))))

    @classmethod
    def joined(cls, parts: Sequence[Entries]) -> Entries:
        """Some entries, one after the other."""
        lengths = np.concatenate([np.diff(part.offsets) for part in parts])
        return cls(np.concatenate([part.text for part in parts]), _ends(lengths))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> dict[str, Any]:
        line = self.text[self.offsets[i] : self.offsets[i + 1]].tobytes()
        return json.loads(line.decode("utf-8", "surrogatepass"))

    def take(self, rows: np.ndarray) -> Entries:
        """Some of the entries, in the order of int64 `rows`."""
        pieces = [self.text[self.offsets[i] : self.offsets[i + 1]] for i in rows]
        return Entries(np.concatenate([self.text[:0], *pieces]), _ends(np.diff(self.offsets)[rows]))


@dataclass(frozen=True, eq=False)
class Segment:
    """Questions row by row; none of it ever changes."""

    vectors: StoredVectors
    entries: Entries  # ids, texts and columns
    keys: np.ndarray  # uint64 [rows], `id_keys` of the ids
    name: str = field(default_factory=lambda: secrets.token_hex(8))  # of its files in a directory
    graph: Graph | None = None  # over the vectors

    def __len__(self) -> int:
        return len(self.entries)

    @classmethod
    def joined(cls, parts: Sequence[Segment]) -> Segment:
        """Some segments, one after the other, without a graph."""
        return cls(
            StoredVectors.joined([part.vectors for part in parts]),
            Entries.joined([part.entries for part in parts]),
            np.concatenate([part.keys for part in parts]),
        )

    def take(self, rows: np.ndarray) -> Segment:
        """Some of its questions, without a graph."""
        return Segment(self.vectors.take(rows), self.entries.take(rows), self.keys[rows])


@dataclass(frozen=True, eq=False)
class State:
    """All of an index at one moment. Rows are counted through all segments, removed ones included."""

    segments: tuple[Segment, ...]  # The large one first, which may have a graph; at least one.
    removed: np.ndarray = field(
        default_factory=lambda: NONE
    )  # int64, rising: rows that do not count

    @functools.cached_property
    def starts(self) -> list[int]:
        """The first row of each segment, and the number of rows."""
        return _ends([len(segment) for segment in self.segments]).tolist()

    @property
    def size(self) -> int:
        """How many questions there are."""
        return self.starts[-1] - len(self.removed)

    @property
    def has_graph(self) -> bool:
        """Whether the large segment has one."""
        return self.segments[0].graph is not None

    @functools.cached_property
    def whole(self) -> Segment:
        """All questions as one segment."""
        found = self.segments[0] if len(self.segments) == 1 else Segment.joined(self.segments)
        if not len(self.removed):
            return found
        return found.take(np.delete(np.arange(len(found)), self.removed))

    def entry(self, row: int) -> dict[str, Any]:
        """A row's id, question and columns."""
        at = int(np.searchsorted(self.starts, row, side="right")) - 1
        return self.segments[at].entries[row - self.starts[at]]

    def vectors_of(self, rows: np.ndarray) -> np.ndarray:
        """The vectors of some rows, float32 [rows, d]."""
        at = np.searchsorted(self.starts, rows, side="right") - 1
        found = [self.segments[s].vectors.rows([r - self.starts[s]]) for s, r in zip(at, rows)]
        return np.concatenate([self.segments[0].vectors.rows(slice(0, 0)), *found])

    def rows_of(self, ids: Sequence[str | int]) -> dict[str | int, int]:
        """The rows of those ids that are there."""
        wanted, keys, found = set(ids), id_keys(ids), {}
        for start, segment in zip(self.starts, self.segments):
            for row in np.flatnonzero(np.isin(segment.keys, keys)).tolist():
                i = segment.entries[row]["id"]
                if i in wanted:
                    found[i] = start + row
        removed = set(self.removed.tolist()) if found else ()
        return {i: row for i, row in found.items() if row not in removed}

    def known_rows(self, ids: Sequence[str | int]) -> list[int]:
        """The rows of ids, each once; ArgumentError for an id that is not there."""
        rows = self.rows_of(ids)
        for i in ids:
            if i not in rows:
                raise ArgumentError(f"There is no question with the id {i!r} in the index.")
        return list(rows.values())

    def search(
        self, queries: np.ndarray, k: int, approximate: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest rows of each query, int64, and their products; as `top_k`, or by the graph."""
        found = []
        for start, segment in zip(self.starts, self.segments):
            inside = np.searchsorted(self.removed, (start, start + len(segment)))
            skip = self.removed[slice(*inside)] - start
            through = segment.graph.search if approximate and segment.graph else top_k
            rows, products = through(segment.vectors, queries, k, skip)
            found.append((rows + start, products))
        rows, products = (np.concatenate(part, axis=1) for part in zip(*found))
        best = np.argsort(-products, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(rows, best, axis=1), np.take_along_axis(products, best, axis=1)

    def added(self, new: Segment) -> State:
        """With a segment more; where there are many small ones, some or all are joined."""
        large, *small = *self.segments, new
        while len(small) > 1 and len(small[-2]) <= max(len(small[-1]), FEW):
            small[-2:] = [Segment.joined(small[-2:])]
        if sum(map(len, small)) <= MOST_SMALL * len(large):
            return replace(self, segments=(large, *small))
        joined = Segment.joined([large, *small]) if len(large) else new
        if large.graph is not None:
            joined = replace(joined, graph=large.graph.grown(joined.vectors))
        return replace(self, segments=(joined,))

    def without(self, rows: Iterable[int]) -> State:
        """Without some rows; where many are removed, the others move together."""
        made = replace(self, removed=np.union1d(self.removed, np.array([*rows], np.int64)))
        if len(made.removed) <= (MOST_REMOVED if self.has_graph else MOST_SMALL) * self.starts[-1]:
            return made
        return made.with_graph() if self.has_graph else State((made.whole,))

    def with_graph(self) -> State:
        """With all questions in one segment, and a graph over it."""
        return State((replace(self.whole, graph=Graph.of(self.whole.vectors)),))


def id_keys(ids: Sequence[str | int]) -> np.ndarray:
    """Uint64 [ids]: a whole number's last 64 bits, the first 64 of a text's BLAKE2.

    Rows whose ids differ may have the same key, rows of one id always do.
    """
    return np.fromiter(map(_key, ids), np.uint64, len(ids))


def _key(i: str | int) -> int:
    if not isinstance(i, str):
        return i % (1 << 64)
    text = i.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def _ends(lengths) -> np.ndarray:
    """Where each of some lengths starts, and where the last ends, int64 [n + 1]."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
