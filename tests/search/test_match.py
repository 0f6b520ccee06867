"""Matches between two lists: the references are the whole matrix and SciPy's dense assignment."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from small_models import make_detector, random_questions

from siamese.errors import ArgumentError
from siamese.search.nearest import assign, match_questions


@pytest.mark.parametrize(("n", "m"), [(30, 30), (40, 20), (12, 50)])
@pytest.mark.parametrize("threshold", [-1.0, 0.0, 0.6])
def test_assignment_equals_the_dense_one(n, m, threshold):
    scores = np.random.default_rng(n).uniform(-1, 1, (n, m)).astype(np.float32)
    gain = np.maximum(scores.astype(np.float64) - threshold, 0)  # no partner is worth 0
    best = gain[linear_sum_assignment(gain, maximize=True)].sum()
    rows = np.argsort(-scores, axis=1)
    cosines = np.take_along_axis(scores, rows, axis=1)
    places = assign(rows, cosines, m, threshold)
    taken = np.flatnonzero(places >= 0)
    partners = rows[taken, places[taken]]
    assert len(set(partners.tolist())) == len(partners)
    assert gain[taken, partners].sum() == pytest.approx(best)
    assert (scores[taken, partners] > threshold).all()


def test_best_matches_are_those_of_the_whole_matrix():
    detector = make_detector()
    a, b = [*random_questions(20), ""], [*random_questions(30, seed=2), " "]
    scores = detector.encode(a) @ detector.encode(b[:-1]).T
    found = match_questions(detector, a, b, k=3)
    assert found[-1] == [] and [len(matches) for matches in found[:-1]] == [3] * 20
    for row, matches in zip(scores[:-1], found):
        assert [cosine for _, cosine in matches] == pytest.approx(np.sort(row)[:-4:-1], abs=1e-6)
        assert all(row[at] == pytest.approx(cosine, abs=1e-6) for at, cosine in matches)
    with pytest.raises(ArgumentError, match="k must be"):
        match_questions(detector, a, b, k=0)
    assert match_questions(detector, ["how far"], [""]) == [[]]


def test_one_to_one_uses_nothing_twice():
    detector = make_detector()
    a, b = ["how far", "how far ?", "how far", "what is rice"], ["how far", "what is rice"]
    found = match_questions(detector, a, b, one_to_one=True, threshold=0.99)
    rows = [row for matches in found for row, _ in matches]
    assert sorted(rows) == [0, 1] and found[3][0][0] == 1
