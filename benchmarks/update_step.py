"""The training step by how it treats memory: Trax's own, with the optimizer's slots donated, and lazy Adam.

    python benchmarks/update_step.py
    python benchmarks/update_step.py --vocabularies 32428 1000000 --length 32

The same tower, loss and batch in all three (256 pairs, masked, words drawn by Zipf's law); steps take
turns; medians. A step returns when its loss is there and its weights are.
"""

from __future__ import annotations

import argparse
import statistics
import time

import jax
import numpy as np

from siamese import Siamese, TripletLoss, compat
from siamese.compat.process import keep_memory
from siamese.training.step import update_step

compat.prepare()

import trax
from trax import layers as tl

RATE = 0.001


def made(vocab: int, batch, kind: str):
    """A step of the kind: () -> its loss and the new weights."""
    model = tl.Serial(Siamese(vocab, mask_padding=True), TripletLoss())
    model.init(trax.shapes.signature(batch))
    optimizer = trax.optimizers.Adam(RATE)
    optimizer.tree_init(model.weights)
    trainer = trax.optimizers.Trainer(model, optimizer, n_devices=1)
    if kind != "Trax's step":
        trainer._accelerated_update_fn = update_step(trainer, lazy_adam=kind == "lazy Adam")
    key = np.asarray(jax.random.PRNGKey(0))

    def step():
        loss, _ = trainer.one_step(batch, key, step=1, learning_rate=RATE)
        return loss, trainer.accelerated_model_with_loss.weights

    return step


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--vocabularies", type=int, nargs="+", default=[10_000, 32_428, 100_000, 300_000]
    )
    parser.add_argument("--length", type=int, default=12)
    parser.add_argument("--runs", type=int, default=25)
    flags = parser.parse_args()
    keep_memory()
    kinds = ("Trax's step", "slots donated", "lazy Adam")
    print(f"256 pairs of length {flags.length}, masked; ms a step.\n")
    print("| words | of them in the batch | " + " | ".join(kinds) + " |")
    print("|---" * 5 + "|")
    for vocab in flags.vocabularies:
        share = 1 / np.arange(2, vocab)
        draw = np.random.RandomState(0)
        words = draw.choice(np.arange(2, vocab), (2, 256, flags.length), p=share / share.sum())
        batch = tuple(words.astype(np.int32))
        steps = {kind: made(vocab, batch, kind) for kind in kinds}
        taken = {kind: [] for kind in kinds}
        for run in range(flags.runs + 3):  # The first ones compile.
            for kind, step in steps.items():
                start = time.perf_counter()
                jax.block_until_ready(step())
                if run >= 3:
                    taken[kind].append(1000 * (time.perf_counter() - start))
        cells = " | ".join(f"{statistics.median(taken[kind]):.1f}" for kind in kinds)
        print(f"| {vocab:,} | {len(np.unique(words)):,} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
