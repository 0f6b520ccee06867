"""Training and encoding speed side by side: stock Trax, ours, PyTorch, on the same batches; and imports.

    python benchmarks/speed.py                              # the embedded corpus
    python benchmarks/speed.py --questions questions.csv.gz --splits splits.json
    python benchmarks/speed.py --contenders trax,ours,torch --peer-python .venv-bench/bin/python
    python benchmarks/speed.py --imports                    # Trax's import, as it is and after siamese's

Each contender runs in a process of its own, which also gives its peak memory and its
time to the first step, with an empty compile cache in the first round and a filled one
after it. The processes take turns, round after round. A figure is the sum over the
batches of each batch's median time over all passes and rounds. The floor of a step is
its arithmetic (the LSTM's products, forward and twice that backward, of every token,
padding included) at the speed of a large matrix product, measured before and after.

Ours changes glibc's malloc settings (siamese.keep_memory); every contender runs with
that setting, from the environment, so that the LSTMs are compared and not this. Without
TensorFlow Trax alone cannot be imported: run ``--imports`` in an environment with
requirements/tensorflow.txt.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import timeit
from pathlib import Path

import numpy as np
from results import FOLDER, machine, markdown_table, write_figures
from speed_contenders import BATCHES, D_MODEL, LSTMS, MAKERS, NAMES

KEEP_FREED = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1),
    "MALLOC_TOP_PAD_": str(64 << 20),
    "MALLOC_ARENA_MAX": "1",
}
HEADS = [
    "contender",
    "pairs/s",
    "x Trax",
    "quickest pass pairs/s",
    "x Trax",
    "questions/s",
    "step ms",
    "CPU ms a step",
    "GFLOP/s",
    "x floor",
    "MiB",
    "first step s",
    "second process s",
]
IMPORTS = {
    "import trax": "import trax",
    "import siamese, import trax": "import siamese, trax",
    "import siamese": "import siamese",
    "siamese --help": "import siamese.cli.main as cli; cli.main(['--help'])",
}


# ---- One contender's process ----


def child(name: str, batches_file: str) -> None:
    """Trains and encodes the file's batches; prints one line of JSON."""
    start = time.perf_counter()
    with np.load(batches_file) as stored:
        vocab = int(stored["vocab"])
        repeats = int(stored["repeats"])
        parts = range(int(stored["parts"]))
        batches = [
            tuple(stored[f"{i}_{part}"] for part in parts)
            for i in range(stored["count"])
        ]
    step, encode = MAKERS[name](vocab, batches[0])
    first = None
    # Every shape compiles once, the first one perhaps twice: fresh weights, then those
    # of a step.
    for batch in [*{b[0].shape: b for b in batches}.values()] * 2:
        step(*batch)
        first = first or time.perf_counter() - start
        encode(np.concatenate(batch[:2]))
    seconds = np.zeros((3, repeats, len(batches)))  # training, its CPU, encoding
    for row in range(repeats):
        for at, batch in enumerate(batches):
            start = time.perf_counter()
            cpu = time.process_time()
            step(*batch)
            seconds[:2, row, at] = (
                time.perf_counter() - start,
                time.process_time() - cpu,
            )
        for at, q in enumerate([np.concatenate(batch[:2]) for batch in batches]):
            start = time.perf_counter()
            encode(q)
            seconds[2, row, at] = time.perf_counter() - start
    times = dict(zip(("train", "train_cpu", "encode"), seconds.tolist()))
    peak = (
        int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
    )
    print(json.dumps({**times, "first_step_s": first, "peak_mib": peak}))


# ---- Batches ----


