"""The file of a question index: one SQLite database in WAL mode; no pickle.

Adding is one transaction, and so is removing. Readers see one moment, and learn by `pragma data_version`
that another process has written. A killed writer leaves the file as it was before.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import numpy as np

from siamese.errors import CheckpointError

MAGIC = b"SQLite format 3\0"
APPLICATION, VERSION = 0x7369616D, 2  # "siam"
WAIT = 60.0  # seconds that a writer waits for another
AT_ONCE = 20_000  # rows of one query
# A changed text gets a new row: a row's text and vector never change. `key`: 64 bits of the folded text.
SCHEMA = """
create table setting (name text primary key, value text not null);
create table question (row integer primary key autoincrement, id text unique not null, key integer not null,
                       text text not null, columns text);
create index question_key on question (key);
create table encoded (row integer primary key, stems blob not null, vector blob not null);
create table unknown (row integer primary key);  -- questions without any word that the model knows
create table term (number integer primary key, stem text unique not null);
create table grouped (row integer primary key, first integer not null);
create index grouped_first on grouped (first);
create table answer (row1 integer, row2 integer, is_duplicate integer not null, primary key (row1, row2));
"""
TABLES = ("answer", "grouped", "encoded", "unknown", "question", "term", "setting")
MAKE = "Make one: siamese index build FILE."
REMAKE = "Make it again: siamese index build FILE."


def is_index_file(path: Any) -> bool:
    """Whether a path is an index, by the first bytes of the file."""
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


class IndexFile:
    """One connection to the database of an index; the caller lets one thread at a time use it.

    Args:
      path: the file; None for a database in memory.
      create: make the file where there is none.

    Raises:
      CheckpointError: the file is missing, no index, damaged or of another version.
    """

    def __init__(self, path: str | os.PathLike | None, *, create: bool = False):
        self.path = path
        self.read_only = self._disk_full = False
        self._opened = 0  # how often
        if path is not None:
            self._check_path(create)
        self._open(create)

    def _open(self, create: bool = False) -> None:
        with self.explained():
            self._disk_full = False
            self._db = self._connect()
            try:
                self._prepare(create)
            except BaseException as error:
                self._db.close()
                # SQLite needs 32 kB beside the file for readers that share it with writers.
                self._disk_full = _is_full(error) and not create
                if not self._disk_full:
                    raise
                self._db = self._connect()
                self._prepare(create)
            self._opened += 1

    def _check_path(self, create: bool) -> None:
        if os.path.isdir(self.path):
            raise CheckpointError(f"{self.path} is a directory; an index is one file. {MAKE}")
        if not create and not os.path.exists(self.path):
            raise CheckpointError(f"There is no index at {self.path}. {MAKE}")
        has_content = os.path.exists(self.path) and os.path.getsize(self.path)
        if has_content and not is_index_file(self.path):
            raise CheckpointError(f"{self.path} holds no index. {MAKE}")

    def _connect(self) -> sqlite3.Connection:
        options = {"isolation_level": None, "check_same_thread": False, "timeout": WAIT}
        if self.path is None:
            return sqlite3.connect(":memory:", **options)
        path = os.path.abspath(self.path)
        if os.path.exists(path):
            self.read_only = self._disk_full or not all(
                os.access(place, os.W_OK) for place in (path, os.path.dirname(path))
            )
        if not self.read_only:
            return sqlite3.connect(path, **options)
        wal = f"{path}-wal"
        if os.path.exists(wal) and os.path.getsize(wal):
            why = "the disk is full" if self._disk_full else "its folder is read-only"
            raise CheckpointError(
                f"{path} was not closed, and {why}: open the index once where it can be written."
            )
        return sqlite3.connect(f"file:{quote(path)}?immutable=1", uri=True, **options)

    def _prepare(self, create: bool) -> None:
        (application,) = self._db.execute("pragma application_id").fetchone()
        (tables,) = self._db.execute("select count(*) from sqlite_master").fetchone()
        if create and not tables:
            self._db.execute("pragma page_size = 16384")
            self._db.execute("pragma synchronous = full")
            return
        if application != APPLICATION:
            raise CheckpointError(f"{self.path} holds no index. {MAKE}")
        (version,) = self._db.execute("pragma user_version").fetchone()
        if version != VERSION:
            raise CheckpointError(
                f"{self.path} has format version {version}; this siamese reads {VERSION}. {REMAKE}"
            )
        if not self.read_only:
            self._db.execute("pragma journal_mode = wal")
            self._db.execute("pragma synchronous = full")

    def close(self) -> None:
        """Closes the connection; the last one leaves the database in its one file."""
        self._db.close()

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Raises an error of SQLite's as a CheckpointError that says what to do."""
        try:
            yield
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", None) or ""
            if isinstance(error, sqlite3.ProgrammingError):
                why = "it was closed. Open it again."
            elif name.startswith("SQLITE_BUSY"):
                why = "another process has been writing to it for a minute. Try again later."
            elif _is_full(error):
                why = "the disk is full. Free some space, or choose another directory."
            elif name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
                why = "it cannot be written there. Change the permissions, or copy it elsewhere."
            elif name.startswith("SQLITE_IOERR"):
                why = f"the disk reports an error ({error}). Check the disk and its free space."
            else:
                why = f"it is damaged ({error}). {REMAKE}"
            raise CheckpointError(f"{self.path}: {why}") from error

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A transaction that sees one moment."""
        with self.explained():
            self._db.execute("begin")
            try:
                yield self._db
            finally:
                if self._db.in_transaction:
                    self._db.execute("commit")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that changes the file at its end, or leaves it as it was after an exception."""
        if self.read_only:
            why = "the disk is full" if self._disk_full else "the file or its folder is read-only"
            raise CheckpointError(f"{self.path} cannot be changed: {why}.")
        with self.explained():
            self._db.execute("begin immediate")
            try:
                yield self._db
                self._db.execute("commit")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("rollback")
                raise

    def make(self, db: sqlite3.Connection) -> None:
        """Makes empty tables, in place of older ones, in a transaction of `writing`.

        The numbers of rows go on, so that no reader takes a new question for an older one.
        """
        names = {name for (name,) in db.execute("select name from sqlite_master").fetchall()}
        last = _last_row(db) if "question" in names else 0
        for name in names.intersection(TABLES):
            db.execute(f"drop table {name}")
        for statement in SCHEMA.split(";"):
            db.execute(statement)
        db.execute("insert into sqlite_sequence values ('question', ?)", (last,))
        db.execute(f"pragma application_id = {APPLICATION}")
        db.execute(f"pragma user_version = {VERSION}")

    def make_shared(self) -> None:
        """Turns a new file to WAL mode: others read while one writes."""
        with self.explained():
            self._db.execute("pragma journal_mode = wal")
            self._db.execute("pragma wal_checkpoint(truncate)")

    @property
    def data_version(self) -> tuple[int, int]:
        """Changes when another connection has changed the file."""
        if self._disk_full:  # There may be space again.
            self._db.close()
            self._open()
        with self.explained():
            return self._opened, self._db.execute("pragma data_version").fetchone()[0]


