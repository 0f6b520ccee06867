"""The notebooks: generated from their sources, up to date, and the student versions stop at a blank."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from siamese.checks import EXERCISES

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("jupytext")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
SOURCES = sorted((NOTEBOOKS / "src").glob("*.py"))
names = pytest.mark.parametrize("source", SOURCES, ids=[path.stem[:2] for path in SOURCES])


def script(name):
    spec = importlib.util.spec_from_file_location(f"notebooks_{name}", NOTEBOOKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def build():
    return script("build")


@pytest.fixture
def made(build, tmp_path, monkeypatch):
    """A source written by the test -> its notebook."""
    (tmp_path / "src").mkdir()
    monkeypatch.setattr(build, "HERE", tmp_path)

    def make(text: str):
        path = tmp_path / "src" / "01_small.py"
        path.write_text(text)
        return build.read_source(path)

    return make


SMALL = '''# %% [markdown]
# # Title

# %% setup=true

# %% exercise="double"
def double(x):
    """Twice x."""
    ### BEGIN SOLUTION
    twice = 2 * x
    ### BLANK
    # # Replace None.
    # twice = None
    ### END SOLUTION
    return twice


# %%
print(double(4))

# %% check="double" points=5
assert double(3) == 6
'''


def cell(notebook, name):
    return next(c for c in notebook.cells if c.id == name)


def test_a_student_gets_the_blank_and_no_solution(build, made):
    student = build.student_version(made(SMALL))
    assert cell(student, "double").source == (
        'def double(x):\n    """Twice x."""\n'
        '    raise NotImplementedError("Exercise 1, double, is not written yet")  # delete this line\n'
        "    ### START CODE HERE\n    # Replace None.\n    twice = None\n    ### END CODE HERE\n"
        "    return twice"
    )


def test_the_solution_keeps_nbgraders_marks_and_no_blank(build, made):
    source = cell(build.solution_version(made(SMALL)), "double").source
    assert source == (
        'def double(x):\n    """Twice x."""\n    ### BEGIN SOLUTION\n    twice = 2 * x\n'
        "    ### END SOLUTION\n    return twice"
    )


def test_nbgraders_metadata(made):
    notebook = made(SMALL)
    common = {"schema_version": 3, "task": False}
    assert cell(notebook, "double").metadata["nbgrader"] == {
        **common, "grade": False, "grade_id": "double", "locked": False, "solution": True
    }  # fmt: skip
    assert cell(notebook, "check-double").metadata["nbgrader"] == {
        **common, "grade": True, "grade_id": "check_double", "locked": True, "solution": False,
        "points": 5,
    }  # fmt: skip
    assert not any("nbgrader" in c.metadata for c in notebook.cells if c.cell_type == "markdown")


def test_the_setup_cell_installs_the_pinned_versions(build, made):
    cell = made(SMALL).cells[1].source
    pins = build.PINS.read_text().splitlines()
    wanted = re.findall(r"^(\S+==\S+)$", cell, re.M)
    assert {"jax", "protobuf", "filelock", "trax"} <= {pin.split("==")[0] for pin in wanted}
    assert set(wanted) <= set(pins)
    names = " ".join(re.findall(r'= """([^"]+)"""', build.SETUP.read_text())).split()
    assert sorted(names) == sorted(pin.split("==")[0] for pin in wanted)


def test_the_setup_cell_installs_what_a_strange_machine_lacks(build, monkeypatch):
    there = {
        "numpy": "2.0.2",
        "Matplotlib": "3.10.0",
        "jax": "0.7.2",
        "protobuf": "5.29.5",
        "absl_py": "1",
    }
    found = [SimpleNamespace(name=name, version=version) for name, version in there.items()]
    calls = []
    monkeypatch.setattr("importlib.metadata.distributions", lambda: found)
    monkeypatch.setattr("subprocess.check_call", lambda command: calls.append(command[3:]))
    exec(build.setup_cell(), {})
    wanted, alone = calls
    names = {requirement.split("==")[0] for requirement in wanted}
    assert {"jax", "filelock", "safetensors"} <= names  # that jax is too old for siamese
    assert not names & {"matplotlib", "protobuf", "absl-py"}
    assert "--no-deps" in alone and "trax==1.4.1" in alone and "--no-deps" not in wanted


def test_the_published_address_stands_in_one_place(build, made, tmp_path, monkeypatch):
    monkeypatch.setattr(build, "ROOT", tmp_path)
    (tmp_path / "setup.cfg").write_text("[metadata]\nname = x\n")
    private = made(SMALL)
    assert "\nSIAMESE = None" in private.cells[1].source
    assert private.cells[0].source == "# Title"
    (tmp_path / "setup.cfg").write_text("[metadata]\nurl = https://github.com/someone/thing\n")
    published = made(SMALL)
    assert '\nSIAMESE = "git+https://github.com/someone/thing"' in published.cells[1].source
    path = "someone/thing/blob/main/notebooks/student/01_small.ipynb"
    assert f"colab.research.google.com/github/{path}" in published.cells[0].source
    assert "mybinder.org/v2/gh/someone/thing/main?labpath=notebooks" in published.cells[0].source
    assert published.cells[0].id == private.cells[0].id


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("points=5", 'color="red"', "unknown words"),
        ('check="double" points=5', "", "every exercise needs|needs one check"),
        ("### END SOLUTION", "### END", "has no ### BEGIN SOLUTION"),
    ],
)
def test_mistakes_in_a_source_are_errors(build, made, old, new, words):
    assert old in SMALL
    with pytest.raises(ValueError, match=words):
        build.student_version(made(SMALL.replace(old, new)))


