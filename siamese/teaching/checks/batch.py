"""The cosine of two vectors, the loss of a triplet, the negatives of a batch and its modified loss."""

from __future__ import annotations

import numpy as np

from .engine import Case, Exercise
from .results import same


def edits(table: str, old: str, new: str = "{}", words: str = "") -> str:
    """A table in which each form is an edit: `old` becomes `new`, with the form in its braces.

    Args:
      table: sentences and forms, as `Exercise` takes them.
      old: text of a reference.
      new: what it becomes.
      words: before each sentence.
    """
    lines = []
    for line in table.strip("\n").splitlines():
        form = f"  {old} -> {new.replace('{}', line.strip())}"
        lines.append(form if line.startswith(" ") else words + line)
    return "\n".join(lines)


check_cosine_similarity = Exercise(
    "cosine_similarity",
    "two float vectors [d] -> their cosine, a number.",
    """
The cosine compares directions: the dot product, with both lengths divided out.
The length of v is the square root of v . v. Divide by the product of both lengths.
np.dot(v1, v2) / (length of v1 * length of v2), with length = np.sqrt(np.dot(v, v)).
""",
    [
        Case("two vectors that are nearly parallel", (np.array([1.0, 2, 3]), np.array([1, 2, 3.5]))),
        Case("opposite vectors", (np.array([1.0, 2, 3]), -np.array([1.0, 2, 3]))),
        Case("vectors of very different lengths",
             (np.array([1e-4, 2e-4, -1e-4]), np.array([0.0, -42, 1]))),
        Case("a right angle", (np.array([2.0, 0, 1]), np.array([-1.0, 5, 2]))),
        Case("whole numbers", (np.array([1, 2, 3]), np.array([0, -42, 1]))),
        Case("a third vector", (np.array([3.0, 4, 1, 0]), np.array([5.0, -12, 0, 2]))),
    ],
    """
this is the dot product: it still grows with the vectors' lengths
   / (length1 * length2) ->
divided by the squared lengths: a length has a square root
  np.sqrt(np.dot(v1, v1)) -> np.dot(v1, v1) ;; np.sqrt(np.dot(v2, v2)) -> np.dot(v2, v2)
only one of the two lengths has its square root
  np.sqrt(np.dot(v<<1, v1|2, v2>>)) -> np.dot(v<<1, v1|2, v2>>)
there is a square root too many
  (length1 * length2) -> np.sqrt(length1 * length2)
only the first vector's length is divided out
  (length1 * length2) -> length1
only the second vector's length is divided out
  (length1 * length2) -> length2
the product of the lengths belongs in parentheses: a / b * c is (a / b) * c
  (length1 * length2) -> length1 * length2
the lengths are added: they belong multiplied
  (length1 * length2) -> (length1 + length2)
the length belongs to the sum of both vectors' squares: multiply the two lengths
  (length1 * length2) -> np.sqrt(v1 @ v1 + v2 @ v2)
the same length twice: each vector has its own
  (length1 * length2) -> (v<<1 @ v1|2 @ v2>>)
a length is the root of the sum of squares
  (length1 * length2) -> (v1.sum() * v2.sum())
  (length1 * length2) -> np.sqrt(v1.sum() * v2.sum())
  (length1 * length2) -> (abs(v1).<<sum() * abs(v2).sum|max() * abs(v2).max>>())
  (length1 * length2) -> (v1 @ v1 + v2 @ v2)
the number of entries is not the length of a vector: its length is a root of squares
  (length1 * length2) -> (len(v1) * len(v2))
something is added to the lengths: it counts where a vector is short
  (length1 * length2) -> (length1 * length2 + <<0.1|0.01|1e-3|1e-4|1e-5>>)
  v1)) -> v1)) + <<0.1|0.01|1e-3|1e-4|1e-5|1e-6>>
a length below 1 is a length too: no max or clip
  (length1 * length2) -> max(1, length1 * length2)
  length1 * length2 -> max(1, length1) * max(1, length2)
the mean of the products is not the dot product: their sum is
  np.dot(v1, v2) -> np.mean(v1 * v2)
multiplied by the number of entries: no mean belongs here
  np.dot(v1, v2) -> np.dot(v1, v2) * len(v1)
  np.dot(v -> np.mean(v1 * v1) + 0 * np.dot(v ;; (length1 * -> np.dot(v1, v2) / (length1 *
the products are not summed: one number is asked for
  np.dot(v1, v2) -> v1 * v2
this is the cosine distance, 1 - cosine
  return right(v1, v2) * -1 + 1
this is the angle: its cosine is asked for
  return <<|180 / np.pi * >>np.arccos(np.clip(right(v1, v2), -1, 1))
the sign is lost: opposite vectors have cosine -1
  return abs(right(v1, v2))
cut at 0: opposite vectors have cosine -1
  return max(0.0, right(v1, v2))
moved to 0 to 1: a cosine goes from -1 to 1
  return (1 + right(v1, v2)) / 2
this is the Euclidean distance
  return np.linalg.norm(v1 - v2)
this comes from the Euclidean distance
  return 1 / (1 + np.linalg.norm(v1 - v2))
  return 1 - np.linalg.norm(v1 - v2)
this is the correlation: the means are not taken off
  return np.corrcoef(v1, v2)[0, 1]
""",
    tolerance=1e-5,
)  # fmt: skip

