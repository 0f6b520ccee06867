"""QuestionIndex: has a new question been asked before? Old questions that are similar to a new one."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from siamese.data.arguments import whole_number
from siamese.data.question_list import read_questions
from siamese.errors import ArgumentError, CheckpointError, DataError
from siamese.search.approximate import usearch_installed
from siamese.search.detector import DuplicateDetector
from siamese.search.index_files import model_checksum, read_index, write_index
from siamese.search.nearest import StoredVectors
from siamese.search.segments import Records, Segment, State, id_keys
from siamese.storage.store import find_current, generation, lock_store

LARGE = 500_000  # from so many questions on an index gets a graph unasked, where usearch is there


class Hit(NamedTuple):
    """An old question that was found, with its similarity (cosine) to the new one.

    `probability` is None where the model has no calibration; `columns` holds the question's other
    columns.
    """

    id: str | int
    question: str
    similarity: float
    probability: float | None
    is_duplicate: bool
    columns: dict[str, Any]


class QuestionIndex:
    """Questions encoded once and searched many times; safe to share by threads.

    A new question without words, or an index without questions, finds nothing: an empty list. A
    question longer than 512 tokens is cut there. Words that the model has never seen all look the
    same to it (unless its vocabulary has several ids for them): a question of nothing else finds
    whatever is similar to "unknown words"; see `DuplicateDetector.unknown_words`.

    Make one with `build`, `from_file` or `load`.

    Example:
      >>> detector = DuplicateDetector.load("demo")  # doctest: +SKIP
      >>> index = QuestionIndex.build(detector, ["How old are you?", "Is it far?"])  # doctest: +SKIP
      >>> index.search("What is your age?", k=1)[0].question  # doctest: +SKIP
      'How old are you?'
    """

    def __init__(self, detector: DuplicateDetector, state: State, *, next_id: int = 0):
        """Takes ready questions; `build`, `from_file` and `load` make them."""
        self.detector = detector
        self._state = state  # Replaced as one, so that a search sees one moment.
        self._next_id = next_id  # of a question that is added without an id
        self._model: Path | None = None  # where the model is saved
        # What was loaded or saved last: (directory, generation), and whether it was changed since.
        self._saved: tuple[Path, Any] | None = None
        self._changed = False
        self._held: Path | None = None  # the directory whose lock this index has
        self._whole: tuple[State, Segment] | None = None
        self._lock = threading.RLock()  # held while the index is changed

    def __repr__(self) -> str:
        state = self._state
        graph = ", with a graph" if state.graph else ""
        return (
            f"QuestionIndex({state.size:,} questions, {state.segments[0].vectors.storage}{graph})"
        )

    # ---- Making, saving, loading ----

    @classmethod
    def build(
        cls,
        detector: DuplicateDetector,
        questions: Sequence[str],
        *,
        ids: Sequence[str | int] | None = None,
        columns: Sequence[Mapping[str, Any]] | None = None,
        storage: str = "float32",
        approximate: bool | None = None,
        processes: int | None = None,
    ) -> QuestionIndex:
        """Encodes questions and keeps them.

        Args:
          detector: the model.
          questions: the texts; equal ones may stand in it several times.
          ids: an id of each (text or int, all different); numbers from 0 where None.
          columns: other columns of each question, JSON values, or None.
          storage: 'float32', 'float16' (half the memory) or 'int8' (a quarter; similarities are
            off by some thousandths).
          approximate: make a graph for approximate search (needs usearch); None: from 500,000
            questions on, where usearch is installed.
          processes: how many processes tokenize; every core where None.

        Raises:
          DataError: a question that is not text or has no words, or ids that are not all different.
          ArgumentError: ids or columns of another number, or another storage.
        """
        none = StoredVectors.of(np.zeros((0, detector.tower.output_size), np.float32), storage)
        index = cls(detector, State((Segment(none, Records.of([])),), np.zeros(0, np.int64)))
        index.add(questions, ids=ids, columns=columns, processes=processes)
        if approximate is None:
            approximate = len(index) >= LARGE and usearch_installed()
        if approximate:
            index.make_graph()
        return index

    @classmethod
    def from_file(
        cls,
        detector: DuplicateDetector,
        path: str | os.PathLike,
        *,
        column: str | None = None,
        id_column: str | None = None,
        **options: Any,
    ) -> QuestionIndex:
        """Encodes the questions of a file; ids and other columns are kept, empty ones left out.

        Args:
          detector: the model.
          path: see `siamese.data.question_list.read_questions`.
          column: the column with the questions; found by its name if None.
          id_column: the column with the ids; found by its name if None.
          **options: of `build`.
        """
        found = read_questions(path, column=column, id_column=id_column)
        return cls.build(detector, found.questions, ids=found.ids, columns=found.columns, **options)

    def save(self, path: str | os.PathLike, *, model: str | os.PathLike | None = None) -> Path:
        """Writes the index's directory, atomically; see `siamese.search.index_files`.

        What this directory has of the index already is not written again. An older index there is
        replaced, but not where it was changed by others since this one was loaded from there.

        Args:
          path: the directory.
          model: where the model is saved, kept so that ``siamese search INDEX`` finds it.

        Raises:
          CheckpointError: it cannot be written, or was changed by others.
        """
        with self._lock:
            if model is not None:
                self._model = Path(model).resolve()
            state, where = self._state, Path(os.path.abspath(path))
            facts: dict[str, Any] = {
                "model_checksum": model_checksum(self.detector),
                "next_id": self._next_id,
                "model": None,
            }
            if self._model is not None:
                # Relative first, so that model and index can be moved together.
                relative = os.path.relpath(self._model, where.resolve())
                facts["model"] = [relative, str(self._model)]
            replaces = self._saved[1] if self._saved and self._saved[0] == where else None
            options = {"replaces": replaces, "locked": self._held == where}
            self._saved = where, write_index(path, state, facts, **options)
            self._changed = False
        return Path(path)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike,
        detector: DuplicateDetector | str | os.PathLike | None = None,
        *,
        check: bool = True,
    ) -> QuestionIndex:
        """Maps an index that `save` wrote; its vectors are read from disk when they are searched.

        Args:
          path: the directory.
          detector: the model, or its directory; the one that `save` was told of where None.
          check: compare every file's checksum, which reads each once; otherwise sizes only.

        Raises:
          CheckpointError: missing or damaged, or made by another model.
        """
        state, facts, read = read_index(path, check=check)
        places = [Path(path) / facts["model"][0], Path(facts["model"][1])] if facts["model"] else []
        model = next((place for place in places if place.exists()), None)
        if detector is None and model is None:
            raise CheckpointError(
                f"{path} does not say where its model is, or it is gone from "
                f"{facts['model'] and facts['model'][1]}. Name the model (--model)."
            )
        if not isinstance(detector, DuplicateDetector):
            model = detector or model
            detector = DuplicateDetector.load(model)
        index = cls(detector, state)
        index._take(path, state, facts, read)
        index._model = Path(model).resolve() if model else None
        return index

    def _take(self, path: str | os.PathLike, state: State, facts: dict, read: Any) -> None:
        if model_checksum(self.detector) != facts["model_checksum"]:
            raise CheckpointError(
                f"{path} was made by another model: their vectors cannot be compared. Load the model "
                "it was made by, or make the index again with `siamese index`."
            )
        self._state, self._next_id = state, int(facts["next_id"])
        self._saved, self._changed = (Path(os.path.abspath(path)), read), False

    @classmethod
    @contextmanager
    def open_for_change(
        cls,
        path: str | os.PathLike,
        detector: DuplicateDetector | str | os.PathLike | None = None,
    ) -> Iterator[QuestionIndex]:
        """Loads an index, and saves it when the block ends well; other writers wait meanwhile.

        Args:
          path: the directory.
          detector: as in `load`.

        Raises:
          CheckpointError: as `load` and `save`; another process has been writing for a minute.

        Example:
          >>> with QuestionIndex.open_for_change("old") as index:  # doctest: +SKIP
          ...     index.add("How old are you?")
        """
        find_current(path, "index")  # It must exist: the lock would make its directory.
        with lock_store(path):
            index = cls.load(path, detector, check=False)
            index._held = Path(os.path.abspath(path))
            try:
                yield index
                if index._changed:
                    index.save(path)
            finally:
                index._held = None

    def refresh(self) -> bool:
        """Takes what others saved in the directory since this index was loaded from there, or saved.

        Costs the opening of one small file where there is nothing new. An index that was changed and
        not saved stays as it is.

        Returns:
          Whether there was something new.

        Raises:
          CheckpointError: what is there now cannot be read.
        """
        if self._saved is None or self._changed or generation(self._saved[0]) == self._saved[1]:
            return False
        with self._lock:
            if not self._changed:
                self._take(self._saved[0], *read_index(self._saved[0], check=False))
        return True

    # ---- Changing ----

    def add(
        self,
        questions: Sequence[str] | str,
        *,
        ids: Sequence[str | int] | None = None,
        columns: Sequence[Mapping[str, Any]] | None = None,
        processes: int | None = None,
    ) -> list[str | int]:
        """Adds questions; nothing is added where one of them cannot be.

        Returns:
          Their ids: those given, or the next free numbers.

        Raises:
          DataError: a question that is not text or has no words; an id that is taken.
          ArgumentError: ids or columns of another number.
        """
        questions = [questions] if isinstance(questions, str) else list(questions)
        for name, given in (("ids", ids), ("columns", columns)):
            if given is not None and len(given) != len(questions):
                raise ArgumentError(f"{len(given)} {name} for {len(questions)} questions.")
        if not questions:
            return []
        vectors = self.detector.encode(questions, processes)
        wordless = np.flatnonzero(~vectors.any(axis=1))
        if len(wordless):
            at = int(wordless[0])
            raise DataError(f"Question {at} has no words: {questions[at][:40]!r}. Leave it out.")
        if ids is not None:
            ids = [_checked_id(i) for i in ids]
        with self._lock:
            state = self._state
            if ids is None:
                ids = self._free_ids(len(questions))
            else:
                seen = set(state.rows_of(ids))
                for i in ids:
                    if i in seen:
                        raise DataError(f"The id {i!r} is taken; ids must be all different.")
                    seen.add(i)
            records = Records.of(
                {"id": i, "question": question, "columns": dict(more)}
                for i, question, more in zip(ids, questions, columns or [{}] * len(questions))
            )
            storage = state.segments[0].vectors.storage
            new = Segment(StoredVectors.of(vectors, storage), records, id_keys(ids))
            self._state, self._changed = state.added(new), True
        return ids

    def remove(self, ids: Iterable[str | int]) -> int:
        """Removes questions by their ids; returns how many.

        Raises:
          ArgumentError: an id that is not there; nothing is removed then.
        """
        ids = [ids] if isinstance(ids, (str, int)) else list(ids)
        with self._lock:
            rows = self._state.rows_of(ids)
            for i in ids:
                if i not in rows:
                    raise ArgumentError(f"There is no question with the id {i!r} in the index.")
            if rows:
                self._state, self._changed = self._state.without(rows.values()), True
        return len(rows)

    def make_graph(self) -> None:
        """Makes the graph for approximate search, on all cores; needs usearch."""
        with self._lock:
            if self._state.graph is None:
                self._state, self._changed = self._state.with_graph(), True

    def _free_ids(self, count: int) -> list[str | int]:
        """The next numbers that are not ids of questions."""
        found: list[str | int] = []
        while len(found) < count:
            more = range(self._next_id, self._next_id + count - len(found))
            taken = self._state.rows_of(more)
            found += [i for i in more if i not in taken]
            self._next_id = more.stop
        return found

    # ---- Asking ----

    def __len__(self) -> int:
        return self._state.size

    def __contains__(self, i: str | int) -> bool:
        """Whether there is a question with the id `i`."""
        return bool(self._state.rows_of([i]))

    @property
    def vectors(self) -> StoredVectors:
        """The questions' vectors, as they are stored."""
        return self._all().vectors

    @property
    def records(self) -> Records:
        """Each question as a dict: id, question, columns."""
        return self._all().records

    @property
    def has_graph(self) -> bool:
        """Whether approximate search can be done at once."""
        return self._state.graph is not None

    def _all(self) -> Segment:
        state, whole = self._state, self._whole
        if whole is None or whole[0] is not state:
            whole = self._whole = state, state.whole()
        return whole[1]

    def search(
        self,
        questions: str | Sequence[str],
        k: int = 10,
        *,
        approximate: bool | None = None,
        threshold: float | None = None,
    ):
        """The k most similar questions of the index, best first.

        Args:
          questions: a new question, or a list of them.
          k: how many to find; all there are where the index is smaller.
          approximate: through the graph (made now where there is none); False: exactly, by looking
            at all; None: through the graph where the index has one.
          threshold: cosine above which `Hit.is_duplicate` is True; the model's own where None.

        Returns:
          A list of `Hit`, or for a list of questions a list of such lists.

        Raises:
          ArgumentError: k below 1.
        """
        k = whole_number(k, "k", 1)
        asked = [questions] if isinstance(questions, str) else list(questions)
        queries = self.detector.encode(asked)
        rows, similarities, state = self.search_vectors(queries, k, approximate=approximate)
        cut = self.detector.threshold if threshold is None else threshold
        probabilities = np.full(similarities.shape, None)
        if self.detector.calibration is not None and similarities.size:
            found = self.detector.calibrated(similarities.ravel())
            probabilities = found.reshape(similarities.shape)
        answers: list[list[Hit]] = [[] for _ in asked]
        for query in np.flatnonzero(queries.any(axis=1)):  # one without words has no hits
            hits = zip(rows[query], similarities[query].tolist(), probabilities[query].tolist())
            for row, similarity, probability in hits:
                record = state.record(row)
                hit = Hit(**record, similarity=similarity, probability=probability,
                          is_duplicate=similarity > cut)  # fmt: skip
                answers[query].append(hit)
        return answers[0] if isinstance(questions, str) else answers

    def search_vectors(
        self, queries: np.ndarray, k: int, *, approximate: bool | None = None
    ) -> tuple[np.ndarray, np.ndarray, State]:
        """`search` for vectors, float32 [queries, d]: (rows, similarities, what the rows count in)."""
        if approximate:
            self.make_graph()
        state = self._state
        return *state.search(queries, k, approximate is not False), state


def _checked_id(value: Any) -> str | int:
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise DataError(f"An id must be text or a whole number, not {value!r:.40}.")
    return value
