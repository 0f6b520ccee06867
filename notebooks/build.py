"""Makes the notebooks: src/*.py -> solution/*.ipynb, executed, and student/*.ipynb, with blanks.

    python notebooks/build.py            # executes those whose code has changed; or name some: 01 04
    python notebooks/build.py --all      # executes all
    python notebooks/build.py --check    # are they up to date? executes nothing
    python notebooks/build.py --execute  # runs each solution in a clean kernel, writes nothing

As many notebooks run at a time as there are cores. The sources are in Jupytext's percent format. Cell
markers say what a cell is for; one cell may have several of the words:

    # %% setup=true                      the first cell: notebooks/setup_cell.py, folded
    # %% hidden=true                     a cell whose code is folded, such as a picture's
    # %% alt="A curve that falls"        what the cell's picture shows, for those who cannot see it
    # %% guess=true                      calls guess("name", value); students get None as the value
    # %% exercise="TripletLossFn"        a cell that learners complete
    # %% check="TripletLossFn" points=10   a cell that grades it
    # %% [markdown] answer="why" points=3  the model answer and the rubric of a task that a teacher
                                         grades; students get an empty cell

In an exercise, the lines between ``### BEGIN SOLUTION`` and ``### END SOLUTION`` are the solution; below
``### BLANK`` stand, commented out, the lines with `None` that learners get instead of them. An exercise
without a check counts no points.
"""

from __future__ import annotations

import argparse
import base64
import configparser
import hashlib
import io
import json
import os
import re
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import jupytext
import nbformat
from joblib import cpu_count
from nbclient import NotebookClient
from PIL import Image

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SETUP = HERE / "setup_cell.py"
OPEN_TASKS = ROOT / "siamese" / "teaching" / "open_tasks.json"  # what `siamese grade` shows
PINS = ROOT / "requirements.txt"
TIME_LIMIT = 1200  # seconds for one cell
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
# Folded in JupyterLab, in Colab and on the documentation's pages.
FOLDED = {"jupyter": {"source_hidden": True}, "cellView": "form", "tags": ["hide-input"]}
WORDS = {"setup", "hidden", "alt", "guess", "exercise", "check", "points", "answer"}
EMPTY_ANSWER = "*Write your answer here.*"
SOLUTION = re.compile(
    r"^(?P<indent>[ ]*)### BEGIN SOLUTION\n(?P<lines>.*?)"
    r"(^[ ]*### BLANK\n(?P<blank>.*?))?^[ ]*### END SOLUTION(\n|\Z)",
    re.DOTALL | re.MULTILINE,
)
GUESS = re.compile(r'^(guess\("\w+", ).*?(\)(?:  #.*)?)$', re.MULTILINE)


def sources(names: list[str]) -> list[Path]:
    """The sources whose names begin with one of `names`; all without names."""
    paths = sorted((HERE / "src").glob("*.py"))
    chosen = [path for path in paths if not names or path.name.startswith(tuple(names))]
    if not chosen:
        sys.exit(f"No notebook is called {names}. There are: {', '.join(p.stem for p in paths)}")
    return chosen


def read_source(path: Path) -> nbformat.NotebookNode:
    """A source as a notebook without outputs, with nbgrader's metadata and ids that stay the same."""
    parsed = jupytext.reads(path.read_text(encoding="utf-8"), fmt="py:percent")
    notebook = nbformat.v4.new_notebook()
    notebook.metadata["kernelspec"] = KERNEL
    notebook.metadata["language_info"] = {"name": "python"}
    exercises, checks, used = [], [], set()
    for cell in parsed.cells:
        words = {k: v for k, v in cell.metadata.items() if not k.startswith("lines_to_")}
        if unknown := words.keys() - WORDS:
            raise ValueError(f"{path.name}: unknown words in a cell marker: {sorted(unknown)}")
        text = setup_cell() if "setup" in words else cell.source
        new = getattr(nbformat.v4, f"new_{cell.cell_type}_cell")(text)
        name = hashlib.sha256(text.encode()).hexdigest()[:10]
        if "setup" in words or "hidden" in words:
            new.metadata.update(FOLDED)
        if "exercise" in words:
            name = words["exercise"]
            exercises.append(name)
            new.metadata["nbgrader"] = _nbgrader(name, solution=True)
        if "check" in words:
            checks.append(words["check"])
            name = f"check-{checks[-1]}"
            new.metadata["nbgrader"] = _nbgrader(f"check_{checks[-1]}", points=words["points"])
        if "answer" in words:
            name = f"answer-{words['answer']}"
            grade_id, points = f"answer_{words['answer']}", words["points"]
            new.metadata["nbgrader"] = _nbgrader(grade_id, solution=True, points=points)
        if "alt" in words:  # for nbconvert, and for MyST-NB
            new.metadata |= {"alt": words["alt"], "mystnb": {"image": {"alt": words["alt"]}}}
        if "guess" in words:
            new.metadata["guess"] = True
        while name in used:
            name += "-2"
        used.add(name)
        new.id = name
        notebook.cells.append(new)
    if badges(path):
        notebook.cells[0].source += f"\n\n{badges(path)}"
    if missing := set(checks) - set(exercises):
        raise ValueError(f"{path.name}: a check without its exercise: {sorted(missing)}")
    return notebook


