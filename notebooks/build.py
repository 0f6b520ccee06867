"""Makes the notebooks: notebooks/src/*.py -> solution/*.ipynb, executed, and student/*.ipynb, with blanks.

    python notebooks/build.py            # executes those whose code has changed; or name some: 01 04
    python notebooks/build.py --all      # executes all
    python notebooks/build.py --text     # the same, but a change in the package alone executes nothing
    python notebooks/build.py --check    # are they up to date? executes nothing
    python notebooks/build.py --execute  # run each solution in a clean kernel, write nothing

As many notebooks run at a time as there are cores.

"Code" is the notebook's code cells (but for the first one, which only installs), the modules of `siamese`
that they imported, the embedded corpus and the pinned versions. The solution holds their digests.

The sources are in Jupytext's percent format. Their cell markers say what a cell is for:

    # %% setup=true                     the first cell, from notebooks/setup_cell.py
    # %% exercise="TripletLossFn"       a cell that learners complete
    # %% check="TripletLossFn" points=10   a cell that grades it

In an exercise, the lines between ``### BEGIN SOLUTION`` and ``### END SOLUTION`` are the solution; below
``### BLANK`` stand, commented out, the lines with `None` that learners get instead of them.
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
from pathlib import Path

import jupytext
import nbformat
from joblib import cpu_count
from nbclient import NotebookClient
from PIL import Image

from siamese.storage.atomic import write_bytes_atomically

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SETUP = HERE / "setup_cell.py"
PINS = ROOT / "requirements.txt"
# What every notebook runs with, beside the modules that it imports.
ALWAYS = ("requirements.txt", "siamese/data/corpus/corpus.jsonl.gz")
# Runs after a notebook's last cell, in its kernel: the files of `siamese` that it has imported.
ASK_FOR_MODULES = """
import json, sys
print(json.dumps(sorted(
    module.__file__ for name, module in list(sys.modules.items())
    if name.partition(".")[0] == "siamese" and getattr(module, "__file__", None)
)))
"""
TIME_LIMIT = 1200  # seconds for one cell
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
SOLUTION = re.compile(
    r"^(?P<indent>[ ]*)### BEGIN SOLUTION\n(?P<lines>.*?)"
    r"(^[ ]*### BLANK\n(?P<blank>.*?))?^[ ]*### END SOLUTION(\n|\Z)",
    re.DOTALL | re.MULTILINE,
)


def sources(names: list[str]) -> list[Path]:
    """The sources whose names begin with one of `names`; all where none is given."""
    found = sorted((HERE / "src").glob("*.py"))
    chosen = [path for path in found if not names or path.name.startswith(tuple(names))]
    if not chosen:
        sys.exit(
            f"No notebook begins with {' or '.join(names)}; there are: {', '.join(p.stem for p in found)}"
        )
    return chosen


def read_source(path: Path) -> nbformat.NotebookNode:
    """A source as a notebook without outputs, with nbgrader's metadata and ids that stay the same."""
    text = path.read_text(encoding="utf-8")
    parsed = jupytext.reads(text, fmt="py:percent")
    notebook = nbformat.v4.new_notebook()
    notebook.metadata["kernelspec"] = KERNEL
    notebook.metadata["language_info"] = {"name": "python"}
    setup = setup_cell()
    digest = hashlib.sha256(b"\0".join([path.read_bytes(), setup.encode()])).hexdigest()
    notebook.metadata["siamese"] = {"source": f"notebooks/src/{path.name}", "sha256": digest}
    exercises: list[str] = []
    used: set[str] = set()
    for cell in parsed.cells:
        roles = {k: v for k, v in cell.metadata.items() if not k.startswith("lines_to_")}
        if roles.pop("setup", False):
            cell.source = setup
        new = getattr(nbformat.v4, f"new_{cell.cell_type}_cell")(cell.source)
        exercise, check = roles.pop("exercise", None), roles.pop("check", None)
        points = roles.pop("points", None)
        if roles:
            raise ValueError(f"{path.name}: unknown words in a cell marker: {sorted(roles)}")
        if exercise:
            exercises.append(exercise)
            new.metadata["nbgrader"] = _nbgrader(exercise, solution=True)
        if check:
            new.metadata["nbgrader"] = _nbgrader(f"check_{check}", points=points)
        by_text = hashlib.sha256(new.source.encode()).hexdigest()[:10]
        name = exercise or (f"check-{check}" if check else by_text)
        while name in used:
            name += "-2"
        used.add(name)
        new.id = name
        notebook.cells.append(new)
    if badges(path):
        notebook.cells[0].source += f"\n\n{badges(path)}"
    checks = [c.id.removeprefix("check-") for c in notebook.cells if c.id.startswith("check-")]
    if set(exercises) != set(checks):
        raise ValueError(f"{path.name}: every exercise needs one check, and the other way round.")
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
    return settings.get("metadata", "url", fallback=None) or None


