"""The file of a question index: one SQLite database in WAL mode; no pickle.

A change is one transaction. Readers see one moment, and do not wait for writers. A
killed writer leaves the file as it was before.

Each change draws a number, the token, writes it to the first page and adds it to the
table ``change``. It names the content: a reader learns by it that another process has
written. And it binds the file to its ``-wal``: the token in the file's own bytes must
be one of those since the `base` of the last change, the token that those bytes had
then. Of a file that was exchanged it is none of them; SQLite would write the changes in
``-wal`` into it.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import secrets
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, NamedTuple, TypeGuard, TypeVar
from urllib.parse import quote

from siamese.errors import CheckpointError
from siamese.model.near_misses import KINDS
from siamese.system.files import refuse_existing
from siamese.system.open_types import JsonObject, Keywords
from siamese.text.language import LANGUAGES
from siamese.text.repeated import Repeated

APPLICATION = 0x7369616D  # "siam"
VERSION = 11
# `user_version` is the version and a token.
TOKENS = 1 << 24
MOST_ROWS = 1 << 60
LARGEST = 1 << 20  # numbers of a vector
# at least; a reader that misses more changes reads the whole file again
KEPT_TOKENS = 1000
COPYING = 2.0  # seconds after which a file that was written to should be whole
PATIENCE = 60.0  # seconds of waiting for another process
STEP = 0.2  # seconds of one attempt; Ctrl-C has its effect after it
OPTIONS: Keywords = {
    "isolation_level": None,
    "check_same_thread": False,
    "timeout": STEP,
}
# A changed text gets a new row: a row's text and vector never change.
# A group whose first question is removed goes to its next one.
# An answer holds for all questions of two folded texts, of which the lesser is `one`.
SCHEMA = (
    "create table setting (name text primary key, value text not null)",
    "create table change (number integer primary key, token integer not null, base integer not null)",
    "create table question (row integer primary key autoincrement, id text unique not null, "
    "folded text not null, text text not null, columns text not null)",
    "create index question_folded on question (folded)",
    "create table encoded (row integer primary key, stems blob not null, vector blob not null)",
    "create table term (number integer primary key, stem text unique not null)",
    "create table grouped (row integer primary key, first integer not null)",
    "create index grouped_first on grouped (first)",
    "create table local (row integer primary key, mean real not null)",
    "create table answer (one text, two text, is_duplicate integer not null, primary key (one, two))",
    """create trigger removed after delete on question begin
    delete from encoded where row = old.row;
    delete from grouped where row = old.row;
    delete from local where row = old.row;
    update grouped set first = (select min(row) from grouped where first = old.row) where first = old.row;
