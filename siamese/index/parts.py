"""The parts of an index by the values of some columns, each as an index of its own."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from siamese.groups.grouping import GroupedSnapshot, Snapshot
from siamese.groups.within import (
    LANGUAGE,
    Key,
    grouped_within,
    keys_of,
    language_among,
    rows_by_key,
    together,
)
from siamese.index import QuestionIndex
from siamese.index.incoming import Incoming
from siamese.index.memory import ListIndex
from siamese.system.open_types import JsonMapping

# A column and its value; None for the language of each question that is asked.
Within = JsonMapping


class Parts:
    """The questions of an index by the values of columns; what is made is kept until one changes.

    A part is a list in memory, so that a search in it is that of a list with these
    questions alone. The parts that are kept have as many questions as the index at most.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forget(None, None)

    def _forget(self, moment: object, snapshot: Snapshot | None) -> None:
        self._moment = moment
        self._snapshot = snapshot
        self._rows: dict[tuple[str, ...], Mapping[Key, Any]] = {}
        self._made: dict[tuple[tuple[str, ...], Key], QuestionIndex] = {}
        # The last groups, the columns within which they are, and their threshold.
        self._groups: tuple[tuple[str, ...], float | None, GroupedSnapshot] | None = (
            None
        )

    def of_questions(
        self, index: QuestionIndex, texts: Sequence[str], within: Within
    ) -> list[QuestionIndex]:
        """The part of an index in which each question is looked for."""
        names = tuple(within)
        facts = index.facts
        with self._lock:
            snapshot = self._snapshot_of(index, facts.moment)
            reading = facts.reading
            main = reading.get("language")
            if names not in self._rows:
                keys = keys_of(snapshot.entries, names, main)
                self._rows[names] = rows_by_key(keys)
            keys = self._keys(snapshot, texts, within, main)
            return [self._part(snapshot, names, key, reading) for key in keys]

    def grouped(
        self, index: QuestionIndex, names: tuple[str, ...], threshold: float | None
    ) -> GroupedSnapshot:
        """The groups of the questions of equal values of some columns, the largest first."""
        facts = index.facts
        with self._lock:
            snapshot = self._snapshot_of(index, facts.moment)
            if self._groups is None or self._groups[:2] != (names, threshold):
                keys = keys_of(snapshot.entries, names, facts.reading.get("language"))
                parts = grouped_within(snapshot, index.answers(), keys, threshold)
                self._groups = names, threshold, together(snapshot, parts)
            return self._groups[2]

    def _snapshot_of(self, index: QuestionIndex, moment: object) -> Snapshot:
        """The questions, read again after a change."""
        if self._snapshot is None or self._moment is not moment:
            self._forget(moment, index.snapshot())
        assert self._snapshot is not None
        return self._snapshot

    @staticmethod
    def _keys(
        snapshot: Snapshot, texts: Sequence[str], within: Within, main: str | None
    ) -> list[Key]:
        """The values that each question asks for."""
        known: list[str] | None = None
        columns = []
        for name, value in within.items():
            if value is None and name == LANGUAGE:
                known = known or [entry["question"] for entry in snapshot.entries]
                columns.append(language_among(texts, known, main))
            else:
                cell = "" if value is None else str(value).strip()
                columns.append([cell] * len(texts))
        return list(zip(*columns))

    def _part(
        self,
        snapshot: Snapshot,
        names: tuple[str, ...],
        key: Key,
        reading: JsonMapping,
    ) -> QuestionIndex:
        """The questions of some values as an index in memory."""
        if (names, key) in self._made:
            return self._made[names, key]
        rows = self._rows[names].get(key, [])
        entries = [snapshot.entries[row] for row in rows]
        incoming = Incoming(
            [entry["question"] for entry in entries],
            [entry["id"] for entry in entries],
            [entry["columns"] for entry in entries],
        )
        own = snapshot.questions.rows(np.asarray(rows, np.int64))
        made = ListIndex(snapshot.detector, incoming, own, reading)
        if sum(map(len, self._made.values())) + len(made) > len(snapshot.entries):
            self._made.clear()
        self._made[names, key] = made
        return made
