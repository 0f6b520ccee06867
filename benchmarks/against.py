"""Speed and quality side by side with another commit of this repository, on the embedded corpus.

    python benchmarks/against.py v0.1.0 --rounds 5 --json against.json

Each round runs both checkouts in turn, each in its own process with the same interpreter, packages and
malloc settings. Printed are medians of the rounds and the ratio of this checkout's to the other's: below
1 is quicker for seconds. Only names that every edition has are used.
"""

from __future__ import annotations

import argparse
import csv
import functools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Both sides keep freed memory: an edition that asks glibc for it and one that does not compare equally.
MALLOC = "glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=17179869184"


def measure(folder: Path, steps: int) -> dict[str, float]:
    """One process's figures: seconds of each part, and the quality of two short runs."""
    import numpy as np

    import siamese

    figures: dict[str, float] = {}

    def timed(name, task):
        start = time.perf_counter()
        found = task()
        figures[f"{name}, s"] = time.perf_counter() - start
        return found

    corpus = siamese.embedded_corpus()
    file = folder / "pairs.csv"
    write_csv(file, corpus.train)
    timed("read_pairs", lambda: siamese.read_pairs(file))
    texts = [*corpus.train.question1, *corpus.train.question2]
    some = texts[:4096]
    tokens = timed("word_tokenize, 4,096", lambda: [siamese.word_tokenize(text) for text in some])
    vocabulary = siamese.Vocabulary.from_pairs(tokens[:2048], tokens[2048:])
    ids = [vocabulary.encode(words) for words in tokens]
    sides = ids[:2048], ids[2048:]
    course_batches = siamese.data_generator(*sides, 256)
    timed("data_generator, 40 batches", lambda: [next(course_batches) for _ in range(40)])

    getattr(siamese, "keep_memory", bool)()  # Older commits did so at JAX's import.
    model = functools.partial(siamese.Siamese, vocabulary.size, 128)
    loop = siamese.train_model(
        model, siamese.TripletLoss, course_batches, course_batches, None, eval_at=lambda step: False
    )
    loop.run(4)
    timed(f"train_model, {steps} steps", lambda: loop.run(steps))

    detectors = {}
    for name, config in {
        "course": siamese.TrainConfig.course(steps=60, seed=34, lstm_bias="forget_gate"),
        "best": siamese.TrainConfig.best(steps=30, epochs=0.0, seed=34, warmup_steps=3),
    }.items():
        trainer = siamese.Trainer(
            corpus.train, config, folder / name, valid=corpus.valid, quiet=True, overwrite=True
        )
        trainer.loop.run(4)
        timed(f"preset {name}, the other steps", trainer.train)
        report = trainer.evaluate(corpus.test)
        figures[f"preset {name}, ROC AUC"] = report.roc_auc
        figures[f"preset {name}, tuned accuracy"] = report.tuned_accuracy
        detectors[name] = trainer.save(report)
    detector = timed("load a model", lambda: siamese.DuplicateDetector.load(folder / "best"))
    detector.similarity(texts[:300], texts[:300])
    timed("similarity, 8,000 pairs", lambda: detector.similarity(texts[:8000], texts[8000:16000]))
    distinct = list(dict.fromkeys(texts))
    index = timed("build an index", lambda: siamese.QuestionIndex.build(detector, distinct))
    index.search(distinct[0])
    timed("200 searches", lambda: [index.search(text) for text in distinct[:200]])
    timed("save the index", lambda: index.save(folder / "index", model=str(folder / "best")))
    timed("load the index", lambda: siamese.QuestionIndex.load(folder / "index"))
    assert np.isfinite(list(figures.values())).all()
    return figures


def write_csv(file: Path, pairs) -> None:
    """A file of labelled pairs in Quora's columns."""
    with open(file, "w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened)
        writer.writerow(["id", "question1", "question2", "is_duplicate"])
        rows = zip(pairs.question1, pairs.question2, pairs.is_duplicate)
        writer.writerows([i, a, b, int(label)] for i, (a, b, label) in enumerate(rows))


def run_checkout(checkout: Path, steps: int) -> dict[str, float]:
    """`measure` of one checkout, in its own process and an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "PYTHONPATH": str(checkout),
            "GLIBC_TUNABLES": MALLOC,
            "XDG_CACHE_HOME": folder,
        }
        command = [sys.executable, __file__, "--measure", folder, "--steps", str(steps)]
        done = subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode:
            sys.exit(f"{checkout} failed:\n{done.stderr[-3000:]}")
        return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Runs the rounds and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commit", nargs="?", help="the other side, as git names it")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=30, help="steps of the course's loop")
    parser.add_argument("--json", help="write the figures to this file, too")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.measure:
        print(json.dumps(measure(flags.measure, flags.steps)))
        return
    if flags.commit is None:
        parser.error("name a commit")
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / "other"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(other), flags.commit], check=True)
        try:
            rounds = [
                [run_checkout(side, flags.steps) for side in (other, ROOT)]
                for _ in range(flags.rounds)
            ]
        finally:
            subprocess.run([*git, "remove", "--force", str(other)], check=True)
    table = {}
    for name in rounds[0][0]:
        theirs, ours = (statistics.median(one[side][name] for one in rounds) for side in (0, 1))
        ratio = statistics.median(one[1][name] / one[0][name] for one in rounds)
        table[name] = {"other": theirs, "this": ours, "ratio": ratio}
    print(f"{'part':<34}{flags.commit[:12]:>14}{'this':>12}{'ratio':>8}")
    for name, row in table.items():
        print(f"{name:<34}{row['other']:>14.4f}{row['this']:>12.4f}{row['ratio']:>8.2f}")
    if flags.json:
        facts = {"commit": flags.commit, "rounds": flags.rounds, "parts": table}
        Path(flags.json).write_text(json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
    main()
