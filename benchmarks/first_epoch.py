"""A preset's first epoch from cold: programs that XLA compiles, and when steps 1 and 100 are done.

    python benchmarks/first_epoch.py --preset best --questions questions.csv.gz --splits splits.json

Seconds count from the start of this process, with an empty cache of compiled programs unless --cache names
one: run twice with the same directory, the second run shows what the cache saves.
"""

import argparse
import collections
import json
import tempfile
import time
from pathlib import Path

STARTED = time.perf_counter()
COMPILED = "/jax/core/compile/backend_compile_duration"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", default="best", choices=("course", "best", "general"))
    parser.add_argument("--questions", required=True, help="a file of labelled pairs")
    parser.add_argument(
        "--splits", required=True, help='JSON with {"rows": {"train": [start, stop]}}'
    )
    parser.add_argument("--cache", help="directory of compiled programs [a new one]")
    flags = parser.parse_args()

    import jax

    from siamese import enable_compile_cache, keep_memory
    from siamese.data.pairs import read_pairs
    from siamese.training.config import TrainConfig
    from siamese.training.trainer import Trainer

    keep_memory()
    spent: collections.Counter = collections.Counter()

    def heard(event: str, seconds: float, **facts) -> None:
        if event == COMPILED:
            spent["programs"] += 1
            spent["long"] += seconds > 1
            spent["seconds"] += seconds

    jax.monitoring.register_event_duration_secs_listener(heard)

    def report(when: str) -> None:
        print(
            f"{when:<12} {time.perf_counter() - STARTED:6.1f} s; compiled or read from the cache: "
            f"{spent['programs']} programs in {spent['seconds']:.1f} s, {spent['long']} of them over 1 s",
            flush=True,
        )

    rows = json.loads(Path(flags.splits).read_text())["rows"]
    with tempfile.TemporaryDirectory() as empty:
        enable_compile_cache(flags.cache or empty)
        pairs = read_pairs(flags.questions)
        train, valid = (pairs.rows(*rows[part]) for part in ("train", "valid"))
        config = TrainConfig.preset(flags.preset, epochs=1)
        trainer = Trainer(train, config, valid=valid, quiet=True)
        report("prepared")

        def on_step(loop, loss) -> None:
            if loop.step in (1, 2, 100):
                loss.block_until_ready()
                report(f"step {loop.step}")

        trainer.train(on_step)
        report(f"step {trainer.loop.step}")


if __name__ == "__main__":
    main()
