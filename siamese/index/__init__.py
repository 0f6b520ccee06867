"""QuestionIndex: has a new question been asked before? Old questions that are similar to a new one."""

from __future__ import annotations

import functools
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from siamese.encoders.lstm import Lstm
from siamese.groups.answers import AnswerChange, ChangedAnswers
from siamese.groups.grouping import GroupedSnapshot, Snapshot
from siamese.index.incoming import Incoming, as_compared, as_id, as_read
from siamese.index.ranking import ENCODER_VECTOR_WEIGHT, MODES, VECTOR_WEIGHT, Hit
from siamese.model.decision import Questions
from siamese.model.detector import DuplicateDetector, encoded, judged
from siamese.model.near_misses import NearMissCheck
from siamese.reading.pairs import QuestionPairs
from siamese.system.arguments import as_number, counted, one_of, whole_number
from siamese.system.open_types import JsonMapping, JsonObject
from siamese.text.cleaning import has_words
from siamese.text.language import ListLanguages
from siamese.text.values import text_list

if TYPE_CHECKING:
    from siamese.index.parts import Parts

JUDGED = 4096  # hits that are judged at once

__all__ = ["Added", "GroupedSnapshot", "Hit", "QuestionIndex", "Snapshot"]


class Added(NamedTuple):
    """What `QuestionIndex.add` did."""

    ids: list[str]  # of each question
    added: int
    replaced: int
    skipped: int  # They were there.


class ListFacts(NamedTuple):
    """What an index keeps of its list beside the questions."""

    # How it was read: the arguments, the repeated lines, the columns that are compared.
    reading: JsonObject
    # By whose stems its words are found; None for a file that does not say.
    languages: ListLanguages | None
    # Whether `grouped` makes them again, since another near-miss check made them.
    groups_are_of_another_check: bool
    moment: object  # another one after each change


class Asked(NamedTuple):
    """Questions that are searched for, and how."""

    texts: list[str]
    k: int  # hits of each
    mode: str  # one of `MODES`
    weight: float  # of the vectors in hybrid search


class Found(NamedTuple):
    """What was found for each question, at one moment."""

    detector: DuplicateDetector
    queries: np.ndarray  # float32 [questions, d]
    vectors: list[np.ndarray]  # float32 [hits, d] of each question, best first
    entries: list[list[JsonObject]]  # of the same hits
    reading: JsonMapping  # of the list, see `QuestionIndex.build`

    def hits(
        self, texts: Sequence[str], some: Sequence[int], threshold: float | None
    ) -> list[list[Hit]]:
        """The hits of some of the questions; none for one without words."""
        entries = [entry for at in some for entry in self.entries[at]]
        counts = [len(self.entries[at]) for at in some]
        asked = np.repeat(np.arange(len(some)), counts)
        stored = self.questions(
            [entry["question"] for entry in entries],
            np.concatenate([self.vectors[at] for at in some]),
        )
        new = self.questions([texts[at] for at in some], self.queries[list(some)])
        verdicts = judged(self.detector, new.rows(asked), stored, threshold)
        all_hits = iter(
            Hit(entry["id"], entry["question"], *verdict, entry["columns"])
            for entry, verdict in zip(entries, verdicts)
        )
        found = [list(islice(all_hits, count)) for count in counts]
        return [
            hits if self.queries[at].any() or has_words(texts[at]) else []
            for at, hits in zip(some, found)
        ]

    def questions(self, texts: list[str], vectors: np.ndarray) -> Questions:
        """Questions as a decision is given them."""
        return Questions(as_read(self.detector, texts, self.reading), vectors)


def weight_of(detector: DuplicateDetector) -> float:
    """The weight of a model's cosine in hybrid search, 0 to 1; words have the rest.

    In few questions of another language than English they have less
    (`siamese.index.ranking.shares_of_words`).
    """
    is_lstm = isinstance(detector.encoder, Lstm)
    return VECTOR_WEIGHT if is_lstm else ENCODER_VECTOR_WEIGHT


