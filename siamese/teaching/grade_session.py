"""One notebook in its kernel: its cells run as far as they go, its functions checked one by one."""

from __future__ import annotations

import ast
import base64
import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ipykernel  # noqa: F401  (without it no kernel starts)
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbclient.util import run_sync
from nbformat.v4 import new_code_cell, new_notebook

from siamese.errors import DataError
from siamese.teaching import copies
from siamese.teaching.checks import EXERCISES, MARK, OUT_OF, Failure, Score

START_SECONDS = 600
GRACE_SECONDS = 5  # for a cell to end after it was interrupted
MOST_RESTARTS = 8
ENDED = "it ended Python"
_CASES = {
    name: {case for case, _ in check.cases}
    for checks in EXERCISES.values()
    for name, check in checks.items()
}
_DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
# Those that others import first.
_CHECKS = (
    "hints", "learner", "compare", "score", "similarity", "thresholds", "numbers", "losses", "models",
    "generator", "assignment", "__init__",
)  # fmt: skip


def _source(name: str) -> str:
    return (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")


# Read before any notebook runs: one could change the files.
_SUPERVISOR, _ISOLATED = _source("supervisor"), _source("isolated")
_SOURCES = {name: _source(f"checks/{name}") for name in _CHECKS}


class Kernel(NotebookClient):
    """An IPython kernel of this Python; it survives its cells, and what they print is dropped.

    Args:
      folder: working directory of the kernel.

    Attributes:
      alive: False once the kernel is gone, or had to be killed.

    Raises:
      DataError: the kernel does not start.
    """

    def __init__(self, folder: Path):
        private = folder / ".grading"
        private.mkdir(parents=True, exist_ok=True)
        manager = AsyncKernelManager(
            kernel_name="python3",
            kernel_spec_manager=_Supervised(kernel_dirs=[]),  # whatever kernels are installed
            connection_file=str(private / "kernel.json"),
        )
        options = {"allow_errors": True, "startup_timeout": START_SECONDS, "iopub_timeout": 1}
        super().__init__(new_notebook(), manager, shutdown_kernel="immediate", **options)
        self.on_cell_executed = self._keep_reply
        self.alive = True
        self._reply: dict[str, Any] = {}
        self._running = contextlib.ExitStack()
        package = str(Path(__file__).resolve().parents[2])
        paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
        # No startup files of the teacher's.
        env = {"IPYTHONDIR": str(private), "PYTHONPATH": os.pathsep.join(paths)}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        setup = self.setup_kernel(
            cleanup_kc=True, cwd=str(folder), env={**os.environ, **env}, **quiet
        )
        try:
            self._running.enter_context(setup)
        except RuntimeError as error:
            raise DataError(
                f"The notebook kernel did not start within {START_SECONDS} s ({error}). "
                "Does `python -m ipykernel --version` work?"
            ) from error

    def run(self, code: str, seconds: float) -> str:
        """Runs code, interrupts it after that time, and kills the kernel where that does not help.

        Returns:
          What went wrong, such as the exception; empty where nothing did.
        """
        self.timeout, self._reply = max(1, round(seconds)), {}
        cell = new_code_cell(code)
        self.nb.cells = [cell]
        try:
            self.execute_cell(cell, 0)
        except DeadKernelError:
            self.alive = False
            return ENDED
        except CellTimeoutError:
            return self._interrupt()
        if self._reply.get("status") != "error":
            return ""
        text = f"{self._reply.get('ename', '')}: {self._reply.get('evalue', '')}"
        return " ".join(text.split())[:300]

    def _interrupt(self) -> str:
        seconds, self.timeout = self.timeout, GRACE_SECONDS
        for _ in range(2):
            run_sync(self.km.interrupt_kernel)()
            try:
                self.execute_cell(new_code_cell("pass"), 0)
                return f"stopped after {seconds} s"
            except CellTimeoutError:
                continue
            except DeadKernelError:
                self.alive = False
                return ENDED
        self.stop()
        return f"did not end within {seconds} s, nor when interrupted"

    def stop(self) -> None:
        """Ends the kernel and the processes that it has started."""
        self.alive = False
        provisioner = self.km and self.km.provisioner
        process, group = (getattr(provisioner, name, None) for name in ("process", "pgid"))
        if process and sys.platform == "linux":
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.terminate()  # The supervisor: it kills all that is below it.
                process.wait(10)
        if group and hasattr(os, "killpg") and group != os.getpgrp():
            with contextlib.suppress(OSError):
                os.killpg(group, signal.SIGKILL)
        with contextlib.suppress(Exception):
            self._running.close()

    def output(self, outs, msg, display_id, cell_index) -> None:
        """Drops what a cell prints: a cell that prints for ever fills nothing."""

    def _keep_reply(self, cell, cell_index, execute_reply) -> None:
        self._reply = execute_reply["content"]


class _Supervised(KernelSpecManager):
    """Starts kernels below the supervisor, where there is one."""

    def get_kernel_spec(self, kernel_name):
        spec = super().get_kernel_spec(kernel_name)
        if sys.platform == "linux":
            spec.argv = [sys.executable, "-c", _SUPERVISOR, *spec.argv]
        return spec


class Session:
    """A notebook's kernel with all its cells run, made again when it is lost.

    Args:
      folder: an empty folder, where the notebook runs.
      cells: the code of its cells.
      limits: a `siamese.teaching.grade.Limits`.
    """

    def __init__(self, folder: Path, cells: Sequence[str], limits):
        self.folder, self.cells, self.limits = folder, list(cells), limits
        self.kernel: Kernel | None = None
        self.failed: dict[int, str] = {}  # cell -> what happened
        self.crashing: set[int] = set()  # cells of which only the definitions run
        self.replaced: set[str] = set()
        self.starts = 0
        self._until = time.monotonic() + limits.cells

    def close(self) -> None:
        """Ends the kernel."""
        if self.kernel is not None:
            self.kernel.stop()
            self.kernel = None

    def prepare(self) -> None:
        """Without a kernel, starts one, and runs in it everything that the notebook's cells define."""
        while self.kernel is None and self.starts <= MOST_RESTARTS:
            self.starts += 1
            work = self.folder / f"run-{self.starts}"
            work.mkdir(parents=True, exist_ok=True)  # The notebook may have removed it.
            self.kernel = Kernel(work)
            self.kernel.run(_request(f"remember({self.limits.gigabytes!r})"), START_SECONDS)
            # exit() in a cell ends that cell, not the kernel.
            self.kernel.run("get_ipython().ask_exit = lambda: None", START_SECONDS)
            if not all(self._run_cell(i) for i in range(len(self.cells))):
                self.close()

    def _run_cell(self, i: int) -> bool:
        """Runs a cell as far as it goes; False where the kernel was lost."""
        left = self._until - time.monotonic()
        if not self.cells[i]:
            return True
        if left <= 0:
            self.failed.setdefault(i, "not run, only its definitions: the notebook's time was over")
        elif i not in self.crashing:
            wrong = self.kernel.run(self.cells[i], left / 2)
            if not wrong:
                return True
            self.failed.setdefault(i, wrong)
            if not self.kernel.alive:
                self.crashing.add(i)
                return False
        for code in definitions(self.cells[i]):
            self.kernel.run(code, 20)
            if not self.kernel.alive:
                self.cells[i] = ""
                return False
        return True

    def check(self, number: int, function: str, *, again: bool = True) -> dict[str, Any]:
        """The score of one function as a dict; never raises for what the function does."""
        self.prepare()
        if self.kernel is None:
            return _nothing(function, "the notebook ends Python again and again")
        result, nonce = self.folder / f"result-{secrets.token_hex(8)}.json", secrets.token_hex(16)
        call = f"grade(sources, namespace, {number}, {function!r}, {nonce!r}, {str(result)!r})"
        self.folder.mkdir(parents=True, exist_ok=True)
        seconds = self.limits.check_of.get(function, self.limits.check)
        wrong = self.kernel.run(_request(call), seconds)
        if not self.kernel.alive:
            self.close()
            if again and wrong == ENDED:  # Perhaps what an earlier cell had set going.
                return self.check(number, function, again=False)
        if wrong:
            return _nothing(function, f"the check did not come to an end: {wrong}")
        try:
            found = json.loads(result.read_text(encoding="utf-8"))
            known, score = found["nonce"] == nonce, found["score"]
            self.replaced.update(map(str, found["replaced"]))
        except (OSError, ValueError, KeyError, TypeError):
            return _nothing(function, "the check wrote no result")
        if known and score is None:
            return _nothing(function, f"there is no function {function} in the notebook")
        return verdict(function, score if known else None)


def _request(call: str) -> str:
    """Code for the kernel: runs `call` with `isolated` and the checks' text, leaves nothing behind."""
    data = base64.b64encode(zlib.compress(json.dumps([_ISOLATED, _SOURCES]).encode())).decode()
    # It takes nothing by a name that the notebook may have reused.
    return f"""
def __siamese_grade__():
    import base64, builtins, json, zlib
    isolated, sources = json.loads(zlib.decompress(base64.b64decode({data!r})))
    scope = {{'__name__': '_siamese_isolated', 'sources': sources,
              'namespace': __siamese_grade__.__globals__}}
    builtins.exec(builtins.compile(isolated, '<siamese.checks.isolated>', 'exec'), scope)
    builtins.exec({call!r}, scope)
try:
    __siamese_grade__()
finally:
    del __siamese_grade__
"""


def definitions(code: str) -> list[str]:
    """The top-level functions, classes and imports of a cell, one by one; magics are understood."""
    _, tree = copies.parsed(code)
    return [ast.unparse(node) for node in tree.body if isinstance(node, _DEFINITIONS)]


def verdict(function: str, score: Any) -> dict[str, Any]:
    """A score as the kernel sent it, as a dict; no points where the check cannot have given it."""
    try:
        failures = [{name: str(text) for name, text in one.items()} for one in score["failures"]]
        written, failed = score["written"], tuple(Failure(**failure) for failure in failures)
        points = OUT_OF[function] - len(failed) if written else 0
        own = Score(function, points, OUT_OF[function], failed, written, score["note"]).to_dict()
        known = {one.case for one in failed} <= _CASES[function] if written else len(failed) == 1
        # Compared as text, where True and 1.0 are not 1.
        same = json.dumps(own, sort_keys=True) == json.dumps(score, sort_keys=True)
        honest = known and same and isinstance(written, bool)
    except (AttributeError, KeyError, TypeError):
        honest = False
    if not honest:
        return _nothing(function, "this is not a result of the check: look at the notebook's code")
    if not written:
        why = failures[0]["actual"]
        return _nothing(function, why if "not written" in why else f"not written yet: {why}")
    passed = {"points": points, "mark": round(MARK * points / OUT_OF[function], 2)}
    return {**_nothing(function, ""), **passed, "written": True, "failures": failures}


def _nothing(function: str, note: str) -> dict[str, Any]:
    counts = {"points": 0, "out_of": OUT_OF[function], "mark": 0.0}
    return {"function": function, **counts, "written": False, "failures": [], "note": note}
