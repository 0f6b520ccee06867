"""The command `grade`: students' notebooks run, and their functions checked."""

from __future__ import annotations

import argparse

from siamese.cli.arguments import arg, command
from siamese.cli.output import Result, counted, note
from siamese.errors import ArgumentError

OUT_HELP = "for grades.csv and the feedback; a second run goes on there [%(default)s]"


@command(
    arg("folder", help="with notebooks in it, or in a folder for each student; or one notebook"),
    arg("--out", metavar="FOLDER", default="grades", help=OUT_HELP),
    arg("--jobs", type=int, default=1, help="how many notebooks at a time [%(default)s]"),
    arg("--notebook", type=int, help="which one they are, 1 to 8 [found out]"),
    arg("--cell-limit", type=float, default=120, help="seconds for a cell [%(default)s]"),
    arg("--memory-limit", type=float, default=4, metavar="GIB", help="0 for none [%(default)s]"),
)
def grade(flags: argparse.Namespace) -> Result:
    """Run students' notebooks and check their functions.

    siamese grade handed-in --jobs 4 --out grades
    siamese grade handed-in --notebook 4 --cell-limit 300
    """
    from siamese.teaching.grade import EXERCISES, Limits, grade_class

    if flags.jobs < 1 or flags.notebook not in (None, *EXERCISES):
        raise ArgumentError(f"--jobs is at least 1, --notebook from 1 to {max(EXERCISES)}.")
    if not (0 < flags.cell_limit < 1e9 and 0 <= flags.memory_limit < 1e9):
        raise ArgumentError("--cell-limit is above 0, --memory-limit 0 or above.")
    limits = Limits(flags.cell_limit, flags.memory_limit)
    options = {"number": flags.notebook, "limits": limits, "jobs": flags.jobs, "note": note}
    rows = grade_class(flags.folder, flags.out, **options)
    pages = f"marks in {flags.out}/grades.csv, a page for each in {flags.out}/feedback"
    return f"{counted(len(rows), 'notebook')}: {pages}.", {"notebooks": rows, "out": flags.out}
