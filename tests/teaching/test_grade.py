"""`siamese grade`: points for functions, whatever the notebook around them does."""

import contextlib
import inspect
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
from siamese.teaching.grade import Grade, Limits, grade_notebooks, table, which_notebook

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


def graded(*paths, number=None, **limits):
    """The grades, and for each a dict: function -> (points, out_of)."""
    limits = Limits(**{"cells": 120, "check": 60, **limits})
    grades = grade_notebooks(paths, number=number, limits=limits)
    return grades, [
        {e["function"]: (e["points"], e["out_of"]) for e in grade.exercises} for grade in grades
    ]


@slow
def test_points_hints_and_blanks(tmp_path):
    path = notebook_file(
        tmp_path,
        "01_mine.ipynb",
        SOLUTION["cosine_similarity"],
        "def mean_negative(scores):\n    return scores.mean(axis=1)",
        "def closest_negative(scores):\n    closest = None\n    return closest",
    )
    grades, points = graded(path)
    assert grades[0].notebook == 1 and grades[0].error == "" and grades[0].replaced == []
    assert points[0]["cosine_similarity"] == FULL[1]["cosine_similarity"]
    assert points[0]["mean_negative"][0] < 3 and points[0]["closest_negative"] == (0, 7)
    mean, closest = grades[0].exercises[1:]
    assert "diagonal is left in" in mean["failures"][0]["hint"]
    assert closest["note"] == "not written yet: there is a None to replace: closest = None"
    shown = table(grades, details=True)
    assert "diagonal is left in" in shown and "Traceback" not in shown
    facts = json.loads(json.dumps(grades[0].to_dict()))
    assert facts["points"] == sum(p for p, _ in points[0].values())
    assert facts["score"] == round(facts["points"] / facts["out_of"], 4)


SLEEP = ["sleep", "86399.75"]  # a time that no other process sleeps
HOSTILE = {
    "an exception": "1 / 0",
    "a syntax error": "def (",
    "input": "input('your name?')",
    "sys.exit": "import sys; sys.exit(1)",
    "exit": "exit()",
    "os._exit": "import os; os._exit(3)",
    "a crash": "import ctypes; ctypes.string_at(0)",
    "an endless loop": "while True: pass",
    "a loop that swallows interrupts": "while True:\n    try:\n        while True: pass\n"
    "    except BaseException: pass",
    "huge output": "print('x' * 10**8)\nfor _ in range(10**5): print('y' * 1000)",
    "deleted files": "import os, shutil; here = os.getcwd(); shutil.rmtree(os.path.dirname(here))",
    "another directory": "import os; os.chdir('/')",
    "closed output": "import os, sys; sys.stdout = None; os.close(1); os.close(2)",
    "shadowed names": "print = exec = open = compile = globals = str = len = None",
    "a child that goes on": f"import subprocess; subprocess.Popen({SLEEP!r})",
    "a child in a session of its own": f"import subprocess; subprocess.Popen(['setsid', *{SLEEP!r}])",
    "a daemon": "import os, subprocess\nif os.fork() == 0:\n    os.setsid()\n"
    f"    if os.fork() == 0:\n        os.execvp('sleep', {SLEEP!r})\n    os._exit(0)",
    "a child of a kernel that ends": "import os, subprocess\n"
    f"subprocess.Popen({SLEEP!r}, start_new_session=True)\nos._exit(0)",
    "memory without end": "kept = []\nwhile True: kept.append(bytearray(10**8))",
    "a file without end": "with open('big', 'wb') as file:\n    while True: file.write(bytes(10**7))",
    "a kill from a thread": "import os, threading; threading.Timer(0.5, os._exit, [1]).start()\n"
    "import time; time.sleep(3)",
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
@pytest.mark.parametrize("cell", HOSTILE.values(), ids=HOSTILE)
def test_no_cell_keeps_the_other_cells_functions_from_their_points(tmp_path, cell):
    cells = SOLUTION["accuracy_at"], cell, SOLUTION["best_threshold"]
    grades, points = graded(notebook_file(tmp_path, "03_x.ipynb", *cells), cells=8, gigabytes=1)
    assert points[0] == FULL[3], table(grades)
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
        "import os\nos._exit(1)\n" + SOLUTION["accuracy_at"],
        "1 / 0\n" + SOLUTION["best_threshold"],
    )
    grades, points = graded(notebook_file(tmp_path, "03_x.ipynb", *cells))
    assert points[0] == FULL[3]
    assert [cell["cell"] for cell in grades[0].cells] == [2, 3]


@slow
def test_what_only_runs_is_left_out_after_a_crash(tmp_path):
    cell = (
        "%matplotlib inline\nimport os\nos._exit(1)\n!ls\nclass A: pass\n" + SOLUTION["accuracy_at"]
    )
    _, points = graded(notebook_file(tmp_path, "03_x.ipynb", cell, "assert A"))
    assert points[0]["accuracy_at"] == FULL[3]["accuracy_at"]


@slow
@pytest.mark.parametrize(
    "body",
    ["import os; os._exit(0)", "while True: pass", "import ctypes; ctypes.string_at(0)",
     "import sys; sys.exit()", "import threading; threading.Event().wait()",
     "while True:\n        try:\n            while True: pass\n        except BaseException: pass"],
)  # fmt: skip
def test_a_function_that_never_returns_costs_its_own_points_only(tmp_path, body):
    # The solution uses accuracy_at; here it has to stand alone.
    alone = SOLUTION["best_threshold"].replace(
        "accuracy_at(scores, labels, threshold)", "np.mean((scores > threshold) == labels)"
    )
    cells = f"def accuracy_at(scores, labels, threshold):\n    {body}", alone
    grades, points = graded(notebook_file(tmp_path, "03_x.ipynb", *cells), check=6)
    assert points[0]["accuracy_at"] == (0, OUT_OF["accuracy_at"])
    assert points[0]["best_threshold"] == FULL[3]["best_threshold"], table(grades)


