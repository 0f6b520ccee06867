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
    size, right = size_a * size_b, cosine(a, b)
    twice = "the same length twice: each vector has its own"
    not_sum = "a length is the root of the sum of squares"
    added = "something is added to the lengths: it counts where a vector is short"
    return [
        (dot, "this is the dot product: it still grows with the vectors' lengths"),
        (dot / size**2, "divided by the squared lengths: a length has a square root"),
        (dot / np.sqrt(size), "there is a square root too many"),
        (dot / size_a, "only the first vector's length is divided out"),
        (dot / size_b, "only the second vector's length is divided out"),
        (dot / size_a * size_b,
         "the product of the lengths belongs in parentheses: a / b * c is (a / b) * c"),
        (dot / (size_a + size_b), "the lengths are added: they belong multiplied"),
        (dot / size_a**2, twice),
        (dot / size_b**2, twice),
        *((dot / n, not_sum) for n in (a.sum() * b.sum(), np.abs(a).sum() * np.abs(b).sum()) if n),
        *((dot / n, not_sum) for n in (np.abs(a).max() * np.abs(b).max(), (a**2).sum() + (b**2).sum())),
        *((dot / (size + small), added) for small in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)),
        *((dot / (size_a + small) / (size_b + small), added) for small in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)),
        (dot / max(1, size), "a length below 1 is a length too: no max or clip"),
        (right / len(a), "the mean of the products is not the dot product: their sum is"),
        (right * len(a), "multiplied by the number of entries: no mean belongs here"),
        (1 - right, "this is the cosine distance, 1 - cosine"),
        (np.arccos(np.clip(right, -1, 1)), "this is the angle: its cosine is asked for"),
        (np.degrees(np.arccos(np.clip(right, -1, 1))), "this is the angle: its cosine is asked for"),
        (abs(right), "the sign is lost: opposite vectors have cosine -1"),
        (max(0.0, right), "cut at 0: opposite vectors have cosine -1"),
        ((1 + right) / 2, "moved to 0 to 1: a cosine goes from -1 to 1"),
        (np.linalg.norm(a - b), "this is the Euclidean distance"),
        (1 / (1 + np.linalg.norm(a - b)), "this comes from the Euclidean distance"),
        (np.corrcoef(a, b)[0, 1], "this is the correlation: the means are not taken off"),
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
        ("vectors of very different lengths", [1e-4, 2e-4, -1e-4], [0.0, -42, 1]),
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


NO_SIGN = "the sign is lost: a cosine of -0.8 is far away, not near"
LEFT_IN = "the diagonal is left in: the positive is not a negative"
SYMMETRIC = "rows and columns are mixed: a row has negatives of its own"


def wrong_places(scores) -> list[tuple[np.ndarray, str]]:
    """(bool [batch, batch], hint): what is wrongly taken for the negatives."""
    batch, off = len(scores), off_diagonal(scores)
    column = np.arange(batch)[None, :] + 0 * np.arange(batch)[:, None]
    return [
        (np.ones_like(off), LEFT_IN),
        (np.triu(off),
         "only the entries right of the diagonal are used: those left of it are negatives too"),
        (np.tril(off),
         "only the entries left of the diagonal are used: those right of it are negatives too"),
        (off & (column < batch - 1), "the last column is left out: look at where the range ends"),
        (off & (column > 0), "the first column is left out: counting begins at 0"),
        (column > 0,
         "the first of each row is left out: it is the one on the diagonal that does not count"),
        (column < batch - 1,
         "the last of each row is left out: it is the one on the diagonal that does not "
         "count"),
        (off[::-1], "the other diagonal is left out: positives stand at [i, i]"),
        (~off, "these are the positives"),
        (scores < scores.max(axis=1, keepdims=True), "the largest of the row is left out: the positive is "
         "on the diagonal, and not always the largest"),
        (off & (scores > 0), "negatives below 0 are left out: all off the diagonal count"),
        (off & (scores <= np.diag(scores)[:, None]), SEMI_HARD),
        (off & (scores != 0), "a negative of exactly 0 is a negative too: count by place, not by value"),
    ]  # fmt: skip


