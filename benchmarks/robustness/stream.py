"""Peak memory while `siamese predict` answers a file of a million pairs.

    python benchmarks/robustness/stream.py --lines 10000 1000000

The file is CSV on standard input; every tenth question is quoted over two lines, and one row in a
thousand is bad. The model is an untrained one with vectors of 8 numbers: memory, not
speed, is measured.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests"))

from small_models import make_detector


def rows(count: int):
    """The lines of a CSV file with `count` rows after the header."""
    yield "id,question1,question2\n"
    for i in range(1, count + 1):
        if i % 1000 == 0:
            yield f"{i},how far\n"
        elif i % 10 == 0:
            yield f'{i},"how far is\nthe way number {i} ?",how old are you ?\n'
        else:
            yield f"{i},how far is the way number {i} ?,what is the best way to learn {i % 97} ?\n"


def predict(model: Path, count: int) -> dict:
    """Pipes `count` rows through the command: seconds, peak memory, what it reported at the end."""
    command = [sys.executable, "-m", "siamese.cli", "predict", str(model), "-"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as answers:
        process = subprocess.Popen(command, text=True, **{**pipes, "stdout": answers})
        process.stdin.writelines(rows(count))
        process.stdin.close()
        reported = process.stderr.read().strip()
        code = process.wait()
        answers.seek(0)
        lines = sum(1 for _ in answers)
    return {
        "rows": count,
        "answers": lines - 1,  # without the header
        "exit_code": code,
        "seconds": round(time.perf_counter() - start, 1),
        "peak_MiB": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024,
        "reported": reported.splitlines()[0] if reported else "",
    }


def main() -> int:
    """Prints a row for each size and writes the result; 1 where an answer is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, nargs="+", default=[10_000, 1_000_000])
    parser.add_argument("--output", default="benchmarks/results/robustness_stream.json")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        make_detector(threshold=0.4).save(model)
        found = [predict(model, count) for count in sorted(arguments.lines)]
    for one in found:
        print(*(f"{name} {value}" for name, value in one.items()), sep=", ")
    Path(arguments.output).write_text(json.dumps(found, indent=1) + "\n")
    return int(any(one["answers"] != one["rows"] for one in found))


if __name__ == "__main__":
    sys.exit(main())
