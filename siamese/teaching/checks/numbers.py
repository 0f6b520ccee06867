"""Checks of thresholds, masks, false negatives, one-shot classes and calibration (notebooks 03, 06, 07)."""

from __future__ import annotations

import itertools

import numpy as np

from .compare import as_numbers, expect_unchanged, require, show
from .score import Exercise

SCORES = np.array([0.95, 0.2, 0.71, 0.55, -0.3, 0.88, 0.64, 0.1])
LABELS = np.array([1, 0, 1, 0, 0, 0, 1, 0])

# ---- accuracy_at ----


def accuracy(scores, labels, threshold) -> float:
    """The reference: the share of pairs where ``score > threshold`` equals the label."""
    return float(np.mean((np.asarray(scores) > threshold) == np.asarray(labels).astype(bool)))


def accuracy_mistakes(scores, labels, threshold):
    """(result, hint) of known mistakes."""
    found, truth, n = scores > threshold, labels.astype(bool), len(scores)
    right, hits = int((found == truth).sum()), (found & truth).sum()
    return [
        (right, "this is the number of right answers, not their share"),
        (100 * right / n, "this is a percentage; the share is asked for, from 0 to 1"),
        (hits / n, "only the duplicates that were found are counted: a right 'no' counts too"),
        (1 - right / n, "this is the share of wrong answers"),
        (np.mean((scores >= threshold) == truth),
         "a score equal to the threshold counted as a duplicate: > is asked for, not >="),
        (np.mean((scores < threshold) == truth), "the comparison is turned round"),
        (hits / max(int(found.sum()), 1), "this is the precision: non-duplicates count as well"),
        (hits / max(int(truth.sum()), 1), "this is the recall: non-duplicates count as well"),
        (found.mean(), "this is the share above the threshold; compare it with the labels"),
        (accuracy(scores, labels, 0.7), "the threshold is always 0.7: use the argument"),
        (accuracy(scores, labels, 0.5), "the threshold is always 0.5: use the argument"),
        (accuracy(np.abs(scores), labels, threshold), "absolute values: a cosine of -0.8 is no duplicate"),
        (np.mean([(found == truth)[truth == side].mean() for side in set(truth.tolist())]),
         "this is the balanced accuracy, the mean over both kinds: each pair counts alike"),
        (np.mean(found[:, None] == truth), "each answer met every label: a [n, 1] array was compared "
         "with a [n] one"),
    ]  # fmt: skip


check_accuracy_at = Exercise(
    "accuracy_at(scores, labels, threshold)",
    "the share of right answers, with ``>``.",
    accuracy,
    accuracy_mistakes,
    look="count by hand: for which of the pairs does `score > threshold` agree with the label?",
)
check_accuracy_at.table(
    [
        ("eight pairs at 0.6", (SCORES, LABELS, 0.6)),
        ("the same pairs at another threshold", (SCORES, LABELS, 0.15)),
        ("scores exactly at the threshold",
         (np.array([0.5, 0.5, 0.5, 0.75, 0.25]), np.array([0, 0, 1, 1, 0]), 0.5)),
        ("labels True and False", (SCORES, LABELS.astype(bool), 0.6), "labels may be bool"),
        ("a negative threshold", (SCORES, LABELS, -0.4)),
        ("no duplicates at all", (np.array([0.9, 0.1, 0.2]), np.zeros(3, int), 0.7)),
    ]
)  # fmt: skip
check_accuracy_at.table(
    [("the inputs stay as they are", (SCORES, LABELS, 0.6))], keep=("scores", "labels")
)

# ---- best_threshold ----

check_best_threshold = Exercise(
    "best_threshold(scores, labels)",
    "a threshold with the highest accuracy (``>``).",
    look="one number is asked for, the threshold: print the accuracy at each candidate",
)


