"""The notebooks: made from their sources; a student's run to their end without an answer."""

import configparser
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from programs import COMPILED

from siamese.checks import EXERCISES

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("jupytext")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

from notebooks import build  # noqa: E402

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
SOURCES = sorted((NOTEBOOKS / "src").glob("*.py"))
TABLE = (
    (NOTEBOOKS.parent / "benchmarks/results/which_loss.md")
    .read_text("utf-8")
    .split("\n")
)
names = pytest.mark.parametrize(
    "source", SOURCES, ids=[path.stem[:2] for path in SOURCES]
)


def read(folder, source):
    return nbformat.read(NOTEBOOKS / folder / f"{source.stem}.ipynb", as_version=4)


def cell(notebook, name):
    return next(c for c in notebook.cells if c.id == name)


def code_of(notebook):
    return "\n".join(c.source for c in notebook.cells if c.cell_type == "code")


def nbgrader(name, *, solution, **points):
    kind = {
        "grade": bool(points),
        "locked": not solution,
        "solution": solution,
        "task": False,
    }
    return {"grade_id": name, "schema_version": 3, **kind, **points}


@names
def test_a_student_gets_the_blanks_and_a_teacher_the_solutions_with_full_marks(source):
    """The marks are those of the last execution; `make check-notebooks` executes again."""
    assert build.stale(source) == []
    student = read("student", source)
    solution = read("solution", source)
    text = source.read_text("utf-8")
    for name, check in EXERCISES[int(source.stem[:2])].items():
        blank, solved = cell(student, name), cell(solution, name)
        blanks = r"(?s)### START CODE HERE\n.*\bNone\b.*### END CODE HERE"
        assert re.search(blanks, blank.source)
        assert (
            "### BEGIN SOLUTION" in solved.source
            and "### END SOLUTION" in solved.source
        )
        graded = cell(solution, f"check-{name}")
        assert f"checks.{check.__name__}({name})" in graded.source
        assert (
            float(graded.outputs[-1].data["text/plain"])
            == graded.metadata.nbgrader.points
        )
        assert (
            blank.metadata.nbgrader
            == solved.metadata.nbgrader
            == nbgrader(name, solution=True)
        )
        expected = nbgrader(f"check_{name}", solution=False, points=10)
        assert cell(student, f"check-{name}").metadata.nbgrader == expected
    assert not re.search("BEGIN SOLUTION|BLANK", code_of(student))
    assert "BLANK" not in code_of(solution)
    for notebook in (student, solution):
        folded = [c.metadata for c in notebook.cells if "cellView" in c.metadata]
        assert all(metadata.jupyter.source_hidden for metadata in folded)
        # The set-up and the pictures.
        assert len(folded) == 1 + text.count(" hidden=true")
        guesses = re.findall(r'^guess\("\w+", (.*?)\)', code_of(notebook), re.M)
        assert [guess == "None" for guess in guesses] == [notebook is student] * 2
    (answer,) = (c for c in student.cells if c.id.startswith("answer-"))
    assert (
        answer.source == build.EMPTY_ANSWER
        and "Rubric" in cell(solution, answer.id).source
    )
    name, points = re.search(r' answer="(\w+)" points=(\d)', text).groups()
    expected = nbgrader(f"answer_{name}", solution=True, points=int(points))
    assert answer.metadata.nbgrader == expected | {"grade": True}


def test_the_setup_cell_lists_every_base_requirement():
    settings = configparser.ConfigParser()
    settings.read(NOTEBOOKS.parent / "setup.cfg", encoding="utf-8")
    lines = settings["options"]["install_requires"].split("\n")
    required = {re.match(r"[\w.-]+", line)[0].lower() for line in lines if line}
    listed = {
        line.partition("==")[0].lower() for line in build.setup_cell().splitlines()
    }
    assert len(required) > 10
    assert required <= listed


def test_the_setup_cell_installs_what_a_strange_machine_lacks(monkeypatch):
    there = {"Matplotlib": "3.10.0", "jax": "0.7.2", "psutil": "5.9.5", "absl_py": "1"}
    found = [
        SimpleNamespace(name=name, version=version) for name, version in there.items()
    ]
    calls = []
    monkeypatch.setattr("importlib.metadata.distributions", lambda: found)
    monkeypatch.setattr(
        "subprocess.check_call", lambda command: calls.append(command[3:])
    )
    exec(build.setup_cell(), {})
    wanted, alone = calls
    names = {requirement.split("==")[0] for requirement in wanted}
    assert {
        "jax",
        "filelock",
        "safetensors",
    } <= names  # that jax is too old for siamese
    pins = build.PINS.read_text().splitlines()
    assert {
        requirement for requirement in (*wanted, *alone) if "==" in requirement
    } <= {*pins}
    assert not names & {"matplotlib", "psutil", "absl-py"}
    assert "--no-deps" in alone and "trax==1.4.1" in alone and "--no-deps" not in wanted


