"""Training and encoding speed side by side: stock Trax, ours, PyTorch and Keras, on the same batches.

    python benchmarks/speed.py                              # the embedded corpus
    python benchmarks/speed.py --questions questions.csv.gz --splits splits.json
    python benchmarks/speed.py --contenders trax,ours,torch --peer-python .venv-bench/bin/python

Each contender runs in a process of its own, which also gives its peak memory and its time to the first
step; the processes take turns, round after round, and the medians over rounds are compared. All have the
same sizes, the same loss and Adam at the same rate. The floor of a step is its arithmetic (the LSTM's
products, forward and twice that backward, of every token, padding included) at the speed of a large
matrix product measured in the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

D_MODEL, RATE = 128, 0.001
NAMES = {
    "trax": "stock Trax, course batches",
    "ours": "siamese, course preset",
    "torch": "PyTorch nn.LSTM, course batches",
    "keras": "Keras LSTM (JAX), course batches",
    "ours_masked": "siamese, PairBatches, masked",
    "torch_packed": "PyTorch packed, PairBatches",
}


# ---- Contenders: each gives step(q1, q2) and encode(q), which return when the result is there ----


def make_trax(vocab: int, fast: bool, masked: bool):
    """Stock Trax's trainer on the course's model, or ours."""
    import functools

    from siamese import Siamese, TripletLoss, train_model

    if not fast:  # Trax alone: its own Loop and trainer, the course's cells.
        import trax
        from trax import layers as tl
        from trax import shapes
        from trax.fastmath import numpy as fastnp

        def normalize(x):
            return x / fastnp.sqrt(fastnp.sum(x * x, axis=-1, keepdims=True))

        def loss(v1, v2, margin=0.25):
            scores = fastnp.dot(v1, v2.T)
            positive, eye = fastnp.diagonal(scores), fastnp.eye(len(scores))
            closest = (scores - 2 * eye).max(axis=1)
            mean = (scores * (1 - eye)).sum(axis=1) / (len(scores) - 1)
            zero = fastnp.maximum
            return fastnp.mean(
                zero(0, margin - positive + closest) + zero(0, margin - positive + mean)
            )

        tower = tl.Serial(
            tl.Embedding(vocab, D_MODEL), tl.LSTM(D_MODEL), tl.Mean(axis=1), tl.Fn("N", normalize)
        )
        model = tl.Parallel(tower, tower)
        both = tl.Serial(model, tl.Fn("L", lambda v1, v2: loss(v1, v2)))
        sample = (np.ones((2, 4), np.int32),) * 2
        both.init(shapes.signature(sample))
        optimizer = trax.optimizers.Adam(RATE)
        optimizer.tree_init(both.weights)
        trainer = trax.optimizers.Trainer(both, optimizer, n_devices=1)
        run = tl.Accelerate(model, n_devices=1)

        def step(q1, q2):
            rng = trax.fastmath.random.get_prng(0)
            return float(trainer.one_step((q1, q2), rng, step=1, learning_rate=RATE)[0])

        return step, lambda q: [np.asarray(v) for v in run((q[: len(q) // 2], q[len(q) // 2 :]))]

    import jax

    from siamese.encoder import TowerConfig, encode
    from siamese.model import tower_weights

    sample = iter([(np.ones((2, 4), np.int32),) * 2] * 4)
    loop = train_model(
        functools.partial(Siamese, vocab, D_MODEL, mask_padding=masked),
        TripletLoss,
        sample,
        sample,
        None,
        lr_schedule=lambda step: RATE,
        quiet=True,
    )
    trainer, config = loop._trainer_per_task[0], TowerConfig(vocab, D_MODEL, mask_padding=masked)
    rng, weights = np.asarray(loop.new_rng()), jax.device_put(tower_weights(loop.model))
    run = jax.jit(lambda weights, q: encode(weights, q, config))

    def step(q1, q2):
        return float(trainer.one_step((q1, q2), rng, step=1, learning_rate=RATE)[0])

    return step, lambda q: np.asarray(run(weights, q))


def make_torch(vocab: int, packed: bool):
    """nn.Embedding, nn.LSTM and Adam, with autograd; packed sequences leave padding out."""
    import torch
    from torch import nn

    embedding, lstm = nn.Embedding(vocab, D_MODEL), nn.LSTM(D_MODEL, D_MODEL, batch_first=True)
    adam = torch.optim.Adam([*embedding.parameters(), *lstm.parameters()], RATE)

    def tower(q):
        x = embedding(q)
        if packed:
            lengths = (q != 1).sum(1)
            rows = nn.utils.rnn.pack_padded_sequence(x, lengths, True, enforce_sorted=False)
            states, _ = nn.utils.rnn.pad_packed_sequence(lstm(rows)[0], batch_first=True)
            pooled = states.sum(1) / lengths[:, None]  # Padded states are zero.
        else:
            pooled = lstm(x)[0].mean(1)
        return nn.functional.normalize(pooled, dim=1)

    def step(q1, q2):
        v = tower(torch.from_numpy(np.concatenate([q1, q2])).long())  # Both towers in one batch.
        scores = v[: len(q1)] @ v[len(q1) :].T
        eye, positive = torch.eye(len(q1)), scores.diagonal()
        closest, mean = (
            (scores - 2 * eye).amax(1),
            (scores * (1 - eye)).sum(1) / (len(q1) - 1),
        )
        loss = ((0.25 - positive + closest).relu() + (0.25 - positive + mean).relu()).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        return float(loss)

    def encode(q):
        with torch.inference_mode():
            return tower(torch.from_numpy(q).long()).numpy()

    return step, encode


def make_keras(vocab: int):
    """Keras's Embedding, LSTM and Adam on its JAX backend, through train_on_batch."""
    os.environ["KERAS_BACKEND"] = "jax"
    import keras
    from keras import layers, ops

    tower = keras.Sequential(
        [
            layers.Embedding(vocab, D_MODEL),
            layers.LSTM(D_MODEL, return_sequences=True),
            layers.GlobalAveragePooling1D(),
            layers.UnitNormalization(),
        ]
    )

    def loss(_, v):
        half = ops.shape(v)[0] // 2
        scores, eye = v[:half] @ ops.transpose(v[half:]), ops.eye(half)
        positive = ops.diagonal(scores)
        closest = ops.max(scores - 2 * eye, axis=1)
        mean = ops.sum(scores * (1 - eye), axis=1) / (half - 1)
        return ops.mean(ops.relu(0.25 - positive + closest) + ops.relu(0.25 - positive + mean))

    tower.compile(keras.optimizers.Adam(RATE), loss, jit_compile=True)

    def step(q1, q2):
        q = np.concatenate([q1, q2])
        return float(tower.train_on_batch(q, np.zeros((len(q), 1), np.float32)))

    return step, lambda q: np.asarray(tower.predict_on_batch(q))