def _is_full(error: BaseException) -> bool:
    """Whether an error of SQLite's says that the disk is full."""
    return getattr(error, "sqlite_errorname", "") in ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")


# ---- Inside a transaction ----


def settings(db: sqlite3.Connection) -> dict[str, Any]:
    """All settings, JSON values by name."""
    return {name: json.loads(value) for name, value in db.execute("select * from setting")}


def write_settings(db: sqlite3.Connection, **values: Any) -> None:
    """Writes some settings, JSON values."""
    rows = [(name, json.dumps(value)) for name, value in values.items()]
    db.executemany("insert or replace into setting values (?, ?)", rows)


def term_numbers(db: sqlite3.Connection, stems: Sequence[list[str]]) -> list[np.ndarray]:
    """The numbers of each question's stems, int32; a stem that is new gets one."""
    distinct = [(stem,) for stem in dict.fromkeys(stem for row in stems for stem in row)]
    db.executemany("insert or ignore into term (stem) values (?)", distinct)
    numbers = known_terms(db, stems)
    return [np.array([numbers[stem] for stem in row], np.int32) for row in stems]


def known_terms(db: sqlite3.Connection, stems: Sequence[list[str]]) -> dict[str, int]:
    """The numbers of those stems that some question has."""
    distinct = json.dumps(list(dict.fromkeys(stem for row in stems for stem in row)))
    query = "select stem, number from term where stem in (select value from json_each(?))"
    return dict(db.execute(query, (distinct,)).fetchall())


def known_stems(db: sqlite3.Connection, stems: Sequence[list[str]]) -> list[np.ndarray]:
    """The numbers of each question's stems, int32; a stem that no question has is left out."""
    numbers = known_terms(db, stems)
    return [np.array([numbers[s] for s in row if s in numbers], np.int32) for row in stems]


