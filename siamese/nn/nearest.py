"""Nearest vectors by brute force, and the best matches of two lists."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

TILE = 64  # scores of which the largest is looked at first
SCORES = 1 << 23  # of queries that are compared together: 32 MiB
# of rows that are compared together: they stay in the processor's cache
PAIRS = 1 << 12
# of texts that are compared together: each is read once for all of its pairs
TEXT_PAIRS = 1 << 15
EQUAL = 1 - 1e-6  # Equal texts have a cosine above it, which rounding may keep below 1.


def cosines_with(vectors: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The products of vectors of length 1, at most 1: rounding alone would exceed it."""
    return np.clip(np.vecdot(vectors, others), -1, 1)


def in_blocks(
    function: Callable, i: np.ndarray, j: np.ndarray, size: int = PAIRS
) -> np.ndarray:
    """function(i, j), an array [n], for many rows i and j, int64 [n] each, `size` at a time."""
    parts = (slice(start, start + size) for start in range(0, max(1, len(i)), size))
    return np.concatenate([function(i[part], j[part]) for part in parts])


def best_rows(scores: np.ndarray, k: int, least: float = -np.inf) -> np.ndarray:
    """The rows of the k largest scores, int64, best first; of equal ones the first comes first.

    A score below `least` does not count.
    """
    tiles = len(scores) // TILE
    # The k-th largest of all is no smaller than the k-th largest of the tiles' maxima.
    if tiles >= k:
        maxima = scores[: tiles * TILE].reshape(tiles, TILE).max(axis=1)
        least = max(least, np.partition(maxima, -k)[-k])
    rows = np.flatnonzero(scores >= least)
    if k < len(rows):
        rows = rows[scores[rows] >= np.partition(scores[rows], -k)[-k]]
    return rows[np.argsort(-scores[rows], kind="stable")][:k]


def top_k(
    vectors: np.ndarray, queries: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """The k rows with the largest dot product for each query, by looking at all of them.

    Of float32 [rows, d] and [queries, d] it returns int64 [queries, k] rows and float32
    [queries, k] products, best first, of equal ones the first row. The products are
    worked out one by one: they do not depend on what else is asked.

    Example:
      >>> vectors = np.eye(3, dtype=np.float32)
      >>> rows, products = top_k(vectors, np.array([[0.6, 0.8, 0]], np.float32), k=2)
      >>> rows.tolist(), products.round(1)
      ([[1, 0]], array([[0.8, 0.6]], dtype=float32))
    """
    k = min(k, len(vectors))
    step = max(1, SCORES // max(1, len(vectors)))
    rows = np.zeros((len(queries), k), np.int64)
    products = np.zeros((len(queries), k), np.float32)
    for start in range(0, len(queries) if k else 0, step):
        part = queries[start : start + step]
        for at, scores in enumerate(part @ vectors.T, start):
            # Two more than needed: rounding may swap neighbours.
            some = np.sort(best_rows(scores, min(k + 2, len(scores))))
            exact = np.vecdot(vectors[some], queries[at])
            order = np.argsort(-exact, kind="stable")[:k]
            rows[at] = some[order]
            products[at] = exact[order]
    return rows, products
