"""Small disks of their own, for tests of what happens when one is full."""

import shutil
import subprocess
from contextlib import contextmanager

import pytest


@contextmanager
def mounted_tmpfs(where, size):
    """A tmpfs of a size such as "4m", mounted at a new directory; skips where that is not permitted."""
    where.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(where)]
    if not shutil.which("mount") or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("mounting a small tmpfs is not permitted here")
    try:
        yield where
    finally:
        subprocess.run(["umount", "-l", str(where)], check=True)
        where.rmdir()
