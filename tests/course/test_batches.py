"""data_generator against the assignment's own cell: same order, lengths, values, and as many draws."""

import json
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stock_trax import COURSE

from siamese import data_generator
from siamese.errors import ArgumentError
from siamese.nn.ragged import Ragged

reference_batches = COURSE["data_generator"]
question = st.lists(st.integers(0, 50), min_size=1, max_size=9)
pairs = st.lists(st.tuples(question, question), min_size=1, max_size=12)
FORMS = [
    list,
    lambda rows: tuple(map(tuple, rows)),
    lambda rows: np.array([*rows, None], object)[:-1],
    lambda rows: [*map(np.array, rows)],
    lambda rows: np.array(rows) if len({*map(len, rows)}) == 1 else rows,
    Ragged.from_lists,
]


@given(pairs, st.integers(1, 30), st.integers(-3, 3), st.booleans(), st.sampled_from(FORMS))
def test_equals_the_course_for_every_form_of_input(pairs, batch_size, pad, shuffle, form):
    (first, second), seed = [list(side) for side in zip(*pairs)], len(pairs)
    random.seed(seed)
    reference = reference_batches(first, second, batch_size, pad, shuffle)
    expected = [next(reference) for _ in range(6)]
    after = random.random()
    random.seed(seed)
    options = {"batch_size": batch_size, "pad": pad, "shuffle": shuffle}
    batches = data_generator(Q1=form(first), Q2=form(second), **options)
    for q1, q2 in expected:
        ours = next(batches)
        assert type(ours) is tuple and len(ours) == 2
        np.testing.assert_array_equal(ours[0], q1)
        np.testing.assert_array_equal(ours[1], q2)
        assert ours[0].dtype == ours[1].dtype == np.int32
    assert random.random() == after  # the same number of draws, too


def test_nothing_is_drawn_before_the_first_batch():
    # With a training and a validation generator, the one asked first shuffles first.
    ids = [[i] for i in range(2, 12)]
    random.seed(5)
    before = random.getstate()
    first, second = data_generator(ids, ids, 10), data_generator(ids, ids, 10)
    assert random.getstate() == before
    late = next(second)[0][:, 0].tolist(), next(first)[0][:, 0].tolist()
    random.seed(5)
    one, two = reference_batches(ids, ids, 10), reference_batches(ids, ids, 10)
    assert late == (next(one)[0][:, 0].tolist(), next(two)[0][:, 0].tolist())


@given(pairs, st.integers(1, 20), st.integers(0, 8), st.booleans(), st.booleans())
def test_resume_equals_no_interruption(pairs, batch_size, taken, shuffle, others_draw):
    first, second = [list(side) for side in zip(*pairs)]
    random.seed(3)
    whole = data_generator(first, second, batch_size, shuffle=shuffle)
    for _ in range(taken):
        next(whole)
    kept = json.loads(json.dumps(whole.state()))
    expected = [next(whole) for _ in range(5)]
    if others_draw:
        random.seed(77)
    resumed = data_generator(first, second, batch_size, shuffle=shuffle)
    resumed.restore(kept)
    for q1, q2 in expected:
        ours = next(resumed)
        np.testing.assert_array_equal(ours[0], q1)
        np.testing.assert_array_equal(ours[1], q2)


def test_state_of_another_data_set_is_refused_and_changes_nothing():
    state = data_generator([[2], [3]], [[2], [3]], 1).state()
    other = data_generator([[2]], [[2]], 1)
    before = random.getstate()
    with pytest.raises(ArgumentError, match="2 pairs; this one has 1"):
        other.restore(state)
    assert random.getstate() == before
