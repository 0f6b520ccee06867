"""What adding one question to a large index costs: milliseconds and bytes written.

The index holds random vectors; a change is lock, load, add, save. Bytes are those that the process handed
to the disk (/proc/self/io), and the sizes of the files that the older generation did not have.

    python benchmarks/robustness/add.py --questions 144593
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from siamese.data.vocabulary import Vocabulary
from siamese.nn.encoder import TowerConfig
from siamese.search.detector import DuplicateDetector
from siamese.search.index import QuestionIndex
from siamese.search.segments import Entries, Segment, State, id_keys
from siamese.storage.store import find_current

WORDS = ["how", "far", "is", "the", "way", "number", "old", "are", "you", "?"]


def random_detector(d: int) -> DuplicateDetector:
    """An untrained model whose vectors have `d` numbers."""
    vocabulary = Vocabulary.from_words(WORDS)
    tower = TowerConfig(vocabulary.size, d, mask_padding=True)
    draw = np.random.default_rng(0)
    weights = {n: draw.standard_normal(s).astype(np.float32) for n, s in tower.shapes().items()}
    return DuplicateDetector(weights, vocabulary, tower)


def random_index(detector: DuplicateDetector, count: int) -> QuestionIndex:
    """An index of `count` questions with random vectors and ids from 0."""
    draw = np.random.default_rng(1)
    vectors = draw.standard_normal((count, detector.tower.output_size)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    entries = Entries.of(
        {"id": i, "question": f"how far is the way number {i} ?", "columns": {}}
        for i in range(count)
    )
    segment = Segment(vectors, entries, id_keys(range(count)))
    return QuestionIndex(detector, State((segment,)), next_id=count)


def bytes_to_disk() -> int:
    """What this process has handed to the disk so far."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["write_bytes"])


def files(path: Path) -> dict[int, int]:
    """Inode -> size of the current generation's files."""
    return {f.stat().st_ino: f.stat().st_size for f in find_current(path).iterdir()}


def measure(questions: int, d: int, times: int) -> dict:
    """Adds one question `times` times."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        detector, path = random_detector(d), Path(folder, "index")
        random_index(detector, questions).save(path)
        found = {"ms": [], "cpu_ms": [], "to_disk": [], "new_files": []}
        for n in range(times + 1):
            before, disk = files(path), bytes_to_disk()
            begun, cpu = time.perf_counter(), time.process_time()
            with QuestionIndex.open_for_change(path, detector) as index:
                index.add("how old are you ?")
            if n:  # The first one pays for what the process does once.
                found["ms"].append(1e3 * (time.perf_counter() - begun))
                found["cpu_ms"].append(1e3 * (time.process_time() - cpu))
                found["to_disk"].append(bytes_to_disk() - disk)
                new = {i: size for i, size in files(path).items() if i not in before}
                found["new_files"].append(sum(new.values()))
            else:
                first = 1e3 * (time.perf_counter() - begun)
        with QuestionIndex.open_for_change(path, detector) as index:
            assert index.remove(5) == 1 and len(index) == questions + times
    return {
        "questions": questions,
        "load_of_the_machine": round(os.getloadavg()[0], 1),
        "d": d,
        "additions": times,
        "index_MB": round(sum(before.values()) / 1e6, 1),
        "first_ms": round(first, 1),
        "median_ms": round(statistics.median(found["ms"]), 1),
        "fastest_ms": round(min(found["ms"]), 1),
        "median_cpu_ms": round(statistics.median(found["cpu_ms"]), 1),
        "worst_ms": round(max(found["ms"]), 1),
        "median_bytes_to_disk": int(statistics.median(found["to_disk"])),
        "median_bytes_of_new_files": int(statistics.median(found["new_files"])),
        "largest_bytes_of_new_files": max(found["new_files"]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=144_593)
    parser.add_argument("--d", type=int, default=256, help="numbers of a vector [%(default)s]")
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--results", default="benchmarks/results/robustness_add.json")
    flags = parser.parse_args()
    found = measure(flags.questions, flags.d, flags.times)
    for name, value in found.items():
        print(f"{name:<28}{value:>14,}")
    Path(flags.results).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