MAKERS = {
    "trax": lambda vocab: make_trax(vocab, False, False),
    "ours": lambda vocab: make_trax(vocab, True, False),
    "ours_masked": lambda vocab: make_trax(vocab, True, True),
    "torch": lambda vocab: make_torch(vocab, False),
    "torch_packed": lambda vocab: make_torch(vocab, True),
    "keras": make_keras,
}


# ---- One contender's process ----


def child(name: str, batches_file: str) -> None:
    """Trains and encodes the file's batches; prints one line of JSON."""
    start = time.perf_counter()
    with np.load(batches_file) as stored:
        vocab, repeats = int(stored["vocab"]), int(stored["repeats"])
        count = len([key for key in stored.files if key.startswith("q1")])
        batches = [(stored[f"q1_{i}"], stored[f"q2_{i}"]) for i in range(count)]
    step, encode = MAKERS[name](vocab)
    first = None
    # Every shape compiles once, the first one perhaps twice: fresh weights, then those of a step.
    for batch in [*{b[0].shape: b for b in batches}.values()] * 2:
        step(*batch)
        first = first or time.perf_counter() - start
        encode(np.concatenate(batch))
    training, encoding = [], []
    for _ in range(repeats):
        at = time.perf_counter()
        for batch in batches:
            step(*batch)
        training.append(time.perf_counter() - at)
        at = time.perf_counter()
        for batch in batches:
            encode(np.concatenate(batch))
        encoding.append(time.perf_counter() - at)
    peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
    result = {"train_s": statistics.median(training), "encode_s": statistics.median(encoding)}
    print(json.dumps({**result, "first_step_s": first, "peak_mib": peak}))


