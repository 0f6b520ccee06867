"""What is searched of an index, in memory, and the hits of a question in their order."""

from __future__ import annotations

import functools
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from siamese.data.text import folded
from siamese.search.index.lexical import DEPTH, WordCounts, best_rows, bm25, joined_scores
from siamese.search.nearest import cosines_with, top_k

MODES = ("hybrid", "vectors", "words")  # of a search's order
AT_ONCE = 1024  # vectors that are read together
SPARE = 1024  # vectors that have a place beside those there are, so that a few can be added


class Hit(NamedTuple):
    """An old question, with its similarity (cosine) to the new one.

    `probability` is None where the model has no calibration. The ranks, from 1, are those by cosine and by
    words; None where the question is not in that list. `same` are the ids of the other hits with the same
    text but for case, blanks and quotes.
    """

    id: str
    question: str
    similarity: float
    probability: float | None
    is_duplicate: bool
    columns: dict[str, Any]
    vector_rank: int | None = None
    word_rank: int | None = None
    same: tuple[str, ...] = ()


@dataclass
class State:
    """What is searched, at one moment; a change makes another one."""

    rows: np.ndarray  # int64 [n], rising: each question's row in the file
    vectors: np.ndarray  # float32 [n, d]
    stems: np.ndarray  # int32 [words], the numbers of each question's stems, one after the other
    lengths: np.ndarray  # int64 [n]: how many each question has

    @functools.cached_property
    def words(self) -> WordCounts:
        """The words of all questions, counted when they are first asked for."""
        return WordCounts.of(self.stems, self.lengths)

    @classmethod
    def empty(cls, size: int) -> State:
        """No questions; their vectors have `size` numbers."""
        none = np.zeros(0, np.int64)
        return cls(none, np.zeros((0, size), np.float32), none.astype(np.int32), none)

    def extended(self, more: State) -> State:
        """With more questions, whose vectors come into the memory beyond the others where it suffices."""
        n, end = len(self.rows), len(self.rows) + len(more.rows)
        if not n:
            return more
        base = self.vectors.base
        if base is None or len(base) < end:
            base = np.empty((end + SPARE, self.vectors.shape[1]), np.float32)
            base[:n] = self.vectors
        base[n:end] = more.vectors
        names = "rows", "stems", "lengths"
        parts = {n: np.concatenate([getattr(self, n), getattr(more, n)]) for n in names}
        return State(vectors=base[:end], **parts)

    def followed(self, db: sqlite3.Connection) -> State:
        """With the questions that the file has after the last row, without those that are gone."""
        last = int(self.rows.max(initial=0))
        # SQLite counts whole tables by the page.
        query = "select (select count(*) from question), count(*) from question where row > ?"
        size, count = db.execute(query, (last,)).fetchone()
        state = self
        if size - count < len(self.rows):
            rows = np.array(db.execute("select row from question").fetchall(), np.int64)
            live = np.isin(self.rows, rows)
            stems = self.stems[np.repeat(live, self.lengths)]
            state = State(self.rows[live], self.vectors[live], stems, self.lengths[live])
        width = self.vectors.shape[1]
        return state.extended(_read_encoded(db, last, count, width)) if count else state


def _read_encoded(db: sqlite3.Connection, last: int, count: int, size: int) -> State:
    """The `count` questions after a row."""
    vectors = np.empty((count + SPARE, size), np.float32)
    rows: list[int] = []
    stems: list[bytes] = []
    query = "select row, stems, vector from encoded where row > ? order by row"
    answer = db.execute(query, (last,))
    while part := answer.fetchmany(AT_ONCE):
        numbers, words, blobs = zip(*part)
        if {*map(len, blobs)} != {4 * size} or len(rows) + len(part) > count:
            break
        flat = np.frombuffer(b"".join(blobs), np.float32)
        vectors[len(rows) : len(rows) + len(part)] = flat.reshape(-1, size)
        rows += numbers
        stems += words
    if len(rows) < count or not np.isfinite(vectors[:count].sum()):
        raise sqlite3.DatabaseError(f"its vectors are not {size} finite numbers each")
    lengths = np.array(list(map(len, stems)), np.int64) // 4
    return State(np.array(rows), vectors[:count], np.frombuffer(b"".join(stems), np.int32), lengths)


def ranked(
    state: State,
    queries: np.ndarray,
    stems: Sequence[Sequence[int]],
    k: int,
    mode: str,
    skip: np.ndarray,
    weight: float,
) -> Iterator[tuple[np.ndarray, ...]]:
    """The k hits of each query, best first: rows, cosines, ranks by vector, ranks by words.

    Ranks count from 1; 0 is for a question that is not in that list. Of a hybrid search both lists are
    as long as `DEPTH` or k; their union is ranked, all of it, by BM25 and cosine, with its `weight`.

    `queries` are float32 [queries, d], `stems` the numbers of each one's stems; `skip`, int64 and rising,
    are places of questions that do not count.
    """
    depth = max(k, DEPTH) if mode == "hybrid" else k
    by_vector = np.zeros((len(queries), 0), np.int64)
    if mode != "words":
        by_vector, _ = top_k(state.vectors, queries, depth, skip)
    for query, numbers, near in zip(queries, stems, by_vector):
        worded = near[:0]
        if mode != "vectors":
            scores = bm25(state.words, numbers)
            scores[skip] = 0
            worded = best_rows(scores, depth)
        places = np.union1d(near, worded)  # rising
        cosines = cosines_with(state.vectors[places], query)
        ranks = np.zeros((2, len(places)), np.int64)
        for rank, some in zip(ranks, (near, worded)):
            rank[np.searchsorted(places, some)] = np.arange(1, len(some) + 1)
        order = np.argsort(ranks[int(mode == "words")])
        if mode == "hybrid":
            order = np.lexsort((places, -cosines, -joined_scores(cosines, scores[places], weight)))
        order = order[:k]
        yield state.rows[places[order]], cosines[order], *ranks[:, order]


def hits_of(
    ranking: tuple[np.ndarray, ...],
    judged: list[tuple[float, float | None, bool]],
    entries: Mapping[int, Mapping[str, Any]],
) -> list[Hit]:
    """The hits of a query.

    `ranking` is what `ranked` has for it; `judged` are cosine, probability and whether it is a duplicate,
    of each row, and `entries` the rows' questions, as in `QuestionIndex.entries`.
    """
    rows, _, *ranks = (part.tolist() for part in ranking)
    same, hits = defaultdict(list), []
    texts = [folded(entries[row]["question"]) for row in rows]
    for row, text in zip(rows, texts):
        same[text].append(entries[row]["id"])
    for row, text, answer, *own in zip(rows, texts, judged, *ranks):
        i, question, columns = entries[row].values()
        ranks = (rank or None for rank in own)
        others = tuple(other for other in same[text] if other != i)
        hits.append(Hit(i, question, *answer, columns, *ranks, others))
    return hits
