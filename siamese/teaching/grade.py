"""`siamese grade`: runs students' notebooks, checks their functions, writes marks and feedback.

The functions run as the user who grades, and may read, write and connect as that user
may. A notebook made to cheat, which changes the checks or calls the library's own
function from within its own, can forge a score. Grade strangers' notebooks in a
container, and look at the code behind a surprising score.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import csv
import difflib
import hashlib
import html
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import nbformat
from IPython.core.inputtransformer2 import TransformerManager
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from siamese.errors import ArgumentError, DataError
from siamese.system.files import explained, lock_run, write_text_atomically
from siamese.system.open_types import JsonObject, Record
from siamese.teaching.checks import EXERCISES, MARK, OUT_OF, UNWRITTEN
from siamese.text.display import csv_line, excel_cell

COLUMNS = (
    "student",
    "file",
    "notebook",
    *OUT_OF,
    "total",
    "out_of",
    "open_task",
    "remarks",
    "folder",
    "sha256",
)
EMPTY_ANSWER = "*Write your answer here.*"  # the open task's cell, as it is handed out
ARCHIVES = {".zip", ".rar", ".7z", ".tar", ".gz", ".tgz"}
NOT_HANDED_IN = {".ipynb_checkpoints", "__MACOSX"}
DEFINITIONS = (
    ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
)
PAGE = '<!doctype html><html lang="en"><meta charset="utf-8">'  # how a page of feedback begins
Mark = tuple[float, str, str]  # points of 10, the first mistake, the check's text
# Made by notebooks/build.py: number of a notebook -> its title, and its open task.
OPEN_TASKS = json.loads(
    (resources.files("siamese") / "teaching" / "open_tasks.json").read_text("utf-8")
)


def grade_class(
    folder: str | Path,
    out: str | Path,
    *,
    seconds: float = 120.0,
    gigabytes: float = 4.0,
    jobs: int = 1,
    note: Callable[[str], None] = lambda text: None,
) -> list[Record]:
    """Grades all notebooks of a folder; row and feedback of each are on disk as soon as it has ended.

    A student is called as the folder below this one, or as the notebook where there is
    none. A second call grades the notebooks without a row, and those that have changed
    since.

    Args:
      folder: with notebooks in it, however deep; or one notebook.
      out: folder for ``grades.csv`` and ``feedback/``, made where there is none.
      seconds: for a cell, and for the check of an exercise.
      gigabytes: of memory, and of a file; 0 for no limit. Windows has no such limits.
      jobs: so many notebooks are graded at a time.
      note: called with one line after each notebook.

    Returns:
      The rows of the table, sorted: name in `COLUMNS` -> cell, a text in the rows of earlier calls.

    Raises:
      ArgumentError: no notebooks; or `out` has another table, or the marks of another folder.
      DataError: a file of `out` cannot be read or written.
      CheckpointError: another process grades into the same folder.
    """
    folder = Path(folder).resolve()
    top = folder.parent if folder.is_file() else folder
    paths = _notebooks(folder, top, note)
    gate = asyncio.Semaphore(jobs)

    async def grade(path: Path, gradebook: Gradebook) -> None:
        data = _read(path, note)
        if data is None:
            return
        name = path.relative_to(top)
        sha256 = hashlib.sha256(data).hexdigest()
        if gradebook.has(name, sha256):
            return
        async with gate:
            graded = await _grade(data, name, seconds, gigabytes)
        row, page = _report(name, graded)
        gradebook.add(name, row | {"sha256": sha256}, page)
        note(f"{name}: {row['total']:g} of {row['out_of']:g}. {row['remarks'][:200]}")

    async def grade_all(gradebook: Gradebook) -> None:
        await asyncio.gather(*(grade(path, gradebook) for path in paths))

    with lock_run(out):
        gradebook = Gradebook(Path(out), top)
        for path in paths:
            gradebook.check_page(path.relative_to(top))
        asyncio.run(grade_all(gradebook))
    return gradebook.sorted_rows()


def _read(path: Path, note: Callable[[str], None]) -> bytes | None:
    """A notebook's bytes; None, and a note, where it cannot be read: a second call tries it again."""
    try:
        with explained(path, "read", DataError):
            return path.read_bytes()
    except DataError as error:
        note(str(error))
        return None


