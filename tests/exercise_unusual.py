"""Right answers that look unusual: other tools, other types, other orders of computing."""

import itertools
import random
from collections import Counter

import exercise_solutions as solved
import numpy as np
from exercise_mistakes import LONGEST, LOOP, POWER, ROOT, SCHEDULE, TOWER


def lists_of_loops(scores):
    means = []
    for i in range(len(scores)):
        total, count = 0.0, 0
        for j in range(len(scores)):
            if i != j:
                total, count = total + float(scores[i][j]), count + 1
        means.append(total / count)
    return means


def chained(Q1, Q2, batch_size, pad=1, shuffle=True):
    def endless():
        order = list(range(len(Q1)))
        while True:
            if shuffle:
                random.shuffle(order)
            yield from order

    rows = endless()
    while True:
        chosen = list(itertools.islice(rows, batch_size))
        sides = [[list(side[i]) for i in chosen] for side in (Q1, Q2)]
        length = 1
        while length < max(len(q) for side in sides for q in side):
            length *= 2
        filled = [np.full((batch_size, length), pad) for _ in sides]
        for array, side in zip(filled, sides):
            for row, question in zip(array, side):
                row[: len(question)] = question
        # The course shuffles when the next row is asked for: here that is so, too.
        yield tuple(filled)


def by_sorting(scores, labels):
    order = np.argsort(-scores, kind="stable")
    sorted_scores, sorted_labels = scores[order], np.asarray(labels, int)[order]
    right = np.concatenate([[0], np.cumsum(2 * sorted_labels - 1)])
    cuts = [i for i in range(len(scores) + 1) if i in (0, len(scores))
            or sorted_scores[i] < sorted_scores[i - 1]]  # fmt: skip
    best = max(cuts, key=lambda i: right[i])
    return sorted_scores[best] if best < len(scores) else sorted_scores[-1] - 1


def whole_matrix(test_Q1, test_Q2, y, threshold, model, vocab,
                 data_generator=solved.data_generator, batch_size=64):  # fmt: skip
    answers = []
    for start in range(0, len(y), batch_size):
        part = slice(start, start + batch_size)
        made = data_generator(
            test_Q1[part], test_Q2[part], len(y[part]), pad=vocab["<PAD>"], shuffle=False
        )
        v1, v2 = model(next(made))
        answers.extend(np.diag(v1 @ v2.T) > threshold)
    return float(np.mean(np.array(answers) == np.asarray(y, bool)))


# The rows have length 1, as the exercise promises: normalising once more changes nothing.
UNIT = "({0} / fastnp.linalg.norm({0}, axis=1, keepdims=True))"
AGAIN = "(v1, v2.T)", f"({UNIT.format('v1')}, {UNIT.format('v2')}.T)"

