"""The contenders of speed.py: stock Trax, ours, PyTorch and Keras, with the same sizes, loss and Adam.

Each maker gives step(q1, q2) -> loss and encode(q) -> vectors; both return when the result is there.
"""

from __future__ import annotations

import os

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


def make_trax(vocab: int, fast: bool, masked: bool):
    """Stock Trax's trainer on the course's model, or ours."""
    if not fast:  # Trax alone: its own trainer, the course's cells.
        from siamese import compat

        # Only Trax's import is eased. What glibc does is Trax's own affair (or the environment's).
        compat.keep_freed_memory = lambda: False
        compat.prepare()
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

    import functools

    import jax

    from siamese import Siamese, TripletLoss, train_model
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
    """nn.Embedding, nn.LSTM and Adam, with autograd; packed sequences leave padding out.

    The quickest of the forms tried: time-major, both questions in one batch, Adam fused, oneDNN on.
    """
    import torch
    from torch import nn

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    torch.set_flush_denormal(True)  # As XLA does.
    embedding, lstm = nn.Embedding(vocab, D_MODEL), nn.LSTM(D_MODEL, D_MODEL)
    adam = torch.optim.Adam([*embedding.parameters(), *lstm.parameters()], RATE, fused=True)

    def tower(q):
        x = embedding(q.T.contiguous())  # [length, batch, d_model]
        if packed:
            lengths = (q != 1).sum(1)
            rows = nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
            states, _ = nn.utils.rnn.pad_packed_sequence(lstm(rows)[0])
            pooled = states.sum(0) / lengths[:, None]  # Padded states are zero.
        else:
            pooled = lstm(x)[0].mean(0)
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
        return float(loss.detach())

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