def rows_where(db: sqlite3.Connection, column: str, values: Sequence[Any]) -> list[tuple]:
    """(row, id, key, text, columns) of the questions whose column `row`, `id` or `key` is among values."""
    rows: list[tuple] = []
    for start in range(0, len(values), AT_ONCE):
        query = f"select * from question where {column} in (select value from json_each(?))"
        rows += db.execute(query, (json.dumps(list(values[start : start + AT_ONCE])),)).fetchall()
    return rows


def rows_by_value(db: sqlite3.Connection, column: str) -> dict[str, list[int]]:
    """The rows of each value of a column, as text; a list counts for each of its values."""
    rows: dict[str, list[int]] = {}
    for row, columns in db.execute("select row, columns from question where columns is not null"):
        entry = json.loads(columns)
        if column in entry:
            value = entry[column]
            for one in value if isinstance(value, list) else [value]:
                rows.setdefault(as_text(one), []).append(row)
    return rows


def column_names(db: sqlite3.Connection) -> list[str]:
    """The names of the columns that some question has."""
    rows = db.execute("select distinct each.key from question, json_each(columns) each")
    return sorted(name for (name,) in rows)


def as_text(value: Any) -> str:
    """A column's value as text: what is not text as JSON has it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def text_key(text: str) -> int:
    """64 bits of the BLAKE2 of a folded text, signed as SQLite's numbers are."""
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def insert(db: sqlite3.Connection, *columns: Sequence[Any]) -> None:
    """Adds questions: their ids, keys, texts, JSON columns, stems, vectors, and places of unknown ones."""
    ids, keys, texts, others, stems, vectors, unknown = columns
    last = _last_row(db)
    rows = range(last + 1, last + 1 + len(ids))
    question = "insert into question values (?, ?, ?, ?, ?)"
    db.executemany(question, zip(rows, ids, keys, texts, others))
    encoded = ((row, s.tobytes(), v.tobytes()) for row, s, v in zip(rows, stems, vectors))
    db.executemany("insert into encoded values (?, ?, ?)", encoded)
    db.executemany("insert into unknown values (?)", ((rows[int(at)],) for at in unknown))


def _last_row(db: sqlite3.Connection) -> int:
    """The last row that a question has had; 0 where there was none."""
    return db.execute("select coalesce(max(seq), 0) from sqlite_sequence").fetchone()[0]


def delete(db: sqlite3.Connection, rows: Sequence[int]) -> None:
    """Removes questions by their rows; a group whose first is removed goes to its next one."""
    if not rows:
        return
    some, inside = (json.dumps(list(rows)),), "in (select value from json_each(?1))"
    heads = db.execute(
        f"select row from grouped where row = first and row {inside}", some
    ).fetchall()
    for table in ("question", "encoded", "unknown", "grouped"):
        db.execute(f"delete from {table} where row {inside}", some)
    db.execute(f"delete from answer where row1 {inside} or row2 {inside}", some)
    members = "from grouped where first = ?1"
    db.executemany(
        f"update grouped set first = (select min(row) {members}) where first = ?1", heads
    )
    write_settings(db, removals=settings(db)["removals"] + 1)


def all_rows(db: sqlite3.Connection, table: str = "question") -> np.ndarray:
    """The rows of all questions, int64, rising; or of those in the table `unknown`."""
    rows = db.execute(f"select row from {table} order by row").fetchall()
    return np.array(rows, np.int64).ravel()


def count_after(db: sqlite3.Connection, row: int) -> int:
    """How many questions come after a row."""
    return db.execute("select count(*) from question where row > ?", (row,)).fetchone()[0]


def read_encoded(
    db: sqlite3.Connection, after: int, size: int
) -> Iterator[tuple[list[int], np.ndarray, np.ndarray, np.ndarray]]:
    """The questions after a row, some at a time: rows, stems, words in each, vectors.

    The stems are int32 [words], row after row; the vectors float32 [n, size].
    """
    query = "select row, stems, vector from encoded where row > ? order by row"
    answer = db.execute(query, (after,))
    while some := answer.fetchmany(AT_ONCE):
        rows, stems, vectors = map(list, zip(*some))
        flat = np.frombuffer(b"".join(vectors), np.float32)
        if {len(vector) for vector in vectors} != {4 * size} or not np.isfinite(flat).all():
            raise sqlite3.DatabaseError(f"its vectors are not {size} finite numbers each")
        lengths = np.fromiter(map(len, stems), np.int64, len(stems)) // 4
        yield rows, np.frombuffer(b"".join(stems), np.int32), lengths, flat.reshape(-1, size)
