"""Which groups new questions of a list join."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from siamese.model.decision import Rule


def join_groups(
    vectors: np.ndarray,
    labels: np.ndarray,
    new: np.ndarray,
    own: np.ndarray,
    rule: Rule,
    shifts: np.ndarray | None = None,
) -> np.ndarray:
    """The group of each new question: that with the largest mean cosine above a threshold, or its own.

    Old questions have int64 labels [n]; new ones, [m], join one after the other, and
    may join each other. `own`, int64 [m], is the label of each where it joins none.
    `rule` is that of the old questions and then the new ones, and so are `shifts`,
    float32 [n + m], those of `average_linkage`.
    """
    vectors = np.concatenate([vectors, new])
    labels = np.append(labels, own)
    shifts = np.zeros(len(labels), np.float32) if shifts is None else shifts
    for at in range(len(labels) - len(own), len(labels)):
        vector = vectors[at]
        best = rule.threshold
        near = np.flatnonzero(
            vectors[:at] @ vector - shifts[:at] - shifts[at] > rule.threshold
        )
        penalties = np.zeros(len(near), np.float32)
        if rule.penalties is not None:
            penalties = rule.penalties(near, np.full(len(near), at))
        for label in np.unique(labels[near]):
            members = labels[:at] == label
            mean = vectors[:at][members].mean(axis=0)
            cosine = mean @ vector - shifts[:at][members].mean() - shifts[at]
            largest = penalties[labels[near] == label].max()
            score = cosine - largest
            may_join = rule.joins is None or rule.joins(
                mean[None], vector[None], largest[None]
            )
            if score > best and may_join:
                best = score
                labels[at] = label
    return labels[len(labels) - len(own) :]


def labels_of_new(
    vectors: np.ndarray,
    n: int,
    groups_with: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    rule: Rule,
    is_known: Callable[[np.ndarray], np.ndarray],
    shifts: np.ndarray | None = None,
) -> np.ndarray:
    """The groups of the questions from place `n` on, which are new: int64 labels [len(vectors) - n].

    A new question joins the group that fits best (`join_groups`), or has its own place
    as its label. `rule` is that of all questions; `shifts`, float32 [len(vectors)], are
    those of `average_linkage`.

    Two functions know the questions. `groups_with` gives, for some of the former
    places, all places of their groups, int64 [m], and the labels of these, int64 [m]: a
    place of each one's group. `is_known` says of places whether the model knows a word
    there, bool; other questions stay alone.
    """
    labels = np.arange(n, len(vectors))
    new = labels[is_known(labels)]
    is_similar = np.zeros(n, bool)
    for start in range(0, len(new), 64):
        some = new[start : start + 64]
        cosines = vectors[:n] @ vectors[some].T
        if shifts is not None:
            cosines -= shifts[:n, None] + shifts[some]
        is_similar |= (cosines > rule.threshold).any(axis=1)
    near = np.flatnonzero(is_similar)
    old, firsts = groups_with(near[is_known(near)])
    places = np.append(old, new)
    own = None if shifts is None else shifts[places]
    labels[new - n] = join_groups(
        vectors[old], firsts, vectors[new], new, rule.of_rows(places), own
    )
    return labels
