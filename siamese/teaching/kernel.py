"""A Jupyter kernel that survives its notebook: time limits, endless loops, crashes, floods of output.

Only the kernel's answers are read, never what it prints: a cell that prints for ever fills nothing.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from siamese.errors import DataError, MissingDependencyError

START_SECONDS = 60.0
GRACE_SECONDS = 5.0  # for a cell to end after it was interrupted
ENDED = "it ended Python"


class Outcome(NamedTuple):
    """How a piece of code ended.

    Attributes:
      status: 'ok', 'error' (an exception), 'timeout' (interrupted, the kernel lives), or 'dead': the
        kernel is gone, or had to be killed.
      message: the exception's type and text, or what happened.
    """

    status: str
    message: str = ""


class Kernel:
    """One IPython kernel of this Python, in a directory of its own; a context manager.

    Args:
      folder: working directory of the kernel.

    Raises:
      MissingDependencyError: jupyter_client or ipykernel is not installed.
      DataError: the kernel does not start.
    """

    def __init__(self, folder: Path):
        try:
            import ipykernel  # noqa: F401
            from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
            from jupyter_client.manager import KernelManager
        except ImportError as error:
            raise MissingDependencyError(
                f"Grading notebooks needs {error.name}: pip install ipykernel jupyter_client nbformat"
            ) from error

        class ThisPython(KernelSpecManager):
            """The kernel of the running interpreter, whatever kernels are installed."""

            def get_kernel_spec(self, kernel_name):
                command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
                return KernelSpec(argv=command, display_name="Python 3", language="python")

        private = folder / ".grading"
        private.mkdir(parents=True, exist_ok=True)
        package = str(Path(__file__).resolve().parents[2])
        paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
        env = {
            **os.environ,
            "IPYTHONDIR": str(private),  # No startup files of the teacher's.
            "PYTHONPATH": os.pathsep.join(paths),
        }
        self._manager = KernelManager(kernel_spec_manager=ThisPython(), kernel_name="python3")
        self._manager.connection_file = str(private / "kernel.json")
        self._manager.start_kernel(
            cwd=str(folder), env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._client = self._manager.blocking_client()
        self._client.start_channels(shell=True, iopub=False, stdin=False, hb=False, control=True)
        ready = self._wait(self._client.kernel_info(), START_SECONDS)
        if ready.status != "ok":
            self.stop()
            raise DataError(
                f"The notebook kernel did not start within {START_SECONDS:.0f} s ({ready.message}). "
                "Does `python -m ipykernel --version` work?"
            )

    def __enter__(self) -> Kernel:
        return self

    def __exit__(self, *_) -> None:
        self.stop()

    def run(self, code: str, seconds: float, *, silent: bool = False) -> Outcome:
        """Runs code, interrupts it after that time, and kills the kernel where that does not help."""
        message = self._client.execute(
            code, silent=silent, store_history=not silent, allow_stdin=False, stop_on_error=False
        )
        outcome = self._wait(message, seconds)
        if outcome.status != "timeout":
            return outcome
        for _ in range(2):
            with contextlib.suppress(Exception):
                self._manager.interrupt_kernel()
            after = self._wait(message, GRACE_SECONDS)
            if after.status in ("ok", "error"):
                return Outcome("timeout", f"stopped after {seconds:.0f} s")
            if after.status == "dead":
                return after
        self.stop()
        return Outcome("dead", f"did not end within {seconds:.0f} s, nor when interrupted")

    def _wait(self, message: str, seconds: float) -> Outcome:
        until = time.monotonic() + seconds
        while True:
            left = until - time.monotonic()
            try:
                reply = self._client.get_shell_msg(timeout=max(0.01, min(0.25, left)))
            except queue.Empty:
                if not self._manager.is_alive():
                    return Outcome("dead", ENDED)
                if left <= 0:
                    return Outcome("timeout", f"no answer within {seconds:.0f} s")
                continue
            if reply["parent_header"].get("msg_id") == message:
                content = reply["content"]
                if content.get("status") == "ok":
                    return Outcome("ok")
                text = f"{content.get('ename', '')}: {content.get('evalue', '')}"
                return Outcome("error", " ".join(text.split())[:300])

    def stop(self) -> None:
        """Ends the kernel and every process that it started in its group."""
        group = getattr(self._manager.provisioner, "pgid", None)
        if group and hasattr(os, "killpg") and group != os.getpgrp():
            with contextlib.suppress(OSError):
                os.killpg(group, signal.SIGKILL)
        with contextlib.suppress(Exception):
            self._manager.shutdown_kernel(now=True)
        with contextlib.suppress(Exception):
            self._client.stop_channels()
        with contextlib.suppress(Exception):
            self._manager.cleanup_resources()
