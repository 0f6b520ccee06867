"""Checks of the losses: TripletLossFn (notebook 04) and symmetric_loss (notebook 05)."""

from __future__ import annotations

import contextlib

import numpy as np

from .compare import Wrong, expect, require
from .score import Exercise
from .similarity import (
    HAND_MADE,
    NO_SIGN,
    ONE_SIZE,
    SEMI_HARD,
    hardest_negatives,
    mean_of_negatives,
    off_diagonal,
    random_scores,
    semi_hard_negatives,
    unit_rows,
    wrong_maxima,
    wrong_means,
)

# ---- The loss of one triplet, and of a matrix (notebooks 01 and 02) ----

check_triplet_loss = Exercise(
    "triplet_loss(s_ap, s_an, margin)",
    "two cosines, or two arrays of them, and the margin -> max(s_an - s_ap + margin, 0).",
    lambda s_ap, s_an, margin: np.maximum(np.asarray(s_an) - s_ap + margin, 0),
    lambda s_ap, s_an, margin: [
        (np.maximum(np.asarray(s_ap) - s_an + margin, 0), "positive and negative are exchanged"),
        (np.asarray(s_an) - s_ap + margin, "the hinge is missing: a loss is never below 0"),
        (np.maximum(np.asarray(s_an) - s_ap, 0) + margin, "the margin belongs inside the hinge"),
        (np.maximum(np.asarray(s_an) - s_ap - margin, 0), "the margin is added, not taken off"),
    ],
)
check_triplet_loss.table(
    [
        ("a negative just below the positive", (0.5, 0.4, 0.25), ""),
        ("the wrong order", (0.2, 0.5, 0.25), ""),
        ("ahead by more than the margin", (0.9, -0.9, 0.25), "a triplet in right order costs 0"),
        ("another margin", (0.6, 0.1, 0.7), "is the margin an argument, or fixed?"),
        ("several triplets", (np.array([0.9, 0.2]), np.array([-0.9, 0.5]), 0.25), "np.maximum"),
    ]
)
check_modified_loss = Exercise(
    "modified_loss(scores)",
    "float [batch, batch] -> the sum of both hinges over the rows, margin 0.25.",
    lambda scores: _modified(scores),
    lambda scores: [
        (_modified(scores.T), "columns for rows: a row is an anchor"),
        (_modified(scores) / len(scores), "this is the mean over the rows: the sum is asked for"),
    ],
)


def _modified(scores) -> float:
    mean, closest = mean_of_negatives(scores), semi_hard_negatives(scores)
    return float(row_losses(mean, closest, np.diag(scores), 0.25).sum())


check_modified_loss.table(
    [
        ("the documents' four pairs", (HAND_MADE,), "0.516667"),
        ("five pairs", (random_scores(5, 1),), ""),
        ("a batch of two", (random_scores(2, 2),), ""),
        ("a batch of nine", (random_scores(9, 3),), ONE_SIZE),
        ("all equal", (np.ones((4, 4)),), "both terms are the margin in each row"),
    ]
)

# ---- The reference, in NumPy float64 ----


def row_losses(mean, closest, positive, margin):
    """max(mean - positive + margin, 0) + max(closest - positive + margin, 0), row by row."""
    return np.maximum(mean - positive + margin, 0) + np.maximum(closest - positive + margin, 0)


def rows_loss(scores, margin=0.25) -> float:
    """The assignment's loss of a similarity matrix: hardest negatives, rows, mean."""
    mean, closest = mean_of_negatives(scores), hardest_negatives(scores)
    return float(row_losses(mean, closest, np.diag(scores), margin).mean())


def averaged_loss(scores, margin=0.25) -> float:
    """A row's and a column's negatives averaged before the hinge."""
    mean = (mean_of_negatives(scores) + mean_of_negatives(scores, axis=0)) / 2
    closest = (hardest_negatives(scores) + hardest_negatives(scores, axis=0)) / 2
    return float(row_losses(mean, closest, np.diag(scores), margin).mean())


def added_losses(scores, margin=0.25) -> float:
    """The loss of the rows and the loss of the columns, added."""
    return rows_loss(scores, margin) + rows_loss(scores.T, margin)


