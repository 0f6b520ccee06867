"""Requests of many clients answered together: one thread takes all that wait."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from siamese.errors import SiameseError


class Busy(SiameseError):
    """More waits for an answer than is allowed, or the service is being stopped."""


class Batches:
    """Calls a function, in a thread of its own, with the requests that wait.

    Args:
      answer: function (requests) -> answers, one each; an answer that is an exception is raised for its
        request only, an exception of the function for all of them.
      together: how many questions are answered at once, at most; a larger request goes alone.
      waiting: how many questions may wait; `ask` refuses more.
      wait: seconds that the first request waits for others.
    """

    def __init__(
        self,
        answer: Callable[[list[Any]], Sequence[Any]],
        *,
        together: int,
        waiting: int,
        wait: float,
    ):
        self._answer, self._together, self._most, self._wait = answer, together, waiting, wait
        self._queue: deque[tuple[Any, int, Future]] = deque()
        self._questions = 0  # in the queue
        self._changed = threading.Condition()
        self._closed = False
        self.calls = self.answered = 0  # of the function; requests
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def ask(self, request: Any, questions: int) -> Future:
        """Puts a request of so many questions into the queue; its answer comes in the future.

        Raises:
          Busy: too much waits.
        """
        future: Future = Future()
        with self._changed:
            if self._closed:
                raise Busy("The service is being stopped.")
            if self._queue and self._questions + questions > self._most:
                raise Busy(f"{self._questions:,} questions wait for an answer. Ask again later.")
            self._queue.append((request, questions, future))
            self._questions += questions
            self._changed.notify()
        return future

    def close(self) -> None:
        """Answers what waits, takes nothing more, and ends the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self.thread.join()

    def _next(self) -> list[tuple[Any, Future]]:
        """The next requests to answer together; none at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._closed)
            full = lambda: self._questions >= self._together or self._closed  # noqa: E731
            if self._queue:
                self._changed.wait_for(full, self._wait)
            taken, size = [], 0
            while self._queue and (not taken or size + self._queue[0][1] <= self._together):
                request, questions, future = self._queue.popleft()
                self._questions -= questions
                if future.set_running_or_notify_cancel():  # Its client may be gone.
                    taken.append((request, future))
                    size += questions
            return taken

    def _run(self) -> None:
        while True:
            taken = self._next()
            if not taken:
                if self._closed:
                    return
                continue
            try:
                answers = self._answer([request for request, _ in taken])
            except Exception as error:
                answers = [error] * len(taken)
            self.calls, self.answered = self.calls + 1, self.answered + len(taken)
            for (_, future), answer in zip(taken, answers, strict=True):
                if isinstance(answer, Exception):
                    future.set_exception(answer)
                else:
                    future.set_result(answer)
