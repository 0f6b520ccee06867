"""What the notebooks themselves use: guesses, cells that wait for an exercise, a triplet to drag."""

from __future__ import annotations

import builtins
import uuid
from collections.abc import Mapping
from importlib import resources
from typing import TYPE_CHECKING, Protocol

from siamese.teaching.checks.submission import blank_line

if TYPE_CHECKING:
    from IPython.display import HTML

_GUESSES: dict[str, object] = {}  # name of a guess -> what the learner wrote
# (letter, its fault) -> the wrong answers so far
_TRIED: dict[tuple[str, str], list[str | None]] = {}


class FirstWrite(Exception):
    """The cell needs an exercise that is not written yet."""


class _Result(Protocol):
    """What IPython says of a cell that has ended: `ExecutionResult`."""

    error_in_exec: BaseException | None


def guess(name: str, value: object) -> None:
    """Keeps the learner's guess until `compare` shows it; None is no guess.

    It is never wrong here.
    """
    _GUESSES[name] = value
    print(
        "Write your guess in place of None."
        if value is None
        else f"Your guess: {value}"
    )


def compare(name: str, result: object, why: str) -> None:
    """Prints the guess of that name beside the result, and one sentence why it is so."""
    value = _GUESSES.get(name)
    print(
        f"your guess: {'none yet' if value is None else value}\nresult:     {result}\n{why}"
    )


def find_faults(
    answers: Mapping[str, str | None], faults: Mapping[str, tuple[str, str, str, str]]
) -> None:
    """Says of each letter whether the learner has found its fault; the answer comes last.

    A first wrong answer gets a hint, another one a stronger hint, a third one the answer.

    Args:
      answers: letter -> the fault that the learner names.
      faults: letter -> (the fault, a hint, a stronger hint, why it is this fault).
    """
    for letter, (fault, *hints, why) in faults.items():
        answer = answers.get(letter)
        if answer == fault:
            print(f"{letter}: yes, {fault}. {why}")
            continue
        tried = _TRIED.setdefault((letter, fault), [])
        if answer not in tried:
            tried.append(answer)
        if len(tried) <= len(hints):
            print(f"{letter}: not {answer!r}. Hint: {hints[len(tried) - 1]}")
        else:
            print(f"{letter}: it is {fault}. {why}")


def need(*exercises: object) -> None:
    """Ends the cell with one line, such as "First write f.", while one of these is a blank.

    These are functions, or values of which None is the blank. FirstWrite says which one
    it is; in a notebook the cell counts as run, without a traceback, and the next cell
    goes on.
    """
    _end_cells_quietly()
    for exercise in exercises:
        if exercise is None:
            raise FirstWrite("First write what the cell above asks for.")
        if callable(exercise) and blank_line(exercise):
            name = getattr(exercise, "__name__", type(exercise).__name__)
            raise FirstWrite(f"First write {name}.")


def _end_cells_quietly() -> None:
    """Makes IPython print a `FirstWrite` as a line of text, and count its cell as run."""
    get_ipython = getattr(builtins, "get_ipython", None)  # where a cell runs
    if get_ipython is None:
        return
    shell = get_ipython()
    if FirstWrite in shell.custom_exceptions:
        return

    def report(
        shell: object,
        kind: type[FirstWrite],
        error: FirstWrite,
        traceback: object,
        tb_offset: int | None = None,
    ) -> None:
        print(error)

    def forgive(result: _Result) -> None:
        if isinstance(result.error_in_exec, FirstWrite):
            result.error_in_exec = None

    shell.set_custom_exc((FirstWrite,), report)
    shell.events.register("post_run_cell", forgive)


def drag_circle() -> HTML:
    """A unit circle on which anchor, positive and negative are dragged, with hinge and loss beside it.

    It is an `IPython.display.HTML`, the last value of a cell, and works without a
    network and without a kernel behind it, in JupyterLab, VS Code and Colab.
    """
    from IPython.display import HTML

    text = (resources.files("siamese") / "teaching" / "circle.html").read_text("utf-8")
    return HTML(text.replace("circle-ID", f"circle-{uuid.uuid4().hex}"))
