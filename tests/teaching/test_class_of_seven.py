"""Seven hand-ins of notebook 2, right, wrong and damaged: what `siamese grade` says to a teacher."""

import csv
from pathlib import Path

import pytest

pytest.importorskip("ipykernel")
pytest.importorskip("nbclient")

import nbformat

from siamese.checks import EXERCISES
from siamese.cli.main import main
from siamese.teaching.checks import tables

STEM = "02_batch_and_loss"
STUDENT = Path(__file__).parents[2] / "notebooks" / "student" / f"{STEM}.ipynb"
RIGHT = {name: tables.source(name) for name in EXERCISES[2]}
ANSWER = "It jumps at 0.1 and at 0.3."


def changed(name, old, new):
    """The solutions, one of them with a text replaced."""
    assert old in RIGHT[name]
    return RIGHT | {name: RIGHT[name].replace(old, new, 1)}


WRONG = {
    **changed("mean_negative", "axis=1", "axis=0"),
    "closest_negative": RIGHT["closest_negative"].replace(").max", ").min"),
    "modified_loss": RIGHT["modified_loss"].replace(" + margin", ""),
}
HEAD = "def closest_negative(scores):\n"
# Student -> the file, the answers, marks of the three exercises (None: some of the
# points), and what the remarks begin with and hold.
CLASS = {
    "ann_right": (STEM, RIGHT, [10, 10, 10], ""),
    "bob_wrong": (STEM, WRONG, [0, None, None],
                  "mean_negative: the wrong axis: these are the means of the columns. closest_negative: "),
    "cem_endless": (STEM, changed("closest_negative", HEAD, f"{HEAD}    while True:\n        pass\n"),
                    [10, 0, 10],
                    "Code cell 12 (need(closest_negative)) took more than 40 s. Of the cells below it, "),
    "dee_syntax": (STEM, changed("mean_negative", "(scores):", "(scores)"), [0, 10, 10],
                   "Code cell 8 (def mean_negative(scores)) stops with SyntaxError: "),
    "eve_empty": (STEM, None, [0, 0, 0], "Not graded: the file is empty."),
    "fay_untouched": (STEM, {}, [0, 0, 0], "No exercise is written."),
    "gus_renamed": ("homework (1)", changed("mean_negative", "def mean", "def my_mean"), [0, 10, 10],
                    "mean_negative: there is no function mean_negative in the notebook; "
                    "there is one called my_mean_negative. "),
}  # fmt: skip


def hand_in(path, answers):
    """The student's notebook with these answers; an empty file for None."""
    path.parent.mkdir(parents=True)
    if answers is None:
        path.touch()
        return
    notebook = nbformat.read(STUDENT, as_version=4)
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        cell.source = answers.get(name, cell.source)
        if name.startswith("answer_") and answers:
            cell.source = ANSWER
    nbformat.write(notebook, path)


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The folder of the marks."""
    top = tmp_path_factory.mktemp("class")
    for student, (file, answers, *_) in CLASS.items():
        hand_in(top / "in" / student / f"{file}.ipynb", answers)
    flags = ["--out", str(top / "out"), "--jobs", "2", "--cell-limit", "40"]
    assert main(["grade", str(top / "in"), *flags]) == 0
    return top / "out"


def row_of(graded, student):
    with open(graded / "grades.csv", encoding="utf-8", newline="") as file:
        (row,) = [row for row in csv.DictReader(file) if row["student"] == student]
    return row


@pytest.mark.slow
@pytest.mark.parametrize("student", CLASS)
def test_marks_and_remarks_are_understood_without_the_notebook(graded, student):
    _, _, expected, beginning = CLASS[student]
    row = row_of(graded, student)
    points = [float(row[name]) for name in EXERCISES[2]]
    for mark, full in zip(points, expected):
        assert mark == full if full is not None else 0 < mark < 10, row
    assert (row["notebook"], row["out_of"], row["open_task"]) == ("2", "30.0", "")
    assert float(row["total"]) == pytest.approx(sum(points))
    assert row["remarks"].startswith(beginning)
    assert bool(beginning) == bool(row["remarks"])
    assert not beginning or row["remarks"].endswith((".", "?"))
    # The cause is said once; what follows from it is counted.
    assert "NameError" not in row["remarks"] and len(row["remarks"]) < 500


@pytest.mark.slow
def test_the_endless_function_and_its_cell_are_named(graded):
    remarks = row_of(graded, "cem_endless")["remarks"]
    assert "closest_negative: look for a loop that never ends" in remarks


@pytest.mark.slow
@pytest.mark.parametrize("student", sorted(CLASS.keys() - {"eve_empty"}))
def test_a_page_has_the_notebook_the_total_and_the_open_task(graded, student):
    file, answers, *_ = CLASS[student]
    page = (graded / "feedback" / student / f"{file}.html").read_text("utf-8")
    total = float(row_of(graded, student)["total"])
    assert "Notebook 2. The batch and its loss" in page
    assert f"<b>{total:g} of 30 points</b>" in page
    assert "Points of 3" in page and "1 point each" in page
    assert (ANSWER if answers else "(not answered)") in page
