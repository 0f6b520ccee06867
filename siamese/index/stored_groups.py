"""The groups that an index stores, and the answers that bind them; in a transaction of its file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

import numpy as np

from siamese.encoders.protocol import unknown_texts
from siamese.groups.answers import (
    AnswerChange,
    ChangedAnswers,
    bound_places,
    changed_answers,
    new_answers,
)
from siamese.groups.grouping import (
    GroupedSnapshot,
    Grouping,
    Snapshot,
    bound_labels,
    check_of,
)
from siamese.groups.joining import labels_of_new
from siamese.groups.local import local_means
from siamese.index.file import settings, write_settings
from siamese.index.incoming import as_read
from siamese.index.rows import INSIDE, State, entry, rows_where
from siamese.model.decision import Questions
from siamese.model.detector import DuplicateDetector
from siamese.reading.clusters import answer_key
from siamese.reading.pairs import QuestionPairs
from siamese.system.open_types import JsonObject

_FIRST_TEXT = "(select text from question where folded = {} order by row limit 1)"
# The answers with a text of each side, in the order in which they came.
ANSWERED_TEXTS = (
    f"select {_FIRST_TEXT.format('one')}, {_FIRST_TEXT.format('two')}, is_duplicate from answer "
    "order by rowid"
)
# The questions that have a text of an answer.
ANSWERED_ROWS = (
    "select folded, row from question where folded in (select one from answer union "
    "select two from answer) order by row"
)
# All questions of the groups that have some rows, and the first row of each one's group.
MEMBERS = (
    "select row, first from grouped where first in "
    f"(select first from grouped where row {INSIDE})"
)
NO_ANSWERS = "its answers are not 0 or 1 to two of its questions"


class StoredTexts(Sequence[str]):
    """The questions' texts, each read from the file when it is asked for."""

    def __init__(self, db: sqlite3.Connection, rows: np.ndarray):
        self._db = db
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: Any) -> Any:
        ((*_, text, _),) = rows_where(self._db, "row", [int(self._rows[place])])
        return text


def snapshot(
    db: sqlite3.Connection, state: State, detector: DuplicateDetector
) -> Snapshot:
    """An index as it is."""
    rows = db.execute("select * from question order by row").fetchall()
    entries = list(map(entry, rows))
    if len(entries) != len(state.rows):
        raise sqlite3.DatabaseError("it has not a vector for each question")
    texts = [own["question"] for own in entries]
    read = as_read(detector, texts, settings(db)["reading"])
    questions = Questions(read, state.vectors, [folded for _, _, folded, *_ in rows])
    return Snapshot(entries, questions, detector)


def grouped_snapshot(
    db: sqlite3.Connection,
    state: State,
    detector: DuplicateDetector,
    labels: np.ndarray,
    grouping: Grouping,
    refused: np.ndarray | None,
) -> GroupedSnapshot:
    """An index as it is, with the groups of `read_labels`, made to obey the answers, if there are any."""
    listed = snapshot(db, state, detector)
    same, different = answered_places(db, state)
    rule = grouping.rule(detector, listed.questions)
    labels = bound_labels(state.vectors, labels, same, different, rule, grouping.shifts)
    return listed.with_groups(labels, grouping, refused)


def read_labels(db: sqlite3.Connection, state: State) -> tuple[np.ndarray, Grouping]:
    """The stored groups, without the answers, and how they were made.

    They are int64 labels [questions], equal ones are a group.
    """
    grouping = _read_grouping(db, state, settings(db)["grouping"])
    places = places_of(state, db.execute("select row, first from grouped").fetchall())
    labels = np.arange(len(state.rows))
    labels[places[:, 0]] = places[:, 1]
    return labels, grouping


def _read_grouping(
    db: sqlite3.Connection, state: State, stored: JsonObject
) -> Grouping:
    """How the groups were made, by the setting `grouping`."""
    weight = stored["weight"]
    means = _read_means(db, state) if weight else None
    threshold = stored["threshold"]
    return Grouping(threshold, weight, means, stored["check"], stored["across"])


def _read_means(db: sqlite3.Connection, state: State) -> np.ndarray:
    """The r of each question, float32 [questions], as it was when the question was grouped."""
    stored = dict(db.execute("select row, mean from local"))
    means = [stored.get(row) for row in state.rows.tolist()]
    if not all(type(mean) is float and abs(mean) <= 1 for mean in means):
        raise sqlite3.DatabaseError(
            "its means of local scaling are not numbers of all questions"
        )
    return np.array(means, np.float32)


def places_of(state: State, pairs: list[tuple]) -> np.ndarray:
    """Pairs of rows as places in the index, int64 [pairs, 2]; DatabaseError where it lacks a row."""
    if not all(type(row) is int for pair in pairs for row in pair):
        raise sqlite3.DatabaseError("its groups hold something else than rows")
    rows = np.array(pairs, np.int64).reshape(-1, 2)
    if not np.isin(rows, state.rows).all():
        raise sqlite3.DatabaseError("its groups hold questions that it lacks")
    return np.searchsorted(state.rows, rows)


def write_labels(
    db: sqlite3.Connection,
    state: State,
    labels: np.ndarray,
    now: State,
    grouping: Grouping,
) -> None:
    """Replaces the groups, but for the questions of `state` that are gone `now`."""
    live = np.isin(state.rows, now.rows)
    rows = state.rows[live]
    labels = labels[live]
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    several = np.bincount(inverse)[inverse] > 1
    values = zip(rows[several].tolist(), rows[first][inverse][several].tolist())
    db.execute("delete from grouped")
    db.executemany("insert into grouped values (?, ?)", values)
    db.execute("delete from local")
    stored = grouping._asdict()
    means = stored.pop("means")
    if means is not None:
        _write_means(db, rows, means[live])
    stored["last"] = int(rows.max(initial=0))
    write_settings(db, grouping=stored)


