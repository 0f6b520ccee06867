"""The assignment as a learner writes it, in plain Trax as the course teaches it: full points.

Nothing here calls the library but its checks. Two of the course's own habits cost one case each, and
the hint says so: a loop over full batches only, and ``vocab[word]`` on a defaultdict.
"""

from __future__ import annotations

import os
import random as rnd
from functools import partial

import nltk
import numpy as np
import pytest
import trax
from trax import layers as tl
from trax.fastmath import numpy as fastnp
from trax.supervised import training

from siamese import checks

# ---- Exercise 1 ----


def data_generator(Q1, Q2, batch_size, pad=1, shuffle=True):
    first, second = [], []
    position, count = 0, len(Q1)
    order = list(range(count))
    if shuffle:
        rnd.shuffle(order)
    while True:
        if position >= count:
            position = 0
            if shuffle:
                rnd.shuffle(order)
        first.append(Q1[order[position]])
        second.append(Q2[order[position]])
        position += 1
        if len(first) == batch_size:
            longest = max(max(len(q) for q in first), max(len(q) for q in second))
            length = 2 ** int(np.ceil(np.log2(longest)))
            b1 = [q + [pad] * (length - len(q)) for q in first]
            b2 = [q + [pad] * (length - len(q)) for q in second]
            yield np.array(b1), np.array(b2)
            first, second = [], []


# ---- Exercise 2 ----


def Siamese(vocab_size=41699, d_model=128, mode="train"):
    def unit_length(x):
        return x / fastnp.sqrt(fastnp.sum(x * x, axis=-1, keepdims=True))

    tower = tl.Serial(
        tl.Embedding(vocab_size, d_model),
        tl.LSTM(d_model),
        tl.Mean(axis=1),
        tl.Fn("Normalize", lambda x: unit_length(x)),
    )
    return tl.Parallel(tower, tower)


# ---- Exercise 3 ----


def TripletLossFn(v1, v2, margin=0.25):
    scores = fastnp.dot(v1, v2.T)
    pairs = len(scores)
    positive = fastnp.diagonal(scores)
    closest = (scores - 2.0 * fastnp.eye(pairs)).max(axis=1)
    mean = fastnp.sum(scores * (1.0 - fastnp.eye(pairs)), axis=1) / (pairs - 1)
    loss1 = fastnp.maximum(0.0, margin - positive + closest)
    loss2 = fastnp.maximum(0.0, margin - positive + mean)
    return fastnp.mean(loss1 + loss2)


def TripletLoss(margin=0.25):
    return tl.Fn("TripletLoss", partial(TripletLossFn, margin=margin))


# ---- Exercise 4: the notebook of 2021, and the one of 2020 with its schedule as an argument ----


def tasks(TripletLoss, lr_schedule, train_generator, val_generator):
    train_task = training.TrainTask(
        labeled_data=train_generator,
        loss_layer=TripletLoss(),
        optimizer=trax.optimizers.Adam(0.01),
        lr_schedule=lr_schedule,
    )
    return train_task, training.EvalTask(labeled_data=val_generator, metrics=[TripletLoss()])


def train_model(Siamese, TripletLoss, train_generator, val_generator, output_dir="model/"):
    output_dir = os.path.expanduser(output_dir)
    schedule = trax.lr.warmup_and_rsqrt_decay(400, 0.01)
    train_task, eval_task = tasks(TripletLoss, schedule, train_generator, val_generator)
    return training.Loop(Siamese(), train_task, eval_tasks=[eval_task], output_dir=output_dir)


def train_model_2020(
    Siamese,
    TripletLoss,
    lr_schedule,
    train_generator=None,  # there: the notebook's own generators
    val_generator=None,
    output_dir="model/",
):
    output_dir = os.path.expanduser(output_dir)
    train_task, eval_task = tasks(TripletLoss, lr_schedule, train_generator, val_generator)
    return training.Loop(Siamese(), train_task, eval_task=eval_task, output_dir=output_dir)


# ---- Exercise 5: for any number of pairs, and the course's loop over full batches ----