def setup_cell() -> str:
    """The first cell: setup_cell.py with the versions of requirements.txt and the published address."""
    pins = dict(
        re.findall(r"^([A-Za-z0-9_.-]+)==([^\s;]+)", PINS.read_text(encoding="utf-8"), re.M)
    )

    def pinned(found: re.Match) -> str:
        names = found["names"].split()
        return f'{found["name"]} = """\n' + "".join(f"{n}=={pins[n]}\n" for n in names) + '"""'

    text = SETUP.read_text(encoding="utf-8").rstrip("\n")
    text = re.sub(r'^(?P<name>\w+) = """(?P<names>[^"]*)"""', pinned, text, flags=re.M)
    address = published()
    return text.replace("SIAMESE = None", f'SIAMESE = "git+{address}"') if address else text


def badges(source: Path) -> str:
    """Markdown that opens a student notebook in Colab and in Binder; empty until there is an address."""
    address = published()
    if not address:
        return ""
    repository = address.removesuffix(".git").partition("github.com/")[2]
    path = f"notebooks/student/{source.stem}.ipynb"
    colab = f"https://colab.research.google.com/github/{repository}/blob/main/{path}"
    binder = f"https://mybinder.org/v2/gh/{repository}/main?labpath={path}"
    return f"[Open in Colab]({colab}) · [Open in Binder]({binder})"


