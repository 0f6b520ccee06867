"""Batches and tokens, the course's way and ours, side by side in one run.

    python benchmarks/data.py                                   # the embedded corpus
    python benchmarks/data.py --questions questions.csv.gz --splits splits.json --json data.json

Speeds are medians of several runs, taken in turn, so that a busy machine slows both alike. The course's
generator is timed as the assignment describes it, on lists; `data_generator` is ours with the same
batches. Known false negatives are pairs (i, j) of a batch, i != j, whose questions the labels join into
one cluster of duplicates, and that the loss would push apart.
"""

from __future__ import annotations

import argparse
import functools
import json
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from siamese.batching.pair_batches import PairBatches
from siamese.course.generator import data_generator
from siamese.data.clusters import clusters
from siamese.data.corpus import embedded_corpus
from siamese.data.pairs import read_pairs
from siamese.data.tokenizer import _nltk
from siamese.data.tokens import tokenize_questions
from siamese.nn.ragged import Ragged


def course_generator(Q1, Q2, batch_size, pad=1):
    """The generator that the assignment asks for, in its own steps."""
    order = list(range(len(Q1)))
    random.shuffle(order)
    index, input1, input2 = 0, [], []
    while True:
        if index >= len(order):
            index = 0
            random.shuffle(order)
        input1.append(Q1[order[index]])
        input2.append(Q2[order[index]])
        index += 1
        if len(input1) == batch_size:
            longest = max(max(len(q) for q in input1), max(len(q) for q in input2))
            length = 2 ** int(np.ceil(np.log2(longest)))
            rows1 = [q + [pad] * (length - len(q)) for q in input1]
            rows2 = [q + [pad] * (length - len(q)) for q in input2]
            yield np.array(rows1), np.array(rows2)
            input1, input2 = [], []


def load(arguments):
    """The training pairs of the file, or of the embedded corpus."""
    if arguments.questions is None:
        return embedded_corpus().train
    pairs = read_pairs(arguments.questions)
    if arguments.splits is None:
        return pairs
    return pairs.rows(*json.loads(Path(arguments.splits).read_text())["rows"]["train"])


def median_seconds(runs: int, *tasks) -> list[float]:
    """Median time of each task, the tasks taken in turn."""
    times: list[list[float]] = [[] for _ in tasks]
    for _ in range(runs):
        for task, taken in zip(tasks, times):
            start = time.perf_counter()
            task()
            taken.append(time.perf_counter() - start)
    return [statistics.median(taken) for taken in times]


