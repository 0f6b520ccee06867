"""TrainConfig: bounds, presets, flags; what it makes of labelled pairs; the batches of pairs."""

import argparse
import dataclasses
import json
from collections import Counter

import numpy as np
import pytest
from corpus_parts import small_corpus
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese import ArgumentError, DataError, PairBatches, TrainConfig
from siamese.cli.arguments import add_arguments, filled
from siamese.cli.training import Settings
from siamese.reading.pairs import QuestionPairs
from siamese.training.config import PRESETS
from siamese.training.prepare import TRAIN_SHARE, prepare

PARSER = argparse.ArgumentParser()
add_arguments(PARSER, Settings)


def parsed(*line):
    settings = filled(Settings, vars(PARSER.parse_args(line)))
    return TrainConfig.preset(settings.preset or "course", **settings.changes())


def test_every_field_can_be_set_and_a_preset_fills_the_others():
    text = PARSER.format_help()
    for field in dataclasses.fields(TrainConfig):
        assert f"--{field.name.replace('_', '-')} " in text or field.name in text
    changes = {"word_dropout": 0.5, "folded": False, "margin": 0.5, "seed": 3}
    settings = [
        f"--set={name}={value}" for name, value in changes.items() if name != "seed"
    ]
    config = parsed("--preset", "lstm", *settings, "--seed", "3")
    assert config == TrainConfig.preset("lstm", **changes)
    assert dataclasses.asdict(config).items() >= (PRESETS["lstm"] | changes).items()
    assert parsed() == TrainConfig.preset("course") == TrainConfig()
    course = {
        "batch_size": 256,
        "learning_rate": 0.01,
        "warmup_steps": 400,
        "margin": 0.25,
    }
    course |= {"seed": 34, "edition": 2023, "d_model": 128}  # the assignment's
    assert vars(TrainConfig()).items() >= course.items() and TRAIN_SHARE == 0.8


def test_a_preset_of_no_name_is_refused():
    with pytest.raises(ArgumentError):
        TrainConfig.preset("worst")


def test_steps_that_are_set_win_over_the_presets_epochs():
    assert TrainConfig.preset("lstm", steps=50).epochs == 0
    assert TrainConfig.preset("lstm", steps=50, epochs=2.0).epochs == 2


BOUNDED = (
    "d_model",
    "batch_size",
    "pair_batch_size",
    "unknown_ids",
    "seed",
)


@pytest.mark.parametrize(
    "setting",
    [
        "margins=1",
        "margin=wide",
        "folded=1",
        "d_model=0",
        *(f"{name}=99999999999" for name in BOUNDED),
        "learning_rate=nan",
        "adam_epsilon=0",
        "loss=contrastive",
        "pair_batch_size=8",  # without the loss that needs it
    ],
)
def test_a_setting_that_does_not_fit_is_refused_by_its_name(setting):
    name, _, _ = setting.partition("=")
    with pytest.raises(ArgumentError) as error:
        parsed("--set", setting)
    assert name in str(error.value)


def test_a_number_of_another_type_is_refused_and_numpys_are_taken():
    assert TrainConfig(seed=np.int64(5), margin=np.float32(1)) == TrainConfig(
        seed=5, margin=1.0
    )
    with pytest.raises(ArgumentError):
        TrainConfig(d_model=4.0)


SMALL = TrainConfig.preset(
    "lstm", d_model=8, batch_size=8, pair_batch_size=6, warmup_steps=3,
    bidirectional=False, epochs=0.0, steps=9, eval_every=4, checkpoint_every=100, min_count=2,
    unknown_ids=5,
)  # fmt: skip


CORPUS = small_corpus(train=200, valid=150)
CHAIN = int(CORPUS.train.is_duplicate.argmax())  # A second duplicate of one question.
TRAIN = QuestionPairs(
    [*CORPUS.train.question1, CORPUS.train.question2[CHAIN]],
    [*CORPUS.train.question2, f"again : {CORPUS.train.question2[CHAIN]}"],
    [*CORPUS.train.is_duplicate, True],
)
VALID = CORPUS.valid


def prepared(rows=TRAIN, valid=VALID, **changes):
    return prepare(rows, dataclasses.replace(SMALL, **changes), valid=valid)


def test_labelled_pairs_have_their_own_labels_and_proportion():
    labels = prepared().labelled[2]
    known = {}
    for one, two, label in zip(*(side.tolist() for side in prepared().labelled)):
        assert known.setdefault((one, two), label) == label
    assert labels.mean() == pytest.approx(0.4, abs=0.01)


def test_held_out_labels_are_not_looked_at():
    flipped = TRAIN.is_duplicate.copy()
    first = np.flatnonzero(flipped)[int(flipped.sum() * 0.8)]
    # As many of each, elsewhere.
    flipped[first + 1 :] = np.roll(flipped[first + 1 :], 1)
    rows = QuestionPairs(TRAIN.question1, TRAIN.question2, flipped)
    mine, its = (prepared(given, None) for given in (TRAIN, rows))
    for a, b in zip(
        (*mine.labelled, *mine.train_clusters), (*its.labelled, *its.train_clusters)
    ):
        np.testing.assert_array_equal(a, b)


