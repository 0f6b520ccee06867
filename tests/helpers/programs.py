"""Programs that tests run in a Python of their own, and small disks of their own."""

import os
import shutil
import subprocess
import sys
import textwrap
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# A program takes what an earlier one compiled, as with `enable_compile_cache`.
CACHE = Path(
    os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "siamese", "xla"
)
COMPILED = {
    "JAX_COMPILATION_CACHE_DIR": str(CACHE),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.01",
}


def without(*packages):
    """Code in front of a program: packages that are not found, as where they are not installed."""
    return f"""
import sys
from importlib.machinery import PathFinder
find = PathFinder.find_spec
def found(name, path=None, target=None):
    return None if name.partition(".")[0] in {packages} else find(name, path, target)
PathFinder.find_spec = found
import siamese
"""


def environment_of(**others):
    """The environment of a program that imports this repository."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **others}
    env.pop("PYTHONWARNINGS", None)
    return env


def run(code, *flags, arguments=(), stdin="", **environment):
    """Runs the code in a new interpreter; returns the finished process."""
    env = environment_of(**environment)
    command = [
        sys.executable,
        *flags,
        "-c",
        textwrap.dedent(code),
        *map(str, arguments),
    ]
    options = {"capture_output": True, "text": True, "input": stdin, "timeout": 1800}
    return subprocess.run(command, env=env, **options)


def output_of(code, *flags, **options):
    done = run(code, *flags, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def on_four_devices(code):
    """Runs it where JAX counts four, with the modules that this process can import."""
    platform = {
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=4",
    }
    done = run(
        code, PYTHONPATH=os.pathsep.join([str(ROOT), *sys.path]), **platform, **COMPILED
    )
    assert done.returncode == 0, done.stderr
    return done


@contextmanager
def mounted_tmpfs(where, size):
    """A tmpfs of a size such as "4m" at a new directory; skips where that is not permitted."""
    where.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(where)]
    if (
        not shutil.which("mount")
        or subprocess.run(command, capture_output=True).returncode
    ):
        pytest.skip("mounting a small tmpfs is not permitted here")
    try:
        yield where
    finally:
        subprocess.run(["umount", "-l", str(where)], check=True)
        where.rmdir()


@contextmanager
def read_only_view(of, where):
    """A directory as a container sees a volume with ":ro"; skips where that is not permitted."""
    where.mkdir()
    commands = (
        ["mount", "--bind", str(of), str(where)],
        ["mount", "-o", "remount,ro,bind", str(where)],
    )
    if (
        not shutil.which("mount")
        or subprocess.run(commands[0], capture_output=True).returncode
    ):
        pytest.skip("mounting a read-only view is not permitted here")
    try:
        subprocess.run(commands[1], check=True)
        yield where
    finally:
        subprocess.run(["umount", "-l", str(where)], check=True)
        where.rmdir()
