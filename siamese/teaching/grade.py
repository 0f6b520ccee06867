"""`siamese grade`: runs students' notebooks, checks their functions, writes marks and feedback.

The run of a notebook stops at the first cell that takes too long or ends Python. What the notebook
defines is then checked in a new kernel, which runs its imports and definitions alone.

What this does not do: the functions run as the user who grades, and may read, write and connect as
that user may. A notebook made to cheat, which looks through the frames of a check or changes the
installed package, can forge a score; so can one that calls the library's own function from within its
own. Grade strangers' notebooks in a container, and look at the code behind a surprising score.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import csv
import hashlib
import html
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError

from siamese.errors import ArgumentError, DataError
from siamese.search.display import csv_line, excel_cell
from siamese.storage.atomic import explained, lock_run, write_text_atomically
from siamese.teaching.checks import EXERCISES, MARK, OUT_OF

COLUMNS = ("student", "file", "notebook", *OUT_OF, "total", "out_of", "remarks", "sha256")
NOT_HANDED_IN = {".ipynb_checkpoints", "__MACOSX"}
DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom


class Limits(NamedTuple):
    """What a notebook may use."""

    cell: float = 120.0  # seconds for a cell, and for the check of an exercise
    notebook: float = 600.0  # seconds for all cells; those after it have one second each
    gigabytes: float = 4.0  # of memory, and of a file; 0 for no limit. Windows has no such limits


class Grade(NamedTuple):
    """What became of a notebook."""

    number: int | None  # of the notebook
    marks: Mapping[str, tuple[float, str, str]]  # exercise -> mark, first mistake, the check's text
    remarks: Sequence[str]  # what went wrong in its cells


# ---- A class ----


def grade_class(
    folder: str | Path,
    out: str | Path,
    *,
    number: int | None = None,
    limits: Limits = Limits(),  # noqa: B008  (it is immutable)
    jobs: int = 1,
    note=lambda text: None,
) -> list[dict[str, Any]]:
    """Grades all notebooks of a folder; row and feedback of each are on disk as soon as it has ended.

    A second call goes on where the first was stopped: it grades the notebooks without a row, and those
    that have changed since.

    Args:
      folder: with notebooks in it, however deep; or one notebook. A student is called as the folder
        below this one, or as the notebook where there is none.
      out: folder for ``grades.csv`` and ``feedback/``, made where there is none.
      number: which of the course's notebooks they are; where None, each by the functions it defines.
      limits: of one notebook.
      jobs: how many are graded at a time.
      note: called with a line of text after each notebook.

    Returns:
      The rows of the table: name in `COLUMNS` -> value, a text in the rows of earlier calls.

    Raises:
      ArgumentError: no notebooks, or another table at the place of the marks.
      DataError: a file cannot be read or written.
      CheckpointError: another process grades into the same folder.
    """
    folder, table = Path(folder), Path(out, "grades.csv")
    top = folder if folder.is_dir() else folder.parent
    files = {file.relative_to(top): file for file in top.rglob("*.ipynb") if folder.is_dir()}
    if folder.is_dir() and not files:
        raise ArgumentError(f"There are no notebooks (.ipynb) in {folder}.")
    files = files or {Path(folder.name): folder}
    waiting = []
    with lock_run(out):
        rows = _read_rows(table)
        for name, file in sorted(files.items()):
            with explained(file, "read", DataError):
                data = file.read_bytes()
            known = rows.get(name.as_posix(), {}).get("sha256")
            if known != hashlib.sha256(data).hexdigest() and not NOT_HANDED_IN & set(name.parts):
                waiting.append((name, data))

        def keep(name: Path, data: bytes, grade: Grade) -> None:
            row = rows[name.as_posix()] = _row(name, data, grade)
            page = Path(out, "feedback", name).with_suffix(".html")
            with explained(page, error=DataError):
                page.parent.mkdir(parents=True, exist_ok=True)
            write_text_atomically(page, _page(row["student"], grade))
            lines = [COLUMNS, *([row[key] for key in COLUMNS] for _, row in sorted(rows.items()))]
            text = "".join(f"{csv_line(line, excel=True)}\n" for line in lines)
            write_text_atomically(table, text)
            note(f"{name}: {row['total']:g} of {row['out_of']:g}. {row['remarks'][:200]}")

        async def grade_all() -> None:
            gate = asyncio.Semaphore(jobs)

            async def one(name: Path, data: bytes) -> tuple[Path, bytes, Grade]:
                async with gate:
                    return name, data, await _grade(data, number, limits)

            for ended in asyncio.as_completed([one(*hand_in) for hand_in in waiting]):
                keep(*await ended)

        asyncio.run(grade_all())
    return [row for _, row in sorted(rows.items())]


def _read_rows(table: Path) -> dict[str, dict[str, Any]]:
    """The rows of earlier calls: file -> row."""
    if not table.exists():
        return {}
    with explained(table, "read", DataError), open(table, encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        if tuple(rows.fieldnames or ()) != COLUMNS:
            raise ArgumentError(
                f"{table} is no table of these marks. Pass another folder as --out."
            )
        plain = ({name: _plain(cell) for name, cell in row.items()} for row in rows)
        return {row["file"]: row for row in plain}


def _plain(cell: str) -> str:
    """A cell of the table without the apostrophe that `excel_cell` put before it."""
    return cell[1:] if cell[:1] == "'" and excel_cell(cell[1:]) == cell else cell


def _row(name: Path, data: bytes, grade: Grade) -> dict[str, Any]:
    mistakes = [f"{exercise}: {mark[1]}" for exercise, mark in grade.marks.items() if mark[1]]
    return {
        **dict.fromkeys(COLUMNS, ""),
        "student": name.parts[0].removesuffix(".ipynb"),
        "file": name.as_posix(),
        "notebook": grade.number or "",
        **{exercise: mark[0] for exercise, mark in grade.marks.items()},
        "total": round(sum(mark[0] for mark in grade.marks.values()), 2),
        "out_of": MARK * len(grade.marks),
        "remarks": " ".join("; ".join([*mistakes, *grade.remarks]).split())[:2000],
        "sha256": hashlib.sha256(data).hexdigest(),
    }


def _page(student: str, grade: Grade) -> str:
    """A student's feedback as HTML."""
    title = html.escape(f"Feedback for {student}")
    parts = [f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>']
    parts.append(f"<h1>{title}</h1>")
    for exercise, (mark, _, text) in grade.marks.items():
        parts.append(f"<h2>{exercise}: {mark:g} of {MARK:g}</h2><pre>{html.escape(text)}</pre>")
    parts += [f"<p>{html.escape(remark)}</p>" for remark in grade.remarks]
    return "\n".join(parts).encode("utf-8", "replace").decode()


# ---- A notebook ----


async def _grade(data: bytes, number: int | None, limits: Limits) -> Grade:
    """Runs a notebook and checks its exercises, what is left of them in kernels of definitions alone."""
    marks, remarks, whole = {}, {}, True
    try:
        cells = _code_cells(data)
        number = number or _which_notebook(cells)
        while todo := [exercise for exercise in EXERCISES[number] if exercise not in marks]:
            async with _started(limits) as kernel:
                if whole:
                    remarks = await _run_cells(kernel, cells, limits)
                for code in [] if whole else [code for cell in cells for code in definitions(cell)]:
                    await kernel.run(code, limits.cell)
                lost = kernel.lost
                for exercise in todo:
                    mark, error = await kernel.check(number, exercise, limits.cell)
                    if mark is None and whole:
                        remarks |= {} if lost else {error: None}
                    else:
                        marks[exercise] = mark or (0.0, error, error)
                    if kernel.lost != lost:
                        break
            whole = False
    except Exception as error:  # Whatever it is, the others are graded.
        reason = " ".join(f"not graded: {type(error).__name__}: {error}".split())
        return Grade(None, {}, [reason[:300]])
    return Grade(number, marks, list(remarks))


def _code_cells(data: bytes) -> list[str]:
    """A notebook's code, but for the cells that nbgrader locks: they check."""
    with warnings.catch_warnings(action="ignore"):
        notebook = nbformat.reads(data.decode("utf-8"), as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [cell.source for cell in code if not cell.metadata.get("nbgrader", {}).get("locked")]


def _which_notebook(cells: Sequence[str]) -> int:
    defined = set(re.findall(r"^(?:async )?def (\w+)\(", "\n".join(cells), re.MULTILINE))
    shares = {n: len(defined & set(names)) / len(names) for n, names in EXERCISES.items()}
    if not any(shares.values()):
        raise DataError("it defines none of the exercises; --notebook says which notebook it is")
    return max(shares, key=shares.__getitem__)


async def _run_cells(kernel: Kernel, cells: Sequence[str], limits: Limits) -> dict[str, None]:
    """Runs cells until the kernel is lost; what went wrong in which."""
    wrong, end = {}, time.monotonic() + limits.notebook
    for place, code in enumerate(cells, 1):
        if error := await kernel.run(code, min(limits.cell, end - time.monotonic())):
            wrong[f"code cell {place}: {error}"] = None
        if kernel.lost:
            wrong["Of the cells after that only imports and definitions were run."] = None
            break
    return wrong


def definitions(code: str) -> list[str]:
    """The imports, functions, classes, and names for a constant or a lambda at the top level of a cell."""
    for text in (code, re.sub(r"^([ \t]*)[%!].*", r"\1pass", code, flags=re.MULTILINE)):
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            return [ast.unparse(node) for node in ast.parse(text).body if _defines(node)]
    return []


def _defines(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.Lambda):
        return all(isinstance(target, ast.Name) for target in node.targets)
    return isinstance(node, DEFINITIONS)


@contextlib.asynccontextmanager
async def _started(limits: Limits) -> AsyncIterator[Kernel]:
    """A kernel of this Python with limits, in an empty folder and in a process group of its own."""
    with tempfile.TemporaryDirectory(prefix="grade-", ignore_cleanup_errors=True) as folder:
        manager = AsyncKernelManager(
            kernel_spec_manager=KernelSpecManager(kernel_dirs=[]),  # whatever kernels are installed
            connection_file=f"{folder}/kernel.json",
        )
        kernel = Kernel(nbformat.v4.new_notebook(), manager, allow_errors=True, iopub_timeout=1)
        paths = os.pathsep.join(filter(None, sys.path))
        await manager.start_kernel(
            cwd=tempfile.mkdtemp(dir=folder),
            # No start-up files of the teacher's.
            env={**os.environ, "IPYTHONDIR": folder, "PYTHONPATH": paths},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        group = manager.provisioner.pgid
        try:
            kernel.startup_timeout = 600
            await kernel.async_start_new_kernel_client()
            if limits.gigabytes:
                size = (int(limits.gigabytes * 2**30),) * 2
                for kind in ("RLIMIT_DATA", "RLIMIT_FSIZE"):
                    limit = (
                        f"__import__('resource').setrlimit(__import__('resource').{kind}, {size})"
                    )
                    await kernel.run(limit, 60)
            yield kernel
        finally:
            with contextlib.suppress(AttributeError, OSError):  # Windows has no groups.
                os.killpg(group, signal.SIGKILL)
            await manager.shutdown_kernel(now=True)
            kernel.kc.stop_channels()


class Kernel(NotebookClient):
    """Runs code in a kernel; what it prints is dropped."""

    lost = ""  # why the kernel runs no more code
    _reply: Mapping[str, Any] = {}  # to the last code

    async def run(self, code: str, seconds: float) -> str:
        """Runs code; the kernel is lost where it takes longer or ends Python.

        Returns:
          What went wrong, such as the exception; empty where nothing did.
        """
        self.timeout, self._reply = max(1, round(seconds)), {}
        self.nb.cells, self.on_cell_executed = [nbformat.v4.new_code_cell(code)], self._keep_reply
        try:
            if not self.lost:
                await self.async_execute_cell(self.nb.cells[0], 0)
        except DeadKernelError:
            if asyncio.current_task().cancelling():  # nbclient takes Ctrl-C for a dead kernel.
                raise asyncio.CancelledError from None
            self.lost = "it ended Python"
        except CellTimeoutError:
            self.lost = f"it took more than {self.timeout} s"
        if self.lost or self._reply.get("status") != "error":
            return self.lost
        return " ".join(f"{self._reply.get('ename')}: {self._reply.get('evalue')}".split())[:300]

    async def check(self, number: int, exercise: str, seconds: float) -> tuple[tuple | None, str]:
        """The exercise's mark, first mistake and text; None where the check has not said, and why."""
        with tempfile.TemporaryDirectory() as folder:
            result, referee = Path(folder, "result"), Path(__file__).with_name("referee.py")
            call = f"['check']({number}, {exercise!r}, {str(result)!r})"
            code = f"import runpy as _siamese\n_siamese.run_path({str(referee)!r}){call}"
            error = await self.run(code, seconds) or "the check wrote no result"
            with contextlib.suppress(OSError, ValueError, TypeError):
                points, why, text = json.loads(result.read_text(encoding="utf-8"))
                if points in range(OUT_OF[exercise] + 1):
                    return (round(MARK * points / OUT_OF[exercise], 2), str(why), str(text)), ""
        return None, error

    def output(self, outs, msg, display_id, cell_index) -> None:
        """Drops what a cell prints: a cell that prints for ever fills nothing."""

    def _keep_reply(self, cell, cell_index, execute_reply) -> None:
        self._reply = execute_reply["content"]