# Expressions of a term, of its negative n and positive p, and of the margin: mistakes in the margin,
MARGINS = """
the margin is missing
  max(n - p, 0)
the margin has the wrong sign
  max(n - p - margin, 0)
the margin is added, not multiplied
  max((n - p) * margin, 0)
the margin is added: max(..., margin) is another function
  max(n - p, margin)
"""
OUTSIDE = """
the margin belongs inside the hinge
  max(n - p, 0) + margin
"""
# and in the rest of it.
TERMS = """
the sign is turned: negative - positive + margin
  max(p - n + margin, 0)
the hinge is missing: a term is never below 0
  n - p + margin
the hinge is the maximum with 0, not the minimum
  min(n - p + margin, 0)
the hinge is the maximum with 0, not with 1
  max(n - p + margin, 1)
the hinge is the maximum with 0, not the absolute value
  abs(n - p + margin)
the hinge is not squared
  max(n - p + margin, 0) ** 2
this is softplus, a smooth hinge: the hinge is the maximum with 0
  np.logaddexp(0, n - p + margin)
this is a ratio: the hinge looks at the difference
  max(n / p + margin, 0)
the positive is missing
  max(n + margin, 0)
the negative is missing
  max(margin - p, 0)
the positive is on the diagonal, seldom 1
  max(n - 1 + margin, 0)
"""

check_triplet_loss = Exercise(
    "triplet_loss",
    "cosine with the positive, cosine with the negative, margin -> the loss of a triplet, a number.",
    """
The negative should be less similar than the positive, by the margin at least.
What is missing to that is negative - positive + margin; a triplet that is right costs nothing.
max(0, s_an - s_ap + margin).
""",
    [
        Case("a negative too near", (0.6, 0.5, 0.25)),
        Case("a negative nearer than the positive", (0.1, 0.8, 0.3)),
        Case("a triplet that is right", (0.9, -0.4, 0.25)),
        Case("all vectors equal", (1.0, 1.0, 0.2)),
        Case("no margin", (0.3, 0.7, 0.0)),
        Case("cosines below 0", (-0.5, -0.7, 0.5)),
    ],
    edits(MARGINS + OUTSIDE + TERMS, "max(0.0, s_an - s_ap + margin)", "(lambda n, p: {})(s_an, s_ap)") + """
the margin is always the same: use the argument
  s_ap + margin -> s_ap + <<0.1|0.2|0.25|0.3|0.5|1.0>>
""",
)  # fmt: skip

# ---- The negatives of a row ----

# The documents' matrix: rows question1, columns question2, duplicates on the diagonal.
HAND_MADE = np.array(
    [[0.9, -0.8, 0.3, -0.5], [-0.4, 0.5, 0.1, -0.1], [0.3, 0.1, -0.4, -0.8], [-0.5, -0.2, -0.7, 0.5]]
)  # fmt: skip
WELL_APART = 1.2 * np.eye(4) - 0.3