def wrong_means(scores) -> list[tuple[np.ndarray, str]]:
    """(float [batch], hint): results of known mistakes in the mean negative."""
    batch, off = len(scores), off_diagonal(scores)
    kept = scores * off
    found = [
        (kept.sum(axis=1) / n, "divided by the batch size: how many negatives has a row?" if n == batch
         else "divided by another number than that of a row's negatives")
        for n in (batch, batch + 1, max(batch - 2, 1), batch**2, (batch - 1) ** 2, batch * (batch - 1))
    ]  # fmt: skip
    found += [
        *((kept.sum(axis=1) / n, "divided by a fixed number: use the size of the batch") for n in (2, 3, 4,
        5)),
        (kept.sum(axis=1), "this is the sum of the negatives, not their mean"),
        (mean_of_negatives(scores, axis=0), "the wrong axis: these are the means of the columns"),
        (mean_of_negatives((scores + scores.T) / 2), SYMMETRIC),
        (np.full(batch, kept.sum() / (batch**2 - batch)), "one mean for all rows: each row has its own"),
        (np.cumsum(kept.sum(axis=1)) / (batch - 1), "the sum goes on from row to row: set it back to 0"),
        ((scores.sum(axis=1) - 1) / (batch - 1), "1 is taken off for the positive, which is seldom 1"),
        (scores.sum(axis=1) - np.diag(scores) / (batch - 1),
         "the difference belongs in parentheses: a - b / c "
         "is a - (b / c)"),
        ((scores - 2 * np.eye(batch)).mean(axis=1), "masking with -2 is for a maximum: in a mean the "
         "positive must count nothing"),
        ((scores - 2 * np.eye(batch)).sum(axis=1) / (batch - 1),
         "masking with -2 is for a maximum: in a mean "
         "the positive must count nothing"),
        (np.abs(kept).sum(axis=1) / (batch - 1), NO_SIGN),
        (np.array([np.median(np.delete(row, i)) for i, row in enumerate(scores)]), "this is the median"),
        (hardest_negatives(scores), "this is the closest negative: the mean of all is asked for"),
    ]  # fmt: skip
    for keep, hint in wrong_places(scores):
        total, count = (scores * keep).sum(axis=1), np.maximum(keep.sum(axis=1), 1)
        found += [(total / count, hint), (total / (batch - 1), hint), (total / batch, hint)]
    return found


