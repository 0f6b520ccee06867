"""One notebook in its kernel: its cells run as far as they go, its functions checked one by one."""

from __future__ import annotations

import ast
import base64
import json
import secrets
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from siamese.teaching import kernel as kernels
from siamese.teaching.checks import OUT_OF
from siamese.teaching.kernel import ENDED, Kernel, Outcome

MOST_RESTARTS = 8
_DEFINITIONS = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Import,
    ast.ImportFrom,
)


class Limits(NamedTuple):
    """What a notebook may use.

    Attributes:
      cells: seconds for all its cells together. No cell takes more than half of what is left.
      check: seconds for the check of one function.
      gigabytes: memory, and the size of a file; 0 for no limit. Only where the system has such limits.
    """

    cells: float = 600.0
    check: float = 180.0
    gigabytes: float = 8.0


class Session:
    """A notebook's kernel with all its cells run, made again when it is lost."""

    def __init__(self, folder: Path, cells: Sequence[str], sources, limits: Limits):
        self.folder, self.cells, self.sources = folder, list(cells), sources
        self.kernel: Kernel | None = None
        self.failed: dict[int, str] = {}  # cell -> what happened
        self.deadly: set[int] = set()  # cells of which only the definitions run
        self.replaced: set[str] = set()
        self.restarts = -1  # the first start is none
        self._until = time.monotonic() + limits.cells
        self._gigabytes, self._check_seconds = limits.gigabytes, limits.check

    def stop(self) -> None:
        """Ends the kernel."""
        if self.kernel is not None:
            self.kernel.stop()
            self.kernel = None

    def prepare(self) -> None:
        """A fresh kernel, and in it everything that the notebook's cells define."""
        while self.restarts <= MOST_RESTARTS:
            self.stop()
            self.restarts += 1
            work = self.folder / f"run-{self.restarts}"
            work.mkdir(parents=True, exist_ok=True)  # The notebook may have removed it.
            self.kernel = Kernel(work)
            self.kernel.run(
                self._request(f"remember({self._gigabytes!r})"), kernels.START_SECONDS, silent=True
            )
            # exit() in a cell ends that cell, not the kernel.
            self.kernel.run("get_ipython().ask_exit = lambda: None", 10, silent=True)
            if all(self._run_cell(i) for i in range(len(self.cells))):
                return
        self.stop()

    def _run_cell(self, i: int) -> bool:
        """Runs a cell as far as it goes; False where the kernel was lost."""
        left = self._until - time.monotonic()
        if not self.cells[i]:
            return True
        if i not in self.deadly and left > 0:
            outcome = self.kernel.run(self.cells[i], max(1.0, left / 2))
            if outcome.status == "ok":
                return True
            self.failed.setdefault(i, outcome.message)
            if outcome.status == "dead":
                self.deadly.add(i)
                return False
        elif left <= 0:
            self.failed.setdefault(i, "not run, only its definitions: the notebook's time was over")
        for code in definitions(self.cells[i]):
            if self.kernel.run(code, 20).status == "dead":
                self.cells[i] = ""
                return False
        return True

    def check(self, number: int, function: str, *, again: bool = True) -> dict[str, Any]:
        """The score of one function as a dict; never raises for what the function does."""
        if self.kernel is None:
            return _nothing(function, "the notebook ends Python again and again")
        result = self.folder / f"result-{secrets.token_hex(8)}.json"
        package = f"_checks_{secrets.token_hex(8)}"
        call = f"grade(sources, namespace, {number}, {function!r}, {package!r}, {str(result)!r})"
        self.folder.mkdir(parents=True, exist_ok=True)
        outcome = self.kernel.run(self._request(call), self._check_seconds, silent=True)
        if outcome.status == "dead":
            self.stop()
            if again and outcome.message == ENDED:  # Perhaps what an earlier cell had set going.
                self.prepare()
                return self.check(number, function, again=False)
        try:
            found = json.loads(result.read_text(encoding="utf-8"))
            score = found["score"]
            if score is None:
                return _nothing(function, f"there is no function {function} in the notebook")
            self.replaced.update(found["replaced"])
            failures = [dict(failure) for failure in score["failures"]]
            written = bool(score["written"])
            why = "" if written else failures[0]["actual"]
            return {
                "function": function,
                "points": int(score["points"]),
                "out_of": int(score["out_of"]),
                "written": written,
                "failures": failures if written else [],
                "note": ""
                if written
                else why
                if "not written" in why
                else f"not written yet: {why}",
            }
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            return _nothing(function, _why_no_result(outcome))

    def _request(self, call: str) -> str:
        """Code for the kernel: runs `call` with `isolated` and the sources, leaves nothing behind."""
        data = base64.b64encode(zlib.compress(json.dumps(self.sources).encode())).decode()
        return (
            "def __siamese_grade__():\n"  # It takes nothing by a name that the notebook may have reused.
            "    import base64, builtins, json, zlib\n"
            f"    sources = json.loads(zlib.decompress(base64.b64decode({data!r})))\n"
            "    scope = {'__name__': '_siamese_isolated', 'sources': sources,\n"
            "             'namespace': __siamese_grade__.__globals__}\n"
            "    builtins.exec(builtins.compile(sources['isolated'], '<siamese.checks.isolated>', 'exec'),"
            " scope)\n"
            f"    builtins.exec({call!r}, scope)\n"
            "try:\n"
            "    __siamese_grade__()\n"
            "finally:\n"
            "    del __siamese_grade__\n"
        )


def definitions(code: str) -> list[str]:
    """The top-level functions, classes and imports of a cell, one by one; magics are understood."""
    from IPython.core.inputtransformer2 import TransformerManager

    try:
        tree = ast.parse(TransformerManager().transform_cell(code))
    except (SyntaxError, ValueError):
        return []
    return [ast.unparse(node) for node in tree.body if isinstance(node, _DEFINITIONS)]


def _why_no_result(outcome: Outcome) -> str:
    if outcome.status == "timeout":
        return f"the check was {outcome.message}"
    if outcome.status == "dead":
        return f"no result: {outcome.message}"
    return f"the check did not come to an end: {outcome.message or 'no result was written'}"


def _nothing(function: str, note: str) -> dict[str, Any]:
    return {
        "function": function,
        "points": 0,
        "out_of": OUT_OF[function],
        "written": False,
        "failures": [],
        "note": note,
    }