def test_the_transitive_closure_is_trained_on_with_their_cluster():
    plain, more = (prepared(transitive_closure=closure) for closure in (False, True))
    cluster_of = {}
    for rows, clusters in zip(more.train, more.train_clusters):
        for row, cluster in zip(rows, clusters):
            assert cluster_of.setdefault(row, cluster) == cluster
    labelled, trained = (
        {frozenset(pair) for pair in zip(*data.train)} for data in (plain, more)
    )
    assert labelled < trained
    assert len(more.train[0]) - len(plain.train[0]) == len(trained - labelled)
    assert all(cluster_of[one] == cluster_of[two] for one, two in zip(*more.train))


def with_blank(label):
    sides = [*TRAIN.question1, " "], [*TRAIN.question2, "what is it ?"]
    return QuestionPairs(*sides, [*TRAIN.is_duplicate, label])


def test_labelled_pairs_need_pairs_that_are_no_duplicates():
    with pytest.raises(DataError) as error:
        prepared(TRAIN.duplicates())
    assert "pair_batch_size=0" in str(error.value)  # A way out that is tried below.
    prepared(TRAIN.duplicates(), pair_batch_size=0)


def test_only_question_pairs_are_prepared():
    with pytest.raises(ArgumentError):
        prepared(valid={"question1": []})


def test_labelled_pairs_without_words_are_left_out():
    with_one, without = (prepared(rows).labelled for rows in (with_blank(0), TRAIN))
    assert len(with_one[0]) == len(without[0])


@pytest.mark.parametrize("config", [SMALL, TrainConfig.preset("head", batch_size=8)])
def test_a_duplicate_without_words_is_refused_with_a_way_to_find_it(config):
    with pytest.raises(DataError) as error:
        prepare(with_blank(1), config, valid=VALID)
    assert "read_pairs" in str(error.value)


# ---- PairBatches, with the pairs that it was given as the ground truth ----

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
        assert row == tokens + [PAD] * (len(row) - len(tokens)), (
            "padding between tokens"
        )
        rows.append(tuple(tokens))
    return rows


def pairs_in(batches):
    return [
        pair for b in batches for pair in zip(rows_of(b.q1), rows_of(b.q2), strict=True)
    ]