def _notebooks(folder: Path, top: Path, note: Callable[[str], None]) -> list[Path]:
    """The notebooks to grade; a note for each archive.

    ArgumentError: there are none.
    """
    files = [folder] if folder.is_file() else sorted(folder.rglob("*.*"))
    paths = []
    for path in files:
        name = path.relative_to(top)
        if path.suffix.lower() in ARCHIVES:
            note(f"{name} is an archive: unpack it, and grade again.")
        if path.suffix.lower() == ".ipynb" and not NOT_HANDED_IN & set(name.parts):
            paths.append(path)
    if not paths:
        raise ArgumentError(
            f"{folder} is no notebook, and no folder with an .ipynb file in it."
        )
    return paths


class Gradebook:
    """``grades.csv`` and the pages of feedback in the output folder."""

    def __init__(self, folder: Path, top: Path):
        self.folder = folder
        self.top = top  # the notebooks' folder
        self.table = folder / "grades.csv"
        self.rows = _read_rows(self.table, top)

    def page_of(self, name: Path) -> Path:
        """The file of a notebook's feedback."""
        return (self.folder / "feedback" / name).with_suffix(".html")

    def check_page(self, name: Path) -> None:
        """ArgumentError for a file in the place of a page that no earlier call has written."""
        page = self.page_of(name)
        if not page.exists():
            return
        with explained(page, "read", DataError), open(page, "rb") as file:
            is_ours = file.read(len(PAGE)) == PAGE.encode()
        if not is_ours:
            what = f"{page} is not a page of feedback, and is not replaced"
            raise ArgumentError(
                f"{what}. Pass another folder as out=.", arguments=("out",)
            )

    def has(self, name: Path, sha256: str) -> bool:
        """Whether there is a row of a notebook with this content."""
        row = self.rows.get(str(excel_cell(name.as_posix())), {})
        return row.get("sha256") == sha256

    def add(self, name: Path, row: Record, page: str) -> None:
        """Writes a notebook's page of feedback, and the table with its row."""
        path = self.page_of(name)
        with explained(path, error=DataError):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_text_atomically(path, page, overwrite=True)
        cells = {key: excel_cell(value) for key, value in row.items()}
        cells["folder"] = excel_cell(str(self.top))
        self.rows[str(cells["file"])] = cells
        lines = [
            COLUMNS,
            *([row[key] for key in COLUMNS] for row in self.sorted_rows()),
        ]
        text = "".join(f"{csv_line(line)}\n" for line in lines)
        write_text_atomically(self.table, text, overwrite=True)

    def sorted_rows(self) -> list[Record]:
        """The rows in the order of their files."""
        return [row for _, row in sorted(self.rows.items())]


def _read_rows(table: Path, top: Path) -> dict[str, Record]:
    """The rows of earlier calls for the notebooks below `top`: file -> row."""
    if not table.exists():
        return {}
    with (
        explained(table, "read", DataError),
        open(table, encoding="utf-8-sig", newline="") as file,
    ):
        columns, *lines = [tuple(line) for line in csv.reader(file) if line] or [()]
    if columns != COLUMNS or any(len(line) != len(COLUMNS) for line in lines):
        raise ArgumentError(
            f"{table} has other columns. Pass another folder as out=.",
            arguments=("out",),
        )
    rows = [dict(zip(COLUMNS, line)) for line in lines]
    if any(row["folder"] != str(top) for row in rows):
        raise ArgumentError(
            f"{table} is not of {top}. Pass another folder as out=.", arguments=("out",)
        )
    return {row["file"]: row for row in rows}


@dataclass
class Graded:
    """What grading a notebook has found."""

    number: int | None  # of the notebook; None where nothing says which one it is
    marks: dict[str, Mark]  # exercise -> its mark
    remarks: list[str]  # on the notebook's cells, a sentence each
    answer: str = ""  # to the open task, as the student wrote it
    stopped: str = ""  # a sentence on the cells that stopped because others had failed

    def sentences(self) -> list[str]:
        """All remarks for the table: the cause first, then the exercises' mistakes, then what follows."""
        mistakes = {name: mistake for name, (_, mistake, _) in self.marks.items()}
        if mistakes and all(text.startswith(UNWRITTEN) for text in mistakes.values()):
            return [*self.remarks, "No exercise is written."]
        named = [f"{name}: {text}" for name, text in mistakes.items() if text]
        ended = [_ended(text) for text in named]
        return [*self.remarks, *ended, *filter(None, [self.stopped])]


def _report(path: Path, graded: Graded) -> tuple[Record, str]:
    """A notebook's row of the table, and its page of feedback in HTML."""
    student = re.sub(r"(?i)\.ipynb$", "", path.parts[0])
    marks = graded.marks
    row = dict.fromkeys(COLUMNS, "") | {
        name: mark for name, (mark, *_) in marks.items()
    }
    row |= {
        "student": student,
        "file": path.as_posix(),
        "notebook": graded.number or "",
        "total": round(sum((mark for mark, _, _ in marks.values()), 0.0), 2),
        "out_of": MARK * len(marks),
        "remarks": " ".join(" ".join(graded.sentences()).split())[:2000],
    }
    return row, _page(student, graded, row)


