"""Checks of masks, false negatives, one-shot classes and calibration (notebooks 06 and 07)."""

from __future__ import annotations

import itertools

import numpy as np

from .score import Exercise

# ---- masked_mean ----


def mean_over_words(states, tokens, padding=1):
    """The reference, as a loop: float [batch, d]; zeros for a question of padding only."""
    rows = []
    for question, ids in zip(states, tokens):
        kept = [state for state, token in zip(question, ids) if token != padding]
        rows.append(np.mean(kept, axis=0) if kept else np.zeros(states.shape[2]))
    return np.array(rows)


def _masked_mistakes(states, tokens):
    real = tokens != 1
    before = np.logical_and.accumulate(real, axis=1)  # the words in front of the first padding
    kept, rest = states * real[:, :, None], states * ~real[:, :, None]
    counts = np.maximum(real.sum(axis=1), 1)[:, None]
    crossed = None
    if states.shape[1] == states.shape[2]:
        crossed = (states * real[:, None, :]).sum(axis=1) / counts
    n, total = counts, kept.sum(axis=1)
    first = [question[: int(k)] for question, k in zip(states, real.sum(axis=1))]
    last = states[np.arange(len(states)), np.maximum(real.sum(axis=1), 1) - 1]
    return [
        (states.mean(axis=1), "the padding is in the mean"),
        (np.array([part.mean(axis=0) if len(part) else 0 * states[0, 0] for part in first]),
         "the first positions are taken, as many as there are words: padding may stand anywhere, so "
         "use a mask"),
        *((total / (n + more), "divided by one too many: only the words count") for more in (1,)),
        *((total / (real.sum(axis=1)[:, None] + small), "something is added to the number of words: take "
           "the larger of it and 1") for small in (1e-1, 1e-2, 1e-3)),
        ((states * tokens[:, :, None]).sum(axis=1) / np.maximum(tokens.sum(axis=1), 1)[:, None],
         "the states are multiplied by the token ids: the mask is 0 or 1"),
        ((states * tokens[:, :, None]).sum(axis=1) / n,
         "the states are multiplied by the token ids: the mask "
         "is 0 or 1"),
        ((states * tokens[:, :, None]).mean(axis=1),
         "the states are multiplied by the token ids: the mask is "
         "0 or 1"),
        (np.where(real[:, :, None], states, -np.inf).max(axis=1),
         "this is the largest of each, not the mean"),
        (last, "this is the state of the last word: the mean over all words is asked for"),
        (states[:, -1], "this is the last state: the mean over all words is asked for"),
        (states[:, 0], "this is the first state: the mean over all words is asked for"),
        (states[real].mean(axis=0), "one mean for the whole batch: each question has its own"),
        (kept.sum(axis=2), "summed over the wrong axis: positions are axis 1"),
        (kept.mean(axis=2), "averaged over the wrong axis: positions are axis 1"),
        (kept.sum(axis=0), "summed over the wrong axis: positions are axis 1"),
        (kept.mean(axis=0), "averaged over the wrong axis: positions are axis 1"),
        (mean_over_words(states, tokens).mean(axis=1),
         "averaged over the wrong axis: a vector of d numbers for "
         "each question"),
        (mean_over_words(states, np.where(before, 2, 1)),
         "cut at the first padding: padding may stand anywhere, so use a mask"),
        (kept.mean(axis=1), "divided by the whole length: divide by the number of real words"),
        (kept.sum(axis=1), "this is the sum of the words' states, not their mean"),
        (mean_over_words(states, tokens, 0), "token 0 was left out: padding is 1, and 0 an unknown word"),
        (kept.sum(axis=1) / real.sum(), "divided by the words of the whole batch: each row has its own"),
        (mean_over_words(states, np.where(tokens == 0, 1, tokens)),
         "unknown words (0) were left out with the padding (1): they are words"),
        (rest.sum(axis=1) / np.maximum((~real).sum(axis=1), 1)[:, None],
         "this is the mean over the padding: the mask is turned round"),
        (crossed, "the mask met the wrong axis: [batch, length] lines up with the last two axes, not the "
         "first two"),
    ]  # fmt: skip