end""",
)
MAKE = "Make one: siamese index build FILE."
REMAKE = "Delete it, and make it again: siamese index build FILE."
NO_INDEX = f"it holds no index: an index is one file. {MAKE}"
REMOVED = "was removed. Put it back; or stop what uses it, and build it again: siamese index build FILE."
JOURNAL = bytes.fromhex("d9d505f920a163d7")  # the beginning of a rollback journal
DISK_FULL = "the disk is full"
FULL = ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")
MIXTURE = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR")  # of two files
READ_ONLY = ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")
# Beginnings of an error's name, and what to say.
PROBLEMS = (
    (
        "SQLITE_BUSY",
        "another process has been writing to it for a minute. Try again later.",
    ),
    (FULL, f"{DISK_FULL}. Free some space, or choose another directory."),
    (
        READ_ONLY,
        "it cannot be written there. Change the permissions, or copy it elsewhere.",
    ),
    ("SQLITE_NOTADB", NO_INDEX),
    (
        "SQLITE_CONSTRAINT",
        "a change contradicts what it holds ({}). Nothing was changed.",
    ),
    (
        "SQLITE_IOERR",
        "the disk reports an error ({}). Check the disk and its free space.",
    ),
    ("", f"it is damaged ({{}}), or not yet copied whole. If it stays so: {REMAKE}"),
)


# the descriptors of files beside which there was a journal
_open_files: dict[tuple[int, int] | None, int] = {}


class Unsteady(CheckpointError):
    """What was read may be of two moments; it is read again, some times."""


class _GoneError(CheckpointError):
    """The empty file that was opened, to make an index, is not at its path any more."""


# ---- Settings ----


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_whole(value: object, least: int = 0) -> TypeGuard[int]:
    return type(value) is int and value >= least


def _is_encoder(value: object) -> bool:
    return value is None or (
        isinstance(value, dict)
        and _is_text(value.get("name"))
        and "fingerprint" in value
    )


# What the commands read of the setting `reading`.
READING: dict[str, type] = {
    "column": str,
    "id_column": str,
    "language": str,
    "compared": str,
    "keep_repeated": bool,
    "numbered": bool,
    "repeated": dict,
}


def _is_reading(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    known = {name: value[name] for name in READING if value.get(name) is not None}
    if not all(isinstance(own, READING[name]) for name, own in known.items()):
        return False
    counts = known.get("repeated", {})
    names = {field.name for field in fields(Repeated)}
    if not names.issuperset(counts) or not all(
        isinstance(own, dict) for own in counts.values()
    ):
        return False
    return all(_is_whole(count) for own in counts.values() for count in own.values())


def _is_grouping(value: object) -> bool:
    if value is None:
        return True
    names = {"threshold", "weight", "last", "check", "across"}
    if not isinstance(value, dict) or {*value} != names or not _is_text(value["check"]):
        return False
    if type(value["across"]) is not bool:
        return False
    numbers = value["threshold"], value["weight"]
    are_numbers = all(type(n) in (int, float) and math.isfinite(n) for n in numbers)
    return are_numbers and 0 <= value["weight"] <= 1 and _is_whole(value["last"])


def _is_check(value: object) -> bool:
    if value is None:
        return True
    if not isinstance(value, dict) or {*value} != {"ignore"}:
        return False
    ignore = value["ignore"]
    return isinstance(ignore, list) and all(kind in KINDS for kind in ignore)


def _are_languages(value: object) -> bool:
    if not isinstance(value, dict) or {*value} != {"main", "shares"}:
        return False
    shares = value["shares"]
    is_known = (
        isinstance(shares, dict)
        and len(shares) > 0
        and LANGUAGES.keys() >= shares.keys()
    )
    return is_known and value["main"] in shares


# What each setting must be.
SETTINGS: dict[str, Callable[[object], bool]] = {
    "next_id": _is_whole,
    "size": lambda value: _is_whole(value, 1) and value <= LARGEST,
    "model_checksum": _is_text,
    "model": lambda value: isinstance(value, list) and all(map(_is_text, value)),
    "encoder": _is_encoder,
    "reading": _is_reading,
    "fit": lambda value: value is None or isinstance(value, dict),
    "grouping": _is_grouping,
    "check": _is_check,
    "languages": _are_languages,
}
ALWAYS = ("next_id", "size", "model_checksum", "model", "encoder", "reading", "check")


def settings(db: sqlite3.Connection) -> JsonObject:
    """All settings, JSON values by name; DatabaseError where one is damaged."""
    values: JsonObject = {}
    for name, text in db.execute("select name, value from setting"):
        try:
            values[name] = json.loads(text)
        except (ValueError, TypeError, RecursionError) as error:
            raise sqlite3.DatabaseError(
                f"its setting {name!s:.40} is no JSON"
            ) from error
    for name, is_right in SETTINGS.items():
        if (name in ALWAYS or name in values) and not is_right(values.get(name)):
            raise sqlite3.DatabaseError(
                f"its setting {name} is {values.get(name)!r:.40}"
            )
    return values


def write_settings(db: sqlite3.Connection, **values: Any) -> None:
    """Writes some settings, JSON values."""
    rows = [(name, json.dumps(value)) for name, value in values.items()]
    db.executemany("insert or replace into setting values (?, ?)", rows)


def last_row(db: sqlite3.Connection) -> int:
    """The last row that a question has had; 0 where there was none."""
    query = "select max(seq), (select max(row) from question) from sqlite_sequence"
    numbers = [
        number for number in db.execute(query).fetchone() if isinstance(number, int)
    ]
    last = max(numbers, default=0)
    if last > MOST_ROWS:
        raise sqlite3.DatabaseError(f"its last row is {last}")
    return last


# ---- What a file must be ----


@functools.cache
def schema() -> list[tuple]:
    """What SQLite stores of the tables: kind, name, table and text, in order."""
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        for statement in SCHEMA:
            db.execute(statement)
        return schema_of(db)


def schema_of(db: sqlite3.Connection) -> list[tuple]:
    """The `schema` of a database."""
    query = "select type, name, tbl_name, sql from sqlite_master limit ?"
    return sorted(db.execute(query, (len(SCHEMA) + 100,)).fetchall(), key=str)


def token_of(db: sqlite3.Connection) -> int:
    """The number of the content that a connection sees."""
    return db.execute("pragma user_version").fetchone()[0] % TOKENS


def tokens_in(db: sqlite3.Connection) -> dict[int, int]:
    """The tokens that the file's own bytes may have, with the numbers of their changes."""
    query = "select token, number from change where number >= ({})"
    return dict(
        db.execute(query.format("select base from change order by number desc limit 1"))
    )