def _nbgrader(grade_id: str, *, solution: bool = False, points: float | None = None) -> dict:
    graded = {"points": points} if points is not None else {}
    return {
        "grade": points is not None,
        "grade_id": grade_id,
        "locked": not solution,
        "schema_version": 3,
        "solution": solution,
        "task": False,
        **graded,
    }


def published() -> str | None:
    """The repository's address, `url` in setup.cfg; None until it is published."""
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg", encoding="utf-8")
    return settings.get("metadata", "url", fallback="").rstrip("/") or None


def setup_cell() -> str:
    """The first cell: setup_cell.py with the versions of requirements.txt and the published address."""
    pins = dict(
        re.findall(r"^([A-Za-z0-9_.-]+)==([^\s;]+)", PINS.read_text(encoding="utf-8"), re.M)
    )

    def pinned(match: re.Match) -> str:
        names = match["names"].split()
        return f'{match["name"]} = """\n' + "".join(f"{n}=={pins[n]}\n" for n in names) + '"""'

    text = SETUP.read_text(encoding="utf-8").rstrip("\n")
    text = re.sub(r'^(?P<name>\w+) = """(?P<names>[^"]*)"""', pinned, text, flags=re.M)
    address = published()
    return text.replace("SIAMESE = None", f'SIAMESE = "git+{address}"') if address else text


def badges(source: Path) -> str:
    """Markdown that opens a student notebook in Colab and in Binder; empty without an address on GitHub."""
    repository = (published() or "").removesuffix(".git").partition("github.com/")[2]
    path = f"notebooks/student/{source.stem}.ipynb"
    colab = f"https://colab.research.google.com/github/{repository}/blob/main/{path}"
    binder = f"https://mybinder.org/v2/gh/{repository}/main?labpath={path}"
    return repository and f"[Open in Colab]({colab}) · [Open in Binder]({binder})"


def editions(notebook: nbformat.NotebookNode) -> dict[str, nbformat.NotebookNode]:
    """``{'solution': without the blanks, 'student': without the solutions, guesses and answers}``."""
    new = {name: nbformat.from_dict(notebook) for name in ("solution", "student")}
    for solved, student in zip(new["solution"].cells, new["student"].cells):
        name, marks = student.id, student.metadata.get("nbgrader", {})
        if name.startswith("answer-"):
            student.source = EMPTY_ANSWER
        elif marks.get("solution"):
            if not SOLUTION.search(f"{solved.source}\n"):
                raise ValueError(f"Exercise {name} has no ### BEGIN SOLUTION ... ### END SOLUTION.")
            for cell, replacement in ((solved, _without_blank), (student, _without_solution)):
                cell.source = SOLUTION.sub(replacement, f"{cell.source}\n").rstrip("\n")
        for cell in (solved, student):
            if cell.metadata.pop("guess", False) and not GUESS.search(cell.source):
                raise ValueError(f'A guess cell has no line guess("name", value):\n{cell.source}')
            if cell is student and cell.cell_type == "code":
                cell.source = GUESS.sub(r"\1None\2", cell.source)
    return new


def _without_blank(match: re.Match) -> str:
    indent = match["indent"]
    return f"{indent}### BEGIN SOLUTION\n{match['lines']}{indent}### END SOLUTION\n"


