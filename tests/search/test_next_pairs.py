"""The pairs below a threshold: brute force is the reference."""

import itertools

import numpy as np

from siamese.search.groups import below_threshold, duplicate_groups


def unit(n, d):
    vectors = np.random.default_rng(1).standard_normal((n, d)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_counts_are_those_of_all_pairs():
    vectors = unit(300, 6)
    products = (vectors @ vectors.T)[np.triu_indices(300, 1)]
    counts, _ = below_threshold(vectors, [])
    assert list(counts) == [0.9, 0.8, 0.7, 0.6, 0.5]
    for cosine, number in counts.items():
        assert abs(number - (products > cosine).sum()) <= 1  # float32 at the border


def test_next_pairs_share_no_group_and_no_question():
    vectors = unit(300, 6)
    groups = duplicate_groups(vectors, 0.9)
    group_of = {member.row: at for at, group in enumerate(groups) for member in group}
    _, pairs = below_threshold(vectors, groups, 40)
    products, named, reference = vectors @ vectors.T, set(), []
    for one, two in sorted(itertools.combinations(range(300), 2), key=lambda p: -products[p]):
        if group_of.get(one, -1) != group_of.get(two, -2) and not named & {one, two}:
            named |= {one, two}
            reference.append((one, two))
    assert [pair[:2] for pair in pairs] == reference[:40]
    assert np.allclose([p[2] for p in pairs], [products[p[:2]] for p in pairs], atol=1e-6)


def test_a_short_list_has_few_pairs():
    vectors = unit(1, 4)
    assert below_threshold(vectors, []) == ({0.9: 0, 0.8: 0, 0.7: 0, 0.6: 0, 0.5: 0}, [])
