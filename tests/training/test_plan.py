"""The choice of batch lengths against trying all, and the plan's few special rules."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese.training.plan import choose_lengths, plan_epoch


def cells(lengths, chosen):
    return sum(min(c for c in chosen if c >= n) for n in lengths)


@settings(deadline=None)
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


def plan_of(lengths, **changes):
    options = {"batch_size": 16, "window": 64, "seed": 0, "epoch": 0, **changes}
    return plan_epoch(np.array(lengths), np.unique(lengths), **options)


def test_neighbours_stay_together_only_where_asked():
    for block, together in ((1, False), (64, True)):
        first = np.concatenate([b.pairs for b in plan_of([3] * 4096, window=256, block=block)[:16]])
        assert (len(np.unique(first // 64)) == 4) == together
        assert first.tolist() != sorted(first.tolist())  # and not in their order
