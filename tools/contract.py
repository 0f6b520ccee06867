"""Does a commit answer as the one before? Records what the package does, and compares.

    python tools/contract.py against COMMIT --questions questions.csv.gz [--quick]
    python tools/contract.py record OUT.npz --questions questions.csv.gz [--checkout
    FOLDER] python tools/contract.py compare BEFORE.npz AFTER.npz

`record` uses a checkout's public names and its commands alone
(tools/contract_recorder.py); `against` records COMMIT in a worktree of its own and then
this checkout. Vectors must be equal bit for bit, scores, losses and printed numbers
within 1e-6, groups, hits and texts equal. The exit status is 1 where something is not.
`--questions` is a table of labelled pairs (question1, question2, is_duplicate); without
it the embedded corpus is asked. `--quick` leaves out the trainings, and with them every
model but `use`.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
RECORDER = Path(__file__).with_name("contract_recorder.py")
# One thread each: the sums of floats have one order. NPROC is the number of XLA's
# threads.
ONE_THREAD = {
    "NPROC": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
}
# Kind, the last part of a value's name -> by how much its numbers may differ. Other
# kinds are equal. A printed number is rounded to six places.
TOLERANCES = {"scores": 1e-6, "losses": 1e-6, "table": 2e-6, "json": 2e-6}
SHOWN = 3  # differences of one value that are printed
FAILED = "FAILED"  # what a value begins with that could not be recorded


# ---- Recording ----


def record(checkout: Path, out: Path, questions: Path | None, quick: bool) -> None:
    """Writes what the package in a checkout does to a file, in a process of its own."""
    command = [sys.executable, str(RECORDER), str(out), "--checkout", str(checkout)]
    if questions is not None:
        command += ["--questions", str(questions)]
    if quick:
        command.append("--quick")
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": str(checkout)}
    begun = time.monotonic()
    subprocess.run(command, env=environment, check=True)
    print(f"Recorded {checkout} in {time.monotonic() - begun:.0f} s.", file=sys.stderr)


@contextmanager
def worktree(commit: str) -> Iterator[Path]:
    """A folder with a commit's files, until the end of the block."""
    git = ["git", "-C", str(ROOT), "worktree"]
    with tempfile.TemporaryDirectory(prefix="contract-") as folder:
        checkout = Path(folder) / "checkout"
        subprocess.run(
            [*git, "add", "--quiet", "--detach", checkout, commit], check=True
        )
        try:
            yield checkout
        finally:
            subprocess.run([*git, "remove", "--force", checkout], check=True)


def against(commit: str, questions: Path | None, quick: bool) -> int:
    """Records a commit and this checkout, and compares them; returns the exit status."""
    with tempfile.TemporaryDirectory(prefix="contract-") as folder:
        before = Path(folder) / "before.npz"
        after = Path(folder) / "after.npz"
        with worktree(commit) as checkout:
            record(checkout, before, questions, quick)
        record(ROOT, after, questions, quick)
        return compare(before, after)


# ---- Comparing ----


def compare(before: Path, after: Path) -> int:
    """Prints a line for each recorded value; returns 1 where one differs too much."""
    failures = 0
    with np.load(before) as old, np.load(after) as new:
        names = list(dict.fromkeys([*old.files, *new.files]))
        width = max(map(len, names), default=0)
        for name in names:
            if name not in new.files:
                holds, what = False, "only in the first"
            elif name not in old.files:
                holds, what = False, "only in the second"
            else:
                holds, what = compared(name, old[name], new[name])
            failures += not holds
            print(f"{'   ' if holds else '***'} {name:{width}}  {what}")
    verdict = "The contract holds" if not failures else "THE CONTRACT DOES NOT HOLD"
    print(
        f"{verdict}: {len(names):,} values, {failures:,} of them differ too much (***)."
    )
    return 1 if failures else 0


