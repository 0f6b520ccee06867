"""Training and encoding speed side by side: stock Trax, ours, PyTorch and Keras, on the same batches.

    python benchmarks/speed.py                              # the embedded corpus
    python benchmarks/speed.py --questions questions.csv.gz --splits splits.json
    python benchmarks/speed.py --contenders trax,ours,torch --peer-python .venv-bench/bin/python

Each contender runs in a process of its own, which also gives its peak memory and its time to the first
step, with an empty compile cache in the first round and a filled one after it. The processes take turns,
round after round. A figure is the sum over the batches of each batch's median time over all passes and
rounds. The floor of a step is its arithmetic (the LSTM's products, forward and twice that backward, of
every token, padding included) at the speed of a large matrix product, measured before and after.

Ours changes glibc's malloc settings (siamese.keep_memory). Unless --own-allocator is given, every
contender runs with that setting, from the environment, so that the LSTMs are compared and not this.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from speed_batches import data_sizes, gflop, load, random_batch
from speed_contenders import BATCHES, LSTMS, MAKERS
from speed_report import plot, plot_growth, table

KEEP_FREED = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1),
    "MALLOC_TOP_PAD_": str(64 << 20),
    "MALLOC_ARENA_MAX": "1",
}


# ---- One contender's process ----


def child(name: str, batches_file: str) -> None:
    """Trains and encodes the file's batches; prints one line of JSON."""
    start = time.perf_counter()
    with np.load(batches_file) as stored:
        vocab, repeats = int(stored["vocab"]), int(stored["repeats"])
        batches = [
            tuple(stored[f"{i}_{part}"] for part in range(stored["parts"]))
            for i in range(stored["count"])
        ]
    step, encode = MAKERS[name](vocab, batches[0])
    first = None
    # Every shape compiles once, the first one perhaps twice: fresh weights, then those of a step.
    for batch in [*{b[0].shape: b for b in batches}.values()] * 2:
        step(*batch)
        first = first or time.perf_counter() - start
        encode(np.concatenate(batch[:2]))
    taken = {"train": [], "encode": [], "train_cpu": []}  # Each [pass][batch], seconds.
    for _ in range(repeats):
        row = {part: [] for part in taken}
        for batch in batches:
            at, cpu = time.perf_counter(), time.process_time()
            step(*batch)
            row["train"].append(time.perf_counter() - at)
            row["train_cpu"].append(time.process_time() - cpu)
        for q in [np.concatenate(batch[:2]) for batch in batches]:
            at = time.perf_counter()
            encode(q)
            row["encode"].append(time.perf_counter() - at)
        for part, times in row.items():
            taken[part].append(times)
    peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
    print(json.dumps({**taken, "first_step_s": first, "peak_mib": peak}))


def cores() -> set[int]:
    """The cores that this process may use: `taskset -c 0` leaves one."""
    return os.sched_getaffinity(0)


def busy_seconds() -> float:
    """Time that our cores have worked, for whomever, or were taken away by the machine's host."""
    ticks = 0
    for line in Path("/proc/stat").read_text().splitlines():
        name, *values = line.split()
        if name in {f"cpu{core}" for core in cores()}:
            user, nice, system, _, _, irq, soft, steal = map(int, values[:8])
            ticks += user + nice + system + irq + soft + steal
    return ticks / os.sysconf("SC_CLK_TCK")


def own_seconds() -> float:
    """Processor time of the processes that were started from here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(name: str, batches: list, vocab: int, cache: str, arguments) -> dict:
    """Runs one contender in its own process."""
    peer = arguments.peer_python if name.startswith(("torch", "keras")) else None
    environment = {**os.environ, "XDG_CACHE_HOME": cache}
    environment |= {} if arguments.own_allocator else KEEP_FREED
    with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        arrays = {f"{i}_{part}": a for i, b in enumerate(batches) for part, a in enumerate(b)}
        sizes = {"count": len(batches), "parts": len(batches[0])}
        np.savez(file, vocab=vocab, repeats=arguments.repeats, **sizes, **arrays)
        file.flush()
        command = [peer or sys.executable, __file__, "--child", name, file.name]
        start, busy, own = time.perf_counter(), busy_seconds(), own_seconds()
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        others = (busy_seconds() - busy) - (own_seconds() - own)
        share = others / (time.perf_counter() - start) / len(cores())
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    return {**json.loads(done.stdout.strip().splitlines()[-1]), "others_share": share}


def rounds(jobs: dict, arguments) -> dict:
    """Each job (contender, batches, vocabulary) once a round, in turn; see this module's docstring."""
    found = {key: [] for key in jobs}
    with tempfile.TemporaryDirectory() as cache:
        for _ in range(arguments.rounds):
            for key, (name, batches, vocab) in jobs.items():
                own_cache = f"{cache}/{key.replace('/', '_')}"
                found[key].append(measure(name, batches, vocab, own_cache, arguments))
                print(f"  {key}: {brief(found[key][-1])}", file=sys.stderr, flush=True)
    return {key: pooled(runs, *jobs[key][:2]) for key, runs in found.items()}


def brief(run: dict) -> str:
    if "error" in run:
        return run["error"]
    step = 1000 * float(np.median(run["train"], axis=0).mean())
    return f"{step:.1f} ms a step, {run['others_share']:.0%} of the cores with others"


