"""The modified loss of a matrix, TripletLossFn, and the loss of rows and columns."""

from __future__ import annotations

import numpy as np

from .batch import (
    BELOW,
    CLOSEST,
    HAND_MADE,
    HARDEST,
    LEFT_IN,
    MARGINS,
    MASK,
    MAXIMA,
    MEAN,
    MEANS,
    OUTSIDE,
    PLACES,
    TERMS,
    WELL_APART,
    edits,
    random_scores,
)
from .engine import Case, Exercise, call
from .results import Odd
from .submission import Learner


def _of_arrays(table: str) -> str:
    """A table of terms of numbers, for arrays."""
    return table.replace(" max(", " np.maximum(").replace(" min(", " np.minimum(")


_MARGINS, _OUTSIDE = _of_arrays(MARGINS), _of_arrays(OUTSIDE)
_TERMS = (
    _of_arrays(TERMS)
    + """
max(x, 0) is the largest along axis 0: the hinge is maximum(x, 0), entry by entry
  np.max(n - p + margin, 0)
each row has its own positive: no mean of them
  np.maximum(n - p.mean() + margin, 0)
"""
)
_MEAN_TERM = "np.maximum(mean - positive + margin, 0)"
_CLOSEST_TERM = "np.maximum(closest - positive + margin, 0)"
_OF_MEAN = "(lambda n, p: {})(mean, positive)"
_OF_CLOSEST = "(lambda n, p: {})(closest, positive)"
_OF_BOTH = f"{_OF_MEAN} ;; {_CLOSEST_TERM} -> {_OF_CLOSEST}"
# A masked negative is never above the positive: mistakes in the margin of its term make it 0 or the margin.
_HARDEST_ONLY = f"{_OF_CLOSEST} ;; {MASK}\\n -> {MASK}\\n"
# Mistakes in the terms, their sum, and the number that the rows' losses become.
_SUMS = f"""
{edits(_MARGINS + _OUTSIDE + _TERMS, _MEAN_TERM, _OF_MEAN, "the mean negative's term: ")}
{edits(_MARGINS + _OUTSIDE + _TERMS, _MEAN_TERM, _OF_BOTH, "both terms: ")}
{edits(_TERMS, _CLOSEST_TERM, _OF_CLOSEST, "the closest negative's term: ")}
{edits(_MARGINS, _CLOSEST_TERM, _HARDEST_ONLY, "the closest negative's term: ")}
only the mean negative counts: the two terms are added
  (loss1 + loss2) -> (<<loss1|np.minimum(loss1, loss2)>>)
only the closest negative counts: the two terms are added
  (loss1 + loss2) -> (<<loss2|np.maximum(loss1, loss2)>>)
the two terms are multiplied: they are added
  loss1 + loss2 -> loss1 * loss2
the two terms are added: no minus between them
  loss1 + loss2 -> loss1 - loss2
this is half the loss: are the two terms averaged? they are added
  (loss1 + loss2) -> ((loss1 + loss2) / 2)
each of the two terms has a hinge of its own
  (loss1 + loss2) -> (np.maximum(mean + closest - 2 * positive + 2 * margin, 0))
each of the two terms has a hinge and a margin of its own
  (loss1 + loss2) -> (np.maximum(mean + closest - 2 * positive + margin, 0))
the hinge comes after the mean or sum over the batch: each row's term has its own
  return np.<<sum|mean>>(loss1 + loss2) -> \
return max(np.<<sum|mean>>(mean + closest - 2 * positive + 2 * margin), 0)
  return np.<<sum|mean>>(loss1 + loss2) -> \
return sum(max(np.<<sum|mean>>(n - positive + margin), 0) for n in (mean, closest))
one number is asked for: the rows' losses are not summed or averaged
  np.<<sum|mean>>(loss1 + loss2) -> loss1 + loss2
the median of the rows: an edition takes their mean or their sum
  np.<<sum|mean>>(loss1 -> np.median(loss1
the largest of the rows: an edition takes their mean or their sum
  np.<<sum|mean>>(loss1 -> np.max(loss1
the loss of the first row: all rows count
  np.<<sum|mean>>(loss1 + loss2) -> loss1[0] + loss2[0]
divided by batch - 1: the loss is the mean over all rows
  np.<<sum|mean>>(loss1 + loss2) -> np.sum(loss1 + loss2) / (batch - 1)
a [batch, 1] array met a [batch] array, which makes a matrix: keep all of shape [batch]
  + margin, 0)\\n    loss2 -> + margin, 0)[:, None]\\n    loss2
  mean - positive -> mean - positive[:, None] ;; closest - positive -> closest - positive[:, None]
  mean - positive -> mean[:, None] - positive <<|;; closest - pos -> closest[:, None] - pos>>
  closest - positive -> closest[:, None] - positive
"""
_MATRIX = "batch = len(scores)"
_AXIS = "mean and closest are of the same row: one of them has the wrong axis, that"
LOSS_MISTAKES = f"""
a mixture of two editions: the lecture's masked negative (2023) with the mean of 2022, not the sum
  np.sum(loss1 -> np.mean(loss1
a mixture of two editions: the hardest negative (2022) with the sum of 2023, not the mean
  np.mean(loss1 -> np.sum(loss1
{edits(MEANS, MEAN, words="the mean negative: ")}
{edits(LEFT_IN + PLACES, "1 - np.eye(batch)", words="the mean negative: ")}
{
    edits(
        LEFT_IN + PLACES,
        "1 - np.eye(batch)",
        "({}) ;; (batch - 1) -> np.maximum(negatives.sum(axis=1), 1)",
        "the mean negative: ",
    )
}
{
    edits(
        PLACES.replace("<<(1 - np.eye(batch))|1>>", "1"),
        MASK,
        "({} == 0)",
        "the closest negative: ",
    )
}
{edits(MAXIMA, CLOSEST, words="the closest negative: ")}
{BELOW}
the closest negative: mask the diagonal; where it is masked, the margin belongs inside the hinge
  {MASK} -> (np.zeros((batch, batch)) == 1)
  {_CLOSEST_TERM} -> np.maximum(closest - positive, 0) + margin
both negatives have the diagonal in them: the positive is not a negative
  1 - np.eye(batch) -> np.ones((batch, batch)) ;; {MASK} -> np.zeros((batch, batch), bool)
  1 - np.eye(batch) -> 1 ;; (batch - 1) -> batch ;; {MASK} -> np.zeros((batch, batch), bool)
the diagonal counts as a negative of 0
  (batch - 1) -> batch ;; -2.0, scores) -> 0.0, scores)
the sign is lost: a cosine of -0.8 is far away, not near
  {_MATRIX} -> scores = abs(scores); {_MATRIX}
rows and columns are mixed: a row has negatives of its own
  {_MATRIX} -> scores = (scores + scores.T) / 2; {_MATRIX}
{_SUMS}
""".replace("the mean negative: the wrong axis: these are the means", _AXIS).replace(
    "the closest negative: the wrong axis: these are the maxima", _AXIS
)

