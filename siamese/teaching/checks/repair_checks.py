"""Checks of notebook 06: the mean without padding, and the false negatives of a batch."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np

from .expect import expect_close, expect_unchanged
from .score import Exercise, Score

# ---- masked_mean ----

masked = Exercise("masked_mean", "masked_mean(states, tokens)")


def mean_over_words(states, tokens, padding=1):
    """The reference, as a loop: float [batch, d]; zeros for a question of padding only."""
    rows = []
    for question, ids in zip(states, tokens):
        kept = [state for state, token in zip(question, ids) if token != padding]
        rows.append(np.mean(kept, axis=0) if kept else np.zeros(states.shape[2]))
    return np.array(rows)


def _states(shape, seed):
    return np.random.default_rng(seed).normal(size=shape)


def _masked_mistakes(states, tokens):
    real = tokens != 1
    kept = states * real[:, :, None]
    last = [np.flatnonzero(row)[-1] if row.any() else 0 for row in real]
    counts = np.maximum(real.sum(axis=1), 1)[:, None]
    found = [
        (states.mean(axis=1), "the padding is in the mean"),
        (kept.mean(axis=1), "divided by the whole length: divide by the number of real words"),
        (kept.sum(axis=1), "this is the sum of the words' states, not their mean"),
        (mean_over_words(states, tokens, 0), "token 0 was left out: padding is 1, and 0 an unknown word"),
        (kept.sum(axis=1) / real.sum(), "divided by the words of the whole batch: each row has its own"),
        (kept.sum(axis=1) / counts.max(), "each row was divided by the longest row's words"),
        (
            mean_over_words(states, np.where(tokens == 0, 1, tokens)),
            "unknown words (0) were left out with the padding (1): they are words",
        ),
        (np.array([s[i] for s, i in zip(states, last)]), "this is the last word's state, not the mean"),
        (states.max(axis=1), "this is a maximum, not a mean"),
        ((states * ~real[:, :, None]).sum(axis=1) / np.maximum((~real).sum(axis=1), 1)[:, None],
         "this is the mean over the padding: the mask is turned round"),
    ]  # fmt: skip
    if states.shape[1] == states.shape[2]:
        crossed = states * real[:, None, :]
        found.append(
            (
                crossed.sum(axis=1) / counts,
                "the mask met the wrong axis: [batch, length] lines up with the last two axes, not the "
                "first two",
            )
        )
    return found


def _masked_case(name, shape, tokens, seed, hint=""):
    @masked.case(name)
    def _(fn):
        states, ids = _states(shape, seed), np.array(tokens, np.int32)
        given = states.copy(), ids.copy()
        wanted = mean_over_words(states, ids)
        expect_close(fn(*given), wanted, hint, mistakes=_masked_mistakes(states, ids))
        expect_unchanged("states", states, given[0])
        expect_unchanged("tokens", ids, given[1])


_masked_case("two questions of three and two words", (2, 4, 3), [[5, 6, 7, 1], [8, 9, 1, 1]], 1)
_masked_case(
    "no padding", (2, 3, 4), [[5, 6, 7], [8, 9, 2]], 2, "without padding it is a plain mean"
)
_masked_case(
    "unknown words",
    (2, 4, 3),
    [[0, 6, 0, 1], [0, 0, 1, 1]],
    3,
    "token 0 is a word that the vocabulary does not know: it counts",
)
_masked_case(
    "as many positions as numbers in a state",
    (2, 4, 4),
    [[5, 6, 7, 1], [8, 1, 1, 1]],
    4,
    "broadcast?",
)
_masked_case("as many questions as positions", (3, 3, 3), [[5, 6, 1], [8, 1, 1], [2, 3, 4]], 5)
_masked_case(
    "a question of padding only",
    (2, 3, 2),
    [[1, 1, 1], [5, 6, 1]],
    6,
    "no words: the vector is 0, not 0 / 0",
)


def check_masked_mean(fn) -> Score:
    """Checks ``masked_mean(states, tokens)``: [batch, length, d], [batch, length] -> [batch, d]."""
    return masked.check(fn)


# ---- count_false_negatives ----

false_negatives = Exercise("count_false_negatives", "count_false_negatives(clusters)")


def pairs_of_one_cluster(clusters) -> int:
    """The reference: ordered pairs (i, j), i != j, of equal clusters."""
    n = len(clusters)
    return sum(clusters[i] == clusters[j] for i in range(n) for j in range(n) if i != j)


def _false_case(name, clusters, hint=""):
    @false_negatives.case(name)
    def _(fn):
        n, counts = len(clusters), Counter(clusters)
        right = pairs_of_one_cluster(clusters)
        came = fn(np.array(clusters))
        mistakes = [
            (right + n, "the diagonal is counted: a question is no negative of itself"),
            (right / 2, "each pair is counted once: (i, j) and (j, i) stand in different rows"),
            (right / 2 + n, "each pair is counted once, and the diagonal is counted"),
            (
                sum(c for c in counts.values() if c > 1),
                "these are the rows that have a false negative",
            ),
            (n - len(counts), "these are the rows beyond the first of each cluster"),
            (
                sum(c > 1 for c in counts.values()),
                "these are the clusters that come more than once",
            ),
            (
                2 * sum(a == b for a, b in itertools.pairwise(clusters)),
                "only neighbours are compared",
            ),
            (sum(a == b for a, b in itertools.pairwise(clusters)), "only neighbours are compared"),
            (n * (n - 1) - right, "these are the true negatives"),
            (right / max(n * (n - 1), 1), "this is a share; the number of pairs is asked for"),
        ]
        expect_close(came, right, hint, mistakes=mistakes)


_false_case("three of one cluster", [7, 3, 7, 5, 7], "the matrix has both (i, j) and (j, i)")
_false_case("all different", [4, 1, 3, 2], "no two rows share a cluster: 0")
_false_case("all the same", [9, 9, 9, 9], "everything off the diagonal")
_false_case("two clusters, neighbours apart", [1, 2, 1, 2, 3, 1])
_false_case("clusters with names", ["age", "name", "age", "food"], "clusters may be any labels")
_false_case("cluster 0 and negative numbers", [0, -1, 0, -1, 0, 5], "0 is a cluster like any other")
_false_case("one row", [3], "one row has no negatives")


def check_count_false_negatives(fn) -> Score:
    """Checks ``count_false_negatives(clusters)``: labels [batch] -> ordered pairs (i, j) that share one."""
    return false_negatives.check(fn)
