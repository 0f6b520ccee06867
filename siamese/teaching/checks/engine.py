"""An exercise as a table: its reference, its cases, and its mistakes, each an edit of the reference's text.

A check runs the learner's function on the cases. Where a result is wrong, it makes the
table's wrong functions out of the reference's source, runs them on the same cases, and
names the mistake whose results equal the learner's on all of them: one mistake, one
sentence. Where none fits, the report holds the learner's result beside the right one,
or the error and the learner's own line.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import itertools
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import NamedTuple

import numpy as np

from siamese.system.process import TooSlow, keeping_generators, limited

from . import tables
from .results import Fault, numbers, same, show, shown_apart
from .submission import Function, Learner, NotWritten, Watched, describe_error

MARK = 10.0  # the best mark of an exercise
STAYS = "the inputs stay as they are"
TRIES = 3  # so many failed ones, or hints, open the solution

# ---- Scores ----


@dataclass(frozen=True)
class Failure:
    """A case that a function failed."""

    case: str  # its name, which says what was tried
    expected: str  # in words or numbers
    actual: str  # the result, or the error with the learner's own line
    hint: str = ""  # the mistake in one sentence, in the first failure alone; never the solution

    def __str__(self) -> str:
        lines = [f"  ✗ {self.case}"]
        for name in ("expected", "actual", "hint"):
            text = getattr(self, name)
            if text:
                lines.append(
                    f"      {name + ':':<9} " + text.replace("\n", "\n" + " " * 16)
                )
        return "\n".join(lines)


@dataclass(frozen=True)
class Score:
    """The result of a check."""

    exercise: str  # the function's name
    points: int  # cases passed
    out_of: int  # cases in all
    failures: tuple[Failure, ...] = ()  # in order
    # False where the function still has its blanks; it then has no points.
    written: bool = True
    note: str = ""  # where an exercise has several right answers, the name of this one

    @property
    def full(self) -> bool:
        """Whether every case was passed."""
        return self.points == self.out_of

    @property
    def mark(self) -> float:
        """The points as a mark from 0 to `MARK`: a notebook's check cell ends with it, for nbgrader."""
        return round(MARK * self.points / self.out_of, 2)

    def __str__(self) -> str:
        if not self.written:
            why = self.failures[0].actual
            reason = "" if "not written" in why else f" ({why})"
            return f"exercise {self.exercise} is not written yet{reason}"
        head = f"{'✓' if self.full else '✗'} {self.exercise}: {self.points} of {self.out_of} cases"
        if self.note:
            head += f", {self.note}"
        lines = [head, *map(str, self.failures[:1])]
        if len(self.failures) > 1 and not self.failures[0].hint:
            first, *others = (re.sub(r"0x\w+|\d+", "", f.actual) for f in self.failures)
            if first in others and "\nin line" in first:
                lines.append(f"  ✗ and the same in {others.count(first)} more")
            else:
                lines.append(f"  ✗ and {len(others)} more cases")
        return "\n".join(lines)


# ---- Exercises ----


class Case(NamedTuple):
    """The arguments of one call of the learner's function, or of an exercise's `observe`."""

    name: str
    arguments: tuple[object, ...] = ()
    options: Mapping[str, object] = {}


def call(fn: Function, *arguments: object, **options: object) -> np.ndarray:
    """The usual `observe`: the function's result as numbers."""
    return numbers(fn(*arguments, **options))


