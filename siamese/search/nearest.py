"""Nearest vectors by brute force, searched block by block; and the best matches of two lists.

The scores of a block are reduced at once to the best of every 16 rows (a tile). A query's k best rows lie
in the k tiles with the best maxima, so only those few rows are looked at one by one: nothing of the size
queries x rows is ever sorted or kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from siamese.data.arguments import whole_number

TILE = 16  # rows of which the best score stands for all
QUERIES_PER_CALL = 512
SCORES_PER_BLOCK = 1 << 19  # 2 MiB of scores at a time stay in the processor's cache
MOST_ROWS_PER_BLOCK = 1 << 12  # in the cache too
NUMBERS_PER_RANK = 1 << 20  # 4 MiB of candidates' vectors at a time
EQUAL = 1 - 1e-6  # Equal texts have a cosine above it, which rounding may keep below 1.
NONE = np.zeros(0, np.int64)


def blocks(vectors: np.ndarray, rows_per_block: int) -> Iterator[tuple[int, np.ndarray]]:
    """The vectors in order, (first row, float32 [rows, d]) at a time."""
    for start in range(0, len(vectors), rows_per_block):
        yield start, vectors[start : start + rows_per_block]


def cosines_with(vectors: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The products of vectors of length 1, at most 1: rounding alone would exceed it."""
    return np.clip(np.vecdot(vectors, others), -1, 1)


def in_blocks(function: Callable, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """function(i, j), an array [n], for many rows i and j, int64 [n] each, some at a time."""
    starts = range(0, max(1, len(i)), MOST_ROWS_PER_BLOCK)
    parts = (slice(start, start + MOST_ROWS_PER_BLOCK) for start in starts)
    return np.concatenate([function(i[part], j[part]) for part in parts])


def similar_rows(vectors: np.ndarray, others: np.ndarray, threshold: float) -> np.ndarray:
    """The rows, int64, of the vectors whose product with one of the others is above a threshold."""
    near = np.zeros(len(vectors), bool)
    for start in range(0, len(others), 64):
        near |= (vectors @ others[start : start + 64].T > threshold).any(axis=1)
    return np.flatnonzero(near)


def top_k(
    vectors: np.ndarray, queries: np.ndarray, k: int, skip: np.ndarray = NONE
) -> tuple[np.ndarray, np.ndarray]:
    """The k rows with the largest dot product for each query, by looking at all of them.

    Args:
      vectors: float32 [rows, d].
      queries: float32 [queries, d].
      k: how many rows to find, at most.
      skip: int64, rising; rows that do not count.

    Returns:
      int64 [queries, k] rows and float32 [queries, k] products, best first, of equal ones the first row.

    Example:
      >>> vectors = np.eye(3, dtype=np.float32)
      >>> rows, products = top_k(vectors, np.array([[0.6, 0.8, 0]], np.float32), k=2)
      >>> rows.tolist(), products.round(1).tolist()
      ([[1, 0]], [[0.8, 0.6]])
    """
    queries = np.ascontiguousarray(queries, np.float32)
    k = min(k, len(vectors) - len(skip))
    rows = np.zeros((len(queries), k), np.int64)
    products = np.zeros((len(queries), k), np.float32)
    if not k:
        return rows, products
    for start in range(0, len(queries), QUERIES_PER_CALL):
        part = queries[start : start + QUERIES_PER_CALL]
        maxima = _tile_maxima(vectors, part, skip)  # [queries, tiles]
        wanted = min(k + 2, maxima.shape[1])  # two more than needed: rounding may swap neighbours
        best = np.sort(np.argpartition(maxima, -wanted, axis=1)[:, -wanted:], axis=1)
        # [queries, wanted * TILE], rising; the last tile may be shorter than the others
        candidates = (best[:, :, None] * TILE + np.arange(TILE)).reshape(len(part), -1)
        candidates[candidates >= len(vectors)] = -1
        candidates[np.isin(candidates, skip)] = -1
        found = slice(start, start + len(part))
        rows[found], products[found] = rank(vectors, part, candidates, k)
    return rows, products


def rank(
    vectors: np.ndarray, queries: np.ndarray, candidates: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """The k best of some candidate rows for each query, as `top_k` returns them.

    Candidates are int64 [queries, c], with -1 for none; each query has at least k. Each product is worked
    out alone, so it does not depend on what else was asked.
    """
    rows = np.empty((len(queries), k), np.int64)
    products = np.empty((len(queries), k), np.float32)
    per_call = max(1, NUMBERS_PER_RANK // max(1, candidates.shape[1] * queries.shape[1]))
    for start in range(0, len(queries), per_call):
        part = slice(start, start + per_call)
        some = candidates[part]  # [q, c]
        found = np.vecdot(vectors[some], queries[part, None])  # [q, c]
        found[some < 0] = -np.inf
        order = np.argsort(-found, axis=1, kind="stable")[:, :k]
        rows[part] = np.take_along_axis(some, order, axis=1)
        products[part] = np.take_along_axis(found, order, axis=1)
    return rows, products


def _tile_maxima(vectors: np.ndarray, queries: np.ndarray, skip: np.ndarray) -> np.ndarray:
    """The best product of every `TILE` rows, float32 [queries, tiles]."""
    count, n = len(queries), len(vectors)
    maxima = np.empty((-(-n // TILE), count), np.float32)
    rows_per_block = min(MOST_ROWS_PER_BLOCK, max(TILE, SCORES_PER_BLOCK // count))
    rows_per_block -= rows_per_block % TILE
    columns = np.ascontiguousarray(queries.T)  # [d, queries]
    # One buffer for all blocks: fresh memory for each would cost more time than the product.
    buffer = np.empty((min(rows_per_block, n), count), np.float32)
    for start, block in blocks(vectors, rows_per_block):
        scores = np.matmul(block, columns, out=buffer[: len(block)])  # [rows, queries]
        inside = slice(*np.searchsorted(skip, (start, start + len(block))))
        scores[skip[inside] - start] = -np.inf
        first, whole = start // TILE, len(block) // TILE
        found = maxima[first : first + whole]
        if whole:
            tiles = scores[: whole * TILE].reshape(whole, TILE, count)
            if count == 1:  # NumPy is quick along the last axis if it is not of length 1
                tiles, found = tiles[..., 0], found[:, 0]
            np.max(tiles, axis=1, out=found)
        if len(block) % TILE:
            maxima[first + whole] = scores[whole * TILE :].max(axis=0)
    return np.ascontiguousarray(maxima.T)


# ---- Two lists ----


def match_questions(
    detector: Any, questions: Sequence[str], others: Sequence[str], *, k: int = 1
) -> list[list[tuple[int, float]]]:
    """For each question its k best matches in another list, best first; none for one without words.

    Returns:
      For each question (place in `others`, cosine) of its matches.

    Raises:
      ArgumentError: k below 1.

    Example:
      >>> matches = match_questions(detector, ["How old are you?"], faq)  # doctest: +SKIP
    """
    asked, stored = detector.encode(questions), detector.encode(others)
    rows, products = top_k(
        stored, asked, whole_number(k, "k", 1), np.flatnonzero(~stored.any(axis=1))
    )
    matches = zip(rows.tolist(), np.minimum(products, 1).tolist(), asked.any(axis=1))
    return [list(zip(places, cosines)) if words else [] for places, cosines, words in matches]