def test_the_published_address_stands_in_one_place(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "ROOT", tmp_path)

    def cells(source, setting):
        (tmp_path / "setup.cfg").write_text(f"[metadata]\nname = x\n{setting}")
        return [c.source for c in build.read_source(source).cells[:2]]

    title, setup = cells(SOURCES[0], "")
    assert "\nSIAMESE = None" in setup and cells(SOURCES[0], "url =\n") == [
        title,
        setup,
    ]
    assert cells(SOURCES[0], "url = https://elsewhere.org/thing\n")[0] == title
    for source in SOURCES:
        text, setup = cells(source, "url = https://github.com/someone/thing.git/\n")
        assert '\nSIAMESE = "git+https://github.com/someone/thing.git"' in setup
        path = f"notebooks/student/{source.stem}.ipynb"
        colab = (
            f"https://colab.research.google.com/github/someone/thing/blob/main/{path}"
        )
        binder = f"https://mybinder.org/v2/gh/someone/thing/main?labpath={path}"
        links = f"[Open in Colab]({colab}) · [Open in Binder]({binder})"
        assert text.endswith(f"\n\n{links}") and (NOTEBOOKS.parent / path).exists()


def test_a_changed_source_is_told(tmp_path):
    copied = tmp_path / SOURCES[3].name
    copied.write_text(SOURCES[3].read_text("utf-8").replace("import", "import  "))
    reports = build.stale(copied)
    assert [line.split()[0].split("/")[1] for line in reports] == [
        "solution",
        "student",
    ]


def test_outputs_stay_where_no_code_has_changed():
    notebook = build.editions(build.read_source(SOURCES[3]))["solution"]
    path = NOTEBOOKS / "solution" / f"{SOURCES[3].stem}.ipynb"
    notebook.cells[0].source += " More words."
    expected = outputs(read("solution", SOURCES[3]))
    assert outputs(build.with_outputs(notebook, path)) == expected != ""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    code[-1].source += "  # another line"
    assert build.with_outputs(notebook, path) is None


@pytest.mark.parametrize(
    ("name", "text"), [("stdout", "<object at 0x7f>"), ("stderr", "x")]
)
def test_an_output_of_this_machine_only_is_refused(name, text):
    cell = nbformat.v4.new_code_cell("print(object())")
    output = nbformat.v4.new_output("stream", name=name, text=text)
    with pytest.raises(ValueError) as error:
        build._refuse_leaks(cell, output)
    assert {"stdout": " at 0x", "stderr": "stderr"}[name] in str(error.value)


# Runs notebooks with short training of small models, in forks of a process that has
# Trax imported.
RUN = r"""
import json, os, re, sys
SMALLER = (
    (r"SEEDS = \(34, 35, 36\)", "SEEDS = (34,)"),
    (r"SEEDS = \(1, 2, 3\)", "SEEDS = 1, 2"),
    (r'("d_model": |Siamese\(vocab\.size, )64', r"\g<1>16"),
    (r'("batch_size": |\bsize=)128', r"\g<1>32"),
)
import matplotlib.pyplot, siamese, trax
from corpus_parts import small_corpus
siamese.embedded_corpus = lambda corpus=small_corpus(3000, 400, 400): corpus
from IPython.core.interactiveshell import InteractiveShell
for path in sys.argv[1:]:
    stem = os.path.basename(path).removesuffix(".ipynb")
    if os.fork():
        os.wait()
        continue
    with open(stem + ".txt", "w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.mkdir(stem)
    os.chdir(stem)
    shell = InteractiveShell.instance()
    steps = 120 if stem.startswith("08_") else 10  # 08 calibrates a model that has learned
    for number, cell in enumerate(json.load(open(path, encoding="utf-8"))["cells"]):
        if cell["cell_type"] == "code":
            code = "".join(cell["source"])
            for pattern, smaller in (*SMALLER, (r"\b(STEPS = |steps=)\d+", rf"\g<1>{steps}")):
                code = re.sub(pattern, smaller, code)
            result = shell.run_cell(code)
            if not result.success:
                print("ERROR in cell", number, repr(result.error_in_exec or result.error_before_exec))
            if cell["metadata"].get("nbgrader", {}).get("grade"):
                print("MARK", result.result)
    print("END", os.listdir(), flush=True)
    os._exit(0)
"""


@pytest.fixture(scope="module")
def printed_by_students(tmp_path_factory):
    """Stem of a notebook -> what its student edition prints, as it is handed out."""
    folder = tmp_path_factory.mktemp("students")
    paths = [str(NOTEBOOKS / "student" / f"{path.stem}.ipynb") for path in SOURCES]
    return run(paths, folder)


@pytest.fixture(scope="module")
def printed_with_solutions(tmp_path_factory):
    """Stem -> what a student's notebook prints with the solutions that `checks.solution` prints."""
    folder = tmp_path_factory.mktemp("solutions")
    for source in SOURCES:
        notebook = read("student", source)
        for name, check in EXERCISES[int(source.stem[:2])].items():
            cell(notebook, name).source = check.source
        nbformat.write(notebook, folder / f"{source.stem}.ipynb")
    (folder / "out").mkdir()
    return run(map(str, sorted(folder.glob("*.ipynb"))), folder / "out")


