"""QuestionIndex: has a new question been asked before? Old questions that are similar to a new one."""

from __future__ import annotations

import copy
import functools
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from siamese.encoders.lstm import Lstm
from siamese.encoders.protocol import valid_unicode
from siamese.encoders.tree import tree_of
from siamese.errors import ArgumentError, CheckpointError, SiameseError
from siamese.index import rows as rows_of
from siamese.index import stored_groups
from siamese.index.file import (
    REMAKE,
    IndexFile,
    Unsteady,
    attempts,
    settings,
    token_of,
    write_settings,
)
from siamese.index.ranking import (
    ENCODER_VECTOR_WEIGHT,
    MODES,
    VECTOR_WEIGHT,
    Hit,
    ranked,
    words_in,
)
from siamese.index.rows import State
from siamese.index.stored_groups import Snapshot
from siamese.model import file as model_file
from siamese.model.detector import DuplicateDetector
from siamese.reading.pairs import QuestionPairs
from siamese.reading.tables import json_value
from siamese.system.arguments import as_number, counted, one_of, whole_number
from siamese.system.files import refuse_existing
from siamese.text.cleaning import has_words
from siamese.text.lists import text_list
from siamese.text.repeated import Repeated
from siamese.text.wrapping import plain_lines

__all__ = ["Added", "Hit", "QuestionIndex", "Snapshot"]


def _as_compared(
    questions: list[str],
    compared: Sequence[str] | None,
    reading: Mapping[str, Any] | None,
) -> list[str]:
    """What is compared of questions: as given, or without what the index's list repeats."""
    if compared is None:
        repeated = Repeated.from_json((reading or {}).get("repeated"))
        if not repeated:
            return questions
        return [repeated.without(plain_lines(text)) for text in questions]
    texts = text_list(compared, "the index")
    if len(texts) != len(questions):
        raise ArgumentError(
            f"{counted(len(texts), 'compared text')} for {counted(len(questions), 'question')}."
        )
    return list(map(valid_unicode, texts))


class Added(NamedTuple):
    """What `QuestionIndex.add` did."""

    ids: list[str]  # of each question
    added: int
    replaced: int
    skipped: int  # They were there.


class View(NamedTuple):
    """What an index has in memory, of one moment; it never changes."""

    opened: int  # how often the file was opened
    token: int  # the number of the file's content
    facts: dict[str, Any]  # its settings
    detector: DuplicateDetector
    state: State


def steady(method: Callable) -> Callable:
    """A method that begins anew where another process has written to what it read, or exchanged it."""

    @functools.wraps(method)
    def repeated(*args: Any, **options: Any) -> Any:
        for attempt in attempts():
            try:
                return method(*args, **options)
            except Unsteady:
                if attempt.last:
                    raise

    return repeated


