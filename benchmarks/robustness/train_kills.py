"""`siamese train` killed again and again at random moments, each time started with the same command.

A small run with a checkpoint every few steps gets SIGKILL (or SIGINT, SIGTERM: --signals) at a random
moment: while it starts, or some time after it has saved another checkpoint. Each run that ends must have
the checkpoint, the saved model and the curves of a run that was never interrupted, to the last byte, and
nothing may be left over in its directory. Then the next run begins, until all kills are done. Each run is a
process of its own, forked from one that has the modules loaded: the kills fall into the run and not into
Python's imports.

    python benchmarks/robustness/train_kills.py --kills 50
"""

import argparse
import csv
import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

from siamese import embedded_corpus
from siamese.cli import main as command_line
from siamese.search.model_file import read_file

RESULT = Path(__file__).parents[1] / "results" / "robustness_train_kills.json"
# SIGTERM before the first step or after the last one ends the process in the system's own way.
ENDS = {"KILL": (-signal.SIGKILL,), "INT": (130,), "TERM": (143, -signal.SIGTERM)}
FILES = ("checkpoint.safetensors", "best.safetensors", "model.safetensors")


def write_pairs(path: Path) -> None:
    """400 labelled pairs as CSV."""
    pairs = embedded_corpus(train_pairs=400, valid_pairs=50, test_pairs=50).train
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["question1", "question2", "is_duplicate"])
        rows.writerows(zip(pairs.question1, pairs.question2, pairs.is_duplicate.astype(int)))


def start(scratch: Path, run: Path, flags: argparse.Namespace) -> multiprocessing.Process:
    """A process with the one command of all runs."""
    command = ["train", "--questions", scratch / "pairs.csv", "--output", run, "--json"]
    command += ["--steps", flags.steps, "--batch-size", 16]
    settings = {"checkpoint_every": flags.save_every, "eval_every": 10, "d_model": 16}
    command += [f"--set={name}={value}" for name, value in settings.items()]

    def child():
        messages = os.open(scratch / "messages", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(messages, stream)
        sys.exit(command_line.main(list(map(str, command))))

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    return process


def contents(run: Path) -> dict[str, object]:
    """What a finished run holds: the bytes of its files, its curves, and the names of temporary files."""
    files: dict[str, object] = {name: (run / name).read_bytes() for name in FILES}
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    files["curves"] = [{k: v for k, v in line.items() if k != "seconds"} for line in lines]
    files["others"] = sorted(p.name for p in run.iterdir() if p.name not in FILES)
    return files


def steps_in(run: Path) -> int:
    """The step of the checkpoint; 0 where there is none yet."""
    path = run / "checkpoint.safetensors"
    return read_file(path, "checkpoint")[1]["step"] if path.exists() else 0


def wait_and_send(
    process: multiprocessing.Process, run: Path, number: int, starting: float, dice: random.Random
) -> str:
    """Sends the signal at a random moment; returns in which part of the run that was."""
    before = steps_in(run)
    if dice.random() < 0.25:
        moment, part = dice.uniform(0, starting), "starting"
    else:
        further = before + dice.randint(1, 40)
        while process.is_alive() and steps_in(run) < further:
            time.sleep(0.005)
        moment, part = dice.uniform(0, 0.3), "training"
    process.join(moment)
    if not process.is_alive():
        return "at its end"
    os.kill(process.pid, number)
    return part


def main(arguments: list[str] | None = None) -> dict:
    """Runs it, prints a table and writes the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--save-every", type=int, default=5)
    parser.add_argument("--signals", default="KILL", help="such as KILL,INT,TERM")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--result", type=Path, default=RESULT)
    flags = parser.parse_args(arguments)
    names, dice = flags.signals.split(","), random.Random(flags.seed)
    parts = dict.fromkeys(("starting", "training", "at its end"), 0)
    resumed, finished, kills, begun = [], 0, 0, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        write_pairs(scratch / "pairs.csv")
        first = time.monotonic()
        process = start(scratch, scratch / "whole", flags)
        while not steps_in(scratch / "whole") and process.is_alive():
            time.sleep(0.01)
        starting = time.monotonic() - first
        process.join()
        assert process.exitcode == 0, (scratch / "messages").read_text()
        whole = contents(scratch / "whole")
        while True:
            run = scratch / f"run{finished}"
            kill = kills < flags.kills
            resumed.append(steps_in(run))
            process = start(scratch, run, flags)
            name = names[kills % len(names)]
            if kill:
                part = wait_and_send(process, run, signal.Signals[f"SIG{name}"], starting, dice)
                parts[part] += 1
                kills += part != "at its end"
            process.join()
            if process.exitcode != 0:
                message = (scratch / "messages").read_text()
                assert kill and process.exitcode in ENDS[name], (process.exitcode, message)
                continue
            files = contents(run)
            different = [key for key in whole if files[key] != whole[key]]
            assert not different, f"After kills these differ: {different}"
            finished += 1
            if not kill:
                break
    result = {
        "kills": kills,
        "signals": names,
        "while starting": parts["starting"],
        "while training": parts["training"],
        "runs finished, each equal to one never interrupted": finished,
        "steps resumed at": resumed,
        "steps": flags.steps,
        "checkpoint every": flags.save_every,
        "seconds": round(time.monotonic() - begun),
    }
    flags.result.write_text(json.dumps(result, indent=1) + "\n")
    for key, value in result.items():
        print(f"{key:<52}{value}")
    return result


if __name__ == "__main__":
    main()
