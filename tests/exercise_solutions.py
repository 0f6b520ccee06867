"""Solutions of the notebooks' exercises as a learner writes them: the checks' full marks."""

import random

import numpy as np

from siamese import word_tokenize


def cosine_similarity(v1, v2):
    return np.dot(v1, v2) / (np.sqrt(np.dot(v1, v1)) * np.sqrt(np.dot(v2, v2)))


def triplet_loss(s_ap, s_an, margin):
    return np.maximum(s_an - s_ap + margin, 0)


def mean_negative(scores):
    batch = len(scores)
    return np.sum(scores * (1 - np.eye(batch)), axis=1) / (batch - 1)


def closest_negative(scores):
    left_out = (np.eye(len(scores)) == 1) | (scores > np.diagonal(scores)[:, None])
    return np.max(np.where(left_out, -2.0, scores), axis=1)


def modified_loss(scores):
    positive = np.diagonal(scores)
    losses = [
        np.maximum(negative - positive + 0.25, 0)
        for negative in (mean_negative(scores), closest_negative(scores))
    ]
    return np.sum(losses)


def normalize(x):
    from trax.fastmath import numpy as fastnp

    return x / fastnp.sqrt(fastnp.sum(x * x, axis=-1, keepdims=True))


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
    candidates = np.concatenate([[scores.min() - 1], np.sort(scores)])
    found = [accuracy_at(scores, labels, threshold) for threshold in candidates]
    return candidates[int(np.argmax(found))]


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
            max_len = max(max(map(len, input1)), max(map(len, input2)))
            max_len = 2 ** int(np.ceil(np.log2(max_len)))
            b1 = [q + [pad] * (max_len - len(q)) for q in input1]
            b2 = [q + [pad] * (max_len - len(q)) for q in input2]
            yield np.array(b1), np.array(b2)
            input1, input2 = [], []


def Siamese(vocab_size=41699, d_model=128, mode="train"):
    return shared_towers(vocab_size, d_model)


def TripletLossFn(v1, v2, margin=0.25):
    from trax.fastmath import numpy as fastnp

    scores = fastnp.dot(v1, v2.T)
    batch = len(scores)
    positive = fastnp.diagonal(scores)
    without = scores - 2.0 * fastnp.eye(batch)
    closest = without.max(axis=1)
    mean = fastnp.sum(scores * (1.0 - fastnp.eye(batch)), axis=1) / (batch - 1)
    loss1 = fastnp.maximum(0.0, margin - positive + closest)
    loss2 = fastnp.maximum(0.0, margin - positive + mean)
    return fastnp.mean(loss1 + loss2)


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
        y_part = y[i : i + batch_size]
        q1, q2 = next(data_generator(part1, part2, len(part1), vocab["<PAD>"], shuffle=False))
        v1, v2 = model((q1, q2))
        for j in range(len(part1)):
            right += (np.dot(v1[j], v2[j].T) > threshold) == y_part[j]
    return right / len(test_Q1)


def predict(
    question1, question2, threshold, model, vocab, data_generator=data_generator, verbose=False
):
    ids = [[vocab.get(w, 0) for w in word_tokenize(q)] for q in (question1, question2)]
    q1, q2 = next(data_generator([ids[0]], [ids[1]], 1, vocab["<PAD>"]))
    v1, v2 = model((q1, q2))
    d = np.dot(v1[0], v2[0].T)
    if verbose:
        print(q1, q2, d)
    return d > threshold


def symmetric_loss(v1, v2, margin=0.25):
    from trax.fastmath import numpy as fastnp

    scores = fastnp.dot(v1, v2.T)
    batch = len(scores)
    positive = fastnp.diagonal(scores)
    masked = scores - 2.0 * fastnp.eye(batch)
    others = scores * (1.0 - fastnp.eye(batch))
    closest = (masked.max(axis=1) + masked.max(axis=0)) / 2
    mean = (others.sum(axis=1) + others.sum(axis=0)) / 2 / (batch - 1)
    losses = fastnp.maximum(closest - positive + margin, 0)
    losses = losses + fastnp.maximum(mean - positive + margin, 0)
    return fastnp.mean(losses)


def masked_mean(states, tokens):
    real = (tokens != 1)[:, :, None]
    return (states * real).sum(axis=1) / np.maximum(real.sum(axis=1), 1)


def count_false_negatives(clusters):
    clusters = np.asarray(clusters)
    same = clusters[:, None] == clusters[None, :]
    return int(same.sum()) - len(clusters)


def one_shot(vector, examples, names, threshold):
    cosines = examples @ vector
    best = int(np.argmax(cosines))
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