def classify(
    test_Q1, test_Q2, y, threshold, model, vocab, data_generator=data_generator, batch_size=64
):
    right = 0
    for i in range(0, len(test_Q1), batch_size):
        y_batch = y[i : i + batch_size]
        pairs = len(y_batch)
        part1, part2 = test_Q1[i : i + batch_size], test_Q2[i : i + batch_size]
        q1, q2 = next(data_generator(part1, part2, pairs, vocab["<PAD>"], shuffle=False))
        v1, v2 = model((q1, q2))
        for j in range(pairs):
            right += y_batch[j] == (np.dot(v1[j], v2[j].T) > threshold)
    return right / len(test_Q1)


def classify_full_batches(
    test_Q1, test_Q2, y, threshold, model, vocab, data_generator=data_generator, batch_size=64
):
    right = 0
    for i in range(0, len(test_Q1), batch_size):
        part1, part2 = test_Q1[i : i + batch_size], test_Q2[i : i + batch_size]
        q1, q2 = next(data_generator(part1, part2, batch_size, vocab["<PAD>"], shuffle=False))
        y_batch = y[i : i + batch_size]
        v1, v2 = model((q1, q2))
        for j in range(batch_size):
            right += y_batch[j] == (fastnp.dot(v1[j], v2[j].T) > threshold)
    return right / len(test_Q1)


# ---- Exercise 6: the answer of a batch of one is [[True]] ----


def predict_with(number, question1, question2, threshold, model, vocab, data_generator, verbose):
    Q1 = [number(vocab, word) for word in nltk.word_tokenize(question1)]
    Q2 = [number(vocab, word) for word in nltk.word_tokenize(question2)]
    Q1, Q2 = next(data_generator([Q1], [Q2], 1, vocab["<PAD>"]))
    v1, v2 = model((Q1, Q2))
    d = np.dot(v1, v2.T)
    res = d > threshold
    if verbose:
        print("Q1  = ", Q1, "\nQ2  = ", Q2)
        print("d   = ", d)
        print("res = ", res)
    return res


def predict(
    question1, question2, threshold, model, vocab, data_generator=data_generator, verbose=False
):
    def number(vocab, word):
        return vocab.get(word, 0)

    return predict_with(
        number, question1, question2, threshold, model, vocab, data_generator, verbose
    )


def predict_growing(
    question1, question2, threshold, model, vocab, data_generator=data_generator, verbose=False
):
    def number(vocab, word):
        return vocab[word]

    return predict_with(
        number, question1, question2, threshold, model, vocab, data_generator, verbose
    )


FULL_POINTS = [
    (checks.check_data_generator, data_generator),
    (checks.check_triplet_loss_fn, TripletLossFn),
    (checks.check_classify, classify),
    (checks.check_predict, predict),
    *(
        pytest.param(check, function, marks=pytest.mark.slow)
        for check, function in (
            (checks.check_siamese, Siamese),
            (checks.check_train_model, train_model),
            (checks.check_train_model, train_model_2020),
        )
    ),
]


@pytest.mark.parametrize(
    ("check", "function"), FULL_POINTS, ids=lambda value: getattr(value, "__name__", None)
)
def test_a_right_solution_has_full_points(check, function):
    score = check(function)
    assert score.full, score


def test_the_loop_over_full_batches_costs_the_short_batch_and_no_more():
    (failure,) = checks.check_classify(classify_full_batches).failures
    assert failure.case == "a last batch that is short"
    assert "The course's own loop takes full batches only" in failure.hint


def test_a_vocabulary_that_grows_costs_one_case():
    (failure,) = checks.check_predict(predict_growing).failures
    assert failure.case == "unknown words do not enter the vocabulary"
    assert "['Zorblax']" in failure.actual
    assert "it costs this one case" in failure.hint


def test_the_loss_layer_gives_what_its_function_gives():
    v1, v2 = np.eye(3, 4, dtype=np.float32), np.eye(3, 4, 1, dtype=np.float32)
    assert float(TripletLoss(0.5)((v1, v2))) == float(TripletLossFn(v1, v2, 0.5)) > 0
    assert str(TripletLoss()) == "TripletLoss_in2"