class QuestionIndex(AbstractContextManager["QuestionIndex"], ABC):
    """Questions encoded once and searched many times, in memory or in a file; threads may share it.

    Processes may share a file. What another process changes in it, the next search
    sees; of a file that was exchanged for another one it sees the new one, or raises a
    CheckpointError. Searches do not wait for changes. Close an index that has a file,
    or use it in a ``with`` block. Ids are text; whole numbers become their decimal
    text.
    """

    path: str | None = None  # of its file; None in memory
    _model: DuplicateDetector  # as it was given, see `detector`

    def __repr__(self) -> str:
        return f"QuestionIndex({counted(len(self), 'question')})"

    def __len__(self) -> int:
        return len(self.vectors)

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file."""

    @classmethod
    def build(
        cls,
        detector: DuplicateDetector | str | os.PathLike,
        questions: Sequence[str],
        *,
        ids: Sequence[str | int] | None = None,
        columns: Sequence[JsonMapping] | None = None,
        compared: Sequence[str] | None = None,
        path: str | os.PathLike | None = None,
        model: str | os.PathLike | None = None,
        reading: JsonMapping | None = None,
        overwrite: bool = False,
        show_progress: bool = False,
    ) -> QuestionIndex:
        """Encodes questions, and keeps them in memory or in a file.

        A build of a file that was interrupted or killed goes on where it was stopped,
        when it is called again with the same path, questions and model.

        Args:
          detector: the model, its path, or an encoder's name such as 'use'.
          questions: the texts; equal ones may stand there several times.
          ids: an id of each (text or int, all different); numbers from 0 where None.
          columns: other columns of each question, JSON values, or None.
          compared: what is compared of each question, `QuestionList.compared`; the questions where None.
          path: the file to make; None for memory.
          model: the path of the saved model, which the file names so that `open` finds it.
          reading: how the list was read, which the file keeps for what is added; under 'language' its main
            language if it is not to be recognised from the texts, and under 'repeated' what was
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
        incoming = Incoming.checked(questions, ids, columns)
        texts = as_compared(incoming.texts, compared, reading)
        places = range(len(texts))
        if path is None:
            from siamese.index.memory import ListIndex

            prepared = encoded(detector, texts, places, show_progress=show_progress)
            return ListIndex(detector, incoming, prepared, reading)
        from siamese.index.stored import FileIndex
        from siamese.index.unfinished import resumable

        FileIndex.check_place(detector, path, overwrite)
        made_by = detector, model
        with resumable(detector.encoder, path) as encoder:
            prepared = encoded(
                detector, texts, places, encoder, show_progress=show_progress
            )
            vectors = prepared.vectors
            return FileIndex.made(path, made_by, incoming, vectors, reading, overwrite)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike,
        detector: DuplicateDetector | str | os.PathLike | None = None,
        *,
        check: Callable[[DuplicateDetector], NearMissCheck | None] | None = None,
    ) -> QuestionIndex:
        """Opens the file of an index; CheckpointError: missing, damaged, or made by another model.

        Args:
          path: the file.
          detector: its model, or the path of that; the model that the file names where None.
          check: tells for the model another near-miss check to judge by, or None to judge by none. The file
            keeps the check that it was built with until `set_threshold`, whose threshold is of the check
            that is used then. Groups of another check are made again by `grouped`.
        """
        from siamese.index.stored import FileIndex

        index = FileIndex.opened(path, detector)
        if check is not None:
            try:
                index.use_check(check(index.detector))
            except BaseException:
                index.close()
                raise
        return index

    # ---- Changing ----

    def add(
        self,
        questions: Sequence[str] | str,
        *,
        ids: Sequence[str | int] | None = None,
        columns: Sequence[JsonMapping] | None = None,
        compared: Sequence[str] | None = None,
    ) -> Added:
        """Adds questions, all or none; in a file they are on disk when it returns.

        A question that is stored under its id with the same text and columns is
        skipped; another text, or other columns, replace the stored ones. Without ids a
        question is skipped where a stored one has the same text but for case, blanks
        and quotes; the others get the next free numbers. Where the index has groups,
        each new question joins the one that fits best. `compared` is that of `build`;
        where it is None, what the index's own list repeats is left out. Errors are
        those of `build`.
        """
        texts = [questions] if isinstance(questions, str) else questions
        return self._add(Incoming.checked(texts, ids, columns), compared)

    @abstractmethod
    def _add(self, incoming: Incoming, compared: Sequence[str] | None) -> Added: ...

    def remove(self, ids: Iterable[str | int]) -> int:
        """Removes questions by their ids; returns how many.

        With an unknown id (ArgumentError) none.
        """
        is_one = isinstance(ids, (str, bytes)) or not np.iterable(ids)
        gone = set(map(as_id, [ids] if is_one else ids))
        self._remove(gone)
        return len(gone)

    @abstractmethod
    def _remove(self, ids: set[str]) -> None: ...

    @abstractmethod
    def set_threshold(self, fit: JsonMapping) -> None:
        """Keeps a threshold and a calibration of the index's own; {} brings back those of the model.

        `fit` is as `siamese.evaluation.thresholds.FittedThreshold.to_dict` makes it.
        Its groups go: the next call of `grouped` makes them by the new threshold.
        """

    # ---- What it is ----

    @property
    @abstractmethod
    def detector(self) -> DuplicateDetector:
        """The model, with the threshold and calibration that the index has now."""

    @property
    @abstractmethod
    def facts(self) -> ListFacts:
        """How its list was read, its languages, and how it has changed."""

    @property
    @abstractmethod
    def vectors(self) -> np.ndarray:
        """The questions' vectors, float32 [questions, d], read-only.

        They are the same array until a question changes.
        """

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """The questions, vectors and model of one moment, without groups."""

    # ---- Groups and answers ----

    def grouped(
        self,
        threshold: float | None = None,
        *,
        regroup: bool = False,
        within: Sequence[str] = (),
    ) -> GroupedSnapshot:
        """The groups of duplicates, with the questions and vectors of the same moment.

        They are as those of `siamese.duplicate_groups`. The first call makes and keeps
        them, and `add` extends them; `regroup` makes them again. A pair that was
        answered "duplicate" shares a group, and a pair that was answered "different"
        never does. Questions without any word that the model knows are in no group but
        by an answer. The threshold is that of the groups that are there where it is
        None, else the index's own. Groups that were made by another near-miss check are
        made again. ArgumentError where these were made with another
        threshold.

        With `within`, names of columns, only questions of equal values are compared, as
        if each part were a list of its own; "language" is recognised from the texts if
        no column has that name. Such groups are not stored, but kept until a question
        or an answer changes. ArgumentError for a column that no question has.
        """
        if within:
            return self._parts.grouped(self, tuple(within), threshold)
        return self._grouped(threshold, regroup)

    @abstractmethod
    def _grouped(self, threshold: float | None, regroup: bool) -> GroupedSnapshot: ...

    @abstractmethod
    def add_answers(self, pairs: QuestionPairs, *, forget: bool = False) -> int:
        """Keeps your answers to pairs, `QuestionPairs`; they bind the groups. Returns how many it took.

        An answer holds for all questions that have these texts but for case, blanks and
        quotes, also for those that are added later, and replaces an earlier one to the
        same pair. A pair is left out where the index lacks one of its questions. With
        `forget` the answers to these pairs are removed instead. DataError where answers
        contradict each other; none of the pairs is kept then.
        """

    @abstractmethod
    def change_answers(self, changes: Sequence[AnswerChange]) -> ChangedAnswers:
        """Changes the answers to several pairs, all of them or none; returns the former ones.

        So two people who answer at once never replace, or take back, each other's
        answers: DataError where a pair has an answer that its change may not replace,
        and where the answers contradict each other then. A pair of which the index
        lacks a question is left out.
        """

    @abstractmethod
    def answers(self) -> QuestionPairs:
        """The answers that the index has, as labelled pairs."""

    # ---- Asking ----

    def search(
        self,
        questions: str | Sequence[str],
        k: int = 10,
        *,
        mode: str = "hybrid",
        threshold: float | None = None,
        vector_weight: float | None = None,
        within: JsonMapping | None = None,
    ) -> list[Any]:
        """The k best questions of the index, best first; none for a question without words.

        Args:
          questions: a new question, or a list of them.
          k: how many to find; all there are where the index is smaller.
          mode: order by cosine ('vectors'), by BM25, of what shares a word's stem ('words'), or by both
            (`siamese.index.ranking.joined_scores`). A hit's figures stay what they are.
          threshold: score above which `Hit.is_duplicate` is True; the index's own where None.
          vector_weight: the weight of the cosine in hybrid search, 0 to 1; words have the rest. `weight_of`
            the model where None.
          within: columns and their values: only questions with all of these are searched, as if they were
            a list of their own. An empty cell is "". "language" is recognised from the texts if no column
            has that name; its values are those of `siamese.text.language.LANGUAGES`, or None for the
            language of each question that is asked.

        Returns:
          A list of `Hit`, or for a list of questions a list of such lists. ArgumentError for k below 1,
          another mode, a weight outside 0 to 1, or a column that no question has.
        """
        k = whole_number(k, "k", 1)
        one_of(mode, "mode", MODES)
        weight = weight_of(self._model) if vector_weight is None else vector_weight
        weight = as_number(weight, "vector_weight", 0, 1)
        is_one = isinstance(questions, str)
        texts = text_list(
            [questions] if isinstance(questions, str) else questions, "search"
        )
        asked = Asked(texts, k, mode, weight)
        if within:
            found_within = self._found_within(asked, within, threshold)
            return found_within[0] if is_one else found_within
        found = self._found(asked)
        answers: list[list[Hit]] = []
        step = max(1, JUDGED // k)
        for start in range(0, len(texts), step):
            some = range(start, min(start + step, len(texts)))
            answers += found.hits(texts, some, threshold)
        return answers[0] if is_one else answers

    @abstractmethod
    def _found(self, asked: Asked) -> Found: ...

    def _found_within(
        self, asked: Asked, within: JsonMapping, threshold: float | None
    ) -> list[list[Hit]]:
        """The hits of each question among the stored ones of some values."""
        texts = asked.texts
        parts = self._parts.of_questions(self, texts, within)
        hits: list[list[Hit]] = [[] for _ in texts]
        for part in dict.fromkeys(parts):
            places = [at for at, own in enumerate(parts) if own is part]
            found = part.search(
                [texts[at] for at in places],
                asked.k,
                mode=asked.mode,
                threshold=threshold,
                vector_weight=asked.weight,
            )
            for at, own in zip(places, found):
                hits[at] = own
        return hits

    @functools.cached_property
    def _parts(self) -> Parts:
        """Its questions by the values of columns."""
        from siamese.index.parts import Parts

        return Parts()
