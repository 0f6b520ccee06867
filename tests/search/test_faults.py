"""The long runs of benchmarks/faults.py, for a second: a shared index, kills, threads."""

import json
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "flags"),
    [
        ("sharing", ["--seconds", "1"]),
        ("kills", ["--times", "1"]),
        ("threads", ["--seconds", "1"]),
    ],
)
def test_nothing_is_lost_mixed_or_refused(part, flags, tmp_path, monkeypatch):
    import faults

    results = tmp_path / "results.json"
    monkeypatch.setattr(sys, "argv", ["faults.py", part, *flags, "--results", str(results)])
    faults.main()
    assert json.loads(results.read_text())[part]
