"""`siamese grade`: marks for functions, whatever the notebook around them does."""

import csv
import inspect
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import exercise_solutions
import pytest

from siamese.errors import ArgumentError
from siamese.teaching.checks import EXERCISES, MARK, OUT_OF

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")
pytest.importorskip("nbclient")

from siamese.teaching.grade import Limits, definitions, grade_class  # noqa: E402

slow = pytest.mark.slow  # each starts kernels
ROOT = Path(__file__).parents[2]
IMPORTS = "import random\nimport numpy as np\nfrom siamese import word_tokenize"
SOLUTION = {name: inspect.getsource(getattr(exercise_solutions, name)) for name in OUT_OF}
WRONG = "def accuracy_at(scores, labels, threshold):\n    return 0.31"
BOTH = {"accuracy_at": "10.0", "best_threshold": "10.0"}  # the exercises of notebook 3


def hand_in(folder, name, *cells):
    """A notebook with those code cells."""
    path = Path(folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    cells = [nbformat.v4.new_code_cell(cell) for cell in (IMPORTS, *cells)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def grades(folder, out, **options):
    """The table that grading writes: student -> row."""
    options["limits"] = Limits(**options.pop("limits", {"cell": 60}))
    grade_class(folder, out, **options)
    with open(out / "grades.csv", encoding="utf-8", newline="") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def marks(row):
    return {name: row[name] for name in BOTH}


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
    "too much": [
        "kept = []\nwhile True: kept.append(bytearray(10**8))",
        "with open('big', 'wb') as file:\n    while True: file.write(bytes(10**7))",
        "print('x' * 10**8)\nfor _ in range(10**4): print('y' * 1000)",
    ],
    "ends Python": ["import os, subprocess\nsubprocess.Popen(['sleep', '86399.75'])\nos._exit(3)"],
    "no end": ["while True:\n    try:\n        while True: pass\n    except BaseException: pass"],
}


@slow
def test_no_cell_keeps_the_other_cells_functions_from_their_marks(tmp_path):
    for kind, cells in HOSTILE.items():
        all_cells = SOLUTION["accuracy_at"], *cells, SOLUTION["best_threshold"]
        hand_in(tmp_path / "in", f"{kind}.ipynb", *all_cells)
    limits = {"cell": 20, "gigabytes": 1}
    table = grades(tmp_path / "in", tmp_path / "out", limits=limits, jobs=2)
    assert {kind: marks(table[kind]) for kind in HOSTILE} == dict.fromkeys(HOSTILE, BOTH)
    assert "it took more than 20 s" in table["no end"]["remarks"]
    assert "it ended Python" in table["ends Python"]["remarks"]
    assert "code cell 3: ZeroDivisionError" in table["cells that fail"]["remarks"]
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert b"86399.75" not in process.read_bytes()
        except OSError:
            continue


@slow
def test_a_function_that_never_returns_costs_its_own_mark_only(tmp_path):
    loop = "def cosine_similarity(v1, v2):\n    while True: pass"
    rest = SOLUTION["mean_negative"], SOLUTION["closest_negative"]
    hand_in(tmp_path / "in", "anna/01.ipynb", loop, *rest)
    row = grades(tmp_path / "in", tmp_path / "out", limits={"cell": 40})["anna"]
    names = "cosine_similarity", "mean_negative", "closest_negative"
    assert [row[name] for name in names] == ["0.0", "10.0", "10.0"]
    assert "it took more than 40 s" in row["remarks"]


CHEATS = [
    "import siamese.teaching.checks as c\nfor names in c.EXERCISES.values():\n"
    "    for name in names:\n        names[name] = lambda fn: c.Score(name, 9, 9)",
    "import numpy\nnumpy.allclose = numpy.array_equal = lambda *a, **k: True",
    "import builtins\nbuiltins.abs = lambda x: 0",
    "import sys, types\nfor name in [n for n in sys.modules if 'siamese' in n]:\n"
    "    sys.modules[name] = types.ModuleType(name)",
]


@slow
def test_what_a_notebook_changes_in_the_checks_gives_no_marks(tmp_path):
    for at, cheat in enumerate(CHEATS):
        hand_in(tmp_path / "in", f"{at}.ipynb", WRONG, cheat)
    table = grades(tmp_path / "in", tmp_path / "out", jobs=2, number=3)
    assert {row["accuracy_at"] for row in table.values()} == {"0.0"}


@slow
def test_a_class_that_is_killed_half_way_goes_on_and_grades_what_changed(tmp_path):
    for student in ("=anna", "bob", "eve", "zoe"):
        hand_in(tmp_path / "in", f"{student}/03.ipynb", SOLUTION["accuracy_at"], WRONG)
    (tmp_path / "in" / "bob" / "03.ipynb").write_text('{"cells": [')
    hand_in(tmp_path / "in", "eve/.ipynb_checkpoints/03.ipynb", SOLUTION["accuracy_at"])
    out = tmp_path / "out"
    command = [
        sys.executable,
        "-m",
        "siamese.cli",
        "grade",
        "in",
        "--out",
        "out",
        "--notebook",
        "3",
    ]
    where = {"cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": str(ROOT)}}
    grading = subprocess.Popen(command, start_new_session=True, **where)
    while not (out / "grades.csv").exists() and grading.poll() is None:
        time.sleep(0.05)
    os.killpg(grading.pid, signal.SIGKILL)
    grading.wait()
    before = {page: page.stat().st_mtime_ns for page in out.glob("feedback/*/*.html")}
    first = (out / "grades.csv").read_text().splitlines()[1]
    answer = subprocess.run([*command, "--json"], capture_output=True, text=True, **where)
    rows = json.loads(answer.stdout)["notebooks"]
    assert [row["student"] for row in rows] == ["=anna", "bob", "eve", "zoe"], answer.stderr
    assert first in (out / "grades.csv").read_text()
    assert all(page.stat().st_mtime_ns == at for page, at in before.items())
    assert [float(row["accuracy_at"] or 0) for row in rows] == [0, 0, 0, 0]  # The later one counts.
    assert "not graded" in rows[1]["remarks"]
    assert (out / "grades.csv").read_text().splitlines()[1].startswith("'=anna,")
    # A hand-in that changed is graded again, and no other.
    hand_in(tmp_path / "in", "zoe/03.ipynb", SOLUTION["accuracy_at"])
    table = grades(tmp_path / "in", out, number=3)
    assert table["zoe"]["accuracy_at"] == "10.0" and table["zoe"]["total"] == "10.0"
    assert all(
        page.stat().st_mtime_ns == at for page, at in before.items() if "zoe" not in str(page)
    )


