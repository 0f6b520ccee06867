"""The file of a question index: one SQLite database in WAL mode; no pickle.

A change is one transaction. Readers see one moment, and learn by `pragma data_version` that another process
has written. A killed writer leaves the file as it was before.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from os.path import exists, samestat
from typing import Any
from urllib.parse import quote

from siamese.errors import CheckpointError

APPLICATION, VERSION = 0x7369616D, 8  # "siam"
OPTIONS: dict[str, Any] = {"isolation_level": None, "check_same_thread": False, "timeout": 60.0}
# A changed text gets a new row: a row's text and vector never change.
# A group whose first question is removed goes to its next one.
# An answer holds for all questions of two folded texts, of which the lesser is `one`.
SCHEMA = """
create table setting (name text primary key, value text not null);
create table question (row integer primary key autoincrement, id text unique not null, folded text not null,
                       text text not null, columns text not null);
create index question_folded on question (folded);
create table encoded (row integer primary key, stems blob not null, vector blob not null);
create table term (number integer primary key, stem text unique not null);
create table grouped (row integer primary key, first integer not null);
create index grouped_first on grouped (first);
create table answer (one text, two text, is_duplicate integer not null, primary key (one, two));
create trigger removed after delete on question begin
    delete from encoded where row = old.row;
    delete from grouped where row = old.row;
    update grouped set first = (select min(row) from grouped where first = old.row) where first = old.row;
end;
"""
MAKE = "Make one: siamese index build FILE."
REMAKE = "Make it again: siamese index build FILE."
NO_INDEX = f"it holds no index: an index is one file. {MAKE}"
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
    ("SQLITE_NOTADB", NO_INDEX),
    ("SQLITE_CONSTRAINT", "a change contradicts what it holds ({}). Nothing was changed."),
    ("SQLITE_IOERR", "the disk reports an error ({}). Check the disk and its free space."),
    ("", f"it is damaged ({{}}). {REMAKE}"),
)


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


class IndexFile:
    """One connection to the database of an index; whoever holds `lock` uses it.

    The database is in memory where the path is None. CheckpointError for a file that is missing (without
    `create`), no index, damaged or of another version.
    """

    def __init__(self, path: str | os.PathLike | None, *, create: bool = False):
        self.path = path = None if path is None else os.fsdecode(path)
        self.lock, self.opened = threading.RLock(), 0
        exists = path is not None and os.path.exists(path)
        if not exists and not create:
            raise CheckpointError(f"There is no index at {path}. {MAKE}")
        if exists and not os.path.isfile(path):
            raise CheckpointError(f"{path}: {NO_INDEX}")
        with self._explained():
            self._open(create)

    def _open(self, create: bool = False) -> None:
        """Connects; for reading alone where nothing can be written."""
        place = None if self.path is None else os.path.abspath(self.path)
        places = (place, os.path.dirname(place)) if place and os.path.exists(place) else ()
        writable = all(os.access(place, os.W_OK) for place in places)
        self.read_only = "" if writable else "the file or its folder is read-only"
        if writable:
            try:
                return self._connect(place or ":memory:", create)
            except sqlite3.Error as error:
                # SQLite needs 32 kB beside the file for readers that share it with writers.
                if create or getattr(error, "sqlite_errorname", "") not in FULL:
                    raise
                self.read_only = DISK_FULL
        if os.path.exists(f"{place}-wal") and os.path.getsize(f"{place}-wal"):
            raise CheckpointError(
                f"{self.path} was not closed, and {self.read_only}: open the index once where it can be "
                "written."
            )
        self._connect(f"file:{quote(place)}?immutable=1", create)

    def _connect(self, place: str, create: bool) -> None:
        self._db = sqlite3.connect(place, uri=place.startswith("file:"), **OPTIONS)
        self.opened += 1
        with self.closed_by_errors():
            tables, application, version = self._db.execute(
                "select (select count(*) from sqlite_master), application_id, user_version "
                "from pragma_application_id, pragma_user_version"
            ).fetchone()
            if (tables or not create) and application != APPLICATION:
                raise CheckpointError(f"{self.path}: {NO_INDEX}")
            if not create and version != VERSION:
                raise CheckpointError(
                    f"{self.path} has format version {version}; this siamese reads {VERSION}. {REMAKE}"
                )
            self._db.execute("pragma page_size = 16384")  # of a new file
            self._db.execute("pragma synchronous = full")
            if tables and not self.read_only:
                self._db.execute("pragma journal_mode = wal")
            self._file = place, exists(place) and os.stat(place)

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
            what = self.path or "The index"
            raise CheckpointError(f"{what} was closed. Open it again.") from error
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
            place, stat = self._file
            if change and stat and not (exists(place) and samestat(os.stat(place), stat)):
                raise CheckpointError(f"{self.path} was removed or replaced. Open it again.")
            self._db.execute("begin immediate" if change else "begin")
            with self._db:  # It commits, or rolls back after an exception.
                yield self._db

    @contextmanager
    def made(self) -> Iterator[sqlite3.Connection]:
        """A transaction that replaces what the file holds by empty tables; others share the file after it.

        The numbers of rows go on, so that no reader takes a new question for an older one.
        """
        with self.transaction(change=True) as db:
            query = "select name from sqlite_master where type='table' and name not like 'sqlite%'"
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
