"""Checks of the cosine, of negatives and of rows of length 1 (notebooks 01 and 02)."""

from __future__ import annotations

import numpy as np

from .compare import expect
from .score import Exercise

# The documents' matrix: rows question1, columns question2, duplicates on the diagonal.
HAND_MADE = np.array(
    [[0.9, -0.8, 0.3, -0.5], [-0.4, 0.5, 0.1, -0.1], [0.3, 0.1, -0.4, -0.8], [-0.5, -0.2, -0.7, 0.5]]
)  # fmt: skip
ONE_SIZE = "does the function count on one batch size?"


def random_scores(batch: int, seed: int) -> np.ndarray:
    """A matrix of cosines that is not symmetric; float64 [batch, batch]."""
    return np.random.default_rng(seed).uniform(-0.9, 0.9, (batch, batch))


def off_diagonal(scores) -> np.ndarray:
    """Bool matrix: True for the negatives."""
    return ~np.eye(len(scores), dtype=bool)


# ---- cosine_similarity ----


def cosine(a, b) -> float:
    """The reference."""
    return a @ b / np.sqrt((a @ a) * (b @ b))


def _cosine_mistakes(a, b):
    a, b = a.astype(float), b.astype(float)
    dot, size_a, size_b = float(a @ b), np.linalg.norm(a), np.linalg.norm(b)
    return [
        (dot, "this is the dot product: it still grows with the vectors' lengths"),
        (dot / (size_a * size_b) ** 2, "divided by the squared lengths: a length has a square root"),
        (dot / size_a, "only the first vector's length is divided out"),
        (dot / (size_a + size_b), "the lengths are added: they belong multiplied"),
        (1 - cosine(a, b), "this is the cosine distance, 1 - cosine"),
        (abs(cosine(a, b)), "the sign is lost: opposite vectors have cosine -1"),
        (np.linalg.norm(a - b), "this is the Euclidean distance"),
    ]  # fmt: skip


check_cosine_similarity = Exercise(
    "cosine_similarity(v1, v2)",
    "two float vectors [d] -> their cosine, a number.",
    cosine,
    _cosine_mistakes,
    tolerance=1e-5,
    look="print the dot product and both lengths: which of the three is not what you expect?",
)
check_cosine_similarity.table(
    [
        ("two vectors that are nearly parallel", [1.0, 2, 3], [1, 2, 3.5]),
        ("opposite vectors", [1.0, 2, 3], [-1.0, -2, -3], "opposite vectors have cosine -1"),
        ("vectors of very different lengths", [0.01, 0.02, -0.01], [0.0, -42, 1]),
        ("a right angle", [2.0, 0, 1], [-1.0, 5, 2], "a right angle has cosine 0"),
        ("whole numbers", [1, 2, 3], [0, -42, 1],
         "for whole numbers the result is cut off: is an array of integers filled?"),
        ("the inputs stay as they are", [3.0, 4], [5.0, 12], "", ("v1", "v2")),
    ],
    lambda fn, v1, v2, hint="", keep=(): check_cosine_similarity.compare(
        fn, (np.array(v1), np.array(v2)), hint, keep=keep),
)  # fmt: skip

# ---- mean_negative ----


def mean_of_negatives(scores, axis=1):
    """The reference, as a loop."""
    scores = scores if axis == 1 else scores.T
    return np.array([np.mean(np.delete(row, i)) for i, row in enumerate(scores)])


ABOVE_DIAGONAL = (
    "only the entries right of the diagonal are used: those left of it are negatives too"
)
NO_SIGN = "the sign is lost: a cosine of -0.8 is far away, not near"


