"""The command `grade`: students' notebooks run, and their functions checked."""

from __future__ import annotations

import argparse

from siamese.cli.arguments import arg, command, finite
from siamese.cli.output import Result, counted, note
from siamese.errors import ArgumentError


def _above_zero(text: str) -> float:
    """A flag's value as a number above 0."""
    if (number := finite(text)) <= 0:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


@command(
    arg("folder", help="with notebooks in it, or in a folder for each student; or one notebook"),
    arg(
        "--out",
        metavar="FOLDER",
        default="grades",
        help="for grades.csv and the feedback; a second run goes on there [%(default)s]",
    ),
    arg("--jobs", type=int, default=1, help="how many notebooks at a time [%(default)s]"),
    arg("--notebook", type=int, help="which one they are, 1 to 7 [found out]"),
    arg("--cell-limit", type=_above_zero, default=120, help="seconds for a cell [%(default)s]"),
    arg("--time-limit", type=_above_zero, default=600, help="seconds for all cells [%(default)s]"),
    arg("--memory-limit", type=finite, default=4, metavar="GIB", help="0 for none [%(default)s]"),
)
def grade(flags: argparse.Namespace) -> Result:
    """Run students' notebooks and check their functions.

    siamese grade handed-in
    siamese grade handed-in --jobs 4 --out grades
    siamese grade handed-in --notebook 4 --time-limit 1200
    """
    from siamese.teaching.grade import EXERCISES, Limits, grade_class

    if flags.jobs < 1 or flags.notebook not in (None, *EXERCISES):
        raise ArgumentError(f"--jobs is at least 1, --notebook from 1 to {max(EXERCISES)}.")
    rows = grade_class(
        flags.folder,
        flags.out,
        number=flags.notebook,
        limits=Limits(flags.cell_limit, flags.time_limit, flags.memory_limit),
        jobs=flags.jobs,
        note=note,
    )
    told = f"{counted(len(rows), 'notebook')}: marks in {flags.out}/grades.csv, a page for each in "
    return told + f"{flags.out}/feedback.", {"notebooks": rows, "out": flags.out}