def _write_means(db: sqlite3.Connection, rows: np.ndarray, means: np.ndarray) -> None:
    """Stores r of questions by their rows."""
    db.executemany(
        "insert into local values (?, ?)", zip(rows.tolist(), means.tolist())
    )


def extend(
    db: sqlite3.Connection,
    state: State,
    detector: DuplicateDetector,
    facts: JsonObject,
) -> JsonObject:
    """Lets the questions that came after the groups join them, where some are stored.

    It returns what the settings are after that. Those without any word that the model
    knows stay alone. With local scaling each new question gets its r, and those that
    are there keep theirs until the groups are made again. Groups that another near-miss
    check has made go.
    """
    stored = facts.get("grouping")
    if stored and stored["check"] != check_of(detector):
        write_settings(db, grouping=None)
        return {**facts, "grouping": None}
    rows = state.rows
    if not stored:
        return facts
    n = int(np.searchsorted(rows, stored["last"], "right"))
    if n == len(rows):
        return facts
    if stored["weight"]:
        _write_means(db, rows[n:], local_means(state.vectors, state.vectors[n:]))
    grouping = _read_grouping(db, state, stored)

    def is_known(places: np.ndarray) -> np.ndarray:
        found = rows_where(db, "row", rows[places].tolist())
        return ~unknown_texts(detector.encoder, [text for *_, text, _ in found])

    def groups_with(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        near = rows[places].tolist()
        first_of = dict(zip(near, near))
        first_of.update(db.execute(MEMBERS, (json.dumps(near),)).fetchall())
        members = places_of(state, list(first_of.items()))
        return members[:, 0], members[:, 1]

    read = as_read(detector, StoredTexts(db, rows), facts["reading"])
    rule = grouping.rule(detector, Questions(read, state.vectors))
    labels = labels_of_new(
        state.vectors, n, groups_with, rule, is_known, grouping.shifts
    )
    _write_joined(db, rows[n:], rows[labels])
    stored = {**stored, "last": int(rows[-1])}
    write_settings(db, grouping=stored)
    return {**facts, "grouping": stored}


def _write_joined(db: sqlite3.Connection, rows: np.ndarray, firsts: np.ndarray) -> None:
    """Stores the first row of the group that each row has joined; one that is its own stays alone."""
    pairs = [
        (row, first)
        for row, first in zip(rows.tolist(), firsts.tolist())
        if row != first
    ]
    values = [*pairs, *((first, first) for _, first in pairs)]
    db.executemany("insert or ignore into grouped values (?, ?)", values)


# ---- Answers ----


def answers_of(db: sqlite3.Connection) -> QuestionPairs:
    """The answers as labelled pairs, in the order in which they came."""
    rows = db.execute(ANSWERED_TEXTS).fetchall()
    for *texts, label in rows:
        if not all(isinstance(text, str) for text in texts) or label not in (0, 1):
            raise sqlite3.DatabaseError(NO_ANSWERS)
    return QuestionPairs(
        [one for one, _, _ in rows],
        [two for _, two, _ in rows],
        np.array([label for *_, label in rows], bool),
    )


def answered_places(
    db: sqlite3.Connection, state: State
) -> tuple[np.ndarray, np.ndarray]:
    """What the answers bind, as places in the index: pairs that are the same, and pairs that differ.

    Both are int64 [pairs, 2]. The questions of one answered text are the same.
    """
    answers = db.execute("select * from answer").fetchall()
    if any(is_duplicate not in (0, 1) for *_, is_duplicate in answers):
        raise sqlite3.DatabaseError(NO_ANSWERS)
    try:
        same, different = bound_places(db.execute(ANSWERED_ROWS), answers)
    except KeyError:
        raise sqlite3.DatabaseError(NO_ANSWERS) from None
    rows = state.rows
    return np.searchsorted(rows, same), np.searchsorted(rows, different)


def add_answers(db: sqlite3.Connection, pairs: QuestionPairs, forget: bool) -> int:
    """Writes or forgets the answers to stored questions; returns to how many of the pairs.

    DataError where they contradict each other, or the other answers.
    """
    keys = list(map(answer_key, pairs.question1, pairs.question2))
    known = {
        row[2]
        for row in rows_where(db, "folded", {text for key in keys for text in key})
    }
    places = [place for place, key in enumerate(keys) if known.issuperset(key)]
    if forget:
        db.executemany(
            "delete from answer where (one, two) = (?, ?)", [keys[at] for at in places]
        )
        return len(places)
    answers = new_answers(answers_of(db), pairs.select(places))
    db.executemany("insert or replace into answer values (?, ?, ?)", answers)
    return len(places)


def change_answers(
    db: sqlite3.Connection, changes: Sequence[AnswerChange]
) -> ChangedAnswers:
    """`QuestionIndex.change_answers`."""

    def answer_of(key: tuple[str, str]) -> bool | None:
        query = "select is_duplicate from answer where (one, two) = (?, ?)"
        row = db.execute(query, key).fetchone()
        return None if row is None else bool(row[0])

    def add(pairs: QuestionPairs, forget: bool) -> int:
        return add_answers(db, pairs, forget)

    return changed_answers(changes, answer_of, add)


def forget_removed(db: sqlite3.Connection) -> None:
    """Removes the answers to texts that no question has any more."""
    for side in ("one", "two"):
        db.execute(
            f"delete from answer where {side} not in (select folded from question)"
        )
