"""More wrong solutions, as `exercise_mistakes.WRONG` has them: slips in places, axes, loops and names."""

import random

import exercise_solutions as solved
import numpy as np
from exercise_mistakes import (
    BIN,
    GET,
    LAYERS,
    LONGEST,
    LOOP,
    MASK,
    MASKED,
    NAMED,
    NORMS,
    POWER,
    RESET,
    ROOT,
    SCHEDULE,
    SHUFFLE,
    TOWER,
    siamese_of,
)

SCORES = np.array([[0.9, 0.1], [0.2, 0.8]])  # variables of the notebook that a function takes
LABELS = np.array([1, 0])


def off(scores):
    return scores * (1 - np.eye(len(scores)))


def nan_on_diagonal(scores):
    return np.where(np.eye(len(scores), dtype=bool), np.nan, scores)


def running_mean(scores):
    total, means = 0, []
    for i, row in enumerate(scores):
        total += row.sum() - row[i]
        means.append(total / (len(row) - 1))
    return np.array(means)


def first_row_only(scores):
    for i, row in enumerate(scores):
        return np.delete(row, i).mean()


def filled(scores):
    return np.fill_diagonal(scores.copy(), 0).sum(axis=1) / (len(scores) - 1)


def cut_means(scores):
    means = np.zeros(len(scores), int)
    means[:] = solved.mean_negative(scores)
    return means


def from_zero(scores):
    closest = np.zeros(len(scores))
    for i, row in enumerate(scores):
        for j, score in enumerate(row):
            if i != j and score > closest[i]:
                closest[i] = score
    return closest


def candidates_above(scores, labels):
    best, found = 0, 0.5
    for t in scores:
        if np.mean((scores > t) == labels) > best:
            best, found = np.mean((scores > t) == labels), t
    return found


def between_means(scores, labels):
    return (scores[labels == 1].mean() + scores[labels == 0].mean()) / 2


def most_found(scores, labels):
    cuts = np.append(scores.min() - 1, scores)
    return cuts[np.argmax([np.sum((scores > t) & (labels == 1)) for t in cuts])]


def by_precision(scores, labels):
    def precision(t):
        found = scores > t
        return (found & (labels == 1)).sum() / found.sum() if found.any() else 0

    return max(np.append(scores.min() - 1, scores), key=precision)


def last_of_equal(vector, examples, names, threshold):
    best = None
    for example, name in zip(examples, names):
        if example @ vector > threshold:
            best = name
    return best


def nearest_to_threshold(vector, examples, names, threshold):
    scores = examples @ vector
    above = [(s, n) for s, n in zip(scores, names) if s > threshold]
    return min(above)[1] if above else None


def reseeds_each_pass(Q1, Q2, batch_size, pad=1, shuffle=True):
    while True:
        random.seed(0)
        yield next(solved.data_generator(Q1, Q2, batch_size, pad, shuffle))


def own_random(Q1, Q2, batch_size, pad=1, shuffle=True):
    order = list(range(len(Q1)))
    if shuffle:
        random.Random(34).shuffle(order)
    parts = [Q1[i] for i in order], [Q2[i] for i in order]
    yield from solved.data_generator(*parts, batch_size, pad, False)


def shuffles_callers(Q1, Q2, batch_size, pad=1, shuffle=True):
    both = list(zip(Q1, Q2))
    if shuffle:
        random.shuffle(both)
    Q1[:], Q2[:] = map(list, zip(*both))
    yield from solved.data_generator(Q1, Q2, batch_size, pad, shuffle)


