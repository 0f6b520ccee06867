"""`siamese train` killed again and again at random moments, each time started with the same command.

A small run with a checkpoint every few steps gets SIGKILL (or SIGINT, SIGTERM: --signals) at a random
moment: while it starts, or some time after it has saved another checkpoint. Each run that comes to its end
must have the weights, optimizer slots, saved model and curves of a run never interrupted, to the last byte,
and nothing may be left over in its directory. Then the next run begins, until all kills are done. Each run
is a process of its own, forked from one that has the modules loaded: the kills fall into the run and not
into Python's imports.

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
from siamese.storage.checkpoints import list_checkpoints, load_newest
from siamese.storage.store import find_current

ROOT = Path(__file__).parents[2]
RESULT = ROOT / "benchmarks" / "results" / "robustness_train_kills.json"
# SIGTERM before the first step or after the last one ends the process in the system's own way.
ENDS = {"KILL": (-signal.SIGKILL,), "INT": (130,), "TERM": (143, -signal.SIGTERM)}
BYTES = ("weights.safetensors", "slots.safetensors", "model")
TIMED = ("seconds", "train/steps per second")


def write_pairs(path: Path) -> None:
    """400 labelled pairs as CSV."""
    pairs = embedded_corpus(train_pairs=400, valid_pairs=50, test_pairs=50).train
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["question1", "question2", "is_duplicate"])
        rows.writerows(zip(pairs.question1, pairs.question2, pairs.is_duplicate.astype(int)))


def start(scratch: Path, run: Path, flags: argparse.Namespace) -> multiprocessing.Process:
    """A process with the one command of all runs."""
    command = ["train", "--questions", scratch / "pairs.csv", "--output", run]
    command += ["--steps", flags.steps, "--checkpoint-every", flags.save_every, "--json"]
    command += ["--eval-every", 10, "--d-model", 16, "--batch-size", 16]

    def child():
        messages = os.open(scratch / "messages", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(messages, stream)
        sys.exit(command_line.main(list(map(str, command))))

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    return process


def left_behind(run: Path) -> dict[str, object]:
    """What a finished run holds: bytes of weights, slots and model, curves, and the names of its files."""
    newest = load_newest(run)
    assert not newest.skipped, newest.skipped
    folder = newest.checkpoint.path
    names = "weights.safetensors", "slots.safetensors", "state.json"
    found = {name: (folder / name).read_bytes() for name in names}
    # The history holds times and steps per second; what else is in it, the curves hold too.
    state = json.loads(found.pop("state.json"))
    found["state"] = {k: v for k, v in state.items() if k != "history"}
    model = find_current(run / "model", "detector")
    found["model"] = (model / "weights.safetensors").read_bytes()
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    found["curves"] = [{k: v for k, v in line.items() if k not in TIMED} for line in lines]
    entries = {path.name for path in [*run.iterdir(), *(run / "model").iterdir()]}
    found["temporaries"] = sorted(name for name in entries if ".tmp-" in name)
    # A signal that can be caught leaves a checkpoint of its own step, which takes the place of another.
    steps = [saved.step for saved in list_checkpoints(run)]
    found["checkpoints"] = steps[0], len(steps)
    found["generations"] = sum(name.startswith("gen-") for name in entries)
    return found


def steps_in(run: Path) -> int:
    """The step of the newest checkpoint, by its name."""
    saved = list_checkpoints(run)
    return saved[0].step if saved else 0


def wait_and_send(
    process: multiprocessing.Process, run: Path, number: int, starting: float, dice: random.Random
) -> str:
    """Sends the signal at a random moment; says in which part of the run."""
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
    parser.add_argument("--minutes", type=float, default=60, help="begin no kill after so many")
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
        process = start(scratch, scratch / "whole", flags)
        first = time.monotonic()
        while not steps_in(scratch / "whole") and process.is_alive():
            time.sleep(0.01)
        starting = time.monotonic() - first
        process.join()
        assert process.exitcode == 0, (scratch / "messages").read_text()
        whole = left_behind(scratch / "whole")
        assert not whole["temporaries"]
        while True:
            run = scratch / f"run{finished}"
            kill = kills < flags.kills and time.monotonic() - begun < 60 * flags.minutes
            resumed.append(steps_in(run))
            process = start(scratch, run, flags)
            name = names[kills % len(names)]
            if kill:
                number = signal.Signals[f"SIG{name}"]
                part = wait_and_send(process, run, number, starting, dice)
                parts[part] += 1
                kills += part != "at its end"
            process.join()
            if process.exitcode != 0:
                message = (scratch / "messages").read_text()
                assert kill and process.exitcode in ENDS[name], (process.exitcode, message)
                assert "Skipped" not in message, message
                continue
            found = left_behind(run)
            different = [key for key in whole if found[key] != whole[key]]
            told = {key: (found[key], whole[key]) for key in different if key not in BYTES}
            assert not different, f"After kills these differ: {different} {told}"
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
        "left over": 0,
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
