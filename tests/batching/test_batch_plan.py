"""The choice of batch lengths against trying all, and the plan's few special rules."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siamese.batching.plan import EpochPlan, batch_lengths, choose_lengths
from siamese.errors import ArgumentError


def cells(lengths, chosen):
    return sum(min(c for c in chosen if c >= n) for n in lengths)


@given(st.lists(st.integers(1, 12), min_size=1, max_size=20), st.integers(1, 14))
def test_chosen_lengths_pad_least(lengths, count):
    chosen = choose_lengths(np.bincount(lengths), count).tolist()
    assert len(chosen) <= count and chosen == sorted(set(chosen)) and chosen[-1] == max(lengths)
    distinct = sorted(set(lengths))
    least = min(
        cells(lengths, some)
        for size in range(1, min(count, len(distinct)) + 1)
        for some in itertools.combinations(distinct, size)
        if some[-1] == distinct[-1]
    )
    assert cells(lengths, chosen) == least


def test_batch_lengths_given_and_chosen():
    histogram = np.bincount([2, 2, 5])
    assert batch_lengths((8, 4, 8), histogram).tolist() == [4, 8]
    assert batch_lengths(1, histogram).tolist() == [5]
    assert batch_lengths(1, histogram, at_least=9).tolist() == [5, 9]
    with pytest.raises(ArgumentError, match="5 tokens"):
        batch_lengths((4,), histogram)
    with pytest.raises(ArgumentError, match="5 tokens"):
        batch_lengths((), histogram)


def plan_of(lengths, **settings):
    lengths = np.array(lengths)
    settings = {"batch_size": 16, "window": 64, **settings}
    buckets = np.unique(lengths)
    return EpochPlan(len(lengths), lengths=buckets, pair_lengths=lambda p: lengths[p], **settings)


def epoch_of(plan, seed=0, epoch=0):
    return [batch for group in plan.epoch(seed, epoch) for batch in group]


def test_a_small_remainder_joins_a_batch_and_a_larger_one_stands_alone():
    sizes = {n: sorted(len(b.pairs) for b in epoch_of(plan_of([5] * n))) for n in (1, 17, 18, 31)}
    assert sizes == {1: [1], 17: [17], 18: [2, 16], 31: [15, 16]}


@given(st.integers(1, 200), st.integers(1, 20), st.integers(1, 9))
def test_shapes_are_the_same_every_epoch(pairs, batch_size, seed):
    lengths = np.random.default_rng(seed).integers(1, 5, pairs)
    plan = plan_of(lengths, batch_size=batch_size, window=2 * batch_size)
    odd = set()
    for epoch in range(4):
        odd |= {
            (len(b.pairs), b.bucket)
            for b in epoch_of(plan, seed, epoch)
            if len(b.pairs) < batch_size
        }
    assert len(odd) <= 1


def test_every_batch_but_the_remainder_is_of_one_length():
    lengths = np.random.default_rng(0).integers(1, 6, 2000)
    mixed = [b for b in epoch_of(plan_of(lengths)) if len(set(lengths[b.pairs])) > 1]
    assert len(mixed) <= 5  # at most one for each length


def test_neighbours_stay_together_only_where_asked():
    lengths = [3] * 4096
    for block, together in ((1, False), (64, True)):
        first = next(iter(plan_of(lengths, window=256, block=block)._windows(0, 0)))
        blocks = np.unique(first // 64)
        assert (len(blocks) == 4) == together
        assert first.tolist() != sorted(first.tolist())  # and not in their order


def test_crowded_pairs_go_into_longer_batches_and_not_into_shorter():
    # Eight pairs of one cluster among the short ones: two short batches take two of them.
    lengths = np.array([3] * 32 + [6] * 96)
    clusters = np.arange(128)
    clusters[:8] = 1000
    plan = plan_of(lengths, window=1024, pair_clusters=lambda p: (clusters[p], clusters[p]))
    batches = epoch_of(plan)
    crowded = [int(sum(b.pairs < 8)) for b in batches]
    assert max(crowded) == 1
    assert sum(crowded) > sum(b.bucket == 0 for b in batches)  # more than the short batches hold
    assert sum(crowded) + plan.left_out >= 8
    assert all(lengths[b.pairs].max() <= [3, 6][b.bucket] for b in batches)
