"""Checks of the losses: TripletLossFn (notebook 04) and symmetric_loss (notebook 05)."""

from __future__ import annotations

import contextlib

import numpy as np

from .expect import expect_close, expect_unchanged
from .score import Exercise, Score, Wrong
from .similarity_checks import HAND_MADE, _below_positive, hardest_negatives, mean_of_negatives

# ---- The reference, in NumPy float64 ----


def row_losses(mean, closest, positive, margin):
    """max(mean - positive + margin, 0) + max(closest - positive + margin, 0), row by row."""
    return np.maximum(mean - positive + margin, 0) + np.maximum(closest - positive + margin, 0)


def course_loss(scores, margin=0.25) -> float:
    """The assignment's loss of a similarity matrix: hardest negatives, rows, mean."""
    mean, closest = mean_of_negatives(scores), hardest_negatives(scores)
    return float(row_losses(mean, closest, np.diag(scores), margin).mean())


def both_ways(scores, margin=0.25) -> float:
    """A row's and a column's negatives averaged before the hinge."""
    mean = (mean_of_negatives(scores) + mean_of_negatives(scores, axis=0)) / 2
    closest = (hardest_negatives(scores) + hardest_negatives(scores, axis=0)) / 2
    return float(row_losses(mean, closest, np.diag(scores), margin).mean())


def both_losses(scores, margin=0.25) -> float:
    """The loss of the rows and the loss of the columns, added."""
    return course_loss(scores, margin) + course_loss(scores.T, margin)


