"""An exercise: its cases, and the score of a learner's function.

The checks stand on the standard library and NumPy (and Trax where an exercise is about it), never on
the rest of `siamese`: the reference stays apart from what it judges, and `siamese grade` can load a
copy of this folder that a notebook cannot have changed.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import os
import random
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from .compare import TOLERANCE, Tried, Wrong, expect, expect_unchanged
from .learner import Learner, NotWritten, TooSlow, describe_error, limited

# ---- Scores ----


@dataclass(frozen=True)
class Failure:
    """A case that a function failed."""

    case: str  # its name, which says what was tried
    expected: str  # in words or numbers
    actual: str  # the result, or the error with the learner's own line
    hint: str = ""  # where to look; never the solution

    def __str__(self) -> str:
        lines = [f"  ✗ {self.case}"]
        for name in ("expected", "actual", "hint"):
            if text := getattr(self, name):
                lines.append(f"      {name + ':':<9} " + text.replace("\n", "\n" + " " * 16))
        return "\n".join(lines)


MARK = 10.0  # the best mark of an exercise


@dataclass(frozen=True)
class Score:
    """What a check found."""

    exercise: str  # the function's name
    points: int  # cases passed
    out_of: int  # cases in all
    failures: tuple[Failure, ...] = ()  # in order
    written: bool = True  # False where the function still has its blanks; it then has no points
    note: str = ""  # where an exercise has several right answers, which one this is

    @property
    def full(self) -> bool:
        """Whether every case was passed."""
        return self.points == self.out_of

    @property
    def mark(self) -> float:
        """The points as a mark from 0 to `MARK`: what a notebook's check cell ends with, for nbgrader."""
        return round(MARK * self.points / self.out_of, 2)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        if not self.written:
            why = self.failures[0].actual
            told = "" if "not written" in why else f" ({why})"
            return f"exercise {self.exercise} is not written yet{told}"
        head = f"{'✓' if self.full else '✗'} {self.exercise}: {self.points} of {self.out_of} cases"
        lines = [head + (f", {self.note}" if self.note else "")]
        # The same error again says nothing new.
        alike = itertools.groupby(self.failures, lambda one: (one.actual, one.hint))
        told = [next(group) for _, group in alike]
        lines += map(str, told)
        if more := len(self.failures) - len(told):
            lines.append(f"  ✗ and the same in {more} more")
        return "\n".join(lines)

    def __repr__(self) -> str:  # A notebook shows it below what was printed.
        return f"<Score {self.exercise} {self.points}/{self.out_of}>"


# ---- Exercises ----


def trax_layers():
    """`trax.layers`, imported the quick way where siamese is there to ease it."""
    try:
        from siamese import compat

        compat.prepare()
    except ImportError:
        pass
    from trax import layers

    return layers


