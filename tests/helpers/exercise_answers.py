"""Answers as learners write them: wrong ones with words of their sentence, and odd right ones."""

import itertools
import random
from types import SimpleNamespace

import numpy as np

from siamese.teaching import checks
from siamese.teaching.checks.tables import solutions

solved = SimpleNamespace(**solutions())
CHECKS = {check.name: check for name, check in vars(checks).items() if name.startswith("check_")}
SCORES, LABELS = np.array([0.9, 0.1]), np.array([1, 0])  # variables of a notebook


def changed(name, *replacements):
    """The solution with texts replaced: ``changed("f", "old", "new", "old2", "new2")``."""
    source = CHECKS[name].source
    for old, new in zip(replacements[::2], replacements[1::2]):
        assert old in source, f"{old!r} does not stand in {name}"
        source = source.replace(old, new)
    scope = {**vars(solved), "__name__": "__main__"}
    exec(compile(source, f"<{name}>", "exec"), scope)
    return scope[name]


def in_place(scores):
    positive = np.diag(scores).copy()[:, None]
    np.fill_diagonal(scores, -2)
    return np.where(scores > positive, -2, scores).max(axis=1)


def above_half(scores, labels):
    best, threshold = 0, 0.5
    for t in np.sort(scores):
        if np.mean((scores > t) == labels) > best:
            best, threshold = np.mean((scores > t) == labels), t
    return threshold


def class_sums(vector, examples, names, threshold):
    sums = dict.fromkeys(names, 0.0)
    for example, name in zip(examples, names):
        sums[name] += example @ vector
    best = max(sums, key=sums.get)
    return best if sums[best] > threshold else None


def one_buffer(Q1, Q2, batch_size, pad=1, shuffle=True):
    buffers = {}
    for batch in solved.data_generator(Q1, Q2, batch_size, pad, shuffle):
        both = buffers.setdefault(batch[0].shape, tuple(map(np.empty_like, batch)))
        for buffer, side in zip(both, batch):
            buffer[:] = side
        yield both


def shuffles_callers(Q1, Q2, batch_size, pad=1, shuffle=True):
    both = list(zip(Q1, Q2))
    random.shuffle(both)
    Q1[:], Q2[:] = map(list, zip(*both))
    yield from solved.data_generator(Q1, Q2, batch_size, pad, shuffle)


def random_pairs(Q1, Q2, batch_size, pad=1, shuffle=True):
    if not shuffle:
        yield from solved.data_generator(Q1, Q2, batch_size, pad, False)
    while True:
        rows = [random.randrange(len(Q1)) for _ in range(batch_size)]
        parts = [Q1[i] for i in rows], [Q2[i] for i in rows]
        yield next(solved.data_generator(*parts, batch_size, pad, False))


def chained(order_of):
    """A right data_generator of another form; ``order_of(order)`` is the shuffled one."""

    def generator(Q1, Q2, batch_size, pad=1, shuffle=True):
        def endless():
            while True:
                order = list(range(len(Q1)))
                yield from order_of(order) if shuffle else order

        rows = endless()
        while True:
            chosen = list(itertools.islice(rows, batch_size))
            length = 1
            while length < max(len(side[i]) for i in chosen for side in (Q1, Q2)):
                length *= 2
            filled = [np.full((batch_size, length), pad) for _ in (Q1, Q2)]
            for array, side in zip(filled, (Q1, Q2)):
                for row, i in zip(array, chosen):
                    row[: len(side[i])] = side[i]
            yield filled

    return generator


def shuffled(order):
    random.shuffle(order)
    return order


def library_sum(v1, v2, margin=0.25):
    import siamese

    return siamese.TripletLossFn(v1, v2, margin) + siamese.TripletLossFn(v2, v1, margin)


EDITION_2022 = ("(fastnp.eye(batch) == 1) | (scores > positive[:, None])", "fastnp.eye(batch) == 1",
                "sum(loss1", "mean(loss1")  # fmt: skip