def _page(student: str, graded: Graded, row: Record) -> str:
    """The page of feedback: the total, the remarks, each exercise, and the open task."""
    title = f"Feedback for {student}"
    task = OPEN_TASKS.get(str(graded.number))
    lines = [
        f"{PAGE}<title>{html.escape(title)}</title>",
        f"<h1>{html.escape(title)}</h1>",
    ]
    if task:
        lines.append(f"<p>Notebook {html.escape(task['title'])}</p>")
    by_hand = (
        f"; the {task['points']} of the open task are given by hand" if task else ""
    )
    lines.append(
        f"<p><b>{row['total']:g} of {row['out_of']:g} points</b> for the exercises{by_hand}</p>"
    )
    remarks = [*graded.remarks, *filter(None, [graded.stopped])]
    lines += [f"<p>{html.escape(remark)}</p>" for remark in remarks]
    for exercise, (mark, _, text) in graded.marks.items():
        lines.append(
            f"<h2>{exercise}: {mark:g} of {MARK:g}</h2>"
            f'<pre style="white-space: pre-wrap">{html.escape(text)}</pre>'
        )
    if task:
        lines += _open_task(task, graded.answer)
    return "\n".join(lines).encode("utf-8", "replace").decode()


def _open_task(task: Record, answer: str) -> list[str]:
    """The open task, which a teacher marks: its text, the student's answer, the rubric, room for points."""
    cells = {
        "Task": task["task"],
        "Answer": answer or "(not answered)",
        "Model answer": task["answer"],
        "Rubric": task["rubric"],
        f"Points of {task['points']}": "",
    }
    style = (
        'style="white-space: pre-wrap; text-align: left; vertical-align: top;'
        ' border: 1px solid #999; padding: 6px"'
    )
    rows = [
        f"<tr><th {style}>{html.escape(name)}</th><td {style}>{html.escape(text)}</td></tr>"
        for name, text in cells.items()
    ]
    return [
        "<h2>The open task, marked by hand</h2>",
        '<table style="border-collapse: collapse">',
        *rows,
        "</table>",
    ]


def _ended(text: str) -> str:
    """The text with a full stop, where it has no end of a sentence."""
    return text if text.endswith((".", "?", "!")) else f"{text}."


async def _grade(data: bytes, name: Path, seconds: float, gigabytes: float) -> Graded:
    """Runs a notebook to its end, or to the first cell that takes too long or ends Python, and checks it.

    An exercise whose check does not come to its end there is checked in a kernel of its
    own, which has run the notebook's imports and definitions alone. The notebook's
    number is known by the functions it defines, else by the file's name.
    """
    number = _number_in_name(name)
    try:
        notebook = _notebook(data)
        cells = _code_cells(notebook)
        number = _which_notebook(cells)
        async with _started(gigabytes) as kernel:
            problems = await kernel.run_all(cells, seconds)
            remarks, stopped = _causes(cells, problems, EXERCISES[number])
            if kernel.lost:
                remarks.append("Of the cells below it, only definitions were run.")
            tried = {
                exercise: await kernel.check(number, exercise, seconds)
                for exercise in EXERCISES[number]
            }
        marks: dict[str, Mark] = {}
        for exercise, mark in tried.items():
            if mark is not None:
                marks[exercise] = mark
                continue
            async with _started(gigabytes) as kernel:
                await kernel.run_all(definitions(cells), seconds)
                mark = await kernel.check(number, exercise, seconds)
                problem = kernel.problem or "the check wrote no result"
                marks[exercise] = mark or (0.0, problem, problem)
    except Exception as error:  # Whatever it is, the others are graded.
        reason = " ".join(f"Not graded: {type(error).__name__}: {error}".split())
        if isinstance(error, DataError):
            reason = f"Not graded: {error}"
        nothing = dict.fromkeys(EXERCISES.get(number or 0, ()), (0.0, "", "not graded"))
        return Graded(number, nothing, [_ended(reason[:300])])
    marks = _with_causes(marks, cells, problems)
    return Graded(number, marks, remarks, _answer(notebook), stopped)


def _number_in_name(name: Path) -> int | None:
    """The number that a file's or folder's name begins with, as 05_assignment.ipynb does."""
    for part in reversed(name.parts):
        match = re.match(r"0?([1-8])(?!\d)", part)
        if match:
            return int(match[1])
    return None


