"""The course's cells written directly in stock Trax, and the same training through `siamese`.

python tests/trajectory.py --write     writes the golden file anew (only when the change is meant)
python tests/trajectory.py [--layers]  prints ours as JSON; with Trax's own layers in the tower
"""

import json
import random
import sys
from functools import cache, partial
from pathlib import Path

import numpy as np

GOLDEN = Path(__file__).with_name("golden_losses.json")
STEPS = 50
# The course's own setting, whose loss stays near 0.5 for its first 50 steps, and a quicker one whose loss
# falls, because its LSTM starts with a bias on the forget gate only: a drift must show in either. (Leaving
# the course's start is chaotic: vectors that are almost equal make rounding errors large.)
SETTINGS = {
    "course": {"d_model": 128, "batch": 256},
    "quick": {"d_model": 16, "batch": 64, "constant_rate": 0.01, "forget_gate_only": True},
}


@cache
def batches_and_vocabulary(batch):
    """STEPS + 1 batches of the embedded corpus in the course's order, and the vocabulary."""
    from siamese import data_generator

    q1, q2, vocab = encoded()
    random.seed(34)
    generator = data_generator(q1, q2, batch)
    return [next(generator) for _ in range(STEPS + 1)], vocab


@cache
def encoded():
    """The embedded corpus's duplicates as token ids of both sides, and the vocabulary."""
    from siamese import Vocabulary, embedded_corpus, word_tokenize

    pairs = embedded_corpus().train.duplicates()
    tokens1 = [word_tokenize(question) for question in pairs.question1]
    tokens2 = [word_tokenize(question) for question in pairs.question2]
    vocab = Vocabulary.from_pairs(tokens1, tokens2)
    q1, q2 = ([vocab.encode(tokens) for tokens in side] for side in (tokens1, tokens2))
    return q1, q2, vocab


def schedule(setting):
    """The course's learning rate, or a constant one."""
    import trax

    if "constant_rate" in setting:
        return lambda step: setting["constant_rate"]
    return trax.lr.warmup_and_rsqrt_decay(400, 0.01)


def start(loop, setting):
    """Sets the LSTM's first bias where the setting asks for it, in either loop."""
    if "forget_gate_only" in setting:
        tower, shared = loop.model.weights
        embedding, (zero, ((kernel, bias),), select), *rest = tower
        bias = np.repeat(np.array([0, 0, 1, 0], np.float32), len(bias) // 4)
        tower = (embedding, (zero, ((kernel, bias),), select), *rest)
        loop.update_weights_and_state(weights=(tower, shared))


def stock(setting):
    """Losses and final embedding of the assignment's cells, in plain Trax with its own Loop."""
    import trax
    from trax import layers as tl
    from trax.fastmath import numpy as fastnp
    from trax.supervised import training

    import siamese  # noqa: F401  (only for the quick import)

    def normalize(x):
        return x / fastnp.sqrt(fastnp.sum(x * x, axis=-1, keepdims=True))

    def loss_fn(v1, v2, margin=0.25):
        scores = fastnp.dot(v1, v2.T)
        batch_size = len(scores)
        positive = fastnp.diagonal(scores)
        closest = fastnp.max(scores - 2.0 * fastnp.eye(batch_size), axis=1)
        mean = fastnp.sum(scores * (1.0 - fastnp.eye(batch_size)), axis=1) / (batch_size - 1)
        loss1 = fastnp.maximum(0.0, margin - positive + closest)
        loss2 = fastnp.maximum(0.0, margin - positive + mean)
        return fastnp.mean(loss1 + loss2)

    data, vocab = batches_and_vocabulary(setting["batch"])
    d_model = setting["d_model"]
    tower = tl.Serial(
        tl.Embedding(vocab_size=vocab.size, d_feature=d_model),
        tl.LSTM(d_model),
        tl.Mean(axis=1),
        tl.Fn("Normalize", lambda x: normalize(x)),
    )
    task = training.TrainTask(
        labeled_data=iter(data),
        loss_layer=tl.Fn("TripletLoss", lambda v1, v2: loss_fn(v1, v2)),
        optimizer=trax.optimizers.Adam(0.01),
        lr_schedule=schedule(setting),
    )
    loop = training.Loop(tl.Parallel(tower, tower), task, random_seed=34)
    start(loop, setting)
    losses = []
    for step in range(1, STEPS + 1):
        loop._step = step
        losses.append(float(loop._run_one_step(0, False)[0]))
    return losses, np.asarray(loop.model.weights[0][0])


def ours(setting, fast=True):
    """The same through siamese's functions; `fast` runs both questions through the tower as one batch."""
    from siamese import Siamese, TripletLoss, train_model

    data, vocab = batches_and_vocabulary(setting["batch"])
    losses = []
    loop = train_model(
        partial(Siamese, vocab.size, setting["d_model"], fast=fast),
        TripletLoss,
        iter(data),
        iter(data),
        output_dir=None,
        lr_schedule=schedule(setting),
        random_seed=34,
        on_step=lambda loop, loss: losses.append(float(loss)),
        eval_at=lambda step: False,
    )
    start(loop, setting)
    loop.run(STEPS)
    embedding = loop.model.weights[0][0]
    return losses, np.asarray(embedding[0] if isinstance(embedding, tuple) else embedding)


if __name__ == "__main__":
    if "--write" in sys.argv:
        golden = {name: stock(setting)[0] for name, setting in SETTINGS.items()}
        GOLDEN.write_text(json.dumps(golden, indent=1) + "\n")
    else:
        slow = "--layers" in sys.argv
        print(json.dumps({name: ours(s, fast=not slow)[0] for name, s in SETTINGS.items()}))
