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
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from siamese.search.approximate import Graph
from siamese.search.nearest import StoredVectors, top_k

MOST_SMALL = 0.1  # of the large segment's rows, in small segments or removed, before all are joined
FEW = 8  # rows that are rather copied than kept in files of their own
MOST_REMOVED = 0.5  # where there is a graph, which takes long to make anew


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


class Segment:
    """Questions row by row: vectors, records and the keys of their ids. None of it ever changes.

    Args:
      vectors: the questions' vectors.
      records: their ids, texts and columns.
      keys: uint64 [rows], `id_keys` of the ids; made when first needed where None.
      name: that of its files in an index's directory; a new one where None.
    """

    def __init__(
        self,
        vectors: StoredVectors,
        records: Records,
        keys: np.ndarray | None = None,
        name: str | None = None,
    ):
        self.vectors, self.records = vectors, records
        self.name = secrets.token_hex(8) if name is None else name
        if keys is not None:
            self.keys = keys

    @functools.cached_property
    def keys(self) -> np.ndarray:
        """Uint64 [rows]; rows whose ids differ may have the same key, rows of one id always do."""
        return id_keys([record["id"] for record in self.records])

    def __len__(self) -> int:
        return len(self.records)

    @classmethod
    def joined(cls, segments: Sequence[Segment]) -> Segment:
        """Some segments, one after the other."""
        first, *rest = segments
        records = [segment.records for segment in segments]
        lengths = np.concatenate([np.diff(part.offsets) for part in records])
        text = np.concatenate([part.text for part in records])
        vectors = first.vectors.joined([segment.vectors for segment in rest])
        keys = np.concatenate([segment.keys for segment in segments])
        return cls(vectors, Records(text, _ends(lengths)), keys)

    def take(self, rows: np.ndarray) -> Segment:
        """Some of its questions."""
        return Segment(self.vectors.take(rows), self.records.take(rows), self.keys[rows])


class State(NamedTuple):
    """All of an index at one moment. Rows are counted through all segments, removed ones included.

    Args:
      segments: the large one first; at least one.
      removed: int64, rising; the rows that no longer count.
      graph: over the first segment, or None.
    """

    segments: tuple[Segment, ...]
    removed: np.ndarray
    graph: Graph | None = None

    @property
    def starts(self) -> list[int]:
        """The first row of each segment, and the number of rows."""
        return _ends([len(segment) for segment in self.segments]).tolist()

    @property
    def size(self) -> int:
        """How many questions there are."""
        return self.starts[-1] - len(self.removed)

    def record(self, row: int) -> dict[str, Any]:
        """A row's id, question and columns."""
        at = int(np.searchsorted(self.starts, row, side="right")) - 1
        return self.segments[at].records[row - self.starts[at]]

    def rows_of(self, ids: Sequence[str | int]) -> dict[str | int, int]:
        """The rows of those ids that are there."""
        wanted, keys, found = set(ids), id_keys(ids), {}
        for start, segment in zip(self.starts, self.segments):
            for row in np.flatnonzero(np.isin(segment.keys, keys)).tolist():
                i = segment.records[row]["id"]
                if i in wanted:
                    found[i] = start + row
        removed = set(self.removed.tolist()) if found else ()
        return {i: row for i, row in found.items() if row not in removed}

    def search(
        self, queries: np.ndarray, k: int, approximate: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest rows of each query, int64, and their products; as `top_k`, or by the graph."""
        found = []
        for at, (start, segment) in enumerate(zip(self.starts, self.segments)):
            inside = np.searchsorted(self.removed, (start, start + len(segment)))
            skip = self.removed[slice(*inside)] - start
            through = self.graph.search if approximate and self.graph and not at else top_k
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
            return self._replace(segments=(large, *small))
        joined = Segment.joined([large, *small]) if len(large) else new
        if self.graph is not None:
            self.graph.add(joined.vectors, len(large))
        return self._replace(segments=(joined,))

    def without(self, rows: Iterable[int]) -> State:
        """Without some rows; where many are removed, the others move together."""
        made = self._replace(removed=np.union1d(self.removed, np.array([*rows], np.int64)))
        most = MOST_SMALL if self.graph is None else MOST_REMOVED
        if len(made.removed) <= most * made.starts[-1]:
            return made
        made = State((made.whole(),), made.removed[:0])
        return made.with_graph() if self.graph is not None else made

    def with_graph(self) -> State:
        """With all questions in one segment, and a graph over it."""
        whole = self.whole()
        graph = Graph(whole.vectors.values.shape[1])
        graph.add(whole.vectors)
        return State((whole,), self.removed[:0], graph)

    def whole(self) -> Segment:
        """All questions as one segment."""
        found = self.segments[0] if len(self.segments) == 1 else Segment.joined(self.segments)
        if not len(self.removed):
            return found
        return found.take(np.delete(np.arange(len(found)), self.removed))


def id_keys(ids: Sequence[str | int]) -> np.ndarray:
    """Uint64 [ids]: a whole number's last 64 bits, the first 64 of a text's BLAKE2."""
    return np.fromiter(map(_key, ids), np.uint64, len(ids))


def _key(i: str | int) -> int:
    if not isinstance(i, str):
        return i % (1 << 64)
    text = i.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def _ends(lengths) -> np.ndarray:
    """Where each of some lengths starts, and where the last ends, int64 [n + 1]."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