def measure(name: str, batches: list, vocab: int, repeats: int, python: str) -> dict:
    """Runs one contender in its own process."""
    with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        arrays = {f"q1_{i}": b[0] for i, b in enumerate(batches)}
        arrays |= {f"q2_{i}": b[1] for i, b in enumerate(batches)}
        np.savez(file, vocab=vocab, repeats=repeats, **arrays)
        file.flush()
        command = [python, __file__, "--child", name, file.name]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    return json.loads(done.stdout.strip().splitlines()[-1])


# ---- The table ----


def peak_gflops() -> float:
    """Float32 speed of a 2048 x 2048 product, the best of several."""
    a, best = np.ones((2048, 2048), np.float32), 1e9
    for _ in range(8):
        start = time.perf_counter()
        a @ a
        best = min(best, time.perf_counter() - start)
    return 2 * 2048**3 / best / 1e9


def load(arguments):
    """(course batches, PairBatches batches, vocabulary size) of one draw of the training duplicates."""
    import random

    from siamese import PairBatches, data_generator, embedded_corpus, read_pairs
    from siamese.token_cache import tokenize_questions

    pairs = embedded_corpus().train
    if arguments.questions:
        pairs = read_pairs(arguments.questions)
        if arguments.splits:
            rows = json.loads(Path(arguments.splits).read_text())["rows"]["train"]
            pairs = pairs.rows(*rows)
    pairs = pairs.duplicates()
    tokenized = tokenize_questions([*pairs.question1, *pairs.question2], progress=False)
    vocabulary = tokenized.vocabulary()
    ids = tokenized.encode(vocabulary)
    rows1, rows2 = tokenized.rows[: len(pairs)], tokenized.rows[len(pairs) :]
    random.seed(34)
    course = data_generator(ids.take(rows1), ids.take(rows2), 256)
    course = [next(course) for _ in range(arguments.batches)]
    with PairBatches(ids, ids, 256, rows=(rows1, rows2), seed=34, last="drop") as bucketed:
        ours = [next(bucketed)[:2] for _ in range(arguments.batches)]
    return course, ours, vocabulary.size


def gflop(batches: list) -> float:
    """Products of a training step over all tokens: 2 * (2 d) * (4 d) forward, twice that backward."""
    tokens = sum(side.size for batch in batches for side in batch)
    return tokens * 3 * 2 * 2 * D_MODEL * 4 * D_MODEL / 1e9


def random_batch(vocab: int, size: int, length: int) -> tuple:
    draw = np.random.RandomState(0)
    return tuple(draw.randint(2, vocab, (size, length)).astype(np.int32) for _ in range(2))


def rounds(jobs: dict, arguments) -> dict:
    """Each job (contender, batches, vocabulary) once a round, in turn; medians over the rounds."""
    found = {key: [] for key in jobs}
    for _ in range(arguments.rounds):
        for key, (name, batches, vocab) in jobs.items():
            python = arguments.peer_python if name.startswith(("torch", "keras")) else None
            figures = measure(name, batches, vocab, arguments.repeats, python or sys.executable)
            found[key].append(figures)
            print(f"  {key}: {figures}", file=sys.stderr, flush=True)
    medians = {}
    for key, runs in found.items():
        good = [run for run in runs if "error" not in run]
        if not good:
            medians[key] = runs[0]
            continue
        batches = jobs[key][1]
        row = {k: statistics.median(run[k] for run in good) for k in good[0]}
        pairs = sum(len(batch[0]) for batch in batches)
        row |= {
            "train_pairs_per_s": pairs / row["train_s"],
            "encode_questions_per_s": 2 * pairs / row["encode_s"],
            "step_ms": 1000 * row["train_s"] / len(batches),
            "gflops": gflop(batches) / row["train_s"],
        }
        medians[key] = row
    return medians