def test_stale_notebooks_are_told(build, made, tmp_path):
    notebook = made(SMALL)
    source = tmp_path / "src" / "01_small.py"
    assert "is missing" in build.stale(source)[0]
    solution = build.solution_version(notebook)
    build.write(solution, tmp_path / "solution" / "01_small.ipynb")
    build.write(build.student_version(notebook), tmp_path / "student" / "01_small.ipynb")
    assert build.stale(source) == ["notebooks/solution/01_small.ipynb was not executed"]
    for number, code in enumerate(c for c in solution.cells if c.cell_type == "code"):
        code.execution_count = number + 1
    build.write(solution, tmp_path / "solution" / "01_small.ipynb")
    assert build.stale(source) == []
    source.write_text(SMALL.replace("double(4)", "double(5)"))
    assert [line.split(" is ")[0] for line in build.stale(source)] == [
        "notebooks/solution/01_small.ipynb",
        "notebooks/student/01_small.ipynb",
    ]


def test_outputs_stay_where_only_text_has_changed(build, made, tmp_path):
    text = "# %% [markdown]\n# old\n\n# %%\nprint(3)\n"
    path = tmp_path / "solution" / "01_small.ipynb"
    assert build.with_outputs(made(text), path) is None
    build.write(build.execute(made(text), tmp_path), path)
    kept = build.with_outputs(made(text.replace("old", "new")), path)
    assert kept.cells[0].source == "new" and kept.cells[1].outputs[0].text == "3\n"
    assert build.with_outputs(made(text.replace("3", "4")), path) is None


