"""Checks of notebook 07: one-shot classes, and the calibration error."""

from __future__ import annotations

import numpy as np

from .expect import as_numbers, expect_close, expect_unchanged, show
from .score import Exercise, Score, Wrong

# ---- one_shot ----

one_shot = Exercise("one_shot", "one_shot(vector, examples, names, threshold)")
COMPASS = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [-0.8, -0.6], [-1.0, 0.0]])
NAMES = ["east", "north-east", "north", "south-west", "west"]


def _one_shot_case(name, vector, threshold, expected, hint="", examples=COMPASS, names=NAMES):
    @one_shot.case(name)
    def _(fn):
        given = np.array(vector, float), examples.copy(), list(names)
        came = fn(*given, threshold)
        expect_unchanged("vector", np.array(vector, float), given[0])
        expect_unchanged("examples", examples, given[1])
        expect_unchanged("names", list(names), given[2])
        if came is not None and expected is not None and came == expected:
            return
        if came is None and expected is None:
            return
        scores = examples @ np.array(vector, float)
        raise Wrong(repr(expected), show(came), _one_shot_hint(came, expected, scores, names, hint))


def _one_shot_hint(came, expected, scores, names, hint):
    if came is not None and not isinstance(came, str) and not isinstance(came, type(names[0])):
        if np.ndim(came) == 0 and not isinstance(came, (tuple, list)) and came == scores.argmax():
            return "this is the place of the best example: return its name"
        return "return the name alone, or None"
    if came is None:
        return hint or "the best cosine, the largest, is above the threshold: it has a name"
    if expected is None:
        best = names[int(np.argmax(scores))]
        return hint or (
            "no cosine is above the threshold: the answer is None"
            if came == best
            else "no cosine is above the threshold, and this is not even the best example"
        )
    if hint:
        return hint
    if came == names[int(np.argmax(np.abs(scores)))]:
        return "a cosine of -1 is the opposite, not the same: no absolute values"
    if came == names[int(np.argmin(scores))]:
        return "this is the least similar example: larger cosines are more alike"
    return "another example has a larger cosine: not the first above the threshold but the best"


_one_shot_case("a vector near one example", [0.8, 0.6], 0.7, "north-east")
_one_shot_case("nothing above the threshold", [0.0, -1.0], 0.7, None, "")
_one_shot_case(
    "a cosine exactly at the threshold",
    [0.0, 1.0],
    1.0,
    None,
    "a cosine equal to the threshold is not above it: > is asked for, not >=",
)
_one_shot_case(
    "several above the threshold",
    [0.28, 0.96],
    0.1,
    "north",
    "not the first above the threshold but the best",
    COMPASS[[1, 2, 0]],
    ["north-east", "north", "east"],
)
_one_shot_case(
    "opposite vectors",
    [0.8, 0.6],
    0.3,
    "east",
    "a cosine of -1 is the opposite, not the same: no absolute values",
    COMPASS[[3, 0]],
    ["south-west", "east"],
)
_one_shot_case(
    "several examples of one class",
    [1.0, 0.0],
    0.9,
    "east",
    "the best example decides, not the sum over a class's examples",
    np.array([[0.8, 0.6], [0.8, -0.6], [1.0, 0.0]]),
    ["sum", "sum", "east"],
)
_one_shot_case(
    "a negative threshold", [0.0, -1.0], -0.7, "south-west", "use the argument threshold"
)
_one_shot_case("one example", [1.0, 0.0], 0.5, "only", "", np.array([[0.8, 0.6]]), ["only"])


def check_one_shot(fn) -> Score:
    """Checks ``one_shot(vector, examples, names, threshold)``: the best example's name, or None."""
    return one_shot.check(fn)


# ---- expected_calibration_error ----

calibration = Exercise(
    "expected_calibration_error", "expected_calibration_error(probabilities, labels, bins=10)"
)


def _binned(probabilities, labels, bins):
    """(count, mean probability, share of duplicates) of each used bin of equal width."""
    index = np.minimum((np.asarray(probabilities) * bins).astype(int), bins - 1)
    used = sorted(set(index.tolist()))
    return [
        (int((index == k).sum()), probabilities[index == k].mean(), labels[index == k].mean(), k)
        for k in used
    ]


def calibration_error(probabilities, labels, bins=10) -> float:
    """The reference (Naeini, Cooper and Hauskrecht, 2015), with bins of equal width."""
    found = _binned(probabilities, labels, bins)
    return sum(n / len(labels) * abs(share - mean) for n, mean, share, _ in found)


