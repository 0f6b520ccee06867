"""The contenders of speed.py: stock Trax, ours and PyTorch, with the same sizes, loss and Adam.

Each maker takes the vocabulary's size and a sample batch, and gives step(*batch) ->
loss and encode(q) -> vectors; both return when the result is there. The preset lstm has
a loss and batches of its own.
"""

import os
from collections import namedtuple
from functools import partial

import numpy as np

D_MODEL = 128
RATE = 0.001
# A batch of the preset lstm, as `siamese.PairBatches` yields it.
PairBatch = namedtuple(
    "PairBatch",
    ["q1", "q2", "false_negative_mask", "labelled_q1", "labelled_q2", "is_duplicate"],
)
NAMES = {
    "trax": "stock Trax, course batches",
    "trax_fast": "Trax with fast_forward, course batches",
    "ours": "siamese train, course preset",
    "torch": "PyTorch nn.LSTM, course batches",
    "ours_masked": "siamese, PairBatches, masked",
    "ours_lstm": "siamese, preset lstm",
    "torch_packed": "PyTorch packed, PairBatches",
}


def make_trax(vocab: int, sample, fast: bool = False):
    """Stock Trax's trainer on the course's model; `fast` installs `siamese.fast_forward`."""
    import siamese.course  # noqa: F401, I001  # Trax's import is eased; its steps stay its own.
    import trax
    from trax import layers as tl
    from trax import shapes
    from trax.fastmath import numpy as fastnp

    def normalize(x):
        return x / fastnp.sqrt(fastnp.sum(x * x, axis=-1, keepdims=True))

    def loss(v1, v2, margin=0.25):
        scores = fastnp.dot(v1, v2.T)
        positive = fastnp.diagonal(scores)
        eye = fastnp.eye(len(scores))
        closest = (scores - 2 * eye).max(axis=1)
        mean = (scores * (1 - eye)).sum(axis=1) / (len(scores) - 1)
        losses = fastnp.maximum(0, margin - positive + closest)
        losses = losses + fastnp.maximum(0, margin - positive + mean)
        return fastnp.mean(losses)

    tower = tl.Serial(
        tl.Embedding(vocab, D_MODEL),
        tl.LSTM(D_MODEL),
        tl.Mean(axis=1),
        tl.Fn("N", normalize),
    )
    model = tl.Parallel(tower, tower)
    if fast:
        from siamese import fast_forward

        fast_forward(model)
    both = tl.Serial(model, tl.Fn("L", lambda v1, v2: loss(v1, v2)))
    both.init(shapes.signature(sample))
    optimizer = trax.optimizers.Adam(RATE)
    optimizer.tree_init(both.weights)
    trainer = trax.optimizers.Trainer(both, optimizer, n_devices=1)
    run = tl.Accelerate(model, n_devices=1)

    def step(q1, q2):
        rng = trax.fastmath.random.get_prng(0)
        return float(trainer.one_step((q1, q2), rng, step=1, learning_rate=RATE)[0])

    return step, lambda q: [
        np.asarray(v) for v in run((q[: len(q) // 2], q[len(q) // 2 :]))
    ]


def make_ours(vocab: int, sample, preset: str = "course", **changes):
    """The step that `Trainer` makes for a preset, with changes."""
    import jax

    from siamese import TrainConfig, enable_compile_cache, keep_memory
    from siamese.encoders.lstm import Lstm
    from siamese.nn.lstm import Dropout, LstmConfig, init
    from siamese.nn.ragged import Ragged
    from siamese.text.vocabulary import Vocabulary
    from siamese.training.losses import make_loss
    from siamese.training.step import (
        initial_state,
        lstm_network,
        make_optimizer,
        make_step,
    )

    keep_memory()
    enable_compile_cache()
    # A rate that is constant for a while.
    options = {"schedule": "linear", "warmup_steps": 0, "learning_rate": RATE}
    config = TrainConfig.preset(preset, d_model=D_MODEL, **{**options, **changes})
    lstm = LstmConfig(vocab, D_MODEL, config.mask_padding, config.bidirectional)
    optimizer = make_optimizer(config, total_steps=10**9)
    dropout = Dropout(config.embedding_dropout, config.word_dropout)
    train_step = make_step(lstm_network(lstm, dropout), make_loss(config), optimizer)
    weights = init(jax.random.key(0), lstm, config.lstm_bias, config.embedding_std)
    state = initial_state(weights, optimizer)
    words = Vocabulary([str(number) for number in range(vocab - 2)])
    encoder = Lstm(lstm, weights, words)

    def step(*batch):
        nonlocal state
        state, metrics = train_step(
            state, PairBatch(*batch) if len(batch) > 2 else batch
        )
        return float(metrics["loss"])

    def encode(q):  # With its padding, as every contender.
        rows = Ragged(q.ravel(), np.arange(0, q.size + 1, q.shape[1]))
        return encoder.encode_ids(rows, length=q.shape[1])

    return step, encode


def make_torch(vocab: int, sample, packed: bool = False):
    """nn.Embedding, nn.LSTM and Adam, with autograd; packed sequences leave padding out.

    The quickest of the forms tried: time-major, both questions in one batch, Adam
    fused, oneDNN on.
    """
    import torch
    from torch import nn

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    torch.set_flush_denormal(True)  # As XLA does.
    embedding = nn.Embedding(vocab, D_MODEL)
    lstm = nn.LSTM(D_MODEL, D_MODEL)
    adam = torch.optim.Adam(
        [*embedding.parameters(), *lstm.parameters()], RATE, fused=True
    )

    def network(q):
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
        # Both questions in one batch.
        v = network(torch.from_numpy(np.concatenate([q1, q2])).long())
        scores = v[: len(q1)] @ v[len(q1) :].T
        eye = torch.eye(len(q1))
        positive = scores.diagonal()
        closest = (scores - 2 * eye).amax(1)
        mean = (scores * (1 - eye)).sum(1) / (len(q1) - 1)
        loss = (
            (0.25 - positive + closest).relu() + (0.25 - positive + mean).relu()
        ).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        return float(loss.detach())

    @torch.inference_mode()
    def encode(q):
        return network(torch.from_numpy(q).long()).numpy()

    return step, encode


MAKERS = {
    "trax": make_trax,
    "trax_fast": partial(make_trax, fast=True),
    "ours": make_ours,
    "ours_masked": partial(make_ours, mask_padding=True),
    "ours_lstm": partial(make_ours, preset="lstm"),
    "torch": make_torch,
    "torch_packed": partial(make_torch, packed=True),
}
# Which batches a contender trains on, where not the course's, and its LSTMs where not
# one.
BATCHES = {"ours_masked": "bucketed", "torch_packed": "bucketed", "ours_lstm": "lstm"}
LSTMS = {"ours_lstm": 2}