def measure_tokens(texts: list[str], runs: int) -> dict[str, float]:
    """Distinct questions per second: NLTK on one core, ours cold, and seconds of a warm start."""
    distinct = list(dict.fromkeys(texts))
    sample = distinct[:: max(1, len(distinct) // 4000)]
    nltk = _nltk()
    with tempfile.TemporaryDirectory() as folder:
        cold = functools.partial(tokenize_questions, texts, cache_dir=False, progress=False)
        plain_seconds, cold_seconds = median_seconds(runs, lambda: list(map(nltk, sample)), cold)
        kept = functools.partial(tokenize_questions, texts, cache_dir=folder, progress=False)
        kept()
        (warm_seconds,) = median_seconds(runs, kept)
    return {
        "distinct_questions": len(distinct),
        "nltk_one_core_per_s": len(sample) / plain_seconds,
        "cold_per_s": len(distinct) / cold_seconds,
        "cold_over_nltk": len(distinct) / cold_seconds * plain_seconds / len(sample),
        "warm_start_s": warm_seconds,
    }


def course_figures(lengths: tuple, batch_size: int) -> tuple[float, int]:
    """Padding share and distinct shapes of one pass of the course's generator."""
    tables = [Ragged(np.full(n.sum(), 7), np.concatenate([[0], np.cumsum(n)])) for n in lengths]
    random.seed(34)
    batches = data_generator(*tables, batch_size, pad=1)
    cells, tokens, shapes = 0, 0, set()
    for _ in range(max(1, len(lengths[0]) // batch_size)):
        batch = next(batches)
        shapes.add(batch[0].shape)
        cells += sum(side.size for side in batch)
        tokens += sum(int((side == 7).sum()) for side in batch)
    return 1 - tokens / cells, len(shapes)


def false_negatives(batches, count: int, ids: tuple) -> tuple[float, float]:
    """Known ones per batch, and the share of rows with at least one; tokens are pair numbers + 2."""
    wrong = rows = hit = 0
    for _ in range(count):
        batch = next(batches)
        pairs = batch[0][:, 0] - 2
        found = ids[0][pairs][:, None] == ids[1][pairs]
        np.fill_diagonal(found, False)
        if len(batch) == 3:
            found &= ~batch[2]
        wrong, rows, hit = (
            wrong + int(found.sum()),
            rows + len(pairs),
            hit + int(found.any(1).sum()),
        )
    return wrong / count, hit / rows


def measure_batches(table: Ragged, rows: tuple, ids: tuple, batch_size: int, runs: int) -> dict:
    """Each kind of batches: padding, shapes, pairs per second, known false negatives."""
    pairs = len(rows[0])
    per_pass = max(1, pairs // batch_size)
    lengths = tuple(table.lengths[side] for side in rows)
    lists = [[table[row].tolist() for row in side] for side in rows]
    ours = functools.partial(PairBatches, table, table, batch_size, rows=rows)
    makers = {
        "course": lambda: course_generator(*lists, batch_size),
        "data_generator": lambda: data_generator(*lists, batch_size),
        "PairBatches": ours,
        "PairBatches, mask": functools.partial(ours, clusters=ids),
        "PairBatches, separate": functools.partial(ours, clusters=ids, false_negatives="separate"),
    }
    running = {name: make() for name, make in makers.items()}
    for batches in running.values():
        next(batches)
    some = min(per_pass, 100)  # the slow ones are timed on fewer batches

    def draw(batches, count):
        for _ in range(count):
            next(batches)

    counts = [some if name in ("course", "data_generator") else per_pass for name in makers]
    seconds = median_seconds(
        runs, *(functools.partial(draw, b, n) for b, n in zip(running.values(), counts))
    )
    # Every token of these tables is its pair's number, so that a batch tells its pairs.
    numbered = [
        Ragged(np.repeat(np.arange(pairs) + 2, n), np.concatenate([[0], np.cumsum(n)]))
        for n in lengths
    ]
    course = course_figures(lengths, batch_size)
    result = {}
    for (name, batches), count, taken in zip(running.items(), counts, seconds):
        figures = {"pairs_per_s": count * batch_size / taken}
        if isinstance(batches, PairBatches):
            batches.close()
            options = {"clusters": ids} if "," in name else {}
            if "separate" in name:
                options["false_negatives"] = "separate"
            with PairBatches(*numbered, batch_size, **options) as marked:
                epoch = marked.batches_per_epoch
                per_batch, share = false_negatives(marked, epoch, ids)
                report = marked.report()
            figures |= {
                "padding": report["padding"],
                "shapes": len(report["shapes"]),
                "left_out": report["left_out"],
            }
        else:
            random.seed(34)
            marked = data_generator(*numbered, batch_size)
            per_batch, share = false_negatives(marked, per_pass, ids)
            figures |= {"padding": course[0], "shapes": course[1], "left_out": 0}
        figures |= {"false_negatives_per_batch": per_batch, "rows_with_one": share}
        result[name] = figures
    for figures in result.values():
        figures["speed_over_course"] = figures["pairs_per_s"] / result["course"]["pairs_per_s"]
    return result


def main() -> None:
    """Measures everything and prints tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", help="a file of labelled pairs; the embedded corpus if none")
    parser.add_argument("--splits", help='JSON with {"rows": {"train": [start, stop]}}')
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", help="write the figures to this file, too")
    arguments = parser.parse_args()

    pairs = load(arguments)
    found = clusters(pairs)
    which = np.flatnonzero(pairs.is_duplicate)
    ids = found.cluster1[which], found.cluster2[which]
    duplicates = pairs.duplicates()
    texts = [*duplicates.question1, *duplicates.question2]
    tokens = measure_tokens(texts, arguments.runs)
    tokenized = tokenize_questions(texts, cache_dir=False, progress=False)
    rows = tokenized.rows[: len(which)], tokenized.rows[len(which) :]
    table = tokenized.encode(tokenized.vocabulary(*rows))
    if (table.lengths == 0).any():
        sys.exit("a question of these pairs has no token")
    mean = float(np.concatenate([table.lengths[side] for side in rows]).mean())

    print(f"{len(which):,} duplicates of {len(pairs):,} pairs, {mean:.1f} tokens a question\n")
    print(f"{'tokens of ' + format(tokens['distinct_questions'], ',') + ' distinct questions':<40}")
    print(f"  NLTK, one core          {tokens['nltk_one_core_per_s']:>10,.0f} questions/s")
    print(
        f"  all cores, cold         {tokens['cold_per_s']:>10,.0f} questions/s"
        f"  ({tokens['cold_over_nltk']:.1f} times)"
    )
    print(f"  kept from a run before  {tokens['warm_start_s']:>10.2f} s\n", flush=True)
    batches = measure_batches(table, rows, ids, arguments.batch_size, arguments.runs)
    print(
        f"{'batches of ' + str(arguments.batch_size):<22} {'padding':>8} {'shapes':>7} {'pairs/s':>11}"
        f" {'x course':>9} {'false negatives':>16} {'rows hit':>9} {'left out':>9}"
    )
    for name, figures in batches.items():
        print(
            f"{name:<22} {figures['padding']:>8.1%} {figures['shapes']:>7}"
            f" {figures['pairs_per_s']:>11,.0f} {figures['speed_over_course']:>9.1f}"
            f" {figures['false_negatives_per_batch']:>10.2f}/batch {figures['rows_with_one']:>9.1%}"
            f" {figures['left_out']:>9,}"
        )
    if arguments.json:
        result = {"duplicates": len(which), "mean_tokens": mean, "tokens": tokens}
        result |= {"batches": batches}
        Path(arguments.json).write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