def _mean_mistakes(scores):
    batch = len(scores)
    kept = scores * off_diagonal(scores)
    left_in = "the diagonal is left in: the positive is not a negative"
    return [
        (kept.mean(axis=1), "divided by the batch size: how many negatives has a row?"),
        (scores.mean(axis=1), left_in),
        (scores.sum(axis=1) / (batch - 1), left_in),
        (mean_of_negatives(scores, axis=0), "the wrong axis: these are the means of the columns"),
        (kept.sum(axis=1), "this is the sum of the negatives, not their mean"),
        ((scores.sum(axis=1) - 1) / (batch - 1), "1 is taken off for the positive, which is seldom 1"),
        ((scores - 2 * np.eye(batch)).mean(axis=1), "masking with -2 is for a maximum: in a mean the "
         "positive must count nothing"),
        (np.triu(scores, 1).sum(axis=1) / (batch - 1), ABOVE_DIAGONAL),
        (np.abs(kept).sum(axis=1) / (batch - 1), NO_SIGN),
        (np.diag(scores), "these are the positives"),
    ]  # fmt: skip


_LEAVE_OUT = "leave the diagonal out, and average what is left of each row"
check_mean_negative = Exercise(
    "mean_negative(scores)",
    "float [batch, batch] -> mean of each row's negatives [batch].",
    mean_of_negatives,
    _mean_mistakes,
    tolerance=1e-5,
)
check_mean_negative.table(
    [
        ("the documents' four pairs", (HAND_MADE,), _LEAVE_OUT),
        ("five pairs, rows and columns different", (random_scores(5, 1),), _LEAVE_OUT),
        ("a batch of two", (random_scores(2, 2),), "with two pairs each row has one negative"),
        ("a batch of nine", (random_scores(9, 3),), ONE_SIZE),
        ("negatives of exactly 0", (np.where(np.abs(HAND_MADE) < 0.2, 0.0, HAND_MADE),),
         "a negative of exactly 0 is a negative too: count by place, not by value"),
    ]
)  # fmt: skip
check_mean_negative.table([("the input stays as it is", (HAND_MADE,))], keep=("scores",))

# ---- closest_negative ----


def hardest_negatives(scores, axis=1):
    """The reference, as a loop: the largest similarity off the diagonal."""
    scores = scores if axis == 1 else scores.T
    return np.array([np.max(np.delete(row, i)) for i, row in enumerate(scores)])


def semi_hard_negatives(scores):
    """The lecture's closest negatives: the largest that does not exceed the positive; -2 if none."""
    allowed = off_diagonal(scores) & (scores <= np.diag(scores)[:, None])
    return np.where(allowed, scores, -2.0).max(axis=1)


LARGEST_BUT_ONE = (
    "the largest but one of a row is the closest negative only where the positive is the largest: "
    "mask the diagonal"
)
SEMI_HARD = (
    "only negatives below the positive were allowed, as in the lecture; "
    "the assignment takes the hardest of all"
)


NOT_BELOW = "the masked diagonal is not below every cosine: cosines go down to -1"


def _closest_mistakes(scores):
    negative = off_diagonal(scores)
    kept = scores * negative
    far = np.abs(scores - np.diag(scores)[:, None]) + 9 * np.eye(len(scores))
    return [
        (scores.max(axis=1), "the diagonal is left in: the positive is not a negative"),
        (hardest_negatives(scores, axis=0), "the wrong axis: these are the maxima of the columns"),
        (kept.max(axis=1), "the diagonal counts as 0, which is more than any negative below 0: "
         "mask it with something below every cosine"),
        (semi_hard_negatives(scores), SEMI_HARD),
        (np.sort(scores, axis=1)[:, -2], LARGEST_BUT_ONE),
        (scores[np.arange(len(scores)), far.argmin(axis=1)],
         "this is the negative nearest to the positive; the exercise asks for the largest"),
        (np.where(negative, scores, 2.0).min(axis=1), "this is the smallest negative"),
        (np.where(negative, scores, -2.0).argmax(axis=1),
         "these are the places of the closest negatives (argmax), not their similarities"),
        (hardest_negatives(scores).max(), "one maximum for all rows: each row has its own"),
        *((np.where(negative, scores, low).max(axis=1), NOT_BELOW) for low in (-0.1, -0.5)),
        ((scores - np.eye(len(scores))).max(axis=1), NOT_BELOW),
        (np.triu(kept, 1).max(axis=1), ABOVE_DIAGONAL),
        (np.abs(kept).max(axis=1), NO_SIGN),
    ]  # fmt: skip


