"""Fills the disk in the middle of each command that writes, and checks that nothing is lost.

Each command runs once on a small file system of its own (tmpfs, so Linux and the right to mount) to see
how many bytes it needs; then again with 0 to 99 % of them free. It must end with exit code 2 and one
message that says the disk is full, what was there before must be unchanged and readable, and the command
must work once there is space.

    sudo python benchmarks/robustness/full_disk.py
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import hashlib
import io
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from siamese.cli.main import main as siamese

PAGE = 4096  # What a tmpfs hands out.
FREE = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97)


@contextlib.contextmanager
def disk(megabytes: int) -> Iterator[Path]:
    """A file system of that size."""
    folder = Path(tempfile.mkdtemp())
    options = ["-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    subprocess.run(["mount", *options], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
        folder.rmdir()


def run(*arguments: object) -> tuple[int, str, str]:
    """A command's exit code, output and messages."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = siamese([str(argument) for argument in arguments])
    return code, out.getvalue(), err.getvalue()


def contents(folder: Path) -> dict[str, str]:
    """Name -> checksum of every file that a reader could open; locks and hidden temporaries left out."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    }


def make_inputs(folder: Path) -> dict[str, Path]:
    """A file of pairs, one of questions, a trained model, an index."""
    from siamese import embedded_corpus

    corpus = embedded_corpus()
    pairs, more, questions = (folder / name for name in ("pairs.csv", "more.csv", "questions.txt"))
    rows = list(
        zip(
            corpus.train.question1,
            corpus.train.question2,
            map(int, corpus.train.is_duplicate),
            strict=True,
        )
    )
    for file, some in ((pairs, rows[:600]), (more, rows[600:800])):
        with open(file, "w", newline="", encoding="utf-8") as opened:
            csv.writer(opened).writerows([("question1", "question2", "is_duplicate"), *some])
    questions.write_text("\n".join(row[0] for row in rows[:1500]) + "\n", encoding="utf-8")
    model, index = folder / "model", folder / "index"
    train = ["train", "--questions", pairs, "--output", model, "--steps", 8, "--d-model", 32]
    for command in (train, ["index", model, questions, "--output", index]):
        code, _, err = run(*command)
        assert code == 0, err
    return {"pairs": pairs, "more": more, "questions": questions, "model": model, "index": index}


def commands(of: dict[str, Path]) -> dict[str, tuple[Callable[[Path], list], Callable | None]]:
    """Name -> (folder -> arguments, folder -> None that puts there what the command replaces)."""

    def put(name: str) -> Callable[[Path], None]:
        # The model is named by its place beside the index, so it is copied, too.
        return lambda at: [shutil.copytree(of[n], at / n) for n in {name, "model"}] and None

    more = of["more"]
    train = ["--questions", of["pairs"], "--d-model", 32, "--batch-size", 32]
    return {
        "train, new": (lambda at: ["train", *train, "--output", at / "new", "--steps", 8], None),
        "train, going on": (
            lambda at: ["train", "--questions", of["pairs"], "--d-model", 32, "--output", at / "model",
                        "--steps", 12],
            put("model"),
        ),
        "index, new": (
            lambda at: ["index", of["model"], of["questions"], "--output", at / "new"],
            None,
        ),
        "index, again": (
            lambda at: ["index", at / "model", of["questions"], "--output", at / "index"],
            put("index"),
        ),
        "index add": (lambda at: ["index", "add", at / "index", more], put("index")),
        "index remove": (lambda at: ["index", "remove", at / "index", "--ids", 3, 5], put("index")),
        "duplicates --output": (
            lambda at: ["duplicates", of["index"], "--output", at / "groups.csv", "--threshold", 0.3],
            None,
        ),
        "evaluate --report": (
            lambda at: ["evaluate", of["model"], "--questions", more, "--report", at / "report"],
            None,
        ),
        "explain --plot": (
            lambda at: ["explain", of["model"], "How old?", "How far?", "--plot", at / "words.png"],
            None,
        ),
    }  # fmt: skip


def fill(folder: Path, free: int) -> Path:
    """Leaves `free` bytes of the file system; returns the file that takes the others."""
    filler = folder / ".filler"
    state = os.statvfs(folder)
    size = state.f_bavail * state.f_frsize - free - free % PAGE
    with open(filler, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(PAGE, size))
    return filler


def measure(name: str, arguments: Callable, prepare: Callable | None, megabytes: int) -> dict:
    """One command with enough space, then with ever more of what it needs."""
    with disk(megabytes) as at:
        if prepare:
            prepare(at)
        before = {path.stat().st_ino for path in at.rglob("*")}
        code, _, err = run(*arguments(at))
        assert code == 0, f"{name} with enough space: {err}"
        new = {path.stat().st_ino: path.stat().st_size for path in at.rglob("*") if path.is_file()}
    need = sum(-(-size // PAGE) * PAGE for inode, size in new.items() if inode not in before)
    refused = 0
    for share in FREE:
        with disk(megabytes) as at:
            if prepare:
                prepare(at)
            before = contents(at)
            filler = fill(at, int(need * share) // PAGE * PAGE)
            code, _, err = run(*arguments(at))
            where = f"{name} with {share:.0%} of {need:,} bytes"
            if code == 0:  # It needs less than it once did, or replaced what it had written.
                continue
            refused += 1
            assert code == 2, f"{where}: exit code {code}\n{err}"
            assert "the disk is full" in err and "Traceback" not in err, f"{where}: {err}"
            after = contents(at)
            lost = {n for n, sha in before.items() if after.get(n) != sha}
            # A checkpoint is a new directory; the metrics of a run grow by a line a measurement.
            assert not {n for n in lost if not n.endswith("metrics.jsonl")}, f"{where}: {lost}"
            filler.unlink()
            code, _, err = run(*arguments(at))
            assert code == 0, f"{where}, then with enough space: {err}"
            left = [p.name for p in at.rglob("*") if ".tmp-" in p.name]
            assert not left, f"{where}: left {left}"
    return {"bytes": need, "runs": len(FREE), "refused": refused}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=64, help="of each disk [%(default)s]")
    parser.add_argument("--only", help="words of the commands wanted")
    parser.add_argument("--results", help="write the figures to this JSON file")
    flags = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        of = make_inputs(Path(folder))
        for name, (arguments, prepare) in commands(of).items():
            if flags.only is None or flags.only in name:
                found[name] = measure(name, arguments, prepare, flags.megabytes)
                row = found[name]
                print(f"{name:<22}{row['bytes']:>12,} bytes{row['refused']:>4} of {row['runs']} refused, "
                      "nothing lost", flush=True)  # fmt: skip
    if flags.results:
        Path(flags.results).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
