"""Programs that tests run in a Python of their own."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[2]
# JAX's own variables: a program takes what an earlier one compiled, as with `enable_compile_cache`.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "siamese", "xla")
COMPILED = {
    "JAX_COMPILATION_CACHE_DIR": str(CACHE),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.01",
}


def run(code, *flags, arguments=(), stdin="", **environment):
    """Runs the code in a new interpreter; returns the finished process."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **environment}
    env.pop("PYTHONWARNINGS", None)
    return subprocess.run(
        [sys.executable, *flags, "-c", textwrap.dedent(code), *map(str, arguments)],
        capture_output=True,
        text=True,
        env=env,
        input=stdin,
        timeout=1800,
    )


def output_of(code, *flags, **options):
    done = run(code, *flags, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def on_four_devices(code):
    """Runs it where JAX counts four, with the modules that this process can import."""
    platform = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    done = run(code, PYTHONPATH=os.pathsep.join([str(ROOT), *sys.path]), **platform, **COMPILED)
    assert done.returncode == 0, done.stderr
    return done
