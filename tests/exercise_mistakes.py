"""Wrong solutions as learners write them: what is changed in a solution, and what the check must say."""

import inspect
import itertools
import linecache
import random

import exercise_solutions as solved
import numpy as np


def changed(name, *replacements):
    """The solution `name` with texts replaced: ``changed("f", "old", "new", "old2", "new2")``."""
    source = inspect.getsource(getattr(solved, name))
    for old, new in zip(replacements[::2], replacements[1::2]):
        assert old in source, f"{old!r} does not stand in {name}"
        source = source.replace(old, new)
    scope = {**vars(solved), "solved": solved}
    file = f"<{name} {len(linecache.cache)}>"  # where inspect and tracebacks find its lines
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), scope)
    return scope[name]


def failed_hints(score):
    """All that the failures of a score say."""
    return "\n".join(f"{f.case} | {f.expected} | {f.actual} | {f.hint}" for f in score.failures)


def in_place(scores):
    np.fill_diagonal(scores, -2)
    return scores.max(axis=1)


def mean_in_place(scores):
    np.fill_diagonal(scores, 0)
    return scores.sum(axis=1) / (len(scores) - 1)


def cosine_in_place(v1, v2):
    v1 /= np.linalg.norm(v1)
    v2 /= np.linalg.norm(v2)
    return v1 @ v2


def grid_threshold(scores, labels):
    grid = np.arange(-1, 1, 0.05)
    return grid[np.argmax([np.mean((scores > t) == labels) for t in grid])]


def first_above(vector, examples, names, threshold):
    return next((n for e, n in zip(examples, names) if e @ vector > threshold), None)


def class_sums(vector, examples, names, threshold):
    sums = dict.fromkeys(names, 0.0)
    for example, name in zip(examples, names):
        sums[name] += example @ vector
    best = max(sums, key=sums.get)
    return best if sums[best] > threshold else None


def class_means(vector, examples, names, threshold):
    means = {name: np.mean(examples[np.array(names) == name] @ vector) for name in names}
    best = max(means, key=means.get)
    return best if means[best] > threshold else None


def vote(vector, examples, names, threshold):
    found = [name for name, score in zip(names, examples @ vector) if score > threshold]
    return max(found, key=found.count) if found else None


def siamese_of(*replacements):
    """Siamese with the body of shared_towers, changed."""
    towers = changed("shared_towers", *replacements)

    def Siamese(vocab_size=41699, d_model=128, mode="train"):
        return towers(vocab_size, d_model)

    return Siamese


def two_losses(join):
    """symmetric_loss that joins the finished losses of both directions."""
    loss = solved.TripletLossFn

    def symmetric_loss(v1, v2, margin=0.25):
        return join(loss(v1, v2, margin), loss(v2, v1, margin))

    return symmetric_loss


def pads_in_place(Q1, Q2, batch_size, pad=1, shuffle=True):
    for q1, q2 in solved.data_generator(Q1, Q2, batch_size, pad, shuffle):
        for q in Q1:
            q += [pad] * (q1.shape[1] - len(q))
        yield q1, q2


def each_side_its_length(Q1, Q2, batch_size, pad=1, shuffle=True):
    for batch in solved.data_generator(Q1, Q2, batch_size, pad, shuffle):
        powers = [2 ** int(np.ceil(np.log2((q != pad).sum(1).max()))) for q in batch]
        yield tuple(q[:, :power] for q, power in zip(batch, powers))


def random_pairs(Q1, Q2, batch_size, pad=1, shuffle=True):
    if not shuffle:
        yield from solved.data_generator(Q1, Q2, batch_size, pad, False)
    while True:
        rows = [random.randrange(len(Q1)) for _ in range(batch_size)]
        parts = [Q1[i] for i in rows], [Q2[i] for i in rows]
        yield next(solved.data_generator(*parts, batch_size, pad, False))


def shuffles_each_side(Q1, Q2, batch_size, pad=1, shuffle=True):
    Q1, Q2 = list(Q1), list(Q2)
    if shuffle:
        random.shuffle(Q1)
        random.shuffle(Q2)
    yield from solved.data_generator(Q1, Q2, batch_size, pad, shuffle)


def reseeds(Q1, Q2, batch_size, pad=1, shuffle=True):
    random.seed(34)
    yield from solved.data_generator(Q1, Q2, batch_size, pad, shuffle)


