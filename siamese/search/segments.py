"""Questions as an index keeps and finds them: segments that never change, and a list of the rows removed.

Adding makes a small segment beside the large one, so neither memory nor disk copies all that is there.
Small segments are joined as in a binary counter (n additions copy each question log n times), and with
the large one when they hold more than a tenth of its questions.
"""

from __future__ import annotations

import functools
import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from siamese.data.text import folded
from siamese.errors import ArgumentError
from siamese.search.lexical import (
    DEPTH,
    VECTOR_WEIGHT,
    Postings,
    best_rows,
    bm25,
    joined_scores,
    text_key,
)
from siamese.search.nearest import NONE, top_k

MOST_SMALL = 0.1  # of the large segment's rows, in small segments or removed, before all are joined
FEW = 8  # rows that are rather copied than kept in files of their own


class Entries(Sequence):
    """Questions with their ids and columns: JSON lines in one flat array, which may be mapped from a file.

    `text` is uint8 [bytes], `offsets` int64 [entries + 1]; line i is ``text[offsets[i]:offsets[i + 1]]``.
    """

    def __init__(self, text: np.ndarray, offsets: np.ndarray):
        self.text, self.offsets = text, offsets

    @classmethod
    def of(cls, entries: Iterable[dict[str, Any]]) -> Entries:
        """Keeps dicts of JSON values."""
        texts = (json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)
        lines = [text.encode("utf-8", "surrogatepass") for text in texts]
        return cls(np.frombuffer(b"".join(lines), np.uint8), _ends(list(map(len, lines))))

    @classmethod
    def joined(cls, parts: Sequence[Entries]) -> Entries:
        """Some entries, one after the other."""
        lengths = np.concatenate([np.diff(part.offsets) for part in parts])
        return cls(np.concatenate([part.text for part in parts]), _ends(lengths))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> dict[str, Any]:
        line = self.text[self.offsets[i] : self.offsets[i + 1]].tobytes()
        return json.loads(line.decode("utf-8", "surrogatepass"))

    def take(self, rows: np.ndarray) -> Entries:
        """Some of the entries, in the order of int64 `rows`."""
        pieces = [self.text[self.offsets[i] : self.offsets[i + 1]] for i in rows]
        return Entries(np.concatenate([self.text[:0], *pieces]), _ends(np.diff(self.offsets)[rows]))


@dataclass(frozen=True, eq=False)
class Segment:
    """Questions row by row; none of it ever changes."""

    vectors: np.ndarray  # float32 [rows, d], may be mapped from a file
    entries: Entries  # ids, texts and columns
    keys: np.ndarray  # uint64 [rows], `id_keys` of the ids
    name: str = field(default_factory=lambda: secrets.token_hex(8))  # of its files in a directory
    postings: Postings | None = None  # None: the words are counted when they are first asked for

    def __len__(self) -> int:
        return len(self.entries)

    @functools.cached_property
    def words(self) -> Postings:
        """Which questions hold which words."""
        texts = (entry["question"] for entry in self.entries)
        return Postings.of(texts) if self.postings is None else self.postings

    def values(self, column: str) -> dict[str, list[int]]:
        """The rows of each value of a column; a value that is not text counts as JSON has it."""
        if column not in self._values:
            found: dict[str, list[int]] = {}
            for row, entry in enumerate(self.entries):
                if column in entry["columns"]:
                    value = entry["columns"][column]
                    found.setdefault(as_text(value), []).append(row)
            self._values[column] = found
        return self._values[column]

    @functools.cached_property
    def _values(self) -> dict[str, dict[str, list[int]]]:
        return {}

    @classmethod
    def joined(cls, parts: Sequence[Segment]) -> Segment:
        """Some segments, one after the other."""
        return cls(
            np.concatenate([part.vectors for part in parts]),
            Entries.joined([part.entries for part in parts]),
            np.concatenate([part.keys for part in parts]),
            postings=Postings.joined([part.words for part in parts]),
        )

    def take(self, rows: np.ndarray) -> Segment:
        """Some of its questions."""
        vectors, entries = self.vectors[rows], self.entries.take(rows)
        return Segment(vectors, entries, self.keys[rows], postings=self.words.take(rows))


