"""An index in a file, which processes share."""

from __future__ import annotations

import copy
import functools
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import NamedTuple, ParamSpec, TypeVar

import numpy as np

from siamese.encoders.tree import tree_of
from siamese.errors import ArgumentError, CheckpointError, SiameseError
from siamese.groups.answers import AnswerChange, ChangedAnswers
from siamese.groups.grouping import (
    GroupedSnapshot,
    Grouping,
    Snapshot,
    check_of,
    linked_labels,
)
from siamese.index import (
    Added,
    Asked,
    Found,
    ListFacts,
    QuestionIndex,
    stored_groups,
)
from siamese.index import rows as rows_of
from siamese.index.file import (
    REMAKE,
    IndexFile,
    Unsteady,
    attempts,
    settings,
    token_of,
    write_settings,
)
from siamese.index.incoming import Incoming, as_compared, as_read
from siamese.index.ranking import ranked
from siamese.index.rows import State
from siamese.index.stems import UNSURE, asked_stems
from siamese.model import file as model_file
from siamese.model.decision import Questions
from siamese.model.detector import DuplicateDetector, encoded
from siamese.model.near_misses import NearMissCheck
from siamese.reading.pairs import QuestionPairs
from siamese.system.files import refuse_existing
from siamese.system.open_types import JsonMapping, JsonObject
from siamese.text.cleaning import folded
from siamese.text.language import list_languages
from siamese.text.values import json_value


class View(NamedTuple):
    """What an index has in memory, of one moment; it never changes."""

    opened: int  # how often the file was opened
    token: int  # the number of the file's content
    facts: JsonObject  # its settings
    detector: DuplicateDetector
    state: State


Given = ParamSpec("Given")
Result = TypeVar("Result")


def steady(method: Callable[Given, Result]) -> Callable[Given, Result]:
    """A method that begins anew where another process has written to what it read, or exchanged it."""

    @functools.wraps(method)
    def repeated(*args: Given.args, **options: Given.kwargs) -> Result:
        for is_last in attempts():
            try:
                return method(*args, **options)
            except Unsteady:
                if is_last:
                    raise
        raise AssertionError  # The last attempt returns or raises.

    return repeated