def similarities(v1, v2) -> np.ndarray:
    """Float64 [batch, batch]."""
    return np.asarray(v1, np.float64) @ np.asarray(v2, np.float64).T


def vectors(batch: int, seed: int, d_model: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Two batches of unit rows, float32 [batch, d_model]; row i of both are alike."""
    draw = np.random.default_rng(seed)
    first = draw.normal(size=(batch, d_model))
    second = first + draw.normal(size=(batch, d_model))
    return tuple(unit_rows(v).astype(np.float32) for v in (first, second))


def from_scores(scores) -> tuple[np.ndarray, np.ndarray]:
    """Unit rows whose dot products are the matrix: v1 @ v2.T == scores, float32 [batch, batch + 2].

    S = U diag(s) V.T gives rows U sqrt(s) and V sqrt(s); scaling S before and the rows after evens out
    their lengths. Two more columns, one for each side, fill the lengths up to 1.
    """
    left, right = np.ones((2, len(scores)))
    for _ in range(100):
        u, size, v = np.linalg.svd(left[:, None] * scores * right)
        first, second = u * np.sqrt(size) / left[:, None], v.T * np.sqrt(size) / right[:, None]
        missing = [1 - (rows * rows).sum(axis=1) for rows in (first, second)]
        if np.min(missing) >= 0:
            break
        left, right = (scale * (1 - gap) ** 0.25 for scale, gap in zip((left, right), missing))
    else:
        raise ValueError("no unit rows have these dot products")
    none = np.zeros(len(scores))
    columns = [first, np.sqrt(missing[0]), none], [second, none, np.sqrt(missing[1])]
    return tuple(np.column_stack(side).astype(np.float32) for side in columns)


def _negative_mistakes(scores, margin):
    """(loss, hint): one of the two negatives is a wrong one, as in the exercises of notebook 01."""
    positive = np.diag(scores)
    mean, closest = mean_of_negatives(scores), hardest_negatives(scores)

    def of(mean=mean, closest=closest):
        return row_losses(mean, closest, positive, margin).mean()

    return [
        *(
            (of(closest=wrong), f"the closest negative: {hint}")
            for wrong, hint in wrong_maxima(scores)
        ),
        *((of(mean=wrong), f"the mean negative: {hint}") for wrong, hint in wrong_means(scores)),
    ]


def _term_mistakes(mean, closest, positive, margin):
    """(loss, hint): one or both of the two terms are wrong."""

    def right(negative):
        return np.maximum(negative - positive + margin, 0)

    wrong = {
        "the sign is turned: negative - positive + margin": lambda n: np.maximum(
            positive - n + margin, 0
        ),
        "the margin is missing in one term": lambda n: np.maximum(n - positive, 0),
        "the margin has the wrong sign in one term": lambda n: np.maximum(n - positive - margin, 0),
        # A closest negative that may be the positive itself gives the same number.
        "mask the diagonal, or, if it is masked, the margin belongs inside the hinge": lambda n: (
            np.maximum(n - positive, 0) + margin
        ),
        "the margin is added: max(..., margin) is another function": lambda n: np.maximum(
            n - positive, margin
        ),
        "the hinge is missing in one term": lambda n: n - positive + margin,
        "the hinge is the maximum with 0, not the minimum": lambda n: np.minimum(
            n - positive + margin, 0
        ),
        "the hinge is the maximum with 0, not the absolute value": lambda n: np.abs(
            n - positive + margin
        ),
        "the hinge is not squared": lambda n: right(n) ** 2,
        "each row has its own positive: no mean of them": lambda n: np.maximum(
            n - positive.mean() + margin, 0
        ),
        "one of the two terms is missing: the mean and the closest negative both count": lambda n: (
            0 * n
        ),
        "the positive is missing": lambda n: np.maximum(n + margin, 0),
        "the positive is on the diagonal, seldom 1": lambda n: np.maximum(n - 1 + margin, 0),
    }
    found = []
    for hint, term in wrong.items():
        terms = (
            (term(mean), term(closest)),
            (term(mean), right(closest)),
            (right(mean), term(closest)),
        )
        found += [((one + other).mean(), hint) for one, other in terms]
    return found


def _margin_mistakes(loss, scores, margin):
    wrong = (0.1, 0.2, 0.3, 0.5, 1.0) if margin == 0.25 else ()
    return [
        (loss(scores, 0.25), "the margin is always 0.25: use the argument"),
        (loss(scores, 0.0), "the margin is missing"),
        *((loss(scores, other), f"the default margin is 0.25, not {other}") for other in wrong),
    ]


LATER_EDITION = (
    "this is the loss of a later edition of the course (the lecture's closest negative, and the sum over "
    "the batch): this exercise takes the hardest negative of all, and the mean"
)


def _loss_mistakes(v1, v2, margin=0.25):
    scores = similarities(v1, v2)
    positive = np.diag(scores)
    mean, closest = mean_of_negatives(scores), hardest_negatives(scores)
    masked = scores * off_diagonal(scores)
    right = row_losses(mean, closest, positive, margin)
    semi_hard = row_losses(mean, semi_hard_negatives(scores), positive, margin)
    both = mean + closest - 2 * positive + 2 * margin  # the two terms in one, without a hinge
    terms = [np.maximum(negative - positive + margin, 0) for negative in (mean, closest)]
    grids = [row_losses(mean[None, :], closest[None, :], positive[:, None], margin),
             row_losses(mean[:, None], closest[:, None], positive[None, :], margin)]  # fmt: skip
    for one, other in ((mean, closest), (closest, mean)):  # only one of the two terms a matrix
        grid = np.maximum(one[:, None] - positive[None, :] + margin, 0)
        grids += [grid + np.maximum(other - positive + margin, 0)]
    broadcast = (
        "a [batch, 1] array met a [batch] array, and broadcasting made a matrix of losses: "
        "keep all of shape [batch]"
    )
    return [
        *_margin_mistakes(rows_loss, scores, margin),
        (rows_loss(scores, -margin), "the margin has the wrong sign"),
        (right.sum(), "this is the sum over the batch: the assignment's loss is the mean"),
        (right, "one number is asked for: the mean over the batch"),
        (rows_loss(scores.T, margin), "rows and columns are exchanged: rows belong to v1, columns to v2"),
        (semi_hard.mean(), SEMI_HARD),
        (semi_hard.sum(), LATER_EDITION),
        *_term_mistakes(mean, closest, positive, margin),
        *_negative_mistakes(scores, margin),
        (rows_loss(similarities(v1.T, v2.T), margin),
         "v1.T meets v2: rows are questions, so v1 meets v2.T"),
        (right.sum() / (len(right) - 1), "divided by batch - 1: the loss is the mean over all rows"),
        (right.max(), "the largest of the rows: the loss is the mean over all rows"),
        (np.median(right), "the median of the rows: the loss is their mean"),
        (right[0], "the loss of the first row: the mean over all rows is asked for"),
        (np.maximum(*terms).mean(), "the larger of the two terms: they are added"),
        (np.minimum(*terms).mean(), "the smaller of the two terms: they are added"),
        (np.prod(terms, axis=0).mean(), "the two terms are multiplied: they are added"),
        ((terms[0] - terms[1]).mean(), "the two terms are added: no minus between them"),
        (np.maximum(both, 0).mean(), "each of the two terms has a hinge of its own"),
        (np.maximum(both - margin, 0).mean(), "each of the two terms has a hinge and a margin of its own"),
        (np.maximum((right.sum()), 0) / 2, "this is half the sum: the loss is the mean over all rows"),
        (row_losses(masked.mean(axis=1), masked.max(axis=1), positive, margin).mean(),
         "the diagonal counts as a negative of 0"),
        *((rows_loss(similarities(v, v), margin), "both sides of the product are one batch: v1 meets v2")
          for v in (v1, v2)),
        (rows_loss(np.abs(scores), margin), NO_SIGN),
        (row_losses(mean, closest, 1.0, margin).mean(), "the positive is on the diagonal, seldom 1"),
        (row_losses(mean, closest.max(), positive, margin).mean(), "one maximum for all rows: each row "
         "has its own"),
        (row_losses(mean, mean, positive, margin).mean(), "the mean negative is used twice: one of the two "
         "terms takes the closest"),
        (row_losses(closest, closest, positive, margin).mean(), "the closest negative is used twice: one "
         "of the two terms takes the mean"),
        (row_losses(mean, -9, positive, margin).mean(), "only the mean negative is used"),
        (row_losses(-9, closest, positive, margin).mean(), "only the closest negative is used"),
        (both.mean(), "a row's loss is never below 0: the hinge is missing"),
        *((grid.mean(), broadcast) for grid in grids),
    ]  # fmt: skip


_V1 = np.array([[0.26726124, 0.53452248, 0.80178373], [-0.5178918, -0.57543534, -0.63297887]])
_EQUAL = np.full((4, 4), 0.5)
LOSS_CASES = [
    ("six pairs", vectors(6, 1), ""),
    ("the assignment's two pairs", (_V1, _V1 * [[1], [-1]]), ""),
    ("the documents' four pairs", from_scores(HAND_MADE), ""),
    ("a larger margin", vectors(5, 2), "", {"margin": 0.8}),
    ("margin 0", from_scores(HAND_MADE), "margin=0 is a margin too", {"margin": 0.0}),
    ("all vectors equal", (_EQUAL, _EQUAL), "equal vectors give twice the margin"),
    ("all negatives far below 0", from_scores(1.2 * np.eye(4) - 0.3), "", {"margin": 1.5}),
    ("negatives far below 0, and positives too", from_scores(-0.6 - 0.2 * np.eye(4)), ""),
    ("a batch of eleven", vectors(11, 3), ONE_SIZE),
]


def compiled(exercise):
    """The case of a loss inside Trax: compiled, and with its gradient."""

    def case(fn):
        import jax

        v1, v2 = vectors(4, 7)
        loss, gradient = jax.jit(jax.value_and_grad(lambda v1, v2: fn(v1, v2)))(v1, v2)
        expect(loss, exercise.answer(fn, ..., v1, v2))
        # The slope by differences, along a turn of one vector: its length stays 1, to first order.
        turn = np.zeros_like(v1, dtype=np.float64)
        turn[1] = np.eye(len(v1[1]))[2] - v1[1, 2] * v1[1]
        sides = [exercise.answer(fn, ..., v1 + size * turn, v2) for size in (1e-5, -1e-5)]
        slope, found = (sides[0] - sides[1]) / 2e-5, float((np.asarray(gradient) * turn).sum())
        hint = "the gradient does not flow: is a part computed in NumPy, rounded or detached?"
        require(abs(found - slope) < 1e-2, f"a gradient of {slope:.4f}", f"{found:.4f}", hint)

    return case


# ---- symmetric_loss ----


def _symmetric_negatives(scores, margin):
    """(loss, hint): one of the two negatives is a wrong one, in rows and columns alike."""
    positive = np.diag(scores)
    right = [(f(scores) + f(scores, axis=0)) / 2 for f in (mean_of_negatives, hardest_negatives)]
    found = _term_mistakes(*right, positive, margin)
    for place, mistakes, name in ((0, wrong_means, "mean"), (1, wrong_maxima, "closest")):
        for (wrong, hint), (turned, _) in zip(mistakes(scores), mistakes(scores.T)):
            negatives = [*right]
            negatives[place] = (wrong + turned) / 2
            loss = row_losses(*negatives, positive, margin).mean()
            found.append((loss, f"the {name} negative: {hint}"))
    return found


def _symmetric_mistakes(v1, v2, margin=0.25):
    scores = similarities(v1, v2)
    positive = np.diag(scores)
    rows, columns = rows_loss(scores, margin), rows_loss(scores.T, margin)
    mean = mean_of_negatives(scores) + mean_of_negatives(scores, axis=0)
    sides = hardest_negatives(scores), hardest_negatives(scores, axis=0)
    return [
        *_margin_mistakes(averaged_loss, scores, margin),
        (rows, "this is the loss of the rows alone: what do the columns add?"),
        (columns, "this is the loss of the columns alone"),
        (rows - columns, "the two losses are added: no minus between them"),
        (max(rows, columns), "the larger of the two losses: average the negatives, or add the losses"),
        (averaged_loss(scores, margin) * len(scores),
         "this is the sum over the batch: the loss is the mean"),
        *((averaged_loss(similarities(v, v), margin),
        "both sides of the product are one batch: v1 meets v2")
          for v in (v1, v2)),
        ((rows + columns) / 2, "two finished losses were averaged: average the row's and the column's "
         "negatives before the hinge, or add the finished losses"),
        (rows + columns, "some cases average the negatives, and this one adds two finished losses: "
         "either is right, but the same one in all cases"),
        *_margin_mistakes(added_losses, scores, margin),
        (rows_loss((scores + scores.T) / 2, margin), "the matrix was made symmetric first: the closest "
         "negatives of rows and columns are chosen each in its own direction"),
        (row_losses(mean / 2, np.maximum(*sides), positive, margin).mean(), "the larger of the two "
         "closest negatives was taken: their average is asked for"),
        (row_losses(mean / 2, sides[0], positive, margin).mean(), "the closest negatives are the rows'"),
        (row_losses(mean_of_negatives(scores), sum(sides) / 2, positive, margin).mean(),
         "the mean negatives are the rows'"),
        (row_losses(mean, sum(sides), positive, margin).mean(), "the row's and the column's negatives "
         "were added: average them"),
        *_symmetric_negatives(scores, margin),
    ]  # fmt: skip


_BY_HAND = "compute the loss of one row by hand: its positive, its mean and its closest negative"


class TwoAnswers(Exercise):
    """An exercise with two right answers; the first result that is one of them decides which."""

    accepted: dict = {}  # noqa: RUF012

    def answer(self, fn, actual, v1, v2, margin=0.25):
        """The result of the chosen answer."""
        if "answer" not in fn.memo:
            for loss, told in self.accepted.items():
                with contextlib.suppress(Wrong, TypeError):
                    expect(actual, loss(similarities(v1, v2), margin))
                    fn.memo["answer"], fn.memo["note"] = loss, told
                    break
        default = next(iter(self.accepted))
        return fn.memo.get("answer", default)(similarities(v1, v2), margin)


FORUM = {
    averaged_loss: "negatives averaged before the hinge (what the asker in the forum proposed)",
    added_losses: "the two losses added (what the mentor in the forum answered)",
}
check_symmetric_loss = TwoAnswers(
    "symmetric_loss(v1, v2, margin=0.25)",
    "negatives averaged, or both losses added; the score's note says which of the two it saw.",
    mistakes=_symmetric_mistakes,
    seconds=60,
    uses_trax=True,
    look=_BY_HAND,
)
check_symmetric_loss.accepted = FORUM
check_symmetric_loss.table(LOSS_CASES, keep=("v1", "v2"))


@check_symmetric_loss.case("v1 and v2 exchanged")
def _(fn):
    v1, v2 = vectors(6, 11)
    for first, second in ((v1, v2), (v2, v1)):
        expected = check_symmetric_loss.answer(fn, ..., v1, v2)
        expect(fn(first, second), expected, "exchanging v1 and v2 must change nothing")


check_symmetric_loss.case("compiled, and with its gradient")(compiled(check_symmetric_loss))

# ---- TripletLossFn ----


def masked_loss(scores, margin=0.25) -> float:
    """The loss of 2023: masked closest negatives, summed."""
    mean, closest = mean_of_negatives(scores), semi_hard_negatives(scores)
    return float(row_losses(mean, closest, np.diag(scores), margin).sum())


EDITIONS = {
    masked_loss: "the edition of 2023: masked closest negative, summed",
    rows_loss: "the editions of 2020 to 2022: hardest negative, averaged",
}
check_triplet_loss_fn = TwoAnswers(
    "TripletLossFn(v1, v2, margin=0.25)",
    "unit rows [batch, d] twice -> the loss, a number.",
    mistakes=_loss_mistakes,
    seconds=60,
    uses_trax=True,
    look=_BY_HAND,
)
check_triplet_loss_fn.accepted = EDITIONS
check_triplet_loss_fn.table(LOSS_CASES, keep=("v1", "v2"))
check_triplet_loss_fn.case("compiled, and with its gradient")(compiled(check_triplet_loss_fn))