_LEAVE_OUT = "leave the diagonal out, and average what is left of each row"
check_mean_negative = Exercise(
    "mean_negative(scores)",
    "float [batch, batch] -> mean of each row's negatives [batch].",
    mean_of_negatives,
    wrong_means,
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


def wrong_maxima(scores) -> list[tuple[np.ndarray, str]]:
    """(float [batch], hint): results of known mistakes in the closest negative."""
    negative, batch = off_diagonal(scores), len(scores)
    kept, right, others = (
        scores * negative,
        hardest_negatives(scores),
        hardest_negatives(scores, axis=0),
    )
    far = np.abs(scores - np.diag(scores)[:, None]) + 9 * np.eye(batch)
    smallest = np.where(negative, scores, 2.0)
    return [
        (scores.max(axis=1), LEFT_IN),
        (others, "the wrong axis: these are the maxima of the columns"),
        (np.maximum(right, others),
         "the largest of row and column: only the row's negatives are asked for"),
        (hardest_negatives((scores + scores.T) / 2), SYMMETRIC),
        (kept.max(axis=1), "the diagonal counts as 0, which is more than any negative below 0: "
         "mask it with something below every cosine"),
        (np.maximum(right, 0), "the search begins at 0, which is more than any negative below 0"),
        (semi_hard_negatives(scores), SEMI_HARD),
        (np.sort(scores, axis=1)[:, -2], LARGEST_BUT_ONE),
        (scores[np.arange(batch), far.argmin(axis=1)],
         "this is the negative nearest to the positive; the exercise asks for the largest"),
        (smallest.min(axis=1), "this is the smallest negative"),
        ((scores - 2 * np.eye(batch)).min(axis=1), "this is the smallest: the largest is asked for"),
        ((scores + 2 * np.eye(batch)).max(axis=1), "the mask is added: it must push the diagonal down"),
        (np.sort(scores, axis=1)[:, 1], "the smallest but one: np.sort goes from small to large"),
        (np.where(negative, scores, -2.0).argmax(axis=1),
         "these are the places of the closest negatives (argmax), not their similarities"),
        (np.full(batch, right.max()), "one maximum for all rows: each row has its own"),
        (right.max(), "one maximum for all rows: each row has its own"),
        *((np.where(negative, scores, low).max(axis=1), NOT_BELOW) for low in (-0.1, -0.25, -0.5)),
        *(((scores - low * np.eye(batch)).max(axis=1), NOT_BELOW) for low in (0.5, 1.0)),
        ((scores * (1 - 2 * np.eye(batch))).max(axis=1), f"the diagonal's sign is turned. {NOT_BELOW}"),
        ((kept - 2).max(axis=1), "the mask is taken off everywhere: only the diagonal is pushed down"),
        (right - np.diag(scores),
         "this is the difference to the positive: the negative itself is asked for"),
        (mean_of_negatives(scores), "this is the mean negative: the closest is asked for"),
        (np.abs(kept).max(axis=1), NO_SIGN),
        *(((scores * keep).max(axis=1), hint) for keep, hint in wrong_places(scores)[1:3]),
        *((np.where(keep, scores, -2.0).max(axis=1), hint) for keep, hint in wrong_places(scores)),
    ]  # fmt: skip


class ClosestNegative(Exercise):
    """Right are the masked negatives of the documents, and the hardest ones of the edition of 2022."""

    def answer(self, fn, actual, scores):
        """The masked negatives, or the hardest ones where the learner's are those."""
        hardest = hardest_negatives(scores)
        is_hardest = np.shape(actual) == hardest.shape and np.allclose(actual, hardest)
        masked = semi_hard_negatives(scores)
        if is_hardest and not np.allclose(hardest, masked):
            fn.memo["note"] = "the hardest negative of all, as in the edition of 2022"
        return hardest if fn.memo.get("note") else masked


_MASK = "mask the diagonal and what lies above the positive, then take each row's largest"
check_closest_negative = ClosestNegative(
    "closest_negative(scores)",
    "float [batch, batch] -> each row's closest negative [batch].",
    semi_hard_negatives,
    lambda scores: [row for row in wrong_maxima(scores) if row[1] != SEMI_HARD],
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
    lengths, size, by_row = np.sqrt((x * x).sum(axis=1)), np.abs(x), {"axis": 1, "keepdims": True}
    only_lengths = "these are the rows' lengths: divide the rows by them"
    added = "something is added to the lengths: a row's length is then below 1"
    root = "a length is the root of the sum of squares"
    square = x.shape[0] == x.shape[1]
    with np.errstate(all="ignore"):
        return [
            (x / np.sqrt((x * x).sum(axis=0)), "the columns have length 1: normalise the rows"),
            (x / np.sqrt((x * x).sum()), "one length for the whole batch: each row has its own"),
            (x / (x * x).sum(**by_row), "divided by the squared length: a root is missing"),
            (x / size.sum(**by_row), f"divided by the sum of absolute values: {root}"),
            (x / size.max(**by_row), f"divided by the largest entry: {root}"),
            (x / np.sqrt((x * x).mean(**by_row)),
             f"divided by the root of the mean of the squares: {root}"),
            (x / x.sum(**by_row), f"the squares are missing: {root}"),
            (x / np.sqrt(x.sum(**by_row)), f"the squares are missing: {root}"),
            (x * lengths[:, None], "multiplied by the lengths: divide by them"),
            ((x - x.mean(**by_row)) / lengths[:, None], "the row's mean is taken off: only divide"),
            ((x - x.mean(**by_row)) / x.std(**by_row), "mean and standard deviation belong to another "
             "normalisation: divide by the row's length"),
            ((x - x.min(**by_row)) / np.ptp(x, **by_row),
             "the row is scaled to 0 to 1: divide by its length"),
            (np.exp(x) / np.exp(x).sum(**by_row), f"this is the softmax: {root}"),
            (size / lengths[:, None], "the sign is lost: no absolute values in the result"),
            *((x / (lengths[:, None] + small), added) for small in (1e-1, 1e-2, 1e-3)),
            *((x / np.sqrt(lengths[:, None] ** 2 + small), added) for small in (1e-1, 1e-2, 1e-3)),
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
    uses_trax=True,
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
