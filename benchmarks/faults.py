"""Faults made on purpose: a shared index, kills, a full disk, threads, odd files.

    python benchmarks/faults.py sharing --seconds 60
    python benchmarks/faults.py kills --times 50
    sudo python benchmarks/faults.py disk

Each part raises an AssertionError where something is lost, mixed or refused. Otherwise it prints one line
of figures, and writes them to benchmarks/results/faults.json.
"""

import argparse
import contextlib
import itertools
import json
import multiprocessing
import os
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests" / "helpers"))

from corpus_parts import small_corpus, write_pairs
from killed_training import PRELOADED, killed_runs
from odd_files import run, run_all
from programs import mounted_tmpfs
from small_models import WORDS, make_detector, random_questions

from siamese import QuestionIndex, QuestionPairs

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(PRELOADED)


# ---- Processes that write and read one index ----


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


def sharing(flags: argparse.Namespace, folder: Path) -> dict:
    """4 processes write and 4 read one index; two of each stay open, two open it for every call."""
    first, detector = [f"first-{n}/{k}" for n in range(50) for k in "ab"], make_detector()
    QuestionIndex.build(detector, [*map(question, first)], ids=first, path=folder / "index").close()
    children = []
    for work, n in itertools.product((write, read), range(4)):
        arguments = (folder, f"{work.__name__}{n}", flags.seconds, n % 2 == 0)
        children.append(PROCESSES.Process(target=work, args=arguments))
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
    return {"seconds": flags.seconds, **counts, "questions at the end": len(stored)}


def contents(folder: Path) -> dict[str, object]:
    """What each file holds, of an index its rows; hidden files and a run's curves are left out."""
    contents: dict[str, object] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = str(path.relative_to(folder))
        if path.name == "index":
            with contextlib.closing(sqlite3.connect(path)) as db:
                # `model` has a path of the folder, and `change` numbers that are drawn.
                left_out = "'model'", 'INSERT INTO "change"'
                lines = (line for line in db.iterdump() if not any(w in line for w in left_out))
                contents[name] = list(lines)
        elif not path.name.startswith(".") and not name.endswith((".jsonl", "-wal", "-shm")):
            contents[name] = path.read_bytes()
    return contents


# ---- SIGKILL in the middle of each writing path ----