def global_questions(Q1, Q2, batch_size, pad=1, shuffle=True):
    train = [[101, 102], [103], [104, 105], [106], [107]]
    yield from solved.data_generator(train, train, batch_size, pad, shuffle)


def cut_at_first_padding(states, tokens):
    rows = []
    for state, ids in zip(states, tokens.tolist()):
        n = ids.index(1) if 1 in ids else len(ids)
        rows.append(state[:n].mean(axis=0) if n else np.zeros(states.shape[2]))
    return np.array(rows)


NORMS = "(np.sqrt(np.dot(v1, v1)) * np.sqrt(np.dot(v2, v2)))"
MASKED = "(scores * (1 - np.eye(batch)), axis=1)"
NP_MASK = "scores - 2.0 * np.eye(len(scores))"
REAL, MEAN = "(tokens != 1)[:, :, None]", "np.maximum(real.sum(axis=1), 1)"
SAME = "int(same.sum()) - len(clusters)"
NAMED = "names[best] if cosines[best] > threshold else None"
BIN = "np.minimum((probabilities * bins).astype(int), bins - 1)"
ROOT = "fastnp.sqrt(fastnp.sum(x * x, axis=-1, keepdims=True))"
TOWER = "tl.Parallel(tower, tower)"
LAYERS = (
    "tl.Serial(tl.Embedding(vocab_size, d_model), tl.LSTM(d_model), tl.Mean(axis=1), "
    "tl.Fn('Normalize', normalize))"
)
MASK, OTHERS = "scores - 2.0 * fastnp.eye(batch)", "scores * (1.0 - fastnp.eye(batch))"
SCHEDULE = "trax.lr.warmup_and_rsqrt_decay(400, 0.01)"
LOOP = "training.Loop(Siamese(), train_task, eval_tasks=[eval_task], output_dir=output_dir)"
BOTH = "closest = (masked.max(axis=1) + masked.max(axis=0)) / 2"
MEANS = "mean = (others.sum(axis=1) + others.sum(axis=0)) / 2 / (batch - 1)"
POWER = "max_len = 2 ** int(np.ceil(np.log2(max_len)))"
LONGEST = "max(max(map(len, input1)), max(map(len, input2)))"
RESET = "            input1, input2 = [], []\n"
SHUFFLE = "        random.shuffle(order)\n"
GET = "vocab.get(w, 0)"