def one_pass(Q1, Q2, batch_size, pad=1, shuffle=True):
    made = solved.data_generator(Q1, Q2, batch_size, pad, shuffle)
    for _ in range(len(Q1) // batch_size):
        yield next(made)


def one_list(Q1, Q2, batch_size, pad=1, shuffle=True):
    for q1, q2 in solved.data_generator(Q1, Q2, batch_size, pad, shuffle):
        yield np.concatenate([q1, q2])


def truncates(Q1, Q2, batch_size, pad=1, shuffle=True):
    for q1, q2 in solved.data_generator(Q1, Q2, batch_size, pad, shuffle):
        yield q1[:, : q1.shape[1] // 2], q2[:, : q2.shape[1] // 2]


def sorts(Q1, Q2, batch_size, pad=1, shuffle=True):
    order = sorted(range(len(Q1)), key=lambda i: len(Q1[i]))
    parts = [Q1[i] for i in order], [Q2[i] for i in order]
    yield from solved.data_generator(*parts, batch_size, pad, shuffle)


MORE_WRONG = {
    "cosine_similarity": [
        (NORMS, "np.sqrt(np.dot(v1, v1)) * np.sqrt(np.dot(v2, v2))", "in parentheses"),
        (NORMS, "(np.sum(v1) * np.sum(v2))", "the root of the sum of squares"),
        (NORMS, "(np.abs(v1).sum() * np.abs(v2).sum())", "the root of the sum of squares"),
        (NORMS, "np.dot(v1, v1)", "the same length twice"),
        (NORMS, "np.dot(v2, v2)", "the same length twice"),
        (NORMS, "np.sqrt(np.dot(v2, v2))", "only the second vector's length"),
        (NORMS, f"({NORMS} + 1e-3)", "added to the lengths"),
        (NORMS, f"max(1, {NORMS})", "vectors of very different lengths"),
        (NORMS, f"{NORMS} / len(v1)", "mean"),
        ("np.dot(v1, v2) /", "v1 * v2 /", "one number was asked for"),
        (lambda a, b: np.arccos(np.clip(solved.cosine_similarity(a, b), -1, 1)), "this is the angle"),
        (lambda a, b: solved.cosine_similarity(a, b) ** 2, "squared"),
        (lambda a, b: int(solved.cosine_similarity(a, b)), "whole number"),
        (lambda a, b: solved.cosine_similarity(SCORES[0], SCORES[1]), "never uses its argument"),
        (lambda a, b: solved.cosine_similarity(a, a), "never uses its argument b"),
        (lambda a, b: [solved.cosine_similarity(a, b)], "one number was asked for"),
        (lambda a, b: solved.cosine_similarity(a - a.mean(), b - b.mean()), "correlation"),
    ],
    "mean_negative": [
        (lambda s: s.sum(axis=1) - np.diag(s) / (len(s) - 1), "in parentheses"),
        (lambda s: np.tril(s, -1).sum(axis=1) / (len(s) - 1), "left of the diagonal"),
        (lambda s: nan_on_diagonal(s).mean(axis=1), "nan"),
        (lambda s: np.nanmedian(nan_on_diagonal(s), axis=1), "the median"),
        (running_mean, "goes on from row to row"),
        (first_row_only, "the result is one number"),
        (filled, "a step gives None"),
        (cut_means, "whole number"),
        (lambda s: off(s).sum(axis=1) / 3, "divided by a fixed number"),
        (lambda s: (s.sum(axis=1) - s.max(axis=1)) / (len(s) - 1), "the largest of the row is left out"),
        (lambda s: (s.sum(axis=1) - s[:, 0]) / (len(s) - 1), "the first of each row"),
        (lambda s: np.full(len(s), off(s).sum() / (len(s) ** 2 - len(s))), "one mean for all rows"),
        (lambda s: off(s).sum(axis=1) / (len(s) + 1), "divided by"),
        (lambda s: off(s).sum(axis=1) / (len(s) - 2), "divided by"),
        (lambda s: off(s)[:, :-1].sum(axis=1) / (len(s) - 1), "last column"),
        (lambda s: off(s)[:, 1:].sum(axis=1) / (len(s) - 1), "first column"),
        (lambda s: np.where(off(s) > 0, s, 0).sum(axis=1) / (len(s) - 1), "below 0 are left out"),
        (lambda s: (s * (1 - np.eye(len(s))[::-1])).sum(axis=1) / (len(s) - 1), "the other diagonal"),
        (lambda s: solved.mean_negative(SCORES), "never uses its argument s"),
        (lambda s: solved.mean_negative((s + s.T) / 2), "rows and columns"),
        (lambda s: (s * np.eye(len(s))).sum(axis=1) / (len(s) - 1), "the positives"),
        (lambda s: -solved.mean_negative(s), "the sign is turned"),
        (f"np.sum{MASKED} / (batch - 1)", "print(batch)", "the function returned nothing"),
    ],
    "closest_negative": [
        (lambda s: np.tril(s - 2 * np.eye(len(s)), -1).max(axis=1), "left of the diagonal"),
        (lambda s: nan_on_diagonal(s).max(axis=1), "nan"),
        (lambda s: (s - np.inf * np.eye(len(s))).max(axis=1), "nan"),
        (lambda s: (s * (1 - 2 * np.eye(len(s)))).max(axis=1), "below every cosine"),
        (lambda s: np.maximum(solved.closest_negative(s), solved.closest_negative(s.T)), "columns"),
        (lambda s: solved.closest_negative((s + s.T) / 2), "columns"),
        (lambda s: solved.closest_negative(s) - np.diag(s), "difference"),
        (lambda s: solved.mean_negative(s), "mean"),
        (lambda s: np.max(off(s)[:, :-1] - 2 * np.eye(len(s))[:, :-1], axis=1), "last column"),
        (lambda s: s[:, 1:].max(axis=1), "first"),
        (lambda s: solved.closest_negative(s)[:, None], "axis of length 1"),
        (lambda s: np.sort(s, axis=1)[:, -1], "the diagonal is left in"),
        (lambda s: np.sort(s)[:, 1], "the smallest but one"),
        (from_zero, "0"),
        (lambda s: np.fill_diagonal(s.copy(), -2).max(axis=1), "returns None"),
        (lambda s: solved.closest_negative(SCORES), "never uses its argument s"),
        (lambda s: np.max(s - 2 * np.eye(4), axis=1), "fixed"),
        (lambda s: np.diag(s), "the positives"),
        (lambda s: (s * (1 - np.eye(len(s))) - 2).max(axis=1), "mask"),
        (lambda s: (s - 2 * np.eye(len(s))[::-1]).max(axis=1), "the other diagonal"),
        (lambda s: solved.closest_negative(s).round().astype(int), "whole number"),
    ],
    "accuracy_at": [
        (lambda s, y, t: np.mean((s > t) == y[::-1]), "reverse order"),
        (lambda s, y, t: np.mean((SCORES[0] > t) == LABELS), "never uses its argument s"),
        (lambda s, y, t: np.mean(np.round(s) == y), "never uses its argument t"),
        (lambda s, y, t: (s > t) == y, "one number was asked for"),
        (lambda s, y, t: bool(np.mean((s > t) == y) > 0.5), "whole number"),
        (lambda s, y, t: np.mean((s > t).astype(int) - y), "minus"),
        (lambda s, y, t: round(np.mean((s > t) == y), 2), "it is rounded"),
        (lambda s, y, t: sum((s > t) == y) // len(y), "not //"),
        (lambda s, y, t: ((s > t) == y).sum() / 8, "divide by the number of pairs"),
        (lambda s, y, t: np.mean((s > t) | (y == 1)), "or is not =="),
        (lambda s, y, t: 2 * np.sum((s > t) & (y == 1)) / max(1, np.sum(s > t) + np.sum(y)), "F1"),
        (lambda s, y, t: np.mean(((s + 1) / 2 > t) == y), "as they are"),
        (lambda s, y, t: f"{np.mean((s > t) == y):.2f}", "a number"),
        (lambda s, y, t: ((s > t) == y).sum() / (len(y) - 1), "number of pairs"),
        (lambda s, y, t: np.mean((s > t) is y), "==, not is"),
    ],
    "best_threshold": [
        (candidates_above, "below the lowest"),
        (between_means, "in the middle"),
        (most_found, "recall"),
        (by_precision, "precision"),
        (lambda s, y: int(np.argmax([np.mean((s > t) == y) for t in [s.min() - 1, *s]])), "place"),
        (lambda s, y: np.median(s), "never uses its argument y"),
        (lambda s, y: solved.best_threshold(SCORES[0], LABELS), "never uses its argument"),
        (lambda s, y: round(solved.best_threshold(s, y), 1), "round"),
        (lambda s, y: np.linspace(0, 1, 1001)[np.argmax(
            [np.mean((s > t) == y) for t in np.linspace(0, 1, 1001)])], "from -1 to 1"),
        (lambda s, y: s[y == 0].max(initial=-1), "the highest non-duplicate"),
        (lambda s, y: np.sort(s), "one number"),
        (lambda s, y: solved.best_threshold(s, 1 - y), "the labels are turned round"),
        (lambda s, y: None, "it returned None"),
    ],
    "masked_mean": [
        (lambda x, t: np.array([q[: (i != 1).sum()].mean(axis=0) if (i != 1).any() else q[0] * 0
                                for q, i in zip(x, t)]), "padding may stand anywhere"),
        (lambda x, t: (x * (t != 1)[..., None]).sum(axis=2), "axis"),
        (lambda x, t: (x * (t != 1)[..., None]).sum(axis=0), "axis"),
        (lambda x, t: np.max(np.where((t != 1)[..., None], x, -9), axis=1), "the largest of each"),
        (lambda x, t: x[np.arange(len(x)), (t != 1).sum(axis=1) - 1], "the last word"),
        (lambda x, t: x[t != 1].mean(axis=0), "the whole batch"),
        (lambda x, t: x[t != 1], "look at the axis"),
        (lambda x, t: (x * (t != 1)[..., None]).sum(axis=1)
         / ((t != 1).sum(axis=1, keepdims=True) + 1), "one too many"),
        (lambda x, t: (x * (t != 1)[..., None]).sum(axis=1)
         / ((t != 1).sum(axis=1, keepdims=True) + 1e-2), "added to the number"),
        (lambda x, t: (x * t[..., None]).sum(axis=1) / np.maximum(t.sum(axis=1), 1)[:, None], "token"),
        (lambda x, t: solved.masked_mean(x, t).mean(axis=1), "axis"),
        (lambda x, t: solved.masked_mean(x, np.full_like(t, 5)), "the padding is in the mean"),
        (lambda x, t: solved.masked_mean(x, t)[:, None], "axis of length 1"),
        (lambda x, t: np.nanmean(np.where((t != 1)[..., None], x, np.nan), axis=1), "nan"),
        (lambda x, t: (x * (t > 0)[..., None]).sum(axis=1) / np.maximum((t > 0).sum(1), 1)[:, None],
         "padding is 1"),
    ],
    "count_false_negatives": [
        (lambda c: int((c[:, None] == c).sum()), "the diagonal is counted"),
        (lambda c: int(np.triu(c[:, None] == c, 1).sum()), "each pair is counted once"),
        (lambda c: int((c[:, None] == c).any(axis=1).sum()), "rows"),
        (lambda c: sum(n > 1 for n in np.unique(c, return_counts=True)[1]), "clusters"),
        (lambda c: sum(n for n in np.unique(c, return_counts=True)[1] if n > 1), "rows"),
        (lambda c: solved.count_false_negatives(c) / len(c), "divided"),
        (lambda c: solved.count_false_negatives(c) / max(1, len(c) * (len(c) - 1)), "share"),
        (lambda c: solved.count_false_negatives(LABELS), "never uses its argument c"),
        (lambda c: [i for i in c if (c == i).sum() > 1], "one number"),
        (lambda c: solved.count_false_negatives(c) > 0, "number"),
        (lambda c: solved.count_false_negatives(c[c != 0]) if c.dtype.kind == "i" else
         solved.count_false_negatives(c), "nothing is left out"),
        (lambda c: sum(n * n for n in np.bincount(c)) - len(c), "clusters with names"),
        (lambda c: len(np.unique(c)), "clusters"),
        (lambda c: 2 * solved.count_false_negatives(c), "twice"),
    ],
    "one_shot": [
        (last_of_equal, "not the last above the threshold"),
        (nearest_to_threshold, "nearest to the threshold"),
        (lambda v, e, n, t: n[int(np.linalg.norm(e - v, axis=1).argmax())], "least similar"),
        (lambda v, e, n, t: solved.one_shot(v, e, n, 0.7), "never uses its argument t"),
        (lambda v, e, n, t: solved.one_shot(e[0], e, n, t), "never uses its argument v"),
        (NAMED, "[n for n, c in zip(names, cosines) if c > threshold]", "the text alone"),
        (NAMED, "(names[best], cosines[best]) if cosines[best] > threshold else None", "text alone"),
        (NAMED, "names[best] if cosines[best] > threshold else 'unknown'", "None"),
        (NAMED, "names[best] if cosines[best] > threshold else ''", "None"),
        (NAMED, "cosines[best] if cosines[best] > threshold else None", "never uses its argument names"),
        (NAMED, "names[best] if cosines[best] < threshold else None", "the comparison is turned"),
        ("examples @ vector", "examples.sum(axis=1)", "never uses its argument vector"),
        (NAMED, "names[best + 1] if cosines[best] > threshold else None", "best"),
        (NAMED, "sorted(set(names))[best] if cosines[best] > threshold else None", "are sorted"),
        (lambda v, e, n, t: solved.one_shot(v, e, n, t) or n[0], "None"),
        (lambda v, e, n, t: (n[int(np.linalg.norm(e - v, axis=1).argmin())]
         if np.linalg.norm(e - v, axis=1).min() < t else None), "distance"),
    ],
    "expected_calibration_error": [
        (lambda p, y, bins=10: solved.expected_calibration_error(p, y), "always 10 bins"),
        (lambda p, y, bins=10: np.mean((p - y) ** 2), "Brier"),
        (lambda p, y, bins=10: -np.mean(y * np.log(p + 1e-9) + (1 - y) * np.log(1 - p + 1e-9)), "log"),
        ("bins=10", "bins=5", "the default is 10 bins"),
        ("inside.mean() * gap", "gap", "weigh"),
        ("inside.mean() * gap", "inside.sum() * gap", "divide by the number of pairs"),
        ("inside.mean() * gap", "inside.mean() * gap / bins", "divided by the number of bins"),
        ("range(bins)", "range(bins - 1)", "the last bin"),
        ("range(bins)", "range(1, bins)", "the first bin"),
        ("labels[inside].mean() - probabilities[inside].mean()",
         "(labels[inside] == (probabilities[inside] > 0.5)).mean() - probabilities[inside].mean()",
         "accuracy"),
        ("labels[inside].mean() - probabilities[inside].mean()",
         "labels[inside].sum() - probabilities[inside].sum()", "number"),
        ("labels[inside].mean() - probabilities[inside].mean()",
         "np.median(probabilities[inside]) - labels[inside].mean()", "median"),
        ("return error", "return round(error, 2)", "it is rounded"),
        (BIN, "np.digitize(probabilities, np.linspace(probabilities.min(), probabilities.max(), bins))",
         "0 to 1"),
        (BIN, "np.minimum(np.round(probabilities * bins).astype(int), bins - 1)", "rounded"),
        ("probabilities[inside].mean()", "k / bins", "edge"),
        ("error += inside", "error = inside", "the last bin"),
        ("            error += inside.mean() * gap\n    return error",
         "            error += inside.mean() * gap\n        return error", "first bin"),
    ],
    "normalize": [
        (ROOT, "__import__('jax').numpy.linalg.norm(x)", "one length for the whole batch"),
        (ROOT, "fastnp.max(abs(x), axis=-1, keepdims=True)", "largest"),
        (ROOT, f"({ROOT} + 1e-2)", "added to the lengths"),
        ("x / ", "x * ", "multiplied"),
        (ROOT, "fastnp.sqrt(fastnp.mean(x * x, axis=-1, keepdims=True))", "the mean of the squares"),
        (ROOT, "fastnp.sqrt(fastnp.sum(x, axis=-1, keepdims=True))", "squares"),
        (ROOT, "fastnp.sum(x, axis=-1, keepdims=True)", "squares"),
        ("x / ", "(x - x.mean(axis=-1, keepdims=True)) / ", "mean is taken off"),
        ("return x /", "return abs(x) /", "sign"),
        ("return x /", "x /", "it returned None"),
        (ROOT, "2.8", "length of each row"),
        (lambda x: [row / np.sqrt(sum(row * row)) for row in np.asarray(x)], "NumPy"),
    ],
    "shared_towers": [
        ("tl.Mean(axis=1)", "tl.Mean(axis=-1)", "over the wrong axis"),
        ("tl.Mean(axis=1)", "tl.Sum(axis=1)", "averages the LSTM's states"),
        ("tl.Mean(axis=1)", "tl.Fn('Last', lambda x: x[:, -1])", "averages the LSTM's states"),
        ("tl.LSTM(d_model)", "tl.Dense(d_model)", "is the LSTM there?"),
        (TOWER, "tl.Parallel(tower, tower, tower)", "two questions in"),
        (TOWER, "[tower, tower]", "return the model"),
        (TOWER, "(tower, tower)", "return the model"),
        ("tl.Embedding(vocab_size, d_model)", "tl.Embedding(d_model, vocab_size)",
         "takes vectors of d_model"),
        ('        tl.Mean(axis=1),\n        tl.Fn("Normalize", normalize),\n',
         '        tl.Fn("Normalize", normalize),\n        tl.Mean(axis=1),\n', "length"),
        ("tl.Embedding(vocab_size, d_model)", "tl.Embedding(vocab_size + 1, d_model)", "the arguments"),
        (TOWER, "tl.Serial(tl.Parallel(tower, tower), tl.Swap())", "row by row"),
        ("    tower", "    d_model = 6\n    tower", "not fixed numbers"),
    ],
    "Siamese": [
        (siamese_of('tl.Fn("Normalize", normalize)', "tl.Fn('Normalize', lambda x: x)"), "length 1"),
        (siamese_of('tl.Fn("Normalize", normalize)', "tl.L2Norm()"), "AttributeError"),
        (siamese_of('        tl.Fn("Normalize", normalize),\n', ""), "each row's length 1"),
        (siamese_of("        tl.LSTM(d_model),\n",
         "        tl.LSTM(d_model),\n        tl.LSTM(d_model),\n"),
         "compare name by name"),
        (siamese_of(TOWER, "tower"), "this is one tower"),
        (siamese_of("        tl.Mean(axis=1),\n", ""), "average over the positions"),
        ("vocab_size=41699, d_model=128", "d_model=128, vocab_size=41699", "in their order"),
        ('mode="train"', 'mode="eval"', "in their order"),
        (', mode="train"', "", "in their order"),
        (siamese_of(TOWER, f"tl.Serial({LAYERS})"), "this is one tower"),
        (siamese_of("tl.LSTM(d_model)", "tl.LSTM(n_units=d_model), tl.Dense(d_model)"), "name by name"),
    ],
    "TripletLossFn": [
        (
            *(MASK, "fastnp.where(scores >= positive[:, None], -2.0, scores)"),
            *("fastnp.mean(loss1 + loss2)", "fastnp.sum(loss1 + loss2)", "later edition"),
        ),
        ("margin - positive + closest", "margin + positive - closest", "sign"),
        ("(0.0, margin - positive + mean)", "(0.0, margin + positive - mean)", "sign"),
        ("margin - positive + closest", "-positive + closest", "margin"),
        ("margin - positive + mean", "-positive + mean", "margin"),
        ("fastnp.maximum(0.0, margin - positive + mean)", "margin - positive + mean", "hinge"),
        ("fastnp.maximum(0.0, margin - positive + closest)", "margin - positive + closest", "hinge"),
        ("fastnp.maximum(0.0, ", "fastnp.minimum(0.0, ", "maximum"),
        ("fastnp.mean(loss1 + loss2)", "fastnp.mean(loss1 + loss2) / 2", "half"),
        ("fastnp.mean(loss1 + loss2)", "fastnp.mean(loss1 * loss2)", "multiplied"),
        ("fastnp.mean(loss1 + loss2)", "-fastnp.mean(loss1 + loss2)", "sign"),
        ("fastnp.mean(loss1 + loss2)", "fastnp.sum(loss1 + loss2) / (batch - 1)", "mean"),
        ("fastnp.mean(loss1 + loss2)", "fastnp.maximum(loss1, loss2).mean()", "larger"),
        ("without.max(axis=1)", "without.min(axis=1)", "one of the two terms is missing"),
        ("without.max(axis=1)", "without.argmax(axis=1)", "argmax"),
        (MASK, "scores - 0.5 * fastnp.eye(batch)", "below every cosine"),
        (MASK, "scores - fastnp.eye(batch)", "below every cosine"),
        ("scores = fastnp.dot(v1, v2.T)", "scores = fastnp.dot(v1.T, v2)", "v1.T"),
        ("scores = fastnp.dot(v1, v2.T)", "scores = fastnp.dot(v1, v2)", "v2.T"),
        ("scores = fastnp.dot(v1, v2.T)", "scores = fastnp.dot(v2, v2.T)", "v1 meets v2"),
        ("/ (batch - 1)", "", "sum of the negatives"),
        ("margin=0.25", "margin=0.5", "the default margin is 0.25"),
        ("axis=1) / (batch", "axis=0) / (batch", "columns"),
        ("without.max(axis=1)", "without.max(axis=0)", "columns"),
        ("fastnp.maximum(0.0, margin - positive + closest)", "fastnp.maximum(margin, closest - positive)",
         "margin"),
        ("/ (batch - 1)", "/ (batch - 1) ** 2", "divided"),
        ("margin - positive + closest", "margin - fastnp.mean(positive) + closest", "own positive"),
    ],
    "symmetric_loss": [
        ("losses = losses + fastnp.maximum(mean - positive + margin, 0)", "pass", "terms is missing"),
        ("losses = fastnp.maximum(closest - positive + margin, 0)", "losses = 0", "terms is missing"),
        ("fastnp.mean(losses)", "fastnp.sum(losses)", "sum over"),
        ("fastnp.mean(losses)", "losses", "one number was asked for"),
        ("others.sum(axis=0)", "others.sum(axis=1)", "the mean negatives are the rows'"),
        ("masked.max(axis=0)", "masked.max(axis=1)", "the closest negatives are the rows'"),
        ("(batch - 1)", "batch", "divided by the batch size"),
        ("scores - 2.0 * fastnp.eye(batch)", "scores", "the diagonal is left in"),
        ("scores * (1.0 - fastnp.eye(batch))", "scores", "the diagonal is left in"),
        ("fastnp.dot(v1, v2.T)", "fastnp.dot(v1, v1.T)", "v1 meets v2"),
        ("from trax.fastmath import numpy as fastnp", "import numpy as fastnp", "not with NumPy"),
    ],
    "train_model": [
        ("optimizers.Adam(0.01)", "optimizers.Adam()", "Adam(0.01)"),
        ("optimizers.Adam(0.01)", "optimizers.Adam", "call its class"),
        ("optimizers.Adam(0.01)", "optimizers.Adafactor(0.01)", "trains with trax.optimizers.Adam"),
        (SCHEDULE, "trax.lr.constant(0.01)", "give the TrainTask an lr_schedule"),
        (SCHEDULE, "trax.lr.warmup(400, 0.01)", "1 / sqrt(step)"),
        (SCHEDULE, "trax.lr.warmup_and_rsqrt_decay(0.01, 400)", "exchanged"),
        (SCHEDULE, "trax.lr.warmup_and_rsqrt_decay(100, 0.01)", "shorter than 400"),
        (SCHEDULE, "trax.lr.warmup_and_rsqrt_decay", "call"),
        (f"    return {LOOP}", f"    loop = {LOOP}\n    loop.run(1)\n    return loop", "without run()"),
        (f"    return {LOOP}", f"    loop = {LOOP}\n    return loop.run(1)", "returned nothing"),
        (LOOP, LOOP.replace("Siamese()", "__import__('trax').layers.Serial()"), "argument Siamese"),
        ("output_dir=output_dir)", "output_dir='model/')", "the argument output_dir"),
        ("loss_layer=TripletLoss()", "loss_layer=__import__('trax').layers.L2Loss()", "TripletLoss()"),
        ("metrics=[TripletLoss()]", "metrics=[__import__('trax').layers.L2Loss()]", "[TripletLoss()]"),
        (LOOP, "train_task, eval_task", "the training.Loop itself"),
        ("labeled_data=val_generator", "labeled_data=[next(val_generator)]", "generator"),
    ],
    "data_generator": [
        (reseeds_each_pass, "begins again with the first pairs"),
        (own_random, "leave random.seed to the caller"),
        (shuffles_callers, "changed its input Q1"),
        (one_pass, "endless"),
        (one_list, "both sides"),
        (truncates, "is a question cut"),
        (sorts, "order"),
        ("idx = 0\n    order", "idx = 1\n    order", "first pair"),
        ("            idx = 0\n", "            idx = 1\n", "first pair"),
        ("idx >= len(Q1)", "idx >= len(Q1) - 1", "last pair"),
        ("idx += 1", "idx += 2", "every other"),
        ("idx += 1", "idx += batch_size", "skipped"),
        ("Q2[order[idx]]", "Q1[order[idx]]", "both sides are Q1"),
        ("pad=1, shuffle=True", "pad=0, shuffle=True", "default"),
        ("pad=1, shuffle=True", "pad=1, shuffle=False", "default"),
        ("[pad] *", "['<PAD>'] *", "whole numbers"),
        (POWER, "max_len = 2 * max_len", "twice the longest"),
        (POWER, "max_len = 2 ** int(np.floor(np.log2(max_len)))", "ceil"),
        (POWER, "max_len = 2 ** round(np.log2(max_len))", "ceil"),
        (POWER, "max_len = 2 ** np.ceil(np.log2(max_len))", "int("),
        (POWER, "max_len = 8", "or to a fixed length"),
        (LONGEST, "min(max(map(len, input1)), max(map(len, input2)))", "longer than the length"),
        (LONGEST, "max(map(len, input2))", "q in input1", "q in (q[:max_len] for q in input1)",
         "the length looks at Q2 only"),
        (LONGEST, "max(map(len, input1 + input2)) + 1", "a power of two already stays"),
        ("== batch_size", "== 2", "always 2 rows"),
        ("order = [*range(len(Q1))]", "order = [*range(1, len(Q1))]", "IndexError"),
        (f"            if shuffle:\n{'    ' * 4}random.shuffle(order)\n",
         "            random.shuffle(Q1)\n", "Q1"),
        ("yield np.array(b1), np.array(b2)", "yield np.array(b1), np.array(b1)", "both sides are Q1"),
        ("yield np.array(b1), np.array(b2)", "yield np.array(b1, object), np.array(b2, object)",
         "whole numbers"),
        (RESET, "            input1 = []\n", "another number of rows"),
        ("q + [pad]", "q[::-1] + [pad]", "reverse order"),
        (SHUFFLE, "        order = random.shuffle(order)\n", "a step gives None"),
        (SHUFFLE, "        order = [random.choice(order) for _ in order]\n", "at random"),
        ("q + [pad] * (max_len - len(q))", "q + [pad] * max_len", "unequal length"),
    ],
    "classify": [
        ("right / len(test_Q1)", "right // len(test_Q1)", "not //"),
        ("right / len(test_Q1)", "1 - right / len(test_Q1)", "the share of wrong answers"),
        ("right / len(test_Q1)", "right / len(vocab)", "number of pairs"),
        ("test_Q2[i : i + batch_size]", "test_Q1[i : i + batch_size]", "question 2"),
        ("y_part = y[i : i + batch_size]", "y_part = y[:batch_size]", "labels"),
        ("test_Q1[i : i + batch_size], ", "test_Q1[:batch_size], ", "batch"),
        ("> threshold)", "< threshold)", "the comparison is turned round"),
        ("(np.dot(v1[j], v2[j].T) > threshold) == y_part[j]",
         "(np.dot(v1[j], v2[j].T) > threshold) and y_part[j]",
         "only the duplicates"),
        ("(np.dot(v1[j], v2[j].T) > threshold) == y_part[j]", "y_part[j]", "compare"),
        ("(np.dot(v1[j], v2[j].T) > threshold) == y_part[j]", "np.dot(v1[j], v2[j].T) > threshold",
         "labels"),
        ("        for j", "        right = 0\n        for j", "starts again"),
        ("    return right", "        return right", "first batch"),
        ("range(0, len(test_Q1), batch_size)", "range(0, len(test_Q1) // batch_size)", "step"),
        ("range(0, len(test_Q1), batch_size)", "range(batch_size, len(test_Q1), batch_size)",
         "first batch"),
        ("model((q1, q2))", "model((q1, q1))", "question 2"),
        ("model((q1, q2))", "model(q1, q2)", "the pair (q1, q2)"),
        ("vocab[\"<PAD>\"]", "0", "the padding is what the vocabulary says"),
        ("> threshold) == y_part[j]", "> threshold) is y_part[j]", "==, not is"),
        ("np.dot(v1[j], v2[j].T)", "np.linalg.norm(v1[j] - v2[j])", "dot product"),
    ],
    "predict": [
        ("next(data_generator", "next(solved.data_generator", "with the argument data_generator"),
        ('vocab["<PAD>"]', "0", "vocab['<PAD>']"),
        ("[ids[0]], [ids[1]]", "[ids[0]], [ids[0]]", "two questions about other"),
        ("(question1, question2)", "(question1, question1)", "never uses its argument question2"),
        ("[ids[0]], [ids[1]]", "ids[0], ids[1]", "a batch is a list of questions"),
        ("(question1, question2)", "('How old are you?', 'What is your age?')",
         "never uses its argument question1"),
        (GET, "vocab.get(w, 1)", "id 0"),
        (GET, "vocab.get(w)", "0"),
        ("return d > threshold", "return int(d > threshold)", "True or False"),
        ("return d > threshold", "return 'duplicate' if d > threshold else 'not'", "True or False"),
        ("return d > threshold", "return d > threshold, d", "True or False"),
        ("d = np.dot(v1[0], v2[0].T)", "d = np.linalg.norm(v1[0] - v2[0])", "cosine"),
        ("d = np.dot(v1[0], v2[0].T)", "d = (v1[0] * v2[0]).mean()", "cosine"),
        ("d = np.dot(v1[0], v2[0].T)", "d = v1[0] * v2[0]", "True or False"),
        ("word_tokenize(q)", "word_tokenize(q)[:-1]", "question mark"),
        ("word_tokenize(q)", "q", "are words looked up"),
        ("word_tokenize(q)", "q.replace('?', '').split()", "question mark"),
        ("verbose=False", "verbose=True", "nothing is printed"),
        ("model((q1, q2))", "model((q2, q2))", "two questions about other"),
        ("return d > threshold", "return d > threshold / 2", "False"),
        ("return d > threshold", "return True", "False"),
        ("next(data_generator", "(data_generator", "next("),
    ],
}  # fmt: skip