class FileIndex(QuestionIndex):
    """A `QuestionIndex` in a file."""

    def __init__(self, detector: DuplicateDetector, file: IndexFile, view: View):
        """For `made` and `opened`: an open file, its model, and what was read of it."""
        self._model = detector
        self._file = file
        self.path = str(file.path)
        self._view = view
        self._has_own_check = False  # that of `use_check`, which the model has then
        with self._moment():
            pass  # It reads what the file has.

    def close(self) -> None:
        """`QuestionIndex.close`."""
        self._file.close()

    @staticmethod
    def check_place(
        detector: DuplicateDetector, path: str | os.PathLike, overwrite: bool
    ) -> None:
        """Refuses, before the work, a file that is there, and a model that no file names."""
        tree_of(detector.encoder)  # An object in Python is refused.
        if not overwrite and os.path.isfile(path) and os.path.getsize(path):
            refuse_existing(path)

    @classmethod
    def made(
        cls,
        path: str | os.PathLike,
        made_by: tuple[DuplicateDetector, str | os.PathLike | None],
        incoming: Incoming,
        vectors: np.ndarray,
        reading: JsonMapping | None,
        overwrite: bool,
    ) -> FileIndex:
        """`QuestionIndex.build`; `made_by` is the model and its path."""
        detector, model = made_by
        with IndexFile(path, create=True).closed_by_errors() as file:
            with file.made(overwrite) as db:
                facts = model_file.index_facts(detector, path, model)
                write_settings(
                    db,
                    **facts,
                    reading=dict(reading or {}),
                    languages=list_languages(
                        incoming.texts, (reading or {}).get("language")
                    )._asdict(),
                )
                _, state = rows_of.insert(db, incoming, vectors)
            view = View(file.opened, file.committed, {}, detector, state)
            return cls(detector, file, view)

    @classmethod
    @steady
    def opened(
        cls,
        path: str | os.PathLike,
        detector: DuplicateDetector | str | os.PathLike | None,
    ) -> FileIndex:
        """`QuestionIndex.open`."""
        with IndexFile(path).closed_by_errors() as file:
            with ThreadPoolExecutor(1) as pool, file.transaction() as db:
                opened = file.opened
                token = token_of(db)
                facts = settings(db)
                loading = pool.submit(model_file.detector_of, path, facts, detector)
                state = State.of(facts["size"]).followed(db)  # meanwhile
            detector = loading.result()
            return cls(detector, file, View(opened, token, {}, detector, state))

    # ---- Changing ----

    @steady
    def _add(self, incoming: Incoming, compared: Sequence[str] | None) -> Added:
        vectors: dict[int, np.ndarray] = {}

        def encode(places: list[int]) -> None:
            late = [at for at in places if at not in vectors]
            vectors.update(zip(late, encoded(self._model, texts, late).vectors))

        # Before the transaction, in which others wait, most of the work is done.
        with self._moment() as (db, view):
            new = rows_of.changes(db, incoming).new
        texts = as_compared(incoming.texts, compared, view.facts["reading"])
        encode(new)
        with self._moment(change=True) as (db, _):
            changes = rows_of.changes(db, incoming)
            encode(changes.new)  # Others may have removed some since.
            rows_of.delete(db, changes.replaced)
            rows_of.write_columns(db, incoming, changes.changed)
            new_vectors = [vectors[at] for at in changes.new]
            new_ids, _ = rows_of.insert(db, incoming.at(changes.new), new_vectors)
            if changes.replaced:
                stored_groups.forget_removed(db)
        ids = changes.ids_with(new_ids)
        return Added(ids, *changes.counts(len(ids)))

    @steady
    def _remove(self, ids: set[str]) -> None:
        with self._moment(change=True) as (db, _):
            row_of = {i: row for row, i, *_ in rows_of.rows_where(db, "id", ids)}
            for i in ids - row_of.keys():
                raise ArgumentError(
                    f"There is no question with the id {i!r} in the index."
                )
            rows_of.delete(db, row_of.values())
            stored_groups.forget_removed(db)

    def use_check(self, check: NearMissCheck | None) -> None:
        """Judges by another near-miss check from now on, or by none: see `QuestionIndex.open`."""
        self._model = self._model.with_check(check)
        self._has_own_check = True
        with self._file.lock:
            self._view = self._view._replace(facts={})  # It is read again.

    @steady
    def set_threshold(self, fit: JsonMapping) -> None:
        """`QuestionIndex.set_threshold`."""
        with self._moment(change=True) as (db, view):
            check = model_file.facts_of_check(view.detector.check)
            write_settings(db, fit=json_value(fit), grouping=None, check=check)

    # ---- What it is ----

    @property
    @steady
    def detector(self) -> DuplicateDetector:
        """`QuestionIndex.detector`."""
        with self._moment() as (_, view):
            return view.detector

    @property
    @steady
    def facts(self) -> ListFacts:
        """`QuestionIndex.facts`."""
        with self._moment() as (_, view):
            facts = view.facts
            languages = rows_of.languages_of(facts) if facts.get("languages") else None
            stored = facts.get("grouping")
            are_of_another = False
            if stored:
                are_of_another = stored["check"] != check_of(view.detector)
            reading = copy.deepcopy(facts["reading"])
            return ListFacts(reading, languages, are_of_another, view)

    @property
    @steady
    def vectors(self) -> np.ndarray:
        """`QuestionIndex.vectors`."""
        with self._moment() as (_, view):
            return view.state.vectors

    @steady
    def snapshot(self) -> Snapshot:
        """`QuestionIndex.snapshot`."""
        with self._moment() as (db, view):
            return stored_groups.snapshot(db, view.state, view.detector)

    # ---- Groups and answers ----

    @steady
    def _grouped(self, threshold: float | None, regroup: bool) -> GroupedSnapshot:
        refused: np.ndarray | None = None
        for _ in attempts(5, pause=0):
            with self._moment() as (db, view):
                state = view.state
                detector = view.detector
                stored = view.facts.get("grouping")
                is_same = stored and stored["check"] == check_of(detector)
                if is_same and not regroup:
                    labels, grouping = stored_groups.read_labels(db, state)
                    grouping.check_threshold(threshold)
                    return stored_groups.grouped_snapshot(
                        db, state, detector, labels, grouping, refused
                    )
                texts = rows_of.texts_of(db, state)
                if self._file.read_only:
                    labels, refused, grouping = _linked(view, texts, threshold)
                    return stored_groups.grouped_snapshot(
                        db, state, detector, labels, grouping, refused
                    )
            # Outside of any transaction: it may take half a minute.
            labels, refused, grouping = _linked(view, texts, threshold)
            with self._moment(change=True) as (db, view):
                now = view.detector
                is_fitted = _how_grouped(now) != _how_grouped(detector)
                anew = threshold is None and is_fitted  # meanwhile
                # Of an exchanged file the groups are others, too.
                if not anew and view.state.lineage is state.lineage:
                    # The end of a change adds the questions that have come meanwhile.
                    stored_groups.write_labels(db, state, labels, view.state, grouping)
                    regroup = False
                if view.state is not state:
                    refused = None  # Its places are those of other questions.
        raise CheckpointError(
            f"{self._file.path} is being changed too often to group it. Try again."
        )

    @steady
    def add_answers(self, pairs: QuestionPairs, *, forget: bool = False) -> int:
        """`QuestionIndex.add_answers`."""
        with self._moment(change=True) as (db, _):
            return stored_groups.add_answers(db, pairs, forget)

    @steady
    def change_answers(self, changes: Sequence[AnswerChange]) -> ChangedAnswers:
        """`QuestionIndex.change_answers`."""
        with self._moment(change=True) as (db, _):
            return stored_groups.change_answers(db, changes)

    @steady
    def answers(self) -> QuestionPairs:
        """`QuestionIndex.answers`."""
        with self._moment() as (db, _):
            return stored_groups.answers_of(db)

    # ---- Asking ----

    @steady
    def _found(self, asked: Asked) -> Found:
        facts = self._view.facts
        queries, words = self._prepared(asked, facts)
        with self._moment() as (db, view):
            names = "reading", "languages"
            if any(view.facts.get(name) != facts.get(name) for name in names):
                queries, words = self._prepared(asked, view.facts)  # It was replaced.
            state = view.state
            counts = None if asked.mode == "vectors" else state.words
            stems = rows_of.stem_numbers(db, [stems for stems, _ in words])
            rankings = list(
                ranked(
                    state.vectors,
                    counts,
                    queries,
                    stems,
                    [code for _, code in words],
                    asked.k,
                    asked.mode,
                    asked.weight,
                )
            )
            entries = rows_of.entries_at(db, state, rankings)
        vectors = [state.vectors[places] for places in rankings]
        return Found(view.detector, queries, vectors, entries, view.facts["reading"])

    def _prepared(
        self, asked: Asked, facts: JsonMapping
    ) -> tuple[np.ndarray, list[tuple[list[str], int]]]:
        """The vectors of what is asked, and the stems and the language of each, by an index's settings."""
        words: list[tuple[list[str], int]] = [([], UNSURE)] * len(asked.texts)
        if asked.mode != "vectors":
            languages = rows_of.languages_of(facts)
            words = [asked_stems(text, languages) for text in asked.texts]
        texts = as_compared(asked.texts, None, facts["reading"])
        return self._model.encode(texts), words

    # ---- The file ----

    @contextmanager
    def _moment(
        self, change: bool = False
    ) -> Iterator[tuple[sqlite3.Connection, View]]:
        """A transaction, and what its moment has; a change is seen by others after its end."""
        file = self._file
        with file.change_lock if change else nullcontext():
            with file.transaction(change) as db:
                view = self._now(db)
                if not change:
                    self._view = view
                yield db, view
                if change:
                    view = self._read(db, view.state)
                    facts = stored_groups.extend(
                        db, view.state, view.detector, view.facts
                    )
                    view = view._replace(facts=facts)
            if change:
                with file.lock:  # It need not be read again.
                    self._view = view._replace(token=file.committed)

    def _now(self, db: sqlite3.Connection) -> View:
        """What the file has, in a transaction."""
        view = self._view
        token = token_of(db)
        if view.facts and (view.opened, view.token) == (self._file.opened, token):
            return view
        # Of another file the same numbers of rows may be other questions.
        ancestor = "select count(*) from change where token = ?"
        is_later = db.execute(ancestor, (view.token,)).fetchone()[0]
        return self._read(
            db, view.state if is_later else State.of(self._model.encoder.size)
        )

    def _read(self, db: sqlite3.Connection, state: State) -> View:
        """Settings and questions of the file, in a transaction; `state` is of an earlier moment."""
        facts = settings(db)
        detector = self._model
        if model_file.fingerprint_of(detector) != facts["model_checksum"]:
            raise CheckpointError(
                f"{self._file.path} was made by another model: their vectors cannot be compared. Open it "
                f"with the model that made it. {REMAKE}"
            )
        size = facts["size"]
        if size != detector.encoder.size:
            raise sqlite3.DatabaseError(
                f"its vectors have {size} numbers each, those of its model others"
            )
        check = facts["check"]
        is_other = model_file.facts_of_check(detector.check) != check
        if is_other and not self._has_own_check:
            detector = detector.with_check(model_file.check_of(check))
        if facts.get("fit"):
            try:
                detector = detector.with_threshold(facts["fit"])
            except SiameseError as error:
                raise sqlite3.DatabaseError(
                    f"its threshold or calibration: {error}"
                ) from error
        return View(
            self._file.opened, token_of(db), facts, detector, state.followed(db)
        )


def _how_grouped(detector: DuplicateDetector) -> list[object]:
    """All of a model that decides about groups, beside its encoder."""
    return [model_file.fit_of(detector), detector.list_cut, check_of(detector)]


def _linked(
    view: View, texts: list[str], threshold: float | None
) -> tuple[np.ndarray, np.ndarray, Grouping]:
    """New groups without the answers, the pairs that were kept apart, and how the groups were made."""
    read = as_read(view.detector, texts, view.facts["reading"])
    questions = Questions(read, view.state.vectors, list(map(folded, texts)))
    grouping = Grouping.of(view.detector, threshold, questions)
    labels, refused = linked_labels(questions, texts, view.detector, grouping)
    return labels, refused, grouping