# Edition of the course -> form of its loss.
EDITIONS = {
    "the loss of the Trax edition of 2023: the lecture's closest negative, masked, and the sum": "",
    "the loss of the Trax editions of 2020 to 2022: the hardest negative, and the mean over the batch":
        f"{HARDEST} ;; np.sum(loss1 -> np.mean(loss1",
}  # fmt: skip

check_modified_loss = Exercise(
    "modified_loss",
    "float [batch, batch], rows question1 -> the loss with a margin of 0.25, a number.",
    """
Each row has a positive on the diagonal and two negatives: the mean one and the closest one.
Each negative gives a hinge: the larger of 0 and negative - positive + 0.25. Add the two.
np.maximum(mean - positive + 0.25, 0) + np.maximum(closest - positive + 0.25, 0), and its sum.
""",
    [
        Case("the documents' four pairs", (HAND_MADE,)),
        Case("five pairs, rows and columns different", (random_scores(5, 1),)),
        Case("the last column the largest", (np.sort(random_scores(5, 8), axis=1),)),
        Case("all vectors equal", (np.ones((3, 3)),)),
        Case("negatives far below 0, and positives too", (-0.6 - 0.2 * np.eye(4),)),
        Case("all negatives far below 0", (WELL_APART,)),
        Case("a batch of two", (random_scores(2, 6),)),
        Case("a batch of nine", (random_scores(9, 7),)),
    ],
    f"""
rows and columns are exchanged: rows belong to question1, columns to question2
  {_MATRIX} -> scores = scores.T; {_MATRIX}
the margin is 0.25
  margin = 0.25 -> margin = <<0.1|0.2|0.3|0.5|1.0>>
""" + LOSS_MISTAKES,
    answers=EDITIONS,
)  # fmt: skip

# ---- TripletLossFn and symmetric_loss ----


