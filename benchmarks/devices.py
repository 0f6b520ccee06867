"""The same losses on any number of devices: 1, 2, 4 and 8 virtual CPU devices, and two processes.

Each run is a Python process of its own that trains the course's model on the embedded corpus and prints
every step's loss; the differences are measured from those of one device. Two processes are joined by
`jax.distributed`, each with one device, and each feeds its half of every batch.

    python benchmarks/devices.py --steps 20
"""

import argparse
import json
import os
import socket
import subprocess
import sys


def child(preset: str, steps: int, processes: int, number: int, port: int) -> None:
    from siamese.data.corpus import embedded_corpus
    from siamese.training import devices
    from siamese.training.config import TrainConfig

    if processes > 1:
        devices.connect(f"localhost:{port}", processes, number)
    from siamese.training.trainer import Trainer

    corpus = embedded_corpus(train_pairs=3000, valid_pairs=600, test_pairs=100)
    # The forget gate's bias alone: with Trax's own start the loss would not move in so few steps.
    sizes = {"d_model": 32, "batch_size": 64, "lstm_bias": "forget_gate"}
    sizes |= {"pair_batch_size": 32, "hard_negatives": 1000} if preset == "best" else {}
    config = TrainConfig.preset(preset, epochs=0.0, steps=steps, warmup_steps=5, **sizes)
    trainer = Trainer(corpus.train, config, valid=corpus.valid, quiet=True)
    losses = []
    trainer.train(on_step=lambda loop, loss: losses.append(float(loss)))
    import jax

    print("LOSSES", json.dumps([len(jax.devices()), jax.process_count(), losses]), flush=True)


def run(preset: str, steps: int, count: int, processes: int) -> list[float]:
    """The losses of a run on `count` devices in each of `processes` processes."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    flags = f"--xla_force_host_platform_device_count={count}"
    started = [
        subprocess.Popen(
            [sys.executable, __file__, "--preset", preset, "--steps", str(steps), "--child"]
            + [str(value) for value in (processes, number, port)],
            env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(processes)
    ]
    found = []
    for process in started:
        output = process.communicate()[0]
        line = next((x for x in output.splitlines() if x.startswith("LOSSES")), None)
        if line is None:
            raise SystemExit(f"A run on {count} devices ended early:\n{output}")
        devices, joined, losses = json.loads(line.removeprefix("LOSSES"))
        assert (devices, joined) == (count * processes, processes)
        found.append(losses)
    assert all(losses == found[0] for losses in found), "the processes see different losses"
    return found[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", choices=("course", "best"), default="course")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--child", type=int, nargs=3, help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.child:
        return child(flags.preset, flags.steps, *flags.child)
    one = run(flags.preset, flags.steps, 1, 1)
    print(f"1 device: loss {one[0]:.7f} at step 1, {one[-1]:.7f} at step {flags.steps}", flush=True)
    for count, processes in ((2, 1), (4, 1), (8, 1), (1, 2)):
        losses = run(flags.preset, flags.steps, count, processes)
        largest = max(abs(a - b) for a, b in zip(losses, one, strict=True))
        what = f"{count} devices" if processes == 1 else f"{processes} processes of one device"
        print(
            f"{what}: largest difference of the loss in {flags.steps} steps {largest:.1e}",
            flush=True,
        )
        assert largest <= 1e-5, "more than 1e-5"


if __name__ == "__main__":
    main()
