"""The workflow of examples/similar_issues.yml: its own steps, run with a `gh` that reads a file."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = ROOT / "examples" / "similar_issues.yml"
ISSUES = json.loads((ROOT / "examples" / "github_issues.json").read_text("utf-8"))
GH = """#!/bin/sh
echo "$1 $2" >> calls.txt
if [ "$2" = list ]; then cat issues.jsonl; else cp "$5" posted.md; fi
"""
SIAMESE = f'#!/bin/sh\nexec {sys.executable} -m siamese.cli "$@"\n'


@pytest.fixture
def opened(tmp_path):
    """Function of issues, the last of which is new: the comment on it, and the calls of `gh`."""
    if shutil.which("jq") is None:
        pytest.skip("needs jq")
    for name, text in (("gh", GH), ("siamese", SIAMESE)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    workflow = yaml.safe_load(WORKFLOW.read_text("utf-8"))
    (job,) = workflow["jobs"].values()
    steps = [step["run"] for step in job["steps"] if "run" in step]

    def opened(issues):
        (tmp_path / "issues.jsonl").write_text("\n".join(map(json.dumps, issues)))
        path = os.pathsep.join((str(tmp_path), os.environ["PATH"]))
        own = {"NUMBER": str(issues[-1]["number"]), "PATH": path, "PYTHONPATH": ROOT}
        values = {**os.environ, **workflow["env"], **own}
        for step in steps[1:]:  # not the installation
            command = ["bash", "-e", "-c", step]
            subprocess.run(command, cwd=tmp_path, env=values, check=True)
        posted = tmp_path / "posted.md"
        comment = posted.read_text() if posted.exists() else ""
        return comment, (tmp_path / "calls.txt").read_text().splitlines()

    assert workflow["permissions"] == {"issues": "write"}
    return opened


def by_title(title):
    (issue,) = (own for own in ISSUES if own["title"] == title)
    return issue


def test_a_new_issue_gets_the_numbers_of_similar_ones_and_nothing_else(opened):
    new = by_title("Suspending the computer does not stop the timer")
    comment, calls = opened([own for own in ISSUES if own != new] + [new])
    earlier = by_title("Timer keeps running after the laptop sleeps")
    assert f"- #{earlier['number']}\n" in comment
    assert f"#{new['number']}" not in comment and new["title"] not in comment
    assert calls == ["issue list", "issue comment"]  # It closes nothing.


@pytest.mark.parametrize("count", [1, 2], ids=["the first issue", "nothing similar"])
def test_without_a_similar_issue_there_is_no_comment(opened, count):
    comment, calls = opened(ISSUES[:count])
    assert comment == "" and calls == ["issue list"]
