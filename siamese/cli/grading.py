"""The command `grade`: students' notebooks run, and their functions checked."""

from __future__ import annotations

import argparse

from siamese.cli.arguments import arg, command, finite, flag
from siamese.cli.output import Result, note


def _check_limit(text: str) -> tuple[str, float]:
    """``60`` or ``train_model=60``: (the exercise's name or "", seconds)."""
    name, _, seconds = text.rpartition("=")
    try:
        return name, finite(seconds)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not SECONDS or NAME=SECONDS") from None


@command(
    arg("notebooks", metavar="NOTEBOOK", nargs="+", help="an .ipynb file, or a folder of them"),
    arg("--jobs", type=int, default=1, help="how many at a time [%(default)s]"),
    arg("--csv", metavar="FILE", help="write a row for each exercise too"),
    arg("--given-out", metavar="NOTEBOOK", help="as students got it; compare correct answers too"),
    arg("--notebook", type=int, help="which one they are, 1 to 7 [found out]"),
    arg("--time-limit", type=float, default=600, help="seconds for the cells of one [%(default)s]"),
    arg(
        "--check-limit",
        type=_check_limit,
        action="append",
        default=[],
        metavar="[NAME=]SECONDS",
        help="for one check; with a name for that exercise only; may be repeated [180]",
    ),
    arg("--memory-limit", type=float, default=8, metavar="GIB", help="0 for none [%(default)s]"),
    flag("--details", "show every failed case"),
)
def grade(flags: argparse.Namespace) -> Result:
    """Run students' notebooks and check their functions.

    siamese grade handed-in/*.ipynb
    siamese grade 04_assignment.ipynb --details
    siamese grade handed-in --jobs 4 --csv grades.csv
    siamese grade handed-in --notebook 4 --json > grades.json
    siamese grade handed-in --check-limit 60 --check-limit train_model=300
    """
    from siamese.storage.atomic import write_text_atomically
    from siamese.teaching.grade import Limits, grade_notebooks
    from siamese.teaching.report import as_csv, summarize, table

    check_of = dict(flags.check_limit)
    check = check_of.pop("", Limits().check)
    grades = grade_notebooks(
        flags.notebooks,
        number=flags.notebook,
        limits=Limits(flags.time_limit, check, flags.memory_limit, check_of),
        jobs=flags.jobs,
        given_out=flags.given_out,
        note=note,
    )
    if flags.csv:
        write_text_atomically(flags.csv, as_csv(grades))
    facts = {
        "notebooks": [one.to_dict() for one in grades],
        "points": round(sum(one.points for one in grades), 2),
        "out_of": sum(one.out_of for one in grades),
        "summary": summarize(grades),
    }
    return table(grades, details=flags.details), facts