def _calibration_mistakes(p, y, bins):
    found, n = _binned(p, y, bins), len(y)
    gaps = [abs(share - mean) for _, mean, share, _ in found]
    right = (p > 0.5) == y.astype(bool)
    inside, after = (p < 1), (p > 0)
    order = np.argsort(p, kind="stable")
    parts = [part for part in np.array_split(order, bins) if len(part)]
    sure = np.maximum(p, 1 - p)
    return [
        (np.mean(gaps), "all bins count alike: weigh each with the share of pairs in it"),
        (sum(gaps) / bins, "all bins count alike, the empty ones too: weigh with the share of pairs"),
        (sum(gaps), "the gaps are added: weigh each with the share of pairs in its bin"),
        (max(gaps), "this is the largest gap (maximum calibration error)"),
        (abs(p.mean() - y.mean()), "gaps of opposite sign cancelled: take each bin's absolute value"),
        (sum(c / n * (s - m) for c, m, s, _ in found), "the absolute value of each bin's gap is missing"),
        (sum(c / n * (m - s) for c, m, s, _ in found), "the absolute value of each bin's gap is missing"),
        (sum(c / n * (s - m) ** 2 for c, m, s, _ in found), "the gaps are squared"),
        (sum(c * abs(s - m) for c, m, s, _ in found), "divide by the number of pairs"),
        (sum(c / n * abs(s - (k + 0.5) / bins) for c, _, s, k in found), "the middle of the bin was "
         "taken: it is the mean probability of the pairs in it that counts"),
        (np.mean((p - y) ** 2), "this is the Brier score"),
        (np.mean(np.abs(p - y)), "this is each pair's own gap: average within the bins first"),
        (calibration_error(p, y, 10), "there are always 10 bins: use the argument"),
        (calibration_error(p, right.astype(float), bins), "labels say whether a pair is a duplicate, "
         "not whether a guess was right"),
        (calibration_error(sure, right.astype(float), bins), "the exercise bins the probability of "
         "a duplicate, not the confidence in the more likely answer"),
        (calibration_error(p[inside], y[inside], bins) * inside.mean() if inside.any() else None,
         "a probability of exactly 1 falls out of the last bin"),
        (calibration_error(p[inside], y[inside], bins) if inside.any() else None,
         "a probability of exactly 1 falls out of the last bin"),
        (calibration_error(p[after], y[after], bins) * after.mean() if after.any() else None,
         "a probability of exactly 0 falls out of the first bin"),
        (calibration_error(p[after], y[after], bins) if after.any() else None,
         "a probability of exactly 0 falls out of the first bin"),
        (sum(len(i) / n * abs(y[i].mean() - p[i].mean()) for i in parts),
         "these bins hold equally many pairs; the exercise has bins of equal width"),
    ]  # fmt: skip


def _calibration_case(name, probabilities, labels, bins=None, hint=""):
    @calibration.case(name)
    def _(fn):
        p, y = np.array(probabilities, float), np.array(labels)
        given = p.copy(), y.copy()
        came = fn(*given) if bins is None else fn(*given, bins=bins)
        size = 10 if bins is None else bins
        number = as_numbers(came, np.asarray(0.0))
        expect_close(
            number,
            calibration_error(p, y.astype(float), size),
            hint,
            mistakes=_calibration_mistakes(p, y.astype(float), size),
        )
        expect_unchanged("probabilities", p, given[0])
        expect_unchanged("labels", y, given[1])


_P = [0.03, 0.08, 0.17, 0.22, 0.24, 0.41, 0.47, 0.66, 0.68, 0.83, 0.94, 0.97]
_Y = [0, 1, 0, 0, 1, 1, 0, 1, 0, 1, 1, 1]
_calibration_case("twelve pairs in ten bins", _P, _Y)
_calibration_case("the same in four bins", _P, _Y, 4)
_calibration_case("one bin", _P, _Y, 1, "one bin holds all pairs")
_calibration_case(
    "most bins empty", [0.32, 0.33, 0.36, 0.92], [0, 1, 0, 1], None, "an empty bin adds nothing"
)
_calibration_case("a probability of exactly 1", [1.0, 1.0, 0.45, 0.55], [0, 1, 1, 0])
_calibration_case("a probability of exactly 0", [0.0, 0.0, 0.0, 0.55], [1, 0, 1, 0])
_calibration_case("labels True and False", _P, np.array(_Y, bool), None, "labels may be bool")
_calibration_case("perfectly calibrated", [0.25] * 4 + [0.75] * 4, [0, 0, 1, 0, 1, 1, 0, 1])


def check_expected_calibration_error(fn) -> Score:
    """Checks ``expected_calibration_error(probabilities, labels, bins=10)``, with bins of equal width."""
    return calibration.check(fn)