CHEATS = {
    "its own checks": "import siamese.teaching.checks as c\nfrom siamese.teaching.checks import Score\n"
    "for found in c.EXERCISES.values():\n    for name in found:\n"
    "        found[name] = lambda fn: Score(name, 9, 9)",
    "its own Score": "import siamese.teaching.checks.score as s\ns.Exercise.score = "
    "lambda self, fn: s.Score(self.name, 9, 9)\ns.Exercise._run = lambda *a: None",
    "its own allclose": "import numpy\nnumpy.allclose = numpy.array_equal = lambda *a, **k: True",
    "its own modules": "import sys, types\nfor name in [n for n in sys.modules if 'siamese' in n]:\n"
    "    sys.modules[name] = types.ModuleType(name)",
    "everything is equal": "import builtins, numpy\nnumpy.mean = lambda *a, **k: 0.5\n"
    "builtins.abs = lambda x: 0",
}


@slow
@pytest.mark.parametrize("cheat", CHEATS.values(), ids=CHEATS)
def test_what_a_notebook_changes_in_the_checks_gives_no_points(tmp_path, cheat):
    wrong = "def accuracy_at(scores, labels, threshold):\n    return 0.31"
    path = notebook_file(tmp_path, "03_x.ipynb", wrong, cheat)
    grades, points = graded(path)
    assert points[0]["accuracy_at"][0] == 0, table(grades)
    if "numpy" in cheat:
        assert any(name.startswith("numpy.") for name in grades[0].replaced)
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
                    score = {"exercise": seen["function"], "points": POINTS, "out_of": OUT_OF,
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
    forge = FORGE.replace("POINTS", "99").replace("OUT_OF", "7")
    wrong = "import time\ndef closest_negative(scores):\n    time.sleep(1)\n    return scores"
    path = notebook_file(tmp_path, "01_x.ipynb", wrong, forge)
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


@slow
def test_the_librarys_own_function_gives_no_points(tmp_path):
    _, points = graded(notebook_file(tmp_path, "04_x.ipynb", "from siamese import *"))
    assert {p for p, _ in points[0].values()} == {0}


@slow
def test_what_nbgrader_calls_a_test_is_not_run(tmp_path):
    path = solved_file(tmp_path, 6)
    notebook = nbformat.read(path, as_version=4)
    test = nbformat.v4.new_code_cell("import time; time.sleep(10000)")
    test.metadata["nbgrader"] = {"grade": True, "solution": False, "grade_id": "t", "points": 1}
    odd = nbformat.v4.new_code_cell("x = 1")
    odd.metadata["nbgrader"] = "nonsense"
    notebook.cells += [test, odd]
    nbformat.write(notebook, path)
    grades, points = graded(path)
    assert points[0] == FULL[6] and grades[0].cells == []


@slow
def test_one_bad_file_stops_no_other(tmp_path):
    damaged = tmp_path / "01_damaged.ipynb"
    damaged.write_text('{"cells": [')
    text = tmp_path / "05.ipynb"
    text.write_bytes(b"\xff\xfe")
    grades, points = graded(damaged, tmp_path / "absent.ipynb", text, solved_file(tmp_path, 6))
    assert [bool(grade.error) for grade in grades] == [True, True, True, False]
    assert "not a Jupyter notebook" in grades[0].error and "Cannot read" in grades[1].error
    assert points[3] == FULL[6]


@slow
def test_the_command_prints_a_table_or_json(tmp_path):
    def grade(*flags):
        command = [sys.executable, "-m", "siamese.cli", "grade", str(path), *flags]
        return subprocess.run(command, capture_output=True, text=True, env=env)

    path, total = solved_file(tmp_path, 6), sum(OUT_OF[name] for name in EXERCISES[6])
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    shown = grade()
    assert shown.returncode == 0 and f"{total}/{total}  100%" in shown.stdout, shown.stderr
    facts = json.loads(grade("--json").stdout)
    assert facts["points"] == facts["out_of"] == total and facts["notebooks"][0]["score"] == 1.0
    wrong = grade("--notebook", "9")
    assert wrong.returncode == 2 and "1 to 7" in wrong.stderr and "Traceback" not in wrong.stderr


# Of the long notebooks tests/notebooks runs the students' cells, and `make check-notebooks` all cells; the
# longest one's solutions are graded by the command above.
@slow
@pytest.mark.parametrize(
    "number, kind",
    [*((n, "solution") for n in EXERCISES if n != 6), *((n, "student") for n in range(1, 4))],
)
def test_the_notebooks_of_this_repository(number, kind):
    found = sorted((ROOT / "notebooks" / kind).glob(f"{number:02}_*.ipynb"))
    if not found:
        pytest.skip("the notebooks are not generated: make notebooks")
    grades, points = graded(found[0], cells=3000, check=1500)
    assert grades[0].notebook == number and not grades[0].error and not grades[0].replaced
    empty = {name: (0, OUT_OF[name]) for name in EXERCISES[number]}
    assert points[0] == (FULL[number] if kind == "solution" else empty), table(grades)
    assert "Traceback" not in table(grades)
    assert kind == "student" or grades[0].cells == []


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