def solution_version(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """With the solutions, and without the blanks."""
    return _rewritten(notebook, lambda found, cell: _between(found))


def student_version(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """With each solution replaced by its blank, which says so when it is called."""
    order = [
        cell.id for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("solution")
    ]

    def blank(found: re.Match, cell) -> str:
        indent = found["indent"]
        number, name = order.index(cell.id) + 1, cell.id
        unwritten = f'raise NotImplementedError("Exercise {number}, {name}, is not written yet")'
        lines = [f"{unwritten}  # delete this line", "### START CODE HERE"]
        for line in (found["blank"] or "").splitlines():
            lines.append(re.sub(r"^# ?", "", line.removeprefix(indent)))
        lines.append("### END CODE HERE")
        return "".join(f"{indent}{line}".rstrip() + "\n" for line in lines)

    return _rewritten(notebook, blank)


def _between(found: re.Match) -> str:
    indent = found["indent"]
    return f"{indent}### BEGIN SOLUTION\n{found['lines']}{indent}### END SOLUTION\n"


def _rewritten(notebook: nbformat.NotebookNode, replacement) -> nbformat.NotebookNode:
    new = nbformat.from_dict(notebook)
    for cell in new.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            text, number = SOLUTION.subn(
                lambda found, cell=cell: replacement(found, cell), cell.source + "\n"
            )
            if not number:
                raise ValueError(
                    f"Exercise {cell.id} has no ### BEGIN SOLUTION ... ### END SOLUTION."
                )
            cell.source = text.rstrip("\n")
    return new


def execute(notebook: nbformat.NotebookNode, folder: Path) -> nbformat.NotebookNode:
    """Runs a notebook in a kernel of its own, in `folder`; a cell that fails is an error.

    The metadata's ``siamese.ran`` gets the digest of each file of the repository that it ran with.
    """
    new = nbformat.from_dict(notebook)
    new.cells.append(nbformat.v4.new_code_cell(ASK_FOR_MODULES))
    client = NotebookClient(
        new,
        timeout=TIME_LIMIT,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        coalesce_streams=True,
        extra_arguments=["--log-level=ERROR"],  # not: "running over TCP without encryption"
    )
    # As many kernels run as there are cores, so XLA gets one thread in each (and sums in one order on any
    # machine). On a busy machine it says on stderr that compiling is slow.
    client.execute(env={**os.environ, "NPROC": "1", "TF_CPP_MIN_LOG_LEVEL": "3"})
    imported = json.loads(new.cells.pop().outputs[0].text)
    new.metadata = nbformat.from_dict(notebook.metadata)
    files = sorted({*ALWAYS, *(Path(file).relative_to(ROOT).as_posix() for file in imported)})
    new.metadata.setdefault("siamese", {})["ran"] = {file: _digest(file) for file in files}
    for cell in new.cells:
        cell.metadata.pop("execution", None)
        _refuse_lost_points(cell)
        for output in cell.get("outputs", ()):
            if "text" in output:  # how long Trax's loop took is another time with every build
                output["text"] = re.sub(r"in \d+\.\d+ secs", "in ... secs", output["text"])
            _refuse_leaks(cell, output)
            _shrink_pictures(output)
    return new


def _refuse_lost_points(cell) -> None:
    """A solution has all points: a check's last expression is its mark."""
    marks = cell.metadata.get("nbgrader", {})
    found = [o["data"]["text/plain"] for o in cell.get("outputs", ()) if "execution_count" in o]
    if marks.get("grade") and found and float(found[-1]) != marks["points"]:
        raise ValueError(f"Cell {cell.id} has {found[-1]} of {marks['points']} points.")


def _refuse_leaks(cell, output) -> None:
    """A path or an address of this machine in an output would change with every build."""
    places = (HERE.parent, Path.home(), tempfile.gettempdir())
    local = "|".join([*(f"{re.escape(str(place))}/" for place in places), " at 0x"])
    texts = [
        output.get("text", ""),
        *(v for k, v in output.get("data", {}).items() if k.startswith("text/")),
    ]
    for text in texts:
        found = re.search(local, text)
        if found:
            raise ValueError(
                f"Cell {cell.id} prints {found[0]!r}: of this machine only. Its output:\n{text}"
            )
    if output.get("name") == "stderr":
        raise ValueError(f"Cell {cell.id} writes to stderr:\n{output.text}")


def _shrink_pictures(output) -> None:
    """Pictures in 256 colours: they look the same and take a third of the bytes."""
    data = output.get("data", {})
    if "image/png" in data:
        picture = Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).convert("RGB")
        file = io.BytesIO()
        few = picture.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        few.save(file, "png", optimize=True)
        data["image/png"] = base64.b64encode(file.getvalue()).decode("ascii") + "\n"


def _digest(file: str) -> str:
    path = ROOT / file
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12] if path.exists() else "gone"


def changed_since_run(ran: dict[str, str]) -> list[str]:
    """The files that differ from those a notebook ran with."""
    return [file for file, digest in ran.items() if _digest(file) != digest]


def with_outputs(notebook: nbformat.NotebookNode, path: Path) -> nbformat.NotebookNode | None:
    """The notebook with the outputs of the one at `path`; None where a line of code differs.

    The setup cell may differ: it installs, and prints nothing.
    """
    there = nbformat.read(path, as_version=4) if path.exists() else nbformat.v4.new_notebook()
    new, setup = nbformat.from_dict(notebook), setup_cell()
    old_code, code = ([c for c in n.cells if c.cell_type == "code"] for n in (there, new))
    if len(old_code) != len(code) or any(
        old.source != cell.source != setup for old, cell in zip(old_code, code)
    ):
        return None
    for cell, old in zip(code, old_code):
        cell.outputs, cell.execution_count = old.outputs, old.execution_count
    new.metadata.setdefault("siamese", {})["ran"] = there.metadata.siamese.get("ran", {})
    return new


