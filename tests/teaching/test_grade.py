"""`siamese grade`: marks for functions, whatever the notebook around them does."""

import contextlib
import csv
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("ipykernel")
pytest.importorskip("nbclient")

import nbformat
import psutil

from siamese import ArgumentError
from siamese.checks import EXERCISES
from siamese.cli.main import main
from siamese.teaching.checks import tables
from siamese.teaching.grade import COLUMNS, grade_class

slow = pytest.mark.slow  # each starts kernels
ROOT = Path(__file__).parents[2]
FIRST = tables.source("accuracy_at")
SECOND = tables.source("best_threshold")
WRONG = "def accuracy_at(scores, labels, threshold):\n    return (scores < threshold).mean()"
SWALLOWS = """def best_threshold(*_):
    import time
    while True:
        try: time.sleep(9)
        except BaseException: pass"""
# Student -> cells, marks of notebook 4 (None: not the full mark), parts of the remarks.
CLASS = {
    "wrong": ([WRONG, SECOND], (None, None), ["accuracy_at: "]),
    "blank": (["def best_threshold(scores, labels):\n    best = None\n    return best"], (0, 0),
              ["no function accuracy_at in the notebook. best_threshold: it is not written yet: there"]),
    "=fails": ([FIRST, "1 / 0", "def (", "input('your name?')", "import sys; sys.exit(1)",
                "import os, shutil; shutil.rmtree(os.path.dirname(os.getcwd()))",
                "raise ValueError('<script>')", "print = open = str = len = None",
                SECOND.replace("min() - 1", "min() - int(os.environ['PIP_NO_INDEX'])")],
               (10, 10), ["Code cell 3 (1 / 0) stops with ZeroDivisionError"]),
    # A second kernel gets what is defined on top, and nothing that runs.
    "crashes": ([FIRST, "def (", "(" * 5000, "%pwd\nONE = 1\nbelow = lambda s: s.min() - ONE",
                 "import ctypes\nnp.sort = None\nctypes.string_at(0)\nwhile True: pass",
                 SECOND.replace("scores.min() - 1", "below(scores)")],
                (10, 10), ["Code cell 6 (import ctypes) ended Python."]),
    "hogs": ([FIRST, "hog = []\nwhile True: hog.append(bytearray(10**8))",
              "del hog\nwith open('big', 'wb') as file:\n    while True: file.write(bytes(10**7))",
              "for _ in range(100): print('x' * 10**6)",
              "import time\nwhile True: time.sleep(0.1); print(1)", SECOND],
             (10, 10), ["Code cell 3 (hog = []) stops with MemoryError.", "took more than 15 s."]),
    "swallows": ([f"import trax\n{FIRST}", SWALLOWS], (10, 0), ["best_threshold: "]),
}  # fmt: skip


def hand_in(path, *cells):
    path.parent.mkdir(parents=True, exist_ok=True)
    cells = [nbformat.v4.new_code_cell(cell) for cell in ("import numpy as np", *cells)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)


def rows_of(out):
    with open(out / "grades.csv", encoding="utf-8", newline="") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


@pytest.fixture(scope="module")
def marks(tmp_path_factory):
    top = tmp_path_factory.mktemp("class")
    for student, (cells, *_) in CLASS.items():
        hand_in(top / "in" / student / "x.ipynb", *cells)
    hand_in(top / "in" / ".ipynb_checkpoints" / "x.ipynb", FIRST)
    (top / "in" / "damaged.ipynb").write_bytes(b'{"cells": [\xff')
    (top / "in" / "broken.ipynb").symlink_to(top / "nowhere")  # noted; it has no row
    (top / "in" / "other.ipynb").write_text('{"cells": []}')
    source = f"{FIRST.replace('accuracy_at(', 'accuracy_at (')}import numpy as np"
    sheet = nbformat.v3.new_worksheet(cells=[nbformat.v3.new_code_cell(source)])
    old = nbformat.v3.new_notebook(worksheets=[sheet])
    (top / "in" / "old.IPYNB").write_text(nbformat.v3.nbjson.writes(old))
    path = ROOT / "notebooks" / "solution" / "01_cosine_and_triplet.ipynb"
    (top / "in" / "solution.ipynb").write_bytes(path.read_bytes())
    rows = grade_class(top / "in", top / "out", seconds=15, gigabytes=1.0, jobs=2)
    assert len(rows) == len(rows_of(top / "out")) == len(CLASS) + 4
    return top / "out"


