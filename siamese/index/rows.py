"""The questions of an index: compared, added and removed in a transaction of its file, read into memory."""

from __future__ import annotations

import functools
import json
import os
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np

from siamese.encoders.protocol import valid_unicode
from siamese.errors import ArgumentError, DataError
from siamese.groups.grouping import table_names
from siamese.index.file import last_row, settings, write_settings
from siamese.index.ranking import WordCounts, stems_of
from siamese.model.detector import DuplicateDetector
from siamese.reading.tables import json_value
from siamese.system.files import open_atomically
from siamese.text.cleaning import folded, has_words
from siamese.text.lists import as_list, text_list

INSIDE = "in (select value from json_each(?))"
MOST_STEMS = 2**31 - 1
AT_ONCE = 256  # vectors that are read together
# of an id that the numbers of later questions follow; longer ones are skipped
COUNTED_DIGITS = 18
# vectors that have a place beside those there are, so that a few can be added
SPARE = 1024


# ---- Questions that come in ----


def checked(
    questions: Any, ids: Any, columns: Any
) -> tuple[list[str], list[str] | None, list[str] | None]:
    """Questions, ids as text, and columns as JSON."""
    questions = text_list(questions, "the index")
    if ids is not None:
        ids = list(
            map(as_id, as_list(ids, "ids must be a list with an id of each question"))
        )
        ((i, times),) = Counter(ids).most_common(1) or [("", 0)]
        if times > 1:
            raise DataError(
                f"The id {i!r} stands there {times} times; ids must be all different."
            )
    if columns is not None:
        columns = as_list(
            columns, "columns must be a list with a dict of each question"
        )
        for values in columns:
            if values is not None and not isinstance(values, Mapping):
                raise DataError(
                    f"columns must hold a dict of each question, not {values!r:.40}."
                )
        columns = [json.dumps(json_value(values or {})) for values in columns]
    for name, values in (("ids", ids), ("columns", columns)):
        if values is not None and len(values) != len(questions):
            raise ArgumentError(f"{len(values)} {name} for {len(questions)} questions.")
    return list(map(valid_unicode, questions)), ids, columns


def as_id(value: Any) -> str:
    """An id as it is stored; DataError for what is none."""
    is_one = isinstance(value, (str, int, np.integer)) and not isinstance(value, bool)
    if not is_one or "\0" in str(value) or not str(value).strip():
        what = "text, neither blank nor with NUL, or a whole number"
        raise DataError(f"An id must be {what}, not {value!r:.40}.")
    return valid_unicode(str(value))


def encoded(
    detector: DuplicateDetector,
    questions: list[str],
    places: Sequence[int],
    **options: Any,
) -> np.ndarray:
    """The vectors of the questions at some places; DataError for one without words."""
    vectors = detector.encode([questions[at] for at in places], **options)
    for at in np.array(places, np.int64)[~vectors.any(axis=1)]:
        text = questions[at]
        # One of words that the model does not know stays, in no group.
        if (
            not has_words(detector.as_read(text))
            or not detector.without_known_words([text])[0]
        ):
            raise DataError(
                f"Question {at} (from 0) has no words: {text[:40]!r}. Leave it out."
            )
    return vectors


# ---- In memory ----


