"""Many threads on one detector and one index, from the first use on: each answer is that of one thread.

Threads compare, encode, search, and add and remove their own questions; the answers are compared with
those of another detector, asked by one thread before.

    python benchmarks/robustness/threads.py --threads 20 --seconds 180
"""

import argparse
import json
import random
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np
from add import WORDS, random_detector

from siamese.search.index import QuestionIndex


def questions(count: int, seed: int) -> list[str]:
    dice = random.Random(seed)
    return [" ".join(dice.choices(WORDS, k=dice.randint(1, 12))) for _ in range(count)]


def measure(threads: int, seconds: float) -> dict:
    """Runs the threads; each kind of answer is counted, each difference kept."""
    # Two texts go through NumPy, hundreds through JAX, which is imported meanwhile.
    batches = [questions(n, seed) for seed, n in enumerate([1, 2, 3, 40, 200, 400])]
    reference = random_detector(32)
    vectors = [reference.encode(batch) for batch in batches]
    old = questions(2_000, 99)
    # By vectors alone: what others add and remove changes the weights of words, and so a hybrid order.
    whole = QuestionIndex.build(reference, old)
    wanted = [hit.similarity for hit in whole.search(batches[0][0], mode="vectors")]
    detector = random_detector(32)
    index = QuestionIndex.build(detector, old)
    counts, faults, end = Counter(), [], time.monotonic() + seconds

    def work(number: int) -> None:
        dice = random.Random(number)
        try:
            while time.monotonic() < end:
                at = dice.randrange(len(batches))
                what = dice.choice(["encode", "similarity", "search", "change"])
                if what == "encode":
                    np.testing.assert_allclose(detector.encode(batches[at]), vectors[at], atol=1e-5)
                elif what == "similarity":
                    found = detector.similarity(batches[at], batches[at][::-1])
                    right = np.vecdot(vectors[at], vectors[at][::-1])
                    np.testing.assert_allclose(found, right, atol=1e-5)
                elif what == "search":
                    hits = index.search(batches[0][0], k=len(old) + threads, mode="vectors")
                    kept = [hit for hit in hits if isinstance(hit.id, int)]  # not the threads' own
                    assert [hit.similarity for hit in kept[:10]] == wanted and len(kept) == 2_000
                    assert all(old[hit.id] == hit.question for hit in kept)
                else:
                    i = f"{number}-{counts['change']}"
                    index.add(batches[1][0], ids=[i])
                    assert i in index and index.remove(i) == 1 and i not in index
                counts[what] += 1
        except BaseException as error:
            faults.append(f"{what}: {type(error).__name__}: {error}")

    running = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert not faults, faults[:3]
    assert len(index) == len(old) and [r["question"] for r in index.entries] == old
    return {"threads": threads, "seconds": seconds, **counts, "faults": 0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--results", default="benchmarks/results/robustness_threads.json")
    flags = parser.parse_args()
    found = measure(flags.threads, flags.seconds)
    print(*(f"{name:<16}{value:>10,}" for name, value in found.items()), sep="\n")
    Path(flags.results).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