check_masked_mean = Exercise(
    "masked_mean(states, tokens)",
    "[batch, length, d], [batch, length] -> [batch, d].",
    mean_over_words,
    _masked_mistakes,
    look="print the mask, the sum over the positions and each row's number of words",
)
_STATES = np.random.default_rng(1).normal(size=(3, 4, 4))
check_masked_mean.table(
    [
        ("two questions of three and two words", 3, [[5, 6, 7, 1], [8, 9, 1, 1]]),
        ("no padding", 4, [[5, 6, 7], [8, 9, 2]], "without padding it is a plain mean"),
        ("unknown words", 3, [[0, 6, 0, 1], [0, 0, 1, 1]],
         "token 0 is a word that the vocabulary does not know: it counts"),
        ("as many positions as numbers in a state", 4, [[5, 6, 7, 1], [8, 1, 1, 1]], "broadcast?"),
        ("as many questions as positions", 3, [[5, 1, 6], [1, 8, 1], [2, 3, 4]],
         "padding may stand anywhere"),
        ("a question of padding only", 2, [[1, 1, 1], [5, 6, 1]],
         "no words: the vector is 0, not 0 / 0"),
    ],
    lambda fn, d, tokens, hint="": check_masked_mean.compare(
        fn, (_STATES[: len(tokens), : len(tokens[0]), :d], np.array(tokens, np.int32)), hint,
        keep=("states", "tokens")),
)  # fmt: skip

# ---- count_false_negatives ----


def pairs_of_one_cluster(clusters) -> int:
    """The reference: ordered pairs (i, j), i != j, of equal clusters."""
    return sum(bool(a == b) for a, b in itertools.permutations(clusters, 2))


def _pair_mistakes(clusters):
    n, right = len(clusters), pairs_of_one_cluster(clusters)
    neighbours = sum(a == b for a, b in itertools.pairwise(clusters.tolist()))
    counts = np.unique(clusters, return_counts=True)[1]
    return [
        (right + n, "the diagonal is counted: a question is not a negative of itself"),
        (right / 2, "each pair is counted once: (i, j) and (j, i) stand in different rows"),
        (n - len(np.unique(clusters)), "these are the rows beyond the first of each cluster"),
        *(
            (
                pairs_of_one_cluster(clusters[clusters != skipped]),
                "0 is a cluster like any other: nothing is left out",
            )
            for skipped in (0, -1)
        ),
        (2 * right, "twice the right number: the matrix has both (i, j) and (j, i) already"),
        (right / n, "this is divided by the number of rows: the count is asked for"),
        (right / max(n * (n - 1), 1), "this is a share: the count is asked for"),
        (right / n**2, "this is a share: the count is asked for"),
        (sum(counts > 1), "these are the clusters with several rows: count pairs of rows"),
        (counts[counts > 1].sum(), "these are the rows that have a partner: count pairs (i, j)"),
        (n, "these are all rows: count pairs (i, j)"),
        (n * (n - 1), "these are all pairs: only those of one cluster count"),
        (n * n - right, "these are the pairs of different clusters, and the diagonal"),
        (len(counts), "this is the number of clusters: count pairs of rows"),
        (2 * neighbours, "only neighbours are compared"),
        (neighbours, "only neighbours are compared"),
        (n * (n - 1) - right, "these are the true negatives"),
    ]


check_count_false_negatives = Exercise(
    "count_false_negatives(clusters)",
    "labels [batch] -> ordered pairs (i, j) that share one.",
    pairs_of_one_cluster,
    _pair_mistakes,
)
check_count_false_negatives.table(
    [
        ("three of one cluster", [7, 3, 7, 5, 7], "the matrix has both (i, j) and (j, i)"),
        ("all different", [4, 1, 3, 2], "no two rows share a cluster: 0"),
        ("all the same", [9, 9, 9, 9], "everything off the diagonal"),
        ("two clusters, neighbours apart", [1, 2, 1, 2, 3, 1]),
        ("clusters with names", ["age", "name", "age", "food"], "clusters may be any labels"),
        ("cluster 0 and negative numbers", [0, -1, 0, -1, 0, 5], "0 is a cluster like any other"),
        ("one row", [3], "one row has no negatives"),
    ],
    lambda fn, clusters, hint="": check_count_false_negatives.compare(
        fn, (np.array(clusters),), hint
    ),
)

