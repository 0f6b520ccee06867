"""Approximate nearest vectors: a navigable small-world graph (HNSW), kept by the library usearch.

Source: Malkov and Yashunin (2016), https://arxiv.org/abs/1603.09320. The graph only proposes rows;
their similarities are worked out from the stored vectors.
"""

from __future__ import annotations

import importlib.util
import os
import secrets
import threading
from pathlib import Path

import numpy as np

from siamese.errors import CheckpointError, MissingDependencyError
from siamese.search.nearest import NONE, StoredVectors, blocks, rank, top_k

CONNECTIVITY = 24  # neighbours of a node
EXPANSION_ADD = 128  # candidates looked at when a node is added
EXPANSION_SEARCH = 128  # and when the graph is searched


def usearch_installed() -> bool:
    """Whether the library is there."""
    return importlib.util.find_spec("usearch") is not None


class Graph:
    """A graph over the rows of `StoredVectors`; add rows, search, save, load.

    Attributes:
      name: of its file in an index's directory; another one after rows were added.

    Raises:
      MissingDependencyError: usearch is not installed.
    """

    def __init__(self, size: int):
        self.name = secrets.token_hex(8)
        self._index = _usearch().Index(
            ndim=size,
            metric="ip",
            dtype="f16",
            connectivity=CONNECTIVITY,
            expansion_add=EXPANSION_ADD,
            expansion_search=EXPANSION_SEARCH,
        )
        self._mapped: Path | None = None
        self._lock = threading.Lock()  # A graph that grows cannot be searched.

    @classmethod
    def load(cls, path: os.PathLike | str, rows: int, size: int, name: str = "") -> Graph:
        """Maps a saved graph of `rows` vectors of `size` numbers; check the file's checksum first.

        Raises:
          CheckpointError: a graph of something else.
        """
        graph = cls(size)
        try:
            graph._index.view(str(path))
        except Exception as error:
            raise CheckpointError(f"{path} cannot be read as a graph: {error}.") from error
        if len(graph) != rows or graph._index.ndim != size:
            raise CheckpointError(f"{path} is the graph of other vectors. Make the index again.")
        graph._index.expansion_search = EXPANSION_SEARCH
        graph._mapped, graph.name = Path(path), name
        return graph

    def __len__(self) -> int:
        return len(self._index)

    def add(self, vectors: StoredVectors, start: int = 0) -> None:
        """Adds the rows from `start` on, on all cores."""
        with self._lock:
            if self._mapped is not None:  # A mapped graph cannot grow.
                try:
                    self._index.load(str(self._mapped))
                except Exception:  # Its file is gone, with its generation: make it anew.
                    self._index.reset()
                    start = 0
                self._mapped = None
            self.name = secrets.token_hex(8)
            for first, block in blocks(vectors.take(slice(start, None)), 1 << 16):
                self._index.add(np.arange(start + first, start + first + len(block)), block)

    def search(
        self, vectors: StoredVectors, queries: np.ndarray, k: int, skip: np.ndarray = NONE
    ) -> tuple[np.ndarray, np.ndarray]:
        """About the k best rows for each query; as `siamese.search.nearest.top_k` otherwise."""
        k = min(k, len(vectors) - len(skip))
        rows = np.zeros((len(queries), k), np.int64)
        products = np.zeros((len(queries), k), np.float32)
        if not k or not len(queries):
            return rows, products
        # Some more than asked for: the graph's half-precision order is not quite the true one.
        wanted = min(len(vectors), k + 10)
        queries = np.ascontiguousarray(queries, np.float32)
        with self._lock:
            found = self._index.search(queries, wanted)
        keys = found.keys.reshape(len(queries), -1)
        counts = np.atleast_1d(getattr(found, "counts", keys.shape[1]))
        candidates = keys.astype(np.int64)  # [queries, wanted]
        # Others may have added rows to the graph that these vectors do not have yet.
        absent = (np.arange(keys.shape[1]) >= counts[:, None]) | (keys >= len(vectors))
        absent |= np.isin(keys, skip)
        candidates[absent] = -1
        candidates.sort(axis=1)
        whole = (candidates >= 0).sum(axis=1) >= k
        rows[whole], products[whole] = rank(vectors, queries[whole], candidates[whole], k)
        if not whole.all():  # a graph may have parts that cannot be reached
            rows[~whole], products[~whole] = top_k(vectors, queries[~whole], k, skip)
        return rows, products

    def save(self, path: os.PathLike | str) -> None:
        """Writes the graph to a file."""
        self._index.save(str(path))


def _usearch():
    try:
        from usearch import index
    except ImportError:
        raise MissingDependencyError(
            "Approximate search needs the package usearch: pip install usearch. "
            "Exact search needs nothing more."
        ) from None
    return index