# Exercise -> rows: (text, its replacement, ...), or (function,).
RIGHT = {
    "symmetric_loss": [
        AGAIN,
    ],
    "cosine_similarity": [
        (lambda a, b: a / np.linalg.norm(a) @ (b / np.linalg.norm(b)),),
        (lambda a, b: np.float32(solved.cosine_similarity(a, b)),),
        (lambda a, b: np.einsum("i,i", a, b) / np.linalg.norm(a) / np.linalg.norm(b),),
        (lambda a, b: sum(x * y for x, y in zip(a,
         b)) / (sum(x * x for x in a) * sum(y * y for y in b)) ** 0.5,),
        (lambda a, b: np.cos(2 * np.arcsin(np.clip(
            np.linalg.norm(a / np.linalg.norm(a) - b / np.linalg.norm(b)) / 2, -1, 1))),),
        (lambda a, b: np.array(solved.cosine_similarity(a, b)),),
        (lambda *both: solved.cosine_similarity(*both),),
        (lambda v1, v2: 1 - (1 - solved.cosine_similarity(v1, v2)),),
    ],
    "mean_negative": [
        (lambda s: (s.sum(axis=1) - np.diag(s)) / (len(s) - 1),),
        (lambda s: np.ma.array(s, mask=np.eye(len(s))).mean(axis=1),),
        (lambda s: s[~np.eye(len(s), dtype=bool)].reshape(len(s), -1).mean(1),),
        (lambda s: [np.mean(np.delete(row, i)) for i, row in enumerate(s)],),
        (lists_of_loops,),
        (lambda s: np.nanmean(np.where(np.eye(len(s), dtype=bool), np.nan, s), axis=1),),
        (lambda s: np.average(s, axis=1, weights=1 - np.eye(len(s))),),
        (lambda s: tuple(solved.mean_negative(s).tolist()),),
        (lambda s: ((1 - np.eye(len(s))) * s) @ np.ones(len(s)) / (len(s) - 1),),
        (lambda s: s.mean(axis=1, where=~np.eye(len(s), dtype=bool)),),
    ],
    "closest_negative": [
        (lambda s: np.where(np.eye(len(s), dtype=bool), -np.inf, s).max(axis=1),),
        (lambda s: [max(np.delete(row, i)) for i, row in enumerate(s)],),
        (lambda s: np.sort(s - 1e9 * np.eye(len(s)), axis=1)[:, -1],),
        (lambda s: np.max(s, axis=1, where=~np.eye(len(s), dtype=bool), initial=-1),),
        (lambda s: np.nanmax(np.where(np.eye(len(s)), np.nan, s), axis=1),),
        (lambda s: np.partition(s - 9 * np.eye(len(s)), -1, axis=1)[:, -1],),
        (lambda s: -np.min(-s + 3 * np.eye(len(s)), axis=1),),
        (lambda s: s[np.arange(len(s)), np.argmax(s - 2 * np.eye(len(s)), axis=1)],),
        (lambda s: np.array(s)[~np.eye(len(s), dtype=bool)].reshape(len(s), -1).max(axis=1),),
    ],
    "accuracy_at": [
        (lambda s, y, t: sum(int(a > t) == int(b) for a, b in zip(s, y)) / len(s),),
        (lambda s, y, t: 1 - np.mean(np.abs((s > t).astype(int) - y.astype(int))),),
        (lambda s, y, t: 1 - np.logical_xor(s > t, y).mean(),),
        (lambda s, y, t: np.float32(solved.accuracy_at(s, y, t)),),
        (lambda s, y, t: np.count_nonzero(np.where(y, s > t, s <= t)) / s.size,),
    ],
    "best_threshold": [
        (lambda s, y: max([-9, *s], key=lambda t: np.mean((s > t) == y)),),
        (by_sorting,),
        (lambda s, y: float(np.float64(solved.best_threshold(s, y))),),
        (lambda s, y: solved.best_threshold(s, y) + 1e-9,),
    ],
    "masked_mean": [
        (lambda x, t: np.einsum("bld,bl->bd", x, t != 1)
                         / np.maximum((t != 1).sum(axis=1), 1)[:, None],),
        (lambda x, t: np.nan_to_num(np.nanmean(
            np.where((t != 1)[..., None], x, np.nan), axis=1)),),
        (lambda x, t: np.stack([q[i != 1].sum(axis=0) / max(1, (i != 1).sum()) for q, i in zip(x, t)]),),
        (lambda x, t: np.ma.array(x, mask=np.repeat((t == 1)[..., None], x.shape[2], 2)).mean(1).filled(0),
         ),
        (lambda x, t: ((t != 1).astype(float)[:, None] @ x)[:, 0] / np.fmax((t != 1).sum(1), 1)[:, None],),
    ],
    "count_false_negatives": [
        (lambda c: sum(n * n - n for n in np.unique(c, return_counts=True)[1]),),
        (lambda c: float(sum((c == a).sum() - 1 for a in c)),),
        (lambda c: sum(1 for i in range(len(c)) for j in range(len(c)) if i != j and c[i] == c[j]),),
        (lambda c: 2 * sum(a == b for a, b in itertools.combinations(c, 2)),),
        (lambda c: sum(n * (n - 1) for n in Counter(c.tolist()).values()),),
        (lambda c: np.array(solved.count_false_negatives(c)),),
    ],
    "one_shot": [
        (lambda v, e, n, t: max(
            ((x, name) for x, name in zip((e @ v).tolist(), n) if x > t), default=(0, None))[1],),
        (lambda v, e, n, t: n[(v @ e.T).argmax()] if (v @ e.T).max() > t else None,),
        (lambda v, e, n, t: next((n[i] for i in np.argsort(-(e @ v)) if e[i] @ v > t), None),),
        (lambda v, e, n, t: {True: n[np.argmax(e @ v)], False: None}[bool(np.max(e @ v) > t)],),
    ],
    "expected_calibration_error": [
        (lambda p, y, bins=10: sum(
            abs((y[i].astype(float) - p[i]).sum()) for k in range(bins)
            for i in [np.minimum((p * bins).astype(int), bins - 1) == k]) / len(p),),
        ("np.minimum((probabilities * bins).astype(int), bins - 1)",
         "np.clip(np.digitize(probabilities, np.arange(1, bins) / bins), 0, bins - 1)"),
        (lambda p, y, bins=10: np.abs(np.bincount(
            np.clip(p * bins, 0, bins - 1).astype(int), weights=y - p * 1.0)).sum() / len(p),),
        (lambda p, y, bins=10: sum(len(i) / len(p) * abs(y[i].mean() - p[i].mean()) for k in range(bins)
                                   if len(i := np.flatnonzero(np.minimum((p * bins) // 1, bins - 1) == k))),
                                   ),
    ],
    "normalize": [
        (ROOT, "fastnp.linalg.norm(x, axis=1, keepdims=True)"),
        (ROOT, "fastnp.sqrt(fastnp.sum(x**2, axis=1))[:, None]"),
        ("x / fastnp.sqrt(", "(x.T / fastnp.sqrt(", "keepdims=True))", "keepdims=False))).T"),
    ],
    "shared_towers": [
        (TOWER, "tl.Parallel(*[tower] * 2)"),
        ("tl.Mean(axis=1)", "tl.Mean(axis=-2)"),
        (TOWER, "tl.Serial(tl.Parallel(tower, tower))"),
    ],
    "Siamese": [
        ("vocab_size, d_model)", "d_model=d_model, vocab_size=vocab_size)"),
    ],
    "TripletLossFn": [
        AGAIN,
        ("fastnp.mean(loss1 + loss2)", "fastnp.mean(loss1) + fastnp.mean(loss2)"),
        ("fastnp.dot(v1, v2.T)", "v1 @ v2.T"),
        ("fastnp.maximum(0.0, margin - positive + closest)",
         "__import__('jax').nn.relu(margin - positive + closest)"),
        ("fastnp.diagonal(scores)", "fastnp.sum(v1 * v2, axis=1)"),
    ],
    "train_model": [
        (SCHEDULE, "(lambda step: 0.01 * min(step / 400, (400 / max(step, 1)) ** 0.5))"),
        (LOOP, LOOP.replace("eval_tasks=[eval_task]", "eval_tasks=(eval_task,)")),
    ],
    "data_generator": [
        ("b1), np.array(b2)", "b1, np.int32), np.array(b2, np.int64)"),
        ("2 ** int(np.ceil(np.log2(max_len)))", "1 << (max_len - 1).bit_length()"),
        ("yield np.array(b1), np.array(b2)", "yield [np.array(b1), np.array(b2)]"),
        (chained,),
        (LONGEST, "max(len(q) for q in [*input1, *input2])"),
        (POWER, "max_len = 1 << int(np.ceil(np.log2(max_len)))"),
        (POWER, "max_len = next(2**k for k in range(99) if 2**k >= max_len)"),
        ("[*range(len(Q1))]", "list(np.arange(len(Q1)))"),
        ("b1), np.array(b2)", "b1), np.asarray(b2, dtype=np.uint16)"),
    ],
    "classify": [
        ("v1[j], v2[j].T", "v1[j : j + 1], v2[j : j + 1].T"),
        ("return right", "return np.ones(1) * right"),
        ("np.dot(v1[j], v2[j].T)", "(v1[j] * v2[j]).sum()"),
        ("return right", "return np.float32(1) * right"),
        (whole_matrix,),
        ("right += (np.dot(v1[j], v2[j].T) > threshold) == y_part[j]",
         "right += int(bool(np.inner(v1[j], v2[j]) > threshold) == bool(y_part[j]))"),
    ],
    "predict": [
        # What np.dot(v1, v2.T) > threshold gives, as in the course's own solution: [[True]].
        ("v1[0], v2[0].T", "v1, v2.T"),
        ("vocab.get(w, 0)", "(vocab[w] if w in vocab else 0)"),
        ("return d > threshold", "return bool(np.float64(d) > threshold)"),
        ("vocab.get(w, 0)", "dict(vocab).get(w, 0)"),
        ("return d > threshold", "return np.array(d > threshold)"),
        ("[ids[0]], [ids[1]], 1", "ids[:1], ids[1:], 1"),
    ],
}  # fmt: skip