def build(folder: Path, n: int, count: int = 20) -> None:
    texts = [question(str(i), n) for i in range(count + n % 7)]  # so few are encoded without JAX
    places = {"path": folder / "index", "model": folder / "model.safetensors", "overwrite": True}
    columns = [{"long": 10_000 // count * text} for text in texts]
    QuestionIndex.build(make_detector(), texts, columns=columns, **places).close()


def save_model(folder: Path, n: int) -> None:
    make_detector(threshold=n / 1e6).save(folder / "model.safetensors", overwrite=True)


def change(method: str, arguments):
    """A step that calls a method of the index in the folder."""

    def step(folder: Path, n: int) -> None:
        with QuestionIndex.open(folder / "index") as index:
            getattr(index, method)(*arguments(n))

    return step


def duplicates(folder: Path, n: int) -> None:
    flags = ["--threshold", (0.9, 0.95)[n % 2], "--regroup", "--output", folder / "groups.csv"]
    run(["duplicates", folder / "index", *flags, "--overwrite"])


def answer(n: int) -> list[QuestionPairs]:
    return [QuestionPairs([question(str(n % 99))], [question(str(100 + n // 99))], [n % 2])]


# Each writes number n, from 1; the same numbers make the same files.
STEPS = {
    "index build": build,
    "index add": change("add", lambda n: [[question(f"new {n}"), question(f"newer {n}")]]),
    "index remove": change("remove", lambda n: [[2 * n, 2 * n + 1]]),
    "threshold": change("set_threshold", lambda n: [{"threshold": n / 1e6, "calibration": None}]),
    "answers": change("add_answers", answer),
    "duplicates --output": duplicates,
    "a model": save_model,
}


def keep_writing(name: str, folder: Path, log: Path, first: int) -> None:
    """Writes number after number; logs each when it is acknowledged."""
    with open(log, "a", buffering=1) as lines:
        for n in itertools.count(first):
            STEPS[name](folder, n)
            print(n, file=lines)


def kills(flags: argparse.Namespace, folder: Path) -> dict:
    """Each file that a killed process leaves is as the acknowledged steps, or one more, make it."""
    dice, log, figures = random.Random(1), folder / "log", {"times": flags.times}
    for at, (name, step) in enumerate(STEPS.items()):
        killed, reference, last, more = folder / f"{at}", folder / f"{at} whole", 0, 0
        killed.mkdir()
        save_model(killed, 0)
        build(killed, 0, 5000 if name == "index remove" else 200)
        shutil.copytree(killed, reference)
        for _ in range(flags.times):
            log.write_text(f"{last}\n")
            child = PROCESSES.Process(target=keep_writing, args=(name, killed, log, last + 1))
            child.start()
            goal = last + dice.randint(0, 4)
            while int(log.read_text().split()[-1]) < goal and child.is_alive():
                time.sleep(0.002)
            time.sleep(dice.uniform(0, 0.06))
            child.kill()
            child.join()
            assert child.exitcode == -signal.SIGKILL, f"{name}: the child failed"
            acknowledged = int(log.read_text().split()[-1])
            for n in range(last + 1, acknowledged + 1):
                step(reference, n)
            last = acknowledged
            before = contents(reference)
            if contents(killed) != before:
                last, more = last + 1, more + 1
                step(reference, last)
            after = contents(reference)  # A step of two files may have written one of them.
            for path, content in contents(killed).items():
                assert content in (before.get(path), after[path]), f"{name}: half written: {path}"
            last += 1
            for place in (killed, reference):
                step(place, last)
            assert contents(killed) == contents(reference), f"{name}: the next write failed"
            assert len(list(killed.iterdir())) == len(contents(killed)), f"{name}: files are left"
        figures[name] = {"steps": last, "done but not acknowledged": more}
    return figures


# ---- The disk is full ----


def writing_commands(at: Path) -> dict[str, list]:
    """Every command that writes files, all of them to the folder `at`."""
    pairs, model, index = at / "pairs.csv", at / "run" / "model.safetensors", at / "index"
    train = ["train", "--preset", "course", "--batch-size", 32, "--set=d_model=32"]
    train += ["--questions", pairs, "--output"]
    build = ["index", "build", at / "list.txt", "--model", model, "--output"]
    return {
        "train": [*train, at / "new", "--steps", 8],
        "train, resumed": [*train, at / "run", "--steps", 12],
        "index build": [*build, at / "new"],
        "index build, again": [*build, index, "--overwrite"],
        "index add": ["index", "add", index, at / "more.txt"],
        "index remove": ["index", "remove", index, "--ids", *range(0, 300, 2)],
        "index export": ["index", "export", index, at / "new.parquet"],
        "threshold": ["threshold", index, "--answers", pairs],
        "duplicates": ["duplicates", index, "--threshold", 0.3, "--output", at / "groups.csv"],
    }


def disk(flags: argparse.Namespace, folder: Path) -> dict:
    """Each command meets nine disks: one that is full, then eight ever nearer to what suffices."""
    files = folder / "files"
    files.mkdir()
    write_pairs(files / "pairs.csv", small_corpus(train=400).train)
    for name in ("list", "more"):
        (files / f"{name}.txt").write_text("\n".join(question(f"{name} {n}") for n in range(400)))
    run([*writing_commands(files)["train, resumed"][:-2], "--steps", 8])
    run(writing_commands(files)["index build, again"])
    figures = {}
    for name in writing_commands(files):
        low, high, refused = 0, 8 << 20, 0
        for n in range(9):
            free = (low + high) // 2 if n else 0
            with mounted_tmpfs(folder / "disk", "64m") as at:
                shutil.copytree(files, at, dirs_exist_ok=True)
                before, state = contents(at), os.statvfs(at)
                with open(at / ".filler", "wb") as filler:
                    size = state.f_bavail * state.f_frsize - free
                    os.posix_fallocate(filler.fileno(), 0, size)
                code, messages = run(writing_commands(at)[name], (0, 2))
                os.unlink(at / ".filler")
                if code == 0:
                    high = free
                    continue
                low, refused = free, refused + 1
                assert "the disk is full" in messages, (name, free, messages)
                after = contents(at)
                assert all(after.get(file) == value for file, value in before.items()), (name, free)
                run(writing_commands(at)[name])
                left = [path.name for path in at.rglob("*") if ".tmp-" in path.name]
                assert not left, (name, free, left)
        figures[name] = {"refused of 9": refused, "bytes that suffice": high}
    return figures


# ---- Threads; odd files and training, which tests/helpers has ----


def threads(flags: argparse.Namespace, folder: Path) -> dict:
    """20 threads share a detector and an index from their first use on; each gets the right answers."""
    batches = [random_questions(n, n) for n in (1, 2, 40, 400)]
    stored, reference = random_questions(2000, 0), make_detector()
    vectors = [reference.encode(batch) for batch in batches]
    detector, counts = make_detector(), Counter()
    index = QuestionIndex.build(detector, stored, path=folder / "index")
    # By vectors alone: the questions that others add change the weights of words.
    best = [hit.similarity for hit in index.search(batches[0][0], mode="vectors")]
    end = time.monotonic() + flags.seconds

    def work(number: int) -> None:
        dice = random.Random(number)
        while time.monotonic() < end:
            at, what = dice.randrange(len(batches)), dice.choice(["encode", "search", "change"])
            if what == "encode":
                np.testing.assert_allclose(detector.encode(batches[at]), vectors[at], atol=1e-5)
            elif what == "search":
                hits = index.search(batches[0][0], k=3000, mode="vectors")
                hits = [hit for hit in hits if hit.id.isdecimal()]  # not the other threads'
                assert [hit.similarity for hit in hits[:10]] == best and len(hits) == 2000
                assert all(stored[int(hit.id)] == hit.question for hit in hits)
            else:
                i = f"thread {number}"
                index.add(batches[1][0], ids=[i])
                assert index.remove(i) == 1
            counts[what] += 1

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(work, range(20)))
    assert [entry["question"] for entry in index.entries] == stored
    index.close()
    return {"threads": 20, "seconds": flags.seconds, **counts}


PARTS = {part.__name__: part for part in (sharing, kills, disk, threads)}
# Odd, damaged and hostile files through every command that reads one.
PARTS["files"] = lambda flags, folder: run_all(folder)
# `siamese train` killed again and again: each run that ends equals one that was never killed.
PARTS["train"] = lambda flags, folder: killed_runs(folder, flags.times, ["KILL"], steps=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--seconds", type=float, default=60, help="sharing, threads [%(default)s]")
    parser.add_argument("--times", type=int, default=50, help="kills, train [%(default)s]")
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks/results/faults.json")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = PARTS[flags.part](flags, Path(folder))
    print(flags.part, json.dumps(figures))
    results = json.loads(flags.results.read_text()) if flags.results.exists() else {}
    results[flags.part] = figures
    flags.results.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