def _without_solution(match: re.Match) -> str:
    indent = match["indent"]
    blank = [line.removeprefix(indent) for line in (match["blank"] or "").splitlines()]
    blank = [re.sub(r"^# ?", "", line) for line in blank]
    lines = ["### START CODE HERE", *blank, "### END CODE HERE"]
    return "".join(f"{indent}{line}".rstrip() + "\n" for line in lines)


def execute(notebook: nbformat.NotebookNode, folder: Path) -> nbformat.NotebookNode:
    """Runs a notebook in a kernel of its own, in `folder`; a cell that fails is an error."""
    new = nbformat.from_dict(notebook)
    client = NotebookClient(
        new,
        timeout=TIME_LIMIT,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        coalesce_streams=True,
        # Neither "running over TCP without encryption" nor what TensorFlow's C++ part writes.
        extra_arguments=["--log-level=ERROR", "--IPKernelApp.capture_fd_output=False"],
    )
    # As many kernels run as there are cores, so XLA gets one thread in each (and sums in one order on any
    # machine). On a busy machine it says on stderr that compiling is slow.
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    quiet = {"NPROC": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    client.execute(env={**os.environ, **quiet, "PYTHONPATH": path})
    new.metadata = nbformat.from_dict(notebook.metadata)
    for cell in new.cells:
        cell.metadata.pop("execution", None)
        _refuse_lost_points(cell)
        for output in cell.get("outputs", ()):
            if "text" in output:  # how long Trax's loop took is another time with every build
                output["text"] = re.sub(r"in \d+\.\d+ secs", "in ... secs", output["text"])
            _refuse_leaks(cell, output)
            if "image/png" in output.get("data", {}):
                _shrink(output["data"])
                if alt := cell.metadata.get("alt"):
                    output["metadata"] = {"image/png": {"alt": alt}}
    return new


def _refuse_lost_points(cell) -> None:
    """A solution has all points: a check's last expression is its mark."""
    marks = cell.metadata.get("nbgrader", {})
    results = [o["data"]["text/plain"] for o in cell.get("outputs", ()) if "execution_count" in o]
    if marks.get("grade") and results and float(results[-1]) != marks["points"]:
        raise ValueError(f"Cell {cell.id} has {results[-1]} of {marks['points']} points.")


def _refuse_leaks(cell, output) -> None:
    """A path or an address of this machine in an output would change with every build."""
    places = (HERE.parent, Path.home(), tempfile.gettempdir())
    local = "|".join([*(f"{re.escape(str(place))}/" for place in places), " at 0x"])
    data = output.get("data", {})
    text = output.get("text", "") + "".join(v for k, v in data.items() if k.startswith("text/"))
    if match := re.search(local, text):
        raise ValueError(
            f"Cell {cell.id} prints {match[0]!r}, which only this machine has:\n{text}"
        )
    if output.get("name") == "stderr":
        raise ValueError(f"Cell {cell.id} writes to stderr:\n{output.text}")


def _shrink(data: dict) -> None:
    """A picture in 256 colours: it looks the same and takes a third of the bytes."""
    picture = Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).convert("RGB")
    file = io.BytesIO()
    few = picture.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(file, "png", optimize=True)
    data["image/png"] = base64.b64encode(file.getvalue()).decode("ascii") + "\n"


def open_tasks() -> str:
    """The text of siamese/teaching/open_tasks.json: each notebook's title, open task and rubric."""
    tasks = {}
    for source in sources([]):
        notebook = read_source(source)
        for task, answer in pairwise(notebook.cells):
            if answer.id.startswith("answer-"):
                model_answer, rubric = _plain(answer.source).split("Rubric, ")
                tasks[str(int(source.stem[:2]))] = {
                    "title": notebook.cells[0].source.split("\n")[0].removeprefix("# "),
                    "task": _plain(task.source[task.source.index("**Task") :]),
                    "answer": model_answer.strip(),
                    "rubric": rubric,
                    "points": answer.metadata["nbgrader"]["points"],
                }
    return f"{json.dumps(tasks, indent=1, ensure_ascii=False)}\n"


