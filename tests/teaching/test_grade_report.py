"""What `siamese grade` reports: summary, copies, limits."""

import csv
import io

import pytest

from siamese import ArgumentError
from siamese.cli.main import build_parser
from siamese.teaching.copies import WHOLE, find_copies, functions, words
from siamese.teaching.grade import Grade, Limits, grade_notebooks
from siamese.teaching.report import as_csv, summarize, table

pytest.importorskip("IPython")
RIGHT = (
    "def mean_negative(scores):\n    b = len(scores)\n"
    "    return (scores.sum(1) - scores.diagonal()) / (b - 1)"
)
WRONG = (
    "def mean_negative(scores):\n    b = len(scores)\n    return scores.sum(axis=1) / b  # the mean"
)
RENAMED = (
    'def mean_negative(s):\n    """Mine."""\n\n    n = len(s)  # rows\n    return s.sum(axis = 1)/n'
)
OTHER = "def mean_negative(scores):\n    return scores.mean(axis=1)"


def graded(file, points, *, code="", failures=(), function="mean_negative", **more):
    """A hand-in of notebook 1 with one exercise of 6 cases."""
    one = {
        "function": function, "points": points, "out_of": 6, "mark": round(10 * points / 6, 2),
        "written": True, "failures": list(failures), "note": "",
    }  # fmt: skip
    return Grade(file, 1, [one], code={function: code} if code else {}, **more)


def test_the_summary_is_that_of_the_totals():
    grades = [graded(f"{i}.ipynb", points) for i, points in enumerate((0, 3, 3, 6))]
    grades.append(Grade("x.ipynb", error="Cannot read it"))
    assert summarize(grades) == {
        "graded": 4, "not_graded": 1, "mean": 50.0, "median": 50.0,
        "histogram": [1, 0, 0, 0, 0, 2, 0, 0, 0, 1], "exercises": {"mean_negative": 5.0},
    }  # fmt: skip
    shown = table(grades)
    assert "4 graded, 1 not; mean 50 %, median 50 %" in shown
    assert "  50 to  60 %  ## 2\n" in shown and "  10 to  20 %\n" in shown
    assert shown.endswith("mean marks, of 10\n  mean_negative                 5.00")
    many = table([graded("x.ipynb", 6)] * 500)
    assert f"  90 to 100 %  {'#' * 40} 500\n" in many
    assert summarize([])["mean"] is None and "histogram" not in table([])


def test_wrong_answers_that_are_the_same_but_for_names_and_comments_are_told(tmp_path):
    codes = {"anna": WRONG, "bob": RENAMED, "eve": OTHER}
    grades = [graded(name, 4, code=code) for name, code in codes.items()]
    full = [graded(name, 6, code=RIGHT) for name in ("dan", "finn")]
    find_copies([*grades, *full])
    assert grades[0].copies == [{"what": "mean_negative", "files": ["bob"]}]
    assert grades[1].copies == [{"what": "mean_negative", "files": ["anna"]}]
    assert [grade.copies for grade in (grades[2], *full)] == [[]] * 3
    assert "the same code as bob: mean_negative" in table(grades)
    rows = list(csv.DictReader(io.StringIO(as_csv(grades))))
    assert [row["copies"] for row in rows] == ["bob", "anna", ""]
    assert grades[0].to_dict()["copies"] and "code" not in grades[0].to_dict()


def test_another_notebook_and_an_answer_not_written_are_no_copies():
    grades = [graded(name, 4, code=WRONG) for name in "ab"]
    grades[1].notebook = 2
    find_copies(grades)
    assert not grades[0].copies + grades[1].copies
    grades[1].notebook, grades[1].exercises[0]["written"] = 1, False
    find_copies(grades)
    assert not grades[0].copies + grades[1].copies


def test_right_answers_are_told_only_with_words_of_the_students_own():
    given = words(["def mean_negative(scores):\n    b = None  # how many pairs\n    return b"])
    for change, told in (("", False), ("# counted by hand", True)):
        grades = [graded(name, 6, code=f"{RIGHT}  {change}".strip()) for name in "ab"]
        find_copies(grades, given)
        assert [bool(grade.copies) for grade in grades] == [told, told]
    assert grades[0].copies == [{"what": WHOLE, "files": ["b"]}]
    assert as_csv(grades).splitlines()[1].endswith(",b")
    grades = [graded("a", 6, code=RIGHT + "  # mine"), graded("b", 6, code=RIGHT + "  # my own")]
    find_copies(grades, given)
    assert not grades[0].copies + grades[1].copies


def test_functions_are_read_from_cells_with_magics_and_errors():
    cells = ["%matplotlib inline\n" + OTHER, "def (", WRONG, "x = '\0'", "(" * 500]
    assert functions(cells, {"mean_negative"}) == {"mean_negative": WRONG}
    assert functions(["%magic\n" * 600 + WRONG], {"mean_negative"}) == {}
    deep = "def mean_negative(scores):\n    return " + "-" * 5000 + "1"
    for code in (deep, "def (", '"""', "\0"):
        grades = [graded(name, 4, code=code) for name in "ab"]
        find_copies(grades, set())


def test_limits_of_single_exercises_are_checked():
    with pytest.raises(ArgumentError, match="no exercise loss; there are cosine_similarity, mean"):
        grade_notebooks([], limits=Limits(check_of={"loss": 3}))
    with pytest.raises(ArgumentError, match="above 0"):
        grade_notebooks([], limits=Limits(check_of={"normalize": 0}))
    flags = build_parser().parse_args(
        ["grade", "x", "--check-limit", "60", "--check-limit", "train_model=300"]
    )
    assert flags.check_limit == [("", 60.0), ("train_model", 300.0)]
