"""The file of a question index: one SQLite database in WAL mode; no pickle.

A change is one transaction. Readers see one moment, and learn by `pragma data_version` that another process
has written. A killed writer leaves the file as it was before.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import repeat
from typing import Any
from urllib.parse import quote

import numpy as np

from siamese.data.arguments import text_list
from siamese.data.text import folded
from siamese.errors import ArgumentError, CheckpointError, DataError, MissingDependencyError
from siamese.search.detector import DuplicateDetector
from siamese.search.encoders import valid_unicode
from siamese.search.lexical import ENCODER_VECTOR_WEIGHT, VECTOR_WEIGHT, stems_of
from siamese.search.model_file import encoder_facts, model_path, saved_encoder
from siamese.search.ranking import State
from siamese.storage.atomic import open_atomically

MAGIC = b"SQLite format 3\0"
APPLICATION, VERSION = 0x7369616D, 3  # "siam"
OPTIONS = {"isolation_level": None, "check_same_thread": False, "timeout": 60.0}
# A changed text gets a new row: a row's text and vector never change. `key`: 64 bits of the folded text.
# A group whose first question is removed goes to its next one.
SCHEMA = """
create table setting (name text primary key, value text not null);
create table question (row integer primary key autoincrement, id text unique not null, key integer not null,
                       text text not null, columns text not null);
create index question_key on question (key);
create table encoded (row integer primary key, stems blob not null, vector blob not null);
create table term (number integer primary key, stem text unique not null);
create table grouped (row integer primary key, first integer not null);
create index grouped_first on grouped (first);
create table answer (row1 integer, row2 integer, is_duplicate integer not null, primary key (row1, row2));
create trigger removed after delete on question begin
    delete from encoded where row = old.row;
    delete from answer where old.row in (row1, row2);
    delete from grouped where row = old.row;
    update grouped set first = (select min(row) from grouped where first = old.row) where first = old.row;
