"""Writers and readers of one index, and writers that are killed: nothing is lost, mixed or left over.

Writers add two questions at a time and remove earlier ones; readers load and search. Every answer must be
that of one generation: pairs stand together, each text has its own id and vector. What a writer was told is
saved must be there at the end. Then a process that adds, one that saves a model, and one that writes the
groups of duplicates to a file, is killed (SIGKILL) again and again; nothing acknowledged may be lost, no
file half written, and the next write leaves nothing of the killed one.

    python benchmarks/robustness/sharing.py --seconds 60 --kills 50
"""

import argparse
import contextlib
import functools
import io
import json
import random
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from pathlib import Path

from add import WORDS, random_detector

from siamese.cli.main import main as siamese
from siamese.errors import SiameseError
from siamese.search.detector import DuplicateDetector
from siamese.search.index import QuestionIndex

D = 16


def text_of(i: str) -> str:
    """The question that belongs to an id: words drawn from it, then the id itself."""
    dice = random.Random(zlib.crc32(i.encode()))
    return " ".join([*dice.choices(WORDS, k=dice.randint(2, 7)), i])


# ---- Children: each prints what was acknowledged, a line each ----


def write(path: str, name: str, seconds: float) -> None:
    """Adds pairs and removes some of them; prints + or - and the pair once it is saved."""
    detector, end, mine, n = random_detector(D), time.monotonic() + seconds, [], 0
    while time.monotonic() < end:
        pair = f"{name}-{n}"
        with QuestionIndex.open_for_change(path, detector) as index:
            index.add([text_of(f"{pair}-{k}") for k in "ab"], ids=[f"{pair}-{k}" for k in "ab"])
        print("+", pair, flush=True)
        mine.append(pair)
        if n % 3 == 2:
            gone = mine.pop(random.Random(n).randrange(len(mine)))
            with QuestionIndex.open_for_change(path, detector) as index:
                index.remove([f"{gone}-{k}" for k in "ab"])
            print("-", gone, flush=True)
        n += 1


def read(path: str, name: str, seconds: float) -> None:
    """Loads, refreshes and searches; prints how often, and each fault."""
    detector, end = random_detector(D), time.monotonic() + seconds
    counts, index = Counter(), QuestionIndex.load(path, detector)
    while time.monotonic() < end:
        try:
            if counts["loads"] % 10 == 0 or not index.refresh():
                index = QuestionIndex.load(path, detector, check=counts["loads"] % 2 == 0)
            counts["loads"] += 1
            asked = text_of(f"{name}-{counts['loads']}")
            hits = index.search(asked, k=len(index) + 1)
            counts["hits"] += len(hits)
            for hit in hits:
                if hit.question != text_of(hit.id):
                    print("FAULT mixed text", hit, flush=True)
            some = random.Random(counts["loads"]).sample(hits, min(5, len(hits)))
            for hit in some:
                if abs(detector.similarity(asked, hit.question) - hit.similarity) > 1e-4:
                    print("FAULT mixed vector", hit, flush=True)
            pairs = Counter(hit.id.rpartition("-")[0] for hit in hits)
            if len(hits) != len(index) or set(pairs.values()) - {2}:
                print("FAULT half a change", flush=True)
        except SiameseError as error:
            counts["loads"] += 1
            print("FAULT refused:", error, flush=True)
    print("READ", json.dumps(counts), flush=True)


def add(path: str, name: str, start: float) -> None:
    """Adds one question after the other; prints each once it is saved."""
    detector, n = random_detector(D), int(start)
    print("READY", flush=True)
    while True:
        with QuestionIndex.open_for_change(path, detector) as index:
            index.add(text_of(str(n)), ids=[n])
        print("+", n, flush=True)
        n += 1


def save(path: str, name: str, start: float) -> None:
    """Saves one model after the other; prints each once it is saved."""
    detector, n = random_detector(64), int(start)
    print("READY", flush=True)
    while True:
        detector.threshold = float(n)
        detector.save(path)
        print("+", n, flush=True)
        n += 1


def write_groups(path: Path, n: int) -> None:
    """Writes the groups of `path / "index"` by one of two thresholds to `path / "groups.csv"`."""
    flags = ["--threshold", str((0.9, 0.95)[n % 2]), "--output", str(path / "groups.csv")]
    with contextlib.redirect_stdout(io.StringIO()):
        assert siamese(["duplicates", str(path / "index"), *flags]) == 0


def groups(path: str, name: str, start: float) -> None:
    """Writes the file of groups again and again; prints each once it is written."""
    n = int(start)
    print("READY", flush=True)
    while True:
        write_groups(Path(path), n)
        print("+", n, flush=True)
        n += 1


# ---- What the parent does ----


def child(what: str, *arguments) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, __file__, "--child", what, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
    )


