"""B-cubed: the reference is a loop over items, as in Amigo et al. (2009)."""

import numpy as np
import pytest

from siamese.errors import DataError
from siamese.evaluation.clustering import b_cubed


def reference(found, truth, items):
    precision, recall = [], []
    for i in items:
        group = {j for j in range(len(found)) if found[j] == found[i]}
        true = {j for j in range(len(found)) if truth[j] == truth[i]}
        precision.append(len(group & true) / len(group))
        recall.append(len(group & true) / len(true))
    return np.mean(precision), np.mean(recall)


@pytest.mark.parametrize("seed", range(5))
def test_equals_the_loop(seed):
    rng = np.random.default_rng(seed)
    found, truth = rng.integers(0, 9, 60), rng.integers(0, 12, 60)
    counted = rng.random(60) < 0.5
    for mask, items in ((None, range(60)), (counted, np.flatnonzero(counted))):
        precision, recall = reference(found, truth, items)
        f = 2 * precision * recall / (precision + recall)
        assert b_cubed(found, truth, counted=mask) == pytest.approx((precision, recall, f))


def test_names_do_not_matter_and_extremes_are_known():
    truth = ["a", "a", "b", "c"]
    assert b_cubed([7, 7, 3, 9], truth) == (1, 1, 1)
    assert b_cubed([0, 1, 2, 3], truth)[:2] == (1, 0.75)
    assert b_cubed([0, 0, 0, 0], truth)[:2] == (0.375, 1)
    for found, wrong in (([], []), ([1], [1, 2])):
        with pytest.raises(DataError, match="B-cubed"):
            b_cubed(found, wrong)
