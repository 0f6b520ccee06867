"""Processes that write and read one index, for benchmarks/faults.py."""

import itertools
import json
import multiprocessing
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


def share(folder: Path, seconds: float) -> dict:
    """4 processes write and 4 read one index; two of each stay open, two open it for every call.

    Returns figures; AssertionError where something is lost, mixed or refused.
    """
    processes = multiprocessing.get_context("forkserver")
    first, detector = [f"first-{n}/{k}" for n in range(50) for k in "ab"], make_detector()
    QuestionIndex.build(detector, [*map(question, first)], ids=first, path=folder / "index").close()
    children = []
    for work, n in itertools.product((write, read), range(4)):
        arguments = (folder, f"{work.__name__}{n}", seconds, n % 2 == 0)
        children.append(processes.Process(target=work, args=arguments))
        children[-1].start()
    for child in children:
        child.join()
    assert not any(child.exitcode for child in children), "a process failed"
    logs = [(folder / f"write{n}.log").read_text().splitlines() for n in range(4)]
    versions = dict(json.loads(line) for log in logs for line in log)
    expected = {f"{pair}/{k}": v for pair, v in versions.items() if v is not None for k in "ab"}
    expected.update(dict.fromkeys(first, 0))
    with QuestionIndex.open(folder / "index", detector) as index:
        entries = index.entries
    stored = {entry["id"]: version_of(entry["id"], entry["question"]) for entry in entries}
    assert stored == expected, f"lost, or not removed: {stored.items() ^ expected.items()}"
    assert [p.name for p in folder.iterdir() if p.suffix != ".log"] == ["index"], "files are left"
    counts = Counter(changes=sum(map(len, logs)))
    for n in range(4):
        counts.update(json.loads((folder / f"read{n}.log").read_text()))
    return {"seconds": seconds, **counts, "questions at the end": len(stored)}