end;
"""
INSIDE = "in (select value from json_each(?))"
MAKE = "Make one: siamese index build FILE."
REMAKE = "Make it again: siamese index build FILE."
DISK_FULL = "the disk is full"
FULL = ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")
# Beginnings of an error's name, and what to say.
PROBLEMS = (
    ("SQLITE_BUSY", "another process has been writing to it for a minute. Try again later."),
    (FULL, f"{DISK_FULL}. Free some space, or choose another directory."),
    (
        ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM"),
        "it cannot be written there. Change the permissions, or copy it elsewhere.",
    ),
    ("SQLITE_IOERR", "the disk reports an error ({}). Check the disk and its free space."),
    ("", f"it is damaged ({{}}). {REMAKE}"),
)


def is_index_file(path: Any) -> bool:
    """Whether a path is an index, by the first bytes of the file."""
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


class IndexFile:
    """One connection to the database of an index; whoever holds `lock` uses it.

    Args:
      path: the file; None for a database in memory.
      create: make the file where there is none.

    Raises:
      CheckpointError: the file is missing, no index, damaged or of another version.
    """

    def __init__(self, path: str | os.PathLike | None, *, create: bool = False):
        self.path, self.lock, self._opened = path, threading.RLock(), 0
        exists = path is not None and os.path.exists(path)
        if not exists and not create:
            raise CheckpointError(f"There is no index at {path}. {MAKE}")
        if exists and os.path.getsize(path) and not is_index_file(path):
            raise CheckpointError(f"{path} holds no index: an index is one file. {MAKE}")
        with self._explained():
            self._open(create)

    def _open(self, create: bool = False) -> None:
        """Connects; for reading alone where nothing can be written."""
        path = self.path and os.path.abspath(self.path)
        places = (path, os.path.dirname(path)) if path and os.path.exists(path) else ()
        writable = all(os.access(place, os.W_OK) for place in places)
        self.read_only = "" if writable else "the file or its folder is read-only"
        if writable:
            try:
                return self._connect(path or ":memory:", create)
            except sqlite3.Error as error:
                # SQLite needs 32 kB beside the file for readers that share it with writers.
                if create or getattr(error, "sqlite_errorname", "") not in FULL:
                    raise
                self.read_only = DISK_FULL
        if os.path.exists(f"{path}-wal") and os.path.getsize(f"{path}-wal"):
            raise CheckpointError(
                f"{path} was not closed, and {self.read_only}: open the index once where it can be written."
            )
        self._connect(f"file:{quote(path)}?immutable=1", create)

    def _connect(self, place: str, create: bool) -> None:
        self._db = sqlite3.connect(place, uri=place.startswith("file:"), **OPTIONS)
        self._opened += 1
        with self.closed_by_errors():
            tables, application, version = self._db.execute(
                "select (select count(*) from sqlite_master), application_id, user_version "
                "from pragma_application_id, pragma_user_version"
            ).fetchone()
            if (tables or not create) and application != APPLICATION:
                raise CheckpointError(f"{self.path} holds no index. {MAKE}")
            if not create and version != VERSION:
                raise CheckpointError(
                    f"{self.path} has format version {version}; this siamese reads {VERSION}. {REMAKE}"
                )
            self._db.execute("pragma page_size = 16384")  # of a new file
            self._db.execute("pragma synchronous = full")
            if tables and not self.read_only:
                self._db.execute("pragma journal_mode = wal")

    def close(self) -> None:
        """Closes the connection; the last one leaves the database in its one file."""
        with self.lock:
            self._db.close()

    @contextmanager
    def closed_by_errors(self) -> Iterator[IndexFile]:
        """A context in which an exception closes it."""
        try:
            yield self
        except BaseException:
            self.close()
            raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Raises an error of SQLite's as a CheckpointError that says what to do."""
        try:
            yield
        except sqlite3.ProgrammingError as error:
            raise CheckpointError(f"{self.path}: it was closed. Open it again.") from error
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", "")
            why = next(why for starts, why in PROBLEMS if name.startswith(starts))
            raise CheckpointError(f"{self.path}: {why.format(error)}") from error

    @contextmanager
    def transaction(self, change: bool = False) -> Iterator[sqlite3.Connection]:
        """A transaction that sees one moment; a change is made at its end, or not at all."""
        with self.lock, self._explained():
            if self.read_only == DISK_FULL:  # There may be space again.
                self._db.close()
                self._open()
            if change and self.read_only:
                raise CheckpointError(f"{self.path} cannot be changed: {self.read_only}.")
            self._db.execute("begin immediate" if change else "begin")
            try:
                yield self._db
                self._db.execute("commit")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("rollback")
                raise

    @property
    def version(self) -> tuple[int, int]:
        """What changes when another connection changes the file; in a transaction, of its moment."""
        return self._opened, self._db.execute("pragma data_version").fetchone()[0]

    @contextmanager
    def made(self) -> Iterator[sqlite3.Connection]:
        """A transaction that replaces what the file holds by empty tables; others share the file after it.

        The numbers of rows go on, so that no reader takes a new question for an older one.
        """
        with self.transaction(change=True) as db:
            query = (
                "select name from sqlite_master where type = 'table' and name not like 'sqlite%'"
            )
            tables = [name for (name,) in db.execute(query)]
            last = last_row(db) if tables else 0
            for name in tables:
                db.execute(f"drop table {name}")
            for statement in re.split(r"(?m)^(?=create)", SCHEMA):
                db.execute(statement)
            db.execute("insert into sqlite_sequence values ('question', ?)", (last,))
            write_settings(db, next_id=0)
            db.execute(f"pragma application_id = {APPLICATION}")
            db.execute(f"pragma user_version = {VERSION}")
            yield db
        with self._explained():
            self._db.execute("pragma journal_mode = wal")


# ---- Questions that come in ----


def checked(
    questions: Any, ids: Any, columns: Any
) -> tuple[list[str], list[str] | None, list[str] | None]:
    """Questions, ids as text, and columns as JSON."""
    questions = [questions] if isinstance(questions, str) else text_list(questions, "the index")
    for name, values in (("ids", ids), ("columns", columns)):
        if values is not None and len(values) != len(questions):
            raise ArgumentError(f"{len(values)} {name} for {len(questions)} questions.")
    if ids is not None:
        for i in ids:
            if isinstance(i, bool) or not isinstance(i, (str, int, np.integer)) or "\0" in str(i):
                raise DataError(f"An id must be text or a whole number, not {i!r:.40}.")
        ids = [valid_unicode(str(i)) for i in ids]
        ((i, times),) = Counter(ids).most_common(1) or [("", 0)]
        if times > 1:
            raise DataError(f"The id {i!r} stands there {times} times; ids must be all different.")
    if columns is not None:
        columns = [json.dumps(values or {}) for values in columns]
    return list(map(valid_unicode, questions)), ids, columns