def compared(name: str, old: np.ndarray, new: np.ndarray) -> tuple[bool, str]:
    """Whether a value holds, and what is to be said of it."""
    kind = name.rpartition("/")[2]
    tolerance = TOLERANCES.get(kind, 0.0)
    if old.dtype.kind == "U" and new.dtype.kind == "U" and not (old.ndim or new.ndim):
        return compared_texts(kind, str(old), str(new), tolerance)
    if old.shape != new.shape or old.dtype.kind != new.dtype.kind:
        return False, f"{old.dtype} {old.shape} and {new.dtype} {new.shape}"
    if old.dtype == new.dtype and old.tobytes() == new.tobytes():
        return True, "equal bit for bit"
    if old.dtype.kind != "f":
        places = np.argwhere(old != new)[:SHOWN].tolist()
        return (
            False,
            f"differs at {places} and {int((old != new).sum()):,} places in all",
        )
    difference = np.abs(old.astype(float) - new.astype(float))
    # NaN on both sides, as a figure that does not exist, is equal.
    difference[np.isnan(old) & np.isnan(new)] = 0
    largest = float(difference.max(initial=0.0))
    what = f"max difference {largest:.3g}"
    if old.dtype != new.dtype:
        return False, f"{old.dtype} and {new.dtype}, {what}"
    return largest <= tolerance, what


def compared_texts(kind: str, old: str, new: str, tolerance: float) -> tuple[bool, str]:
    """Likewise of what a command wrote: lines, a table as CSV, or JSON."""
    if old.startswith(FAILED) or new.startswith(FAILED):
        failed = next(text for text in (old, new) if text.startswith(FAILED))
        return False, failed.replace("\n", " ")[:300]
    if old == new:
        return True, "equal"
    values = {"table": table_cells, "json": json_values}.get(kind, text_lines)
    before = values(old)
    after = values(new)
    largest = 0.0
    differences = [
        f"{place} only in the first" for place in before.keys() - after.keys()
    ]
    differences += [
        f"{place} only in the second" for place in after.keys() - before.keys()
    ]
    for place in before.keys() & after.keys():
        distance = distance_of(before[place], after[place])
        if distance > tolerance:
            differences.append(
                f"{place}: {before[place]!r:.80} -> {after[place]!r:.80}"
            )
        else:
            largest = max(largest, distance)
    if differences:
        shown = "; ".join(sorted(differences)[:SHOWN])
        return False, f"{len(differences):,} differences, such as {shown}"
    return True, f"max difference {largest:.3g}"


def distance_of(old: Any, new: Any) -> float:
    """How far two cells are apart; infinite where one is no number and they differ."""
    if old == new:
        return 0.0
    try:
        return abs(float(old) - float(new))
    except (TypeError, ValueError):
        return float("inf")


def table_cells(text: str) -> dict[str, str]:
    """The cells of a CSV table, by row and column."""
    rows = csv.DictReader(io.StringIO(text))
    return {
        f"row {number}, {name}": value
        for number, row in enumerate(rows)
        for name, value in row.items()
    }


def json_values(text: str) -> dict[str, Any]:
    """The values of a JSON text, by the way that leads to each."""

    def values(value: Any, path: str) -> Iterator[tuple[str, Any]]:
        if not isinstance(value, (dict, list)) or not value:
            yield path, value
            return
        children = value.items() if isinstance(value, dict) else enumerate(value)
        for key, child in children:
            yield from values(child, f"{path}/{key}")

    return dict(values(json.loads(text), ""))


def text_lines(text: str) -> dict[str, str]:
    """The lines of a text, by their number."""
    return {f"line {number}": line for number, line in enumerate(text.splitlines(), 1)}


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    description, _, details = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=description,
        epilog=details,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("out", type=Path)
    recording.add_argument("--checkout", type=Path, default=ROOT)
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    both = commands.add_parser("against")
    both.add_argument("commit")
    for part in (recording, both):
        part.add_argument("--questions", type=Path)
        part.add_argument("--quick", action="store_true")
    flags = parser.parse_args(arguments)
    if flags.command == "compare":
        return compare(flags.before, flags.after)
    questions = flags.questions and flags.questions.resolve()
    if flags.command == "against":
        return against(flags.commit, questions, flags.quick)
    record(flags.checkout.resolve(), flags.out.resolve(), questions, flags.quick)
    return 0


if __name__ == "__main__":
    sys.exit(main())