class Marks(NamedTuple):
    """What tells that a file was exchanged, or written to."""

    file: tuple[int, int]  # device and inode
    # the inodes of -wal and -shm, None where there is none
    beside: tuple[tuple[int, int] | None, ...]
    written: tuple[int, int]  # size and time


def inode(path: str) -> tuple[int, int] | None:
    """Device and inode of a file; None where there is none."""
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


def size_of(path: str) -> int:
    """The size of a file; 0 where there is none."""
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def start_of(path: str) -> bytes:
    """The first bytes of a database.

    It stays open: closing it would take the process's locks away.
    """
    name = inode(path)
    with contextlib.suppress(OSError):
        if name not in _open_files:
            _open_files[name] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        return os.pread(_open_files[name], 100, 0)
    return b""


class IndexFile:
    """The database of an index: a connection that reads, and another one that writes.

    CheckpointError for a file that is missing (without `create`), no index, damaged or
    of another version.

    Who holds `lock` uses the reader, and who holds `change_lock` the writer. A process
    whose file was exchanged under it opens the new one (`opened` counts that), or
    raises a CheckpointError.
    """

    def __init__(self, path: str | os.PathLike, *, create: bool = False):
        self.path = path = os.fsdecode(path)
        self.lock = threading.RLock()
        self.change_lock = threading.RLock()
        self.opened = 0
        self.committed = 0  # the token of this object's last change
        self.read_only = ""  # why it cannot be changed
        self._reader: Any = None
        self._writer: Any = None
        self._place: Any = None  # the path without links
        self._closed = False
        self._alone = False  # SQLite reads the file without locks and without -wal.
        self._marks: Marks | None = None
        # a content, and its `tokens_in`
        self._tokens: tuple[int, dict[int, int]] = (-1, {})
        self._own_number = 0  # of the change that the file's own bytes have
        self._own: int | None = None  # the token that they had
        self._written: tuple[int, int] | None = None  # when they had these marks
        self._is_new = False  # whether this process has made the file
        # Device and inode of the file that was empty when it was opened.
        self._empty_file: tuple[int, int] | None = None
        exists = os.path.exists(path)
        if not exists and not create:
            raise CheckpointError(f"There is no index at {path}. {MAKE}")
        if exists and not os.path.isfile(path):
            raise CheckpointError(f"{path}: {NO_INDEX}")
        with self._explained():
            for is_last in attempts():
                try:
                    self._open(create)
                    break
                except (Unsteady, _GoneError):
                    if is_last:
                        raise

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()

    # ---- Opening ----

    def _open(self, create: bool = False) -> None:
        """Connects; for reading alone where nothing can be written."""
        self.opened += 1
        self._alone = False
        self._place = place = os.path.realpath(self.path)
        if create:
            with contextlib.suppress(OSError):  # SQLite explains it better.
                os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
                self._is_new = True
        exists = os.path.exists(place)
        places = (place, os.path.dirname(place)) if exists else ()
        writable = all(os.access(place, os.W_OK) for place in places)
        self.read_only = "" if writable else "the file or its folder is read-only"
        self._check_journal()
        try:
            if writable:
                try:
                    return self._open_shared(create)
                except sqlite3.Error as error:
                    # SQLite needs 32 kB beside the file for readers that share it with
                    # writers.
                    if create or getattr(error, "sqlite_errorname", "") not in FULL:
                        raise
                    self._abandon()
                    self.read_only = DISK_FULL
            self._open_read_only()
        except BaseException:
            self._abandon()
            raise

    def _open_shared(self, create: bool) -> None:
        """Opens a reader and a writer; before anything can be written the reader looks at the file."""
        before = inode(self.path)
        has_changes = size_of(self._place) and size_of(f"{self._place}-wal")
        if has_changes:
            self._open_reader("mode=ro", create)
        opened = inode(self._place)
        self._writer = self._connected(self._place)
        is_empty = patient(lambda: not schema_of(self._writer))
        self._empty_file = opened if is_empty else None
        if is_empty and (opened is None or inode(self._place) != opened):
            raise _GoneError(f"{self.path} {REMOVED}")
        if not has_changes and not (is_empty and create):
            self._check(self._writer, create)
        self._writer.execute("pragma page_size = 16384")  # of a new file
        self._writer.execute("pragma synchronous = full")
        if not is_empty:
            self._share()
            if not has_changes:
                self._open_reader("mode=ro", create)
            self._check_same(before)

    def _check_journal(self) -> None:
        """Refuses what a killed build left beside another file: SQLite would undo the build in this one.

        A build has a journal until its file is whole, and in WAL mode only after that.
        """
        journal = f"{self._place}-journal"
        head = b""
        with contextlib.suppress(OSError), open(journal, "rb") as left:
            head = left.read(20)
        if head[:8] != JOURNAL:
            return
        pages = int.from_bytes(head[16:20], "big")  # of the file when the build began
        start = start_of(self._place)
        in_wal_mode = start[18:19] == b"\2"
        if in_wal_mode and start[28:32] != pages.to_bytes(4, "big"):
            raise CheckpointError(
                f"{self.path}-journal is not of {self.path}: a build that was killed left it, and another "
                f"file was put there later. Delete {self.path}-journal."
            )

    def _share(self) -> None:
        """Lets others read while the writer writes."""
        patient(lambda: self._writer.execute("pragma journal_mode = wal").fetchall())
        # It has -wal open from now on, and puts it away when it is closed.
        patient(lambda: token_of(self._writer))

    def _open_read_only(self) -> None:
        """Opens a reader where nothing can be written: with locks where a writer has made them."""
        before = inode(self.path)
        wal = f"{self._place}-wal"
        shm = f"{self._place}-shm"
        with_locks = (
            self.read_only != DISK_FULL and os.path.exists(wal) and os.path.exists(shm)
        )
        not_closed = Unsteady(
            f"{self.path} was not closed, and {self.read_only}: open the index once where it can be "
            "written."
        )
        if not with_locks and size_of(wal):
            raise not_closed
        self._alone = not with_locks
        try:
            self._open_reader("mode=ro" if with_locks else "immutable=1")
            self._check_same(before)
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorname", "").startswith(READ_ONLY):
                raise not_closed from error
            raise

    def _check_same(self, before: tuple[int, int] | None) -> None:
        """Raises Unsteady where the file was exchanged between the openings of the connections."""
        assert self._marks is not None
        if not before == self._marks.file == inode(self.path):
            raise Unsteady(f"{self.path} was exchanged while it was opened. Try again.")

    def _open_reader(self, mode: str, create: bool = False) -> None:
        """Connects for reading; the file must be an index, and the one that its -wal belongs to."""
        written = self._marks_now().written
        self._tokens = -1, {}
        self._own_number = 0
        self._reader = self._connected(f"file:{quote(os.fsencode(self._place))}?{mode}")
        self._check(self._reader, create)
        # SQLite may have made -wal and -shm.
        self._marks = self._marks_now()._replace(written=written)
        has_changes = size_of(f"{self._place}-wal")
        if create and not (has_changes and schema_of(self._reader) == schema()):
            return  # What it holds is replaced.
        for is_last in attempts(5):
            if self._belongs():
                break
            if is_last:
                raise self._exchanged()

    def _connected(self, place: str) -> sqlite3.Connection:
        """A connection that trusts nothing in the file."""
        db = sqlite3.connect(place, uri=place.startswith("file:"), **OPTIONS)
        db.execute("pragma trusted_schema = off")
        db.execute("pragma cell_size_check = on")
        db.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        db.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 1)
        if sys.version_info >= (3, 12):
            db.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
            db.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_VIEW, False)
        return db

    def _check(self, db: sqlite3.Connection, create: bool) -> None:
        """Refuses what is no index of this version, before any of its tables is read."""
        # A pragma's table could be one of the file's own.
        (application,) = patient(lambda: db.execute("pragma application_id").fetchone())
        (version,) = db.execute("pragma user_version").fetchone()
        if application != APPLICATION:
            raise CheckpointError(f"{self.path}: {NO_INDEX}")
        if create:
            return
        if version // TOKENS != VERSION:
            version = version // TOKENS or version
            raise CheckpointError(
                f"{self.path} has format version {version}; this siamese reads {VERSION}. {REMAKE}"
            )
        if schema_of(db) != schema():
            raise sqlite3.DatabaseError("its tables are not those of an index")

    # ---- The file that is there ----

    def _marks_now(self) -> Marks:
        """The marks of what is at the path; CheckpointError where nothing is."""
        try:
            stat = os.stat(self.path)
        except OSError:
            raise CheckpointError(f"{self.path} {REMOVED}") from None
        beside = inode(f"{self._place}-wal"), inode(f"{self._place}-shm")
        return Marks(
            (stat.st_dev, stat.st_ino), beside, (stat.st_size, stat.st_mtime_ns)
        )

    def _own_token(self) -> int | None:
        """The token in the file's own bytes, without -wal; None where the file is not whole.

        Only SQLite may open the file: closing it would take away the process's locks.
        """
        place = f"file:{quote(os.fsencode(self._place))}?immutable=1"
        try:
            with contextlib.closing(sqlite3.connect(place, uri=True, **OPTIONS)) as db:
                return token_of(db)
        except sqlite3.Error:
            return None

    def _belongs(self) -> bool:
        """Whether -wal belongs to the file, by the token in the file's own bytes."""
        reader = self._reader
        written = self._marks_now().written
        own = self._own_token()  # first: what was written back is in the next view
        try:
            begin_reading(reader)
            with reader:
                token = token_of(reader)
                # Of a content that was known SQLite may have the pages of a former file
                # in memory.
                if token != self._tokens[0]:
                    self._tokens = token, tokens_in(reader)
        except sqlite3.DatabaseError as error:
            if not getattr(error, "sqlite_errorname", "").startswith(MIXTURE):
                raise
            return False
        number = -1 if own is None else self._tokens[1].get(own, -1)
        # An older copy of the same index is another file, too.
        if number < self._own_number:
            return False
        self._own_number = number
        self._own = own
        self._written = written
        return True

    def _exchanged(self) -> Exception:
        wal = f"{self.path}-wal"
        if not size_of(f"{self._place}-wal"):
            return sqlite3.DatabaseError(
                "its first page is not that of its last change"
            )
        return CheckpointError(
            f"{self.path} is not the file that {wal} belongs to: it was exchanged while it was in use, or "
            f"after a kill. Stop what uses it, and delete {wal} and {self.path}-shm, which hold changes of "
            "the former file."
        )

    def _renew(self) -> None:
        """Opens the file again where another is there; CheckpointError: that fails, or it was closed."""
        if self._closed:
            raise CheckpointError(f"{self.path} was closed. Open it again.")
        is_made = self._reader is not None or self._writer is None
        if not is_made or self._is_known():
            return
        for _ in attempts(3):  # A change may come between two looks.
            with self.lock:
                if self._is_known(look=True):
                    return
                if self._marks is None or self._alone or self._is_elsewhere():
                    break
        with self.change_lock, self.lock:
            for is_last in attempts():
                if self._is_known(look=True):
                    return
                try:
                    self._rescue()
                    self._abandon()
                    return self._open()
                except (CheckpointError, sqlite3.DatabaseError) as error:
                    is_steady = not isinstance(error, Unsteady) and not self._is_fresh()
                    if is_last or is_steady:
                        raise

    def _is_known(self, look: bool = False) -> bool:
        """Whether the file is the one that was opened; where it was written to, a `look` decides."""
        now = self._marks_now()
        # There may be space again.
        if self._marks is None or self.read_only == DISK_FULL:
            return False
        if self._marks == now:
            return True
        if look and not self._alone and not self._is_elsewhere() and self._belongs():
            self._marks = now
        return self._marks == now

    def _is_fresh(self) -> bool:
        """Whether somebody has just written to the file: perhaps a copy that is not whole yet."""
        with contextlib.suppress(OSError):
            return abs(time.time() - os.stat(self.path).st_mtime) < COPYING
        return False

    def _is_elsewhere(self) -> bool:
        """Whether another file is at the path, or beside it, than the one that was opened."""
        marks = self._marks
        now = self._marks_now()
        return marks is None or (marks.file, marks.beside) != (now.file, now.beside)

    def _rescue(self) -> None:
        """Writes the changes of a -wal that was removed into the file, if that is still the same."""
        marks = self._marks
        if (
            self._writer is None
            or marks is None
            or marks.file != self._marks_now().file
        ):
            return
        with contextlib.suppress(sqlite3.Error):
            if inode(f"{self._place}-wal") is None and self._belongs():
                self._writer.execute("pragma wal_checkpoint(passive)").fetchall()

    def _is_still(self) -> bool:
        """Whether the file is still the one that was opened, after it was read."""
        if self._marks is None or self.read_only == DISK_FULL:
            return True
        with contextlib.suppress(OSError, CheckpointError, sqlite3.Error):
            stat = os.stat(self.path)
            now = (stat.st_dev, stat.st_ino), (stat.st_size, stat.st_mtime_ns)
            return now == (self._marks.file, self._marks.written) or self._is_known(
                look=True
            )
        return False

    def _is_here(self) -> bool:
        """`_is_still`, during a change."""
        with self.lock:
            return self._is_still()

    def _gone(self) -> Unsteady:
        return Unsteady(f"{self.path} was exchanged meanwhile. Try again.")

    def _abandon(self) -> None:
        """Closes the connections; -wal stays as it is, since the reader's lock outlives the writer."""
        for db in (self._writer, self._reader):
            if db is not None:
                db.close()
        self._reader = self._writer = self._marks = None

    def close(self) -> None:
        """Closes the connections; the last one leaves the database in its one file."""
        self._closed = True  # A change that waits for another process ends.
        with self.change_lock, self.lock:
            with contextlib.suppress(CheckpointError, sqlite3.Error):
                # Of another file at the path neither content nor -wal may be touched.
                if self._writer and self._reader and self._is_known(look=True):
                    self._reader.close()
            self._abandon()

    @contextmanager
    def closed_by_errors(self) -> Iterator[IndexFile]:
        """A context in which an exception closes it."""
        try:
            yield self
        except BaseException:
            self.close()
            raise

    # ---- Transactions ----

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Raises an error of SQLite's as a CheckpointError that says what to do."""
        try:
            yield
        except (
            sqlite3.Error,
            UnicodeDecodeError,
        ) as error:  # A message may quote damaged text.
            name = getattr(error, "sqlite_errorname", "")
            why = next(why for starts, why in PROBLEMS if name.startswith(starts))
            # It may quote what it read.
            what = " ".join(
                str(error)[:200].encode("utf-8", "replace").decode().split()
            )
            raise CheckpointError(f"{self.path}: {why.format(what)}") from error

    @contextmanager
    def transaction(self, change: bool = False) -> Iterator[sqlite3.Connection]:
        """A transaction that sees one moment; a change is made at its end, or not at all.

        A change holds `change_lock` alone, so that others read meanwhile. Unsteady
        where another process has written to a file that is read without locks.
        """
        with (
            self.change_lock if change else contextlib.nullcontext(),
            self._explained(),
        ):
            self._renew()
            with self._changing() if change else self._reading() as db:
                yield db

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self.lock:
            reader = self._reader
            if reader is None:  # Another thread closed it, or could not open it again.
                raise self._gone()
            try:
                begin_reading(reader)
                token = token_of(reader)
            except sqlite3.DatabaseError:
                if self._is_still():
                    raise
                raise self._gone() from None
            try:
                with reader:
                    yield reader
            finally:
                if self._alone and not self._is_steady(token):
                    self._marks = None
                    raise Unsteady(
                        f"{self.path} is being changed by another process, and {self.read_only}. Try again."
                    )
                if not self._is_still():  # What was read may be a mixture.
                    raise self._gone()

    def _is_steady(self, token: int) -> bool:
        """Whether nobody has written to the file since it had this content."""
        try:
            return token_of(self._reader) == token and not size_of(f"{self._place}-wal")
        except sqlite3.Error:
            return False

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        def begin() -> None:
            self._renew()  # The file may have been exchanged while this waited.
            if self.read_only:
                raise CheckpointError(
                    f"{self.path} cannot be changed: {self.read_only}."
                )
            try:
                self._writer.execute("begin immediate")
                self._check_empty_file()
            except BaseException:
                self._writer.rollback()
                self._check_empty_file()  # Of a removed file SQLite reports an error of the disk.
                raise

        patient(begin)
        writer = self._writer
        is_made = self._marks is not None
        with contextlib.ExitStack() as stack:
            stack.callback(writer.rollback)
            try:
                yield writer
                token = self._mark(writer)
            except sqlite3.Error:
                if is_made and not self._is_here():
                    raise self._gone() from None
                raise
            if is_made and not self._is_here():
                raise self._gone()
            patient(writer.commit)
            self.committed = token

    def _mark(self, db: sqlite3.Connection) -> int:
        """Gives the content of a transaction another token."""
        token = (token_of(db) + 1 + secrets.randbelow(TOKENS - 2)) % TOKENS
        # The bytes of a new file are not whole yet.
        own: int | None
        if self._reader is None:
            own = token_of(db)
        elif self._marks is None or self._marks_now().written != self._written:
            own = self._own_token()
        else:
            own = self._own
        query = "select max(number), (select max(number) from change where token = ?) from change"
        last, base = db.execute(query, (own,)).fetchone()
        if not (isinstance(last, int) and isinstance(base, int)):
            raise self._exchanged()
        if last > MOST_ROWS:
            raise sqlite3.DatabaseError(f"its last change is {last}")
        db.execute("insert into change values (?, ?, ?)", (last + 1, token, base))
        db.execute(f"pragma user_version = {VERSION * TOKENS + token}")
        if last % KEPT_TOKENS == 0:
            db.execute(
                "delete from change where number < ?", (min(base, last - KEPT_TOKENS),)
            )
        return token

    @contextmanager
    def made(self, overwrite: bool) -> Iterator[sqlite3.Connection]:
        """A transaction that makes empty tables, with `overwrite` in place of what the file holds.

        Other processes share the file after it. The numbers of rows go on, so that no
        reader takes a new question for an older one. ArgumentError where the file holds
        an index without `overwrite`. After an exception a file that this process has
        made is removed, unless another one has filled it.
        """
        with self.change_lock, self._explained():
            try:
                with self._begun() as db:
                    # A live process may hold the -shm of a removed index. It lies
                    # beside a file without a byte, to which nobody else can write
                    # now. SQLite itself removes such a -wal, and would take that
                    # -shm for the new file's.
                    if not size_of(self._place):
                        with contextlib.suppress(OSError):
                            os.unlink(f"{self._place}-shm")
                    self._make_tables(db, overwrite)
                    yield db
            except BaseException:
                self._remove_new()
                raise
            self._empty_file = None
            with self.lock:
                self._share()
                if self._reader is None:
                    self._open_reader("mode=ro")

    @contextmanager
    def _begun(self) -> Iterator[sqlite3.Connection]:
        """A change of a new file, which is made again if the process that had made it removed it."""
        with contextlib.ExitStack() as stack:
            for is_last in attempts():
                try:
                    db = stack.enter_context(self._changing())
                    break
                except _GoneError:
                    if is_last:
                        raise
                    self._abandon()
                    self._open(create=True)
            yield db

    def _check_empty_file(self) -> None:
        if self._empty_file is not None and inode(self._place) != self._empty_file:
            raise _GoneError(f"{self.path} {REMOVED}")

    def _remove_new(self) -> None:
        """Removes the empty file that this process has made, while nobody else can write to it."""
        if not self._is_new or self._writer is None:
            return
        with contextlib.suppress(sqlite3.Error, OSError):
            try:
                self._writer.execute("begin exclusive")
            except sqlite3.Error as error:
                # On a disk without a free byte nobody can write.
                if getattr(error, "sqlite_errorname", "") not in FULL or size_of(
                    self._place
                ):
                    raise
            if not schema_of(self._writer) and inode(self._place) == self._empty_file:
                os.unlink(self._place)
            self._writer.rollback()

    def _make_tables(self, db: sqlite3.Connection, overwrite: bool) -> None:
        rows = schema_of(db)
        if rows and not overwrite:
            refuse_existing(self.path)
        tables = [
            name for kind, name, *_ in rows if kind == "table" and name[:7] != "sqlite_"
        ]
        is_same = rows == schema()
        last = last_row(db) if is_same else 0
        changes = db.execute("select * from change").fetchall() if is_same else []
        for kind, name, *_ in rows:
            if kind in ("view", "trigger"):
                db.execute(f"drop {kind} {quoted(name)}")
        for name in tables:
            db.execute(f"drop table {quoted(name)}")
        for statement in SCHEMA:
            db.execute(statement)
        if schema_of(db) != schema():
            raise CheckpointError(f"{self.path}: {NO_INDEX}")
        # The file's own bytes keep a former token until this change is written to them.
        tokens = {token for _, token, _ in changes}
        if self._reader is None or self._own_token() not in tokens:
            changes = [(1, token_of(db), 1)]
        db.executemany("insert into change values (?, ?, ?)", changes)
        db.execute("insert into sqlite_sequence values ('question', ?)", (last,))
        write_settings(db, next_id=0)
        db.execute(f"pragma application_id = {APPLICATION}")


def quoted(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


# ---- Waiting ----


def attempts(count: int = 20, pause: float = 0.05) -> Iterator[bool]:
    """Attempts with a pause between them; each says whether it is the last one."""
    for number in range(count):
        if number:
            time.sleep(pause)
        yield number == count - 1


def begin_reading(db: sqlite3.Connection) -> None:
    """Begins a transaction that sees the moment of its beginning."""

    def begin() -> None:
        db.execute("begin")
        try:
            token_of(db)
        except BaseException:
            db.rollback()
            raise

    patient(begin)


Result = TypeVar("Result")


def patient(work: Callable[[], Result]) -> Result:
    """What `work` returns, once no other process has locks that it needs; OperationalError after a minute.

    SQLite itself waits for `STEP` seconds alone, since Ctrl-C has no effect in it.
    """
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return work()
        except sqlite3.OperationalError as error:
            is_busy = getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY")
            if not is_busy or time.monotonic() > end:
                raise
        time.sleep(0.001)
