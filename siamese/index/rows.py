"""The questions of an index: written and removed in a transaction of its file, read into memory."""

from __future__ import annotations

import functools
import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from siamese.index.file import last_row, settings, write_settings
from siamese.index.incoming import (
    Changes,
    Incoming,
    Stored,
    by_ids,
    free_numbers,
    number_after,
    without_ids,
)
from siamese.index.ranking import WordCounts, read_only, room_for
from siamese.index.stems import NUMBERS, ONLY_ENGLISH, stems_of
from siamese.system.open_types import JsonMapping, JsonObject
from siamese.text.cleaning import folded
from siamese.text.language import ListLanguages

INSIDE = "in (select value from json_each(?))"
MOST_STEMS = 2**31 - 1
AT_ONCE = 256  # vectors that are read together

# ---- In memory ----


@dataclass
class State:
    """What is searched, at one moment; a change makes another one."""

    rows: np.ndarray  # int64 [n], rising: each question's row in the file
    vectors: np.ndarray  # float32 [n, d], read-only
    # int32 [words], the numbers of each question's stems, one after the other
    stems: np.ndarray
    lengths: np.ndarray  # int64 [n]: how many each question has
    languages: np.ndarray  # int8 [n]: the number of each question's language
    lineage: object  # of one file, whose rows keep their questions

    @classmethod
    def of(cls, size: int) -> State:
        """No questions yet, with vectors of a size."""
        none = np.zeros(0, np.int64)
        vectors = read_only(np.zeros((0, size), np.float32))
        languages = none.astype(np.int8)
        return cls(none, vectors, none.astype(np.int32), none, languages, object())

    @functools.cached_property
    def words(self) -> WordCounts:
        """The words of all questions, counted when they are first asked for."""
        return WordCounts.of(self.stems, self.lengths, self.languages)

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
            vectors = read_only(self.vectors[live])
            state = State(
                self.rows[live],
                vectors,
                stems,
                self.lengths[live],
                self.languages[live],
                self.lineage,
            )
        return state._extended(db, last, count) if count else state

    def _extended(self, db: sqlite3.Connection, last: int, count: int) -> State:
        """With the `count` questions after a row, in the memory beyond the vectors where it suffices."""
        n, size = self.vectors.shape
        base = room_for(self.vectors, count)
        rows, stems = _read_encoded(db, last, base[n : n + count])
        vectors = base[: n + count]
        squares = np.einsum("ij,ij->i", vectors[n:], vectors[n:])
        have_length = (np.abs(squares - 1) < 1e-2) | (squares == 0)
        if len(rows) < count or not have_length.all():
            raise sqlite3.DatabaseError(
                f"its vectors are not {size} numbers each, of length 1"
            )
        sizes = np.array(list(map(len, stems)), np.int64)
        if (sizes % 4).any():
            raise sqlite3.DatabaseError("its words are not whole numbers")
        new = np.frombuffer(b"".join(stems), np.int32)
        (most,) = db.execute("select max(number) from term").fetchone()
        if len(new) and not 1 <= new.min() <= new.max() <= (most or 0):
            raise sqlite3.DatabaseError("its words have numbers that no word has")
        lengths = np.append(self.lengths, sizes // 4)
        languages = np.append(self.languages, languages_in(db, new, sizes // 4))
        all_stems = np.append(self.stems, new)
        rows_now = np.append(self.rows, np.array(rows, np.int64))
        return State(
            rows_now, read_only(vectors), all_stems, lengths, languages, self.lineage
        )


def _read_encoded(
    db: sqlite3.Connection, last: int, vectors: np.ndarray
) -> tuple[list[int], list[bytes]]:
    """Writes the vectors of the questions after a row into an array; their rows, and their words.

    It stops where there are more than the array takes, or one of another size.
    """
    count, size = vectors.shape
    memory = vectors.data.cast("B")
    end = 0
    rows: list[int] = []
    stems: list[bytes] = []
    query = "select row, stems, vector from encoded where row > ? order by row"
    answer = db.execute(query, (last,))
    try:
        while some := answer.fetchmany(AT_ONCE):
            numbers, words, blobs = zip(*some)
            if {*map(len, blobs)} != {4 * size} or len(rows) + len(some) > count:
                break
            for blob in blobs:
                memory[end : end + 4 * size] = blob
                end += 4 * size
            rows += numbers
            stems += words
        b"".join(stems)
    except TypeError as error:
        raise sqlite3.DatabaseError("its vectors or words are no blobs") from error
    return rows, stems


# ---- Inside a transaction ----


def rows_where(
    db: sqlite3.Connection, column: str, values: Iterable[str | int]
) -> list[tuple]:
    """(row, id, folded, text, columns) of the questions whose `row`, `id` or `folded` is among values."""
    query = f"select * from question where {column} {INSIDE} order by row"
    return db.execute(query, (json.dumps(list(values)),)).fetchall()


def entry(row: tuple) -> JsonObject:
    """One of `rows_where` as id, question and columns; DatabaseError for other values than text."""
    number, i, _, text, columns = row
    try:
        values = {} if columns == "{}" else json.loads(columns)
    except (ValueError, TypeError, RecursionError):
        values = None
    if not (isinstance(i, str) and isinstance(text, str) and isinstance(values, dict)):
        raise sqlite3.DatabaseError(
            f"the question in its row {number} is no text, id and columns"
        )
    return {"id": i, "question": text, "columns": values}


def texts_of(db: sqlite3.Connection, state: State) -> list[str]:
    """The texts of all questions; DatabaseError where they are others than the vectors are of."""
    texts = [text for (text,) in db.execute("select text from question order by row")]
    if len(texts) != len(state.rows) or not all(
        isinstance(text, str) for text in texts
    ):
        raise sqlite3.DatabaseError("it has not a text for each vector")
    return texts


def entries_at(
    db: sqlite3.Connection, state: State, rankings: list[np.ndarray]
) -> list[list[JsonObject]]:
    """The questions at these places; DatabaseError where one of them is gone."""
    places = np.unique(np.concatenate([np.zeros(0, np.int64), *rankings]))
    rows = state.rows[places].tolist()
    by_row = {row[0]: row for row in rows_where(db, "row", rows)}
    if len(by_row) < len(rows):
        raise sqlite3.DatabaseError("it has vectors of questions that it lacks")
    return [
        [entry(by_row[row]) for row in state.rows[places].tolist()]
        for places in rankings
    ]


def languages_of(facts: JsonMapping) -> ListLanguages:
    """The languages by whose stems the words are found, of an index's settings; English for an old one."""
    known = facts.get("languages")
    return ListLanguages(**known) if known else ONLY_ENGLISH


def languages_in(
    db: sqlite3.Connection, stems: np.ndarray, lengths: np.ndarray
) -> np.ndarray:
    """The number of each text's language, int8 [texts], by its first stem; 0 for none, as for English."""
    languages = np.zeros(len(lengths), np.int8)
    if languages_of(settings(db)).is_english or not len(stems):
        return languages
    query = "select number, substr(stem, 1, 2) from term where substr(stem, 3, 1) = ':'"
    number_of = {number: NUMBERS.get(code, 0) for number, code in db.execute(query)}
    has_words = lengths > 0
    first = stems[(np.cumsum(lengths) - lengths)[has_words]]
    languages[has_words] = [number_of.get(stem, 0) for stem in first.tolist()]
    return languages


def stem_numbers(
    db: sqlite3.Connection, texts: Sequence[list[str]]
) -> list[np.ndarray]:
    """The numbers of each text's stems, int32; a stem that no question has is left out."""
    distinct = json.dumps(list({stem for stems in texts for stem in stems}))
    query = f"select stem, number from term where stem {INSIDE}"
    number_of = dict(db.execute(query, (distinct,)).fetchall())
    if max(number_of.values(), default=0) > MOST_STEMS:
        raise sqlite3.DatabaseError("its words have numbers that no word has")
    return [
        np.array([number_of[s] for s in stems if s in number_of], np.int32)
        for stems in texts
    ]


def changes(db: sqlite3.Connection, incoming: Incoming) -> Changes:
    """What adding questions does."""
    if incoming.ids is None:
        texts = list(map(folded, incoming.texts))
        same = rows_where(db, "folded", texts)
        # Of several of one text the first.
        return without_ids(texts, {text: i for _, i, text, *_ in reversed(same)})
    stored = {}
    for found in rows_where(db, "id", incoming.ids):
        own = entry(found)
        stored[own["id"]] = Stored(found[0], own["question"], own["columns"])
    return by_ids(incoming, stored)


def write_columns(
    db: sqlite3.Connection, incoming: Incoming, changed: list[tuple[int, int]]
) -> None:
    """Gives rows other columns: those at some places."""
    columns = incoming.columns or []
    values = [(json.dumps(columns[at]), row) for row, at in changed]
    db.executemany("update question set columns = ? where row = ?", values)


def next_ids(db: sqlite3.Connection, count: int) -> list[str]:
    """The next numbers that no stored question has as its id; the index gives each of them once."""

    def taken(ids: list[str]) -> set[str]:
        return {i for _, i, *_ in rows_where(db, "id", ids)}

    ids, number = free_numbers(settings(db)["next_id"], count, taken)
    write_settings(db, next_id=number)
    return ids


def insert(
    db: sqlite3.Connection,
    incoming: Incoming,
    vectors: np.ndarray | Sequence[np.ndarray],
) -> tuple[list[str], State]:
    """Adds questions; returns their ids, the next free numbers for None, and what is searched.

    Vectors are float32 [n, d].
    """
    ids = incoming.ids
    if ids is None:
        ids = next_ids(db, len(incoming.texts))
    else:
        write_settings(db, next_id=number_after(settings(db)["next_id"], ids))
    rows = np.arange(len(ids)) + last_row(db) + 1
    texts = list(map(folded, incoming.texts))
    columns = map(json.dumps, incoming.columns or [{}] * len(ids))
    entries = zip(rows.tolist(), ids, texts, incoming.texts, columns)
    db.executemany("insert into question values (?, ?, ?, ?, ?)", entries)

    # What is searched of them.
    words, languages = stems_of(incoming.texts, texts, languages_of(settings(db)))
    distinct = dict.fromkeys(stem for stems in words for stem in stems)
    db.executemany("insert or ignore into term (stem) values (?)", zip(distinct))
    stems = stem_numbers(db, words)
    blobs = ((part.tobytes() for part in parts) for parts in (stems, vectors))
    db.executemany("insert into encoded values (?, ?, ?)", zip(rows.tolist(), *blobs))
    lengths = np.array(list(map(len, words)), np.int64)
    flat = np.concatenate([np.zeros(0, np.int32), *stems])
    state = State(
        rows, read_only(np.asarray(vectors)), flat, lengths, languages, object()
    )
    return ids, state


def delete(db: sqlite3.Connection, rows: Iterable[int]) -> None:
    """Removes questions by their rows, with all that is stored of them."""
    db.execute(f"delete from question where row {INSIDE}", (json.dumps(list(rows)),))
