"""Scores of an exercise: cases that a learner's function passes or fails, and what a failure says.

The checks stand on the standard library and NumPy (and Trax where an exercise is about it), never on
the rest of `siamese`: the reference stays apart from what it judges, and `siamese grade` can load a
copy of this folder that a notebook cannot have changed.
"""

from __future__ import annotations

import contextlib
import io
import random
import sys
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from .learner import Learner, describe_error, limited

CASE_SECONDS = 20.0


class Wrong(Exception):
    """A case's finding: what was expected, what came, and a hint at the mistake."""

    def __init__(self, expected: str, came: str, hint: str = ""):
        super().__init__(expected, came, hint)
        self.expected, self.came, self.hint = expected, came, hint


class NotWritten(Exception):
    """The exercise still has its blanks."""


@dataclass(frozen=True)
class Failure:
    """A case that a function failed.

    Attributes:
      case: its name, which says what was tried.
      expected: the result that was expected, in words or numbers.
      came: the result, or the error with the learner's own line.
      hint: where to look; never the solution.
    """

    case: str
    expected: str
    came: str
    hint: str = ""

    def __str__(self) -> str:
        lines = [f"  ✗ {self.case}"]
        for name, text in (("expected", self.expected), ("came", self.came), ("hint", self.hint)):
            if text:
                lines.append(f"      {name + ':':<9} " + text.replace("\n", "\n" + " " * 16))
        return "\n".join(lines)


@dataclass(frozen=True)
class Score:
    """What a check found.

    Attributes:
      exercise: the function's name.
      points: cases passed.
      out_of: cases in all.
      failures: the cases that were not passed, in order.
      written: False where the function still has its blanks; it then has no points.
      note: where an exercise has several right answers, which one this is.
    """

    exercise: str
    points: int
    out_of: int
    failures: tuple[Failure, ...] = ()
    written: bool = True
    note: str = ""

    @property
    def full(self) -> bool:
        """Whether every case was passed."""
        return self.points == self.out_of

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        if not self.written:
            why = self.failures[0].came
            told = "" if "not written" in why else f" ({why})"
            return f"exercise {self.exercise} is not written yet{told}"
        sign = "✓" if self.full else "✗"
        head = f"{sign} {self.exercise}: {self.points} of {self.out_of} cases"
        head += f", {self.note}" if self.note else ""
        lines, alike = [head], 0
        for before, failure in zip((None, *self.failures), self.failures):
            if before and (before.came, before.hint) == (failure.came, failure.hint):
                alike += 1  # The same error again says nothing new.
                continue
            lines.append(str(failure))
        if alike:
            lines.append(f"  ✗ and the same in {alike} more")
        return "\n".join(lines)

    def __repr__(
        self,
    ) -> str:  # The last line of a notebook's cell shows it below what was printed.
        return f"<Score {self.exercise} {self.points}/{self.out_of}>"


