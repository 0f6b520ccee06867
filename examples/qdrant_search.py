"""Hybrid search of an exported index in Qdrant, ranked as `siamese search` ranks.

Usage: siamese index export questions.db questions.parquet
       python examples/qdrant_search.py questions.parquet questions.db "How old are you?"

Qdrant finds by vectors and by words; `hybrid` joins its two lists. Qdrant runs in this
process, which is enough for some thousand questions; for a server give QdrantClient its
url. Words are sparse vectors: they hold the part of BM25 that depends on a question,
and Qdrant multiplies it by the idf. BM25 uses the mean length of the file's questions:
load the file again after you have added many longer or shorter ones.
"""

from __future__ import annotations

import argparse
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow
from pyarrow import parquet
from qdrant_client import QdrantClient, models

from siamese.index import QuestionIndex, weight_of
from siamese.index.ranking import DEPTH, K1, B, joined_scores
from siamese.index.stems import words_in

NAME = "questions"
BATCH = 1024  # rows written at a time


def batches(path: str) -> Iterator[tuple[int, pyarrow.RecordBatch]]:
    """The rows of a Parquet file, (number of the first row, rows) at a time."""
    start = 0
    for batch in parquet.ParquetFile(path).iter_batches(BATCH):
        yield start, batch
        start += len(batch)


def sparse(weights: dict[str, float]) -> models.SparseVector:
    """A weight for each word.

    A word's number has 32 bits: of 100,000 words about one pair shares it.
    """
    numbers = {zlib.crc32(word.encode()): weight for word, weight in weights.items()}
    return models.SparseVector(indices=list(numbers), values=list(numbers.values()))


class QdrantEngine:
    """A collection made of a Parquet file; its points are numbered as the file's rows.

    Args:
      path: the Parquet file that `siamese index export` wrote.
      folder: Qdrant's folder; its collection is replaced.
    """

    def __init__(self, path: str, folder: str):
        lengths = [
            len(words_in(text))
            for _, batch in batches(path)
            for text in batch["question"].to_pylist()
        ]
        mean = sum(lengths) / max(1, len(lengths))
        self.client = QdrantClient(path=folder)
        for start, batch in batches(path):
            rows = batch.to_pylist()
            if not start:
                self._create(len(rows[0]["vector"]))
            points = [self._point(start + at, row, mean) for at, row in enumerate(rows)]
            self.client.upload_points(NAME, points)

    def _create(self, size: int) -> None:
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

    def by_vector(self, vector: np.ndarray, k: int) -> dict[int, float]:
        """The k nearest rows with their cosines, best first."""
        return self._query(vector.tolist(), "vector", k)

    def by_words(
        self, words: list[str], k: int, among: Sequence[int] | None = None
    ) -> dict[int, float]:
        """The k best rows with their BM25, best first; `among` limits it to some rows.

        A row that shares no word with the question is left out.
        """
        return self._query(sparse(Counter(words)), "words", k, among)

    def vectors(self, rows: Sequence[int]) -> np.ndarray:
        """The vectors of some rows, float32 [rows, d]."""
        points = self.client.retrieve(
            NAME, rows, with_payload=False, with_vectors=["vector"]
        )
        vector_of = {point.id: point.vector["vector"] for point in points}
        return np.array([vector_of[row] for row in rows], np.float32)

    def _query(
        self, query, using: str, k: int, among: Sequence[int] | None = None
    ) -> dict[int, float]:
        if among is not None and not among:
            return {}
        condition = None
        if among is not None:
            condition = models.Filter(must=[models.HasIdCondition(has_id=list(among))])
        options = {
            "using": using,
            "query_filter": condition,
            "limit": k,
            "with_payload": False,
        }
        answer = self.client.query_points(NAME, query, **options)
        return {point.id: point.score for point in answer.points}


def hybrid(
    engine: QdrantEngine,
    index: QuestionIndex,
    vector: np.ndarray,
    question: str,
    k: int,
) -> list[int]:
    """The k best rows by w * z(cosine) + (1 - w) * z(BM25) over the union of both lists."""
    words = words_in(question)
    near, worded = engine.by_vector(vector, DEPTH), engine.by_words(words, DEPTH)
    rows = sorted({*near, *worded})
    cosines = np.vecdot(engine.vectors(rows), vector)
    # A row that only the vectors found needs its BM25 too.
    worded |= engine.by_words(
        words, len(rows), [row for row in rows if row not in worded]
    )
    scores = np.array([worded.get(row, 0.0) for row in rows])
    order = np.lexsort(
        (-cosines, -joined_scores(cosines, scores, weight_of(index.detector)))
    )
    return [rows[at] for at in order[:k]]


def first(scores: dict[int, float], k: int) -> list[int]:
    """The k best rows; of equal rows the first, as in the index.

    Qdrant gives these in any order.
    """
    return sorted(scores, key=lambda row: (-round(scores[row], 5), row))[:k]


def recalls(
    engine: QdrantEngine, index: QuestionIndex, questions: list[str], k: int = 10
) -> dict[str, float]:
    """For each kind of search: the share of the index's first k that is in Qdrant's first k."""
    ids = [entry["id"] for entry in index.snapshot().entries]
    searches = {
        "vectors": lambda vector, question: first(engine.by_vector(vector, DEPTH), k),
        "words": lambda vector, question: first(
            engine.by_words(words_in(question), DEPTH), k
        ),
        "hybrid": lambda vector, question: hybrid(engine, index, vector, question, k),
    }
    vectors, shares = index.detector.encode(questions), {}
    for mode, search in searches.items():
        expected = [
            {hit.id for hit in hits} for hits in index.search(questions, k, mode=mode)
        ]
        shared = [
            len(answer & {ids[row] for row in search(vector, question)})
            for answer, vector, question in zip(expected, vectors, questions)
        ]
        shares[mode] = sum(shared) / sum(map(len, expected))
    return shares


def main() -> None:
    """Loads a Parquet file, prints the hits of a question, and with --compare measures recall."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parquet", help="the file that `siamese index export` wrote")
    parser.add_argument("index", help="the index; its model encodes the questions")
    parser.add_argument("question")
    parser.add_argument(
        "--database", default="qdrant", help="Qdrant's folder [%(default)s]"
    )
    parser.add_argument(
        "--compare",
        metavar="FILE",
        help="a question a line: recall@10 against the index",
    )
    flags = parser.parse_args()
    index, engine = (
        QuestionIndex.open(flags.index),
        QdrantEngine(flags.parquet, flags.database),
    )
    vector, entries = index.detector.encode(flags.question), index.snapshot().entries
    for row in hybrid(engine, index, vector, flags.question, 10):
        entry, cosine = entries[row], index.vectors[row] @ vector
        print(f"{cosine:.3f}  [{entry['id']}] {entry['question']}")
    if flags.compare:
        with open(flags.compare, encoding="utf-8") as lines:
            print(
                recalls(engine, index, [line.strip() for line in lines if line.strip()])
            )


if __name__ == "__main__":
    main()
