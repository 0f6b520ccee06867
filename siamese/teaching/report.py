"""What `siamese grade` found, as text and as CSV."""

from __future__ import annotations

from collections.abc import Sequence

from siamese.search.display import csv_line
from siamese.teaching.checks import Failure
from siamese.teaching.grade import Grade


def table(grades: Sequence[Grade], *, details: bool = False) -> str:
    """The grades as text: a line for each exercise, and what went wrong; all hints with `details`."""
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
        if grade.replaced:
            lines.append(f"  the notebook replaced {', '.join(grade.replaced)}: look at its code")
        if grade.exercises:
            share = grade.points / grade.out_of
            total = f"{grade.points:g}/{grade.out_of:g}"
            lines.append(f"  {'total':<28}{total:>13}  {share:.0%}")
        lines.append("")
    if len(grades) > 1:
        total, out_of = sum(g.points for g in grades), sum(g.out_of for g in grades)
        lines.append(f"{len(grades)} notebooks: {total:g}/{out_of:g}")
    # A notebook's texts may hold terminal escapes.
    shown = ["".join(c if c.isprintable() else " " for c in line) for line in lines]
    return "\n".join(shown).rstrip()


def as_csv(grades: Sequence[Grade]) -> str:
    """The grades as CSV: a row for each exercise of each notebook."""
    rows: list[tuple] = [("file", "notebook", "function", "cases", "out_of", "mark", "note")]
    for grade in grades:
        place = grade.file, grade.notebook
        for one in grade.exercises:
            row = (one["function"], one["points"], one["out_of"], one["mark"], one["note"])
            rows.append((*place, *row))
        if grade.error:
            rows.append((*place, "", 0, 0, 0, grade.error))
    return "".join(f"{csv_line(row, excel=True)}\n" for row in rows)