@dataclass
class Exercise:
    """An exercise and its cases; a case is a function (learner's function) that raises `Wrong`.

    Cases run in order, the plainest first. Where that one does not even give a result and the
    function still has a `None` to replace, the exercise counts as not written.

    Example:
      >>> doubled = Exercise("doubled", "doubled(x)")
      >>> @doubled.case("a number")
      ... def _(fn):
      ...     if fn(2) != 4:
      ...         raise Wrong("4", str(fn(2)))
      >>> doubled.score(lambda x: 2 * x)
      <Score doubled 1/1>
    """

    name: str
    signature: str
    cases: list[tuple[str, Callable]] = field(default_factory=list)
    seconds: float = CASE_SECONDS

    def case(self, name: str) -> Callable:
        """Decorator that adds a case of that name."""

        def add(function: Callable) -> Callable:
            self.cases.append((name, function))
            return function

        return add

    def check(self, fn: Callable) -> Score:
        """Scores the function, prints the score and returns it."""
        score = self.score(fn)
        print(score)
        return score

    def score(self, fn: Callable) -> Score:
        """Scores the function; nothing that it prints or raises gets out (but Ctrl-C does)."""
        try:
            learner = Learner(fn, self.name)
        except TypeError as error:
            return self._not_written(str(error))
        python, numpy = random.getstate(), np.random.get_state()
        try:
            return self._score(learner)
        finally:  # The notebook's own random numbers go on as if nothing had been checked.
            random.setstate(python)
            np.random.set_state(numpy)

    def _score(self, learner: Learner) -> Score:
        failures = []
        for place, (name, case) in enumerate(self.cases):
            try:
                failure = self._run(name, case, learner)
            except NotWritten as error:
                return self._not_written(str(error))
            if failure is not None:
                blank = learner.blank(stopped=learner.stopped) if place == 0 else ""
                if blank:
                    return self._not_written(blank)
                failures.append(failure)
                if learner.too_slow > 1:  # One more endless loop a case would take minutes.
                    failures += [
                        Failure(rest, "", "not tried: the function did not come to an end twice")
                        for rest, _ in self.cases[place + 1 :]
                    ]
                    break
        passed = len(self.cases) - len(failures)
        note = learner.memo.get("note", "")
        return Score(self.name, passed, len(self.cases), tuple(failures), note=note)

    def _run(self, name: str, case: Callable, learner: Learner) -> Failure | None:
        learner.stopped = False
        swallow = _Bounded()
        try:
            with contextlib.ExitStack() as quiet:
                quiet.enter_context(warnings.catch_warnings())
                warnings.simplefilter("ignore")
                quiet.enter_context(np.errstate(all="ignore"))
                quiet.enter_context(contextlib.redirect_stdout(swallow))
                quiet.enter_context(contextlib.redirect_stderr(swallow))
                quiet.enter_context(limited(self.seconds))
                case(learner)
        except Wrong as wrong:
            return Failure(name, wrong.expected, wrong.came, wrong.hint)
        except KeyboardInterrupt:
            raise
        except NotImplementedError as error:
            raise NotWritten(str(error) or "it raises NotImplementedError") from None
        except BaseException as error:
            learner.stopped = True
            if type(error).__name__ == "TooSlow":
                learner.too_slow += 1
                came, hint = (
                    f"nothing within {self.seconds:.0f} seconds",
                    "look for a loop that never ends, or a generator that never yields",
                )
            else:
                came, hint = describe_error(error, learner.file), _error_hint(error, self)
            return Failure(name, "a result", came, hint)
        return None

    def _not_written(self, why: str) -> Score:
        failure = Failure("is it written?", self.signature, why)
        return Score(self.name, 0, len(self.cases), (failure,), written=False)


class _Bounded(io.TextIOBase):
    """Takes what a function prints and keeps its beginning only."""

    def __init__(self, most: int = 10_000):
        self.text, self._most = "", most

    def write(self, text: str) -> int:
        if len(self.text) < self._most:
            self.text += text[: self._most]
        return len(text)

    def writable(self) -> bool:
        return True

    def getvalue(self) -> str:
        return self.text


def printed() -> str:
    """What the function printed so far in this case."""
    return sys.stdout.getvalue() if hasattr(sys.stdout, "getvalue") else ""


def _error_hint(error: BaseException, exercise: Exercise) -> str:
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, TypeError) and "argument" in text and f"{exercise.name}(" in text:
        return f"the exercise asks for {exercise.signature}"
    if isinstance(error, SystemExit):
        return "a function returns; it does not end Python"
    if isinstance(error, RecursionError):
        return "the function calls itself without an end"
    if "Tracer" in text:
        return (
            "Trax compiles the function: compute with trax.fastmath.numpy or jax.numpy, "
            "not with NumPy, float() or if on the values"
        )
    if "read-only" in text or "immutable" in text:
        return "the function writes into its input: make a new array instead"
    return ""
