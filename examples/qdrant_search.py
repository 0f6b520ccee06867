"""Hybrid search of an exported index in Qdrant, ranked as `siamese search` ranks.

Usage: siamese export old old.parquet
       python examples/qdrant_search.py old.parquet old "How old are you?" [--compare queries.txt]

It runs in this process, for some thousand questions; with a server give QdrantClient its url. Words are
sparse vectors: the part of BM25 that depends on a question is in them, the idf is Qdrant's. The mean length
of a question is that of the file: load it again where many were added that are longer or shorter.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence

import hybrid
import numpy as np
from qdrant_client import QdrantClient, models

from siamese.search.lexical import K1, B, words_in

NAME = "questions"


def sparse(weights: dict[str, float]) -> models.SparseVector:
    """A weight for each word. Words have 32 bits in Qdrant: of 100,000 about one pair shares one."""
    numbers = {zlib.crc32(word.encode()): weight for word, weight in weights.items()}
    return models.SparseVector(indices=list(numbers), values=list(numbers.values()))


class QdrantEngine:
    """A collection made anew of a Parquet file; its points are numbered as the file's rows."""

    def __init__(self, path: str, folder: str):
        lengths = [
            len(words_in(text))
            for _, batch in hybrid.batches(path)
            for text in batch["question"].to_pylist()
        ]
        mean = sum(lengths) / max(1, len(lengths))
        self.client = QdrantClient(path=folder)
        for start, batch in hybrid.batches(path):
            rows = batch.to_pylist()
            if not start:
                self._make(len(rows[0]["vector"]))
            points = [self._point(start + at, row, mean) for at, row in enumerate(rows)]
            self.client.upload_points(NAME, points)

    def _make(self, size: int) -> None:
        if self.client.collection_exists(NAME):
            self.client.delete_collection(NAME)
        vectors = models.VectorParams(size=size, distance=models.Distance.DOT)
        words = models.SparseVectorParams(modifier=models.Modifier.IDF)
        self.client.create_collection(NAME, {"vector": vectors}, {"words": words})

    def _point(self, number: int, row: dict, mean: float) -> models.PointStruct:
        words = words_in(row["question"])
        saturation = K1 * (1 - B + B * len(words) / mean)
        counts = Counter(words)
        weights = {word: c * (K1 + 1) / (c + saturation) for word, c in counts.items()}
        vectors = {"vector": row.pop("vector"), "words": sparse(weights)}
        return models.PointStruct(id=number, payload=row, vector=vectors)

    def by_vector(self, vector: np.ndarray, k: int):
        """The k nearest rows with their cosines, best first."""
        return self._found(vector.tolist(), "vector", k)

    def vectors(self, rows: Sequence[int]):
        """The vectors of some rows, float32 [rows, d]."""
        points = self.client.retrieve(NAME, rows, with_payload=False, with_vectors=["vector"])
        found = {point.id: point.vector["vector"] for point in points}
        return np.array([found[row] for row in rows], np.float32)

    def by_words(self, words: list[str], k: int, among: Sequence[int] | None = None):
        """The k best rows with their BM25, best first."""
        return self._found(sparse(Counter(words)), "words", k, among)

    def _found(
        self, query, using: str, k: int, among: Sequence[int] | None = None
    ) -> dict[int, float]:
        if among is None:
            kept = None
        elif not among:
            return {}
        else:
            kept = models.Filter(must=[models.HasIdCondition(has_id=list(among))])
        options = {"using": using, "query_filter": kept, "limit": k, "with_payload": False}
        found = self.client.query_points(NAME, query, **options)
        return {point.id: point.score for point in found.points}


if __name__ == "__main__":
    hybrid.main(__doc__, QdrantEngine)
