"""Clusters against a union-find by hand, and splits that share no question."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siamese.data.clusters import (
    cluster_split,
    clusters,
    connected_groups,
    implied_duplicates,
    number_questions,
    overlap,
)
from siamese.data.pairs import QuestionPairs
from siamese.errors import ArgumentError, DataError


def groups_by_hand(size, edges):
    """The reference: spread the smallest label along the edges until nothing changes."""
    labels = list(range(size))
    changed = True
    while changed:
        changed = False
        for a, b in edges:
            low = min(labels[a], labels[b])
            changed |= labels[a] != low or labels[b] != low
            labels[a] = labels[b] = low
    order = sorted(set(labels))
    return [order.index(label) for label in labels]


def test_connected_groups_without_things_or_edges():
    assert connected_groups(0, np.zeros((0, 2))).tolist() == []
    assert connected_groups(3, np.zeros((0, 2))).tolist() == [0, 1, 2]
    assert connected_groups(2, np.array([[1, 1], [1, 1]])).tolist() == [0, 1]


@st.composite
def graphs(draw):
    size = draw(st.integers(1, 12))
    thing = st.integers(0, size - 1)
    return size, draw(st.lists(st.tuples(thing, thing), max_size=20))


@given(graphs())
def test_connected_groups_equal_the_reference(case):
    size, edges = case
    found = connected_groups(size, np.array(edges, np.int64).reshape(-1, 2))
    assert found.dtype == np.int64 and found.tolist() == groups_by_hand(size, edges)


def test_a_chain_of_many_questions_is_one_cluster():
    n = 200_000  # recursion or quadratic work would show here
    order = np.random.default_rng(0).permutation(n)
    edges = np.stack([order[:-1], order[1:]], axis=1)
    assert connected_groups(n, edges).max() == 0


pair_lists = st.lists(
    st.tuples(st.sampled_from("abcdefghij"), st.sampled_from("abcdefghij"), st.booleans()),
    max_size=25,
)


def pairs_of(rows):
    return QuestionPairs([a for a, _, _ in rows], [b for _, b, _ in rows], [d for _, _, d in rows])


@given(pair_lists)
def test_clusters_equal_the_reference(rows):
    pairs = pairs_of(rows)
    found = clusters(pairs)
    names = list(dict.fromkeys(name for a, b, _ in rows for name in (a, b)))
    edges = [(names.index(a), names.index(b)) for a, b, duplicate in rows if duplicate]
    expected = dict(zip(names, groups_by_hand(len(names), edges)))
    assert found.questions == names
    assert found.question_cluster.tolist() == [expected[name] for name in names]
    assert found.cluster1.tolist() == [expected[a] for a, _, _ in rows]
    assert found.cluster2.tolist() == [expected[b] for _, b, _ in rows]
    assert found.rows.tolist() == [expected[a] if d else -1 for a, _, d in rows]
    by_hand = list(expected.values())
    assert found.sizes.tolist() == [by_hand.count(i) for i in range(len(set(by_hand)))]
    conflicts = [i for i, (a, b, d) in enumerate(rows) if not d and expected[a] == expected[b]]
    assert found.conflict_rows.tolist() == conflicts and found.conflicts == len(conflicts)
    assert len(found) == len(found.sizes)
    for column in (found.cluster1, found.cluster2, found.rows, found.sizes):
        assert column.dtype == np.int64


def test_number_questions_tells_apart_what_differs_by_a_letter():
    questions, numbers = number_questions(["Why?", "why?"], ["Why? ", "Why?"])
    assert questions == ["Why?", "Why? ", "why?"]
    assert numbers.tolist() == [[0, 1], [2, 0]]


def groups_of_rows(rows):
    names = "abcdefghij"
    groups = groups_by_hand(len(names), [(names.index(a), names.index(b)) for a, b, _ in rows])
    return [groups[names.index(a)] for a, _, _ in rows]


@given(pair_lists, st.sampled_from([(0.5, 0.5), (0.8, 0.1, 0.1), (0.9, 0.1)]), st.integers(0, 9))
def test_parts_of_a_split_share_no_question_and_hold_every_row_once(rows, fractions, seed):
    pairs = pairs_of(rows)
    names = [frozenset((a, b)) for a, b, _ in rows]
    if len(set(groups_of_rows(rows))) < len(fractions):
        with pytest.raises(DataError):
            cluster_split(pairs, fractions, seed)
        return
    parts = cluster_split(pairs, fractions, seed)
    assert all(map(len, parts))
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(rows)))
    seen = [set().union(*(names[i] for i in part)) for part in parts]
    for i, one in enumerate(seen):
        assert all(not one & other for other in seen[i + 1 :])
    again = cluster_split(pairs, fractions, seed)
    assert all((one == two).all() for one, two in zip(parts, again))


def many_pairs(n=3000, questions=2500, seed=1):
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, questions, (n, 2)) // rng.integers(1, 4, (n, 1))
    texts = [[f"q{q}?" for q in side] for side in ends.T]
    return QuestionPairs(*texts, rng.random(n) < 0.4)


def test_split_comes_near_the_fractions_and_depends_on_the_seed():
    pairs = QuestionPairs(
        [f"a{i // 3}" for i in range(3000)], [f"b{i}" for i in range(3000)], [True] * 3000
    )
    parts = cluster_split(pairs, (0.8, 0.1, 0.1), 0)
    assert np.abs(np.array([len(part) for part in parts]) - [2400, 300, 300]).max() <= 6
    other = cluster_split(pairs, (0.8, 0.1, 0.1), 1)
    assert parts[1].tolist() != other[1].tolist()
    assert all((np.diff(part) > 0).all() for part in parts)


@pytest.mark.parametrize("seed", range(8))
def test_groups_of_very_different_size_still_come_near_the_fractions(seed):
    sizes = [600, 50, 40, 30] + [1] * 280
    names = [f"group {group}" for group, size in enumerate(sizes) for _ in range(size)]
    pairs = QuestionPairs(names, [f"other {i}" for i in range(1000)], [0, 1] * 500)
    parts = cluster_split(pairs, (0.8, 0.1, 0.1), seed)
    assert [len(part) for part in parts] == pytest.approx([800, 100, 100], abs=1)


def test_one_large_group_goes_to_the_largest_part():
    pairs = many_pairs()
    train, valid, test = pairs.split_by_cluster((0.8, 0.1, 0.1), seed=3)
    assert len(train) > len(valid) and len(train) > len(test) and len(valid) and len(test)
    assert overlap(train, test) == overlap(train, valid) == overlap(valid, test) == 0.0


def test_a_split_that_is_not_possible_says_why():
    one_group = QuestionPairs(["a", "b", "c"], ["b", "c", "d"], [1, 0, 1])
    with pytest.raises(DataError, match=r"into 2 parts .* the 3 pairs form 1 groups"):
        one_group.split_by_cluster((0.8, 0.2))
    for fractions in [(0.5, 0.6), (1.0,), (1.2, -0.2), (0.5, float("nan"))]:
        with pytest.raises(ArgumentError, match="add to 1"):
            one_group.split_by_cluster(fractions)


@given(pair_lists, pair_lists)
def test_overlap_equals_the_definition(rows1, rows2):
    train, test = pairs_of(rows1), pairs_of(rows2)
    known = {q for a, b, _ in rows1 for q in (a, b)}
    asked = {q for a, b, _ in rows2 for q in (a, b)}
    if asked:
        assert overlap(train, test) == sum(q in known for q in asked) / len(asked)
    else:
        assert np.isnan(overlap(train, test))


def numbered(pairs):
    """The questions' numbers as `implied_duplicates` wants them."""
    names = sorted({*pairs.question1, *pairs.question2})
    at = {name: 7 * i for i, name in enumerate(names)}  # any numbers
    return tuple(np.array([at[q] for q in side]) for side in (pairs.question1, pairs.question2)), at