class Hit(NamedTuple):
    """An old question that was found, with its similarity (cosine) to the new one.

    `probability` is None where the model has no calibration. The ranks, from 1, are those by cosine and by
    words; None where the question is not in that list. `same` are the ids of the other hits with the same
    text but for case, blanks and quotes.
    """

    id: str | int
    question: str
    similarity: float
    probability: float | None
    is_duplicate: bool
    columns: dict[str, Any]
    vector_rank: int | None = None
    word_rank: int | None = None
    same: tuple[str | int, ...] = ()


@dataclass(frozen=True, eq=False)
class State:
    """All of an index at one moment. Rows are counted through all segments, removed ones included."""

    segments: tuple[Segment, ...]  # The large one first; at least one.
    removed: np.ndarray = field(
        default_factory=lambda: NONE
    )  # int64, rising: rows that do not count
    vector_weight: float = VECTOR_WEIGHT  # of the cosine in hybrid search; the words have the rest

    @functools.cached_property
    def starts(self) -> list[int]:
        """The first row of each segment, and the number of rows."""
        return _ends([len(segment) for segment in self.segments]).tolist()

    @property
    def size(self) -> int:
        """How many questions there are."""
        return self.starts[-1] - len(self.removed)

    @functools.cached_property
    def whole(self) -> Segment:
        """All questions as one segment."""
        found = self.segments[0] if len(self.segments) == 1 else Segment.joined(self.segments)
        if not len(self.removed):
            return found
        return found.take(np.delete(np.arange(len(found)), self.removed))

    def entry(self, row: int) -> dict[str, Any]:
        """A row's id, question and columns."""
        at = int(np.searchsorted(self.starts, row, side="right")) - 1
        return self.segments[at].entries[row - self.starts[at]]

    def vectors_of(self, rows: np.ndarray) -> np.ndarray:
        """The vectors of some rows, float32 [rows, d]."""
        found = np.empty((len(rows), self.segments[0].vectors.shape[1]), np.float32)
        at = np.searchsorted(self.starts, rows, side="right") - 1
        for number in np.unique(at):
            here = at == number
            found[here] = self.segments[number].vectors[rows[here] - self.starts[number]]
        return found

    def rows_of(self, ids: Sequence[str | int]) -> dict[str | int, int]:
        """The rows of those ids that are there."""
        wanted, keys, found = set(ids), id_keys(ids), {}
        for start, segment in zip(self.starts, self.segments):
            for row in np.flatnonzero(np.isin(segment.keys, keys)).tolist():
                i = segment.entries[row]["id"]
                if i in wanted:
                    found[i] = start + row
        removed = set(self.removed.tolist()) if found else ()
        return {i: row for i, row in found.items() if row not in removed}

    def known_rows(self, ids: Sequence[str | int]) -> list[int]:
        """The rows of ids, each once; ArgumentError for an id that is not there."""
        rows = self.rows_of(ids)
        for i in ids:
            if i not in rows:
                raise ArgumentError(f"There is no question with the id {i!r} in the index.")
        return list(rows.values())

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest rows of each query, int64, and their products; as `top_k`."""
        found = []
        for start, segment in zip(self.starts, self.segments):
            inside = np.searchsorted(self.removed, (start, start + len(segment)))
            skip = self.removed[slice(*inside)] - start
            rows, products = top_k(segment.vectors, queries, k, skip)
            found.append((rows + start, products))
        rows, products = (np.concatenate(part, axis=1) for part in zip(*found))
        best = np.argsort(-products, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(rows, best, axis=1), np.take_along_axis(products, best, axis=1)

    def rank(
        self, queries: np.ndarray, questions: Sequence[str], k: int, mode: str
    ) -> Iterator[np.ndarray]:
        """What is found for each question, best first: rows, ranks by vector, ranks by words.

        That is int64 [3, found]; ranks count from 1, and 0 is for a row that is not in that list.
        `queries` are the questions' vectors, float32 [questions, d].

        Of a hybrid search both lists are as long as `DEPTH` or k; their union is ranked, all of it, by
        BM25 and cosine.
        """
        by_vector = np.zeros((len(queries), 0), np.int64)
        depth = max(k, DEPTH) if mode == "hybrid" else k
        if mode != "words":
            by_vector, _ = self.search(queries, depth)
        for query, question, near in zip(queries, questions, by_vector):
            if mode == "vectors":
                yield np.stack([near, np.arange(1, len(near) + 1), np.zeros_like(near)])
                continue
            scores = bm25([segment.words for segment in self.segments], self.removed, question)
            worded = best_rows(scores, depth)
            rows = np.union1d(near, worded)  # rising
            cosines = np.vecdot(self.vectors_of(rows), query)
            ranks = np.zeros((2, len(rows)), np.int64)
            for ranked, some in zip(ranks, (near, worded)):
                ranked[np.searchsorted(rows, some)] = np.arange(1, len(some) + 1)
            order = np.argsort(ranks[1])
            if mode == "hybrid":
                joined = joined_scores(cosines, scores[rows], self.vector_weight)
                order = np.lexsort((rows, -cosines, -joined))
            yield np.stack([rows, *ranks])[:, order]

    def where(self, wanted: Mapping[str, Any]) -> State:
        """With only those questions whose columns have these values; the others count as removed.

        Raises:
          ArgumentError: a column that no question has.
        """
        kept = np.ones(self.starts[-1], bool)
        kept[self.removed] = False
        for column, value in wanted.items():
            values = [segment.values(column) for segment in self.segments]
            if self.size and not any(values):
                names = {name for entry in self.whole.entries for name in entry["columns"]}
                there = f"there are {', '.join(sorted(names))}" if names else "it has none"
                raise ArgumentError(f"The index keeps no column {column!r}; {there}.")
            fits = np.zeros(len(kept), bool)
            for found, start in zip(values, self.starts):
                fits[start + np.array(found.get(as_text(value), []), np.int64)] = True
            kept &= fits
        return replace(self, removed=np.flatnonzero(~kept))

    def added(self, new: Segment) -> State:
        """With a segment more; where there are many small ones, some or all are joined."""
        large, *small = *self.segments, new
        while len(small) > 1 and len(small[-2]) <= max(len(small[-1]), FEW):
            small[-2:] = [Segment.joined(small[-2:])]
        if sum(map(len, small)) <= MOST_SMALL * len(large):
            return replace(self, segments=(large, *small))
        joined = Segment.joined([large, *small]) if len(large) else new
        return replace(self, segments=(joined,))

    def without(self, rows: Iterable[int]) -> State:
        """Without some rows; where many are removed, the others move together."""
        made = replace(self, removed=np.union1d(self.removed, np.array([*rows], np.int64)))
        if len(made.removed) <= MOST_SMALL * self.starts[-1]:
            return made
        return replace(made, segments=(made.whole,), removed=NONE)


def hits_of(
    detector: Any, state: State, query: np.ndarray, ranking: np.ndarray, threshold: float | None
) -> list[Hit]:
    """The hits of one question, whose vector is `query`; the threshold is the model's own where None."""
    rows, *ranks = ranking
    cosines = np.vecdot(state.vectors_of(rows), query)
    found = zip(rows, detector.judged(cosines, threshold), *(part.tolist() for part in ranks))
    return [
        Hit(
            **state.entry(row),
            similarity=cosine,
            probability=probability,
            is_duplicate=is_duplicate,
            vector_rank=by_vector or None,
            word_rank=by_words or None,
        )
        for row, (cosine, probability, is_duplicate), by_vector, by_words in found
    ]


