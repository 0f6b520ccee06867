"""Answers as learners write them: wrong ones with words of their sentence, and odd right ones."""

import itertools
import linecache
from types import SimpleNamespace

import numpy as np

from siamese import TripletLossFn as library
from siamese.teaching import checks
from siamese.teaching.checks.tables import solutions

solved = SimpleNamespace(**solutions())
CHECKS = {
    check.name: check
    for name, check in vars(checks).items()
    if name.startswith("check_")
}
SCORES, LABELS = np.array([0.9, 0.1]), np.array([1, 0])  # variables of a notebook


def changed(name, *replacements):
    """The solution with texts replaced: ``changed("f", "old", "new", "old2", "new2")``."""
    source = CHECKS[name].source
    for old, new in zip(replacements[::2], replacements[1::2]):
        assert old in source, f"{old!r} does not stand in {name}"
        source = source.replace(old, new)
    return defined(name, source)


def defined(name, source):
    """The function that a cell of this source defines."""
    scope = {
        **vars(solved),
        "np": np,
        "NOTED": np.arange(30) % 2,
        "__name__": "__main__",
    }
    file = f"<{name} {len(linecache.cache)}>"
    # As IPython does for a cell.
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), scope)
    return scope[name]


def one_buffer(Q1, Q2, batch_size, pad=1, shuffle=True):
    buffers = {}
    for batch in solved.data_generator(Q1, Q2, batch_size, pad, shuffle):
        both = buffers.setdefault(batch[0].shape, tuple(map(np.empty_like, batch)))
        for buffer, side in zip(both, batch):
            buffer[:] = side
        yield both


EDITION_2022 = ("(fastnp.eye(batch) == 1) | (scores > positive[:, None])", "fastnp.eye(batch) == 1",
                "sum(loss1", "mean(loss1")  # fmt: skip
SOFTPLUS = "fastnp.log(1 + fastnp.exp({} - positive + margin))"
MEAN, CLOSEST = (
    f"fastnp.maximum({kind} - positive + margin, 0)" for kind in ("mean", "closest")
)
UNIT = 'tl.Fn("Normalize", normalize)'
PRODUCT = "fastnp.dot(v1, v2.T)"
YIELD = "yield np.array(b1), np.array(b2)"
EMPTIED = f"{YIELD}\n            input1, input2 = [], []"
LENGTH_OF_B2 = (
    "max_len = 2 ** int(np.ceil(np.log2(max(map(len, input2)))))\n            b2 ="
)
HIT = "right += (np.dot(v1[j], v2[j]) > threshold) == labels[j]"
HIT_OR_BELOW = """if np.dot(v1[j], v2[j]) > threshold:
                right += labels[j]
            elif np.dot(v1[j], v2[j]) < threshold:
                right += not labels[j]"""
