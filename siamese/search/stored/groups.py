"""The groups that an index stores, and the answers that bind them; in a transaction of its file."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import numpy as np

from siamese.data.clusters import connected_groups
from siamese.data.text import folded
from siamese.errors import ArgumentError, DataError
from siamese.search.groups import bound_labels, join_groups
from siamese.search.linkage import average_linkage
from siamese.search.nearest import similar_rows
from siamese.search.stored.file import all_rows, rows_where, settings, text_key, write_settings
from siamese.search.stored.ranking import State


def read(
    db: sqlite3.Connection, state: State, threshold: float | None, largest: int | None
) -> np.ndarray | None:
    """The label of each question, int64: equal ones are a group. None where no groups are stored.

    Raises:
      ArgumentError: they were made with another threshold or bound.
    """
    grouping = settings(db).get("grouping")
    if not grouping:
        return None
    for name, value in (("threshold", threshold), ("largest", largest)):
        if value is not None and value != grouping[name]:
            raise ArgumentError(
                f"The index has groups with {name} {grouping[name]}. Make them again with {value}: "
                f"siamese duplicates INDEX --{name} {value} --regroup."
            )
    first = dict(db.execute("select row, first from grouped").fetchall())
    labels = [first.get(row, row) for row in state.rows.tolist()]
    return np.unique(labels, return_inverse=True)[1]


def make(
    state: State, answers: np.ndarray, unknown: np.ndarray, threshold: float, largest: int | None
) -> np.ndarray:
    """Groups by average linkage that obey the answers, int64 labels; `unknown` rows are left alone."""
    alone = np.isin(state.rows, unknown)
    vectors = state.vectors[~alone] if alone.any() else state.vectors
    labels = np.arange(len(alone))
    joined = average_linkage(vectors, threshold, largest)
    labels[~alone] = joined + len(alone)
    labels = np.unique(labels, return_inverse=True)[1]
    answers = answers[np.isin(answers[:, :2], state.rows).all(axis=1)]
    pairs = np.searchsorted(state.rows, answers[:, :2])
    same = answers[:, 2] == 1
    return bound_labels(state.vectors, labels, pairs[same], pairs[~same], threshold)


def write(
    db: sqlite3.Connection, state: State, labels: np.ndarray, threshold: float, largest: int | None
) -> None:
    """Writes all groups anew; questions of the state that are gone are left out."""
    live = np.isin(state.rows, all_rows(db))
    rows, labels = state.rows[live], labels[live]
    _, first, inverse, counts = np.unique(
        labels, return_index=True, return_inverse=True, return_counts=True
    )
    several = counts[inverse] > 1
    heads = rows[first][inverse]
    db.execute("delete from grouped")
    values = zip(rows[several].tolist(), heads[several].tolist())
    db.executemany("insert into grouped values (?, ?)", values)
    write_settings(db, grouping={"threshold": threshold, "largest": largest})


def extend(db: sqlite3.Connection, state: State, last: int) -> None:
    """Lets the questions after a row join the groups, where some are stored."""
    rows, vectors = state.rows, state.vectors
    n = int(np.searchsorted(rows, last, "right"))
    grouping, unknown = settings(db).get("grouping"), all_rows(db, "unknown")
    new = n + np.flatnonzero(~np.isin(rows[n:], unknown))
    if not grouping or not len(new):
        return
    near = rows[similar_rows(vectors[:n], vectors[new], grouping["threshold"])]
    near = near[~np.isin(near, unknown)].tolist()
    inside = "in (select value from json_each(?))"
    query = f"select row, first from grouped where first in (select first from grouped where row {inside})"
    labels = {
        **{row: row for row in near},
        **dict(db.execute(query, (json.dumps(near),)).fetchall()),
    }
    some = np.array(sorted(labels), np.int64)
    firsts = np.array([labels[row] for row in some.tolist()], np.int64)
    old = vectors[np.searchsorted(rows, some)]
    joined = join_groups(old, firsts, vectors[new], rows[new], **grouping).tolist()
    pairs = [(row, first) for row, first in zip(rows[new].tolist(), joined) if row != first]
    values = [*pairs, *((first, first) for _, first in pairs)]
    db.executemany("insert or ignore into grouped values (?, ?)", values)


# ---- Answers ----


def read_answers(db: sqlite3.Connection) -> np.ndarray:
    """The answers, int64 [answers, 3]: two rows, and whether they are duplicates."""
    return np.array(db.execute("select * from answer").fetchall(), np.int64).reshape(-1, 3)


def answered_texts(db: sqlite3.Connection) -> list[tuple[str, str, int]]:
    """The answers with the questions' texts."""
    query = (
        "select one.text, two.text, is_duplicate from answer join question one on one.row = row1 "
        "join question two on two.row = row2 order by answer.rowid"
    )
    return db.execute(query).fetchall()


def add_answers(db: sqlite3.Connection, pairs: Any, forget: bool) -> int:
    """Writes, or forgets, the answers to those pairs whose questions are stored; returns how many.

    Groups that one of them contradicts, or that it shaped, are made again when they are asked for.

    Raises:
      DataError: two questions were answered "different", and by way of others "duplicate".
    """
    sides = pairs.question1, pairs.question2
    keys = [[text_key(folded(text)) for text in side] for side in sides]
    stored = rows_where(db, "key", [*{*keys[0], *keys[1]}])
    row_of = {key: row for row, _, key, *_ in sorted(stored, reverse=True)}
    answers = []
    for key1, key2, label in zip(*keys, pairs.is_duplicate):
        row1, row2 = row_of.get(key1), row_of.get(key2)
        if row1 and row2 and row1 != row2:
            answers.append((min(row1, row2), max(row1, row2), int(label)))
    if forget:
        query = "delete from answer where (row1, row2) = (?, ?)"
        if db.executemany(query, [answer[:2] for answer in answers]).rowcount:
            write_settings(db, grouping=None)
        return len(answers)
    db.executemany("insert or replace into answer values (?, ?, ?)", answers)
    _check_answers(db)
    query = (
        "select count(*) from answer left join grouped one on one.row = row1 "
        "left join grouped two on two.row = row2 "
        "where is_duplicate != (coalesce(one.first, row1) = coalesce(two.first, row2))"
    )
    if db.execute(query).fetchone()[0]:
        write_settings(db, grouping=None)
    return len(answers)


def _check_answers(db: sqlite3.Connection) -> None:
    """Raises a DataError where answers contradict each other."""
    answers = read_answers(db)
    rows, ends = np.unique(answers[:, :2], return_inverse=True)
    ends, same = ends.reshape(-1, 2), answers[:, 2] == 1
    linked = connected_groups(len(rows), ends[same])
    for pair in ends[~same & (linked[ends[:, 0]] == linked[ends[:, 1]])]:
        texts = [row[3] for row in rows_where(db, "row", rows[pair].tolist())]
        raise DataError(
            f"The answers contradict each other: {texts[0][:80]!r} and {texts[1][:80]!r} differ, and other "
            "answers make them duplicates. None of these answers was stored in the index; correct them."
        )
