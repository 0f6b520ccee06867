"""Nearest vectors by brute force: stored in float32, float16 or int8, searched block by block.

The scores of a block are reduced at once to the best of every 16 rows. A query's k best rows lie in
the k segments with the best maxima, so only those few rows are looked at one by one: nothing of the
size queries x rows is ever sorted or kept.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from siamese.errors import ArgumentError

STORAGES = ("float32", "float16", "int8")
SEGMENT = 16  # rows of which the best score stands for all
QUERIES_PER_CALL = 512
SCORES_PER_BLOCK = 1 << 19  # 2 MiB of scores at a time stay in the processor's cache
MOST_ROWS_PER_BLOCK = 1 << 12  # of float16 and int8, as float32: in the cache too
NUMBERS_PER_RANK = 1 << 20  # 4 MiB of candidates' vectors at a time


class StoredVectors:
    """Vectors of length 1, kept in few bytes and handed out as float32; may be mapped from a file.

    Args:
      values: float32, float16 or int8 [rows, d].
      scales: float32 [rows]; what each row of int8 is multiplied with, None for the others.
    """

    def __init__(self, values: np.ndarray, scales: np.ndarray | None = None):
        self.values, self.scales = values, scales

    @classmethod
    def of(cls, vectors: np.ndarray, storage: str = "float32") -> StoredVectors:
        """Stores float32 [rows, d] vectors; int8 is off by up to 0.4 % of a row's largest entry."""
        if storage not in STORAGES:
            raise ArgumentError(f"storage is {storage!r}; it must be one of {', '.join(STORAGES)}.")
        vectors = np.asarray(vectors, np.float32)
        if storage != "int8":
            return cls(np.ascontiguousarray(vectors, np.dtype(storage)))
        largest = np.abs(vectors).max(axis=1, initial=0)  # [rows]
        scales = (largest / 127).astype(np.float32)
        steps = vectors / np.where(scales > 0, scales, 1)[:, None]
        return cls(np.rint(steps).astype(np.int8), scales)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def storage(self) -> str:
        """'float32', 'float16' or 'int8'."""
        return self.values.dtype.name

    @property
    def nbytes(self) -> int:
        """Bytes that the vectors take, in memory or in the mapped file."""
        return self.values.nbytes + (0 if self.scales is None else self.scales.nbytes)

    def rows(self, which) -> np.ndarray:
        """Some of the vectors (a slice or positions) as float32 [rows, d]."""
        found = np.asarray(self.values[which], np.float32)
        return found if self.scales is None else found * self.scales[which][..., None]

    def take(self, which: np.ndarray) -> StoredVectors:
        """Some of the vectors, as they are stored."""
        return StoredVectors(
            np.asarray(self.values[which]),
            None if self.scales is None else np.asarray(self.scales[which]),
        )

    def joined(self, others: list[StoredVectors]) -> StoredVectors:
        """These vectors and others of the same storage, one after the other."""
        parts = [self, *others]
        return StoredVectors(
            np.concatenate([part.values for part in parts]),
            None if self.scales is None else np.concatenate([part.scales for part in parts]),
        )


def blocks(vectors: StoredVectors, rows_per_block: int) -> Iterator[tuple[int, np.ndarray]]:
    """The vectors in order, (first row, float32 [rows, d]) at a time."""
    for start in range(0, len(vectors), rows_per_block):
        yield start, vectors.rows(slice(start, start + rows_per_block))


NONE = np.zeros(0, np.int64)