@dataclass
class State:
    """What is searched, at one moment; a change makes another one."""

    rows: np.ndarray  # int64 [n], rising: each question's row in the file
    vectors: np.ndarray  # float32 [n, d], read-only
    # int32 [words], the numbers of each question's stems, one after the other
    stems: np.ndarray
    lengths: np.ndarray  # int64 [n]: how many each question has
    lineage: object  # of one file, whose rows keep their questions

    @classmethod
    def of(cls, size: int) -> State:
        """No questions yet, with vectors of a size."""
        none = np.zeros(0, np.int64)
        vectors = read_only(np.zeros((0, size), np.float32))
        return cls(none, vectors, none.astype(np.int32), none, object())

    @functools.cached_property
    def words(self) -> WordCounts:
        """The words of all questions, counted when they are first asked for."""
        return WordCounts.of(self.stems, self.lengths)

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
                self.rows[live], vectors, stems, self.lengths[live], self.lineage
            )
        return state._extended(db, last, count) if count else state

    def _extended(self, db: sqlite3.Connection, last: int, count: int) -> State:
        """With the `count` questions after a row, in the memory beyond the vectors where it suffices."""
        n, size = self.vectors.shape
        base = self.vectors.base
        if base is None or len(base) < n + count:
            base = np.empty((n + count + SPARE, size), np.float32)
            base[:n] = self.vectors
        rows: list[int] = []
        stems: list[bytes] = []
        query = "select row, stems, vector from encoded where row > ? order by row"
        answer = db.execute(query, (last,))
        memory = memoryview(base).cast("B")
        end = 4 * size * n
        try:
            while part := answer.fetchmany(AT_ONCE):
                numbers, words, blobs = zip(*part)
                if {*map(len, blobs)} != {4 * size} or len(rows) + len(part) > count:
                    break
                for blob in blobs:
                    memory[end : end + 4 * size] = blob
                    end += 4 * size
                rows += numbers
                stems += words
            all_words = b"".join(stems)
        except TypeError as error:
            raise sqlite3.DatabaseError("its vectors or words are no blobs") from error
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
        new = np.frombuffer(all_words, np.int32)
        (most,) = db.execute("select max(number) from term").fetchone()
        if len(new) and not 1 <= new.min() <= new.max() <= (most or 0):
            raise sqlite3.DatabaseError("its words have numbers that no word has")
        lengths = np.append(self.lengths, sizes // 4)
        all_stems = np.append(self.stems, new)
        rows_now = np.append(self.rows, np.array(rows, np.int64))
        return State(rows_now, read_only(vectors), all_stems, lengths, self.lineage)


def read_only(array: np.ndarray) -> np.ndarray:
    """The array, which nobody can write to through this object."""
    array.flags.writeable = False
    return array


# ---- Inside a transaction ----


def rows_where(
    db: sqlite3.Connection, column: str, values: Iterable[Any]
) -> list[tuple]:
    """(row, id, folded, text, columns) of the questions whose `row`, `id` or `folded` is among values."""
    query = f"select * from question where {column} {INSIDE} order by row"
    return db.execute(query, (json.dumps(list(values)),)).fetchall()


def entry(row: tuple) -> dict[str, Any]:
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


def hits_of(
    db: sqlite3.Connection, state: State, rankings: list[np.ndarray]
) -> dict[int, tuple] | None:
    """The questions at these places, by their rows, for `entry`; None where one of them is gone."""
    places = np.unique(np.concatenate([np.zeros(0, np.int64), *rankings]))
    rows = state.rows[places].tolist()
    by_row = {row[0]: row for row in rows_where(db, "row", rows)}
    for row in by_row.values():
        entry(row)  # It may be damaged.
    return by_row if len(by_row) == len(rows) else None


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


def compared(
    db: sqlite3.Connection,
    questions: list[str],
    ids: list[str] | None,
    columns: list[str] | None,
) -> tuple[list[int], list[int], list[tuple], list[str | None]]:
    """What adding does: the places of what it writes, the rows that go, (columns, row) to change, ids."""
    if ids is None:
        texts = list(map(folded, questions))
        id_of = {text: i for _, i, text, *_ in rows_where(db, "folded", texts)[::-1]}
        ids = list(map(id_of.get, texts))
        return [at for at, i in enumerate(ids) if i is None], [], [], ids
    stored = {
        i: (row, text, others) for row, i, _, text, others in rows_where(db, "id", ids)
    }
    new = []
    replaced = []
    changed = []
    for at, i in enumerate(ids):
        row, text, others = stored.get(i, (None, None, None))
        if text != questions[at]:
            new.append(at)
            replaced += [row] if row else []
        elif columns is not None and json.loads(columns[at]) != json.loads(others):
            changed.append((columns[at], row))
    return new, replaced, changed, list(ids)


def next_ids(db: sqlite3.Connection, count: int) -> list[str]:
    """The next numbers that no stored question has as its id; the index gives each of them once."""
    number = settings(db)["next_id"]
    ids: list[str] = []
    while len(ids) < count:
        numbers = list(map(str, range(number, number + count - len(ids))))
        taken = {i for _, i, *_ in rows_where(db, "id", numbers)}
        ids += [i for i in numbers if i not in taken]
        number += len(numbers)
    write_settings(db, next_id=number)
    return ids


def insert(
    db: sqlite3.Connection,
    questions: list[str],
    ids: Any,
    columns: Any,
    vectors: Any,
    stored=True,
) -> tuple[list[str], State]:
    """Adds questions; returns their ids, the next free numbers for None, and what is searched.

    Ids and columns are as `checked` makes them, vectors float32 [n, d]. Only where
    `stored` are stems and vectors written.
    """
    if ids is None:
        ids = next_ids(db, len(questions))
    else:
        numbers = [int(i) for i in ids if i.isdecimal() and len(i) <= COUNTED_DIGITS]
        next_id = max([settings(db)["next_id"], *(number + 1 for number in numbers)])
        write_settings(db, next_id=next_id)
    rows = np.arange(len(ids)) + last_row(db) + 1
    texts = list(map(folded, questions))
    entries = zip(rows.tolist(), ids, texts, questions, columns or repeat("{}"))
    db.executemany("insert into question values (?, ?, ?, ?, ?)", entries)
    words = stems_of(texts)
    distinct = dict.fromkeys(stem for stems in words for stem in stems)
    db.executemany("insert or ignore into term (stem) values (?)", zip(distinct))
    stems = stem_numbers(db, words)
    if stored:
        blobs = ((part.tobytes() for part in parts) for parts in (stems, vectors))
        db.executemany(
            "insert into encoded values (?, ?, ?)", zip(rows.tolist(), *blobs)
        )
    lengths = np.array(list(map(len, words)), np.int64)
    flat = np.concatenate([np.zeros(0, np.int32), *stems])
    return ids, State(rows, read_only(np.asarray(vectors)), flat, lengths, object())


def delete(db: sqlite3.Connection, rows: Sequence[int]) -> None:
    """Removes questions by their rows, with all that is stored of them."""
    db.execute(f"delete from question where row {INSIDE}", (json.dumps(list(rows)),))


# ---- Export ----


def export_parquet(
    path: str | os.PathLike, entries: list[dict], vectors: np.ndarray, overwrite: bool
) -> int:
    """`QuestionIndex.export`."""
    import pyarrow
    from pyarrow import parquet

    table = {name: [entry[name] for entry in entries] for name in ("id", "question")}
    others = (name for entry in entries for name in entry["columns"])
    for name, new in table_names([*table, "vector"], others).items():
        # UTF-8 has no lone surrogates.
        table[valid_unicode(new)] = [
            _as_text(entry["columns"].get(name)) for entry in entries
        ]
    table = {
        name: pyarrow.array(values, pyarrow.string()) for name, values in table.items()
    }
    flat = pyarrow.array(vectors.ravel())
    table["vector"] = pyarrow.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
    with open_atomically(path, ArgumentError, overwrite=overwrite) as file:
        parquet.write_table(pyarrow.table(table), file, row_group_size=1 << 16)
    return len(entries)


def _as_text(value: Any) -> str | None:
    """A column's value as text: None stays, and what is not text is written as JSON."""
    if value is None:
        return None
    return valid_unicode(
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    )
