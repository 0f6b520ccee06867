"""What lancedb_search.py and qdrant_search.py share: our hybrid ranking over another engine's two lists.

The engine finds by vectors and by words; this puts both lists together as `siamese search` does, and
compares the three rankings with those of a `siamese` index.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow
from pyarrow import parquet

from siamese.search.index import QuestionIndex
from siamese.search.lexical import DEPTH, joined_scores, words_in

BATCH = 1024  # rows written at a time


class Engine(Protocol):
    """Two searches over the rows of a Parquet file; `among` bounds one to some rows."""

    def by_vector(self, vector: np.ndarray, k: int) -> dict[int, float]:
        """The k nearest rows with their cosines, best first."""

    def vectors(self, rows: Sequence[int]) -> np.ndarray:
        """The vectors of some rows, float32 [rows, d]."""

    def by_words(
        self, words: list[str], k: int, among: Sequence[int] | None = None
    ) -> dict[int, float]:
        """The k best rows with their BM25, best first; rows that share no word are left out."""


def batches(path: str) -> Iterator[tuple[int, pyarrow.RecordBatch]]:
    """The rows of a Parquet file, (number of the first row, rows) at a time."""
    start = 0
    for batch in parquet.ParquetFile(path).iter_batches(BATCH):
        yield start, batch
        start += len(batch)


def hybrid(
    engine: Engine, index: QuestionIndex, vector: np.ndarray, question: str, k: int
) -> list[int]:
    """The k best rows by w * z(cosine) + (1 - w) * z(BM25) over the union of both lists."""
    words = words_in(question)
    near, worded = engine.by_vector(vector, DEPTH), engine.by_words(words, DEPTH)
    rows = sorted({*near, *worded})
    # A row that only the vectors found needs its BM25 too.
    cosines = np.vecdot(engine.vectors(rows), vector)
    worded |= engine.by_words(words, len(rows), [row for row in rows if row not in worded])
    scores = np.array([worded.get(row, 0.0) for row in rows])
    order = np.lexsort((-cosines, -joined_scores(cosines, scores, index.vector_weight)))
    return [rows[at] for at in order[:k]]


def first(found: dict[int, float], k: int) -> list[int]:
    """The k best rows; of equal ones the first, as in the index. Engines leave their order open."""
    return sorted(found, key=lambda row: (-round(found[row], 5), row))[:k]


def recalls(
    engine: Engine, index: QuestionIndex, questions: list[str], k: int = 10
) -> dict[str, float]:
    """Of the index's first k by each search the share that the engine's first k has."""
    ids = [entry["id"] for entry in index.entries]
    found = {
        "vectors": lambda vector, question: first(engine.by_vector(vector, DEPTH), k),
        "words": lambda vector, question: first(engine.by_words(words_in(question), DEPTH), k),
        "hybrid": lambda vector, question: hybrid(engine, index, vector, question, k),
    }
    vectors, shares = index.detector.encode(questions), {}
    for mode, search in found.items():
        answers = index.search(questions, k, mode=mode)
        wanted = [{hit.id for hit in hits} for hits in answers]
        kept = [
            len(some & {ids[row] for row in search(vector, question)})
            for some, vector, question in zip(wanted, vectors, questions)
        ]
        shares[mode] = sum(kept) / sum(map(len, wanted))
    return shares


def main(description: str, engine: Any) -> None:
    """Loads a Parquet file into an engine, shows the hits of a question, and compares those of a file."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("parquet", help="of `siamese export INDEX FILE.parquet`")
    parser.add_argument("index", help="the index; its model encodes the questions")
    parser.add_argument("question")
    parser.add_argument(
        "--database", default="questions.db", help="the engine's folder [%(default)s]"
    )
    parser.add_argument(
        "--compare", metavar="FILE", help="a question a line: recall@10 beside the index"
    )
    flags = parser.parse_args()
    index, loaded = QuestionIndex.open(flags.index), engine(flags.parquet, flags.database)
    vector = index.detector.encode(flags.question)
    for row in hybrid(loaded, index, vector, flags.question, 10):
        entry = index.entries[row]
        cosine = index.vectors[row] @ vector
        print(f"{cosine:.3f}  [{entry['id']}] {entry['question']}")
    if flags.compare:
        with open(flags.compare, encoding="utf-8") as lines:
            print(recalls(loaded, index, [line.strip() for line in lines if line.strip()]))
