"""A made issue tracker in Markdown: sixty issues, twenty problems in three wordings.

    python tools/make_tracker.py FOLDER

writes issues.csv (number, title, body, labels) and truth.csv (number, problem). The
problems of tracker_phrases.txt are written by hand; around each text the tracker's
template, versions, a stack trace or log lines are made, as reporters paste them.
"""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULES = (
    "window",
    "render",
    "sync",
    "storage",
    "session",
    "plugins",
    "export",
    "worker",
    "events",
)
ERRORS = (
    "ValueError: invalid state",
    "KeyError: 'id'",
    "OSError: [Errno 5]",
    "RuntimeError: closed",
)
SYSTEMS = ("Windows 11", "Ubuntu 24.04", "macOS 15.1", "Fedora 41", "Windows 10")
GREETINGS = (
    "",
    "",
    "Hi,\n\n",
    "Hello team,\n\n",
    "First of all, thanks for this great tool!\n\n",
)
ENDS = (
    "",
    "",
    "\n\nThanks!",
    "\n\nBest,\n{name}",
    "\n\nLet me know if you need more information.",
)
NAMES = ("Ana", "Ben", "Chen", "Dora", "Emil")


def trace(rng: random.Random) -> str:
    """A stack trace of Python, or lines of a log, in a fence."""
    modules = rng.sample(MODULES, 4)
    if rng.random() < 0.5:
        lines = ["Traceback (most recent call last):"]
        for module in modules:
            lines.append(
                f'  File "/opt/app/{module}.py", line {rng.randint(10, 900)}, in run'
            )
            lines.append(f"    self.{rng.choice(MODULES)}.handle(item)")
        lines.append(rng.choice(ERRORS))
    else:
        lines = [
            f"2026-0{rng.randint(1, 9)}-1{rng.randint(0, 9)} 1{rng.randint(0, 9)}:0{rng.randint(0, 9)}"
            f" [{rng.choice(('INFO', 'WARN', 'ERROR'))}] {module}: code {rng.randint(100, 999)}"
            for module in modules * 2
        ]
    return "\n".join(["```", *lines, "```"])


def issue(text: str, rng: random.Random) -> str:
    """The body of an issue."""
    text = rng.choice(GREETINGS) + text
    system = rng.choice(SYSTEMS)
    version = f"3.{rng.randint(0, 4)}.{rng.randint(0, 20)}"
    end = rng.choice(ENDS).format(name=rng.choice(NAMES))
    if rng.random() < 0.3:
        return f"{text}\n\n{system}, version {version}\n\n{trace(rng)}{end}"
    parts = [
        "<!-- Please search for existing issues first. -->",
        f"### Describe the bug\n\n{text}",
        "### Steps to reproduce\n\n1. Open the app\n2. See above",
        "### Expected behaviour\n\nIt should just work.",
        f"### Environment\n\n- OS: {system}\n- Version: {version}\n- [x] I have read the guide",
        f"### Logs\n\n{trace(rng)}"
        if rng.random() < 0.6
        else "### Logs\n\n_No response_",
    ]
    if rng.random() < 0.4:
        parts.insert(1, parts.pop(4))
    return "\n\n".join(parts) + end


def main() -> None:
    """Writes the issues and the truth into a folder."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    text = (HERE / "tracker_phrases.txt").read_text(encoding="utf-8").partition("\n")[2]
    rng = random.Random(0)
    issues = []
    for problem, paragraph in enumerate(text.strip().split("\n\n")):
        for line in paragraph.splitlines():
            title, _, own = line.partition(" | ")
            issues.append((problem, title, issue(own, rng)))
    rng.shuffle(issues)
    with open(folder / "issues.csv", "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(("number", "title", "body", "labels"))
        table.writerows(
            (n, title, body, "bug") for n, (_, title, body) in enumerate(issues, 101)
        )
    with open(folder / "truth.csv", "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(("number", "problem"))
        table.writerows(
            (n, f"p{problem}") for n, (problem, *_) in enumerate(issues, 101)
        )


if __name__ == "__main__":
    main()