def same_marked(hits: list[Hit], k: int, merge: bool) -> list[Hit]:
    """The first k hits, each with the ids of those with the same folded text; or one of each text."""
    hits = hits if merge else hits[:k]
    texts: dict[str, list[int]] = {}
    for place, hit in enumerate(hits):
        texts.setdefault(folded(hit.question), []).append(place)
    same = {place: places for places in texts.values() for place in places if len(places) > 1}
    for place, places in same.items():
        others = tuple(hits[other].id for other in places if other != place)
        hits[place] = hits[place]._replace(same=others)
    return [hit for i, hit in enumerate(hits) if not merge or same.get(i, [i])[0] == i][:k]


def id_keys(ids: Sequence[str | int]) -> np.ndarray:
    """Uint64 [ids]: a whole number's last 64 bits, the first 64 of a text's BLAKE2.

    Rows whose ids differ may have the same key, rows of one id always do.
    """
    return np.fromiter(map(_key, ids), np.uint64, len(ids))


def _key(i: str | int) -> int:
    return text_key(i) if isinstance(i, str) else i % (1 << 64)


def as_text(value: Any) -> str:
    """A column's value as text: what is not text as JSON has it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _ends(lengths) -> np.ndarray:
    """Where each of some lengths starts, and where the last ends, int64 [n + 1]."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
