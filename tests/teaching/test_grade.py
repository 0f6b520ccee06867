"""`siamese grade`: points for functions, whatever the notebook around them does."""

import contextlib
import csv
import inspect
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import exercise_solutions
import pytest

from siamese import ArgumentError, DataError
from siamese.checks import EXERCISES, OUT_OF
from siamese.teaching.grade import (
    Grade,
    Limits,
    grade_notebooks,
    read_code_cells,
    which_notebook,
)
from siamese.teaching.report import as_csv, table

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")
pytest.importorskip("nbclient")

slow = pytest.mark.slow  # each starts kernels
ROOT = Path(__file__).parents[2]
IMPORTS = "import random\nimport numpy as np\nfrom siamese import word_tokenize"
SOLUTION = {name: inspect.getsource(getattr(exercise_solutions, name)) for name in OUT_OF}
FULL = {
    number: {name: (OUT_OF[name],) * 2 for name in found} for number, found in EXERCISES.items()
}


def notebook_file(folder, name, *cells):
    """A notebook with those code cells."""
    cells = [nbformat.v4.new_code_cell(cell) for cell in (IMPORTS, *cells)]
    path = folder / name
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def solved_file(folder, number):
    """The notebook of that number with its solutions."""
    return notebook_file(
        folder, f"{number:02}_x.ipynb", *(SOLUTION[name] for name in EXERCISES[number])
    )


def graded(*paths, jobs=1, **limits):
    """The grades, and for each a dict: function -> (points, out_of)."""
    limits = Limits(**{"cells": 120, "check": 60, **limits})
    grades = grade_notebooks(paths, limits=limits, jobs=jobs)
    return grades, [
        {e["function"]: (e["points"], e["out_of"]) for e in grade.exercises} for grade in grades
    ]


@slow
def test_points_hints_blanks_and_files_that_are_no_notebooks(tmp_path):
    path = notebook_file(
        tmp_path,
        "01_mine.ipynb",
        SOLUTION["cosine_similarity"],
        "def mean_negative(scores):\n    return scores.mean(axis=1)",
        "def closest_negative(scores):\n    closest = None\n    return closest",
    )
    damaged, text = tmp_path / "01_damaged.ipynb", tmp_path / "05.ipynb"
    damaged.write_text('{"cells": [')
    text.write_bytes(b"\xff\xfe")
    (*bad, grade), (*_, points) = graded(damaged, tmp_path / "absent.ipynb", text, path)
    assert "not a Jupyter notebook" in bad[0].error and "Cannot read" in bad[1].error
    assert bad[2].error and grade.notebook == 1 and grade.error == "" and grade.replaced == []
    assert points["cosine_similarity"] == FULL[1]["cosine_similarity"]
    assert points["mean_negative"][0] < 3 and points["closest_negative"] == (0, 7)
    mean, closest = grade.exercises[1:]
    assert "diagonal is left in" in mean["failures"][0]["hint"]
    assert closest["note"] == "not written yet: there is a None to replace: closest = None"
    shown = table([grade], details=True)
    assert "diagonal is left in" in shown and "Traceback" not in shown
    facts = json.loads(json.dumps(grade.to_dict()))
    marks = [round(10 * p / out_of, 2) for p, out_of in points.values()]
    assert facts["points"] == round(sum(marks), 2) and facts["out_of"] == 30
    assert facts["score"] == round(facts["points"] / facts["out_of"], 4)


SLEEP = ["sleep", "86399.75"]  # a time that no other process sleeps
HOSTILE = {
    "cells that fail": [
        "1 / 0",
        "def (",
        "input('your name?')",
        "import sys; sys.exit(1)",
        "exit()",
        "import os, shutil; here = os.getcwd(); shutil.rmtree(os.path.dirname(here))",
        "import os; os.chdir('/')",
        "print = exec = open = compile = globals = str = len = None",
    ],
    "closed output": ["import os, sys; sys.stdout = None; os.close(1); os.close(2)"],
    "too much": [
        "kept = []\nwhile True: kept.append(bytearray(10**8))",
        "with open('big', 'wb') as file:\n    while True: file.write(bytes(10**7))",
        "print('x' * 10**8)\nfor _ in range(10**5): print('y' * 1000)",
    ],
    "children": [
        f"import subprocess; subprocess.Popen({SLEEP!r})",
        f"import subprocess; subprocess.Popen(['setsid', *{SLEEP!r}])",
        "import os, subprocess\nif os.fork() == 0:\n    os.setsid()\n"
        f"    if os.fork() == 0:\n        os.execvp('sleep', {SLEEP!r})\n    os._exit(0)",
        f"import os, subprocess\nsubprocess.Popen({SLEEP!r}, start_new_session=True)\nos._exit(0)",
    ],
    "ends of Python": [
        "import os; os._exit(3)",
        "import ctypes; ctypes.string_at(0)",
        "import os, threading; threading.Timer(0.5, os._exit, [1]).start()\n"
        "import time; time.sleep(3)",
    ],
    "no end": [
        "while True: pass",
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
    ],
}


