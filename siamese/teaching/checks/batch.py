"""The cosine of two vectors, the loss of a triplet, the negatives of a batch and its modified loss."""

from __future__ import annotations

import re

import numpy as np

from .engine import Case, Exercise, call
from .submission import Function
from .tables import solutions

check_cosine_similarity = Exercise(
    "cosine_similarity",
    [
        Case("two vectors that are nearly parallel", (np.array([1.0, 2, 3]), np.array([1, 2, 3.5]))),
        Case("opposite vectors", (np.array([1.0, 2, 3]), -np.array([1.0, 2, 3]))),
        Case("vectors of very different lengths",
             (np.array([1e-4, 2e-4, -1e-4]), np.array([0.0, -42, 1]))),
        Case("a right angle", (np.array([2.0, 0, 1]), np.array([-1.0, 5, 2]))),
        Case("whole numbers", (np.array([1, 2, 3]), np.array([0, -42, 1]))),
        Case("a third vector", (np.array([3.0, 4, 1, 0]), np.array([5.0, -12, 0, 2]))),
    ],
)  # fmt: skip


check_triplet_loss = Exercise(
    "triplet_loss",
    [
        Case("a negative too near", (0.6, 0.5, 0.25)),
        Case("a triplet that is right", (0.9, -0.4, 0.25)),
        Case("three triplets at once", (np.array([0.1, 0.2, 0.7]), np.array([0.8, 0.9, -0.1]), 0.5)),
        Case("all vectors equal", (1.0, 1.0, 0.2)),
        Case("no margin", (0.3, 0.7, 0.0)),
        Case("cosines below 0", (-0.5, -0.7, 0.5)),
    ],
)  # fmt: skip

# ---- The negatives of a row ----

# The documents' matrix: rows question1, columns question2, duplicates on the diagonal.
HAND_MADE = np.array(
    [[0.9, -0.8, 0.3, -0.5], [-0.4, 0.5, 0.1, -0.1], [0.3, 0.1, -0.4, -0.8], [-0.5, -0.2, -0.7, 0.5]]
)  # fmt: skip
WELL_APART = 1.2 * np.eye(4) - 0.3


# The positive of row 0 lies below all its negatives, which are 2 above it less one tenth.
FAR_BELOW = np.array([[-0.9, 0.9, 0.8], [0.1, 0.3, 0.1], [0.2, 0.1, 0.4]])


def random_scores(batch: int, seed: int) -> np.ndarray:
    """A matrix of cosines that is not symmetric; float64 [batch, batch]."""
    return np.random.default_rng(seed).uniform(-0.9, 0.9, (batch, batch))


check_mean_negative = Exercise(
    "mean_negative",
    [
        Case("the documents' four pairs", (HAND_MADE,)),
        Case("five pairs, rows and columns different", (random_scores(5, 1),)),
        Case("a batch of two", (random_scores(2, 2),)),
        Case("a batch of nine", (random_scores(9, 3),)),
        Case("negatives of exactly 0", (np.where(np.abs(HAND_MADE) < 0.2, 0.0, HAND_MADE),)),
    ],
    variants=("", "(batch - 1) -> np.maximum(negatives.sum(axis=1), 1)", "(batch - 1) -> batch"),
)  # fmt: skip


def _closest(fn: Function, scores: np.ndarray) -> np.ndarray:
    """The result; where nothing is allowed, any value that costs nothing is as good as -2.

    That is below -1.25: with the margin 0.25 it costs nothing beside a positive of -1.
    """
    closest = call(fn, scores)
    right = call(solutions()["closest_negative"], scores)
    if closest.shape == right.shape:
        closest = np.where((closest < -1.25) & (right < -1), right, closest)
    return closest


def _reread_mask(sentence: str, code: str) -> str:
    """The largest of what is masked is the largest of the row: the results do not tell them apart."""
    inverted = re.search(r"where\([^,]+,\s*scores\s*,", code)
    if sentence.startswith("the diagonal is left in") and inverted:
        return "only the masked entries are kept: exactly these do not count"
    return sentence


check_closest_negative = Exercise(
    "closest_negative",
    [
        Case("the documents' four pairs", (HAND_MADE,)),
        Case("five pairs, rows and columns different", (random_scores(5, 1),)),
        Case("all negatives below 0",
             (np.where(np.eye(4), 0.9, -0.55 - np.abs(random_scores(4, 4)) / 3),)),
        Case("positives lower than every negative",
             (np.where(np.eye(4), -0.5, np.abs(random_scores(4, 5))),)),
        Case("a batch of two", (random_scores(2, 6),)),
        Case("a batch of nine", (random_scores(9, 7),)),
        Case("a positive of -0.9 below negatives of 0.9 and 0.8", (FAR_BELOW,)),
        Case("a negative equal to the positive",
             (np.array([[0.2, 0.2, -0.3], [-0.4, 0.6, -0.1], [0.0, 0.4, 0.4]]),)),
    ],
    observe=_closest,
    reread=_reread_mask,
)  # fmt: skip