@pytest.mark.slow
def test_only_what_code_has_changed_is_executed_again(build, made, tmp_path, monkeypatch, capsys):
    module = tmp_path / "siamese" / "small.py"
    module.parent.mkdir()
    (module.parent / "__init__.py").touch()
    module.write_text("number = 3\n")
    monkeypatch.setattr(build, "ROOT", tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(build, "setup_cell", lambda: "pass")
    text = "# %% [markdown]\n# old\n\n# %%\nfrom siamese.small import number\nprint(number)\n"

    def run(text, *options):
        made(text)
        build.main([*options])
        kept = nbformat.read(tmp_path / "solution" / "01_small.ipynb", as_version=4)
        return "text only" in capsys.readouterr().out, kept.cells[1].outputs[0].text

    assert run(text) == (False, "3\n")
    assert run(text.replace("old", "new")) == (True, "3\n")
    module.write_text("number = 4\n")
    assert run(text, "--text") == (True, "3\n")
    build.main(["--check"])
    assert "01_small ran before changes in siamese/small.py." in capsys.readouterr().out
    assert run(text) == (False, "4\n")
    assert run(text, "--all") == (False, "4\n")


@pytest.mark.parametrize("printed", ["print(object())", "import sys; print('x', file=sys.stderr)"])
def test_an_output_of_this_machine_only_is_refused(build, made, tmp_path, printed):
    notebook = made(f"# %%\n{printed}\n")
    with pytest.raises(ValueError, match=r" at 0x|writes to stderr"):
        build.execute(notebook, tmp_path)


@names
def test_up_to_date(build, source):
    assert build.stale(source) == []
    text = (NOTEBOOKS / "student" / f"{source.stem}.ipynb").read_text()
    assert "BEGIN SOLUTION" not in text and "BLANK" not in text


def functions(notebook):
    """The exercises' functions of a notebook: its imports and its exercises' cells are run, no more."""
    scope, names = {}, []
    for c in (c for c in notebook.cells if c.cell_type == "code"):
        if c.metadata.get("nbgrader", {}).get("solution"):
            names.append(c.id)
            exec(c.source, scope)
        elif c is not notebook.cells[1]:  # The second installs what is missing.
            lines = [x for x in c.source.splitlines() if re.match(r"(import|from) [^(]*$", x)]
            exec("\n".join(lines), scope)
    return {name: scope[name] for name in names}


@pytest.mark.slow
@names
def test_the_solutions_have_full_marks_and_the_students_none(build, source):
    notebook, number = build.read_source(source), int(source.stem[:2])
    solved = functions(build.solution_version(notebook))
    blank = functions(build.student_version(notebook))
    checks = EXERCISES[number]
    assert set(solved) == set(blank) == set(checks)
    for place, name in enumerate(solved, start=1):
        assert checks[name](solved[name]).full
        score = checks[name](blank[name])
        assert not score.written and score.points == 0
        assert score.failures[0].actual == f"Exercise {place}, {name}, is not written yet"
    cells = {c.id: c.source for c in notebook.cells}
    assert all(
        f"checks.{checks[name].__name__}({name})" in cells[f"check-{name}"] for name in checks
    )


def test_slides_hold_every_section_and_need_no_network():
    slides, path = script("slides"), NOTEBOOKS / "solution" / f"{SOURCES[0].stem}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    page = slides.slides(notebook, formula=lambda tex, display: f"<math>{len(tex)}</math>")
    headings = re.findall(
        r"^#+ ", "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown"), re.M
    )
    pictures = [
        o for c in notebook.cells for o in c.get("outputs", ()) if "image/png" in o.get("data", {})
    ]
    assert page.count("<section>") == len(headings) > 15
    assert page.count('<img src="data:image/png;base64,') == page.count("<img") == len(pictures) > 5
    assert "BEGIN SOLUTION" not in page and "$" not in re.sub(
        r"<pre.*?</pre>", "", page, flags=re.S
    )
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", page)


# Runs a notebook as far as it goes; prints the error that stopped it.
RUN = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell()
for cell in json.load(open(sys.argv[1], encoding="utf-8"))["cells"]:
    if cell["cell_type"] == "code":
        done = shell.run_cell("".join(cell["source"]))
        if not done.success:
            print("\\n" + repr(done.error_in_exec or done.error_before_exec))
            break
"""


# The first notebook comes to it without training; `make check-notebooks` runs these cells of all.
@pytest.mark.slow
def test_a_student_stops_at_the_first_blank_with_its_name(tmp_path):
    path = NOTEBOOKS / "student" / f"{SOURCES[0].stem}.ipynb"
    env = {**os.environ, "PYTHONPATH": str(NOTEBOOKS.parent)}
    command = [sys.executable, "-c", RUN, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == (
        "NotImplementedError('Exercise 1, cosine_similarity, is not written yet')"
    ), done.stderr