# ---- one_shot ----


def best_name(vector, examples, names, threshold):
    """The reference: the name of the best example, None where its cosine is not above the threshold."""
    scores = examples @ vector
    return names[scores.argmax()] if scores.max() > threshold else None


NOT_FIRST = "not the first above the threshold but the best"


def _one_shot_mistakes(vector, examples, names, threshold):
    scores = examples @ vector
    best, least, largest = scores.argmax(), scores.argmin(), np.abs(scores).argmax()
    found = [(score, name) for name, score in zip(names, scores) if score > threshold]
    first = [name for _, name in found]
    far = np.linalg.norm(examples - vector, axis=1)
    totals = {name: sum(s for s, n in zip(scores, names) if n == name) for name in names}
    most = max(totals, key=totals.get)
    means = {name: totals[name] / list(names).count(name) for name in names}
    average = max(means, key=means.get)
    vote = max(first, key=first.count, default=None)
    of_class = "not the sum over a class, their mean or a vote, but the best example"
    always = [names[best] if scores[best] > fixed else None for fixed in (0.7, 0.5)]
    return [
        (best, "this is the place of the best example: return its name"),
        (names[best], "no cosine is above the threshold: the answer is None"),
        (names[best] if scores[best] >= threshold else None, "equal is not above: > is asked for, not >="),
        (names[largest] if abs(scores[largest]) > threshold else None,
         "a cosine of -1 is the opposite, not the same: no absolute values"),
        (names[least] if scores[least] > threshold else None,
         "this is the least similar example: larger cosines are more alike"),
        (names[least], "this is the least similar example: larger cosines are more alike"),
        (first[0] if first else None, f"another example has a larger cosine: {NOT_FIRST}"),
        (first[-1] if first else None, "not the last above the threshold but the best"),
        (min(found)[1] if found else None, "not the one nearest to the threshold but the best"),
        (most if totals[most] > threshold else None, of_class),
        (average if means[average] > threshold else None, of_class),
        (vote, of_class),
        *((name, "the threshold is always the same: use the argument") for name in always),
        (names[best] if scores[best] < threshold else None, "the comparison is turned round"),
        (names[far.argmax()], "this is the most distant example: the best has the largest cosine"),
        (names[far.argmin()] if far.min() < threshold else None,
         "this is a distance: a cosine is asked for"),
        (scores[best], "this is the cosine: return the name"),
        (names[min(best + 1, len(names) - 1)], "this is the name after the best one"),
        (names[best - 1], "this is the name before the best one"),
        (sorted(set(names))[min(best, len(set(names)) - 1)] if scores[best] > threshold else None,
         "the names are sorted, and the examples are not"),
        (names[0], "this is the first name: the best example decides"),
        (names[-1], "this is the last name: the best example decides"),
    ]  # fmt: skip


