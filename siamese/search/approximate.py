"""Approximate nearest vectors: a navigable small-world graph (HNSW), kept by the library usearch.

Source: Malkov and Yashunin (2016), https://arxiv.org/abs/1603.09320. The graph only proposes rows;
their similarities are worked out from the stored vectors.
"""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np

from siamese.errors import CheckpointError, MissingDependencyError
from siamese.search.nearest import NONE, StoredVectors, blocks, rank, top_k

CONNECTIVITY = 24  # neighbours of a node
EXPANSION = 128  # candidates looked at when a node is added, and when the graph is searched


class Graph:
    """A graph over the rows of `StoredVectors`; it never changes."""

    def __init__(self, index: Any):
        """Takes an index of usearch; `of` and `load` make it."""
        self._index = index
        self._lock = threading.Lock()  # usearch gives two searches at once the same memory.

    @classmethod
    def of(cls, vectors: StoredVectors) -> Graph:
        """Makes the graph of some vectors, on all cores; MissingDependencyError without usearch."""
        return cls(_empty(vectors.values.shape[1])).grown(vectors)

    @classmethod
    def load(cls, path: os.PathLike | str, vectors: StoredVectors) -> Graph:
        """Maps the saved graph of some vectors, whose checksum was compared; CheckpointError for others."""
        index = _empty(vectors.values.shape[1])
        try:
            index.view(str(path))
        except Exception as error:
            raise CheckpointError(f"{path} cannot be read as a graph: {error}.") from error
        if (len(index), index.ndim) != vectors.values.shape:
            raise CheckpointError(f"{path} is the graph of other vectors. Make the index again.")
        return cls(index)

    def save(self, path: os.PathLike | str) -> None:
        """Writes the graph to a file."""
        self._index.save(str(path))

    def grown(self, vectors: StoredVectors) -> Graph:
        """A graph of more vectors, the first of which are those of this one; on all cores."""
        index = self._index.copy()
        start = len(index)
        for first, block in blocks(vectors.take(slice(start, None)), 1 << 16):
            index.add(np.arange(start + first, start + first + len(block)), block)
        return Graph(index)

    def search(
        self, vectors: StoredVectors, queries: np.ndarray, k: int, skip: np.ndarray = NONE
    ) -> tuple[np.ndarray, np.ndarray]:
        """About the k best rows for each query; as `siamese.search.nearest.top_k` otherwise."""
        queries = np.ascontiguousarray(queries, np.float32)
        k = min(k, len(vectors) - len(skip))
        rows = np.zeros((len(queries), k), np.int64)
        products = np.zeros((len(queries), k), np.float32)
        if not rows.size:
            return rows, products
        # Some more than asked for: the graph's half-precision order is not quite the true one.
        with self._lock:
            found = self._index.search(queries, min(len(vectors), k + 10))
        candidates = found.keys.astype(np.int64).reshape(len(queries), -1)  # [queries, wanted]
        counts = np.atleast_1d(getattr(found, "counts", candidates.shape[1]))
        absent = np.arange(candidates.shape[1]) >= counts[:, None]
        candidates[absent | np.isin(candidates, skip)] = -1
        candidates.sort(axis=1)
        whole = (candidates >= 0).sum(axis=1) >= k  # A graph may have parts beyond reach.
        rows[whole], products[whole] = rank(vectors, queries[whole], candidates[whole], k)
        if not whole.all():
            rows[~whole], products[~whole] = top_k(vectors, queries[~whole], k, skip)
        return rows, products


def _empty(size: int) -> Any:
    try:
        from usearch.index import Index
    except ImportError:
        raise MissingDependencyError(
            "Approximate search needs the package usearch: pip install usearch. "
            "Exact search needs nothing more."
        ) from None
    options = {"expansion_add": EXPANSION, "expansion_search": EXPANSION}
    return Index(ndim=size, metric="ip", dtype="f16", connectivity=CONNECTIVITY, **options)
