"""What `siamese grade` tells: pages, summary, copies, and the command line for a container."""

import csv
import io
import re
import shlex
from html.parser import HTMLParser
from urllib.parse import unquote

import pytest

from siamese import ArgumentError, DataError
from siamese.cli.main import build_parser, main
from siamese.teaching.copies import WHOLE, find_copies, functions, words
from siamese.teaching.grade import Grade, Limits, grade_notebooks
from siamese.teaching.report import as_csv, summarize, table, write_pages

pytest.importorskip("IPython")
pytest.importorskip("jinja2")
HOSTILE = "<script>alert(1)</script>\" onload='x' \x1b[2J \ud800"
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


class Page(HTMLParser):
    """The names of a page's elements, its links, its text, and the attributes in it."""

    def __init__(self, path):
        super().__init__()
        self.elements, self.links, self.attributes, self.text = set(), [], set(), ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value for name, value in attrs if name == "href"]

    def handle_data(self, data):
        self.text += data


def test_a_notebooks_text_is_text_on_every_page(tmp_path):
    failure = dict.fromkeys(("case", "expected", "actual", "hint"), HOSTILE)
    name = tmp_path / "in" / "<script>" / "a'\"&.ipynb"
    grade = graded(str(name), 2, failures=[failure], replaced=[HOSTILE])
    grade.exercises[0]["note"] = HOSTILE
    grade.cells = [{"cell": 3, "what": HOSTILE}]
    grade.copies = [{"what": HOSTILE, "files": [HOSTILE]}]
    broken = Grade(str(tmp_path / "in" / "b.ipynb"), error=HOSTILE)
    write_pages(tmp_path / "out", [grade, broken])
    pages = [Page(path) for path in sorted((tmp_path / "out").rglob("*.html"))]
    assert len(pages) == 3
    for page in pages:
        assert "script" not in page.elements and "onload" not in page.attributes
        assert "alert(1)" in page.text and "\x1b" not in page.text


def test_a_students_page_has_cases_and_hints_and_nothing_of_others(tmp_path):
    failures = [
        {"case": f"case {i}", "expected": "[1]", "actual": "[2]", "hint": "the diagonal is left in"}
        for i in (1, 2)
    ]
    files = [str(tmp_path / "in" / who / "01 x.ipynb") for who in ("anna", "bob")]
    anna, bob = (graded(file, 4, failures=failures, code=WRONG) for file in files)
    anna.cells = [{"cell": 7, "what": "NameError: y"}]
    find_copies([anna, bob])
    write_pages(tmp_path / "out", [anna, bob])
    page = Page(tmp_path / "out" / "anna" / "01 x.ipynb.html")
    assert "6.67 of 10 points" in page.text and "4 of 6 cases passed" in page.text
    assert page.text.count("the diagonal is left in") == 1 and "case 1; case 2" in page.text
    assert "cell 7: NameError: y" in page.text
    assert "bob" not in page.text and "same code" not in page.text and "def " not in page.text
    index = Page(tmp_path / "out" / "index.html")
    assert index.links and all((tmp_path / "out" / unquote(link)).is_file() for link in index.links)
    assert "the same code as bob/01 x.ipynb: mean_negative" in index.text
    assert "mean 66.7 %" in index.text and str(tmp_path) not in index.text


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


def test_a_folder_of_pages_that_cannot_be_made_is_told_before_anything_runs(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="not a directory"):
        write_pages(tmp_path / "file" / "pages", [])
    assert main(["grade", "absent.ipynb", "--html", str(tmp_path / "file" / "x")]) == 2


def test_the_containers_command_line_is_printed_and_accepted_inside(tmp_path, capsys):
    folder = tmp_path / "hand, ins"
    folder.mkdir()
    (folder / "a.ipynb").write_text("{}")
    given = ["--jobs", "2", "--check-limit", "60", "--check-limit", "train_model=300", "--details"]
    results = tmp_path / "results"
    command = ["grade", str(folder), "--container", "grading:1", "--html", str(results), *given]
    assert main(command) == 0
    make, docker = capsys.readouterr().out.splitlines()
    assert shlex.split(make)[::6] == ["install", str(results)] and not results.exists()
    before, after = (
        part.split("\0") for part in "\0".join(shlex.split(docker)).split("\0grading:1\0")
    )
    assert before[:2] == ["docker", "run"]
    wanted = {"--network=none", "--read-only", "--memory=16384m", "--pids-limit=1024"}
    assert wanted | {"--cap-drop=ALL", "--security-opt=no-new-privileges"} <= set(before)
    assert not re.search(r"--user=0\b", docker)
    mounts = list(csv.reader(f[8:] for f in before if f.startswith("--mount=")))
    assert mounts == [
        ["type=bind", f"source={folder}", "target=/hand-ins", "readonly"],
        ["type=bind", f"source={results}", "target=/results"],
    ]
    inner = build_parser().parse_args(after)
    assert inner.notebooks == ["/hand-ins"] and inner.html == "/results" and inner.jobs == 2
    assert inner.check_limit == [("", 60.0), ("train_model", 300.0)] and inner.details
    assert main(["grade", str(folder / "a.ipynb"), "--container", "x"]) == 2
    assert main(["grade", str(folder), "--container", "x", "--csv", "y"]) == 2
    assert main(["grade", str(tmp_path / "results"), "--container", "x"]) == 2
