"""What a trained model decides by, fitted on labelled pairs that it was not trained on.

With `LEAST_PAIRS` labelled pairs a model of several parts gets a curve of its parts'
cosines (`siamese.model.decision.PartsCurve`), fitted so that it is right less what the
near-miss check doubts; with fewer its cosine decides, less the penalty of the check.
With `TREE_PAIRS` it gets trees beside the curve. They are boosted as Friedman (2001)
does: each tree is fitted to what the pairs' labels and the probabilities so far differ
in, by a Newton step (Chen and Guestrin, 2016), and adds a small part of that. The first
probabilities are those of the curve less the doubts, so that few labels change little.
At last steepness and shift of the logits are fitted to the same pairs.

Tried on Quora's validation rows and left out: trees from nothing, which need 6,000 pairs
to reach the curve less the doubts, and a logistic regression of parts and features,
which is behind both at 1,000 pairs. Trees of 1,000 pairs are behind the curve less the doubts
where no question was seen. Edits of the pairs by rule among those that the trees are
fitted on keep more near misses apart, and cost more of the rows' ROC AUC than doubts
that count more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from siamese.encoders.protocol import Encoder
from siamese.evaluation.calibration import fit_calibration, logistic
from siamese.model.decision import (
    DOUBT,
    Compared,
    Questions,
    fit_parts,
    part_cosines,
)
from siamese.model.near_miss_features import FALLING, FEATURES
from siamese.model.near_misses import NearMissCheck
from siamese.model.trees import Trees
from siamese.nn.nearest import cosines_with
from siamese.system.open_types import JsonObject

LEAST_PAIRS = 100
TREE_PAIRS = 3000
# Of the trees, chosen by validation rows.
TREES = 60
RATE = 0.08
LEAVES = 5
LEAST_IN_LEAF = 30  # pairs
SHRINKAGE = 5.0  # of the Newton step


def fit_own_check(
    encoder: Encoder, one: Questions, two: Questions, labels: np.ndarray
) -> JsonObject:
    """Curve and trees of pairs with labels, bool [n], of both kinds: see `fit_compared`."""
    parts = part_cosines(encoder, one.vectors, two.vectors)
    whole = cosines_with(one.vectors, two.vectors)
    return fit_compared(parts, whole, list(one.texts), list(two.texts), labels)


def fit_compared(
    cosines: np.ndarray,  # of the parts, float [n, parts]
    whole: np.ndarray,  # of the whole vectors, float [n]
    texts: Sequence[str],  # n, as the encoder reads them
    others: Sequence[str],
    labels: np.ndarray,  # bool [n], of both kinds
) -> JsonObject:
    """The threshold, the curve as plain values, and `trees`, None of fewer than `TREE_PAIRS`.

    For errors see `siamese.evaluation.metrics.check_scores`.
    """
    check = NearMissCheck.shipped()
    rows = check.features(texts, others, cosines[:, 0])
    curve = fit_parts(cosines, whole, labels, DOUBT * check.doubts(rows))
    if len(labels) < TREE_PAIRS:
        return {**curve.fit, "trees": None}
    compared = Compared.of(curve, check, cosines, rows)
    trees = fit_trees(compared, labels)
    logits = compared.judged(trees)
    curve = curve.with_cuts(logistic(logits), whole)
    scale = fit_calibration(logits, labels)
    if scale.slope > 0:
        curve = replace(curve, steepness=scale.slope, shift=scale.intercept)
    return {**curve.fit, "trees": trees}


def fit_trees(compared: Compared, labels: np.ndarray) -> Trees:
    """Trees that add to the logits of pairs with labels, bool [n], what their numbers tell beside them."""
    from sklearn.tree import DecisionTreeRegressor

    rows = compared.have_common
    numbers = compared.numbers[rows]
    labels = labels[rows].astype(np.float64)
    logits = compared.logits[rows]
    parts = numbers.shape[1] - len(FEATURES) - 1
    # The trees rise with the logits and the cosines and fall with the doubts and the
    # numbers of `FALLING`, but for the shrinkage, by which leaves of few pairs say less.
    rising = [1, -1, *[1] * parts, *(-(name in FALLING) for name in [*FEATURES][1:])]
    found = []
    for seed in range(TREES):
        # The gradient and the curvature of the logistic loss.
        chances = logistic(logits)
        gradient = labels - chances
        curvature = np.maximum(chances * (1 - chances), 1e-6)
        tree = DecisionTreeRegressor(
            max_leaf_nodes=LEAVES,
            min_samples_leaf=LEAST_IN_LEAF,
            monotonic_cst=rising,
            random_state=seed,
        ).fit(numbers, gradient / curvature, sample_weight=curvature)
        nodes = tree.tree_
        leaf = tree.apply(numbers)
        sums = np.bincount(leaf, gradient, nodes.node_count)
        steps = sums / (np.bincount(leaf, curvature, nodes.node_count) + SHRINKAGE)
        logits = logits + RATE * steps[leaf]
        found.append(_arrays_of(nodes, RATE * steps))
    return Trees.joined(found)


def _arrays_of(nodes: Any, values: np.ndarray) -> dict[str, np.ndarray]:
    """The arrays of a tree of scikit-learn, as `Trees.joined` takes them."""
    own = np.arange(nodes.node_count)
    is_leaf = nodes.children_left < 0
    return {
        "left": np.where(is_leaf, own, nodes.children_left),
        "right": np.where(is_leaf, own, nodes.children_right),
        "feature": np.where(is_leaf, 0, nodes.feature),
        "threshold": np.where(is_leaf, 0.0, nodes.threshold),
        "value": np.where(is_leaf, values, 0.0),
        "depth": nodes.max_depth,
    }
