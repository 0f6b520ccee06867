"""Runs a kernel and, when it ends or this process gets SIGTERM, kills every process it has started.

    python supervisor.py COMMAND ...

On Linux only. As the subreaper (prctl(2)) it becomes the parent of processes whose own parent has
ended, so those with a session of their own (setsid, daemons) stay among its descendants. It also ends
when the process that started it does. A kernel that kills this process first escapes it.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time

import psutil  # ipykernel needs it too

PR_SET_CHILD_SUBREAPER = 36
AWAITED = {signal.SIGCHLD, signal.SIGTERM}


def kill_descendants(seconds: float = 5.0) -> None:
    """Kills until none is left: one killed leaves its children to this process."""
    until = time.monotonic() + seconds
    while (found := psutil.Process().children(recursive=True)) and time.monotonic() < until:
        for process in found:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(found, timeout=0.1)


def _as_usual() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, AWAITED)


def main(command: list[str]) -> None:
    """Runs the command until it ends."""
    parent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # An interrupt is for the kernel, in this group.
    signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)
    own = {**os.environ, "JPY_PARENT_PID": str(os.getpid())}  # The kernel ends with its parent.
    kernel = subprocess.Popen(command, env=own, preexec_fn=_as_usual)
    while kernel.poll() is None and os.getppid() == parent:
        woken = signal.sigtimedwait(AWAITED, 1.0)
        if woken and woken.si_signo == signal.SIGTERM:
            break
    kill_descendants()


if __name__ == "__main__":
    main(sys.argv[1:])
