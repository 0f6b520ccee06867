"""Hybrid search of an exported index in LanceDB, ranked as `siamese search` ranks.

Usage: siamese export old old.parquet
       python examples/lancedb_search.py old.parquet old "How old are you?" [--compare queries.txt]

Vectors are compared one by one, which is exact; for millions add an index (table.create_index).
"""

from __future__ import annotations

from collections.abc import Sequence

import hybrid
import lancedb
import numpy as np
import pyarrow
from lancedb.index import FTS
from lancedb.query import MatchQuery
from pyarrow import parquet

from siamese.search.lexical import words_in

# Words as they are: `words_in` has split and folded them.
PLAIN = FTS(
    base_tokenizer="whitespace",
    max_token_length=None,
    lower_case=False,
    stem=False,
    remove_stop_words=False,
    ascii_folding=False,
)


class LanceEngine:
    """The table `questions` of a LanceDB folder, made anew of a Parquet file."""

    def __init__(self, path: str, folder: str):
        schema = parquet.read_schema(path)
        schema = schema.append(pyarrow.field("row", pyarrow.int64()))
        schema = schema.append(pyarrow.field("words", pyarrow.string()))

        def rows():
            for start, batch in hybrid.batches(path):
                numbers = np.arange(start, start + len(batch))
                texts = [" ".join(words_in(text)) for text in batch["question"].to_pylist()]
                yield pyarrow.record_batch([*batch.columns, numbers, texts], schema=schema)

        database = lancedb.connect(folder)
        self.table = database.create_table("questions", rows(), schema, mode="overwrite")
        self.table.create_index("words", config=PLAIN)

    def by_vector(self, vector: np.ndarray, k: int):
        """The k nearest rows with their cosines, best first."""
        query = self.table.search(vector, vector_column_name="vector").distance_type("dot")
        return {row: 1 - distance for row, distance in self._found(query, "_distance", k)}

    def vectors(self, rows: Sequence[int]):
        """The vectors of some rows, float32 [rows, d]."""
        found = dict(self._found(self.table.search(), "vector", len(rows), rows))
        return np.array([found[row] for row in rows], np.float32)

    def by_words(self, words: list[str], k: int, among: Sequence[int] | None = None):
        """The k best rows with their BM25, best first."""
        query = self.table.search(MatchQuery(" ".join(words), "words"), query_type="fts")
        return dict(self._found(query, "_score", k, among))

    def _found(self, query, figure: str, k: int, among: Sequence[int] | None = None):
        if among is not None:
            if not among:
                return []
            query = query.where(f"row IN ({', '.join(map(str, among))})", prefilter=True)
        found = query.select(["row", figure]).limit(k).to_arrow()
        return zip(found["row"].to_pylist(), found[figure].to_pylist())


if __name__ == "__main__":
    hybrid.main(__doc__, LanceEngine)
