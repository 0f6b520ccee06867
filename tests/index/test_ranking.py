"""The order of hits and the groups of a list, against loops, whole matrices and SciPy."""

import itertools
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
import Stemmer
from numpy.testing import assert_allclose, assert_array_equal
from refusals import refuses
from scipy.cluster import hierarchy
from small_models import make_detector, make_mixed_detector, random_questions

from siamese.errors import ArgumentError
from siamese.groups import linkage
from siamese.groups.grouping import duplicate_groups
from siamese.groups.joining import join_groups
from siamese.groups.linkage import average_linkage, strongest_pairs
from siamese.groups.local import COPY, NEAREST, list_weight, local_means
from siamese.index import QuestionIndex, weight_of
from siamese.model.decision import Rule
from siamese.model.match import match_questions
from siamese.nn.nearest import TILE, best_rows, cosines_with, top_k
from siamese.text.cleaning import folded

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
    assert_allclose(np.take_along_axis(scores, rows.T, 0), best, atol=1e-5)
    assert_allclose(products, best.T, atol=1e-5)
    for i in (0, 430):
        alone = top_k(vectors, queries[i : i + 1], k)
        assert_array_equal(alone[0][0], rows[i])
        assert_array_equal(alone[1][0], products[i])


# The last two by the maxima of tiles.
@pytest.mark.parametrize("rows", [0, 9, 5_000, 5_063])
@pytest.mark.parametrize("different", [1, 40, 10_000])  # Many equal scores, and few.
@pytest.mark.parametrize(("k", "least"), [(1, 1e-30), (60, 1e-30), (60, -np.inf)])
def test_best_rows_are_those_of_a_whole_sort(rows, different, k, least):
    rng = np.random.default_rng(rows + different)
    some = rng.integers(0, different, rows) * (rng.random(rows) < 0.5)
    scores = some.astype(np.float32)
    order = np.argsort(-scores, kind="stable")
    expected = order[scores[order] >= least][:k]
    assert best_rows(scores, k, least).tolist() == expected.tolist()


def test_a_question_without_words_matches_nothing():
    found = match_questions(
        make_detector(), ["how far", ""], [" ", "rice", "how far"], k=3
    )
    assert [[row for row, _ in matches] for matches in found] == [[2, 1], []]
    assert found[0][0][1] == pytest.approx(1, abs=1e-6)


def test_no_matches_cannot_be_asked_for():
    with refuses(ArgumentError, "k must"):
        match_questions(make_detector(), ["how far"], ["rice"], k=0)


def test_no_cosine_is_above_1():
    """Also where rounding makes a vector longer than 1."""
    long = np.full((3, 7), np.float32(7**-0.5) * np.float32(1 + 1e-6), np.float32)
    assert np.vecdot(long, long).max() > 1 and cosines_with(long, long).max() == 1
    detector = SimpleNamespace(encode=lambda texts: long[: len(texts)])
    assert match_questions(detector, ["a", "b"], ["c"]) == [[(0, 1.0)], [(0, 1.0)]]