@slow
@pytest.mark.parametrize("student", CLASS)
def test_what_a_notebook_does_costs_no_marks_of_right_functions(marks, student):
    _, expected, remarks = CLASS[student]
    row = rows_of(marks)[f"'{student}" if student.startswith("=") else student]
    points = [float(row[exercise]) for exercise in EXERCISES[4]]
    for mark, full in zip(points, expected):
        assert mark == full if full is not None else mark < 10, row
    assert all(remark in row["remarks"] for remark in remarks), row
    assert row["notebook"] == "4" and row["out_of"] == "20.0"
    assert float(row["total"]) == pytest.approx(sum(points))


@slow
def test_a_solution_and_an_old_notebook_have_full_marks(marks):
    rows = rows_of(marks)
    assert (rows["solution"]["total"], rows["solution"]["remarks"]) == ("20.0", "")
    assert rows["old"]["accuracy_at"] == "10.0"


@slow
@pytest.mark.parametrize(
    ("student", "words"),
    [("damaged", "it is no notebook"), ("other", "it defines none of the")],
)
def test_a_file_that_is_none_of_the_notebooks_is_not_graded(marks, student, words):
    row = rows_of(marks)[student]
    assert (row["out_of"], row["notebook"]) == ("0.0", "")
    assert f"Not graded: {words}" in row["remarks"]


@slow
def test_a_page_names_the_mistakes_and_escapes_what_students_wrote(marks):
    page = (marks / "feedback" / "=fails" / "x.html").read_text("utf-8")
    assert "<h2>accuracy_at: 10 of 10</h2>" in page and "&lt;script&gt;" in page
    assert "<script>" not in page
    page = (marks / "feedback" / "wrong" / "x.html").read_text("utf-8")
    assert "✗ accuracy_at" in page and "expected:" in page


@slow
def test_the_cause_comes_first_and_alone_and_the_page_has_what_a_teacher_needs(
    tmp_path,
):
    top = tmp_path / "in"
    broken = SECOND.replace("def best_threshold(scores", "def best_threshold(scores]")
    uses = ["print(best_threshold([1], [1]))", "best_threshold", "accuracy_at"]
    hand_in(top / "ann" / "04_evaluation.ipynb", FIRST, broken, *uses)
    renamed = SECOND.replace("def best_threshold", "def best_thresholds")
    hand_in(top / "bob" / "mine.ipynb", FIRST, renamed)
    path = top / "cem" / "05_assignment.ipynb"
    path.parent.mkdir()
    path.touch()
    source = ROOT / "notebooks" / "student" / "01_cosine_and_triplet.ipynb"
    notebook = nbformat.read(source, as_version=4)
    answer = next(cell for cell in notebook.cells if cell.id.startswith("answer-"))
    answer.source = "It is <b>lazy</b>."
    notebook.cells = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
    notebook.cells.append(nbformat.v4.new_code_cell("cosine_similarity = None"))
    (top / "dee").mkdir()
    nbformat.write(notebook, top / "dee" / "x.ipynb")
    wrong = "def accuracy_at(scores, labels, t):\n    return 0.123 + 0 * (scores @ labels + t)"
    hand_in(top / "eve" / "x.ipynb", wrong, SECOND)
    grade_class(top, tmp_path / "out", jobs=2)
    rows = rows_of(tmp_path / "out")

    remarks = rows["ann"]["remarks"]
    assert remarks.startswith(
        "Code cell 3 (def best_threshold(scores], labels):) stops with Syn"
    )
    assert "NameError" not in remarks
    assert "best_threshold: its cell, code cell 3, does not run." in remarks
    assert remarks.endswith(" 2 cells stop because of what is missing.")
    assert "there is one called best_thresholds" in rows["bob"]["remarks"]
    row = rows["cem"]
    assert row["remarks"] == "Not graded: the file is empty. Hand it in again."
    assert (row["notebook"], row["total"], row["out_of"]) == ("5", "0.0", "60.0")
    assert "the result is 0.123, and " in rows["eve"]["remarks"]
    assert {row["open_task"] for row in rows.values()} == {""}

    page = (tmp_path / "out" / "feedback" / "ann" / "04_evaluation.html").read_text(
        "utf-8"
    )
    assert "Notebook 4. How good is it?" in page
    assert (
        "<b>10 of 20 points</b> for the exercises; the 3 of the open task are given by hand"
        in page
    )
    page = (tmp_path / "out" / "feedback" / "dee" / "x.html").read_text("utf-8")
    assert "A lazy network gives every question" in page  # the task
    assert "It is &lt;b&gt;lazy&lt;/b&gt;." in page  # the answer
    assert "1 point each: the loss 0 at margin 0" in page
    assert "Points of 3" in page