def test_implied_duplicates_are_what_follows_and_no_more():
    pairs = QuestionPairs(
        ["a", "b", "c", "x", "x", "l", "m", "p"], ["b", "c", "d", "y", "z", "m", "n", "q"],
        [1, 1, 1, 1, 0, 1, 1, 0],
    )  # fmt: skip
    rows, at = numbered(pairs)
    found = clusters(pairs)
    one, two, cluster = implied_duplicates(rows, found)
    back = {number: name for name, number in at.items()}
    named = {"".join(sorted((back[i], back[j]))) for i, j in zip(one.tolist(), two.tolist())}
    assert named == {"ac", "ad", "bd", "ln"} and len(one) == 4
    question_cluster = dict(zip(found.questions, found.question_cluster.tolist()))
    assert [question_cluster[back[i]] for i in one.tolist()] == cluster.tolist()


def test_a_cluster_with_a_contradiction_implies_nothing():
    pairs = QuestionPairs(["a", "b", "a", "l", "m"], ["b", "c", "c", "m", "n"], [1, 1, 0, 1, 1])
    rows, at = numbered(pairs)
    one, two, _ = implied_duplicates(rows, clusters(pairs))
    assert list(zip(one.tolist(), two.tolist())) == [(at["l"], at["n"])]


def test_a_large_cluster_implies_a_bounded_random_choice():
    names = [f"q{i}" for i in range(41)]
    pairs = QuestionPairs(names[:-1], names[1:], [1] * 40)
    rows, _ = numbered(pairs)
    found = clusters(pairs)
    one, two, _ = implied_duplicates(rows, found, per_question=3, seed=1)
    assert 80 < len(one) <= 123 and (one < two).all() and len(set(zip(one, two))) == len(one)
    again = implied_duplicates(rows, found, per_question=3, seed=1)
    other = implied_duplicates(rows, found, per_question=3, seed=2)
    assert np.array_equal(one, again[0]) and not np.array_equal(one, other[0])


def test_no_duplicates_imply_nothing():
    pairs = QuestionPairs(["a"], ["b"], [0])
    rows, _ = numbered(pairs)
    assert [part.tolist() for part in implied_duplicates(rows, clusters(pairs))] == [[], [], []]


def test_a_huge_cluster_is_paired_within_bounds(monkeypatch):
    monkeypatch.setattr("siamese.data.clusters.PAIRED", 20)
    names = [f"q{i:03}" for i in range(200)]
    pairs = QuestionPairs(names[:-1], names[1:], [1] * 199)
    rows, _ = numbered(pairs)
    one, two, _ = implied_duplicates(rows, clusters(pairs))
    assert len({*one.tolist(), *two.tolist()}) == 20 and len(one) <= 190