def _defined(cells: Iterable[str]) -> set[str]:
    """The names that cells define at their top level, read from the text: it need not be proper code."""
    text = "\n".join(cells)
    names = re.findall(r"(?m)^(?:async )?(?:def|class) +(\w+)|^(\w+) *=[^=]", text)
    return {name for pair in names for name in pair if name}


def _causes(
    cells: list[str], problems: dict[int, str], exercises: Iterable[str]
) -> tuple[list[str], str]:
    """A sentence on each problem, but for the NameErrors that follow from another, and one on these.

    `problems` is place of a cell, from 1 -> what went wrong. A NameError follows where a
    failed cell would have defined the name, or where an exercise is nowhere defined.
    """
    remarks = []
    lost = set(exercises) - _defined(cells)
    followers = 0
    for place, problem in problems.items():
        missing = re.match(r"NameError: name '(\w+)' is not defined", problem)
        if missing and missing[1] in lost:
            followers += 1
        else:
            remarks.append(_ended(f"{_called(cells, place)} {_stops(problem)}"))
        lost |= _defined([cells[place - 1]])
    if not followers:
        return remarks, ""
    cells_stop = "1 cell stops" if followers == 1 else f"{followers} cells stop"
    return remarks, f"{cells_stop} because of what is missing."


def _called(cells: list[str], place: int) -> str:
    """A cell by its number and its first line of code, for a teacher who does not open the notebook."""
    lines = [line.strip() for line in cells[place - 1].splitlines()]
    code = [line for line in lines if line and not line.startswith("#")]
    first = code[0] if code else ""
    if len(first) > 60:
        first = f"{first[:60]} ..."
    return f"Code cell {place} ({first})"


def _stops(problem: str) -> str:
    """A problem as the rest of a sentence about its cell."""
    if problem.startswith("it "):
        return problem.removeprefix("it ")
    return f"stops with {problem}"


def _with_causes(
    marks: dict[str, Mark], cells: list[str], problems: dict[int, str]
) -> dict[str, Mark]:
    """The marks; where a function is missing because its cell failed, with that as its mistake."""
    caused = dict(marks)
    for place in problems:
        for name in _defined([cells[place - 1]]) & marks.keys():
            mark, mistake, _ = marks[name]
            if mistake.startswith("there is no function"):
                text = f"its cell, code cell {place}, does not run"
                caused[name] = (mark, text, text)
    for name, (mark, mistake, _) in marks.items():
        alike = difflib.get_close_matches(name, _defined(cells) - marks.keys(), 1, 0.8)
        if caused[name][1] == mistake and mistake.startswith("there is no") and alike:
            text = f"{mistake}; there is one called {alike[0]}"
            caused[name] = (mark, text, text)
    return caused


def _notebook(data: bytes) -> NotebookNode:
    """The notebook in nbformat 4; DataError where it is none."""
    if not data.strip():
        raise DataError("the file is empty. Hand it in again.")
    try:
        return nbformat.convert(nbformat.reader.reads(data.decode()), 4)
    except Exception:  # nbformat promises no kinds of errors.
        raise DataError(
            "it is no notebook. Open it in Jupyter, and save it again."
        ) from None


def _answer(notebook: NotebookNode) -> str:
    """The student's text of the open task; empty where it is the blank."""
    for cell in notebook.cells:
        name = str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))
        if name.startswith("answer_"):
            text = str(cell.source).strip()
            return "" if text == EMPTY_ANSWER else text
    return ""


def _code_cells(notebook: NotebookNode) -> list[str]:
    """A notebook's code, but for the cells that nbgrader locks: they check."""
    return [
        cell.source
        for cell in notebook.cells
        if cell.cell_type == "code"
        and not cell.metadata.get("nbgrader", {}).get("locked")
    ]


def _which_notebook(cells: Iterable[str]) -> int:
    defined = set(re.findall(r"(?m)^(?:.*\bdef )?(\w+) *[=(]", "\n".join(cells)))
    shares = {
        n: len(defined & set(names)) / len(names) for n, names in EXERCISES.items()
    }
    if not any(shares.values()):
        raise DataError("it defines none of the exercises.")
    return max(shares, key=shares.__getitem__)


def definitions(cells: Iterable[str]) -> list[str]:
    """The imports, functions, classes and names of constants and lambdas at the top level of cells."""
    codes = []
    for code in cells:
        with contextlib.suppress(
            SyntaxError, ValueError, IndexError, RecursionError, MemoryError
        ):
            python = TransformerManager().transform_cell(code)  # of %magic, too
            tree = ast.parse(python)
            codes += [ast.unparse(node) for node in tree.body if _defines(node)]
    return codes