@slow
def test_a_killed_run_leaves_no_kernel_and_goes_on_where_it_was(tmp_path):
    folder = tmp_path / "in"
    out = tmp_path / "out"
    hand_in(folder / "=anna" / "x.ipynb", FIRST, SECOND)
    hand_in(folder / "ben" / "x.ipynb", FIRST, "while True: pass")
    command = [
        sys.executable,
        "-m",
        "siamese.cli",
        "grade",
        str(folder),
        "--out",
        str(out),
    ]
    running = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)})
    try:
        until(
            lambda: (
                (out / "grades.csv").exists() and psutil.Process(running.pid).children()
            )
        )
        kernels = psutil.Process(running.pid).children(recursive=True)
    finally:
        running.kill()
        running.wait()
    until(lambda: not any(kernel.is_running() for kernel in kernels))
    assert list(rows_of(out)) == ["'=anna"]
    hand_in(folder / "ben" / "x.ipynb", FIRST)
    notes = []
    (folder / "cleo.ZIP").touch()
    rows = grade_class(folder, out, note=notes.append)
    assert [row["total"] for row in rows] == ["20.0", 10.0] and len(notes) == 2
    assert [row["student"] for row in rows] == ["'=anna", "ben"]
    assert len(grade_class(folder, out, note=notes.append)) == 2 and len(notes) == 3
    hand_in(folder / "=anna" / "x.ipynb", FIRST)
    assert [row["total"] for row in grade_class(folder, out)] == [10.0, "10.0"]


def until(condition):
    end = time.monotonic() + 120
    while time.monotonic() < end:
        with contextlib.suppress(psutil.NoSuchProcess):
            if condition():
                return
        time.sleep(0.1)
    raise AssertionError("it did not happen within 120 s")


@pytest.mark.parametrize("name", ["", "absent.ipynb", "x.py"])
def test_a_path_without_notebooks_is_refused(tmp_path, name):
    (tmp_path / "x.py").touch()
    with pytest.raises(ArgumentError):
        grade_class(tmp_path / name, tmp_path / "out")


HEADER = ",".join(COLUMNS)
EMPTY_ROW = "," * (len(COLUMNS) - 1)


@pytest.mark.parametrize(
    "table",
    [
        pytest.param("name,points\nanna,3\n", id="other columns"),
        pytest.param(f"{HEADER},seen\n", id="a column more"),
        pytest.param(f"{HEADER}\n{EMPTY_ROW},yes\n", id="a cell more"),
        pytest.param(
            f"\ufeff{HEADER}\n{EMPTY_ROW}\n", id="of another folder, as Excel writes it"
        ),
    ],
)
def test_another_table_is_refused_and_stays(tmp_path, table):
    hand_in(tmp_path / "x.ipynb")
    path = tmp_path / "out" / "grades.csv"
    path.parent.mkdir()
    path.write_text(table, encoding="utf-8")
    with pytest.raises(ArgumentError) as error:
        grade_class(tmp_path, tmp_path / "out")
    assert "grades.csv" in str(error.value)
    assert path.read_text(encoding="utf-8") == table


@pytest.mark.parametrize("flag", ["--jobs", "--cell-limit"])
def test_a_limit_of_0_is_refused_by_its_flag(tmp_path, capsys, flag):
    hand_in(tmp_path / "x.ipynb")
    with contextlib.suppress(SystemExit):
        assert main(["grade", str(tmp_path), flag, "0"]) == 2
    assert flag in capsys.readouterr().err


def test_a_page_that_grading_has_not_written_is_not_replaced(tmp_path):
    hand_in(tmp_path / "in" / "a" / "x.ipynb", FIRST)
    page = tmp_path / "out" / "feedback" / "a" / "x.html"
    page.parent.mkdir(parents=True)
    page.write_text("mine")
    with pytest.raises(ArgumentError):
        grade_class(tmp_path / "in", tmp_path / "out")
    assert page.read_text() == "mine"
