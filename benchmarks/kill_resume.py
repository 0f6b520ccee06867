"""Kills a training run with SIGKILL at random moments and checks that nothing is lost.

A child process trains a small course model and saves every 5 steps. The parent kills it again and again,
mostly while it trains, evaluates or saves, sometimes while it starts. Every restart must go on from a whole
checkpoint, no step may get lost twice, and the finished weights must equal those of a run never
interrupted, bit for bit. A kill comes a random number of steps and a random part of a second after a
start, so that it falls into training however busy the machine is.

    python benchmarks/kill_resume.py --kills 50
"""

import argparse
import functools
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SAVE_EVERY = 5


def child(folder: str, steps: int) -> None:
    from siamese import Siamese, TripletLoss, data_generator, train_model

    draw = np.random.RandomState(0)
    q1 = [draw.randint(2, 200, draw.randint(2, 10)).tolist() for _ in range(400)]
    q2 = [[*draw.permutation(q)[1:].tolist(), int(draw.randint(2, 200))] for q in q1]
    random.seed(34)
    loop = train_model(
        functools.partial(Siamese, 200, 16),
        TripletLoss,
        data_generator(q1[:320], q2[:320], 32),
        data_generator(q1[320:], q2[320:], 32),
        folder,
        random_seed=7,
        checkpoint_at=lambda step: step % SAVE_EVERY == 0,
        eval_at=lambda step: step % 20 == 0,
        course_file=False,
    )
    print("RESUMED", loop.step, flush=True)
    loop.on_step = lambda loop, loss: print("STEP", loop.step, flush=True)
    loop.run(steps - loop.step)
    print("DONE", loop.step, flush=True)


def start(folder: Path, steps: int) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, __file__, "--child", str(folder), "--steps", str(steps)],
        stdout=subprocess.PIPE,
        text=True,
    )


def wait_for(process: subprocess.Popen, word: str, at_least: int = 0) -> int:
    """The first number from `at_least` on that follows `word` in the child's output."""
    for line in process.stdout:
        if line.startswith("Skipped"):
            raise SystemExit(f"A restart found a checkpoint that was not whole: {line}")
        if line.startswith(word) and int(line.split()[1]) >= at_least:
            return int(line.split()[1])
    raise SystemExit(f"The run ended before {word} {at_least}: give more --steps.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--longest", type=int, default=40, help="steps of training before a kill")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.child:
        return child(flags.child, flags.steps)

    from siamese.storage.checkpoints import load_newest

    dice = random.Random(flags.seed)
    with tempfile.TemporaryDirectory() as scratch:
        whole, killed = Path(scratch, "whole"), Path(scratch, "killed")
        begun = time.monotonic()
        process = start(whole, flags.steps)
        wait_for(process, "RESUMED")
        starting = time.monotonic() - begun  # seconds that imports, loading and compiling take
        assert wait_for(process, "DONE") == flags.steps and process.wait() == 0
        resumed_at, kills, at_start = [], 0, 0
        while kills < flags.kills:
            process = start(killed, flags.steps)
            if dice.random() < 0.2:
                time.sleep(dice.uniform(0, starting))
                at_start += 1
            else:
                resumed_at.append(wait_for(process, "RESUMED"))
                wait_for(process, "STEP", resumed_at[-1] + dice.randint(1, flags.longest))
                time.sleep(dice.uniform(0, 0.05))
            process.send_signal(signal.SIGKILL)
            rest = process.stdout.read()
            process.wait()
            if "DONE" in rest:
                raise SystemExit("The run finished before all kills were done: give more --steps.")
            kills += 1
        process = start(killed, flags.steps)
        resumed_at.append(wait_for(process, "RESUMED"))
        assert wait_for(process, "DONE") == flags.steps and process.wait() == 0
        assert resumed_at == sorted(resumed_at), f"a restart went back: {resumed_at}"
        assert resumed_at[-1] > 0, (
            "no kill found a checkpoint to go on from: give a larger --longest"
        )
        assert all(step % SAVE_EVERY == 0 for step in resumed_at), resumed_at
        ours, theirs = (load_newest(folder).checkpoint for folder in (killed, whole))
        for name in ("weights", "slots"):
            compare(getattr(ours, name), getattr(theirs, name))
        print(
            f"{kills} kills ({at_start} while starting): every restart went on from a whole checkpoint "
            f"(steps {resumed_at[0]} to {resumed_at[-1]}), and after {flags.steps} steps weights and "
            "optimizer slots equal those of a run never interrupted, bit for bit."
        )


def compare(found, expected) -> None:
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        for a, b in zip(found, expected):
            compare(a, b)
    elif hasattr(expected, "shape"):
        np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


if __name__ == "__main__":
    main()
