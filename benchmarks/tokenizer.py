"""How fast questions become tokens: plain NLTK on one core beside `tokenize_questions`.

    python benchmarks/tokenizer.py                                # the embedded corpus
    python benchmarks/tokenizer.py --questions questions.csv.gz --runs 5

Every run times each way in turn, so that a busy machine slows all of them alike; the table shows
medians and the spread. "Cold" has no kept tokens and includes starting the worker processes and
writing the file; "warm" reads it back. The last line is a whole new process: Python, imports,
reading the questions, and their kept tokens.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from joblib import cpu_count

from siamese.data.corpus import embedded_corpus
from siamese.data.pairs import read_pairs
from siamese.data.tokenizer import _nltk, fast_path, tokenizer_version
from siamese.data.tokens import tokenize_questions

WARM_PROCESS = """
import sys
from siamese.data.pairs import read_pairs
from siamese.data.tokens import tokenize_questions
pairs = read_pairs(sys.argv[1])
tokenize_questions([*pairs.question1, *pairs.question2], cache_dir=sys.argv[2], progress=False)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", help="a file of question pairs; default: embedded corpus")
    parser.add_argument("--runs", type=int, default=3, help="runs of each way (default 3)")
    arguments = parser.parse_args()

    pairs = read_pairs(arguments.questions) if arguments.questions else embedded_corpus().train
    texts = list(dict.fromkeys([*pairs.question1, *pairs.question2]))
    plain = _nltk()  # Punkt and NLTKWordTokenizer, as nltk.word_tokenize runs them
    share = sum(fast_path(text) is not None for text in texts) / len(texts)
    print(f"{len(texts):,} distinct questions, {share:.1%} of which take the short way")
    print(f"{cpu_count()} cores; {tokenizer_version()}\n")

    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder, "kept")

        def ours(processes: int | None, cache: Path) -> Callable[[], object]:
            return lambda: tokenize_questions(
                texts, cache_dir=cache, processes=processes, progress=False
            )

        def cold(processes: int | None) -> Callable[[], object]:
            return lambda: ours(processes, Path(tempfile.mkdtemp(dir=folder)))()

        ways = {
            "plain NLTK, one core": lambda: [plain(text) for text in texts],
            "ours, cold, one process": cold(1),
            "ours, cold, all cores": cold(None),
            "ours, warm": ours(None, kept),
        }
        if arguments.questions:
            command = [sys.executable, "-c", WARM_PROCESS, arguments.questions, str(kept)]
            ways["ours, warm, whole process"] = lambda: subprocess.run(command, check=True)
            subprocess.run(command, check=True)  # keeps the list that this way reads
        ours(None, kept)()
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(arguments.runs):
            for name, way in ways.items():
                start = time.perf_counter()
                way()
                seconds[name].append(time.perf_counter() - start)

    base = statistics.median(seconds["plain NLTK, one core"])
    print(f"{'median of ' + str(arguments.runs):27}{'seconds':>9}{'from':>7}{'to':>7}", end="")
    print(f"{'questions/s':>14}{'times NLTK':>12}")
    for name, times in seconds.items():
        median = statistics.median(times)
        print(
            f"{name:27}{median:9.2f}{min(times):7.2f}{max(times):7.2f}"
            f"{len(texts) / median:14,.0f}{base / median:12.1f}"
        )
    busy = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(f"\nload of the machine at the end: {busy:.1f}")


if __name__ == "__main__":
    main()