def vectors(batch: int, seed: int, d_model: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Two batches of unit rows, float32 [batch, d_model]; row i of both are alike."""
    draw = np.random.default_rng(seed)
    first = draw.normal(size=(batch, d_model))
    both = first, first + draw.normal(size=(batch, d_model))
    return tuple((v / np.linalg.norm(v, axis=1, keepdims=True)).astype(np.float32) for v in both)


def from_scores(scores) -> tuple[np.ndarray, np.ndarray]:
    """Unit rows whose dot products are the matrix: v1 @ v2.T == scores, float32 [batch, batch + 1].

    The columns of `scores` are not longer than 1.
    """
    rest = np.sqrt(1 - (scores * scores).sum(axis=0))
    first = np.eye(len(scores), len(scores) + 1)
    return first.astype(np.float32), np.column_stack([scores.T, rest]).astype(np.float32)


def _loss(fn, v1, v2, how="", **options):
    """The loss, or the loss "compiled", or its "slope" along a turn of one vector."""
    if how == "slope":
        turn = np.zeros_like(v1, dtype=np.float64)
        turn[1] = np.eye(v1.shape[1])[2] - v1[1, 2] * v1[1]  # its length stays 1 to first order
    if not isinstance(fn, Learner):
        v1, v2 = v1.astype(np.float64), v2.astype(np.float64)
        if how == "slope":
            return (fn(v1 + 1e-5 * turn, v2) - fn(v1 - 1e-5 * turn, v2)) / 2e-5
        return call(fn, v1, v2, **options)
    if not how:
        return call(fn, v1, v2, **options)
    if type(fn.fn(v1, v2)).__module__.startswith("tensorflow"):
        import tensorflow as tf

        with tf.GradientTape() as tape:
            v1 = tf.Variable(v1)
            loss = fn.fn(v1, tf.constant(v2))
        gradient = tape.gradient(loss, v1)
    else:
        import jax

        def loss_twice(v1, v2):
            loss = fn.fn(v1, v2)
            return loss.sum(), loss

        compiled = jax.jit(jax.value_and_grad(loss_twice, has_aux=True))
        (_, loss), gradient = fn.once("compiled", lambda: compiled(v1, v2))
    if how == "compiled":
        return call(lambda: loss)
    if not (slope := (np.asarray(gradient) * turn).sum()):
        raise Odd("0", "the gradient does not flow: is a part computed in NumPy, or detached?")
    return call(lambda: slope)


_V1 = np.array([[0.26726124, 0.53452248, 0.80178373], [-0.5178918, -0.57543534, -0.63297887]])
_LOSS_CASES = [
    Case("four pairs", vectors(4, 1)),
    Case("the assignment's two pairs", (_V1, _V1 * [[1], [-1]])),
    Case("four pairs, like the documents'", from_scores(0.8 * HAND_MADE)),
    Case("a larger margin", vectors(4, 2), {"margin": 0.8}),
    Case("margin 0", from_scores(0.8 * HAND_MADE), {"margin": 0.0}),
    Case("all vectors equal", (np.full((4, 5), 0.2**0.5),) * 2),
    Case("all negatives below 0", from_scores(0.9 * WELL_APART), {"margin": 1.5}),
    Case("negatives far below 0, and positives too", from_scores(-0.6 - 0.1 * np.eye(2))),
    Case("a batch of seven", vectors(7, 5)),
    Case("compiled", vectors(4, 7), {"how": "compiled"}),
    Case("the gradient", vectors(4, 7), {"how": "slope"}, named=False),
]
_PRODUCT = "scores = np.dot(v1, v2.T)"
_VECTOR_MISTAKES = f"""
v1.T meets v2: rows are questions, so v1 meets v2.T
  {_PRODUCT} -> scores = np.dot(v1.T, v2)
both sides of the product are one batch: v1 meets v2
  {_PRODUCT} -> scores = np.dot(v<<1, v1|2, v2>>.T)
the margin is always 0.25: use the argument
  positive + margin -> positive + 0.25
the default margin is 0.25
  margin=0.25 -> margin=<<0.1|0.2|0.3|0.5|1.0>>
"""
_ERRORS = {
    "contracting|dot_general": "the shapes do not fit a product: v1 [batch, d] meets v2.T [d, batch]"
}

check_triplet_loss_fn = Exercise(
    "TripletLossFn",
    "unit rows [batch, d] twice -> the loss, a number: that of any edition of the course.",
    """
All cosines of the batch are one product: v1 with v2 transposed. Positives are its diagonal.
Each row has two negatives, the mean and the closest. Each gives maximum(negative - positive + margin, 0).
mean: the row sums off the diagonal / (batch - 1); closest: the row maxima below the positive; then the sum.
""",
    _LOSS_CASES,
    f"""
rows and columns are exchanged: rows belong to v1, columns to v2
  {_PRODUCT} -> scores = np.dot(v2, v1.T)
the closest negative: the masked diagonal is not below every cosine: cosines go down to -1
  {CLOSEST} -> (scores - <<0.5|1>> * np.eye(batch)).max(axis=1)
""" + _VECTOR_MISTAKES + LOSS_MISTAKES.replace("np.diag(", "np.diagonal("),
    answers={**EDITIONS, "the loss of the TensorFlow edition: this is V2 V1^T: in Trax rows belong to v1":
             f"{_PRODUCT} -> scores = np.dot(v2, v1.T)"},
    observe=_loss,
    errors=_ERRORS,
    seconds=30,
    trax=True,
)  # fmt: skip

_MEANS = "(others.sum(axis=1) + others.sum(axis=0)) / 2 / (batch - 1)"
_MAXIMA = "(masked.max(axis=1) + masked.max(axis=0)) / 2"


def _added(edition: str, join: str = "+") -> str:
    """The form of two finished losses of an edition, joined."""
    return f"return edition{edition}(v1, v2, margin) {join} edition{edition}(v2, v1, margin)"


check_symmetric_loss = Exercise(
    "symmetric_loss",
    "negatives averaged, or both losses added; the score's note names the answer.",
    """
Rows ask question1 for its question2; columns ask question2 for its question1. Use both.
Average a row's and its column's negative before the hinge: one closest, one mean.
closest = (masked.max(axis=1) + masked.max(axis=0)) / 2, likewise the mean; then the hinges and the mean.
""",
    _LOSS_CASES,
    f"""
this is the loss of the rows alone: what do the columns add?
  return edition<<2022|2023>>(v1, v2, margin)
this is the loss of the columns alone: what do the rows add?
  return edition<<2022|2023>>(v2, v1, margin)
two finished losses were averaged: average the negatives before the hinge, or add the finished losses
  return (edition2022(v1, v2, margin) + edition2022(v2, v1, margin)) / 2
the two losses are added: no minus between them
  {_added(2022, "-")}
the larger of the two losses: average the negatives, or add the losses
  return max(edition2022(v1, v2, margin), edition2022(v2, v1, margin))
this is the sum over the batch: the loss is the mean
  np.mean(loss1 -> np.sum(loss1
the matrix was made symmetric first: rows and columns have closest negatives each of their own
  {_MATRIX} -> scores = (scores + scores.T) / 2; {_MATRIX}
the larger of the two closest negatives was taken: their average is asked for
  {_MAXIMA} -> np.maximum(masked.max(axis=1), masked.max(axis=0))
the closest negatives are the rows' alone
  masked.max(axis=0) -> masked.max(axis=1)
the closest negatives are the columns' alone
  masked.max(axis=1) -> masked.max(axis=0)
the mean negatives are the rows' alone
  others.sum(axis=0) -> others.sum(axis=1)
the mean negatives are the columns' alone
  others.sum(axis=1) -> others.sum(axis=0)
the row's and the column's negatives were added: average them
  )) / 2 -> ))
  {_MEANS} -> 2 * {_MEANS}
  {_MAXIMA} -> 2 * {_MAXIMA}