def run(paths, folder):
    """Stem -> what the notebook prints that runs in `folder`."""
    path = os.pathsep.join(
        map(str, (NOTEBOOKS.parent, NOTEBOOKS.parent / "tests" / "helpers"))
    )
    env = {**os.environ, **COMPILED, "PYTHONPATH": path, "MPLBACKEND": "agg"}
    subprocess.run([sys.executable, "-c", RUN, *paths], env=env, cwd=folder, check=True)
    return {path.stem: path.read_text("utf-8") for path in folder.glob("*.txt")}


@pytest.mark.slow
@names
def test_a_students_notebook_runs_to_its_end_alone_and_has_no_points(
    source, printed_by_students
):
    printed = printed_by_students[source.stem]
    assert "ERROR in cell" not in printed and "Traceback" not in printed, printed
    checks = EXERCISES[int(source.stem[:2])]
    assert re.findall(r"^MARK (.+)$", printed, re.M) == ["0.0"] * len(checks)
    # Cells that need an answer wait, the cells below them have run, and no file is
    # left.
    assert "First write " in printed and "Write your guess in place of None." in printed
    assert printed.endswith("END []\n")


@pytest.mark.slow
@names
def test_the_solutions_that_the_checks_print_run_in_their_notebook_and_pass(
    source, printed_with_solutions
):
    printed = printed_with_solutions[source.stem]
    assert "ERROR in cell" not in printed and "Traceback" not in printed, printed
    checks = EXERCISES[int(source.stem[:2])]
    assert re.findall(r"^MARK (.+)$", printed, re.M) == ["10.0"] * len(checks)


# The course's accuracy on Quora's file, and that of always saying no.
PUBLISHED = {"0.691", "0.623"}


def outputs(notebook):
    results = [o for c in notebook.cells for o in c.get("outputs", ())]
    return "\n".join(
        o.get("text") or o.get("data", {}).get("text/plain", "") for o in results
    )


@names
def test_the_figures_in_the_text_are_those_of_the_cells(source):
    notebook = read("solution", source)
    number = r"-?\d+\.\d+(?![\d.])"
    cells = {
        *map(float, re.findall(number, f"{code_of(notebook)}\n{outputs(notebook)}"))
    }
    text = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    # The benchmark's table stands in the lesson as it is in its file.
    text = "\n".join(line for line in text.split("\n") if line not in TABLE)
    for figure in {*re.findall(number, text.replace("−", "-"))} - PUBLISHED:
        digits = len(figure.split(".")[1])
        assert float(figure) in {round(value, digits) for value in cells} | cells, (
            figure
        )


def minutes_of():
    """Stem of a notebook -> its minutes on the page for teachers."""
    page = NOTEBOOKS.parent / "docs" / "course" / "teaching" / "index.md"
    rows = re.findall(r"notebooks/(\w+)\.ipynb\) \| (\d+) \|", page.read_text("utf-8"))
    return {stem: int(minutes) for stem, minutes in rows}


@names
def test_a_lesson_has_its_parts(source):
    solution = read("solution", source)
    text = source.read_text("utf-8")
    guesses = re.findall(r"^(Your|your) guess: ", outputs(solution), re.M)
    assert sorted(guesses) == ["Your", "Your", "your", "your"]
    for name in re.findall(r'^guess\("(\w+)"', text, re.M):
        assert re.search(rf'compare\(\s*"{name}"', text), name
    assert text.count("guess=true") == 2 and text.count(" answer=") == 1
    assert re.findall(r"\*\*Task (\d)", text) == ["1", "2", "3"]
    sections = re.findall(r"^# ## (?!Key points|Appendix)(.+)$", text, re.M)
    minutes = [re.search(r"\((\d+) minutes\)$", section) for section in sections]
    assert all(minutes), sections
    assert sum(int(match[1]) for match in minutes) == minutes_of()[source.stem]
    assert all(f"**{part}" in text for part in ("Before it:", "After it"))
    assert text.count("<details>") == text.count("</details>") >= 3
    results = [o for c in solution.cells for o in c.get("outputs", ())]
    pictures = [o for o in results if "image/png" in o.get("data", {})]
    assert pictures and all(o.metadata.get("image/png") for o in pictures)
    # TensorFlow's and Keras' cells have run.
    assert "is not installed" not in outputs(solution)


def test_the_benchmarks_table_stands_in_the_lesson_and_on_the_page():
    lesson = (NOTEBOOKS / "src" / "07_when_it_goes_wrong.py").read_text("utf-8")
    page = (NOTEBOOKS.parent / "docs" / "topics" / "quality.md").read_text("utf-8")
    assert (
        len(TABLE) == 2 + 16 + 1
        and "{include} ../../benchmarks/results/which_loss.md" in page
    )
    assert {f"# {line}" for line in TABLE[:-1]} <= set(lesson.split("\n"))
