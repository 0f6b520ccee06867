"""PairBatches against what it promises, with the pairs it was given as the ground truth."""

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese import PairBatches
from siamese.errors import ArgumentError, DataError
from siamese.nn.ragged import Ragged

PAD = 1


def make_pairs(lengths1, lengths2):
    """Questions whose tokens name their pair, side and place, so that any mix-up shows."""
    first = [[1000 * i + 10 + k for k in range(n)] for i, n in enumerate(lengths1)]
    second = [[1000 * i + 510 + k for k in range(n)] for i, n in enumerate(lengths2)]
    return first, second


def rows_of(array):
    """Each row without the padding behind it, after checking that padding is only there."""
    rows = []
    for row in array.tolist():
        tokens = [token for token in row if token != PAD]
        assert row == tokens + [PAD] * (len(row) - len(tokens)), "padding between tokens"
        rows.append(tuple(tokens))
    return rows


def pairs_in(batches):
    return [
        pair for batch in batches for pair in zip(rows_of(batch.q1), rows_of(batch.q2), strict=True)
    ]


def assert_same_batch(one, two):
    for a, b in zip(one, two, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


lengths = st.lists(
    st.tuples(st.integers(1, 12), st.integers(1, 12)), min_size=1, max_size=60
)  # of both questions of each pair
options = st.fixed_dictionaries(
    {
        "batch_size": st.integers(1, 17),
        "seed": st.integers(0, 5),
        "topic_block": st.sampled_from([1, 3, 64]),
        "lengths": st.sampled_from([1, 3, 13]),
        "swap": st.booleans(),
    }
)


def one_epoch(batches):
    """The batches of the epoch that begins now."""
    return [next(batches) for _ in range(batches.batches_per_epoch)]


@settings(deadline=None)
@given(lengths, options)
def test_an_epoch_holds_each_pair_at_most_once_and_whole(lengths, options):
    first, second = make_pairs(*zip(*lengths))
    pairs = Counter(zip(map(tuple, first), map(tuple, second)))
    if options["swap"]:
        pairs = Counter(tuple(sorted(pair)) for pair in pairs)
    batch_size = options["batch_size"]
    if len(first) < batch_size:
        with pytest.raises(ArgumentError, match="make no batch"):
            PairBatches(first, second, **options)
        return
    with PairBatches(first, second, **options) as batches:
        for number in range(2):
            assert batches.state()["epoch"] == number
            epoch = one_epoch(batches)
            got = Counter(
                tuple(sorted(pair)) if options["swap"] else pair for pair in pairs_in(epoch)
            )
            assert got <= pairs and got.total() == len(first) // batch_size * batch_size
            for batch in epoch:
                assert batch.q1.shape == batch.q2.shape == (batch_size, batch.q1.shape[1])
                assert batch.q1.dtype == batch.q2.dtype == np.int32
                assert batch.q1.shape[1] in batches.lengths


def test_other_pairs_are_left_out_each_epoch():
    first, second = make_pairs([3] * 10 + [9], [3] * 10 + [9])
    with PairBatches(first, second, 8) as batches:
        seen = [set(pairs_in(one_epoch(batches))) for _ in range(20)]
    assert len(set.union(*seen)) == 11  # the longest, too
    assert len({frozenset(pairs) for pairs in seen}) > 5


@settings(deadline=None)
@given(lengths, options, st.integers(0, 25), st.data())
def test_resume_equals_no_interruption(lengths, options, taken, data):
    first, second = make_pairs(*zip(*lengths))
    options = {**options, "batch_size": min(options["batch_size"], len(first))}
    extra = {"clusters": np.arange(len(first)) // 3} if data.draw(st.booleans()) else {}
    if data.draw(st.booleans()):
        extra["labelled"] = (first, second, np.arange(len(first)) % 2)
        extra["pair_batch_size"] = 5
    with PairBatches(first, second, **options, **extra) as whole:
        for _ in range(taken):
            next(whole)
        state = json.loads(json.dumps(whole.state()))
        expected = [next(whole) for _ in range(12)]
    options = {**options, "seed": 99}  # the state brings its own seed
    with PairBatches(first, second, **options, **extra) as resumed:
        next(resumed)
        resumed.restore(state)
        assert resumed.state() == state
        for batch in expected:
            assert_same_batch(next(resumed), batch)


clustered = st.lists(
    st.tuples(st.integers(1, 6), st.integers(-1, 9), st.integers(-1, 9), st.booleans()),
    min_size=2,
    max_size=60,
)


def clustered_pairs(drawn, offset=0):
    """Both sides of the pairs, their clusters, and question -> cluster."""
    one = np.array([a if a < 0 else a + offset for _, a, _, _ in drawn])
    two = np.array([b if b < 0 else b + offset for _, _, b, _ in drawn])
    two = np.where([duplicate for *_, duplicate in drawn], one, two)
    first, second = make_pairs([n for n, *_ in drawn], [n for n, *_ in drawn])
    questions = map(tuple, [*first, *second])
    return first, second, (one, two), dict(zip(questions, [*one.tolist(), *two.tolist()]))


@settings(deadline=None)
@given(clustered, st.integers(1, 16), st.booleans(), st.sampled_from([0, 2**40]))
def test_mask_marks_every_pair_of_one_cluster_and_no_other(drawn, batch_size, swap, offset):
    first, second, clusters, cluster_of = clustered_pairs(drawn, offset)
    batch_size = min(batch_size, len(first))
    with PairBatches(first, second, batch_size, clusters=clusters, swap=swap) as batches:
        for batch in one_epoch(batches):
            left, right = rows_of(batch.q1), rows_of(batch.q2)
            expected = [
                [i != j and cluster_of[a] >= 0 and cluster_of[a] == cluster_of[b]
                 for j, b in enumerate(right)]
                for i, a in enumerate(left)
            ]  # fmt: skip
            assert batch.false_negative_mask.dtype == bool
            np.testing.assert_array_equal(batch.false_negative_mask, expected)


def test_labelled_pairs_go_with_each_batch_and_are_drawn_evenly():
    first, second = make_pairs([3] * 40 + [9] * 40, [4] * 40 + [8] * 40)
    labelled1, labelled2 = make_pairs([2] * 30 + [7] * 30, [4] * 30 + [9] * 30)
    labels = np.arange(60) % 3 == 0
    table = {(tuple(a), tuple(b)): int(label) for a, b, label in zip(labelled1, labelled2, labels)}
    with PairBatches(
        first, second, 8, lengths=2, labelled=(labelled1, labelled2, labels), pair_batch_size=6
    ) as batches:
        drawn = Counter()
        for batch in one_epoch(batches):
            assert batch._fields == ("q1", "q2", "labelled_q1", "labelled_q2", "is_duplicate")
            assert batch.labelled_q1.shape == batch.labelled_q2.shape == (6, batch.q1.shape[1])
            assert batch.is_duplicate.dtype == np.int32
            got = list(zip(rows_of(batch.labelled_q1), rows_of(batch.labelled_q2)))
            assert [table[pair] for pair in got] == batch.is_duplicate.tolist()
            drawn.update(got)
    # Five batches of each length draw 30 of its 30 labelled pairs: each once.
    assert drawn == Counter(dict.fromkeys(table, 1))


def test_labelled_pairs_shorter_and_longer_than_all_others_are_drawn():
    first, second = make_pairs([5] * 8, [5] * 8)
    labelled = ([[2], [3] * 11], [[4], [5] * 9], [0, 1])
    with PairBatches(first, second, 4, labelled=labelled, pair_batch_size=7) as batches:
        batch = next(batches)
        assert batch.q1.shape == (4, 5) and batch.labelled_q1.shape == (7, 11)
        assert set(batch.is_duplicate.tolist()) == {0, 1}


def test_bucketing_pads_far_less_than_batches_at_random():
    lengths = np.random.default_rng(0).geometric(0.09, (2, 20_000)) + 3
    first, second = (Ragged.from_lists([[7] * n for n in side]) for side in lengths)
    with PairBatches(first, second, 64) as batches:
        epoch = one_epoch(batches)
    tokens = sum(int((side != PAD).sum()) for batch in epoch for side in batch)
    padding = 1 - tokens / sum(side.size for batch in epoch for side in batch)
    longest = lengths.max(axis=0)
    at_random = 20_000 // 64 * 64
    cells_at_random = 64 * longest[:at_random].reshape(-1, 64).max(axis=1).sum()
    random_padding = 1 - lengths[:, :at_random].sum() / (2 * cells_at_random)
    least = 1 - lengths.sum() / (2 * longest.sum())  # the sides differ in length: not to be helped
    assert random_padding > 0.75
    assert padding - least < 0.15 * (random_padding - least)
    assert len({batch.q1.shape for batch in epoch}) <= 14


def test_a_table_with_rows_gives_the_batches_of_its_questions():
    table = Ragged.from_lists([[10 * i + k + 2 for k in range(i % 7)] for i in range(30)])
    rows = np.random.default_rng(1).integers(0, 30, (2, 200))
    rows[rows % 7 == 0] += 1  # a question without a token that no pair uses may stand in the table
    sides = PairBatches(table.take(rows[0]), table.take(rows[1]), 16, swap=True)
    shared = PairBatches(table, table, 16, rows=tuple(rows), swap=True)
    with sides, shared:
        for _ in range(20):
            assert_same_batch(next(sides), next(shared))


GOOD = make_pairs([3, 4, 5], [3, 4, 5])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"batch_size": 0}, "batch_size"),
        ({"seed": -1}, "seed"),
        ({"lengths": 0}, "lengths"),
        ({"topic_block": 0}, "topic_block"),
        ({"clusters": [1, 2]}, "3 ids, one a pair.*holds 2 and 2 ids"),
        ({"clusters": [0.5, 1, 2]}, r"clusters\[0\] must be one integer per pair"),
        ({"clusters": ([1, 2, 3],)}, "tuple of two"),
        ({"batch_size": 4}, "3 pairs make no batch of 4"),
        ({"labelled": ([[1]], [[1]])}, "labelled must be"),
        ({"labelled": ([[2]], [[2]], [2])}, "0 or 1"),
        ({"labelled": ([[2]], [[]], [1])}, "labelled q2.*empty question"),
        ({"labelled": ([[2]], [[2]], [1]), "pair_batch_size": 0}, "pair_batch_size"),
        ({"rows": ([0, 1], [0])}, r"rows\[0\] holds 2.*rows\[1\] holds 1"),
        ({"rows": ([0, 3], [0, 1])}, r"rows\[0\]\[1\] is 3, but q1 has 3"),
        ({"rows": ([0, -1], [0, 1])}, r"rows\[0\]\[1\] is -1"),
        ({"rows": ([], [])}, "no pair"),
        ({"q1": [[2]], "q2": [[2], [3]]}, "q1 holds 1 questions and q2 holds 2"),
        ({"q1": [[2], [3]], "q2": [[2], []]}, "q2.1. is an empty question"),
        ({"q1": [["a"]], "q2": [[2]]}, "q1.*integer token ids"),
    ],
)
def test_bad_arguments_are_refused_at_the_call(arguments, message):
    with pytest.raises((ArgumentError, DataError), match=message):
        PairBatches(**{"q1": GOOD[0], "q2": GOOD[1], "batch_size": 1, **arguments})


def test_a_state_of_other_pairs_or_settings_is_refused():
    state = PairBatches(*GOOD, 2).state()
    for other, message in (
        (PairBatches(*make_pairs([3, 4], [3, 4]), 2), "pairs 3 there, 2 here"),
        (PairBatches(*GOOD, 3), "batch_size 2 there, 3 here"),
        (PairBatches(*GOOD, 2, swap=True), "settings"),
        (PairBatches(*make_pairs([3, 4, 6], [3, 4, 5]), 2), "other questions"),
    ):
        with pytest.raises(ArgumentError, match=message):
            other.restore(state)
    for damaged in ({}, {**state, "batch": "x"}, {**state, "epoch": -1}):
        with pytest.raises(ArgumentError):
            PairBatches(*GOOD, 2).restore(damaged)