@slow
def test_feedback_names_the_mistake_and_escapes_the_students_text(tmp_path):
    mean = "def mean_negative(scores):\n    return scores.mean(axis=1)"
    bad = "def closest_negative(scores):\n    raise ValueError('<script>alert(1)</script>')"
    hand_in(tmp_path / "in", "<b>.ipynb", SOLUTION["cosine_similarity"], mean, bad)
    row = grades(tmp_path / "in", tmp_path / "out")["<b>"]
    assert row["notebook"] == "1" and row["cosine_similarity"] == "10.0"
    assert float(row["mean_negative"]) < MARK and row["out_of"] == str(MARK * len(EXERCISES[1]))
    page = (tmp_path / "out" / "feedback" / "<b>.html").read_text()
    assert "diagonal" in page and "<script" not in page and "<b>" not in page
    assert "diagonal" in row["remarks"]


def test_what_cannot_be_graded_is_said(tmp_path):
    with pytest.raises(ArgumentError, match="There are no notebooks"):
        grade_class(tmp_path, tmp_path / "out")
    hand_in(tmp_path, "in/x.ipynb", "x = 1")
    (row,) = grade_class(tmp_path / "in", tmp_path / "out")
    assert "--notebook" in row["remarks"] and row["total"] == 0
    (tmp_path / "out" / "grades.csv").write_text("a,b\n")
    with pytest.raises(ArgumentError, match="--out"):
        grade_class(tmp_path / "in", tmp_path / "out")


def test_definitions_are_read_from_cells_with_magics_and_errors():
    code = f"%matplotlib inline\nimport os\nos._exit(1)\n!ls\nN = 3\nf = lambda x: x\n{WRONG}"
    names = [line.split("(")[0] for text in definitions(code) for line in text.splitlines()[:1]]
    assert names == ["import os", "N = 3", "f = lambda x: x", "def accuracy_at"]
    for damaged in ("def (", "x = '\0'", "(" * 500, "f = " + "-" * 5000 + "1"):
        assert definitions(damaged) == [] or "-" in damaged
