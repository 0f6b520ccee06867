"""nbgrader and `siamese grade` give a class the same marks."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("nbgrader", reason="needs nbgrader: make nbgrader")

import nbformat

from siamese.checks import EXERCISES
from siamese.teaching.checks import tables
from siamese.teaching.grade import grade_class

ROOT = Path(__file__).parents[2]
STEM = "02_batch_and_loss"
RIGHT = {name: f"import numpy as np\n{tables.source(name)}" for name in EXERCISES[2]}
CLASS = {  # student -> exercise -> the answer
    "anna": RIGHT,
    "ben": {},
    "cleo": RIGHT
    | {"mean_negative": "def mean_negative(s):\n    return s.mean(axis=1)"},
    "dora": {
        "closest_negative": "def closest_negative(scores):\n    return scores.max(axis=1)"
    },
    "emil": RIGHT
    | {"modified_loss": "def modified_loss(scores):\n    return scores.sum()"},
}


@pytest.mark.slow
def test_a_class_of_five_has_equal_marks(tmp_path):
    def nbgrader(*command):
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        env = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": path}
        command = [sys.executable, "-m", "nbgrader", *command]
        subprocess.run(command, cwd=tmp_path, env=env, check=True, capture_output=True)

    config = 'c = get_config()\nc.CourseDirectory.course_id = "siamese"\nc.Execute.timeout = 600\n'
    # The student notebooks have their blanks.
    config += "c.ClearSolutions.enabled = False\n"
    (tmp_path / "nbgrader_config.py").write_text(config)
    source = tmp_path / "source" / STEM / f"{STEM}.ipynb"
    source.parent.mkdir(parents=True)
    source.write_bytes((ROOT / "notebooks" / "student" / f"{STEM}.ipynb").read_bytes())
    nbgrader("generate_assignment", STEM)
    for student, answers in CLASS.items():
        notebook = nbformat.read(
            tmp_path / "release" / STEM / f"{STEM}.ipynb", as_version=4
        )
        for cell in notebook.cells:
            name = cell.metadata.get("nbgrader", {}).get("grade_id")
            cell.source = answers.get(name, cell.source)
        path = tmp_path / "submitted" / student / STEM / f"{STEM}.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(notebook, path)
    nbgrader("autograde", STEM)
    nbgrader("generate_feedback", STEM)
    nbgrader("export", "--to", "marks.csv")
    with open(tmp_path / "marks.csv", encoding="utf-8", newline="") as file:
        theirs = {
            row["student_id"]: float(row["score"]) for row in csv.DictReader(file)
        }
    rows = grade_class(tmp_path / "submitted", tmp_path / "o")
    ours = {row["student"]: row["total"] for row in rows}
    assert ours == pytest.approx(theirs) and ours["anna"] == 30 and len(ours) == 5
    assert len(set(ours.values())) > 3  # A class whose marks differ.
    for student in CLASS:
        assert (tmp_path / "feedback" / student / STEM / f"{STEM}.html").exists()
