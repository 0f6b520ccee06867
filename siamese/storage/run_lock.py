"""The lock of a run directory: one process at a time writes there, and the system frees it at its end."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from siamese.errors import CheckpointError

try:
    import fcntl
except ImportError:  # Windows: no lock between writers.
    fcntl = None


def lock_run(run_dir: Path) -> int | None:
    """Takes the directory's lock: an open file, to be closed with `os.close`.

    Returns:
      None where the file system knows no locks, or this process holds it already.

    Raises:
      CheckpointError: another process holds it; names that process.
    """
    if fcntl is None:
        return None
    descriptor = os.open(run_dir / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 200, 0).decode("utf-8", "replace").strip()
        os.close(descriptor)
        if holder == _this_process():
            return None  # Another loop of this process, such as a notebook cell run again.
        raise CheckpointError(
            f"Another process writes checkpoints to {run_dir} ({holder or 'unknown'}). Wait until "
            "it ends or stop it, or give another directory."
        ) from None
    except OSError:
        os.close(descriptor)
        return None  # Some network drives know no locks; names are unique all the same.
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, _this_process().encode(), 0)
    return descriptor


def _this_process() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"