def shared(path: Path, writers: int, readers: int, seconds: float) -> dict:
    """The run of writers and readers; raises AssertionError where anything is lost or mixed."""
    detector = random_detector(D)
    first = [f"first-{n}-{k}" for n in range(50) for k in "ab"]
    QuestionIndex.build(detector, list(map(text_of, first)), ids=first).save(path)
    running = [child("write", path, f"w{n}", seconds) for n in range(writers)]
    running += [child("read", path, f"r{n}", seconds) for n in range(readers)]
    lines = [line for one in running for line in one.communicate()[0].splitlines()]
    assert all(one.returncode == 0 for one in running), "a process failed"
    faults = [line for line in lines if line.startswith("FAULT")]
    assert not faults, faults[:5]
    added = {line[2:] for line in lines if line.startswith("+")}
    removed = {line[2:] for line in lines if line.startswith("-")}
    wanted = {f"{pair}-{k}" for pair in added - removed for k in "ab"} | set(first)
    index = QuestionIndex.load(path, detector)
    found = {record["id"]: record["question"] for record in index.entries}
    assert set(found) == wanted, f"{len(wanted - set(found))} lost, {len(set(found) - wanted)} more"
    assert all(text == text_of(i) for i, text in found.items())
    assert len(list(path.iterdir())) == 3, "something was left over"
    counts = sum(
        (Counter(json.loads(line[5:])) for line in lines if line.startswith("READ")), Counter()
    )
    return {
        "writers": writers,
        "readers": readers,
        "seconds": seconds,
        "changes_saved": len(added) + len(removed),
        "loads": counts["loads"],
        "hits_checked": counts["hits"],
        "questions_at_the_end": len(found),
        "lost_mixed_or_refused": 0,
    }


def killed(what: str, path: Path, kills: int, check, write_once, entries: int = 3) -> dict:
    """Kills a child `kills` times; `check` finds the newest number saved, `write_once` saves the next."""
    dice, last, in_flight = random.Random(1), 0, 0
    for _ in range(kills):
        running = child(what, path, "k", last + 1)
        assert running.stdout.readline() == "READY\n"
        for _ in range(dice.randint(0, 5)):
            last = int(running.stdout.readline().split()[1])
        time.sleep(dice.uniform(0, 0.06))
        running.kill()
        rest = [int(line[2:]) for line in running.communicate()[0].splitlines()]
        last = max([last, *rest])
        found = check(last)
        assert found in (last, last + 1), f"{last} was acknowledged, {found} is there"
        in_flight += found > last
        last = found + 1
        write_once(last)
        assert len(list(path.iterdir())) == entries, (
            "the next write left something of the killed one"
        )
    return {"kills": kills, "saved": last, "saved_and_not_told": in_flight, "lost": 0}


def kill_additions(path: Path, kills: int) -> dict:
    detector = random_detector(D)
    QuestionIndex.build(detector, [text_of("0")], ids=[0]).save(path)

    def check(last: int) -> int:
        records = list(QuestionIndex.load(path, detector).entries)
        ids = [record["id"] for record in records]
        assert ids == list(range(len(ids))), "a question is missing"
        assert all(record["question"] == text_of(str(record["id"])) for record in records)
        return ids[-1]

    def write_once(n: int) -> None:
        with QuestionIndex.open_for_change(path, detector) as index:
            index.add(text_of(str(n)), ids=[n])

    return killed("add", path, kills, check, write_once)


def kill_saves(path: Path, kills: int) -> dict:
    path.mkdir()  # the directory of a run: the model is a file in it
    detector = random_detector(64)

    def write_once(n: int) -> None:
        detector.threshold = float(n)
        detector.save(path)

    write_once(0)

    def check(last: int) -> int:
        return int(DuplicateDetector.load(path).threshold)

    return killed("save", path, kills, check, write_once, entries=1)


def kill_groups(path: Path, kills: int) -> dict:
    path.mkdir()
    detector = random_detector(D)
    detector.save(path / "model")
    made = QuestionIndex.build(detector, [text_of(str(n)) for n in range(400)])
    made.save(path / "index", model=path / "model")
    whole = []
    for n in (0, 1):
        write_groups(path, n)
        whole.append((path / "groups.csv").read_bytes())
    assert len(whole[0]) != len(whole[1])

    def check(last: int) -> int:
        content = (path / "groups.csv").read_bytes()
        assert content in whole, "the file is half written"
        return last + (content != whole[last % 2])

    write_once = functools.partial(write_groups, path)
    write_once(0)
    return killed("groups", path, kills, check, write_once)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--readers", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--results", default="benchmarks/results/robustness_sharing.json")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.child:
        what, path, name, number = flags.child
        children = {"write": write, "read": read, "add": add, "save": save, "groups": groups}
        return children[what](path, name, float(number))
    with tempfile.TemporaryDirectory() as folder:
        found = {
            "shared": shared(Path(folder, "shared"), flags.writers, flags.readers, flags.seconds),
            "index_add_killed": kill_additions(Path(folder, "added"), flags.kills),
            "model_save_killed": kill_saves(Path(folder, "model"), flags.kills),
            "duplicates_output_killed": kill_groups(Path(folder, "groups"), flags.kills),
        }
    for part, figures in found.items():
        print(part, *(f"  {name:<28}{value:>12,}" for name, value in figures.items()), sep="\n")
    Path(flags.results).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
