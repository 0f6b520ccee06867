"""QuestionIndex: has a new question been asked before? Old questions that are similar to a new one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from siamese.data.question_list import read_questions
from siamese.errors import ArgumentError, CheckpointError, DataError
from siamese.search.approximate import Graph, usearch_installed
from siamese.search.detector import DuplicateDetector
from siamese.search.encode_many import encode_questions
from siamese.search.index_files import GRAPH, Records, model_checksum, read_index, write_index
from siamese.search.nearest import StoredVectors, top_k
from siamese.search.question_store import QuestionStore

LARGE = 500_000  # from so many questions on an index gets a graph unasked, where usearch is there


class Hit(NamedTuple):
    """An old question that was found, with its similarity (cosine) to the new one.

    `probability` is None where the model has no calibration; `columns` holds the other columns that
    belong to the question.
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
        self._store = QuestionStore(vectors, records, graph, next_id)

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
        vectors, records, graph = self._store.state()
        facts: dict[str, Any] = {
            "model_checksum": model_checksum(self.detector),
            "next_id": self._store.next_id,
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
        size = vectors.values.shape[1]
        graph = None
        if (folder / GRAPH).exists():
            graph = Graph.load(folder / GRAPH, len(vectors), size)
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
        vectors = encode_questions(self.detector, questions, processes)
        wordless = np.flatnonzero(~vectors.any(axis=1))
        if len(wordless):
            at = int(wordless[0])
            raise DataError(f"Question {at} has no words: {questions[at][:40]!r}. Leave it out.")
        return self._store.add(vectors, questions, ids, columns)

    def remove(self, ids: Iterable[str | int]) -> int:
        """Removes questions by their ids; returns how many. A graph is given up: make it again.

        Raises:
          ArgumentError: an id that is not there; nothing is removed then.
        """
        return self._store.remove([ids] if isinstance(ids, (str, int)) else list(ids))

    def make_graph(self) -> None:
        """Makes the graph for approximate search, on all cores; needs usearch."""
        self._store.make_graph()

    # ---- Asking ----

    def __len__(self) -> int:
        return len(self._store)

    @property
    def vectors(self) -> StoredVectors:
        """The questions' vectors, as they are stored."""
        return self._store.state().vectors

    @property
    def records(self) -> Records:
        """Each question as a dict: id, question, columns."""
        return self._store.state().records

    @property
    def has_graph(self) -> bool:
        """Whether approximate search can be done at once."""
        return self._store.has_graph

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
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
            raise ArgumentError(f"k must be a whole number of at least 1; it is {k!r}.")
        asked = [questions] if isinstance(questions, str) else list(questions)
        queries = encode_questions(self.detector, asked)
        rows, similarities, records = self.search_vectors(queries, k, approximate=approximate)
        with_words = queries.any(axis=1)
        answers = _hits(self.detector, rows, similarities, records, with_words, threshold)
        return answers[0] if isinstance(questions, str) else answers

    def search_vectors(
        self, queries: np.ndarray, k: int, *, approximate: bool | None = None
    ) -> tuple[np.ndarray, np.ndarray, Records]:
        """`search` for vectors, float32 [queries, d]: (rows, similarities, records)."""
        if approximate:
            self.make_graph()
        vectors, records, graph = self._store.state()
        if approximate is False or graph is None:
            return *top_k(vectors, queries, k), records
        return *graph.search(vectors, queries, k), records


def _hits(
    detector: DuplicateDetector,
    rows: np.ndarray,
    similarities: np.ndarray,
    records: Records,
    with_words: np.ndarray,
    threshold: float | None = None,
) -> list[list[Hit]]:
    """The hits of each query, in the order given.

    Args:
      detector: its calibration gives the probabilities.
      rows: int64 [queries, k]; the records found.
      similarities: float32 [queries, k]; their cosines.
      records: of the index.
      with_words: bool [queries]; a query without words has no hits.
      threshold: cosine above which a hit is a duplicate; the detector's own where None.
    """
    threshold = detector.threshold if threshold is None else threshold
    probabilities = None
    if detector.calibration is not None and similarities.size:
        probabilities = detector.calibrated(similarities.ravel()).reshape(similarities.shape)
    answers = []
    for i, has_words in enumerate(with_words):
        hits = []
        for j, row in enumerate(rows[i] if has_words else ()):
            record, similarity = records[row], float(similarities[i, j])
            hits.append(
                Hit(
                    record["id"],
                    record["question"],
                    similarity,
                    None if probabilities is None else float(probabilities[i, j]),
                    similarity > threshold,
                    record["columns"],
                )
            )
        answers.append(hits)
    return answers