def _expect_best(fn, scores, labels, hint=""):
    scores, labels = np.array(scores, float), np.array(labels)
    given = scores.copy(), labels.copy()
    actual, ordered = fn(*given), np.unique(scores)
    cuts = [ordered[0] - 1, *((ordered[1:] + ordered[:-1]) / 2), ordered[-1] + 1]
    wanted = max(accuracy(scores, labels, cut) for cut in cuts)
    words = f"a threshold with accuracy {wanted:.4f}"
    one, several = "one number, the threshold", isinstance(actual, (tuple, list))
    require(not several, one, f"{type(actual).__name__} {actual!r}", "return it alone")
    array = as_numbers(actual, np.asarray(ordered[0]))
    require(array.shape == (), one, f"shape {array.shape}: {show(array)}")
    threshold = float(array)
    reached = accuracy(scores, labels, threshold)
    if abs(threshold - wanted) < 1e-9:
        hint = "this is the best accuracy; the exercise asks for the threshold that reaches it"
    elif np.mean((scores >= threshold) == labels.astype(bool)) >= wanted - 1e-9:
        hint = f"it is best with >=, but a pair is a duplicate where its score is > the threshold. {hint}"
    elif threshold in (0.5, 0.7):
        hint = f"is it always {threshold}? it must depend on these scores. {hint}"
    elif reached <= 1 - wanted + 1e-9:
        hint = "it is the worst one: the comparison is turned round"
    found = f"{threshold:.6g}, with accuracy {reached:.4f}"
    require(reached >= wanted - 1e-9, words, found, hint.strip())
    expect_unchanged("scores", scores, given[0])
    expect_unchanged("labels", labels, given[1])


check_best_threshold.table((
    ("eight pairs", SCORES, LABELS, "try every way to cut the sorted scores"),
    ("duplicates and others well apart", [0.1, 0.9, 0.3, 0.85, 0.2, 0.8], [0, 1, 0, 1, 0, 1],
     "between 0.3 and 0.8 every threshold is perfect"),
    ("scores close together", [0.7012, 0.7011, 0.7013, 0.7009, 0.7008, 0.7010], [1, 1, 1, 0, 0, 0],
     "a grid of thresholds is too coarse: only the scores themselves tell where to cut"),
    ("all scores below 0", [-0.9, -0.2, -0.7, -0.1, -0.6], [0, 1, 0, 1, 0],
     "cosines go from -1 to 1, and so may thresholds"),
    ("every pair a duplicate", [0.4, 0.9, 0.6], [1, 1, 1],
     "the best cut may lie below the lowest score"),
    ("no pair a duplicate", [0.4, 0.9, 0.6], [0, 0, 0], "the best cut may lie at or above the highest"),
    ("equal scores", [0.5, 0.5, 0.5, 0.8, 0.2, 0.5], [1, 0, 0, 1, 0, 0],
     "pairs of one score stay on one side: a cut cannot go between them"),
    ("labels True and False", SCORES[::-1], LABELS[::-1].astype(bool), "labels may be bool"),
), _expect_best)  # fmt: skip

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
    return [
        (states.mean(axis=1), "the padding is in the mean"),
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
    return [
        (right + n, "the diagonal is counted: a question is not a negative of itself"),
        (right / 2, "each pair is counted once: (i, j) and (j, i) stand in different rows"),
        (n - len(np.unique(clusters)), "these are the rows beyond the first of each cluster"),
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
    first = [name for name, score in zip(names, scores) if score > threshold]
    return [
        (best, "this is the place of the best example: return its name"),
        (names[best], "no cosine is above the threshold (equal is not above: > is asked for, not >=): "
         "the answer is None"),
        (names[largest], "a cosine of -1 is the opposite, not the same: no absolute values"),
        (names[least], "this is the least similar example: larger cosines are more alike"),
        (first[0] if first else None, f"another example has a larger cosine: {NOT_FIRST}"),
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


def _calibration_mistakes(p, y, bins=10):
    y, n, found = y.astype(float), len(y), _binned(p, y, bins)
    gaps = [share - mean for _, mean, share, _ in found]
    sizes = [count for count, *_ in found]
    parts = [part for part in np.array_split(np.argsort(p, kind="stable"), bins) if len(part)]
    signed = sum(c / n * gap for c, gap in zip(sizes, gaps))
    alike = "all bins count alike: weigh with the share of pairs in each"
    no_sign = "the absolute value of each bin's gap is missing"

    def without(kept):
        error = calibration_error(p[kept], y[kept], bins) if kept.any() else None
        return error, None if error is None else error * kept.mean()

    return [
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
