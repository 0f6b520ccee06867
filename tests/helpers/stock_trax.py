"""Stock Trax as the reference: the assignment's own cells, trained by Trax's own Loop.

Nothing of `siamese` computes here. Weights are dicts by the names of
`siamese.nn.lstm`.
"""

import ast
import json
import random
from collections import namedtuple
from functools import cache, partial
from pathlib import Path

import numpy as np
import trax
from trax import layers as tl
from trax.fastmath import numpy as fastnp
from trax.supervised import training

from siamese import Vocabulary, data_generator, embedded_corpus, word_tokenize
from siamese.course.model import set_tower_weights, tower_weights

ASSIGNMENT = Path(__file__).parents[1] / "course" / "notebooks" / "assignment.py"
GOLDEN_LOSSES = json.loads(Path(__file__).with_name("golden_losses.json").read_text())
STEPS = 50
# The course's own setting, and a quicker one whose loss falls within 50 steps.
SETTINGS = {
    "course": {"d_model": 128, "batch": 256},
    "quick": {"d_model": 16, "batch": 64},
}


def functions(*changes):
    """The functions of the assignment's notebook, with pieces of its source exchanged."""
    source = ASSIGNMENT.read_text().replace("import pandas as pd\n", "")
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    tree = ast.parse(source)
    kinds = ast.Import, ast.ImportFrom, ast.FunctionDef
    tree.body = [node for node in tree.body if isinstance(node, kinds)]
    names = {}
    exec(compile(tree, str(ASSIGNMENT), "exec"), names)
    return names


COURSE = functions()
OWN_SCHEDULE = (
    ("lr_schedule, train_generator", "train_generator"),
    (
        "lr_schedule=lr_schedule",
        "lr_schedule=trax.lr.warmup_and_rsqrt_decay(400, 0.01)",
    ),
)
# Of the edition of 2021, where the last, short batch counts and the vocabulary stays as
# it is.
RIGHT = functions(
    ("for j in range(batch_size)", "for j in range(min(batch_size, len(y) - i))"),
    (
        "[vocab[word] for word in nltk.word_tok",
        "[vocab.get(word, 0) for word in nltk.word_tok",
    ),
    # The answer of a batch of one is [[True]].
    ("np.dot(v1[0], v2[0].T)", "np.dot(v1, v2.T)"),
    ("bool(d > threshold)", "d > threshold"),
    *OWN_SCHEDULE,
)
OF_2020 = functions(("eval_tasks=[eval_task]", "eval_task=eval_task"), *OWN_SCHEDULE)


def loss_of_2023(v1, v2, margin=0.25):
    scores = fastnp.dot(v1, v2.T)  # [batch, batch]
    size = len(scores)
    positive = fastnp.diagonal(scores)  # [batch]
    mean = fastnp.sum(scores * (1.0 - fastnp.eye(size)), axis=1) / (size - 1)
    barred = (fastnp.eye(size) == 1) | (scores > positive.reshape(size, 1))
    closest = (scores - 2.0 * barred).max(axis=1)
    terms = [
        fastnp.maximum(margin - positive + negative, 0) for negative in (mean, closest)
    ]
    return fastnp.sum(terms[0] + terms[1])


LOSSES = {2022: COURSE["TripletLossFn"], 2023: loss_of_2023}


@cache
def corpus():
    pairs = embedded_corpus().train.duplicates()
    sides = [
        [word_tokenize(q) for q in side] for side in (pairs.question1, pairs.question2)
    ]
    vocab = Vocabulary.from_pairs(*sides)
    return [[vocab.encode(q) for q in side] for side in sides], vocab


def batches_and_vocabulary(batch):
    sides, vocab = corpus()
    random.seed(34)
    generator = data_generator(*sides, batch)
    return [next(generator) for _ in range(STEPS + 1)], vocab


def schedule(setting):
    """The course's learning rate, or in the quick setting a constant one."""
    is_quick = setting == "quick"
    return (
        (lambda step: 0.01) if is_quick else trax.lr.warmup_and_rsqrt_decay(400, 0.01)
    )


# The loss is of 2022 the mean over the batch, of 2023 the sum; the moments are Adam's
# slots m and v.
FIELDS = (
    "step batch learning_rate weights first_moments second_moments loss new_weights"
)
StockStep = namedtuple("StockStep", FIELDS)


def stock_steps(edition, steps=STEPS, setting="course"):
    """Trains the assignment's model; as in the course the first batch only gives the shapes."""
    batches, vocab = batches_and_vocabulary(SETTINGS[setting]["batch"])
    loss = tl.Fn("TripletLoss", partial(LOSSES[edition], margin=0.25))
    task = training.TrainTask(
        iter(batches), loss, trax.optimizers.Adam(0.01), schedule(setting)
    )
    model = COURSE["Siamese"](vocab.size, SETTINGS[setting]["d_model"])
    loop = training.Loop(model, task, random_seed=34)
    if setting == "quick":
        start_on_the_forget_gate(loop)
    for step in range(1, steps + 1):
        before = _arrays(loop)
        loop._step = step
        loss = float(loop._run_one_step(0, False)[0])
        rate = float(loop._tasks[0].learning_rate(step))
        yield StockStep(step, batches[step], rate, *before, loss, _arrays(loop)[0])


def start_on_the_forget_gate(loop):
    """Sets the LSTM's bias to 1 on the forget gate and to 0 on the others (i, j, f, o)."""
    arrays = tower_weights(loop.model)
    gates = np.repeat(np.array([0, 0, 1, 0], np.float32), len(arrays["lstm/bias"]) // 4)
    set_tower_weights(loop.model, arrays | {"lstm/bias": gates})
    loop.update_weights_and_state(weights=loop.model.weights)


def losses_of(loop, steps):
    losses = []
    for _ in range(steps):
        loop.run(1)
        losses.append(float(loop._loss))
    return losses


def _arrays(loop):
    """The model's weights and Adam's two moments of each, by name."""
    weights = tower_weights(loop.model)
    moments = zip(
        *(slot for slot in loop._trainer_per_task[0].slots if len(slot)), strict=True
    )
    kinds = weights.values(), *moments
    return [dict(zip(weights, map(np.array, arrays), strict=True)) for arrays in kinds]