def _plain(text: str) -> str:
    """Markdown without its marks of emphasis and its line breaks; paragraphs stay."""
    paragraphs = (" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
    return "\n\n".join(re.sub(r"\*+(\S.*?)\*+", r"\1", paragraph) for paragraph in paragraphs)


def with_outputs(notebook: nbformat.NotebookNode, path: Path) -> nbformat.NotebookNode | None:
    """The notebook with the outputs of the one at `path`; None where a line of code differs.

    The set-up cell, which is the first, may differ: it installs, and prints nothing.
    """
    there = nbformat.read(path, as_version=4) if path.exists() else nbformat.v4.new_notebook()
    new = nbformat.from_dict(notebook)
    old_code, code = ([c for c in n.cells if c.cell_type == "code"] for n in (there, new))
    if [c.source for c in old_code[1:]] != [c.source for c in code[1:]] or not old_code:
        return None
    for cell, old in zip(code, old_code):
        cell.outputs, cell.execution_count = old.outputs, old.execution_count
        for output in cell.outputs:
            if "image/png" in output.get("data", {}) and cell.metadata.get("alt"):
                output["metadata"] = {"image/png": {"alt": cell.metadata["alt"]}}
    return new


def write(notebook: nbformat.NotebookNode, path: Path) -> None:
    """Writes a notebook."""
    nbformat.validate(notebook)
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{nbformat.writes(notebook)}\n", encoding="utf-8")


def stale(source: Path) -> list[str]:
    """What is out of date about a source's notebooks, in words; nothing is executed."""
    reports = []
    for folder, expected in editions(read_source(source)).items():
        path = HERE / folder / f"{source.stem}.ipynb"
        name = f"notebooks/{folder}/{path.name}"
        if not path.exists():
            reports.append(f"{name} is missing")
            continue
        there = nbformat.read(path, as_version=4)
        counts = [cell.pop("execution_count", None) for cell in there.cells]
        outputs = [cell.pop("outputs", []) for cell in there.cells]
        for cell in expected.cells:
            cell.pop("outputs", None)
            cell.pop("execution_count", None)
        if there.metadata != expected.metadata or there.cells != expected.cells:
            reports.append(f"{name} is not what notebooks/src/{source.name} gives")
        executed = [cell.cell_type == "code" for cell in there.cells]
        if folder == "solution" and [count is not None for count in counts] != executed:
            reports.append(f"{name} was not executed")
        if folder == "student" and (any(outputs) or any(counts)):
            reports.append(f"{name} holds outputs")
    return reports


def check(chosen: list[Path]) -> int:
    """Prints what is out of date; returns 1 where something is."""
    reports = [line for source in chosen for line in stale(source)]
    if open_tasks() != OPEN_TASKS.read_text(encoding="utf-8"):
        reports.append(f"{OPEN_TASKS.relative_to(ROOT)} is not what the sources give")
    stems = {source.stem for source in sources([])}
    for path in sorted(HERE.glob("s*/*.ipynb")):
        if path.stem not in stems:
            reports.append(f"notebooks/{path.parent.name}/{path.name} has no source")
    print("\n".join(reports) or f"{len(chosen)} notebooks are up to date.")
    if reports:
        print("Run `make notebooks` and commit what it writes.")
    return int(bool(reports))


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="beginnings of names, such as 01 04; all if none")
    for flag, text in (
        ("--check", "only report what is out of date; exit 1 if anything is"),
        ("--execute", "run the solutions and write nothing"),
        ("--all", "execute all"),
    ):
        parser.add_argument(flag, action="store_true", help=text)
    options = parser.parse_args(arguments)
    chosen = sources(options.names)
    if options.check:
        return check(chosen)

    def build(source: Path) -> str:
        start, new = time.monotonic(), editions(read_source(source))
        path = HERE / "solution" / f"{source.stem}.ipynb"
        again = options.all or options.execute
        executed = None if again else with_outputs(new["solution"], path)
        seconds = "text only"
        if executed is None:
            executed = execute(new["solution"], HERE)
            seconds = f"{time.monotonic() - start:.0f} s"
        if not options.execute:
            write(executed, path)
            write(new["student"], HERE / "student" / path.name)
        return f"{source.stem}: {seconds}"

    start = time.monotonic()
    # The longest notebooks come last in the course, and first here.
    with ThreadPoolExecutor(cpu_count()) as threads:
        for line in threads.map(build, chosen[::-1]):
            print(line, flush=True)
    if not options.execute:
        OPEN_TASKS.write_text(open_tasks(), encoding="utf-8")
    print(f"Together {time.monotonic() - start:.0f} s.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