check_one_shot = Exercise(
    "one_shot(vector, examples, names, threshold)",
    "the best example's name, or None.",
    best_name,
    _one_shot_mistakes,
)
COMPASS = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [-0.8, -0.6], [-1.0, 0.0]])
NAMES = ["east", "north-east", "north", "south-west", "west"]
CLASS = np.array([[1.0, 0.0], [0.8, 0.6], [0.8, -0.6], [-1.0, 0.0]]), ["east", "sum", "sum", "east"]
_BEST = "the best cosine, the largest, is above the threshold: it has a name"
check_one_shot.table(
    [
        ("a vector near one example", [0.8, 0.6], (COMPASS, NAMES), 0.7, _BEST),
        ("nothing above the threshold", [0.0, -1.0], (COMPASS, NAMES), 0.7,
         "no cosine is above the threshold, and this is not even the best example"),
        ("a cosine exactly at the threshold", [0.0, 1.0], (COMPASS, NAMES), 1.0),
        ("several above the threshold", [0.28, 0.96],
         (COMPASS[[1, 2, 0]], ["north-east", "north", "east"]), 0.1, NOT_FIRST),
        ("opposite vectors", [0.8, 0.6], (COMPASS[[3, 0]], ["south-west", "east"]), 0.3, _BEST),
        ("several examples of one class", [1.0, 0.0], CLASS, 0.7,
         "the best example decides, not the sum over a class's examples, their mean or a vote"),
        ("a negative threshold", [0.0, -1.0], (COMPASS, NAMES), -0.7, "use the argument threshold"),
        ("one example", [1.0, 0.0], (np.array([[0.8, 0.6]]), ["only"]), 0.5, _BEST),
    ],
    lambda fn, vector, examples, threshold, hint="": check_one_shot.compare(
        fn, (np.array(vector), *examples, threshold), hint, keep=("vector", "examples", "names")),
)  # fmt: skip

# ---- expected_calibration_error ----


def _binned(probabilities, labels, bins):
    """(count, mean probability, share of duplicates, bin) of each used bin of equal width."""
    index = np.minimum((probabilities * bins).astype(int), bins - 1)
    return [
        (int((index == k).sum()), probabilities[index == k].mean(), labels[index == k].mean(), k)
        for k in np.unique(index).tolist()
    ]


def calibration_error(probabilities, labels, bins=10) -> float:
    """The reference (Naeini, Cooper and Hauskrecht, 2015), with bins of equal width."""
    found = _binned(probabilities, labels, bins)
    return sum(n / len(labels) * abs(share - mean) for n, mean, share, _ in found)