@pytest.mark.parametrize(
    "make, weight", [(make_detector, 0.6), (make_mixed_detector, 0.75)]
)
def test_hybrid_is_the_weighted_sum_of_both_over_the_union(make, weight, tmp_path):
    question = "how far is rice ?"
    detector = make(
        threshold=0.5, calibration=lambda cosine: (np.asarray(cosine) + 1) / 2
    )
    index = QuestionIndex.build(detector, random_questions(400), path=tmp_path / "i")
    index.remove(range(0, 30, 3))
    index.add(["How FAR is “rice”, rice rice?", *random_questions(15, seed=5)])
    index.add("zanzibars how")  # "zanzibar" in another form
    index.remove([405, 17])
    loaded = QuestionIndex.open(tmp_path / "i", detector)
    assert weight_of(index.detector) == weight_of(loaded.detector) == weight
    texts = {entry["id"]: entry["question"] for entry in index.snapshot().entries}
    words = bm25_by_hand(texts.values(), question)
    cosines = detector.similarity(question, [*texts.values()])
    near = np.argsort(
        -np.vecdot(index.vectors, detector.encode(question)), kind="stable"
    )[:300]
    shared = np.argsort(-words, kind="stable")[:300]
    union = np.union1d(near, shared[words[shared] > 0])
    z = [(v - v[union].mean()) / v[union].std() for v in (cosines, words)]
    for w in (None, 1, 0):
        own = weight if w is None else w
        expected = own * z[0] + (1 - own) * z[1]
        score_of = dict(zip(texts, expected))
        hits = index.search(question, k=50, vector_weight=w)
        scores = [score_of[hit.id] for hit in hits]
        assert_allclose(scores, -np.sort(-expected[union])[:50], atol=1e-4)
        similarity = detector.similarity(question, [hit.question for hit in hits])
        assert_allclose([hit.similarity for hit in hits], similarity, atol=1e-5)
        assert hits == loaded.search(question, k=50, vector_weight=w)
    assert [hit.is_duplicate for hit in hits] == (similarity > 0.5).tolist()
    assert_allclose([hit.probability for hit in hits], (similarity + 1) / 2, atol=1e-5)
    # Words alone.
    hits = index.search(question, k=500, mode="words")
    assert {hit.id for hit in hits} == {
        i for i, score in zip(texts, words) if score > 0
    }
    scores = [score_of[hit.id] for hit in hits]
    assert_allclose(scores, -np.sort(-np.array(scores)), atol=1e-4)
    assert index.search("zanzibar way", mode="words")[0].question.startswith(
        "zanzibars"
    )
    assert index.search("xyzzy plugh", mode="words") == []


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(linkage, "ROWS", 64)
    monkeypatch.setattr(linkage, "COLUMNS", 16)


def unit(n, d=6):
    vectors = np.random.default_rng(0).standard_normal((n, d)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def rows_of(found):
    return {frozenset(member.row for member in group) for group in found}


def decaying(n, d=64):
    """Axes weigh less and less, as an encoder's do; every second vector is near the one before."""
    rng = np.random.default_rng(1)
    vectors = (
        rng.standard_normal((n, d)) * 0.93 ** np.arange(d) @ np.linalg.qr(unit(d, d))[0]
    )
    vectors[1::2] = vectors[::2] + 0.2 * vectors[1::2]
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize(
    ("vectors", "threshold"),
    [*itertools.product(map(unit, (0, 1, 65, 200)), (0.9, -0.5)), (decaying(300), 0.9)],
)
def test_pairs_equal_the_whole_matrix(monkeypatch, vectors, threshold):
    monkeypatch.setattr(linkage, "SAMPLE", 128)
    if vectors.shape[1] == 64:  # Vectors that decay are shortened first.
        assert linkage.upper_bounds(vectors, threshold).shape[1] < 64
    i, j, cosines, least = strongest_pairs(vectors, threshold)
    pairs = [*zip(j.tolist(), i.tolist())]
    scores = np.float64(vectors) @ np.float64(vectors).T
    expected = [
        (a, b)
        for a in range(len(vectors))
        for b in range(a)
        if scores[a, b] > threshold
    ]
    assert sorted(pairs) == expected
    assert_allclose(cosines, np.vecdot(vectors[i], vectors[j]), atol=1e-6)
    assert least == threshold


@pytest.mark.parametrize("most_pairs", [100, 4_000_000])
@pytest.mark.parametrize("threshold", [0.93, 0.6, -0.2])
def test_average_linkage_is_scipys(monkeypatch, most_pairs, threshold):
    monkeypatch.setattr(linkage, "MOST_PAIRS", most_pairs)
    vectors = unit(250)
    found = duplicate_groups(vectors, threshold)
    tree = hierarchy.linkage(np.float64(vectors), "average", "cosine")
    labels = hierarchy.fcluster(tree, 1 - threshold, "distance")
    expected = (frozenset(np.flatnonzero(labels == g).tolist()) for g in set(labels))
    assert rows_of(found) == {group for group in expected if len(group) > 1}
    labels = average_linkage(
        vectors, threshold, together=average_linkage(vectors, 0.95)
    )
    assert_array_equal(labels, average_linkage(vectors, threshold))
    sizes = [len(group) for group in found]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] > 2
    for group in found:
        similarities = [m.similarity for m in group]
        assert similarities[0] == pytest.approx(1, abs=2e-3)
        assert similarities[1:] == sorted(similarities[1:], reverse=True)