_MASK = "mask the diagonal, then take each row's largest"
check_closest_negative = Exercise(
    "closest_negative(scores)",
    "float [batch, batch] -> each row's hardest negative [batch].",
    hardest_negatives,
    _closest_mistakes,
)
check_closest_negative.table(
    [
        ("the documents' four pairs", (HAND_MADE,), _MASK),
        ("five pairs, rows and columns different", (random_scores(5, 1),), _MASK),
        ("all negatives below 0",
         (np.where(np.eye(4), 0.9, -0.55 - np.abs(random_scores(4, 4)) / 3),), _MASK),
        ("positives lower than every negative",
         (np.where(np.eye(4), -0.5, np.abs(random_scores(4, 5))),), _MASK),
        ("a batch of two", (random_scores(2, 6),), _MASK),
        ("a batch of nine", (random_scores(9, 7),), ONE_SIZE),
    ]
)  # fmt: skip
check_closest_negative.table([("the input stays as it is", (HAND_MADE,))], keep=("scores",))

# ---- normalize ----


def unit_rows(x):
    """The reference, as a loop over rows."""
    return np.array([row / np.sqrt(sum(number * number for number in row)) for row in x])


def _normal_mistakes(x):
    lengths = np.sqrt((x * x).sum(axis=1))
    size = np.abs(x)
    by_row = {"axis": 1, "keepdims": True}
    only_lengths = "these are the rows' lengths: divide the rows by them"
    square = x.shape[0] == x.shape[1]
    return [
        (x / np.sqrt((x * x).sum(axis=0)), "the columns have length 1: normalise the rows"),
        (x / np.sqrt((x * x).sum()), "one length for the whole batch: each row has its own"),
        (x / (x * x).sum(**by_row), "divided by the squared length: a root is missing"),
        (x / size.sum(**by_row), "divided by the sum of absolute values: a length is the root of the "
         "sum of squares"),
        (lengths, only_lengths),
        (lengths[:, None], only_lengths),
        (x / lengths if square else None, "row i was divided by the length of row j: lengths [batch] "
         "meet x [batch, d], and broadcasting lines them up with the columns"),
    ]  # fmt: skip


check_normalize = Exercise(
    "normalize(x)",
    "float [batch, d] -> the same with rows of length 1; runs compiled.",
    unit_rows,
    _normal_mistakes,
    look="print np.linalg.norm(normalize(x), axis=1): the length of each row, and the signs",
)
check_normalize.table(
    [
        ("two rows of five", [[0.77, 0.02, 0.63, 0.75, 0.5], [0.22, 0.2, 0.76, 0.17, 0.09]]),
        ("a square matrix", [[3.0, 4, 0], [0, 5, 12], [8, 0, 15]], "does it broadcast?"),
        ("negative numbers", [[-3.0, 4], [-5, -12], [0.5, -0.5]], "the signs stay"),
        ("one row", [[0.0, 3, 4]]),
        ("rows of length 1 already", [[0.6, -0.8], [1, 0]], "these stay as they are"),
    ],
    lambda fn, rows, hint="": check_normalize.compare(fn, (np.array(rows),), hint, keep=("x",)),
)


@check_normalize.case("inside a Trax layer, compiled")
def _(fn):
    import jax
    from trax import layers as tl

    x = np.array([[3.0, 4.0, 0.0], [0.0, 5.0, 12.0]], np.float32)
    layer = tl.Fn("Normalize", lambda x: fn(x))
    expect(jax.jit(lambda x: layer(x))(x), unit_rows(x), mistakes=_normal_mistakes(x))
