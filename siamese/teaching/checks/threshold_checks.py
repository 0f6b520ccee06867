"""Checks of notebook 03: the accuracy at a threshold, and the best threshold."""

from __future__ import annotations

import numpy as np

from .expect import expect_close, expect_unchanged, show
from .score import Exercise, Score, Wrong

SCORES = np.array([0.95, 0.2, 0.71, 0.55, -0.3, 0.88, 0.64, 0.1])
LABELS = np.array([1, 0, 1, 0, 0, 0, 1, 0])


def accuracy_above(scores, labels, threshold) -> float:
    """The reference: the share of pairs where ``score > threshold`` equals the label."""
    return float(np.mean((np.asarray(scores) > threshold) == np.asarray(labels).astype(bool)))


# ---- accuracy_at ----

accuracy = Exercise("accuracy_at", "accuracy_at(scores, labels, threshold)")


def _accuracy_mistakes(scores, labels, threshold):
    found, truth = scores > threshold, labels.astype(bool)
    right = int((found == truth).sum())
    matrix = found[:, None] == truth[None, :]
    above, duplicates = max(int(found.sum()), 1), max(int(truth.sum()), 1)
    return [
        (right, "this is how many answers are right, not their share"),
        (100 * right / len(scores), "this is a percentage; the exercise asks for a share, 0 to 1"),
        (1 - right / len(scores), "this is the share of wrong answers"),
        (
            np.mean((scores >= threshold) == truth),
            "a score equal to the threshold counted as a duplicate: > is asked for, not >=",
        ),
        (np.mean((scores < threshold) == truth), "the comparison is turned round"),
        ((found & truth).sum() / above, "this is the precision: non-duplicates count as well"),
        ((found & truth).sum() / duplicates, "this is the recall: non-duplicates count as well"),
        ((found & truth).sum() / len(scores), "only the duplicates that were found are counted"),
        (found.mean(), "this is the share above the threshold; compare it with the labels"),
        (accuracy_above(scores, labels, 0.7), "the threshold is always 0.7: use the argument"),
        (accuracy_above(scores, labels, 0.5), "the threshold is always 0.5: use the argument"),
        (matrix.mean(), "each answer met every label: a [n, 1] array was compared with a [n] one"),
        (matrix.sum() / len(scores), "each answer met every label: [n, 1] against [n]"),
    ]


def _accuracy_case(name, scores, labels, threshold, hint=""):
    @accuracy.case(name)
    def _(fn):
        first, second = np.array(scores, float), np.array(labels)
        expected = accuracy_above(first, second, threshold)
        came = fn(first.copy(), second.copy(), threshold)
        expect_close(came, expected, hint, mistakes=_accuracy_mistakes(first, second, threshold))


_accuracy_case("eight pairs at 0.6", SCORES, LABELS, 0.6)
_accuracy_case("the same pairs at another threshold", SCORES, LABELS, 0.15)
_accuracy_case(
    "scores exactly at the threshold",
    [0.5, 0.5, 0.5, 0.75, 0.25],
    [0, 0, 1, 1, 0],
    0.5,
    "a score equal to the threshold is no duplicate",
)
_accuracy_case("labels True and False", SCORES, LABELS.astype(bool), 0.6, "labels may be bool")
_accuracy_case("a negative threshold", SCORES, LABELS, -0.4)
_accuracy_case("no duplicates at all", [0.9, 0.1, 0.2], [0, 0, 0], 0.7)


@accuracy.case("the inputs stay as they are")
def _(fn):
    scores, labels = SCORES.copy(), LABELS.copy()
    came = fn(scores, labels, 0.6)
    expect_close(
        came, accuracy_above(SCORES, LABELS, 0.6), mistakes=_accuracy_mistakes(SCORES, LABELS, 0.6)
    )
    expect_unchanged("scores", SCORES, scores)
    expect_unchanged("labels", LABELS, labels)


def check_accuracy_at(fn) -> Score:
    """Checks ``accuracy_at(scores, labels, threshold)``: the share of right answers, with ``>``."""
    return accuracy.check(fn)


