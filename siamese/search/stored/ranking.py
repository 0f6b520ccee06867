"""What an index searches, at one moment: vectors and word counts in memory, and the order of its hits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from siamese.data.text import folded
from siamese.errors import ArgumentError
from siamese.search.lexical import DEPTH, WordCounts, best_rows, bm25, joined_scores
from siamese.search.nearest import cosines_with, top_k
from siamese.search.stored import file as index_file

MODES = ("hybrid", "vectors", "words")  # of a search's order
SPARE = 1024  # vectors that have a place beside those there are, so that a few can be added
MOST_TAIL = 0.1  # of the questions, whose words are counted apart from the others'


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


class State(NamedTuple):
    """What is searched, at one moment; a change makes another one."""

    rows: np.ndarray  # int64 [n], rising: each question's row in the file
    vectors: np.ndarray  # float32 [n, d]
    stems: np.ndarray  # int32 [words], those of each question one after the other
    lengths: np.ndarray  # int64 [n]: how many each question has
    words: tuple[WordCounts, ...]  # of most questions, and of those that were added last
    made: str  # a random name of the index that the file held
    removals: int  # how often it had removed questions

    @property
    def last(self) -> int:
        """The last row."""
        return int(self.rows[-1]) if len(self.rows) else 0

    @classmethod
    def empty(cls, size: int) -> State:
        """No questions; their vectors have `size` numbers."""
        rows, stems = np.zeros(0, np.int64), np.zeros(0, np.int32)
        words = (WordCounts.of(stems, rows, 1),)
        return cls(rows, np.zeros((0, size), np.float32), stems, rows, words, "", 0)

    @classmethod
    def of(cls, db: Any, facts: Mapping[str, Any]) -> State:
        """All questions of a file with these settings."""
        state = cls.empty(facts["size"])._replace(made=facts["made"], removals=facts["removals"])
        return state.added(db)

    def added(self, db: Any) -> State:
        """With the questions of the file that come after the last row."""
        rows, stems, lengths, vectors = [self.rows], [self.stems], [self.lengths], self.vectors
        more = index_file.count_after(db, self.last)
        for parts in index_file.read_encoded(db, self.last, vectors.shape[1]):
            vectors = _appended(vectors, parts[3], more)
            for whole, part in zip((rows, stems, lengths), parts):
                whole.append(part)
        if len(rows) == 1:
            return self
        rows, lengths = (np.concatenate(parts).astype(np.int64) for parts in (rows, lengths))
        stems = np.concatenate(stems)
        words = _counted(stems, lengths, self.words)
        return self._replace(rows=rows, vectors=vectors, stems=stems, lengths=lengths, words=words)

    def without_removed(self, db: Any, removals: int) -> State:
        """Without the questions that the file no longer has."""
        live = np.isin(self.rows, index_file.all_rows(db))
        stems, lengths = self.stems[np.repeat(live, self.lengths)], self.lengths[live]
        words = _counted(stems, lengths, State.empty(1).words)
        rows, vectors = self.rows[live], self.vectors[live]
        return State(rows, vectors, stems, lengths, words, self.made, removals)


def _appended(vectors: np.ndarray, part: np.ndarray, more: int) -> np.ndarray:
    """Vectors and a part of `more` others below them; in the memory beyond the former where it suffices."""
    n, base = len(vectors), vectors.base
    if base is None or len(base) < n + len(part):
        base = np.empty((n + more + SPARE, vectors.shape[1]), np.float32)
        base[:n] = vectors
    base[n : n + len(part)] = part
    return base[: n + len(part)]


def _counted(
    stems: np.ndarray, lengths: np.ndarray, older: tuple[WordCounts, ...]
) -> tuple[WordCounts, ...]:
    """The word counts of all questions; those of most of them are taken from older counts."""
    size = int(stems.max(initial=0)) + 1
    start = len(older[0].lengths)
    if len(lengths) - start > MOST_TAIL * len(lengths):
        return (WordCounts.of(stems, lengths, size),)
    tail = stems[int(lengths[:start].sum()) :]
    return (older[0], WordCounts.of(tail, lengths[start:], size))


def ranked(
    state: State,
    queries: np.ndarray,
    stems: list[np.ndarray] | None,
    k: int,
    mode: str,
    skip: np.ndarray,
    weight: float,
) -> Iterator[tuple[np.ndarray, ...]]:
    """The hits of each question, best first: places, cosines, ranks by vector, ranks by words.

    Ranks count from 1; 0 is for a question that is not in that list. Of a hybrid search both lists are
    as long as `DEPTH` or k; their union is ranked, all of it, by BM25 and cosine.

    Args:
      state: what is searched.
      queries: float32 [questions, d].
      stems: the numbers of each question's stems; not read where the mode is 'vectors'.
      k: how many hits.
      mode: 'hybrid', 'vectors' or 'words'.
      skip: int64, rising: places that do not count.
      weight: of the cosine in hybrid search.
    """
    depth = max(k, DEPTH) if mode == "hybrid" else k
    by_vector = np.zeros((len(queries), 0), np.int64)
    if mode != "words":
        by_vector, _ = top_k(state.vectors, queries, depth, skip)
    for at, (query, near) in enumerate(zip(queries, by_vector)):
        if mode == "vectors":
            cosines = cosines_with(state.vectors[near], query)
            yield near, cosines, np.arange(1, len(near) + 1), np.zeros_like(near)
            continue
        scores = bm25(state.words, stems[at])
        scores[skip] = 0
        worded = best_rows(scores, depth)
        places = np.union1d(near, worded)  # rising
        cosines = cosines_with(state.vectors[places], query)
        ranks = np.zeros((2, len(places)), np.int64)
        for rank, some in zip(ranks, (near, worded)):
            rank[np.searchsorted(places, some)] = np.arange(1, len(some) + 1)
        order = np.argsort(ranks[1])
        if mode == "hybrid":
            order = np.lexsort((places, -cosines, -joined_scores(cosines, scores[places], weight)))
        order = order[:k]
        yield places[order], cosines[order], *ranks[:, order]


def left_out(
    db: Any, state: State, where: Mapping[str, Any], known: dict[str, dict[str, list[int]]]
) -> np.ndarray:
    """The places of the questions whose columns have other values than these, int64, rising.

    Args:
      db: the file's connection, in a transaction.
      state: what is searched.
      where: column -> value.
      known: column -> value -> rows, of the columns that were looked at; this adds to it.

    Raises:
      ArgumentError: a column that no question has.
    """
    fits = np.ones(len(state.rows), bool)
    for column, value in where.items():
        if column not in known:
            known[column] = index_file.rows_by_value(db, column)
        if len(state.rows) and not known[column]:
            names = index_file.column_names(db)
            others = f"It has {', '.join(names)}." if names else "It has none."
            raise ArgumentError(f"The index has no column {column!r}. {others}")
        fits &= np.isin(state.rows, known[column].get(index_file.as_text(value), []))
    return np.flatnonzero(~fits)


def hits_of(
    detector: Any, ranking: tuple[np.ndarray, ...], entries: Mapping, threshold: float | None
) -> list[Hit]:
    """The hits of one question, from its row of `ranked` and the entries at its places."""
    places, cosines, *ranks = ranking
    judged = detector.judged(cosines, threshold)
    names = "similarity", "probability", "is_duplicate", "vector_rank", "word_rank"
    return [
        Hit(**entries[place], **dict(zip(names, (*answer, by_vector or None, by_words or None))))
        for place, answer, by_vector, by_words in zip(
            places.tolist(), judged, *(some.tolist() for some in ranks)
        )
    ]


def same_marked(hits: list[Hit], k: int, merge: bool) -> list[Hit]:
    """The first k hits, each with the ids of those with the same folded text; or one of each text."""
    hits = hits if merge else hits[:k]
    texts: dict[str, list[int]] = {}
    for place, hit in enumerate(hits):
        texts.setdefault(folded(hit.question), []).append(place)
    answer = []
    for place, hit in enumerate(hits):
        places = texts[folded(hit.question)]
        if not merge or places[0] == place:
            others = tuple(hits[other].id for other in places if other != place)
            answer.append(hit._replace(same=others))
    return answer[:k]
