"""The long runs of benchmarks/robustness, in small: a shared index, kills, threads, an addition's cost."""

import json
import os
import subprocess
import sys

import pytest
from programs import ROOT

KILLED = ("index_add_killed", "model_save_killed", "duplicates_output_killed")


def run(tmp_path, part, *arguments):
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "robustness" / f"{part}.py", *map(str, arguments),
         "--results", tmp_path / "found.json"],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads((tmp_path / "found.json").read_text())


@pytest.mark.slow
def test_shared_by_writers_and_readers_killed_and_in_threads(tmp_path):
    found = run(tmp_path, "sharing", "--seconds", 4, "--writers", 2, "--readers", 2, "--kills", 3)
    assert found["shared"]["changes_saved"] > 2 and found["shared"]["loads"] > 2
    assert [found[part]["kills"] for part in KILLED] == [3, 3, 3]
    found = run(tmp_path, "threads", "--seconds", 4)
    assert all(found[what] for what in ("encode", "similarity", "search", "change"))


def test_an_addition_writes_kilobytes(tmp_path):
    found = run(tmp_path, "add", "--questions", 10_000, "--times", 5)
    assert found["largest_bytes_of_new_files"] < 100_000 < 1e6 * found["index_MB"]