def load(flags: argparse.Namespace, kinds: set[str]) -> dict[str, tuple[list, int]]:
    """For 'course', 'bucketed' and 'lstm': (batches, vocabulary size) from one file's training rows."""
    from siamese import (
        PairBatches,
        TrainConfig,
        data_generator,
        embedded_corpus,
        read_pairs,
    )
    from siamese.text.vocabulary import tokenize_questions
    from siamese.training.prepare import make_batches, prepare

    pairs = read_pairs(flags.questions) if flags.questions else embedded_corpus().train
    count = flags.batches
    if flags.splits:
        pairs = pairs.rows(*json.loads(Path(flags.splits).read_text())["rows"]["train"])
    batches = {}
    # duplicates, as many labelled pairs, and the mask of known duplicates
    if "lstm" in kinds:
        data = prepare(pairs, TrainConfig.preset("lstm"))
        train, _ = make_batches(data, TrainConfig.preset("lstm"))
        batches["lstm"] = (
            [tuple(next(train)) for _ in range(count)],
            data.vocabulary.size,
        )
    pairs = pairs.duplicates()
    tokenized = tokenize_questions([*pairs.question1, *pairs.question2], progress=False)
    rows = tokenized.rows.reshape(2, -1)
    vocabulary = tokenized.vocabulary(*rows)
    ids = tokenized.encode(vocabulary)
    random.seed(34)
    course = data_generator(*map(ids.take, rows), 256)
    batches["course"] = [next(course) for _ in range(count)], vocabulary.size
    bucketed = PairBatches(*map(ids.take, rows), 256, seed=34)
    batches["bucketed"] = [next(bucketed)[:2] for _ in range(count)], vocabulary.size
    return batches


def trained_sides(batch: tuple) -> tuple:
    """The sides of all pairs of a training step, [pairs, length] each; for `lstm` labelled pairs, too."""
    return (*batch[:2], *batch[3:5])


def gflop(batches: list) -> float:
    """Products of a training step over all tokens: 2 * (2 d) * (4 d) forward, twice that backward."""
    tokens = sum(side.size for batch in batches for side in trained_sides(batch))
    return tokens * 3 * 2 * 2 * D_MODEL * 4 * D_MODEL / 1e9


# ---- All contenders, in turn ----


def measure(name: str, batches: list, vocab: int, cache: str, flags) -> dict:
    """Runs one contender in its own process."""
    peer = flags.peer_python if name.startswith("torch") else None
    environment = {**os.environ, "XDG_CACHE_HOME": cache, **KEEP_FREED}
    with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        arrays = {
            f"{i}_{part}": a for i, b in enumerate(batches) for part, a in enumerate(b)
        }
        sizes = {"count": len(batches), "parts": len(batches[0])}
        np.savez(file, vocab=vocab, repeats=flags.repeats, **sizes, **arrays)
        file.flush()
        command = [peer or sys.executable, __file__, "--child", name, file.name]
        run = subprocess.run(command, capture_output=True, text=True, env=environment)
    if run.returncode:
        return {"error": (run.stderr.strip().splitlines() or ["no message"])[-1]}
    return json.loads(run.stdout.strip().splitlines()[-1])


def rounds(flags: argparse.Namespace, batches: dict[str, tuple[list, int]]) -> dict:
    """Each contender once a round, in turn; see this module's docstring."""
    runs = {name: [] for name in flags.contenders}
    with tempfile.TemporaryDirectory() as cache:
        for _ in range(flags.rounds):
            for name in flags.contenders:
                of_contender, vocab = batches[BATCHES.get(name, "course")]
                run = measure(name, of_contender, vocab, f"{cache}/{name}", flags)
                runs[name].append(run)
                step = 1000 * float(np.median(run.get("train", [[0]]), axis=0).mean())
                print(
                    f"  {name}: {run.get('error', f'{step:.1f} ms a step')}", flush=True
                )
    figures = {}
    for name in flags.contenders:
        of_contender, _ = batches[BATCHES.get(name, "course")]
        figures[name] = pooled(runs[name], name, of_contender)
    return figures


def pooled(runs: list[dict], name: str, batches: list) -> dict:
    """A contender's figures over its rounds."""
    good = [run for run in runs if "error" not in run]
    if not good:
        return runs[0]
    pairs = sum(len(side) for batch in batches for side in trained_sides(batch)) / 2
    # that are encoded
    questions = sum(len(side) for batch in batches for side in batch[:2])

    def seconds(part, pick):
        return float(pick(np.concatenate([run[part] for run in good]), axis=0).sum())

    train = seconds("train", np.median)
    later = [run["first_step_s"] for run in good[1:]] or [good[0]["first_step_s"]]
    return {
        "train_pairs_per_s": pairs / train,
        "best_train_pairs_per_s": pairs / seconds("train", np.min),
        "encode_questions_per_s": questions / seconds("encode", np.median),
        "best_encode_questions_per_s": questions / seconds("encode", np.min),
        "step_ms": 1000 * train / len(batches),
        "gflops": gflop(batches) * LSTMS.get(name, 1) / train,
        "cpu_ms": 1000 * seconds("train_cpu", np.median) / len(batches),
        "first_step_s": good[0]["first_step_s"],
        "first_step_cached_s": statistics.median(later),
        "peak_mib": statistics.median(run["peak_mib"] for run in good),
    }


