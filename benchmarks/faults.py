"""Faults made on purpose: an index shared or exchanged, kills, full disks, odd files, slow clients.

    python benchmarks/faults.py sharing --seconds 60
    python benchmarks/faults.py kills --times 50
    sudo python benchmarks/faults.py disk

The parts `view` and `disk` mount a directory, which needs root.

Each part raises an AssertionError where something is lost, mixed or refused. Otherwise
it prints one line of figures, and writes them to benchmarks/results/faults.json.
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
import socket
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

ROOT = Path(__file__).parents[1]
OWN = ("tests/helpers", "tests/serving", "benchmarks")
sys.path += [str(ROOT / folder) for folder in OWN]

from corpus_parts import small_corpus, write_pairs
from killed_training import PRELOADED, killed_runs
from odd_files import run, run_all
from programs import mounted_tmpfs, read_only_view
from results import FOLDER, read_figures, write_figures
from small_models import WORDS, make_detector, random_questions

from siamese import ArgumentError, CheckpointError, QuestionIndex, QuestionPairs
from siamese.cli.answers import AnswersFile
from siamese.groups.answers import AnswerChange

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
    end, index = (
        time.monotonic() + seconds,
        QuestionIndex.open(folder / "index", detector),
    )
    with open(folder / f"{name}.log", "w", buffering=1) as log:
        for n in itertools.takewhile(
            lambda n: time.monotonic() < end, itertools.count()
        ):
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


def read(
    folder: Path, name: str, seconds: float, stays_open: bool, logs: Path | None = None
) -> None:
    """Searches; an answer must be of one moment, and each text must have its own vector."""
    detector, dice, counts = make_detector(), random.Random(name), Counter()
    end, index = (
        time.monotonic() + seconds,
        QuestionIndex.open(folder / "index", detector),
    )
    while time.monotonic() < end:
        if not stays_open:
            index.close()
            index = QuestionIndex.open(folder / "index", detector)
        query = question(str(counts["reads"]))
        hits = index.search(query, k=1_000_000)
        pairs = Counter((hit.id[:-2], version_of(hit.id, hit.question)) for hit in hits)
        assert set(pairs.values()) == {2}, "half a change was read"
        for hit in dice.sample(hits, 5):
            assert (
                abs(detector.similarity(query, hit.question) - hit.similarity) < 1e-4
            ), hit
        counts.update(reads=1, hits=len(hits))
    index.close()
    ((logs or folder) / f"{name}.log").write_text(json.dumps(counts))


def sharing(flags: argparse.Namespace, folder: Path) -> dict:
    """4 processes write and 4 read one index; two of each stay open, two open it for every call."""
    first, detector = (
        [f"first-{n}/{k}" for n in range(50) for k in "ab"],
        make_detector(),
    )
    QuestionIndex.build(
        detector, [*map(question, first)], ids=first, path=folder / "index"
    ).close()
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
    expected = {
        f"{pair}/{k}": v for pair, v in versions.items() if v is not None for k in "ab"
    }
    expected.update(dict.fromkeys(first, 0))
    with QuestionIndex.open(folder / "index", detector) as index:
        entries = index.snapshot().entries
    stored = {
        entry["id"]: version_of(entry["id"], entry["question"]) for entry in entries
    }
    assert stored == expected, (
        f"lost, or not removed: {stored.items() ^ expected.items()}"
    )
    assert [p.name for p in folder.iterdir() if p.suffix != ".log"] == ["index"], (
        "files are left"
    )
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
                lines = (
                    line
                    for line in db.iterdump()
                    if not any(w in line for w in left_out)
                )
                contents[name] = list(lines)
        elif not path.name.startswith(".") and not name.endswith(
            (".jsonl", "-wal", "-shm")
        ):
            contents[name] = path.read_bytes()
    return contents


# ---- SIGKILL in the middle of each writing path ----


def build(folder: Path, n: int, count: int = 20) -> None:
    # so few are encoded without JAX
    texts = [question(str(i), n) for i in range(count + n % 7)]
    places = {
        "path": folder / "index",
        "model": folder / "model.safetensors",
        "overwrite": True,
    }
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
    flags = [
        "--threshold",
        (0.9, 0.95)[n % 2],
        "--regroup",
        "--output",
        folder / "groups.csv",
    ]
    run(["duplicates", folder / "index", *flags, "--overwrite"])


def answer(n: int) -> list[QuestionPairs]:
    return [
        QuestionPairs([question(str(n % 99))], [question(str(100 + n // 99))], [n % 2])
    ]


# Each writes number n, from 1; the same numbers make the same files.
STEPS = {
    "index build": build,
    "index add": change(
        "add", lambda n: [[question(f"new {n}"), question(f"newer {n}")]]
    ),
    "index remove": change("remove", lambda n: [[2 * n, 2 * n + 1]]),
    "threshold": change(
        "set_threshold", lambda n: [{"threshold": n / 1e6, "calibration": None}]
    ),
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
            child = PROCESSES.Process(
                target=keep_writing, args=(name, killed, log, last + 1)
            )
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
            # A step of two files may have written one of them.
            after = contents(reference)
            for path, content in contents(killed).items():
                assert content in (before.get(path), after[path]), (
                    f"{name}: half written: {path}"
                )
            last += 1
            for place in (killed, reference):
                step(place, last)
            assert contents(killed) == contents(reference), (
                f"{name}: the next write failed"
            )
            assert len(list(killed.iterdir())) == len(contents(killed)), (
                f"{name}: files are left"
            )
        figures[name] = {"steps": last, "done but not acknowledged": more}
    return figures


# ---- The disk is full ----


def writing_commands(at: Path) -> dict[str, list]:
    """Every command that writes files, all of them to the folder `at`."""
    pairs, model, index = (
        at / "pairs.csv",
        at / "run" / "model.safetensors",
        at / "index",
    )
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
        "duplicates": [
            "duplicates",
            index,
            "--threshold",
            0.3,
            "--output",
            at / "groups.csv",
        ],
    }


def disk(flags: argparse.Namespace, folder: Path) -> dict:
    """Each command meets nine disks: one that is full, then eight ever nearer to what suffices."""
    files = folder / "files"
    files.mkdir()
    write_pairs(files / "pairs.csv", small_corpus(train=400).train)
    for name in ("list", "more"):
        (files / f"{name}.txt").write_text(
            "\n".join(question(f"{name} {n}") for n in range(400))
        )
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
                assert all(
                    after.get(file) == value for file, value in before.items()
                ), (name, free)
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
            at, what = (
                dice.randrange(len(batches)),
                dice.choice(["encode", "search", "change"]),
            )
            if what == "encode":
                np.testing.assert_allclose(
                    detector.encode(batches[at]), vectors[at], atol=1e-5
                )
            elif what == "search":
                hits = index.search(batches[0][0], k=3000, mode="vectors")
                # not the other threads'
                hits = [hit for hit in hits if hit.id.isdecimal()]
                assert [hit.similarity for hit in hits[:10]] == best and len(
                    hits
                ) == 2000
                assert all(stored[int(hit.id)] == hit.question for hit in hits)
            else:
                i = f"thread {number}"
                index.add(batches[1][0], ids=[i])
                assert index.remove(i) == 1
            counts[what] += 1

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(work, range(20)))
    assert [entry["question"] for entry in index.snapshot().entries] == stored
    index.close()
    return {"threads": 20, "seconds": flags.seconds, **counts}


# ---- A read-only view; an index that is exchanged ----


def view(flags: argparse.Namespace, folder: Path) -> dict:
    """2 processes write, 4 read through a read-only view, as in a container with ":ro"."""
    first = [f"first-{n}/{k}" for n in range(50) for k in "ab"]
    writable = folder / "writable"
    writable.mkdir()
    path = writable / "index"
    QuestionIndex.build(
        make_detector(), [*map(question, first)], ids=first, path=path
    ).close()
    with read_only_view(writable, folder / "view") as seen:
        children = []
        for n in range(2):
            arguments = (writable, f"write{n}", flags.seconds, n == 0)
            children.append(PROCESSES.Process(target=write, args=arguments))
        for n in range(4):
            arguments = (seen, f"read{n}", flags.seconds, n % 2 == 0, folder)
            children.append(PROCESSES.Process(target=read, args=arguments))
        for child in children:
            child.start()
        for child in children:
            child.join(flags.seconds + 60)
        assert all(child.exitcode == 0 for child in children), (
            "a process failed, or never ended"
        )
        places = (path, seen / "index")
        entries = [
            QuestionIndex.open(place, make_detector()).snapshot().entries
            for place in places
        ]
        assert entries[0] == entries[1], "the view is not what was written"
    counts = Counter(
        changes=sum(
            len((writable / f"write{n}.log").read_text().splitlines()) for n in range(2)
        )
    )
    for n in range(4):
        counts.update(json.loads((folder / f"read{n}.log").read_text()))
    return {"seconds": flags.seconds, **counts}


def link(new: Path, live: Path) -> None:
    """Lets a link at `live` show to another file, at one moment."""
    beside = live.with_name("link")
    beside.symlink_to(new)
    beside.replace(live)


EXCHANGES = {"mv": os.replace, "cp": shutil.copyfile, "ln": link}
# Ids and versions of the questions of the former file and of the new one.
FORMER, LATTER = ({f"{n}": version for n in range(200)} for version in (0, 1))


def use_meanwhile(folder: Path, name: str, changes: bool) -> None:
    """Searches, and perhaps adds, until there is a file "stop"; answers are of one file, or refused."""
    detector, counts = make_detector(), Counter()
    index = QuestionIndex.open(folder / "live", detector)
    while not (folder / "stop").exists():
        try:
            if changes:
                index.add(
                    question(f"{name} {counts['added']}"),
                    ids=[f"{name} {counts['added']}"],
                )
                counts["added"] += 1
            hits = index.search(question("7"), k=1_000_000)
        except CheckpointError as error:
            assert "damaged" not in str(error), error
            counts["refused"] += 1
            time.sleep(0.01)
            continue
        stored = {
            hit.id: version_of(hit.id, hit.question)
            for hit in hits
            if hit.id.isdecimal()
        }
        assert stored in (FORMER, LATTER), "an answer is a mixture of two files"
        counts["from the new file" if stored == LATTER else "from the former file"] += 1
        (folder / f"{name}.begun").touch()
    index.close()
    (folder / f"{name}.log").write_text(json.dumps(counts))


def exchange(flags: argparse.Namespace, folder: Path) -> dict:
    """An index in use is exchanged, half of the times after a SIGKILL of what used it."""
    dice, detector, counts = random.Random(1), make_detector(), Counter()
    for n in range(flags.times):
        place = folder / str(n)
        place.mkdir()
        for name, ids in (("live", FORMER), ("new", LATTER)):
            texts = [question(i, version) for i, version in ids.items()]
            QuestionIndex.build(detector, texts, ids=[*ids], path=place / name).close()
        children = []
        for k in range(2):
            arguments = (place, f"user{k}", k < n % 3)
            children.append(PROCESSES.Process(target=use_meanwhile, args=arguments))
            children[-1].start()
        while sum(path.suffix == ".begun" for path in place.iterdir()) < 2:
            time.sleep(0.002)
        time.sleep(dice.uniform(0, 0.2))
        is_killed = n % 2 == 1
        if is_killed:
            for child in children:
                child.kill()
                child.join()
        EXCHANGES[dice.choice([*EXCHANGES])](place / "new", place / "live")
        time.sleep(dice.uniform(0, 0.3))
        (place / "stop").touch()
        for child in children:
            child.join(60)
            assert child.exitcode == (-signal.SIGKILL if is_killed else 0), (
                "a process failed or hangs"
            )
        for log in place.glob("*.log"):
            counts.update(json.loads(log.read_text()))
        try:
            QuestionIndex.open(place / "live", detector).close()
            counts["ends in the new file"] += 1
        except CheckpointError as error:
            assert "-wal" in str(error), error
            counts["ends in a refusal"] += 1
            for end in ("-wal", "-shm"):  # as it advises
                (place / f"live{end}").unlink(missing_ok=True)
        with QuestionIndex.open(place / "live", detector) as index:
            entries = {
                entry["id"]: entry["question"] for entry in index.snapshot().entries
            }
        stored = {
            i: version_of(i, text) for i, text in entries.items() if i.isdecimal()
        }
        assert stored == LATTER, "the new file is not whole"
    return {"times": flags.times, **counts}


# ---- Two at once ----


def build_one(folder: Path, name: str, pause: float) -> None:
    """Builds an index of its own texts where perhaps another one does; exit code 3 where it is refused."""
    # So few are encoded without JAX.
    texts = [question(f"{name} {n}") for n in range(20)]
    time.sleep(pause)
    try:
        QuestionIndex.build(make_detector(), texts, path=folder / "index").close()
    except ArgumentError:
        raise SystemExit(3) from None
    (folder / f"{name}.made").touch()


def builds(flags: argparse.Namespace, folder: Path) -> dict:
    """3 processes build one index at once, some are interrupted; the one that made it keeps it."""
    dice, counts = random.Random(1), Counter()
    for n in range(flags.times):
        place = folder / str(n)
        place.mkdir()
        children = []
        for k in range(3):
            arguments = (place, f"{k}", dice.uniform(0, 0.01))
            children.append(PROCESSES.Process(target=build_one, args=arguments))
        for child in children:
            child.start()
        if n % 2:
            time.sleep(dice.uniform(0, 0.05))
            os.kill(children[0].pid, (signal.SIGINT, signal.SIGKILL)[n % 4 == 3])
        for child in children:
            child.join(60)
            assert child.exitcode is not None, "a build hangs"
        makers = [path.stem for path in place.glob("*.made")]
        assert len(makers) <= 1, "two builds replaced one another"
        codes = Counter(child.exitcode for child in children)
        counts.update(
            {
                "made": len(makers),
                "refused": codes[3],
                "interrupted": 3 - codes[0] - codes[3],
            }
        )
        if makers:
            with QuestionIndex.open(place / "index", make_detector()) as index:
                texts = [entry["question"] for entry in index.snapshot().entries]
            own = [question(f"{makers[0]} {k}") for k in range(20)]
            assert texts == own, "the index is not that of the process that made it"
    return {"times": flags.times, **counts}


def label(path: Path, name: str, number: int, count: int) -> None:
    """Answers every second pair of a list's file or of an index, and takes one in four back."""
    texts = [question(str(n)) for n in range(count + 1)]
    with contextlib.ExitStack() as stack:
        if name == "index":
            target = stack.enter_context(QuestionIndex.open(path, make_detector()))
        else:
            target = AnswersFile(str(path), {})
        for n in range(number, count, 2):
            pair = texts[n], texts[n + 1]
            label = n % 3 == 0
            changed = target.change_answers([AnswerChange(*pair, label, (None,))])
            assert changed == (1, [None])
            if n % 4 == number:
                changed = target.change_answers([AnswerChange(*pair, None, (label,))])
                assert changed == (1, [label])