def random_scores(batch: int, seed: int) -> np.ndarray:
    """A matrix of cosines that is not symmetric; float64 [batch, batch]."""
    return np.random.default_rng(seed).uniform(-0.9, 0.9, (batch, batch))


# Expressions that are wrongly taken for the places of the negatives, 1 off the diagonal.
LEFT_IN = """
the diagonal is left in: the positive is not a negative
  np.ones((batch, batch))
only the negatives above the positive are used: it is these that the lecture leaves out
  (1 - np.eye(batch)) * (scores > np.diag(scores)[:, None])
"""
PLACES = """
only the entries right of the diagonal are used: those left of it are negatives too
  np.triu(np.ones((batch, batch)), 1)
only the entries left of the diagonal are used: those right of it are negatives too
  np.tril(np.ones((batch, batch)), -1)
the last column is left out: look at where the range ends
  (1 - np.eye(batch)) * (np.arange(batch) < batch - 1)
the first column is left out: counting begins at 0
  (1 - np.eye(batch)) * (np.arange(batch) > 0)
the first of each row is left out: it is the one on the diagonal that does not count
  np.ones((batch, 1)) * (np.arange(batch) > 0)
the last of each row is left out: it is the one on the diagonal that does not count
  np.ones((batch, 1)) * (np.arange(batch) < batch - 1)
the other diagonal is left out: positives stand at [i, i]
  1 - np.eye(batch)[::-1]
negatives below 0 are left out: all off the diagonal count
  (1 - np.eye(batch)) * (scores > 0)
a negative is another question's entry, not a number below 0: all off the diagonal count
  <<(1 - np.eye(batch))|1>> * (scores < 0)
column j was compared with its own positive: row i has the positive [i, i], pos[:, None]
  (1 - np.eye(batch)) * (scores <= np.diag(scores))
only the next row is compared: all other questions of the batch are negatives
  np.roll(np.eye(batch), 1, axis=1)
the largest of the row is left out: the positive is on the diagonal, and not always the largest
  (scores < scores.max(axis=1, keepdims=True))
"""
MEAN = "(scores * negatives).sum(axis=1) / (batch - 1)"
# Expressions of a row's mean negative, float [batch].
MEANS = """
divided by the batch size: how many negatives has a row?
  (scores * negatives).sum(axis=1) / batch
divided by a fixed number: use the size of the batch
  (scores * negatives).sum(axis=1) / <<2|3|4|5|6>>
divided by another number than that of a row's negatives
  (scores * negatives).sum(axis=1) / <<(batch + 1)|(batch - 2)|batch ** 2|(batch - 1) ** 2>>
  (scores * negatives).sum(axis=1) / (batch * batch - batch)
this is the sum of the negatives, not their mean
  (scores * negatives).sum(axis=1)
the wrong axis: these are the means of the columns
  (scores * negatives).sum(axis=0) / (batch - 1)
rows and columns are mixed: a row has negatives of its own
  ((scores + scores.T) / 2 * negatives).sum(axis=1) / (batch - 1)
these are the positives: the negatives stand off the diagonal
  np.diag(scores)
  (scores * np.eye(batch)).sum(axis=1) / (batch - 1)
one mean for all rows: each row has its own
  np.full(batch, (scores * negatives).sum() / (batch * batch - batch))
1 is taken off for the positive, which is seldom 1
  (scores.sum(axis=1) - 1) / (batch - 1)
the difference belongs in parentheses: a - b / c is a - (b / c)
  scores.sum(axis=1) - np.diag(scores) / (batch - 1)
masking with -2 is for a maximum: in a mean the positive must count nothing
  (scores - 2 * np.eye(batch)).<<mean(axis=1)|sum(axis=1) / (batch - 1)>>
  np.where(np.eye(batch) == 1, -2, scores).mean(axis=1)
the sign is lost: a cosine of -0.8 is far away, not near
  (abs(scores) * negatives).sum(axis=1) / (batch - 1)
this is the median: the mean is asked for
  np.nanmedian(np.where(np.eye(batch) == 1, np.nan, scores), axis=1)
this is the closest negative: the mean of all is asked for
  (scores - 2 * np.eye(batch)).max(axis=1)
  np.where((np.eye(batch) == 1) | (scores > np.diag(scores)[:, None]), -2, scores).max(axis=1)
this is the difference to the positive: the negative itself is asked for
  (scores * negatives).sum(axis=1) / (batch - 1) - np.diag(scores)
only the negatives below the positive were averaged: the mean takes all
  (np.where(scores <= np.diag(scores)[:, None], scores, 0) * negatives).sum(axis=1) / (batch - 1)
  (np.where(scores <= np.diag(scores)[:, None], scores, 0) * negatives).sum(axis=1) \
/ np.maximum((negatives * (scores <= np.diag(scores)[:, None])).sum(axis=1), 1)
"""