def vectors(batch: int, seed: int, d_model: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Two batches of unit rows, float32 [batch, d_model]; row i of both are alike."""
    draw = np.random.default_rng(seed)
    first = draw.normal(size=(batch, d_model))
    second = first + draw.normal(size=(batch, d_model))
    return tuple(
        (v / np.sqrt((v * v).sum(axis=1, keepdims=True))).astype(np.float32)
        for v in (first, second)
    )


def from_scores(scores) -> tuple[np.ndarray, np.ndarray]:
    """Unit rows whose dot products are the matrix: v1 @ v2.T == scores, float32 [batch, batch + 2].

    S = U diag(s) V.T gives rows U sqrt(s) and V sqrt(s); scaling S before and the rows after evens out
    their lengths. Two more columns, one for each side, fill the lengths up to 1.
    """
    scores = np.asarray(scores, np.float64)
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


def _loss_mistakes(scores, margin):
    batch, positive = len(scores), np.diag(scores)
    mean, closest = mean_of_negatives(scores), hardest_negatives(scores)
    masked = scores * ~np.eye(batch, dtype=bool)

    def of(mean=mean, closest=closest, positive=positive, margin=margin):
        return row_losses(mean, closest, positive, margin)

    side = course_loss(scores.T, margin)
    grid = row_losses(mean[None, :], closest[None, :], positive[:, None], margin)
    outer = row_losses(mean[:, None], closest[:, None], positive[None, :], margin)
    broadcast = (
        "a [batch, 1] array met a [batch] array, and broadcasting made a matrix of losses: "
        "keep all of shape [batch]"
    )
    return [
        (course_loss(scores, 0.25), "the margin is always 0.25: use the argument"),
        (course_loss(scores, 0.0), "the margin is missing"),
        (of(margin=-margin).mean(), "the margin has the wrong sign"),
        (of().sum(), "this is the sum over the batch: the assignment's loss is the mean"),
        (of(), "one number is asked for: the mean over the batch"),
        (side, "rows and columns are exchanged: rows belong to v1, columns to v2"),
        (side * batch, "rows and columns are exchanged, and this is the sum"),
        (of(closest=_below_positive(scores)).mean(), "only negatives below the positive were allowed, "
         "as in the lecture; the assignment takes the hardest of all"),
        (of(closest=scores.max(axis=1)).mean(), "the closest negative may be the positive itself: "
         "mask the diagonal"),
        (of(closest=masked.max(axis=1)).mean(), "the diagonal counts as a negative of 0: mask it with "
         "something below every cosine"),
        (of(mean=scores.mean(axis=1)).mean(), "the mean negative has the positive in it"),
        (of(mean=scores.sum(axis=1) / (batch - 1)).mean(), "the mean negative has the positive in it"),
        (of(mean=masked.mean(axis=1)).mean(), "the mean negative is divided by the batch size: "
         "how many negatives has a row?"),
        (of(mean=scores.mean(axis=1), closest=scores.max(axis=1)).mean(),
         "the diagonal is left in, in the mean and in the closest negative"),
        (of(mean=masked.mean(axis=1), closest=masked.max(axis=1)).mean(),
         "the diagonal counts as a negative of 0"),
        (row_losses(mean, -9, positive, margin).mean(), "only the mean negative is used"),
        (row_losses(-9, closest, positive, margin).mean(), "only the closest negative is used"),
        ((mean + closest - 2 * positive + 2 * margin).mean(), "a row's loss is never below 0: the hinge "
         "is missing"),
        (np.maximum(mean + closest - 2 * positive + 2 * margin, 0).mean(),
         "the two losses have a hinge each: they are not added inside one"),
        (max((mean + closest - 2 * positive + 2 * margin).mean(), 0), "the hinge comes before the mean"),
        (of().mean() / 2, "half of it: the two losses are added, not averaged"),
        (row_losses(-mean, -closest, -positive, margin).mean(), "positive and negative are exchanged"),
        (grid.mean(), broadcast),
        (outer.mean(), broadcast),
        (grid.sum(), broadcast),
        (outer.sum(), broadcast),
    ]  # fmt: skip


# ---- TripletLossFn ----

triplet = Exercise("TripletLossFn", "TripletLossFn(v1, v2, margin=0.25)", seconds=60)


def _loss_case(exercise, choose, mistakes, name, make, margin=None, hint=""):
    @exercise.case(name)
    def _(fn):
        v1, v2 = make()
        scores = np.asarray(v1, np.float64) @ np.asarray(v2, np.float64).T
        given = v1.copy(), v2.copy()
        came = fn(*given) if margin is None else fn(*given, margin=margin)
        size = 0.25 if margin is None else margin
        reference = choose(fn, came, scores, size)
        expect_close(came, reference(scores, size), hint, mistakes=mistakes(scores, size))
        expect_unchanged("v1", v1, given[0])
        expect_unchanged("v2", v2, given[1])


def _assignment_vectors():
    v1 = np.array([[0.26726124, 0.53452248, 0.80178373], [-0.5178918, -0.57543534, -0.63297887]])
    return v1, v1 * [[1], [-1]]


LOSS_CASES = (
    ("six pairs", lambda: vectors(6, 1)),
    ("the assignment's two pairs", _assignment_vectors),
    ("the documents' four pairs", lambda: from_scores(HAND_MADE)),
    ("a larger margin", lambda: vectors(5, 2), 0.8),
    ("margin 0", lambda: from_scores(HAND_MADE), 0.0, "margin=0 is a margin too"),
    ("all vectors equal", lambda: (np.full((4, 4), 0.5), np.full((4, 4), 0.5)), None,
     "equal vectors give twice the margin"),
    ("all negatives far below 0", lambda: from_scores(0.2 * np.eye(4) - 0.55 * (1 - np.eye(4)))),
    ("negatives far below 0, and positives too", lambda: from_scores(np.full((4, 4), -0.6)
     - 0.2 * np.eye(4))),
    ("a batch of eleven", lambda: vectors(11, 3), None, "does the function count on one batch size?"),
)  # fmt: skip
for _one in LOSS_CASES:
    _loss_case(triplet, lambda fn, *result: course_loss, _loss_mistakes, *_one)


def _compiled(choose):
    def case(fn):
        import jax

        reference = choose(fn)
        v1, v2 = vectors(4, 7)
        loss, gradient = jax.jit(jax.value_and_grad(lambda v1, v2: fn(v1, v2)))(v1, v2)
        scores = np.asarray(v1, np.float64) @ np.asarray(v2, np.float64).T
        expect_close(loss, reference(scores))
        # The slope by differences, along a turn of one vector: its length stays 1, to first order.
        turn = np.zeros_like(v1, dtype=np.float64)
        turn[1] = np.eye(len(v1[1]))[2] - v1[1, 2] * v1[1]
        sides = [reference((v1 + size * turn) @ v2.T.astype(np.float64)) for size in (1e-5, -1e-5)]
        slope, found = (sides[0] - sides[1]) / 2e-5, float((np.asarray(gradient) * turn).sum())
        if not abs(found - slope) < 1e-2:
            hint = "the gradient does not flow: is a part computed in NumPy, rounded or detached?"
            raise Wrong(f"a gradient of {slope:.4f}", f"{found:.4f}", hint)

    return case


triplet.case("compiled, and with its gradient")(_compiled(lambda fn: course_loss))


def check_triplet_loss_fn(fn) -> Score:
    """Checks ``TripletLossFn(v1, v2, margin=0.25)``: unit rows [batch, d] twice -> the loss, a number."""
    return triplet.check(fn)


# ---- symmetric_loss ----

symmetric = Exercise("symmetric_loss", "symmetric_loss(v1, v2, margin=0.25)", seconds=60)


AVERAGED = "negatives averaged before the hinge (what the asker in the forum proposed)"
ADDED = "the two losses added (what the mentor in the forum answered)"


def _either(fn, came=None, scores=None, margin=0.25):
    """The reference of the two right answers that the function gives: the first result decides."""
    if "form" not in fn.memo and came is not None:
        for reference, told in ((both_ways, AVERAGED), (both_losses, ADDED)):
            with contextlib.suppress(Wrong):
                expect_close(came, reference(scores, margin))
                fn.memo["form"], fn.memo["note"] = reference, told
                break
    return fn.memo.get("form", both_ways)


def _symmetric_mistakes(scores, margin):
    rows, columns = course_loss(scores, margin), course_loss(scores.T, margin)
    batch, middle = len(scores), (scores + scores.T) / 2
    right = both_ways(scores, margin)
    mean = (mean_of_negatives(scores) + mean_of_negatives(scores, axis=0)) / 2
    largest = np.maximum(hardest_negatives(scores), hardest_negatives(scores, axis=0))
    total = row_losses(
        2 * mean,
        hardest_negatives(scores) + hardest_negatives(scores, axis=0),
        np.diag(scores),
        margin,
    )
    return [
        (both_ways(scores, 0.25), "the margin is always 0.25: use the argument"),
        (both_ways(scores, 0.0), "the margin is missing"),
        (rows, "this is the loss of the rows alone: what do the columns add?"),
        (columns, "this is the loss of the columns alone"),
        ((rows + columns) / 2, "two finished losses were averaged: average the row's and the column's "
         "negatives before the hinge, or add the finished losses"),
        (rows + columns, "some cases average the negatives, and this one adds two finished losses: "
         "either is right, but the same one in all cases"),
        (both_losses(scores, 0.25), "the margin is always 0.25: use the argument"),
        (both_losses(scores, 0.0), "the margin is missing"),
        ((rows + columns) * batch, "this is the sum over the batch: the mean is asked for"),
        (right * batch, "this is the sum over the batch: the mean is asked for"),
        (course_loss(middle, margin), "the matrix was made symmetric first: the closest negatives of "
         "rows and columns are chosen each in its own direction"),
        (row_losses(mean, largest, np.diag(scores), margin).mean(), "the larger of the two closest "
         "negatives was taken: their average is asked for"),
        (total.mean(), "the row's and the column's negatives were added: average them"),
        *_loss_mistakes(scores, margin)[8:14],
    ]  # fmt: skip


for _one in LOSS_CASES:
    _loss_case(symmetric, _either, _symmetric_mistakes, *_one)


@symmetric.case("v1 and v2 exchanged")
def _(fn):
    v1, v2 = vectors(6, 11)
    scores = np.asarray(v1, np.float64) @ np.asarray(v2, np.float64).T
    for first, second in ((v1, v2), (v2, v1)):
        hint = "exchanging v1 and v2 must change nothing"
        expect_close(fn(first, second), _either(fn)(scores), hint)


symmetric.case("compiled, and with its gradient")(_compiled(_either))


def check_symmetric_loss(fn) -> Score:
    """Checks ``symmetric_loss(v1, v2, margin=0.25)``: negatives averaged, or both losses added.

    Both are right; the score's note says which of the two it saw.
    """
    return symmetric.check(fn)
