"""Odd, damaged and hostile files given to every command that reads files.

    python benchmarks/robustness/files.py
    python benchmarks/robustness/files.py --commands data predict index

The files are those of tests/hostile/question_files.py, beside paths that are no files. Every command runs
in this process. It must end with exit code 0 or 2 (1 where `predict` answered with errors), never with
a traceback, and say in a sentence, or in at most 25 lines of findings, what is wrong.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import io
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT / "tests"), str(ROOT / "tests" / "hostile")]

import question_files
from small_models import make_detector

from siamese.cli.main import main as siamese

MOST_LINES = 25


def commands(folder: Path, file: str) -> dict[str, list[str]]:
    """Every command that takes a file, given `file`; `folder` holds a model and an index."""
    model, index, out = str(folder / "model"), str(folder / "index"), str(folder / "out")
    small = ["--steps", "1", "--batch-size", "2", "--d-model", "4", "--overwrite", "--output", out]
    return {
        "data": ["data", file],
        "data --strict": ["data", file, "--strict", "--json"],
        "data --bad-rows skip": ["data", file, "--bad-rows", "skip"],
        "train": ["train", "--questions", file, *small],
        "evaluate": ["evaluate", model, "--questions", file],
        "evaluate --bad-rows skip": ["evaluate", model, "--questions", file, "--bad-rows", "skip"],
        "predict": ["predict", model, file],
        "predict --bad-rows skip": ["predict", model, file, "--bad-rows", "skip"],
        "predict, as the model": ["predict", file, "how far", "how old"],
        "index": ["index", model, file, "--output", f"{out}-index"],
        "index --column": [
            "index",
            model,
            file,
            "--column",
            "is_duplicate",
            "--output",
            f"{out}-2",
        ],
        "index --bad-rows skip": [
            "index",
            model,
            file,
            "--bad-rows",
            "skip",
            "--output",
            f"{out}-3",
        ],
        "index add": ["index", "add", index, file],
        "index remove": ["index", "remove", index, file],
        "search": ["search", index, file],
        "duplicates": ["duplicates", file],
        "import-weights": ["import-weights", file, out, "--vocab", file],
    }


def run(arguments: list[str]) -> dict:
    """Runs one command here: exit code, what it wrote on stderr, seconds; 'traceback' where it raised."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    start, trace = time.perf_counter(), ""
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = siamese(arguments)
        except SystemExit as stopped:
            code = stopped.code
        except BaseException as error:
            code, trace = -1, f"{type(error).__name__}: {error}"[:300]
    text = err.buffer.getvalue().decode("utf-8", "replace")
    seconds = time.perf_counter() - start
    return {"code": code, "stderr": text, "traceback": trace, "seconds": seconds}


def wrong(name: str, found: dict) -> str:
    """What is wrong with how a command ended; empty where nothing is."""
    if found["traceback"]:
        return found["traceback"]
    allowed = (0, 1, 2) if name.startswith("predict") else (0, 2)
    if found["code"] not in allowed:
        return f"exit code {found['code']}"
    lines = found["stderr"].splitlines()
    if found["code"] == 2 and not lines:
        return "no message"
    if len(lines) > MOST_LINES and name != "train":
        return f"{len(lines)} lines of messages"
    return "Traceback" * ("Traceback" in found["stderr"])


def no_files(folder: Path) -> list[str]:
    """Paths that are no files."""
    (folder / "loop").symlink_to(folder / "loop")
    return [str(folder / name) for name in ("missing", "loop", ".")] + [
        "/dev/null",
        "x" * 5000,
    ]


def measure(folder: Path, only: list[str] | None) -> dict:
    """Runs everything; returns counts, failures and the slowest runs."""
    make_detector(threshold=0.4).save(folder / "model")
    good = folder / "good.csv"
    good.write_text("id,question\n0,how far is it?\n1,how old are you?\n")
    assert (
        run(["index", str(folder / "model"), str(good), "--output", str(folder / "index")])["code"]
        == 0
    )
    paths = [*map(str, question_files.write_files(folder / "files")), *no_files(folder)]
    codes: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    failures, slowest = [], []
    for path in paths:
        for name, arguments in commands(folder, path).items():
            if only is None or name.split(" ")[0].rstrip(",") in only:
                found = run(arguments)
                codes[name][found["code"]] += 1
                slowest.append((round(found["seconds"], 2), name, Path(path).name[:40]))
                if what := wrong(name, found):
                    failures.append((name, Path(path).name[:40], what))
    return {
        "files": len(paths),
        "runs": len(slowest),
        "exit_codes": {name: dict(sorted(counts.items())) for name, counts in codes.items()},
        "failures": failures,
        "slowest": sorted(slowest, reverse=True)[:5],
        "peak_MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def main() -> int:
    """Prints a table and writes the result; returns 1 where a command failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--commands", nargs="+", help="only these [all]")
    parser.add_argument("--output", default="benchmarks/results/robustness_files.json")
    arguments = parser.parse_args()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), arguments.commands)
    found["seconds"] = round(time.perf_counter() - start)
    for name, counts in found["exit_codes"].items():
        print(f"{name:<26}" + ", ".join(f"exit {code}: {n}" for code, n in counts.items()))
    print(f"{found['files']} files, {found['runs']} runs, {len(found['failures'])} failures, "
          f"{found['seconds']} s, peak {found['peak_MiB']} MiB")  # fmt: skip
    for failure in found["failures"]:
        print("FAILED", *failure)
    Path(arguments.output).write_text(json.dumps(found, indent=1) + "\n")
    return bool(found["failures"])


if __name__ == "__main__":
    sys.exit(main())
