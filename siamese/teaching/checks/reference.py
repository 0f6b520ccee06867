# ruff: noqa: D103  (the exercises say what the functions do)
"""The right answer of each exercise, as a learner writes it in the notebook.

`siamese.checks.solution` prints these functions, and the tables of mistakes edit their text: so the words
here are also words of the tables.
"""

import random

import numpy as np

from siamese.data.tokenizer import word_tokenize


def cosine_similarity(v1, v2):
    length1 = np.sqrt(np.dot(v1, v1))
    length2 = np.sqrt(np.dot(v2, v2))
    return np.dot(v1, v2) / (length1 * length2)


def triplet_loss(s_ap, s_an, margin):
    return max(0.0, s_an - s_ap + margin)


def mean_negative(scores):
    batch = len(scores)
    negatives = 1 - np.eye(batch)
    return (scores * negatives).sum(axis=1) / (batch - 1)


def closest_negative(scores):
    batch = len(scores)
    positive = np.diag(scores)
    masked = (np.eye(batch) == 1) | (scores > positive[:, None])
    return np.where(masked, -2.0, scores).max(axis=1)


def modified_loss(scores):
    margin = 0.25
    batch = len(scores)
    positive = np.diag(scores)
    negatives = 1 - np.eye(batch)
    mean = (scores * negatives).sum(axis=1) / (batch - 1)
    masked = (np.eye(batch) == 1) | (scores > positive[:, None])
    closest = np.where(masked, -2.0, scores).max(axis=1)
    loss1 = np.maximum(mean - positive + margin, 0)
    loss2 = np.maximum(closest - positive + margin, 0)
    return np.sum(loss1 + loss2)


def normalize(x):
    from trax.fastmath import numpy as fastnp

    length = fastnp.sqrt((x * x).sum(axis=-1, keepdims=True))
    return x / length


def shared_towers(vocab_size, d_model):
    from trax import layers as tl

    tower = tl.Serial(
        tl.Embedding(vocab_size, d_model),
        tl.LSTM(d_model),
        tl.Mean(axis=1),
        tl.Fn("Normalize", normalize),
    )
    return tl.Parallel(tower, tower)


def accuracy_at(scores, labels, threshold):
    return np.mean((scores > threshold) == labels)


def best_threshold(scores, labels):
    candidates = np.append(scores.min() - 1, np.sort(scores))
    right = [accuracy_at(scores, labels, threshold) for threshold in candidates]
    return candidates[np.argmax(right)]


def data_generator(Q1, Q2, batch_size, pad=1, shuffle=True):
    input1, input2 = [], []
    idx = 0
    order = [*range(len(Q1))]
    if shuffle:
        random.shuffle(order)
    while True:
        if idx >= len(Q1):
            idx = 0
            if shuffle:
                random.shuffle(order)
        input1.append(Q1[order[idx]])
        input2.append(Q2[order[idx]])
        idx += 1
        if len(input1) == batch_size:
            longest = max(max(map(len, input1)), max(map(len, input2)))
            max_len = 2 ** int(np.ceil(np.log2(longest)))
            b1 = [q + [pad] * (max_len - len(q)) for q in input1]
            b2 = [q + [pad] * (max_len - len(q)) for q in input2]
            yield np.array(b1), np.array(b2)
            input1, input2 = [], []


def Siamese(vocab_size=41699, d_model=128, mode="train"):
    from trax import layers as tl

    tower = tl.Serial(
        tl.Embedding(vocab_size, d_model),
        tl.LSTM(d_model),
        tl.Mean(axis=1),
        tl.Fn("Normalize", normalize),
    )
    return tl.Parallel(tower, tower)


def TripletLossFn(v1, v2, margin=0.25):
    from trax.fastmath import numpy as fastnp

    scores = fastnp.dot(v1, v2.T)
    batch = len(scores)
    positive = fastnp.diagonal(scores)
    negatives = 1 - fastnp.eye(batch)
    mean = (scores * negatives).sum(axis=1) / (batch - 1)
    masked = (fastnp.eye(batch) == 1) | (scores > positive[:, None])
    closest = fastnp.where(masked, -2.0, scores).max(axis=1)
    loss1 = fastnp.maximum(mean - positive + margin, 0)
    loss2 = fastnp.maximum(closest - positive + margin, 0)
    return fastnp.sum(loss1 + loss2)


def train_model(Siamese, TripletLoss, train_generator, val_generator, output_dir="model/"):
    import trax
    from trax.supervised import training

    train_task = training.TrainTask(
        labeled_data=train_generator,
        loss_layer=TripletLoss(),
        optimizer=trax.optimizers.Adam(0.01),
        lr_schedule=trax.lr.warmup_and_rsqrt_decay(400, 0.01),
    )
    eval_task = training.EvalTask(labeled_data=val_generator, metrics=[TripletLoss()])
    return training.Loop(Siamese(), train_task, eval_tasks=[eval_task], output_dir=output_dir)


def classify(
    test_Q1, test_Q2, y, threshold, model, vocab, data_generator=data_generator, batch_size=64
):
    right = 0
    for i in range(0, len(test_Q1), batch_size):
        part1, part2 = test_Q1[i : i + batch_size], test_Q2[i : i + batch_size]
        labels = y[i : i + batch_size]
        q1, q2 = next(data_generator(part1, part2, len(part1), vocab["<PAD>"], shuffle=False))
        v1, v2 = model((q1, q2))
        for j in range(len(part1)):
            right += (np.dot(v1[j], v2[j]) > threshold) == labels[j]
    return right / len(test_Q1)


def predict(
    question1, question2, threshold, model, vocab, data_generator=data_generator, verbose=False
):
    ids1 = [vocab.get(word, 0) for word in word_tokenize(question1)]
    ids2 = [vocab.get(word, 0) for word in word_tokenize(question2)]
    q1, q2 = next(data_generator([ids1], [ids2], 1, vocab["<PAD>"]))
    v1, v2 = model((q1, q2))
    cosine = np.dot(v1[0], v2[0])
    if verbose:
        print(question1, question2, cosine)
    return cosine > threshold


def symmetric_loss(v1, v2, margin=0.25):
    from trax.fastmath import numpy as fastnp

    scores = fastnp.dot(v1, v2.T)
    batch = len(scores)
    positive = fastnp.diagonal(scores)
    others = scores * (1 - fastnp.eye(batch))
    mean = (others.sum(axis=1) + others.sum(axis=0)) / 2 / (batch - 1)
    masked = scores - 2.0 * fastnp.eye(batch)
    closest = (masked.max(axis=1) + masked.max(axis=0)) / 2
    loss1 = fastnp.maximum(mean - positive + margin, 0)
    loss2 = fastnp.maximum(closest - positive + margin, 0)
    return fastnp.mean(loss1 + loss2)


def masked_mean(states, tokens):
    real = (tokens != 1)[:, :, None]
    return (states * real).sum(axis=1) / np.maximum(real.sum(axis=1), 1)


def count_false_negatives(clusters):
    clusters = np.asarray(clusters)
    same = clusters[:, None] == clusters[None, :]
    return int(same.sum()) - len(clusters)


def one_shot(vector, examples, names, threshold):
    cosines = examples @ vector
    best = np.argmax(cosines)
    return names[best] if cosines[best] > threshold else None


def expected_calibration_error(probabilities, labels, bins=10):
    index = np.minimum((probabilities * bins).astype(int), bins - 1)
    error = 0.0
    for k in range(bins):
        inside = index == k
        if inside.any():
            gap = abs(labels[inside].mean() - probabilities[inside].mean())
            error += inside.mean() * gap
    return error
