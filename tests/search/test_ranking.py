"""The order of hits: sorts of all products, BM25 by a loop over its formula, and their sum in NumPy."""

import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
import Stemmer
from small_models import make_detector, make_mixed_detector, random_questions

from siamese.data.text import folded
from siamese.errors import ArgumentError
from siamese.search.index import QuestionIndex
from siamese.search.nearest import TILE, best_rows, cosines_with, match_questions, top_k

STEMMER = Stemmer.Stemmer("english")


def bm25_by_hand(texts, question):
    """The formula of the docstring, word by word."""

    def stems(text):
        return [STEMMER.stemWord(word) for word in re.findall(r"\w+", folded(text))]

    rows = list(map(stems, texts))
    mean = sum(map(len, rows)) / len(rows)
    scores = np.zeros(len(rows))
    for word in stems(question):
        with_word = sum(word in row for row in rows)
        idf = math.log(1 + (len(rows) - with_word + 0.5) / (with_word + 0.5))
        for at, row in enumerate(rows):
            c = row.count(word)
            scores[at] += idf * c * 2.2 / (c + 1.2 * (0.25 + 0.75 * len(row) / mean))
    return scores


@pytest.mark.parametrize(
    ("n", "k"), [(0, 1), (1, 100), (TILE + 1, 1), (TILE + 1, 100), (20_001, 100)]
)
def test_top_k_equals_brute_force_alone_and_in_company(n, k):
    rng = np.random.default_rng(n + k)
    vectors = rng.standard_normal((n, 16)).astype(np.float32)
    queries = rng.standard_normal((500, 16)).astype(np.float32)
    rows, products = top_k(vectors, queries, k)
    scores = vectors.astype(np.float64) @ queries.astype(np.float64).T  # [n, 500]
    best = -np.sort(-scores, axis=0)[:k]
    np.testing.assert_allclose(np.take_along_axis(scores, rows.T, 0), best, atol=1e-5)
    np.testing.assert_allclose(products, best.T, atol=1e-5)
    for i in (0, 430):
        alone = top_k(vectors, queries[i : i + 1], k)
        np.testing.assert_array_equal(alone[0][0], rows[i])
        np.testing.assert_array_equal(alone[1][0], products[i])


@pytest.mark.parametrize("rows", [0, 9, 5_000, 5_063])  # The last two by the maxima of tiles.
@pytest.mark.parametrize("different", [1, 40, 10_000])  # Many equal scores, and few.
def test_best_rows_are_those_of_a_whole_sort(rows, different):
    rng = np.random.default_rng(rows + different)
    scores = (rng.integers(0, different, rows) * (rng.random(rows) < 0.5)).astype(np.float32)
    for k, least in ((1, 1e-30), (60, 1e-30), (60, -np.inf)):
        order = np.argsort(-scores, kind="stable")
        assert best_rows(scores, k, least).tolist() == order[scores[order] >= least][:k].tolist()


def test_a_question_without_words_matches_nothing():
    found = match_questions(make_detector(), ["how far", ""], [" ", "rice", "how far"], k=3)
    assert [[row for row, _ in matches] for matches in found] == [[2, 1], []]
    assert found[0][0][1] == pytest.approx(1, abs=1e-6)
    with pytest.raises(ArgumentError, match="k must be"):
        match_questions(make_detector(), ["how far"], ["rice"], k=0)


def test_no_cosine_is_above_1():
    """Also where rounding makes a vector longer than 1."""
    long = np.full((3, 7), np.float32(7**-0.5) * np.float32(1 + 1e-6), np.float32)
    assert np.vecdot(long, long).max() > 1 and cosines_with(long, long).max() == 1
    detector = SimpleNamespace(encode=lambda texts: long[: len(texts)])
    assert match_questions(detector, ["a", "b"], ["c"]) == [[(0, 1.0)], [(0, 1.0)]]


@pytest.mark.parametrize("make, weight", [(make_detector, 0.6), (make_mixed_detector, 0.75)])
def test_hybrid_is_the_weighted_sum_of_both_over_the_union(make, weight, tmp_path):
    detector, question = make(threshold=0.5), "how far is rice ?"
    detector.calibration = lambda cosine: (np.asarray(cosine) + 1) / 2
    index = QuestionIndex.build(detector, random_questions(400), path=tmp_path / "i")
    index.remove(range(0, 30, 3))
    index.add(["How FAR is “rice”, rice rice?", *random_questions(15, seed=5)])
    index.add("zanzibars how")  # "zanzibar" in another form
    index.remove([405, 17])
    loaded = QuestionIndex.open(tmp_path / "i", detector)
    assert index.vector_weight == loaded.vector_weight == weight
    texts = {entry["id"]: entry["question"] for entry in index.entries}
    words = bm25_by_hand(texts.values(), question)
    cosines = detector.similarity(question, [*texts.values()])
    near = np.argsort(-np.vecdot(index.vectors, detector.encode(question)), kind="stable")[:300]
    shared = np.argsort(-words, kind="stable")[:300]
    union = np.union1d(near, shared[words[shared] > 0])
    z = [(v - v[union].mean()) / v[union].std() for v in (cosines, words)]
    for w in (None, 1, 0):
        own = weight if w is None else w
        expected = own * z[0] + (1 - own) * z[1]
        score_of = dict(zip(texts, expected))
        hits = index.search(question, k=50, vector_weight=w)
        scores = [score_of[hit.id] for hit in hits]
        np.testing.assert_allclose(scores, -np.sort(-expected[union])[:50], atol=1e-4)
        similarity = detector.similarity(question, [hit.question for hit in hits])
        np.testing.assert_allclose([hit.similarity for hit in hits], similarity, atol=1e-5)
        assert hits == loaded.search(question, k=50, vector_weight=w)
    assert [hit.is_duplicate for hit in hits] == (similarity > 0.5).tolist()
    np.testing.assert_allclose([hit.probability for hit in hits], (similarity + 1) / 2, atol=1e-5)
    # Words alone.
    hits = index.search(question, k=500, mode="words")
    assert {hit.id for hit in hits} == {i for i, score in zip(texts, words) if score > 0}
    scores = [score_of[hit.id] for hit in hits]
    np.testing.assert_allclose(scores, -np.sort(-np.array(scores)), atol=1e-4)
    assert index.search("zanzibar way", mode="words")[0].question.startswith("zanzibars")
    assert index.search("xyzzy plugh", mode="words") == []