def encoded(
    detector: DuplicateDetector, questions: list[str], places: Sequence[int], **options: Any
) -> np.ndarray:
    """The vectors of the questions at some places; DataError for one without words."""
    vectors = detector.encode([questions[at] for at in places], **options)
    for at in np.array(places, np.int64)[~vectors.any(axis=1)]:
        text = questions[at][:40]
        raise DataError(f"Question {at} (from 0) has no words: {text!r}. Leave it out.")
    return vectors


# ---- Inside a transaction ----


def settings(db: sqlite3.Connection) -> dict[str, Any]:
    """All settings, JSON values by name."""
    return {name: json.loads(value) for name, value in db.execute("select * from setting")}


def write_settings(db: sqlite3.Connection, **values: Any) -> None:
    """Writes some settings, JSON values."""
    rows = [(name, json.dumps(value)) for name, value in values.items()]
    db.executemany("insert or replace into setting values (?, ?)", rows)


def last_row(db: sqlite3.Connection) -> int:
    """The last row that a question has had; 0 where there was none."""
    return db.execute("select max(seq) from sqlite_sequence").fetchone()[0] or 0


def rows_where(db: sqlite3.Connection, column: str, values: Iterable[Any]) -> list[tuple]:
    """(row, id, key, text, columns) of the questions whose column `row`, `id` or `key` is among values."""
    query = f"select * from question where {column} {INSIDE} order by row"
    return db.execute(query, (json.dumps(list(values)),)).fetchall()


def rows_with(db: sqlite3.Connection, ids: Iterable[str | int]) -> list[tuple]:
    """`rows_where` of ids, each once; ArgumentError for an id that is not there."""
    ids = {str(i): None for i in ids}
    rows = rows_where(db, "id", ids)
    for i in ids.keys() - {i for _, i, *_ in rows}:
        raise ArgumentError(f"There is no question with the id {i!r} in the index.")
    return rows


def entry(row: tuple) -> dict[str, Any]:
    """One of `rows_where` as id, question and columns."""
    _, i, _, text, columns = row
    return {"id": i, "question": text, "columns": {} if columns == "{}" else json.loads(columns)}


def as_text(value: Any) -> str:
    """A column's value as text: what is not text as JSON has it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def text_key(text: str) -> int:
    """64 bits of the BLAKE2 of a folded text, signed as SQLite's numbers are."""
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def stem_numbers(db: sqlite3.Connection, texts: Sequence[list[str]]) -> list[np.ndarray]:
    """The numbers of each text's stems, int32; a stem that no question has is left out."""
    distinct = json.dumps(list({stem for stems in texts for stem in stems}))
    query = f"select stem, number from term where stem {INSIDE}"
    number_of = dict(db.execute(query, (distinct,)).fetchall())
    return [np.array([number_of[s] for s in stems if s in number_of], np.int32) for stems in texts]


def compared(
    db: sqlite3.Connection, questions: list[str], ids: list[str] | None, columns: list[str] | None
) -> tuple[list[int], list[int], list[tuple], list[str | None]]:
    """What adding does: the places of what it writes, the rows that go, (columns, row) to change, ids."""
    if ids is None:
        keys = [text_key(folded(question)) for question in questions]
        id_of = {key: i for _, i, key, *_ in rows_where(db, "key", keys)[::-1]}
        ids = list(map(id_of.get, keys))
        return [at for at, i in enumerate(ids) if i is None], [], [], ids
    stored = {i: (row, text, others) for row, i, _, text, others in rows_where(db, "id", ids)}
    new, replaced, changed = [], [], []
    for at, i in enumerate(ids):
        row, text, others = stored.get(i, (None, None, None))
        if text != questions[at]:
            new.append(at)
            replaced += [row] if row else []
        elif columns is not None and json.loads(columns[at]) != json.loads(others):
            changed.append((columns[at], row))
    return new, replaced, changed, list(ids)