def sleeping():
    """The processes that sleep as long as those above."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "cmdline").read_text().split("\0")[-3:] == [*SLEEP, ""]:
                found.append(process)
    return found


@slow
@pytest.mark.parametrize(
    "kinds, seconds",
    [(["cells that fail"], 120), (["too much"], 20), (["children"], 120), (["ends of Python"], 120),
     (["closed output", "no end"], 20)],  # The last two wait for their limits: side by side.
)  # fmt: skip
def test_no_cell_keeps_the_other_cells_functions_from_their_points(tmp_path, kinds, seconds):
    paths = []
    for kind in kinds:
        cells = SOLUTION["accuracy_at"], *HOSTILE[kind], SOLUTION["best_threshold"]
        paths.append(notebook_file(tmp_path, f"03_{kind}.ipynb", *cells))
    grades, points = graded(*paths, jobs=len(paths), cells=seconds, gigabytes=1)
    assert points == [FULL[3]] * len(kinds), table(grades)
    assert not sleeping()


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.1)
    assert condition()


@slow
def test_grading_that_is_killed_leaves_no_process(tmp_path):
    cell = f"import subprocess, time; subprocess.Popen(['setsid', *{SLEEP!r}]); time.sleep(600)"
    path = notebook_file(tmp_path, "03_x.ipynb", cell)
    command = [sys.executable, "-m", "siamese.cli", "grade", str(path)]
    grading = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)})
    try:
        until(sleeping)
    finally:
        grading.kill()
        grading.wait()
    until(lambda: not sleeping())


@slow
def test_functions_in_a_cell_that_fails_or_ends_python_count(tmp_path):
    cells = (
        "%matplotlib inline\nimport os\nos._exit(1)\n!ls\nclass A: pass\n"
        + SOLUTION["accuracy_at"],
        "1 / 0\n" + SOLUTION["best_threshold"],
        "assert A",
    )
    grades, points = graded(notebook_file(tmp_path, "03_x.ipynb", *cells))
    assert points[0] == FULL[3]
    assert [cell["cell"] for cell in grades[0].cells] == [2, 3]


@slow
def test_a_function_that_never_returns_costs_its_own_points_only(tmp_path):
    bodies = {
        "cosine_similarity(v1, v2)": "import os; os._exit(0)",
        "mean_negative(scores)": "import threading; threading.Event().wait()",
        "normalize(x)": "while True:\n        try:\n            while True: pass\n"
        "        except BaseException: pass",
    }
    cells = [f"def {start}:\n    {body}" for start, body in bodies.items()]
    one = notebook_file(tmp_path, "01_x.ipynb", *cells, SOLUTION["closest_negative"])
    two = notebook_file(tmp_path, "02_x.ipynb", *cells)
    limits = {"mean_negative": 8, "normalize": 8}
    grades, points = graded(one, two, jobs=2, check=300, check_of=limits)
    lost = {name: (0, OUT_OF[name]) for name in ("cosine_similarity", "mean_negative")}
    assert points[0] == FULL[1] | lost, table(grades)
    assert points[1]["normalize"] == (0, OUT_OF["normalize"]) and grades[1].exercises[0]["note"]


CHEATS = {
    "its own checks": [
        "import siamese.teaching.checks as c\nfrom siamese.teaching.checks import Score\n"
        "for found in c.EXERCISES.values():\n    for name in found:\n"
        "        found[name] = lambda fn: Score(name, 9, 9)",
        "import siamese.teaching.checks.score as s\ns.Exercise.score = "
        "lambda self, fn: s.Score(self.name, 9, 9)\ns.Exercise._run = lambda *a: None",
    ],
    "its own numpy": [
        "import numpy\nnumpy.allclose = numpy.array_equal = lambda *a, **k: True",
        "import builtins, numpy\nnumpy.mean = lambda *a, **k: 0.5\nbuiltins.abs = lambda x: 0",
    ],
    "its own modules": [
        "import sys, types\nfor name in [n for n in sys.modules if 'siamese' in n]:\n"
        "    sys.modules[name] = types.ModuleType(name)",
    ],
}


@slow
@pytest.mark.parametrize("cheats", CHEATS.values(), ids=CHEATS)
def test_what_a_notebook_changes_in_the_checks_gives_no_points(tmp_path, cheats):
    wrong = "def accuracy_at(scores, labels, threshold):\n    return 0.31"
    grades, points = graded(notebook_file(tmp_path, "03_x.ipynb", wrong, *cheats))
    assert points[0]["accuracy_at"][0] == 0, table(grades)
    if cheats == CHEATS["its own numpy"]:
        assert {"builtins.abs", "numpy.allclose", "numpy.mean"} <= set(grades[0].replaced)
        assert "look at its code" in table(grades)


# A thread that finds the result's path and the nonce in the check's frames, and writes a score first.
FORGE = """
import json, os, sys, threading, time
def forge():
    while True:
        for frame in list(sys._current_frames().values()):
            while frame:
                seen = frame.f_locals
                if "sources" in seen and "result" in seen:
                    score = {"exercise": seen["function"], "points": 99, "out_of": 7,
                             "failures": [], "written": True, "note": ""}
                    with open(seen["result"] + "x", "w") as file:
                        json.dump({"score": score, "replaced": [], "nonce": seen.get("nonce")}, file)
                    os.replace(seen["result"] + "x", seen["result"])
                    os._exit(0)
                frame = frame.f_back
        time.sleep(0.001)