@dataclass(eq=False)
class Exercise:
    """The check of an exercise: call it with the learner's function; it prints and returns the score.

    A form, here and in `tables`, is a text that makes a function out of the reference's
    source.
    """

    name: str  # of the function, and of its section in the sheets
    table: list[Case]  # the cases in order, the plainest first
    _: KW_ONLY
    # Forms added to each mistake's: what often stands beside it.
    variants: tuple[str, ...] = ("",)
    scope: Mapping[str, object] = field(default_factory=dict)  # names that forms use
    # (Function, *arguments, **options) -> the result of a case: numbers, text, a list.
    observe: Function = call
    # Function -> what is compared in place of its results.
    trace: Callable[[Watched], object] | None = None
    # The most that all cases may take: JAX compiles each operation.
    seconds: float = 30.0
    stays: bool = True  # whether the arguments must stay as they are; a case of its own
    # Which of several right answers a wrong one is compared with: the nearest one, or
    # the first, the notebook's own, so that no number contradicts the notebook.
    nearest: bool = False
    # (sentence, the learner's code) -> the sentence, where the results alone do not say.
    reread: Callable[[str, str], str] = lambda sentence, code: sentence

    def __post_init__(self) -> None:
        self.hints = tables.hints(self.name)
        self.answers = tables.answers(self.name)
        rows = [*tables.rows(self.name), *tables.rows("ERRORS")]
        self.rows = [row for row in rows if not row[1].startswith("! ")]
        self.errors = [
            (form[2:], words) for words, form in rows if form.startswith("! ")
        ]
        self.source = tables.source(self.name)
        definition = ast.parse(self.source).body[0]
        assert isinstance(definition, ast.FunctionDef)
        arguments = definition.args
        self.signature = f"{self.name}({ast.unparse(arguments)})"
        self.arguments = [argument.arg for argument in arguments.args]
        self.cases = [*self.table, Case(STAYS)] if self.stays else self.table
        self.scope = {**tables.solutions(), "fastnp": np, **self.scope}
        self.scope["right"] = self.function()
        self.failed = 0  # tries
        self.hinted = 0  # hints that were shown
        self.__name__ = (
            "check_" + re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.name).lower()
        )
        self.__doc__ = f"Checks ``{self.signature}``."

    def __call__(self, fn: Function) -> Score:
        """Scores the function, prints the score and returns it."""
        score = self.score(fn)
        self.failed += score.written and not score.full
        print(score)
        return score

    def score(self, fn: Function) -> Score:
        """Scores the function; nothing that it prints or raises gets out (but Ctrl-C does)."""
        try:
            learner = Learner(fn, self.name)
            if "trax" in self.source:
                importlib.import_module("siamese.course.model")  # no part of the time
            with _quiet():
                failures, note = self._judged(learner)
        except NotWritten as error:
            failure = Failure("is it written?", self.signature, str(error))
            return Score(self.name, 0, len(self.cases), (failure,), written=False)
        points = len(self.cases) - len(failures)
        return Score(self.name, points, len(self.cases), failures, note=note)

    # ---- The table's functions ----

    def function(self, *forms: str) -> Function | None:
        """The function of the forms, one after the other; None where an edit's text is not there."""
        source = re.sub(
            r"\n +from trax.fastmath import numpy as fastnp", "", self.source
        )
        for form in filter(None, forms):
            source = tables.edited(source.replace("fastnp.", "np."), form)
            if not source:
                return None
        scope = dict(self.scope)
        exec(compile(source, "<table>", "exec"), scope)
        function = scope[self.name]
        assert callable(function)
        return function

    def wrong(self) -> Iterator[tuple[str, str, Function]]:
        """(sentence, form, wrong function) of each row, in each right answer and variant."""
        answers = self.answers.values()
        for answer, variant, row in itertools.product(
            answers, self.variants, self.rows
        ):
            sentence, form = row
            function = self.function(answer, variant, form)
            if function is not None:
                yield sentence, form, function

    def attempt(
        self, case: Case, fn: Watched, observe: Function | None = None
    ) -> object:
        """The result of a case; a `Fault` for none."""
        try:
            return (observe or self.observe)(fn, *case.arguments, **case.options)
        except (KeyboardInterrupt, TooSlow):
            raise
        except BaseException as error:
            # The text of an error of Trax's layers is a whole traceback; it is inside.
            while (
                type(error).__name__ == "LayerError" and error.__context__ is not None
            ):
                error = error.__context__
            if isinstance(error, Fault):
                return error
            key = re.sub(r"0x\w+|\d+", "", f"{type(error).__name__}: {error}")
            if "broadcast" in key:
                key = "broadcast"
            text = describe_error(error, getattr(fn, "file", ""))
            return Fault(text, self._error_hint(text, getattr(fn, "text", "")), key)

    def _error_hint(self, text: str, code: str = "") -> str:
        if re.match(r"TypeError.*argument", text) and f"{self.name}(" in text:
            return f"the exercise asks for {self.signature}"
        for pattern, words in self.errors:
            part, _, of_code = pattern.partition(" ~~ ")
            if re.search(part, text) and re.search(of_code, code):
                return words
        return ""

    # ---- Judging ----

    def _results(self, learner: Learner) -> list[object]:
        """The learner's result of each case."""
        results: list[object] = []
        with contextlib.suppress(TooSlow), limited(self.seconds):
            for case in self.table:
                results.append(self.attempt(case, learner))
        if len(results) < len(self.table):
            slow = f"nothing within {self.seconds:.0f} seconds"
            hint = "look for a loop that never ends, or a generator that never yields"
            results.append(Fault(slow, hint, "TooSlow"))
        late = Fault(
            "not tried: the function did not end in the case before", key="TooSlow"
        )
        return results + [late] * (len(self.table) - len(results))

    def _judged(self, learner: Learner) -> tuple[tuple[Failure, ...], str]:
        """The failures, and the name of the answer; NotWritten for a blank, if the first case fails."""
        results = self._results(learner)
        trials = {}  # name of the answer -> numbers of the cases that fail by it
        for name, form in self.answers.items():
            pairs = zip(results, self.expected(form))
            trials[name] = [i for i, pair in enumerate(pairs) if not same(*pair)]
        answer = min(trials, key=lambda name: len(trials[name]))
        is_that_answer = all(isinstance(results[i], Fault) for i in trials[answer])
        if not is_that_answer and not self.nearest:
            answer = next(iter(trials))
        expected = self.expected(self.answers[answer])
        wrong = trials[answer]

        if 0 in wrong:
            nothing = show(results[0]) == "None"
            stopped = isinstance(results[0], Fault) and not nothing
            blank = learner.blank(stopped, nothing)
            if blank:
                raise NotWritten(blank)

        # The hint belongs to the first failure.
        hint = self._mistake(results, wrong, learner) if wrong else ""
        failures: list[Failure] = []
        for i in wrong:
            right, result = shown_apart(expected[i], results[i])
            failures.append(
                Failure(self.table[i].name, right, result, "" if failures else hint)
            )

        place = learner.changed() if self.stays else None
        if place is not None and hint:
            failures.append(self._changed(place, with_hint=False))
        elif place is not None:
            failures.insert(0, self._changed(place, with_hint=True))
        elif self.stays and len(wrong) == len(self.table):
            # No points for doing nothing right.
            failures.append(Failure(STAYS, "the same as before", "no result is right"))
        return tuple(failures), answer if len(wrong) < len(results) / 2 else ""

    def _changed(self, place: int, with_hint: bool) -> Failure:
        """The failure of a function that changes its argument of that number."""
        name = self.arguments[place] if place < len(self.arguments) else "argument"
        hint = ""
        if with_hint:
            hint = self._error_hint(f"{name} is changed")
            hint = hint or f"the function changed its input {name}: work on a copy"
        return Failure(STAYS, "the same as before", f"{name} is changed", hint)

    @functools.cache  # noqa: B019  (exercises live as long as the module)
    def expected(self, form: str) -> list[object]:
        """The right result of each case, of the answer with that form."""
        function = self.function(form)
        if function is None:
            raise ValueError(f"{self.name}: the solution has no text for {form!r}")
        right = Watched(function)
        return [self.attempt(case, right) for case in self.table]

    def _mistake(
        self, results: list[object], wrong: list[int], learner: Learner
    ) -> str:
        """The sentence of the learner's mistake; empty where none fits."""
        rights = [self.expected(form) for form in self.answers.values()]
        order = sorted(range(len(results)), key=lambda i: i not in wrong)
        late = {i for i in order if getattr(results[i], "key", "") == "TooSlow"}
        order = [i for i in order if i not in late]
        # First all cases. Then without the later ones that explain themselves, such as
        # nothing printed: they may be a mistake of their own.
        explained = {i for i in wrong[1:] if getattr(results[i], "hint", "")}
        few = [i for i in order if i not in explained]
        fitting = self._fitting(results, rights, wrong, learner, order)
        if not fitting and explained and 2 * len(few) >= len(results):
            fitting = self._fitting(results, rights, wrong, learner, few)
        if fitting:
            return self.reread(fitting, learner.text)
        return self._apparent(results, rights, wrong, learner)

    def _fitting(
        self,
        results: list[object],
        rights: list[list[object]],
        wrong: list[int],
        learner: Learner,
        order: list[int],
    ) -> str:
        """The sentence of a mistake with the learner's results of the cases `order`; empty for none."""
        if not order or order[0] not in wrong:
            return ""
        tried = [results[i] for i in order]
        faults = [result for result in tried if isinstance(result, Fault)]
        if len(faults) == len(order) and faults[0].hint:  # They explain themselves.
            return ""

        def alike(others: Iterable[object]) -> bool:
            for i, result in zip(order, others):
                allowed = [results[i]]
                if i not in wrong:
                    allowed += [right[i] for right in rights]
                if not any(same(result, other) for other in allowed):
                    return False
            return True

        traced = self.trace and self.attempt(Case(""), learner, self.trace)
        for sentence, _, function in self.wrong():
            mistaken = Watched(function)
            if self.trace:
                fits = same(traced, self.attempt(Case(""), mistaken, self.trace))
            else:
                fits = alike(self.attempt(self.table[i], mistaken) for i in order)
            if fits:
                return sentence
        for right, (sentence, slip) in itertools.product(rights, _slips()):
            if alike(_slipped(slip, right[i]) for i in order):
                return sentence
        return ""

    def _apparent(
        self,
        results: list[object],
        rights: list[list[object]],
        wrong: list[int],
        learner: Learner,
    ) -> str:
        """What the results show by themselves."""
        first = results[wrong[0]]
        unused = sorted(learner.unused - {"mode", "verbose"})
        outside = learner.notebook_variables()
        if isinstance(first, Fault):
            outside = [name for name in outside if name.lower() in self.arguments]
        if outside:
            argument = "use the function's arguments"
            if unused:
                argument = f"it never uses its argument {unused[0]}"
            return f"{outside[0]} is a variable of the notebook: {argument}"
        if isinstance(first, Fault):
            return first.hint
        if unused and learner.changed() is None:
            return f"it never uses its argument {unused[0]}"
        failed = [results[i] for i in wrong]
        arrays = [result for result in failed if isinstance(result, np.ndarray)]
        if not all(np.isfinite(array).all() for array in arrays):
            return "there is nan or inf in the result: look for a division by zero, or 0 * inf"
        if (
            isinstance(first, np.ndarray)
            and first.ndim > np.asarray(rights[0][wrong[0]]).ndim == 0
        ):
            return "one number is asked for: the array is not summed or averaged"
        for right in rights:
            if all(same(results[i], right[i], 5e-3) for i in wrong):
                return (
                    "nearly right: is it rounded on the way, is something small added?"
                )
        return ""


@functools.cache
def _slips() -> list[tuple[str, Callable[[np.ndarray], object]]]:
    """(sentence, right result -> the result of a slip) that any number may have."""
    return [
        (words, eval(f"lambda x: {form}", {"np": np}))
        for words, form in tables.rows("SLIPS")
    ]


def _slipped(slip: Callable[[np.ndarray], object], right: object) -> np.ndarray | None:
    """A slip's result; None where the right one is no array, or does not fit the slip."""
    if not isinstance(right, np.ndarray):
        return None
    try:
        return np.asarray(slip(right), np.float64)
    except (TypeError, ValueError, IndexError):
        return None


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Drops what is printed and warned of; the notebook's random numbers go on as if nothing was drawn."""
    with (
        keeping_generators(),
        open(os.devnull, "w", errors="ignore") as nowhere,
        warnings.catch_warnings(action="ignore"),
        np.errstate(all="ignore"),
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        yield