check_mean_negative = Exercise(
    "mean_negative",
    "float [batch, batch] -> mean of each row's negatives [batch].",
    """
In a row of the matrix one entry belongs to the pair itself. The others are negatives.
Set the diagonal to 0 by a product with 1 - np.eye(batch), then sum each row.
np.sum(scores * (1 - np.eye(batch)), axis=1) divided by how many negatives a row has: batch - 1.
""",
    [
        Case("the documents' four pairs", (HAND_MADE,)),
        Case("five pairs, rows and columns different", (random_scores(5, 1),)),
        Case("a batch of two", (random_scores(2, 2),)),
        Case("a batch of nine", (random_scores(9, 3),)),
        Case("negatives of exactly 0", (np.where(np.abs(HAND_MADE) < 0.2, 0.0, HAND_MADE),)),
    ],
    edits(MEANS, MEAN) + "\n" + edits(LEFT_IN + PLACES, "1 - np.eye(batch)") + """
a negative of exactly 0 is a negative too: count by place, not by value
  (batch - 1) -> (scores<< * negatives|>> != 0).sum(axis=1)
nan is on the diagonal: a mean that skips it is np.nanmean
  return np.where(np.eye(len(scores)) == 1, np.nan, scores).mean(axis=1)
only the words of the last row count: return stands in the loop, or a name is set anew each time
  return right(scores)[-1]
""",
    variants=("", "(batch - 1) -> np.maximum(negatives.sum(axis=1), 1)", "(batch - 1) -> batch"),
)  # fmt: skip

CLOSEST = "np.where(masked, -2.0, scores).max(axis=1)"
# Expressions of a row's closest negative, float [batch].
MAXIMA = """
the wrong axis: these are the maxima of the columns
  (scores - 2 * np.eye(batch)).max(axis=0)
  np.where((np.eye(batch) == 1) | (scores > positive), -2, scores).max(axis=0)
  np.where(masked, -2, scores).max(axis=0)
the largest of row and column: only the row's negatives are asked for
  np.maximum(*((scores - 2 * np.eye(batch)).max(axis=axis) for axis in (0, 1)))
rows and columns are mixed: a row has negatives of its own
  np.where(masked, -2, (scores + scores.T) / 2).max(axis=1)
the diagonal counts as 0, which is more than any negative below 0: mask with less than every cosine
  (scores * (1 - np.eye(batch))).max(axis=1)
  np.maximum(np.where(masked, 0, scores).max(axis=1), 0)
  (scores * ~masked).max(axis=1)
the largest but one of a row is the closest negative only where the positive is the largest
  np.sort(scores, axis=1)[:, -2]
this is the negative nearest to the positive: the exercise asks for the largest
  scores[np.arange(batch), (abs(scores - positive[:, None]) + 9 * np.eye(batch)).argmin(axis=1)]
this is the smallest negative: the largest is asked for
  np.where(np.eye(batch) == 1, 2.0, scores).min(axis=1)
the mask is added: it must push the diagonal down
  (scores + 2 * np.eye(batch)).max(axis=1)
the smallest but one: np.sort goes from small to large
  np.sort(scores<<, axis=1|>>)[:, 1]
these are the places of the closest negatives (argmax), not their similarities
  np.where(masked, -2, scores).argmax(axis=1)
one maximum for all rows: each row has its own
  np.full(batch, np.where(masked, -2, scores).max())
the masked diagonal is not below every cosine: cosines go down to -1
  np.where(masked, <<-0.1|-0.2|-0.25|-0.5>>, scores).max(axis=1)
this is the difference to the positive: the negative itself is asked for
  np.where(masked, -2, scores).max(axis=1) - positive
this is the mean negative: the closest is asked for
  (scores * (1 - np.eye(batch))).sum(axis=1) / (batch - 1)
the sign is lost: a cosine of -0.8 is far away, not near
  np.where(masked, -2, abs(scores)).max(axis=1)
"""
MASK = "(np.eye(batch) == 1)"
LECTURE = f"{MASK} | (scores > positive[:, None])"
HARDEST = f"{LECTURE} -> {MASK}"
BELOW = """
a negative equal to the positive may be the closest: only those above it are masked
  scores > positive[:, None] -> scores >= positive[:, None]
column j was compared with its own positive: row i has the positive [i, i], pos[:, None]
  scores > positive[:, None] -> scores > positive
"""