def labellers(flags: argparse.Namespace, folder: Path) -> dict:
    """2 people label one list, and one index, at once: every answer that stays is there."""
    count = 4 * flags.times
    texts = [question(str(n)) for n in range(count + 1)]
    QuestionIndex.build(make_detector(), texts, path=folder / "index").close()
    expected = {
        frozenset(texts[n : n + 2]): n % 3 == 0 for n in range(count) if n % 4 != n % 2
    }
    for name in ("index", "answers.csv"):
        children = []
        for number in range(2):
            arguments = (folder / name, name, number, count)
            children.append(PROCESSES.Process(target=label, args=arguments))
            children[-1].start()
        for child in children:
            child.join()
            assert child.exitcode == 0, "a labeller failed"
        if name == "index":
            with QuestionIndex.open(folder / name, make_detector()) as index:
                pairs = index.answers()
        else:
            pairs = AnswersFile(str(folder / name), {}).answers()
        keys = map(frozenset, zip(pairs.question1, pairs.question2))
        assert dict(zip(keys, pairs.is_duplicate.tolist(), strict=True)) == expected, (
            "answers are lost"
        )
    return {"answers": 2 * count, "taken back": 2 * (count - len(expected))}


# ---- Clients that never finish ----


def bodies(flags: argparse.Namespace, folder: Path) -> dict:
    """100 requests whose bodies never end: the others are answered, and each of them is closed."""
    head = "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    starts = [
        f"{head}Content-Length: 500\r\n\r\n{{",
        f"{head}Transfer-Encoding: chunked\r\n\r\n1\r\n{{\r\n",
    ]
    import requests
    from running import running

    index = QuestionIndex.build(
        make_detector(), random_questions(500), path=folder / "index"
    )
    longest = 0.0
    with running(index) as address, contextlib.ExitStack() as stack:
        where = urlsplit(address)
        begun = time.monotonic()
        clients = []
        for n in range(100):
            client = socket.create_connection((where.hostname, where.port), 60)
            clients.append(stack.enter_context(client))
            client.sendall(starts[n % 2].encode())
        for n in range(50):
            asked = time.monotonic()
            assert requests.get(f"{address}/health", timeout=10).status_code == 200
            body = {"questions": [f"how far {n}"], "k": 3}
            answer = requests.post(f"{address}/v1/search", json=body, timeout=10)
            assert answer.status_code == 200 and len(answer.json()["results"][0]) == 3
            longest = max(longest, time.monotonic() - asked)
        for client in clients:
            answer = b""
            while part := client.recv(1 << 16):
                answer += part
            assert answer.startswith(b"HTTP/1.1 408"), answer[:60]
        closed = time.monotonic() - begun
    return {
        "unfinished": 100,
        "answered": 100,
        "slowest": round(longest, 2),
        "closed after": round(closed, 1),
    }


PARTS = {
    part.__name__: part
    for part in (
        sharing,
        view,
        exchange,
        builds,
        labellers,
        kills,
        disk,
        threads,
        bodies,
    )
}
# Odd, damaged and hostile files through every command that reads one.
PARTS["files"] = lambda flags, folder: run_all(folder)
# `siamese train` killed again and again: each run that ends equals one that was never
# killed.
PARTS["train"] = lambda flags, folder: killed_runs(
    folder, flags.times, ["KILL"], steps=150
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument(
        "--seconds", type=float, default=60, help="sharing, view, threads [%(default)s]"
    )
    parser.add_argument(
        "--times", type=int, default=50, help="the others that repeat [%(default)s]"
    )
    parser.add_argument("--results", type=Path, default=FOLDER / "faults.json")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = PARTS[flags.part](flags, Path(folder))
    print(flags.part, json.dumps(figures))
    results = read_figures(flags.results) | {flags.part: figures}
    write_figures(flags.results, results)


if __name__ == "__main__":
    main()