def pooled(runs: list[dict], name: str, batches: list) -> dict:
    """A job's figures over its rounds."""
    good = [run for run in runs if "error" not in run]
    if not good:
        return runs[0]
    pairs = sum(len(batch[0]) for batch in batches)

    def seconds(part, pick):
        return float(pick(np.concatenate([run[part] for run in good]), axis=0).sum())

    work = gflop(batches) * LSTMS.get(name, 1)
    train, encode = (seconds(part, np.median) for part in ("train", "encode"))
    best = seconds("train", np.min)
    later = [run["first_step_s"] for run in good[1:]] or [good[0]["first_step_s"]]
    return {
        "train_pairs_per_s": pairs / train,
        "encode_questions_per_s": 2 * pairs / encode,
        "step_ms": 1000 * train / len(batches),
        "gflops": work / train,
        "best_train_pairs_per_s": pairs / best,
        "best_encode_questions_per_s": 2 * pairs / seconds("encode", np.min),
        "best_gflops": work / best,
        "cpu_ms": 1000 * seconds("train_cpu", np.median) / len(batches),
        "first_step_s": good[0]["first_step_s"],
        "first_step_cached_s": statistics.median(later),
        "peak_mib": statistics.median(run["peak_mib"] for run in good),
        "others_share": statistics.median(run["others_share"] for run in good),
    }


# ---- The floor, and all together ----


def peak_gflops(runs: int = 12) -> float:
    """Float32 speed of a 2048 x 2048 product, the best of several: XLA's, quicker than NumPy's."""
    import jax

    a, best = jax.numpy.ones((2048, 2048)), 1e9
    multiply = jax.jit(lambda a: a @ a)
    multiply(a).block_until_ready()
    for _ in range(runs):
        start = time.perf_counter()
        multiply(a).block_until_ready()
        best = min(best, time.perf_counter() - start)
    return 2 * 2048**3 / best / 1e9


def main() -> None:
    """Measures, prints the table, and writes JSON, Markdown and PNG."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", help="a file of labelled pairs; the embedded corpus if none")
    parser.add_argument("--splits", help='JSON with {"rows": {"train": [start, stop]}}')
    parser.add_argument("--contenders", default=",".join(MAKERS), help="comma-separated")
    parser.add_argument("--peer-python", help="interpreter that has torch and keras")
    parser.add_argument("--batches", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=5, help="passes in each process")
    parser.add_argument("--parts", default="main,shapes,vocabularies,data")
    parser.add_argument("--own-allocator", action="store_true", help="glibc as each sets it itself")
    parser.add_argument("--add", action="store_true", help="keep the output's other parts")
    parser.add_argument("--output", default=str(Path(__file__).with_name("results") / "speed"))
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(*arguments.child)
        return
    # Not above: the peers' interpreter has no siamese.
    from siamese.compat.process import processor

    names, parts = arguments.contenders.split(","), arguments.parts.split(",")
    plain = [name for name in names if name not in BATCHES]
    output = Path(arguments.output)
    output.parent.mkdir(parents=True, exist_ok=True)
    stored = output.with_suffix(".json")
    result = json.loads(stored.read_text()) if arguments.add and stored.exists() else {}
    peak = max(result.get("peak_gflops", 0), peak_gflops())  # The best ever seen, under --add.
    result |= {"cores": len(cores()), "processor": processor(), "peak_gflops": peak}
    if "main" in parts:
        kinds = {name: BATCHES.get(name, "course") for name in names}
        found = load(arguments.questions, arguments.splits, arguments.batches, set(kinds.values()))
        jobs = {name: (name, *found[kind]) for name, kind in kinds.items()}
        data = "Quora rows" if arguments.questions else "embedded corpus"
        batches, vocab = found["course"]
        result["data"] = f"{data}, {len(batches)} batches of 256 pairs, vocabulary {vocab:,}"
        if "best" in found:
            batches, vocab = found["best"]
            result["data"] += f" (best preset: {len(batches[0][0])} pairs, vocabulary {vocab:,})"
        part = "own_allocator" if arguments.own_allocator else "main"
        result[part] = rounds(jobs, arguments)
    for part in filter(("shapes", "even_shapes").__contains__, parts):
        even = part == "even_shapes"
        jobs = {
            f"{size} x {length} {name}": (
                name,
                [random_batch(41699, size, length, even)] * 2,
                41699,
            )
            for size in (64, 256, 1024)
            for length in (16, 32, 64)
            for name in plain
        }
        result[part] = rounds(jobs, arguments)
    if "vocabularies" in parts:
        jobs = {
            f"{size:,} {name}": (name, [random_batch(size, 256, 32, even=True)] * 2, size)
            for size in (10_000, 100_000, 1_000_000)
            for name in plain
        }
        result["vocabularies"] = rounds(jobs, arguments)
    if "data" in parts:
        result["data_sizes"] = data_sizes()
    result["peak_gflops"] = max(result["peak_gflops"], peak_gflops())
    stored.write_text(json.dumps(result, indent=1) + "\n")
    output.with_suffix(".md").write_text(table(result))
    if result.get("main"):
        plot(result, output.with_suffix(".png"))
    if result.get("shapes"):
        plot_growth(result, output.with_name(output.name + "_growth.png"))
    print(table(result))


if __name__ == "__main__":
    main()
