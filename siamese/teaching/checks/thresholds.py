"""Checks of accuracy and thresholds (notebook 03)."""

from __future__ import annotations

import numpy as np

from .compare import Wrong, as_numbers, expect_unchanged, require, show, try_mistakes
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
        (0.0, "this is 0: / is asked for, not //, and ==, not is"),
        *((right / other, "divide by the number of pairs") for other in (n - 1, n + 1, 8, 100)),
        (np.mean(found.astype(int) - truth),
         "the answers minus the labels: a miss and a false alarm cancel"),
        (np.mean(found | truth), "or is not ==: an answer is right where it equals the label"),
        (np.mean(found == truth[::-1]), "the labels are in the reverse order"),
        (truth.mean(), "this is the share of duplicates: compare the answers with the labels"),
        (2 * hits / max(1, found.sum() + truth.sum()), "this is F1: non-duplicates count as well"),
        (accuracy((scores + 1) / 2, labels, threshold), "use the scores as they are: cosines from -1 to 1"),
        (accuracy(scores.round(), labels, threshold), "the scores are rounded before they are compared"),
        (np.mean((np.sort(scores) > threshold) == truth), "the scores are sorted, and the labels are not"),
        (np.mean((scores - truth) ** 2), "this is the squared difference: compare answers with labels"),
        (1 - np.mean(np.abs(scores - truth)),
         "compare answers (score > threshold) with labels, not scores"),
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


def _wrong_thresholds(scores, labels):
    """(hint, threshold) of known mistakes; they count where their accuracy is too low."""
    cuts = np.append(scores.min() - 1, np.unique(scores))
    found = scores > cuts[:, None]  # [cut, pair]
    hits, right = (found & labels).sum(axis=1), (found == labels).mean(axis=1)
    grid = np.linspace(0, 1, 101)
    on_grid = [accuracy(scores, labels, t) for t in grid]
    wrong = ~labels if labels.any() and not labels.all() else labels
    sides = scores[labels] if labels.any() else scores, scores[wrong] if wrong.any() else scores
    f1 = 2 * hits / np.maximum(found.sum(axis=1) + labels.sum(), 1)
    middle = "a value in the middle is seldom the best cut: count the right answers at each"
    return [
        ("the lowest duplicate lets others pass too: count the right answers at each cut", sides[0].min()),
        ("the highest non-duplicate leaves duplicates out: count the right answers at each cut",
         sides[1].max()),
        ("the lowest candidate, below the lowest score, is missing", cuts[1:][right[1:].argmax()]),
        ("the candidates must go below the lowest score", scores[np.argmax(
            [accuracy(scores, labels, t) for t in scores])]),
        ("the highest score is a candidate too", cuts[:-1][right[:-1].argmax()]),
        ("this has the highest recall: the accuracy is asked for", cuts[hits.argmax()]),
        ("this has the highest precision: the accuracy is asked for", cuts[
            (hits / np.maximum(found.sum(axis=1), 1)).argmax()]),
        ("this has the highest F1: the accuracy is asked for", cuts[f1.argmax()]),
        ("it is the worst one: the comparison or the labels are turned round", cuts[right.argmin()]),
        *(("this is the best candidate's place: return the candidate", float(np.argmax(
            [accuracy(scores, labels, t) for t in candidates])))
          for candidates in (scores, [scores.min() - 1, *scores], np.unique(scores))),
        ("this is the best candidate's place: return the candidate", float(right.argmax())),
        ("it is rounded: give the number as it is", round(float(cuts[right.argmax()]), 1)),
        ("it is rounded: give the number as it is", round(float(cuts[right.argmax()]), 2)),
        ("cosines go from -1 to 1, and so may thresholds", grid[np.argmax(on_grid)]),
        (middle, float(scores.mean())),
        (middle, float(np.median(scores))),
        (middle, float((sides[0].mean() + sides[1].mean()) / 2)),
        ("this is the largest score", scores.max()),
        ("this is the smallest score", scores.min()),
    ]  # fmt: skip


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
    require(
        array.shape == (), one, f"shape {array.shape}: {show(array)}", "one number is asked for"
    )
    threshold = float(array)
    require(np.isfinite(threshold), one, threshold, "nan or inf: is a mean taken over nothing?")
    reached = accuracy(scores, labels, threshold)
    wrong = [(value, hint) for hint, value in _wrong_thresholds(scores, labels.astype(bool))]
    tried = try_mistakes(
        wrong,
        lambda value: np.isclose(threshold, value, atol=1e-9),
        lambda value: accuracy(scores, labels, value) >= wanted - 1e-9,
    )
    if reached < wanted - 1e-9 <= np.mean((scores >= threshold) == labels.astype(bool)):
        hint = f"it is best with >=, but a pair is a duplicate where its score is > the threshold. {hint}"
    if abs(threshold - wanted) < 1e-9:
        hint = "this is the best accuracy; the exercise asks for the threshold that reaches it"
    elif threshold in (0.5, 0.7):
        hint = f"is it always {threshold}? it must depend on these scores. {hint}"
    elif reached <= 1 - wanted + 1e-9:
        hint = "it is the worst one: the comparison is turned round"
    found = f"{threshold:.6g}, with accuracy {reached:.4f}"
    if reached < wanted - 1e-9:
        raise Wrong(words, found, hint.strip(), tried)
    expect_unchanged("scores", scores, given[0])
    expect_unchanged("labels", labels, given[1])
    return tried


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
