"""QuestionIndex: has a new question been asked before? Old questions that are similar to a new one."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from siamese.data.arguments import as_number, one_of, whole_number
from siamese.errors import ArgumentError, CheckpointError, DataError
from siamese.search.detector import DuplicateDetector
from siamese.search.index_files import read_index, write_index
from siamese.search.lexical import DEPTH, ENCODER_VECTOR_WEIGHT, VECTOR_WEIGHT
from siamese.search.model_file import encoder_facts, model_path, saved_encoder
from siamese.search.segments import Entries, Hit, Segment, State, hits_of, id_keys, same_marked
from siamese.storage.store import Generation, find_current, generation, lock_store

MODES = ("hybrid", "vectors", "words")


class _Saved(NamedTuple):
    """What an index had when it was loaded or saved last, and where."""

    path: Path
    generation: Generation
    state: State


class QuestionIndex:
    """Questions encoded once and searched many times; safe to share by threads.

    A question longer than 512 tokens is cut there. Words that the model has never seen all look the
    same to it (unless its vocabulary has several ids for them): a question of nothing else finds
    whatever is similar to "unknown words"; see `DuplicateDetector.unknown_words`.

    Make one with `build` or `load`.

    Example:
      >>> detector = DuplicateDetector.load("demo")  # doctest: +SKIP
      >>> index = QuestionIndex.build(detector, ["How old are you?", "Is it far?"])  # doctest: +SKIP
      >>> index.search("What is your age?", k=1)[0].question  # doctest: +SKIP
      'How old are you?'
    """

    def __init__(self, detector: DuplicateDetector, state: State, *, next_id: int = 0):
        """Takes ready questions; `build` and `load` make them."""
        self.detector = detector
        self._state = state  # Replaced as one, so that a search sees one moment.
        self._next_id = next_id  # of a question that is added without an id
        self._model: Path | None = None  # where the model is saved
        self._fit: dict[str, Any] | None = None  # threshold and calibration of the index's own
        self._saved: _Saved | None = None
        self._held: Path | None = None  # the directory whose lock this index has
        self._lock = threading.RLock()  # held while the index is changed

    def __repr__(self) -> str:
        return f"QuestionIndex({len(self):,} questions)"

    @classmethod
    def build(
        cls,
        detector: DuplicateDetector,
        questions: Sequence[str],
        *,
        ids: Sequence[str | int] | None = None,
        columns: Sequence[Mapping[str, Any]] | None = None,
        processes: int | None = None,
    ) -> QuestionIndex:
        """Encodes questions and keeps them.

        Args:
          detector: the model.
          questions: the texts; equal ones may stand there several times.
          ids: an id of each (text or int, all different); numbers from 0 where None.
          columns: other columns of each question, JSON values, or None.
          processes: how many processes tokenize; every core where None.

        Raises:
          DataError: a question that is not text or has no words, or ids that are not all different.
          ArgumentError: ids or columns of another number.
        """
        none = np.zeros((0, detector.output_size), np.float32)
        weight = VECTOR_WEIGHT if detector.encoder is None else ENCODER_VECTOR_WEIGHT
        segment = Segment(none, Entries.of([]), id_keys([]))
        index = cls(detector, State((segment,), vector_weight=weight))
        index.add(questions, ids=ids, columns=columns, processes=processes)
        return index

    # ---- Saving, loading, sharing ----

    def save(self, path: str | os.PathLike, *, model: str | os.PathLike | None = None) -> Path:
        """Writes the index's directory, atomically; see `siamese.search.index_files`.

        What this directory has of the index already is not written again. An older index there is
        replaced, but not where it was changed by others since this one was loaded from there.
        Pass the path of the saved model as `model`, so that ``siamese search INDEX`` finds it.

        Raises:
          CheckpointError: it cannot be written, or was changed by others.
        """
        where = Path(os.path.abspath(path))
        with self._lock:
            facts = {"model_checksum": self.detector.checksum, "next_id": self._next_id}
            facts["encoder"] = encoder_facts(self.detector)
            if model is not None and os.path.exists(model):  # Else it is an encoder's name.
                self._model = model_path(model).resolve()
            if self._fit or (self._model is None and self.detector.tower is None):
                facts["fit"] = self._fit or _fit_of(self.detector)
            if self._model is not None:
                # Relative first, so that model and index can be moved together.
                facts["model"] = [os.path.relpath(self._model, where.resolve()), str(self._model)]
            replaces = self._saved.generation if self._saved and self._saved.path == where else None
            options = {"replaces": replaces, "locked": self._held == where}
            written = write_index(path, self._state, facts, **options)
            self._saved = _Saved(where, written, self._state)
        return Path(path)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike,
        detector: Any = None,
        *,
        check: bool = True,
    ) -> QuestionIndex:
        """Maps an index that `save` wrote; its vectors are read from disk when they are searched.

        Args:
          path: the directory.
          detector: a `DuplicateDetector`, or what `DuplicateDetector.load` takes as a path; the model
            that `save` was told of where None, or the encoder that the index names. For an encoder that
            is an object in Python, that object.
          check: compare every file's checksum, which reads each once; otherwise sizes only.

        Raises:
          CheckpointError: missing or damaged, or made by another model.
        """
        state, facts, read = read_index(path, check=check)
        places = facts.get("model", [])
        model = next((p for place in places if (p := Path(path, place)).exists()), None)
        if isinstance(detector, (str, os.PathLike)):
            model = detector
        if not isinstance(detector, DuplicateDetector):
            detector = _saved_detector(path, facts, model, None if model is detector else detector)
        elif facts["encoder"] and detector.encoder is not None:
            saved_encoder(path, facts["encoder"], detector.encoder)
        if fit := facts.get("fit"):
            detector = detector.with_fit(fit)
        index = cls(detector, state)
        index._take(path, state, facts, read)
        if model is not None and os.path.exists(model):
            index._model = model_path(model).resolve()
        index._fit = fit
        return index

    def _take(self, path: str | os.PathLike, state: State, facts: dict, read: Generation) -> None:
        if self.detector.checksum != facts["model_checksum"]:
            raise CheckpointError(
                f"{path} was made by another model: their vectors cannot be compared. Load the model "
                "it was made by, or make the index again with `siamese index`."
            )
        self._state, self._next_id = state, int(facts["next_id"])
        self._saved = _Saved(Path(os.path.abspath(path)), read, state)

    @classmethod
    @contextmanager
    def open_for_change(
        cls,
        path: str | os.PathLike,
        detector: Any = None,
    ) -> Iterator[QuestionIndex]:
        """Loads an index, and saves it when the block ends well; other writers wait meanwhile.

        Raises:
          CheckpointError: as `load` and `save`; another process has been writing for a minute.

        Example:
          >>> with QuestionIndex.open_for_change("old") as index:  # doctest: +SKIP
          ...     index.add("How old are you?")
        """
        find_current(path)  # It must exist: the lock would make its directory.
        with lock_store(path):
            index = cls.load(path, detector, check=False)
            index._held = Path(os.path.abspath(path))
            try:
                yield index
                if index._changed:
                    index.save(path)
            finally:
                index._held = None

    @property
    def _changed(self) -> bool:
        return self._saved is None or self._saved.state is not self._state

    def refresh(self) -> bool:
        """Takes what others saved in the directory since this index was loaded or saved there.

        Costs the opening of one small file where there is nothing new. An index that was changed and
        not saved stays as it is. Returns whether there was something new.

        Raises:
          CheckpointError: what is there now cannot be read.
        """
        with self._lock:
            if self._changed or generation(self._saved.path) == self._saved.generation:
                return False
            self._take(self._saved.path, *read_index(self._saved.path, check=False))
        return True

    # ---- Changing ----

    def set_threshold(self, fit: Mapping[str, Any]) -> None:
        """Gives the index a threshold and a calibration of its own, which `save` keeps with it.

        Args:
          fit: as `siamese.evaluation.thresholds.FittedThreshold.to_dict` makes it; its detector is
            replaced by one with these.
        """
        with self._lock:
            self.detector, self._fit = self.detector.with_fit(fit), dict(fit)

    def add(
        self,
        questions: Sequence[str] | str,
        *,
        ids: Sequence[str | int] | None = None,
        columns: Sequence[Mapping[str, Any]] | None = None,
        processes: int | None = None,
    ) -> list[str | int]:
        """Adds questions, or none where one of them cannot be; returns their ids.

        These are the ids given, or the next free numbers. For the arguments see `build`.

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
            if ids is None:
                ids = self._free_ids(len(questions))
            else:
                twice = [i for i, times in Counter(ids).items() if times > 1]
                for i in (*self._state.rows_of(ids), *twice):
                    raise DataError(f"The id {i!r} is taken; ids must be all different.")
            entries = Entries.of(
                {"id": i, "question": question, "columns": dict(more)}
                for i, question, more in zip(ids, questions, columns or [{}] * len(questions))
            )
            self._state = self._state.added(Segment(vectors, entries, id_keys(ids)))
        return ids

    def remove(self, ids: Iterable[str | int]) -> int:
        """Removes questions by their ids; returns how many.

        Raises:
          ArgumentError: an id that is not there; nothing is removed then.
        """
        ids = [ids] if isinstance(ids, (str, int)) else list(ids)
        with self._lock:
            rows = self._state.known_rows(ids)
            if rows:
                self._state = self._state.without(rows)
        return len(rows)

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

    def entry(self, i: str | int) -> dict[str, Any]:
        """The question with the id `i`, as in `entries`; ArgumentError where there is none."""
        state = self._state
        return state.entry(state.known_rows([i])[0])

    @property
    def vectors(self) -> np.ndarray:
        """The questions' vectors, float32 [questions, d]; may be mapped from the file."""
        return self._state.whole.vectors

    @property
    def entries(self) -> Entries:
        """Each question as a dict: id, question, columns."""
        return self._state.whole.entries

    @property
    def vector_weight(self) -> float:
        """The weight of the cosine in hybrid search, 0 to 1; words have the rest. Saved with the index."""
        return self._state.vector_weight

    @vector_weight.setter
    def vector_weight(self, weight: float) -> None:
        if not 0 <= as_number(weight, "vector_weight") <= 1:
            raise ArgumentError(f"vector_weight must be from 0 to 1; it is {weight}.")
        with self._lock:
            self._state = replace(self._state, vector_weight=float(weight))

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
    ):
        """The k best questions of the index, best first; none for a question without words.

        Args:
          questions: a new question, or a list of them.
          k: how many to find; all there are where the index is smaller.
          mode: order by cosine ('vectors'), by BM25, of what shares a word's stem ('words'), or by both
            (`siamese.search.lexical.joined_scores`). A hit's figures stay what they are.
          threshold: cosine above which `Hit.is_duplicate` is True; the model's own where None.
          where: only questions whose columns have these values, compared as text.
          min_probability: only hits at least so probable, among the first 300 or k.
          merge_same: of hits with the same text only the first; its `same` has the others' ids.

        Returns:
          A list of `Hit`, or for a list of questions a list of such lists.

        Raises:
          ArgumentError: k below 1, another mode, a column that no question has, no probabilities.
        """
        k = whole_number(k, "k", 1)
        one_of(mode, "mode", MODES)
        if min_probability is not None and self.detector.calibration is None:
            raise ArgumentError("This model has no calibration, so no probabilities to choose by.")
        asked = [questions] if isinstance(questions, str) else list(questions)
        queries = self.detector.encode(asked)
        state = self._state.where(where) if where else self._state
        depth = max(k, DEPTH) if merge_same or min_probability is not None else k
        answers: list[list[Hit]] = [[] for _ in asked]
        worded = np.flatnonzero(queries.any(axis=1))  # One without words has no hits.
        ranked = state.rank(queries[worded], [asked[i] for i in worded], depth, mode)
        for query, found in zip(worded, ranked):
            hits = hits_of(self.detector, state, queries[query], found[:, :depth], threshold)
            if min_probability is not None:
                hits = [hit for hit in hits if hit.probability >= min_probability]
            answers[query] = same_marked(hits, k, merge_same)
        return answers[0] if isinstance(questions, str) else answers

    def search_vectors(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, State]:
        """`search` for vectors, float32 [queries, d]: (rows, cosines, what the rows count in)."""
        state = self._state
        return *state.search(queries, k), state


def _saved_detector(
    path: str | os.PathLike, facts: Mapping[str, Any], model: Any, encoder: Any
) -> DuplicateDetector:
    """The model of an index, from its file, or of the encoder that the index names."""
    if model is not None:
        return DuplicateDetector.load(model, encoder)
    places = facts.get("model", [])
    if facts["encoder"] and not places:
        encoder = saved_encoder(path, facts["encoder"], encoder)
        return DuplicateDetector.from_encoder(encoder, threshold=facts["fit"]["threshold"])
    raise CheckpointError(
        f"{path} does not say where its model is, or it is gone from there"
        f"{''.join(f' ({place})' for place in places[1:])}. Name the model (--model)."
    )


def _fit_of(detector: DuplicateDetector) -> dict[str, Any]:
    calibration = detector.calibration
    known = calibration.to_dict() if calibration else None
    fit = {"threshold": detector.threshold, "calibration": known}
    return {**fit, "threshold_from": detector.threshold_from}


def _checked_id(value: Any) -> str | int:
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise DataError(f"An id must be text or a whole number, not {value!r:.40}.")
    return value
