"""One service for the page and the JSON API: a model, its index, and what is asked of both.

Questions that wait are encoded and searched together by one thread, changes are saved together by another.
Before each batch the service takes what other processes have saved in the index's directory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

from siamese.errors import ArgumentError, DataError, SiameseError
from siamese.search.detector import DuplicateDetector
from siamese.search.index import Hit, QuestionIndex
from siamese.serving.batches import Batches


class TooLarge(ArgumentError):
    """More questions, longer ones or more hits than one request may have."""


class NotThere(ArgumentError):
    """An id that no question of the index has."""


class Taken(DataError):
    """An id that a question of the index has already."""


class Limits(NamedTuple):
    """What one request may ask, and how requests are put together."""

    questions: int = 1000  # of a request
    characters: int = 10_000  # of a question
    found: int = 1000  # hits of a question
    waiting: int = 4096  # questions that wait for an answer; more are refused
    together: int = 32  # questions answered at once; for more the encoder would start JAX
    wait: float = 0.002  # seconds that a request waits for others


LIMITS = Limits()


class _Request(NamedTuple):
    """Questions for one of the reader's functions; requests with equal options are joined."""

    answer: Callable[..., Sequence[Any]]
    questions: list[Any]
    options: dict[str, Any]


class QuestionService:
    """Answers many clients at once; threads may share it. Every method returns a future.

    Args:
      detector: the model.
      index: the questions to search; None where there are none.
      path: the index's directory, which `add` and `remove` change; None where it is only read.
      limits: of requests.

    Raises (when a method is called, or by the future):
      TooLarge: a request above the limits.
      Busy: too many questions wait.
      ArgumentError, DataError, CheckpointError: as the functions of `QuestionIndex`.

    Example:
      >>> service = QuestionService.load("old")  # doctest: +SKIP
      >>> service.search(["How old are you?"], k=1).result()[0][0].question  # doctest: +SKIP
      'What is your age?'
    """

    def __init__(
        self,
        detector: DuplicateDetector,
        index: QuestionIndex | None = None,
        path: str | os.PathLike | None = None,
        limits: Limits = LIMITS,
    ):
        self.detector, self.index, self.limits = detector, index, limits
        self.stale = ""  # why what others have saved cannot be read; empty where it can
        self._path = path
        options = {"waiting": limits.waiting, "wait": limits.wait}
        self.reads = Batches(self._read, together=limits.together, **options)
        self.writes = Batches(self._write, together=limits.questions, **options)

    @classmethod
    def load(
        cls,
        index: str | os.PathLike,
        model: str | os.PathLike | None = None,
        *,
        check: bool = True,
        limits: Limits = LIMITS,
    ) -> QuestionService:
        """Maps an index, and loads its model; see `QuestionIndex.open`."""
        made = QuestionIndex.open(index, model)
        return cls(made.detector, made, index, limits)

    @property
    def trouble(self) -> str:
        """Why it does not answer, or not from what is saved now; empty where it does."""
        threads = self.reads.thread, self.writes.thread
        ended = not all(thread.is_alive() for thread in threads)
        return "A thread of the service has ended." if ended else self.stale

    def close(self) -> None:
        """Answers what waits, and ends."""
        self.reads.close()
        self.writes.close()

    # ---- Asking ----

    def similarity(
        self, pairs: Sequence[tuple[str, str]], threshold: float | None = None
    ) -> Future:
        """For each pair a dict with similarity, probability and is_duplicate, as a `Hit` has them."""
        self._check([question for pair in pairs for question in pair])
        request = _Request(self._similarity, list(pairs), {"threshold": threshold})
        return self.reads.ask(request, 2 * len(pairs))

    def encode(self, questions: Sequence[str]) -> Future:
        """A list of the questions' vectors, float32 [d]."""
        self._check(questions)
        return self._ask(self.detector.encode, questions)

    def search(self, questions: Sequence[str], k: int = 10, **options: Any) -> Future:
        """A list of `Hit` for each question; options are those of `QuestionIndex.search`."""
        self._check(questions, k)
        return self._ask(self._searched.search, questions, k=k, **options)

    def duplicates_of(self, ids: Sequence[str | int], k: int = 100, **options: Any) -> Future:
        """For each question of the index, by its id, at most k others that are its duplicates."""
        self._check(ids, k)
        return self._ask(self._duplicates, ids, k=k, **options)

    # ---- Changing ----

    def add(
        self,
        questions: Sequence[str],
        ids: Sequence[str | int] | None = None,
        columns: Sequence[Mapping[str, Any]] | None = None,
    ) -> Future:
        """Adds questions, all or none; a list of their ids when they are saved on disk."""
        self._check(questions)

        def change(index: QuestionIndex) -> list[str | int]:
            try:
                return index.add(questions, ids=ids, columns=columns).ids
            except DataError as error:
                there = [i for i in ids or () if i in index]
                raise (Taken(str(error)) if there else error) from None

        return self._change(change, len(questions))

    def remove(self, ids: Sequence[str | int]) -> Future:
        """Removes questions, all or none; how many, when that is saved on disk."""
        self._check(ids)

        def change(index: QuestionIndex) -> int:
            for i in ids:
                _entry(index, i)
            return index.remove(ids)

        return self._change(change, len(ids))

    # ---- In the threads ----

    @property
    def _searched(self) -> QuestionIndex:
        if self.index is None:
            raise ArgumentError("There is no index to search. Make one with `siamese index`.")
        return self.index

    def _check(self, questions: Sequence[str | int], k: int = 1) -> None:
        most = self.limits
        if len(questions) > most.questions:
            raise TooLarge(f"A request may have {most.questions:,} questions.")
        if any(len(text) > most.characters for text in questions if isinstance(text, str)):
            raise TooLarge(f"A question may have {most.characters:,} characters.")
        if k > most.found:
            raise TooLarge(f"k may be {most.found:,} at most.")

    def _ask(self, answer: Callable, questions: Sequence[Any], **options: Any) -> Future:
        return self.reads.ask(_Request(answer, list(questions), options), len(questions))

    def _change(self, change: Callable[[QuestionIndex], Any], questions: int) -> Future:
        if self._path is None:
            raise ArgumentError("This service has no directory of an index that it could change.")
        return self.writes.ask(change, questions)

    def _read(self, requests: list[_Request]) -> list[Any]:
        """Answers requests; those that differ in nothing but their questions by one call."""
        alike: dict[tuple, list[int]] = {}
        for at, request in enumerate(requests):
            key = request.answer.__name__, repr(sorted(request.options.items()))
            alike.setdefault(key, []).append(at)
        answers: list[Any] = [None] * len(requests)
        for places in alike.values():
            for at, answer in zip(places, self._joined([requests[at] for at in places])):
                answers[at] = answer
        return answers

    def _joined(self, requests: list[_Request]) -> list[Any]:
        answer, _, options = requests[0]
        together = [question for request in requests for question in request.questions]
        try:
            found = iter(answer(together, **options))
        except Exception as error:
            if len(requests) == 1:
                return [error]
            # One of them cannot be answered; the others can.
            return [self._joined([request])[0] for request in requests]
        return [[next(found) for _ in request.questions] for request in requests]

    def _similarity(self, pairs: list[tuple[str, str]], threshold: float | None) -> list[dict]:
        if not pairs:
            return []
        names = "similarity", "probability", "is_duplicate"
        cosines = self.detector.similarity(*map(list, zip(*pairs)))
        return [dict(zip(names, found)) for found in self.detector.judged(cosines, threshold)]

    def _duplicates(self, ids: list[str | int], k: int, **options: Any) -> list[list[Hit]]:
        texts = [_entry(self._searched, i)["question"] for i in ids]
        found = self._searched.search(texts, k + 1, mode="vectors", **options)
        others = ([hit for hit in hits if hit.id != i] for i, hits in zip(ids, found))
        return [[hit for hit in hits[:k] if hit.is_duplicate] for hits in others]

    def _write(self, changes: list[Callable[[QuestionIndex], Any]]) -> list[Any]:
        """Makes changes; one that cannot be made leaves the others."""
        answers: list[Any] = []
        for change in changes:
            try:
                answers.append(change(self.index))
            except SiameseError as error:
                answers.append(error)
        return answers


def _entry(index: QuestionIndex, i: str | int) -> dict[str, Any]:
    try:
        return index.entry(i)
    except ArgumentError as error:
        raise NotThere(str(error)) from None