SOFTPLUS = "fastnp.log(1 + fastnp.exp({} - positive + margin))"
MEAN, CLOSEST = (f"fastnp.maximum({kind} - positive + margin, 0)" for kind in ("mean", "closest"))
UNIT = 'tl.Fn("Normalize", normalize)'
# Exercise -> (answer, or edits of the solution; words of its sentence, "" where none fits).
WRONG = {
    "cosine_similarity": [
        (lambda a, b: np.dot(a, b) / np.linalg.norm(a), "only the first"),
        (lambda a, b: np.dot(a, b) / np.linalg.norm(a) * np.linalg.norm(b), "in parentheses"),
        (lambda a, b: float(np.corrcoef(a, b)[0, 1]), "correlation"),
        (lambda a, b: [a @ b / np.sqrt(a @ a) / np.sqrt(b @ b)], "one number is asked for"),
        (lambda a, b: round(a @ b / np.sqrt((a @ a) * (b @ b)), 3), "rounded"),
        (lambda a, b: str(a @ b), "this is text"),
        (lambda a, b: solved.cosine_similarity(a, a), "never uses its argument b"),
    ],
    "triplet_loss": [
        (lambda p, n, margin: max(0, p - n + margin), "the sign is turned"),
        (lambda p, n, margin: np.log(1 + np.exp(n - p + margin)), "softplus"),
    ],
    "mean_negative": [
        (lambda s: s.sum(axis=1) - np.diag(s) / (len(s) - 1), "in parentheses"),
        (lambda s: np.where(s < 0, s, 0).sum(axis=1) / (s < 0).sum(axis=1), "not a number below 0"),
        (lambda s: np.fill_diagonal(s.copy(), 0).sum(axis=1), "a step gives None"),
        (lambda s: s.sum(axis=[1]), ""),
    ],
    "closest_negative": [
        (in_place, "changed its input scores"),
        (lambda s: np.sort(s, axis=1)[:, -2], "largest but one"),
        (lambda s: (s * (1 - np.eye(len(s)))).max(axis=1), "counts as 0"),
        (lambda s: solved.closest_negative(s)[:, None], "axis of length 1"),
        (lambda s: np.argmax(s - 2 * np.eye(len(s)), axis=1), "places"),
        (("positive[:, None]", "positive"), "column j was compared with its own positive"),
    ],
    "modified_loss": [
        (lambda s: CHECKS["modified_loss"].made()(s.T), "rows and columns are exchanged"),
    ],
    "TripletLossFn": [
        (("np.sum(loss1", "np.mean(loss1"), "a mixture of two editions: the lecture's masked"),
        ((*EDITION_2022, "mean(loss1", "sum(loss1"), "a mixture of two editions: the hardest"),
        ((CLOSEST, f"fastnp.max({CLOSEST[15:]}"), "along axis 0"),
        ((CLOSEST, SOFTPLUS.format("closest"), MEAN, SOFTPLUS.format("mean")), "softplus"),
        ((CLOSEST, CLOSEST[15:-4], MEAN, MEAN[15:-4], "return fastnp.sum(loss1 + loss2)",
          "return fastnp.maximum(0, fastnp.sum(loss1 + loss2))"), "the hinge comes after the mean"),
        (("positive[:, None]", "positive"), "column j was compared with its own positive"),
        (("(v1, v2.T)", "(v1, v2)"), "the shapes do not fit a product"),
        (("from trax.fastmath import numpy as fastnp", "import numpy as fastnp"), "not with NumPy"),
    ],
    "symmetric_loss": [
        ((" / 2", ""), "were added: average them"),
    ],
    "normalize": [
        (lambda x: x / (x**2).sum(axis=1, keepdims=True), "a root is missing"),
        (lambda x: x / (x**2).sum(axis=1) ** 0.5, "row i was divided"),
    ],
    "shared_towers": [
        ((UNIT, "tl.Fn('Normalize', lambda x: print(x))"), "is `return` missing"),
        ((UNIT, "tl.Fn('Normalize', lambda x: np.ones((5, 6), 'float32') / 6**0.5)"), "use its argument"),
        (("(tower, tower)", "([tower, tower])"), ""),
        (("tl.Parallel(tower, tower)", "tower"), "this is one tower"),
    ],
    "Siamese": [
        (("LSTM(d_model)", "LSTM(d_model, mode=mode)"), "mode is handed to tl.LSTM"),
        (("41699", "1000"), "with their defaults"),
        (('"Normalize"', '"Unit"'), "with the name 'Normalize'"),
    ],
    "train_model": [
        (("data=train_generator", "data=next(train_generator)"), "not one of its batches"),
        (("Adam(0.01)", "SGD(0.01)"), "the assignment trains with"),
        (("    return training", "    training"), "is `return` missing"),
    ],
    "accuracy_at": [
        (lambda s, y, t: sum((s >= t) == y) / len(y), "not >="),
        (lambda s, y, t: np.mean((t < SCORES) == LABELS), "never uses its argument s"),
        (lambda s, y, t: 100 * np.mean((s > t) == y), "percentage"),
    ],
    "best_threshold": [
        (above_half, "below the lowest score"),
        (lambda s, y: max(np.mean((s > t) == y) for t in [s.min() - 1, *s]), "accuracy"),
        (lambda s, y: (s[y == 1].mean() + s[y == 0].mean()) / 2, "in the middle"),
    ],
    "masked_mean": [
        (lambda x, t: x.mean(axis=1), "the padding is in the mean"),
        (lambda x, t: np.nanmean(np.where((t != 1)[..., None], x, np.nan), axis=1), "0 / 0"),
        (lambda x, t: np.array([q[: (i != 1).sum()].sum(axis=0) / max(1, (i != 1).sum())
                                for q, i in zip(x, t)]), "padding may stand anywhere"),
        (("np.maximum(real.sum(axis=1), 1)", "range(len(states[0, 0, 0]))"), ""),
    ],
    "count_false_negatives": [
        (lambda c: sum(a == b for a in c for b in c), "the diagonal is counted"),
        (lambda c: sum(a == b for a, b in itertools.combinations(c, 2)), "counted once"),
    ],
    "one_shot": [
        (class_sums, "not the sum over a class"),
        (lambda v, e, n, t: next((m for x, m in zip(e, n) if x @ v > t), None), "not the first"),
        (lambda v, e, n, t: [n[np.argmax(e @ v)]], "the text alone"),
    ],
    "expected_calibration_error": [
        (lambda p, y, bins=10: np.mean((p - y) ** 2), "Brier"),
        (lambda p, y, bins=10: abs(p.mean() - y.mean()), "gaps of opposite sign"),
    ],
    "data_generator": [
        (one_buffer, "the same array is yielded twice"),
        (shuffles_callers, "changed its input Q1"),
        (random_pairs, "do not draw pairs at random"),
        (("yield np.array(b1), np.array(b2)", "return np.array(b1), np.array(b2)"), "yield makes"),
        (("yield np.array(b1), np.array(b2)", "yield b1, b2"), "yield arrays"),
        (("input1, input2 = [], []\n    idx", "input1, input2, len = [], [], range\n    idx"), ""),
    ],
    "classify": [
        (("model((q1, q2))", "model(q1, q2)"), "the model takes one argument"),
    ],
    "predict": [
        (("word_tokenize(question", "str.split(question"), "takes the question mark off"),
        (("vocab.get(word, 0)", "vocab[word]"), "with [] puts it in"),
        (("return cosine > threshold", "return cosine"), "compare the cosine"),
        (("if verbose:", "if True:"), "without verbose"),
        (('vocab["<PAD>"]', "1"), "vocab['<PAD>']"),
    ],
}  # fmt: skip