# Exercise -> (answer, or edits of the solution; words of its sentence, "" where none
# fits).
WRONG = {
    "cosine_similarity": [
        (lambda a, b: [a @ b / np.sqrt(a @ a) / np.sqrt(b @ b)], "one number is asked for"),
        (lambda a, b: round(a @ b / np.sqrt((a @ a) * (b @ b)), 3), "rounded"),
        (lambda a, b: str(a @ b), "no number"), (lambda a, b: (a @ b, a), "no array of numbers"),
        (lambda a, b: solved.cosine_similarity(a, a), "never uses its argument b"),
        (lambda a, b: a @ b / np.linalg.norm(a * b), "the length of the products"),
        (("np.dot(v1, v2)", "np.sum(v1 + v2)"), "the entries are added"),
    ],
    "triplet_loss": [(lambda a, n, m: np.mean(np.maximum(n - a + m, 0)), "not averaged or summed"),
                     (lambda a, n, m: np.clip(n - a + m, 0, 1), "not cut at 1"),
                     (("np.maximum(s_an - s_ap + margin, 0)", "max(s_an - s_ap + margin, 0)"),
                      "Python's max takes one triplet alone"),
                     (("np.maximum(s_an - s_ap + margin, 0)", "np.max([s_an - s_ap + margin, 0])"),
                      "np.max of a list"),
                     (("np.maximum(", "np.max("), "the largest along axis 0"),
                     (lambda a, n, m: n - a + m if n - a + m > 0 else 0, "if looks at one triplet"),
                     (lambda a, n, m: n - a + m if np.any(n - a + m > 0) else 0, "any and all"),
                     (lambda a, n, m: np.maximum(n + a + m, 0), "the positive is added"),
                     (lambda a, n, m: [max(0, y - x + m) for x, y in zip(a, n)], "without a loop"),
                     (lambda a, n, m: (n - a + m).clip(0), "may be plain numbers")],
    "mean_negative": [(lambda s: np.fill_diagonal(s.copy(), 0).sum(axis=1), "a step gives None"),
                      (lambda s: s.sum(axis=[1]), "")],
    "closest_negative": [
        (("diag(scores)", "diag(scores).copy(); scores[0, 0] = -2"), "changed its input scores"),
        (lambda s: [max(s[i][s[i] < s[i, i]]) for i in range(len(s))], "needs a value below"),
        (lambda s: solved.closest_negative(s)[:, None], "axis of length 1"),
        (("scores > pos", "scores < pos"), "only the negatives above the positive are used"),
        (("-2.0, scores).max", "-2.0, scores).mean"), "the mean of the row"),
        (("masked, -2.0, scores", "masked, scores, -2.0"), "only the masked entries are kept"),
        (("np.where(masked, -2.0, scores)", "(scores - 2)"), "taken off everywhere"),
        (lambda s: np.where(s < np.diag(s)[:, None], s, 0).max(axis=1), "what is masked counts as 0"),
        (("np.where(masked, -2.0, scores)", "(scores - 2.0 * masked)"), "do not subtract it"),
        (("np.where(masked, -2.0, scores).max", "np.where(masked, 2.0, scores).min"), "the smallest"),
    ],
    "modified_loss": [
        (("np.maximum(mean", "max(mean"), "maximum(x, 0) of np, jnp or fastnp goes entry by entry"),
        (("np.maximum(mean - positive + margin, 0)", "mean if mean > 0 else mean"), "if, and, or"),
        (("closest - positive + margin", "closest - positive"),
         "the closest negative's term: the margin is missing"),
        (("loss1 + loss2", "loss1"), "only the mean negative counts"),
        (("margin = 0.25", "margin = 0.5"), "the margin is 0.25"),
        (("closest - positive + margin", "closest - positive - margin"), "the margin has the wrong sign"),
        (("closest - positive", "closest - mean"), "not with the other negative"),
        (("np.diag(scores)", "scores.max(axis=1)",
          "(scores * negatives).sum(axis=1)", "(scores.sum(axis=1) - positive)"), "not always the largest"),
        (("scores > positive[:, None]", "scores > positive[:, None] - margin"), "belongs to the hinge"),
        (("mean - positive + margin", "mean - positive"), "the mean negative's term: the margin is"),
        (("np.where(masked, -2.0, scores)", "(scores - 2.0 * masked)"), "do not subtract it"),
        (("mean - positive", "mean - scores", "closest - positive", "closest - scores"), "np.diag(scores)"),
    ],
    "TripletLossFn": [
        (("np.sum(loss1", "np.mean(loss1"), "a mixture of two editions: the lecture's masked"),
        ((*EDITION_2022, "mean(loss1", "sum(loss1"), "a mixture of two editions: the hardest"),
        ((CLOSEST, f"fastnp.max({CLOSEST[15:]}"), "along axis 0"),
        ((CLOSEST, CLOSEST.removeprefix("fastnp.").replace("maximum", "max")), "of np, jnp or fastnp"),
        ((CLOSEST, f"fastnp.max(0, {CLOSEST[15:-4]})"), "is an axis"),
        (("(scores > positive[:, None])", "scores > positive[:, None]"), "in parentheses"),
        ((CLOSEST, SOFTPLUS.format("closest"), MEAN, SOFTPLUS.format("mean")), "softplus"),
        ((CLOSEST, CLOSEST[15:-4], MEAN, MEAN[15:-4], "return fastnp.sum(loss1 + loss2)",
          "return fastnp.maximum(0, fastnp.sum(loss1 + loss2))"), "the hinge comes after the mean"),
        (("positive[:, None]", "positive"), "column j was compared with its own positive"),
        ((MEAN, MEAN.replace("margin", "0.1"), CLOSEST, CLOSEST.replace("margin", "0.1")),
         "the margin is always the same"),
        (("loss1 + loss2)", "loss1 + loss2) / fastnp.sum(loss1 + loss2 > 0)"), "that cost something"),
        ((PRODUCT, "fastnp.sqrt(((v1[:, None] - v2) ** 2).sum(axis=-1))"), "Euclidean distances"),
        (("fastnp.where(masked, -2.0, scores)", "(scores - 2.0 * masked)"), "do not subtract it"),
        (("fastnp.where(masked, -2.0, scores).max", "fastnp.where(masked, 2.0, scores).min"), "smallest"),
        (("loss1 + loss2", f"{MEAN[:15]}(mean + closest) / 2 - positive + margin, 0)"), "have one hinge"),
        (("fastnp.sum(loss1 + loss2)", "fastnp.mean(loss1) + fastnp.sum(loss2)"), "treated alike"),
        ((PRODUCT, "v1 * v2"), "entry by entry"),
        (("positive = fast", "np.fill_diagonal(scores, 0); positive = fast"), "cannot be changed"),
        (("from trax.fastmath import numpy as fastnp", "import numpy as fastnp"), "not with NumPy"),
        ((*EDITION_2022, "fastnp.diagonal", "np.diag"), "not with NumPy"),
        ((*EDITION_2022, "return fastnp.mean(loss1 + loss2)", "return float(fastnp.mean(loss1 + loss2))"),
         "or float()"),
        ((*EDITION_2022, "fastnp.mean(loss1 + loss2)", "fastnp.mean(loss1 + loss2) / batch"), "twice"),
        ((*EDITION_2022, "fastnp.mean(loss1 + loss2)", "fastnp.mean(loss2 - loss1)"), "no minus"),
        ((*EDITION_2022, "fastnp.diagonal(scores)", "scores"), "diagonal of scores is meant"),
    ],
    "symmetric_loss": [((" / 2", ""), "were added: average them"),
                       (lambda v1, v2, margin=0.25: (library(v1, v2, margin) + library(v2, v1, margin)) / 2,
                        "two finished losses were averaged"),
                       (("fastnp.maximum(mean", "max(mean"), "maximum(x, 0) of np, jnp or fastnp")],
    "normalize": [(lambda x: x / (x**2).sum(axis=1) ** 0.5, "row i was divided")],
    "shared_towers": [
        ((UNIT, "tl.Fn('Normalize', lambda x: print(x))"), "is `return` missing"),
        ((UNIT, "tl.Fn('Normalize', lambda x: np.ones((5, 6), 'float32') / 6**0.5)"), "use its argument"),
        (("(tower, tower)", "([tower, tower])"), "not a list"),
        (("tl.Parallel(tower, tower)", "tower"), "this is one tower"),
    ],
    "Siamese": [
        (("LSTM(d_model)", "LSTM(d_model, mode=mode)"), "mode is handed to tl.LSTM"),
        (("LSTM(d_model)", "LSTM()"), "call tl.LSTM"), ((UNIT, "normalize"), "a function in tl.Fn"),
        ((UNIT, 'tl.Fn("Normalize", lambda x: normalize)'), "as in lambda x: normalize(x)"),
        (("41699", "1000"), "with their defaults"),
        (("tl.Parallel(tower, tower)", "tl.Serial(tl.Parallel(tower, tower))"), "no tl.Serial around"),
        (("(axis=-1, keepdims=True)", "(axis=-1)"), "keepdims=True keeps [batch, 1]"),
        (("return x /", "return x *"), "multiplied by the lengths"),
    ],
    "train_model": [
        (("data=train_generator", "data=next(train_generator)"), "not one of its batches"),
        (("    return training", "    training"), "is `return` missing"),
        *((("eval_tasks=[eval_task]", e), "by name the rest") for e in ("eval_task", "[eval_task]")),
        (("Adam(0.01)", "Adam(trax.lr.constant(0.01))"), "the optimizer takes a number"),
        (("[TripletLoss()]", "[trax.layers.Accuracy()]"), "the metric is the loss"),
        (("eval_tasks=[eval_task]", "eval_tasks=[train_task]"), "holds the EvalTask"),
        (("Siamese(), train_task", "Siamese(5, 4), train_task"), "come as functions without arguments"),
    ],
    "accuracy_at": [(lambda s, y, t: np.mean((t < SCORES) == LABELS), "never uses its argument s"),
                    (lambda s, y, t: 100 * np.mean((s > t) == y), "percentage"),
                    (("(scores > threshold) == labels", "scores > threshold == labels"), "is a chain"),
                    (lambda s, y, t: sum((s > t) & (y == 1)) / sum(y == 1), "the recall"),
                    (lambda s, y, t: ((s[0] > t) == y[0]) / len(s), "return inside the loop")],
    "best_threshold": [
        (lambda s, y: s[np.argmax([np.mean((s > t) == y) for t in sorted(s)])], "the sorted candidates"),
        (lambda s, y: max(np.mean((s > t) == y) for t in s), "the best accuracy"),
        (lambda s, y: s[np.argmin([np.mean((s > t) == y) for t in s])], "the worst one"),
        (lambda s, y: s[y == 1].min(), "the lowest duplicate"),
        (lambda s, y: [t for t in s if np.mean((s > t) == y) > 0][-1], "so far is not kept"),
    ],
    "masked_mean": [(("np.maximum(real.sum(axis=1), 1)", "range(len(states[0, 0, 0]))"), ""),
                    (("(states * real).sum(axis=1)", "(states * real).sum(axis=2)",
                      "np.maximum(real.sum(axis=1), 1)", "real.sum(axis=1)"), "the wrong axis")],
    "turned_round": [
        (("second.index", "first.index"), "in the order of question 1"),
        (("first.count(word) == second.count(word) == 1", "word in second"), "no place of their own"),
        (("first.count(word) == second.count(word) == 1", "first.count(word) == 1"),
         "that question 2 lacks"),
        (lambda a, b: sorted(solved.words(a)) == sorted(solved.words(b))
         and solved.words(a) != solved.words(b), "a word that only one question has"),
        (("words(question1), words(question2)", "question1.split(), question2.split()"),
         "another word for"),
        (lambda a, b: [word for word in solved.words(a) if word in solved.words(b)], "True or False alone"),
        (lambda a, b: solved.words(a) == solved.words(b)[::-1], "all words must be exchanged"),
    ],
    "other_sign": [
        (("sorted(found)", "found"), "in another order"),
        (("word in NUMBERS | NEGATIONS", "word in NEGATIONS"), "the number words"),
        (("any(letter.isdigit() for letter in word)", "word.isdigit()"), "leaves out mp3"),
        ((""" or word.endswith("n't")""", ""), "end in n't"),
        (("words(question)", "question.split()"), "capitals are not another word"),
        (("sorted(found)", "len(found)"), "the number of signs"),
        (lambda a, b: [w for w in solved.words(a) if w in solved.NEGATIONS]
         != [w for w in solved.words(b) if w in solved.NEGATIONS], "numbers are signs as well, and"),
        (("signs[0] != signs[1]", "signs"), "True or False alone"),
    ],
    "one_shot": [(lambda v, e, n, t: [n[np.argmax(e @ v)]], "the text alone"),
                 (("examples @ vector", "vector @ examples"), "in this order"),
                 (("np.argmax(cosines)", "max(cosines)"), "names takes a place"),
                 (("names[best]", "names[np.argmin(cosines)]"), "the least similar")],
    "expected_calibration_error": [
        (("np.minimum((probabilities * bins).astype(int), bins - 1)", "(probabilities * bins).astype(int)",
          "range(bins)", "range(bins + 1)"), "a bin of its own"),
    ],
    "data_generator": [
        (one_buffer, "the same array is yielded twice"),
        ((EMPTIED, YIELD), "input1 grows and grows: a new batch begins with empty lists"),
        ((EMPTIED, f"{EMPTIED}\n            if shuffle:\n                random.shuffle(order)"),
         "before each batch"),
        (("np.log2", "np.log"), "np.log is the natural logarithm"),
        (("b2 = [q + [pad]", "b2 = [q + [0]"), "padded with 0"),
        ((YIELD, "yield np.array(sum(b1, [])), np.array(sum(b2, []))"), "a row of its own"),
        ((YIELD, "yield np.array([]), np.array([])"), "after the yield, not before"),
        (("    while True", "        random.shuffle(Q1)\n        random.shuffle(Q2)\n    while True"),
         "the questions themselves are shuffled"),
        (("b2 =", LENGTH_OF_B2), "each side has a length of its own"),
        (("max(max(map(len, input1)), max(map(len, input2)))", "len(max(max(input1), max(input2)))"),
         "max of lists compares them word by word"),
        (("random.shuffle(order)", "order = random.sample(order, len(order))"), ""),
        (("idx += 1", "idx = random.randrange(len(Q1)) if shuffle else idx + 1"), "at random"),
        (("yield np.array(b1), np.array(b2)", "return np.array(b1), np.array(b2)"), "yield makes"),
        (("yield np.array(b1), np.array(b2)", "return None"), "no yield, it returned None"),
        (("input1, input2 = [], []\n    idx", "input1, input2, len = [], [], range\n    idx"), ""),
        (("(max_len - len(q)) for q in input1", "max_len - len(q) for q in input1"), "parentheses"),
        (("max(max(map(len, input1)), max(map(len, input2)))", "max(input1, key=len)"), "its length"),
        (("max(map(len, input1))", "max(map(len, input1[0]))"), "q is one question"),
    ],
    "classify": [
        (("model((q1, q2))", "model(q1, q2)"), "the model takes one argument"),
        ((HIT, HIT_OR_BELOW), "exactly at the threshold"),
        ((HIT, HIT.replace("labels[j]", "NOTED[j]")), "NOTED is a variable of the notebook"),
        (("<PAD>", "PAD"), "is '<PAD>'"), (("v1[j], v2[j]", "v1, v2"), "or transpose the second"),
        (("range(len(part1))", "range(len(i))"), "i, batch_size and len(q1) are numbers"),
        (("in range(len(part1))", "in len(part1)"), "of a batch is range(len(q1))"),
        (("right / len(test_Q1)", "right / len(part1)"), "the number of all pairs"),
        (("== labels[j]\n", "== labels[j]\n        right = right / len(part1)\n",
          "right / len(test_Q1)", "right"), "divided in each round"),
        (("part1, part2, len", "part1[0], part2[0], len"), "questions are lists of ids"),
        (("part1, part2 = test_Q1[i : i +", "part1, part2 = test_Q1[i :"), "from i to i + batch_size"),
    ],
    "predict": [
        (("vocab.get(word, 0)", "vocab[word]"), "with [] adds it"),
        (("np.dot(v1[0], v2[0])", "np.dot(v1[0], v2[0]) / len(ids1)"), "the number of words"),
        (("[ids1], [ids2]", "[ids1 + ids2], [[]]"), "in one list"),
        (("word_tokenize(question2)", "question2"), "those of letters"),
        (("word_tokenize(question1)", "question1.lower().rstrip('?').split()",
          "word_tokenize(question2)", "question2.lower().rstrip('?').split()"), "the capitals are lost"),
        (('1, vocab["<PAD>"]', 'vocab["<PAD>"], 1'), "the batch size comes third"),
        (("return cosine > threshold", "return cosine"), "True or False alone")],
}  # fmt: skip