class Exercise:
    """The check of an exercise: call it with the learner's function; it prints and returns the score.

    Cases run in order, the plainest first. Where that one does not even give a result and the
    function still has a `None` to replace, the exercise counts as not written.

    Args:
      signature: the function with its arguments, as the exercise states it.
      about: what goes in and what comes out, with shapes.
      reference: function (*arguments) -> the right result.
      mistakes: function (*arguments) -> [(the result of a known mistake, hint)].
      seconds: the most that a case may take.
      tolerance: of results, absolute and relative.
      look: the hint where a result is wrong and nothing better fits.
      uses_trax: Trax is imported before the first case, whose time is limited.

    Example:
      >>> check_doubled = Exercise("doubled(x)", "a number", lambda x: 2 * x)
      >>> check_doubled.table([("a number", (2,), ""), ("zero", (0,), "")])
      >>> check_doubled(lambda x: 2 * x)
      ✓ doubled: 2 of 2 cases
      <Score doubled 2/2>
    """

    def __init__(
        self,
        signature: str,
        about: str,
        reference: Callable | None = None,
        mistakes: Callable | None = None,
        seconds: float = 20.0,
        tolerance: float = TOLERANCE,
        look: str = "",
        uses_trax: bool = False,
    ):
        self.signature, self.seconds = signature, seconds
        self.tolerance, self.look, self.uses_trax = tolerance, look, uses_trax
        self.name = signature.split("(")[0]
        self.reference, self.mistakes = reference, mistakes or (lambda *given, **options: ())
        self.cases: list[tuple[str, Callable]] = []
        self.__name__ = "check_" + re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.name).lower()
        self.__doc__ = f"Checks ``{signature}``: {about}"

    def __call__(self, fn: Callable) -> Score:
        """Scores the function, prints the score and returns it."""
        score = self.score(fn)
        print(score)
        return score

    def case(self, name: str) -> Callable:
        """Decorator: adds a case, a function (learner's function) that raises `Wrong`."""
        return lambda function: self.cases.append((name, function))

    def table(self, rows: Iterable[tuple], attempt: Callable | None = None, **same: Any) -> None:
        """Adds a case for each row (name, ...): ``attempt(learner's function, ..., **same)``."""
        attempt = attempt or self.compare
        for name, *row in rows:
            self.cases.append((name, lambda fn, row=row: attempt(fn, *row, **same)))

    def compare(self, fn: Learner, arguments: tuple, hint="", options=None, *, keep=()) -> Tried:
        """Raises `Wrong` unless the result is the reference's.

        Args:
          fn: the learner's function.
          arguments: what it is called with.
          hint: what to say where no known mistake fits.
          options: keyword arguments.
          keep: names of the first arguments, which the function must not change.
        """
        given, options = copy.deepcopy(arguments), options or {}
        actual = fn(*given, **options)
        expected = self.answer(fn, actual, *arguments, **options)
        mistakes = self.mistakes(*arguments, **options)
        tried = expect(actual, expected, hint, mistakes, self.tolerance)
        for part, before, now in zip(keep, arguments, given):
            expect_unchanged(part, before, now)
        return tried

    def answer(self, fn: Learner, actual: Any, *arguments, **options) -> Any:
        """The right result; an exercise with several right answers chooses by the actual one."""
        return self.reference(*arguments, **options)

    def score(self, fn: Callable) -> Score:
        """Scores the function; nothing that it prints or raises gets out (but Ctrl-C does)."""
        found: list[tuple[Failure | None, Tried]] = []
        python, numpy = random.getstate(), np.random.get_state()
        try:
            learner = Learner(fn, self.name)
            if self.uses_trax:
                trax_layers()
            for place, (name, case) in enumerate(self.cases):
                found.append(self._run(name, case, learner))
                if found[0][0] and place == 0 and (blank := learner.blank()):
                    raise NotWritten(blank)
        except NotWritten as error:
            failure = Failure("is it written?", self.signature, str(error))
            return Score(self.name, 0, len(self.cases), (failure,), written=False)
        finally:  # The notebook's own random numbers go on as if nothing had been checked.
            random.setstate(python)
            np.random.set_state(numpy)
        failures, note = tuple(_agreed(found, learner.unused)), learner.memo.get("note", "")
        return Score(self.name, len(found) - len(failures), len(found), failures, note=note)

    def _run(self, name: str, case: Callable, learner: Learner) -> tuple[Failure | None, Tried]:
        if learner.too_slow > 1:  # One more endless loop a case would take minutes.
            return Failure(name, "", "not tried: the function did not come to an end twice"), {}
        learner.stopped = False
        try:
            with (
                open(os.devnull, "w", errors="ignore") as nowhere,
                warnings.catch_warnings(action="ignore"),
                np.errstate(all="ignore"),
                contextlib.redirect_stdout(nowhere),
                contextlib.redirect_stderr(nowhere),
                limited(self.seconds),
            ):
                tried = case(learner)
            return None, tried or {}
        except Wrong as wrong:
            return Failure(name, wrong.expected, wrong.actual, wrong.hint or self.look), wrong.tried
        except KeyboardInterrupt:
            raise
        except NotImplementedError as error:
            raise NotWritten(str(error) or "it raises NotImplementedError") from None
        except BaseException as error:
            learner.stopped = True
            learner.too_slow += isinstance(error, TooSlow)
            told = describe_error(error, learner.file)
            if isinstance(error, TooSlow):
                told = f"nothing within {self.seconds:.0f} seconds"
            return Failure(name, "a result", told, self._error_hint(error)), {}

    def _error_hint(self, error: BaseException) -> str:
        text = f"{type(error).__name__}: {error}"
        if isinstance(error, TypeError) and "argument" in text and f"{self.name}(" in text:
            return f"the exercise asks for {self.signature}"
        return next((hint for part, hint in ERROR_HINTS.items() if part in text), "")