threading.Thread(target=forge, daemon=True).start()
"""


@slow
def test_a_forged_result_gives_no_points(tmp_path):
    wrong = "import time\ndef closest_negative(scores):\n    time.sleep(0.3)\n    return scores"
    path = notebook_file(tmp_path, "01_x.ipynb", wrong, FORGE)
    grades, points = graded(path)
    assert points[0]["closest_negative"] == (0, OUT_OF["closest_negative"]), table(grades)
    assert grades[0].points == 0 and "  0%" in table(grades)


HONEST = {
    "exercise": "closest_negative", "points": 6, "out_of": 7, "written": True, "note": "",
    "failures": [{"case": "a batch of two", "expected": "1", "actual": "2", "hint": ""}],
}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [{"points": 99}, {"out_of": 6}, {"points": 7}, {"points": True}, {"points": 6.0}, {"points": -1},
     {"points": 99, "out_of": 99}, {"exercise": "mean_negative"}, {"failures": []}, {"written": "yes"},
     {"failures": [{**HONEST["failures"][0], "case": "a case of its own"}]}, {"failures": 3},
     {"failures": [{**HONEST["failures"][0], "hint": 3}]}, {"written": False}, {"points": None}],
    ids=str,
)  # fmt: skip
def test_a_result_is_what_its_check_can_give(change):
    from siamese.teaching.grade_session import verdict

    assert verdict("closest_negative", HONEST)["points"] == 6
    found = verdict("closest_negative", {**HONEST, **change})
    assert (found["points"], found["out_of"]) == (0, 7) and "not a result of the check" in found[
        "note"
    ]


def test_what_nbgrader_calls_a_test_is_not_run(tmp_path):
    path = solved_file(tmp_path, 6)
    notebook = nbformat.read(path, as_version=4)
    for source, marks in (
        ("import time", {"grade": True, "solution": False, "grade_id": "t", "points": 1}),
        ("x = 1", "nonsense"),
    ):
        notebook.cells.append(nbformat.v4.new_code_cell(source, metadata={"nbgrader": marks}))
    nbformat.write(notebook, path)
    assert read_code_cells(path)[-2:] == ["", "x = 1"]


@slow
def test_the_command_prints_a_table_or_json(tmp_path):
    def grade(path, *flags):
        command = [sys.executable, "-m", "siamese.cli", "grade", str(path), *flags]
        return subprocess.run(command, capture_output=True, text=True, env=env)

    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    path, total = solved_file(tmp_path, 6), 10 * len(EXERCISES[6])
    rows = tmp_path / "grades.csv"
    facts = json.loads(grade(path, "--json", "--csv", str(rows)).stdout)
    assert len(rows.read_text().splitlines()) == 1 + len(EXERCISES[6])
    assert facts["summary"]["histogram"] == [0] * 9 + [1]
    assert facts["points"] == facts["out_of"] == total and facts["notebooks"][0]["score"] == 1.0
    shown = grade(tmp_path / "absent.ipynb")
    assert shown.returncode == 0 and "not graded: Cannot read" in shown.stdout, shown.stderr
    wrong = grade(path, "--notebook", "9")
    assert wrong.returncode == 2 and "1 to 7" in wrong.stderr and "Traceback" not in wrong.stderr


# tests/notebooks checks the functions of all of them, and `make check-notebooks` runs them whole.
@slow
def test_the_notebooks_of_this_repository():
    kinds = [
        ROOT / "notebooks" / kind / "01_similarity_and_loss.ipynb"
        for kind in ("solution", "student")
    ]
    (solution, student), points = graded(*kinds, cells=3000, check=1500)
    assert solution.notebook == student.notebook == 1 and not solution.error + student.error
    assert points == [FULL[1], {name: (0, OUT_OF[name]) for name in EXERCISES[1]}]
    assert solution.cells == solution.replaced == student.replaced == []
    assert "Traceback" not in table([student])


@slow
def test_a_folder_is_graded_in_parallel_into_csv(tmp_path):
    for student in ("anna", "=bob"):
        (tmp_path / student).mkdir()
        notebook_file(tmp_path / student, "03_x.ipynb", SOLUTION["accuracy_at"])
    (tmp_path / ".ipynb_checkpoints").mkdir()
    notebook_file(tmp_path / ".ipynb_checkpoints", "03_x.ipynb")
    grades = grade_notebooks([tmp_path], jobs=2)
    assert [Path(grade.file).parent.name for grade in grades] == ["=bob", "anna"]
    assert [grade.points for grade in grades] == [10, 10]
    rows = list(csv.DictReader(io.StringIO(as_csv(grades))))
    assert [(row["function"], row["mark"]) for row in rows] == [
        ("accuracy_at", "10.0"), ("best_threshold", "0.0")] * 2  # fmt: skip


def test_a_folder_without_notebooks_and_no_jobs(tmp_path):
    with pytest.raises(ArgumentError, match=r"no \.ipynb file"):
        grade_notebooks([tmp_path])
    with pytest.raises(ArgumentError, match="at least 1"):
        grade_notebooks([], jobs=0)
    text = as_csv([Grade("=1+1.ipynb", error="Cannot read, it")])
    assert text.splitlines()[1] == '\'=1+1.ipynb,,,0,0,0,"Cannot read, it",'


def test_which_notebook_by_its_functions_then_by_its_name():
    assert which_notebook("homework.ipynb", ["def normalize(x):\n    return x"]) == 2
    assert which_notebook("03_anna.ipynb", ["x = 1"]) == 3
    assert which_notebook("2026-homework.ipynb", ["def symmetric_loss(v1, v2):\n    return 1"]) == 5
    assert which_notebook("04_x.ipynb", ["".join(SOLUTION[name] for name in EXERCISES[4])]) == 4
    with pytest.raises(DataError, match="--notebook"):
        which_notebook("homework.ipynb", ["x = 1"])


def test_limits_and_numbers_are_checked():
    with pytest.raises(ArgumentError, match="1 to 7"):
        grade_notebooks([], number=8)
    with pytest.raises(ArgumentError, match="above 0"):
        grade_notebooks([], limits=Limits(cells=0))


def test_a_table_of_nothing_and_of_terminal_escapes():
    assert table([Grade("x.ipynb", error="absent")]) == "x.ipynb\n  not graded: absent"
    escapes = Grade("x.ipynb", cells=[{"cell": 1, "what": "E: \x1b[2J\x07 \u202e"}])
    assert table([escapes]) == "x.ipynb\n  cell 1: E:  [2J"
