"""Peak memory while a file of a million and of ten million pairs is streamed.

    python benchmarks/stream.py                      # both sizes, about 1.3 GB of temporary files
    python benchmarks/stream.py --pairs 1000000      # one size

The files are made from generated questions with running ids, in a temporary folder that is removed.
Each is read with `iter_pairs` in a process of its own, whose peak resident memory is what the operating
system reports (ru_maxrss); beside it stands a process that imports the reader and reads nothing.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BLOCK = 100_000


def make_file(path: Path, pairs: int) -> None:
    """Writes a CSV with the course's columns; every tenth question is quoted, a third are duplicates."""
    tails = [
        f"How do I learn topic {i % 97} in {i % 13} weeks{' of hard work' * (i % 5)}?,"
        + (f'"What is the ""best"" way, to learn topic {i % 97}?"' if i % 10 == 0 else
           f"What is the best way to learn topic {i % 89} quickly?")
        + f",{int(i % 3 == 0)}"
        for i in range(BLOCK)
    ]  # fmt: skip
    with open(path, "w", encoding="utf-8") as file:
        file.write("id,qid1,qid2,question1,question2,is_duplicate\n")
        for start in range(0, pairs, BLOCK):
            count = min(BLOCK, pairs - start)
            file.write(
                "".join(
                    f"{start + i},{2 * (start + i) + 1},{2 * (start + i) + 2},{tails[i]}\n"
                    for i in range(count)
                )
            )


def stream(path: str) -> None:
    """Child process: reads `path` (nothing where it is empty) and prints what it took."""
    from siamese.data.pairs import iter_pairs

    start = time.perf_counter()
    pairs = duplicates = characters = 0
    for chunk in iter_pairs(path) if path else ():
        pairs += len(chunk)
        duplicates += int(chunk.is_duplicate.sum())
        characters += sum(map(len, chunk.question1))
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # KiB on Linux, bytes on macOS
    peak_mib = peak / (1 << 20) if sys.platform == "darwin" else peak / 1024
    print(pairs, duplicates, seconds, peak_mib)


def measure(path: str) -> list[float]:
    """[pairs, duplicates, seconds, peak MiB] of streaming `path` in a new process."""
    command = [sys.executable, __file__, "--child", path]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    return [float(value) for value in result.stdout.split()]


def main() -> None:
    """Makes the files, streams each, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child is not None:
        stream(arguments.child)
        return
    print(f"{'pairs':>12} {'file MB':>9} {'seconds':>9} {'pairs/s':>10} {'peak MiB':>9}")
    print(f"{'none':>12} {'':>9} {'':>9} {'':>10} {measure('')[3]:>9.0f}")
    for pairs in arguments.pairs:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "pairs.csv"
            make_file(path, pairs)
            megabytes = path.stat().st_size / 1e6
            read, _, seconds, peak = measure(str(path))
        if read != pairs:
            sys.exit(f"{pairs:,} pairs were written and {read:,.0f} read")
        print(
            f"{pairs:>12,} {megabytes:>9,.0f} {seconds:>9.1f} {pairs / seconds:>10,.0f} {peak:>9.0f}"
        )


if __name__ == "__main__":
    main()