class QuestionIndex(AbstractContextManager["QuestionIndex"]):
    """Questions encoded once and searched many times; threads and processes may share it.

    Ids are text; whole numbers become their decimal text. What another process changes
    in the file, the next search sees; of a file that was exchanged for another one it
    sees the new one, or raises a CheckpointError. Searches do not wait for changes.
    Close an index that has a file, or use it in a ``with`` block.
    """

    def __init__(self, detector: DuplicateDetector, file: IndexFile, view: View):
        """For `build` and `open`: an open file, its model, and what was read of it."""
        self._model = detector
        self._file = file
        self._view = view
        with self._moment():
            pass  # It reads what the file has.

    @property
    @steady
    def detector(self) -> DuplicateDetector:
        """The model, with the threshold and calibration that the file has now."""
        with self._moment() as (_, view):
            return view.detector

    def __repr__(self) -> str:
        return f"QuestionIndex({counted(len(self), 'question')})"

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    @classmethod
    def build(
        cls,
        detector: DuplicateDetector | str | os.PathLike,
        questions: Sequence[str],
        *,
        ids: Sequence[str | int] | None = None,
        columns: Sequence[Mapping[str, Any]] | None = None,
        compared: Sequence[str] | None = None,
        path: str | os.PathLike | None = None,
        model: str | os.PathLike | None = None,
        reading: Mapping[str, Any] | None = None,
        overwrite: bool = False,
        show_progress: bool = False,
    ) -> QuestionIndex:
        """Encodes questions, and stores them in a file or in memory.

        Args:
          detector: the model, its path, or an encoder's name such as 'use'.
          questions: the texts; equal ones may stand there several times.
          ids: an id of each (text or int, all different); numbers from 0 where None.
          columns: other columns of each question, JSON values, or None.
          compared: what is compared of each question, `QuestionList.compared`; the questions where None.
          path: the file to make; None for memory.
          model: the path of the saved model, which the file names so that `open` finds it.
          reading: how the list was read, which the file keeps for what is added; under 'repeated' what was
            left out of its texts (`Repeated.to_json`), which is left out of queries and additions too.
          overwrite: replace an index that the file holds, at once and as a whole; its threshold and its
            answers go.
          show_progress: show a bar while questions are encoded.

        DataError for a question that is not text or has no words, and for ids that are
        not all different; ArgumentError for ids or columns of another number, and
        without `overwrite` for a file that is there, also one that another process
        makes meanwhile; CheckpointError where the file cannot be written or holds
        something else, or the model's encoder is an object in Python, which no file
        names.
        """
        if not isinstance(detector, DuplicateDetector):
            model = detector
            detector = DuplicateDetector.load(detector)
        questions, ids, columns = rows_of.checked(questions, ids, columns)
        texts = _as_compared(questions, compared, reading)
        if path is not None:
            tree_of(detector.encoder)  # An object in Python is refused.
            if not overwrite and os.path.isfile(path) and os.path.getsize(path):
                refuse_existing(path)  # Before the work, too.
        places = range(len(questions))
        vectors = rows_of.encoded(detector, texts, places, show_progress=show_progress)
        with IndexFile(path, create=True).closed_by_errors() as file:
            with file.made(overwrite) as db:
                facts = model_file.index_facts(detector, path, model)
                write_settings(db, **facts, reading=dict(reading or {}))
                # What is in memory is not stored a second time.
                stored = path is not None
                _, state = rows_of.insert(db, questions, ids, columns, vectors, stored)
            return cls(
                detector, file, View(file.opened, file.committed, {}, detector, state)
            )

    @classmethod
    @steady
    def open(
        cls,
        path: str | os.PathLike,
        detector: DuplicateDetector | str | os.PathLike | None = None,
    ) -> QuestionIndex:
        """Opens the file of an index; CheckpointError: missing, damaged, or made by another model.

        `detector` is its model, or the path of that; the model that the file names
        where None.
        """
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
    def add(
        self,
        questions: Sequence[str] | str,
        *,
        ids: Sequence[str | int] | None = None,
        columns: Sequence[Mapping[str, Any]] | None = None,
        compared: Sequence[str] | None = None,
    ) -> Added:
        """Adds questions, all or none; they are on disk when it returns.

        A question that is stored under its id with the same text and columns is
        skipped; another text, or other columns, replace the stored ones. Without ids a
        question is skipped where a stored one has the same text but for case, blanks
        and quotes; the others get the next free numbers. Where the index has groups,
        each new question joins the one that fits best. `compared` is that of `build`;
        where it is None, what the index's own list repeats is left out. Errors are
        those of `build`.
        """
        texts = [questions] if isinstance(questions, str) else questions
        questions, ids, columns = rows_of.checked(texts, ids, columns)
        vectors: dict[int, np.ndarray] = {}

        def encode(places: list[int]) -> None:
            late = [at for at in places if at not in vectors]
            vectors.update(zip(late, rows_of.encoded(self._model, read, late)))

        with self._moment() as (db, view):
            new, *_ = rows_of.compared(db, questions, ids, columns)
        read = _as_compared(questions, compared, view.facts["reading"])
        encode(new)
        with self._moment(change=True) as (db, _):
            new, replaced, changed, known = rows_of.compared(
                db, questions, ids, columns
            )
            encode(new)  # Others may have removed some since.
            rows_of.delete(db, replaced)
            db.executemany("update question set columns = ? where row = ?", changed)
            some = [
                part and [part[at] for at in new] for part in (questions, ids, columns)
            ]
            new_ids, _ = rows_of.insert(db, *some, [vectors[at] for at in new])
            if replaced:
                stored_groups.forget_removed(db)
        for at, i in zip(new, new_ids):
            known[at] = i
        fresh = len(new) - len(replaced)
        others = len(changed) + len(replaced)
        return Added(known, fresh, others, len(questions) - fresh - others)

    @steady
    def remove(self, ids: Iterable[str | int]) -> int:
        """Removes questions by their ids; returns how many.

        With an unknown id (ArgumentError) none.
        """
        is_one = isinstance(ids, (str, bytes)) or not np.iterable(ids)
        ids = set(map(rows_of.as_id, [ids] if is_one else ids))
        with self._moment(change=True) as (db, _):
            row_of = {i: row for row, i, *_ in rows_of.rows_where(db, "id", ids)}
            for i in ids - row_of.keys():
                raise ArgumentError(
                    f"There is no question with the id {i!r} in the index."
                )
            rows_of.delete(db, row_of.values())
            stored_groups.forget_removed(db)
        return len(ids)

    @steady
    def set_threshold(self, fit: Mapping[str, Any]) -> None:
        """Stores a threshold and a calibration of the index's own; {} brings back those of the model.

        `fit` is as `siamese.evaluation.thresholds.FittedThreshold.to_dict` makes it.
        Stored groups go: the next call of `grouped` makes them by the new threshold.
        """
        with self._moment(change=True) as (db, _):
            write_settings(db, fit=json_value(fit), grouping=None)

    @property
    @steady
    def reading(self) -> dict[str, Any]:
        """How its file was read: the flags, the repeated lines, and the columns that are compared."""
        with self._moment() as (_, view):
            return copy.deepcopy(view.facts["reading"])

    @property
    def vector_weight(self) -> float:
        """The weight of the cosine in hybrid search, 0 to 1; words have the rest."""
        is_lstm = isinstance(self._model.encoder, Lstm)
        return VECTOR_WEIGHT if is_lstm else ENCODER_VECTOR_WEIGHT

    # ---- Groups and answers ----

    @steady
    def grouped(
        self, threshold: float | None = None, *, regroup: bool = False
    ) -> Snapshot:
        """The groups of duplicates, with the questions and vectors of the same moment.

        They are as those of `siamese.duplicate_groups`. The first call makes and stores
        them, and `add` extends them; `regroup` makes them again. A pair that was
        answered "duplicate" shares a group, and a pair that was answered "different"
        never does. Questions without any word that the model knows are in no group but
        by an answer. The threshold is that of the stored groups where it is None, else
        the index's own. ArgumentError where the stored ones were made with another
        threshold.
        """
        for _ in attempts(5, pause=0):
            with self._moment() as (db, view):
                state = view.state
                detector = view.detector
                stored = view.facts.get("grouping")
                if stored and not regroup:
                    linked, cut = stored_groups.read_labels(db, state, threshold)
                    return stored_groups.snapshot(db, state, detector, linked, cut)
                texts = rows_of.texts_of(db, state)
                if self._file.read_only:
                    linked, cut = stored_groups.linked(
                        state, texts, detector, threshold
                    )
                    return stored_groups.snapshot(db, state, detector, linked, cut)
            linked, cut = stored_groups.linked(state, texts, detector, threshold)
            with self._moment(change=True) as (db, view):
                now = view.detector
                is_fitted = (now.fit, now.list_cut) != (detector.fit, detector.list_cut)
                anew = threshold is None and is_fitted  # meanwhile
                # Of an exchanged file the groups are others, too.
                if not anew and view.state.lineage is state.lineage:
                    # The end of a change adds the questions that have come meanwhile.
                    stored_groups.write_labels(db, state, linked, view.state, cut)
                    regroup = False
        raise CheckpointError(
            f"{self._file.path} is being changed too often to group it. Try again."
        )

    @steady
    def snapshot(self) -> Snapshot:
        """The questions, vectors and model of one moment, without groups."""
        with self._moment() as (db, view):
            return stored_groups.snapshot(db, view.state, view.detector)

    @steady
    def add_answers(self, pairs: Any, *, forget: bool = False) -> int:
        """Stores your answers to pairs, `QuestionPairs`; they bind the groups. Returns how many it took.

        An answer holds for all questions that have these texts but for case, blanks and
        quotes, also for those that are added later, and replaces an earlier one to the
        same pair. A pair is left out where the index lacks one of its questions. With
        `forget` the answers to these pairs are removed instead. DataError where answers
        contradict each other; none of the pairs is stored then.
        """
        with self._moment(change=True) as (db, _):
            return stored_groups.add_answers(db, pairs, forget)

    @steady
    def change_answer(
        self,
        question1: str,
        question2: str,
        is_duplicate: bool | None,
        before: bool | None,
    ) -> bool | None:
        """Changes the answer to one pair if it still is `before`; returns the answer at the end.

        None stands for no answer. So two people who answer at once never replace, or
        take back, each other's answer: another value than `is_duplicate` comes back.
        Errors are those of `add_answers`.
        """
        with self._moment(change=True) as (db, _):
            pair = (question1, question2)
            return stored_groups.change_answer(db, pair, is_duplicate, before)

    @steady
    def answers(self) -> QuestionPairs:
        """The answers that the index has, as labelled pairs."""
        with self._moment() as (db, _):
            return stored_groups.answers_of(db)

    # ---- Asking ----

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    @steady
    def vectors(self) -> np.ndarray:
        """The questions' vectors, float32 [questions, d], read-only.

        They are the same array until a question changes.
        """
        with self._moment() as (_, view):
            return view.state.vectors

    @property
    def entries(self) -> list[dict[str, Any]]:
        """Each question as a dict: id, question, columns. It reads all of them."""
        return self.snapshot().entries

    @property
    @steady
    def column_names(self) -> list[str]:
        """The names of the columns that questions have, in the order in which they appear."""
        query = "select distinct key from question, json_each(question.columns)"
        with self._moment() as (db, _):
            return [name for (name,) in db.execute(query)]

    @steady
    def search(
        self,
        questions: str | Sequence[str],
        k: int = 10,
        *,
        mode: str = "hybrid",
        threshold: float | None = None,
        vector_weight: float | None = None,
    ) -> list[Any]:
        """The k best questions of the index, best first; none for a question without words.

        Args:
          questions: a new question, or a list of them.
          k: how many to find; all there are where the index is smaller.
          mode: order by cosine ('vectors'), by BM25, of what shares a word's stem ('words'), or by both
            (`siamese.index.ranking.joined_scores`). A hit's figures stay what they are.
          threshold: score above which `Hit.is_duplicate` is True; the index's own where None.
          vector_weight: the weight of the cosine in hybrid search; the property's where None.

        Returns:
          A list of `Hit`, or for a list of questions a list of such lists. ArgumentError for k below 1,
          another mode, or a weight outside 0 to 1.
        """
        k = whole_number(k, "k", 1)
        one_of(mode, "mode", MODES)
        asked = (
            [questions]
            if isinstance(questions, str)
            else text_list(questions, "search")
        )
        read = self._view.facts["reading"]
        queries = self._model.encode(_as_compared(asked, None, read))
        words = [[] if mode == "vectors" else words_in(text) for text in asked]
        weight = self.vector_weight if vector_weight is None else vector_weight
        weight = as_number(weight, "vector_weight", 0, 1)
        for attempt in attempts(5, pause=0):
            with self._moment() as (db, view):
                state = view.state
                detector = view.detector
                if view.facts["reading"] != read:  # The index was replaced.
                    read = view.facts["reading"]
                    queries = self._model.encode(_as_compared(asked, None, read))
                stems = rows_of.stem_numbers(db, words)
                # Changes come faster than it ranks: within one moment.
                if attempt.last:
                    rankings = [*ranked(state, queries, stems, k, mode, weight)]
                    by_row = rows_of.hits_of(db, state, rankings)
                    if by_row is None:
                        raise sqlite3.DatabaseError(
                            "it has vectors of questions that it lacks"
                        )
                    break
            rankings = [*ranked(state, queries, stems, k, mode, weight)]
            with self._moment() as (db, view):
                by_row = rows_of.hits_of(db, state, rankings)
                if by_row is not None and view.state.lineage is state.lineage:
                    break  # Else a question was removed meanwhile.
        answers = []
        for places, query, text in zip(rankings, queries, asked):
            entries = [
                rows_of.entry(by_row[row]) for row in state.rows[places].tolist()
            ]
            judged = detector.judged(state.vectors[places], query[None], threshold)
            rows = zip(entries, judged)
            hits = [Hit(e["id"], e["question"], *own, e["columns"]) for e, own in rows]
            answers.append(hits if query.any() or has_words(text) else [])
        return answers[0] if isinstance(questions, str) else answers

    def export(self, path: str | os.PathLike, *, overwrite: bool = False) -> int:
        """Writes the questions as a Parquet file, for engines beyond one machine; returns how many.

        Its columns: ``id`` and ``question`` (text), the columns that the questions have
        (text; of a taken name with ``column_`` before it) and ``vector`` (a list of d
        float32). It needs pyarrow. ArgumentError for a file that is there without
        `overwrite`, that is the index itself, or that cannot be written.
        """
        own = self._file.path
        if (
            own
            and all(map(os.path.exists, (own, path)))
            and os.path.samefile(own, path)
        ):
            raise ArgumentError(f"{path} is the index itself. Name another output.")
        entries, vectors, *_ = self.snapshot()
        return rows_of.export_parquet(path, entries, vectors, overwrite)

    # ---- The file ----

    @contextmanager
    def _moment(self, change: bool = False) -> Iterator[tuple[Any, View]]:
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

    def _now(self, db: Any) -> View:
        """What the file has, in a transaction."""
        view = self._view
        token = token_of(db)
        if view.facts and (view.opened, view.token) == (self._file.opened, token):
            return view
        # Of another file the same numbers of rows may be other questions.
        ancestor = "select count(*) from change where token = ?"
        is_later = db.execute(ancestor, (view.token,)).fetchone()[0]
        return self._read(
            db, view.state if is_later else State.of(self._model.output_size)
        )

    def _read(self, db: Any, state: State) -> View:
        """Settings and questions of the file, in a transaction; `state` is of an earlier moment."""
        facts = settings(db)
        if self._model.checksum != facts["model_checksum"]:
            raise CheckpointError(
                f"{self._file.path} was made by another model: their vectors cannot be compared. Open it "
                f"with the model that made it. {REMAKE}"
            )
        detector = self._model
        size = facts["size"]
        if size != detector.output_size:
            raise sqlite3.DatabaseError(
                f"its vectors have {size} numbers each, those of its model others"
            )
        if facts.get("fit"):
            try:
                detector = detector.with_fit(facts["fit"])
            except SiameseError as error:
                raise sqlite3.DatabaseError(
                    f"its threshold or calibration: {error}"
                ) from error
        return View(
            self._file.opened, token_of(db), facts, detector, state.followed(db)
        )