@pytest.mark.parametrize("most_pairs", [100, 4_000_000])
@pytest.mark.parametrize("weight", [0.5, 1.0])
@pytest.mark.parametrize("threshold", [0.5, 0.05, -0.1])
def test_groups_with_local_scaling_are_scipys(
    monkeypatch, most_pairs, weight, threshold
):
    monkeypatch.setattr(linkage, "MOST_PAIRS", most_pairs)
    vectors = decaying(250)
    shifts = local_means(vectors) * np.float32(weight / 2)
    scores = np.float64(vectors) @ np.float64(vectors).T - shifts[:, None] - shifts
    i, j, found, _ = strongest_pairs(vectors, threshold, shifts=shifts)
    if most_pairs > 100:
        expected = np.argwhere(np.tril(scores > threshold, -1))
        assert sorted(zip(j.tolist(), i.tolist())) == sorted(
            map(tuple, expected.tolist())
        )
    assert_allclose(found, scores[i, j], atol=1e-5)
    distances = 3 - scores[np.triu_indices(250, 1)]
    tree = hierarchy.linkage(distances, "average")
    expected = hierarchy.fcluster(tree, 3 - threshold, "distance")
    labels = average_linkage(vectors, threshold, shifts=shifts)
    same = np.equal.outer(labels, labels)
    assert_array_equal(same, np.equal.outer(expected, expected))
    assert 250 < same.sum() < 250**2