def _defines(node: ast.stmt) -> bool:
    if isinstance(node, DEFINITIONS):
        return True
    if not isinstance(node, ast.Assign):
        return False
    is_simple = isinstance(node.value, ast.Constant | ast.Lambda)
    return is_simple and all(isinstance(target, ast.Name) for target in node.targets)


@contextlib.asynccontextmanager
async def _started(gigabytes: float) -> AsyncIterator[Kernel]:
    """A kernel of this Python with limits, in an empty folder and in a process group of its own."""
    with tempfile.TemporaryDirectory(
        prefix="grade-", ignore_cleanup_errors=True
    ) as folder:
        # This Python's kernel, whatever others there are.
        manager = AsyncKernelManager(
            kernel_spec_manager=KernelSpecManager(kernel_dirs=[])
        )
        paths = os.pathsep.join(filter(None, sys.path))
        await manager.start_kernel(
            cwd=tempfile.mkdtemp(dir=folder),
            # No start-up files of the teacher's, and no packages for a cell's `!pip install`.
            env={
                **os.environ,
                "IPYTHONDIR": folder,
                "PYTHONPATH": paths,
                "PIP_NO_INDEX": "1",
            },
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        kernel = Kernel(new_notebook(), manager, allow_errors=True, startup_timeout=600)
        try:
            await kernel.async_start_new_kernel_client()
            await kernel.run("__import__('siamese')", 60)  # so that `import trax` works
            if gigabytes:
                await kernel.limit(int(gigabytes * 2**30))
            yield kernel
        finally:
            await manager.shutdown_kernel(now=True)  # and what it has started
            if kernel.kc is not None:
                kernel.kc.stop_channels()


class Kernel(NotebookClient):
    """Runs code in a kernel; what it prints is dropped."""

    # Whether it took too long, or ended Python: the kernel runs no more code.
    lost = False
    problem = ""  # that the last code had

    async def run(self, code: str, seconds: float) -> str:
        """The problem of the code, or nothing."""
        if self.lost:
            return self.problem
        self.timeout = max(1, round(seconds))
        self.problem = ""
        self.nb.cells = [new_code_cell(code)]
        self.on_cell_error = self._keep_error
        try:
            await self.async_execute_cell(self.nb.cells[0], 0)
        except CellTimeoutError:
            self.lost = True
            self.problem = f"it took more than {self.timeout} s"
        except DeadKernelError:
            # nbclient takes Ctrl-C for a dead kernel.
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise asyncio.CancelledError from None
            self.lost = True
            self.problem = "it ended Python"
        return self.problem

    async def limit(self, size: int) -> None:
        """Limits memory and files to `size` bytes."""
        for kind in ("RLIMIT_DATA", "RLIMIT_FSIZE"):
            call = f"_r.setrlimit(_r.{kind}, ({size}, {size}))"
            await self.run(f"import resource as _r; {call}", 60)

    async def run_all(self, cells: Iterable[str], seconds: float) -> dict[int, str]:
        """Runs cells until the kernel is lost; returns what went wrong: place, from 1 -> problem."""
        problems = {}
        for place, code in enumerate(cells, 1):
            problem = await self.run(code, seconds)
            if problem:
                problems[place] = problem
            if self.lost:
                break
        return problems

    async def check(self, number: int, exercise: str, seconds: float) -> Mark | None:
        """The exercise's mark; None where the check did not come to its end."""
        with tempfile.TemporaryDirectory() as folder:
            result = Path(folder, "result")
            call = f"_c.write_result({number}, {exercise!r}, {str(result)!r})"
            await self.run(f"import siamese.teaching.checks as _c; {call}", seconds)
            with contextlib.suppress(OSError, ValueError, TypeError):
                points, mistake, text = json.loads(result.read_text(encoding="utf-8"))
                if points in range(OUT_OF[exercise] + 1):
                    mark = round(MARK * points / OUT_OF[exercise], 2)
                    return mark, str(mistake), str(text)
        return None

    def output(
        self,
        outs: list[NotebookNode],
        msg: JsonObject,
        display_id: str | None,
        cell_index: int,
    ) -> None:
        """Drops what a cell prints."""

    def _keep_error(
        self, cell: NotebookNode, cell_index: int, execute_reply: JsonObject
    ) -> None:
        reply = execute_reply["content"]
        text = " ".join(f"{reply['ename']}: {reply['evalue']}".split())
        # Of a SyntaxError the line alone: the file is one of the kernel's.
        text = re.sub(r"\([^()]*, line (\d+)\)$", r"(line \1)", text)
        self.problem = text[:300].rstrip(": ")