the closest negative: mask the diagonal; where it is masked, the margin belongs inside the hinge
  scores - 2.0 * np.eye(batch) -> scores
the closest negative: the diagonal counts as 0, which is more than any negative below 0
  scores - 2.0 * np.eye(batch) -> others
the closest negative: the masked diagonal is not below every cosine: cosines go down to -1
  2.0 * np.eye(batch) -> <<0.5|1.0>> * np.eye(batch)
the mean negative: the diagonal is left in: the positive is not a negative
  scores * (1 - np.eye(batch)) -> scores <<|;; (batch - 1) -> batch>>
the mean negative: divided by the batch size: how many negatives has a row?
  (batch - 1) -> batch
the mean negative: this is the sum of the negatives, not their mean
   / (batch - 1) ->
the closest negative: only the negatives below the positive, as in 2023: here the hardest is averaged
  2.0 * np.eye(batch) -> 2.0 * (np.eye(batch) + (scores > positive[:, None]))
the sign is lost: a cosine of -0.8 is far away, not near
  {_MATRIX} -> scores = abs(scores); {_MATRIX}
""" + _VECTOR_MISTAKES + _SUMS,
    answers={
        "negatives averaged before the hinge (what the asker in the forum proposed)": "",
        "the two losses added (what the mentor in the forum answered)": _added(2022),
        "the two losses added, each that of the edition of 2023": _added(2023),
    },
    scope={
        "edition2023": check_triplet_loss_fn.made(),
        "edition2022": check_triplet_loss_fn.made([*EDITIONS.values()][1]),
    },
    observe=_loss,
    errors=_ERRORS,
    seconds=30,
    trax=True,
)  # fmt: skip