@pytest.mark.parametrize(("n", "m"), [(0, 1), (2, 2), (6, 6), (200, 70), (1500, 40)])
def test_r_is_the_mean_of_the_ten_nearest_that_are_no_copies(n, m):
    vectors = decaying(n) if n else np.zeros((0, 64), np.float32)
    vectors[: n // 4] = vectors[n // 4 : 2 * (n // 4)]  # copies
    texts = np.concatenate([vectors[: m - 1], decaying(10)[-1:]])
    means = local_means(vectors, texts)
    for text, mean in zip(texts, means):
        cosines = np.sort(vectors @ text)[::-1]
        nearest = cosines[cosines <= COPY][:NEAREST][: max(1, n - 1)]
        assert mean == pytest.approx(nearest.mean() if len(nearest) else 0, abs=1e-5)
    if n:
        assert_allclose(local_means(vectors)[: m - 1], means[:-1], atol=1e-6)


def test_a_list_of_requests_by_form_has_the_weight_1_and_one_of_pairs_0():
    def near(base, noise, seed):
        new = base + noise * np.random.default_rng(seed).standard_normal(base.shape)
        return (new / np.linalg.norm(new, axis=1, keepdims=True)).astype(np.float32)

    forms = near(np.repeat(unit(30, 64), 20, axis=0), 0.08, 1)
    singles = unit(300, 64)
    assert list_weight(forms) == 1
    assert list_weight(np.concatenate([singles, near(singles, 0.05, 2)])) == 0
    assert list_weight(forms[:60]) == 0  # too short to be known
    assert list_weight(np.repeat(unit(1), 300, axis=0)) == 0  # copies alone


def test_rounding_does_not_order_the_questions_of_a_group():
    same = np.array([[1, 0], [1, 0], [1, 0], [0.9, 0.43588989]], np.float32)
    for noise in (
        np.random.default_rng(0).uniform(-2e-7, 2e-7, (40, 4, 2)).astype(np.float32)
    ):
        (group,) = duplicate_groups(same + noise, 0.5)
        assert [member.row for member in group] == [0, 1, 2, 3]


def test_new_questions_join_the_group_with_the_best_mean():
    vectors = unit(200)
    labels = average_linkage(vectors, 0.8)
    new = np.concatenate([unit(240)[200:], np.zeros((1, 6), np.float32)])
    new[-2] = new[-3]
    own = 1_000 + np.arange(len(new))
    joined, members = join_groups(vectors, labels, new, own, Rule(0.8)), {}
    for at, label in enumerate(labels):
        members.setdefault(label, []).append(vectors[at])
    for vector, label, alone in zip(new, joined, own):
        means = {
            group: float(np.mean(some @ vector)) for group, some in members.items()
        }
        best = max(means, key=means.get)
        assert label == (best if means[best] > 0.8 else alone)
        members.setdefault(label, []).append(vector)
    assert joined[-2] == joined[-3] and joined[-1] == own[-1]
    assert 10 < (joined < 200).sum() < 35


def joined_by_hand(cosines, penalties, threshold):
    """Groups joined one after the other, the best first, by the definition: sets of rows."""
    groups = [{row} for row in range(len(cosines))]

    def score(one, two):
        place = np.ix_(sorted(one), sorted(two))
        return cosines[place].mean() - penalties[place].max()

    while len(groups) > 1:
        pairs = [
            (score(one, two), one, two)
            for at, one in enumerate(groups)
            for two in groups[:at]
        ]
        best, one, two = max(pairs, key=lambda pair: pair[0])
        if best <= threshold:
            break
        groups = [group for group in groups if group is not one and group is not two]
        groups.append(one | two)
    return {frozenset(group) for group in groups}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("threshold", [0.3, 0.6, 0.8])
def test_groups_are_joined_by_the_mean_less_the_largest_penalty(seed, threshold):
    draw = np.random.default_rng(seed)
    vectors = draw.normal(size=(30, 4)).astype(np.float32) + 1
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = vectors @ vectors.T
    penalties = 0.5 * draw.random((30, 30)) * (draw.random((30, 30)) < 0.3)
    penalties = np.maximum(penalties, penalties.T).astype(np.float32)
    penalties[cosines <= threshold] = (
        0  # Pairs that are no candidates are not asked about.
    )
    labels = average_linkage(vectors, threshold, penalties=lambda i, j: penalties[i, j])
    found = {frozenset(np.flatnonzero(labels == label)) for label in set(labels)}
    assert found == joined_by_hand(cosines, penalties, threshold)


@pytest.mark.parametrize("threshold", [0.5, 0.65, 0.8])
def test_a_near_miss_of_one_of_two_paraphrases_stays_out(threshold):
    """It is c, of a alone; d is like all three."""
    angles = np.radians([0, 20, 3, 10])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    refused = np.zeros((4, 4), np.float32)
    refused[0, 2] = refused[2, 0] = 0.6

    def penalties(i, j):
        return refused[i, j]

    labels = average_linkage(vectors[:3], threshold, penalties=penalties)
    assert labels[0] != labels[2]
    # Nor does it join them later, nor do both stay where another question would join them.
    rule = Rule(threshold, penalties)
    joined = join_groups(
        vectors[:2], np.zeros(2, int), vectors[2:3], np.array([9]), rule
    )
    assert joined.tolist() == [9]
    labels = average_linkage(vectors, threshold, penalties=penalties)
    assert labels[0] != labels[2]


@pytest.mark.parametrize("threshold", [0.999999, 1.0])
def test_equal_texts_are_a_group_at_any_threshold(threshold):
    same = np.repeat(unit(40), 2, axis=0)
    same += np.float32(3e-8) * (np.arange(80)[:, None] % 3)  # as rounding may differ
    groups_there = duplicate_groups(same, threshold)
    assert rows_of(groups_there) == {frozenset((n, n + 1)) for n in range(0, 80, 2)}
    assert max(m.similarity for group in groups_there for m in group) <= 1
    assert strongest_pairs(same, threshold)[2].max() <= 1


@pytest.mark.parametrize(
    ("vectors", "threshold", "sizes"),
    [
        (np.zeros((0, 4), np.float32), 0.5, []),
        ([], 0.5, []),
        (unit(50), 1.0, []),
        (unit(3).tolist(), "0.99", []),
        (unit(50), -1.0, [50]),
    ],
    ids=["no rows", "an empty list", "at 1", "lists and a text", "at -1"],
)
def test_groups_of_nothing_and_of_everything(vectors, threshold, sizes):
    assert [len(group) for group in duplicate_groups(vectors, threshold)] == sizes


@pytest.mark.parametrize("threshold", [1.5, -2, float("nan"), "x", None])
def test_what_is_no_cosine_is_no_threshold(threshold):
    with refuses(ArgumentError, "threshold", "-1 to 1"):
        duplicate_groups(unit(3), threshold)


@pytest.mark.parametrize(
    "vectors",
    [unit(3) * 2, unit(3) * np.nan, ["how", "far"], unit(1)[0], "questions.csv"],
    ids=["long rows", "no numbers", "texts", "one row", "a path"],
)
def test_what_is_no_matrix_of_unit_rows_is_refused(vectors):
    with pytest.raises(ArgumentError):
        duplicate_groups(vectors, 0.5)
