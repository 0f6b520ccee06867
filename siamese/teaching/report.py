"""What `siamese grade` found, as text, as CSV, and as pages: one for each student, one for the teacher."""

from __future__ import annotations

import itertools
import os
import statistics
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from siamese.errors import DataError
from siamese.search.display import LAYOUT, csv_line, harmless
from siamese.storage.atomic import explained, write_text_atomically
from siamese.teaching.checks import EXERCISES, MARK, Failure
from siamese.teaching.copies import WHOLE
from siamese.teaching.grade import Grade

# ---- Text ----


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


# ---- Pages ----

# Nothing is loaded from anywhere, whatever a notebook holds.
_BASE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>
:root { color-scheme: light dark; }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; font: 1rem/1.5 system-ui, sans-serif;
  overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.15rem; margin-top: 2rem; } h3 { font-size: 1rem; margin: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; }
.wide th { min-width: 9rem; }
th, td { padding: .3rem 1.2rem .3rem 0; text-align: left; vertical-align: top; font-weight: normal; }
.wide tr > *, article { border-top: 1px solid #8888; }
.wide .number, .number { text-align: right; white-space: nowrap; min-width: 0; }
article { padding: .6rem 0; }
dl { display: grid; grid-template-columns: 5rem 1fr; gap: .2rem .6rem; margin: .3rem 0; }
dd { margin: 0; white-space: pre-wrap; }
.code { font-family: ui-monospace, monospace; font-size: .9rem; }
.bars td { width: 16rem; }
i { display: inline-block; height: .9rem; margin-right: .4rem; background: #4a86c5; }
</style></head><body><main>
<h1>{{ title }}</h1>
{% block body %}{% endblock %}
</main></body></html>
"""
_STUDENT = """{% extends "base" %}{% block body %}
{% if error %}<p>This notebook could not be graded: {{ error }}</p>{% endif %}
{% if grade.exercises %}
<p><strong>{{ "%g" % grade.points }} of {{ "%g" % grade.out_of }} points</strong></p>
{% endif %}
{% for one in grade.exercises %}
<h2>{{ one.function }}: {{ "%g" % one.mark }} of {{ "%g" % best }}</h2>
<p>{{ one.points }} of {{ one.out_of }} cases passed{% if one.note %}: {{ one.note }}{% endif %}</p>
{% for cases, failure in failures(one) %}
<article><h3>{{ cases | join("; ") }}</h3>
<dl>
{% for what in ("expected", "actual", "hint") if failure[what] %}
<dt>{{ what }}</dt><dd{% if what != "hint" %} class="code"{% endif %}>{{ failure[what] }}</dd>
{% endfor %}
</dl></article>
{% endfor %}
{% endfor %}
{% if grade.cells %}
<h2>Cells that failed</h2>
<ul>{% for cell in grade.cells %}<li>cell {{ cell.cell }}: {{ cell.what }}</li>{% endfor %}</ul>
{% endif %}
{% endblock %}"""
_TEACHER = """{% extends "base" %}{% block body %}
<p>{{ headline }}</p>
<table class="bars">
{% for count in summary.histogram %}
<tr><th class="number">{{ 10 * loop.index0 }}–{{ 10 * loop.index }} %</th>
<td>{% if count %}<i style="width: {{ 80 * count // (summary.histogram | max) }}%"></i>
{{ count }}{% endif %}</td></tr>
{% endfor %}
</table>
{% for number, group in groups.items() %}
<h2>{% if number %}Notebook {{ number }}{% else %}Not known which notebook{% endif %}</h2>
<div class="wide" tabindex="0" role="region" aria-label="marks {{ number or "" }}">
<table><thead><tr><th>hand-in</th><th class="number">total</th>
{% for function in exercises[number] %}<th class="number">{{ function }}</th>{% endfor %}
</tr></thead><tbody>
{% for name, address, grade in group %}
<tr><th><a href="{{ address }}">{{ name }}</a></th>
<td class="number">{% if grade.exercises %}{{ "%g" % grade.points }}{% endif %}</td>
{% for one in grade.exercises %}<td class="number">{{ "%g" % one.mark }}</td>{% endfor %}
</tr>
{% endfor %}
</tbody>{% if number %}<tfoot><tr><th>mean mark</th><td></td>
{% for function in exercises[number] %}
<td class="number">{{ summary.exercises.get(function, "") }}</td>
{% endfor %}
</tr></tfoot>{% endif %}</table></div>
{% endfor %}
{% if remarks %}<h2>To look at</h2>{% endif %}
{% for name, address, told in remarks %}
<h3><a href="{{ address }}">{{ name }}</a></h3>
<ul>{% for remark in told %}<li>{{ remark }}</li>{% endfor %}</ul>
{% endfor %}
{% endblock %}"""


def write_pages(directory: os.PathLike | str, grades: Sequence[Grade]) -> None:
    """Writes a page for each notebook, to be handed to its student, and ``index.html`` for the teacher.

    A student's page has the marks, the failed cases with their hints, and the cells that failed. Its name
    is the notebook's with ``.html`` after it, in folders as the notebooks lie. Any text is escaped.

    Raises:
      DataError: where one cannot be written.
    """
    import jinja2

    pages = jinja2.Environment(
        loader=jinja2.DictLoader({"base": _BASE, "student": _STUDENT, "teacher": _TEACHER}),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        # No control characters either; what is HTML already is a template's own.
        finalize=lambda text: text if hasattr(text, "__html__") else harmless(text, LAYOUT),
    )
    files = [os.path.abspath(grade.file) for grade in grades]
    root = os.path.commonpath([os.path.dirname(file) for file in files]) if files else ""
    names = {grade.file: os.path.relpath(file, root) for grade, file in zip(grades, files)}

    def shown(text: str) -> str:
        for file, name in names.items():
            text = text.replace(file, name)
        return text

    def write(name: str, template: str, values: dict[str, Any]) -> None:
        path = Path(directory, name)
        make_folder(path.parent)
        write_text_atomically(path, pages.get_template(template).render(values))

    groups: dict[int | None, list] = defaultdict(list)
    remarks: list[tuple[str, str, list[str]]] = []
    for grade in grades:
        name, error = names[grade.file], shown(grade.error)
        values = {"title": name, "grade": grade, "error": error, "best": MARK, "failures": _grouped}
        write(f"{name}.html", "student", values)
        address = quote(os.fsencode(f"{name}.html"))
        groups[grade.notebook].append((name, address, grade))
        failed = [f"cells that failed: {', '.join(str(c['cell']) for c in grade.cells)}"]
        told = (
            [error] * bool(error) + list(map(shown, _remarks(grade))) + failed * bool(grade.cells)
        )
        remarks += [(name, address, told)] if told else []
    summary = summarize(grades)
    values = {
        "title": "Grades",
        "headline": _headline(summary),
        "summary": summary,
        "groups": dict(sorted(groups.items(), key=lambda item: item[0] or 99)),
        "remarks": remarks,
        "exercises": {number: EXERCISES.get(number, ()) for number in groups},
    }
    write("index.html", "teacher", values)


def _grouped(exercise: dict[str, Any]) -> list[tuple[list[str], dict[str, str]]]:
    """The failures one after the other that say the same, together: (names of cases, one of them)."""
    alike = itertools.groupby(exercise["failures"], lambda one: (one["actual"], one["hint"]))
    groups = [list(group) for _, group in alike]
    return [([one["case"] for one in group], group[0]) for group in groups]


def make_folder(path: os.PathLike | str) -> None:
    """Makes a folder where there is none; DataError where that fails."""
    with explained(path, error=DataError):
        Path(path).mkdir(parents=True, exist_ok=True)
