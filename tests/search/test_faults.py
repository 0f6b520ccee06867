"""The long runs of benchmarks/faults.py, for a few seconds: a shared index, kills, threads."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "flags"),
    [
        ("sharing", ["--seconds", "3"]),
        ("kills", ["--times", "1"]),
        ("threads", ["--seconds", "2"]),
    ],
)
def test_nothing_is_lost_mixed_or_refused(part, flags, tmp_path):
    script, results = ROOT / "benchmarks" / "faults.py", tmp_path / "results.json"
    done = subprocess.run(
        [sys.executable, script, part, *flags, "--results", results],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(results.read_text())[part]
