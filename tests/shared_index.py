"""Processes that write and read one index, for tests/search/test_faults.py and benchmarks/faults.py."""

import itertools
import json
import random
import time
from collections import Counter
from pathlib import Path

from small_models import WORDS, make_detector

from siamese.search.index import QuestionIndex


def question(i: str, version: int = 0) -> str:
    """The text of an id: words that are drawn from id and version, then both."""
    dice = random.Random(f"{i} {version}")
    return " ".join([*dice.choices(WORDS, k=dice.randint(2, 7)), str(version), i])


def version_of(i: str, text: str) -> int:
    """The version of a text; AssertionError where the text does not belong to the id."""
    version = int(text.split()[-2])
    assert text == question(i, version), f"the id {i} has the text {text!r}"
    return version


def write(folder: Path, name: str, seconds: float, stays_open: bool) -> None:
    """Adds, replaces and removes pairs of questions; logs each change when it is acknowledged."""
    detector, dice, versions = make_detector(), random.Random(name), {}
    end, index = time.monotonic() + seconds, QuestionIndex.open(folder / "index", detector)
    with open(folder / f"{name}.log", "w", buffering=1) as log:
        for n in itertools.takewhile(lambda n: time.monotonic() < end, itertools.count()):
            if not stays_open:
                index.close()
                index = QuestionIndex.open(folder / "index", detector)
            pair = f"{name}-{n}" if n % 5 < 3 else dice.choice(list(versions))
            ids = [f"{pair}/a", f"{pair}/b"]
            if n % 5 == 4:
                index.remove(ids)
                del versions[pair]
            else:
                versions[pair] = versions.get(pair, -1) + 1
                index.add([question(i, versions[pair]) for i in ids], ids=ids)
            print(json.dumps([pair, versions.get(pair)]), file=log)
    index.close()


def read(folder: Path, name: str, seconds: float, stays_open: bool) -> None:
    """Searches; an answer must be of one moment, and each text must have its own vector."""
    detector, dice, counts = make_detector(), random.Random(name), Counter()
    end, index = time.monotonic() + seconds, QuestionIndex.open(folder / "index", detector)
    while time.monotonic() < end:
        if not stays_open:
            index.close()
            index = QuestionIndex.open(folder / "index", detector)
        query = question(str(counts["reads"]))
        hits = index.search(query, k=1_000_000)
        pairs = Counter((hit.id[:-2], version_of(hit.id, hit.question)) for hit in hits)
        assert set(pairs.values()) == {2}, "half a change was read"
        for hit in dice.sample(hits, 5):
            assert abs(detector.similarity(query, hit.question) - hit.similarity) < 1e-4, hit
        counts.update(reads=1, hits=len(hits))
    index.close()
    (folder / f"{name}.log").write_text(json.dumps(counts))
