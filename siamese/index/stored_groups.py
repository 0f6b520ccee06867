"""The groups that an index stores, and the answers that bind them; in a transaction of its file."""

from __future__ import annotations

import json
import sqlite3
from typing import Any, NamedTuple

import numpy as np

from siamese.errors import ArgumentError
from siamese.groups.grouping import (
    Member,
    Rule,
    bound_labels,
    groups_of,
    join_groups,
    linked_labels,
)
from siamese.groups.local import local_means
from siamese.index.file import settings, write_settings
from siamese.index.rows import INSIDE, State, entry, rows_where
from siamese.model.detector import DuplicateDetector
from siamese.reading.clusters import answer_key, check_answers
from siamese.reading.pairs import QuestionPairs
from siamese.system.arguments import as_number

ANSWER = ("question1", "question2", "is_duplicate")
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


class Cut(NamedTuple):
    """How groups are made: from which mean cosine on, less the shifts of local scaling."""

    threshold: float
    weight: float = 0.0  # of local scaling, see `siamese.groups.local`
    # float32 [questions], its r; None where the weight is 0
    means: np.ndarray | None = None

    @property
    def shifts(self) -> np.ndarray | None:
        """What is taken off the cosines of each question, float32 [questions]."""
        return None if self.means is None else self.means * np.float32(self.weight / 2)

    def rule(self, detector: DuplicateDetector) -> Rule:
        """The threshold, and what else decides about groups."""
        return (self.threshold, None) if self.weight else detector.rule(self.threshold)


class Snapshot(NamedTuple):
    """An index at one moment; the last three are of `QuestionIndex.grouped`."""

    entries: list[dict[str, Any]]  # id, question and columns of each question
    vectors: np.ndarray  # float32 [questions, d]
    detector: DuplicateDetector
    groups: list[list[Member]]
    threshold: float | None  # of the groups
    weight: float = 0.0  # of local scaling in them, see `siamese.groups.local`


def snapshot(
    db: sqlite3.Connection,
    state: State,
    detector: DuplicateDetector,
    labels: np.ndarray | None = None,
    cut: Cut | None = None,
) -> Snapshot:
    """An index as it is, with the groups of `read_labels`, made to obey the answers, if there are any."""
    entries = [*map(entry, db.execute("select * from question order by row"))]
    groups = []
    if len(entries) != len(state.rows):
        raise sqlite3.DatabaseError("it has not a vector for each question")
    if labels is not None:
        same, different = answered_places(db, state)
        rule = cut.rule(detector)
        labels = bound_labels(state.vectors, labels, same, different, rule, cut.shifts)
        groups = groups_of(state.vectors, labels)
    threshold, weight = (None, 0.0) if cut is None else cut[:2]
    return Snapshot(entries, state.vectors, detector, groups, threshold, weight)


def linked(
    state: State, texts: list[str], detector: DuplicateDetector, threshold: float | None
) -> tuple[np.ndarray, Cut]:
    """New groups without the answers, as `read_labels` has them; by the detector where None is given."""
    cut = Cut(*detector.list_cut)
    if threshold is not None:
        cut = Cut(as_number(threshold, "threshold", -1, 1))
    elif cut.weight:
        cut = cut._replace(means=local_means(state.vectors))
    return linked_labels(state.vectors, texts, detector, cut.threshold, cut.shifts), cut


def read_labels(
    db: sqlite3.Connection, state: State, threshold: float | None = None
) -> tuple[np.ndarray, Cut]:
    """The stored groups, without the answers, and how they were made.

    They are int64 labels [questions], equal ones are a group. ArgumentError where they
    were made with another threshold than one that is not None.
    """
    stored = settings(db)["grouping"]
    cut = stored["threshold"]
    weight = stored["weight"]
    if threshold is not None and (threshold, 0.0) != (cut, weight):
        how = f"threshold {cut}" + f" and local scaling with weight {weight:g}" * bool(
            weight
        )
        raise ArgumentError(
            f"The index has groups with {how}. Make them again with {threshold}: "
            f"siamese duplicates INDEX --threshold {threshold} --regroup."
        )
    places = places_of(state, db.execute("select row, first from grouped").fetchall())
    labels = np.arange(len(state.rows))
    labels[places[:, 0]] = places[:, 1]
    return labels, Cut(cut, weight, _read_means(db, state) if weight else None)


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
    db: sqlite3.Connection, state: State, labels: np.ndarray, now: State, cut: Cut
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
    if cut.means is not None:
        _write_means(db, rows, cut.means[live])
    last = int(rows.max(initial=0))
    write_settings(
        db, grouping={"threshold": cut.threshold, "weight": cut.weight, "last": last}
    )


def _write_means(db: sqlite3.Connection, rows: np.ndarray, means: np.ndarray) -> None:
    """Stores r of questions by their rows."""
    db.executemany(
        "insert into local values (?, ?)", zip(rows.tolist(), means.tolist())
    )