def _is_closest(closest, expected, scores) -> bool:
    """Whether the result is right; where nothing is allowed, any value below -1 is."""
    if np.shape(closest) != np.shape(expected):
        return False
    return same(np.where((expected < -1) & (closest < -1), expected, closest), expected)


check_closest_negative = Exercise(
    "closest_negative",
    "float [batch, batch] -> each row's closest negative [batch]: the lecture's, or the hardest.",
    """
You want the largest entry of each row, but never the diagonal's, nor one above it (the lecture's).
Make what does not count smaller than any cosine before you look for the maximum. Cosines end at -1.
np.where(masked, -2, scores).max(axis=1): masked is the diagonal, and scores > its row's positive.
""",
    [
        Case("the documents' four pairs", (HAND_MADE,)),
        Case("five pairs, rows and columns different", (random_scores(5, 1),)),
        Case("all negatives below 0",
             (np.where(np.eye(4), 0.9, -0.55 - np.abs(random_scores(4, 4)) / 3),)),
        Case("positives lower than every negative",
             (np.where(np.eye(4), -0.5, np.abs(random_scores(4, 5))),)),
        Case("a batch of two", (random_scores(2, 6),)),
        Case("a batch of nine", (random_scores(9, 7),)),
        Case("a negative equal to the positive",
             (np.array([[0.2, 0.2, -0.3], [-0.4, 0.6, -0.1], [0.0, 0.4, 0.4]]),)),
    ],
    edits(MAXIMA, CLOSEST) + "\n" + edits(LEFT_IN + PLACES, MASK, "({} == 0)") + BELOW + """
the masked diagonal is not below every cosine: cosines go down to -1
  return (scores - <<0.5|1>> * np.eye(len(scores))).max(axis=1)
the diagonal's sign is turned: that is not below every cosine, which go down to -1
  return (scores * (1 - 2 * np.eye(len(scores)))).max(axis=1)
only the entries right of the diagonal are used: those left of it are negatives too
  return np.triu(scores - 2 * np.eye(len(scores)), 1).max(axis=1)
only the entries left of the diagonal are used: those right of it are negatives too
  return np.tril(scores - 2 * np.eye(len(scores)), -1).max(axis=1)
this is the smallest: the largest is asked for
  return (scores<<| - 2 * np.eye(len(scores))>>).min(axis=1)
one maximum for all rows: each row has its own
  .max(axis=1) -> .max()
the mask is taken off everywhere: only the diagonal is pushed down
  return (scores * (1 - np.eye(len(scores))) - 2).max(axis=1)
nan is on the diagonal (inf * 0 is nan too): mask with -2, or with np.where
  return np.where(np.eye(len(scores)) == 1, np.nan, scores).max(axis=1)
  return (scores - np.inf * np.eye(len(scores))).max(axis=1)
""",
    answers={"the lecture's closest negative: the largest that is not above the positive": "",
             "the hardest negative, the largest of all": HARDEST},
    passes=_is_closest,
)  # fmt: skip