def insert(
    db: sqlite3.Connection,
    questions: Sequence[str],
    ids: Sequence[str] | None,
    columns: Sequence[str] | None,
    vectors: Sequence[np.ndarray],
    stored: bool = True,
) -> tuple[list[str], State]:
    """Adds questions; returns their ids, the next free numbers for None, and what is searched.

    Only where `stored` are stems and vectors written.
    """
    following = settings(db)["next_id"]
    ids = ids or list(map(str, range(following, following + len(questions))))
    numbers = [int(i) + 1 for i in ids if i.isdecimal() and len(i) < 18]
    write_settings(db, next_id=max([following, *numbers]))
    rows, texts = np.arange(len(ids)) + last_row(db) + 1, list(map(folded, questions))
    entries = zip(rows.tolist(), ids, map(text_key, texts), questions, columns or repeat("{}"))
    db.executemany("insert into question values (?, ?, ?, ?, ?)", entries)
    words = stems_of(texts)
    distinct = dict.fromkeys(stem for stems in words for stem in stems)
    db.executemany("insert or ignore into term (stem) values (?)", zip(distinct))
    stems = stem_numbers(db, words)
    if stored:
        blobs = ((part.tobytes() for part in parts) for parts in (stems, vectors))
        db.executemany("insert into encoded values (?, ?, ?)", zip(rows.tolist(), *blobs))
    lengths = np.array(list(map(len, words)), np.int64)
    flat = np.concatenate([np.zeros(0, np.int32), *stems])
    return ids, State(rows, np.asarray(vectors), flat, lengths)


def delete(db: sqlite3.Connection, rows: Sequence[int]) -> None:
    """Removes questions by their rows, with all that is stored of them."""
    db.execute(f"delete from question where row {INSIDE}", (json.dumps(list(rows)),))


# ---- Export ----


def export_parquet(
    path: str | os.PathLike, entries: list[dict[str, Any]], vectors: np.ndarray
) -> int:
    """Writes an index's questions as a Parquet file, for engines beyond one machine; returns how many.

    Its columns: ``id`` and ``question`` (text), the columns that the questions have (text; of a taken
    name with ``column_`` before it) and ``vector`` (a list of d float32).

    Raises:
      MissingDependencyError: pyarrow is not installed.
      ArgumentError: the file cannot be written.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingDependencyError("Parquet needs pyarrow: pip install pyarrow.") from None
    table = {name: [entry[name] for entry in entries] for name in ("id", "question")}
    for name in dict.fromkeys(name for entry in entries for name in entry["columns"]):
        values = (entry["columns"].get(name) for entry in entries)
        new = valid_unicode(name)  # UTF-8 has no lone surrogates.
        new = f"column_{new}" if new in ("id", "question", "vector") else new
        table[new] = [None if value is None else valid_unicode(as_text(value)) for value in values]
    table = {name: pyarrow.array(values, pyarrow.string()) for name, values in table.items()}
    flat = pyarrow.array(vectors.ravel())
    table["vector"] = pyarrow.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
    with open_atomically(path, ArgumentError) as file:
        parquet.write_table(pyarrow.table(table), file, row_group_size=1 << 16)
    return len(entries)


# ---- The model of an index ----


def model_facts(
    detector: DuplicateDetector, path: str | os.PathLike | None, model: str | os.PathLike | None
) -> dict[str, Any]:
    """What a file says of its model: checksum, encoder, places; for an encoder alone its threshold."""
    weight = VECTOR_WEIGHT if detector.encoder is None else ENCODER_VECTOR_WEIGHT
    facts = {"model_checksum": detector.checksum, "encoder": encoder_facts(detector), "model": []}
    facts |= {"size": detector.output_size, "vector_weight": weight}
    if model is not None and os.path.exists(model):  # Else it is an encoder's name.
        where = model_path(model).resolve()
        # Relative first, so that model and index can be moved together.
        folder = os.path.dirname(os.path.realpath(path or "."))
        facts["model"] = [os.path.relpath(where, folder), str(where)]
    elif detector.tower is None:
        facts["fit"] = detector.fit
    return facts


def detector_of(
    path: str | os.PathLike, facts: Mapping[str, Any], detector: Any
) -> DuplicateDetector:
    """The model of an index, from its file, or of the encoder that the index names."""
    if isinstance(detector, DuplicateDetector):
        if facts["encoder"] and detector.encoder is not None:
            saved_encoder(path, facts["encoder"], detector.encoder)
        return detector
    if isinstance(detector, (str, os.PathLike)):
        return DuplicateDetector.load(detector)
    folder = os.path.dirname(os.path.abspath(path))
    for place in facts["model"]:
        if os.path.exists(os.path.join(folder, place)):
            return DuplicateDetector.load(os.path.join(folder, place), detector)
    if facts["encoder"] and not facts["model"]:
        encoder = saved_encoder(path, facts["encoder"], detector)
        return DuplicateDetector.from_encoder(encoder)  # The index has a threshold of its own.
    places = "".join(f" ({place})" for place in facts["model"][1:])
    raise CheckpointError(
        f"{path} does not say where its model is, or it is gone from there{places}. Name the model "
        "(--model)."
    )