def _kept(
    made: nbformat.NotebookNode, source: Path
) -> tuple[nbformat.NotebookNode | None, list[str]]:
    """A source's solution with the outputs that are there, and what has changed since they were made.

    None where the notebook's own code has changed.
    """
    path = HERE / "solution" / f"{source.stem}.ipynb"
    kept = with_outputs(solution_version(made), path)
    if kept is None:
        return None, []
    ran = kept.metadata.siamese.ran
    return kept, changed_since_run(ran) if ran else ["files of which there is no record"]


def write(notebook: nbformat.NotebookNode, path: Path) -> None:
    """Writes a notebook atomically."""
    nbformat.validate(notebook)
    path.parent.mkdir(exist_ok=True)
    write_bytes_atomically(path, f"{nbformat.writes(notebook)}\n".encode())


def stale(source: Path) -> list[str]:
    """What is out of date about a source's notebooks, in words; nothing is executed."""
    made = read_source(source)
    found = []
    for folder, expected in (
        ("solution", solution_version(made)),
        ("student", student_version(made)),
    ):
        path = HERE / folder / f"{source.stem}.ipynb"
        name = f"notebooks/{folder}/{path.name}"
        if not path.exists():
            found.append(f"{name} is missing")
            continue
        there = nbformat.read(path, as_version=4)
        outputs = [cell.pop("outputs", []) for cell in there.cells]
        counts = [cell.pop("execution_count", None) for cell in there.cells]
        for cell in expected.cells:
            cell.pop("outputs", None)
            cell.pop("execution_count", None)
        there.metadata.get("siamese", {}).pop("ran", None)
        if there.metadata != expected.metadata or there.cells != expected.cells:
            found.append(f"{name} is not what {made.metadata.siamese.source} gives")
        executed = [cell.cell_type == "code" for cell in there.cells]
        if folder == "solution" and [count is not None for count in counts] != executed:
            found.append(f"{name} was not executed")
        if folder == "student" and (any(outputs) or any(counts)):
            found.append(f"{name} holds outputs")
    return found


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="beginnings of names, such as 01 04; all if none")
    parser.add_argument(
        "--check", action="store_true", help="only say what is out of date; exit 1 if any"
    )
    parser.add_argument(
        "--execute", action="store_true", help="run the solutions and write nothing"
    )
    parser.add_argument("--all", action="store_true", help="execute all")
    parser.add_argument(
        "--text", action="store_true", help="a change in the package alone executes nothing"
    )
    options = parser.parse_args(arguments)
    chosen = sources(options.names)
    if options.check:
        found = [line for source in chosen for line in stale(source)]
        wanted = {source.stem for source in sources([])}
        for path in sorted(HERE.glob("s*/*.ipynb")):
            if path.stem not in wanted:
                found.append(f"notebooks/{path.parent.name}/{path.name} has no source")
        print("\n".join(found) or f"{len(chosen)} notebooks are up to date.")
        for source in chosen:
            _, changed = _kept(read_source(source), source)
            if changed:
                print(f"{source.stem} ran before changes in {', '.join(changed)}.")
        if found:
            print("Run `make notebooks` and commit what it writes.")
        return bool(found)

    def build(source: Path) -> str:
        start = time.monotonic()
        made = read_source(source)
        kept, changed = _kept(made, source)
        if options.all or options.execute or (changed and not options.text):
            kept = None
        executed = kept or execute(solution_version(made), HERE)
        if not options.execute:
            write(executed, HERE / "solution" / f"{source.stem}.ipynb")
            write(student_version(made), HERE / "student" / f"{source.stem}.ipynb")
        return f"{source.stem}: " + ("text only" if kept else f"{time.monotonic() - start:.0f} s")

    start = time.monotonic()
    # The longest notebooks come last in the course, and first here.
    with ThreadPoolExecutor(cpu_count()) as threads:
        for line in threads.map(build, chosen[::-1]):
            print(line, flush=True)
    print(f"Together {time.monotonic() - start:.0f} s.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
