"""Checks of notebook 01: the cosine, and the mean and closest negatives of a similarity matrix."""

from __future__ import annotations

import numpy as np

from .expect import expect_close, expect_unchanged
from .score import Exercise, Score

# The documents' matrix: rows question1, columns question2, duplicates on the diagonal.
HAND_MADE = np.array(
    [
        [0.9, -0.8, 0.3, -0.5],
        [-0.4, 0.5, 0.1, -0.1],
        [0.3, 0.1, -0.4, -0.8],
        [-0.5, -0.2, -0.7, 0.5],
    ]
)


def random_scores(batch: int, seed: int) -> np.ndarray:
    """A matrix of cosines that is not symmetric; float64 [batch, batch]."""
    return np.random.default_rng(seed).uniform(-0.9, 0.9, (batch, batch))


def off_diagonal(scores: np.ndarray) -> np.ndarray:
    """Bool matrix: True for the negatives."""
    return ~np.eye(len(scores), dtype=bool)


# ---- cosine_similarity ----

cosine = Exercise("cosine_similarity", "cosine_similarity(v1, v2)")


def _cosine_mistakes(a, b):
    dot, size_a, size_b = float(a @ b), np.linalg.norm(a), np.linalg.norm(b)
    return [
        (dot, "this is the dot product: it still grows with the vectors' lengths"),
        (
            dot / (size_a * size_b) ** 2,
            "divided by the squared lengths: a length has a square root",
        ),
        (dot / size_a, "only the first vector's length is divided out"),
        (dot / size_b, "only the second vector's length is divided out"),
        (dot / (size_a + size_b), "the lengths are added: they belong multiplied"),
        (dot / len(a), "divided by the number of entries, not by the lengths"),
        (1 - dot / (size_a * size_b), "this is the cosine distance, 1 - cosine"),
        (abs(dot) / (size_a * size_b), "the sign is lost: opposite vectors have cosine -1"),
        (np.linalg.norm(a - b), "this is the Euclidean distance"),
        (np.arccos(np.clip(dot / (size_a * size_b), -1, 1)), "this is the angle, not its cosine"),
        (
            dot / (np.abs(a).sum() * np.abs(b).sum()),
            "the lengths are sums of absolute values: a vector's length is the root of its squares",
        ),
    ]


def _cosine_case(name, first, second, hint=""):
    @cosine.case(name)
    def _(fn):
        a, b = np.array(first, float), np.array(second, float)
        expected = a @ b / np.sqrt((a @ a) * (b @ b))
        expect_close(fn(a.copy(), b.copy()), expected, hint, mistakes=_cosine_mistakes(a, b))


_cosine_case("two vectors that are nearly parallel", [1, 2, 3], [1, 2, 3.5])
_cosine_case("opposite vectors", [1, 2, 3], [-1, -2, -3], "opposite vectors have cosine -1")
_cosine_case("vectors of very different lengths", [0.01, 0.02, -0.01], [0, -42, 1])
_cosine_case("a right angle", [2.0, 0.0, 1.0], [-1.0, 5.0, 2.0], "a right angle has cosine 0")


@cosine.case("whole numbers")
def _(fn):
    a, b = np.array([1, 2, 3]), np.array([0, -42, 1])
    expected = a @ b / np.sqrt((a @ a) * (b @ b))
    hint = "for whole numbers the result is cut off: is an array of integers filled?"
    expect_close(
        fn(a, b), expected, hint, mistakes=_cosine_mistakes(a.astype(float), b.astype(float))
    )


@cosine.case("the inputs stay as they are")
def _(fn):
    a, b = np.array([3.0, 4.0]), np.array([5.0, 12.0])
    expect_close(
        fn(a, b), 63 / 65, mistakes=_cosine_mistakes(np.array([3.0, 4]), np.array([5.0, 12]))
    )
    expect_unchanged("v1", np.array([3.0, 4.0]), a)
    expect_unchanged("v2", np.array([5.0, 12.0]), b)


def check_cosine_similarity(fn) -> Score:
    """Checks ``cosine_similarity(v1, v2)``: two float vectors [d] -> their cosine, a number."""
    return cosine.check(fn)


# ---- mean_negative ----

mean = Exercise("mean_negative", "mean_negative(scores)")


def mean_of_negatives(scores, axis=1):
    """The reference, as a loop."""
    scores = scores if axis == 1 else scores.T
    return np.array([np.mean(np.delete(row, i)) for i, row in enumerate(scores)])


def _mean_mistakes(scores):
    batch = len(scores)
    kept = scores * off_diagonal(scores)
    return [
        (kept.mean(axis=1), "divided by the batch size: how many negatives has a row?"),
        (scores.mean(axis=1), "the diagonal is left in: the positive is no negative"),
        (scores.sum(axis=1) / (batch - 1), "the diagonal is left in: the positive is no negative"),
        (mean_of_negatives(scores, axis=0), "the wrong axis: these are the means of the columns"),
        (kept.mean(axis=0), "the wrong axis, and divided by the batch size"),
        (kept.sum(axis=1), "this is the sum of the negatives, not their mean"),
        (kept[kept != 0].mean(), "one mean for all rows: each row has its own"),
    ]


