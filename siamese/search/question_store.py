"""The questions of an index as they change: vectors, records and a graph that always belong together."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from siamese.errors import ArgumentError, DataError
from siamese.search.approximate import Graph
from siamese.search.index_files import Records
from siamese.search.nearest import StoredVectors


class State(NamedTuple):
    """Vectors, records (row by row the same questions), and the graph over them or None."""

    vectors: StoredVectors
    records: Records
    graph: Graph | None


class QuestionStore:
    """Questions with vectors, ids and columns; safe to share by threads.

    What is added is kept aside and joined to the rest when it is next asked for, so that adding
    questions one by one does not copy all vectors each time.

    Args:
      vectors: float32, float16 or int8 rows.
      records: as many dicts: id, question, columns.
      graph: a graph over the rows, or None.
      next_id: the first number to give to a question that comes without an id.
    """

    def __init__(
        self,
        vectors: StoredVectors,
        records: Records,
        graph: Graph | None = None,
        next_id: int = 0,
    ):
        self._vectors, self._records, self._graph = vectors, records, graph
        self._next_id = next_id
        self._pending: list[tuple[StoredVectors, Records]] = []  # added, not yet joined
        self._ids: dict[str | int, int] | None = None  # id -> row, made when first needed
        self._lock = threading.RLock()

    def __len__(self) -> int:
        with self._lock:
            return len(self._vectors) + sum(len(vectors) for vectors, _ in self._pending)

    @property
    def has_graph(self) -> bool:
        """Whether there is a graph."""
        return self._graph is not None

    @property
    def next_id(self) -> int:
        """The number that the next question without an id gets, if it is free."""
        return self._next_id

    def state(self) -> State:
        """Everything in one piece; it stays as it is while others add and remove."""
        with self._lock:
            if self._pending:
                added_vectors, added_records = map(list, zip(*self._pending))
                start = len(self._vectors)
                self._vectors = self._vectors.joined(added_vectors)
                self._records = self._records.joined(added_records)
                self._pending = []
                if self._graph is not None:
                    self._graph.add(self._vectors, start)
            return State(self._vectors, self._records, self._graph)

    def add(
        self,
        vectors: np.ndarray,
        questions: Sequence[str],
        ids: Sequence[str | int] | None,
        columns: Sequence[Mapping[str, Any]] | None,
    ) -> list[str | int]:
        """Adds questions, all or none; returns their ids: those given, or the next free numbers.

        Raises:
          DataError: an id that is taken, or neither text nor a whole number.
        """
        with self._lock:
            taken = self._places()
            if ids is None:
                given_ids: list[str | int] = []
                while len(given_ids) < len(questions):
                    if self._next_id not in taken:
                        given_ids.append(self._next_id)
                    self._next_id += 1
            else:
                given_ids = [_checked_id(i) for i in ids]
                seen = set(taken)
                for i in given_ids:
                    if i in seen:
                        raise DataError(f"The id {i!r} is taken; ids must be all different.")
                    seen.add(i)
            records = Records.of(
                {"id": i, "question": question, "columns": dict(more)}
                for i, question, more in zip(given_ids, questions, columns or [{}] * len(questions))
            )
            start = len(self)
            self._pending.append((StoredVectors.of(vectors, self._vectors.storage), records))
            taken.update({i: start + place for place, i in enumerate(given_ids)})
        return given_ids

    def remove(self, ids: Iterable[str | int]) -> int:
        """Removes questions by their ids, all or none, and gives the graph up; returns how many.

        Raises:
          ArgumentError: an id that is not there.
        """
        with self._lock:
            vectors, records, _ = self.state()
            places = self._places()
            missing = [i for i in ids if i not in places]
            if missing:
                raise ArgumentError(
                    f"There is no question with the id {missing[0]!r} in the index."
                )
            keep = np.ones(len(vectors), bool)
            keep[[places[i] for i in ids]] = False
            kept = np.flatnonzero(keep)
            self._vectors, self._records = vectors.take(kept), records.take(kept)
            self._graph = self._ids = None
            return int(len(keep) - len(kept))

    def make_graph(self) -> None:
        """Makes the graph, on all cores; needs usearch."""
        with self._lock:
            vectors, _, graph = self.state()
            if graph is None:
                graph = Graph(vectors.values.shape[1])
                graph.add(vectors)
                self._graph = graph

    def _places(self) -> dict[str | int, int]:
        """Each id's row."""
        if self._ids is None:
            self._ids = {record["id"]: row for row, record in enumerate(self.state().records)}
        return self._ids


def _checked_id(value: Any) -> str | int:
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise DataError(f"An id must be text or a whole number, not {value!r:.40}.")
    return value