def peak_gflops(runs: int = 12) -> float:
    """Float32 speed of a 2048 x 2048 product, the best of several: XLA's, quicker than NumPy's."""
    import jax

    matrix = jax.numpy.ones((2048, 2048))
    squared = jax.jit(lambda factor: factor @ factor)
    squared(matrix).block_until_ready()
    seconds = timeit.repeat(
        lambda: squared(matrix).block_until_ready(), number=1, repeat=runs
    )
    return 2 * 2048**3 / min(seconds) / 1e9


def page(result: dict) -> str:
    """The figures as Markdown."""
    rows = []
    base = result["main"].get("trax", {})
    for name, row in result["main"].items():
        if "error" in row:
            rows.append(
                [NAMES[name], f"not run: {row['error']}", *[""] * (len(HEADS) - 2)]
            )
            continue
        cells = [NAMES[name]]
        for field in ("train_pairs_per_s", "best_train_pairs_per_s"):
            times = f"{row[field] / base[field]:.2f}" if field in base else ""
            cells += [f"{row[field]:,.0f}", times]
        cells += [
            f"{row[name]:,.0f}"
            for name in ("encode_questions_per_s", "step_ms", "cpu_ms")
        ]
        cells += [
            f"{row['gflops']:.0f}",
            f"{result['peak_gflops'] / row['gflops']:.1f}",
        ]
        cells += [f"{row['peak_mib']:.0f}", f"{row['first_step_s']:.1f}"]
        cells += [f"{row['first_step_cached_s']:.1f}"]
        rows.append(cells)
    return (
        f"# Speed\n\n{result['data']}, d_model {D_MODEL}, {result['cores']} cores of "
        f"{result['processor']}; large product {result['peak_gflops']:.0f} GFLOP/s. Written by "
        "benchmarks/speed.py.\n\n## The same malloc settings for every contender\n\n"
        f"{markdown_table(HEADS, rows)}\n"
        "pairs/s from each batch's median over all passes; quickest pass: from each batch's least "
        "time, which other processes disturb least.\n"
    )


# ---- Imports ----


def imports(runs: int) -> None:
    """Prints the median seconds of each import, in processes that take turns."""
    seconds: dict[str, list[float]] = {name: [] for name in IMPORTS}
    for _ in range(runs):
        for name, code in IMPORTS.items():
            start = time.perf_counter()
            run = subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True
            )
            elapsed = time.perf_counter() - start
            if run.returncode == 0:
                seconds[name].append(elapsed)
    for name, times in seconds.items():
        median = f"{statistics.median(times):8.2f} s" if times else "   fails"
        print(f"{name:<30}{median}")


def main() -> None:
    """Measures, prints the table, and writes JSON and Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--questions", help="a file of labelled pairs; the embedded corpus if none")
    add("--splits", help='JSON with {"rows": {"train": [start, stop]}}')
    add("--contenders", type=lambda text: text.split(","), default=[*MAKERS])
    add("--peer-python", help="interpreter that has torch")
    add("--batches", type=int, default=12)
    add("--rounds", type=int, default=3)
    add("--repeats", type=int, default=5, help="passes in each process")
    add("--imports", action="store_true", help="Trax's import instead")
    add("--output", type=Path, default=FOLDER / "speed")
    add("--child", nargs=2, help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.child:
        return child(*flags.child)
    if flags.imports:
        return imports(flags.rounds)
    peak = peak_gflops()
    batches = load(flags, {BATCHES.get(name, "course") for name in flags.contenders})
    data = "Quora rows" if flags.questions else "embedded corpus"
    data += (
        f", {flags.batches} batches of 256 pairs, vocabulary {batches['course'][1]:,}"
    )
    if "lstm" in batches:
        (first, *_), vocab = batches["lstm"]
        pairs = sum(map(len, trained_sides(first))) // 2
        data += f" (preset lstm: {pairs} pairs, vocabulary {vocab:,})"
    result = {**machine(), "data": data, "load_before": os.getloadavg()[0]}
    result["main"] = rounds(flags, batches)
    result["peak_gflops"] = max(peak, peak_gflops())
    text = page(result)
    write_figures(flags.output.with_suffix(".json"), result, text)
    print(text)


if __name__ == "__main__":
    main()
