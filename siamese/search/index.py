"""QuestionIndex: has a new question been asked before? Old questions that are similar to a new one."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from siamese.data.arguments import as_number, one_of, text_list, whole_number
from siamese.data.pairs import QuestionPairs
from siamese.errors import ArgumentError, CheckpointError
from siamese.search.detector import DuplicateDetector
from siamese.search.groups import Member, groups_of
from siamese.search.lexical import DEPTH, ENCODER_VECTOR_WEIGHT, VECTOR_WEIGHT, words_in
from siamese.search.nearest import NONE
from siamese.search.stored import changes
from siamese.search.stored import file as index_file
from siamese.search.stored import groups as stored_groups
from siamese.search.stored.changes import Added
from siamese.search.stored.file import IndexFile
from siamese.search.stored.model import detector_of, model_facts
from siamese.search.stored.ranking import MODES, State, hits_of, left_out, ranked, same_marked


class QuestionIndex:
    """Questions encoded once and searched many times; threads and processes may share it.

    Ids are text; whole numbers become their decimal text. What another process changes in the file, the
    next search sees. Close an index that has a file, or use it in a ``with`` block.

    Example:
      >>> detector = DuplicateDetector.load("demo")  # doctest: +SKIP
      >>> index = QuestionIndex.build(detector, ["How old are you?", "Is it far?"])  # doctest: +SKIP
      >>> index.search("What is your age?", k=1)[0].question  # doctest: +SKIP
      'How old are you?'
    """

    def __init__(self, detector: DuplicateDetector, file: IndexFile):
        """Takes an open file whose model is `detector`; `build` and `open` call it."""
        self._detector, self._file = detector, file
        self._model = detector  # without the index's own threshold
        self._lock = threading.RLock()  # held while the connection is used
        self._state, self._version = State.empty(detector.output_size), -1
        self._weight, self._fit = VECTOR_WEIGHT, None
        self._columns: tuple[State, dict] = self._state, {}  # column -> value -> rows

    @property
    def detector(self) -> DuplicateDetector:
        """The model, with the threshold and calibration that the file has now."""
        self._current()
        return self._detector

    def __repr__(self) -> str:
        return f"QuestionIndex({len(self):,} questions)"

    def __enter__(self) -> QuestionIndex:
        return self

    def __exit__(self, *exception) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            self._file.close()

    @classmethod
    def build(
        cls,
        detector: DuplicateDetector,
        questions: Sequence[str],
        *,
        ids: Sequence[str | int] | None = None,
        columns: Sequence[Mapping[str, Any]] | None = None,
        path: str | os.PathLike | None = None,
        model: str | os.PathLike | None = None,
        processes: int | None = None,
        show_progress: bool = False,
    ) -> QuestionIndex:
        """Encodes questions, and stores them in a file or in memory.

        Args:
          detector: the model.
          questions: the texts; equal ones may stand there several times.
          ids: an id of each (text or int, all different); numbers from 0 where None.
          columns: other columns of each question, JSON values, or None.
          path: the file; an index that it holds is replaced, at once and as a whole. None for memory.
          model: the path of the saved model, which the file names so that `open` finds it.
          processes: how many cores a pretrained encoder works on; every core where None.
          show_progress: show a bar while questions are encoded.

        Raises:
          DataError: a question that is not text or has no words, or ids that are not all different.
          ArgumentError: ids or columns of another number.
          CheckpointError: the file cannot be written, or holds something else.
        """
        questions, ids, columns = changes.checked(questions, ids, columns)
        options = {"processes": processes, "show_progress": show_progress}
        vectors = changes.encoded(detector, questions, range(len(questions)), **options)
        file = IndexFile(path, create=True)
        try:
            index = cls(detector, file)
            with file.writing() as db:
                file.make(db)
                weight = VECTOR_WEIGHT if detector.encoder is None else ENCODER_VECTOR_WEIGHT
                # The rows of another index in this file are never taken for these.
                facts = {"vector_weight": weight, "next_id": 0, "made": secrets.token_hex(8)}
                facts |= {"removals": 0, "size": detector.output_size}
                index_file.write_settings(db, **model_facts(detector, path, model), **facts)
                changes.written(db, detector, questions, ids, columns, vectors)
            file.make_shared()
            index._current()
        except BaseException:
            file.close()
            raise
        return index

    @classmethod
    def open(cls, path: str | os.PathLike, detector: Any = None) -> QuestionIndex:
        """Opens the file of an index.

        Args:
          path: the file.
          detector: a `DuplicateDetector`, or what `DuplicateDetector.load` takes as a path; the model
            that the file names where None. For an encoder that is an object in Python, that object.

        Raises:
          CheckpointError: missing, damaged, or made by another model.
        """
        file = IndexFile(path)
        try:
            with ThreadPoolExecutor(1) as pool, file.reading() as db:
                facts = index_file.settings(db)
                loading = pool.submit(detector_of, path, facts, detector)
                state = State.of(db, facts)  # meanwhile
            index = cls(loading.result(), file)
            index._state = state
            index._current()
        except BaseException:
            file.close()
            raise
        return index

    # ---- Changing ----

    def add(
        self,
        questions: Sequence[str] | str,
        *,
        ids: Sequence[str | int] | None = None,
        columns: Sequence[Mapping[str, Any]] | None = None,
        processes: int | None = None,
    ) -> Added:
        """Adds questions, all or none; they are on disk when it returns.

        A question that is stored under its id with the same text and columns is skipped; another text, or
        other columns, replace the stored ones. Without ids a question is skipped where a stored one has
        the same text but for case, blanks and quotes; the others get the next free numbers. Where the
        index has groups, each new question joins the one that fits best.

        Raises:
          DataError: a question that is not text or has no words; ids that are not all different.
          ArgumentError: ids or columns of another number.
          CheckpointError: the file cannot be changed.
        """
        questions, ids, columns = changes.checked(questions, ids, columns)
        with self._lock, self._file.reading() as db:
            new, _, _ = changes.compared(db, questions, ids)
        options = {"processes": processes}
        vectors = dict(zip(new, changes.encoded(self._detector, questions, new, **options)))
        with self._changing() as db:
            new, replaced, answer = changes.compared(db, questions, ids)
            late = [at for at in new if at not in vectors]  # Others may have removed some since.
            vectors.update(zip(late, changes.encoded(self._detector, questions, late, **options)))
            index_file.delete(db, replaced)
            changed = changes.update_columns(db, ids, columns)
            new_ids = changes.written(
                db,
                self._detector,
                [questions[at] for at in new],
                ids and [ids[at] for at in new],
                columns and [columns[at] for at in new],
                [vectors[at] for at in new],
            )
        for at, i in zip(new, new_ids):
            answer[at] = i
        fresh, changed = len(new) - len(replaced), changed + len(replaced)
        return Added(answer, fresh, changed, len(questions) - fresh - changed)

    def remove(self, ids: Iterable[str | int]) -> int:
        """Removes questions by their ids; returns how many.

        Raises:
          ArgumentError: an id that is not there; nothing is removed then.
          CheckpointError: the file cannot be changed.
        """
        ids = [ids] if isinstance(ids, (str, int)) else list(ids)
        with self._changing() as db:
            rows = [row for row, *_ in changes.stored(db, ids)]
            index_file.delete(db, rows)
        return len(rows)

    def set_threshold(self, fit: Mapping[str, Any]) -> None:
        """Stores a threshold and a calibration of the index's own, which other processes follow.

        Args:
          fit: as `siamese.evaluation.thresholds.FittedThreshold.to_dict` makes it; its detector is
            replaced by one with these.
        """
        with self._changing() as db:
            index_file.write_settings(db, fit=dict(fit))

    @property
    def vector_weight(self) -> float:
        """The weight of the cosine in hybrid search, 0 to 1; words have the rest. Setting it stores it."""
        self._current()
        return self._weight

    @vector_weight.setter
    def vector_weight(self, weight: float) -> None:
        if not 0 <= as_number(weight, "vector_weight") <= 1:
            raise ArgumentError(f"vector_weight must be from 0 to 1; it is {weight}.")
        with self._changing() as db:
            index_file.write_settings(db, vector_weight=float(weight))

    # ---- Groups and answers ----

    def groups(
        self, threshold: float | None = None, *, largest: int | None = None, regroup: bool = False
    ) -> list[list[Member]]:
        """The groups of duplicates among the questions, by average linkage; they are stored.

        The first call makes them, and `add` extends them. A pair that was answered "duplicate" shares a
        group, and a pair that was answered "different" never does. Questions of `without_known_words`
        are in no group but by an answer.

        Args:
          threshold: a cosine; that of the stored groups where None, else the index's own.
          largest: a bound on the questions of a group.
          regroup: make them again.

        Returns:
          As `siamese.search.groups.duplicate_groups`; a member's `row` is its place in `entries`.

        Raises:
          ArgumentError: stored groups were made with another threshold or bound.
          DataError: answers that contradict each other.
        """
        with self._lock, self._file.reading() as db:
            state = self._read(db)
            labels = None if regroup else stored_groups.read(db, state, threshold, largest)
            answers, unknown = stored_groups.read_answers(db), index_file.all_rows(db, "unknown")
        if labels is None:
            cut = self._detector.threshold if threshold is None else float(threshold)
            labels = stored_groups.make(state, answers, unknown, cut, largest)
            if not self._file.read_only:
                with self._changing() as db:
                    same_answers = np.array_equal(answers, stored_groups.read_answers(db))
                    if same_answers and self._state.made == state.made:
                        stored_groups.write(db, state, labels, cut, largest)
                        stored_groups.extend(db, self._state, state.last)
        return groups_of(state.vectors, labels)

    def without_known_words(self) -> list[dict[str, Any]]:
        """The questions, as in `entries`, without any word that the model knows: it cannot compare them."""
        with self._lock, self._file.reading() as db:
            rows = index_file.all_rows(db, "unknown").tolist()
            return list(map(changes.entry, index_file.rows_where(db, "row", rows)))

    @property
    def grouping(self) -> dict[str, Any] | None:
        """The threshold and the bound (`largest`) of the stored groups; None where there are none."""
        with self._lock, self._file.reading() as db:
            return index_file.settings(db).get("grouping")

    def add_answers(self, pairs: Any, *, forget: bool = False) -> int:
        """Stores what you said of pairs of questions; they bind the groups. Returns how many it stored.

        A pair is left out where the index lacks one of its questions (or one with the same text but for
        case, blanks and quotes). Where an answer contradicts the stored groups, the next `groups` makes
        them again.

        Args:
          pairs: `QuestionPairs`.
          forget: take back the answers to these pairs instead.
        """
        with self._changing() as db:
            return stored_groups.add_answers(db, pairs, forget)

    def answers(self) -> QuestionPairs:
        """The answers that the index has, as labelled pairs."""
        with self._lock, self._file.reading() as db:
            rows = stored_groups.answered_texts(db)
        return QuestionPairs(*map(list, zip(*rows))) if rows else QuestionPairs([], [], [])

    # ---- Asking ----

    def __len__(self) -> int:
        return len(self._current().rows)

    def __contains__(self, i: str | int) -> bool:
        """Whether there is a question with the id `i`."""
        with self._lock, self._file.reading() as db:
            return bool(index_file.rows_where(db, "id", [str(i)]))

    def entry(self, i: str | int) -> dict[str, Any]:
        """The question with the id `i`, as in `entries`; ArgumentError where there is none."""
        with self._lock, self._file.reading() as db:
            return changes.entry(changes.stored(db, [i])[0])

    @property
    def vectors(self) -> np.ndarray:
        """The questions' vectors, float32 [questions, d]."""
        return self._current().vectors

    @property
    def entries(self) -> list[dict[str, Any]]:
        """Each question as a dict: id, question, columns. It reads all of them."""
        with self._lock, self._file.reading() as db:
            self._read(db)
            return list(map(changes.entry, db.execute("select * from question order by row")))

    def search(
        self,
        questions: str | Sequence[str],
        k: int = 10,
        *,
        mode: str = "hybrid",
        threshold: float | None = None,
        where: Mapping[str, Any] | None = None,
        min_probability: float | None = None,
        merge_same: bool = False,
        vector_weight: float | None = None,
    ):
        """The k best questions of the index, best first; none for a question without words.

        Args:
          questions: a new question, or a list of them.
          k: how many to find; all there are where the index is smaller.
          mode: order by cosine ('vectors'), by BM25, of what shares a word's stem ('words'), or by both
            (`siamese.search.lexical.joined_scores`). A hit's figures stay what they are.
          threshold: cosine above which `Hit.is_duplicate` is True; the index's own where None.
          where: only questions whose columns have these values, compared as text; of a column that holds
            a list, one of its values.
          min_probability: only hits at least so probable, among the first 300 or k.
          merge_same: of hits with the same text only the first; its `same` has the others' ids.
          vector_weight: the weight of the cosine in hybrid search; the index's own where None.

        Returns:
          A list of `Hit`, or for a list of questions a list of such lists.

        Raises:
          ArgumentError: k below 1, another mode, a column that no question has, no probabilities.
        """
        k = whole_number(k, "k", 1)
        one_of(mode, "mode", MODES)
        state, detector = self._current(), self._detector
        if min_probability is not None and detector.calibration is None:
            raise ArgumentError("This model has no calibration, so no probabilities to choose by.")
        asked = [questions] if isinstance(questions, str) else text_list(questions, "search")
        queries = detector.encode(asked)
        weight = self._weight if vector_weight is None else vector_weight
        depth = max(k, DEPTH) if merge_same or min_probability is not None else k
        while True:
            stems = None
            if mode != "vectors":
                with self._lock, self._file.reading() as db:
                    stems = index_file.known_stems(db, list(map(words_in, asked)))
            skip = self._left_out(state, where) if where else NONE
            rankings = list(ranked(state, queries, stems, depth, mode, skip, weight))
            with self._lock, self._file.reading() as db:
                entries = changes.entries_at(db, state.rows, [places for places, *_ in rankings])
            if entries is not None:
                break
            state = self._current()  # A question was removed meanwhile.
        answers = []
        for ranking, query in zip(rankings, queries):
            hits = hits_of(detector, ranking, entries, threshold)
            if min_probability is not None:
                hits = [hit for hit in hits if hit.probability >= min_probability]
            answers.append(same_marked(hits, k, merge_same) if query.any() else [])
        return answers[0] if isinstance(questions, str) else answers

    def _left_out(self, state: State, where: Mapping[str, Any]) -> np.ndarray:
        with self._lock, self._file.reading() as db:
            if self._columns[0] is not state:
                self._columns = state, {}
            return left_out(db, state, where, self._columns[1])

    def export(self, path: str | os.PathLike) -> int:
        """Writes the questions as a Parquet file; see `siamese.search.stored.export.export_parquet`."""
        from siamese.search.stored.export import export_parquet

        with self._lock:
            entries, vectors = self.entries, self._state.vectors
        return export_parquet(path, entries, vectors)

    # ---- The file ----

    def _current(self) -> State:
        """What is searched now; what others wrote is read first."""
        with self._lock:
            version = self._file.data_version
            if version != self._version:
                with self._file.reading() as db:
                    self._read(db)
                self._version = version
            return self._state

    def _read(self, db: Any) -> State:
        """Takes settings and questions from the file, in a transaction."""
        facts = index_file.settings(db)
        if self._detector.checksum != facts["model_checksum"]:
            raise CheckpointError(
                f"{self._file.path} was made by another model: their vectors cannot be compared. Give the "
                f"model that made it. {index_file.REMAKE}"
            )
        self._weight, fit = facts["vector_weight"], facts.get("fit")
        if fit != self._fit:
            self._detector, self._fit = self._model.with_fit(fit) if fit else self._model, fit
        state = self._state
        if facts["made"] != state.made:
            state = State.of(db, facts)
        elif facts["removals"] != state.removals:
            state = state.without_removed(db, facts["removals"])
        self._state = state.added(db)
        return self._state

    @contextmanager
    def _changing(self) -> Iterator[Any]:
        """A transaction that changes the file; the state is current at its start and after it."""
        with self._lock:
            state = self._current()
            try:
                with self._file.writing() as db:
                    state = self._read(db)
                    yield db
                    self._read(db)
                    stored_groups.extend(db, self._state, state.last)
            except BaseException:
                self._version = -1  # Settings may be those that were not committed,
                if self._state is not state:  # and questions, too.
                    self._state = State.empty(self._detector.output_size)
                raise
