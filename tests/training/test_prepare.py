"""TrainConfig: bounds, presets, flags; what it makes of labelled pairs, and the batches it asks for."""

import argparse
import dataclasses

import numpy as np
import pytest
from corpus_parts import small_corpus

from siamese import ArgumentError, DataError, TrainConfig
from siamese.data.pairs import QuestionPairs
from siamese.training.config import PRESETS, add_config_flags, changes_from_flags
from siamese.training.prepare import TRAIN_SHARE, prepare

PARSER = argparse.ArgumentParser()
add_config_flags(PARSER)


def parsed(*line):
    flags = PARSER.parse_args(line)
    return TrainConfig.preset(flags.preset or "course", **changes_from_flags(flags))


def test_every_field_can_be_set_and_a_preset_fills_the_others():
    text = PARSER.format_help()
    for field in dataclasses.fields(TrainConfig):
        assert f"--{field.name.replace('_', '-')} " in text or field.name in text
    changes = {"hard_negatives": 7, "folded": False, "margin": 0.5, "seed": 3}
    settings = [f"--set={name}={value}" for name, value in changes.items() if name != "seed"]
    config = parsed("--preset", "best", *settings, "--seed", "3")
    assert config == TrainConfig.preset("best", **changes)
    assert dataclasses.asdict(config).items() >= (PRESETS["best"] | changes).items()
    assert parsed() == TrainConfig.preset("course") == TrainConfig()
    course = {"batch_size": 256, "learning_rate": 0.01, "warmup_steps": 400, "margin": 0.25}
    course |= {"seed": 34, "edition": 2023, "d_model": 128}  # the assignment's
    assert vars(TrainConfig()).items() >= course.items() and TRAIN_SHARE == 0.8
    with pytest.raises(ArgumentError, match="preset must be one of 'course', 'best', 'head'"):
        TrainConfig.preset("worst")
    # Steps that are set win over the preset's epochs.
    assert TrainConfig.preset("best", steps=50).epochs == 0
    assert TrainConfig.preset("best", steps=50, epochs=2.0).epochs == 2


BOUNDED = "d_model", "batch_size", "pair_batch_size", "topic_block", "unknown_ids", "seed"


@pytest.mark.parametrize(
    "setting, message",
    [
        ("margins=1", "must be NAME=VALUE, with a name out of .*margin"),
        ("margin=wide", "--set margin takes float; it is 'wide'"),
        ("folded=1", "--set folded takes true or false"),
        ("d_model=0", "d_model must be at least 1; it is 0"),
        *((f"{name}=99999999999", f"{name} must be below") for name in BOUNDED),
        ("learning_rate=nan", "at least 0"),
        ("adam_epsilon=0", "adam_epsilon must be above 0"),
        ("loss=contrastive", "loss must be one of 'triplet', 'ranking'; it is 'contrastive'"),
        ("pair_batch_size=8", "pair_batch_size needs loss='ranking'; it is 'triplet'"),
        ("hard_negatives=8", "hard_negatives needs pair_batch_size: set it too"),
    ],
)
def test_a_setting_that_does_not_fit_is_refused(setting, message):
    with pytest.raises(ArgumentError, match=message):
        parsed("--set", setting)
    with pytest.raises(ArgumentError, match="d_model must be of type int"):
        TrainConfig(d_model=4.0, seed=np.int64(5), margin=np.float32(1))


SMALL = TrainConfig.preset(
    "best", d_model=8, batch_size=8, pair_batch_size=6, hard_negatives=10, topic_block=4, warmup_steps=3,
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
    labels, known = prepared().labelled[2], {}
    joined = prepared(hard_negatives=0).labelled
    for one, two, label in zip(*(side.tolist() for side in joined)):
        assert known.setdefault((one, two), label) == label
    assert labels.mean() == pytest.approx(0.4, abs=0.01)
    others = sum(1 for label in joined[2] if not label)
    assert (labels == 0).sum() == others + 10  # the hard negatives


def test_held_out_labels_are_not_looked_at():
    changes = {"hard_negatives": 0, "topic_block": 1}
    flipped = TRAIN.is_duplicate.copy()
    first = np.flatnonzero(flipped)[int(flipped.sum() * 0.8)]
    flipped[first + 1 :] = np.roll(flipped[first + 1 :], 1)  # As many of each, elsewhere.
    rows = QuestionPairs(TRAIN.question1, TRAIN.question2, flipped)
    mine, its = (prepared(given, None, **changes) for given in (TRAIN, rows))
    for a, b in zip((*mine.labelled, *mine.train_clusters), (*its.labelled, *its.train_clusters)):
        np.testing.assert_array_equal(a, b)


def test_the_transitive_closure_is_trained_on_with_their_cluster():
    plain, more = (prepared(transitive_closure=closure) for closure in (False, True))
    cluster_of = {}
    for rows, clusters in zip(more.train, more.train_clusters):
        for row, cluster in zip(rows, clusters):
            assert cluster_of.setdefault(row, cluster) == cluster
    labelled, trained = ({frozenset(pair) for pair in zip(*data.train)} for data in (plain, more))
    assert labelled < trained
    assert len(more.train[0]) - len(plain.train[0]) == len(trained - labelled)
    assert all(cluster_of[one] == cluster_of[two] for one, two in zip(*more.train))


def with_blank(label):
    """TRAIN, and a pair whose first question has no word."""
    sides = [*TRAIN.question1, " "], [*TRAIN.question2, "what is it ?"]
    return QuestionPairs(*sides, [*TRAIN.is_duplicate, label])


def test_labelled_pairs_need_non_duplicates_and_leave_out_those_without_words():
    with pytest.raises(DataError, match="--set pair_batch_size=0"):
        prepared(TRAIN.duplicates(), hard_negatives=0)
    with pytest.raises(ArgumentError, match="as read_pairs gives them, not dict"):
        prepared(valid={"question1": []})
    mine, its = (prepared(rows, hard_negatives=0).labelled for rows in (with_blank(0), TRAIN))
    assert len(mine[0]) == len(its[0])


@pytest.mark.parametrize("config", [SMALL, TrainConfig.preset("head", batch_size=8)])
def test_a_duplicate_without_words_is_refused_with_a_way_to_find_it(config):
    with pytest.raises(DataError, match="`siamese data FILE` says where"):
        prepare(with_blank(1), config, valid=VALID)