AGAIN = [f"({v} / fastnp.linalg.norm({v}, axis=1, keepdims=True))" for v in ("v1", "v2")]
RIGHT = {
    "cosine_similarity": [
        lambda a, b: a / np.linalg.norm(a) @ (b / np.linalg.norm(b)),
        lambda a, b: sum(x * y for x, y in zip(a, b)) / (sum(a * a) * sum(b * b)) ** 0.5,
        lambda *both: np.array(solved.cosine_similarity(*both)),
    ],
    "triplet_loss": [lambda a, n, margin: np.maximum(0, margin + n - a)],
    "mean_negative": [
        lambda s: [np.mean(np.delete(row, i)) for i, row in enumerate(s)],
        lambda s: s.mean(axis=1, where=~np.eye(len(s), dtype=bool)),
        lambda s: tuple(((s.sum(axis=1) - np.diag(s)) / (len(s) - 1)).tolist()),
    ],
    "closest_negative": [
        lambda s: np.where(np.eye(len(s), dtype=bool), -np.inf, s).max(axis=1),
        lambda s: [max(np.delete(row, i)) for i, row in enumerate(s)],
        lambda s: np.where(s <= np.diag(s)[:, None], s - 3 * np.eye(len(s)), -2).max(axis=1),
    ],
    "TripletLossFn": [("(v1, v2.T)", f"({AGAIN[0]}, {AGAIN[1]}.T)"),
                      (CLOSEST, "__import__('jax').nn.relu(closest - positive + margin)")],
    "symmetric_loss": [library_sum],
    "normalize": [lambda x: x / (x**2).sum(axis=1)[:, None] ** 0.5],
    "shared_towers": [("tl.Parallel(tower, tower)", "tl.Serial(tl.Parallel(*[tower] * 2))"),
                      ("axis=1", "axis=-2")],
    "Siamese": [('mode="train"', 'mode="train", extra=None')],
    "train_model": [("[eval_task]", "(eval_task,)"), (
        "trax.lr.warmup_and_rsqrt_decay(400, 0.01)",
        "(lambda step: 0.01 * min(step / 400, (400 / max(step, 1)) ** 0.5))")],
    "accuracy_at": [lambda s, y, t: sum(int(a > t) == int(b) for a, b in zip(s, y)) / len(s),
                    lambda s, y, t: 1 - np.logical_xor(s > t, y).mean()],
    "best_threshold": [lambda s, y: max([-9, *s], key=lambda t: np.mean((s > t) == y)),
                       lambda s, y: solved.best_threshold(s, y) + 1e-9],
    "masked_mean": [
        lambda x, t: np.nan_to_num(np.nanmean(np.where((t != 1)[..., None], x, np.nan), axis=1)),
        lambda x, t: np.stack([q[i != 1].sum(0) / max(1, (i != 1).sum()) for q, i in zip(x, t)]),
    ],
    "count_false_negatives": [
        lambda c: float(sum((c == a).sum() - 1 for a in c)),
        lambda c: np.array(2 * sum(a == b for a, b in itertools.combinations(c, 2))),
    ],
    "one_shot": [lambda v, e, n, t: np.array(n)[(e @ v).argmax()] if (e @ v).max() > t else None],
    "expected_calibration_error": [lambda p, y, bins=10: np.abs(np.bincount(
        np.clip(p * bins, 0, bins - 1).astype(int), weights=y - p * 1.0)).sum() / len(p)],
    "data_generator": [
        chained(shuffled),
        chained(lambda order: random.sample(order, len(order))),
        ("yield np.array(b1), np.array(b2)", "yield [np.array(b1, np.uint16), np.array(b2)]"),
    ],
    "classify": [("v1[j], v2[j]", "v1[j : j + 1], v2[j : j + 1].T"),
                 ("return right", "return np.ones(1) * right")],
    "predict": [("v1[0], v2[0]", "v1, v2.T"), ("cosine > threshold", "np.array(cosine > threshold)")],
}  # fmt: skip


def answer(name, form):
    """The function of a row: itself, or the solution with texts replaced."""
    return changed(name, *form) if isinstance(form, tuple) else form