def _calibration_mistakes(p, y, bins=None):
    others, bins = (5, 15, 20) if bins is None else (), bins or 10
    y, n, found = y.astype(float), len(y), _binned(p, y, bins)
    gaps = [share - mean for _, mean, share, _ in found]
    sizes = [count for count, *_ in found]
    parts = [part for part in np.array_split(np.argsort(p, kind="stable"), bins) if len(part)]
    signed = sum(c / n * gap for c, gap in zip(sizes, gaps))
    index = np.minimum((p * bins).astype(int), bins - 1)
    inside = [(c, index == k) for c, _, _, k in found]
    total = [0.0] * bins
    for c, mean, share, k in found:
        total[k] = c / n * abs(share - mean)

    def by_index(index):
        parts = [index == k for k in np.unique(index) if k < bins]
        return sum(i.mean() * abs(y[i].mean() - p[i].mean()) for i in parts)

    alike = "all bins count alike: weigh with the share of pairs in each"
    no_sign = "the absolute value of each bin's gap is missing"

    def without(kept):
        error = calibration_error(p[kept], y[kept], bins) if kept.any() else None
        return error, None if error is None else error * kept.mean()

    return [
        (calibration_error(p, y, bins) / bins, "divided by the number of bins: the weights are the shares"),
        (np.abs(gaps).sum(), alike),
        (np.mean((p - y) ** 2), "this is the Brier score"),
        (-np.mean(np.log(np.clip(np.where(y == 1, p, 1 - p), 1e-9, 1))), "this is the log loss"),
        *((calibration_error(p, y, b), f"the default is 10 bins, not {b}") for b in others),
        *((calibration_error(p, y, max(bins + d, 1)), "there is one bin too many or too few: look at the "
           "edges") for d in (-1, 1)),
        (total[-1], "only the last bin is counted: += adds them up"),
        (total[0], "only the first bin is counted: does return stand in the loop?"),
        (sum(total) - total[0], "the first bin is left out: ranges begin at 0"),
        (sum(total) - total[-1], "the last bin is left out: look at where the range ends"),
        (sum(c / n * abs(np.median(p[i]) - y[i].mean()) for c, i in inside),
         "this is the median of the bin's "
         "probabilities: their mean is asked for"),
        (sum(c / n * abs((y[i] == (p[i] > 0.5)).mean() - p[i].mean()) for c, i in inside),
         "the accuracy in "
         "the bin is compared: the share of duplicates is asked for"),
        (sum(c / n * abs(y[i].sum() - p[i].sum()) for c, i in inside), "numbers are compared: the mean "
         "probability and the share of duplicates are asked for"),
        *((sum(c / n * abs(s - (k + d) / bins) for c, _, s, k in found),
        "the edge of the bin was taken: it is "
           "the mean probability of the pairs in it that counts") for d in (0, 1)),
        (by_index(np.minimum(np.round(p * bins).astype(int), bins - 1)), "the bin is rounded: it is "
         "floor(probability * bins)"),
        (by_index(np.round(p * bins).astype(int)), "the bin is rounded: it is floor(probability * bins)"),
        *((by_index(np.digitize(p, np.linspace(p.min(), p.max(), m))), "the bins go from the lowest to the "
           "highest probability: from 0 to 1 is asked for") for m in (bins, bins + 1)),
        (np.mean(np.abs(gaps)), alike),
        (np.abs(gaps).sum() / bins, alike),
        (np.abs(gaps).max(), "this is the largest gap (maximum calibration error)"),
        (abs(signed), "gaps of opposite sign cancelled: take each bin's absolute value"),
        (signed, no_sign),
        (-signed, no_sign),
        (sum(c / n * gap**2 for c, gap in zip(sizes, gaps)), "the gaps are squared"),
        (calibration_error(p, y, bins) * n, "divide by the number of pairs"),
        (calibration_error(p, y, bins) * 100, "this is a percentage; a number from 0 to 1 is asked for"),
        (np.sqrt(sum(c / n * gap**2 for c, gap in zip(sizes, gaps))), "the gaps are squared"),
        (np.mean((p > 0.5) == y.astype(bool)), "this is the accuracy"),
        (sum(c / n * abs(s - (k + 0.5) / bins) for c, _, s, k in found), "the middle of the bin was "
         "taken: it is the mean probability of the pairs in it that counts"),
        (np.mean(np.abs(p - y)), "this is each pair's own gap: average within the bins first"),
        (calibration_error(p, y, 10), "there are always 10 bins: use the argument"),
        *((error, "a probability of exactly 1 falls out of the last bin") for error in without(p < 1)),
        *((error, "a probability of exactly 0 falls out of the first bin") for error in without(p > 0)),
        (sum(len(i) / n * abs(y[i].mean() - p[i].mean()) for i in parts),
         "these bins hold equally many pairs; the exercise has bins of equal width"),
    ]  # fmt: skip


check_expected_calibration_error = Exercise(
    "expected_calibration_error(probabilities, labels, bins=10)",
    "with bins of equal width.",
    calibration_error,
    _calibration_mistakes,
    look="print for each bin its number of pairs, mean probability and share of duplicates",
)
_P = [0.03, 0.08, 0.17, 0.22, 0.24, 0.41, 0.47, 0.66, 0.68, 0.83, 0.94, 0.97]
_Y = [0, 1, 0, 0, 1, 1, 0, 1, 0, 1, 1, 1]
check_expected_calibration_error.table(
    [
        ("twelve pairs in ten bins", _P, _Y),
        ("the same in four bins", _P, _Y, "", {"bins": 4}),
        ("one bin", _P, _Y, "one bin holds all pairs", {"bins": 1}),
        ("most bins empty", [0.32, 0.33, 0.36, 0.92], [0, 1, 0, 1], "an empty bin adds nothing"),
        ("a probability of exactly 1", [1.0, 1, 0.45, 0.55], [0, 1, 1, 0]),
        ("a probability of exactly 0", [0.0, 0, 0, 0.55], [1, 0, 1, 0]),
        ("labels True and False", _P, np.array(_Y, bool), "labels may be bool"),
        ("perfectly calibrated", [0.25] * 4 + [0.75] * 4, [0, 0, 1, 0, 1, 1, 0, 1]),
    ],
    lambda fn, p, y, hint="", bins=None: check_expected_calibration_error.compare(
        fn, (np.array(p), np.array(y)), hint, bins, keep=("probabilities", "labels")
    ),
)