def table(result: dict) -> str:
    """The figures as Markdown."""
    lines = [
        f"{result['data']}; large product {result['peak_gflops']:.0f} GFLOP/s.",
        "",
        "| contender | pairs/s | x Trax | questions/s | step ms | GFLOP/s | x floor | MiB | first step s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    base = result["main"].get("trax", {}).get("train_pairs_per_s")
    for key, row in result["main"].items():
        if "error" in row:
            lines.append(f"| {NAMES[key]} | not run: {row['error']} |")
            continue
        ratio = f"{row['train_pairs_per_s'] / base:.2f}" if base else ""
        lines.append(
            f"| {NAMES[key]} | {row['train_pairs_per_s']:,.0f} | {ratio} "
            f"| {row['encode_questions_per_s']:,.0f} | {row['step_ms']:.1f} | {row['gflops']:.0f} "
            f"| {result['peak_gflops'] / row['gflops']:.1f} | {row['peak_mib']:.0f} "
            f"| {row['first_step_s']:.1f} |"
        )
    for title, part in (("shape", "shapes"), ("vocabulary", "vocabularies")):
        if result.get(part):
            lines += [
                "",
                f"| {title} | contender | step ms | us a pair | MiB |",
                "|---|---|---|---|---|",
            ]
            for key, row in result[part].items():
                where, name = key.rsplit(" ", 1)
                if "error" not in row:
                    lines.append(
                        f"| {where} | {NAMES[name]} | {row['step_ms']:.1f} "
                        f"| {1e6 / row['train_pairs_per_s']:.0f} | {row['peak_mib']:.0f} |"
                    )
    return "\n".join(lines) + "\n"


def plot(result: dict, path: Path) -> None:
    """Training and encoding speed of the contenders as bars."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = {NAMES[k]: r for k, r in result["main"].items() if "error" not in r}
    figure, axes = plt.subplots(1, 2, figsize=(11, 3.2), sharey=True, layout="constrained")
    for axis, field, title in (
        (axes[0], "train_pairs_per_s", "training, pairs/s"),
        (axes[1], "encode_questions_per_s", "encoding, questions/s"),
    ):
        values = [row[field] for row in rows.values()]
        colours = ["C0" if name.startswith("siamese") else "0.6" for name in rows]
        axis.bar_label(axis.barh(list(rows), values, color=colours), fmt="{:,.0f}", padding=3)
        axis.set_title(title)
        axis.margins(x=0.15)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].invert_yaxis()
    figure.savefig(path, dpi=120)


def main() -> None:
    """Measures, prints the table, and writes JSON, Markdown and PNG."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", help="a file of labelled pairs; the embedded corpus if none")
    parser.add_argument("--splits", help='JSON with {"rows": {"train": [start, stop]}}')
    parser.add_argument("--contenders", default=",".join(NAMES), help="comma-separated")
    parser.add_argument("--peer-python", help="interpreter that has torch and keras")
    parser.add_argument("--batches", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=5, help="passes in each process")
    parser.add_argument("--parts", default="main,shapes,vocabularies")
    parser.add_argument("--output", default=str(Path(__file__).with_name("results") / "speed"))
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(*arguments.child)
        return
    course, ours, vocab = load(arguments)
    names, parts = arguments.contenders.split(","), arguments.parts.split(",")
    data = "Quora rows" if arguments.questions else "embedded corpus"
    data = f"{data}, {len(course)} batches of 256 pairs, vocabulary {vocab:,}, d_model {D_MODEL}"
    result = {"data": data, "peak_gflops": peak_gflops(), "cores": os.cpu_count(), "main": {}}
    masked = ("ours_masked", "torch_packed")
    if "main" in parts:
        jobs = {n: (n, ours if n in masked else course, vocab) for n in names}
        result["main"] = rounds(jobs, arguments)
    plain = [name for name in names if name not in masked]
    if "shapes" in parts:
        jobs = {
            f"{size} x {length} {name}": (name, [random_batch(41699, size, length)] * 2, 41699)
            for size in (64, 256, 1024)
            for length in (16, 32, 64)
            for name in plain
        }
        result["shapes"] = rounds(jobs, arguments)
    if "vocabularies" in parts:
        jobs = {
            f"{size:,} {name}": (name, [random_batch(size, 256, 32)] * 2, size)
            for size in (10_000, 100_000, 1_000_000)
            for name in plain
        }
        result["vocabularies"] = rounds(jobs, arguments)
    output = Path(arguments.output)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n")
    output.with_suffix(".md").write_text(table(result))
    if result["main"]:
        plot(result, output.with_suffix(".png"))
    print(table(result))


if __name__ == "__main__":
    main()