def top_k(
    vectors: StoredVectors, queries: np.ndarray, k: int, skip: np.ndarray = NONE
) -> tuple[np.ndarray, np.ndarray]:
    """The k rows with the largest dot product for each query, by looking at all of them.

    Args:
      vectors: the rows to look through.
      queries: float32 [queries, d].
      k: how many rows to find; fewer are found where there are fewer.
      skip: int64, rising; rows that do not count.

    Returns:
      int64 [queries, k] rows and float32 [queries, k] dot products, best first; of equal products
      the first row comes first.

    Example:
      >>> kept = StoredVectors.of(np.eye(3, dtype=np.float32))
      >>> rows, products = top_k(kept, np.array([[0.6, 0.8, 0]], np.float32), k=2)
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
        maxima = _segment_maxima(vectors, part, skip)  # [queries, segments]
        wanted = min(k + 2, maxima.shape[1])  # two more than needed: rounding may swap neighbours
        if wanted < maxima.shape[1]:
            best = np.sort(np.argpartition(maxima, -wanted, axis=1)[:, -wanted:], axis=1)
        else:
            best = np.broadcast_to(np.arange(wanted), (len(part), wanted))
        # [queries, wanted * SEGMENT], rising; the last segment may be shorter than the others
        candidates = (best[:, :, None] * SEGMENT + np.arange(SEGMENT)).reshape(len(part), -1)
        candidates[candidates >= len(vectors)] = -1
        if len(skip):
            candidates[np.isin(candidates, skip)] = -1
        found = slice(start, start + len(part))
        rows[found], products[found] = rank(vectors, part, candidates, k)
    return rows, products


def rank(
    vectors: StoredVectors, queries: np.ndarray, candidates: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """The k best of some candidate rows for each query; of equal products the first stays first.

    Each product is worked out alone, so it does not depend on what else was asked.

    Args:
      vectors: the rows.
      queries: float32 [queries, d].
      candidates: int64 [queries, c]; rows, with -1 for none. At least k of a query's are rows.
      k: how many to keep.

    Returns:
      int64 [queries, k] rows and float32 [queries, k] dot products, best first.
    """
    rows = np.empty((len(queries), k), np.int64)
    products = np.empty((len(queries), k), np.float32)
    per_call = max(1, NUMBERS_PER_RANK // max(1, candidates.shape[1] * queries.shape[1]))
    for start in range(0, len(queries), per_call):
        part = slice(start, start + per_call)
        some = candidates[part]  # [q, c]
        found = np.vecdot(vectors.rows(some), queries[part, None])  # [q, c]
        found[some < 0] = -np.inf
        order = np.argsort(-found, axis=1, kind="stable")[:, :k]
        rows[part] = np.take_along_axis(some, order, axis=1)
        products[part] = np.take_along_axis(found, order, axis=1)
    return rows, products


def _segment_maxima(vectors: StoredVectors, queries: np.ndarray, skip: np.ndarray) -> np.ndarray:
    """The best product of every `SEGMENT` rows, float32 [queries, segments]."""
    count, n = len(queries), len(vectors)
    maxima = np.empty((-(-n // SEGMENT), count), np.float32)
    rows_per_block = min(MOST_ROWS_PER_BLOCK, max(SEGMENT, SCORES_PER_BLOCK // count))
    rows_per_block -= rows_per_block % SEGMENT
    columns = np.ascontiguousarray(queries.T)  # [d, queries]
    # One buffer for all blocks: fresh memory for each would cost more time than the product.
    buffer = np.empty((min(rows_per_block, n), count), np.float32)
    for start, block in blocks(vectors, rows_per_block):
        scores = np.matmul(block, columns, out=buffer[: len(block)])  # [rows, queries]
        if len(skip):
            inside = skip[slice(*np.searchsorted(skip, (start, start + len(block))))]
            scores[inside - start] = -np.inf
        first, whole = start // SEGMENT, len(block) // SEGMENT
        found = maxima[first : first + whole]
        if whole:
            segments = scores[: whole * SEGMENT].reshape(whole, SEGMENT, count)
            if count == 1:  # NumPy is quick along the last axis if it is not of length 1
                segments, found = segments[..., 0], found[:, 0]
            np.max(segments, axis=1, out=found)
        if len(block) % SEGMENT:
            maxima[first + whole] = scores[whole * SEGMENT :].max(axis=0)
    return np.ascontiguousarray(maxima.T)
