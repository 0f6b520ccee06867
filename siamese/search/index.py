"""QuestionIndex: has a new question been asked before? Old questions that are similar to a new one."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from siamese.data.arguments import whole_number
from siamese.data.question_list import read_questions
from siamese.errors import ArgumentError, CheckpointError, DataError
from siamese.search.approximate import Graph, usearch_installed
from siamese.search.detector import DuplicateDetector
from siamese.search.index_files import GRAPH, Records, model_checksum, read_index, write_index
from siamese.search.nearest import StoredVectors, top_k

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


class State(NamedTuple):
    """Vectors, records (row by row the same questions), and the graph over them or None."""

    vectors: StoredVectors
    records: Records
    graph: Graph | None


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

    def __init__(
        self,
        detector: DuplicateDetector,
        vectors: StoredVectors,
        records: Records,
        *,
        graph: Graph | None = None,
        next_id: int = 0,
    ):
        """Takes ready vectors and records; `build`, `from_file` and `load` make them."""
        self.detector = detector
        self._joined = State(vectors, records, graph)
        # Added, not yet joined: so adding questions one by one does not copy all vectors each time.
        self._pending: list[tuple[StoredVectors, Records]] = []
        self._next_id = next_id  # of a question that is added without an id
        self._ids: dict[str | int, int] | None = None  # id -> row, made when first needed
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        vectors, _, graph = self._state()
        graph = ", with a graph" if graph else ""
        return f"QuestionIndex({len(vectors):,} questions, {vectors.storage}{graph})"

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
        vectors = StoredVectors.of(np.zeros((0, detector.tower.output_size), np.float32), storage)
        index = cls(detector, vectors, Records.of([]))
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

        Args:
          path: the directory; an older index there is replaced.
          model: where the model is saved, kept so that ``siamese search INDEX`` finds it.
        """
        vectors, records, graph = self._state()
        facts: dict[str, Any] = {
            "model_checksum": model_checksum(self.detector),
            "next_id": self._next_id,
            "storage": vectors.storage,
            "model": None,
        }
        if model is not None:
            # Relative first, so that model and index can be moved together.
            relative = os.path.relpath(Path(model).resolve(), Path(path).resolve())
            facts["model"] = [relative, str(Path(model).resolve())]
        return write_index(path, vectors, records, facts, graph)

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
        vectors, records, facts, folder = read_index(path, check=check)
        if detector is None:
            places = [Path(path) / facts["model"][0], facts["model"][1]] if facts["model"] else []
            detector = next((place for place in places if Path(place).exists()), None)
            if detector is None:
                raise CheckpointError(
                    f"{path} does not say where its model is, or it is gone from "
                    f"{facts['model'] and facts['model'][1]}. Name the model (--model)."
                )
        if not isinstance(detector, DuplicateDetector):
            detector = DuplicateDetector.load(detector)
        if model_checksum(detector) != facts["model_checksum"]:
            raise CheckpointError(
                f"{path} was made by another model: their vectors cannot be compared. Load the model "
                "it was made by, or make the index again with `siamese index`."
            )
        graph = None
        if (folder / GRAPH).exists():
            graph = Graph.load(folder / GRAPH, len(vectors), vectors.values.shape[1])
        return cls(detector, vectors, records, graph=graph, next_id=int(facts["next_id"]))

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
        with self._lock:
            taken = self._rows_by_id()
            if ids is None:
                given: list[str | int] = []
                while len(given) < len(questions):
                    if self._next_id not in taken:
                        given.append(self._next_id)
                    self._next_id += 1
            else:
                given = [_checked_id(i) for i in ids]
                seen = set(taken)
                for i in given:
                    if i in seen:
                        raise DataError(f"The id {i!r} is taken; ids must be all different.")
                    seen.add(i)
            records = Records.of(
                {"id": i, "question": question, "columns": dict(more)}
                for i, question, more in zip(given, questions, columns or [{}] * len(questions))
            )
            start = len(self)
            storage = self._joined.vectors.storage
            self._pending.append((StoredVectors.of(vectors, storage), records))
            taken.update({i: start + place for place, i in enumerate(given)})
        return given

    def remove(self, ids: Iterable[str | int]) -> int:
        """Removes questions by their ids; returns how many. A graph is given up: make it again.

        Raises:
          ArgumentError: an id that is not there; nothing is removed then.
        """
        ids = [ids] if isinstance(ids, (str, int)) else list(ids)
        with self._lock:
            vectors, records, _ = self._state()
            rows = self._rows_by_id()
            for i in ids:
                if i not in rows:
                    raise ArgumentError(f"There is no question with the id {i!r} in the index.")
            kept = np.delete(np.arange(len(vectors)), [rows[i] for i in ids])
            self._joined = State(vectors.take(kept), records.take(kept), None)
            self._ids = None
            return len(vectors) - len(kept)

    def make_graph(self) -> None:
        """Makes the graph for approximate search, on all cores; needs usearch."""
        with self._lock:
            vectors, records, graph = self._state()
            if graph is None:
                graph = Graph(vectors.values.shape[1])
                graph.add(vectors)
                self._joined = State(vectors, records, graph)

    def _state(self) -> State:
        """Everything in one piece; it stays as it is while others add and remove."""
        with self._lock:
            if self._pending:
                vectors, records, graph = self._joined
                added_vectors, added_records = map(list, zip(*self._pending))
                joined = State(vectors.joined(added_vectors), records.joined(added_records), graph)
                self._joined, self._pending = joined, []
                if graph is not None:
                    graph.add(joined.vectors, len(vectors))
            return self._joined

    def _rows_by_id(self) -> dict[str | int, int]:
        if self._ids is None:
            self._ids = {record["id"]: row for row, record in enumerate(self._state().records)}
        return self._ids

    # ---- Asking ----

    def __len__(self) -> int:
        with self._lock:
            return len(self._joined.vectors) + sum(len(vectors) for vectors, _ in self._pending)

    @property
    def vectors(self) -> StoredVectors:
        """The questions' vectors, as they are stored."""
        return self._state().vectors

    @property
    def records(self) -> Records:
        """Each question as a dict: id, question, columns."""
        return self._state().records

    @property
    def has_graph(self) -> bool:
        """Whether approximate search can be done at once."""
        return self._joined.graph is not None

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
        rows, similarities, records = self.search_vectors(queries, k, approximate=approximate)
        cut = self.detector.threshold if threshold is None else threshold
        probabilities = np.full(similarities.shape, None)
        if self.detector.calibration is not None and similarities.size:
            found = self.detector.calibrated(similarities.ravel())
            probabilities = found.reshape(similarities.shape)
        answers: list[list[Hit]] = [[] for _ in asked]
        for query in np.flatnonzero(queries.any(axis=1)):  # one without words has no hits
            hits = zip(rows[query], similarities[query].tolist(), probabilities[query].tolist())
            for row, similarity, probability in hits:
                record = records[row]
                hit = Hit(**record, similarity=similarity, probability=probability,
                          is_duplicate=similarity > cut)  # fmt: skip
                answers[query].append(hit)
        return answers[0] if isinstance(questions, str) else answers

    def search_vectors(
        self, queries: np.ndarray, k: int, *, approximate: bool | None = None
    ) -> tuple[np.ndarray, np.ndarray, Records]:
        """`search` for vectors, float32 [queries, d]: (rows, similarities, records)."""
        if approximate:
            self.make_graph()
        vectors, records, graph = self._state()
        if approximate is False or graph is None:
            return *top_k(vectors, queries, k), records
        return *graph.search(vectors, queries, k), records


def _checked_id(value: Any) -> str | int:
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise DataError(f"An id must be text or a whole number, not {value!r:.40}.")
    return value