def _mean_case(name, make, hint="leave the diagonal out, and average what is left of each row"):
    @mean.case(name)
    def _(fn):
        scores = make()
        expect_close(
            fn(scores.copy()), mean_of_negatives(scores), hint, mistakes=_mean_mistakes(scores)
        )


_mean_case("the documents' four pairs", HAND_MADE.copy)
_mean_case("five pairs, rows and columns different", lambda: random_scores(5, 1))
_mean_case(
    "a batch of two", lambda: random_scores(2, 2), "with two pairs each row has one negative"
)
_mean_case(
    "a batch of nine", lambda: random_scores(9, 3), "does the function count on one batch size?"
)
_mean_case(
    "negatives of exactly 0",
    lambda: np.where(np.abs(HAND_MADE) < 0.2, 0.0, HAND_MADE),
    "a negative of exactly 0 is a negative too: count by place, not by value",
)


@mean.case("the input stays as it is")
def _(fn):
    scores = HAND_MADE.copy()
    expect_close(fn(scores), mean_of_negatives(HAND_MADE), mistakes=_mean_mistakes(HAND_MADE))
    expect_unchanged("scores", HAND_MADE, scores)


def check_mean_negative(fn) -> Score:
    """Checks ``mean_negative(scores)``: float [batch, batch] -> mean of each row's negatives [batch]."""
    return mean.check(fn)


# ---- closest_negative ----

closest = Exercise("closest_negative", "closest_negative(scores)")


def hardest_negatives(scores, axis=1):
    """The reference, as a loop: the largest similarity off the diagonal."""
    scores = scores if axis == 1 else scores.T
    return np.array([np.max(np.delete(row, i)) for i, row in enumerate(scores)])


def _below_positive(scores):
    """The lecture's closest negatives: the largest that does not exceed the positive; -2 if none."""
    allowed = off_diagonal(scores) & (scores <= np.diag(scores)[:, None])
    return np.where(allowed, scores, -2.0).max(axis=1)


def closest_mistakes(scores):
    """(value, message) of what closest negatives are often taken for; [batch] each."""
    kept = scores * off_diagonal(scores)
    nearest = np.abs(scores - np.diag(scores)[:, None]) + 9 * np.eye(len(scores))
    return [
        (scores.max(axis=1), "the diagonal is left in: the positive is no negative"),
        (hardest_negatives(scores, axis=0), "the wrong axis: these are the maxima of the columns"),
        (
            kept.max(axis=1),
            "the diagonal counts as 0, which is more than any negative below 0: "
            "mask it with something below every cosine",
        ),
        (scores.max(axis=0), "the wrong axis, and the diagonal is left in"),
        (kept.max(axis=0), "the wrong axis, and the diagonal counts as 0"),
        (
            _below_positive(scores),
            "only negatives below the positive were allowed, as in the lecture; "
            "the assignment takes the hardest of all",
        ),
        (
            np.array([row[np.argmin(far)] for row, far in zip(scores, nearest)]),
            "this is the negative nearest to the positive; the exercise asks for the largest",
        ),
        (np.where(off_diagonal(scores), scores, 2.0).min(axis=1), "this is the smallest negative"),
        (
            np.where(off_diagonal(scores), scores, -2.0).argmax(axis=1),
            "these are the places of the closest negatives (argmax), not their similarities",
        ),
        (hardest_negatives(scores).max(), "one maximum for all rows: each row has its own"),
    ]


def _closest_case(name, make, hint="mask the diagonal, then take each row's largest"):
    @closest.case(name)
    def _(fn):
        scores = make()
        expect_close(
            fn(scores.copy()), hardest_negatives(scores), hint, mistakes=closest_mistakes(scores)
        )


_closest_case("the documents' four pairs", HAND_MADE.copy)
_closest_case("five pairs, rows and columns different", lambda: random_scores(5, 1))
_closest_case(
    "all negatives below 0",
    lambda: -np.abs(random_scores(4, 4)) * off_diagonal(HAND_MADE) + 0.9 * np.eye(4),
)
_closest_case(
    "positives lower than every negative",
    lambda: np.where(off_diagonal(HAND_MADE), np.abs(random_scores(4, 5)), -0.5),
)
_closest_case("a batch of two", lambda: random_scores(2, 6))
_closest_case(
    "a batch of nine", lambda: random_scores(9, 7), "does the function count on one batch size?"
)


@closest.case("the input stays as it is")
def _(fn):
    scores = HAND_MADE.copy()
    expect_close(fn(scores), hardest_negatives(HAND_MADE), mistakes=closest_mistakes(HAND_MADE))
    expect_unchanged("scores", HAND_MADE, scores)


def check_closest_negative(fn) -> Score:
    """Checks ``closest_negative(scores)``: float [batch, batch] -> each row's hardest negative [batch]."""
    return closest.check(fn)
