"""The groups that an index stores, and the answers that bind them; in a transaction of its file."""

from __future__ import annotations

import json
import sqlite3
from typing import Any, NamedTuple

import numpy as np

from siamese.data.clusters import connected_groups
from siamese.data.text import folded
from siamese.errors import ArgumentError, DataError
from siamese.search.detector import DuplicateDetector
from siamese.search.groups import Member, bound_labels, groups_of, join_groups
from siamese.search.index.file import settings, write_settings
from siamese.search.index.rows import INSIDE, State, entry, rows_where

# The answers with the questions' texts, in the order in which they came.
ANSWERED_TEXTS = (
    "select one.text, two.text, is_duplicate from answer join question one on one.row = row1 "
    "join question two on two.row = row2 order by answer.rowid"
)


class Snapshot(NamedTuple):
    """An index at one moment; the last two are of `QuestionIndex.grouped`."""

    entries: list[dict[str, Any]]  # id, question and columns of each question
    vectors: np.ndarray  # float32 [questions, d]
    detector: DuplicateDetector
    groups: list[list[Member]]
    threshold: float | None  # of the groups


def snapshot(
    db: sqlite3.Connection,
    state: State,
    detector: DuplicateDetector,
    labels: np.ndarray | None = None,
    threshold: float | None = None,
) -> Snapshot:
    """An index as it is, with the groups of `read_labels`, made to obey the answers, if there are any."""
    entries, groups = [*map(entry, db.execute("select * from question order by row"))], []
    if labels is not None:
        answers = read_answers(db)
        answers = answers[np.isin(answers[:, :2], state.rows).all(axis=1)]
        pairs, same = np.searchsorted(state.rows, answers[:, :2]), answers[:, 2] == 1
        rule = detector.rule(threshold)
        labels = bound_labels(state.vectors, labels, pairs[same], pairs[~same], rule)
        groups = groups_of(state.vectors, labels)
    return Snapshot(entries, state.vectors, detector, groups, threshold)


def read_labels(db: sqlite3.Connection, state: State, threshold: float | None = None) -> np.ndarray:
    """The stored groups, without the answers: int64 labels [questions], equal ones are a group.

    ArgumentError where they were made with another threshold than one that is not None.
    """
    stored = settings(db)["grouping"]["threshold"]
    if threshold not in (None, stored):
        raise ArgumentError(
            f"The index has groups with threshold {stored}. Make them again with {threshold}: "
            f"siamese duplicates INDEX --threshold {threshold} --regroup."
        )
    grouped = db.execute("select row, first from grouped").fetchall()
    places = np.searchsorted(state.rows, np.array(grouped, np.int64).reshape(-1, 2))
    labels = np.arange(len(state.rows))
    labels[places[:, 0]] = places[:, 1]
    return labels


def write_labels(
    db: sqlite3.Connection, state: State, labels: np.ndarray, now: State, threshold: float
) -> None:
    """Replaces the groups, but for the questions of `state` that are gone `now`."""
    live = np.isin(state.rows, now.rows)
    rows, labels = state.rows[live], labels[live]
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    several = np.bincount(inverse)[inverse] > 1
    values = zip(rows[several].tolist(), rows[first][inverse][several].tolist())
    db.execute("delete from grouped")
    db.executemany("insert into grouped values (?, ?)", values)
    write_settings(db, grouping={"threshold": threshold, "last": int(rows.max(initial=0))})


def extend(db: sqlite3.Connection, state: State, detector: DuplicateDetector) -> None:
    """Lets the questions that came after the groups join them, where some are stored.

    Those without any word that the model knows stay alone.
    """
    grouping, rows, vectors = settings(db).get("grouping"), state.rows, state.vectors
    n = int(np.searchsorted(rows, grouping["last"], "right")) if grouping else len(rows)
    if n == len(rows):
        return

    def known(rows: np.ndarray) -> np.ndarray:
        texts = [text for _, _, _, text, _ in rows_where(db, "row", rows.tolist())]
        return rows[~detector.without_known_words(texts)]

    new = np.searchsorted(rows, known(rows[n:]))
    rule = detector.rule(grouping["threshold"])
    similar = np.zeros(n, bool)
    for at in range(0, len(new), 64):
        similar |= (vectors[:n] @ vectors[new[at : at + 64]].T > rule[0]).any(axis=1)
    near = known(rows[:n][similar]).tolist()
    query = f"select row, first from grouped where first in (select first from grouped where row {INSIDE})"
    first_of = dict(zip(near, near)) | dict(db.execute(query, (json.dumps(near),)).fetchall())
    old = vectors[np.searchsorted(rows, np.array([*first_of], np.int64))]
    firsts = np.array([*first_of.values()], np.int64)
    joined = join_groups(old, firsts, vectors[new], rows[new], rule).tolist()
    pairs = [(row, first) for row, first in zip(rows[new].tolist(), joined) if row != first]
    values = [*pairs, *((first, first) for _, first in pairs)]
    db.executemany("insert or ignore into grouped values (?, ?)", values)
    write_settings(db, grouping={**grouping, "last": int(rows[-1])})


# ---- Answers ----


def read_answers(db: sqlite3.Connection) -> np.ndarray:
    """The answers, int64 [answers, 3]: two rows, and whether they are duplicates."""
    return np.array(db.execute("select * from answer").fetchall(), np.int64).reshape(-1, 3)


def add_answers(db: sqlite3.Connection, pairs: Any, forget: bool) -> int:
    """Writes or forgets the answers to stored questions; returns how many. DataError if they contradict."""
    sides = pairs.question1, pairs.question2
    texts = [list(map(folded, side)) for side in sides]
    known = rows_where(db, "folded", {*texts[0], *texts[1]})
    row_of = {text: row for row, _, text, *_ in known[::-1]}
    rows = (map(row_of.get, side) for side in texts)
    answers = [
        (min(pair), max(pair), int(label))
        for *pair, label in zip(*rows, pairs.is_duplicate)
        if all(pair) and pair[0] != pair[1]
    ]
    if forget:
        query = "delete from answer where (row1, row2) = (?, ?)"
        db.executemany(query, [answer[:2] for answer in answers])
    else:
        db.executemany("insert or replace into answer values (?, ?, ?)", answers)
    stored = read_answers(db)
    rows, ends = np.unique(stored[:, :2], return_inverse=True)
    ends, same = ends.reshape(-1, 2), stored[:, 2] == 1
    linked = connected_groups(len(rows), ends[same])
    for pair in ends[~same & (linked[ends[:, 0]] == linked[ends[:, 1]])]:
        texts = [row[3] for row in rows_where(db, "row", rows[pair].tolist())]
        raise DataError(
            f"The answers contradict each other: {texts[0][:80]!r} and {texts[1][:80]!r} differ, and other "
            "answers make them duplicates. None of these answers was stored in the index; correct them."
        )
    return len(answers)
