"""An index of a million questions: time, memory and disk of loading, searching, adding and removing.

The vectors are random. Each part runs in a process of its own, whose memory is its own; mapped vectors
count where they were looked at.

    python benchmarks/robustness/large.py --questions 1000000
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from add import random_detector, random_index

from siamese.search.index import QuestionIndex


def megabytes() -> int:
    """The most memory this process has had; `getrusage` would count its parent's."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(dict(line.split(":") for line in lines)["VmHWM"].split()[0]) // 1024


def search(path: str, d: int) -> dict:
    """Loads an index and searches it 20 times exactly."""
    detector = random_detector(d)
    before, begun = megabytes(), time.perf_counter()
    index = QuestionIndex.load(path, detector, check=False)
    loaded, taken = time.perf_counter() - begun, []
    draw = np.random.default_rng(2)
    for query in draw.standard_normal((20, d)).astype(np.float32):
        begun = time.perf_counter()
        index.search_vectors(query[None], 10)
        taken.append(time.perf_counter() - begun)
    return {
        "load_ms": round(1e3 * loaded, 1),
        "first_search_ms": round(1e3 * taken[0], 1),
        "median_search_ms": round(1e3 * statistics.median(taken), 1),
        "memory_before_MB": before,
        "memory_MB": megabytes(),
    }


def change(path: str, d: int) -> dict:
    """Adds a question and removes one."""
    detector, taken = random_detector(d), []
    for ask in (lambda index: index.add("how far is the way ?"), lambda index: index.remove(7)):
        begun = time.perf_counter()
        with QuestionIndex.open_for_change(path, detector) as index:
            ask(index)
        taken.append(round(1e3 * (time.perf_counter() - begun), 1))
    return {"add_ms": taken[0], "remove_ms": taken[1], "memory_MB": megabytes()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=1_000_000)
    parser.add_argument("--d", type=int, default=256, help="numbers of a vector [%(default)s]")
    parser.add_argument("--results", default="benchmarks/results/robustness_large.json")
    parser.add_argument("--part", nargs=2, help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.part:
        name, path = flags.part
        print(json.dumps({"search": search, "change": change}[name](path, flags.d)))
        return
    found = {"questions": flags.questions, "d": flags.d}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "index")
        begun = time.perf_counter()
        random_index(random_detector(flags.d), flags.questions).save(path)
        found["save_s"] = round(time.perf_counter() - begun, 1)
        found["disk_MB"] = sum(f.stat().st_size for f in path.rglob("*")) // 1_000_000
        for part in ("search", "change"):
            command = [sys.executable, __file__, "--d", str(flags.d), "--part", part, str(path)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            found[part] = json.loads(done.stdout)
    print(json.dumps(found, indent=1))
    Path(flags.results).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