# ---- best_threshold ----

best = Exercise("best_threshold", "best_threshold(scores, labels)")


def _highest_accuracy(scores, labels) -> float:
    ordered = np.unique(scores)
    cuts = [ordered[0] - 1, *((ordered[1:] + ordered[:-1]) / 2), ordered[-1] + 1]
    return max(accuracy_above(scores, labels, cut) for cut in cuts)


def _best_case(name, scores, labels, hint=""):
    @best.case(name)
    def _(fn):
        first, second = np.array(scores, float), np.array(labels)
        came = fn(first, second)
        _expect_best(came, np.array(scores, float), np.array(labels), hint)
        expect_unchanged("scores", np.array(scores, float), first)
        expect_unchanged("labels", np.array(labels), second)


def _expect_best(came, scores, labels, hint):
    wanted = _highest_accuracy(scores, labels)
    words = f"a threshold with accuracy {wanted:.4f}"
    if isinstance(came, (tuple, list)):
        raise Wrong(
            "one number, the threshold", f"{type(came).__name__} {came!r}", "return it alone"
        )
    if came is None:
        raise Wrong(words, "None", "the function returned nothing: is `return` missing?")
    try:
        array = np.asarray(came, float)
    except (TypeError, ValueError):
        raise Wrong("one number, the threshold", f"{type(came).__name__}: {came!r}") from None
    if array.shape != ():
        raise Wrong("one number, the threshold", f"shape {array.shape}: {show(array)}")
    threshold = float(array)
    reached = accuracy_above(scores, labels, threshold)
    if reached >= wanted - 1e-9:
        return
    at_or_above = float(np.mean((scores >= threshold) == labels.astype(bool)))
    if abs(threshold - wanted) < 1e-9:
        hint = "this is the best accuracy; the exercise asks for the threshold that reaches it"
    elif at_or_above >= wanted - 1e-9:
        hint = (
            "it is best with >=, but a pair is a duplicate where its score is > the threshold. "
            + hint
        )
    elif threshold in (0.5, 0.7):
        hint = f"is it always {threshold}? it must come from these scores. " + hint
    elif reached <= 1 - wanted + 1e-9:
        hint = "it is the worst one: the comparison is turned round"
    raise Wrong(words, f"{threshold:.6g}, with accuracy {reached:.4f}", hint.strip())


_best_case("eight pairs", SCORES, LABELS, "try every way to cut the sorted scores")
_best_case(
    "duplicates and others well apart",
    [0.1, 0.9, 0.3, 0.85, 0.2, 0.8],
    [0, 1, 0, 1, 0, 1],
    "between 0.3 and 0.8 every threshold is perfect",
)
_best_case(
    "scores close together",
    [0.7012, 0.7011, 0.7013, 0.7009, 0.7008, 0.7010],
    [1, 1, 1, 0, 0, 0],
    "a grid of thresholds is too coarse: only the scores themselves tell where to cut",
)
_best_case(
    "all scores below 0",
    [-0.9, -0.2, -0.7, -0.1, -0.6],
    [0, 1, 0, 1, 0],
    "cosines go from -1 to 1, and so may thresholds",
)
_best_case(
    "every pair a duplicate",
    [0.4, 0.9, 0.6],
    [1, 1, 1],
    "the best cut may lie below the lowest score",
)
_best_case(
    "no pair a duplicate",
    [0.4, 0.9, 0.6],
    [0, 0, 0],
    "the best cut may lie at or above the highest",
)
_best_case(
    "equal scores",
    [0.5, 0.5, 0.5, 0.8, 0.2, 0.5],
    [1, 0, 0, 1, 0, 0],
    "pairs of one score stay on one side: a cut cannot go between them",
)
_best_case("labels True and False", SCORES[::-1], LABELS[::-1].astype(bool), "labels may be bool")


def check_best_threshold(fn) -> Score:
    """Checks ``best_threshold(scores, labels)``: a threshold with the highest accuracy (``>``)."""
    return best.check(fn)
