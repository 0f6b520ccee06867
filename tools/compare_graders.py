"""Gives twenty hand-ins to nbgrader and to `siamese grade`; exit 1 where their marks differ.

    python -m venv .venv-nbg && .venv-nbg/bin/pip install nbgrader==0.9.6
    ls -d $PWD/.venv/lib/python3.*/site-packages > $(echo .venv-nbg/lib/python3.*/site-packages)/main.pth
    PYTHONPATH=. .venv/bin/python tools/compare_graders.py --nbgrader-python .venv-nbg/bin/python

The second line lets nbgrader's notebooks import what those of this repository need.

A hand-in is what `nbgrader generate_assignment` makes of a solution notebook, with answers from
tests/exercise_*.py in its exercises: right, wrong and unusual ones. nbgrader executes each whole, which
takes minutes for some.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat

from siamese.teaching.checks import EXERCISES, OUT_OF
from siamese.teaching.grade import grade_class

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import exercise_solutions as solved  # noqa: E402
from exercise_mistakes import WRONG, changed  # noqa: E402
from exercise_more_mistakes import MORE_WRONG  # noqa: E402
from exercise_unusual import RIGHT  # noqa: E402

HAND_INS = {1: 6, 2: 4, 3: 4, 4: 3, 5: 1, 6: 1, 7: 1}  # notebook -> how many
KINDS = "wrong", "right", "unusual", "wrong", "blank"
ENDLESS = (
    "never ends",
    "after each yield",
)  # Such a generator costs minutes in each cell that uses it.
# What the answers of the tests stand on; the notebooks import under other names.
IMPORTS = (
    "import itertools\nimport random\nfrom collections import Counter\n"
    "import numpy as np\nfrom siamese import word_tokenize\n\n\n"
)
HELPERS = {"Siamese": ("normalize", "shared_towers")}
CONFIG = """c = get_config()
c.CourseDirectory.course_id = "siamese"
c.Execute.timeout = 600  # seconds for a cell; the default of 30 is too short for training
"""
MARKS = """
import json
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db") as book:
    print(json.dumps([
        [submission.student.id, grade.name, grade.auto_score]
        for assignment in book.assignments for submission in assignment.submissions
        for notebook in submission.notebooks for grade in notebook.grades
    ]))
"""


def texts(name: str, kind: str) -> list[str]:
    """The answers of a kind to an exercise that can stand in a notebook, as code."""
    if kind == "unusual":
        changes = RIGHT.get(name, [])
    elif kind == "wrong":
        rows = WRONG[name] + MORE_WRONG.get(name, [])
        changes = [row[:-1] for row in rows if not any(words in row[-1] for words in ENDLESS)]
    else:
        changes = [()]
    found = []
    for change in changes:
        if change and callable(change[0]):
            function, text = change[0], inspect.getsource(change[0])
            if function.__name__ == "<lambda>":
                found += [f"{name} = ({text})" for text in lambdas_at(function)]
            elif text.startswith("def "):  # Else it is the inner function of a helper.
                found.append(text.replace(function.__name__, name))
        else:
            found.append(inspect.getsource(changed(name, *change)))
    return [text for text in found if "solved." not in text]  # A student does not have it.


def lambdas_at(function: Callable) -> list[str]:
    """The text of a lambda, from its line in its file; of all where there are several."""
    text = Path(function.__code__.co_filename).read_text(encoding="utf-8")
    lambdas = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Lambda)]
    line = function.__code__.co_firstlineno
    return [ast.get_source_segment(text, node) for node in lambdas if node.lineno == line]


def answers(notebook: int, student: int) -> dict[str, str]:
    """Exercise -> the code that a student hands in; an exercise left blank is not there."""
    chosen = {}
    for place, name in enumerate(EXERCISES[notebook]):
        kind = KINDS[(student + place) % len(KINDS)]
        if kind != "blank":
            found = texts(name, kind) or texts(name, "right")
            helpers = (
                inspect.getsource(getattr(solved, helper)) for helper in HELPERS.get(name, ())
            )
            text = found[(17 * student + notebook) % len(found)]
            chosen[name] = IMPORTS + "\n\n".join([*helpers, text])
    return chosen


def hand_ins(
    release: Path, notebooks: list[int]
) -> Iterator[tuple[str, str, nbformat.NotebookNode]]:
    """(student, name of the notebook, what is handed in), made of nbgrader's student versions."""
    for number in notebooks:
        path = next(release.glob(f"{number:02}_*/*.ipynb"))
        for student in range(HAND_INS[number]):
            notebook, chosen = nbformat.read(path, as_version=4), answers(number, student)
            for cell in notebook.cells:
                name = cell.metadata.get("nbgrader", {}).get("grade_id")
                cell.source = chosen.get(name, cell.source)
            yield f"student{number}{student}", path.stem, notebook


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nbgrader-python", required=True, help="a Python with nbgrader 0.9.6")
    parser.add_argument("--notebooks", nargs="+", type=int, default=list(HAND_INS), help="[all]")
    flags = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="graders-") as folder:
        course = Path(folder)

        def nbgrader(*command: str) -> str:
            path = (
                f"{Path(flags.nbgrader_python).parent}{os.pathsep}{os.environ['PATH']}"  # alembic
            )
            done = subprocess.run(
                [flags.nbgrader_python, *command],
                cwd=course,
                env={**os.environ, "PYTHONPATH": str(ROOT), "PATH": path},
                text=True,
                stdout=subprocess.PIPE,
            )
            if done.returncode:
                sys.exit(f"{' '.join(command[:3])} failed; see above.")
            return done.stdout

        (course / "nbgrader_config.py").write_text(CONFIG)
        solutions = sorted((ROOT / "notebooks" / "solution").glob("*.ipynb"))
        chosen = [path for path in solutions if int(path.name[:2]) in flags.notebooks]
        for path in chosen:
            source = course / "source" / path.stem / path.name
            source.parent.mkdir(parents=True)
            source.write_bytes(path.read_bytes())
            nbgrader("-m", "nbgrader", "generate_assignment", path.stem)
        for student, stem, notebook in hand_ins(course / "release", flags.notebooks):
            path = course / "submitted" / student / stem / f"{stem}.ipynb"
            path.parent.mkdir(parents=True)
            nbformat.write(notebook, path)
        for path in chosen:
            nbgrader("-m", "nbgrader", "autograde", path.stem)
        theirs = {
            (student, name.removeprefix("check_")): score
            for student, name, score in json.loads(nbgrader("-c", MARKS))
        }
        out = course / "grades"
        grades = grade_class(course / "submitted", out, note=lambda line: print(line, flush=True))
        ours = {
            (row["student"], name): float(row[name])
            for row in grades
            for name in OUT_OF
            if row[name] != ""
        }
    print(f"\n{'hand-in':<12}{'exercise':<28}{'nbgrader':>9}{'siamese':>9}")
    different = 0
    for student, name in sorted(ours | theirs):
        both = [marks.get((student, name), -1.0) for marks in (theirs, ours)]  # -1: has none
        differs = abs(both[0] - both[1]) > 0.005
        different += differs
        print(f"{student:<12}{name:<28}{both[0]:>9.2f}{both[1]:>9.2f}{'  differs' * differs}")
    print(f"{len(grades)} hand-ins, {len(ours | theirs)} marks, {different} differ")
    return 1 if different or not ours else 0


if __name__ == "__main__":
    sys.exit(main())