# Exercise -> rows: (text, its replacement, ..., hint), or (function, hint).
WRONG = {
    "cosine_similarity": [
        (f" / {NORMS}", "", "this is the dot product"),
        ("np.sqrt(", "(", "a length has a square root"),
        (" * np.sqrt(np.dot(v2, v2))", "", "only the first"),
        ("v1)) * np", "v1)) + np", "lengths are added"),
        ("np.dot(v1, v2) /", "np.abs(np.dot(v1, v2)) /", "the sign is lost"),
        ("return np", "return 1 - np", "cosine distance"),
        (lambda v1, v2: np.linalg.norm(v1 - v2), "Euclidean distance"),
        (cosine_in_place, "changed its input v1"),
        (NORMS, f"{NORMS}[0]", "IndexError"),
        ("return np.dot(v1, v2) / ", "return round(np.dot(v1, v2) / ", "v2, v2)))", "v2, v2))), 4)",
         "it is rounded"),
        (lambda v1, v2: str(solved.cosine_similarity(v1, v2)), "a number"),
        (lambda v1, v2: np.corrcoef(v1, v2)[0, 1], "this is the correlation"),
        (lambda v1, v2: (1 + solved.cosine_similarity(v1, v2)) / 2, "moved to 0 to 1"),
        (lambda v1, v2: max(0, solved.cosine_similarity(v1, v2)), "opposite vectors"),
    ],
    "mean_negative": [
        ("(batch - 1)", "batch", "divided by the batch size"),
        ("scores * (1 - np.eye(batch))", "scores", "the diagonal is left in"),
        ("axis=1", "axis=0", "the wrong axis"),
        (" / (batch - 1)", "", "the sum of the negatives"),
        (f"np.sum{MASKED}", "np.sum(scores * (1 - np.eye(batch)))", "the result is one number"),
        ("axis=1", "axis=1, keepdims=True", "axis of length 1"),
        ("(batch - 1)", "np.sum(scores != 0, axis=1)", "divided by the batch size"),
        ("batch = len(scores)", "batch = 4", "ValueError"),
        (mean_in_place, "changed its input scores"),
        ("np.eye(batch)), axis=1)", "np.eye(batch)), axis=1).round(2)", "is it rounded"),
        (lambda scores: (scores.sum(axis=1) - 1) / (len(scores) - 1), "1 is taken off"),
        (lambda scores: np.mean(scores - 2 * np.eye(len(scores)), axis=1), "masking with -2"),
        (lambda scores: np.triu(scores, 1).sum(axis=1) / (len(scores) - 1), "right of the diagonal"),
        (lambda scores: solved.mean_negative(np.abs(scores)), "the sign is lost"),
        (np.diag, "these are the positives"),
    ],
    "closest_negative": [
        (f"{NP_MASK}, axis=1", "scores, axis=1", "the diagonal is left in"),
        ("axis=1", "axis=0", "the wrong axis"),
        (NP_MASK, "scores * (1 - np.eye(len(scores)))", "the diagonal counts as 0"),
        (NP_MASK, "np.where(scores <= np.diag(scores)[:, None], scores - 3 * np.eye(len(scores)), -2)",
         "only negatives below the positive"),
        ("np.max", "np.argmax", "the places of the closest"),
        ("np.max", "np.min", "scores -", "scores +", "the smallest negative"),
        (", axis=1", "", "one maximum for all rows"),
        (in_place, "changed its input scores"),
        (lambda scores: np.sort(scores, axis=1)[:, -2], "the largest but one"),
        (lambda scores: np.array([max(x for x in row if x != max(row)) for row in scores]),
         "the largest but one"),
        (NP_MASK, "np.where(np.eye(len(scores), dtype=bool), -0.5, scores)", "below every cosine"),
        (NP_MASK, "scores - np.eye(len(scores))", "below every cosine"),
        (lambda scores: np.triu(scores - 2 * np.eye(len(scores)), 1).max(axis=1), "right of the diagonal"),
        (lambda scores: solved.closest_negative(np.abs(scores)), "the sign is lost"),
    ],
    "accuracy_at": [
        (">", ">=", "> is asked for, not >="),
        ("np.mean", "np.sum", "the number of right answers"),
        ("np.mean", "100 * np.mean", "a percentage"),
        ("> threshold", "> 0.7", "always 0.7"),
        ("> threshold)", "> threshold)[:, None]", "each answer met every label"),
        ("== labels", "* labels", "only the duplicates"),
        (" > ", " < ", "the comparison is turned round"),
        (" == labels", "", "compare it with the labels"),
        ("== labels", "== (labels == 1.0)", "scores >", "np.sort(scores) >", "eight pairs at 0.6"),
        ("== labels", "& (labels == 1)", "only the duplicates that were found"),
        ("> threshold) == labels", "> threshold) != labels", "the share of wrong answers"),
        (lambda s, y, t: (np.mean(s[y == 1] > t) + np.mean(s[y == 0] <= t)) / 2, "the balanced accuracy"),
    ],
    "best_threshold": [
        (grid_threshold, "a grid of thresholds is too coarse"),
        ("accuracy_at(scores, labels, threshold)", "np.mean((scores >= threshold) == labels)",
         "best with >="),
        ("candidates[int(np.argmax(found))]", "max(found)", "this is the best accuracy"),
        (lambda scores, labels: 0.7, "is it always 0.7?"),
        ("np.argmax", "np.argmin", "the worst one"),
        ("[scores.min() - 1], ", "[], ", "below the lowest score"),
        ("np.sort(scores)", "np.sort(scores[scores > 0])", "cosines go from -1 to 1"),
        ("return ", "return max(found), ", "return it alone"),
        ("candidates = ", "scores.sort(); candidates = ", "changed its input"),
        (lambda scores, labels: scores.mean(), "in the middle"),
        (lambda scores, labels: scores[labels == 1].min(initial=9), "the lowest duplicate"),
        (lambda scores, labels: np.array([0.7]), "one number is asked for"),
    ],
    "masked_mean": [
        (REAL, "np.ones_like(tokens)[:, :, None]", "padding is in the mean"),
        (MEAN, "states.shape[1]", "divided by the whole length"),
        (f" / {MEAN}", "", "the sum of the words' states"),
        ("!= 1", "!= 0", "padding is 1, and 0 an unknown word"),
        ("!= 1", "> 1", "unknown words (0) were left out"),
        (MEAN, "real.sum()", "the words of the whole batch"),
        (MEAN, "real.sum(axis=1)", "division by zero"),
        ("!= 1", "== 1", "the mask is turned round"),
        ("(states * real)", "(states * real[:, :, 0][:, None, :])",
         "the mask met the wrong axis"),
        ("    return (states * real)", "    states *= real\n    return states", "changed its input states"),
        (cut_at_first_padding, "padding may stand anywhere"),
        (MEAN, "tokens.sum(axis=1, keepdims=True)", "print the mask"),
        (lambda states, tokens: states[:, 0], "this is the first state"),
    ],
    "count_false_negatives": [
        (SAME, "int(same.sum())", "the diagonal is counted"),
        (SAME, f"({SAME}) // 2", "each pair is counted once"),
        (lambda c: sum(a == b for a, b in itertools.pairwise(c)), "only neighbours are compared"),
        (lambda c: len(c) - len(set(c.tolist())), "beyond the first"),
        ("==", "!=", "- len(clusters)", "", "these are the true negatives"),
        ("int(same.sum()) - len(clusters)", "same & ~np.eye(len(clusters), dtype=bool)",
         "one number was asked for"),
        ("np.asarray(clusters)", "np.asarray(clusters).astype(int)", "clusters with names"),
        (lambda c: len(c) * (len(c) - 1), "these are all pairs"),
    ],
    "one_shot": [
        (NAMED, "best if cosines[best] > threshold else None", "return its name"),
        (">", ">=", "> is asked for, not >="),
        (NAMED, "names[best]", "the answer is None"),
        ("examples @ vector", "np.abs(examples @ vector)", "absolute values"),
        (first_above, "not the first above the threshold"),
        ("np.argmax", "np.argmin", "least similar"),
        ("threshold else", "0.7 else", "never uses its argument threshold"),
        (class_sums, "not the sum over a class"),
        (vote, "a vote"),
        (class_means, "their mean"),
        (NAMED, "str(names[best] if cosines[best] > threshold else None)", "not the text"),
        (NAMED, "names[best] if cosines[best] > threshold else False", "return the text alone, or None"),
        (NAMED, "[names[best]] if cosines[best] > threshold else None", "return the text alone"),
    ],
    "expected_calibration_error": [
        ("inside.mean() * gap", "gap / bins", "weigh"),
        ("abs(", "(", "absolute value"),
        ("error += inside.mean() * gap", "error = max(error, gap)", "maximum calibration error"),
        (BIN, "(probabilities * bins).astype(int)", "exactly 1 falls out"),
        (BIN, "np.ceil(probabilities * bins).astype(int) - 1", "exactly 0 falls out"),
        ("probabilities[inside].mean()", "(k + 0.5) / bins", "the middle of the bin"),
        ("error = 0.0", "error, bins = 0.0, 10", "index = ", "bins = 10; index = ", "always 10 bins"),
        ("if inside.any():", "if True:", "division by zero"),
        (BIN, "(np.argsort(np.argsort(probabilities)) * bins // len(labels))", "equally many pairs"),
        ("return error", "return 100 * error", "a percentage"),
        ("return error", "return 1 - error", "1 minus"),
        ("gap = abs(labels[inside].mean() - probabilities[inside].mean())",
         "gap = (labels[inside].mean() - probabilities[inside].mean()) ** 2", "the gaps are squared"),
        (lambda p, y, bins=10: abs(p.mean() - y.mean()), "gaps of opposite sign"),
        (lambda p, y, bins=10: np.mean((p > 0.5) == y), "this is the accuracy"),
    ],
    "normalize": [
        ("axis=-1", "axis=0", "normalise the rows"),
        (", axis=-1, keepdims=True", "", "one length for the whole batch"),
        (ROOT, "fastnp.sum(x * x, axis=-1, keepdims=True)", "a root is missing"),
        (", keepdims=True", "", "broadcasting lines them up"),
        (ROOT, "fastnp.sum(abs(x), axis=-1, keepdims=True)", "divided by the sum of absolute values"),
        ("fastnp.sqrt", "__import__('numpy').sqrt", "not with NumPy"),
        ("return x /", "return", "these are the rows' lengths"),
        ("return x /", "return 2 * x /", "twice the right number"),
        ("return x /", "return -x /", "the sign is turned round"),
    ],
    "shared_towers": [
        (TOWER, f"tl.Parallel({LAYERS}, {LAYERS})", "weights of their own"),
        (TOWER, "tower", "this is one tower"),
        ("tl.Mean(axis=1)", "tl.Mean(axis=0)", "over the batch"),
        ("tl.Mean(axis=1)", "tl.Mean(axis=2)", "over the wrong axis"),
        ("        tl.Mean(axis=1),\n", "", "average over the positions"),
        ('        tl.Fn("Normalize", normalize),\n', "", "each row's length 1"),
        ("        tl.LSTM(d_model),\n", "", "is the LSTM there?"),
        ("tl.Embedding(vocab_size, d_model)", "tl.Embedding(41699, d_model)", "not fixed numbers"),
        (TOWER, "tl.Serial(tower, tower)", "one after the other"),
        (f"return {TOWER}", TOWER, "it returned None"),
        ("tl.LSTM(d_model)", "tl.LSTM(2 * d_model)", "an LSTM of d_model units"),
        ("        tl.Embedding(vocab_size, d_model),\n", "", "the embedding comes before it"),
        (TOWER, "tl.Branch(tower, tower)", "two questions in"),
        ("tl.Mean(axis=1)", "tl.Max(axis=1)", "averages the LSTM's states"),
    ],
    "Siamese": [
        (siamese_of(TOWER, f"tl.Parallel({LAYERS}, {LAYERS})"), "weights of their own"),
        (siamese_of('"Normalize"', '"Unit"'), "with the name 'Normalize'"),
        (siamese_of("Embedding(vocab_size, d_model)", "Embedding(d_model, vocab_size)", "LSTM(d_model)",
         "LSTM(vocab_size)"), "are exchanged"),
        ("41699", "1000", "in their order"),
        ("vocab_size, d_model)", "41699, 128)", "not fixed numbers"),
        (siamese_of("        tl.LSTM(d_model),\n", "        tl.GRU(d_model),\n"), "needs an LSTM"),
        (siamese_of("Mean(axis=1)", "Mean(axis=0)"), "look at the shape of the vectors first"),
    ],
    "TripletLossFn": [
        (MASK, "scores", "mask the diagonal"),
        (MASK, OTHERS, "the diagonal counts as 0"),
        ("margin - positive", "0.25 - positive", "always 0.25"),
        ("axis=1", "axis=0", "rows and columns are exchanged"),
        ("(v1, v2.T)", "(v2, v1.T)", "rows and columns are exchanged"),
        ("fastnp.mean(loss1", "fastnp.sum(loss1", "the sum over"),
        ("(batch - 1)", "batch", "divided by the batch size"),
        (OTHERS, "scores", "the diagonal is left in"),
        ("diagonal(scores)", "diagonal(scores)[:, None]", "broadcasting made a matrix"),
        ("fastnp.mean(loss1 + loss2)", "loss1 + loss2", "one number is asked for"),
        ("loss1 + loss2", "loss1", "one of the two terms is missing"),
        ("fastnp.maximum(0.0, margin - positive + closest)", "margin - positive + closest",
         "fastnp.maximum(0.0, margin - positive + mean)", "margin - positive + mean",
         "the hinge is missing"),
        (MASK, "fastnp.where(scores > positive[:, None], -2.0, scores - 2.0 * fastnp.eye(batch))",
         "as in the lecture"),
        ("from trax.fastmath import numpy as fastnp", "import numpy as fastnp", "not with NumPy"),
        ("batch = len(scores)", "batch = 6", "a result"),
        ("margin=0.25", "margin=0.2", "the default margin is 0.25"),
        ("margin - positive + mean", "margin - positive + closest", "this is the closest negative"),
        ("margin - positive + closest", "margin - positive + mean", "this is the mean negative"),
        ("axis=1) / (batch", "axis=1, keepdims=True) / (batch", "met a [batch] array"),
        ("max(axis=1)", "max(axis=1, keepdims=True)", "met a [batch] array"),
        ("without.max(axis=1)", "fastnp.sort(scores, axis=1)[:, -2]", "the largest but one"),
        ("(v1, v2.T)", "(v1, v1.T)", "v1 meets v2"),
        ("fastnp.dot(v1, v2.T)", "abs(fastnp.dot(v1, v2.T))", "the sign is lost"),
        ("fastnp.diagonal(scores)", "1.0", "the positive is on the diagonal"),
        ("without.max(axis=1)", "without.max()", "one maximum for all rows"),
        ("fastnp.mean(loss1 + loss2)", "fastnp.max(loss1 + loss2)", "the loss of one row by hand"),
        ("fastnp.mean(loss1 + loss2)", "float(fastnp.mean(loss1 + loss2))", "without float()"),
    ],
    "symmetric_loss": [
        (two_losses(lambda a, b: (a + b) / 2), "two finished losses were averaged"),
        (" + margin", "", "the margin is missing"),
        (two_losses(lambda a, b: a), "the loss of the rows alone"),
        (two_losses(lambda a, b: b), "the loss of the columns alone"),
        (" + margin", " + 0.25", "always 0.25"),
        ("positive = ", "scores = (scores + scores.T) / 2; positive = ", "made symmetric first"),
        (BOTH, "closest = fastnp.maximum(masked.max(axis=1), masked.max(axis=0))", "the larger of the two"),
        (BOTH, BOTH.replace(" / 2", ""), MEANS, MEANS.replace(" / 2", ""), "were added: average them"),
        ("margin=0.25", "margin=0.5", "the default margin is 0.25"),
        (BOTH, "closest = masked.max(axis=1)", "the closest negatives are the rows'"),
        (MEANS, "mean = others.sum(axis=1) / (batch - 1)", "the mean negatives are the rows'"),
    ],
    "train_model": [
        (f"        lr_schedule={SCHEDULE},\n", "", "an lr_schedule"),
        ("decay(400, 0.01)", "decay(400, 0.1)", "is not 0.01"),
        ("decay(400", "decay(4000", "longer than 400 steps"),
        ("Adam(0.01)", "SGD(0.01)", "the optimizer Adam"),
        ("labeled_data=val_generator", "labeled_data=train_generator", "not the training batches"),
        ("labeled_data=train_generator", "labeled_data=val_generator", "generators are exchanged"),
        ("output_dir=output_dir)", "output_dir=None)", "output_dir"),
        (", eval_tasks=[eval_task]", "", "give the loop eval_tasks"),
        ("return training.Loop", "training.Loop", "it returned None"),
        ("Loop(Siamese()", "Loop(Siamese", "a result"),
        (LOOP, "train_task", "the training.Loop itself"),
        ("Adam(0.01)", "Adam(0.1)", "Adam(0.01)"),
        ("data=train_generator", "data=next(train_generator)", "not one of its batches"),
        ("layer=TripletLoss()", "layer=TripletLoss", "call the function"),
        ("[TripletLoss()]", "TripletLoss()", "a list is asked for"),
        ("[TripletLoss()]", "[]", "needs a metric"),
    ],
    "data_generator": [
        (POWER, "pass", "padded to the longest question"),
        (POWER, "max_len = 2 ** (int(np.log2(max_len)) + 1)", "a power of two already stays"),
        (LONGEST, "max(map(len, Q1 + Q2))", "padded to the longest question of all data"),
        (LONGEST, "max(map(len, input1))", "q in input2", "q in (q[:max_len] for q in input2)",
         "the length looks at Q1 only"),
        (each_side_its_length, "each side has a length of its own"),
        ("[pad]", "[1]", "padded with 1 whatever pad says"),
        ("[pad]", "[0]", "padded with 0"),
        ("q + [pad] * (max_len - len(q))", "[pad] * (max_len - len(q)) + q", "padding stands before"),
        ("            idx = 0\n", "            idx = 0\n            input1, input2 = [], []\n",
         "the pairs left over"),
        ("if len(input1) == batch_size:", "if len(input1) == batch_size or idx == len(Q1):",
         "batch of a pass is short"),
        (RESET, "            pass\n", "a loop that never ends"),
        (RESET, "            pass\n", "== batch_size", ">= batch_size", "empty the lists after each yield"),
        (SHUFFLE, "        pass\n", "never shuffled"),
        ("    if shuffle:\n                random", "    if False:\n                random",
         "shuffled at the start only"),
        ("    if shuffle:\n                random", "    if True:\n                random",
         "shuffled although shuffle=False"),
        ("while True:", "while idx < len(Q1):", "batches"),
        ("yield np.array(b1), np.array(b2)", "yield b1, b2", "yield arrays"),
        ("yield np.array(b1), np.array(b2)", "yield np.array(b1)", "yield both sides"),
        ("np.array(b1)", "np.array(b1, float)", "whole numbers"),
        ("random.shuffle", "np.random.shuffle", "random.shuffle"),
        (pads_in_place, "changed its input Q1"),
        (shuffles_each_side, "the same shuffled index"),
        (random_pairs, "do not draw pairs at random"),
        (reseeds, "leave random.seed to the caller"),
        ("== batch_size:", "== batch_size + 1:", "one pair too many"),
        ("yield np.array(b1), np.array(b2)", "yield np.array(b2), np.array(b1)", "the sides are exchanged"),
        ("np.log2", "np.log", "np.log2"),
        (global_questions, "tokens that are not in Q1 or Q2"),
        ("Q1[order[idx]]", "Q1[idx]", "Q2[order[idx]]", "Q2[idx]", "never shuffled"),
        ("Q2[order[idx]]", "Q2[idx]", "the same shuffled index"),
        (POWER, "max_len = max_len**2", "padded with 1 to 4"),
        ("idx >= len(Q1)", "idx > len(Q1)", "IndexError"),
        ("yield np.array(b1), np.array(b2)", "return np.array(b1), np.array(b2)", "yield both sides"),
        ("yield np.array(b1), np.array(b2)", "yield np.array(b1).T, np.array(b2).T",
         "another number of rows"),
    ],
    "classify": [
        ("> threshold", ">= threshold", "> is asked for, not >="),
        (", shuffle=False", "", "shuffle=False"),
        ("> threshold", "> 0.7", "always 0.7"),
        ("len(part1), vocab", "batch_size, vocab", "range(len(part1))", "range(batch_size)", "IndexError"),
        ("len(test_Q1), batch_size", "len(test_Q1) - batch_size + 1, batch_size",
         "the last, short batch are left out"),
        ('vocab["<PAD>"]', "1", "the padding is what the vocabulary says"),
        ("right / len(test_Q1)", "right", "the number of right answers"),
        ("right / len(test_Q1)", "100 * right / len(test_Q1)", "a percentage"),
        ("right / len(test_Q1)", "right / batch_size", "by the batch size"),
        ("model((q1, q2))", "model(q1)", "the pair (q1, q2)"),
        ("v2[j].T", "v2[0].T", "question 2 of the same row only"),
        ("y_part = y[i : i + batch_size]", "y_part = y", "24 pairs in batches"),
        ("0, len(test_Q1), batch_size", "0, len(test_Q1), 64", "i + batch_size", "i + 64",
         "use the argument batch_size"),
        ("next(data_generator", "next(solved.data_generator", "with the argument data_generator"),
        ("(np.dot", "(abs(np.dot", "v2[j].T)", "v2[j].T))", "absolute values"),
        ("== y_part[j]", "== y[j]", "the labels of the first one"),
        ("right = 0", "right = 1", "print the answers"),
        ("return right", "right", "it returned None"),
    ],
    "predict": [
        ("> threshold", ">= threshold", "> and not >="),
        (GET, "vocab[w]", "looking a word up in a defaultdict with [] puts it in"),
        (GET, "vocab.setdefault(w, 0)", "the vocabulary has now"),
        (f"{GET} for w in word_tokenize(q)", "vocab[w] for w in word_tokenize(q) if w in vocab",
         "is not left out"),
        ("word_tokenize(q)", "q.split()", "word_tokenize takes the question mark"),
        ("word_tokenize(q)", "word_tokenize(q.lower())", "leave the case"),
        ("> threshold", "> 0.7", "use the argument"),
        ("return d > threshold", "return d", "compare the cosine"),
        ("return d > threshold", "return [d > threshold] * 2", "shape (2,)"),
        ('vocab["<PAD>"]', "1", "vocab['<PAD>']"),
        ("model((q1, q2))", "model((q1, q1))", "two questions about other"),
        ("return d > threshold", "print(d > threshold)", "it returned None"),
        ("model((q1, q2))", "model(q1, q2)", "TypeError"),
        ("if verbose:", "if False:", "verbose=True prints"),
        ("if verbose:", "if True:", "nothing is printed without verbose"),
        ("d = np", "d = abs(np", "v2[0].T)", "v2[0].T))", "the sign is lost"),
        ("return d > threshold", "return d < threshold", "print the tokens"),
        ("return d > threshold", "return str(d > threshold)", "compare the cosine with the threshold"),
        ("word_tokenize(q)", "list(q)", "are words looked up"),
        ("v1[0], v2[0].T", "v1[0], v1[0].T", "both have one vector"),
    ],
}  # fmt: skip
