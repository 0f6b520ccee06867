"""The formulas as loops in NumPy float64: slow, plain, and what the fast code is compared with."""

import numpy as np


def cosine(a, b):
    """Cosine of two vectors; 0 where one is zero."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    lengths = np.sqrt((a * a).sum()) * np.sqrt((b * b).sum())
    return 0.0 if lengths == 0 else float((a * b).sum() / lengths)


def triplet_loss(
    scores,
    margin=0.25,
    closest="semi_hard",
    reduction="sum",
    direction="rows",
    same=None,
):
    """The modified triplet loss of a similarity matrix, row by row and pair by pair."""
    scores = np.asarray(scores, np.float64)
    n = len(scores)
    losses = []
    same = np.zeros((n, n)) if same is None else np.asarray(same)
    sides = {"rows": [(scores, same)], "columns": [(scores.T, same.T)]}
    sides["both"] = sides["rows"] + sides["columns"]
    for i in range(n):
        positive = scores[i, i]
        means = []
        nearests = []
        for some, excluded in sides[direction]:
            negatives = [some[i, j] for j in range(n) if j != i and not excluded[i, j]]
            if negatives:
                means.append(sum(negatives) / len(negatives))
            if closest != "hardest":
                negatives = [s for s in negatives if s <= positive]
            if negatives:
                nearests.append(max(negatives))
        terms = (sum(some) / len(some) for some in (means, nearests) if some)
        losses.append(sum(max(term - positive + margin, 0.0) for term in terms))
    return {"mean": np.mean, "sum": np.sum, "none": np.array}[reduction](losses)


def gradient(function, x, step=1e-6):
    """Central differences of a scalar function of one array."""
    x = np.array(x, np.float64)
    found = np.zeros_like(x)
    for index in np.ndindex(*x.shape):
        up, down = x.copy(), x.copy()
        up[index] += step
        down[index] -= step
        found[index] = (function(up) - function(down)) / (2 * step)
    return found
