"""The grades of `siamese grade` as text and as CSV."""

from __future__ import annotations

import itertools
import statistics
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from siamese.search.display import csv_line
from siamese.teaching.checks import MARK, Failure
from siamese.teaching.copies import WHOLE
from siamese.teaching.grade import Grade


def table(grades: Sequence[Grade], *, details: bool = False) -> str:
    """The grades as text: a line for each exercise, and what went wrong; all hints with `details`.

    Several have a summary below: a histogram of the totals, mean and median, the mean of each exercise.
    """
    lines = []
    for grade in grades:
        lines.append(grade.file + (f"  (notebook {grade.notebook})" if grade.notebook else ""))
        if grade.error:
            lines.append(f"  not graded: {grade.error}")
        for exercise in grade.exercises:
            note, failures = exercise["note"].split("\n")[0], exercise["failures"]
            if not note and failures:
                what = (failures[0]["hint"] or failures[0]["actual"]).split("\n")[0]
                note = f"{failures[0]['case']}: {what}"
            points = f"{exercise['points']}/{exercise['out_of']}"
            mark = f"{exercise['mark']:g}"
            lines.append(f"  {exercise['function']:<28}{points:>6}{mark:>7}  {note[:100]}".rstrip())
            if details:
                lines += [
                    f"    {line}" for one in failures for line in str(Failure(**one)).split("\n")
                ]
        lines += [f"  cell {cell['cell']}: {cell['what'][:120]}" for cell in grade.cells]
        lines += [f"  {remark}" for remark in _remarks(grade)]
        if grade.exercises:
            share = grade.points / grade.out_of
            total = f"{grade.points:g}/{grade.out_of:g}"
            lines.append(f"  {'total':<28}{total:>13}  {share:.0%}")
        lines.append("")
    if len(grades) > 1:
        lines += _summary_lines(summarize(grades))
    # A notebook's texts may hold terminal escapes.
    shown = ["".join(c if c.isprintable() else " " for c in line) for line in lines]
    return "\n".join(shown).rstrip()


def _remarks(grade: Grade) -> list[str]:
    """What the teacher should look at; nothing of it is for the student."""
    remarks = [f"the same code as {', '.join(c['files'])}: {c['what']}" for c in grade.copies]
    if grade.replaced:
        remarks.append(f"the notebook replaced {', '.join(grade.replaced)}: look at its code")
    return remarks


def summarize(grades: Sequence[Grade]) -> dict[str, Any]:
    """Figures over the graded notebooks, as plain values.

    Returns:
      ``graded`` and ``not_graded`` (how many), ``mean`` and ``median`` of the totals in per cent (None
      without any), ``histogram`` (how many in each ten per cent; 100 is in the last), ``exercises``
      (function -> mean mark).
    """
    graded = [grade for grade in grades if grade.exercises and not grade.error]
    totals = [100 * grade.points / grade.out_of for grade in graded]
    histogram, marks = [0] * 10, defaultdict(list)
    for total in totals:
        histogram[min(int(total // 10), 9)] += 1
    for one in itertools.chain.from_iterable(grade.exercises for grade in graded):
        marks[one["function"]].append(one["mark"])
    return {
        "graded": len(graded),
        "not_graded": len(grades) - len(graded),
        "mean": round(statistics.fmean(totals), 1) if totals else None,
        "median": round(statistics.median(totals), 1) if totals else None,
        "histogram": histogram,
        "exercises": {name: round(statistics.fmean(found), 2) for name, found in marks.items()},
    }


def _headline(summary: dict[str, Any]) -> str:
    told = f"{summary['graded']} graded"
    if summary["not_graded"]:
        told += f", {summary['not_graded']} not"
    if summary["graded"]:
        told += f"; mean {summary['mean']:g} %, median {summary['median']:g} %"
    return told


def _summary_lines(summary: dict[str, Any]) -> list[str]:
    lines, most = [_headline(summary)], max(summary["histogram"])
    for i, count in enumerate(summary["histogram"]):
        bar = "#" * -(-40 * count // max(most, 40))
        lines.append(f"  {10 * i:>2} to {10 * i + 10:>3} %  {bar} {count or ''}".rstrip())
    lines += [f"mean marks, of {MARK:g}"] if summary["exercises"] else []
    return lines + [f"  {name:<28}{mark:>6.2f}" for name, mark in summary["exercises"].items()]


def as_csv(grades: Sequence[Grade]) -> str:
    """The grades as CSV: a row for each exercise of each notebook."""
    head = ("file", "notebook", "function", "cases", "out_of", "mark", "note", "copies")
    rows: list[tuple] = [head]
    for grade in grades:
        place = grade.file, grade.notebook
        for one in grade.exercises:
            row = (one["function"], one["points"], one["out_of"], one["mark"], one["note"])
            same = [c["files"] for c in grade.copies if c["what"] in (one["function"], WHOLE)]
            rows.append((*place, *row, "; ".join(sorted(set().union(*same)))))
        if grade.error:
            rows.append((*place, "", 0, 0, 0, grade.error, ""))
    return "".join(f"{csv_line(row, excel=True)}\n" for row in rows)