def one_epoch(batches):
    """The batches of the epoch that begins now."""
    return [next(batches) for _ in range(batches.pairs // batches.batch_size)]


LENGTHS = st.lists(
    st.tuples(st.integers(1, 12), st.integers(1, 12)), min_size=1, max_size=60
)
OPTIONS = st.fixed_dictionaries(
    {
        "batch_size": st.integers(1, 17),
        "seed": st.integers(0, 5),
        "swap": st.booleans(),
    }
)


@settings(max_examples=40)
@given(LENGTHS, OPTIONS)
def test_an_epoch_holds_each_pair_at_most_once_and_whole(lengths, options):
    first, second = make_pairs(*zip(*lengths))
    order = sorted if options["swap"] else list  # of the two sides of a pair
    pairs = Counter(
        tuple(order(pair)) for pair in zip(map(tuple, first), map(tuple, second))
    )
    batch_size = options["batch_size"] = min(options["batch_size"], len(first))
    batches = PairBatches(first, second, **options)
    for number in range(2):
        assert batches.state()["epoch"] == number
        epoch = one_epoch(batches)
        got = Counter(tuple(order(pair)) for pair in pairs_in(epoch))
        assert got <= pairs and got.total() == len(first) // batch_size * batch_size
        for batch in epoch:
            assert batch.q1.shape == batch.q2.shape == (batch_size, batch.q1.shape[1])
            assert batch.q1.dtype == batch.q2.dtype == np.int32
            assert batch.q1.shape[1] in batches.lengths


def test_other_pairs_are_left_out_each_epoch():
    batches = PairBatches(*make_pairs([3] * 10 + [9], [3] * 10 + [9]), 8)
    seen = [set(pairs_in(one_epoch(batches))) for _ in range(9)]
    assert len(set.union(*seen)) == 11 and len(set(map(frozenset, seen))) > 3


@settings(max_examples=40)
@given(LENGTHS, OPTIONS, st.integers(0, 25), st.booleans(), st.booleans())
def test_resume_equals_no_interruption(lengths, options, taken, clustered, labelled):
    first, second = make_pairs(*zip(*lengths))
    options = {**options, "batch_size": min(options["batch_size"], len(first))}
    if clustered:
        options["clusters"] = [np.arange(len(first)) // 3] * 2
    if labelled:
        options |= {
            "labelled": (first, second, np.arange(len(first)) % 2),
            "pair_batch_size": 5,
        }
    whole = PairBatches(first, second, **options)
    for _ in range(taken):
        next(whole)
    state = json.loads(json.dumps(whole.state()))
    # The state brings its own seed.
    resumed = PairBatches(first, second, **options | {"seed": 99})
    next(resumed)
    resumed.restore(state)
    assert resumed.state() == state
    for _ in range(12):
        for ours, theirs in zip(next(resumed), next(whole), strict=True):
            np.testing.assert_array_equal(ours, theirs)


CLUSTERS = st.tuples(st.integers(1, 6), st.integers(-1, 9), st.integers(-1, 9))
CLUSTERED = st.lists(CLUSTERS, min_size=2, max_size=60)


@settings(max_examples=40)
@given(CLUSTERED, st.integers(1, 16), st.booleans(), st.sampled_from([0, 2**40]))
def test_mask_marks_every_pair_of_one_cluster_and_no_other(
    drawn, batch_size, swap, offset
):
    lengths, *both = map(np.array, zip(*drawn))
    one, two = (np.where(side < 0, side, side + offset) for side in both)
    first, second = make_pairs(lengths, lengths)
    cluster_of = dict(
        zip(map(tuple, [*first, *second]), [*one.tolist(), *two.tolist()])
    )
    batch_size = min(batch_size, len(first))
    batches = PairBatches(first, second, batch_size, clusters=(one, two), swap=swap)
    for batch in one_epoch(batches):
        left, right = (
            [cluster_of[row] for row in rows_of(side)] for side in (batch.q1, batch.q2)
        )
        expected = [[i != j and a >= 0 and a == b for j, b in enumerate(right)]
                    for i, a in enumerate(left)]  # fmt: skip
        assert batch.false_negative_mask.dtype == bool
        np.testing.assert_array_equal(batch.false_negative_mask, expected)


def test_labelled_pairs_go_with_each_batch_and_are_drawn_evenly():
    first, second = make_pairs([3] * 40 + [9] * 40, [4] * 40 + [8] * 40)
    labelled1, labelled2 = make_pairs([2] * 30 + [7] * 30, [4] * 30 + [9] * 30)
    labels = np.arange(60) % 3 == 0
    table = {
        (tuple(a), tuple(b)): int(label)
        for a, b, label in zip(labelled1, labelled2, labels)
    }
    labelled = (labelled1, labelled2, labels)
    batches = PairBatches(first, second, 8, labelled=labelled, pair_batch_size=6)
    drawn = Counter()
    for batch in one_epoch(batches):
        assert batch._fields == (
            "q1",
            "q2",
            "labelled_q1",
            "labelled_q2",
            "is_duplicate",
        )
        assert (
            batch.labelled_q1.shape == batch.labelled_q2.shape == (6, batch.q1.shape[1])
        )
        assert batch.is_duplicate.dtype == np.int32
        got = list(zip(rows_of(batch.labelled_q1), rows_of(batch.labelled_q2)))
        assert [table[pair] for pair in got] == batch.is_duplicate.tolist()
        drawn.update(got)
    # Five batches of each length draw 30 of its 30 labelled pairs: each once.
    assert drawn == Counter(dict.fromkeys(table, 1))
    # Shorter and longer ones than all others are drawn too.
    pairs = make_pairs([5] * 8, [5] * 8)
    labelled = ([[2], [3] * 11], [[4], [5] * 9], [0, 1])
    batch = next(PairBatches(*pairs, 4, labelled=labelled, pair_batch_size=7))
    assert batch.q1.shape == (4, 5) and batch.labelled_q1.shape == (7, 11)
    assert set(batch.is_duplicate.tolist()) == {0, 1}


@pytest.mark.parametrize(
    "config",
    [TrainConfig(), TrainConfig.preset("lstm", pair_batch_size=0)],
    ids=["course", "lstm"],
)
def test_a_long_question_trains_as_far_as_a_model_reads_it(config):
    questions = ["how far is it ? " * 9_000, "how old", "who ?", "x" * 9_000]
    pairs = QuestionPairs(questions * 3, questions[::-1] * 3, [1, 0] * 6)
    assert prepare(pairs, config).ids.lengths.max() == 512


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        pytest.param({"batch_size": 0}, ArgumentError, id="no pairs in a batch"),
        pytest.param({"batch_size": 4}, ArgumentError, id="fewer pairs than a batch"),
        pytest.param({"clusters": [1, 2, 3]}, DataError, id="one side's clusters"),
        pytest.param(
            {"labelled": ([[2]], [[2]], [2])}, ArgumentError, id="a label of 2"
        ),
        pytest.param(
            {"labelled": ([[2]], [[2]], [0, 1])}, DataError, id="a label too many"
        ),
        pytest.param(
            {"labelled": ([[2]], [[]], [1])}, DataError, id="an empty question"
        ),
        pytest.param({"q1": [[2]]}, DataError, id="sides of unequal length"),
        pytest.param({"q1": [[2], ["a"], [3]]}, DataError, id="text as a token"),
    ],
)
def test_bad_arguments_are_refused_at_the_call(arguments, error):
    first, second = make_pairs([3, 4, 5], [3, 4, 5])
    with pytest.raises(error):
        PairBatches(**{"q1": first, "q2": second, "batch_size": 1, **arguments})