def _agreed(found: list[tuple[Failure | None, Tried]], unused: Iterable[str]) -> Iterable[Failure]:
    """The failures, each with the hint of the mistake that explains most cases.

    A mistake that would show in other cases too, and does not, has the same result here by chance.
    """
    offered = Counter(mistake for _, tried in found for mistake in tried)
    fits: Counter[tuple[str, int]] = Counter()
    for _, tried in found:
        fits.update(tried)
    for failure, tried in found:
        if failure is None:
            continue
        likely = [m for m, fit in tried.items() if fit and 2 * fits[m] > offered[m]]
        hint, _ = max(likely, key=fits.__getitem__, default=(failure.hint, 1))
        for name in unused:
            hint = f"it never uses its argument {name}: is a variable of the notebook used? {hint}"
        yield replace(failure, hint=hint.strip())


# Part of an error's text -> hint.
ERROR_HINTS = {
    "TooSlow": "look for a loop that never ends, or a generator that never yields",
    "Tracer": "Trax compiles the function: compute with trax.fastmath.numpy or jax.numpy, "
    "not with NumPy, float() or if on the values",
    "Concretization": "Trax compiles the function: return the array, without float() or if on the values",
    "first_token_model() takes": "the model takes one argument, the pair (q1, q2)",
    "tree_init() missing": "the optimizer is an object: call its class, as in Adam(0.01)",
    "not an iterator": "labeled_data is the generator itself, not one of its batches",
    "has no attribute 'name'": "the layer is asked for: call the function, as in TripletLoss()",
    "is not iterable": "a list is asked for: [...] around it",
    "at least two elements": "the evaluation needs a metric: [TripletLoss()]",
    "Last dimension of state": "an LSTM of d_model units takes vectors of d_model numbers",
    "rank 3 tensor": "the LSTM takes vectors: the embedding comes before it",
    "broadcast": "two arrays do not fit: print their shapes; is a size fixed that belongs to the input?",
    "out of range": "an index is too large: print it, and the length of what it looks into",
    "'NoneType'": "a step gives None: fill_diagonal, sort and shuffle change their input and return "
    "nothing, and a function of your own may lack its return",
    "UnboundLocalError": "the name gets a value further down, or inside another function",
    "NameError": "that name is not defined: is it misspelt, or does it belong to another function?",
    "item assignment": "arrays of JAX cannot be changed: compute a new one (fastnp.where, 1 - fastnp.eye)",
    "truth value": "if, and, or, not ask for one truth value: use &, | and ~, or where, on arrays",
    "too many values to unpack": "the parts do not fit the names: a generator gives a batch with next()",
    "not subscriptable": "a generator gives its batches with next(), and a function is called with ()",
    "has no len()": "questions are lists of ids, and a batch is a list of questions: [[2, 3]] for one",
    "as an integer": "a length is a whole number: int(...)",
    "non-int": "a length is a whole number: int(...)",
    "StopIteration": "the generator ended: next() found no batch",
    "KeyError: ": "a word may be missing in the vocabulary: say what counts instead",
    "contracting": "the shapes do not fit a product: v1 [batch, d] meets v2.T [d, batch]",
    "inhomogeneous": "rows of unequal length make no array: is the longest question longer than the "
    "length? 2 ** ceil(np.log2(length)), with np.log2",
}
