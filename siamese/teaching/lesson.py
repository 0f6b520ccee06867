"""What the notebooks themselves use: guesses, cells that wait for an exercise, a triplet to drag."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from importlib import resources
from typing import Any

from siamese.system.open_types import JsonObject
from siamese.teaching.checks.submission import blank_line

_GUESSES: JsonObject = {}  # name of a guess -> what the learner wrote
# (letter, its fault) -> the wrong answers so far
_TRIED: dict[tuple[str, str], list] = {}


class FirstWrite(Exception):
    """The cell needs an exercise that is not written yet."""


def guess(name: str, value: Any) -> None:
    """Keeps the learner's guess until `compare` shows it; None is no guess.

    It is never wrong here.
    """
    _GUESSES[name] = value
    print(
        "Write your guess in place of None."
        if value is None
        else f"Your guess: {value}"
    )


def compare(name: str, result: Any, why: str) -> None:
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
            raise FirstWrite(f"First write {exercise.__name__}.")


def _end_cells_quietly() -> None:
    """Makes IPython print a `FirstWrite` as a line of text, and count its cell as run."""
    try:
        shell = get_ipython()  # IPython's name, in every notebook.
    except NameError:
        return
    if FirstWrite in shell.custom_exceptions:
        return

    def report(shell, kind, error, traceback, tb_offset=None):
        print(error)

    def forgive(result):
        if isinstance(result.error_in_exec, FirstWrite):
            result.error_in_exec = None

    shell.set_custom_exc((FirstWrite,), report)
    shell.events.register("post_run_cell", forgive)


def drag_circle() -> Any:
    """A unit circle on which anchor, positive and negative are dragged, with hinge and loss beside it.

    It is an `IPython.display.HTML`, the last value of a cell, and works without a
    network and without a kernel behind it, in JupyterLab, VS Code and Colab.
    """
    from IPython.display import HTML

    text = (resources.files("siamese") / "teaching" / "circle.html").read_text("utf-8")
    return HTML(text.replace("circle-ID", f"circle-{uuid.uuid4().hex}"))