def extend(
    db: sqlite3.Connection,
    state: State,
    detector: DuplicateDetector,
    facts: dict[str, Any],
) -> dict[str, Any]:
    """Lets the questions that came after the groups join them, where some are stored.

    It returns what the settings are after that. Those without any word that the model
    knows stay alone. With local scaling each new question gets its r, and those that
    are there keep theirs until the groups are made again.
    """
    grouping = facts.get("grouping")
    rows = state.rows
    vectors = state.vectors
    n = int(np.searchsorted(rows, grouping["last"], "right")) if grouping else len(rows)
    if n == len(rows):
        return facts

    def known(rows: np.ndarray) -> np.ndarray:
        texts = [text for _, _, _, text, _ in rows_where(db, "row", rows.tolist())]
        return rows[~detector.without_known_words(texts)]

    cut = Cut(grouping["threshold"], grouping["weight"])
    shifts = np.zeros(len(rows), np.float32)
    if cut.weight:
        _write_means(db, rows[n:], local_means(vectors, vectors[n:]))
        shifts = cut._replace(means=_read_means(db, state)).shifts
    new = np.searchsorted(rows, known(rows[n:]))
    rule = cut.rule(detector)
    similar = np.zeros(n, bool)
    for at in range(0, len(new), 64):
        some = new[at : at + 64]
        cosines = vectors[:n] @ vectors[some].T
        if cut.weight:
            cosines -= shifts[:n, None] + shifts[some]
        similar |= (cosines > rule[0]).any(axis=1)
    near = known(rows[:n][similar]).tolist()
    query = f"select row, first from grouped where first in (select first from grouped where row {INSIDE})"
    first_of = dict(zip(near, near)) | dict(
        db.execute(query, (json.dumps(near),)).fetchall()
    )
    old = places_of(state, list(first_of.items()))[:, 0]
    firsts = np.array([*first_of.values()], np.int64)
    own = shifts[np.append(old, new)]
    joined = join_groups(
        vectors[old], firsts, vectors[new], rows[new], rule, own
    ).tolist()
    pairs = [
        (row, first) for row, first in zip(rows[new].tolist(), joined) if row != first
    ]
    values = [*pairs, *((first, first) for _, first in pairs)]
    db.executemany("insert or ignore into grouped values (?, ?)", values)
    grouping = {**grouping, "last": int(rows[-1])}
    write_settings(db, grouping=grouping)
    return {**facts, "grouping": grouping}


# ---- Answers ----


def answers_of(db: sqlite3.Connection) -> QuestionPairs:
    """The answers as labelled pairs, in the order in which they came."""
    rows = db.execute(ANSWERED_TEXTS).fetchall()
    for *texts, label in rows:
        if not all(isinstance(text, str) for text in texts) or label not in (0, 1):
            raise sqlite3.DatabaseError(
                "its answers are not 0 or 1 to two of its questions"
            )
    return QuestionPairs(*map(list, zip(*rows))) if rows else QuestionPairs([], [], [])


def answered_places(
    db: sqlite3.Connection, state: State
) -> tuple[np.ndarray, np.ndarray]:
    """What the answers bind, as places in the index: pairs that are the same, and pairs that differ.

    Both are int64 [pairs, 2]. The questions of one answered text are the same.
    """
    first: dict[str, int] = {}
    same = []
    different = []
    for text, row in db.execute(ANSWERED_ROWS):
        if first.setdefault(text, row) != row:
            same.append((first[text], row))
    for one, two, is_duplicate in db.execute("select * from answer"):
        if one not in first or two not in first or is_duplicate not in (0, 1):
            raise sqlite3.DatabaseError(
                "its answers are not 0 or 1 to two of its questions"
            )
        (same if is_duplicate else different).append((first[one], first[two]))
    pairs = (np.array(rows, np.int64).reshape(-1, 2) for rows in (same, different))
    same_places, different_places = (
        np.searchsorted(state.rows, rows) for rows in pairs
    )
    return same_places, different_places


def add_answers(db: sqlite3.Connection, pairs: Any, forget: bool) -> int:
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
    new = {keys[at] for at in places}
    earlier = answers_of(db)
    earlier_keys = map(answer_key, earlier.question1, earlier.question2)
    rest = [at for at, key in enumerate(earlier_keys) if key not in new]
    parts = earlier.select(rest), pairs.select(places)
    columns = [[*getattr(parts[0], name), *getattr(parts[1], name)] for name in ANSWER]
    check_answers(QuestionPairs(*columns))
    rows = [
        (*keys[at], int(pairs.is_duplicate[at]))
        for at in places
        if len({*keys[at]}) == 2
    ]
    db.executemany("insert or replace into answer values (?, ?, ?)", rows)
    return len(places)


def change_answer(
    db: sqlite3.Connection,
    pair: tuple[str, str],
    is_duplicate: bool | None,
    before: bool | None,
) -> bool | None:
    """`QuestionIndex.change_answer`."""
    query = "select is_duplicate from answer where (one, two) = (?, ?)"
    row = db.execute(query, answer_key(*pair)).fetchone()
    now = None if row is None else bool(row[0])
    if now != before or now == is_duplicate:
        return now
    forget = is_duplicate is None
    label = bool(before if is_duplicate is None else is_duplicate)
    stored = add_answers(db, QuestionPairs([pair[0]], [pair[1]], [label]), forget)
    return is_duplicate if stored else None


def forget_removed(db: sqlite3.Connection) -> None:
    """Removes the answers to texts that no question has any more."""
    for side in ("one", "two"):
        db.execute(
            f"delete from answer where {side} not in (select folded from question)"
        )