AGAIN = [
    f"({v} / fastnp.linalg.norm({v}, axis=1, keepdims=True))" for v in ("v1", "v2")
]
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
    "symmetric_loss": [lambda v1, v2, margin=0.25: library(v1, v2, margin) + library(v2, v1, margin)],
    "normalize": [lambda x: x / (x**2).sum(axis=1)[:, None] ** 0.5],
    "shared_towers": [("tl.Parallel(tower, tower)", "tl.Serial(tl.Parallel(*[tower] * 2))"),
                      ("axis=1", "axis=-2")],
    "Siamese": [("=41699, d_model=128, mode=", ": int = 41699, d_model: int = 128, mode: str = ")],
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
    "turned_round": [
        lambda a, b: (lambda s: s != [w for w in solved.words(b) if w in s])(
            [w for w in solved.words(a) if solved.words(a).count(w) == solved.words(b).count(w) == 1]),
        ("return places != sorted(places)", "return np.any(np.diff(places) < 0)"),
        ("return places != sorted(places)",
         "return any(x > y for x, y in __import__('itertools').combinations(places, 2))"),
    ],
    "other_sign": [
        ("sorted(found)", "__import__('collections').Counter(found)"),
        ("return signs[0] != signs[1]", "return not (signs[0] == signs[1])"),
    ],
    "expected_calibration_error": [lambda p, y, bins=10: np.abs(np.bincount(
        np.clip(p * bins, 0, bins - 1).astype(int), weights=y - p * 1.0)).sum() / len(p)],
    "data_generator": [
        ("idx = 0\n            if", "idx = 0\n            order = [*range(len(Q1))]\n            if"),
        ("random.shuffle(order)", "order = random.sample(range(len(Q1)), len(Q1))"),
        ("yield np.array(b1), np.array(b2)", "yield [np.array(b1, np.uint16), np.array(b2)]"),
    ],
    "classify": [("v1[j], v2[j]", "v1[j : j + 1], v2[j : j + 1].T"),
                 ("return right", "return np.ones(1) * right")],
    "predict": [("v1[0], v2[0]", "v1, v2.T"), ("cosine > threshold", "np.array(cosine > threshold)")],
}  # fmt: skip


def answer(name, form):
    """The function of a row: itself, or the solution with texts replaced."""
    return changed(name, *form) if isinstance(form, tuple) else form
